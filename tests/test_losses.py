import math

import numpy as np
import pytest
from mpmath import mp, mpf

from chainrule import (
    DataError,
    NotANumberError,
    OptionError,
    ShapeError,
    Value,
    sigmoid,
    topological_order,
)
from chainrule.arithmetic import Arithmetic
from chainrule.nn import (
    LOSSES,
    Loss,
    binary_cross_entropy,
    binary_cross_entropy_with_logits,
    cross_entropy,
    hinge_loss,
    l2_penalty,
    mse_loss,
)
from chainrule.nn.losses import loss_of

mp.dps = 50
LOGITS = [0.0, 1e-20, 0.3, -2.0, 30.0, 40.0, -40.0, 500.0, -800.0, 1000.0, -1000.0]


def gradients(loss, *numbers):
    """The value of a loss, and its derivative by each of the numbers."""
    leaves = [Value(x) for x in numbers]
    result = loss(*leaves)
    result.backward()
    return result.data, [leaf.grad for leaf in leaves]


# --- mean squared error --------------------------------------------------------------------


def test_mse_of_one_and_of_several_outputs():
    assert mse_loss(0.5, 2) == 2.25
    assert mse_loss([1.0, 2.0, 3.0], [1, 0, 0]) == pytest.approx(13 / 3)
    assert gradients(lambda p, t: mse_loss(p, t), 0.5, 2.0) == (2.25, [-3.0, 3.0])
    value, grads = gradients(lambda a, b: mse_loss([a, b], [0.0, 1.0]), 1.0, 3.0)
    assert (value, grads) == (2.5, [1.0, 2.0])


def test_mse_takes_numpy():
    assert mse_loss(np.array([1.0, 2.0]), np.array([0, 0])) == 2.5
    assert type(mse_loss(np.float64(1.0), np.int64(3))) is float


def test_mse_of_huge_numbers_is_infinite_and_does_not_raise():
    assert mse_loss(1e200, 0.0) == math.inf
    assert mse_loss(Value(1e200), 0.0).data == math.inf


@pytest.mark.parametrize(
    ("prediction", "target", "message"),
    [
        ([1.0, 2.0], [1.0], r"2 prediction\(s\) and 1 target\(s\)"),
        ([1.0, 2.0], 1.0, "For the index of a class use cross_entropy"),
        ([], [], r"0 prediction\(s\)"),
        (1.0, [1.0], "mse_loss needs one number as its target; got"),
    ],
)
def test_mse_checks_shapes(prediction, target, message):
    with pytest.raises(ShapeError, match=message):
        mse_loss(prediction, target)


@pytest.mark.parametrize("bad", ["1", None, 1j])
def test_what_is_no_number_is_named(bad):
    with pytest.raises(NotANumberError, match="the target of mse_loss needs a real number"):
        mse_loss(Value(1.0), bad)


# --- binary cross-entropy --------------------------------------------------------------------


@pytest.mark.parametrize("t", [0.0, 1.0, 0.3])
@pytest.mark.parametrize("p", [0.3, 1e-50, 1e-30, 1e-13, 0.999, 1 - 2**-53])
def test_binary_cross_entropy_is_exact_and_so_is_its_gradient(p, t):
    value, grads = gradients(lambda q: binary_cross_entropy(q, t), p)
    q = mpf(p)
    log_yes, slope = (mp.log(q), 1 / q) if p > math.exp(-100) else (-100, 0)
    assert value == pytest.approx(
        float(-(t * log_yes + (1 - t) * mp.log1p(-q))), rel=1e-14, abs=0.0
    )
    rounding = 0.0 if t in (0.0, 1.0) else 2**-52  # a soft label's two terms cancel
    exact = float((1 - t) / (1 - q) - t * slope)
    assert grads[0] == pytest.approx(exact, rel=1e-14, abs=rounding)
    assert binary_cross_entropy(p, t) == value


@pytest.mark.parametrize(
    ("p", "t", "expected"), [(0.0, 1.0, 100.0), (1.0, 0.0, 100.0), (0.0, 0.0, 0.0), (1, 1, 0.0)]
)
def test_binary_cross_entropy_ends_at_100_with_a_finite_gradient(p, t, expected):
    value, grads = gradients(lambda q: binary_cross_entropy(q, t), p)
    assert value == expected
    assert grads[0] == (0.0 if t != p else 1.0 if t == 0.0 else -1.0)


def test_binary_cross_entropy_computes_no_infinity_that_it_would_throw_away():
    for p in (0.0, 1.0):
        for t in (0.0, 1.0):
            loss = binary_cross_entropy(Value(p), t)
            assert all(math.isfinite(node.data) for node in topological_order(loss))


def test_binary_cross_entropy_passes_nan_on():
    assert math.isnan(binary_cross_entropy(math.nan, 1.0))
    assert math.isnan(binary_cross_entropy(Value(math.nan), 0.0).data)


@pytest.mark.parametrize("p", [0.3, 0.0, 1.0])
@pytest.mark.parametrize("t", [0.0, 1.0])
def test_binary_cross_entropy_of_a_label_in_a_value_is_the_same(p, t):
    value, grads = gradients(lambda q: binary_cross_entropy(q, t), p)
    whole = gradients(binary_cross_entropy, p, t)
    assert (value, grads[0]) == (whole[0], whole[1][0])


def test_binary_cross_entropy_has_a_gradient_by_the_target():
    _, grads = gradients(binary_cross_entropy, 0.3, 0.4)
    assert grads[1] == pytest.approx(math.log(0.7) - math.log(0.3))


@pytest.mark.parametrize("p", [-0.1, 1.1, Value(2.0), math.inf])
def test_binary_cross_entropy_refuses_what_is_no_probability(p):
    with pytest.raises(DataError, match=r"from 0 to 1; got .*Give the output layer a sigmoid"):
        binary_cross_entropy(p, 1.0)


@pytest.mark.parametrize("loss", [binary_cross_entropy, binary_cross_entropy_with_logits])
@pytest.mark.parametrize("t", [-1.0, 2, math.nan, Value(-1.0)])
def test_binary_cross_entropies_refuse_other_labels(loss, t):
    with pytest.raises(DataError, match=r"target from 0 to 1.*For labels -1 and \+1 use hinge"):
        loss(0.5, t)


@pytest.mark.parametrize("loss", [binary_cross_entropy, binary_cross_entropy_with_logits])
def test_binary_cross_entropies_take_one_output(loss):
    with pytest.raises(ShapeError, match=r"needs one number as its .* got .*several outputs"):
        loss([0.5, 0.5], 1.0)


@pytest.mark.parametrize("t", [0.0, 1.0, 0.3])
@pytest.mark.parametrize("z", LOGITS)
def test_binary_cross_entropy_with_logits_is_exact(z, t):
    value, grads = gradients(lambda v: binary_cross_entropy_with_logits(v, t), z)
    x = mpf(z)
    exact = t * mp.log1p(mp.exp(-x)) + (1 - t) * mp.log1p(mp.exp(x))
    assert value == pytest.approx(float(exact), rel=1e-14, abs=0.0)
    assert grads[0] == pytest.approx(float(1 / (1 + mp.exp(-x)) - t), rel=1e-14, abs=2**-53)
    assert binary_cross_entropy_with_logits(z, t) == value


@pytest.mark.torch
@pytest.mark.parametrize("t", [0.0, 1.0, 0.3])
def test_binary_cross_entropies_are_those_of_pytorch(t):
    import torch
    from torch.nn import functional

    target = torch.tensor(t, dtype=torch.float64)
    for p in [0.0, 1.0, 1e-50, 4e-44, 1e-13, 1e-11, 0.25, 0.999, 1 - 2**-53]:
        theirs = torch.tensor(p, dtype=torch.float64, requires_grad=True)
        expected = functional.binary_cross_entropy(theirs, target)
        expected.backward()
        value, grads = gradients(lambda q: binary_cross_entropy(q, t), p)
        assert value == pytest.approx(expected.item(), rel=1e-14, abs=0.0)
        if 1e-12 < p < 1 - 1e-12:  # elsewhere PyTorch's is no derivative of its value
            assert grads[0] == pytest.approx(theirs.grad.item(), rel=1e-12)
    for z in LOGITS:
        theirs = torch.tensor(z, dtype=torch.float64, requires_grad=True)
        expected = functional.binary_cross_entropy_with_logits(theirs, target)
        expected.backward()
        value, grads = gradients(lambda v: binary_cross_entropy_with_logits(v, t), z)
        assert value == pytest.approx(expected.item(), rel=1e-14, abs=1e-15)
        assert grads[0] == pytest.approx(theirs.grad.item(), rel=1e-12, abs=1e-15)


def test_behind_a_sigmoid_the_cut_off_changes_no_training():
    for z in (-36.0, -300.0, -1000.0, 36.0, 40.0, 1000.0):
        for t in (0.0, 1.0):
            _, grads = gradients(lambda v: binary_cross_entropy(sigmoid(v), t), z)  # noqa: B023
            exact = float(1 / (1 + mp.exp(-mpf(z))) - t)
            cut = abs(z) > 100 or z > 37
            assert grads[0] == pytest.approx(0.0 if cut and abs(exact) > 0.5 else exact, abs=1e-15)


# --- cross-entropy -----------------------------------------------------------------------------

ROWS = [[0.0, 0.0], [40.0, 0.0], [1000.0, 0.0, -1000.0], [1e-20, 0.0], [1.0, -2.0, 0.5, 3.0]]


@pytest.mark.parametrize("row", ROWS)
def test_cross_entropy_is_exact_and_so_is_its_gradient(row):
    for t in range(len(row)):
        value, grads = gradients(lambda *vs: cross_entropy(list(vs), t), *row)  # noqa: B023
        top = mp.log(mp.fsum(mp.exp(mpf(v)) for v in row))
        others = [mp.exp(mpf(v) - top) for v in row]
        slopes = [-mp.fsum(o for j, o in enumerate(others) if j != t) if i == t else o
                  for i, o in enumerate(others)]  # fmt: skip
        assert value == pytest.approx(float(top - mpf(row[t])), rel=1e-14, abs=0.0)
        assert grads == pytest.approx([float(s) for s in slopes], rel=1e-13, abs=0.0)
        assert cross_entropy(row, t) == value


@pytest.mark.parametrize("row", ROWS)
def test_cross_entropy_with_an_index_that_is_a_value(row):
    for t in range(len(row)):
        value, grads = gradients(lambda *vs: cross_entropy(list(vs), t), *row)  # noqa: B023
        traced = gradients(lambda i, *vs: cross_entropy(list(vs), i), float(t), *row)
        assert traced[0] == value
        assert traced[1] == pytest.approx([0.0, *grads], rel=1e-12, abs=2**-52)


@pytest.mark.torch
def test_cross_entropy_is_that_of_pytorch():
    import torch

    for row in ROWS:
        for t in range(len(row)):
            theirs = torch.tensor(row, dtype=torch.float64, requires_grad=True)
            expected = torch.nn.functional.cross_entropy(theirs, torch.tensor(t))
            expected.backward()
            value, grads = gradients(lambda *vs: cross_entropy(list(vs), t), *row)  # noqa: B023
            assert value == pytest.approx(expected.item(), rel=1e-13, abs=1e-15)
            assert grads == pytest.approx(theirs.grad.tolist(), rel=1e-12, abs=1e-15)


@pytest.mark.parametrize("t", [3, -1, 0.5, math.nan, Value(3.0)])
def test_cross_entropy_refuses_what_is_no_index(t):
    with pytest.raises(DataError, match="a whole number from 0 to 2 for 3 logits; got"):
        cross_entropy([0.0, 1.0, 2.0], t)


@pytest.mark.parametrize("logits", [0.5, Value(0.5), [0.5], [], "ab"])
def test_cross_entropy_needs_two_logits(logits):
    with pytest.raises(ShapeError, match="use binary_cross_entropy_with_logits"):
        cross_entropy(logits, 0)


def test_cross_entropy_takes_an_index_only():
    with pytest.raises(ShapeError, match="the index of a class"):
        cross_entropy([0.5, 1.0], [0, 1])


# --- any operand ------------------------------------------------------------------------------


class Recorder(Arithmetic):
    """Takes part in operations and refuses, like a tracer, to become a number."""

    __slots__ = ()
    rank = 9

    def __op__(self, op, operands):
        return self

    def __float__(self):
        raise AssertionError("a loss looked at the number inside an operand")


@pytest.mark.parametrize("name", LOSSES)
def test_losses_only_apply_operations(name):
    loss, recorder = LOSSES[name], Recorder()
    outputs = [recorder, recorder] if loss.outputs == "several" else recorder
    assert loss(outputs, 1.0) is recorder
    assert loss(outputs, recorder) is recorder
    outputs = [Value(0.5), 0.25] if loss.outputs == "several" else 0.5
    assert loss(outputs, recorder) is recorder


def test_l2_penalty_only_applies_operations():
    assert isinstance(l2_penalty([Recorder(), Value(1.0)], 0.5), Recorder)


# --- hinge loss and penalty --------------------------------------------------------------------


def test_hinge_takes_both_kinds_of_labels():
    for minus in (0, -1.0):
        assert hinge_loss(0.25, minus) == 1.25
        assert gradients(lambda s: hinge_loss(s, minus), 0.25) == (1.25, [1.0])  # noqa: B023
    assert gradients(lambda s: hinge_loss(s, 1.0), 0.25) == (0.75, [-1.0])
    assert gradients(lambda s: hinge_loss(s, 1.0), 1.0) == (0.0, [0.0])
    assert gradients(hinge_loss, 0.25, 0.0) == (1.25, [1.0, 0.0])


@pytest.mark.parametrize("t", [2, 0.5, math.nan, Value(3.0)])
def test_hinge_refuses_other_labels(t):
    with pytest.raises(DataError, match=r"a label 0 or 1 \(or -1 or \+1\); got"):
        hinge_loss(0.5, t)


def test_l2_penalty():
    value, grads = gradients(lambda *ps: l2_penalty(ps, 0.25), 1.0, -2.0)
    assert (value, grads) == (1.25, [0.5, -1.0])
    assert l2_penalty([], 0.1) == 0.0
    for strength in (-0.1, math.inf, "0.1"):
        with pytest.raises(OptionError, match="strength must be a finite number of at least 0"):
            l2_penalty([1.0], strength)


# --- by name -------------------------------------------------------------------------------------


def test_losses_by_name():
    assert list(LOSSES) == [
        "mse",
        "binary_cross_entropy",
        "binary_cross_entropy_with_logits",
        "cross_entropy",
        "hinge",
    ]
    for name, loss in LOSSES.items():
        assert loss_of(name) is loss_of(loss) is loss_of(loss.function) is loss
        output, target = ([0.5, 0.25], 1) if loss.outputs == "several" else (0.5, 1)
        assert loss(output, target) == loss.function(output, target)


def test_a_function_of_ones_own():
    def absolute(output, target):
        return abs(output - target)

    loss = loss_of(absolute)
    assert (loss.name, loss(1.0, 3.0), loss.accuracy([1.0], [1.0])) == ("absolute", 2.0, None)
    loss.check_outputs(5)


@pytest.mark.parametrize("bad", ["msee", None, 3])
def test_unknown_loss_lists_the_known_ones(bad):
    with pytest.raises(OptionError, match=r"unknown loss .*: mse, binary_cross_entropy"):
        loss_of(bad)


def test_each_loss_says_how_many_outputs_it_needs():
    for name in ("binary_cross_entropy", "binary_cross_entropy_with_logits", "hinge"):
        LOSSES[name].check_outputs(1)
        with pytest.raises(ShapeError, match=f"the loss {name} needs a network with one output"):
            LOSSES[name].check_outputs(3)
    LOSSES["cross_entropy"].check_outputs(2)
    with pytest.raises(ShapeError, match="one output per class, at least two; this one has 1"):
        LOSSES["cross_entropy"].check_outputs(1)


@pytest.mark.parametrize(
    ("name", "outputs", "targets", "expected"),
    [
        ("mse", [0.6, 0.4, 0.5, 0.51], [1.0, 0.0, 1.0, 0.0], 0.5),
        ("mse", [0.6, 0.4], [0.7, 0.4], None),
        ("mse", [0.6, 0.4], [-1.0, 1.0], None),
        ("mse", [[0.1, 0.9], [0.8, 0.2]], [[0.0, 1.0], [0.0, 1.0]], 0.5),
        ("mse", [[0.1, 0.9]], [[0.5, 1.0]], None),
        ("mse", [], [], None),
        ("binary_cross_entropy", [0.6, 0.4], [1.0, 1.0], 0.5),
        ("binary_cross_entropy", [0.6, 0.4], [0.9, 0.1], None),
        ("binary_cross_entropy_with_logits", [0.2, -0.2, 0.0], [1, 0, 0], 1.0),
        ("cross_entropy", [[1.0, 2.0, 0.0], [3.0, 3.0, 0.0]], [1.0, 2.0], 0.5),
        ("hinge", [0.2, -0.2, -3.0], [1.0, -1.0, 0.0], 1.0),
    ],
)
def test_accuracy(name, outputs, targets, expected):
    assert LOSSES[name].accuracy(outputs, targets) == expected


def test_classes_of_outputs():
    assert LOSSES["cross_entropy"].decide([1.0, 5.0, 5.0]) == 1
    with pytest.raises(ShapeError, match="several outputs are needed"):
        LOSSES["cross_entropy"].decide(1.0)
    with pytest.raises(OptionError, match="do not stand for classes"):
        Loss("own", mse_loss).decide(1.0)
