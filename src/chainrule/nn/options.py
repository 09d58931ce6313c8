"""Checking the settings a user gives to optimisers, schedules and `fit`."""

from __future__ import annotations

import math
import numbers
import operator
from collections.abc import Iterable
from typing import Any

from chainrule.errors import OptionError, describe

__all__ = ["choice", "real", "whole"]


def real(
    name: str,
    given: Any,
    *,
    least: float = -math.inf,
    below: float = math.inf,
    above: float = -math.inf,
    example: str = "0.1",
) -> float:
    """A setting as a finite float within its range.

    Args:
        name: the setting, as the user wrote it.
        given: what the user gave for it.
        least: the smallest number allowed.
        below: the number must be smaller than this.
        above: the number must be larger than this.
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
    if least <= number < below and above < number < math.inf and number > -math.inf:
        return number
    bounds = []
    if above > -math.inf:
        bounds.append(f"above {above:g}")
    if least > -math.inf:
        bounds.append(f"from {least:g}" if below < math.inf else f"of at least {least:g}")
    if below < math.inf:
        bounds.append(f"up to, but not including, {below:g}")
    expected = " ".join(["a finite number", *bounds])
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
