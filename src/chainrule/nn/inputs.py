"""What users hand to networks and losses: lists, tuples, NumPy arrays, single numbers."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from chainrule.errors import ShapeError, describe
from chainrule.operation import Operand, number

__all__ = ["checked_row", "is_sequence", "listed"]


def listed(xs: Iterable[Any]) -> list[Any]:
    """A new list of anything that can be gone through.

    Raises:
        ShapeError: it is a single thing.

    Example:
        >>> listed((1.0, 2.0))
        [1.0, 2.0]
    """
    if not hasattr(type(xs), "__iter__") or getattr(xs, "ndim", 1) == 0:
        raise ShapeError(
            f"the inputs must be a list with one number per input; got {describe(xs)}. "
            "A single input goes in brackets too: net([0.5])."
        )
    # NumPy's own numbers are slow one by one, so they become Python's all at once.
    return list(xs.tolist() if hasattr(xs, "tolist") else xs)


def is_sequence(x: object) -> bool:
    """Whether ``x`` is several things: a list or an array, but no text and no number.

    Example:
        >>> is_sequence([1.0]), is_sequence(1.0), is_sequence("1.0")
        (True, False, False)
    """
    if isinstance(x, (str, bytes, Operand)) or not hasattr(type(x), "__len__"):
        return False
    return getattr(x, "ndim", 1) != 0  # an array without dimensions is a number


def checked_row(inputs: Iterable[Any]) -> list[Any]:
    """One row of inputs, ready for arithmetic.

    Args:
        inputs: a list, a tuple, a NumPy row ... of numbers and `Value`s.

    Returns:
        A new list: plain floats, and operands as they are.

    Raises:
        ShapeError: it is a single number, or many rows.
        NotANumberError: an element is no number.

    Example:
        >>> checked_row((1, True, 0.5))
        [1.0, 1.0, 0.5]
    """
    row = listed(inputs)
    for i, x in enumerate(row):
        if type(x) is not float and not isinstance(x, Operand):
            if is_sequence(x):
                raise ShapeError(
                    f"one row of inputs is taken at a time; input {i} is {describe(x)}. "
                    "For many rows write [net(row) for row in X], or net.predict(X)."
                )
            row[i] = number(x, f"input {i}")
    return row
