"""Reading formulas: ``parse("tanh(w*x + b)")`` makes the `Symbol` that prints like that.

The grammar, from what binds loosest to what binds tightest::

    formula     sum [comparison sum]            x < 2, at most one comparison
    sum         product {(+ | -) product}       from left to right
    product     signed {(* | /) signed}         from left to right
    signed      {+ | -} power
    power       atom [** signed]                from right to left; -x ** 2 is -(x ** 2)
    atom        number | name | function ( [formula {, formula}] ) | ( formula )

Functions and signs are those of the table of operations, and no others, so the text can
do nothing but arithmetic: nothing is ever evaluated as Python.  ``inf``, ``nan`` and
``pi`` are numbers.  The operations on any number of operands take them one by one:
``sum(a, b, c)``, ``logsumexp(a, b)``, ``pick(index, a, b)``.

The method is operator precedence with a stack (Dijkstra's shunting yard, 1961), not
recursion, so that parentheses may be nested as deep as they like.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from difflib import get_close_matches
from typing import Any, Final, final

from chainrule import ops
from chainrule.errors import OptionError, ParseError, describe
from chainrule.operation import ROWS, VARIADIC, Op
from chainrule.symbol import Symbol
from chainrule.symbol.notation import COMPARISON, NAME, NUMBERS, infix_precedence

__all__ = ["parse"]

LONGEST: Final = 1_000_000
"""How many characters a formula may have."""

FUNCTIONS: Final = {op.name: op for op in ROWS.values()}
PRECEDENCE: Final = {
    op.symbol: precedence
    for op in ROWS.values()
    if (precedence := infix_precedence(op)) is not None
}

# Longer signs first: ** is not two times *.
_SIGNS: Final = "|".join(map(re.escape, sorted(PRECEDENCE, key=len, reverse=True)))
_TOKEN: Final = re.compile(
    rf"\s*(?:(?P<number>(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?)"
    rf"|(?P<name>{NAME})|(?P<sign>{_SIGNS}|[(),])|(?P<end>$)|(?P<unknown>.))",
    re.DOTALL,
)

_ADVICE: Final = {
    "^": "Powers are written **.",
    "=": "Equality is written ==.",
    "\N{MULTIPLICATION SIGN}": "Products are written *.",
    "·": "Products are written *.",
    "÷": "Quotients are written /.",
    "\N{MINUS SIGN}": "Use the hyphen of the keyboard, -, as minus sign.",
    "[": "Use round parentheses; an index is a number right after a name, as in w[0].",
    "{": "Use round parentheses.",
    "%": "There is no remainder; write x - y * k yourself, or divide by 100 for per cent.",
    "!": "Inequality is written !=.",
}
_ALSO_KNOWN_AS: Final = {"ln": "log", "if": "where", "max": "maximum", "min": "minimum"}


def parse(text: str) -> Symbol:
    """Read a formula.

    Args:
        text: arithmetic with ``+ - * / **``, comparisons, parentheses, numbers, names
            and the functions of the table, such as ``"tanh(w*x + b)"``.

    Returns:
        The formula, exactly as written: nothing is simplified.

    Raises:
        ParseError: the text is no formula; the message points at the place.
        OptionError: ``text`` is not a text.

    Example:
        >>> y = parse("tanh(w*x + b)")
        >>> y.names
        ('w', 'x', 'b')
        >>> y.evaluate(w=0.5, x=2.0, b=-1.0)
        0.0
        >>> parse("tanh(w*x + b")
        Traceback (most recent call last):
        chainrule.errors.ParseError: this parenthesis is never closed; add a ) ... (column 5)
            tanh(w*x + b
                ^
    """
    if not isinstance(text, str):
        raise OptionError(
            f"parse() needs a formula as text, such as 'x * y + 1'; got {describe(text)}"
        )
    if len(text) > LONGEST:
        raise ParseError(
            f"a formula may have at most {LONGEST:,} characters; this text has {len(text):,}",
            text,
            LONGEST + 1,
        )
    return _Parser(text).run()


@final
@dataclass(slots=True)
class _Token:
    kind: str
    text: str
    column: int


@final
@dataclass(slots=True)
class _Pending:
    """An infix operation or a minus sign that waits for its last operand."""

    op: Op
    precedence: int


@final
@dataclass(slots=True)
class _Open:
    """A parenthesis that is not closed yet; of a function call, if it has an ``op``."""

    column: int
    op: Op | None = None
    name: _Token | None = None
    arguments: list[Symbol] = field(default_factory=list)


class _Parser:
    def __init__(self, text: str) -> None:
        self._text = text
        self._tokens = self._tokenized()
        self._token = next(self._tokens)
        self._names: dict[str, Symbol] = {}
        self._operands: list[Symbol] = []
        self._waiting: list[_Pending | _Open] = []

    def run(self) -> Symbol:
        if self._token.kind == "end":
            raise self._error("the formula is empty; expected something such as x * y + 1")
        # An operand and what follows it, in turn, until the text ends.
        while True:
            self._read_operand()
            while self._token.text == ")":
                self._close()
            if self._token.kind == "end":
                break
            self._read_sign()
        self._reduce(-1)
        if self._waiting:
            unclosed: Any = self._waiting[-1]
            raise self._error(
                "this parenthesis is never closed; add a ) where it should end", unclosed.column
            )
        return self._operands.pop()

    # --- tokens ---------------------------------------------------------------------------

    def _tokenized(self) -> Iterator[_Token]:
        position = 0
        while True:
            found: Any = _TOKEN.match(self._text, position)  # it matches anything
            kind = found.lastgroup
            yield _Token(kind, found[kind], found.start(kind) + 1)
            position = found.end()

    def _next(self) -> _Token:
        token = self._token
        self._token = next(self._tokens)
        return token

    def _error(self, problem: str, column: int | None = None) -> ParseError:
        return ParseError(problem, self._text, self._token.column if column is None else column)

    def _found(self) -> str:
        token = self._token
        if token.kind == "end":
            return "but the formula ends here"
        advice = _ADVICE.get(token.text, "")
        return f"but found {token.text!r}" + (f". {advice}" if advice else "")

    # --- an operand is due ------------------------------------------------------------------

    def _read_operand(self) -> None:
        while True:
            token = self._token
            if token.kind == "number":
                self._operands.append(self._number(self._next()))
                return
            if token.kind == "name":
                if self._read_name(self._next()):
                    return
            elif token.text == "(":
                self._waiting.append(_Open(self._next().column))
            elif token.text == "-":
                self._next()
                self._waiting.append(_Pending(ops.neg, ops.neg.precedence))
            elif token.text == "+":
                self._next()
            else:
                raise self._error(
                    f"expected a number, a name, a function or a parenthesis, {self._found()}"
                )

    def _number(self, token: _Token) -> Symbol:
        number = float(token.text)
        if math.isinf(number):
            raise self._error(
                f"{token.text[:20]}{'...' * (len(token.text) > 20)} is larger than any float "
                "(about 1.8e308); write inf if infinity is meant",
                token.column,
            )
        return Symbol(number)

    def _read_name(self, token: _Token) -> bool:
        """Read on after a name; whether an operand is complete, not just begun."""
        name = token.text
        op = FUNCTIONS.get(name)
        if self._token.text != "(":
            if op is not None:
                raise self._error(
                    f"{name} is a function: write {name}(...) with its operands in parentheses",
                    token.column,
                )
            if name not in self._names:
                self._names[name] = Symbol(NUMBERS.get(name, name))
            self._operands.append(self._names[name])
            return True
        if op is None:
            raise self._unknown(token)
        call = _Open(self._next().column, op, token)
        if self._token.text != ")":
            self._waiting.append(call)
            return False
        self._next()
        self._operands.append(self._call(call))
        return True

    def _unknown(self, token: _Token) -> ParseError:
        name = token.text
        if name in NUMBERS:
            problem = f"{name} is a number, not a function; for a product write {name} * (...)"
            return self._error(problem, token.column)
        found = [_ALSO_KNOWN_AS.get(name.lower(), "")]
        found += [other for other in FUNCTIONS if other.startswith(name.lower())]
        found += [other for other in FUNCTIONS if sorted(other) == sorted(name.lower())]
        found += get_close_matches(name.lower(), FUNCTIONS, n=1)
        advice = (
            f"for a product write {name} * (...). The functions are {', '.join(sorted(FUNCTIONS))}"
        )
        for closest in filter(None, found):
            advice = f"did you mean {closest}?"
            break
        return self._error(f"there is no function {name!r}; {advice}", token.column)

    # --- an operand was read ------------------------------------------------------------------

    def _read_sign(self) -> None:
        token = self._token
        if token.text == ",":
            call = self._innermost()
            if call is None or call.op is None:
                raise self._error(
                    "a comma belongs between the operands of a function; expected +, -, *, /, ** "
                    "or a comparison here"
                )
            call.arguments.append(self._operands.pop())
            self._next()
            return
        precedence = PRECEDENCE.get(token.text)
        if precedence is None:
            expected = "expected an operator (+ - * / ** or a comparison) or the end"
            if token.kind in ("number", "name") or token.text == "(":
                raise self._error(f"{expected}, {self._found()}; products need a *")
            raise self._error(f"{expected}, {self._found()}")
        op = ROWS[token.text]
        # Powers group from the right: an equal one before this waits for it.  Comparisons
        # do not group at all: an equal one before this is a mistake.
        equal_waits = op is ops.pow or precedence == COMPARISON
        self._reduce(precedence if equal_waits else precedence - 1)
        before = self._waiting[-1] if self._waiting else None
        if precedence == COMPARISON and isinstance(before, _Pending):
            raise self._error("comparisons cannot be chained; put one of them in parentheses")
        self._next()
        self._waiting.append(_Pending(op, precedence))

    def _close(self) -> None:
        opened = self._innermost()
        if opened is None:
            raise self._error("there is no ( that this ) could close; remove it, or add a (")
        self._next()
        self._waiting.pop()
        if opened.op is not None:
            opened.arguments.append(self._operands.pop())
            self._operands.append(self._call(opened))

    def _innermost(self) -> _Open | None:
        """The innermost open parenthesis, with everything inside it computed."""
        self._reduce(-1)
        found = self._waiting[-1] if self._waiting else None
        return found if isinstance(found, _Open) else None

    def _reduce(self, limit: int) -> None:
        """Give their operands to the operations that bind more tightly than ``limit``."""
        while self._waiting:
            last = self._waiting[-1]
            if isinstance(last, _Open) or last.precedence <= limit:
                return
            self._waiting.pop()
            y = self._operands.pop()
            if last.op is not ops.neg:
                self._operands.append(last.op.apply((self._operands.pop(), y)))
            elif y.op is None and not y.name:  # a negative number is a number
                self._operands.append(Symbol(-float(y.operands[0])))
            else:
                self._operands.append(-y)

    def _call(self, call: _Open) -> Symbol:
        op: Any = call.op
        given = len(call.arguments)
        if op.arity == VARIADIC:
            least = op.leading + 1 if op.leading else 0
            right = given >= least
            expected = f"at least {least}"
        else:
            least = op.arity - len(op.defaults)
            right = least <= given <= op.arity
            expected = f"{op.arity}" if least == op.arity else f"{least} or {op.arity}"
        if not right:
            name: Any = call.name
            raise self._error(
                f"{op.name} takes {expected} operand{'' if expected.endswith('1') else 's'}; "
                f"{given} {'was' if given == 1 else 'were'} given",
                name.column,
            )
        operands = list(call.arguments)
        if op.arity != VARIADIC and given < op.arity:
            operands += op.defaults[given - op.arity :]
        found = op.apply(tuple(operands))
        return found if isinstance(found, Symbol) else Symbol(found)
