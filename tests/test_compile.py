"""`compile` as users meet it: calls, shapes, messages, caches, threads, and the printed program."""

import contextlib
import io
import itertools
import keyword
import math
import sys
import threading
import tokenize

import numpy as np
import pytest
from scipy import optimize

import chainrule
from chainrule import (
    ChainruleError,
    CompileMismatch,
    ShapeError,
    Value,
    nn,
    ops,
)
from chainrule.compiler import runtime
from chainrule.compiler.compiled import _REMEMBERED
from chainrule.modes import MODES

# --- calling -------------------------------------------------------------------------------------


def line(x, y):
    return (W * x + B - y) ** 2


W, B = Value(2.0), Value(0.5)


@pytest.fixture(autouse=True)
def _fresh_parameters():
    W.data, B.data = 2.0, 0.5
    yield
    assert not MODES.used


@pytest.mark.parametrize("engine", ["numpy", "python"])
@pytest.mark.parametrize(("reduction", "share"), [("mean", 1 / 3), ("sum", 1.0)])
def test_a_batch(engine, reduction, share):
    step = chainrule.compile(line, parameters=[W, B], engine=engine, reduction=reduction)
    x, y = np.array([1.0, 2.0, -1.0]), np.array([2.0, 4.0, 7.0])
    error = 2.0 * x + 0.5 - y
    value, gradients = step(x, y)
    assert type(value) is float
    assert value == pytest.approx(share * (error**2).sum())
    assert gradients.shape == (2,)
    assert gradients == pytest.approx(share * np.array([(2 * error * x).sum(), (2 * error).sum()]))
    assert step.value(x, y) == pytest.approx(value)
    assert step.value_and_grad(x, y)[1].tolist() == gradients.tolist()


def test_parameters_are_read_at_each_call():
    step = chainrule.compile(line, parameters=[W, B])
    assert step([1.0], [0.0])[0] == 6.25
    W.data = 0.0
    assert step([1.0], [0.0])[0] == 0.25
    assert step([1.0], [0.0])[1].tolist() == [1.0, 1.0]


def test_gradients_come_in_the_order_of_parameters_and_only_for_them():
    both = chainrule.compile(line, parameters=[W, B])([1.0], [0.0])[1].tolist()
    assert chainrule.compile(line, parameters=[B, W])([1.0], [0.0])[1].tolist() == both[::-1]
    assert chainrule.compile(line, parameters=[B])([1.0], [0.0])[1].tolist() == both[1:]
    unused = Value(1.0)
    found = chainrule.compile(line, parameters=[unused, W])([1.0], [0.0])[1]
    assert found.tolist() == [0.0, both[0]]


def test_empty_parameters_mean_a_batch_all_the_same():
    step = chainrule.compile(lambda x: x * x, parameters=[])
    value, gradients = step([1.0, 3.0])
    assert value == 5.0
    assert gradients.shape == (0,)


def test_a_batch_of_matrices_and_several_arguments():
    def f(m, v, s):
        return ops.sum([ops.dot(row, v) for row in m]) * s

    m, v, s = np.arange(12.0).reshape(2, 2, 3), np.ones((2, 3)), [1.0, 2.0]
    step = chainrule.compile(f, parameters=[], reduction="sum")
    assert step(m, v, s)[0] == m[0].sum() + 2 * m[1].sum()


def test_no_arguments_at_all():
    step = chainrule.compile(lambda: W * W + B, parameters=[W])
    assert step()[0] == 4.5
    assert step()[1].tolist() == [4.0]
    alone = chainrule.compile(lambda: W * W)
    assert alone() == 4.0
    with pytest.raises(ShapeError, match="nothing to differentiate by"):
        alone.value_and_grad()


def test_one_example():
    f = chainrule.compile(lambda x, y: x[0] * x[1] + y)
    assert f([2.0, 3.0], 1.0) == 7.0
    assert type(f([2.0, 3.0], 1.0)) is float
    value, gradient = f.value_and_grad([2.0, 3.0], 1.0)
    assert value == 7.0
    assert isinstance(gradient, np.ndarray)
    assert gradient.tolist() == [3.0, 2.0]


def total(tree):
    if isinstance(tree, dict):
        return ops.sum([total(x) for x in tree.values()])
    if isinstance(tree, (list, tuple, np.ndarray)):
        return ops.sum([total(x) for x in tree])
    return tree * tree


@pytest.mark.parametrize(
    ("point", "gradient"),
    [
        (3.0, 6.0),
        (3, 6.0),
        ([1.0, 2.0], [2.0, 4.0]),
        ((1.0, 2.0), [2.0, 4.0]),
        ([[1.0], [2.0]], [[2.0], [4.0]]),
        (np.array([1.0, 2.0]), [2.0, 4.0]),
        (np.ones((2, 1, 2)), [[[2.0, 2.0]], [[2.0, 2.0]]]),
        (np.array([1, 2]), [2.0, 4.0]),
    ],
)
def test_a_gradient_has_the_shape_of_the_point(point, gradient):
    value, found = chainrule.compile(total).value_and_grad(point)
    assert value == float(np.sum(np.square(point)))
    assert np.asarray(found).tolist() == gradient
    assert isinstance(found, float if np.ndim(point) == 0 else np.ndarray)


def test_a_gradient_by_an_array_of_no_dimensions():
    value, gradient = chainrule.compile(lambda x: x * x).value_and_grad(np.array(3.0))
    assert value == 9.0
    assert float(gradient) == 6.0


def test_a_gradient_by_ragged_rows_and_dicts():
    f = chainrule.compile(total)
    assert f.value_and_grad([[1.0], [2.0, 3.0]])[1] == [[2.0], [4.0, 6.0]]
    assert f.value_and_grad({"w": [1.0, 2.0], "b": 3.0})[1] == {"w": [2.0, 4.0], "b": 6.0}
    assert f.value_and_grad({"b": 3.0})[1] == {"b": 6.0}


def test_several_results():
    f = chainrule.compile(lambda x: {"sum": x[0] + x[1], "parts": [x[0], 3.0]})
    assert f([1.0, 2.0]) == {"sum": 3.0, "parts": [1.0, 3.0]}
    with pytest.raises(ShapeError, match=r"returns one number; this one returns 3.*\.value"):
        f.value_and_grad([1.0, 2.0])
    step = chainrule.compile(lambda x: [x[0], x[0], W, x[1] * W, 1.0, x[0]], parameters=[W])
    found = step.value([[1.0, 2.0], [3.0, 4.0]])
    assert found.tolist() == [[1.0, 1.0, 2.0, 4.0, 1.0, 1.0], [3.0, 3.0, 2.0, 8.0, 1.0, 3.0]]


def test_results_are_copies():
    x = np.array([[1.0, 2.0], [3.0, 4.0]])
    step = chainrule.compile(lambda v: [v[0], v[1]], parameters=[])
    found = step.value(x)
    found[:] = 7.0
    assert x.tolist() == [[1.0, 2.0], [3.0, 4.0]]
    first = chainrule.compile(lambda v: v[0] * W + v[1], parameters=[W])
    gradients = first(x)[1]
    again = first(x)[1]
    gradients[:] = 7.0
    assert again.tolist() == first(x)[1].tolist() == [2.0]


def test_infinite_results_are_no_error_and_no_warning():
    f = chainrule.compile(lambda x: ops.div(1.0, x[0]) + ops.exp(1000.0 * x[1]) + ops.log(-x[1]))
    value, gradient = f.value_and_grad([0.0, 1.0])
    assert math.isnan(value)
    assert gradient[0] == -math.inf


def test_single_precision():
    step = chainrule.compile(line, parameters=[W, B], dtype="float32")
    value, gradients = step([1.0, 2.0], [2.0, 4.0])
    assert gradients.dtype == np.float32
    assert value == pytest.approx(0.25)
    beyond = chainrule.compile(lambda x: x * 1.0, parameters=[], dtype="float32")
    assert beyond([1e300])[0] == math.inf


# --- what is refused, and how --------------------------------------------------------------------


def step_of_line(**options):
    return chainrule.compile(line, parameters=[W, B], **options)


REFUSED = {
    "not a function": (
        lambda: chainrule.compile(3.0),
        r"compile needs a function of one example; got 3\.0 \(a float\)",
    ),
    "engine": (
        lambda: step_of_line(engine="jax"),
        "engine must be one of 'numpy', .*'python'; got 'jax'",
    ),
    "reduction": (lambda: step_of_line(reduction="max"), "reduction must be one of 'mean', 'sum'"),
    "dtype": (lambda: step_of_line(dtype="int"), "dtype must be one of 'float64', 'float32'"),
    "parameters that are numbers": (
        lambda: chainrule.compile(line, parameters=[W, 2.0]),
        r"parameters must be Values; parameter 1 is 2\.0",
    ),
    "parameters that were computed": (
        lambda: chainrule.compile(line, parameters=[W * 2.0]),
        "must be a leaf; parameter 0, .*computed from other values",
    ),
    "a parameter twice": (
        lambda: chainrule.compile(line, parameters=[W, B, W]),
        "parameters 0 and 2 are the same Value",
    ),
    "a number for a batch": (
        lambda: step_of_line()(1.0, [2.0]),
        r"argument 0 needs a leading batch axis.*got the single number 1\.0\. Write \[1\.0\]",
    ),
    "an empty batch": (
        lambda: step_of_line()([], []),
        "argument 0 is an empty batch: there is no example to compute with",
    ),
    "no rows": (lambda: step_of_line()(np.zeros((0, 3)), [1.0]), "argument 0 is an empty batch"),
    "batches of two lengths": (
        lambda: step_of_line()([1.0, 2.0], [1.0]),
        "argument 0 has 2 examples and argument 1 has 1; each argument needs one row per example",
    ),
    "rows of two lengths": (
        lambda: step_of_line()([[1.0], [1.0, 2.0]], [1.0, 2.0]),
        "argument 0 must have examples of one shape; got .*, whose rows differ",
    ),
    "text": (
        lambda: step_of_line()(["1", "2"], [1.0, 2.0]),
        "argument 0 must hold real numbers; it holds '1'.*float",
    ),
    "missing numbers": (
        lambda: step_of_line()([1.0, None], [1.0, 2.0]),
        "argument 0 must hold real numbers; it holds None",
    ),
    "complex numbers": (
        lambda: step_of_line()([1.0, 2.0], [1j, 2.0]),
        "argument 1 must hold real numbers; it holds 1j",
    ),
    "dates": (
        lambda: step_of_line()(np.array(["2020-01-01"], dtype="M8[D]"), [1.0]),
        "argument 0 must hold real numbers; it holds .*date",
    ),
    "Values in a batch": (
        lambda: step_of_line()([Value(1.0)], [1.0]),
        r"argument 0 must be plain numbers; got Value\(data=1\.0.*parameters=.*\.data",
    ),
    "a Value for a batch": (
        lambda: step_of_line()(Value(1.0), [1.0]),
        "argument 0 must be plain numbers",
    ),
    "Values as a point": (
        lambda: chainrule.compile(total)([1.0, Value(2.0)]),
        r"argument 0 must be plain numbers; got Value\(data=2\.0",
    ),
    "text as a point": (
        lambda: chainrule.compile(total)("abc"),
        "argument 0 must be a number, or a list, tuple, dict or NumPy array of numbers",
    ),
    "no result": (
        lambda: chainrule.compile(lambda x: None)(1.0),
        "the function's result must be .*got None.*forgot its return statement",
    ),
    "an empty result": (
        lambda: chainrule.compile(lambda x: [])(1.0),
        r"the function returned \[\].*without a single number",
    ),
    "an index out of range": (
        lambda: chainrule.compile(lambda x, k: ops.pick(k, x))([1.0, 2.0], 2.0),
        r"pick\(\) got index 2 for 2 option\(s\); expected a whole number from 0 to 1",
    ),
    "source before the first call": (lambda: step_of_line().source, "nothing has been compiled"),
    "report before the first call": (lambda: step_of_line().report, "Call it once"),
}


@pytest.mark.parametrize(("act", "message"), REFUSED.values(), ids=REFUSED)
def test_refused(act, message):
    with pytest.raises(ChainruleError, match=message):
        act()


def test_a_wrong_number_of_arguments_names_the_one_that_is_missing():
    with pytest.raises(ShapeError, match="with 1 argument: missing a required argument: 'y'"):
        step_of_line()([1.0])


def test_an_index_out_of_range_in_a_later_row():
    step = chainrule.compile(lambda x, k: ops.pick(k, x) * W, parameters=[W])
    assert step([[1.0, 2.0]] * 2, [0, 1])[0] == 3.0
    for wrong in (2.0, -1.0, 0.5, math.nan):
        with pytest.raises(ShapeError, match=r"pick\(\) got index"):
            step([[1.0, 2.0]] * 2, [0, wrong])


def test_examples_without_numbers():
    step = chainrule.compile(lambda x: W * (1.0 + len(x)), parameters=[W])
    assert step(np.zeros((3, 0)))[0] == 2.0
    assert step(np.zeros((3, 0)))[1].tolist() == [1.0]


# --- faithful to the function itself -------------------------------------------------------------


def test_a_function_that_changes_after_it_was_traced():
    calls = []

    def f(x):
        calls.append(1)
        return x * W if len(calls) <= 2 else x * W * 1.5

    with pytest.raises(CompileMismatch, match=r"first example.*instead of.*a counter, a cache"):
        chainrule.compile(f, parameters=[W])([1.0])


def test_a_function_that_keeps_what_it_computed():
    kept = []

    def f(x):
        if len(kept) < 2:
            kept.append(x * W)
        return kept[-1]

    with pytest.raises(ChainruleError, match="earlier trace"):
        chainrule.compile(f, parameters=[W])([1.0])


def test_a_wrong_gradient_would_be_noticed():
    stranger = Value(1.0)

    def f(x):
        return stranger * x if isinstance(x, float) else W * x

    stranger.data = W.data  # the same result, by another parameter
    with pytest.raises(CompileMismatch, match="program's gradient differs"):
        chainrule.compile(f, parameters=[W])([1.0])


def test_parameters_are_restored_whatever_happens():
    W.grad, B.grad = 1.0, 2.0

    def fails(x, y):
        raise ZeroDivisionError

    for f in (line, fails, lambda x, y: W.data, lambda x, y: x if x > 0 else y):
        with contextlib.suppress(ChainruleError, ZeroDivisionError):
            chainrule.compile(f, parameters=[W, B])([1.0], [2.0])
        assert (W.data, B.data, W.grad, B.grad) == (2.0, 0.5, 1.0, 2.0)
    W.grad = B.grad = 0.0


# --- structures, caches, threads -----------------------------------------------------------------


def test_retracing_when_the_structure_changes():
    traces = []

    def f(x):
        if not isinstance(x[0], (float, Value)):
            traces.append(len(x))
        return ops.sum([W * v for v in x])

    step = chainrule.compile(f, parameters=[W])
    assert step([[1.0, 2.0]])[0] == 6.0
    assert step([[1.0, 2.0], [3.0, 4.0]])[0] == 10.0  # another batch size is no other structure
    assert traces == [2, 2]
    assert step([[1.0, 2.0, 3.0]])[0] == 12.0
    assert traces == [2, 2, 3, 3]
    assert "x @" in step.source
    assert step([[1.0, 2.0]])[0] == 6.0
    assert traces == [2, 2, 3, 3]


def test_lists_and_arrays_are_different_structures():
    kinds = []

    def f(x):
        kinds.append(type(x))
        return x[0] * x[1]

    g = chainrule.compile(f)
    assert g([2.0, 3.0]) == g(np.array([2.0, 3.0])) == g((2.0, 3.0)) == 6.0
    assert set(kinds) == {list, tuple, np.ndarray}


def test_the_cache_is_bounded():
    step = chainrule.compile(lambda x: ops.sum(x) * W, parameters=[W])
    for n in range(1, 3 * _REMEMBERED):
        step(np.ones((1, n)))
    assert len(step._entries) == _REMEMBERED
    assert step(np.ones((1, 1)))[0] == 2.0  # forgotten, and made again


def test_what_was_used_last_is_forgotten_last():
    traces = []

    def f(x):
        traces.append(len(x))
        return ops.sum(x) * W

    step = chainrule.compile(f, parameters=[W])
    for n in range(1, _REMEMBERED + 1):
        step(np.ones((1, n)))
    step(np.ones((1, 1)))
    step(np.ones((1, 50)))  # in place of 2, not of 1
    del traces[:]
    step(np.ones((1, 1)))
    assert traces == []
    step(np.ones((1, 2)))
    assert traces


def test_threads_share_one_compiled_function():
    weights = [Value(0.01 * i) for i in range(40)]

    def f(x):
        return ops.tanh(ops.dot(weights[: len(x)], x)) ** 2

    step = chainrule.compile(f, parameters=weights)
    alone = chainrule.compile(f, parameters=weights)
    batches = [np.random.default_rng(i).normal(size=(16, 5 + i % 4)) for i in range(8)]
    expected = [alone(x) for x in batches]
    found = [[] for _ in batches]
    barrier = threading.Barrier(len(batches))

    def work(i):
        barrier.wait()
        for _ in range(20):
            found[i].append(step(batches[i]))

    threads = [threading.Thread(target=work, args=(i,)) for i in range(len(batches))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for (value, gradients), results in zip(expected, found, strict=True):
        assert len(results) == 20
        for v, g in results:
            assert v == value
            assert g.tolist() == gradients.tolist()


def test_no_thread_sees_parameters_while_another_traces():
    """Tracing changes parameters for a moment, of which no program may get to know."""
    w = Value(3.0)
    ready = chainrule.compile(lambda x: w * x, parameters=[w])
    assert ready([1.0])[0] == 3.0
    inside, done = threading.Event(), threading.Event()
    seen = []

    def slow(x):
        if len(seen) == 0 and inside.is_set():
            done.wait(0.2)  # in the second trace: the parameter is perturbed
        inside.set()
        return w * x

    thread = threading.Thread(target=lambda: chainrule.compile(slow, parameters=[w])([1.0]))
    thread.start()
    inside.wait()
    seen += [ready([1.0])[0] for _ in range(5)]
    done.set()
    thread.join()
    assert seen == [3.0] * 5
    assert w.data == 3.0


def test_scipy_minimizes_with_it_as_it_is():
    def rosenbrock(x):
        return ops.sum(
            [100.0 * (x[i + 1] - x[i] ** 2) ** 2 + (1.0 - x[i]) ** 2 for i in range(len(x) - 1)]
        )

    f = chainrule.compile(rosenbrock).value_and_grad
    start = np.array([-1.2, 1.0, -0.5, 0.8])
    assert optimize.approx_fprime(start, lambda x: f(x)[0]) == pytest.approx(f(start)[1], rel=1e-4)
    found = optimize.minimize(f, start, jac=True, method="BFGS")
    assert found.success
    assert found.x == pytest.approx(np.ones(4), abs=1e-5)


# --- the printed program -------------------------------------------------------------------------


def network(*sizes, activation=ops.tanh):
    """A plain network, in plain scalar code."""
    layers = [
        [([Value(0.1 * (i - j)) for i in range(n)], Value(0.0)) for j in range(m)]
        for n, m in itertools.pairwise(sizes)
    ]
    parameters = [p for layer in layers for weights, bias in layer for p in (*weights, bias)]

    def net(x):
        for layer in layers:
            z = [
                sum([w * v for w, v in zip(weights, x, strict=True)], start=bias)
                for weights, bias in layer
            ]
            x = z if layer is layers[-1] else [activation(v) for v in z]
        return x

    return net, parameters


def test_the_program_of_a_small_network():
    net, parameters = network(2, 8, 1)
    step = chainrule.compile(lambda x, y: (ops.tanh(net(x)[0]) - y) ** 2, parameters=parameters)
    step([[0.0, 1.0]], [1.0])
    assert (
        step.source
        == """\
def forward(theta, x, y, rows):
    W1 = theta[0:24].reshape(8, 3)[:, :2]
    b1 = theta[2:24:3]
    W2 = theta[24:32].reshape(1, 8)
    b2 = theta[32:33]

    h1 = np.tanh(x @ W1.T + b1)  # 40 scalar nodes
    h2 = np.tanh(h1 @ W2.T + b2)  # 17 scalar nodes
    v1 = h2 - y  # 1 scalar node
    loss = v1 * v1  # 1 scalar node
    return loss


def forward_backward(theta, x, y, seed, rows):
    W1 = theta[0:24].reshape(8, 3)[:, :2]
    b1 = theta[2:24:3]
    W2 = theta[24:32].reshape(1, 8)
    b2 = theta[32:33]
    dtheta = np.zeros_like(theta)
    dW1 = dtheta[0:24].reshape(8, 3)[:, :2]
    db1 = dtheta[2:24:3]
    dW2 = dtheta[24:32].reshape(1, 8)
    db2 = dtheta[32:33]

    # forward
    h1 = np.tanh(x @ W1.T + b1)  # 40 scalar nodes
    h2 = np.tanh(h1 @ W2.T + b2)  # 17 scalar nodes
    v1 = h2 - y  # 1 scalar node
    loss = v1 * v1  # 1 scalar node

    # backward
    dloss = seed
    dv1 = dloss * 2.0 * v1
    dh2 = dv1
    dz2 = dh2 * (1.0 - h2 * h2)
    dW2 += dz2.T @ h1
    db2 += dz2.sum(0)
    dh1 = dz2 @ W2
    dz1 = dh1 * (1.0 - h1 * h1)
    dW1 += dz1.T @ x
    db1 += dz1.sum(0)
    return loss, dtheta
"""
    )


def test_the_report():
    net, parameters = network(64, 32, 10)
    loss = nn.LOSSES["cross_entropy"]
    step = chainrule.compile(lambda x, y: loss(net(x), y), parameters=parameters)
    step(np.ones((2, 64)), [3, 4])
    report = step.report
    assert report.statements <= 12
    assert report.statements == len(step.program.statements)
    assert report.parameters == 64 * 32 + 32 + 32 * 10 + 10
    assert report.scalar_nodes > 4_700
    assert report.engine == "numpy"
    assert 0.0 < report.seconds < 60.0
    assert report.bytes_per_example == 8 * sum(s.target.size for s in step.program.statements)
    assert f"became {report.statements} statements" in str(report)


KNOWN = {
    "def",
    "return",
    "True",
    "np",
    "theta",
    "dtheta",
    "seed",
    "rows",
    "forward",
    "forward_backward",
}
NUMPY = {name for name in dir(np) if not name.startswith("_")} | {"inf", "nan"}
METHODS = {"T", "sum", "any", "reshape", "swapaxes", "axis", "keepdims", "dtype", "ravel"}


def foreign(source):
    """The names and texts in a program that the compiler did not make."""
    found = []
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type == tokenize.STRING:
            found.append(token.string)
        elif token.type == tokenize.NAME:
            name = token.string
            plain = name.lstrip("dm").rstrip("0123456789")
            made = plain in {"x", "y", "z", "h", "v", "t", "W", "b", "c", "C", "I", "loss", ""}
            if not made and name not in KNOWN | NUMPY | METHODS | set(runtime.__all__):
                found.append(name)
        elif token.type == tokenize.COMMENT:
            words = token.string.lstrip("# ").split()
            if token.string not in ("# forward", "# backward") and not (
                words[0].isdecimal() and words[1:] in (["scalar", "node"], ["scalar", "nodes"])
            ):
                found.append(token.string)
    return found


HOSTILE = '"; import os; os.system("touch owned")  # \n\n    raise SystemExit\n\'\'\'"""\\'


def test_nothing_of_the_users_reaches_the_source():
    p = [Value(0.1 * i, label=HOSTILE) for i in range(12)]

    def hostile(os, lambda_, theta, *, k=HOSTILE):
        del k
        hidden = [ops.tanh(ops.dot(p[3 * i : 3 * i + 3], os)) for i in range(3)]
        chosen = [ops.where(ops.greater(v, 0.0), ops.sqrt(v), p[9]) for v in hidden]
        return ops.logsumexp([*chosen, *lambda_, p[10]]) * ops.pick(theta[0], [*hidden, p[11]])

    hostile.__name__ = hostile.__qualname__ = hostile.__doc__ = HOSTILE
    step = chainrule.compile(hostile, parameters=p)
    step(np.ones((2, 3)), np.ones((2, 2)), np.ones((2, 1)))
    by_input = chainrule.compile(hostile)
    by_input.value_and_grad([1.0] * 3, [1.0] * 2, [1.0])
    named = chainrule.compile(lambda d: ops.sum([v * v for v in d.values()]))
    named.value_and_grad({HOSTILE: 1.0, "__class__": 2.0})
    for compiled in (step, by_input, named):
        assert foreign(compiled.source) == []


def test_the_check_for_foreign_names_itself():
    for text in ("x = os.path\n", "x = 'a'\n", "# import\nx = 1\n", "x = y.__class__\n"):
        assert foreign(text)
    assert all(keyword.iskeyword(name) or name.islower() for name in METHODS - {"T"})


@pytest.mark.parametrize("number", [1e300, -1e-300, 0.1, -0.0, 1e16, math.inf, -math.inf, math.nan])
def test_numbers_in_the_source_are_exact(number):
    f = chainrule.compile(
        lambda x: [x[0] * number, number - x[0], x[0] ** number, ops.less(x[0], number)]
    )
    for x in (2.0, -0.5, 0.0):
        expected = [x * number, number - x, ops.pow(x, number), ops.less(x, number)]
        np.testing.assert_array_equal(f([x]), expected)


# --- time ----------------------------------------------------------------------------------------


def test_time_to_compile_is_linear():
    """Counted in function calls per scalar node, which no other process disturbs."""

    def calls(h):
        net, parameters = network(32, h, 10)
        step = chainrule.compile(
            lambda x, y: nn.LOSSES["cross_entropy"](net(x), y), parameters=parameters
        )
        count = 0

        def tick(frame, event, argument):
            nonlocal count
            count += event in {"call", "c_call"}

        sys.setprofile(tick)
        try:
            step.value(np.ones((1, 32)), [1])
        finally:
            sys.setprofile(None)
        return count / step.report.scalar_nodes

    small, large = calls(16), calls(128)
    assert large < 1.1 * small
