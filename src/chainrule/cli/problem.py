"""What a network is asked: names of inputs and classes, and what an output stands for.

It is decided by ``train`` and travels with the model file, in its ``meta``, so
that other commands can read the answers.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from chainrule import __version__
from chainrule.cli.output import joined
from chainrule.data.categories import expanded
from chainrule.errors import DataError, ModelFileError, OptionError, ShapeError, describe
from chainrule.nn import LOSSES, Loss, Network
from chainrule.ops import sigmoid, softmax

__all__ = ["Problem"]


@dataclass(frozen=True)
class Problem:
    """A question, and how a network's output is read as its answer.

    Attributes:
        features: the names of the inputs, in order.
        target: the name of what is predicted.
        target_position: its column in a file without names.
        classes: the labels of the classes, by index; empty if a number is predicted.
        loss: the name of the loss that the network was trained with; "" if unknown.
        categories: for each column of text its values; such a column is several features.
        columns: the names of the file's feature columns; None if they are the features.
    """

    features: list[str]
    target: str = "y"
    target_position: int = -1
    classes: list[str] = field(default_factory=list)
    loss: str = ""
    categories: dict[str, list[str]] = field(default_factory=dict)
    columns: list[str] | None = None

    @property
    def measure(self) -> Loss:
        """The loss, and what it says of outputs."""
        return LOSSES[self.loss]

    @property
    def outputs(self) -> int:
        """How many outputs a network for it has."""
        if len(self.classes) > 2 or (self.classes and self.measure.outputs == "several"):
            return len(self.classes)
        return 1

    @property
    def output_activation(self) -> str:
        """The activation of the output layer."""
        return self.measure.output_activation or ("sigmoid" if self.classes else "linear")

    def check(self) -> None:
        """Refuse a loss that cannot answer the question.

        Raises:
            DataError: there are fewer than two classes.
            OptionError: the loss takes another number of classes, or none.
        """
        if len(self.classes) == 1:
            raise DataError(
                f"every row has the same {self.target!r}, {self.classes[0]!r}: there is nothing "
                "to tell apart. Give rows of at least two classes, or another --target."
            )
        if self.measure.outputs == "one" and len(self.classes) > 2:
            raise OptionError(
                f"the loss {self.loss} is for two classes, and {self.target!r} has "
                f"{len(self.classes)}. Use --loss cross_entropy."
            )

    def coded(self, indices: Sequence[float]) -> list[Any]:
        """Targets as the loss takes them: numbers, or a 1 among 0s."""
        if self.outputs == 1 or self.measure.outputs == "several":
            return list(indices)
        return [[float(i == k) for k in range(self.outputs)] for i in indices]

    def index(self, output: Any) -> int | None:
        """The class that an output stands for; None if it is a number.

        Example:
            >>> Problem(["x"], classes=["no", "yes"], loss="hinge").index(0.3)
            1
        """
        decide = self.measure.decide if self.classes else None
        return None if decide is None else decide(output)

    def answer(self, output: Any) -> str:
        """An output as text: a class, or a number."""
        found = self.index(output) if self.classes else None
        if found is not None:
            return self.classes[found]
        outputs = output if isinstance(output, list) else [output]
        return ", ".join([f"{x:.6g}" for x in outputs])

    def probability(self, output: Any) -> float | None:
        """How sure the network is of its answer; None where the loss gives no probability.

        Example:
            >>> problem = Problem(["x"], classes=["no", "yes"], loss="binary_cross_entropy")
            >>> problem.probability(0.25)
            0.75
        """
        if not self.classes or self.loss in {"mse", "hinge"}:
            return None
        if isinstance(output, list):
            return float(max(softmax(output)))
        p = output if self.loss == "binary_cross_entropy" else sigmoid(output)
        return float(max(p, 1.0 - p))

    def label_index(self, label: str) -> int | None:
        """The class of a label in a file, which may write a number otherwise: 1.0 for 1."""
        if label in self.classes:
            return self.classes.index(label)
        for i, known in enumerate(self.classes):
            number = as_number(label)
            if number is not None and as_number(known) == number:
                return i
        return None

    def check_loaded(self, net: Network, path: str) -> None:
        """Refuse a saved network that was trained on something else.

        Raises:
            DataError: the names of inputs or classes differ.
            ShapeError: the numbers of inputs or outputs differ.
        """
        expected, found = (len(self.features), self.outputs), (net.sizes[0], net.sizes[-1])
        if expected != found:
            raise ShapeError(
                f"{path!r} has {found[0]} input(s) and {found[1]} output(s); this data needs "
                f"{expected[0]} and {expected[1]}. Give the data it was trained on, or train a "
                "new network without --load."
            )
        for name in ("features", "classes"):
            known, given = net.meta.get(name), getattr(self, name)
            if known is not None and known != given:
                raise DataError(
                    f"{path!r} was trained on the {name} {joined(known)}; this data has "
                    f"{joined(given) or 'none'}. Give it the same ones, in the same order, or "
                    "train a new network without --load."
                )

    def meta(self, data: str) -> dict[str, Any]:
        """What a model file keeps of it.

        Args:
            data: what the network was trained on.
        """
        return {
            "made_by": f"chainrule {__version__}",
            "data": data,
            "features": self.features,
            **({"columns": self.columns, "categories": self.categories} if self.categories else {}),
            "target": self.target,
            "target_position": self.target_position,
            "classes": self.classes,
            "loss": self.loss,
        }

    @classmethod
    def of(cls, net: Network, path: str) -> Problem:
        """The problem of a loaded network; of one without names, with names by number.

        Raises:
            ModelFileError: what the file says of it is damaged.
        """
        meta, n = net.meta, net.sizes[0]
        problem = cls(
            features=meta.get("features", [f"x{i + 1}" for i in range(n)]),
            target=meta.get("target", "y"),
            target_position=meta.get("target_position", -1),
            classes=meta.get("classes", []),
            loss=meta.get("loss", ""),
            categories=meta.get("categories", {}),
            columns=meta.get("columns"),
        )

        def need(name: str, sound: bool, expected: str) -> None:
            if not sound:
                raise ModelFileError(
                    f"{path!r}: its meta has {name} = {describe(meta.get(name))}; expected "
                    f"{expected}. Correct the file, or train it again with --save."
                )

        loss, features = problem.loss, problem.features
        need("features", _names(features) and len(features) == n, f"{n} different names")
        kinds, columns = problem.categories, problem.columns
        sound = isinstance(kinds, dict) and all(
            _names(values) and values for values in kinds.values()
        )
        need("categories", sound, "a list of different texts for each column of text")
        if kinds or columns is not None:
            suits = _names(columns) and expanded(columns or [], kinds) == features
            need("columns", suits, "names that give the features")
        need("target", isinstance(problem.target, str), "a name")
        need("target_position", type(problem.target_position) is int, "a whole number")
        need("loss", isinstance(loss, str) and loss in ("", *LOSSES), "the name of a loss")
        need("classes", _names(problem.classes), "a list of different names")
        if problem.classes:
            found = net.sizes[-1]
            suits = bool(loss) and problem.outputs == found
            need("classes", suits, f"names that suit the loss {loss!r} and {found} output(s)")
        return problem


def _names(given: Any) -> bool:
    return (
        isinstance(given, list)
        and all(isinstance(name, str) for name in given)
        and len(set(given)) == len(given)
    )


def as_number(text: str) -> float | None:
    """The finite number that a text writes, or None."""
    try:
        number = float(text)
    except ValueError:
        return None
    return number if math.isfinite(number) else None
