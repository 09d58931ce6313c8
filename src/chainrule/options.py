"""Checking the settings a user gives, and finding where random numbers come from."""

from __future__ import annotations

import errno
import inspect
import math
import numbers
import operator
import os
import random
from collections.abc import Iterable, MutableSequence
from typing import Any, Protocol

from chainrule.errors import OptionError, describe

__all__ = [
    "RandomSource",
    "check_folder",
    "choice",
    "function",
    "random_source",
    "real",
    "several",
    "whole",
]


def real(
    name: str,
    given: Any,
    *,
    least: float = -math.inf,
    most: float = math.inf,
    above: float = -math.inf,
    below: float = math.inf,
    example: str = "0.1",
) -> float:
    """A setting as a finite float within its range.

    Args:
        name: the setting, as the user wrote it.
        given: what the user gave for it.
        least: the smallest number allowed.
        most: the largest number allowed.
        above: the number must be larger than this.
        below: the number must be smaller than this.
        example: a good number, for the error message.

    Returns:
        ``given`` as a float.

    Raises:
        OptionError: it is no finite real number, or out of range.

    Example:
        >>> real("lr", 1, least=0.0)
        1.0
    """
    number = math.nan
    if isinstance(given, numbers.Real) and not isinstance(given, bool):
        try:
            number = float(given)
        except OverflowError:  # an int beyond float64
            number = math.inf
    if math.isfinite(number) and least <= number <= most and above < number < below:
        return number
    bounds = [
        f"{word} {bound:g}"
        for word, bound in (
            ("of at least", least),
            ("above", above),
            ("of at most", most),
            ("below", below),
        )
        if math.isfinite(bound)
    ]
    expected = f"a finite number {' and '.join(bounds)}".rstrip()
    raise OptionError(
        f"{name} must be {expected}; got {describe(given)}. Give a number such as {name}={example}."
    )


def whole(name: str, given: Any, *, least: int, example: int) -> int:
    """A setting as an int of at least ``least``.

    Args:
        name: the setting, as the user wrote it.
        given: what the user gave for it.
        least: the smallest number allowed.
        example: a good number, for the error message.

    Returns:
        ``given`` as an int.

    Raises:
        OptionError: it is no whole number, or too small.

    Example:
        >>> whole("epochs", 100, least=0, example=100)
        100
    """
    try:
        number = least - 1 if isinstance(given, bool) else operator.index(given)
    except TypeError:
        number = least - 1
    if number >= least:
        return number
    raise OptionError(
        f"{name} must be a whole number of at least {least}; got {describe(given)}. "
        f"Give a number such as {name}={example}."
    )


def choice(name: str, given: Any, allowed: Iterable[str], otherwise: str = "") -> str:
    """A setting that is one of a few names.

    Args:
        name: the setting, as the user wrote it.
        given: what the user gave for it.
        allowed: the names that exist.
        otherwise: what else could be given, for the error message.

    Returns:
        ``given``.

    Raises:
        OptionError: there is no such name.

    Example:
        >>> choice("reduction", "sum", ("mean", "sum"))
        'sum'
    """
    names = list(allowed)
    if isinstance(given, str) and given in names:
        return given
    listed = ", ".join(repr(each) for each in names)
    raise OptionError(
        f"{name} must be one of {listed}{f', or {otherwise}' if otherwise else ''}; "
        f"got {describe(given)}."
    )


def function(
    needed: str, given: Any, count: int | None = None, error: type[Exception] = OptionError
) -> None:
    """Refuse what is no function, or cannot be called with so many arguments.

    Args:
        needed: who needs what, such as ``"grad needs a function of numbers"``.
        given: what the user gave for it.
        count: how many positional arguments it will be called with; None if unknown.
        error: the class of the error.

    Raises:
        OptionError: or ``error``: it cannot be called, or not in this way.

    Example:
        >>> function("grad needs a function of numbers", 3)
        Traceback (most recent call last):
        chainrule.errors.OptionError: grad needs a function of numbers; got 3 (an int).
    """
    if not callable(given):
        raise error(f"{needed}; got {describe(given)}.")
    if count is None:
        return
    try:
        signature = inspect.signature(given)
    except (TypeError, ValueError):  # built-in functions need not have a signature
        return
    try:
        signature.bind(*[None] * count)
    except TypeError as problem:
        name = getattr(given, "__name__", type(given).__name__)
        shown = signature.replace(return_annotation=inspect.Signature.empty)
        raise error(
            f"{needed}; {name}{shown} cannot be called with {several(count, 'argument')}: "
            f"{problem}."
        ) from None


def check_folder(path: str | os.PathLike[str]) -> None:
    """Refuse a file to write whose folder does not exist.

    Raises:
        FileNotFoundError: it names the file and the folder.
    """
    folder = os.path.dirname(os.path.abspath(path))
    if not os.path.isdir(folder):
        raise FileNotFoundError(
            errno.ENOENT, f"there is no folder {folder!r}; make it first", os.fspath(path)
        )


class RandomSource(Protocol):
    """What is drawn from: a `random.Random`, or the module `random` itself."""

    def uniform(self, a: float, b: float) -> float: ...
    def gauss(self, mu: float = ..., sigma: float = ...) -> float: ...
    def shuffle(self, x: MutableSequence[Any]) -> None: ...


def random_source(seed: Any) -> RandomSource:
    """Where random numbers come from.

    Args:
        seed: None for Python's global random numbers, so that ``random.seed(42)``
            has its effect; a whole number for numbers of its own; or such a source
            itself, which is passed through.

    Raises:
        OptionError: it is none of these.

    Example:
        >>> random_source(7).uniform(0.0, 1.0) == random.Random(7).uniform(0.0, 1.0)
        True
    """
    if seed is None:
        return random
    if seed is random or isinstance(seed, random.Random):
        return seed
    try:
        return random.Random(operator.index(seed))
    except TypeError:
        raise OptionError(
            f"seed must be a whole number such as 42, or None for Python's global random "
            f"numbers; got {describe(seed)}"
        ) from None


def several(count: int, thing: str) -> str:
    """A count with its noun, for a message.

    Example:
        >>> several(1, "row"), several(2000, "row")
        ('1 row', '2,000 rows')
    """
    return f"{count:,} {thing}" if count == 1 else f"{count:,} {thing}s"
