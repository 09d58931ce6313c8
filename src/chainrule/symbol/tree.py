"""`Symbol`: the interpreter that computes nothing and writes everything down.

Applied to symbols, an operation of the table makes a bigger formula::

    x = Symbol("x")
    y = tanh(x) * x        # prints as tanh(x) * x

so any function written with operations can be printed, by calling it with symbols.
Its derivative comes from the same rules as everywhere: they are expressions, and fed
symbols they write the formula that they would otherwise compute.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any, ClassVar

from chainrule import ops
from chainrule.arithmetic import Arithmetic
from chainrule.errors import NotANumberError, OptionError, describe
from chainrule.operation import ROWS, Op, Operand, number
from chainrule.options import function
from chainrule.symbol.differentiation import derivative
from chainrule.symbol.expression import postorder, tree_size
from chainrule.symbol.notation import NAME, NUMBERS, latex, text
from chainrule.symbol.simplification import simplified

__all__ = ["Symbol", "formula"]


class Symbol(Arithmetic):
    """A formula: a name, a number, or an operation on formulas.

    Operations and Python's operators apply to it as to a number and give a longer
    formula.  It cannot be changed afterwards; parts may be shared by many formulas.

    Args:
        what: a name, or a number.  A name is an identifier (``x``, ``w1``, ``alpha``),
            with attributes and indices if need be (``layers[0].w[1,2]``).

    Attributes:
        name: the name; empty for an operation or a number.
        op: the operation; None for a name or a number.
        operands: what the operation applies to, in order: `Symbol`s and plain floats.

    Raises:
        OptionError: a name that the text of a formula could not hold.
        NotANumberError: neither a text nor a number.

    Example:
        >>> x, y = Symbol("x"), Symbol("y")
        >>> f = (x + 1.0) * y ** 2
        >>> print(f)
        (x + 1) * y ** 2
        >>> f.evaluate(x=2.0, y=3.0)
        27.0
        >>> print(f.derivative("y"))
        2 * (x + 1) * y
    """

    __slots__ = ("name", "op", "operands")

    # Above all others: none of them could say what to do about a name.
    rank: ClassVar[int] = 10
    is_gate: ClassVar[bool] = False

    name: str
    op: Op | None
    operands: tuple[Symbol | float, ...]

    def __init__(self, what: str | float) -> None:
        self.op = None
        if isinstance(what, str):
            _check_name(what)
            self.name = what
            self.operands = ()
        else:
            self.name = ""
            self.operands = (number(what, "Symbol"),)

    def __repr__(self) -> str:
        return f"Symbol({self.name!r})" if self.name else f"<Symbol {_shown(self, 1000)}>"

    def __str__(self) -> str:
        return self.text

    def _repr_latex_(self) -> str:
        return f"${self.latex}$"

    # --- building -------------------------------------------------------------------------

    def __op__(self, op: Op, operands: tuple[Any, ...]) -> Symbol:
        """Write the operation down."""
        return _made(Symbol, op, tuple([_part(x, op) for x in operands]))

    def __gate__(self, taken: bool) -> Symbol:
        branches = (1.0, 0.0) if taken else (0.0, 1.0)
        return _made(_Gate, ops.where, (_part(self, ops.where), *branches))

    def __float__(self) -> float:
        raise NotANumberError(
            f"the formula {_shown(self, 60)} has no value yet, so it is neither a float nor true "
            "or false. Inside a formula, branch with where(less(a, b), x, y), and use chainrule's "
            "functions (chainrule.exp, not math.exp). For a number, call "
            f"{_call_of_evaluate(self)}."
        )

    # It cannot change, so a copy would be no different.

    def __copy__(self) -> Symbol:
        return self

    def __deepcopy__(self, memo: dict[int, Any]) -> Symbol:
        return self

    def __reduce__(self) -> tuple[Any, ...]:
        # A flat list, because following the operands one inside the other would exhaust
        # Python's stack.
        order = postorder(self)
        place = {id(node): i for i, node in enumerate(order)}
        flat = [
            (node.op and node.op.symbol, node.name, [place.get(id(x), x) for x in node.operands])
            for node in order
        ]
        return _restored, (flat,)

    # --- reading ----------------------------------------------------------------------------

    @property
    def text(self) -> str:
        """The formula as text, which `chainrule.parsing.parse` reads back to the same numbers.

        Raises:
            GraphError: it would have more than a million parts, because some are
                used many times over.
        """
        return text(self)

    @property
    def latex(self) -> str:
        r"""The formula in LaTeX, for math mode.

        Raises:
            GraphError: it would have more than a million parts, because some are
                used many times over.

        Example:
            >>> print((Symbol("alpha") / Symbol("w1")).latex)
            \frac{\alpha}{w_{1}}
        """
        return latex(self)

    @property
    def names(self) -> tuple[str, ...]:
        """The names in it, each once, in the order in which they are met."""
        return tuple(dict.fromkeys([x.name for x in postorder(self) if x.name]))

    def evaluate(self, values: Mapping[str, Any] | None = None, /, **named: Any) -> Any:
        """The result for given values of the names; shared parts are computed once.

        Args:
            values: for each name its value: a number, or whatever else the operations
                apply to, such as a `Value`, a `Dual` or another `Symbol`.  Names
                that do not occur are ignored.
            **named: the same, as keywords.

        Returns:
            A float, or what the operations make of the values given.

        Raises:
            OptionError: a name has no value, or the values have no names.
            NotANumberError: a value is something else.

        Example:
            >>> x = Symbol("x")
            >>> (x * x + 1.0).evaluate(x=3.0)
            10.0
        """
        if values is not None and not isinstance(values, Mapping):
            raise OptionError(
                f"evaluate() takes the values by name, such as evaluate(x=2.0) or "
                f"evaluate({{'x': 2.0}}); got {describe(values)}"
            )
        given = {**(values or {}), **named}
        order = postorder(self)
        missing = [x.name for x in order if x.name and x.name not in given]
        if missing:
            raise OptionError(
                f"evaluate() was given no value for {', '.join(dict.fromkeys(missing))}. "
                f"The formula needs all of: {', '.join(self.names)}."
            )
        done: dict[int, Any] = {}
        for node in order:
            if node.op is not None:
                operands = [x if isinstance(x, float) else done[id(x)] for x in node.operands]
                done[id(node)] = node.op.apply(tuple(operands))
            elif node.name:
                x = given[node.name]
                done[id(node)] = x if isinstance(x, Operand) else number(x, node.name)
            else:
                done[id(node)] = node.operands[0]
        return done[id(self)]

    def simplify(self) -> Symbol:
        """The same formula, as far as it can be made shorter to read.

        Equal to rounding wherever all numbers that the original computes are finite
        (``0 * x`` is 0 whatever ``x`` may become) and no product leaves the range of
        floats when it is regrouped.

        Example:
            >>> x = Symbol("x")
            >>> print((0.0 * x + 1.0 * x - -x * 2.0).simplify())
            x + 2 * x
        """
        return _as_symbol(simplified(self, _build))

    def derivative(self, name: str | Symbol, *, simplify: bool = True) -> Symbol:
        """The derivative by one of the names, as a formula.

        Args:
            name: by what to differentiate; the derivative by a name that does not
                occur is 0.
            simplify: whether to `simplify` it; if not, it is what the table's rules
                and the chain rule give, also where something is infinite.

        Returns:
            The formula of the derivative.

        Raises:
            OptionError: ``name`` is no name.

        Example:
            >>> x = Symbol("x")
            >>> print(ops.sin(2.0 * x).derivative("x"))
            2 * cos(2 * x)
        """
        if isinstance(name, Symbol) and name.name:
            name = name.name
        if not isinstance(name, str):
            raise OptionError(
                f"derivative() needs the name to differentiate by, such as 'x'; "
                f"got {describe(name)}"
            )
        _check_name(name)
        found = _as_symbol(derivative(self, name))
        return found.simplify() if simplify else found


class _Gate(Symbol):
    """What a rule answers for a branch; `differentiation` takes it apart again."""

    __slots__ = ()

    is_gate: ClassVar[bool] = True


def formula(f: Callable[..., Any], *names: str | float | list[str] | tuple[str, ...]) -> Any:
    """Write a function down: what it computes, as a formula of its arguments.

    Args:
        f: a function that computes with operations (``+``, ``chainrule.exp`` ...).
            Python's ``if`` cannot look into a formula; use ``where``.
        *names: what to call its arguments.  A list of names stands for an argument
            that is a list of numbers; a number stays as it is.

    Returns:
        A `Symbol`, which has ``text``, ``latex``, ``derivative`` and ``evaluate``; a list
        of them if ``f`` returns a list or a tuple.

    Raises:
        NotANumberError: ``f`` returns something else, or turns a formula into a number.
        OptionError: a name that the text of a formula could not hold, or not a name per
            argument.

    Example:
        >>> from chainrule import tanh
        >>> y = formula(lambda w, x: tanh(w * x), "w", "x")
        >>> print(y, "has the derivative", y.derivative("w"))
        tanh(w * x) has the derivative (1 - tanh(w * x) ** 2) * x
    """
    function(
        "formula needs a function, and a name for each of its arguments, as in "
        'formula(lambda w, x: w * x, "w", "x")',
        f,
        len(names),
    )
    found = f(*[[*map(Symbol, x)] if isinstance(x, (list, tuple)) else Symbol(x) for x in names])
    if isinstance(found, (list, tuple)):
        return [_result(x) for x in found]
    return _result(found)


def _result(x: Any) -> Symbol:
    return x if isinstance(x, Symbol) else Symbol(number(x, "the result of a formula's function"))


def _made(kind: type[Symbol], op: Op | None, operands: tuple[Symbol | float, ...]) -> Symbol:
    made: Symbol = kind.__new__(kind)  # past __init__, which is for names and numbers
    made.name = ""
    made.op = op
    made.operands = operands
    return made


def _build(op: Op, operands: tuple[Symbol | float, ...]) -> Symbol:
    return _made(Symbol, op, operands)


def _restored(flat: list[tuple[str | None, str, list[Any]]]) -> Symbol:
    made: list[Symbol] = []
    for symbol, name, places in flat:
        operands = tuple([made[x] if isinstance(x, int) else x for x in places])
        node = _made(Symbol, ROWS[symbol] if symbol else None, operands)
        node.name = name
        made.append(node)
    return made[-1]


def _part(x: Any, op: Op) -> Symbol | float:
    """An operand; a number that stands alone becomes a plain one."""
    if isinstance(x, float):
        return x
    if isinstance(x, Symbol):
        return x if x.op or x.name else x.operands[0]
    raise NotANumberError(
        f"{op.name} was given a formula and {describe(x)}; a formula consists of names and plain "
        "numbers. Write a name, Symbol('x'), in its place, and put it in with evaluate(x=...)."
    )


def _as_symbol(x: Symbol | float) -> Symbol:
    return Symbol(x) if isinstance(x, float) else x


def _check_name(name: str) -> None:
    if not re.fullmatch(NAME, name):
        raise OptionError(
            f"{describe(name)} cannot be a name in a formula. Use letters, digits and _ with no "
            "digit in front, such as 'w1'; attributes and indices may follow: 'layers[0].w[1,2]'."
        )
    if name in NUMBERS or any(name == op.name for op in ROWS.values()):
        kind = "number" if name in NUMBERS else "function"
        raise OptionError(
            f"{name!r} cannot be a name in a formula: it is a {kind} there. "
            f"Call it something else, such as '{name}_1'."
        )


def _shown(x: Symbol, limit: int) -> str:
    order = postorder(x)
    if tree_size(order) > limit:
        return f"of {len(order)} different parts"
    shown = x.text
    return shown if len(shown) <= limit else shown[: limit - 3] + "..."


def _call_of_evaluate(x: Symbol) -> str:
    names = x.names[:3]
    more = ", ..." if len(x.names) > 3 else ""
    return f".evaluate({', '.join([f'{name}=...' for name in names])}{more})"
