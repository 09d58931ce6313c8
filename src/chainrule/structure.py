"""Arguments of any shape as a flat list of numbers, and back.

A function under differentiation may take a float, a list or tuple of floats,
nested ones, a dict of them, or a NumPy array.  `flatten` gives the numbers in
order together with the `Structure` that puts others in their place.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Iterator, Mapping
from itertools import islice
from typing import Any, Final

from chainrule.errors import NotANumberError, ShapeError, describe
from chainrule.operation import Operand, as_float

__all__ = ["Structure", "flatten", "matching"]


class Structure:
    """The shape of an argument, with its numbers taken out.

    Attributes:
        size: how many numbers it holds.
    """

    __slots__ = ("_fill", "_shape", "_text", "size")

    def __init__(
        self,
        size: int,
        fill: Callable[[Iterator[Any]], Any],
        text: str,
        shape: tuple[int, ...] | None = None,
    ) -> None:
        self.size: Final = size
        self._fill = fill
        self._text = text
        self._shape = shape  # of an array

    def __repr__(self) -> str:
        return self._text

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Structure) and self._text == other._text

    def __hash__(self) -> int:
        return hash(self._text)

    def fill(self, leaves: Any) -> Any:
        """The same structure around ``size`` other things."""
        return self._fill(iter(leaves))

    def fill_rows(self, rows: list[list[Any]], inner: Structure) -> Any:
        """This structure around rows of ``inner``; arrays within an array are one array."""
        if self._shape is None or inner._shape is None:
            return self.fill([inner.fill(row) for row in rows])
        whole = _array_filler((*self._shape, *inner._shape))
        return whole(iter([x for row in rows for x in row]))


_NUMBER: Final = Structure(1, next, "a number")


def flatten(tree: Any, what: str) -> tuple[list[Any], Structure]:
    """Take the numbers out of a structure.

    Args:
        tree: a number or `Value`, or a list, tuple, dict or NumPy array of such.
        what: how to call it in an error message.

    Returns:
        The numbers in order, and the structure to put others in their place.

    Raises:
        NotANumberError: there is something else in it.

    Example:
        >>> leaves, structure = flatten([1.0, (2.0, 3.0)], "x")
        >>> leaves
        [1.0, 2.0, 3.0]
        >>> structure.fill([10.0, 20.0, 30.0])
        [10.0, (20.0, 30.0)]
    """
    if isinstance(tree, Operand):
        return [tree], _NUMBER
    x = as_float(tree)
    if x is not None:
        return [x], _NUMBER
    numpy = sys.modules.get("numpy")  # an array can only be given by who imported NumPy
    if numpy is not None and isinstance(tree, numpy.ndarray):
        return _flatten_array(tree, what)
    if isinstance(tree, Mapping):
        return _flatten_parts(list(tree.values()), what, list(tree), type(tree))
    if isinstance(tree, (list, tuple)):
        return _flatten_parts(list(tree), what, None, type(tree))
    advice = ". See whether a function forgot its return statement" if tree is None else ""
    raise NotANumberError(
        f"{what} must be a number, or a list, tuple, dict or NumPy array of numbers; "
        f"got {describe(tree)}{advice}"
    )


def _flatten_parts(
    parts: list[Any], what: str, keys: list[Any] | None, kind: type
) -> tuple[list[Any], Structure]:
    leaves: list[Any] = []
    structures: list[Structure] = []
    for part in parts:
        inner, structure = flatten(part, what)
        leaves += inner
        structures.append(structure)
    inside = ", ".join(map(repr, structures))
    if keys is None:
        text = f"{kind.__name__}[{inside}]"
    else:
        text = (
            f"dict{{{', '.join(f'{k!r}: {s!r}' for k, s in zip(keys, structures, strict=True))}}}"
        )

    def fill(replacements: Iterator[Any]) -> Any:
        filled = [structure._fill(replacements) for structure in structures]
        if keys is not None:
            return dict(zip(keys, filled, strict=True))
        if issubclass(kind, list):
            return filled
        return kind(*filled) if hasattr(kind, "_fields") else tuple(filled)

    return leaves, Structure(len(leaves), fill, text)


def _flatten_array(array: Any, what: str) -> tuple[list[Any], Structure]:
    if array.dtype.kind not in "biufO":
        raise NotANumberError(
            f"{what} must hold real numbers; got an array of dtype {array.dtype}. "
            "Convert it with .astype(float)."
        )
    leaves = [x if isinstance(x, Operand) else as_float(x) for x in array.ravel().tolist()]
    if None in leaves:
        stranger = array.ravel().tolist()[leaves.index(None)]
        raise NotANumberError(
            f"{what} is an array that must hold numbers or Values only; "
            f"it holds {describe(stranger)}"
        )
    shape = array.shape
    return leaves, Structure(len(leaves), _array_filler(shape), f"array{shape}", shape)


def _array_filler(shape: tuple[int, ...]) -> Callable[[Iterator[Any]], Any]:
    def fill(replacements: Iterator[Any]) -> Any:
        import numpy  # installed, since an array was given

        found = list(islice(replacements, math.prod(shape)))
        kind = float if all(type(x) is float for x in found) else object
        filled = numpy.empty(len(found), dtype=kind)
        filled[:] = found
        return filled.reshape(shape)

    return fill


def matching(tree: Any, structure: Structure, what: str, like: str) -> list[Any]:
    """The numbers of ``tree``, which must have the given structure."""
    leaves, found = flatten(tree, what)
    if found != structure:
        raise ShapeError(f"{what} must have the structure of {like}, {structure}; got {found}")
    return leaves
