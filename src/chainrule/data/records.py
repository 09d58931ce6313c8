"""From a file to cells: reading its text, finding the delimiter, splitting the lines."""

from __future__ import annotations

import csv
import io
import itertools
import os
import re
from collections.abc import Iterator
from typing import Any, Final

from chainrule.errors import DataError, OptionError, describe

__all__ = ["DELIMITERS", "lines_of", "parsed", "read_text", "sniffed"]

_CONTROL: Final = re.compile(r"[\x00-\x08\x0e-\x1b\x7f-\x84\x86-\x9f]")

DELIMITERS: Final = (";", "\t", "|", ",")
"""Tried in this order; a later one wins only by splitting lines into more cells.

The comma comes last because ``1,5;2,5`` is two numbers with decimal commas.
"""


def read_text(path: Any) -> tuple[str, str]:
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
    found = _CONTROL.search(text)
    if found:
        line = text.count("\n", 0, found.start()) + 1
        raise DataError(
            f"{name}, line {line}: the control character {found[0]!a}, which a terminal "
            "might obey. Delete it."
        )
    return name, text


def lines_of(name: str, text: str, delimiter: str) -> Iterator[tuple[int, list[str]]]:
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
        if "field limit" in str(error):
            raise DataError(
                f"{name}, line {line}: a cell of more than {csv.field_size_limit()} characters. "
                "Look for a double quote that is never closed."
            ) from None
        raise DataError(
            f"{name}, line {line}: the quotes in this row do not match up ({error}). "
            f"A cell that begins with a quote must end with one, just before the next "
            f"{delimiter!r}; a quote inside it is written twice."
        ) from None


def sniffed(name: str, text: str) -> str:
    """The delimiter that splits the first 20 lines evenly, and into most cells.

    A space counts only where no other delimiter splits the first line.
    """
    best, found = (False, 1), ""
    for delimiter in (*DELIMITERS, " "):
        widths = []
        try:
            for _, cells in itertools.islice(lines_of(name, text, delimiter), 20):
                widths.append(len(cells))
        except DataError:  # the lines before the bad quote still count
            pass
        even, width = len(set(widths)) == 1, max(widths[:1], default=0)
        if delimiter == " " and (found or not even):
            break
        if width > 1 and (even, width) > best:
            best, found = (even, width), delimiter
    return found or ","


def parsed(text: str) -> float | None:
    """The number that ``text`` writes, or None; unlike ``float``, no ``1_000``."""
    try:
        return None if "_" in text else float(text)
    except ValueError:
        return None
