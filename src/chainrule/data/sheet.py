"""From cells to numbers and classes, with an error that names the cell it cannot use."""

from __future__ import annotations

import math
import reprlib
from collections.abc import Sequence
from dataclasses import dataclass

from chainrule.data.categories import MOST_VALUES
from chainrule.data.records import DELIMITERS, parsed
from chainrule.errors import DataError
from chainrule.options import several

__all__ = ["Sheet", "header_names"]


def header_names(name: str, line: int, cells: list[str]) -> list[str]:
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


@dataclass(frozen=True)
class Sheet:
    """What is known of a file when its rows are read, to name a bad cell."""

    name: str
    names: list[str]
    target: int
    header: bool
    delimiter: str
    first: int  # the first line that is not blank
    fixed: bool = False  # whether a model has settled which column is what

    def place(self, line: int, i: int) -> str:
        """Where a cell is, for the start of an error message."""
        position = "" if self.header else f" (position {i}, counted from 0)"
        return f"{self.name}, line {line}, column {self.names[i]!r}{position}"

    def check_width(self, line: int, row: list[str]) -> None:
        """Refuse a row that is too short or too long."""
        if len(row) != len(self.names):
            raise DataError(
                f"{self.name}, line {line}: {several(len(row), 'cell')} where line {self.first} "
                f"has {len(self.names)}. Look for a missing or an extra {self.delimiter!r}; "
                f"a cell that contains one must stand in double quotes."
            )

    def number(self, line: int, i: int, cell: str) -> float:
        """The finite number in a feature's cell."""
        number = self.finite(line, i, cell)
        if number is not None:
            return number
        if parsed(cell.replace(",", "")) is not None:
            advice = "Write it with a decimal point and without commas."
        elif line == self.first and not self.header:
            advice = "If this line names the columns, pass header=True; if not, correct it."
        elif others := [d for d in DELIMITERS if d in cell and d != self.delimiter]:
            advice = (
                f"The columns were split at {self.delimiter!r}; "
                f"if that is not right, pass delimiter={others[0]!r}."
            )
        elif self.fixed:
            advice = "Write a number there, or delete the row."
        else:
            column = repr(self.names[i]) if self.header else i
            advice = (
                f"Write a number there, or delete the column or the row; "
                f"if this column is the one to predict, pass target={column}."
            )
        raise DataError(
            f"{self.place(line, i)}: expected a number, found {reprlib.repr(cell)}. {advice}"
        )

    def is_word(self, line: int, i: int, cell: str) -> bool:
        """Whether a feature's cell holds text, which is no number written another way."""
        return self.finite(line, i, cell) is None and parsed(cell.replace(",", "")) is None

    def word(self, line: int, i: int, cell: str) -> str:
        """The text in the cell of a column of text."""
        if self.finite(line, i, cell) is not None:
            raise DataError(
                f"{self.place(line, i)}: {reprlib.repr(cell)} is a number, and the column began "
                f"with text. A column must be all numbers or all text: correct the odd cell, or "
                f"turn every one into text such as 'kind 1'."
            )
        return cell

    def values(self, i: int, cells: list[str]) -> list[str]:
        """The different texts of a column, sorted; refused if they are too many to be kinds."""
        found = sorted(set(cells))
        if len(found) > MOST_VALUES:
            raise DataError(
                f"{self.name}: column {self.names[i]!r} has {len(found):,} different texts in "
                f"{len(cells):,} rows, such as {reprlib.repr(found[0])}. Text must be one of a few "
                f"kinds (at most {MOST_VALUES}), each of which becomes an input. Delete the column."
            )
        return found

    def known(self, line: int, i: int, cell: str, values: Sequence[str]) -> str:
        """The text in a cell, which must be one of those that a model knows."""
        if cell not in values:
            shown = ", ".join(map(reprlib.repr, values[:20])) + (", ..." if values[20:] else "")
            what = reprlib.repr(cell) if cell else "nothing"
            raise DataError(
                f"{self.place(line, i)}: expected one of {shown}, which the model was trained on; "
                f"found {what}. Correct it, delete the row, or train again with rows that have it."
            )
        return cell

    def finite(self, line: int, i: int, cell: str) -> float | None:
        """The number in a cell, or None for text; an empty cell, nan and inf are refused."""
        if not cell:
            raise DataError(
                f"{self.place(line, i)}: the cell is empty. Fill it in, or delete the row."
            )
        number = parsed(cell)
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
