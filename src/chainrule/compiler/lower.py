"""Stages 2 to 4: from scalar nodes to statements over vectors.

* *Fuse*: a chain of additions becomes one sum of products.
* *Group*: nodes at the same depth that do the same with operands from the same
  groups become one statement.
* *Recognise*: sums of products that are a matrix product are called one.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, Final

import numpy as np

from chainrule import ops
from chainrule.compiler.program import (
    Block,
    Contract,
    Elementwise,
    Group,
    Index,
    Join,
    Program,
    Reduce,
    Statement,
    Take,
)
from chainrule.compiler.trace import Trace
from chainrule.operation import VARIADIC, Op, VariadicOp
from chainrule.structure import Structure

__all__ = ["lower"]

_SUMS: Final = (ops.add, ops.sum)
_UNEVEN: Final = 3  # statements of one level with one operation, from which on joining is tried
_WORTH: Final = 2 / 3  # joining is done if it leaves less than this share of the statements


@dataclass(slots=True)
class _Sum:
    """A fused chain of additions: the nodes of its products and of its single terms."""

    products: list[tuple[int, int]] = field(default_factory=list)
    singles: list[int] = field(default_factory=list)
    nodes: int = 0


def lower(trace: Trace, arguments: list[Structure], requested: int, wanted: int | None) -> Program:
    """The vector program of a trace.

    Args:
        trace: what the function does.
        arguments: the structure of each argument.
        requested: how many parameters a gradient is asked for, counted from the first.
        wanted: the argument that a gradient is asked for, or None.
    """
    assert trace.structure is not None
    alive = _alive(trace)
    sums = _fuse(trace, alive)

    def grouped(joining: bool) -> _Grouping:
        found = _Grouping(trace, arguments, requested, wanted, joining)
        for level in _levels(trace, alive, sums):
            found.add_level(level, sums)
        return found

    grouping = grouped(joining=False)
    if grouping.uneven:
        joined = grouped(joining=True)
        if len(joined.statements) < _WORTH * len(grouping.statements):
            grouping = joined
    count = sum(1 for i, op in enumerate(trace.ops) if op is not None and alive[i])
    return Program(
        statements=grouping.statements,
        parameters=grouping.parameters,
        constants=grouping.finished_constants(),
        inputs=grouping.inputs,
        outputs=[grouping.take([i]) for i in trace.outputs],
        structure=trace.structure,
        requested=requested,
        scalar_nodes=count,
    )


def _alive(trace: Trace) -> list[bool]:
    alive = [False] * len(trace.ops)
    for i in trace.outputs:
        alive[i] = True
    for i in range(len(alive) - 1, -1, -1):
        if alive[i]:
            for x in trace.operands[i]:
                alive[x] = True
    return alive


# --- fuse ----------------------------------------------------------------------------------


def _fuse(trace: Trace, alive: list[bool]) -> dict[int, _Sum | None]:
    """The sum that a node stands for; None for a node that became part of another's sum."""
    uses = [0] * len(alive)
    for i, operands in enumerate(trace.operands):
        if alive[i]:
            for x in operands:
                uses[x] += 1
    for i in trace.outputs:
        uses[i] += 1
    fused: dict[int, _Sum | None] = {}
    operations, operands_of = trace.ops, trace.operands
    for i in range(len(alive) - 1, -1, -1):
        if not alive[i] or i in fused or operations[i] not in _SUMS:
            continue
        found = _Sum()
        stack = [i]
        while stack:
            node = stack.pop()
            op = operations[node]
            if node == i or (uses[node] == 1 and op in _SUMS):
                found.nodes += 1
                stack.extend(reversed(operands_of[node]))
                if node != i:
                    fused[node] = None
            elif uses[node] == 1 and op is ops.mul:
                found.nodes += 1
                found.products.append(operands_of[node])  # type: ignore[arg-type]  # mul has two
                fused[node] = None
            else:
                found.singles.append(node)
        if found.nodes > 1 or operations[i] is ops.sum:
            fused[i] = found
    return fused


def _levels(trace: Trace, alive: list[bool], sums: dict[int, _Sum | None]) -> Iterator[list[int]]:
    """The nodes by depth, each in the order of creation."""
    depth = [0] * len(alive)
    levels: list[list[int]] = []
    for i, op in enumerate(trace.ops):
        if not alive[i] or op is None:
            continue
        deepest = 0
        for x in trace.operands[i]:
            if depth[x] > deepest:
                deepest = depth[x]
        if i in sums and sums[i] is None:
            depth[i] = deepest  # part of a sum: it adds no level of its own
            continue
        depth[i] = deepest + 1
        while len(levels) <= deepest:
            levels.append([])
        levels[deepest].append(i)
    yield from levels


# --- group ---------------------------------------------------------------------------------


class _Grouping:
    """Collects nodes into groups, level by level."""

    def __init__(
        self,
        trace: Trace,
        arguments: list[Structure],
        requested: int,
        wanted: int | None,
        joining: bool,
    ) -> None:
        self.trace = trace
        self.joining = joining
        self.uneven = False
        self.statements: list[Statement] = []
        self.parameters = Group("parameter", len(trace.parameters), batched=False, name="theta")
        self.parameters.differentiable = requested > 0
        self.constants = Group("constant", 0, batched=False, name="constants")
        self.inputs = [
            Group(
                "input",
                structure.size,
                batched=True,
                name=f"x{i}",
                differentiable=i == wanted,
                argument=i,
            )
            for i, structure in enumerate(arguments)
        ]
        self.groups: list[Group] = [self.parameters, self.constants, *self.inputs]
        self.of = [-1] * len(trace.ops)  # the number of the group that a node is in ...
        self.at = [-1] * len(trace.ops)  # ... and which member it is
        numbers: list[float] = []
        for i, leaf in trace.leaves.items():
            if leaf.kind == "parameter":
                self.of[i], self.at[i] = 0, leaf.place
            elif leaf.kind == "constant":
                self.of[i], self.at[i] = 1, len(numbers)
                numbers.append(leaf.constant)
            else:
                self.of[i], self.at[i] = 2 + leaf.argument, leaf.place
        self.numbers = numbers

    def finished_constants(self) -> Group:
        self.constants.values = np.array(self.numbers, dtype=np.float64)
        self.constants.size = len(self.numbers)
        return self.constants

    def take(self, nodes: list[int]) -> Take:
        """Nodes of one group, one for each member of a result."""
        return Take(
            self.groups[self.of[nodes[0]]], np.array([self.at[i] for i in nodes], dtype=np.intp)
        )

    def add_level(self, level: list[int], sums: dict[int, _Sum | None]) -> None:
        """Make the statements of all nodes of one depth."""
        families: dict[Any, list[int]] = {}
        sorted_terms: dict[int, dict[Any, list[Any]]] = {}
        of = self.of
        for i in level:
            total = sums.get(i)
            if total is not None:
                terms = self._sorted(total)
                sorted_terms[i] = terms
                key: Any = ("sum", tuple(sorted([(t, len(found)) for t, found in terms.items()])))
            else:
                op = self.trace.ops[i]
                key = (op.symbol, tuple([of[x] for x in self.trace.operands[i]]))  # type: ignore[union-attr]  # no leaf has a level
            families.setdefault(key, []).append(i)
        alike: dict[Any, list[tuple[Statement, list[int]]]] = {}
        for key, members in families.items():
            first = members[0]
            statement: Statement
            if first in sorted_terms:
                statement = self._contract(members, [sorted_terms[i] for i in members], sums)
            else:
                statement = self._operation(members)
            self.statements.append(statement)
            self.groups.append(statement.target)
            for place, i in enumerate(members):
                of[i] = len(self.groups) - 1
                self.at[i] = place
            target = statement.target
            same = alike.setdefault((key[0], target.batched, target.differentiable), [])
            same.append((statement, members))
        for found in alike.values():
            if len(found) >= _UNEVEN:
                self.uneven = True
                if self.joining:
                    self._join(found)

    def _join(self, found: list[tuple[Statement, list[int]]]) -> None:
        """Lay results of one operation end to end, such as those of sums of 1, 2, 3 .. terms.

        They could not be one statement, but what is done with them next can be.
        """
        pieces = [Take(s.target, np.arange(s.target.size)) for s, _ in found]
        target = self._target(sum([s.target.size for s, _ in found]), pieces)
        self.statements.append(Join(target, pieces))
        self.groups.append(target)
        members = [i for _, each in found for i in each]
        for place, i in enumerate(members):
            self.of[i] = len(self.groups) - 1
            self.at[i] = place

    def _sorted(self, total: _Sum) -> dict[Any, list[Any]]:
        """The terms of a sum by the groups that they come from."""
        of, at = self.of, self.at
        terms: dict[Any, list[Any]] = {}
        for x, y in total.products:
            if of[x] <= of[y]:
                terms.setdefault((of[x], of[y]), []).append((at[x], at[y]))
            else:
                terms.setdefault((of[y], of[x]), []).append((at[y], at[x]))
        for x in total.singles:
            terms.setdefault((of[x], -1), []).append(at[x])
        return terms

    def _contract(
        self,
        members: list[int],
        terms: list[dict[Any, list[Any]]],
        sums: dict[int, _Sum | None],
    ) -> Contract:
        blocks = []
        for left, right in terms[0]:
            found = np.array([t[left, right] for t in terms], dtype=np.intp)
            if right < 0:
                blocks.append(Block(Take(self.groups[left], found)))
            else:
                blocks.append(
                    _recognised(
                        Take(self.groups[left], found[:, :, 0]),
                        Take(self.groups[right], found[:, :, 1]),
                    )
                )
        takes = [take for block in blocks for take in (block.left, block.right) if take is not None]
        nodes = sum([sums[i].nodes for i in members])  # type: ignore[union-attr,misc]  # all are sums
        return Contract(self._target(len(members), takes), blocks, nodes)

    def _operation(self, members: list[int]) -> Statement:
        op = self.trace.ops[members[0]]
        assert op is not None
        operands = [self.trace.operands[i] for i in members]
        if op.arity != VARIADIC:
            takes = [self.take([o[j] for o in operands]) for j in range(op.arity)]
            return Elementwise(self._target(len(members), takes, op), op, takes, len(members))
        assert isinstance(op, VariadicOp)
        leading = [self.take([o[j] for o in operands]) for j in range(op.leading)]
        rows: list[Take] = []
        start = op.leading
        while start < len(operands[0]):
            end = start
            while (
                end < len(operands[0]) and self.of[operands[0][end]] == self.of[operands[0][start]]
            ):
                end += 1
            index = np.array([[self.at[x] for x in o[start:end]] for o in operands], dtype=np.intp)
            rows.append(Take(self.groups[self.of[operands[0][start]]], index))
            start = end
        target = self._target(len(members), [*leading, *rows], op)
        return Reduce(target, op, leading, rows, len(members))

    def _target(self, size: int, takes: list[Take], op: Op | None = None) -> Group:
        smooth = [take.group.differentiable for take in takes]
        return Group(
            "computed",
            size,
            batched=any(take.group.batched for take in takes),
            differentiable=any(smooth) and not (op is not None and _is_flat(op)),
        )


_FLAT: Final = frozenset(["<", "<=", ">", ">=", "==", "!=", "stop_gradient"])


def _is_flat(op: Op) -> bool:
    """Whether no gradient passes through an operation, whatever its operands."""
    return op.symbol in _FLAT


# --- recognise -----------------------------------------------------------------------------


def _recognised(left: Take, right: Take) -> Block:
    """A block of products, as a matrix product where it is one, best of a single row."""
    found = Block(left, right)
    for first, second in ((left, right), (right, left)):
        n, k = first.index.shape
        q = _run(first.index)
        if n % q:
            continue
        p = n // q
        rows, columns = first.index[::q], second.index[:q]
        if (
            (first.index == np.repeat(rows, q, axis=0)).all()
            and (second.index == np.tile(columns, (p, 1))).all()
            and not (k == 1 and min(p, q) == 1)
            and (first.group.batched or not second.group.batched or min(p, q) > 1)
            and not (n == 1 and first.group.batched == second.group.batched)
            and (found.form == "rows" or p == 1)
        ):
            sides = Take(first.group, rows), Take(second.group, columns)
            found = Block(*sides, form="matrix", p=p, q=q)
    return found


def _run(index: Index) -> int:
    """How many rows at the start are the same."""
    different = (index != index[0]).any(axis=1)
    return int(different.argmax()) if different.any() else len(index)
