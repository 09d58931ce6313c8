"""From slopes to a verdict: agrees, bug, kink, precision or edge of domain."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Final

from chainrule.checking.differences import LineSlopes, Slope
from chainrule.checking.report import InputCheck

__all__ = ["SAFETY", "Evidence", "between", "verdict_on", "without_value"]

SAFETY: Final = 3.0
"""A gradient may be off by so many times the estimated error of the differences."""
RESOLVED: Final = 1e-4
"""Differences less certain than this, in proportion, decide only what is glaring ..."""
GLARING: Final = 10.0
"""... off by so many errors, ..."""
COARSE: Final = 1e-2
"""... and those less certain than this decide nothing."""
JUMP: Final = 10.0
"""Two one-sided slopes are not the same if they differ by so many errors."""
NOT_A_NUMBER: Final = "nan is no slope: look for an infinite local derivative times zero"
UNSETTLED: Final = (
    "the differences do not settle as the step shrinks: at the smallest steps too the values "
    "change as much as anywhere, so the function is noisy, or its waves are shorter than the steps"
)
EPSILON: Final = 2.0**-52
DIGITS: Final = 15


@dataclass(frozen=True)
class Evidence:
    """All that is known about the inputs, each list in their order.

    Attributes:
        names: what they are called.
        xs: the point.
        gradient: the derivatives under test.
        forward: those of forward mode, or None.
        lines: the slopes from differences.
        tolerance: the difference in proportion that is passed over.
    """

    names: Sequence[str]
    xs: Sequence[float]
    gradient: Sequence[float]
    forward: Sequence[float | None]
    lines: Sequence[LineSlopes]
    tolerance: float

    def slope(self, i: int) -> float | None:
        """The derivative by input ``i`` that the differences found."""
        central = self.lines[i].central
        return None if central is None else central.value

    @cached_property
    def shared_factor(self) -> float | None:
        """The factor by which the derivatives by several inputs are all off, if it is one."""
        ratios = []
        for g, line in zip(self.gradient, self.lines, strict=True):
            d = line.central
            if d is None or not d.error <= RESOLVED * abs(d.value):
                if g == 0.0:
                    continue  # nothing times the factor
                return None
            ratios.append(g / d.value)
        if len(ratios) < 2 or not all(_near(r, ratios[0]) for r in ratios):
            return None
        return ratios[0]


def verdict_on(i: int, known: Evidence) -> InputCheck:
    """Judge the derivative by input ``i``."""
    line = known.lines[i]
    found = _judged(i, known)
    # Modes that differ from one another need no differences to be a bug.
    other = found.forward
    apart = other is not None and _differ(found.gradient, other, known.tolerance)
    if apart or found.verdict not in ("bug", "kink"):
        return found
    if line.settled and _sides_meet(line):
        return found
    return replace(found, verdict="precision", ratio=None, reason=UNSETTLED)


def _judged(i: int, known: Evidence) -> InputCheck:
    line = known.lines[i]
    g = known.gradient[i]
    other = known.forward[i]
    central = line.central
    if central and line.left and line.right and line.left.value == line.right.value:
        # Infinite on both sides alike (else central is more exact than either).
        central = line.left if math.isinf(line.left.value) else central
    blank = replace(
        _blank(known.names[i], known.xs[i], g, other),
        numeric=None if central is None else central.value,
        error=None if central is None else central.error,
        left=None if line.left is None else line.left.value,
        right=None if line.right is None else line.right.value,
    )
    if other is not None and _differ(g, other, known.tolerance):
        return _modes_differ(blank, known, i)
    if line.left is None or line.right is None or central is None:
        return _at_the_edge(blank, line.left or line.right)
    if _is_kink(line.left, line.right, known.tolerance):
        jumps = replace(blank, numeric=None, error=None)
        if between(g, line.left, line.right, known.tolerance):
            text = "the slope jumps here, and the gradient lies between its two sides"
            return replace(jumps, verdict="kink", reason=text)
        text = "the slope jumps here, and the gradient lies outside its two sides"
        return replace(jumps, verdict="bug", reason=NOT_A_NUMBER if math.isnan(g) else text)
    return _smooth(blank, known, i, central, line)


def without_value(
    name: str, x: float, gradient: float, forward: float | None, value: float
) -> InputCheck:
    """The verdict on an input of a function that is not finite at the point itself."""
    text = f"the function itself is {value} at this point"
    return replace(_blank(name, x, gradient, forward), verdict="edge", reason=text)


def _blank(name: str, x: float, gradient: float, forward: float | None) -> InputCheck:
    return InputCheck(
        name,
        x,
        verdict="",
        gradient=gradient,
        forward=forward,
        numeric=None,
        error=None,
        left=None,
        right=None,
        digits=None,
        ratio=None,
        reason="",
    )


def _differ(g: float, other: float, tolerance: float) -> bool:
    if g == other or (g != g and other != other):
        return False
    return not abs(g - other) <= tolerance * max(abs(g), abs(other))


def _modes_differ(blank: InputCheck, known: Evidence, i: int) -> InputCheck:
    text = f"reverse mode gives {blank.gradient:.9g}, forward mode {blank.forward:.9g}"
    if blank.numeric is not None:
        text += f", differences {blank.numeric:.9g} +- {blank.error:.1g}"
    return replace(blank, verdict="bug", ratio=_ratio(blank.gradient, known.slope(i)), reason=text)


def _at_the_edge(blank: InputCheck, side: Slope | None) -> InputCheck:
    g = blank.gradient
    if side is None:
        text = "the function is not finite on either side, however near"
        return replace(blank, verdict="edge", reason=text)
    size = max(abs(g), abs(side.value))
    certain = side.error <= RESOLVED * size
    if math.isfinite(size) and certain and abs(g - side.value) > 10.0 * RESOLVED * size:
        return replace(
            blank,
            verdict="bug",
            ratio=_ratio(g, side.value),
            reason="the function is finite on one side only, and from there its slope is "
            f"{side.value:.6g}",
        )
    text = "the function is finite on one side only; the slope from there is shown"
    return replace(blank, verdict="edge", reason=text)


def _is_kink(left: Slope, right: Slope, tolerance: float) -> bool:
    jump = abs(right.value - left.value)
    size = max(abs(left.value), abs(right.value))
    if math.isinf(size):
        return jump > 0.0 and math.isfinite(left.error + right.error)
    return jump > JUMP * (left.error + right.error) + tolerance * size


def _sides_meet(line: LineSlopes) -> bool:
    """Whether the slope from both sides is the mean of the two, as at a kink and elsewhere."""
    left, right, central = line.left, line.right, line.central
    if left is None or right is None or central is None:
        return True
    sizes = abs(left.value) + abs(right.value) + abs(central.value)
    errors = left.error + right.error + central.error
    if not math.isfinite(sizes + errors):
        return True
    gap = abs(central.value - (left.value + right.value) / 2.0)
    return gap <= JUMP * errors + COARSE * sizes


def between(g: float, left: Slope, right: Slope, tolerance: float) -> bool:
    """Whether a derivative lies between the slopes of the two sides of a kink."""
    low, high = sorted((left.value, right.value))
    sizes = [abs(x) for x in (low, high) if math.isfinite(x)]
    slack = SAFETY * (left.error + right.error) + tolerance * max(sizes, default=0.0)
    return low - slack <= g <= high + slack


def _smooth(
    blank: InputCheck, known: Evidence, i: int, found: Slope, line: LineSlopes
) -> InputCheck:
    g, d, error = blank.gradient, found.value, found.error
    if g == d and (error == 0.0 or g == line.typical == 0.0):
        return replace(blank, verdict="agrees", digits=DIGITS, reason="exactly")
    finite = math.isfinite(g) and math.isfinite(d)
    size = max(abs(g), abs(d)) if finite else math.inf
    resolved = error <= RESOLVED * size
    allowed = (SAFETY if resolved else GLARING) * error
    allowed += known.tolerance * size + 8.0 * EPSILON * line.typical
    decisive = error <= COARSE * size and not math.isinf(error)
    if decisive and not (finite and abs(g - d) <= allowed):
        causes = "; or ".join(_causes(i, known))
        text = causes or "the two have no simple relation: look at the rule of each operation"
        return replace(blank, verdict="bug", ratio=_ratio(g, d), reason=text)
    if resolved:
        digits = _digits(max(abs(g - d), error) / size)
        return replace(blank, verdict="agrees", digits=digits, reason=f"to {digits} digits")
    # A slope of nothing has no digits of its own; it is compared with what there is around.
    around = max(line.typical, line.natural if g == 0.0 else 0.0)
    if size <= SAFETY * error <= RESOLVED * around:
        digits = _digits(error / around)
        return replace(blank, verdict="agrees", digits=digits, reason=f"as zero, to {error:.0e}")
    return replace(blank, verdict="precision", reason=_why_unresolved(error, line))


def _digits(proportion: float) -> int:
    return DIGITS if proportion <= 10.0**-DIGITS else math.floor(-math.log10(proportion))


def _why_unresolved(error: float, line: LineSlopes) -> str:
    if error > 10.0 * line.noise / line.finest:  # more than noise can do at any step
        return (
            "the differences do not settle as the step shrinks: the slope may be infinite here, "
            "or the function too wild"
        )
    if line.typical == 0.0 and line.jump:
        return (
            "the function jumps near this point, and stands still or nearly so before it: "
            f"differences show its slope only to +- {error:.1g}"
        )
    if line.typical == 0.0:
        return (
            "the function does not change visibly with this input: a slope within "
            f"+- {error:.1g} would be lost in the rounding of its values"
        )
    return (
        f"the function's values are uncertain by about {line.noise:.1g}, so differences show the "
        f"slope only to +- {error:.1g}; use float64 throughout, or smaller numbers, and avoid "
        "subtracting numbers that are nearly equal; a random function needs a fixed seed"
    )


def _ratio(g: float, d: float | None) -> float | None:
    if d is None or d == 0.0 or not math.isfinite(g) or not math.isfinite(d):
        return None
    return g / d


# --- the usual causes -----------------------------------------------------------------------------


def _causes(i: int, known: Evidence) -> Iterator[str]:
    """What the numbers give away about a wrong derivative by input ``i``."""
    g = known.gradient[i]
    d = known.slope(i)
    if not math.isfinite(g):
        yield NOT_A_NUMBER if math.isnan(g) else "an overflow on the way, or a division by zero"
        return
    if g == 0.0:
        yield (
            "the gradient is 0: it does not reach this input (a value detached, or an operand "
            "forgotten), or kinks meet here and their conventions do not add up"
        )
        return
    ratio = _ratio(g, d)
    if ratio is None:
        yield "the function does not change with this input, yet the gradient is not 0"
        return
    n, x = len(known.xs), known.xs[i]
    named = _near(ratio, 1.0, 0.01)  # a factor with a name of its own needs no other
    for told, text in (
        (-1.0, "the ratio is -1: a sign is wrong"),
        (2.0, "the ratio is 2: counted twice, or a factor 1/2 is missing"),
        (0.5, "the ratio is 0.5: a factor 2 is missing, or one of two uses (= for +=)"),
        *(
            ((float(n), f"the ratio is {n}, the number of inputs: a sum for a mean"),)
            if n > 2
            else ()
        ),
        *(((1.0 / n, f"the ratio is 1/{n}: a mean for a sum over the inputs"),) if n > 2 else ()),
        (x, f"the ratio is {x:.6g}, the input itself: a factor too many"),
        (1.0 / x if x else 0.0, "the ratio is one over the input: it is missing as a factor"),
    ):
        if _near(ratio, told):
            yield text
            named = True
    for j, name in enumerate(known.names):
        if j != i and _near(g, known.slope(j)) and not _near(d, known.slope(j)):
            yield f"the gradient equals the derivative by {name}: are two operands swapped?"
            break
    if not named and known.shared_factor is not None and _near(ratio, known.shared_factor):
        yield (
            f"all inputs are off by the same factor, {ratio:.6g}: a step that they share is wrong, "
            "such as the last one (a reduction, a scale of the loss)"
        )
    if _near(ratio, 1.0, 0.01):
        yield f"nearly right, off by {abs(ratio - 1.0):.2%}: an inexact constant or formula"


def _near(x: float | None, y: float | None, proportion: float = 1e-5) -> bool:
    return x is not None and y is not None and y != 0.0 and abs(x - y) <= proportion * abs(y)
