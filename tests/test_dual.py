"""Forward mode: duals carry tangents, and levels keep nested differentiations apart."""

import math
import random

import mpmath
import pytest
from mpmath import mp

from chainrule import Value, ops
from chainrule.dual import Dual, new_level
from chainrule.errors import NotANumberError
from chainrule.operation import NO_EDGE, ROWS

every_row = pytest.mark.parametrize("op", ROWS.values(), ids=lambda op: op.name)


def points(op, n=5):
    source = random.Random(f"dual {op.name}")
    return [tuple(source.uniform(low, high) for low, high in op.domain) for _ in range(n)]


@every_row
def test_tangent_is_the_sum_of_local_derivatives_times_tangents(op):
    for point in points(op):
        tangents = [math.sin(1.0 + i) for i in range(len(point))]
        y = op.apply(tuple([Dual(x, dx) for x, dx in zip(point, tangents, strict=True)]))
        partials = op.derivatives(op.value(point), point, [True] * len(point))
        terms = [d * dx for d, dx in zip(partials, tangents, strict=True) if d is not NO_EDGE]
        assert y.primal == op.value(point)
        if terms:
            assert y.tangent == pytest.approx(math.fsum(terms), rel=1e-14)
        else:
            assert y.tangent is None


@every_row
def test_numbers_and_operands_that_do_not_move_cost_no_rule(op, monkeypatch):
    asked = []
    rules = type(op).derivatives

    def spy(self, y, operands, wanted):
        asked.append(list(wanted))
        return rules(self, y, operands, wanted)

    monkeypatch.setattr(type(op), "derivatives", spy)
    (point,) = points(op, 1)
    for place in range(len(point)):
        still = [Dual(x, None) if i % 2 else x for i, x in enumerate(point)]
        op.apply(tuple([Dual(x, 1.0) if i == place else still[i] for i, x in enumerate(point)]))
        assert asked.pop() == [i == place for i in range(len(point))]


def test_what_does_not_move_is_not_zero():
    # The tangent 0.0 is a number like any other, and meets sqrt's infinite slope at 0.
    assert math.isnan(ops.sqrt(Dual(0.0, 0.0)).tangent)
    assert ops.sqrt(Dual(0.0, None)).tangent is None
    assert (Dual(0.0, None).sqrt() + Dual(2.0, 3.0)).tangent == 3.0


def test_attributes_and_text():
    x = Dual(3.0, 0.5, 7)
    assert (x.primal, x.tangent, x.level) == (3.0, 0.5, 7)
    assert (Dual(2.0).tangent, Dual(2.0).level) == (0.0, 0)
    assert repr(x) == "Dual(3.0, 0.5)"
    assert repr(Dual(3.0, None)) == "Dual(3.0, None)"


def test_a_dual_can_be_looked_at_like_a_value():
    x = Dual(Value(2.5), 1.0)
    assert float(x) == x.data == 2.5
    assert int(x) == 2
    assert x > 2.0
    assert x < 3.0
    assert x <= Dual(2.5)
    assert bool(x)
    assert not Dual(0.0)
    assert max(x, Dual(1.0)) is x
    assert x == x  # identity, as with values
    assert x != Dual(2.5, 1.0)


def test_operators_from_both_sides():
    x = Dual(2.0, 1.0)
    for y, value, slope in [
        (x + 3, 5.0, 1.0),
        (3 + x, 5.0, 1.0),
        (x - 3, -1.0, 1.0),
        (3 - x, 1.0, -1.0),
        (x * 3, 6.0, 3.0),
        (3 * x, 6.0, 3.0),
        (x / 4, 0.5, 0.25),
        (4 / x, 2.0, -1.0),
        (x**3, 8.0, 12.0),
        (3**x, 9.0, 9.0 * math.log(3.0)),
        (-x, -2.0, -1.0),
        (+x, 2.0, 1.0),
        (abs(-x), 2.0, 1.0),
        (x * x + x, 6.0, 5.0),
    ]:
        assert y.primal == value
        assert y.tangent == pytest.approx(slope, rel=1e-15)


def test_strangers_are_refused():
    with pytest.raises((TypeError, NotANumberError), match=r"operand|real number"):
        Dual(1.0) + "2"
    with pytest.raises(NotANumberError, match="needs a real number; got '2'"):
        ops.atan("2")


# --- levels -------------------------------------------------------------------------------------


def test_levels_are_new_each_time():
    first, second = new_level(), new_level()
    assert second > first > 0


def test_two_levels_give_the_mixed_derivative():
    inner, outer = sorted((new_level(), new_level()))
    x = Dual(Dual(2.0, 1.0, inner), 1.0, outer)
    y = x * x * x
    assert y.primal.primal == 8.0
    assert y.primal.tangent == y.tangent.primal == 12.0
    assert y.tangent.tangent == 12.0


def test_an_outer_dual_is_a_constant_to_an_inner_one():
    # d/dx [x * d/dy (x + y)] = 1: confusing the perturbations would give 2
    # (Siskind & Pearlmutter, 2005).
    low, high = new_level(), new_level()
    x = Dual(1.0, 1.0, low)
    inner = (x + Dual(1.0, 1.0, high)).tangent
    assert (x * inner).tangent == 1.0


def test_values_inside_a_dual_keep_their_graph():
    x = Value(0.5)
    y = ops.tanh(Dual(x, 1.0))
    y.tangent.backward()
    t = math.tanh(0.5)
    assert y.tangent.data == pytest.approx(1.0 - t * t, rel=1e-15)
    assert x.grad == pytest.approx(-2.0 * t * (1.0 - t * t), rel=1e-15)


def test_a_choice_follows_the_primal_and_has_no_slope_of_its_own():
    x = Dual(0.0, 1.0)
    y = ops.where(ops.less(0.0, x), ops.sqrt(x), 2.0 * x)
    assert (y.primal, y.tangent) == (0.0, 2.0)
    assert ops.where(Dual(1.0, 5.0), Dual(3.0, 4.0), Dual(0.0, math.inf)).tangent == 4.0
    assert ops.stop_gradient(x).tangent is None


@every_row
def test_nested_duals_give_second_derivatives(op):
    if op is ops.stop_gradient:
        return
    for point in points(op, 3):
        for i in range(len(point)):
            low, high = new_level(), new_level()
            operands = list(point)
            operands[i] = Dual(Dual(point[i], 1.0, low), 1.0, high)
            y = op.apply(tuple(operands))
            got = y.tangent.tangent if isinstance(y.tangent, Dual) else None
            exact = second(op, point, i)
            assert (got or 0.0) == pytest.approx(exact, rel=1e-9, abs=1e-9), (op, point, i)


MPMATH = {
    "pow": lambda x, y: x**y,
    "sigmoid": lambda x: 1 / (1 + mp.exp(-x)),
    "softplus": lambda x: mp.log1p(mp.exp(x)),
    "log_sigmoid": lambda x: -mp.log1p(mp.exp(-x)),
    "silu": lambda x: x / (1 + mp.exp(-x)),
    "gelu": lambda x: x * mp.ncdf(x),
    "elu": lambda x, alpha: x if x > 0 else alpha * mp.expm1(x),
    "div": lambda x, y: x / y,
    "logsumexp": lambda *xs: mp.log(mp.fsum([mp.exp(x) for x in xs])),
    **{name: getattr(mp, name) for name in ("exp", "expm1", "log", "log1p", "sqrt", "erf")},
    **{name: getattr(mp, name) for name in ("sin", "cos", "tan", "asin", "acos", "atan")},
    **{name: getattr(mp, name) for name in ("sinh", "cosh", "tanh")},
}
"""The rows whose second derivative is not zero."""


def second(op, point, i):
    f = MPMATH.get(op.name)
    if f is None:
        return 0.0
    order = tuple([2 if j == i else 0 for j in range(len(point))])
    with mp.workdps(40):
        return float(mp.diff(f, tuple([mpmath.mpf(x) for x in point]), order))


def test_it_is_formatted_and_rounded_as_its_number():
    x = Dual(Value(2.567), 1.0)
    assert f"{x:.2f} {x}" == f"2.57 {x!r}"
    assert (round(x), round(x, 1), round(Dual(Dual(2.567, 1.0), 1.0, 1), 2)) == (3, 2.6, 2.57)
