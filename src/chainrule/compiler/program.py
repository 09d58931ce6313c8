"""The program: what a function does, in statements over vectors.

This is the plain data that the stages hand to each other and that every back end
reads.  A `Group` is a vector of numbers, one per member; a `Statement` computes one
group from others.  Operands are named by `Take`: which members of which group.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from chainrule.operation import Op
from chainrule.structure import Structure

__all__ = [
    "Block",
    "Contract",
    "Elementwise",
    "Group",
    "Join",
    "Program",
    "Reduce",
    "Statement",
    "Take",
    "takes_of",
]

Index = npt.NDArray[np.intp]


@dataclass(eq=False, slots=True)
class Group:
    """A vector of numbers.

    Attributes:
        kind: ``"parameter"``, ``"input"``, ``"constant"`` or ``"computed"``.
        size: how many members it has.
        batched: whether each example has its own.
        name: how it is called in printed programs.
        differentiable: whether it depends on something that a gradient is asked for.
        values: of a constant group, its numbers.
        argument: of an input group, which argument of the function it is.
    """

    kind: str
    size: int
    batched: bool
    name: str = ""
    differentiable: bool = False
    values: npt.NDArray[np.float64] | None = None
    argument: int = 0


@dataclass(eq=False, slots=True)
class Take:
    """Members of a group.

    Attributes:
        group: which group.
        index: their numbers: of shape (n,), one per member of the statement's result,
            or (n, k), k of them for each.
    """

    group: Group
    index: Index


@dataclass(eq=False, slots=True)
class Elementwise:
    """One operation on vectors, member by member.

    Attributes:
        target: the result.
        op: the operation.
        operands: a `Take` of shape (n,) for each operand.
        nodes: how many scalar operations it stands for.
    """

    target: Group
    op: Op
    operands: list[Take]
    nodes: int


@dataclass(eq=False, slots=True)
class Block:
    """Some of the terms of a sum of products: ``sum over k of left[:, k] * right[:, k]``.

    ``form`` says what it is as matrix algebra, with ``left`` and ``right`` in order:

    * ``"matrix"``: ``n = p * q``; the rows of ``left`` repeat q times each, those of
      ``right`` go round p times, so it is a (p, k) matrix times a (k, q) matrix;
    * ``"rows"``: row by row, each with its own left and right.

    A block without ``right`` is a plain sum of its terms.
    """

    left: Take
    right: Take | None = None
    form: str = "rows"
    p: int = 1
    q: int = 1

    def flat(self) -> tuple[Index, Index | None]:
        """The index of left and right for each member of the result, of shape (n, k)."""
        if self.right is None or self.form == "rows":
            return self.left.index, None if self.right is None else self.right.index
        return (
            np.repeat(self.left.index, self.q, axis=0),
            np.tile(self.right.index, (self.p, 1)),
        )

    def pairs(self, i: int) -> list[tuple[int, int]]:
        """The terms of one member: the places of left and right (-1 without right)."""
        left, right = self.flat()
        if right is None:
            return [(int(x), -1) for x in left[i]]
        return [(int(x), int(y)) for x, y in zip(left[i], right[i], strict=True)]


@dataclass(eq=False, slots=True)
class Contract:
    """A sum of products and single terms: what neurons are made of.

    Attributes:
        target: the result.
        blocks: its terms, by the groups that they come from.
        nodes: how many scalar operations it stands for.
    """

    target: Group
    blocks: list[Block]
    nodes: int


@dataclass(eq=False, slots=True)
class Reduce:
    """An operation on any number of operands, applied to each row of a matrix.

    Attributes:
        target: the result.
        op: the variadic operation.
        leading: its single operands (the index of ``pick``), each of shape (n,).
        rows: its other operands: pieces of shape (n, k), each of one group, to be
            laid side by side.
        nodes: how many scalar operations it stands for.
    """

    target: Group
    op: Op
    leading: list[Take]
    rows: list[Take]
    nodes: int


@dataclass(eq=False, slots=True)
class Join:
    """Groups laid end to end, so that what follows treats their members alike.

    Attributes:
        target: the result.
        pieces: whole groups, in order.
        nodes: how many scalar operations it stands for: none.
    """

    target: Group
    pieces: list[Take]
    nodes: int = 0

    def spans(self) -> list[tuple[Take, int, int]]:
        """Each piece, with the places in the result where it starts and ends."""
        found = []
        start = 0
        for piece in self.pieces:
            found.append((piece, start, start + piece.group.size))
            start += piece.group.size
        return found


Statement = Elementwise | Contract | Reduce | Join


def takes_of(statement: Statement) -> list[Take]:
    """All operands of a statement."""
    if isinstance(statement, Elementwise):
        return statement.operands
    if isinstance(statement, Reduce):
        return [*statement.leading, *statement.rows]
    if isinstance(statement, Join):
        return statement.pieces
    return [
        take for block in statement.blocks for take in (block.left, block.right) if take is not None
    ]


@dataclass(eq=False, slots=True)
class Program:
    """A function as statements over vectors.

    Attributes:
        statements: in order.
        parameters: the group of all parameters.
        constants: the group of all constants.
        inputs: a group for each argument.
        outputs: the results.
        structure: how the function returns them.
        requested: how many of the parameters a gradient is asked for, counted from the first.
        scalar_nodes: how many scalar operations the function has.
    """

    statements: list[Statement]
    parameters: Group
    constants: Group
    inputs: list[Group]
    outputs: list[Take]
    structure: Structure
    requested: int
    scalar_nodes: int
    notes: dict[str, Any] = field(default_factory=dict)
