"""The table's rules as expressions, for statements that are differentiated.

A rule of the table is a function of operands.  Fed tracers, it writes down its own
expression, and a back end spells that in its language.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from chainrule.compiler.program import Elementwise, Take
from chainrule.compiler.trace import Gate, Leaf, Trace, Tracer
from chainrule.operation import CALL, NO_EDGE, Op

__all__ = ["Expression", "Partial", "Speller", "elementwise_partials", "literal", "uniform"]

RESULT: Final = -1
"""The place of an operation's own result among the leaves of a rule."""


@dataclass(slots=True)
class Partial:
    """The local derivative of a statement by one operand.

    Attributes:
        number: the derivative where it is a plain number, else None.
        node: its node in the expression, or for a gate the condition's.
        gate: whether it is 1 where the condition holds, and no edge elsewhere.
    """

    number: float | None = None
    node: int = -1
    gate: bool = False


@dataclass(slots=True)
class Expression:
    """The rules of one statement, as one expression with shared parts.

    Attributes:
        trace: its operations; leaves are inputs by place, `RESULT` for the result.
        partials: one for each operand, None where no gradient passes.
    """

    trace: Trace
    partials: list[Partial | None]


def literal(take: Take) -> float | None:
    """The number, where all members taken are one and the same constant."""
    if take.group.kind != "constant":
        return None
    assert take.group.values is not None
    numbers = take.group.values[take.index.ravel()]
    first = struct.pack("d", numbers[0])
    if all(struct.pack("d", x) == first for x in numbers[1:]):
        return float(numbers[0])
    return None


def uniform(take: Take) -> bool:
    """Whether one member is taken again and again."""
    return bool((take.index == take.index.flat[0]).all())


def elementwise_partials(statement: Elementwise) -> Expression:
    """Let the rules of a statement's operation write themselves down."""
    op = statement.op
    trace = Trace(())
    operands: list[Any] = []
    for place, take in enumerate(statement.operands):
        number = literal(take)
        operands.append(number if number is not None else _leaf(trace, place))
    wanted = [take.group.differentiable for take in statement.operands]
    found = op.derivatives(_leaf(trace, RESULT), operands, wanted)
    partials: list[Partial | None] = []
    for derivative in found:
        if derivative is NO_EDGE:
            partials.append(None)
        elif isinstance(derivative, Gate):
            partials.append(Partial(node=derivative.condition.index, gate=True))
        elif isinstance(derivative, Tracer):
            constant = trace.leaves.get(derivative.index)
            if constant is not None and constant.kind == "constant":
                partials.append(Partial(number=constant.constant))
            else:
                partials.append(Partial(node=derivative.index))
        else:
            partials.append(Partial(number=float(derivative)))
    return Expression(trace, partials)


def _leaf(trace: Trace, place: int) -> Tracer:
    return Tracer(trace, trace.leaf(Leaf("input", place=place)))


class Speller:
    """Writes expressions in the language of a back end, with the parentheses they need.

    Args:
        spellings: how to write an operation: a template with ``{0}``, ``{1}`` for the
            operands, by the operation's name; operators are written as in Python.
        infinity: how to write it.
        nan: how to write it.
    """

    def __init__(self, spellings: Mapping[str, str], infinity: str, nan: str) -> None:
        self.spellings = spellings
        self.infinity = infinity
        self.nan = nan

    def number(self, x: float) -> tuple[str, int]:
        """A number, and how tightly it binds."""
        if math.isnan(x):
            return self.nan, CALL
        if math.isinf(x):
            return (self.infinity, CALL) if x > 0 else (f"-{self.infinity}", 3)
        text = repr(x)
        return text, 3 if text[0] == "-" else CALL

    def apply(self, op: Op, operands: Sequence[tuple[str, int]]) -> tuple[str, int]:
        """An operation on operands already spelled."""
        spelling = self.spellings.get(op.name)
        if spelling is not None:
            return spelling.format(*[text for text, _ in operands]), CALL
        precedence = op.precedence
        if op.name == "neg":
            return f"-{_wrapped(operands[0], precedence)}", precedence
        if op.name == "pow":
            (x, exponent) = operands
            if exponent[0] == "2.0" and x[0].isidentifier():
                return f"{x[0]} * {x[0]}", 2
            return f"{_wrapped(x, precedence + 1)} ** {_wrapped(exponent, CALL)}", precedence
        left, right = operands
        return (
            f"{_wrapped(left, precedence)} {op.symbol} {_wrapped(right, precedence + 1)}",
            precedence,
        )

    def expression(
        self,
        trace: Trace,
        roots: Sequence[int],
        leaves: Callable[[int], tuple[str, int]],
        name: Callable[[str], str],
    ) -> tuple[list[str], dict[int, tuple[str, int]]]:
        """Spell nodes of a trace; parts that are used twice get a line and a name.

        Returns:
            The lines, and the text for each root.
        """
        needed = set(roots)
        uses: dict[int, int] = {}
        for i in range(len(trace.ops) - 1, -1, -1):
            if i in needed:
                for x in trace.operands[i]:
                    needed.add(x)
                    uses[x] = uses.get(x, 0) + 1
        lines = []
        texts: dict[int, tuple[str, int]] = {}
        for i in sorted(needed):
            op = trace.ops[i]
            if op is None:
                leaf = trace.leaves[i]
                if leaf.kind == "constant":
                    texts[i] = self.number(leaf.constant)
                else:
                    texts[i] = leaves(leaf.place)
                continue
            texts[i] = self.apply(op, [texts[x] for x in trace.operands[i]])
            if uses.get(i, 0) + roots.count(i) > 1:
                part = name("t")
                lines.append(f"{part} = {texts[i][0]}")
                texts[i] = (part, CALL)
        return lines, texts


def _wrapped(spelled: tuple[str, int], least: int) -> str:
    text, precedence = spelled
    return text if precedence >= least else f"({text})"
