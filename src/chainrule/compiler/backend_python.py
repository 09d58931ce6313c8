"""The living definition: a program carried out number by number, in plain Python.

Slow and obvious; the other back ends are tested against it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from chainrule.compiler.program import (
    Contract,
    Elementwise,
    Group,
    Join,
    Program,
    Reduce,
    Statement,
    Take,
)
from chainrule.operation import NO_EDGE

__all__ = ["run_example"]

Vectors = dict[Group, list[float]]


def run_example(
    program: Program,
    theta: Sequence[float],
    inputs: Sequence[Sequence[float]],
    seeds: Sequence[float] | None,
) -> tuple[list[float], Vectors]:
    """Run a program on one example.

    Args:
        program: what to run.
        theta: the parameters.
        inputs: for each argument its numbers.
        seeds: a weight for each output, or None for the outputs alone.

    Returns:
        The outputs, and the gradient of their weighted sum by each group.
    """
    values: Vectors = {program.parameters: list(theta)}
    assert program.constants.values is not None
    values[program.constants] = program.constants.values.tolist()
    for group, numbers in zip(program.inputs, inputs, strict=True):
        values[group] = list(numbers)
    for statement in program.statements:
        values[statement.target] = _forward(statement, values)
    outputs = [values[take.group][int(take.index[0])] for take in program.outputs]
    if seeds is None:
        return outputs, {}

    adjoints: Vectors = {group: [0.0] * len(numbers) for group, numbers in values.items()}
    active = {group: [False] * len(numbers) for group, numbers in values.items()}

    def give(group: Group, i: int, amount: float) -> None:
        adjoints[group][i] += amount
        active[group][i] = True

    for take, seed in zip(program.outputs, seeds, strict=True):
        give(take.group, int(take.index[0]), seed)
    for statement in reversed(program.statements):
        if not statement.target.differentiable:
            continue
        for i in range(statement.target.size):
            if active[statement.target][i]:
                _backward(statement, i, values, adjoints[statement.target][i], give)
    return outputs, adjoints


def _number(take: Take, place: Any, values: Vectors) -> float:
    return values[take.group][int(take.index[place])]


def _forward(statement: Statement, values: Vectors) -> list[float]:
    if isinstance(statement, Join):
        return [x for piece in statement.pieces for x in values[piece.group]]
    found = []
    for i in range(statement.target.size):
        if isinstance(statement, Elementwise):
            y = statement.op.value([_number(take, i, values) for take in statement.operands])
        elif isinstance(statement, Reduce):
            y = statement.op.value([values[take.group][j] for take, j in _operands(statement, i)])
        else:
            y = 0.0
            for block in statement.blocks:
                for left, right in block.pairs(i):
                    x = values[block.left.group][left]
                    y += x if block.right is None else x * values[block.right.group][right]
        found.append(y)
    return found


def _operands(statement: Reduce, i: int) -> list[tuple[Take, int]]:
    """The operands of one row: where each comes from."""
    found = [(take, int(take.index[i])) for take in statement.leading]
    for take in statement.rows:
        found += [(take, int(j)) for j in take.index[i]]
    return found


def _backward(
    statement: Statement,
    i: int,
    values: Vectors,
    gradient: float,
    give: Callable[[Group, int, float], None],
) -> None:
    if isinstance(statement, Join):
        for piece, start, end in statement.spans():
            if start <= i < end:
                give(piece.group, i - start, gradient)
        return
    if isinstance(statement, Contract):
        for block in statement.blocks:
            for left, right in block.pairs(i):
                if block.right is None:
                    give(block.left.group, left, gradient)
                else:
                    x, w = values[block.left.group][left], values[block.right.group][right]
                    give(block.left.group, left, gradient * w)
                    give(block.right.group, right, gradient * x)
        return
    if isinstance(statement, Elementwise):
        places = [(take, int(take.index[i])) for take in statement.operands]
    else:
        places = _operands(statement, i)
    operands = [values[take.group][j] for take, j in places]
    y = values[statement.target][i]
    wanted = [take.group.differentiable for take, _ in places]
    for (take, j), partial in zip(
        places, statement.op.derivatives(y, operands, wanted), strict=True
    ):
        if partial is not NO_EDGE:
            give(take.group, j, gradient * partial)
