"""What an explanation calls the values of a graph."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import chain, count
from typing import Final

from chainrule.operation import ROWS
from chainrule.symbol.notation import NAME, NUMBERS
from chainrule.value import Value

__all__ = ["names_of"]

TAKEN: Final = {*NUMBERS, *(op.name for op in ROWS.values())}
"""Names that mean something else in a formula."""


def names_of(nodes: Sequence[Value], root: Value) -> dict[int, str]:
    """A name that a formula can hold for each node, by its ``id``, none twice.

    It is the label as far as possible; without one ``y`` for the root, ``x1``, ``x2`` ...
    for leaves, and ``v1``, ``v2`` ... for the rest.
    """
    used = set(TAKEN)
    names: dict[int, str] = {}

    def take(node: Value, *wishes: str, counted: str, start: int) -> None:
        numbered = (counted.format(i) for i in count(start))
        name = next(x for x in chain(wishes, numbered) if x not in used)
        used.add(name)
        names[id(node)] = name

    for node in nodes:
        if node.label:
            stem = _as_name(node.label)
            take(node, stem, counted=stem + "_{}", start=2)
    if not root.label:
        take(root, "y", "result", counted="result_{}", start=2)
    for node in nodes:
        if id(node) not in names:
            take(node, counted="x{}" if node.is_leaf else "v{}", start=1)
    return names


def _as_name(label: str) -> str:
    """The label, changed as far as a formula demands it."""
    label = re.sub(r"\.(\d+)", r"[\1]", label)  # a parameter: layers.0.weights.1
    if re.fullmatch(NAME, label):
        return label
    label = re.sub(r"\W+", "_", label).strip("_")
    return label if re.fullmatch(NAME, label) else f"n_{label}"
