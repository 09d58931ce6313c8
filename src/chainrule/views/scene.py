"""A picture before anybody decides how it is written: boxes, links, and words below."""

from __future__ import annotations

import unicodedata
from dataclasses import dataclass
from typing import Final, final

from chainrule.operation import ROWS
from chainrule.symbol import Symbol
from chainrule.symbol.notation import infix_precedence
from chainrule.value import Value
from chainrule.views.derivation import short

__all__ = [
    "KINDS",
    "Box",
    "Link",
    "Scene",
    "number",
    "operation",
    "printable",
    "shortened",
    "width",
]

KINDS: Final = {
    "leaf": "given: an input, a parameter",
    "op": "computed",
    "result": "the result",
    "fold": "many values, folded into one box",
    "stub": "folded",
}
"""What a box stands for."""

LONGEST: Final = 22
"""How many characters of a label a box shows."""


@final
@dataclass(frozen=True, slots=True)
class Box:
    """A value, or several folded into one.

    Attributes:
        title: its label, or else its operation; in two lines if it is a long one.
        badge: the operation, where the title does not say it.
        rows: pairs of a name and a number.
        kind: one of `KINDS`.
        about: everything in a sentence, nothing shortened, for a tooltip or a screen reader.
    """

    title: tuple[str, ...]
    badge: str
    rows: tuple[tuple[str, str], ...]
    kind: str
    about: str


@final
@dataclass(frozen=True, slots=True)
class Link:
    """An arrow from an operand to what is computed from it.

    Attributes:
        source: the place of the operand among the boxes.
        target: the place of the result.
        texts: what stands beside the arrow, line by line.
        weight: for a connection between neurons, its weight.
    """

    source: int
    target: int
    texts: tuple[str, ...] = ()
    weight: float | None = None


@final
@dataclass(frozen=True, slots=True)
class Scene:
    """A whole picture.

    Attributes:
        boxes: operands before results.
        links: at most one for each pair of boxes.
        caption: what the picture must say in words: what was folded, say.
        title: what it shows, in a few words.
    """

    boxes: tuple[Box, ...]
    links: tuple[Link, ...]
    caption: tuple[str, ...]
    title: str


def number(x: float) -> str:
    """A number for a picture, to six digits and with a real minus sign.

    Example:
        >>> number(-0.1234567), number(1e-20), number(float("nan"))
        ('−0.123457', '1e−20', 'nan')
    """
    return Symbol(short(x)).text.replace("-", "−")


def operation(node: Value) -> str:
    """An operation with the plain numbers among its operands, which have no box.

    Example:
        >>> x = Value(3.0)
        >>> operation(x * x), operation(x ** 2), operation(1 - x)
        ('*', '** 2', '1 -')
    """
    operands = node.operands
    op = ROWS.get(node._op)
    if op is not None and len(operands) == 2 and infix_precedence(op) is not None:
        left, right = ["" if isinstance(x, Value) else number(x) for x in operands]
        return f"{left} {node._op} {right}".strip()
    plain = [number(x) for x in operands if not isinstance(x, Value)]
    defaults = [] if op is None else [number(x) for x in op.defaults]
    if not plain or plain == defaults or len(plain) > 2:
        return node._op
    return f"{node._op} {', '.join(plain)}"


def shortened(label: str) -> tuple[str, ...]:
    """A label in one line, or in two if it is that of a network's parameter.

    Example:
        >>> shortened("w"), shortened("layers.0.neurons.1.bias")
        (('w',), ('layers.0.neurons.1', 'bias'))
    """
    label = printable(label)
    stem, mark, last = label.partition(".weights." if ".weights." in label else ".bias")
    if mark and len(label) > LONGEST // 2:
        return _cut(stem), _cut(mark[1:] + last)
    return (_cut(label),)


def printable(label: str) -> str:
    r"""A label in one line, without what no file or page could hold.

    Example:
        >>> printable("two\nlines")
        'two lines'
    """
    return " ".join("".join([c if c.isprintable() else " " for c in label]).split())


def _cut(line: str) -> str:
    half = LONGEST // 2
    return line if len(line) <= LONGEST else f"{line[:half]}…{line[-half:]}"


def width(line: str) -> int:
    """How many columns of a fixed-width font a text takes."""
    wide = sum(unicodedata.east_asian_width(c) in "WF" for c in line)
    none = sum(unicodedata.category(c) in ("Mn", "Me", "Cf") for c in line)
    return len(line) + wide - none
