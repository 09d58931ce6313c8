"""What the parts of this folder know of a formula: an operation and its operands."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Protocol, TypeVar

from chainrule.operation import Op

__all__ = ["Expression", "postorder", "same_number", "tree_size"]


class Expression(Protocol):
    """A name, a number, or an operation on expressions and plain numbers.

    A name has no ``op`` and no operands; a number that stands alone has no ``op``
    and no name, and itself as its one operand.
    """

    @property
    def name(self) -> str:
        """What it is called; empty for all but a name."""

    @property
    def op(self) -> Op | None:
        """The operation; None for a name or a number."""

    @property
    def operands(self) -> Sequence[Expression | float]:
        """What the operation applies to."""

    @property
    def is_gate(self) -> bool:
        """Whether this is what a rule answers for a branch: ``where(condition, 1, 0)``.

        Or ``where(condition, 0, 1)``, for the other branch.  The 0 stands for `NO_EDGE`.
        """


E = TypeVar("E", bound=Expression)


def postorder(root: E) -> list[E]:
    """The expressions that ``root`` is made of, each once, operands before results."""
    order: list[E] = []
    seen = {id(root)}
    # A path of its own instead of recursion lets a formula be as deep as it likes.
    path: list[tuple[E, Iterator[object]]] = [(root, iter(root.operands))]
    while path:
        node, rest = path[-1]
        for x in rest:
            if not isinstance(x, float) and id(x) not in seen:
                seen.add(id(x))
                operand: E = x  # type: ignore[assignment]  # a tree holds its own kind
                path.append((operand, iter(operand.operands)))
                break
        else:
            order.append(node)
            path.pop()
    return order


def tree_size(order: Sequence[Expression]) -> int:
    """How many parts the last of ``order`` has when it is written out.

    A part that is used twice is written twice, so this may be far more than ``len(order)``.
    """
    sizes: dict[int, int] = {}
    for node in order:
        sizes[id(node)] = 1 + sum(
            1 if isinstance(x, float) else sizes[id(x)] for x in node.operands
        )
    return sizes[id(order[-1])]


def same_number(x: object, y: object) -> bool:
    """Whether both are floats and the same one, ``nan`` and the sign of 0 included."""
    if not (isinstance(x, float) and isinstance(y, float)):
        return False
    if x != x or y != y:
        return x != x and y != y
    return x == y and math.copysign(1.0, x) == math.copysign(1.0, y)
