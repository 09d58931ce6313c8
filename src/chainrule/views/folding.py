"""Folding a graph that is too large to be drawn whole.

A parameter's label (``layers.0.neurons.2.weights.1``) tells which neuron it belongs to.
What is computed from it belongs there too: its product with an input, the sum of those,
and the first activation after that.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final, final

from chainrule.nn.activations import ACTIVATIONS
from chainrule.operation import ROWS
from chainrule.value import Value

__all__ = ["Group", "groups_of", "neighbourhood"]

_PARAMETER: Final = re.compile(
    r"(?:(?P<layer>(?:.*\.)?layers\.\d+)\.)?(?P<neuron>neurons\.\d+)\.(?:weights\.\d+|bias)"
)

MANY_USES: Final = 8
"""The neighbourhood of a value does not go on through one with more uses than this."""

FEW: Final = 12
"""So many values that belong to no neuron are shown one by one."""


@final
@dataclass(frozen=True, slots=True)
class Group:
    """Values that are drawn as one box.

    Attributes:
        name: the neuron or layer, or what else the values have in common.
        nodes: the values, operands before results.
    """

    name: str
    nodes: list[Value]


def groups_of(order: Sequence[Value], root: Value, by: str) -> list[Group]:
    """Fold a graph by ``"neuron"`` or by ``"layer"``.

    Args:
        order: all values, operands before results.
        root: the result, which stays by itself unless it is a neuron's output.
        by: one of the two.

    Returns:
        The groups, those of a single value included; empty if no label names a neuron.
    """
    member: dict[int, str] = {}
    growing: set[int] = set()  # in a neuron whose activation has not come yet
    for node in order:
        name = _labelled(node, by) if node.is_leaf else _joined(node, member, growing)
        if name:
            member[id(node)] = name
            if node.is_leaf or not _is_activation(node):
                growing.add(id(node))
    if not member:
        return []
    stage = _stages(order, member)
    after = {stage[i]: name for i, name in member.items()}
    others: dict[str, list[Value]] = {}
    for node in order:
        if id(node) not in member and node is not root:
            others.setdefault(_place(node, stage, after), []).append(node)
    for name, nodes in others.items():
        if len(nodes) > FEW:
            member.update({id(x): name for x in nodes})
    groups: dict[str | int, Group] = {}
    for node in order:
        key = member.get(id(node), id(node))
        name = key if isinstance(key, str) else ""
        groups.setdefault(key, Group(name, [])).nodes.append(node)
    return list(groups.values())


def _labelled(leaf: Value, by: str) -> str:
    found = _PARAMETER.fullmatch(leaf.label)
    if found is None:
        return ""
    layer, neuron = found["layer"], found["neuron"]
    if by == "layer":
        return layer or "layer"
    return f"{layer}.{neuron}" if layer else neuron


def _is_activation(node: Value) -> bool:
    op = ROWS.get(node._op)
    return op is not None and op.name in ACTIVATIONS


def _joined(node: Value, member: dict[int, str], growing: set[int]) -> str:
    """The neuron or layer that a computed value belongs to."""
    operands = node._prev
    names = {member[id(x)] for x in operands if id(x) in growing}
    if len(names) != 1:
        return ""
    op = ROWS.get(node._op)
    if op is None:
        return ""
    if op.name == "mul":
        belongs = any(x.is_leaf for x in operands if id(x) in growing)
    elif op.name in ("add", "sum"):
        belongs = all(id(x) in growing for x in operands)
    else:
        belongs = _is_activation(node) and not operands[0].is_leaf
    return names.pop() if belongs else ""


def _stages(order: Iterable[Value], member: dict[int, str]) -> dict[int, int]:
    """How many neurons stand behind each value on the longest way to it."""
    stage: dict[int, int] = {}
    for node in order:
        name = member.get(id(node))
        found = 1 if name else 0
        for x in node._prev:
            step = 1 if name and member.get(id(x)) != name else 0
            found = max(found, stage[id(x)] + (0 if x.is_leaf else step))
        stage[id(node)] = found
    return stage


def _place(node: Value, stage: dict[int, int], after: dict[int, str]) -> str:
    if node.is_leaf:
        return "inputs"
    name = after.get(stage[id(node)])
    return f"after {re.sub(r'[.]neurons[.].*', '', name)}" if name else "before the network"


def neighbourhood(
    order: Sequence[Value], centre: Value, radius: int | None, limit: int
) -> tuple[set[int], int, bool]:
    """The values within so many steps of one, up or down the graph.

    Args:
        order: all values.
        centre: the one.
        radius: the number of steps; None for as many as ``limit`` allows.
        limit: how many values there may be.

    Returns:
        The ``id`` of each, the steps taken, and whether the last step had to leave some out.
    """
    users: dict[int, list[Value]] = {}
    for node in order:
        for x in node._prev:
            users.setdefault(id(x), []).append(node)
    found = {id(centre)}
    ring = [centre]
    steps = 0
    while ring and (radius is None or steps < radius):
        beyond = {
            id(x): x
            for node in ring
            for x in (*node._prev, *_few(users.get(id(node), ())))
            if id(x) not in found
        }
        room = limit - len(found)
        if len(beyond) > room:
            if radius is None and steps:
                break
            return found.union(list(beyond)[:room]), steps + 1, True
        found.update(beyond)
        ring = list(beyond.values())
        steps += bool(ring)
    return found, steps, False


def _few(users: Sequence[Value]) -> Sequence[Value]:
    return users if len(users) <= MANY_USES else ()
