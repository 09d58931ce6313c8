"""Slopes of a function along a line, from differences, each with an error of its own.

A difference quotient has two enemies: a large step sees the curve and not its slope,
a small one divides the rounding noise of the function by almost nothing.  So the
quotient is taken at many steps, each a quarter of the one before, and neighbours
are combined so that the leading errors cancel (Richardson, 1911).  How far the
combinations still differ tells how good they are (Ridders, "Accurate computation of
F'(x) and F'(x)F''(x)", Advances in Engineering Software 4, 1982; Press et al.,
"Numerical Recipes", section 5.7).  The noise is measured, not assumed, from a table
of differences at the smallest steps (Hamming; Moré & Wild, "Estimating computational
noise", SIAM J. Sci. Comput. 33, 2011).

The left and the right slope are found in the same way, each from its own side.  Where
they differ there is a kink.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Final

__all__ = ["LineSlopes", "Slope", "slopes_along"]

RATIO: Final = 4.0
LEVELS: Final = 15
FIRST: Final = 0.18
"""The largest step, for a point of size 1.

Not a power of two: the results then fill all binary places that the function's
arithmetic has, and `_unit` can tell float32 from float64.
"""
ORDER: Final = 5
"""How many quotients at most are combined with the first one."""
ENOUGH: Final = 4
"""An estimate that so many steps agree upon is not given up for what larger steps say."""
HIDING: Final = 1e-2
"""Nor is noise above this part of all change that is seen any better."""
FINER: Final = 3
"""So many levels are added at once where the smallest steps are still too large."""
WAVY: Final = 1e-6
"""Values that jump about by more than this part of their range may be waves, not noise."""
WILD: Final = 0.3
"""Noise above this part of all change at the smallest steps hides what the function does."""
JUMPY: Final = 6
"""Of a smooth function the change shrinks with the step at most to this power."""


@dataclass(frozen=True)
class Slope:
    """A derivative from differences: its value, and how far off it may be."""

    value: float
    error: float


@dataclass(frozen=True)
class LineSlopes:
    """What differences tell about a function along a line, at one point of it.

    Attributes:
        left: the slope coming from below, None where the function is not finite there.
        right: the slope going up, None where the function is not finite there.
        central: the slope from both sides together, None if one is missing.
        typical: the steepest slope seen near the point; tells a zero from a small number.
        natural: the slope that takes the value at the point to zero over the size of
            the point; what a slope is small in comparison with, where none is seen.
        noise: how much the function's values jump about from rounding.
        finest: the smallest step.
        settled: False where the values jump about, at the smallest steps, by about as much as
            they change there at all: steps longer than the waves of the function see
            no slope.
        jump: whether the function seems to jump near the point.
    """

    left: Slope | None
    right: Slope | None
    central: Slope | None
    typical: float
    natural: float
    noise: float
    finest: float
    settled: bool
    jump: bool


def slopes_along(f: Callable[[float], float], x: float) -> LineSlopes:
    """The derivative of a function of one number, from the left, the right, and both.

    Args:
        f: the function; may give ``inf`` or ``nan`` away from ``x``, never at it.
        x: the point.

    Returns:
        The slopes with their errors.

    Example:
        >>> found = slopes_along(abs, 0.0)
        >>> found.left.value, found.right.value
        (-1.0, 1.0)
    """
    at = f(x)
    steps = _steps(x)
    ups = _side(f, x, at, steps)
    downs = _side(f, x, at, [-h for h in steps])
    rows = _rows(f, x, steps[-1])
    if min(len(ups), len(downs)) > ORDER:
        finer = _finer(f, x, ups, downs, rows, steps[-1])
        if finer:
            steps += finer
            ups += _side(f, x, at, finer)
            downs += _side(f, x, at, [-h for h in finer])
            rows = _rows(f, x, steps[-1])
    noise = _noise(f, x, at, ups, downs, rows)
    values = [at, *[y for _, y in ups], *[y for _, y in downs]]
    unit = _unit(values)
    rounding = unit * max(map(abs, values))

    def jitter(*ys: float) -> float:
        return max(noise, unit * max(map(abs, (at, *ys))))

    def one_sided(side: list[tuple[float, float]]) -> Slope | None:
        if not side:
            return None
        quotients = [(y - at) / h for h, y in side]
        steepness = _diverging(side, quotients, at, noise)
        if steepness:
            return Slope(steepness, 0.0)
        return _limit([abs(h) for h, _ in side], quotients, [jitter(y) for _, y in side], 1)

    central = None
    if ups and downs:
        n = min(len(ups), len(downs))  # each has lost its largest steps at most
        pairs = list(zip(ups[-n:], downs[-n:], strict=True))
        widths = [(up - down) / 2.0 for (up, _), (down, _) in pairs]
        central = _limit(
            widths,
            [(y - z) / 2.0 / h for ((_, y), (_, z)), h in zip(pairs, widths, strict=True)],
            [jitter(y, z) for (_, y), (_, z) in pairs],
            2,
        )
    near = max(abs(x), FIRST) / 64.0
    floor = max(noise, 2.0**-52 * max(map(abs, values)))
    calm = [_before_a_jump(side, at, floor) for side in (ups, downs)]
    seen = [
        (abs(y - at) - 3.0 * jitter(y)) / abs(h) for side in calm for h, y in side if abs(h) < near
    ]
    return LineSlopes(
        left=one_sided(downs),
        right=one_sided(ups),
        central=central,
        typical=max([0.0, *seen]),
        natural=abs(at) / max(abs(x), 1.0),
        noise=jitter(),
        finest=steps[-1],
        jump=len(calm[0]) + len(calm[1]) < len(ups) + len(downs),
        settled=noise <= 1e3 * rounding
        or noise <= min(WILD * _change(ups, downs), HIDING * (max(values) - min(values))),
    )


def _steps(x: float) -> list[float]:
    """Steps in proportion to ``x`` and to 1, largest first; far below both, noise rules."""
    sizes = {0}
    if x != 0.0:
        sizes.add(math.frexp(x)[1] // 2)
    exponents = {size - level for size in sizes for level in range(LEVELS)}
    steps = [math.ldexp(FIRST, 2 * e) for e in sorted(exponents, reverse=True) if e > -530]
    return [h for h in steps if h > 4.0 * math.ulp(x)]


def _side(
    f: Callable[[float], float], x: float, at: float, steps: list[float]
) -> list[tuple[float, float]]:
    """Actual steps and values on one side, from the largest step before which all is finite."""
    found = []
    for h in reversed(steps):
        moved = x + h
        y = f(moved) if math.isfinite(moved) else moved
        if not math.isfinite(y - at):
            break
        found.append((moved - x, y))
    return found[::-1]


def _finer(
    f: Callable[[float], float],
    x: float,
    ups: list[tuple[float, float]],
    downs: list[tuple[float, float]],
    rows: list[list[float]],
    finest: float,
) -> list[float]:
    """More steps, for a function whose waves are about as short as the smallest step.

    What looks like noise is the function itself if much less of it is left at finer steps
    and the function still moves at each of them; rounding stays, or stands still.
    """
    noise = _roughness(rows)
    rounding = 2.0**-52 * max([abs(y) for _, y in (*ups, *downs)])
    if noise <= max(WAVY * _change(ups, downs), 1e3 * rounding):
        return []
    steps: list[float] = []
    wanted = 0
    h = finest / RATIO
    while h > 4.0 * math.ulp(x) and len(steps) < 8 * FINER:
        steps.append(h)
        if len(steps) % FINER == 0 or h / RATIO <= 4.0 * math.ulp(x):
            rows = _rows(f, x, h)
            left = _roughness(rows)
            if left < noise / 8.0 and not any(0.0 in _differences(row, 1) for row in rows):
                noise, wanted = left, len(steps)
        h /= RATIO
    # As many again, for enough steps that are shorter than a wave to agree.
    return steps[: wanted + FINER] if wanted else []


def _change(ups: list[tuple[float, float]], downs: list[tuple[float, float]]) -> float:
    """The range of the values at the smallest steps."""
    values = [y for _, y in (*ups[-ORDER - 1 :], *downs[-ORDER - 1 :])]
    return max(values, default=0.0) - min(values, default=0.0)


def _rows(f: Callable[[float], float], x: float, h: float) -> list[list[float]]:
    """Values at multiples of a step, on either side."""
    return [[f(x + step * i) for i in range(4, 12)] for step in (h, -h)]


def _roughness(rows: list[list[float]]) -> float:
    """The largest third difference: it shows no slope and no curve, but noise."""
    return max([0.0, *[d for row in rows for d in _differences(row, 3)]])


def _before_a_jump(
    side: list[tuple[float, float]], at: float, jitter: float
) -> list[tuple[float, float]]:
    """The steps that are shorter than the way to the next jump: beyond, nothing is typical."""
    for k in range(len(side) - 1, 0, -1):
        (long, far), (short, close) = side[k - 1], side[k]
        ratio = long / short
        # The gap between the steps in proportion to the point and those to 1 is no reason
        # to expect more than a straight line.
        growth = RATIO**JUMPY * ratio / RATIO
        if abs(far - at) > growth * (abs(close - at) + 3.0 * jitter):
            return side[k:]
    return side


def _noise(
    f: Callable[[float], float],
    x: float,
    at: float,
    ups: list[tuple[float, float]],
    downs: list[tuple[float, float]],
    rows: list[list[float]],
) -> float:
    """How much values jump about, seen at the smallest steps.

    A function that rounds coarsely on the way stands still there, like a staircase; so
    it is also looked at where it first moves.  If it moves in jumps, that is its noise.
    """
    noise = _roughness(rows)
    for side in (ups, downs):
        if side:
            start = side[-1][0]
            moves = [h for h, y in side if y != at]
            if moves and moves[-1] != start:
                row = [f(x + moves[-1] * (0.9 + i / 7.0)) for i in range(16)]
                jumps = _differences(row, 1)
                if jumps.count(0.0) >= 4:
                    noise = max([noise, *jumps])
    return noise


def _differences(row: list[float], order: int) -> list[float]:
    """The sizes of the differences of a row of values; those of order 3 show no curve."""
    for _ in range(order):
        row = [b - a for a, b in pairwise(row)]
    return [abs(d) for d in row if math.isfinite(d)]


def _unit(values: Sequence[float]) -> float:
    """The relative rounding error of the arithmetic that the values come from.

    float32 leaves the last 29 of the 53 binary places empty in all of them.
    """
    return 2.0**-23 if all(map(_is_single, values)) else 2.0**-52


def _is_single(x: float) -> bool:
    try:
        return bool(struct.unpack(">f", struct.pack(">f", x))[0] == x)
    except OverflowError:
        return False


def _diverging(
    side: list[tuple[float, float]], quotients: list[float], at: float, noise: float
) -> float:
    """``inf`` or ``-inf`` if the quotients only grow towards the point (a jump, say), else 0."""
    if len(side) < 6:
        return 0.0
    last = quotients[-6:]
    if min([abs(y - at) for _, y in side[-6:]]) <= 20.0 * noise:
        return 0.0
    growth = RATIO**0.25
    if all(b / a >= growth for a, b in pairwise(last)):
        return math.copysign(math.inf, last[-1])
    return 0.0


def _limit(steps: list[float], quotients: list[float], noise: list[float], power: int) -> Slope:
    """The limit of difference quotients for steps to zero.

    ``row[k]`` combines the quotients of the step at hand and of the ``k`` next smaller
    ones so that the ``k`` leading powers of the step (``power``, twice it, ...) cancel.
    The search begins at the smallest steps, which see nothing but the point, though
    through all the noise; larger steps make the estimate sharper as long as they do not
    contradict it.  Where they do, they see something else: a kink nearby, or the curve.
    """
    best = Slope(quotients[-1], math.inf)
    agreeing = 0
    smaller = [quotients[-1]]
    for m in range(len(steps) - 2, -1, -1):
        row = [quotients[m]]
        candidates = []
        amplified = 1.0
        for k in range(min(ORDER, len(smaller)) + 1):
            if k == 0:
                doubt = 2.0 * abs(row[0] - smaller[0])
            else:
                shrunk = min(steps[m] / steps[m + k], 1e100) ** power  # squared, it stays finite
                amplified *= (shrunk + 1.0) / (shrunk - 1.0)
                row.append(smaller[k - 1] + (smaller[k - 1] - row[k - 1]) / (shrunk - 1.0))
                doubt = max(abs(row[k] - smaller[k - 1]), abs(row[k] - row[k - 1]))
            rounding = amplified * noise[m + k] / steps[m + k]
            candidates.append(Slope(row[k], doubt + rounding))
        smaller = row
        gap = abs(candidates[0].value - best.value)
        if gap > candidates[0].error + best.error:
            if agreeing >= ENOUGH:
                break
            best = Slope(best.value, gap + candidates[0].error)
            continue
        agreeing += 1
        for found in candidates:
            if found.error < best.error and abs(found.value - best.value) <= (
                found.error + best.error
            ):
                best = found
    return best
