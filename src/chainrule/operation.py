"""What an operation is, and how a call finds the interpreter that carries it out.

An `Op` is one row of the table in `chainrule.ops`: how to compute a result from
numbers (`forward`) and, per operand, the local derivative (`partials`).  A row
knows nothing about graphs.  When it is called, it looks at its operands:

* plain numbers only: run `forward` and return a number;
* otherwise: the operand of highest `rank` interprets the call, by its
  ``__op__(op, operands)``.  A `Value` records a node of a graph, a `Dual`
  carries a tangent along, a `Symbol` writes a formula.

So a new interpreter is one new class and changes nothing here.
"""

from __future__ import annotations

import numbers
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, ClassVar, Final, TypeVar, final, overload

from chainrule.engine import mypyc_attr
from chainrule.errors import NotANumberError, describe

__all__ = [
    "NO_EDGE",
    "ROWS",
    "VARIADIC",
    "NoEdge",
    "Op",
    "Operand",
    "VariadicOp",
    "as_float",
    "elements",
    "number",
    "unknown",
]

CALL: Final = 9
"""The precedence of a function call or a bare name: it never needs parentheses."""

VARIADIC: Final = -1
"""The arity of an operation that takes any number of operands."""


@final
class NoEdge:
    """The type of `NO_EDGE`."""

    def __repr__(self) -> str:
        return "NO_EDGE"

    def __reduce__(self) -> str:
        return "NO_EDGE"


NO_EDGE: Final = NoEdge()
"""A rule's answer for an operand that the result does not depend on.

It is not the number 0: a 0 would travel on and meet an infinite derivative
(``0 * inf = nan``), as in ``where(x > 0, sqrt(x), 0)`` at ``x = 0``.  No
interpreter walks such an edge.
"""


@mypyc_attr(allow_interpreted_subclasses=True)
class Operand:
    """Anything but a plain number that an operation can be applied to."""

    __slots__ = ()

    rank: ClassVar[int] = 0
    """Who interprets a mixed call: the operand with the highest rank."""

    def __op__(self, op: Op, operands: tuple[Any, ...]) -> Any:
        """Carry out ``op`` on ``operands``, of which this is one."""
        raise NotImplementedError

    def __gate__(self, taken: bool) -> Any:
        """Be the condition of a branch: 1.0 if truth is ``taken``, else `NO_EDGE`."""
        raise NotImplementedError


A = TypeVar("A", bound=Operand)


class Op:
    """One operation: a row of the table.  Call it like a function.

    Attributes:
        name: the standard name, such as ``"mul"``; also the function's name in text.
        symbol: what a node's ``_op`` shows, such as ``"*"``.
        forward: floats in, float out; IEEE results, never an exception.
        partials: for each operand a rule ``(y, *operands) -> local derivative``,
            written with table operations only, so that it works on numbers, on
            graphs, on tangents and on formulas alike.
        tex: the operation in LaTeX, with ``#1``, ``#2`` for the operands.
        says: its derivative, in a sentence.
        precedence: how tightly it binds in text (`CALL` for a function call).
        domain: for each operand the interval from which tests draw points.
        kinks: a function of the operands that is zero where the derivative
            jumps, or None for an operation that is smooth everywhere.
        special: points with the exact result there: ``((operands), result)``.
        arity: how many operands it takes, or `VARIADIC`.
        defaults: values of trailing operands that may be left out.
        leading: for `VARIADIC` ones, how many single arguments stand in front of the
            iterable.
        doc: the function's docstring.
    """

    def __init__(
        self,
        forward: Callable[..., float],
        partials: Any,
        *,
        arity: int,
        symbol: str = "",
        tex: str,
        says: str,
        precedence: int = CALL,
        domain: tuple[tuple[float, float], ...],
        kinks: Callable[..., float] | None = None,
        special: tuple[tuple[tuple[float, ...], float], ...] = (),
        defaults: tuple[float, ...] = (),
        leading: int = 0,
    ) -> None:
        self.name: str = forward.__name__
        self.__name__: str = self.name
        self.doc: str = forward.__doc__ or ""
        self.symbol: str = symbol or self.name
        self.forward = forward
        self.partials = partials
        self.arity = arity
        self.tex = tex
        self.says = says
        self.precedence = precedence
        self.domain = domain
        self.kinks = kinks
        self.special = special
        self.defaults = defaults
        self.leading = leading

    @property
    def __doc__(self) -> str:  # type: ignore[override]  # each row has its own
        return self.doc

    def __repr__(self) -> str:
        return f"<op {self.name}>"

    def __reduce__(self) -> tuple[Any, ...]:  # copied and stored by name, as functions are
        return _row, (self.symbol,)

    @overload
    def __call__(self, *operands: float) -> float: ...  # type: ignore[overload-overlap]
    @overload
    def __call__(self, *operands: A | float) -> A: ...
    def __call__(self, *operands: Any) -> Any:
        missing = self.arity - len(operands)
        if missing == 0:
            for x in operands:
                if type(x) is not float:
                    break
            else:
                return self.forward(*operands)
        else:
            if not 0 < missing <= len(self.defaults):
                raise TypeError(
                    f"{self.name}() takes {self.arity} operand(s); {len(operands)} were given"
                )
            operands += self.defaults[-missing:]
        return self.apply(operands)

    def apply(self, operands: tuple[Any, ...]) -> Any:
        """Hand over to the operand of highest rank, or compute with plain numbers."""
        interpreter: Operand | None = None
        floats = True
        for x in operands:
            if isinstance(x, Operand):
                if interpreter is None or x.rank > interpreter.rank:
                    interpreter = x
            elif type(x) is not float:
                floats = False
        if not floats:
            operands = tuple(
                [x if isinstance(x, Operand) else number(x, self.name) for x in operands]
            )
        if interpreter is None:
            return self.value(operands)
        return interpreter.__op__(self, operands)

    def infix(self, x: Any, y: Any) -> Any:
        """Apply to two operands, or answer ``NotImplemented`` to one of unknown type.

        Python's operators need that answer: it lets the other operand (a NumPy
        array, say) have its turn.
        """
        for given in (x, y):
            if not isinstance(given, Operand) and as_float(given) is None:
                return unknown(given, self.symbol)
        return self.apply((x, y))

    def value(self, operands: Sequence[float]) -> float:
        """The result for plain numbers."""
        return self.forward(*operands)

    def derivatives(self, y: Any, operands: Sequence[Any], wanted: Sequence[bool]) -> list[Any]:
        """The local derivatives by the wanted operands, where ``y`` is the result.

        Those not wanted (plain numbers, say) are `NO_EDGE` and cost nothing.
        """
        return [
            rule(y, *operands) if wish else NO_EDGE
            for rule, wish in zip(self.partials, wanted, strict=True)
        ]


class VariadicOp(Op):
    """An operation on any number of operands, called with an iterable of them.

    ``forward`` takes the operands as one sequence.  ``partials`` is one rule
    ``(y, operands) -> list`` that gives all local derivatives at once, because
    they may share work (`logsumexp` has one denominator for all).
    """

    @property
    def __doc__(self) -> str:  # type: ignore[override]  # the class's own would hide it
        return self.doc

    @overload
    def __call__(  # type: ignore[overload-overlap]  # both accept an empty list
        self, *arguments: float | Iterable[float]
    ) -> float: ...
    @overload
    def __call__(self, *arguments: A | float | Iterable[A | float]) -> A: ...
    def __call__(self, *arguments: Any) -> Any:
        if len(arguments) != self.leading + 1:
            raise TypeError(
                f"{self.name}() takes {self.leading + 1} argument(s), the last an iterable "
                f"of numbers or Values; {len(arguments)} were given"
            )
        *head, values = arguments
        return self.apply((*head, *elements(values, self.name)))

    def value(self, operands: Sequence[float]) -> float:
        return self.forward(operands)

    def derivatives(self, y: Any, operands: Sequence[Any], wanted: Sequence[bool]) -> list[Any]:
        rules = self.partials(y, operands)
        return [d if wish else NO_EDGE for d, wish in zip(rules, wanted, strict=True)]


ROWS: Final[dict[str, Op]] = {}
"""The table itself: every operation, by its symbol."""


def _row(symbol: str) -> Op:
    return ROWS[symbol]


def as_float(x: object) -> float | None:
    """A plain float for any real number (NumPy scalars too), or None for anything else."""
    if type(x) is float:
        return x
    if isinstance(x, Operand):
        return None
    kind = type(x)
    if not isinstance(x, (float, int)) and (
        isinstance(x, (str, bytes, bytearray))
        or hasattr(kind, "__len__")
        or not hasattr(kind, "__float__")
        or (isinstance(x, numbers.Complex) and not isinstance(x, numbers.Real))
    ):
        return None
    try:
        return float(x)  # type: ignore[arg-type]  # mypy cannot see the __float__ just tested
    except OverflowError:
        raise NotANumberError(
            f"the number {describe(x, 24)} is larger than any float (about 1.8e308); "
            "scale the data down, or work with its logarithm"
        ) from None
    except (TypeError, ValueError):  # a __float__ that does not mean it: a NumPy date, say
        return None


def number(x: object, who: str) -> float:
    """A plain float, or an error that says what ``who`` was given and what to do.

    Args:
        x: whatever was given.
        who: the function or attribute that needs a number.

    Returns:
        ``x`` as a float.

    Raises:
        NotANumberError: ``x`` is not a real number.
    """
    found = as_float(x)
    if found is not None:
        return found
    if isinstance(x, (str, bytes, bytearray)):
        advice = "convert text with float(...) first"
    elif isinstance(x, numbers.Complex):
        advice = "complex numbers have no order and no gradient here; use .real or abs(...)"
    elif x is None:
        advice = "see whether a function forgot its return statement"
    elif isinstance(x, Operand):
        advice = "it is one already: use it as it is, or its .data for the number alone"
    elif hasattr(type(x), "__len__") or hasattr(type(x), "__iter__"):
        if getattr(x, "shape", None) == ():
            advice = "take the number out of the array with .item()"
        elif who.isidentifier():
            advice = f"take it element by element: [{who}(x) for x in ...]"
        else:
            advice = "take it element by element"
    else:
        advice = "give an int or a float"
    raise NotANumberError(f"{who} needs a real number; got {describe(x)}. What to do: {advice}.")


_NEVER: Final = {str, bytes, complex, type(None), list, tuple, dict, set}


def unknown(x: object, symbol: str) -> Any:
    """What an operator answers to an operand that is no number.

    ``NotImplemented`` as a rule, so that the other side (a NumPy array, say) has its
    turn.  Python's own types have no turn to take, and get an explanation instead.
    """
    if type(x) in _NEVER:
        number(x, f"the operator {symbol}")
    return NotImplemented


def elements(values: object, who: str) -> Iterator[Any]:
    """An iterator over whatever ``who`` was given, or an error that says what to do.

    Raises:
        NotANumberError: ``values`` cannot be iterated over.
    """
    try:
        # Only this line is tried: what goes wrong inside a user's generator is not ours.
        return iter(values)  # type: ignore[call-overload, no-any-return]
    except TypeError:
        raise NotANumberError(
            f"{who}() takes an iterable of numbers or Values; got {describe(values)}. "
            f"Put them in a list: {who}([a, b])"
        ) from None
