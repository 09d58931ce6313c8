"""Random directions through a kink.

Between the left and the right slope along each input is not enough: at a tie,
``minimum(x, y)`` has slopes 0 and 1 along either, and a rule that gives both inputs 0
stays between them.  But when both move up together the function's slope is 1, and the
rule's is 0.

Inputs whose kinks have nothing to do with each other, as in ``relu(x) - relu(y)``, are
not moved together: slopes of independent kinks may cancel, and prove nothing.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import combinations
from typing import Final

from chainrule.checking.differences import LineSlopes, Slope, slopes_along
from chainrule.checking.report import DirectionCheck, InputCheck
from chainrule.checking.verdict import SAFETY, Evidence, between

__all__ = ["blamed", "through_kinks"]

PAIRS: Final = 28
"""How many pairs of inputs are tried for kinks that belong together."""


def through_kinks(
    f: Callable[[list[float]], float],
    known: Evidence,
    checks: Sequence[InputCheck],
    count: int,
    seed: int,
) -> list[DirectionCheck]:
    """Compare the gradient with the one-sided slopes along random directions.

    Args:
        f: the function of all inputs.
        known: what was found along each input.
        checks: the verdicts so far.
        count: how many directions to try for each group of inputs that belong together.
        seed: of the random directions.

    Returns:
        The directions that tell anything, and whether the gradient is inside.
    """
    source = random.Random(seed)
    kinked = [i for i, check in enumerate(checks) if check.verdict == "kink"]
    pairs = list(combinations(kinked, 2))
    if len(pairs) > PAIRS:
        pairs = source.sample(pairs, PAIRS)
    group = {i: {i} for i in kinked}
    found = []
    for i, j in pairs if count else ():
        for sign in (1.0, -1.0):
            tried, together = _along(f, known, _direction(known, (i, j), (1.0, sign), source))
            if tried and together:
                found.append(tried)
                merged = group[i] | group[j]
                group.update(dict.fromkeys(merged, merged))
    for members in {min(g): g for g in group.values() if len(g) > 1}.values():
        inputs = sorted(members)
        for n in range(count):
            signs = [1.0 if n == 0 else source.choice((1.0, -1.0)) for _ in inputs]
            tried, _ = _along(f, known, _direction(known, inputs, signs, source))
            if tried:
                found.append(tried)
    return found


def _direction(
    known: Evidence, inputs: Sequence[int], signs: Sequence[float], source: random.Random
) -> tuple[float, ...]:
    """Each of the inputs moves by about its own size."""
    direction = [0.0] * len(known.xs)
    for i, sign in zip(inputs, signs, strict=True):
        direction[i] = sign * source.uniform(0.5, 1.0) * (abs(known.xs[i]) or 1.0)
    return tuple(direction)


def _along(
    f: Callable[[list[float]], float], known: Evidence, direction: tuple[float, ...]
) -> tuple[DirectionCheck | None, bool]:
    """The check along one direction, and whether the inputs' kinks show to be one."""
    line = slopes_along(
        lambda t: f([x + t * d for x, d in zip(known.xs, direction, strict=True)]), 0.0
    )
    if line.left is None or line.right is None:
        return None, False
    moving = [(i, d) for i, d in enumerate(direction) if d]
    slope = sum([known.gradient[i] * d for i, d in moving])
    inside = between(slope, line.left, line.right, known.tolerance)
    rising = _adds_up(line.right, [_part(known.lines[i], d, True) for i, d in moving], known)
    falling = _adds_up(line.left, [_part(known.lines[i], d, False) for i, d in moving], known)
    together = not (rising and falling)
    return DirectionCheck(direction, slope, line.left.value, line.right.value, inside), together


def _part(line: LineSlopes, d: float, up: bool) -> Slope:
    """What one input, moving by ``d``, adds to the slope going up the direction or down."""
    side = line.right if (d > 0.0) is up else line.left
    assert side is not None  # the input has a kink, and so two sides
    return Slope(side.value * d, side.error * abs(d))


def _adds_up(whole: Slope, parts: list[Slope], known: Evidence) -> bool:
    """Whether a slope is the sum of those along the inputs, each for itself."""
    slack = SAFETY * (whole.error + sum([part.error for part in parts]))
    slack += known.tolerance * sum([abs(part.value) for part in parts])
    return abs(whole.value - sum([part.value for part in parts])) <= slack


def blamed(checks: Sequence[InputCheck], tried: Sequence[DirectionCheck]) -> list[InputCheck]:
    """The verdicts after the directions: where the gradient left the slopes, it is a bug.

    The direction that moves the fewest inputs says it most precisely.
    """
    found = list(checks)
    outside = [x for x in tried if not x.inside]
    fewest = min([len(_moving(x)) for x in outside], default=0)
    for tested in outside:
        moving = _moving(tested)
        if len(moving) > fewest:
            continue
        names = " and ".join([checks[i].name for i in moving])
        text = (
            f"at a kink: when {names} move together, the function's slope lies between "
            f"{tested.left:.6g} and {tested.right:.6g}, "
            f"but the gradient makes it {tested.slope:.6g}"
        )
        for i in moving:
            if found[i].verdict == "kink":
                found[i] = replace(found[i], verdict="bug", reason=text)
    return found


def _moving(tried: DirectionCheck) -> list[int]:
    return [i for i, d in enumerate(tried.direction) if d]
