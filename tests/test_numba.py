"""The Numba engine against eager mode: operations, branches, programs, and whole trainings.

Numba needs about a second for the smallest program, so many functions are bundled into one,
each with inputs and parameters of its own: then every value and every derivative is seen.
"""

import os
import random
import runpy
from pathlib import Path

import numpy as np
import pytest

import chainrule
from chainrule import Network, Value, ops
from chainrule.compiler import native
from chainrule.compiler.engines import ENGINES
from chainrule.compiler.lower import lower
from chainrule.compiler.trace import record
from chainrule.data import circle, xor
from chainrule.errors import ShapeError
from chainrule.nn import SGD, Adam, AdamW, RMSprop, binary_cross_entropy, mse_loss
from chainrule.operation import ROWS, VARIADIC
from chainrule.parsing import parse
from chainrule.structure import flatten

pytest.importorskip("numba")

faithful = runpy.run_path(str(Path(__file__).with_name("test_compiler_faithful.py")))
in_norm, each, eager = faithful["in_norm"], faithful["each"], faithful["eager"]
RandomGraph, spread = faithful["RandomGraph"], faithful["spread"]


@pytest.fixture(autouse=True, scope="module")
def _cache_of_its_own(tmp_path_factory):
    """So that what is tested was compiled now."""
    before = os.environ.get("CHAINRULE_CACHE")
    os.environ["CHAINRULE_CACHE"] = str(tmp_path_factory.mktemp("numba"))
    yield
    if before is None:
        del os.environ["CHAINRULE_CACHE"]
    else:
        os.environ["CHAINRULE_CACHE"] = before


# --- bundles -------------------------------------------------------------------------------------


def bundled(parts):
    """Functions as one that returns the sum of their results, and then each of them.

    A part is ``(f, parameters, arrays)``, as `hold` of the other tests takes it.
    """
    starts, widths = [], [0] * max(len(arrays) for _, _, arrays in parts)
    for _, _, arrays in parts:
        starts.append(list(widths))
        for i, array in enumerate(arrays):
            widths[i] += array.shape[1]

    def f(*arguments):
        results = []
        for (g, _, arrays), start in zip(parts, starts, strict=True):
            own = [
                list(x[s : s + a.shape[1]])
                for x, s, a in zip(arguments, start, arrays, strict=False)
            ]
            results.append(g(*own))
        return [ops.sum(results), *results]

    rows = len(parts[0][2][0])
    joined = [
        np.concatenate([a[i] for _, _, a in parts if i < len(a)], axis=1)
        for i in range(len(widths))
    ]
    assert all(array.shape == (rows, width) for array, width in zip(joined, widths, strict=True))
    return f, [p for _, parameters, _ in parts for p in parameters], joined


def hold(parts, wanted, agree=in_norm):
    """Numba must give what eager mode gives."""
    f, parameters, arrays = bundled(parts)
    asked = parameters if wanted is None else []
    structures = [flatten([0.0] * a.shape[1], "x")[1] for a in arrays]
    trace = record(f, structures, asked)
    program = lower(trace, structures, len(asked), wanted)
    theta = np.array([p.data for p in trace.parameters], dtype=np.float64)
    run = ENGINES["numba"](program, None, wanted, np.float64)
    rows = len(arrays[0])
    found, gradients = run(theta, arrays, rows, np.ones((rows, 1)))
    alone, _ = run(theta, arrays, rows, None)
    np.testing.assert_array_equal(found, alone)
    start = parameter = 0
    for i, (g, own, columns) in enumerate(parts):
        values, expected = eager(g, own if wanted is None else [], columns, wanted)
        agree(found[:, 1 + i : 2 + i], values, f"value of part {i}")
        if wanted is None:
            agree(gradients[parameter : parameter + len(own)], expected, f"gradient of part {i}")
            parameter += len(own)
        else:
            width = columns[0].shape[1]
            agree(gradients[:, start : start + width], expected, f"gradient of part {i}")
            start += width
    return program


def test_the_comparison_itself_notices():
    part = (lambda x: ops.tanh(x[0]) * x[1], [], [np.array([[1.0, 2.0], [0.5, -1.0]])])

    def value(found, expected, what):
        in_norm(found, expected * (1.0 + 1e-9 * ("value" in what)), what)

    def gradient(found, expected, what):
        in_norm(found, expected * (1.0 + 1e-9 * ("gradient" in what)), what)

    hold([part], 0)
    for wrong in (value, gradient):
        with pytest.raises(AssertionError):
            hold([part], 0, wrong)


# --- every operation -----------------------------------------------------------------------------

FIXED = [op for op in ROWS.values() if op.arity != VARIADIC]


def of_operation(op, mix, generator):
    """Two members of an operation, whose operands come from inputs, parameters and constants.

    In the rows of the inputs are points of its domain, and then its special points, one
    per row, so that neighbours take different branches.
    """
    parts = []
    for i in range(2):
        kinds = [mix[k % len(mix)] for k in range(op.arity)]
        points = np.array([spread(domain, ROWS_OF_INPUTS, generator) for domain in op.domain])
        if op is ops.where:
            points[0] = np.round(points[0])
        special = [operands for operands, _ in op.special]
        if mix == ("input",) and special:
            chosen = [special[(i + k) % len(special)] for k in range(ROWS_OF_INPUTS - 4)]
            points[:, 4:] = np.array(chosen, dtype=float).T
        numbers = points[:, 0].tolist()
        own = [
            Value(x) if kind == "parameter" else x for x, kind in zip(numbers, kinds, strict=True)
        ]
        columns = [x for x, kind in zip(points, kinds, strict=True) if kind == "input"]
        parameters = [p for p in own if isinstance(p, Value)]

        def f(x, kinds=kinds, own=own, op=op):
            given = iter(x)
            pairs = zip(kinds, own, strict=True)
            return op(*[next(given) if kind == "input" else p for kind, p in pairs])

        parts.append((f, parameters, [np.stack(columns or [points[0]], axis=1)]))
    return parts


ROWS_OF_INPUTS = 4 + max(len(op.special) for op in FIXED)


@pytest.mark.parametrize(
    ("mix", "wanted"),
    [
        pytest.param(("input",), 0, marks=pytest.mark.slow),
        (("parameter", "input", "constant"), None),
        pytest.param(("parameter",), None, marks=pytest.mark.exhaustive),
        pytest.param(("constant", "input", "parameter"), 0, marks=pytest.mark.exhaustive),
    ],
    ids=lambda x: "-".join(x) if isinstance(x, tuple) else "",
)
def test_every_operation(mix, wanted):
    generator = np.random.default_rng(1)
    parts = [part for op in FIXED for part in of_operation(op, mix, generator)]
    if mix == ("input",):
        for values, _ in ops.logsumexp.special:
            if values:
                parts.append((ops.logsumexp, [], [np.array([values] * ROWS_OF_INPUTS)]))
        program = hold(parts, wanted, each)
        seen = {s.op for s in program.statements if hasattr(s, "op")}
        assert seen >= set(FIXED) - {ops.add, ops.mul}  # which are part of the sum
    else:
        hold(parts, wanted)


def sums_and_choices():
    generator = np.random.default_rng(2)
    for vector in faithful["VECTORS"].values():
        parameters = [Value(x) for x in (0.3, -0.7, 1.1)]
        count = len(vector([0.0] * 3, parameters))
        batch = generator.normal(size=(5, 3))
        index = generator.integers(0, count, size=(5, 2)).astype(float)

        def f(x, k, vector=vector, parameters=parameters):
            options = vector(x, parameters)
            largest = [ops.logsumexp([t * (1.0 + i) for t in options]) for i in range(2)]
            picked = [ops.pick(k[i], [t * t * (1.0 + i) for t in options]) for i in range(2)]
            return ops.sum([*largest, *picked]) * ops.pick(k[0], options) + ops.sum(options)

        yield f, parameters, [batch, index]


def branches():
    for f in faithful["BRANCHES"].values():
        p = [Value(x) for x in (0.5, 0.75, 1.5, 0.3, 0.8, 2.0)]
        yield (lambda x, f=f, p=p: f(x, p)), p, [faithful["POSITIVE"]]


def edge_cases():
    generator = np.random.default_rng(7)
    for name, f in faithful["EDGE_CASES"].items():
        if name != "a value computed before":  # its parameters are not its own
            p = [Value(x) for x in (0.4, -0.2, 0.9, 1.3, -0.6, 0.7)]
            yield (lambda x, f=f, p=p: f(x, p)), p, [generator.normal(size=(5, 3))]


@pytest.mark.parametrize("parts", [sums_and_choices, branches])
def test_bundles(parts):
    hold(list(parts()), None)


@pytest.mark.exhaustive
@pytest.mark.timeout(900)
@pytest.mark.parametrize("parts", [sums_and_choices, branches, edge_cases])
def test_bundles_by_their_inputs(parts):
    hold(list(parts()), 0)


@pytest.mark.exhaustive
@pytest.mark.timeout(900)
def test_edge_cases():
    hold(list(edge_cases()), None)


# --- compile(engine="numba") ---------------------------------------------------------------------


def compiled(engine, **options):
    net = Network([2, 3, 2], activation="tanh", output_activation="linear", seed=1)
    loss = chainrule.cross_entropy
    return chainrule.compile(
        lambda x, y: loss(net(x), y), parameters=net.parameters(), engine=engine, **options
    )


def test_compile_with_numba():
    generator = np.random.default_rng(3)
    for options in ({}, {"reduction": "sum"}):
        native_step, step = compiled("numba", **options), compiled("numpy", **options)
        for rows in (1, 2, 7, 64):
            X, y = generator.normal(size=(rows, 2)), generator.integers(0, 2, size=rows)
            value, gradient = native_step(X, y)
            expected = step(X, y)
            assert value == pytest.approx(expected[0], abs=1e-13)
            np.testing.assert_allclose(gradient, expected[1], rtol=0.0, atol=1e-13)
            assert native_step.value(X, y) == pytest.approx(expected[0], abs=1e-13)
    assert native_step.report.engine == "numba"
    assert native_step.source == step.source


def test_the_gradient_by_an_argument():
    def rosenbrock(x):
        return (1 - x[0]) ** 2 + 100 * (x[1] - x[0] ** 2) ** 2

    value, gradient = chainrule.compile(rosenbrock, engine="numba").value_and_grad([1.0, 2.0])
    assert (value, gradient.tolist()) == (100.0, [-400.0, 200.0])


def test_an_index_out_of_range_is_named():
    w = [Value(1.0), Value(2.0), Value(3.0)]
    step = chainrule.compile(lambda k: ops.pick(k, w), parameters=w, engine="numba")
    assert step([0.0, 2.0])[0] == 2.0
    for wrong in (3.0, -1.0, 0.5):
        with pytest.raises(ShapeError, match=rf"index {wrong:g} for 3 option"):
            step([0.0, wrong])


def test_single_precision_is_that_of_arguments_and_results():
    step = compiled("numba", dtype="float32")
    X, y = np.random.default_rng(4).normal(size=(7, 2)), np.arange(7) % 2
    value, gradient = step(X, y)
    expected = compiled("numpy")(X, y)
    assert gradient.dtype == np.float32
    assert value == pytest.approx(expected[0], rel=1e-6)
    np.testing.assert_allclose(gradient, expected[1], rtol=1e-5, atol=1e-6)


@pytest.mark.slow
def test_a_long_program_is_cut_into_functions():
    p = [Value(0.9), Value(0.1)]

    def f(x):
        h = 0.0
        for _ in range(12):
            h = ops.where(ops.less(x[0], 0.5), ops.sin(p[0] * h + p[1] * x[0]), h)
        return h

    program = hold([(f, p, [np.array([[0.3], [0.7], [-1.0]])])], None)
    assert len(program.statements) > 30


def test_programs_are_kept_and_found_again():
    w = Value(1.5)
    chainrule.compile(lambda x: ops.sin(w * x), parameters=[w], engine="numba")([1.0])
    newest = max(native.cache_directory().glob("program_*.py"), key=lambda p: p.stat().st_mtime_ns)
    assert native.is_cached(newest.read_text())
    assert not native.is_cached("another program")


# --- whole trainings -----------------------------------------------------------------------------

TWO, ONE_OF_THREE = circle(30, seed=1), "one of three"


def tukey(output, target):
    error = output - target
    return ops.where(ops.less(ops.abs(error), 0.5), error * error, ops.abs(error) - 0.25)


def halving(epoch, lr):
    return lr * 0.5 ** (epoch // 10)


TRAININGS = {
    "gradient descent": ("tanh", "sigmoid", {}),
    "summed": ("sigmoid", "sigmoid", {"reduction": "sum"}),
    "momentum": ("tanh", "linear", {"optimizer": SGD(lr=0.05, momentum=0.9)}),
    "nesterov": (
        "tanh",
        "linear",
        {"optimizer": SGD(lr=0.02, momentum=0.9, nesterov=True, weight_decay=0.01)},
    ),
    "rmsprop": ("relu", "sigmoid", {"optimizer": RMSprop(lr=0.01, momentum=0.5)}),
    "adam": ("gelu", "sigmoid", {"optimizer": "adam", "loss": "binary_cross_entropy"}),
    "adamw": ("silu", "sigmoid", {"optimizer": AdamW(lr=0.02, weight_decay=0.1)}),
    "online": ("tanh", "sigmoid", {"batch_size": 1}),
    "shuffled": ("tanh", "sigmoid", {"batch_size": 7, "shuffle": True, "seed": 3}),
    "logits": ("elu", "linear", {"loss": "binary_cross_entropy_with_logits"}),
    "hinge": ("leaky_relu", "linear", {"loss": "hinge", "lr": 0.05}),
    "step schedule": ("tanh", "sigmoid", {"schedule": "step", "batch_size": 16}),
    "cosine schedule": ("softplus", "sigmoid", {"schedule": "cosine", "optimizer": "adam"}),
    "a schedule of one's own": ("sin", "linear", {"schedule": halving, "lr": 0.05}),
    "clipped values": ("tanh", "sigmoid", {"clip_value": 0.01, "lr": 1.0}),
    "clipped norm": ("tanh", "sigmoid", {"clip_norm": 0.05, "lr": 1.0, "optimizer": Adam(lr=0.05)}),
    "both clipped": ("relu", "sigmoid", {"clip_norm": 0.05, "clip_value": 0.01, "batch_size": 4}),
    "a loss of one's own": ("tanh", "linear", {"loss": tukey, "lr": 0.05}),
    "cross entropy": ("relu", "linear", {"loss": "cross_entropy", "optimizer": "adam"}),
    "several outputs": ("tanh", "linear", {"loss": "mse", "batch_size": 8}),
}


def trained(engine, name):
    activation, last, options = TRAININGS[name]
    if activation == "sin":
        activation = ops.sin
    X, y = TWO
    outputs = 1
    if name == "cross entropy":
        outputs, y = 3, [k % 3 for k in range(len(X))]
    elif name == "several outputs":
        outputs, y = 2, [[x[0] * x[1], x[0]] for x in X]
    elif name == "hinge":
        y = [2.0 * label - 1.0 for label in y]
    net = Network([2, 5, outputs], activation, last, seed=2)
    random.seed(5)
    history = net.fit(X, y, epochs=50, engine=engine, **options)
    return history, np.array([p.data for p in net.parameters()])


SOME = {"gradient descent", "adam", "cross entropy", "both clipped", "cosine schedule"}


@pytest.mark.parametrize(
    "name",
    [pytest.param(x, marks=[] if x in SOME else [pytest.mark.slow]) for x in TRAININGS],
)
def test_trainings(name):
    eagerly, expected = trained("eager", name)
    history, parameters = trained("numba", name)
    assert history.engine == "numba"
    assert len(history.loss) == 50
    np.testing.assert_allclose(history.loss, eagerly.loss, rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(parameters, expected, rtol=1e-9, atol=1e-9)
    assert history.accuracy == eagerly.accuracy
    assert history.loss[-1] != history.loss[0]


def test_a_network_and_an_optimiser_that_only_has_some_of_it():
    """Parameters that are not trained, and a state that goes on from call to call."""
    found = []
    for engine in ("eager", "numba"):
        net = Network([2, 3, 1], "tanh", "sigmoid", seed=4)
        optimizer = Adam(net.layers[1].parameters(), lr=0.05)
        for _ in range(2):
            history = net.fit(
                *xor(), loss=binary_cross_entropy, optimizer=optimizer, epochs=10, engine=engine
            )
        assert optimizer.steps == 20
        found.append([*history.loss, *[p.data for p in net.parameters()]])
    np.testing.assert_allclose(found[1], found[0], rtol=1e-10)


def test_a_loss_that_becomes_infinite():
    stopped = []
    for engine in ("eager", "numba"):
        net = Network([2, 3, 1], "relu", "linear", seed=4)
        with pytest.warns(RuntimeWarning, match="training stopped"):
            history = net.fit(*xor(), loss=mse_loss, lr=1e6, epochs=50, engine=engine)
        stopped.append((history.stopped.split(". ")[0], len(history)))
    assert stopped[0][1] == stopped[1][1]


# --- everything else, which takes long -----------------------------------------------------------


@pytest.mark.exhaustive
@pytest.mark.timeout(900)
@pytest.mark.parametrize("part", range(20))
def test_expressions(part):
    parts = []
    for expr, names, points in faithful["EXPRESSIONS"][part::20]:
        formula = parse(expr)
        others = [Value(float(x)) for x in points[0, 2:]]

        def f(x, formula=formula, names=names, others=others):
            return formula.evaluate(dict(zip(names, [*x, *others], strict=True)))

        nearby = points[0, :2] + np.array(
            [[0.0] * len(points[0, :2]), [0.25, -0.5][: len(points[0, :2])]]
        )
        parts.append((f, others, [nearby]))
    for wanted in (None, 0):
        hold(parts, wanted)


@pytest.mark.exhaustive
@pytest.mark.timeout(900)
@pytest.mark.parametrize("part", range(100))
def test_random_graphs(part):
    """Bundles of five with as many rows; by turns by their parameters and by their inputs."""
    first = part // 4 * 20 + part % 4
    graphs = [RandomGraph(seed) for seed in range(first, first + 20, 4)]
    parts = [(g, g.parameters, g.batch) for g in graphs]
    hold(parts, None if part // 4 % 2 else 0)


def test_the_bundles_are_all_the_graphs():
    seeds = [s for part in range(100) for s in range(part // 4 * 20 + part % 4, 500, 4)[:5]]
    assert sorted(seeds) == list(range(500))
