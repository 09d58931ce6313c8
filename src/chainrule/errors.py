"""Every exception that chainrule raises on purpose.

::

    ChainruleError
    ├── NotANumberError (TypeError)     something that is no real number where one was needed
    ├── ShapeError (ValueError)         a wrong number of inputs, rows or columns
    ├── ParseError (ValueError)         a text that is no formula, with the column of the mistake
    ├── OptionError (ValueError)        an unknown name, or a setting out of its range
    ├── DataError (ValueError)          a file or table that cannot be read as data
    ├── ModelFileError (ValueError)     a saved model that is damaged, foreign or too new
    ├── GraphError (RuntimeError)       a graph that cannot be differentiated, copied or stored
    ├── TraceError (TypeError)          code that asks for a number while it is being compiled
    ├── CompileMismatch (RuntimeError)  a function that does not do the same in every call
    ├── GradientMismatch (AssertionError) a gradient that check_gradients found wrong
    ├── NonFiniteError (ArithmeticError)  inf or nan, found where it first arose
    └── MissingExtraError (ImportError) an optional library that is not installed

Each also inherits from the built-in exception that Python programmers expect
there, so ``except ValueError`` keeps working.  Every message says what was
given, what was expected, and what to do.
"""

from __future__ import annotations

import os
import sys
from traceback import walk_tb
from types import FrameType

__all__ = [
    "ChainruleError",
    "CompileMismatch",
    "DataError",
    "GradientMismatch",
    "GraphError",
    "MissingExtraError",
    "ModelFileError",
    "NonFiniteError",
    "NotANumberError",
    "OptionError",
    "ParseError",
    "ShapeError",
    "TraceError",
    "describe",
    "escaped",
    "users_line",
]

_PACKAGE = os.path.dirname(os.path.abspath(__file__)) + os.sep


class ChainruleError(Exception):
    """Base class: ``except ChainruleError`` catches everything raised here on purpose."""


class NotANumberError(ChainruleError, TypeError):
    """Something that is no real number was given where a number is needed."""


class ShapeError(ChainruleError, ValueError):
    """A wrong number of inputs, outputs, rows or columns."""


class ParseError(ChainruleError, ValueError):
    """A text that is no formula.

    Args:
        problem: what is wrong, what was expected, and what to do.
        text: the whole text.
        column: where in it, counted from 1.

    Attributes:
        problem: as given.
        text: as given.
        column: as given.
    """

    def __init__(self, problem: str, text: str, column: int) -> None:
        super().__init__(problem, text, column)
        self.problem = problem
        self.text = text
        self.column = column

    def __str__(self) -> str:
        """The problem, and below it the text around the column with a caret under it."""
        at = self.column - 1
        start = max(0, at - 40)
        shown = "".join([c if c.isprintable() else " " for c in self.text[start : at + 30]])
        before = "..." if start else ""
        after = "..." if at + 30 < len(self.text) else ""
        caret = " " * (len(before) + at - start) + "^"
        return f"{self.problem} (column {self.column})\n    {before}{shown}{after}\n    {caret}"


class OptionError(ChainruleError, ValueError):
    """An unknown name, or a setting outside its range."""


class DataError(ChainruleError, ValueError):
    """A file or table that cannot be read as data."""


class ModelFileError(ChainruleError, ValueError):
    """A saved model that is damaged, not ours, or from a later version."""


class GraphError(ChainruleError, RuntimeError):
    """A graph that cannot be differentiated, copied or stored as asked."""


class TraceError(ChainruleError, TypeError):
    """A function under compilation asked for a number that is not known yet."""


class CompileMismatch(ChainruleError, RuntimeError):
    """A function does not do the same in every call, or not what its program does."""


class GradientMismatch(ChainruleError, AssertionError):
    """A gradient is not the derivative of its function; the message is the report."""


class NonFiniteError(ChainruleError, ArithmeticError):
    """An operation, a gradient or a loss became ``inf`` or ``nan``."""


class MissingExtraError(ChainruleError, ImportError):
    """An optional library is not installed; the message says which extra brings it."""


def describe(thing: object, limit: int = 60) -> str:
    """Name a wrong argument for an error message: its text and its type, cut to size.

    Args:
        thing: whatever was given.
        limit: the longest text shown, in characters.

    Returns:
        A phrase such as ``"'3' (a str)"``.

    Example:
        >>> describe("3")
        "'3' (a str)"
    """
    try:
        text = repr(thing)
    except Exception:  # a broken __repr__ must not hide the error that is being reported
        text = "an object that cannot be shown"
    text = " ".join(text.split())
    if len(text) > limit:
        text = text[: limit - 3] + "..."
    kind = type(thing).__name__
    article = "an" if kind[0].lower() in "aeiou" else "a"
    return f"{text} ({article} {kind})"


def escaped(text: object) -> str:
    r"""A text of unknown origin on one line, with nothing in it that a terminal would obey.

    Args:
        text: a name, a label, a cell of a file.

    Returns:
        The same with escapes for control characters and whatever else shows nothing.

    Example:
        >>> print(escaped("x\x1b[2J"))
        x\x1b[2J
    """
    return "".join([c if c.isprintable() else ascii(c)[1:-1] for c in str(text)])


def users_line(error: BaseException | None = None) -> str:
    """Where the user's code called into chainrule: the innermost line outside the package.

    Args:
        error: one that was caught, to tell where it came from; None for the present place.

    Returns:
        A phrase such as ``"line 12 of lesson.py"``.

    Example:
        >>> users_line()
        'line 1 of <doctest ...>'
    """
    if error is not None:
        for frame, line in reversed(list(walk_tb(error.__traceback__))):
            if not _is_ours(frame):
                return f"line {line} of {frame.f_code.co_filename}"
    frame = sys._getframe(1)
    while frame.f_back is not None and _is_ours(frame):
        frame = frame.f_back
    return f"line {frame.f_lineno} of {frame.f_code.co_filename}"


def _is_ours(frame: FrameType) -> bool:
    file = frame.f_code.co_filename
    if file.startswith(_PACKAGE):
        return True
    # Compiled code names the file it was made from, not the place where it is installed.
    return file.endswith(".py") and str(frame.f_globals.get("__name__")).startswith("chainrule.")
