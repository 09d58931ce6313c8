"""Data sets made by a formula and some noise.

With ``seed=7`` a generator draws from a fresh ``random.Random(7)``; with
``seed=None`` from Python's global `random` module, so ``random.seed(7)`` before
the call gives the very same numbers.  Each says in which order it draws, and
draws the same number of times whatever its noise.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Any, Final, TypeAlias

from chainrule.errors import OptionError, ShapeError, describe
from chainrule.options import random_source, real, several, whole

__all__ = ["Dataset", "blobs", "circle", "moons", "spiral", "xor"]

Dataset: TypeAlias = tuple[list[list[float]], list[float]]
"""What every data set is: the rows ``X`` and the targets ``y``, equally many."""

_LARGEST: Final = 1e100
"""Of a coordinate: its square, and a sum of many, are still finite."""


def xor() -> Dataset:
    """Exclusive or: 1 where exactly one input is 1.

    No straight line separates the two classes, so a single neuron cannot learn
    it and one hidden layer can.

    Returns:
        ``X``, 4 rows of 2 floats in the order ``00, 01, 10, 11``, and ``y``, 4
        floats.

    Example:
        >>> xor()
        ([[0.0, 0.0], [0.0, 1.0], [1.0, 0.0], [1.0, 1.0]], [0.0, 1.0, 1.0, 0.0])

    Source:
        M. Minsky and S. Papert, *Perceptrons*, 1969; learned by backpropagation
        in D. Rumelhart, G. Hinton and R. Williams, "Learning internal
        representations by error propagation", 1986.
    """
    return [[0.0, 0.0], [0.0, 1.0], [1.0, 0.0], [1.0, 1.0]], [0.0, 1.0, 1.0, 0.0]


def circle(n: int = 80, seed: int | None = None) -> Dataset:
    """Points in a square, labelled by whether they lie inside the unit circle.

    Draws, point by point, ``x1`` and then ``x2`` from ``uniform(-1.5, 1.5)``.
    The label is 1.0 where ``x1**2 + x2**2 < 1``, else 0.0 (about 35 % are 1.0).

    Args:
        n: how many points, 1 or more.
        seed: see the top of this module.

    Returns:
        ``X``, n rows ``[x1, x2]``, and ``y``, n floats.

    Raises:
        OptionError: ``n`` or ``seed`` is no whole number, or ``n`` is below 1.

    Example:
        >>> X, y = circle(80, seed=7)
        >>> len(X), sum(y)
        (80, 24.0)
    """
    n, draw = _count(n), random_source(seed)
    X = [[draw.uniform(-1.5, 1.5), draw.uniform(-1.5, 1.5)] for _ in range(n)]
    return X, [1.0 if x1 * x1 + x2 * x2 < 1 else 0.0 for x1, x2 in X]


def _count(n: Any) -> int:
    """The number of points."""
    return whole("n", n, least=1, example=100)


def _deviation(name: str, given: Any) -> float:
    """A standard deviation."""
    return real(name, given, least=0.0, most=_LARGEST)


def _moderate(name: str, given: Any) -> float:
    """A number of either sign from which coordinates are computed."""
    return real(name, given, least=-_LARGEST, most=_LARGEST, example="1.0")


def _dealt(n: int, classes: int) -> Iterator[tuple[int, int, int]]:
    """Deal n points out in turn: the class, the place within it, and the size of the class."""
    for i in range(n):
        label = i % classes
        yield label, i // classes, (n - label + classes - 1) // classes


def moons(n: int = 100, noise: float = 0.1, seed: int | None = None) -> Dataset:
    """Two half circles that reach into each other.

    The classes take turns: points 0, 2, 4, ... lie on the upper moon (0.0) and
    1, 3, 5, ... on the lower one (1.0), evenly spaced by their angle ``t`` from
    0 to pi::

        upper   ( cos t,       sin t)
        lower   (1 - cos t, 0.5 - sin t)

    Draws, point by point, what is added to ``x1`` and then to ``x2``:
    ``gauss(0, noise)`` each.

    Args:
        n: how many points, 1 or more.
        noise: standard deviation in the units of the coordinates (a moon's
            radius is 1), 0 or more.
        seed: see the top of this module.

    Returns:
        ``X``, n rows ``[x1, x2]``, and ``y``, n floats.

    Raises:
        OptionError: a setting is of the wrong kind or out of its range.

    Example:
        >>> moons(4, noise=0)[1]
        [0.0, 1.0, 0.0, 1.0]

    Source:
        The curves of scikit-learn's ``make_moons``.
    """
    n, noise, draw = _count(n), _deviation("noise", noise), random_source(seed)
    X, y = [], []
    for label, k, size in _dealt(n, 2):
        t = math.pi * k / max(size - 1, 1)
        x1, x2 = math.cos(t), math.sin(t)
        if label == 1:
            x1, x2 = 1.0 - x1, 0.5 - x2
        X.append([x1 + draw.gauss(0.0, noise), x2 + draw.gauss(0.0, noise)])
        y.append(float(label))
    return X, y


def spiral(
    n: int = 100,
    classes: int = 2,
    turns: float = 1.0,
    noise: float = 0.1,
    seed: int | None = None,
) -> Dataset:
    """Arms that wind out from the origin to radius 1, one per class.

    The classes take turns: point ``i`` belongs to arm ``i % classes``.  Point k
    of the m on arm c has the radius ``r = (k + 1) / m`` and the angle
    ``t = 2 pi (turns r + c / classes)`` plus noise, and lies at
    ``(r cos t, r sin t)``.  The noise turns a point about the origin, so the
    arms stay apart near the middle too.

    Draws one ``gauss(0, noise)`` per point.

    Args:
        n: how many points, 1 or more.
        classes: how many arms, 2 or more.
        turns: how many times an arm goes round; negative is clockwise.
        noise: standard deviation of the angle in radians, 0 or more.
        seed: see the top of this module.

    Returns:
        ``X``, n rows ``[x1, x2]``, and ``y``, n floats.

    Raises:
        OptionError: a setting is of the wrong kind or out of its range.

    Example:
        >>> X, y = spiral(6, classes=3, noise=0)
        >>> y
        [0.0, 1.0, 2.0, 0.0, 1.0, 2.0]

    Source:
        After the spiral of Stanford's CS231n notes, "Putting it together:
        Minimal Neural Network Case Study" (there ``noise`` is 0.2 and an arm
        goes 4 radians round).
    """
    n, classes = _count(n), whole("classes", classes, least=2, example=3)
    turns = _moderate("turns", turns)
    noise, draw = _deviation("noise", noise), random_source(seed)
    X, y = [], []
    for label, k, size in _dealt(n, classes):
        r = (k + 1) / size
        t = 2.0 * math.pi * (turns * r + label / classes) + draw.gauss(0.0, noise)
        X.append([r * math.cos(t), r * math.sin(t)])
        y.append(float(label))
    return X, y


def blobs(
    n: int = 100,
    centers: int | Sequence[Sequence[float]] = 3,
    spread: float = 0.5,
    seed: int | None = None,
) -> Dataset:
    """Round clouds of points, one per class.

    The classes take turns: point ``i`` belongs to centre ``i % len(centers)``.
    Draws, point by point and coordinate by coordinate, ``gauss(0, spread)`` to
    be added to the centre's.

    Args:
        n: how many points, 1 or more.
        centers: how many clouds, with their centres evenly spaced on the circle
            of radius 2, the first at (2, 0) and on counterclockwise; or the
            centres themselves, each a row of equally many numbers.
        spread: standard deviation of a cloud along each axis, 0 or more.
        seed: see the top of this module.

    Returns:
        ``X``, n rows as long as a centre, and ``y``, n floats.

    Raises:
        OptionError: a setting is of the wrong kind or out of its range.
        ShapeError: the centres are rows of different lengths, or empty.

    Example:
        >>> blobs(3, centers=[[0, 0], [5, 5]], spread=0)
        ([[0.0, 0.0], [5.0, 5.0], [0.0, 0.0]], [0.0, 1.0, 0.0])
    """
    n, middles = _count(n), _centers(centers)
    spread, draw = _deviation("spread", spread), random_source(seed)
    X, y = [], []
    for label, _, _ in _dealt(n, len(middles)):
        X.append([at + draw.gauss(0.0, spread) for at in middles[label]])
        y.append(float(label))
    return X, y


def _centers(given: Any) -> list[list[float]]:
    """The centres of `blobs`, as rows of floats."""
    if isinstance(given, (str, bytes)) or not hasattr(given, "__len__"):
        count = whole("centers", given, least=1, example=3)
        angles = [2.0 * math.pi * c / count for c in range(count)]
        return [[2.0 * math.cos(t), 2.0 * math.sin(t)] for t in angles]
    rows = []
    for i, point in enumerate(given):
        if isinstance(point, (str, bytes)) or not hasattr(point, "__len__"):
            raise OptionError(
                f"centers[{i}] must be a point such as [0.0, 1.0], not {describe(point)}."
            )
        rows.append([_moderate(f"centers[{i}][{j}]", x) for j, x in enumerate(point)])
    if not rows or not rows[0]:
        raise ShapeError(
            f"centers must hold at least one point of at least one number, not {describe(given)}. "
            f"Give centers=3, or centers=[[0, 0], [2, 2]]."
        )
    for i, row in enumerate(rows):
        if len(row) != len(rows[0]):
            raise ShapeError(
                f"centers[{i}] has {several(len(row), 'number')} and centers[0] has "
                f"{len(rows[0])}. Give every centre equally many."
            )
    return rows
