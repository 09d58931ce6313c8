"""What `check_gradients` found: data first, and text made from it."""

from __future__ import annotations

from collections import Counter
from dataclasses import asdict, dataclass
from textwrap import wrap
from typing import Any, Final

from chainrule.errors import GradientMismatch

__all__ = ["DirectionCheck", "GradientReport", "InputCheck"]

HEADINGS: Final = {
    "agrees": "agrees",
    "bug": "BUG",
    "kink": "kink",
    "precision": "precision",
    "edge": "edge of domain",
}
"""Each verdict, and how the report writes it."""

SHOWN: Final = 20
"""Up to so many inputs a report shows them all, beyond it only those that stand out."""


@dataclass(frozen=True)
class InputCheck:
    """The verdict on the derivative by one input.

    Attributes:
        name: the input, such as ``"w[1]"``.
        value: the number at which it was checked.
        verdict: ``"agrees"``, ``"bug"``, ``"kink"``, ``"precision"`` (the differences
            cannot decide) or ``"edge"`` (the function is not finite on one side).
        gradient: the derivative under test; that of reverse mode, if no foreign one.
        forward: the derivative by forward mode; None for a foreign gradient.
        numeric: the derivative by differences; None if a side is missing.
        error: how far off ``numeric`` may be.
        left: the slope coming from below; None where the function is not finite.
        right: the slope going up; None where the function is not finite.
        digits: how many digits agree, if the verdict is that it agrees.
        ratio: ``gradient / numeric``, if it is a bug and that is a number.
        reason: the verdict in words.
    """

    name: str
    value: float
    verdict: str
    gradient: float
    forward: float | None
    numeric: float | None
    error: float | None
    left: float | None
    right: float | None
    digits: int | None
    ratio: float | None
    reason: str


@dataclass(frozen=True)
class DirectionCheck:
    """The gradient along one direction through a kink.

    Attributes:
        direction: how far each input moves; 0.0 for those that stay.
        slope: the gradient times the direction.
        left: the slope of the function coming from the other side.
        right: the slope of the function going there.
        inside: whether ``slope`` lies between the two, as it must.
    """

    direction: tuple[float, ...]
    slope: float
    left: float
    right: float
    inside: bool


@dataclass(frozen=True)
class GradientReport:
    """What `check_gradients` found; print it.

    Attributes:
        inputs: the verdict on each input, in order.
        directions: the random directions tried, if there was a kink.
        value: the value of the function at the point.
        foreign: whether the gradient was given, not computed here.
    """

    inputs: tuple[InputCheck, ...]
    directions: tuple[DirectionCheck, ...]
    value: float
    foreign: bool

    @property
    def ok(self) -> bool:
        """Whether no input has a bug.  What could not be decided counts as none."""
        return all(found.verdict != "bug" for found in self.inputs)

    @property
    def conclusive(self) -> bool:
        """Whether every input could be decided: none is a matter of ``"precision"``."""
        return all(found.verdict != "precision" for found in self.inputs)

    def raise_if_bad(self) -> None:
        """Raise if there is a bug; for tests.

        Raises:
            GradientMismatch: with the whole report as its message.  It is also an
                ``AssertionError``, so that test runners count it as a failure.
        """
        if not self.ok:
            raise GradientMismatch(str(self))

    def to_dict(self) -> dict[str, Any]:
        """The report as plain dicts, lists, numbers and text."""
        return {
            "ok": self.ok,
            "conclusive": self.conclusive,
            "value": self.value,
            "foreign": self.foreign,
            "inputs": [asdict(found) for found in self.inputs],
            "directions": [
                {**asdict(found), "direction": list(found.direction)} for found in self.directions
            ],
        }

    def __str__(self) -> str:
        shown = [x for x in self.inputs if len(self.inputs) <= SHOWN or x.verdict != "agrees"]
        rows = [["input", "at", "gradient", "differences", "verdict"]]
        rows += [
            [
                x.name,
                f"{x.value + 0.0:.6g}",
                f"{x.gradient + 0.0:.9g}",
                _measured(x),
                HEADINGS[x.verdict],
            ]
            for x in shown
        ]
        widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
        lines = [self._summary()]
        if not shown:
            return lines[0]
        lines.append("")
        for row, found in zip(rows, [None, *shown], strict=True):
            cells = [cell.ljust(width) for cell, width in zip(row, widths, strict=True)]
            lines.append(("  " + "  ".join(cells)).rstrip())
            if found is not None and found.reason:
                if found.verdict == "agrees":
                    lines[-1] += f" {found.reason}"
                else:
                    lines += [" " * 6 + line for line in wrap(found.reason, 82)]
        if len(shown) < len(self.inputs):
            lines.append(f"  ... and {len(self.inputs) - len(shown)} inputs that agree")
        return "\n".join(lines)

    def _summary(self) -> str:
        counts = Counter(found.verdict for found in self.inputs)
        parts = [f"{counts[v]} {HEADINGS[v]}" for v in HEADINGS if counts[v]]
        methods = (
            "the given gradient against differences"
            if self.foreign
            else "reverse mode against forward mode and differences"
        )
        noun = "input" if len(self.inputs) == 1 else "inputs"
        return f"{methods}, {len(self.inputs)} {noun}: {', '.join(parts)}"


def _measured(x: InputCheck) -> str:
    """What the differences found, in as many words as a column has room for."""
    if x.numeric is None or x.error is None:
        left = "none" if x.left is None else f"{x.left + 0.0:.6g}"
        right = "none" if x.right is None else f"{x.right + 0.0:.6g}"
        return f"left {left}, right {right}"
    return f"{x.numeric:.9g} +- {x.error:.1g}"
