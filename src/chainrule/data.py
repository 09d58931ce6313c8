"""Small data sets to learn on, a reader for CSV files, and a split into train and test.

Every function gives plain lists, ready for a loop: ``X``, a list of rows of
floats, and ``y``, a list with one float per row.  A class label is its index:
0.0, 1.0, 2.0 and so on.

The generators take a ``seed``.  With ``seed=7`` they draw from a fresh
``random.Random(7)``; with ``seed=None`` from Python's global `random` module,
so ``random.seed(7)`` before the call gives the very same numbers.  Each says in
which order it draws, and draws the same number of times whatever its noise.
"""

from __future__ import annotations

import csv
import io
import itertools
import math
import numbers
import operator
import os
import random
import reprlib
from collections.abc import Callable, Iterable, Iterator, MutableSequence, Sequence
from dataclasses import dataclass
from typing import Any, Final, Protocol, TypeAlias, TypeVar

from chainrule.errors import DataError, OptionError, ShapeError, describe

__all__ = [
    "Dataset",
    "Table",
    "blobs",
    "circle",
    "moons",
    "read_csv",
    "spiral",
    "train_test_split",
    "xor",
]

Dataset: TypeAlias = tuple[list[list[float]], list[float]]
"""What every data set is: the rows ``X`` and the targets ``y``, equally many."""

Row = TypeVar("Row")
Target = TypeVar("Target")


# --- drawing numbers, checking settings -------------------------------------------------------


class _Source(Protocol):
    """What the generators need: a `random.Random`, or the module `random` itself."""

    def uniform(self, a: float, b: float) -> float: ...
    def gauss(self, mu: float = ..., sigma: float = ...) -> float: ...
    def shuffle(self, x: MutableSequence[Any]) -> None: ...


def _source(seed: int | None) -> _Source:
    """A fresh generator for a seed; the global one for None."""
    if seed is None:
        return random
    try:
        return random.Random(operator.index(seed))
    except TypeError:
        raise OptionError(
            f"seed must be a whole number, or None for Python's global random numbers, "
            f"not {describe(seed)}. Give a number such as seed=7."
        ) from None


def _whole(name: str, given: Any, least: int) -> int:
    """``given`` as an int of at least ``least``."""
    try:
        number = least - 1 if isinstance(given, bool) else operator.index(given)
    except TypeError:
        number = least - 1
    if number < least:
        raise OptionError(
            f"{name} must be a whole number of at least {least}, not {describe(given)}. "
            f"Give a number such as {name}={max(least, 3)}."
        )
    return number


def _real(
    name: str,
    given: Any,
    expected: str = "a finite number, at most 1e100 in size",
    fits: Callable[[float], bool] = lambda number: abs(number) <= 1e100,
) -> float:
    """``given`` as a float that fits."""
    number = math.nan
    if isinstance(given, numbers.Real) and not isinstance(given, bool):
        try:
            number = float(given)
        except OverflowError:  # an int beyond float64
            number = math.inf
    if not fits(number):
        raise OptionError(
            f"{name} must be {expected}, not {describe(given)}. Give a number such as 0.1."
        )
    return number


def _deviation(name: str, given: Any) -> float:
    """``given`` as a standard deviation."""
    expected = "a standard deviation (a finite number from 0 to 1e100)"
    return _real(name, given, expected, lambda number: 0 <= number <= 1e100)


# --- data sets --------------------------------------------------------------------------------


def xor() -> Dataset:
    """Exclusive or: 1 where exactly one input is 1.

    No straight line separates the two classes, so a single neuron cannot learn
    it and one hidden layer can.

    Returns:
        ``X``, 4 rows of 2 floats in the order ``00, 01, 10, 11``, and ``y``, 4
        floats.

    Example:
        >>> xor()
        ([[0.0, 0.0], [0.0, 1.0], [1.0, 0.0], [1.0, 1.0]], [0.0, 1.0, 1.0, 0.0])

    Source:
        M. Minsky and S. Papert, *Perceptrons*, 1969; learned by backpropagation
        in D. Rumelhart, G. Hinton and R. Williams, "Learning internal
        representations by error propagation", 1986.
    """
    return [[0.0, 0.0], [0.0, 1.0], [1.0, 0.0], [1.0, 1.0]], [0.0, 1.0, 1.0, 0.0]


def circle(n: int = 80, seed: int | None = None) -> Dataset:
    """Points in a square, labelled by whether they lie inside the unit circle.

    Draws, point by point, ``x1`` and then ``x2`` from ``uniform(-1.5, 1.5)``.
    The label is 1.0 where ``x1**2 + x2**2 < 1``, else 0.0 (about 35 % are 1.0).

    Args:
        n: how many points, 1 or more.
        seed: see the top of this module.

    Returns:
        ``X``, n rows ``[x1, x2]``, and ``y``, n floats.

    Raises:
        OptionError: ``n`` or ``seed`` is no whole number, or ``n`` is below 1.

    Example:
        >>> X, y = circle(80, seed=7)
        >>> len(X), sum(y)
        (80, 24.0)
    """
    n, draw = _whole("n", n, 1), _source(seed)
    X = [[draw.uniform(-1.5, 1.5), draw.uniform(-1.5, 1.5)] for _ in range(n)]
    return X, [1.0 if x1 * x1 + x2 * x2 < 1 else 0.0 for x1, x2 in X]


def _dealt(n: int, classes: int) -> Iterator[tuple[int, int, int]]:
    """Deal n points out in turn: the class, the place within it, and the size of the class."""
    for i in range(n):
        label = i % classes
        yield label, i // classes, (n - label + classes - 1) // classes


def moons(n: int = 100, noise: float = 0.1, seed: int | None = None) -> Dataset:
    """Two half circles that reach into each other.

    The classes take turns: points 0, 2, 4, ... lie on the upper moon (0.0) and
    1, 3, 5, ... on the lower one (1.0), evenly spaced by their angle ``t`` from
    0 to pi::

        upper   ( cos t,       sin t)
        lower   (1 - cos t, 0.5 - sin t)

    Draws, point by point, what is added to ``x1`` and then to ``x2``:
    ``gauss(0, noise)`` each.

    Args:
        n: how many points, 1 or more.
        noise: standard deviation in the units of the coordinates (a moon's
            radius is 1), 0 or more.
        seed: see the top of this module.

    Returns:
        ``X``, n rows ``[x1, x2]``, and ``y``, n floats.

    Raises:
        OptionError: a setting is of the wrong kind or out of its range.

    Example:
        >>> moons(4, noise=0)[1]
        [0.0, 1.0, 0.0, 1.0]

    Source:
        The curves of scikit-learn's ``make_moons``.
    """
    n, noise, draw = _whole("n", n, 1), _deviation("noise", noise), _source(seed)
    X, y = [], []
    for label, k, size in _dealt(n, 2):
        t = math.pi * k / max(size - 1, 1)
        x1, x2 = math.cos(t), math.sin(t)
        if label == 1:
            x1, x2 = 1.0 - x1, 0.5 - x2
        X.append([x1 + draw.gauss(0.0, noise), x2 + draw.gauss(0.0, noise)])
        y.append(float(label))
    return X, y


def spiral(
    n: int = 100,
    classes: int = 2,
    turns: float = 1.0,
    noise: float = 0.1,
    seed: int | None = None,
) -> Dataset:
    """Arms that wind out from the origin to radius 1, one per class.

    The classes take turns: point ``i`` belongs to arm ``i % classes``.  Point k
    of the m on arm c has the radius ``r = (k + 1) / m`` and the angle
    ``t = 2 pi (turns r + c / classes)`` plus noise, and lies at
    ``(r cos t, r sin t)``.  The noise turns a point about the origin, so the
    arms stay apart near the middle too.

    Draws one ``gauss(0, noise)`` per point.

    Args:
        n: how many points, 1 or more.
        classes: how many arms, 2 or more.
        turns: how many times an arm goes round; negative is clockwise.
        noise: standard deviation of the angle in radians, 0 or more.
        seed: see the top of this module.

    Returns:
        ``X``, n rows ``[x1, x2]``, and ``y``, n floats.

    Raises:
        OptionError: a setting is of the wrong kind or out of its range.

    Example:
        >>> X, y = spiral(6, classes=3, noise=0)
        >>> y
        [0.0, 1.0, 2.0, 0.0, 1.0, 2.0]

    Source:
        After the spiral of Stanford's CS231n notes, "Putting it together:
        Minimal Neural Network Case Study" (there ``noise`` is 0.2 and an arm
        goes 4 radians round).
    """
    n, classes = _whole("n", n, 1), _whole("classes", classes, 2)
    turns, noise, draw = _real("turns", turns), _deviation("noise", noise), _source(seed)
    X, y = [], []
    for label, k, size in _dealt(n, classes):
        r = (k + 1) / size
        t = 2.0 * math.pi * (turns * r + label / classes) + draw.gauss(0.0, noise)
        X.append([r * math.cos(t), r * math.sin(t)])
        y.append(float(label))
    return X, y


def blobs(
    n: int = 100,
    centers: int | Sequence[Sequence[float]] = 3,
    spread: float = 0.5,
    seed: int | None = None,
) -> Dataset:
    """Round clouds of points, one per class.

    The classes take turns: point ``i`` belongs to centre ``i % len(centers)``.
    Draws, point by point and coordinate by coordinate, ``gauss(0, spread)`` to
    be added to the centre's.

    Args:
        n: how many points, 1 or more.
        centers: how many clouds, with their centres evenly spaced on the circle
            of radius 2, the first at (2, 0) and on counterclockwise; or the
            centres themselves, each a row of equally many numbers.
        spread: standard deviation of a cloud along each axis, 0 or more.
        seed: see the top of this module.

    Returns:
        ``X``, n rows as long as a centre, and ``y``, n floats.

    Raises:
        OptionError: a setting is of the wrong kind or out of its range.
        ShapeError: the centres are rows of different lengths, or empty.

    Example:
        >>> blobs(3, centers=[[0, 0], [5, 5]], spread=0)
        ([[0.0, 0.0], [5.0, 5.0], [0.0, 0.0]], [0.0, 1.0, 0.0])
    """
    n, middles = _whole("n", n, 1), _centers(centers)
    spread, draw = _deviation("spread", spread), _source(seed)
    X, y = [], []
    for label, _, _ in _dealt(n, len(middles)):
        X.append([at + draw.gauss(0.0, spread) for at in middles[label]])
        y.append(float(label))
    return X, y


def _centers(given: Any) -> list[list[float]]:
    """The centres of `blobs`, as rows of floats."""
    if isinstance(given, (str, bytes)) or not hasattr(given, "__len__"):
        count = _whole("centers", given, 1)
        angles = [2.0 * math.pi * c / count for c in range(count)]
        return [[2.0 * math.cos(t), 2.0 * math.sin(t)] for t in angles]
    rows = []
    for i, point in enumerate(given):
        if isinstance(point, (str, bytes)) or not hasattr(point, "__len__"):
            raise OptionError(
                f"centers[{i}] must be a point such as [0.0, 1.0], not {describe(point)}."
            )
        rows.append([_real(f"centers[{i}][{j}]", x) for j, x in enumerate(point)])
    if not rows or not rows[0]:
        raise ShapeError(
            f"centers must hold at least one point of at least one number, not {describe(given)}. "
            f"Give centers=3, or centers=[[0, 0], [2, 2]]."
        )
    for i, row in enumerate(rows):
        if len(row) != len(rows[0]):
            raise ShapeError(
                f"centers[{i}] has {_several(len(row), 'number')} and centers[0] has "
                f"{len(rows[0])}. Give every centre equally many."
            )
    return rows


def train_test_split(
    X: Iterable[Row],
    y: Iterable[Target],
    test_fraction: float = 0.25,
    seed: int | None = None,
) -> tuple[list[Row], list[Row], list[Target], list[Target]]:
    """Shuffle rows and targets together, and set some aside for testing.

    Draws one ``shuffle`` of the row numbers; the first of them are the test's.

    Args:
        X: rows, 2 or more.
        y: one target per row.
        test_fraction: the share of rows for testing, between 0 and 1.  It is
            rounded to whole rows (a half to even), and leaves each side at
            least one.
        seed: see the top of this module.

    Returns:
        ``X_train, X_test, y_train, y_test``, the order that scikit-learn uses.
        The rows are those of ``X``, not copies.

    Raises:
        ShapeError: ``X`` and ``y`` differ in length, or there are fewer than 2 rows.
        OptionError: ``test_fraction`` is not between 0 and 1, or ``seed`` is no
            whole number.

    Example:
        >>> X, y = circle(80)
        >>> X_train, X_test, y_train, y_test = train_test_split(X, y, seed=1)
        >>> len(X_train), len(X_test)
        (60, 20)
    """
    expected = "a share between 0 and 1, both excluded"
    share = _real("test_fraction", test_fraction, expected, lambda number: 0 < number < 1)
    rows, targets = _listed("X", X), _listed("y", y)
    if len(rows) != len(targets):
        raise ShapeError(
            f"X has {_several(len(rows), 'row')} and y has {_several(len(targets), 'target')}. "
            f"Give one target for each row."
        )
    if len(rows) < 2:
        raise ShapeError(
            f"X has {_several(len(rows), 'row')}, and a split needs at least 2: "
            f"one to train on and one to test on. Give more rows."
        )
    order = list(range(len(rows)))
    _source(seed).shuffle(order)
    cut = min(max(round(share * len(rows)), 1), len(rows) - 1)
    test, train = order[:cut], order[cut:]
    return (
        [rows[i] for i in train],
        [rows[i] for i in test],
        [targets[i] for i in train],
        [targets[i] for i in test],
    )


def _listed(name: str, given: Iterable[Row]) -> list[Row]:
    """``given`` as a list."""
    try:
        return list(given)
    except TypeError:
        raise ShapeError(
            f"{name} must be a list with one entry per row, not {describe(given)}."
        ) from None


def _several(count: int, thing: str) -> str:
    """``1 row``, ``2 rows``."""
    return f"{count} {thing}" if count == 1 else f"{count} {thing}s"


# --- CSV files --------------------------------------------------------------------------------


class Table(tuple[list[list[float]], list[float]]):
    """What `read_csv` returns: the pair ``(X, y)``, which also knows the columns' names.

    Attributes:
        X: the rows, each a list of one float per feature.
        y: one float per row.
        feature_names: the names of the feature columns, in the file's order.
        target_name: the name of the target column.
        classes: where the target was text, its labels in sorted order, so that
            ``classes[int(y[i])]`` is the label of row i; else empty.

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

    def __new__(
        cls,
        X: list[list[float]],
        y: list[float],
        feature_names: list[str],
        target_name: str,
        classes: list[str],
    ) -> Table:
        """Make the pair; see the class for the arguments."""
        self = super().__new__(cls, (X, y))
        self.feature_names = feature_names
        self.target_name = target_name
        self.classes = classes
        return self

    def __getnewargs__(self) -> tuple[Any, ...]:  # for copy and pickle
        return (self.X, self.y, self.feature_names, self.target_name, self.classes)

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
            f"Table({_several(len(self.X), 'row')}, features={reprlib.repr(self.feature_names)}, "
            f"target={self.target_name!r}{classes})"
        )


_DELIMITERS: Final = (";", "\t", "|", ",")
"""Tried in this order; a later one wins only by splitting lines into more cells.

The comma comes last because ``1,5;2,5`` is two numbers with decimal commas.
"""


def read_csv(
    path: str | os.PathLike[str],
    target: int | str = -1,
    header: bool | None = None,
    delimiter: str | None = None,
) -> Table:
    r"""Read a table of numbers from a CSV file: one column to predict, the rest as features.

    Features must be numbers.  The target column may hold numbers, which are kept
    as they are, or text labels, which become class indices in sorted order.
    Spaces around a cell are dropped and blank lines skipped; nothing else is
    guessed or left out: a cell that cannot be used is an error that names it.

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
    _check_options(target, header, delimiter)
    name, text = _read_text(path)
    if delimiter is None:
        delimiter = _sniffed(name, text)
    records = list(_records(name, text, delimiter))
    if not records:
        raise DataError(f"{name} is empty. Expected rows of numbers, with or without a header.")
    first, cells = records[0]
    at = _position(name, first, target, cells, delimiter)
    if header is None:
        header = isinstance(target, str) or _is_header(name, first, cells, at)
    if header:
        names = _header_names(name, first, cells)
    else:
        names = ["y" if i == at else f"x{i}" for i in range(len(cells))]
    sheet = _Sheet(name, names, at, header, delimiter, first)
    rows = records[1:] if header else records
    if not rows:
        raise DataError(
            f"{name} has column names in line {first} but no rows below them. "
            f"Add rows, or pass header=False if that line is data."
        )
    X, labels = [], []
    for line, row in rows:
        sheet.check_width(line, row)
        X.append([sheet.number(line, i, cell) for i, cell in enumerate(row) if i != at])
        labels.append((line, row[at], sheet.finite(line, at, row[at])))
    y, classes = sheet.targets(labels)
    return Table(X, y, names[:at] + names[at + 1 :], names[at], classes)


def _check_options(target: Any, header: Any, delimiter: Any) -> None:
    """Refuse options of the wrong kind before any file is opened."""
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


def _read_text(path: Any) -> tuple[str, str]:
    """The file's name, as an error should show it, and its text."""
    try:
        name = os.fsdecode(path)
    except TypeError:
        raise OptionError(
            f"path must be the name of a CSV file, not {describe(path)}. "
            f"Give a str such as 'data.csv', or a pathlib.Path."
        ) from None
    if os.path.isdir(name):
        raise DataError(f"{name!r} is a folder. Give the name of a CSV file in it.")
    try:
        with open(name, "rb") as file:
            raw = file.read()
    except FileNotFoundError:
        raise DataError(
            f"There is no file {name!r} (looked for {os.path.abspath(name)!r}). "
            f"Check the spelling and the folder."
        ) from None
    except (OSError, ValueError) as error:  # no permission, a name that cannot be, ...
        raise DataError(f"{name!r} cannot be read: {error}.") from error
    advice = (
        "If it comes from a spreadsheet, save it there as 'CSV UTF-8'; "
        "a workbook, an image or an archive cannot be read as CSV."
    )
    try:
        text = raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = raw.count(b"\n", 0, error.start) + 1
        raise DataError(
            f"{name}, line {line}: byte 0x{raw[error.start]:02x} is not UTF-8 text. {advice}"
        ) from None
    if "\0" in text:
        line = text.count("\n", 0, text.index("\0")) + 1
        raise DataError(f"{name}, line {line}: a zero byte, so this is not UTF-8 text. {advice}")
    return name, text


def _records(name: str, text: str, delimiter: str) -> Iterator[tuple[int, list[str]]]:
    """The cells of each line that is not blank, with the number of the line they start on."""
    reader = csv.reader(
        io.StringIO(text, newline=""),
        delimiter=delimiter,
        skipinitialspace=delimiter != " ",
        strict=True,
    )
    line = 1
    try:
        for record in reader:
            cells = [cell.strip() for cell in record]
            if delimiter == " ":  # columns aligned by a run of spaces
                cells = [cell for cell in cells if cell]
            if any(cells) or (len(cells) > 1 and not delimiter.isspace()):
                yield line, cells
            line = reader.line_num + 1
    except csv.Error as error:
        raise DataError(
            f"{name}, line {line}: the quotes in this row do not match up ({error}). "
            f"A cell that begins with a quote must end with one, just before the next "
            f"{delimiter!r}; a quote inside it is written twice."
        ) from None


def _sniffed(name: str, text: str) -> str:
    """The delimiter that splits the first 20 lines evenly, and into most cells.

    A space counts only where no other delimiter splits the first line.
    """
    best, found = (False, 1), ""
    for delimiter in (*_DELIMITERS, " "):
        widths = []
        try:
            for _, cells in itertools.islice(_records(name, text, delimiter), 20):
                widths.append(len(cells))
        except DataError:  # the lines before the bad quote still count
            pass
        even, width = len(set(widths)) == 1, max(widths[:1], default=0)
        if delimiter == " " and (found or not even):
            break
        if width > 1 and (even, width) > best:
            best, found = (even, width), delimiter
    return found or ","


def _float(text: str) -> float | None:
    """The number that ``text`` writes, or None; unlike ``float``, no ``1_000``."""
    try:
        return None if "_" in text else float(text)
    except ValueError:
        return None


def _is_header(name: str, line: int, cells: list[str], target: int) -> bool:
    """Whether the first line names the columns: a text label alone does not say so."""
    figures = [cell for cell in cells if _float(cell.replace(",", "").replace("_", "")) is not None]
    words = [c for i, c in enumerate(cells) if i != target and c and c not in figures]
    if words and figures:
        raise DataError(
            f"{name}, line {line}: {reprlib.repr(words[0])} is text and "
            f"{reprlib.repr(figures[0])} is a number, so it is not clear whether this line names "
            f"the columns. Pass header=True if it does; if it is data, correct the text and "
            f"pass header=False."
        )
    return bool(words)


def _header_names(name: str, line: int, cells: list[str]) -> list[str]:
    """The names in the header, each given and each different."""
    for i, cell in enumerate(cells):
        if not cell:
            raise DataError(
                f"{name}, line {line}: column {i + 1} of {len(cells)} has no name. "
                f"Name it there, or delete it if it is a row number or comes from a "
                f"delimiter at the end of the line."
            )
        if cells.index(cell) != i:
            raise DataError(
                f"{name}, line {line}: columns {cells.index(cell) + 1} and {i + 1} are both "
                f"named {reprlib.repr(cell)}. Rename or delete one."
            )
    return list(cells)


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


@dataclass(frozen=True)
class _Sheet:
    """What is known of a file when its rows are read, to name a bad cell."""

    name: str
    names: list[str]
    target: int
    header: bool
    delimiter: str
    first: int  # the first line that is not blank

    def place(self, line: int, i: int) -> str:
        """Where a cell is, for the start of an error message."""
        position = "" if self.header else f" (position {i}, counted from 0)"
        return f"{self.name}, line {line}, column {self.names[i]!r}{position}"

    def check_width(self, line: int, row: list[str]) -> None:
        """Refuse a row that is too short or too long."""
        if len(row) != len(self.names):
            raise DataError(
                f"{self.name}, line {line}: {_several(len(row), 'cell')} where line {self.first} "
                f"has {len(self.names)}. Look for a missing or an extra {self.delimiter!r}; "
                f"a cell that contains one must stand in double quotes."
            )

    def number(self, line: int, i: int, cell: str) -> float:
        """The finite number in a feature's cell."""
        number = self.finite(line, i, cell)
        if number is not None:
            return number
        if _float(cell.replace(",", "")) is not None:
            advice = "Write it with a decimal point and without commas."
        elif line == self.first:
            advice = "If this line names the columns, pass header=True; if not, correct it."
        elif others := [d for d in _DELIMITERS if d in cell and d != self.delimiter]:
            advice = (
                f"The columns were split at {self.delimiter!r}; "
                f"if that is not right, pass delimiter={others[0]!r}."
            )
        else:
            column = repr(self.names[i]) if self.header else i
            advice = (
                f"Write a number there, or delete the column or the row; "
                f"if this column is the one to predict, pass target={column}."
            )
        raise DataError(
            f"{self.place(line, i)}: expected a number, found {reprlib.repr(cell)}. {advice}"
        )

    def finite(self, line: int, i: int, cell: str) -> float | None:
        """The number in a cell, or None for text; an empty cell, nan and inf are refused."""
        if not cell:
            raise DataError(
                f"{self.place(line, i)}: the cell is empty. Fill it in, or delete the row."
            )
        number = _float(cell)
        if number is not None and not math.isfinite(number):
            raise DataError(
                f"{self.place(line, i)}: expected a finite number, found {reprlib.repr(cell)}. "
                f"One nan or inf would spoil every weight in training: "
                f"put a number in its place, or delete the row."
            )
        return number

    def targets(self, labels: list[tuple[int, str, float | None]]) -> tuple[list[float], list[str]]:
        """The targets as numbers and, where they were text, the classes."""
        figures = [(line, cell) for line, cell, number in labels if number is not None]
        words = [(line, cell) for line, cell, number in labels if number is None]
        if figures and words:
            few, many = sorted((words, figures), key=len)
            (line, odd), (other_line, other) = few[0], many[0]
            kinds = ("text", "a number") if few is words else ("a number", "text")
            hint = "" if self.header else " (If the first line names the columns: header=True.)"
            raise DataError(
                f"{self.place(line, self.target)}: {reprlib.repr(odd)} is {kinds[0]}, but "
                f"{reprlib.repr(other)} in line {other_line} is {kinds[1]}. The target column must "
                f"be all numbers or all text: correct the odd one, or turn every label into "
                f"text such as 'class 0'.{hint}"
            )
        if figures:
            return [number for _, _, number in labels if number is not None], []
        classes = sorted({cell for _, cell in words})
        index = {label: float(i) for i, label in enumerate(classes)}
        return [index[cell] for _, cell in words], classes
