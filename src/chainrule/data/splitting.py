"""Setting rows aside, to test on what was not trained on."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TypeVar

from chainrule.errors import ShapeError, describe
from chainrule.options import random_source, real, several

__all__ = ["train_test_split"]

Row = TypeVar("Row")
Target = TypeVar("Target")


def train_test_split(
    X: Iterable[Row],
    y: Iterable[Target],
    test_fraction: float = 0.25,
    seed: int | None = None,
) -> tuple[list[Row], list[Row], list[Target], list[Target]]:
    """Shuffle rows and targets together, and set some aside for testing.

    Draws one ``shuffle`` of the row numbers; the first of them are the test's.

    Args:
        X: rows, 2 or more.
        y: one target per row.
        test_fraction: the share of rows for testing, between 0 and 1.  It is
            rounded to whole rows (a half to even), and leaves each side at
            least one.
        seed: a whole number for an order of its own; None for Python's global
            random numbers, so that ``random.seed(7)`` has its effect.

    Returns:
        ``X_train, X_test, y_train, y_test``, the order that scikit-learn uses.
        The rows are those of ``X``, not copies.

    Raises:
        ShapeError: ``X`` and ``y`` differ in length, or there are fewer than 2 rows.
        OptionError: ``test_fraction`` is not between 0 and 1, or ``seed`` is no
            whole number.

    Example:
        >>> train_test_split([[0.0], [1.0], [2.0]], [0.0, 1.0, 4.0], seed=1)
        ([[2.0], [0.0]], [[1.0]], [4.0, 0.0], [1.0])
    """
    share = real("test_fraction", test_fraction, above=0.0, below=1.0, example="0.25")
    rows, targets = _listed("X", X), _listed("y", y)
    if len(rows) != len(targets):
        raise ShapeError(
            f"X has {several(len(rows), 'row')} and y has {several(len(targets), 'target')}. "
            f"Give one target for each row."
        )
    if len(rows) < 2:
        raise ShapeError(
            f"X has {several(len(rows), 'row')}, and a split needs at least 2: "
            f"one to train on and one to test on. Give more rows."
        )
    order = list(range(len(rows)))
    random_source(seed).shuffle(order)
    cut = min(max(round(share * len(rows)), 1), len(rows) - 1)
    test, train = order[:cut], order[cut:]
    return (
        [rows[i] for i in train],
        [rows[i] for i in test],
        [targets[i] for i in train],
        [targets[i] for i in test],
    )


def _listed(name: str, given: Iterable[Row]) -> list[Row]:
    """``given`` as a list."""
    try:
        return list(given)
    except TypeError:
        raise ShapeError(
            f"{name} must be a list with one entry per row, not {describe(given)}."
        ) from None
