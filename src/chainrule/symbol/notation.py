"""Writing formulas: as text that `chainrule.parsing` reads back, and as LaTeX.

Both go by the table: ``precedence`` says where parentheses are needed, ``symbol``
and ``name`` how an operation looks in text, ``tex`` how it looks in LaTeX.

In text, parentheses show the order of the computation exactly: ``a + (b + c)``
keeps them, because the sum of floats depends on it.  LaTeX is for people and
leaves those out.  One liberty is taken in both: the minus of ``-(a * b)`` is
written at the first factor, ``-a * b``, which is the same number, bit for bit.
"""

from __future__ import annotations

import math
import re
from abc import ABC, abstractmethod
from collections.abc import Iterable
from functools import cache
from typing import Final

from chainrule import ops
from chainrule.errors import GraphError
from chainrule.operation import CALL, VARIADIC, Op, VariadicOp
from chainrule.symbol.expression import Expression, postorder, same_number, tree_size

__all__ = ["COMPARISON", "NAME", "NUMBERS", "infix_precedence", "latex", "text"]

NAME: Final = r"[^\W\d]\w*(?:\.[^\W\d]\w*|\[[0-9]+(?:,[0-9]+)*\])*"
"""A name in text, as a regular expression: ``x``, ``w1``, ``θ``, ``layers[0].w[1,2]``."""

NUMBERS: Final = {"inf": math.inf, "nan": math.nan, "pi": math.pi}
"""Numbers with a name of their own."""

Piece = str | float | Expression
"""A part of a line: text as it is, or an operand that is yet to be written."""

LONGEST: Final = 1_000_000
"""How many parts a formula may have when it is written out."""

COMPARISON: Final = 0
SUM: Final = ops.add.precedence
PRODUCT: Final = ops.mul.precedence
SIGN: Final = ops.neg.precedence
POWER: Final = ops.pow.precedence


def infix_precedence(op: Op) -> int | None:
    """How tightly an operation written between its operands binds in text, or None.

    The comparisons stand between their operands too, and bind loosest.
    """
    if op.arity != 2 or op.symbol.isidentifier():
        return None
    return op.precedence if op.precedence < CALL else COMPARISON


def text(root: Expression) -> str:
    """A formula as text, which `chainrule.parsing.parse` reads back."""
    return _Text().write(root)


def latex(root: Expression) -> str:
    """A formula in LaTeX, for math mode."""
    return _Latex().write(root)


class _Style(ABC):
    """A way of writing: how one operation is laid out around its operands."""

    def __init__(self) -> None:
        self._signed: set[int] = set()  # expressions whose first character is a minus

    @abstractmethod
    def number(self, x: float) -> str:
        """A number."""

    @abstractmethod
    def name(self, name: str) -> str:
        """A name."""

    @abstractmethod
    def precedence(self, x: Expression | float) -> int:
        """How tightly what stands in the place of ``x`` holds together."""

    @abstractmethod
    def operation(self, op: Op, node: Expression) -> list[Piece]:
        """An operation."""

    @abstractmethod
    def enclosed(self, x: Expression | float) -> list[Piece]:
        """An operand in parentheses."""

    def write(self, root: Expression) -> str:
        """The whole line."""
        order = postorder(root)
        size = tree_size(order)
        if size > LONGEST:
            raise GraphError(
                f"written out, this formula has {_count(size)} parts (the limit is "
                f"{LONGEST:,}), because it uses some of its {len(order):,} different parts "
                "many times over. Write a smaller piece of it, or evaluate it."
            )
        layouts: dict[int, list[Piece]] = {}
        for node in order:
            pieces = self._layout(node)
            layouts[id(node)] = pieces
            if self.signed(pieces[0]):
                self._signed.add(id(node))
        done: list[str] = []
        ahead: list[Piece] = [root]
        while ahead:
            piece = ahead.pop()
            if isinstance(piece, str):
                done.append(piece)
            elif isinstance(piece, float):
                done.append(self.number(piece))
            else:
                ahead += reversed(layouts[id(piece)])
        return "".join(done)

    def _layout(self, node: Expression) -> list[Piece]:
        if node.op is not None:
            return self.operation(node.op, node)
        return [self.name(node.name)] if node.name else [node.operands[0]]

    def signed(self, piece: Piece) -> bool:
        """Whether the first character is a minus."""
        if isinstance(piece, float):
            piece = self.number(piece)
        return piece.startswith("-") if isinstance(piece, str) else id(piece) in self._signed

    def operand(self, x: Expression | float, parentheses: bool) -> list[Piece]:
        """An operand, in parentheses if need be."""
        return self.enclosed(x) if parentheses else [x]

    def negated(self, x: Expression | float) -> list[Piece]:
        """A minus sign and its operand."""
        return ["-", *self.operand(x, self.precedence(x) < PRODUCT or self.signed(x))]

    def listed(self, xs: Iterable[Expression | float]) -> list[Piece]:
        """Operands with commas between."""
        pieces: list[Piece] = []
        for x in xs:
            pieces += [", ", x] if pieces else [x]
        return pieces


class _Text(_Style):
    def number(self, x: float) -> str:
        whole = x.is_integer() and abs(x) < 1e16
        sign = "-" if whole and math.copysign(1.0, x) < 0.0 else ""
        return f"{sign}{abs(int(x))}" if whole else repr(x)

    def name(self, name: str) -> str:
        return name

    def precedence(self, x: Expression | float) -> int:
        if isinstance(x, float):
            return SIGN if self.signed(x) else CALL
        if x.op is None:
            return CALL
        if x.op is ops.neg:
            return min(SIGN, self.precedence(x.operands[0])) if _is_product(x) else SIGN
        infix = infix_precedence(x.op)
        return CALL if infix is None else infix

    def enclosed(self, x: Expression | float) -> list[Piece]:
        return ["(", x, ")"]

    def operation(self, op: Op, node: Expression) -> list[Piece]:
        if op is ops.neg:
            return self.negated(node.operands[0])
        infix = infix_precedence(op)
        if infix is None:
            return [op.name, "(", *self.listed(_without_defaults(op, node)), ")"]
        x, y = node.operands
        left, right = self.precedence(x), self.precedence(y)
        if op is ops.pow:
            before, after = left <= POWER, right < SIGN
        else:
            before = left < infix or left == infix == COMPARISON
            after = right <= infix or (infix > COMPARISON and self.signed(y))
        return [*self.operand(x, before), f" {op.symbol} ", *self.operand(y, after)]


class _Latex(_Style):
    def number(self, x: float) -> str:
        if x != x:
            return r"\mathrm{nan}"
        if math.isinf(x):
            return r"\infty" if x > 0.0 else r"-\infty"
        mantissa, _, exponent = _Text().number(x).partition("e")
        if not exponent:
            return mantissa
        power = f"10^{{{int(exponent)}}}"
        return {"1": power, "-1": f"-{power}"}.get(mantissa, rf"{mantissa} \cdot {power}")

    def name(self, name: str) -> str:
        return ".".join([_tex_name(part) for part in name.split(".")])

    def precedence(self, x: Expression | float) -> int:
        if isinstance(x, float):
            if "^" in self.number(x):
                return PRODUCT
            return SIGN if self.signed(x) else CALL
        op = x.op
        if op is None:
            return CALL
        if op is ops.neg:
            return min(SIGN, self.precedence(x.operands[0])) if _is_product(x) else SIGN
        if op.tex.startswith(r"\begin"):  # a brace that nothing closes
            return COMPARISON
        if op.tex.startswith(r"\frac"):
            return SIGN
        return POWER if re.search(r"\^\{#\d\}$", op.tex) else op.precedence

    def enclosed(self, x: Expression | float) -> list[Piece]:
        return [r"\left(", x, r"\right)"]

    def operation(self, op: Op, node: Expression) -> list[Piece]:
        if op is ops.neg:
            return self.negated(node.operands[0])
        leading = op.leading if isinstance(op, VariadicOp) else 0
        rest = node.operands[leading:]
        pieces: list[Piece] = []
        parts = _template(op.tex)
        for i, part in enumerate(parts):
            if i % 2 == 0:
                pieces += [part] if part else []
            elif part == ",":
                pieces += self.listed(rest)
            elif part == "+":
                pieces += self._sum([self.operand(x, self._bad_term(x)) for x in rest])
            elif part == "e":
                pieces += self._sum([["e^{", x, "}"] for x in rest])
            else:
                x = node.operands[int(part) - 1]
                parentheses = self._needs_parentheses(op, x, parts[i - 1], parts[i + 1])
                pieces += self.operand(x, parentheses)
        return pieces

    def _sum(self, terms: list[list[Piece]]) -> list[Piece]:
        pieces: list[Piece] = []
        for term in terms:
            pieces += [" + ", *term] if pieces else term
        return pieces or ["0"]

    def _bad_term(self, x: Expression | float) -> bool:
        return self.precedence(x) < SUM or self.signed(x)

    def _needs_parentheses(self, op: Op, x: Expression | float, before: str, after: str) -> bool:
        """Whether the template's own brackets do not suffice around an operand."""
        if before.endswith("{"):
            return after.startswith("}^") and self.precedence(x) <= POWER
        if op.precedence == CALL:
            return before.endswith("+ ") and self._bad_term(x)
        tightness = self.precedence(x)
        if not before:
            return tightness < op.precedence
        if self.signed(x):
            return True
        # a + (b - c) and a * (b * c) are a + b - c and a * b * c, but for rounding
        return tightness <= op.precedence if op is ops.sub else tightness < op.precedence


def _is_product(negation: Expression) -> bool:
    x = negation.operands[0]
    return not isinstance(x, float) and x.op in (ops.mul, ops.div)


def _without_defaults(op: Op, node: Expression) -> list[Expression | float]:
    shown = list(node.operands)
    if op.arity != VARIADIC:
        for default in reversed(op.defaults):
            if not same_number(shown[-1], default):
                break
            shown.pop()
    return shown


def _count(n: int) -> str:
    return f"{n:,}" if n < 10**15 else "more than 10**15"


@cache
def _template(tex: str) -> list[str]:
    """Text and placeholders in turn: ``["", "1", " + ", "2", ""]``."""
    return re.split(r"#(\d|[+e,])", tex)


_GREEK: Final = re.compile(
    "alpha|beta|gamma|delta|epsilon|zeta|eta|theta|iota|kappa|lambda|mu|nu|xi|pi|rho|sigma|tau|"
    "upsilon|phi|chi|psi|omega|Gamma|Delta|Theta|Lambda|Xi|Pi|Sigma|Upsilon|Phi|Psi|Omega"
)


def _tex_name(name: str) -> str:
    stem, *indices = re.findall(r"[^\W\d_]+|\d+", name) or ["_"]
    if not name.startswith(stem) or stem == "_":
        escaped = name.replace("_", r"\_")
        return rf"\mathrm{{{escaped}}}"
    subscript = ",".join([_tex_word(part) for part in indices])
    return _tex_word(stem) + (f"_{{{subscript}}}" if subscript else "")


def _tex_word(word: str) -> str:
    if _GREEK.fullmatch(word):
        return f"\\{word}"
    return word if len(word) == 1 or word.isdigit() else rf"\mathrm{{{word}}}"
