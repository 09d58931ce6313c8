"""The data of ``chainrule train``: by name or from a file, with settings that suit it."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Final

from chainrule.cli.problem import Problem
from chainrule.data import circle, digits, moons, read_csv, spiral, xor
from chainrule.errors import DataError, OptionError
from chainrule.nn import LOSSES

__all__ = ["GENERATED", "Data", "Recipe", "load_data"]


@dataclass(frozen=True)
class Recipe:
    """Settings that solve a problem in a few seconds, whatever the seed."""

    hidden: list[int]
    lr: float
    epochs: int
    batch_size: int | None = None
    activation: str = "tanh"
    optimizer: str = "adam"


@dataclass(frozen=True)
class Data:
    """Rows, targets (numbers, or indices of classes), and what they are."""

    name: str
    X: list[list[float]]
    y: list[float]
    problem: Problem
    recipe: Recipe
    from_file: bool = False


# Each was tried with seeds 0 to 99 (digits: 0 to 2): every row is right at the end.
_RECIPES: Final = {
    "xor": Recipe([8], lr=0.1, epochs=100),
    "circle": Recipe([16], lr=0.1, epochs=200),
    "moons": Recipe([16], lr=0.1, epochs=200),
    "spiral": Recipe([16, 16], lr=0.05, epochs=200),
    "digits": Recipe([32], lr=0.005, epochs=40, batch_size=32),
}

GENERATED: Final[dict[str, Callable[..., Any]]] = {
    "xor": xor,
    "circle": circle,
    "moons": moons,
    "spiral": spiral,
    "digits": digits,
}
"""The data sets that have a name."""

_FIXED: Final = {"xor": 4, "digits": 1797}
"""Those that are always the same, and how many rows they have."""

_SMALL: Final = 500
"""Rows of a file up to which an epoch is a single update."""


def load_data(
    name: str,
    *,
    loss: str | None,
    seed: int,
    n: int | None,
    classes: int | None,
    target: str | None,
    header: bool | None,
    delimiter: str | None,
) -> Data:
    """The data set of a name, or of a CSV file.

    Args:
        name: one of `GENERATED`, or a path.
        loss: the name of the loss that the user wants; None to suit the data.
        seed: for generated points.
        n: how many points to generate; None for the generator's own number.
        classes: how many arms a spiral has.
        target: a file's target column, by name or position.
        header: whether a file names its columns.
        delimiter: between a file's cells.

    Raises:
        DataError: there is no such data set or file, or it cannot be used.
        OptionError: a setting does not belong to this data, or the loss does not.
    """
    if name in GENERATED:
        for option, given in (("target", target), ("header", header), ("delimiter", delimiter)):
            if given is not None:
                raise OptionError(f"--{option} is for CSV files; {name} has no columns to choose.")
        data = _generated(name, seed, n, classes)
    else:
        for option, count in (("n", n), ("classes", classes)):
            if count is not None:
                raise OptionError(f"--{option} is for generated data; {name} has its own rows.")
        data = _from_file(name, loss, target, header, delimiter)
    problem = data.problem
    usual = "mse" if not problem.classes else "binary_cross_entropy"
    if len(problem.classes) > 2:
        usual = "cross_entropy"
    problem = replace(problem, loss=loss or usual)
    problem.check()
    return replace(data, problem=problem)


def _generated(name: str, seed: int, n: int | None, classes: int | None) -> Data:
    settings: dict[str, Any] = {} if n is None else {"n": n}
    if name in _FIXED and n is not None:
        raise OptionError(f"{name} always has {_FIXED[name]} rows; leave --n out.")
    if classes is not None:
        if name != "spiral":
            number = 10 if name == "digits" else 2
            raise OptionError(f"--classes is for spiral; {name} always has {number}.")
        settings["classes"] = classes
    if name not in _FIXED:
        settings["seed"] = seed
    X, y = GENERATED[name](**settings)
    if name == "digits":
        pixels = [f"p{row}{column}" for row in range(8) for column in range(8)]
        problem = Problem(pixels, "digit", 64, [str(i) for i in range(10)])
    else:
        problem = Problem(["x1", "x2"], "y", 2, [str(i) for i in range(classes or 2)])
    return Data(name, X, y, problem, _RECIPES[name])


def _from_file(
    path: str, loss: str | None, target: str | None, header: bool | None, delimiter: str | None
) -> Data:
    if not os.path.exists(path) and not path.lower().endswith((".csv", ".tsv", ".txt")):
        raise DataError(
            f"there is no data set {path!r}, and no file of that name. Data sets: "
            f"{', '.join(GENERATED)}. Or give a CSV file, such as flowers.csv."
        )
    column: int | str = -1 if target is None else target
    if target is not None and target.lstrip("-").isdecimal():
        column = int(target)
    table = read_csv(path, column, header, delimiter, one_hot=True)
    X, y, classes = table.X, table.y, table.classes
    if len(classes) > 20 and len(classes) > len(y) / 2:
        raise DataError(
            f"{path}: column {table.target_name!r} has {len(classes)} different texts in "
            f"{len(y)} rows, so it is no class to learn. Name the column to predict: --target NAME."
        )
    values = sorted(set(y))
    if not classes and _are_labels(values, loss):
        classes = [f"{value:.17g}" for value in values]
        y = [float(values.index(value)) for value in y]
    problem = Problem(
        table.feature_names,
        table.target_name,
        table.target_position,
        list(classes),
        categories=table.categories,
        columns=table.columns if table.categories else None,
    )
    small = len(X) <= _SMALL
    recipe = Recipe([16], 0.05, 300) if small else Recipe([16], 0.01, 100, batch_size=32)
    return Data(os.path.basename(path), X, y, problem, recipe, from_file=True)


def _are_labels(values: list[float], loss: str | None) -> bool:
    """Whether numbers in the target column are labels: two whole ones are, or the loss says so."""
    if loss is not None and LOSSES[loss].outputs != "any":
        return True
    return len(values) == 2 and all(value.is_integer() for value in values)
