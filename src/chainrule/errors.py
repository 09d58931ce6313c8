"""Every exception that chainrule raises on purpose.

::

    ChainruleError
    ├── NotANumberError (TypeError)     something that is no real number where one was needed
    ├── ShapeError (ValueError)         a wrong number of inputs, rows or columns
    ├── OptionError (ValueError)        an unknown name, or a setting out of its range
    ├── DataError (ValueError)          a file or table that cannot be read as data
    ├── ModelFileError (ValueError)     a saved model that is damaged, foreign or too new
    ├── GraphError (RuntimeError)       a graph that cannot be differentiated, copied or stored
    ├── NonFiniteError (ArithmeticError)  inf or nan, found where it first arose
    └── MissingExtraError (ImportError) an optional library that is not installed

Each also inherits from the built-in exception that Python programmers expect
there, so ``except ValueError`` keeps working.  Every message says what was
given, what was expected, and what to do.
"""

from __future__ import annotations

__all__ = [
    "ChainruleError",
    "DataError",
    "GraphError",
    "MissingExtraError",
    "ModelFileError",
    "NonFiniteError",
    "NotANumberError",
    "OptionError",
    "ShapeError",
    "describe",
]


class ChainruleError(Exception):
    """Base class: ``except ChainruleError`` catches everything raised here on purpose."""


class NotANumberError(ChainruleError, TypeError):
    """Something that is no real number was given where a number is needed."""


class ShapeError(ChainruleError, ValueError):
    """A wrong number of inputs, outputs, rows or columns."""


class OptionError(ChainruleError, ValueError):
    """An unknown name, or a setting outside its range."""


class DataError(ChainruleError, ValueError):
    """A file or table that cannot be read as data."""


class ModelFileError(ChainruleError, ValueError):
    """A saved model that is damaged, not ours, or from a later version."""


class GraphError(ChainruleError, RuntimeError):
    """A graph that cannot be differentiated, copied or stored as asked."""


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
