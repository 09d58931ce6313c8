"""Python's operators, written once for everything that operations apply to.

`Value`, `Dual` and `Symbol` inherit them.  Each method only names the row of the
table that it stands for; what happens then is decided by ``__op__``.
"""

from __future__ import annotations

from typing import Any, Self

from chainrule import ops
from chainrule.engine import mypyc_attr
from chainrule.modes import MODES, reading
from chainrule.operation import Operand, as_float

__all__ = ["Arithmetic"]


@mypyc_attr(allow_interpreted_subclasses=True)
class Arithmetic(Operand):
    """Operators and methods of the operations that have one operand in front."""

    # What ``__op__`` returns is of the interpreter's own choice; that it is of its own kind
    # here is known to us and not to mypy, hence the ignores below.

    __slots__ = ()

    def __add__(self, other: Any) -> Any:
        return ops.add.infix(self, other)

    def __radd__(self, other: Any) -> Any:
        return ops.add.infix(other, self)

    def __sub__(self, other: Any) -> Any:
        return ops.sub.infix(self, other)

    def __rsub__(self, other: Any) -> Any:
        return ops.sub.infix(other, self)

    def __mul__(self, other: Any) -> Any:
        return ops.mul.infix(self, other)

    def __rmul__(self, other: Any) -> Any:
        return ops.mul.infix(other, self)

    def __truediv__(self, other: Any) -> Any:
        return ops.div.infix(self, other)

    def __rtruediv__(self, other: Any) -> Any:
        return ops.div.infix(other, self)

    def __pow__(self, other: Any) -> Any:
        return ops.pow.infix(self, other)

    def __rpow__(self, other: Any) -> Any:
        return ops.pow.infix(other, self)

    def __neg__(self) -> Self:
        return self.__op__(ops.neg, (self,))  # type: ignore[no-any-return]

    def __pos__(self) -> Self:
        return self

    def __abs__(self) -> Self:
        return self.__op__(ops.abs, (self,))  # type: ignore[no-any-return]

    # Comparisons look at the numbers alone, so that ``if``, ``max`` and ``sorted`` work.
    # ``==`` stays identity: two nodes of a graph may hold equal numbers and be different.

    def __float__(self) -> float:
        raise NotImplementedError

    def __int__(self) -> int:
        return int(float(self))

    def __bool__(self) -> bool:
        return float(self) != 0.0

    def __round__(self, ndigits: Any = None) -> Any:
        if MODES.used:
            reading("round")
        return round(float(self), ndigits)

    def __format__(self, spec: str) -> str:
        if not spec:
            return str(self)
        if MODES.used:
            reading("format")
        return format(float(self), spec)

    # (The next three say what Python does anyway; a compiled class must be told.)

    def __eq__(self, other: object) -> Any:
        return True if self is other else NotImplemented

    def __ne__(self, other: object) -> Any:
        same = self.__eq__(other)
        return same if same is NotImplemented else not same

    def __hash__(self) -> int:
        return object.__hash__(self)

    def __lt__(self, other: Any) -> bool:
        y = _plain(other)
        return NotImplemented if y is None else float(self) < y

    def __le__(self, other: Any) -> bool:
        y = _plain(other)
        return NotImplemented if y is None else float(self) <= y

    def __gt__(self, other: Any) -> bool:
        y = _plain(other)
        return NotImplemented if y is None else float(self) > y

    def __ge__(self, other: Any) -> bool:
        y = _plain(other)
        return NotImplemented if y is None else float(self) >= y

    def exp(self) -> Self:
        """`chainrule.exp` of this."""
        return self.__op__(ops.exp, (self,))  # type: ignore[no-any-return]

    def expm1(self) -> Self:
        """`chainrule.expm1` of this."""
        return self.__op__(ops.expm1, (self,))  # type: ignore[no-any-return]

    def log(self) -> Self:
        """`chainrule.log` of this."""
        return self.__op__(ops.log, (self,))  # type: ignore[no-any-return]

    def log1p(self) -> Self:
        """`chainrule.log1p` of this."""
        return self.__op__(ops.log1p, (self,))  # type: ignore[no-any-return]

    def sqrt(self) -> Self:
        """`chainrule.sqrt` of this."""
        return self.__op__(ops.sqrt, (self,))  # type: ignore[no-any-return]

    def sin(self) -> Self:
        """`chainrule.sin` of this."""
        return self.__op__(ops.sin, (self,))  # type: ignore[no-any-return]

    def cos(self) -> Self:
        """`chainrule.cos` of this."""
        return self.__op__(ops.cos, (self,))  # type: ignore[no-any-return]

    def tan(self) -> Self:
        """`chainrule.tan` of this."""
        return self.__op__(ops.tan, (self,))  # type: ignore[no-any-return]

    def asin(self) -> Self:
        """`chainrule.asin` of this."""
        return self.__op__(ops.asin, (self,))  # type: ignore[no-any-return]

    def acos(self) -> Self:
        """`chainrule.acos` of this."""
        return self.__op__(ops.acos, (self,))  # type: ignore[no-any-return]

    def atan(self) -> Self:
        """`chainrule.atan` of this."""
        return self.__op__(ops.atan, (self,))  # type: ignore[no-any-return]

    def sinh(self) -> Self:
        """`chainrule.sinh` of this."""
        return self.__op__(ops.sinh, (self,))  # type: ignore[no-any-return]

    def cosh(self) -> Self:
        """`chainrule.cosh` of this."""
        return self.__op__(ops.cosh, (self,))  # type: ignore[no-any-return]

    def tanh(self) -> Self:
        """`chainrule.tanh` of this."""
        return self.__op__(ops.tanh, (self,))  # type: ignore[no-any-return]

    def erf(self) -> Self:
        """`chainrule.erf` of this."""
        return self.__op__(ops.erf, (self,))  # type: ignore[no-any-return]

    def sigmoid(self) -> Self:
        """`chainrule.sigmoid` of this."""
        return self.__op__(ops.sigmoid, (self,))  # type: ignore[no-any-return]

    def log_sigmoid(self) -> Self:
        """`chainrule.log_sigmoid` of this."""
        return self.__op__(ops.log_sigmoid, (self,))  # type: ignore[no-any-return]

    def softplus(self) -> Self:
        """`chainrule.softplus` of this."""
        return self.__op__(ops.softplus, (self,))  # type: ignore[no-any-return]

    def relu(self) -> Self:
        """`chainrule.relu` of this."""
        return self.__op__(ops.relu, (self,))  # type: ignore[no-any-return]

    def silu(self) -> Self:
        """`chainrule.silu` of this."""
        return self.__op__(ops.silu, (self,))  # type: ignore[no-any-return]

    def gelu(self) -> Self:
        """`chainrule.gelu` of this."""
        return self.__op__(ops.gelu, (self,))  # type: ignore[no-any-return]

    def abs(self) -> Self:
        """`chainrule.ops.abs` of this; the same as ``abs(v)``."""
        return self.__op__(ops.abs, (self,))  # type: ignore[no-any-return]

    def leaky_relu(self, slope: float = 0.01) -> Self:
        """`chainrule.leaky_relu` of this."""
        return ops.leaky_relu(self, slope)

    def elu(self, alpha: float = 1.0) -> Self:
        """`chainrule.elu` of this."""
        return ops.elu(self, alpha)

    def maximum(self, other: Any) -> Any:
        """`chainrule.maximum` of this and another."""
        return ops.maximum(self, other)

    def minimum(self, other: Any) -> Any:
        """`chainrule.minimum` of this and another."""
        return ops.minimum(self, other)


def _plain(x: Any) -> float | None:
    return float(x) if isinstance(x, Arithmetic) else as_float(x)
