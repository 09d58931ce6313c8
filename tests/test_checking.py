"""The judge is judged: planted bugs, right gradients, kinks, and what cannot be decided."""

import json
import math
import random
import re

import numpy as np
import pytest

from chainrule import Value, ops
from chainrule.checking import GradientReport, check_gradients
from chainrule.checking.differences import slopes_along
from chainrule.errors import (
    ChainruleError,
    GradientMismatch,
    NotANumberError,
    OptionError,
    ShapeError,
)
from chainrule.operation import NO_EDGE, ROWS
from chainrule.transforms import grad


def verdicts(report):
    return [found.verdict for found in report.inputs]


# --- right gradients are never called a bug -----------------------------------------------------

SMOOTH = [op for op in ROWS.values() if op.arity == 1 and op not in (ops.stop_gradient,)]


def random_function(source, n):
    """A random function of ``n`` numbers around 1, and the scales at which they live."""
    recipe = []
    for i in range(n, n + source.randint(2, 10)):
        op = source.choice([ops.add, ops.mul, ops.maximum, ops.div, ops.logsumexp, *SMOOTH])
        count = 2 if op.arity < 0 else op.arity
        recipe.append((op, [source.randrange(max(0, i - 4), i) for _ in range(count)]))
    scales = [10.0 ** source.choice([0, 0, 0, -8, -3, 3, 8]) for _ in range(n)]
    size = 10.0 ** source.choice([0, 0, 0, -12, 12])

    def f(xs):
        found = [x / scale for x, scale in zip(xs, scales, strict=True)]
        for op, places in recipe:
            found.append(0.6 + 0.35 * ops.sin(op.apply(tuple([found[p] for p in places]))))
        return size * ops.sum(found)

    return f, [scale * source.uniform(0.1, 0.9) for scale in scales]


@pytest.mark.parametrize("seed", range(200))
def test_right_gradients_agree(seed):
    source = random.Random(seed)
    f, point = random_function(source, source.randint(1, 4))
    report = check_gradients(f, point)
    assert report.ok, str(report)
    assert verdicts(report) == ["agrees"] * len(point), str(report)
    assert min(found.digits for found in report.inputs) >= 6, str(report)
    foreign = check_gradients(f, point, gradient=grad(f))
    assert verdicts(foreign) == ["agrees"] * len(point), str(foreign)


@pytest.mark.parametrize(
    ("f", "g", "x"),
    [
        (math.exp, math.exp, 300.0),
        (math.exp, math.exp, -300.0),
        (math.log, lambda x: 1.0 / x, 1e-300),
        (math.log, lambda x: 1.0 / x, 1e300),
        (math.sqrt, lambda x: 0.5 / math.sqrt(x), 1e-12),
        (lambda x: x * x, lambda x: 2.0 * x, 1e100),
        (lambda x: x * x, lambda x: 2.0 * x, 1e-100),
        (lambda x: math.sin(1000.0 * x), lambda x: 1000.0 * math.cos(1000.0 * x), 1.0),
        (math.sin, math.cos, 1e6),
        (math.sin, math.cos, math.pi / 2.0),
        (math.cos, lambda x: -math.sin(x), 0.0),
        (math.tanh, lambda x: 1.0 - math.tanh(x) ** 2, 20.0),
        (math.tan, lambda x: 1.0 + math.tan(x) ** 2, 1.57),
        (lambda x: 1.0 / x, lambda x: -1.0 / x**2, 1e-6),
        (lambda x: abs(x) + 5.0, lambda x: math.copysign(1.0, x), 1e-8),
        (lambda x: abs(x), lambda x: math.copysign(1.0, x), -1e-14),
        (lambda x: x * abs(x), lambda x: 2.0 * abs(x), 0.0),
        (lambda x: 7.0, lambda x: 0.0, 3.0),
        (lambda x: 0.0, lambda x: 0.0, 0.0),
        (lambda x: max(0.0, x - 1e-3), lambda x: 0.0, 0.0),
        (lambda x: (x + 1e8) - 1e8, lambda x: 1.0, 1.0),
        (lambda x: math.copysign(abs(x) ** (1.0 / 3.0), x), lambda x: math.inf, 0.0),
        (lambda x: math.floor(x), lambda x: 0.0, 1.5),
        (ops.softplus, ops.sigmoid, -30.0),
        (lambda x: ops.softplus(1e6 * x) / 1e6, lambda x: ops.sigmoid(1e6 * x), 1e-7),
        (lambda x: math.sqrt(x * x + 1e-10), lambda x: x / math.sqrt(x * x + 1e-10), 0.0),
    ],
)
def test_right_gradients_in_awkward_places(f, g, x):
    assert verdicts(check_gradients(f, x, gradient=g)) == ["agrees"]


# --- wrong gradients are bugs -------------------------------------------------------------------


def two(f, g):
    return lambda: check_gradients(f, 1.3, -0.7, gradient=g)


def one(f, g, x=0.8):
    return lambda: check_gradients(f, x, gradient=g)


def many(f, g, n=6):
    point = [0.3 + 0.21 * i for i in range(n)]
    return lambda: check_gradients(f, point, gradient=g)


def squares(xs):
    return sum([x * x for x in xs])


def sigmoid(x):
    return 1.0 / (1.0 + math.exp(-x))


WRONG_FUNCTIONS = {
    "sine off by 0.05 %": one(math.sin, lambda x: 1.0005 * math.cos(x)),
    "sine off by 0.001 %": one(math.sin, lambda x: 1.00001 * math.cos(x)),
    "wrong sign": one(math.cos, math.sin),
    "chain factor missing": one(lambda x: math.sin(3.0 * x), lambda x: math.cos(3.0 * x)),
    "chain factor twice": one(lambda x: math.sin(3.0 * x), lambda x: 9.0 * math.cos(3.0 * x)),
    "factor two missing": one(lambda x: x * x, lambda x: x),
    "factor two too many": one(lambda x: x * x / 2.0, lambda x: 2.0 * x),
    "derivative at the output": one(
        sigmoid, lambda x: sigmoid(sigmoid(x)) * (1 - sigmoid(sigmoid(x)))
    ),
    "1 - y for y (1 - y)": one(sigmoid, lambda x: 1.0 - sigmoid(x)),
    "1 - x^2 for 1 - y^2": one(math.tanh, lambda x: 1.0 - x * x),
    "1 - y for 1 - y^2": one(math.tanh, lambda x: 1.0 - math.tanh(x)),
    "exponent not lowered": one(lambda x: x**3, lambda x: 3.0 * x**3),
    "exponent not in front": one(lambda x: x**3, lambda x: x**2),
    "base for exponent": one(lambda x: 2.0**x, lambda x: x * 2.0 ** (x - 1.0)),
    "logarithm of 2 missing": one(lambda x: 2.0**x, lambda x: 2.0**x),
    "log10 as if ln": one(math.log10, lambda x: 1.0 / x),
    "quotient without square": one(lambda x: 1.0 / x, lambda x: -1.0 / x),
    "quotient with wrong sign": one(lambda x: 1.0 / x, lambda x: 1.0 / x**2),
    "root without half": one(math.sqrt, lambda x: 1.0 / math.sqrt(x)),
    "always zero": one(math.exp, lambda x: 0.0),
    "nan": one(math.exp, lambda x: math.nan),
    "infinite": one(math.exp, lambda x: math.inf),
    "a constant for zero": one(lambda x: 3.0, lambda x: 1e-3),
    "finite where it is infinite": one(
        lambda x: math.copysign(abs(x) ** (1.0 / 3.0), x), lambda x: 1.0, 0.0
    ),
    "product swapped": two(lambda x, y: x * y, lambda x, y: (x, y)),
    "quotient swapped": two(lambda x, y: x / y, lambda x, y: (-x / y**2, 1.0 / y)),
    "both get the first": two(lambda x, y: x * x * y, lambda x, y: (2 * x * y, 2 * x * y)),
    "difference as a sum": two(lambda x, y: x - y, lambda x, y: (1.0, 1.0)),
    "second operand forgotten": two(lambda x, y: x * y, lambda x, y: (y, 0.0)),
    "one of two uses (= for +=)": two(lambda x, y: x * y + x, lambda x, y: (1.0, x)),
    "intermediate counted twice": two(
        lambda x, y: (x * y) ** 2, lambda x, y: (4 * x * y * y, 4 * x * x * y)
    ),
    "softmax without its sum": two(
        lambda x, y: math.log(math.exp(x) + math.exp(y)), lambda x, y: (math.exp(x), math.exp(y))
    ),
    "maximum to the loser": two(max, lambda x, y: (0.0, 1.0)),
    "maximum to both": two(max, lambda x, y: (1.0, 1.0)),
    "maximum half and half off the tie": two(max, lambda x, y: (0.5, 0.5)),
    "wrong second branch": one(
        lambda x: x * x if x > 1.0 else x, lambda x: 2.0 * x if x > 1.0 else x
    ),
    "leaky slope forgotten": one(lambda x: max(0.01 * x, x), lambda x: float(x > 0.0), -0.8),
    "leaky slope on the wrong side": one(
        lambda x: max(0.01 * x, x), lambda x: 0.01 if x > 0 else 1
    ),
    "relu passes below zero": one(lambda x: max(0.0, x), lambda x: 1.0, -0.8),
    "relu passes just below zero": one(lambda x: max(0.0, x), lambda x: 1.0, -1e-4),
    "wrong beyond a threshold": one(lambda x: x**2, lambda x: 2.0 * x if x < 2.0 else 4.0, 2.00001),
    "clipped": one(lambda x: x**4, lambda x: min(4.0 * x**3, 5.0), 1.5),
    "one of many components": many(
        squares, lambda xs: [2.0 * x * (1.0005 if i == 3 else 1.0) for i, x in enumerate(xs)]
    ),
    "one of many is zero": many(squares, lambda xs: [2.0 * x * (i != 5) for i, x in enumerate(xs)]),
    "order reversed": many(squares, lambda xs: [2.0 * x for x in xs[::-1]]),
    "shifted by one": many(squares, lambda xs: [2.0 * x for x in (*xs[1:], xs[0])]),
    "sum for mean": many(lambda xs: squares(xs) / len(xs), lambda xs: [2.0 * x for x in xs]),
    "mean for sum": many(squares, lambda xs: [2.0 * x / len(xs) for x in xs]),
    "ones": many(squares, lambda xs: [1.0 for _ in xs]),
    "tie of relu gives 2": one(lambda x: max(0.0, x), lambda x: 2.0, 0.0),
    "tie of relu gives -0.1": one(lambda x: max(0.0, x), lambda x: -0.1, 0.0),
    "tie of abs gives 1.01": one(abs, lambda x: 1.01, 0.0),
    "tie of abs gives nan": one(abs, lambda x: math.nan, 0.0),
    "tie of minimum gives nothing": lambda: check_gradients(
        min, 1.0, 1.0, gradient=lambda x, y: (0.0, 0.0)
    ),
    "tie of maximum gives all twice": lambda: check_gradients(
        max, 1.0, 1.0, gradient=lambda x, y: (1.0, 1.0)
    ),
    "tie of three gives a half each": lambda: check_gradients(
        max, 2.0, 2.0, 2.0, gradient=lambda x, y, z: (0.5, 0.5, 0.5)
    ),
    "tie of three gives all thrice": lambda: check_gradients(
        max, 2.0, 2.0, 2.0, gradient=lambda x, y, z: (1.0, 1.0, 1.0)
    ),
    "tie of ten gives nothing": lambda: check_gradients(
        lambda xs: max(xs), [1.0] * 10, gradient=lambda xs: [0.0] * 10
    ),
    "edge of the root's domain": one(lambda x: math.sqrt(x) ** 3 + x, lambda x: 2.0, 0.0),
    "array, one entry": lambda: check_gradients(
        lambda A: float((A**3).sum()),
        np.array([[1.0, 2.0], [3.0, 4.0]]),
        gradient=lambda A: 3.0 * A**2 * np.array([[1.0, 1.0], [0.9995, 1.0]]),
    ),
    "array transposed": lambda: check_gradients(
        lambda A: float((A * [[1.0, 2.0], [3.0, 4.0]]).sum()),
        np.ones((2, 2)),
        gradient=lambda A: np.array([[1.0, 3.0], [2.0, 4.0]]),
    ),
}


@pytest.mark.parametrize("name", WRONG_FUNCTIONS)
def test_wrong_gradients_are_bugs(name):
    report = WRONG_FUNCTIONS[name]()
    assert not report.ok, str(report)
    with pytest.raises(GradientMismatch):
        report.raise_if_bad()


def test_enough_bugs_are_planted():
    assert len(WRONG_FUNCTIONS) + len(WRONG_RULES) >= 80


def test_only_the_wrong_input_is_named():
    report = WRONG_FUNCTIONS["one of many components"]()
    assert verdicts(report) == ["agrees"] * 3 + ["bug"] + ["agrees"] * 2
    (bad,) = [found for found in report.inputs if found.verdict == "bug"]
    assert bad.name == "xs[3]"
    assert bad.ratio == pytest.approx(1.0005, rel=1e-9)
    assert "nearly right, off by 0.05%" in bad.reason


# A wrong rule in the table: the name of the row, the operand, the rule, a point where it shows.
WRONG_RULES = [
    ("sin", 0, lambda y, x: 1.0005 * ops.cos(x), (0.4,)),
    ("sin", 0, lambda y, x: -ops.cos(x), (0.4,)),
    ("sin", 0, lambda y, x: ops.cos(y), (0.4,)),
    ("cos", 0, lambda y, x: ops.sin(x), (0.4,)),
    ("exp", 0, lambda y, x: x, (0.4,)),
    ("exp", 0, lambda y, x: NO_EDGE, (0.4,)),
    ("expm1", 0, lambda y, x: y, (0.4,)),
    ("log", 0, lambda y, x: x, (0.4,)),
    ("log1p", 0, lambda y, x: ops.div(1.0, x), (0.4,)),
    ("sqrt", 0, lambda y, x: ops.div(1.0, y), (0.4,)),
    ("tan", 0, lambda y, x: 1.0 - y * y, (0.4,)),
    ("tanh", 0, lambda y, x: 1.0 + y * y, (0.4,)),
    ("tanh", 0, lambda y, x: 1.0 - y * y * ops.where(ops.less(2.0, x), 0.99, 1.0), (2.1,)),
    ("asin", 0, lambda y, x: ops.div(1.0, 1.0 - x * x), (0.4,)),
    ("acos", 0, lambda y, x: ops.div(1.0, ops.sqrt(1.0 - x * x)), (0.4,)),
    ("atan", 0, lambda y, x: ops.div(1.0, 1.0 - x * x), (0.4,)),
    ("sinh", 0, lambda y, x: -ops.cosh(x), (0.4,)),
    ("cosh", 0, lambda y, x: -ops.sinh(x), (0.4,)),
    ("erf", 0, lambda y, x: 1.128 * ops.exp(-x * x), (0.4,)),
    ("sigmoid", 0, lambda y, x: 1.0 - y, (0.4,)),
    ("softplus", 0, lambda y, x: ops.sigmoid(y), (0.4,)),
    ("log_sigmoid", 0, lambda y, x: ops.sigmoid(x), (0.4,)),
    ("silu", 0, lambda y, x: ops.sigmoid(x), (0.4,)),
    ("gelu", 0, lambda y, x: ops.sigmoid(1.702 * x), (0.4,)),
    ("abs", 0, lambda y, x: 1.0, (-0.4,)),
    ("abs", 0, lambda y, x: 1.5, (0.0,)),
    ("elu", 0, lambda z, x, alpha: 1.0, (-0.4, 1.0)),
    ("leaky_relu", 0, lambda z, x, slope: ops.where(ops.less(0.0, x), slope, 1.0), (0.4, 0.1)),
    ("maximum", 0, lambda z, x, y: ops.less(x, y), (0.4, 0.3)),
    ("maximum", 1, lambda z, x, y: ops.less_equal(x, y), (0.4, 0.4)),
    ("minimum", 0, lambda z, x, y: ops.less(y, x), (0.4, 0.3)),
    ("minimum", 0, lambda z, x, y: 0.0 * x, (0.4, 0.4)),
    ("mul", 0, lambda z, x, y: x, (0.4, 0.3)),
    ("div", 1, lambda z, x, y: ops.div(z, y), (0.4, 0.3)),
    ("sub", 1, lambda z, x, y: 1.0, (0.4, 0.3)),
    ("pow", 0, lambda z, x, y: y * z, (0.4, 2.3)),
    ("pow", 1, lambda z, x, y: z, (0.4, 2.3)),
    ("where", 1, lambda z, c, x, y: NO_EDGE, (1.0, 0.4, 0.3)),
]


@pytest.mark.parametrize(("name", "operand", "rule", "point"), WRONG_RULES)
def test_wrong_rules_in_the_table_are_bugs(name, operand, rule, point, monkeypatch):
    (op,) = [op for op in ROWS.values() if op.name == name]
    f = lambda *xs: op(*xs) * 1.0  # noqa: E731
    assert check_gradients(f, *point).ok
    rules = list(op.partials)
    rules[operand] = rule
    monkeypatch.setattr(op, "partials", tuple(rules))
    assert not check_gradients(f, *point).ok


# --- kinks --------------------------------------------------------------------------------------

KINKS = {
    "relu": (ops.relu, 0.0),
    "leaky relu": (lambda x: ops.leaky_relu(x, 0.1), 0.0),
    "abs": (abs, 0.0),
    "elu of another slope": (lambda x: ops.elu(x, 0.5), 0.0),
    "relu away from zero": (lambda x: ops.relu(3.0 * x - 0.9), 0.3),
    "concave": (lambda x: 4.0 - abs(x - 2.0), 2.0),
    "small beside the slope": (lambda x: 5.0 * x + 1e-3 * abs(x), 0.0),
    "large beside the point": (lambda x: 1e6 * ops.relu(x - 1e-3), 1e-3),
    "maximum": (ops.maximum, 1.0, 1.0),
    "minimum": (ops.minimum, -2.0, -2.0),
    "maximum of squares": (lambda x, y: ops.maximum(x * x, y * y), 1.5, -1.5),
    "nested maximum": (lambda x, y, z: ops.maximum(x, ops.maximum(y, z)), 1.0, 1.0, 1.0),
    "independent, convex and concave": (lambda x, y: ops.relu(x) - ops.relu(y), 0.0, 0.0),
    "relu beside a tie": (lambda x, y, z: ops.relu(x) + ops.minimum(y, z), 0.0, 1.0, 1.0),
    "a jump": (lambda x: ops.where(ops.less(x, 0.0), 0.0, 1.0) + 0.0 * x, 0.0),
    "l1 norm": (lambda xs: ops.sum([abs(x) for x in xs]), [0.0] * 10),
    "dead neuron": (lambda v, w: ops.relu(v * 0.5 + w * 2.0), 0.0, 0.0),
}


@pytest.mark.parametrize("name", KINKS)
def test_kinks_are_kinks(name):
    f, *point = KINKS[name]
    report = check_gradients(f, *point)
    assert set(verdicts(report)) == {"kink"}, str(report)
    assert report.ok
    assert report.conclusive
    for found in report.inputs:
        low, high = sorted((found.left, found.right))
        assert low < high
        assert low <= found.gradient <= high
        assert found.numeric is None


def test_a_kink_beside_a_smooth_input():
    report = check_gradients(lambda x, y: ops.relu(x) * y + y * y, 0.0, 3.0)
    assert verdicts(report) == ["kink", "agrees"]
    assert (report.inputs[0].left, report.inputs[0].right) == pytest.approx((0.0, 3.0), abs=1e-9)


def test_any_slope_between_is_accepted_at_a_kink_and_none_outside():
    for slope in (-1.0, -0.3, 0.0, 0.9, 1.0):
        report = check_gradients(abs, 0.0, gradient=lambda x, s=slope: s)
        assert verdicts(report) == ["kink"]
    for slope in (-1.001, 1.001, 2.0, math.inf, math.nan):
        report = check_gradients(abs, 0.0, gradient=lambda x, s=slope: s)
        assert verdicts(report) == ["bug"]


def test_the_inputs_of_a_wrong_tie_are_blamed_and_no_other():
    def f(x, y, z):
        return max(0.0, x) + min(y, z)

    report = check_gradients(f, 0.0, 1.0, 1.0, gradient=lambda x, y, z: (0.0, 0.0, 0.0))
    assert verdicts(report) == ["kink", "bug", "bug"]
    assert "when y and z move together, the function's slope lies between" in str(report)
    assert any(not tried.inside for tried in report.directions)
    assert check_gradients(f, 0.0, 1.0, 1.0, gradient=lambda x, y, z: (0.0, 0.5, 0.5)).ok
    # Without directions there is nothing to see.
    silent = check_gradients(
        f, 0.0, 1.0, 1.0, gradient=lambda x, y, z: (0.0, 0.0, 0.0), directions=0
    )
    assert silent.ok
    assert not silent.directions


def test_a_direction_out_of_the_domain_tells_nothing():
    # Where both grow the root has no value; along either input alone it has.
    def f(x, y):
        return abs(x + y) + (0.0 if min(x, y) <= 0.0 else math.sqrt(-1.0))

    report = check_gradients(f, 0.0, 0.0, gradient=lambda x, y: (0.5, 0.5))
    assert verdicts(report) == ["kink", "kink"]
    assert all(min(tried.direction) < 0.0 for tried in report.directions)


def test_kinks_that_cancel_are_a_bug_of_the_conventions():
    # relu(x) - relu(-x) is x, yet relu'(0) = 0 makes the gradient 0.
    report = check_gradients(lambda x: ops.relu(x) - ops.relu(-x), 0.0)
    assert verdicts(report) == ["bug"]
    assert "conventions do not add up" in " ".join(str(report).split())


# --- what differences cannot decide -------------------------------------------------------------


@pytest.mark.parametrize(
    ("f", "g", "x", "reason"),
    [
        (lambda x: (x + 1e15) - 1e15, lambda x: 1.0, 1.0, "lost in the rounding"),
        (lambda x: x + 1e20, lambda x: 1.0, 1.0, "lost in the rounding"),
        (lambda x: 1e-30 * x * x + 1.0, lambda x: 2e-30 * x, 1.0, "lost in the rounding"),
        (
            lambda x: float(np.float32(1e8) + np.float32(x)),
            lambda x: 1.0,
            1.0,
            "lost in the rounding",
        ),
        (
            lambda x: float(np.sin(np.float32(x)) * np.float32(x)),
            lambda x: math.sin(x) + x * math.cos(x),
            1e3,
            "use float64",
        ),
        (lambda x: float(np.sin(np.float16(x))), math.cos, 0.7, "use float64"),
        (lambda x: float(np.float16(math.sin(x))), math.cos, 0.7, "use float64"),
        (
            lambda x: float(np.sin(np.float16(x)) * np.float16(x)),
            lambda x: math.sin(x) + x * math.cos(x),
            1e3,
            "use float64",
        ),
        (lambda x: float(np.float64(np.float16(x)) ** 2), lambda x: 2.0 * x, 0.7, "use float64"),
        (lambda x: math.exp(x) - math.exp(x) * (1.0 - 1e-12), lambda x: 2.2e-12, 0.8, "float64"),
        (lambda x: x * math.log(abs(x)) if x else 0.0, lambda x: -30.0, 0.0, "do not settle"),
    ],
)
def test_precision(f, g, x, reason):
    report = check_gradients(f, x, gradient=g)
    assert verdicts(report) == ["precision"], str(report)
    assert report.ok
    assert not report.conclusive
    assert reason in report.inputs[0].reason


def test_a_random_function_cannot_be_decided():
    source = random.Random(0)
    report = check_gradients(lambda x: x + source.random(), 1.0, gradient=lambda x: 1.0)
    assert verdicts(report) == ["precision"]
    assert "lost in the rounding" in str(report) or "fixed seed" in str(report)


@pytest.mark.parametrize("x", [0.7, 3.3, 40.0])
def test_float32_agrees_to_a_few_digits_and_shows_large_errors(x):
    def f(x):
        return float(np.sqrt(np.float32(x)))

    (found,) = check_gradients(f, x, gradient=lambda x: 0.5 / math.sqrt(x)).inputs
    assert found.verdict == "agrees"
    assert 4 <= found.digits <= 7
    assert not check_gradients(f, x, gradient=lambda x: 0.505 / math.sqrt(x)).ok


@pytest.mark.parametrize("x", [1e-15, 1e-12, 1e-9, 1e-5, -1e-9])
@pytest.mark.parametrize("slope", [5.0, -3.0, 1e-3])
def test_a_jump_near_the_point_makes_no_slope_a_zero(x, slope):
    def step(x):
        return ops.where(ops.greater(x, 0.0), 1.0, 0.0)

    report = check_gradients(step, x, gradient=lambda x: slope)
    assert verdicts(report)[0] in ("precision", "bug"), str(report)
    assert check_gradients(step, x, gradient=lambda x: 0.0).ok
    if x == 1e-9:
        assert "jumps near this point" in report.inputs[0].reason


@pytest.mark.parametrize("frequency", [1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e15])
@pytest.mark.parametrize("x", [1.0, 0.3, -2.7])
def test_waves_shorter_than_the_steps_are_no_bug(frequency, x):
    own = check_gradients(lambda x: ops.sin(frequency * x), x)
    foreign = check_gradients(
        lambda x: math.sin(frequency * x),
        x,
        gradient=lambda x: frequency * math.cos(frequency * x),
    )
    for report in (own, foreign):
        assert verdicts(report)[0] in ("agrees", "precision"), str(report)


def test_waves_that_finer_steps_resolve_are_judged():
    def judged(factor):
        return check_gradients(
            lambda x: math.sin(1e9 * x), 1.0, gradient=lambda x: factor * 1e9 * math.cos(1e9 * x)
        )

    assert verdicts(judged(1.0)) == ["agrees"]
    assert verdicts(judged(2.0)) == ["bug"]


def test_noise_excuses_no_modes_that_differ(monkeypatch):
    monkeypatch.setattr(ops.mul, "partials", (ops.mul.partials[0], lambda z, x, y: y))
    report = check_gradients(lambda x, y: ops.sin(1e15 * (x * y)), 0.4, 0.3)
    assert verdicts(report)[1] == "bug"


def test_zero_beside_noise_is_zero():
    report = check_gradients(lambda x, y: (x + y) - x, 0.3, 0.7)
    assert verdicts(report) == ["agrees", "agrees"]
    (found,) = check_gradients(ops.sin, math.pi / 2.0).inputs
    assert found.gradient != 0.0
    assert found.reason.startswith("as zero, to ")
    assert found.digits >= 12


@pytest.mark.parametrize(
    ("f", "g", "x", "left", "right"),
    [
        (math.sqrt, lambda x: math.inf, 0.0, None, math.inf),
        (lambda x: math.sqrt(-x), lambda x: -math.inf, 0.0, -math.inf, None),
        (lambda x: x**1.5, lambda x: 0.0, 0.0, None, pytest.approx(0.0, abs=1e-3)),
        (math.acos, lambda x: -math.inf, 1.0, -math.inf, None),
        (lambda x: x * math.sqrt(x) + x, lambda x: math.nan, 0.0, None, pytest.approx(1, abs=1e-3)),
        (lambda x: x + 0 * math.sqrt(x), lambda x: 1.0, 0.0, None, pytest.approx(1.0)),
    ],
)
def test_edge_of_the_domain(f, g, x, left, right):
    report = check_gradients(f, x, gradient=g)
    (found,) = report.inputs
    assert found.verdict == "edge", str(report)
    assert (found.left, found.right) == (left, right)
    assert report.ok
    assert report.conclusive


def test_edge_too_near_for_more_than_a_step():
    report = check_gradients(
        lambda x: math.sqrt(1e-9 - x), 0.0, gradient=lambda x: -0.5 / math.sqrt(1e-9)
    )
    assert verdicts(report) == ["precision"]
    assert "do not settle" in report.inputs[0].reason


def test_no_side_and_no_value():
    (found,) = check_gradients(lambda x: 0.0 if x == 0.5 else math.nan, 0.5, gradient=abs).inputs
    assert (found.verdict, found.left, found.right) == ("edge", None, None)
    assert "not finite on either side" in found.reason
    report = check_gradients(ops.log, -1.0)
    assert verdicts(report) == ["edge"]
    assert "the function itself is nan at this point" in str(report)
    report = check_gradients(lambda x, y: ops.exp(1e9 * x) * y, 1.0, 1.0)
    assert "the function itself is inf" in str(report)


def test_largest_numbers():
    report = check_gradients(lambda x: x / 2.0, 1.7e308, gradient=lambda x: 0.5)
    assert verdicts(report) == ["agrees"]


# --- causes -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "cause"),
    [
        ("wrong sign", "ratio is -1: a sign is wrong"),
        ("intermediate counted twice", "ratio is 2: counted twice"),
        ("factor two missing", "ratio is 0.5: a factor 2 is missing"),
        ("always zero", "the gradient is 0"),
        ("product swapped", "equals the derivative by y: are two operands swapped?"),
        ("sum for mean", "ratio is 6, the number of inputs"),
        ("mean for sum", "ratio is 1/6: a mean for a sum"),
        ("exponent not lowered", "ratio is 0.8, the input itself: a factor too many"),
        ("quotient with wrong sign", "a sign is wrong"),
        ("sine off by 0.05 %", "nearly right, off by 0.05%"),
        ("a constant for zero", "does not change with this input"),
        ("nan", "infinite local derivative times zero"),
        ("infinite", "overflow on the way"),
        ("1 - x^2 for 1 - y^2", "no simple relation"),
        ("edge of the root's domain", "finite on one side only, and from there its slope is 1"),
    ],
)
def test_tell_tale_causes(name, cause):
    assert cause in " ".join(str(WRONG_FUNCTIONS[name]()).split())


def test_a_missing_factor():
    report = check_gradients(lambda x: x**3 / 3.0, 0.7, gradient=lambda x: x)
    assert "one over the input: it is missing as a factor" in str(report)
    assert report.inputs[0].ratio == pytest.approx(1.0 / 0.7)


def test_a_factor_that_all_inputs_share():
    def off(*factors):
        return many(squares, lambda xs: [2.0 * k * x for k, x in zip(factors, xs, strict=True)], 3)

    text = "all inputs are off by the same factor, 0.7"
    shared = off(0.7, 0.7, 0.7)()
    assert all(text in found.reason for found in shared.inputs)
    assert "no simple relation" not in str(shared)
    for other in (off(0.7, 0.7, 1.0)(), off(0.7, 0.6, 0.7)()):
        assert "same factor" not in str(other)


def test_modes_that_disagree_are_told_apart(monkeypatch):
    # Value spells the product out, so a wrong row shows in forward mode alone.
    monkeypatch.setattr(ops.mul, "partials", (ops.mul.partials[0], lambda z, x, y: y))
    report = check_gradients(lambda x, y: x * y, 0.4, 0.3)
    assert verdicts(report) == ["agrees", "bug"]
    assert report.inputs[1].reason.startswith(
        "reverse mode gives 0.4, forward mode 0.3, differences 0.4"
    )


def test_modes_that_disagree_where_differences_have_no_say(monkeypatch):
    monkeypatch.setattr(ops.mul, "partials", (ops.mul.partials[0], lambda z, x, y: y))
    report = check_gradients(lambda x, y: x * (y + ops.sqrt(y)), 0.4, 0.0)
    assert "reverse mode gives inf, forward mode" in str(report)
    assert verdicts(report)[1] in ("bug", "edge")


# --- the cost -----------------------------------------------------------------------------------


def test_evaluations_grow_in_proportion_to_the_inputs_and_see_floats():
    def count(n):
        kinds = []

        def f(xs):
            kinds.append(type(xs[0]))
            return ops.sum([x * x for x in xs])

        report = check_gradients(f, [0.3 + 0.01 * i for i in range(n)])
        assert verdicts(report) == ["agrees"] * n
        assert kinds.count(float) >= 0.95 * len(kinds)
        return len(kinds) / n

    assert count(40) <= 1.2 * count(10) <= 150.0


def test_what_floats_do_otherwise_accuses_nobody():
    # On floats the root of a negative number is complex and has a size; on values it is nan.
    assert verdicts(check_gradients(lambda x: abs(x**0.5) * x + x, 0.0))[0] == "edge"
    # On floats 1 / 0 raises; on values it is inf, and the result is finite.
    assert check_gradients(lambda x: 1.0 / (1.0 + 1.0 / x), 0.5).ok
    # Methods are there on values only.
    assert verdicts(check_gradients(lambda x: x.tanh() if x < 1.0 else x.exp(), 0.5)) == ["agrees"]


# --- what may be given --------------------------------------------------------------------------


def test_every_structure():
    def f(x, parts):
        return x * parts["w"][0] * parts["w"][1].sum() + parts["b"][0][1] ** 2

    point = 2.0, {"w": [3.0, np.array([[1.0, 2.0]])], "b": ([4.0, 5.0],)}
    report = check_gradients(f, *point)
    assert [found.name for found in report.inputs] == [
        "x",
        "parts['w'][0]",
        "parts['w'][1][0][0]",
        "parts['w'][1][0][1]",
        "parts['b'][0][0]",
        "parts['b'][0][1]",
    ]
    assert [found.gradient for found in report.inputs] == [9.0, 6.0, 6.0, 6.0, 0.0, 10.0]
    assert verdicts(report) == ["agrees"] * 6

    def g(x, parts):
        w, v = parts["w"]
        inner = np.full((1, 2), x * w)
        return w * v.sum(), {"b": [[0.0, 2.0 * parts["b"][0][1]]], "w": (x * v.sum(), inner)}

    assert verdicts(check_gradients(f, *point, gradient=g)) == ["agrees"] * 6


def test_foreign_functions_see_plain_numbers_only():
    seen = set()

    def f(x, xs, array):
        seen.update({type(x), type(xs), type(xs[0]), type(array), array.dtype.type})
        return x + xs[0] + array[0]

    check_gradients(
        f,
        Value(1.0),
        [np.float32(2.0)],
        np.array([1, 2]),
        gradient=lambda x, xs, array: (1, [1], [1, 0]),
    ).raise_if_bad()
    assert seen == {float, list, np.ndarray, np.float64}


def test_own_functions_see_values_and_nobodys_gradient_moves():
    w = Value(3.0)
    w.grad = 7.0
    report = check_gradients(lambda x: (w * x).tanh(), Value(0.2))
    assert report.ok
    assert (w.grad, w.data) == (7.0, 3.0)


def test_results_that_are_nearly_numbers():
    for wrap in (np.float64, np.float32, np.array, lambda y: np.array([[y]])):
        report = check_gradients(
            lambda x, w=wrap: w(3.0 * x), 1.5, gradient=lambda x: np.array([3.0])
        )
        assert verdicts(report) == ["agrees"]
    assert check_gradients(lambda x: [x * x], 1.5).ok
    # torch.autograd.grad answers with a tuple even for a single input.
    assert check_gradients(lambda x: x * x, 1.5, gradient=lambda x: (2.0 * x,)).ok
    assert check_gradients(lambda x: x[0], (1.5,), gradient=lambda x: (1.0,)).ok


def test_functions_that_refuse_or_turn_complex_beyond_their_domain():
    assert verdicts(check_gradients(lambda x: x**0.5, 0.0, gradient=lambda x: math.inf)) == ["edge"]
    found = check_gradients(lambda x: np.sqrt(x), 0.0, gradient=lambda x: math.inf)
    assert verdicts(found) == ["edge"]
    found = check_gradients(
        lambda x: np.emath.sqrt(x[0]), np.array([0.0]), gradient=lambda x: [math.inf]
    )
    assert verdicts(found) == ["edge"]
    found = check_gradients(lambda x: ops.pick(x, [1.0, 2.0]), 1.0, gradient=lambda x: 0.0)
    assert verdicts(found) == ["edge"]


def test_names_where_there_is_no_signature():
    assert check_gradients(max, 1.0, 2.0, gradient=lambda *x: (0, 1)).inputs[1].name == "argument 1"
    report = check_gradients(lambda *xs: xs[0] * xs[1], 1.0, 2.0)
    assert [found.name for found in report.inputs] == ["argument 0", "argument 1"]


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: check_gradients(lambda: 1.0), ShapeError, "needs a point"),
        (lambda: check_gradients(lambda x: 1.0, []), ShapeError, "at least one number"),
        (lambda: check_gradients(lambda x: x, "3"), NotANumberError, "the point must be .*'3'"),
        (lambda: check_gradients(lambda x: [x, x], 1.0), ShapeError, "one number; this one.*list"),
        (lambda: check_gradients(lambda x: None, 1.0), NotANumberError, "return statement"),
        (lambda: check_gradients(abs, 1.0, tolerance=0), OptionError, "tolerance .*0 and 1; got 0"),
        (lambda: check_gradients(abs, 1.0, directions=-1), OptionError, "directions .* got -1"),
        (
            lambda: check_gradients(lambda x: np.ones(3), 1.0, gradient=abs),
            ShapeError,
            r"this one returned an array of shape \(3,\)",
        ),
        (
            lambda: check_gradients(lambda x: "a", 1.0, gradient=abs),
            NotANumberError,
            "result must be one number; got 'a'",
        ),
        (
            lambda: check_gradients(sum, [1.0, 2.0], gradient=lambda x: [1.0]),
            ShapeError,
            "the gradient must hold 2 entries.*got \\[1.0\\]",
        ),
        (
            lambda: check_gradients(sum, [1.0, 2.0], gradient=lambda x: 1.0),
            ShapeError,
            "the gradient must hold 2 entries",
        ),
        (
            lambda: check_gradients(abs, 1.0, gradient=lambda x: [1.0, 2.0]),
            NotANumberError,
            "the gradient must be one number; got",
        ),
        (
            lambda: check_gradients(abs, 1.0, gradient=lambda x: np.ones(2)),
            NotANumberError,
            "the gradient must be one number; got",
        ),
        (
            lambda: check_gradients(max, 1.0, 2.0, gradient=lambda x, y: 1.0),
            ShapeError,
            "2 arguments the gradient must be a tuple or list of 2 entries; got 1.0",
        ),
        (
            lambda: check_gradients(max, 1.0, 2.0, gradient=lambda x, y: (1.0, None)),
            NotANumberError,
            "the gradient by argument 1 must be one number; got None",
        ),
        (
            lambda: check_gradients(lambda d: d["a"], {"a": 1.0}, gradient=lambda d: {"b": 1.0}),
            ShapeError,
            r"dict with the keys \['a'\]; got \{'b': 1.0\}",
        ),
        (
            lambda: check_gradients(
                lambda A: A.sum(), np.ones((2, 3)), gradient=lambda A: np.ones((3, 2))
            ),
            ShapeError,
            "must hold 2 entries",
        ),
    ],
)
def test_mistakes_are_named(call, error, message):
    with pytest.raises(error, match=message):
        call()


def test_errors_of_the_function_itself_come_through():
    with pytest.raises(ZeroDivisionError):
        check_gradients(lambda x: 1.0 / x, 0.0, gradient=lambda x: 1.0)
    with pytest.raises(KeyError):
        check_gradients(lambda x: {}[x], 0.5, gradient=lambda x: 1.0)


# --- the report ---------------------------------------------------------------------------------


TEXT = """\
the given gradient against differences, 4 inputs: 1 agrees, 1 BUG, 1 kink, 1 edge of domain

  input  at   gradient     differences                    verdict
  w      0.7  0.864609836  0.432304918 +- ERROR           BUG
      the ratio is 2: counted twice, or a factor 1/2 is missing
  x      2    0.151306721  left -0.848693, right 1.15131  kink
      the slope jumps here, and the gradient lies between its two sides
  b      0    inf          left none, right inf           edge of domain
      the function is finite on one side only; the slope from there is shown
  c      3    0            0 +- ERROR                     agrees exactly"""


def test_report_as_text():
    def f(w, x, b, c):
        return math.tanh(w * x + b) + abs(x - 2.0) + math.sqrt(b)

    def g(w, x, b, c):
        s = 1.0 - math.tanh(w * x + b) ** 2
        return 2.0 * x * s, w * s, math.inf, 0.0

    text = str(check_gradients(f, 0.7, 2.0, 0.0, 3.0, gradient=g))
    # The estimated errors may differ in their last digit from one C library to another.
    assert re.sub(r"\+- \S{5}", "+- ERROR", text) == TEXT


def test_long_reports_show_what_stands_out():
    def g(xs):
        return [2.0 * x * (-1.0 if i == 17 else 1.0) for i, x in enumerate(xs)]

    text = str(check_gradients(squares, [1.0 + i for i in range(30)], gradient=g))
    assert "30 inputs: 29 agrees, 1 BUG" in text
    assert "xs[17]" in text
    assert "xs[16]" not in text
    assert text.endswith("... and 29 inputs that agree")


def test_long_reports_have_no_table_if_nothing_stands_out():
    text = str(check_gradients(ops.sum, [0.1 * i for i in range(30)]))
    assert text == "reverse mode against forward mode and differences, 30 inputs: 30 agrees"


def test_report_as_data():
    report = check_gradients(ops.maximum, 1.0, 1.0)
    data = json.loads(json.dumps(report.to_dict()))
    assert data["ok"] is data["conclusive"] is True
    assert data["foreign"] is False
    assert data["value"] == 1.0
    assert data["inputs"][0]["verdict"] == "kink"
    assert data["inputs"][0]["forward"] == 0.5
    assert len(data["directions"][0]["direction"]) == 2
    assert isinstance(report, GradientReport)


def test_mismatch_is_an_assertion_and_says_it_all():
    report = WRONG_FUNCTIONS["wrong sign"]()
    with pytest.raises(AssertionError, match="a sign is wrong") as caught:
        report.raise_if_bad()
    assert isinstance(caught.value, ChainruleError)
    assert str(caught.value) == str(report)
    check_gradients(ops.sin, 1.0).raise_if_bad()


def test_same_seed_same_report():
    def run(seed):
        return check_gradients(ops.maximum, 1.0, 1.0, seed=seed)

    assert run(3) == run(3)
    assert run(3).directions != run(4).directions


def test_tolerance_passes_over_small_differences():
    wrong = {"gradient": lambda x: 1.0005 * math.cos(x)}
    assert not check_gradients(math.sin, 0.8, **wrong).ok
    assert check_gradients(math.sin, 0.8, tolerance=1e-3, **wrong).ok


# --- slopes -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("f", "x", "exact"),
    [
        (math.exp, 1.0, math.e),
        (math.sin, 2.0, math.cos(2.0)),
        (lambda x: math.log(x) if x > 0.0 else math.nan, 1e-5, 1e5),
        (math.atan, 1e5, 1.0 / (1.0 + 1e10)),
        (lambda x: x**9, 0.1, 9e-8),
    ],
)
def test_errors_of_slopes_are_honest_and_small(f, x, exact):
    found = slopes_along(f, x)
    for slope in (found.left, found.right, found.central):
        assert abs(slope.value - exact) <= slope.error + 1e-15 * abs(exact)
        assert slope.error <= 1e-6 * abs(exact)


# --- other libraries ----------------------------------------------------------------------------


@pytest.mark.torch
def test_torch_functions():
    torch = pytest.importorskip("torch")

    def loss(w, x):
        w, x = torch.as_tensor(w), torch.as_tensor(x)
        return torch.tanh(w @ x).pow(2).sum()

    def right(w, x):
        w, x = torch.tensor(w, requires_grad=True), torch.tensor(x, requires_grad=True)
        return torch.autograd.grad(loss(w, x), (w, x))

    def wrong(w, x):
        by_w, by_x = right(w, x)
        return by_w, 2.0 * by_x

    point = np.array([[0.5, -1.0], [0.3, 0.2]]), np.array([0.7, 0.1])
    report = check_gradients(loss, *point, gradient=right)
    assert verdicts(report) == ["agrees"] * 6
    assert verdicts(check_gradients(loss, *point, gradient=wrong)) == ["agrees"] * 4 + ["bug"] * 2

    class Cube(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x**3

        @staticmethod
        def backward(ctx, upstream):
            (x,) = ctx.saved_tensors
            return upstream * 3.0 * x  # a square is missing

    def by_hand(x):
        x = torch.tensor(x, dtype=torch.float64, requires_grad=True)
        Cube.apply(x).backward()
        return x.grad

    report = check_gradients(lambda x: Cube.apply(torch.tensor(x)), 0.5, gradient=by_hand)
    assert verdicts(report) == ["bug"]

    def single(x):
        return torch.relu(torch.tensor(x, dtype=torch.float32)).sum()

    report = check_gradients(single, [0.0, 0.7], gradient=lambda x: torch.tensor([0.0, 1.0]))
    assert verdicts(report) == ["kink", "agrees"]


@pytest.mark.jax
def test_jax_functions():
    jax = pytest.importorskip("jax")

    def loss(w):
        return jax.numpy.tanh(w @ w.T).sum()

    point = np.array([[0.5, -1.0], [0.3, 0.2]])
    with jax.enable_x64(True):
        report = check_gradients(loss, point, gradient=jax.grad(loss))
        assert verdicts(report) == ["agrees"] * 4
        assert min(found.digits for found in report.inputs) >= 9
    # In JAX's own float32, the same to fewer digits; a wrong gradient still shows.
    assert check_gradients(loss, point, gradient=jax.grad(loss)).ok
    assert not check_gradients(loss, point, gradient=lambda w: 1.01 * jax.grad(loss)(w)).ok
