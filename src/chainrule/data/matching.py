"""Rows for a model that was trained on another file: the same columns, found again."""

from __future__ import annotations

import os
import reprlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from chainrule.data.categories import one_hot
from chainrule.data.records import lines_of, parsed, read_text, sniffed
from chainrule.data.sheet import Sheet, header_names
from chainrule.errors import DataError
from chainrule.options import several

__all__ = ["MatchedRows", "read_rows"]


@dataclass(frozen=True)
class MatchedRows:
    """What `read_rows` found.

    Attributes:
        X: the rows, each a list of one float per feature, in the model's order.
        labels: the target's cell of each row, "" where it is blank; empty if the
            file has no target column.
        lines: the line of the file that each row starts on, counted from 1.
    """

    X: list[list[float]]
    labels: list[str]
    lines: list[int]


def read_rows(
    path: str | os.PathLike[str],
    features: Sequence[str] | int,
    target: str = "",
    target_position: int = -1,
    delimiter: str | None = None,
    categories: Mapping[str, Sequence[str]] | None = None,
) -> MatchedRows:
    r"""Read the columns that a model takes from a CSV file.

    If the first line names the columns, they are found by name, in any order, and
    further columns are left alone.  Without names there must be as many columns as
    features, in their order, and possibly the target in its place.

    Args:
        path: a CSV file, as `read_csv` takes it.
        features: the names of the model's inputs; or how many it has, to take the
            columns as they come.
        target: the name of the target column, which need not be in the file.
        target_position: where it is in a file without names.
        delimiter: the character between cells; None finds out.
        categories: for each feature column of text the values that the model knows; it
            gives one number per value, as with ``read_csv(one_hot=True)``.

    Returns:
        The rows, and the target's cells as they are.

    Raises:
        DataError: the file cannot be read, or lacks a feature; or a feature's cell
            is no number, or a text that the model does not know.

    Example:
        >>> import pathlib, tempfile
        >>> folder = tempfile.TemporaryDirectory()
        >>> path = pathlib.Path(folder.name, "new.csv")
        >>> _ = path.write_text("kind,length,weight\ncat,44,3.9\ndog,80,28\n")
        >>> found = read_rows(path, ["weight", "length"], "kind")
        >>> found.X, found.labels
        ([[3.9, 44.0], [28.0, 80.0]], ['cat', 'dog'])
        >>> folder.cleanup()
    """
    name, text = read_text(path)
    if delimiter is None:
        delimiter = sniffed(name, text)
    records = list(lines_of(name, text, delimiter))
    if not records:
        raise DataError(f"{name} is empty. Expected rows of numbers, with or without a header.")
    first, cells = records[0]
    kinds_of = categories or {}
    if isinstance(features, int):
        wanted = [f"x{i + 1}" for i in range(features)]
        header = all(parsed(cell) is None for cell in cells)
    else:
        wanted = list(features)
        header = all(feature in cells for feature in wanted)
    if header and not isinstance(features, int):
        names = header_names(name, first, cells)
        at = names.index(target) if target in names else None
        places = [names.index(feature) for feature in wanted]
    else:
        at = _target_position(name, first, cells, wanted, target, target_position, header, kinds_of)
        names = header_names(name, first, cells) if header else wanted.copy()
        if at is not None and not header:
            names.insert(at, target)
        places = [i for i in range(len(names)) if i != at]
    sheet = Sheet(name, names, -1 if at is None else at, header, delimiter, first, fixed=True)
    found = MatchedRows([], [], [])
    for line, row in records[1:] if header else records:
        sheet.check_width(line, row)
        values: list[float] = []
        for i in places:
            kinds = kinds_of.get(sheet.names[i])
            if kinds is None:
                values.append(sheet.number(line, i, row[i]))
            else:
                values += one_hot(sheet.known(line, i, row[i], kinds), kinds)
        found.X.append(values)
        if at is not None:
            found.labels.append(row[at])
        found.lines.append(line)
    if not found.X:
        raise DataError(f"{name} has column names in line {first} but no rows below them.")
    return found


def _text_positions(
    features: Sequence[str], categories: Mapping[str, Sequence[str]], at: int | None
) -> set[int]:
    """Where in a file without names text is expected, with the target at ``at``."""
    found = [i for i, feature in enumerate(features) if feature in categories]
    return {i + (at is not None and i >= at) for i in found}


def _target_position(
    name: str,
    line: int,
    cells: list[str],
    features: Sequence[str],
    target: str,
    position: int,
    header: bool,
    categories: Mapping[str, Sequence[str]],
) -> int | None:
    """Where the target is, going by the number of columns; None if it is not there."""
    n = len(features)
    at = position % (n + 1) if target and len(cells) == n + 1 else None
    texts = _text_positions(features, categories, at)
    words = not header and any(
        parsed(c) is None for i, c in enumerate(cells) if i != at and i not in texts
    )
    if len(cells) in (n, n + 1 if target else n) and not words:
        return at
    shown = reprlib.repr(", ".join(cells))
    wanted = ", ".join(features)
    if words:
        missing = [feature for feature in features if feature not in cells]
        raise DataError(
            f"{name}, line {line}: the model needs {several(n, 'column')}, {wanted}; "
            f"{', '.join(missing)} is not among {shown}. Name the columns as in the file that "
            f"the model was trained on, or delete the names and keep the columns' order."
        )
    also = f", or {n + 1} with the target {target!r} at position {position % (n + 1)}"
    raise DataError(
        f"{name}, line {line}: {several(len(cells), 'cell')}, {shown}; the model takes "
        f"{n} ({wanted}{also if target else ''}). Put column names into the first line to say "
        f"which is which."
    )
