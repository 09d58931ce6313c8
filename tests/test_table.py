"""Every row of the table, in a loop over the table itself: a new row is tested at once.

Values and local derivatives are held against mpmath at 50 digits, the spellings that
`Value` has inlined against the rows they stand for.
"""

import doctest
import itertools
import math
import operator
import random
import re
import struct

import mpmath
import pytest
from mpmath import mp

from chainrule import Value, ops
from chainrule.arithmetic import Arithmetic
from chainrule.engine import in_use
from chainrule.errors import NotANumberError
from chainrule.operation import CALL, NO_EDGE, ROWS, VARIADIC, Op, VariadicOp
from chainrule.value import partial_derivatives

INF, NAN = math.inf, math.nan

every_row = pytest.mark.parametrize("op", ROWS.values(), ids=lambda op: op.name)

# --- what each row must compute, written independently in mpmath ---------------------------

ZERO, ONE = mpmath.mpf(0), mpmath.mpf(1)


def normal(x):
    """The normal distribution function, without cancellation in its left tail."""
    return mp.erfc(-x / mp.sqrt(2)) / 2


REFERENCES = {
    "add": operator.add,
    "sub": operator.sub,
    "mul": operator.mul,
    "div": operator.truediv,
    "neg": operator.neg,
    "pow": lambda x, y: x**y,
    "exp": lambda x: mp.exp(x),
    "expm1": lambda x: mp.expm1(x),
    "log": lambda x: mp.log(x),
    "log1p": lambda x: mp.log1p(x),
    "sqrt": lambda x: mp.sqrt(x),
    "sin": lambda x: mp.sin(x),
    "cos": lambda x: mp.cos(x),
    "tan": lambda x: mp.tan(x),
    "asin": lambda x: mp.asin(x),
    "acos": lambda x: mp.acos(x),
    "atan": lambda x: mp.atan(x),
    "sinh": lambda x: mp.sinh(x),
    "cosh": lambda x: mp.cosh(x),
    "tanh": lambda x: mp.tanh(x),
    "erf": lambda x: mp.erf(x),
    "less": lambda x, y: ONE * (x < y),
    "less_equal": lambda x, y: ONE * (x <= y),
    "greater": lambda x, y: ONE * (x > y),
    "greater_equal": lambda x, y: ONE * (x >= y),
    "equal": lambda x, y: ONE * (x == y),
    "not_equal": lambda x, y: ONE * (x != y),
    "where": lambda condition, x, y: x if condition != 0 else y,
    "stop_gradient": lambda x: x,
    "abs": lambda x: abs(x),
    "maximum": lambda x, y: max(x, y),
    "minimum": lambda x, y: min(x, y),
    "sigmoid": lambda x: 1 / (1 + mp.exp(-x)),
    "log_sigmoid": lambda x: -mp.log1p(mp.exp(-x)),
    "softplus": lambda x: mp.log1p(mp.exp(x)),
    "relu": lambda x: max(x, ZERO),
    "leaky_relu": lambda x, slope: x if x > 0 else slope * x,
    "elu": lambda x, alpha: x if x > 0 else alpha * mp.expm1(x),
    "silu": lambda x: x / (1 + mp.exp(-x)),
    "gelu": lambda x: x * normal(x),
    "sum": lambda *terms: mp.fsum(terms),
    "logsumexp": lambda *xs: mp.log(mp.fsum([mp.exp(x) for x in xs])),
    "pick": lambda index, *options: options[round(index)],
}

# How many units in the last place a result may be off, where it is not 2: the function is
# then no elementary one, and its value comes out of several roundings.
ULPS = {"sigmoid": 3, "silu": 4, "sum": 4, "gelu": 4, "logsumexp": 4}

FAR = (-700.0, -20.0, 20.0, 700.0)


def seeded(op):
    return random.Random(f"row {op.name}")


def points(op, n=60):
    """Seeded points from the domain, then far ones where the function is real and smooth."""
    source = seeded(op)
    found = [tuple(source.uniform(low, high) for low, high in op.domain) for _ in range(n)]
    if op.domain == (ops.REAL,):  # into saturation
        found += [(source.uniform(-40.0, 40.0),) for _ in range(n)]
    if op.arity in (1, 2):
        for point in itertools.product(FAR, repeat=op.arity):
            y = exactly(op, point)
            smooth = op.kinks is None or op.kinks(*point) != 0.0
            if smooth and isinstance(y, mpmath.mpf) and abs(y) < mpmath.mpf(2) ** 1024:
                found.append(point)
    return found


def exactly(op, point):
    """The result at 50 digits; a complex one where the function is not real."""
    with mp.workdps(50):
        try:
            return mp.mpmathify(REFERENCES[op.name](*[mpmath.mpf(x) for x in point]))
        except ZeroDivisionError:
            return mp.nan


def exact_derivative(op, point, orders):
    """A derivative at 50 digits; nan where it is not real."""
    with mp.workdps(50):
        found = mp.diff(REFERENCES[op.name], point, orders)
        real = abs(found.imag) <= abs(found) * mpmath.mpf(10) ** -30
        return found.real if real else mp.nan


def unit(operand, count):
    return tuple([int(i == operand) for i in range(count)])


def same(x, y):
    """Bit for bit, sign of zero included; one nan is like another."""
    return struct.pack("d", x) == struct.pack("d", y) or (x != x and y != y)


def local_derivatives(op, y, point):
    """All local derivatives, `NO_EDGE` included."""
    return op.derivatives(y, point, [True] * len(point))


# --- the columns ---------------------------------------------------------------------------


@every_row
def test_row_is_reachable_by_its_name_and_its_symbol(op):
    assert getattr(ops, op.name) is op
    assert ROWS[op.symbol] is op
    assert repr(op) == f"<op {op.name}>"


def test_names_are_unique():
    assert len({op.name for op in ROWS.values()}) == len(ROWS)


def test_the_table_holds_what_was_promised():
    promised = """
        add sub mul div neg pow exp expm1 log log1p sqrt sin cos tan asin acos atan
        sinh cosh tanh erf abs maximum minimum less less_equal greater greater_equal equal
        not_equal where sigmoid log_sigmoid softplus relu leaky_relu elu silu gelu
        sum logsumexp pick stop_gradient
    """
    assert sorted(promised.split()) == sorted(op.name for op in ROWS.values())
    assert set(REFERENCES) == set(promised.split())


def test_a_symbol_cannot_be_taken_twice():
    before = dict(ROWS)
    with pytest.raises(ValueError, match=r"two rows of the table share the symbol '\+'"):

        @ops.row("+", partials=(lambda y, x: 1.0,), tex="#1", says="nothing")
        def impostor(x):
            return x

    assert before == ROWS


@every_row
def test_columns_are_filled(op):
    operands = max(op.arity, len(op.domain))
    assert op.tex
    assert "#" in op.tex
    for i in range(op.arity):
        assert f"#{i + 1}" in op.tex
    assert len(op.says.split()) >= 4
    assert not op.says.endswith(".")
    assert 1 <= op.precedence <= CALL
    assert len(op.domain) == operands
    assert all(low <= high for low, high in op.domain)
    if op.arity == VARIADIC:
        assert isinstance(op, VariadicOp)
    else:
        assert len(op.partials) == op.arity
        assert len(op.defaults) < op.arity


@every_row
def test_docstring_example_runs(op):
    # A row is no function, so pytest's own collector of examples passes it by.
    example = doctest.DocTestParser().get_doctest(op.__doc__, vars(ops), op.name, None, None)
    report = []
    outcome = doctest.DocTestRunner().run(example, out=report.append)
    assert outcome.attempted >= 1
    assert not outcome.failed, "".join(report)


# --- values --------------------------------------------------------------------------------


@every_row
def test_value_against_mpmath(op):
    for point in points(op):
        exact = exactly(op, point)
        allowed = ULPS.get(op.name, 2)
        if op is ops.gelu:  # in the left tail the two roundings of x * sqrt(0.5) grow by x * x
            allowed += 2.0 * min(point[0], 0.0) ** 2
        # Sums may cancel, and are measured by the units of their largest operand.
        scale = [float(exact), *(point if op in {ops.sum, ops.logsumexp} else ())]
        error = abs(mpmath.mpf(op.value(point)) - exact) / max(map(math.ulp, scale))
        assert error <= allowed, f"{op.name}{point} is {float(error):.3g} ulp off"


def test_small_shares_of_logsumexp_are_not_lost():
    assert ops.logsumexp([0.0, -40.0]) == math.exp(-40.0)
    assert ops.logsumexp([-40.0, 0.0, -INF]) == math.exp(-40.0)
    assert ops.logsumexp([1e300, 1e300]) == 1e300


@every_row
def test_special_points_are_exact(op):
    for point, expected in op.special:
        assert same(op.value(point), expected), f"{op.name}{point}: {op.value(point)}"


@every_row
def test_nothing_raises_in_ieee_arithmetic(op):
    awkward = (0.0, -0.0, 1.0, -1.5, 5e-324, -1e300, 1e300, INF, -INF, NAN)
    if op is ops.pick:  # an index that is not there is a mistake, not arithmetic
        return
    for point in itertools.product(awkward, repeat=min(len(op.domain), 2)):
        operands = (*point, *[1.0] * (len(op.domain) - len(point)))
        y = op.value(operands)
        assert type(y) is float
        for d in local_derivatives(op, y, operands):
            assert d is NO_EDGE or type(d) is float


@every_row
def test_nan_in_nan_out(op):
    if op.symbol in {"<", "<=", ">", ">=", "==", "!=", "where", "pick"}:  # these choose
        return
    for place in range(len(op.domain)):
        operands = [0.5] * len(op.domain)
        operands[place] = NAN
        if (op.name, place) not in {("leaky_relu", 1), ("elu", 1)}:  # not used above 0
            assert math.isnan(op.value(operands)), f"{op.name}{tuple(operands)}"


# --- local derivatives ---------------------------------------------------------------------

# Right to a few units in the last place or to 2**-53 absolutely, whichever is looser: those
# that are written with the result, such as y * (1 - y), inherit its rounding.  tanh doubles
# it: 1 - y * y moves by 2 * y where y moves by 1.
DERIVATIVE_ULPS = 4
ROUNDING = mpmath.mpf(2) ** -53
ROUNDINGS = {"tanh": 2}


@every_row
def test_local_derivatives_against_mpmath(op):
    if op is ops.stop_gradient:  # the one row whose rule is not its derivative
        return
    for point in points(op, 25):
        for i, partial in enumerate(local_derivatives(op, op.value(point), point)):
            exact = exact_derivative(op, point, unit(i, len(point)))
            got = mpmath.mpf(0.0 if partial is NO_EDGE else partial)
            if mp.isnan(exact):
                assert mp.isnan(got), f"{op.name}{point} by operand {i}"
                continue
            loosest = ROUNDING * ROUNDINGS.get(op.name, 1)
            allowed = max(loosest, DERIVATIVE_ULPS * math.ulp(float(exact)))
            assert abs(got - exact) <= allowed, (
                f"{op.name}{point} by operand {i}: {got} for {exact}, off by "
                f"{float(abs(got - exact) / ROUNDING):.3g} * 2**-53"
            )


KINKS = {
    "less": ((1.0, 1.0), (NO_EDGE, NO_EDGE)),
    "less_equal": ((1.0, 1.0), (NO_EDGE, NO_EDGE)),
    "greater": ((1.0, 1.0), (NO_EDGE, NO_EDGE)),
    "greater_equal": ((1.0, 1.0), (NO_EDGE, NO_EDGE)),
    "equal": ((1.0, 1.0), (NO_EDGE, NO_EDGE)),
    "not_equal": ((1.0, 1.0), (NO_EDGE, NO_EDGE)),
    "where": ((0.0, 1.0, 2.0), (NO_EDGE, NO_EDGE, 1.0)),
    "abs": ((0.0,), (0.0,)),
    "maximum": ((1.0, 1.0), (0.5, 0.5)),
    "minimum": ((1.0, 1.0), (0.5, 0.5)),
    "relu": ((0.0,), (0.0,)),
    "leaky_relu": ((0.0, 0.25), (0.25, 0.0)),
    "elu": ((0.0, 0.5), (0.5, 0.0)),
}


@every_row
def test_convention_at_the_kink(op):
    assert (op.kinks is not None) == (op.name in KINKS)
    if op.kinks is not None:
        point, expected = KINKS[op.name]
        assert op.kinks(*point) == 0.0
        assert op.kinks(*[x + i + 1.0 for i, x in enumerate(point)]) != 0.0
        assert tuple(local_derivatives(op, op.value(point), point)) == expected


def test_one_sided_limits_of_derivatives():
    assert ops.sqrt.partials[0](0.0, 0.0) == INF
    assert ops.sqrt.partials[0](-0.0, -0.0) == -INF
    assert ops.log.partials[0](-INF, 0.0) == INF
    assert ops.log.partials[0](-INF, -0.0) == -INF
    by_base, by_exponent = ops.pow.partials
    assert by_base(1.0, 0.0, 0.0) == 0.0
    assert by_base(1.0, NAN, 0.0) == 0.0
    assert math.isnan(by_exponent(-8.0, -2.0, 3.0))


def test_only_the_option_picked_has_an_edge():
    for index in range(3):
        operands = (float(index), 5.0, 6.0, 7.0)
        assert ops.pick.value(operands) == operands[1 + index]
        expected = [NO_EDGE, *[1.0 if i == index else NO_EDGE for i in range(3)]]
        assert local_derivatives(ops.pick, operands[1 + index], operands) == expected


def test_rules_not_wanted_cost_nothing_and_are_no_edge():
    def never(*_):
        raise AssertionError

    op = Op(max, (never, lambda z, x, y: 3.0), arity=2, tex="", says="", domain=())
    assert op.derivatives(0.0, (1.0, 2.0), [False, True]) == [NO_EDGE, 3.0]
    assert ops.sum.derivatives(0.0, (1.0, 2.0), [False, True]) == [NO_EDGE, 1.0]


# --- rules are expressions -----------------------------------------------------------------


class Opaque(Arithmetic):
    """An operand with no number inside: a Python ``if`` in a rule has nothing to look at."""

    rank = 9

    def __op__(self, op, operands):
        return Opaque()

    def __gate__(self, taken):
        return Opaque()

    def __float__(self):
        return self.look()

    def look(self, other=None):
        raise AssertionError("a rule looked at the number instead of using where()")

    __bool__ = __lt__ = __le__ = __gt__ = __ge__ = look


@every_row
def test_rules_never_look_at_a_number(op):
    for d in local_derivatives(op, Opaque(), [Opaque() for _ in op.domain]):
        assert d is NO_EDGE or isinstance(d, (float, Opaque))


def test_the_opaque_operand_catches_a_python_if():
    with pytest.raises(AssertionError, match="looked at the number"):
        (lambda y, x: 1.0 if x > 0.0 else 0.0)(Opaque(), Opaque())


@every_row
def test_rules_build_the_graph_of_the_second_derivative(op):
    for point in points(op, 5):
        if max(map(abs, point)) > 20.0:
            continue
        n = len(point)
        for i in range(n):
            xs = [Value(x) for x in point]
            y = op.apply(tuple(xs))
            slope = op.derivatives(y, xs, [True] * n)[i]
            plain = local_derivatives(op, y.data, point)[i]
            if not isinstance(slope, Value):
                assert slope is plain or same(slope, plain)
                if op is not ops.stop_gradient and plain is not NO_EDGE:
                    for j in range(n):
                        assert second(op, point, i, j) == 0.0
                continue
            assert same(slope.data, plain)
            slope.backward()
            for j, x in enumerate(xs):
                exact = second(op, point, i, j)
                near = pytest.approx(exact, rel=1e-13, abs=1e-14, nan_ok=True)
                assert x.grad == near, (op, point, i, j)


def second(op, point, i, j):
    """The second derivative by operands ``i`` and ``j`` at 50 digits."""
    orders = [a + b for a, b in zip(unit(i, len(point)), unit(j, len(point)), strict=True)]
    return float(exact_derivative(op, point, tuple(orders)))


# --- Value holds to the rows ---------------------------------------------------------------

SPECIAL = (0.0, -0.0, 1.0, -1.0, 2.0, -2.0, 0.5, -3.0, 1e300, -1e300, 5e-324, INF, -INF, NAN)

SPELLINGS = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "/": operator.truediv,
    "**": operator.pow,
}


def operand_points(op):
    """Random and special operands, all pairs of the special ones."""
    source = seeded(op)
    found = [tuple(source.uniform(-4.0, 4.0) for _ in op.domain) for _ in range(30)]
    for pair in itertools.product(SPECIAL, repeat=min(2, len(op.domain))):
        found.append((*pair, *[source.choice(SPECIAL) for _ in op.domain[2:]]))
    if op is ops.pick:
        found = [(float(i % 2), *rest) for i, (_, *rest) in enumerate(found)]
    return found


def hold(node, op, operands, point):
    """The node must be what the row makes of these operands, bit for bit."""
    y = op.value(point)
    assert same(node.data, y)
    assert node._op == op.symbol
    assert len(node.operands) == len(operands)
    for got, given in zip(node.operands, operands, strict=True):
        assert got is given or (type(got) is float and same(got, given))
    partials = local_derivatives(op, y, point)
    for x, got, d in zip(operands, partial_derivatives(node), partials, strict=True):
        if isinstance(x, Value):
            assert got is d or same(got, d), f"{op.name}{point}: {got} for {d}"
        else:
            assert got is NO_EDGE
    node.backward()
    for x, d in zip(operands, partials, strict=True):
        if isinstance(x, Value):
            assert same(x.grad, 0.0 if d is NO_EDGE else 0.0 + d), f"{op.name}{point}"


@pytest.mark.parametrize("symbol", SPELLINGS)
@pytest.mark.parametrize("left", [Value, float], ids=["value", "number"])
@pytest.mark.parametrize("right", [Value, float], ids=["value", "number"])
def test_inlined_spelling_against_its_row(symbol, left, right):
    if left is float and right is float:
        return
    op = ROWS[symbol]
    for point in operand_points(op):
        operands = left(point[0]), right(point[1])
        hold(SPELLINGS[symbol](*operands), op, operands, point)


@every_row
def test_value_against_the_row(op):
    for point in operand_points(op):
        operands = tuple([Value(x) for x in point])
        hold(op.apply(operands), op, operands, point)


@every_row
def test_value_mixed_with_numbers_against_the_row(op):
    for kept in range(len(op.domain)):
        for point in operand_points(op)[:40]:
            operands = tuple([Value(x) if i == kept else x for i, x in enumerate(point)])
            hold(op.apply(operands), op, operands, point)


@every_row
def test_method_is_the_row(op):
    method = getattr(Value, op.name, None)
    if method is not None:
        rest = [0.75] * (op.arity - 1)
        for x in (-0.5, 0.25):
            v = Value(x)
            assert method(v, *rest).operands == (v, *rest)
            assert same(method(v, *rest).data, op(x, *rest))


@pytest.mark.parametrize("symbol", SPELLINGS)
def test_operator_of_every_interpreter_is_the_row(symbol):
    # What Value spells out for itself, every other interpreter inherits from Arithmetic.
    class Recorder(Arithmetic):
        rank = 5

        def __op__(self, op, operands):
            return op, operands

    me, spell = Recorder(), SPELLINGS[symbol]
    op = ROWS[symbol]
    assert spell(me, 2) == (op, (me, 2.0))
    assert spell(2, me) == (op, (2.0, me))
    with pytest.raises(TypeError, match="unsupported operand"):
        spell(me, object())
    with pytest.raises(TypeError, match="unsupported operand"):
        spell(object(), me)
    with pytest.raises(NotANumberError, match=re.escape(f"the operator {symbol} needs a real")):
        spell(me, None)
    v = Value(2.0)  # of lower rank: hands over
    assert spell(v, me) == op(v, me) == (op, (v, me))
    assert spell(me, v) == op(me, v) == (op, (me, v))
    if in_use().name == "python":  # compiled, they insist on a result of their own kind
        assert -me == (ops.neg, (me,))
        assert abs(me) == (ops.abs, (me,))
    assert +me is me
