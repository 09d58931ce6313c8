"""Forward-mode automatic differentiation: a number and its rate of change, side by side.

A `Dual` carries a *primal* (the number) and a *tangent* (how fast it changes when
the input moves in a chosen direction).  Every operation hands both on::

    tangent of the result = sum over operands of  local derivative * tangent

which is the chain rule again, read from the inputs to the output.  One run gives
the derivative in one direction; backpropagation gives all derivatives of one
output.  The local derivatives are those of the table, so nothing is written twice.

Primal and tangent may themselves be `Value`s or `Dual`s: that is how second
derivatives arise.  Each differentiation has a *level* of its own, so that nested
ones are never confused (Siskind & Pearlmutter, "Perturbation confusion", 2005).
"""

from __future__ import annotations

from itertools import count
from typing import Any, ClassVar, Final

from chainrule.arithmetic import Arithmetic
from chainrule.operation import NO_EDGE, Op
from chainrule.ops import gate

__all__ = ["Dual", "new_level"]

_levels: Final = count(1)


def new_level() -> int:
    """A level for one more differentiation, above all levels in use."""
    return next(_levels)


class Dual(Arithmetic):
    """A number with the rate at which it changes.

    Args:
        primal: the number, or a `Value` or a `Dual` of a lower level.
        tangent: its derivative in the direction of interest; None for a number that
            does not move.  That is not 0.0, which would travel on and meet an infinite
            derivative (``0 * inf = nan``).
        level: which differentiation it belongs to; see `new_level`.

    Example:
        >>> x = Dual(3.0, 1.0)
        >>> y = x * x + 1.0
        >>> y.primal, y.tangent
        (10.0, 6.0)
    """

    __slots__ = ("level", "primal", "tangent")

    rank: ClassVar[int] = 2

    def __init__(self, primal: Any, tangent: Any = 0.0, level: int = 0) -> None:
        self.primal = primal
        self.tangent = tangent
        self.level = level

    def __repr__(self) -> str:
        return f"Dual({self.primal!r}, {self.tangent!r})"

    def __op__(self, op: Op, operands: tuple[Any, ...]) -> Any:
        level = max([x.level for x in operands if isinstance(x, Dual)])
        moving = [isinstance(x, Dual) and x.level == level for x in operands]
        primals = tuple([x.primal if m else x for x, m in zip(operands, moving, strict=True)])
        y = op.apply(primals)
        wanted = [m and x.tangent is not None for x, m in zip(operands, moving, strict=True)]
        tangent: Any = None
        for x, slope in zip(operands, op.derivatives(y, primals, wanted), strict=True):
            if slope is not NO_EDGE:
                term = slope * x.tangent
                tangent = term if tangent is None else tangent + term
        return Dual(y, tangent, level)

    def __gate__(self, taken: bool) -> Any:
        return gate(self.primal, taken)

    def __float__(self) -> float:
        return float(self.primal)

    @property
    def data(self) -> float:
        """The number alone, so that functions may look at ``x.data`` in either mode."""
        return float(self)
