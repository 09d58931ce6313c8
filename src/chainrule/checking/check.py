"""`check_gradients`: the methods brought together, and the verdict."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from chainrule.checking.calling import (
    evaluator,
    foreign_gradient,
    names_of,
    on_floats,
    own_gradients,
    quiet,
    quietly,
)
from chainrule.checking.differences import LineSlopes, slopes_along
from chainrule.checking.directions import blamed, through_kinks
from chainrule.checking.report import GradientReport
from chainrule.checking.verdict import Evidence, verdict_on, without_value
from chainrule.errors import OptionError, ShapeError, describe
from chainrule.options import function
from chainrule.structure import flatten

__all__ = ["check_gradients"]


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
        OptionError: ``tolerance`` or ``directions`` is out of its range, or a function
            does not take the point's arguments.

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
    needed = "check_gradients needs a function, and a point with each of its arguments"
    function(needed, f, len(point) or None)
    if gradient is not None:
        function("gradient must be a function of the same arguments", gradient, len(point))
    leaves, structure = flatten(point, "the point")
    if not leaves:
        raise ShapeError(
            "check_gradients needs a point at which to check: check_gradients(f, x), with "
            "at least one number in x"
        )
    xs = [float(x) for x in leaves]
    names = names_of(f, point)
    evaluate = evaluator(f, structure, values=gradient is None)
    forward: list[float | None] = [None] * len(xs)
    with quietly():
        value = evaluate(xs)
        fast = None
        if gradient is None:
            if math.isfinite(value):
                fast = on_floats(f, structure, xs, value)
            found, forward = own_gradients(f, structure, xs, plain=fast is not None)
        else:
            found = foreign_gradient(gradient, structure, xs, point)
        if not math.isfinite(value):
            checks = [
                without_value(*known, value)
                for known in zip(names, xs, found, forward, strict=True)
            ]
            return GradientReport(tuple(checks), (), value, gradient is not None)

        def near(moved: list[float]) -> float:
            return quiet(evaluate, moved)

        def line(f: Callable[[list[float]], float], i: int) -> LineSlopes:
            return slopes_along(lambda x: f([*xs[:i], x, *xs[i + 1 :]]), xs[i])

        lines = [line(fast or near, i) for i in range(len(xs))]
        known = Evidence(names, xs, found, forward, lines, tolerance)
        checks = [verdict_on(i, known) for i in range(len(xs))]
        if fast is not None:  # on floats a function may be another, so they accuse nobody
            doubtful = [i for i, check in enumerate(checks) if check.verdict != "agrees"]
            for i in doubtful:
                lines[i] = line(near, i)
            known = Evidence(names, xs, found, forward, lines, tolerance)
            for i in doubtful:
                checks[i] = verdict_on(i, known)
        tried = through_kinks(near, known, checks, directions, seed)
    return GradientReport(tuple(blamed(checks, tried)), tuple(tried), value, gradient is not None)
