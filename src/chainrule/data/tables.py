"""Tables in CSV files: which column is what, and numbers or classes out of cells."""

from __future__ import annotations

import operator
import os
import reprlib
from itertools import chain
from typing import Any, Final

from chainrule.data.categories import expanded
from chainrule.data.categories import one_hot as encoded
from chainrule.data.records import lines_of, parsed, read_text, sniffed
from chainrule.data.sheet import Sheet, header_names
from chainrule.errors import DataError, OptionError, describe
from chainrule.options import several

__all__ = ["MOST_CELLS", "Table", "read_csv"]

MOST_CELLS: Final = 20_000_000
"""In a file: as Python floats they take some two gigabytes, with the copies made in training."""


class Table(tuple[list[list[float]], list[float]]):
    """What `read_csv` returns: the pair ``(X, y)``, which also knows the columns' names.

    Attributes:
        X: the rows, each a list of one float per feature.
        y: one float per row.
        feature_names: the names of the feature columns, in the file's order.
        target_name: the name of the target column.
        classes: where the target was text, its labels in sorted order, so that
            ``classes[int(y[i])]`` is the label of row i; else empty.
        target_position: where in the file the target column is, counted from 0;
            the last one unless said otherwise.
        columns: the names of the feature columns in the file; ``feature_names`` but for
            columns of text, each of which gives several features.
        categories: for each column of text its values, in sorted order.

    Example:
        >>> table = Table([[1.5], [2.5]], [0.0, 1.0], ["size"], "kind", ["cat", "dog"])
        >>> table
        Table(2 rows, features=['size'], target='kind', classes=['cat', 'dog'])
        >>> X, y = table
        >>> y
        [0.0, 1.0]
    """

    feature_names: list[str]
    target_name: str
    classes: list[str]
    target_position: int
    columns: list[str]
    categories: dict[str, list[str]]

    def __new__(
        cls,
        X: list[list[float]],
        y: list[float],
        feature_names: list[str],
        target_name: str,
        classes: list[str],
        target_position: int = -1,
        columns: list[str] | None = None,
        categories: dict[str, list[str]] | None = None,
    ) -> Table:
        """Make the pair; see the class for the arguments."""
        self = super().__new__(cls, (X, y))
        self.feature_names = feature_names
        self.target_name = target_name
        self.classes = classes
        self.columns = list(feature_names) if columns is None else columns
        self.categories = {} if categories is None else categories
        self.target_position = target_position % (len(self.columns) + 1)
        return self

    def __getnewargs__(self) -> tuple[Any, ...]:  # for copy and pickle
        names = (self.feature_names, self.target_name)
        place = (self.classes, self.target_position)
        return (self.X, self.y, *names, *place, self.columns, self.categories)

    @property
    def X(self) -> list[list[float]]:  # noqa: N802 - a matrix is called X, as on paper
        """The rows."""
        return self[0]

    @property
    def y(self) -> list[float]:
        """The targets."""
        return self[1]

    def __repr__(self) -> str:
        classes = f", classes={reprlib.repr(self.classes)}" if self.classes else ""
        return (
            f"Table({several(len(self.X), 'row')}, features={reprlib.repr(self.feature_names)}, "
            f"target={self.target_name!r}{classes})"
        )


def read_csv(
    path: str | os.PathLike[str],
    target: int | str = -1,
    header: bool | None = None,
    delimiter: str | None = None,
    one_hot: bool = False,
) -> Table:
    r"""Read a table of numbers from a CSV file: one column to predict, the rest as features.

    Features must be numbers, or with ``one_hot`` all text in a column.  The target
    column may hold numbers, which are kept as they are, or text labels, which become
    class indices in sorted order.  Spaces around a cell are dropped and blank lines
    skipped; nothing else is guessed or left out: a cell that cannot be used is an error
    that names it.

    Args:
        path: a CSV file in UTF-8, with or without a byte order mark.
        target: the target column's name, or its position counted from 0
            (-1 is the last column).
        header: whether the first line names the columns.  None finds out: it
            does if ``target`` is a name, or if the line holds text outside the
            target column and no number at all; text and numbers are an error.
        delimiter: the character between cells.  None picks the one of comma,
            semicolon, tab, bar and space that splits the first lines evenly.
            A run of spaces counts as one.
        one_hot: take columns of text, too: each becomes one feature per value, named
            such as ``colour=red``, which is 1 where a row has it and else 0.

    Returns:
        A `Table`, which unpacks as ``X, y`` and also has ``feature_names``,
        ``target_name`` and ``classes``.  Without a header the features are named
        by position, ``x0``, ``x1`` and so on, and the target ``y``.

    Raises:
        DataError: the file cannot be opened or is not text, or a line of it
            cannot be used; the message gives the line, the column and the text.
        OptionError: ``target`` names no column, or an option is of the wrong kind.

    Example:
        >>> import pathlib, tempfile
        >>> folder = tempfile.TemporaryDirectory()
        >>> path = pathlib.Path(folder.name, "pets.csv")
        >>> _ = path.write_text("weight,length,kind\n4.1,46,cat\n30,90.5,dog\n3.9,44,cat\n")
        >>> X, y = read_csv(path)
        >>> X
        [[4.1, 46.0], [30.0, 90.5], [3.9, 44.0]]
        >>> y
        [0.0, 1.0, 0.0]
        >>> read_csv(path, target="kind").classes
        ['cat', 'dog']
        >>> folder.cleanup()
    """
    _check_options(target, header, delimiter, one_hot)
    name, text = read_text(path)
    if delimiter is None:
        delimiter = sniffed(name, text)
    records = lines_of(name, text, delimiter)
    first, cells = next(records, (0, []))
    if not cells:
        raise DataError(f"{name} is empty. Expected rows of numbers, with or without a header.")
    at = _position(name, first, target, cells, delimiter)
    if header is None:
        header = isinstance(target, str) or _is_header(name, first, cells, at)
    if header:
        names = header_names(name, first, cells)
    else:
        names = ["y" if i == at else f"x{i}" for i in range(len(cells))]
    sheet = Sheet(name, names, at, header, delimiter, first)
    rows = records if header else chain([(first, cells)], records)
    X: list[list[float]] = []
    labels: list[tuple[int, str, float | None]] = []
    texts: dict[int, list[str]] = {}  # by position, of the columns of text
    for line, row in rows:
        sheet.check_width(line, row)
        if not X and one_hot:
            words = [i for i, cell in enumerate(row) if i != at and sheet.is_word(line, i, cell)]
            texts = {i: [] for i in words}
        found = []
        for i, cell in enumerate(row):
            if i in texts:
                texts[i].append(sheet.word(line, i, cell))
            elif i != at:
                found.append(sheet.number(line, i, cell))
        X.append(found)
        labels.append((line, row[at], sheet.finite(line, at, row[at])))
        if len(X) * len(names) > MOST_CELLS:
            raise DataError(_too_large(name, line, len(names)))
    if not X:
        raise DataError(
            f"{name} has column names in line {first} but no rows below them. "
            f"Add rows, or pass header=False if that line is data."
        )
    y, classes = sheet.targets(labels)
    columns = names[:at] + names[at + 1 :]
    categories = {names[i]: sheet.values(i, cells) for i, cells in texts.items()}
    if categories:
        X = _with_texts(X, [i for i in range(len(names)) if i != at], texts, categories, names)
    features = expanded(columns, categories)
    return Table(X, y, features, names[at], classes, at, columns, categories)


def _with_texts(
    X: list[list[float]],
    places: list[int],
    texts: dict[int, list[str]],
    categories: dict[str, list[str]],
    names: list[str],
) -> list[list[float]]:
    """The rows of numbers, with the columns of text put in at their places."""
    codes = {
        i: {value: encoded(value, categories[names[i]]) for value in categories[names[i]]}
        for i in texts
    }
    full = []
    for k, numbers in enumerate(X):
        rest = iter(numbers)
        row: list[float] = []
        for i in places:
            if i in codes:
                row += codes[i][texts[i][k]]
            else:
                row.append(next(rest))
        full.append(row)
    return full


def _too_large(name: str, line: int, columns: int) -> str:
    return (
        f"{name}, line {line}: more than {MOST_CELLS:,} cells, {columns} in a row, and each "
        "becomes a Python float: gigabytes. Take a sample of the rows, or go on in PyTorch "
        "(chainrule.interop.torch.to_module), which reads data in batches."
    )


def _check_options(target: Any, header: Any, delimiter: Any, one_hot: Any) -> None:
    """Refuse options of the wrong kind before any file is opened."""
    if not isinstance(one_hot, bool):
        raise OptionError(f"one_hot must be True or False, not {describe(one_hot)}.")
    try:
        known = isinstance(target, str) or operator.index(target) is not None
    except TypeError:
        known = False
    if not known or isinstance(target, bool):
        raise OptionError(
            f"target must be a column's name or its position, not {describe(target)}. "
            f"Give target='price', or target=-1 for the last column."
        )
    if header is not None and not isinstance(header, bool):
        raise OptionError(
            f"header must be True (the first line names the columns), False (it is data) or "
            f"None (find out), not {describe(header)}."
        )
    if header is False and isinstance(target, str):
        raise OptionError(
            f"target={target!r} is a name, but header=False says that the columns have none. "
            f"Give the target's position, such as target=-1, or pass header=True."
        )
    if delimiter is not None and (
        not isinstance(delimiter, str) or len(delimiter) != 1 or delimiter in '"\r\n'
    ):
        raise OptionError(
            f"delimiter must be a single character such as ',' or '\\t', or None (find out), "
            f"not {describe(delimiter)}."
        )


def _is_header(name: str, line: int, cells: list[str], target: int) -> bool:
    """Whether the first line names the columns: a text label alone does not say so."""
    figures = [cell for cell in cells if parsed(cell.replace(",", "").replace("_", "")) is not None]
    words = [c for i, c in enumerate(cells) if i != target and c and c not in figures]
    if words and figures:
        raise DataError(
            f"{name}, line {line}: {reprlib.repr(words[0])} is text and "
            f"{reprlib.repr(figures[0])} is a number, so it is not clear whether this line names "
            f"the columns. Pass header=True if it does; if it is data, correct the text and "
            f"pass header=False."
        )
    return bool(words)


def _position(name: str, line: int, target: Any, cells: list[str], delimiter: str) -> int:
    """Where the target column is, counted from 0, by the cells of the first line."""
    shown = ", ".join(map(reprlib.repr, cells[:20])) + (", ..." if len(cells) > 20 else "")
    if len(cells) == 1:
        raise DataError(
            f"{name}, line {line}: a single cell, {shown}, when split at {delimiter!r}; expected "
            f"at least two, a feature and the target. If the line is a title, delete it; if "
            f"something else separates the columns, pass that as delimiter."
        )
    if isinstance(target, str):
        if target.strip() in cells:
            return cells.index(target.strip())
        raise OptionError(
            f"{name} has no column named {target!r}: line {line} names {shown}. "
            f"Give one of these, or a position such as target=-1 if the file has no header."
        )
    at = operator.index(target)
    if -len(cells) <= at < len(cells):
        return at % len(cells)
    raise OptionError(
        f"target={at} is no column of {name}: line {line} has {len(cells)} cells, {shown}. "
        f"Give a position from 0 to {len(cells) - 1}, or -1 for the last."
    )
