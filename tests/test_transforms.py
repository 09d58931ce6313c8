"""Derivatives by every transform: both modes against each other, and against the truth."""

import json
import math
import random
from collections import namedtuple
from functools import partial
from itertools import pairwise, product
from pathlib import Path

import mpmath
import numpy as np
import pytest
from mpmath import mp

from chainrule import Value, no_grad, ops
from chainrule.dual import Dual
from chainrule.errors import GraphError, NotANumberError, OptionError, ShapeError
from chainrule.operation import ROWS
from chainrule.parsing import parse
from chainrule.structure import flatten
from chainrule.transforms import (
    PassCount,
    count_passes,
    grad,
    gradients,
    hessian,
    hvp,
    jacobian,
    jvp,
    value_and_grad,
    vjp,
)

every_row = pytest.mark.parametrize("op", ROWS.values(), ids=lambda op: op.name)
EXPRESSIONS = [
    json.loads(line)
    for line in (Path(__file__).parent / "data" / "expressions.jsonl").read_text().splitlines()
]


def dot(xs, ys):
    return math.fsum([x * y for x, y in zip(xs, ys, strict=True)])


# --- one mode against the other -----------------------------------------------------------------


def hold_dot_product(f, point, source, rel=1e-12):
    """``w . (J v)`` by forward mode must be ``(w J) . v`` by reverse mode."""
    v = [source.uniform(-1.0, 1.0) for _ in point]
    y, pushed = jvp(f, [point], [v])
    w = [source.uniform(-1.0, 1.0) for _ in y]
    again, pull = vjp(f, point)
    (pulled,) = pull(w)
    assert again == y
    forward, reverse = dot(w, pushed), dot(pulled, v)
    scale = math.fsum([abs(a * b) for a, b in zip(pulled, v, strict=True)])
    assert forward == pytest.approx(reverse, rel=rel, abs=rel * scale)


@every_row
def test_dot_product_on_every_row(op):
    source = random.Random(f"dot {op.name}")
    for _ in range(10):
        point = [source.uniform(low, high) for low, high in op.domain]
        hold_dot_product(lambda xs: [op.apply(tuple(xs))], point, source)


SMOOTH = [ROWS[symbol] for symbol in ROWS if ROWS[symbol].arity == 1 and not ROWS[symbol].kinks]


def random_graph(source, n_inputs, n_nodes):
    """A random function of a list: each node an operation on earlier ones, several outputs."""
    recipe = []
    for i in range(n_inputs, n_inputs + n_nodes):
        op = source.choice([ops.add, ops.sub, ops.mul, ops.maximum, ops.sum, *SMOOTH])
        count = 3 if op is ops.sum else op.arity
        recipe.append((op, [source.randrange(i) for _ in range(count)]))

    def f(xs):
        found = list(xs)
        for op, places in recipe:
            # Squashed, so that every node lies in every domain.
            found.append(0.5 + 0.4 * ops.tanh(op.apply(tuple([found[p] for p in places]))))
        return found[-3:]

    return f


@pytest.mark.parametrize("seed", range(25))
def test_dot_product_on_random_graphs(seed):
    source = random.Random(seed)
    f = random_graph(source, 4, 15)
    hold_dot_product(f, [source.uniform(0.1, 0.9) for _ in range(4)], source)


def test_the_dot_product_test_finds_a_mode_that_is_off(monkeypatch):
    source = random.Random(1)
    tangent = Dual.__op__

    def wrong(self, op, operands):
        y = tangent(self, op, operands)
        return Dual(y.primal, y.tangent * 1.0005, y.level) if op is ops.exp else y

    monkeypatch.setattr(Dual, "__op__", wrong)
    with pytest.raises(AssertionError):
        hold_dot_product(lambda xs: [ops.exp(xs[0] * xs[1])], [0.3, 0.7], source)


# --- the reference expressions ------------------------------------------------------------------


@pytest.mark.parametrize("row", EXPRESSIONS, ids=lambda row: row["expr"][:30])
def test_reference_expressions_through_every_transform(row):
    formula = parse(row["expr"])
    names = list(row["inputs"])
    point = [float(x) for x in row["inputs"].values()]
    expected = [float(x) for x in row["grads"].values()]

    def f(xs):
        return formula.evaluate(dict(zip(names, xs, strict=True))) + 0.0 * xs[0]

    def near(numbers, rel=1e-9):
        size = max([abs(x) for x in numbers])
        return pytest.approx(numbers, rel=rel, abs=rel * size, nan_ok=True)

    value, by_reverse = value_and_grad(f)(point)
    if math.isnan(value):  # Python made a complex number of this constant, and took its abs
        assert "(0.5 + -2.12 ** 2) ** 1.7" in row["expr"]
        assert math.isnan(by_reverse[0])
        return
    assert value == pytest.approx(row["value"], rel=1e-12)
    assert by_reverse == near(expected)
    assert grad(f)(point) == by_reverse
    assert vjp(f, point)[1](2.0)[0] == near([2.0 * x for x in expected])
    assert jacobian(f, mode="reverse")(point) == by_reverse
    assert jacobian(f, mode="forward")(point) == near(expected)
    v = [0.3, -1.1, 0.7, 0.2]
    _, along = jvp(f, [point], [v])
    assert along == pytest.approx(dot(expected, v), rel=1e-9, abs=1e-9 * max(map(abs, expected)))

    H = hessian(f)(point)
    size = max([abs(x) for line in H for x in line])
    for i, j in product(range(4), repeat=2):
        assert H[i][j] == pytest.approx(H[j][i], rel=1e-9, abs=1e-11 * size)
    assert hvp(f, point, v) == near([dot(line, v) for line in H], 1e-9)
    if size < 1e6:
        hold_differences(grad(f), point, H, size)


def hold_differences(g, point, H, size):
    """The matrix against differences of exact gradients, extrapolated once (Richardson)."""
    for j in range(len(point)):

        def along(h, j=j):
            up, down = list(point), list(point)
            up[j] += h
            down[j] -= h
            return [(a - b) / (2.0 * h) for a, b in zip(g(up), g(down), strict=True)]

        coarse, fine = along(2e-4), along(1e-4)
        for i in range(len(point)):
            found = (4.0 * fine[i] - coarse[i]) / 3.0
            assert found == pytest.approx(H[i][j], rel=2e-5, abs=2e-6 * (1.0 + size))


# --- second and third order ---------------------------------------------------------------------


def nested(f, order):
    for _ in range(order):
        f = grad(f)
    return f


@pytest.mark.parametrize("order", [1, 2, 3])
@pytest.mark.parametrize(
    ("f", "derivatives"),
    [
        (
            lambda x: x**4,
            (lambda x: 4 * x**3, lambda x: 12 * x**2, lambda x: 24 * x),
        ),
        (
            lambda x: ops.sin(2.0 * x),
            (
                lambda x: 2 * math.cos(2 * x),
                lambda x: -4 * math.sin(2 * x),
                lambda x: -8 * math.cos(2 * x),
            ),
        ),
        (
            lambda x: ops.exp(-x * x),
            (
                lambda x: -2 * x * math.exp(-x * x),
                lambda x: (4 * x**2 - 2) * math.exp(-x * x),
                lambda x: (12 * x - 8 * x**3) * math.exp(-x * x),
            ),
        ),
        (
            lambda x: x * ops.log(x),
            (lambda x: math.log(x) + 1, lambda x: 1 / x, lambda x: -1 / x**2),
        ),
    ],
    ids=["power", "sine", "bell", "entropy"],
)
def test_closed_forms(f, derivatives, order):
    for x in (0.3, 1.7):
        exact = derivatives[order - 1](x)
        assert nested(f, order)(x) == pytest.approx(exact, rel=1e-13)


def mixed_third(f, x):
    """The third derivative, one mode inside the other in every order."""
    level = {
        "reverse": grad,
        "forward": lambda g: lambda x: jvp(g, [x], [1.0])[1],
    }
    for modes in product(level, repeat=3):
        g = f
        for mode in modes:
            g = level[mode](g)
        yield modes, g(x)


FUNCTIONS = {
    "composed": (
        lambda x: ops.sigmoid(x * ops.sin(x)) / (1.0 + x * x),
        lambda x: 1 / (1 + mp.exp(-x * mp.sin(x))) / (1 + x * x),
    ),
    "gelu": (ops.gelu, lambda x: x * mp.ncdf(x)),
    "power": (lambda x: x**x, lambda x: x**x),
    "logsumexp": (
        lambda x: ops.logsumexp([x, 2.0, x * x]),
        lambda x: mp.log(mp.exp(x) + mp.exp(2) + mp.exp(x * x)),
    ),
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_third_order_in_every_mix_of_modes_against_mpmath(name):
    f, reference = FUNCTIONS[name]
    for x in (0.4, 1.3):
        with mp.workdps(40):
            exact = float(mp.diff(reference, mpmath.mpf(x), 3))
        for modes, got in mixed_third(f, x):
            assert got == pytest.approx(exact, rel=1e-11), modes


# --- no perturbation confusion ------------------------------------------------------------------


def forward(f):
    return lambda x: jvp(f, [x], [1.0])[1]


def pulled(f):
    return lambda x: vjp(f, x)[1](1.0)[0]


MODES = {"grad": grad, "jvp": forward, "vjp": pulled, "jacobian": jacobian}


@pytest.mark.parametrize("inner", MODES)
@pytest.mark.parametrize("outer", MODES)
def test_perturbations_are_not_confused(inner, outer):
    # d/dx [x * d/dy (x * y)] = 2x; a confusion gives 3x or x (Siskind & Pearlmutter, 2005).
    inside, outside = MODES[inner], MODES[outer]
    assert outside(lambda x: x * inside(lambda y: x * y)(1.5))(3.0) == 6.0
    assert outside(lambda x: x * inside(lambda y: x + y)(1.0))(1.0) == 1.0
    # The inner function is constant in y: its derivative is 0 whatever x does.
    assert outside(lambda x: x * inside(lambda y: x * x)(1.0) + x)(4.0) == 1.0
    # The point of the inner derivative depends on x: d/dx (2x * x^2) = 6 x^2.
    assert outside(lambda x: inside(lambda y: y * y * x * x)(x))(2.0) == 24.0


@pytest.mark.parametrize("modes", list(product(MODES, repeat=3)), ids="-".join)
def test_three_levels_with_closures(modes):
    a, b, c = [MODES[mode] for mode in modes]
    # By hand: d/dz (x y z^2) at z = x y is 2 x^2 y^2; times y it is 2 x^2 y^3, whose
    # derivative by y at y = x is 6 x^4; times x it is 6 x^5, whose derivative is 30 x^4.
    f = a(lambda x: x * b(lambda y: y * c(lambda z: x * y * z * z)(x * y))(x))
    assert f(1.5) == pytest.approx(30.0 * 1.5**4, rel=1e-13)


def test_directions_may_themselves_be_differentiated():
    # jvp of x^3 along v is 3 x^2 v; its derivative by v is 3 x^2, by x with v = x it is 9 x^2.
    assert grad(lambda v: jvp(lambda x: x**3, [2.0], [v])[1])(1.0) == 12.0
    assert grad(lambda x: jvp(lambda u: u**3, [x], [x])[1])(2.0) == 36.0
    assert forward(lambda w: vjp(lambda x: x**3, 2.0)[1](w)[0])(1.0) == 12.0
    assert forward(lambda w: vjp(lambda x: x**3, w)[1](w)[0])(2.0) == 36.0


# --- matrices of second derivatives -------------------------------------------------------------


def rosenbrock(x):
    return sum([100.0 * (b - a * a) ** 2 + (1.0 - a) ** 2 for a, b in pairwise(x)])


def test_hessian_of_rosenbrock():
    a, b = -1.2, 1.0
    H = hessian(rosenbrock)([a, b])
    exact = [[1200.0 * a * a - 400.0 * b + 2.0, -400.0 * a], [-400.0 * a, 200.0]]
    for line, wanted in zip(H, exact, strict=True):
        assert line == pytest.approx(wanted, rel=1e-13)
    point = [0.5, -0.3, 1.1, 0.9]
    hold_differences(grad(rosenbrock), point, hessian(rosenbrock)(point), 1e3)
    v = [1.0, -2.0, 0.5, 3.0]
    H = hessian(rosenbrock)(point)
    assert hvp(rosenbrock, point, v) == pytest.approx([dot(line, v) for line in H], rel=1e-12)


def network(weights, x):
    """2-4-1, tanh inside, written out: 17 weights in a flat list."""
    hidden = [
        ops.tanh(weights[3 * i] * x[0] + weights[3 * i + 1] * x[1] + weights[3 * i + 2])
        for i in range(4)
    ]
    return ops.sigmoid(ops.dot(weights[12:16], hidden) + weights[16])


XOR = [([0.0, 0.0], 0.0), ([0.0, 1.0], 1.0), ([1.0, 0.0], 1.0), ([1.0, 1.0], 0.0)]


def xor_loss(weights):
    return sum([(network(weights, x) - y) ** 2 for x, y in XOR])


def test_hessian_of_a_network():
    source = random.Random(4)
    weights = [source.uniform(-1.0, 1.0) for _ in range(17)]
    H = hessian(xor_loss)(weights)
    assert max([abs(x) for line in H for x in line]) > 0.1
    for i, j in product(range(17), repeat=2):
        assert H[i][j] == pytest.approx(H[j][i], rel=1e-12, abs=1e-15)
    hold_differences(grad(xor_loss), weights, H, 1.0)
    v = [source.uniform(-1.0, 1.0) for _ in range(17)]
    assert hvp(xor_loss, weights, v) == pytest.approx([dot(line, v) for line in H], rel=1e-12)
    # Reverse over forward is the same number.
    along = grad(lambda w: jvp(xor_loss, [w], [v])[1])(weights)
    assert along == pytest.approx(hvp(xor_loss, weights, v), rel=1e-12)


@pytest.mark.parametrize(("order", "slope"), [(1, 2.0), (2, 3.0)])
def test_remainder_of_taylor_falls_with_the_right_power(order, slope):
    source = random.Random(8)
    weights = [source.uniform(-1.0, 1.0) for _ in range(17)]
    v = [source.uniform(-1.0, 1.0) for _ in range(17)]
    value, gradient = value_and_grad(xor_loss)(weights)
    curve = dot(hvp(xor_loss, weights, v), v) if order == 2 else 0.0

    def remainder(h):
        moved = xor_loss([w + h * d for w, d in zip(weights, v, strict=True)])
        return abs(moved - value - h * dot(gradient, v) - h * h / 2.0 * curve)

    found = math.log2(remainder(2e-3) / remainder(1e-3))
    assert found == pytest.approx(slope, abs=0.05)


# --- structures ---------------------------------------------------------------------------------

Point = namedtuple("Point", "x y")


class Row(list):
    pass


def polynomial(numbers):
    """Of a flat list: the sum of (i + 1) * x ** 2, with gradient 2 (i + 1) x."""
    return sum([(i + 1.0) * x * x for i, x in enumerate(numbers)])


@pytest.mark.parametrize(
    ("argument", "expected"),
    [
        (3.0, 6.0),
        (3, 6.0),
        (True, 2.0),
        (np.float32(3.0), 6.0),
        ([1.0, 2.0], [2.0, 8.0]),
        ((1.0, 2.0), (2.0, 8.0)),
        ([1.0, (2.0, [3.0])], [2.0, (8.0, [18.0])]),
        ({"a": 1.0, "b": [2.0, 3.0]}, {"a": 2.0, "b": [8.0, 18.0]}),
        (Point(1.0, [2.0]), Point(2.0, [8.0])),
        ([], []),
    ],
    ids=repr,
)
def test_gradient_has_the_structure_of_the_argument(argument, expected):
    def f(x):
        return polynomial(flatten(x, "x")[0])

    for found in (grad(f)(argument), jacobian(f, mode="forward")(argument)):
        assert found == expected
        assert type(found) is type(expected)
    _, pull = vjp(f, argument)
    assert pull(1.0) == (expected,)


def test_a_kind_of_list_comes_back_as_a_list():
    assert grad(polynomial)(Row([1.0, 2.0])) == [2.0, 8.0]


@pytest.mark.parametrize("dtype", [float, np.float32, int, bool, object])
def test_arrays(dtype):
    x = np.array([[1, 0], [1, 1]], dtype=dtype)
    found = grad(lambda x: (x * x * np.array([[1.0, 2.0], [3.0, 4.0]])).sum())(x)
    assert found.dtype == float
    np.testing.assert_array_equal(found, [[2.0, 0.0], [6.0, 8.0]])


def test_array_matrices_have_the_shape_of_numpy():
    A = np.array([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])
    x = np.array([0.5, -1.0, 2.0])
    for mode in ("auto", "forward", "reverse"):
        np.testing.assert_array_equal(jacobian(lambda x: A @ x, mode=mode)(x), A)
        J = jacobian(lambda x: np.outer(x, x), mode=mode)(x)
        assert J.shape == (3, 3, 3)
        assert J[0, 1, 1] == 0.5
    H = hessian(lambda x: x @ (A.T @ A) @ x)(x)
    np.testing.assert_allclose(H, 2.0 * A.T @ A, rtol=1e-15)
    empty = jacobian(lambda x: A @ np.zeros(3) + x.sum(), mode="forward")(np.zeros(0))
    assert empty.shape == (2, 0)


def test_arrays_of_no_dimension_and_of_values():
    assert grad(lambda x: x * x)(np.array(3.0)) == 6.0
    v = Value(3.0)
    (found,) = grad(lambda x: (x**3).sum())(np.array([v], dtype=object))
    found.backward()
    assert (found.data, v.grad) == (27.0, 18.0)


def test_matrices_of_mixed_structures():
    def f(x):
        return {"sum": x["a"] + x["b"][0], "parts": (x["a"] * x["b"][0],)}

    x = {"a": 2.0, "b": [3.0]}
    expected = {"sum": {"a": 1.0, "b": [1.0]}, "parts": ({"a": 3.0, "b": [2.0]},)}
    for mode in ("auto", "forward", "reverse"):
        assert jacobian(f, mode=mode)(x) == expected
    value, tangent = jvp(f, [x], [{"a": 1.0, "b": [10.0]}])
    assert value == {"sum": 5.0, "parts": (6.0,)}
    assert tangent == {"sum": 11.0, "parts": (23.0,)}


def test_array_in_list_out():
    J = jacobian(lambda x: [x[0] * x[1], x[0]])(np.array([2.0, 3.0]))
    assert isinstance(J, list)
    np.testing.assert_array_equal(J[0], [3.0, 2.0])


def test_functions_of_several_arguments_and_options():
    def f(x, y, *, power=1):
        return x * y**power

    assert grad(f)(2.0, 3.0) == 3.0
    assert grad(f, 1)(2.0, 3.0, power=2) == 12.0
    assert grad(f, -1)(2.0, 3.0) == 2.0
    assert grad(f, (1, 0))(2.0, 3.0) == (2.0, 3.0)
    assert value_and_grad(f, [0])(2.0, 3.0) == (6.0, (3.0,))
    assert jacobian(f, 1)(2.0, 3.0, power=2) == 12.0
    assert grad(partial(f, power=3), 1)(2.0, 3.0) == 54.0
    assert grad(f).__name__ == "f"
    # Arguments that are not differentiated may be anything.
    assert grad(lambda x, word: x * len(word))(2.0, "four") == 4.0


def test_inputs_that_do_not_move_still_behave_like_values():
    # Methods, fractional powers of negative numbers: a plain float has neither.
    _, tangent = jvp(lambda x, y: x * y.tanh(), [2.0, 0.5], [1.0, 0.0])
    assert tangent == math.tanh(0.5)
    assert math.isnan(jvp(lambda x, y: x + y**0.5, [2.0, -1.0], [1.0, 0.0])[0])
    assert jvp(lambda x, y: x * ops.sqrt(y), [2.0, 0.0], [1.0, 0.0]) == (0.0, 0.0)
    assert jvp(lambda x, y: x + ops.sqrt(y), [2.0, 0.0], [1.0, 0.0]) == (2.0, 1.0)


def test_results_that_do_not_depend_on_the_input():
    assert grad(lambda x: 5.0)(1.0) == 0.0
    assert jvp(lambda x: [5.0, x], [1.0], [1.0]) == ([5.0, 1.0], [0.0, 1.0])
    assert vjp(lambda x: 5, 1.0)[0] == 5.0
    assert jacobian(lambda x: [1.0, x[0]])([1.0, 2.0]) == [[0.0, 0.0], [1.0, 0.0]]
    assert hessian(lambda x: x[0])([1.0, 2.0]) == [[0.0, 0.0], [0.0, 0.0]]


# --- mistakes -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: grad(lambda x: [x, x])(1.0), ShapeError, r"returned list\[a number, a number\]"),
        (lambda: grad(lambda x: None)(1.0), NotANumberError, "None.*forgot its return statement"),
        (lambda: grad(lambda x: x)("3"), NotANumberError, "argument 0 must be a number.*'3'"),
        (lambda: grad(lambda x: x)([1.0, "3"]), NotANumberError, "argument 0 .*'3'"),
        (lambda: grad(lambda x: x)(1j), NotANumberError, "complex"),
        (lambda: grad(lambda x: x)(np.array([1j])), NotANumberError, "dtype complex128.*astype"),
        (
            lambda: grad(lambda x: x)(np.array([1.0, "3"], dtype=object)),
            NotANumberError,
            "must hold numbers or Values only; it holds '3'",
        ),
        (lambda: grad(lambda x: x, 1)(1.0), OptionError, "argument 1, but .* 1 positional"),
        (lambda: grad(lambda x: x, "x")(1.0), OptionError, "argument 'x'"),
        (lambda: grad(lambda x: x, None)(1.0), OptionError, "argument None"),
        (lambda: grad(lambda x, y: x, (0, -2))(1.0, 2.0), OptionError, r"twice: \(0, -2\)"),
        (lambda: jacobian(lambda x: x, (0, 1)), OptionError, "one argument number"),
        (lambda: jacobian(lambda x: x, mode="back"), OptionError, "'auto', 'forward' or 'reverse'"),
        (lambda: jvp(lambda x: x, 1.0, [1.0]), ShapeError, "primals as a list.*write \\[x\\]"),
        (lambda: jvp(lambda x: x, [1.0], 1.0), ShapeError, "tangents as a list"),
        (lambda: jvp(lambda x: x, [1.0], [1.0, 2.0]), ShapeError, "1 primals and 2 tangents"),
        (lambda: jvp(lambda x: x[0], [[1.0]], [1.0]), ShapeError, "tangent 0 must have the struct"),
        (lambda: vjp(lambda x: [x, x], 1.0)[1](1.0), ShapeError, r"cotangent .*list\[a number, a"),
        (lambda: hvp(lambda x: x[0], [1.0], [1.0, 2.0]), ShapeError, "tangent 0"),
        (lambda: gradients(2.0, [Value(1.0)]), GraphError, "takes Values; got 2.0.*grad"),
        (lambda: gradients(Value(2.0), [1.0]), GraphError, "takes Values; got 1.0"),
    ],
)
def test_mistakes_are_named(call, error, message):
    with pytest.raises(error, match=message):
        call()


def test_structures_show_themselves():
    _, structure = flatten({"w": np.zeros((2, 3)), "b": (1.0, [2.0])}, "x")
    assert repr(structure) == "dict{'w': array(2, 3), 'b': tuple[a number, list[a number]]}"
    assert structure == flatten({"w": np.ones((2, 3)), "b": (1.0, [3.0])}, "x")[1]
    assert hash(structure) == hash(flatten({"w": np.ones((2, 3)), "b": (1.0, [3.0])}, "x")[1])
    assert structure != flatten([1.0], "x")[1]
    assert structure != "dict"


# --- graphs and their owners --------------------------------------------------------------------


def test_transforms_leave_gradients_alone():
    w, b = Value(3.0), Value(0.5)
    loss = w * w
    loss.backward()
    before = w.grad, b.grad, loss.grad

    def f(x):
        return ops.tanh(w * x + b) * loss

    grad(f)(1.0)
    vjp(f, 1.0)[1](1.0)
    jvp(f, [1.0], [1.0])
    jacobian(f)(1.0)
    hessian(f)(1.0)
    hvp(f, 1.0, 1.0)
    count_passes(f, 1.0)
    grad(grad(f))(1.0)
    gradients(f(Value(1.0)), [w, b, loss])
    x = Value(1.0)
    grad(f)(x)
    assert x.grad == 0.0
    assert (w.grad, b.grad, loss.grad) == before


def test_results_are_numbers_again():
    for x in (grad(lambda x: x * x)(3.0), jacobian(lambda x: x * x)(3.0)):
        assert type(x) is float
    value, pull = vjp(lambda x: x * x, 3.0)
    assert type(value) is type(pull(1.0)[0]) is float
    value, tangent = jvp(lambda x: x * x, [3.0], [1.0])
    assert type(value) is type(tangent) is float


def test_a_gradient_inside_a_graph_can_be_walked_back():
    # Values given, values returned: the slope of x^3 at w enters a loss.
    w = Value(2.0)
    loss = grad(lambda x: x**3)(w) * 5.0
    loss.backward()
    assert (loss.data, w.grad) == (60.0, 60.0)
    w = Value(2.0)
    value, tangent = jvp(lambda x: x**3, [w], [1.0])
    (value + tangent).backward()
    assert w.grad == 12.0 + 12.0


def test_backward_within_a_differentiated_function():
    def f(x):
        inner = Value(3.0)
        (inner * inner).backward()
        return x * inner.grad

    assert grad(f)(2.0) == 6.0


def test_transforms_within_no_grad_still_see_the_graph():
    with no_grad():
        assert grad(lambda x: x * x)(3.0) == 6.0
        assert hessian(lambda x: x**3)(2.0) == 12.0
        assert vjp(lambda x: x * x, 3.0)[1](1.0) == (6.0,)
        y = Value(2.0) * 3.0
    assert y.is_leaf  # and no_grad was in force again afterwards

    def f(x):
        with no_grad():
            scale = x * 2.0
        return x * scale

    assert grad(f)(3.0) == 6.0  # what the function itself shields stays a constant


def test_a_failing_function_leaves_no_transform_under_way():
    def fails(x):
        raise KeyError("mine")

    with pytest.raises(KeyError, match="mine"):
        grad(fails)(1.0)
    assert type(grad(lambda x: x * x)(3.0)) is float


# --- gradients() --------------------------------------------------------------------------------


def test_gradients_are_values_with_graphs():
    x, y = Value(2.0), Value(3.0)
    by_x, by_y = gradients(x**3 * y, [x, y])
    assert (by_x.data, by_y.data) == (36.0, 8.0)
    (mixed,) = gradients(by_x, [y])
    assert mixed.data == 12.0
    by_x.backward()
    assert (x.grad, y.grad) == (36.0, 12.0)


def test_gradients_by_intermediate_values_and_by_strangers():
    x = Value(2.0)
    h = x * x
    y = h * x
    by_h, by_x, by_other, by_self = gradients(y, [h, x, Value(1.0), y])
    assert by_h.data == 2.0
    assert by_x.data == 12.0
    assert by_other.data == 0.0
    assert by_self.data == 1.0


@pytest.mark.parametrize(
    "change",
    [
        lambda x, z, h, y: setattr(x, "data", 3.0),
        lambda x, z, h, y: setattr(h, "data", 3.0),
        lambda x, z, h, y: setattr(y, "data", 3.0),
    ],
    ids=["leaf", "middle", "top"],
)
def test_gradients_detect_changed_data(change):
    x, z = Value(2.0, label="x"), Value(0.0, label="z")
    h = ops.exp(x)
    y = h + 1.0 + z
    change(x, z, h, y)
    with pytest.raises(GraphError, match=r"data was changed after the graph was built.*again"):
        gradients(y, [x])


def test_gradients_detect_a_change_that_the_value_does_not_show():
    x, z = Value(2.0, label="x"), Value(0.0, label="z")
    y = x * z
    x.data = 3.0  # y stays 0, but its derivative by z was 2
    with pytest.raises(GraphError, match=r"mul of x, z had the local derivatives \[0.0, 2.0\]"):
        gradients(y, [z])


def test_nan_in_a_graph_is_no_change():
    x = Value(-1.0)
    (d,) = gradients(ops.log(x) + ops.sqrt(x), [x])
    assert math.isnan(d.data)


def test_first_derivatives_belong_to_the_forward_pass():
    w = Value(2.0)
    value, pull = vjp(lambda x: x * w, 3.0)
    w.data = 100.0
    assert (value, pull(1.0)) == (6.0, (2.0,))


def test_gradients_of_a_value_without_graph():
    x = Value(2.0)
    with no_grad():
        y = x * x
    with pytest.raises(GraphError, match="made under no_grad"):
        gradients(y, [x])


def handmade(x, name="double"):
    out = Value(2.0 * x.data, (x,), name)

    def rule():
        x.grad += 2.0 * out.grad

    out._backward = rule
    return out


def test_hand_made_rules_are_refused():
    x = Value(3.0)
    y = handmade(x)
    with pytest.raises(GraphError, match=r"hand-made operation 'double'.*only backward"):
        gradients(y, [x])
    with pytest.raises(GraphError, match="hand-made operation 'double'"):
        grad(handmade)(3.0)
    with pytest.raises(GraphError, match="without a name"):
        grad(lambda x: handmade(x, ""))(3.0)
    with pytest.raises(NotANumberError, match="an operand needs a real number; got Dual"):
        jvp(handmade, [3.0], [1.0])
    assert x.grad == 0.0
    # Where it does not matter, it may be there.
    assert grad(lambda x: x * handmade(Value(1.0)))(3.0) == 2.0


# --- branches not taken -------------------------------------------------------------------------


def guarded(x):
    return ops.where(ops.less(0.0, x), ops.sqrt(x), 3.0 * x * x)


@pytest.mark.parametrize("mode", MODES)
def test_branch_not_taken_to_second_order(mode):
    for f, first, second in [
        (guarded, 0.0, 6.0),
        (lambda x: ops.where(1.0, x**3, ops.log(x)) + x, 1.0, 0.0),
        (lambda x: ops.pick(1, [1.0 / x, 3.0 * x * x, ops.sqrt(x)]), 0.0, 6.0),
        (lambda x: 2.0 * x + ops.stop_gradient(ops.sqrt(x)), 2.0, 0.0),
    ]:
        assert MODES[mode](f)(0.0) == first
        for other in MODES.values():
            assert other(MODES[mode](f))(0.0) == second
        assert hessian(f)(0.0) == second


def test_both_branches_the_same_value():
    for condition in (0.0, 1.0):
        f = partial(lambda c, x: ops.where(c, x, x), condition)
        assert grad(f)(2.0) == 1.0
        assert jvp(f, [2.0], [1.0]) == (2.0, 1.0)


# --- costs --------------------------------------------------------------------------------------


def test_count_passes():
    def f(x):
        return sum([a * a for a in x])

    few, many = count_passes(f, [1.0] * 2), count_passes(f, [1.0] * 20)
    assert isinstance(many, PassCount)
    assert (many.inputs, many.outputs) == (20, 1)
    assert (many.forward_passes, many.reverse_passes) == (20, 1)
    assert many.operations == 40
    # Forward mode runs the function once per input, reverse mode once in all.
    assert many.forward_operations > 20 * many.operations
    assert many.reverse_operations < 6 * many.operations
    assert few.forward_operations < many.forward_operations / 50


def test_count_passes_of_many_outputs():
    count = count_passes(lambda x, y: [x * y, x + y, ops.sin(x), 1.0], 2.0, Value(3.0))
    assert (count.inputs, count.outputs) == (2, 4)
    assert (count.forward_passes, count.reverse_passes) == (2, 4)
    assert count.operations == 3
