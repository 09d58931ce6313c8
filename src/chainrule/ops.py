"""The table: every operation of chainrule, declared once.

Each function below is a row.  Its body computes the result from plain numbers;
the decorator above it adds what else must be known, first of all the local
derivative by each operand.  Take the product::

    @row("*", partials=(lambda z, x, y: y, lambda z, x, y: x), ...)
    def mul(x, y):
        return x * y

The derivative of ``z = x * y`` by ``x`` is ``y``, and by ``y`` it is ``x``.
Nothing else in the package knows how to differentiate a product.

The rules are *expressions* in the same operations, never Python ``if``.  So one
rule serves every use: fed numbers it gives the local derivative, fed `Value`s
it builds the graph of the derivative (and so second derivatives), fed `Dual`s
it runs forward, fed `Symbol`s it writes the formula.

A decorated function becomes an `Op`.  Call it with numbers, with `Value`s or
with a mix: ``exp(2.0)`` is a float, ``exp(Value(2.0))`` a `Value`.

Where a function has no derivative the conventions are PyTorch's: relu and abs
have derivative 0 at 0, the operands of a tie share the gradient, one-sided
limits are infinite.  Nothing raises: ``log(0.0)`` is ``-inf`` as in IEEE
arithmetic, and ``log(-1.0)`` is ``nan``.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from functools import reduce
from typing import Any, Final, TypeVar

from chainrule.errors import ShapeError
from chainrule.operation import NO_EDGE, ROWS, VARIADIC, Op, Operand, VariadicOp, elements

INF: Final = math.inf
NAN: Final = math.nan
REAL: Final = (-3.0, 3.0)
"""Where tests draw operands of operations that are defined everywhere."""
POSITIVE: Final = (0.05, 4.0)

N = TypeVar("N", bound="Operand | float")


def _register(op: Op) -> None:
    if op.symbol in ROWS:
        raise ValueError(f"two rows of the table share the symbol {op.symbol!r}")
    ROWS[op.symbol] = op


def row(symbol: str = "", **columns: Any) -> Callable[[Callable[..., float]], Op]:
    """Make the decorated function a row with a fixed number of operands.

    Args:
        symbol: what a node's ``_op`` shows; the function's name if left out.
        **columns: the other fields of `Op`; ``partials`` has a rule per operand.

    Returns:
        A decorator that puts the `Op` into the table and returns it.
    """

    def declare(forward: Callable[..., float]) -> Op:
        arity = len(columns["partials"])
        columns.setdefault("domain", (REAL,) * arity)
        op = Op(forward, arity=arity, symbol=symbol, **columns)
        _register(op)
        return op

    return declare


def variadic_row(symbol: str = "", **columns: Any) -> Callable[[Callable[..., float]], VariadicOp]:
    """Make the decorated function a row with any number of operands."""

    def declare(forward: Callable[..., float]) -> VariadicOp:
        columns.setdefault("arity", VARIADIC)
        op = VariadicOp(forward, symbol=symbol, **columns)
        _register(op)
        return op

    return declare


def _no_edge(*_: Any) -> Any:
    return NO_EDGE


def gate(condition: Any, taken: bool = True) -> Any:
    """1.0 where the truth of ``condition`` is ``taken``, elsewhere `NO_EDGE`."""
    if isinstance(condition, Operand):
        return condition.__gate__(taken)
    return 1.0 if (condition != 0.0) is taken else NO_EDGE


# --- arithmetic -------------------------------------------------------------------


@row(
    "+",
    partials=(lambda z, x, y: 1.0, lambda z, x, y: 1.0),
    tex="#1 + #2",
    says="a sum passes the gradient on unchanged to each term",
    precedence=1,
)
def add(x: float, y: float) -> float:
    """The sum ``x + y``.

    >>> add(1.0, 2.0)
    3.0
    """
    return x + y


@row(
    "-",
    partials=(lambda z, x, y: 1.0, lambda z, x, y: -1.0),
    tex="#1 - #2",
    says="a difference passes the gradient on unchanged to the first term, negated to the second",
    precedence=1,
)
def sub(x: float, y: float) -> float:
    """The difference ``x - y``.

    >>> sub(1.0, 2.0)
    -1.0
    """
    return x - y


@row(
    "*",
    partials=(lambda z, x, y: y, lambda z, x, y: x),
    tex=r"#1 \cdot #2",
    says="each factor gets the gradient times the other factor",
    precedence=2,
)
def mul(x: float, y: float) -> float:
    """The product ``x * y``.

    >>> mul(2.0, 3.0)
    6.0
    """
    return x * y


@row(
    "/",
    partials=(lambda z, x, y: div(1.0, y), lambda z, x, y: -div(z, y)),
    tex=r"\frac{#1}{#2}",
    says="the numerator gets the gradient divided by the denominator, "
    "the denominator minus the quotient over itself",
    precedence=2,
    domain=(REAL, (0.2, 3.0)),
    special=(((1.0, 0.0), INF), ((-1.0, 0.0), -INF), ((1.0, -0.0), -INF), ((0.0, 0.0), NAN)),
)
def div(x: float, y: float) -> float:
    """The quotient ``x / y``; division by zero gives ``inf`` or ``nan``, as in IEEE arithmetic.

    >>> div(1.0, 4.0), div(1.0, 0.0)
    (0.25, inf)
    """
    if y == 0.0:
        if x == 0.0 or x != x:
            return NAN
        return math.copysign(INF, x) * math.copysign(1.0, y)
    return x / y


@row(
    "neg",
    partials=(lambda y, x: -1.0,),
    tex="-#1",
    says="a minus sign turns the gradient round",
    precedence=3,
)
def neg(x: float) -> float:
    """The negative ``-x``.

    >>> neg(2.0)
    -2.0
    """
    return -x


@row(
    "**",
    partials=(
        lambda z, x, y: where(equal(y, 0.0), 0.0, y * pow(x, y - 1.0)),
        lambda z, x, y: where(equal(x, 0.0), where(less(y, 0.0), -INF, 0.0), z * log(x)),
    ),
    tex="{#1}^{#2}",
    says="the exponent comes down as a factor and falls by one; "
    "an exponent that varies gets the power times the logarithm of the base",
    precedence=4,
    domain=(POSITIVE, REAL),
    special=(
        ((0.0, 0.0), 1.0),
        ((NAN, 0.0), 1.0),
        ((1.0, INF), 1.0),
        ((0.0, -1.0), INF),
        ((-0.0, -1.0), -INF),
        ((-2.0, 3.0), -8.0),
        ((-2.0, 0.5), NAN),
        ((10.0, 400.0), INF),
        ((-10.0, 401.0), -INF),
    ),
)
def pow(x: float, y: float) -> float:
    """The power ``x ** y``; ``x ** 0`` is 1 for every ``x``.

    >>> pow(2.0, 3.0), pow(0.0, 0.0), pow(-8.0, 0.5)
    (8.0, 1.0, nan)
    """
    try:
        return math.pow(x, y)
    except OverflowError:
        return -INF if x < 0.0 and y % 2.0 == 1.0 else INF
    except ValueError:  # a negative base with a broken exponent, or 0 to a negative power
        if x == 0.0:
            return math.copysign(INF, x) if y % 2.0 == 1.0 else INF
        return NAN


# --- exponentials and logarithms --------------------------------------------------


@row(
    partials=(lambda y, x: y,),
    tex="e^{#1}",
    says="the exponential is its own derivative",
    special=(((0.0,), 1.0), ((INF,), INF), ((-INF,), 0.0), ((1000.0,), INF)),
)
def exp(x: float) -> float:
    """The exponential, ``e`` to the power ``x``; past about 709.78 it is ``inf``.

    >>> exp(0.0)
    1.0
    """
    try:
        return math.exp(x)
    except OverflowError:
        return INF


@row(
    partials=(lambda y, x: exp(x),),
    tex=r"\left(e^{#1} - 1\right)",
    says="subtracting one changes nothing: the derivative is the exponential",
    special=(((0.0,), 0.0), ((INF,), INF), ((-INF,), -1.0), ((1000.0,), INF)),
)
def expm1(x: float) -> float:
    """``exp(x) - 1``, exact to rounding even for tiny ``x``.

    >>> expm1(1e-20)
    1e-20
    """
    try:
        return math.expm1(x)
    except OverflowError:
        return INF


@row(
    partials=(lambda y, x: div(1.0, x),),
    tex=r"\ln\left(#1\right)",
    says="the derivative of the logarithm is one over its operand",
    domain=(POSITIVE,),
    special=(((1.0,), 0.0), ((0.0,), -INF), ((-0.0,), -INF), ((-1.0,), NAN), ((INF,), INF)),
)
def log(x: float) -> float:
    """The natural logarithm; ``log(0)`` is ``-inf``, of a negative number it is ``nan``.

    >>> log(1.0), log(0.0), log(-1.0)
    (0.0, -inf, nan)
    """
    if x > 0.0:
        return math.log(x)
    return -INF if x == 0.0 else NAN


@row(
    partials=(lambda y, x: div(1.0, 1.0 + x),),
    tex=r"\ln\left(1 + #1\right)",
    says="the derivative of the logarithm is one over what stands inside it",
    domain=((-0.9, 4.0),),
    special=(((0.0,), 0.0), ((-1.0,), -INF), ((-2.0,), NAN), ((INF,), INF)),
)
def log1p(x: float) -> float:
    """``log(1 + x)``, exact to rounding even for tiny ``x``.

    >>> log1p(1e-20)
    1e-20
    """
    if x > -1.0:
        return math.log1p(x)
    return -INF if x == -1.0 else NAN


@row(
    partials=(lambda y, x: div(0.5, y),),
    tex=r"\sqrt{#1}",
    says="the derivative of the root is one over twice the root",
    domain=(POSITIVE,),
    special=(((0.0,), 0.0), ((-0.0,), -0.0), ((-1.0,), NAN), ((INF,), INF), ((4.0,), 2.0)),
)
def sqrt(x: float) -> float:
    """The square root; of a negative number it is ``nan``.

    >>> sqrt(9.0)
    3.0
    """
    return math.sqrt(x) if x >= 0.0 else NAN


# --- trigonometry -----------------------------------------------------------------


@row(
    partials=(lambda y, x: cos(x),),
    tex=r"\sin\left(#1\right)",
    says="the derivative of the sine is the cosine",
    special=(((0.0,), 0.0), ((INF,), NAN)),
)
def sin(x: float) -> float:
    """The sine of ``x`` in radians.

    >>> sin(0.0)
    0.0
    """
    return math.sin(x) if -INF < x < INF else NAN


@row(
    partials=(lambda y, x: -sin(x),),
    tex=r"\cos\left(#1\right)",
    says="the derivative of the cosine is minus the sine",
    special=(((0.0,), 1.0), ((-INF,), NAN)),
)
def cos(x: float) -> float:
    """The cosine of ``x`` in radians.

    >>> cos(0.0)
    1.0
    """
    return math.cos(x) if -INF < x < INF else NAN


@row(
    partials=(lambda y, x: 1.0 + y * y,),
    tex=r"\tan\left(#1\right)",
    says="the derivative of the tangent is one plus its square",
    domain=((-1.4, 1.4),),
    special=(((0.0,), 0.0), ((INF,), NAN)),
)
def tan(x: float) -> float:
    """The tangent of ``x`` in radians.

    >>> tan(0.0)
    0.0
    """
    return math.tan(x) if -INF < x < INF else NAN


@row(
    partials=(lambda y, x: div(1.0, sqrt((1.0 - x) * (1.0 + x))),),
    tex=r"\arcsin\left(#1\right)",
    says="the derivative of the arcsine is one over the root of one minus x squared",
    domain=((-0.95, 0.95),),
    special=(((0.0,), 0.0), ((2.0,), NAN)),
)
def asin(x: float) -> float:
    """The angle in radians whose sine is ``x``; ``nan`` outside [-1, 1].

    >>> asin(0.0)
    0.0
    """
    return math.asin(x) if -1.0 <= x <= 1.0 else NAN


@row(
    partials=(lambda y, x: div(-1.0, sqrt((1.0 - x) * (1.0 + x))),),
    tex=r"\arccos\left(#1\right)",
    says="the derivative of the arccosine is minus that of the arcsine",
    domain=((-0.95, 0.95),),
    special=(((1.0,), 0.0), ((2.0,), NAN)),
)
def acos(x: float) -> float:
    """The angle in radians whose cosine is ``x``; ``nan`` outside [-1, 1].

    >>> acos(1.0)
    0.0
    """
    return math.acos(x) if -1.0 <= x <= 1.0 else NAN


@row(
    partials=(lambda y, x: div(1.0, 1.0 + x * x),),
    tex=r"\arctan\left(#1\right)",
    says="the derivative of the arctangent is one over one plus x squared",
    special=(((0.0,), 0.0),),
)
def atan(x: float) -> float:
    """The angle in radians whose tangent is ``x``.

    >>> atan(0.0)
    0.0
    """
    return math.atan(x)


# --- hyperbolic and error functions -------------------------------------------------


@row(
    partials=(lambda y, x: cosh(x),),
    tex=r"\sinh\left(#1\right)",
    says="the derivative of the hyperbolic sine is the hyperbolic cosine",
    special=(((0.0,), 0.0), ((1000.0,), INF), ((-1000.0,), -INF)),
)
def sinh(x: float) -> float:
    """The hyperbolic sine.

    >>> sinh(0.0)
    0.0
    """
    try:
        return math.sinh(x)
    except OverflowError:
        return math.copysign(INF, x)


@row(
    partials=(lambda y, x: sinh(x),),
    tex=r"\cosh\left(#1\right)",
    says="the derivative of the hyperbolic cosine is the hyperbolic sine",
    special=(((0.0,), 1.0), ((-1000.0,), INF)),
)
def cosh(x: float) -> float:
    """The hyperbolic cosine.

    >>> cosh(0.0)
    1.0
    """
    try:
        return math.cosh(x)
    except OverflowError:
        return INF


@row(
    partials=(lambda y, x: 1.0 - y * y,),
    tex=r"\tanh\left(#1\right)",
    says="the derivative of tanh is one minus its square: at most 1, and near 0 once saturated",
    special=(((0.0,), 0.0), ((INF,), 1.0), ((-INF,), -1.0)),
)
def tanh(x: float) -> float:
    """The hyperbolic tangent, an S-curve from -1 to 1.

    >>> tanh(0.0)
    0.0
    """
    return math.tanh(x)


@row(
    partials=(lambda y, x: (2.0 / math.sqrt(math.pi)) * exp(-(x * x)),),
    tex=r"\operatorname{erf}\left(#1\right)",
    says="the derivative of the error function is the bell curve it integrates",
    special=(((0.0,), 0.0), ((INF,), 1.0), ((-INF,), -1.0)),
)
def erf(x: float) -> float:
    """The error function, the integral of the bell curve (Abramowitz & Stegun 7.1.1).

    >>> erf(0.0)
    0.0
    """
    return math.erf(x)


# --- comparisons and choices --------------------------------------------------------

# A comparison gives 1.0 or 0.0.  It is flat wherever it does not jump, so no
# gradient passes through it.


@row(
    "<",
    partials=(_no_edge, _no_edge),
    tex=r"\left[#1 < #2\right]",
    says="a comparison is flat: no gradient passes",
    kinks=lambda x, y: x - y,
    special=(((1.0, 2.0), 1.0), ((1.0, 1.0), 0.0), ((NAN, 1.0), 0.0)),
)
def less(x: float, y: float) -> float:
    """1.0 where ``x < y``, else 0.0.

    >>> less(1.0, 2.0)
    1.0
    """
    return 1.0 if x < y else 0.0


@row(
    "<=",
    partials=(_no_edge, _no_edge),
    tex=r"\left[#1 \le #2\right]",
    says="a comparison is flat: no gradient passes",
    kinks=lambda x, y: x - y,
    special=(((1.0, 1.0), 1.0), ((2.0, 1.0), 0.0), ((NAN, 1.0), 0.0)),
)
def less_equal(x: float, y: float) -> float:
    """1.0 where ``x <= y``, else 0.0.

    >>> less_equal(1.0, 1.0)
    1.0
    """
    return 1.0 if x <= y else 0.0


@row(
    ">",
    partials=(_no_edge, _no_edge),
    tex=r"\left[#1 > #2\right]",
    says="a comparison is flat: no gradient passes",
    kinks=lambda x, y: x - y,
    special=(((2.0, 1.0), 1.0), ((1.0, 1.0), 0.0), ((NAN, 1.0), 0.0)),
)
def greater(x: float, y: float) -> float:
    """1.0 where ``x > y``, else 0.0.

    >>> greater(1.0, 2.0)
    0.0
    """
    return 1.0 if x > y else 0.0


@row(
    ">=",
    partials=(_no_edge, _no_edge),
    tex=r"\left[#1 \ge #2\right]",
    says="a comparison is flat: no gradient passes",
    kinks=lambda x, y: x - y,
    special=(((1.0, 1.0), 1.0), ((1.0, 2.0), 0.0), ((NAN, 1.0), 0.0)),
)
def greater_equal(x: float, y: float) -> float:
    """1.0 where ``x >= y``, else 0.0.

    >>> greater_equal(1.0, 1.0)
    1.0
    """
    return 1.0 if x >= y else 0.0


@row(
    "==",
    partials=(_no_edge, _no_edge),
    tex=r"\left[#1 = #2\right]",
    says="a comparison is flat: no gradient passes",
    kinks=lambda x, y: x - y,
    special=(((1.0, 1.0), 1.0), ((0.0, -0.0), 1.0), ((1.0, 2.0), 0.0), ((NAN, NAN), 0.0)),
)
def equal(x: float, y: float) -> float:
    """1.0 where ``x`` and ``y`` are the same number, else 0.0.

    >>> equal(1.0, 1.0)
    1.0
    """
    return 1.0 if x == y else 0.0


@row(
    "!=",
    partials=(_no_edge, _no_edge),
    tex=r"\left[#1 \ne #2\right]",
    says="a comparison is flat: no gradient passes",
    kinks=lambda x, y: x - y,
    special=(((1.0, 1.0), 0.0), ((1.0, 2.0), 1.0), ((NAN, NAN), 1.0)),
)
def not_equal(x: float, y: float) -> float:
    """1.0 where ``x`` and ``y`` differ, else 0.0.

    >>> not_equal(1.0, 1.0)
    0.0
    """
    return 1.0 if x != y else 0.0


@row(
    partials=(
        _no_edge,
        lambda z, condition, x, y: gate(condition),
        lambda z, condition, x, y: gate(condition, False),
    ),
    tex=r"\begin{cases} #2 & #1 \\ #3 & \text{otherwise} \end{cases}",
    says="only the branch that was taken gets the gradient",
    domain=((0.0, 1.0), REAL, REAL),
    kinks=lambda condition, x, y: condition,
    special=(((1.0, 2.0, 3.0), 2.0), ((0.0, 2.0, 3.0), 3.0), ((0.0, NAN, 3.0), 3.0)),
)
def where(condition: float, x: float, y: float) -> float:
    """``x`` where ``condition`` is not zero, else ``y``.

    The branch that was not taken gets no gradient, even where it is infinite.

    >>> where(less(1.0, 2.0), 10.0, 20.0)
    10.0
    """
    return x if condition != 0.0 else y


@row(
    partials=(_no_edge,),
    tex=r"\operatorname{stop}\left(#1\right)",
    says="the value passes, the gradient does not",
)
def stop_gradient(x: float) -> float:
    """``x`` itself, as a constant: no gradient passes.

    >>> stop_gradient(2.0)
    2.0
    """
    return x


# --- functions with kinks -------------------------------------------------------------


def _by_sign(x: Any, below: Any, at: Any, above: Any) -> Any:
    """A derivative that jumps at 0; ``nan`` stays ``nan``."""
    return where(less(0.0, x), above, where(less(x, 0.0), below, where(equal(x, 0.0), at, NAN)))


@row(
    partials=(lambda y, x: _by_sign(x, -1.0, 0.0, 1.0),),
    tex=r"\left|#1\right|",
    says="the derivative of the absolute value is the sign, and 0 at 0",
    kinks=lambda x: x,
    special=(((0.0,), 0.0), ((-0.0,), 0.0), ((-INF,), INF)),
)
def abs(x: float) -> float:
    """The absolute value; its derivative at 0 is 0.

    >>> abs(-2.0)
    2.0
    """
    return math.fabs(x)


def _share(x: Any, y: Any) -> Any:
    """The gradient of ``maximum(x, y)`` by ``x``: 1, 0, or a half in a tie."""
    return where(less(y, x), 1.0, where(less(x, y), 0.0, where(equal(x, y), 0.5, NAN)))


@row(
    partials=(lambda z, x, y: _share(x, y), lambda z, x, y: _share(y, x)),
    tex=r"\max\left(#1, #2\right)",
    says="the larger operand gets the whole gradient; equal ones share it",
    kinks=lambda x, y: x - y,
    special=(((1.0, 2.0), 2.0), ((NAN, 1.0), NAN), ((1.0, NAN), NAN), ((-INF, INF), INF)),
)
def maximum(x: float, y: float) -> float:
    """The larger of two numbers; in a tie each gets half of the gradient.

    >>> maximum(1.0, 2.0)
    2.0
    """
    if x != x or y != y:
        return NAN
    return x if x >= y else y


@row(
    partials=(lambda z, x, y: _share(y, x), lambda z, x, y: _share(x, y)),
    tex=r"\min\left(#1, #2\right)",
    says="the smaller operand gets the whole gradient; equal ones share it",
    kinks=lambda x, y: x - y,
    special=(((1.0, 2.0), 1.0), ((NAN, 1.0), NAN), ((1.0, NAN), NAN), ((-INF, INF), -INF)),
)
def minimum(x: float, y: float) -> float:
    """The smaller of two numbers; in a tie each gets half of the gradient.

    >>> minimum(1.0, 2.0)
    1.0
    """
    if x != x or y != y:
        return NAN
    return x if x <= y else y


# --- activations ------------------------------------------------------------------------


@row(
    partials=(lambda y, x: y * (1.0 - y),),
    tex=r"\sigma\left(#1\right)",
    says="the derivative of the sigmoid is y times one minus y: at most a quarter",
    special=(((0.0,), 0.5), ((INF,), 1.0), ((-INF,), 0.0), ((1000.0,), 1.0)),
)
def sigmoid(x: float) -> float:
    """The logistic function ``1 / (1 + exp(-x))``, an S-curve from 0 to 1.

    Computed from ``exp(-|x|)``, which never overflows; near 1 as one minus a small
    share, so that ``1 - y`` in the derivative is right to rounding, too.

    >>> sigmoid(0.0), sigmoid(-1000.0)
    (0.5, 0.0)
    """
    if x >= 0.0:
        e = math.exp(-x)
        return 1.0 - e / (1.0 + e)
    e = math.exp(x)
    return e / (1.0 + e)


@row(
    partials=(lambda y, x: sigmoid(-x),),
    tex=r"\ln\sigma\left(#1\right)",
    says="the derivative of log-sigmoid is the sigmoid of minus x",
    special=(((INF,), 0.0), ((-INF,), -INF), ((-1000.0,), -1000.0)),
)
def log_sigmoid(x: float) -> float:
    """``log(sigmoid(x))`` without overflow: ``min(x, 0) - log1p(exp(-|x|))``.

    >>> log_sigmoid(-1000.0)
    -1000.0
    """
    return (x if x < 0.0 else 0.0) - math.log1p(math.exp(-math.fabs(x)))


@row(
    partials=(lambda y, x: sigmoid(x),),
    tex=r"\operatorname{softplus}\left(#1\right)",
    says="the derivative of softplus is the sigmoid",
    special=(((INF,), INF), ((-INF,), 0.0), ((1000.0,), 1000.0)),
)
def softplus(x: float) -> float:
    """``log(1 + exp(x))``, a smooth relu, without overflow (Dugas et al., 2001).

    >>> softplus(1000.0)
    1000.0
    """
    return (x if x > 0.0 else 0.0) + math.log1p(math.exp(-math.fabs(x)))


@row(
    partials=(lambda y, x: _by_sign(x, 0.0, 0.0, 1.0),),
    tex=r"\operatorname{ReLU}\left(#1\right)",
    says="relu lets the gradient through where its operand is positive, and stops it elsewhere",
    kinks=lambda x: x,
    special=(((0.0,), 0.0), ((2.0,), 2.0), ((-2.0,), 0.0), ((NAN,), NAN)),
)
def relu(x: float) -> float:
    """The rectifier ``max(x, 0)``; its derivative at 0 is 0 (Nair & Hinton, 2010).

    >>> relu(2.0), relu(-2.0)
    (2.0, 0.0)
    """
    return 0.0 if x < 0.0 else x


@row(
    partials=(
        lambda z, x, slope: _by_sign(x, slope, slope, 1.0),
        lambda z, x, slope: where(less(0.0, x), 0.0, x),
    ),
    tex=r"\operatorname{LeakyReLU}\left(#1, #2\right)",
    says="leaky relu passes the gradient where its operand is positive, and a little elsewhere",
    kinks=lambda x, slope: x,
    special=(((0.0, 0.01), 0.0), ((2.0, 0.01), 2.0), ((-2.0, 0.5), -1.0)),
    defaults=(0.01,),
)
def leaky_relu(x: float, slope: float) -> float:
    """``x`` where it is positive, ``slope * x`` elsewhere (Maas et al., 2013).

    >>> leaky_relu(-2.0, 0.5)
    -1.0
    """
    return x if x > 0.0 else slope * x


@row(
    partials=(
        lambda z, x, alpha: where(less(0.0, x), 1.0, alpha * exp(x)),
        lambda z, x, alpha: where(less(0.0, x), 0.0, expm1(x)),
    ),
    tex=r"\operatorname{ELU}\left(#1, #2\right)",
    says="elu passes the gradient where its operand is positive; below it fades exponentially",
    kinks=lambda x, alpha: x,
    special=(((0.0, 1.0), 0.0), ((2.0, 1.0), 2.0), ((-INF, 1.0), -1.0)),
    defaults=(1.0,),
)
def elu(x: float, alpha: float) -> float:
    """``x`` where it is positive, ``alpha * (exp(x) - 1)`` elsewhere (Clevert et al., 2016).

    >>> elu(2.0, 1.0)
    2.0
    """
    return x if x > 0.0 else alpha * math.expm1(x)


@row(
    partials=(lambda y, x: where(less(abs(x), INF), sigmoid(x) + y * sigmoid(-x), sigmoid(x)),),
    tex=r"\operatorname{SiLU}\left(#1\right)",
    says="silu is x times its sigmoid: the product rule gives the sigmoid plus y times the rest",
    special=(((0.0,), 0.0), ((INF,), INF), ((-INF,), -0.0)),
)
def silu(x: float) -> float:
    """``x * sigmoid(x)``, also called swish (Hendrycks & Gimpel, 2016).

    >>> silu(0.0)
    0.0
    """
    return x * sigmoid.forward(x) if x != -INF else -0.0


@row(
    partials=(
        lambda y, x: where(
            less(abs(x), INF),
            0.5 * (1.0 + erf(x * math.sqrt(0.5)))
            + x * exp(-0.5 * (x * x)) * (1.0 / math.sqrt(2.0 * math.pi)),
            where(less(0.0, x), 1.0, where(less(x, 0.0), 0.0, NAN)),
        ),
    ),
    tex=r"\operatorname{GELU}\left(#1\right)",
    says="gelu is x times the normal distribution: the product rule adds x times its density",
    special=(((0.0,), 0.0), ((INF,), INF), ((-INF,), -0.0)),
)
def gelu(x: float) -> float:
    """``x`` times the normal distribution function, exact form (Hendrycks & Gimpel, 2016).

    >>> gelu(0.0)
    0.0
    """
    return x * (0.5 * math.erfc(-x * math.sqrt(0.5))) if x != -INF else -0.0


# --- any number of operands ---------------------------------------------------------------


@variadic_row(
    partials=lambda y, terms: [1.0] * len(terms),
    tex=r"\left(#+\right)",
    says="a sum passes the gradient on unchanged to each term",
    domain=(REAL,) * 3,
    special=(((), 0.0), ((1.0, 2.0, 3.0), 6.0)),
)
def sum(terms: Sequence[float]) -> float:
    """The sum of an iterable, as one node; from left to right, so equal to ``a + b + c``.

    >>> sum([1.0, 2.0, 3.0])
    6.0
    """
    total = 0.0
    for term in terms:
        total += term
    return total


def _softmax_of(y: Any, xs: Sequence[Any]) -> list[Any]:
    # exp(x - y) alone would inherit the rounding of y, which is large where y is;
    # dividing by the sum takes that common factor out again.
    weights = [exp(x - y) for x in xs]
    total = sum(weights)
    return [div(w, total) for w in weights]


@variadic_row(
    partials=_softmax_of,
    tex=r"\ln\left(#e\right)",
    says="the derivative of log-sum-exp is the softmax: each operand's share of the total",
    domain=(REAL,) * 3,
    special=(((), -INF), ((2.0,), 2.0), ((-INF, 1.0), 1.0), ((INF, 1.0), INF)),
)
def logsumexp(values: Sequence[float]) -> float:
    """``log(exp(a) + exp(b) + ...)`` without overflow.

    The largest operand is taken out first, and the rest go through ``log1p``,
    so that even ``logsumexp([0, -40])`` is right to rounding (Blanchard, Higham
    & Higham, 2021).

    >>> logsumexp([1000.0, -1000.0])
    1000.0
    """
    top = -INF
    at = -1
    for i, x in enumerate(values):
        if x != x:
            return NAN
        if x > top:
            top, at = x, i
    if not -INF < top < INF:
        return top
    rest = 0.0
    for i, x in enumerate(values):
        if i != at:
            rest += math.exp(x - top)
    return top + math.log1p(rest)


@variadic_row(
    leading=1,
    partials=lambda y, operands: [
        NO_EDGE,
        *[gate(equal(operands[0], float(i))) for i in range(len(operands) - 1)],
    ],
    tex=r"\operatorname{pick}_{#1}\left(#,\right)",
    says="only the option that was picked gets the gradient",
    domain=((0.0, 0.0), REAL, REAL),
    special=(((1.0, 5.0, 6.0), 6.0),),
)
def pick(operands: Sequence[float]) -> float:
    """``options[index]``, where the index may itself be a value: ``pick(index, options)``.

    Raises:
        ShapeError: there are no options, or the index is not a whole number from 0 to
            ``len(options) - 1``.

    >>> pick(1, [5.0, 6.0, 7.0])
    6.0
    """
    index, count = operands[0], len(operands) - 1
    if count == 0:
        raise ShapeError("pick() needs at least one option; got an empty sequence")
    if not (0.0 <= index < count and index == math.floor(index)):
        raise ShapeError(
            f"pick() got index {index:g} for {count} option(s); "
            f"expected a whole number from 0 to {count - 1}"
        )
    return operands[1 + int(index)]


# --- built from the rows above ----------------------------------------------------------------


def _given(values: Iterable[Any], who: str) -> list[Any]:
    found = list(elements(values, who))
    if not found:
        raise ShapeError(f"{who} needs at least one value; got an empty sequence")
    return found


def _centred(values: Iterable[Any], who: str) -> list[Any]:
    """The values minus their largest: the same softmax, and nothing overflows."""
    found = _given(values, who)
    top = stop_gradient(reduce(maximum, found))
    return [sub(x, top) for x in found]


def softmax(values: Iterable[N]) -> list[N]:
    """Positive shares that sum to 1: ``exp(v) / sum of exp(v)``, without overflow.

    Args:
        values: at least one number or `Value` (logits).

    Returns:
        As many shares as values.

    Raises:
        ShapeError: there are no values.

    Example:
        >>> softmax([0.0, 0.0])
        [0.5, 0.5]
    """
    weights = [exp(x) for x in _centred(values, "softmax")]
    total: Any = sum(weights)
    return [div(w, total) for w in weights]


def log_softmax(values: Iterable[N]) -> list[N]:
    """The logarithm of `softmax`, right to rounding even where a share is tiny.

    Args:
        values: at least one number or `Value` (logits).

    Returns:
        As many logarithms as values.

    Raises:
        ShapeError: there are no values.

    Example:
        >>> log_softmax([0.0, -1000.0])
        [0.0, -1000.0]
    """
    centred = _centred(values, "log_softmax")
    total: Any = logsumexp(centred)
    return [sub(x, total) for x in centred]


def dot(xs: Iterable[Any], ys: Iterable[Any]) -> Any:
    """The sum of the products of two sequences of one length.

    Args:
        xs: numbers or `Value`s.
        ys: as many numbers or `Value`s.

    Returns:
        ``xs[0] * ys[0] + xs[1] * ys[1] + ...``; 0.0 for empty sequences.

    Raises:
        ShapeError: the lengths differ.

    Example:
        >>> dot([1.0, 2.0], [3.0, 4.0])
        11.0
    """
    a, b = list(elements(xs, "dot")), list(elements(ys, "dot"))
    if len(a) != len(b):
        raise ShapeError(f"dot needs two sequences of one length; got {len(a)} and {len(b)} values")
    return sum([mul(x, y) for x, y in zip(a, b, strict=True)])


def mean(values: Iterable[Any]) -> Any:
    """The arithmetic mean.

    Args:
        values: at least one number or `Value`.

    Returns:
        Their sum divided by their count.

    Raises:
        ShapeError: there are no values.

    Example:
        >>> mean([1.0, 2.0, 6.0])
        3.0
    """
    found = _given(values, "mean")
    return div(sum(found), float(len(found)))
