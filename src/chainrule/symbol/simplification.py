"""Making formulas short enough to read.

The result is equal in exact arithmetic wherever every number that the original
computes is finite; ``0 * x`` is 0, though it would be ``nan`` for an infinite ``x``.
In floats it is equal to rounding, unless a product leaves the range of floats on the
way.  Products and quotients are regrouped; sums are not, because moving the
parentheses of a sum can lose every digit.  The derivative stays equal too.

Numbers are computed only where no digit is rounded off: ``2 * 3`` becomes 6, but
``1 / 3`` and ``log(2)`` stay as they are.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from fractions import Fraction
from functools import partial, reduce
from typing import Any, Final, Generic, TypeVar

from chainrule import ops
from chainrule.operation import Op
from chainrule.symbol.expression import Expression, postorder, same_number

__all__ = ["simplified"]

E = TypeVar("E", bound=Expression)

LONG: Final = 16
"""Products of more factors are not taken apart, so that the work per operation is bounded."""

COMPARISONS: Final = frozenset(
    (ops.less, ops.less_equal, ops.greater, ops.greater_equal, ops.equal, ops.not_equal)
)
RATIONAL: Final[dict[Op, Callable[..., Any]]] = {
    ops.add: operator.add,
    ops.sub: operator.sub,
    ops.mul: operator.mul,
    ops.div: lambda x, y: x / y if y else math.nan,
    ops.neg: operator.neg,
    ops.maximum: max,
    ops.minimum: min,
    ops.relu: lambda x: max(x, 0),
}
"""Operations that computed with fractions show whether the result for floats is exact."""


def simplified(root: E, build: Callable[[Op, tuple[E | float, ...]], E]) -> E | float:
    """A shorter formula of the same value.

    Args:
        root: the formula.
        build: makes the formula of an operation and its operands.

    Returns:
        The formula, or a plain number.
    """
    return _Simplifier(build).run(root)


class _Simplifier(Generic[E]):
    """One run.  Equal parts become one object, so that ``is`` tells what is equal."""

    def __init__(self, build: Callable[[Op, tuple[E | float, ...]], E]) -> None:
        self._build = build
        self._made: dict[Any, E] = {}
        self._rules: dict[Op, Callable[..., Any]] = {
            ops.add: self._add,
            ops.sub: self._sub,
            ops.neg: self._neg,
            ops.mul: self._mul,
            ops.div: self._div,
            ops.pow: self._pow,
            ops.sum: self._sum,
            ops.where: self._where,
        }

    def run(self, root: E) -> E | float:
        done: dict[int, E | float] = {}
        for node in postorder(root):
            if node.op is not None:
                operands = [x if isinstance(x, float) else done[id(x)] for x in node.operands]
                done[id(node)] = self.make(node.op, *operands)
            elif node.name:
                done[id(node)] = self._made.setdefault(node.name, node)
            else:
                done[id(node)] = node.operands[0]  # type: ignore[assignment]  # its number
        return done[id(root)]

    def make(self, op: Op, *operands: Any) -> Any:
        """The simplest form of an operation on simplified operands."""
        plain = [isinstance(x, float) for x in operands]
        number = _exact(op, operands) if all(plain) else None
        if op in COMPARISONS and any(plain):
            # All finite numbers compare alike with an infinite one, or with nan.
            points = [x if isinstance(x, float) else 0.0 for x in operands]
            if not all(map(math.isfinite, points)):
                number = op.value(points)
        if number is not None:
            return number
        rule = self._rules.get(op)
        found = rule(*operands) if rule else None
        return self._plain(op, *operands) if found is None else found

    def _plain(self, op: Op, *operands: E | float) -> E:
        """The operation as it is."""
        key = (op, *[(str(x),) if isinstance(x, float) else id(x) for x in operands])
        if key not in self._made:
            self._made[key] = self._build(op, operands)
        return self._made[key]

    # Each rule answers None when it has nothing to improve.

    def _add(self, x: Any, y: Any) -> Any:
        if x == 0.0:
            return y
        if y == 0.0:
            return x
        if x is y:
            return self.make(ops.mul, 2.0, x)
        sign, size = _sign(y)
        if sign < 0.0:
            return self.make(ops.sub, x, size)
        sign, size = _sign(x)
        return self.make(ops.sub, y, size) if sign < 0.0 else None

    def _sub(self, x: Any, y: Any) -> Any:
        if y == 0.0:
            return x
        if x == 0.0:
            return self.make(ops.neg, y)
        if x is y:
            return 0.0
        sign, size = _sign(y)
        return self.make(ops.add, x, size) if sign < 0.0 else None

    def _neg(self, x: Any) -> Any:
        sign, size = _sign(x)
        if sign < 0.0:
            return size
        if not isinstance(x, float) and x.op is ops.sub:
            first, second = x.operands
            return self.make(ops.sub, second, first)
        return None

    def _mul(self, x: Any, y: Any) -> Any:
        return self._fraction([x, y], [])

    def _div(self, x: Any, y: Any) -> Any:
        return self._fraction([x], [y])

    def _fraction(self, above: list[Any], below: list[Any]) -> Any:
        """Products over products, as one fraction in which each factor occurs once."""
        factors = [f for x in above for f in _factors(x)]
        factors += [(base, -n) for x in below for base, n in _factors(x)]
        if len(factors) > LONG:
            return None
        sign = 1.0
        numbers: tuple[list[float], list[float]] = ([], [])
        powers: dict[int, list[Any]] = {}
        switch: Any = None
        for x, exponent in factors:
            if isinstance(x, float):
                sign *= math.copysign(1.0, x)
                numbers[exponent < 0.0].append(abs(x))
            elif switch is None and exponent == 1.0 and _is_switch(x):
                switch = x
            else:
                powers.setdefault(id(x), [x, 0.0])[1] += exponent
        top, bottom = _reduced(_multiplied(numbers[0]), _multiplied(numbers[1]))
        if 0.0 in top:
            return 0.0
        result = self._product([*top, *[self._power(x, n) for x, n in powers.values() if n > 0.0]])
        bottom += [self._power(x, -n) for x, n in powers.values() if n < 0.0]
        if bottom:
            result = self._plain(ops.div, result, self._product(bottom))
        if switch is not None:
            condition, *branches = switch.operands
            scaled = [self.make(ops.mul, k, result) for k in branches]
            result = self.make(ops.where, condition, *scaled)
        return self.make(ops.neg, result) if sign < 0.0 else result

    def _power(self, x: Any, n: float) -> Any:
        return x if n == 1.0 else self._plain(ops.pow, x, n)

    def _product(self, factors: list[Any]) -> Any:
        return reduce(partial(self._plain, ops.mul), factors) if factors else 1.0

    def _pow(self, x: Any, y: Any) -> Any:
        if y == 0.0 or x == 1.0:
            return 1.0
        return x if y == 1.0 else None

    def _sum(self, *terms: Any) -> Any:
        left = [x for x in terms if x != 0.0]
        if len(left) > 1:
            return self._plain(ops.sum, *left) if len(left) < len(terms) else None
        return left[0] if left else 0.0

    def _where(self, condition: Any, x: Any, y: Any) -> Any:
        if isinstance(condition, float):
            return y if condition == 0.0 else x
        if x is y or same_number(x, y):
            return x
        # A branch that is infinite or nan is not the one taken where all is finite.
        if isinstance(x, float) and not math.isfinite(x):
            return y
        if isinstance(y, float) and not math.isfinite(y):
            return x
        if _is_switch(condition):
            inner, a, _ = condition.operands
            return self.make(ops.where, inner, *((y, x) if a == 0.0 else (x, y)))
        a, b = _branch(x, condition, 1), _branch(y, condition, 2)
        return None if a is x and b is y else self.make(ops.where, condition, a, b)


def _branch(x: Any, condition: object, which: int) -> Any:
    """What remains of a branch where the condition is known."""
    if not isinstance(x, float) and x.op is ops.where and x.operands[0] is condition:
        return x.operands[which]
    return x


def _sign(x: Any) -> tuple[float, Any]:
    """A leading minus, as 1.0 or -1.0, and the rest."""
    if isinstance(x, float):
        return math.copysign(1.0, x), abs(x)
    return (-1.0, x.operands[0]) if x.op is ops.neg else (1.0, x)


def _factors(whole: Any) -> list[tuple[Any, float]]:
    """The factors of a product or quotient in order, with whole exponents.

    What would have too many is one factor itself.
    """
    found: list[tuple[Any, float]] = []
    ahead = [(whole, 1.0)]
    while ahead:
        x, exponent = ahead.pop()
        op = None if isinstance(x, float) else x.op
        if op is ops.mul or op is ops.div:
            left, right = x.operands
            ahead += [(right, exponent if op is ops.mul else -exponent), (left, exponent)]
        elif op is ops.neg:
            found.append((-1.0, 1.0))
            ahead.append((x.operands[0], exponent))
        elif op is ops.pow and not isinstance(x.operands[0], float) and _is_whole(x.operands[1]):
            found.append((x.operands[0], exponent * x.operands[1]))
        else:
            found.append((x, exponent))
        if len(found) + len(ahead) > LONG:
            return [(whole, 1.0)]
    return found


def _is_whole(x: Any) -> bool:
    return isinstance(x, float) and x.is_integer()


def _is_switch(x: Any) -> bool:
    """Whether this is ``where`` between 0 and a number: it lets something pass or not."""
    if x.op is not ops.where:
        return False
    a, b = x.operands[1:]
    return isinstance(a, float) and isinstance(b, float) and 0.0 in (a, b)


def _multiplied(numbers: list[float]) -> list[float]:
    """Numeric factors, multiplied as far as that is exact, without those that are 1."""
    left: list[float] = []
    for x in numbers:
        product = _exact(ops.mul, (left[-1], x)) if left else None
        if product is None:
            left.append(x)
        else:
            left[-1] = product
    return [x for x in left if x != 1.0]


def _reduced(above: list[float], below: list[float]) -> tuple[list[Any], list[Any]]:
    """Numbers over numbers, divided if that is exact."""
    if above and below:
        ratio = _exact(ops.div, (above[0], below[0]))
        if ratio is not None:
            return _multiplied([ratio, *above[1:]]), below[1:]
    return above, below


def _exact(op: Op, operands: Any) -> float | None:
    """The result for plain numbers if it is finite and no digit of it was rounded off."""
    for point, result in op.special:
        if len(point) == len(operands) and all(map(same_number, point, operands)):
            return result if math.isfinite(result) else None
    if not all(map(math.isfinite, operands)):
        return None
    exact: Any = None
    if op in COMPARISONS:
        return op.value(operands)
    if op is ops.pow and operands[1] in range(65):
        exact = Fraction(operands[0]) ** int(operands[1])
    elif op in RATIONAL:
        exact = RATIONAL[op](*map(Fraction, operands))
    result = op.value(operands)
    if exact is None or not math.isfinite(result) or not math.isfinite(exact):
        return None
    return result + 0.0 if Fraction(exact) == Fraction(result) else None  # 0, never -0
