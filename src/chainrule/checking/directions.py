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
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from itertools import combinations
from typing import Final

from chainrule.checking.differences import LineSlopes, slopes_along
from chainrule.checking.report import DirectionCheck, InputCheck
from chainrule.checking.verdict import SAFETY, Evidence

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
        for signs in ((1.0, 1.0), (1.0, -1.0)):
            tried, together = _along(f, known, _direction(known, (i, j), signs, source))
            if together:
                found.append(tried)
                merged = group[i] | group[j]
                group.update(dict.fromkeys(merged, merged))
    for members in {min(g): g for g in group.values() if len(g) > 1}.values():
        inputs = sorted(members)
        for n in range(count):
            signs = [1.0 if n == 0 else source.choice((1.0, -1.0)) for _ in inputs]
            tried, _ = _along(f, known, _direction(known, inputs, signs, source))
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
) -> tuple[DirectionCheck, bool]:
    """The check along one direction, and whether the inputs' kinks show to be one."""
    line = slopes_along(
        lambda t: f([x + t * d for x, d in zip(known.xs, direction, strict=True)]), 0.0
    )
    moving = [i for i, d in enumerate(direction) if d]
    terms = [known.gradient[i] * direction[i] for i in moving]
    slope = sum(terms)
    ...
