"""`check_gradients`: the methods brought together, and the verdict."""

from __future__ import annotations

import inspect
import math
import random
import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import replace
from itertools import combinations
from typing import Any, Final

from chainrule.checking.differences import LineSlopes, Slope, slopes_along
from chainrule.checking.report import DirectionCheck, GradientReport, InputCheck
from chainrule.errors import NotANumberError, OptionError, ShapeError, describe
from chainrule.modes import no_grad
from chainrule.operation import Operand
from chainrule.structure import Structure, flatten
from chainrule.transforms import jvp, value_and_grad
from chainrule.value import Value

__all__ = ["check_gradients"]

SAFETY: Final = 3.0
"""A gradient may be off by so many times the estimated error of the differences."""
RESOLVED: Final = 1e-4
"""Differences less certain than this, in proportion, decide only what is glaring."""
GLARING: Final = 10.0
PAIRS: Final = 6
"""Up to so many inputs with kinks are also moved two by two, to find which is to blame."""


def check_gradients(
    f: Callable[..., Any],
    *point: Any,
    gradient: Callable[..., Any] | None = None,
    tolerance: float = 1e-6,
    directions: int = 8,
    seed: int = 0,
) -> GradientReport:
    """Find out whether a gradient is right at a point.

    Without ``gradient``, the function is one of this package, and reverse mode,
    forward mode and differences are compared.  With it, the function and its gradient
    are anybody's, and the gradient is compared with differences.  These are
    extrapolated to step zero with an error estimate of their own (Ridders, 1982), from
    each side separately as well: at a kink (``relu`` at 0) the gradient must lie
    between the two slopes, along each input and along random directions.

    Args:
        f: a function that returns one number.  With ``gradient`` it is called with
            plain floats, lists, tuples, dicts and float64 arrays only; what it returns
            is converted by ``float()``, so a tensor of one element will do.
        *point: the arguments at which to check: numbers, or lists, tuples, dicts or
            NumPy arrays of numbers.
        gradient: a function of the same arguments that returns the derivative by each
            number in them: in the structure of the argument if there is one argument,
            else a tuple or list with one entry per argument.  Tensors are fine.
        tolerance: the difference in proportion that is passed over, greater than 0 and
            less than 1.
        directions: how many random directions to try at a kink.
        seed: of the random directions; the same seed gives the same report.

    Returns:
        A report with a verdict per input: ``print`` it, ask ``report.ok``, or call
        ``report.raise_if_bad()`` in a test.

    Raises:
        NotANumberError: the point, or a result, holds something that is no number.
        ShapeError: there is no input; ``f`` returns several numbers; or the gradient
            has not the structure of the point.
        OptionError: ``tolerance`` or ``directions`` is out of its range.

    Example:
        >>> report = check_gradients(lambda x, y: x * y, 2.0, 3.0,
        ...                          gradient=lambda x, y: (x, y))
        >>> report.ok, report.inputs[0].reason
        (False, 'the gradient equals the derivative by y: are two operands swapped?')
        >>> check_gradients(lambda x: x.tanh(), 0.5).ok
        True
    """
    if not 0.0 < tolerance < 1.0:
        raise OptionError(f"tolerance must lie between 0 and 1; got {describe(tolerance)}")
    if directions < 0:
        raise OptionError(f"directions must be 0 or more; got {describe(directions)}")
    leaves, structure = flatten(point, "the point")
    if not leaves:
        raise ShapeError(
            "check_gradients needs a point at which to check: check_gradients(f, x), with "
            "at least one number in x"
        )
    xs = [float(x) for x in leaves]
    names = [name for arg in zip(_arguments(f, len(point)), point, strict=True) for name in _named(*arg)]
    evaluate = _evaluator(f, structure, own=gradient is None)
    value = evaluate(xs)
    if gradient is None:
        found, forward = _own(f, structure, xs)
    else:
        found = _foreign(gradient, structure.fill(xs), point)
        forward = [None] * len(xs)

    def around(i: int) -> Callable[[float], float]:
        return lambda x: _quiet(evaluate, [*xs[:i], x, *xs[i + 1 :]])

    with _no_warnings():
        lines = [slopes_along(around(i), x) for i, x in enumerate(xs)] if math.isfinite(value) else []
        judge = _Judge(names, xs, found, forward, lines, tolerance)
        checks = [judge.verdict(i) for i in range(len(xs))]
        tried = []
        if any(check.verdict == "kink" for check in checks):
            tried = _try_directions(evaluate, xs, found, checks, directions, seed, tolerance)
    return GradientReport(
        tuple(_blame(checks, tried)), tuple(tried), value, gradient is not None
    )
