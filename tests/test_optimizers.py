"""Optimisers and clipping: PyTorch's definitions, convergence, and bad settings."""

import json
import math
from pathlib import Path

import pytest

from chainrule import Value
from chainrule.errors import OptionError
from chainrule.nn.clipping import clip_norm, clip_value
from chainrule.nn.optimizers import OPTIMIZERS, SGD, Adam, AdamW, Optimizer, RMSprop
from chainrule.operation import Operand

RECORDED = json.loads((Path(__file__).parent / "data" / "optimizers.json").read_text())
CLASSES = {cls.__name__: cls for cls in OPTIMIZERS.values()}


def parabola(x, y):
    return (x - 3.0) ** 2 + 10.0 * (y + 1.0) ** 2


def rosenbrock(x, y):
    return (1.0 - x) ** 2 + 100.0 * (y - x * x) ** 2


def descend(optimizer, function, steps):
    """Yield the point after each step."""
    point = optimizer.parameters
    for _ in range(steps):
        optimizer.zero_grad()
        function(*point).backward()
        optimizer.step()
        yield [p.data for p in point]


def gradient(i, step):
    """Of parameter i: of all sizes, and not depending on the parameter.

    Along a real function two trajectories that differ by a rounding drift apart.
    """
    return math.ldexp((7919 * step + 104729 * i) % 1000 / 500 - 1.0, 4 * (step % 7) - 12)


def driven(optimizer, steps):
    """Yield the point after each step of those gradients."""
    for step in range(1, steps + 1):
        for i, parameter in enumerate(optimizer.parameters):
            parameter.grad = gradient(i, step)
        optimizer.step()
        yield [p.data for p in optimizer.parameters]


each_recorded = pytest.mark.parametrize(
    "recorded", RECORDED["trajectories"], ids=lambda r: f"{r['optimizer']}-{r['settings']}"
)


@each_recorded
def test_follows_the_recorded_trajectory_of_pytorch(recorded):
    start = [Value(x) for x in RECORDED["start"]]
    optimizer = CLASSES[recorded["optimizer"]](start, **recorded["settings"])
    expected = {int(step): point for step, point in recorded["points"].items()}
    points = dict(enumerate(driven(optimizer, max(expected)), 1))
    for step, point in expected.items():
        assert points[step] == pytest.approx(point, rel=1e-12, abs=1e-12)


@pytest.mark.torch
@each_recorded
def test_follows_pytorch_live(recorded):
    torch = pytest.importorskip("torch")
    theirs = [torch.tensor(x, dtype=torch.float64, requires_grad=True) for x in (-1.2, 1.0)]
    ours = [Value(-1.2), Value(1.0)]
    reference = getattr(torch.optim, recorded["optimizer"])(theirs, **recorded["settings"])
    optimizer = CLASSES[recorded["optimizer"]](ours, **recorded["settings"])
    for step, point in enumerate(driven(optimizer, 1000), 1):
        for i, tensor in enumerate(theirs):
            tensor.grad = torch.tensor(gradient(i, step), dtype=torch.float64)
        reference.step()
        assert point == pytest.approx([t.item() for t in theirs], rel=1e-12, abs=1e-12)


def test_every_optimizer_has_recorded_trajectories():
    assert {r["optimizer"] for r in RECORDED["trajectories"]} == set(CLASSES)


@pytest.mark.torch
@pytest.mark.parametrize("cls", CLASSES.values(), ids=CLASSES)
def test_defaults_are_those_of_pytorch(cls):
    torch = pytest.importorskip("torch")
    reference = getattr(torch.optim, cls.__name__)([torch.zeros(1)]).defaults
    optimizer = cls()
    for name in cls.settings:
        assert getattr(optimizer, name) == reference[name], name


CONVERGING = [
    (parabola, [3.0, -1.0], lambda p: SGD(p, lr=0.05), 300),
    (parabola, [3.0, -1.0], lambda p: SGD(p, lr=0.02, momentum=0.8), 300),
    (parabola, [3.0, -1.0], lambda p: SGD(p, lr=0.02, momentum=0.8, dampening=0.2), 400),
    (parabola, [3.0, -1.0], lambda p: SGD(p, lr=0.02, momentum=0.8, nesterov=True), 300),
    (parabola, [3.0, -1.0], lambda p: RMSprop(p, lr=0.01), 1000),
    (parabola, [3.0, -1.0], lambda p: RMSprop(p, lr=0.005, centered=True, momentum=0.5), 2000),
    (parabola, [3.0, -1.0], lambda p: Adam(p, lr=0.1), 1000),
    (parabola, [3.0, -1.0], lambda p: AdamW(p, lr=0.1, weight_decay=0.0), 1000),
    (rosenbrock, [1.0, 1.0], lambda p: SGD(p, lr=0.001, momentum=0.9), 6000),
    (rosenbrock, [1.0, 1.0], lambda p: RMSprop(p, lr=0.0005), 10000),
    (rosenbrock, [1.0, 1.0], lambda p: Adam(p, lr=0.02), 4000),
    (rosenbrock, [1.0, 1.0], lambda p: AdamW(p, lr=0.02, weight_decay=0.0), 4000),
]


@pytest.mark.parametrize(("function", "minimum", "make", "steps"), CONVERGING)
def test_converges(function, minimum, make, steps):
    *_, last = descend(make([Value(-1.2), Value(1.0)]), function, steps)
    assert last == pytest.approx(minimum, abs=0.01)


RULES = [
    SGD(),
    SGD(momentum=0.9),
    SGD(momentum=0.9, dampening=0.5, weight_decay=0.1),
    SGD(momentum=0.9, nesterov=True),
    RMSprop(),
    RMSprop(centered=True, momentum=0.9, weight_decay=0.1),
    Adam(weight_decay=0.1),
    AdamW(),
]


class Recorder(Operand):
    """Stands for a number that no rule may look at: it only takes part in operations."""

    rank = 9

    def __init__(self, value):
        self.value = value

    def __op__(self, op, operands):
        return Recorder(op.value([x.value if isinstance(x, Recorder) else x for x in operands]))

    def __bool__(self):
        raise AssertionError("the rule looked at a number")

    __float__ = __index__ = __lt__ = __le__ = __gt__ = __ge__ = __bool__


def _infix(name, reflected=False):
    from chainrule import ops

    op = getattr(ops, name)
    if reflected:
        return lambda self, other: op(other, self)
    return lambda self, other: op(self, other)


for _name, _op in {
    "add": "add",
    "sub": "sub",
    "mul": "mul",
    "truediv": "div",
    "pow": "pow",
}.items():
    setattr(Recorder, f"__{_name}__", _infix(_op))
    setattr(Recorder, f"__r{_name}__", _infix(_op, reflected=True))


@pytest.mark.parametrize("optimizer", RULES, ids=repr)
def test_the_rule_looks_at_no_number(optimizer):
    """Fed with operands that cannot be looked at, it computes the same as with floats."""
    value, state = 0.7, optimizer.start
    recorded, memory = Recorder(value), tuple(Recorder(x) for x in state)
    for step, gradient in enumerate([0.3, -0.2, 0.0, 4.0], 1):
        value, state = optimizer.update(value, gradient, state, float(step), 0.1)
        recorded, memory = optimizer.update(
            recorded, Recorder(gradient), memory, Recorder(float(step)), Recorder(0.1)
        )
        assert recorded.value == value
        assert tuple(x.value for x in memory) == state
        assert len(state) == len(optimizer.start)


def test_the_rule_changes_nothing_in_place():
    optimizer = Adam()
    before = [(0.5, 0.25)]
    values, after = optimizer.update_all([1.0], [2.0], before, 3, 0.1)
    assert before == [(0.5, 0.25)]
    assert values != [1.0]
    assert after != before
    assert optimizer.steps == 0


def test_a_division_by_zero_is_nan_as_in_pytorch():
    w = Value(1.0)
    Adam([w], eps=0.0).step()
    assert math.isnan(w.data)


def test_step_counts_and_zero_grad():
    w = Value(2.0)
    optimizer = Adam([w], lr=0.1)
    (w * w).backward()
    optimizer.step()
    optimizer.zero_grad()
    assert (optimizer.steps, w.grad, len(optimizer.states)) == (1, 0.0, 1)


def test_bound_to_starts_afresh():
    w, v = Value(2.0), Value(3.0)
    first = SGD([w], momentum=0.9)
    (w * w).backward()
    first.step()
    second = first.bound_to([v])
    assert (second.parameters, second.steps, second.states) == ([v], 0, [])
    assert (first.parameters, first.steps) == ([w], 1)


def test_repr_names_the_settings():
    assert repr(SGD(lr=0.5)) == (
        "SGD(lr=0.5, momentum=0.0, dampening=0.0, weight_decay=0.0, nesterov=False)"
    )


BAD_SETTINGS = [
    (SGD, {"lr": -0.1}, "lr"),
    (SGD, {"lr": math.nan}, "lr"),
    (SGD, {"lr": math.inf}, "lr"),
    (SGD, {"lr": "0.1"}, "lr"),
    (SGD, {"lr": True}, "lr"),
    (SGD, {"lr": 10**400}, "lr"),
    (SGD, {"momentum": -0.9}, "momentum"),
    (SGD, {"dampening": math.inf}, "dampening"),
    (SGD, {"weight_decay": -1.0}, "weight_decay"),
    (SGD, {"nesterov": True}, "nesterov"),
    (SGD, {"nesterov": True, "momentum": 0.9, "dampening": 0.1}, "nesterov"),
    (SGD, {"nesterov": 1, "momentum": 0.9}, "nesterov"),
    (RMSprop, {"alpha": 1.0}, "alpha"),
    (RMSprop, {"eps": -1e-8}, "eps"),
    (RMSprop, {"momentum": None}, "momentum"),
    (RMSprop, {"weight_decay": -1.0}, "weight_decay"),
    (RMSprop, {"centered": "yes"}, "centered"),
    (Adam, {"betas": (1.0, 0.999)}, r"betas\[0\]"),
    (Adam, {"betas": (0.9, -0.1)}, r"betas\[1\]"),
    (Adam, {"betas": 0.9}, "betas"),
    (Adam, {"eps": -1.0}, "eps"),
    (AdamW, {"weight_decay": -0.01}, "weight_decay"),
]


@pytest.mark.parametrize(("cls", "settings", "named"), BAD_SETTINGS)
def test_a_bad_setting_is_named(cls, settings, named):
    with pytest.raises(OptionError, match=f"^{named}"):
        cls([Value(1.0)], **settings)


W = Value(1.0)


@pytest.mark.parametrize(
    ("parameters", "says"),
    [
        (0.01, r"Adam\(lr=0.01\)"),
        ("weights", "trains Values"),
        ([], "empty"),
        ([1.0], "parameter 0 is 1.0"),
        ([W, W * 2.0], "parameter 1 is the result of an operation"),
        ([W, W], "twice"),
    ],
)
def test_bad_parameters(parameters, says):
    with pytest.raises(OptionError, match=says):
        Adam(parameters)


def test_without_parameters_there_is_nothing_to_step():
    with pytest.raises(OptionError, match="made without parameters"):
        Adam(lr=0.01).step()
    with pytest.raises(OptionError, match="made without parameters"):
        Adam(lr=0.01).zero_grad()


def test_the_base_class_has_no_rule():
    with pytest.raises(NotImplementedError):
        Optimizer([Value(1.0)]).step()


# --- clipping ---------------------------------------------------------------------------------


def with_gradients(*gradients):
    parameters = [Value(0.0) for _ in gradients]
    for parameter, gradient in zip(parameters, gradients, strict=True):
        parameter.grad = gradient
    return parameters


def test_clip_value():
    parameters = with_gradients(-3.0, 0.25, 1.0, 7.0)
    clip_value(parameters, 1.0)
    assert [p.grad for p in parameters] == [-1.0, 0.25, 1.0, 1.0]


def test_clip_norm():
    parameters = with_gradients(3.0, -4.0)
    assert clip_norm(parameters, 2.0) == 5.0
    factor = 2.0 / (5.0 + 1e-6)
    assert [p.grad for p in parameters] == [3.0 * factor, -4.0 * factor]


def test_clip_norm_leaves_small_gradients_alone():
    parameters = with_gradients(0.3, -0.4)
    assert clip_norm(parameters, 2.0) == 0.5
    assert [p.grad for p in parameters] == [0.3, -0.4]


def test_clip_norm_of_nothing():
    assert clip_norm([], 1.0) == 0.0


@pytest.mark.parametrize("clip", [clip_value, clip_norm])
@pytest.mark.parametrize("limit", [0.0, -1.0, math.nan, math.inf, "1", None])
def test_a_bad_limit_is_named(clip, limit):
    with pytest.raises(OptionError, match="limit must be a finite number above 0"):
        clip(with_gradients(1.0), limit)


@pytest.mark.torch
def test_clipping_follows_pytorch():
    torch = pytest.importorskip("torch")
    for gradients in ([3.0, -4.0], [0.3, -0.4], [0.0, 0.0], [1e8, 1.0]):
        for limit in (0.1, 1.0, 10.0):
            for ours, theirs in (
                (clip_value, torch.nn.utils.clip_grad_value_),
                (clip_norm, torch.nn.utils.clip_grad_norm_),
            ):
                parameters = with_gradients(*gradients)
                ours(parameters, limit)
                tensors = [torch.zeros((), dtype=torch.float64) for _ in gradients]
                for tensor, gradient in zip(tensors, gradients, strict=True):
                    tensor.grad = torch.tensor(gradient, dtype=torch.float64)
                theirs(tensors, limit)
                expected = [tensor.grad.item() for tensor in tensors]
                assert [p.grad for p in parameters] == pytest.approx(expected, rel=1e-14)
