"""The derivative of a formula: backpropagation, written down instead of computed.

From the result to the operands, each part of the formula hands its own derivative on,
times the local derivative that the table's rule writes.  What a part receives from
all its uses adds up.

A branch that was not taken passes nothing on, not even ``0 * inf``.  Numbers know which
branch that is; a formula does not, so a derivative is kept together with its *guard*,
the branches that must have been taken for it to count, and it is only multiplied inside
them.  So the derivative of ``where(c, a, b)`` comes out as ``where(c, da, db)``.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from heapq import heapify, heappop, heappush
from itertools import count
from typing import Any, final

from chainrule import ops
from chainrule.operation import NO_EDGE
from chainrule.symbol.expression import Expression, postorder, same_number

__all__ = ["derivative"]


@final
@dataclass(frozen=True, slots=True, eq=False)
class _Fork:
    """A condition, met inside a branch of others."""

    outer: _Guard | None
    condition: Any
    depth: int


@final
@dataclass(frozen=True, slots=True)
class _Guard:
    """A branch that must have been taken."""

    fork: _Fork
    taken: bool

    @property
    def opposite(self) -> _Guard:
        """The other branch."""
        return _Guard(self.fork, not self.taken)

    def choose(self, inside: Any, outside: Any) -> Any:
        """One thing in the branch, another in its opposite."""
        if same_number(inside, outside):
            return inside
        branches = (inside, outside) if self.taken else (outside, inside)
        return ops.where(self.fork.condition, *branches)


@final
@dataclass(frozen=True, slots=True)
class _Term:
    """A derivative that counts inside ``guard``, and there only where ``reached`` is not 0."""

    guard: _Guard | None
    total: Any
    reached: Any = 1.0


def derivative(root: Expression, name: str) -> Any:
    """The derivative by a name, just as the rules give it.

    Args:
        root: the formula.
        name: by what to differentiate.

    Returns:
        A formula, or a plain number.
    """
    order = postorder(root)
    moving: set[int] = set()  # what depends on the name
    for node in order:
        if node.name == name or any(id(x) in moving for x in node.operands):
            moving.add(id(node))
    forks = _Forks()
    received: dict[int, list[_Term]] = {id(root): [_Term(None, 1.0)]}
    answers: list[_Term] = []
    for node in reversed(order):
        terms = received.pop(id(node), None)
        if terms is None or id(node) not in moving:
            continue
        if node.op is None:
            answers += terms
            continue
        term = _gathered(terms)
        guard = term.guard
        if not isinstance(term.reached, float):
            guard = forks.guard(guard, term.reached, True)
        wanted = [id(x) in moving for x in node.operands]
        slopes = node.op.derivatives(node, node.operands, wanted)
        for x, slope in zip(node.operands, slopes, strict=True):
            if slope is NO_EDGE:
                continue
            if getattr(slope, "is_gate", False):
                condition, first, _ = slope.operands
                handed = _Term(forks.guard(guard, condition, first == 1.0), term.total)
            else:
                handed = _Term(guard, ops.mul(term.total, slope))
            received.setdefault(id(x), []).append(handed)
    if not answers:
        return 0.0
    return _gathered(answers, entirely=True).total


class _Forks:
    """Makes forks, one object for each place, so that equal guards are recognized."""

    def __init__(self) -> None:
        self._made: dict[tuple[_Guard | None, int], _Fork] = {}

    def guard(self, outer: _Guard | None, condition: Any, taken: bool) -> _Guard:
        """The guard of a branch inside another."""
        place = (outer, id(condition))
        if place not in self._made:
            depth = outer.fork.depth + 1 if outer else 1
            self._made[place] = _Fork(outer, condition, depth)
        return _Guard(self._made[place], taken)


def _gathered(terms: Sequence[_Term], entirely: bool = False) -> _Term:
    """The sum of terms: inside the guards that all of them share, or ``entirely`` outside."""
    sums: dict[_Guard | None, _Term] = {}
    for term in terms:
        _add(sums, term)
    # From the innermost branch outwards, so that both sides of a `where` are met together.
    turn = count()
    waiting = [(-guard.fork.depth, next(turn), guard) for guard in sums if guard]
    heapify(waiting)
    while len(sums) > 1 or (entirely and None not in sums):
        *_, guard = heappop(waiting)
        inside = sums.pop(guard, None)
        if inside is None:  # gone already, as the other side of a branch
            continue
        outer = guard.fork.outer
        outside = sums.pop(guard.opposite, _Term(outer, 0.0, 0.0))
        if outer and outer not in sums:
            heappush(waiting, (-outer.fork.depth, next(turn), outer))
        total = guard.choose(inside.total, outside.total)
        _add(sums, _Term(outer, total, guard.choose(inside.reached, outside.reached)))
    (found,) = sums.values()
    return found


def _add(sums: dict[_Guard | None, _Term], term: _Term) -> None:
    before = sums.get(term.guard)
    if before is not None:
        total = ops.add(before.total, term.total)
        term = _Term(term.guard, total, _either(before.reached, term.reached))
    sums[term.guard] = term


def _either(a: Any, b: Any) -> Any:
    return 1.0 if 1.0 in (a, b) else ops.where(a, 1.0, b)
