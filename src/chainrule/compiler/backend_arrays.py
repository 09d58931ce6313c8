"""The back end for very long programs: statements carried out one by one, on arrays.

A recurrence of ten thousand steps has tens of thousands of statements; as source, it
would take Python longer to read than to run, if Python read it at all.  Here the
program stays data.  It gives the same functions as the NumPy source does.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from chainrule.compiler import runtime
from chainrule.compiler.backend_numpy import SPELLINGS, Source
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
    takes_of,
)
from chainrule.compiler.rules import RESULT, Expression, Speller, elementwise_partials, literal
from chainrule.operation import CALL, ROWS, VARIADIC

__all__ = ["functions"]

Array = npt.NDArray[Any]


def functions(program: Program, wanted: int | None, dtype: Any) -> dict[str, Callable[..., Any]]:
    """The functions of a program, without source.

    Args:
        program: what to carry out.
        wanted: the argument that a gradient is asked for; None for the parameters.
        dtype: what the constants are converted to.

    Returns:
        ``forward(theta, *inputs, rows)`` and ``forward_backward(theta, *inputs, seed,
        rows)``, as `chainrule.compiler.backend_numpy.Source` describes them.
    """
    asked = program.parameters if wanted is None else program.inputs[wanted]
    partials = _Partials()
    rules = [
        partials.of(s) if isinstance(s, Elementwise) and s.target.differentiable else None
        for s in program.statements
    ]
    prepared = _Prepared(program, rules, _places(program), _branches(program, rules))

    def forward(theta: Array, *given: Any) -> Array:
        *inputs, rows = given
        return _Pass(prepared, theta, inputs, rows, dtype).outputs()

    def forward_backward(theta: Array, *given: Any) -> tuple[Array, ...]:
        *inputs, seed, rows = given
        run = _Pass(prepared, theta, inputs, rows, dtype)
        run.backward(seed)
        gradient = run.adjoint(asked)
        found = run.outputs()
        first, *others = np.split(found, [1], axis=1) if found.shape[1] > 1 else [found]
        return first, *others, gradient[0, : program.requested] if wanted is None else gradient

    return {"forward": forward, "forward_backward": forward_backward}


# --- the table's operations on arrays -------------------------------------------------------


def _operations() -> dict[str, Callable[..., Any]]:
    """Each operation as a function of arrays, spelled as in NumPy source."""
    speller = Speller(SPELLINGS, "np.inf", "np.nan")
    lines = []
    for op in ROWS.values():
        if op.arity != VARIADIC:
            operands = [f"a{i}" for i in range(op.arity)]
            text, _ = speller.apply(op, [(a, CALL) for a in operands])
            lines.append(f"def {op.name}_({', '.join(operands)}):\n    return {text}\n")
    found = Source("\n".join(lines), {}).load()
    return {op.name: found[f"{op.name}_"] for op in ROWS.values() if op.arity != VARIADIC}


OPERATIONS: Final = _operations()


class _Partials:
    """The rules of statements as expressions; statements alike share one."""

    def __init__(self) -> None:
        self.known: dict[Any, Expression] = {}

    def of(self, statement: Elementwise) -> Expression:
        numbers = [literal(take) for take in statement.operands]
        wanted = tuple([take.group.differentiable for take in statement.operands])
        key = (statement.op.name, tuple(map(repr, numbers)), wanted)
        if key not in self.known:
            self.known[key] = elementwise_partials(statement)
        return self.known[key]


@dataclass(frozen=True, slots=True)
class _Prepared:
    """What all runs of a program share.

    Attributes:
        program: the program.
        rules: for each statement the expression of its derivatives, if it needs one.
        places: the members of each take: a slice, which NumPy is quick at, or an array.
        branches: whether some adjoints may not be there at all.
    """

    program: Program
    rules: Sequence[Expression | None]
    places: dict[int, Any]
    branches: bool


def _places(program: Program) -> dict[int, Any]:
    takes = [take for statement in program.statements for take in takes_of(statement)]
    return {id(take): _place(take.index) for take in [*takes, *program.outputs]}


def _place(index: Index) -> Any:
    flat = index.ravel()
    start, n = int(flat[0]), len(flat)
    step = int(flat[1]) - start if n > 1 else 1
    if step > 0 and (flat == start + step * np.arange(n)).all():
        return slice(start, start + step * (n - 1) + 1, step)
    return index


def _branches(program: Program, rules: Sequence[Expression | None]) -> bool:
    """Whether anything stops a gradient: a branch, a choice, a comparison, `stop_gradient`."""
    for statement, rule in zip(program.statements, rules, strict=True):
        smooth = [take.group.differentiable for take in takes_of(statement)]
        if any(smooth) and not statement.target.differentiable:
            return True
        if isinstance(statement, Reduce) and statement.op.name == "pick":
            return True
        if rule is not None:
            for partial, differentiable in zip(rule.partials, smooth, strict=True):
                if differentiable and (partial is None or partial.gate):
                    return True
    return False


# --- one run --------------------------------------------------------------------------------


class _Pass:
    """The values of one run, and their adjoints.

    The array of a group has the shape (rows, members), or (1, members) where it is the
    same for all rows.  In a program with branches ``active`` says which adjoints are there
    at all: the others serve only branches that were not taken, and must meet no infinity.
    """

    def __init__(
        self,
        prepared: _Prepared,
        theta: Array,
        inputs: Sequence[Array],
        rows: int,
        dtype: Any,
    ) -> None:
        self.program = program = prepared.program
        self.prepared = prepared
        self.places = prepared.places
        self.rows = rows
        self.dtype = dtype
        assert program.constants.values is not None
        self.values: dict[Group, Array] = {
            program.parameters: theta[None, :],
            program.constants: program.constants.values.astype(dtype)[None, :],
            **dict(zip(program.inputs, inputs, strict=True)),
        }
        self.adjoints: dict[Group, Array] = {}
        self.active: dict[Group, Array] = {}
        for statement in program.statements:
            self.values[statement.target] = self._forward(statement)

    def outputs(self) -> Array:
        """All outputs, of shape (rows, outputs)."""
        columns = [self._take(take) for take in self.program.outputs]
        return np.concatenate([np.broadcast_to(c, (self.rows, 1)) for c in columns], axis=1)

    def _take(self, take: Take) -> Array:
        """Members of a group, of shape (rows or 1, *index.shape)."""
        found = self.values[take.group][:, self.places[id(take)]]
        return found if take.index.ndim + 1 == found.ndim else found.reshape(-1, *take.index.shape)

    # --- forward ------------------------------------------------------------------------------

    def _forward(self, statement: Statement) -> Array:
        found: Array
        if isinstance(statement, Elementwise):
            operands = [self._take(take) for take in statement.operands]
            found = np.asarray(OPERATIONS[statement.op.name](*operands), dtype=self.dtype)
        elif isinstance(statement, Join):
            found = runtime.beside(*[self.values[piece.group] for piece in statement.pieces])
        elif isinstance(statement, Reduce):
            options = runtime.beside(*[self._take(take) for take in statement.rows])
            if statement.op.name == "pick":
                found = runtime.pick(self._take(statement.leading[0])[..., None], options)[..., 0]
            else:
                found = runtime.logsumexp(options)[..., 0]
        else:
            found = self._sum_up(statement.blocks[0])
            for block in statement.blocks[1:]:
                found = found + self._sum_up(block)
        return found

    def _sum_up(self, block: Block) -> Array:
        left = self._take(block.left)
        found: Array
        if block.right is None:
            found = left.sum(axis=-1)
        elif block.form == "matrix":
            found = left @ self._take(block.right).swapaxes(-1, -2)
            found = found.reshape(len(found), -1)
        else:
            found = (left * self._take(block.right)).sum(axis=-1)
        return found

    # --- backward -----------------------------------------------------------------------------

    def adjoint(self, group: Group) -> Array:
        """What was given to a group in all."""
        if group not in self.adjoints:
            shape = self.values[group].shape
            self.adjoints[group] = np.zeros(shape, self.dtype)
            if self.prepared.branches:
                self.active[group] = np.zeros(shape, dtype=bool)
        return self.adjoints[group]

    def _give(self, take: Take, amount: Array, mask: Array) -> None:
        """Add to the adjoint of the members taken, where the mask is true."""
        group = take.group
        if not group.differentiable:
            return
        place = self.places[id(take)]
        shared = len(self.values[group]) < max(len(amount), len(mask))
        if self.prepared.branches:
            shape = np.broadcast_shapes(amount.shape, mask.shape)
            amount, mask = np.where(mask, amount, 0.0), np.broadcast_to(mask, shape)
        if shared:
            amount = amount.sum(axis=0, keepdims=True)
        adjoint = self.adjoint(group)
        if isinstance(place, slice):
            adjoint[:, place] += amount.reshape(len(amount), -1)
        else:
            runtime.scatter_add(adjoint, place, amount.astype(self.dtype, copy=False))
        if self.prepared.branches:
            reached: Any = mask.any(axis=0, keepdims=True) if shared else mask
            runtime.scatter_or(self.active[group], take.index, reached)

    def backward(self, seed: Array) -> None:
        """Give ``seed`` to the first output, and go back from there."""
        everywhere = np.ones((1, 1), dtype=bool)
        self._give(self.program.outputs[0], seed, everywhere)
        for statement, expression in zip(
            reversed(self.program.statements), reversed(self.prepared.rules), strict=True
        ):
            target = statement.target
            if not target.differentiable or target not in self.adjoints:
                continue
            d, mask = self.adjoints.pop(target), self.active.pop(target, everywhere)
            if isinstance(statement, Elementwise):
                assert expression is not None
                self._back_elementwise(statement, expression, d, mask)
            elif isinstance(statement, Join):
                mask = np.broadcast_to(mask, d.shape)
                for piece, start, end in statement.spans():
                    self._give(piece, d[:, start:end], mask[:, start:end])
            elif isinstance(statement, Reduce):
                self._back_reduce(statement, d, mask)
            else:
                self._back_sum(statement, d, mask)

    def _back_elementwise(
        self, statement: Elementwise, expression: Expression, d: Array, mask: Array
    ) -> None:
        trace = expression.trace
        known: dict[int, Any] = {}
        for i, op in enumerate(trace.ops):
            if op is not None:
                known[i] = OPERATIONS[op.name](*[known[x] for x in trace.operands[i]])
                continue
            leaf = trace.leaves[i]
            if leaf.kind == "constant":
                known[i] = leaf.constant
            elif leaf.place == RESULT:
                known[i] = self.values[statement.target]
            else:
                known[i] = self._take(statement.operands[leaf.place])
        for take, partial in zip(statement.operands, expression.partials, strict=True):
            if partial is None:
                continue
            if partial.gate:
                self._give(take, d, mask & (np.asarray(known[partial.node]) != 0.0))
            else:
                slope = known[partial.node] if partial.number is None else partial.number
                self._give(take, d * slope, mask)

    def _back_reduce(self, statement: Reduce, d: Array, mask: Array) -> None:
        d, mask = d[..., None], mask[..., None]
        if statement.op.name == "pick":
            count = sum([take.index.shape[1] for take in statement.rows])
            amount = d
            mask = mask & runtime.picked(self._take(statement.leading[0])[..., None], count)
        else:
            options = runtime.beside(*[self._take(take) for take in statement.rows])
            amount = d * runtime.softmax(options, self.values[statement.target][..., None])
        shape = np.broadcast_shapes(amount.shape, mask.shape)
        amount, mask = np.broadcast_to(amount, shape), np.broadcast_to(mask, shape)
        start = 0
        for take in statement.rows:
            end = start + take.index.shape[1]
            self._give(take, amount[..., start:end], mask[..., start:end])
            start = end

    def _back_sum(self, statement: Contract, d: Array, mask: Array) -> None:
        for block in statement.blocks:
            left, right = block.left, block.right
            if right is None:
                whole = (*d.shape, left.index.shape[1])
                self._give(left, np.broadcast_to(d[..., None], whole), mask[..., None])
            elif block.form == "matrix":
                shape = (len(d), block.p, block.q)
                to_left = d.reshape(shape)
                reach_left = np.broadcast_to(mask, d.shape).reshape(shape)
                for mine, other, slopes, reached in (
                    (left, right, to_left, reach_left),
                    (right, left, to_left.swapaxes(1, 2), reach_left.swapaxes(1, 2)),
                ):
                    if mine.group.differentiable:
                        amount = runtime.masked_product(slopes, reached, self._take(other))
                        given: Any = reached.any(axis=-1, keepdims=True)
                        self._give(mine, amount, given)
            else:
                self._give(left, d[..., None] * self._take(right), mask[..., None])
                self._give(right, d[..., None] * self._take(left), mask[..., None])
