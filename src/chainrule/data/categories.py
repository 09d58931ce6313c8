"""Text in a feature column: one input per value, 1 where the row has it and 0 elsewhere."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

__all__ = ["MOST_VALUES", "expanded", "one_hot"]

MOST_VALUES: Final = 100
"""How many different texts a column may hold: more are names or remarks, not kinds."""


def expanded(columns: Sequence[str], categories: Mapping[str, Sequence[str]]) -> list[str]:
    """The names of a network's inputs for columns of which some hold text.

    Args:
        columns: the names of the feature columns, in order.
        categories: for each column of text its values, in order.

    Example:
        >>> expanded(["size", "colour"], {"colour": ["blue", "red"]})
        ['size', 'colour=blue', 'colour=red']
    """
    names: list[str] = []
    for column in columns:
        values = categories.get(column)
        names += [column] if values is None else [f"{column}={value}" for value in values]
    return names


def one_hot(value: str, values: Sequence[str]) -> list[float]:
    """A 1 at the value's place, and 0 at all others.

    Example:
        >>> one_hot("red", ["blue", "red"])
        [0.0, 1.0]
    """
    return [1.0 if value == known else 0.0 for known in values]
