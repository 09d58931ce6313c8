"""Checking the rows and targets a user gives to `fit`: plain floats in, or a clear error."""

from __future__ import annotations

import math
from typing import Any, TypeAlias

from chainrule.errors import DataError, NotANumberError, ShapeError, describe
from chainrule.nn.inputs import is_sequence, listed
from chainrule.operation import as_float

__all__ = ["Target", "checked_rows", "checked_targets"]

Target: TypeAlias = "float | list[float]"
"""What a network should return for one row: one number, or one per output."""


def checked_rows(X: Any, name: str = "X", columns: int | None = None) -> list[list[float]]:
    """Rows of numbers as lists of floats.

    Args:
        X: a list of rows, or a table (NumPy array, pandas DataFrame, torch tensor).
        name: what the user calls it, for the error messages.
        columns: how many inputs the network has; None if unknown.

    Returns:
        New lists of floats.

    Raises:
        DataError: there are no rows, or a number is ``inf`` or ``nan``.
        NotANumberError: something is no number.
        ShapeError: the rows differ in length, or do not fit the network.

    Example:
        >>> checked_rows([[0, 1], [1, 0]])
        [[0.0, 1.0], [1.0, 0.0]]
    """
    rows: list[list[float]] = []
    for i, row in enumerate(_listed(X, name, "a list of rows")):
        if not is_sequence(row):
            raise ShapeError(
                f"{name} must be a list of rows, each a list of numbers; "
                f"{name}[{i}] is {describe(row)}. For rows of one number each write "
                f"[[x] for x in {name}]."
            )
        rows.append([_float(cell, name, i, j) for j, cell in enumerate(_plain(row))])
        if len(rows[i]) != len(rows[0]):
            raise ShapeError(
                f"all rows of {name} must have the same length; {name}[0] has "
                f"{len(rows[0])} numbers and {name}[{i}] has {len(rows[i])}."
            )
    if columns is not None and len(rows[0]) != columns:
        raise ShapeError(
            f"each row of {name} has {len(rows[0])} numbers, and the network takes {columns} "
            f"inputs. Make the first size of the network {len(rows[0])}, or give it rows of "
            f"{columns}."
        )
    _refuse_non_finite(rows, name)
    return rows


def checked_targets(y: Any, name: str = "y", rows: int | None = None) -> list[Target]:
    """Targets as floats, or as lists of floats for a network of several outputs.

    A column, that is, rows of one number each, becomes a list of numbers.

    Args:
        y: one target per row.
        name: what the user calls it, for the error messages.
        rows: how many rows they belong to; None if unknown.

    Returns:
        New floats or lists.

    Raises:
        DataError: there are no targets, or a number is ``inf`` or ``nan``.
        NotANumberError: something is no number.
        ShapeError: there are not as many targets as rows, or they differ in length.

    Example:
        >>> checked_targets([0, 1, 1]), checked_targets([[0], [1]]), checked_targets([[0, 1]])
        ([0.0, 1.0, 1.0], [0.0, 1.0], [[0.0, 1.0]])
    """
    given = _listed(y, name, "a list with one target per row")
    if rows is not None and len(given) != rows:
        raise ShapeError(
            f"there must be one target per row; got {rows} rows and {len(given)} targets "
            f"({name}). Check that both come from the same data."
        )
    if is_sequence(given[0]):
        table = checked_rows(given, name)
        return [row[0] for row in table] if len(table[0]) == 1 else list(table)
    found: list[list[float]] = []
    for i, target in enumerate(given):
        if is_sequence(target):
            raise ShapeError(
                f"the targets must all be numbers or all be lists; {name}[0] is "
                f"{describe(given[0])} and {name}[{i}] is {describe(target)}."
            )
        found.append([_float(target, name, i)])
    _refuse_non_finite(found, name, column=False)
    return [row[0] for row in found]


def _listed(given: Any, name: str, expected: str) -> list[Any]:
    if not is_sequence(given) or isinstance(given, (dict, set, frozenset)):
        raise ShapeError(f"{name} must be {expected}; got {describe(given)}.")
    found = _plain(given)
    if not found:
        raise DataError(f"{name} is empty; there must be at least one row to learn from.")
    return found


def _plain(given: Any) -> list[Any]:
    """A sequence or table of any kind as a list; an array's numbers become Python's."""
    return listed(given.to_numpy() if hasattr(given, "to_numpy") else given)


def _float(cell: Any, name: str, row: int, column: int | None = None) -> float:
    if getattr(cell, "ndim", None) == 0 and hasattr(cell, "item"):
        cell = cell.item()  # an array of no dimension is a number
    found = as_float(cell)
    if found is not None:
        return found
    place = f"{name}[{row}]" if column is None else f"{name}[{row}][{column}]"
    if isinstance(cell, str):
        advice = "turn text into numbers first; chainrule.read_csv does it for whole files"
    elif cell is None:
        advice = "fill the gap with a number, or leave the row out"
    elif is_sequence(cell):
        advice = "a row is a flat list of numbers"
    else:
        advice = "give ints or floats"
    where = f"row {row}" if column is None else f"row {row}, column {column}"
    raise NotANumberError(
        f"{place} must be a number; got {describe(cell)} "
        f"({where}, counted from 0). What to do: {advice}."
    )


def _refuse_non_finite(rows: list[list[float]], name: str, column: bool = True) -> None:
    bad = [i for i, row in enumerate(rows) if not all(map(math.isfinite, row))]
    if not bad:
        return
    i = bad[0]
    j = next(j for j, x in enumerate(rows[i]) if not math.isfinite(x))
    place = f"{name}[{i}][{j}]" if column else f"{name}[{i}]"
    if len(bad) == 1:
        which = "That is the only such row."
    else:
        shown = ", ".join(str(k) for k in bad[:8])
        more = f" and {len(bad) - 8} more" if len(bad) > 8 else ""
        which = f"There are {len(bad)} such rows: {shown}{more} (counted from 0)."
    raise DataError(
        f"every number must be finite; {place} is {rows[i][j]}. {which} "
        "Leave these rows out, or put a number in the place."
    )
