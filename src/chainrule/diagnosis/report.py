"""What a diagnosis says: findings with evidence, cause and remedies, and figures per layer."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from textwrap import wrap
from typing import Any, Final

from chainrule.options import several

__all__ = ["NAMES", "Diagnosis", "Finding", "LayerReport"]

NAMES: Final = (
    "learning rate too high",
    "non-finite",
    "loss and output activation do not match",
    "unscaled inputs",
    "symmetric initialisation",
    "dead units",
    "saturated",
    "exploding",
    "vanishing",
    "learning rate too low",
)
"""Every finding, in the order of a report: causes before what may follow from them."""

WIDTH: Final = 88


@dataclass(frozen=True)
class Finding:
    """One thing that is wrong.

    Attributes:
        name: one of `NAMES`.
        layers: where, such as ``("layers.0",)``; empty if it is not about a layer.
        evidence: what was measured.
        cause: why it stops learning.
        remedies: what to do, the most promising first.

    Example:
        >>> print(Finding("saturated", ("layers.0",), "All sums are large.", "It is flat.",
        ...               ("Smaller weights.",)))
        saturated (layers.0)
          evidence: All sums are large.
          cause:    It is flat.
          remedies: 1. Smaller weights.
    """

    name: str
    layers: tuple[str, ...]
    evidence: str
    cause: str
    remedies: tuple[str, ...]

    def __str__(self) -> str:
        where = f" ({', '.join(self.layers)})" if self.layers else ""
        lines = [f"{self.name}{where}"]
        lines += _paragraph("  evidence: ", self.evidence)
        lines += _paragraph("  cause:    ", self.cause)
        for i, remedy in enumerate(self.remedies, 1):
            lines += _paragraph(f"  {'' if i > 1 else 'remedies:':9} {i}. ", remedy)
        return "\n".join(lines)


def _paragraph(head: str, text: str) -> list[str]:
    """Text under a head, whose own lines, such as a report's, stay lines."""
    indent = " " * len(head)
    lines: list[str] = []
    for line in text.splitlines():
        inner = indent + " " * (len(line) - len(line.lstrip()))
        lines += wrap(
            line.strip(),
            WIDTH,
            initial_indent=inner if lines else head,
            subsequent_indent=inner,
            break_long_words=False,
            break_on_hyphens=False,
        )
    return lines


@dataclass(frozen=True)
class LayerReport:
    """The figures of one layer.

    Attributes:
        name: such as ``"layers.0"``.
        neurons: how many there are.
        activation: its name.
        output_mean: of the neurons' outputs, over all rows.
        output_deviation: their standard deviation.
        saturated: the share of outputs, from 0 to 1, on the flat ends of a bounded
            activation; 0 for an activation without any.
        dead: the neurons that pass on no gradient for any row.
        twins: how many neurons compute and learn the same as one before them.
        gradient_mean: the mean size of the derivatives of the mean loss by the weights
            and biases; nan where there is no loss.
        gradient_max: the largest.
        gradient_zeros: the share that is exactly 0.
        signal: the mean size of the derivatives of a row's loss by the neurons' weighted
            sums, which is what backpropagation hands from layer to layer.
        update_to_weight: how far one update moves the weights and biases, as a share of
            their size (both as root mean squares).
    """

    name: str
    neurons: int
    activation: str
    output_mean: float
    output_deviation: float
    saturated: float
    dead: tuple[int, ...]
    twins: int
    gradient_mean: float
    gradient_max: float
    gradient_zeros: float
    signal: float
    update_to_weight: float


@dataclass(frozen=True, eq=False)
class Diagnosis:
    """What `diagnose` found; ``print`` it.

    Attributes:
        findings: what is wrong, causes first; empty for a healthy network.
        layers: the figures of each layer.
        loss: the mean loss of the rows that were looked at.
        constant_loss: what it would be if every row got the network's mean output.
        rows: how many rows were looked at.
        total_rows: of how many.
        update: the rule of the update behind ``update_to_weight``.

    Example:
        >>> from chainrule.diagnosis import diagnose
        >>> from chainrule.data import xor
        >>> from chainrule.nn import Network
        >>> diagnose(Network([2, 4, 1], init="zeros"), *xor()).names
        ['symmetric initialisation']
    """

    findings: list[Finding]
    layers: list[LayerReport]
    loss: float
    constant_loss: float
    rows: int
    total_rows: int
    update: str
    _learned: bool = field(default=False, repr=False)

    @property
    def healthy(self) -> bool:
        """Whether nothing is wrong."""
        return not self.findings

    @property
    def names(self) -> list[str]:
        """The findings' names."""
        return [finding.name for finding in self.findings]

    def to_dict(self) -> dict[str, Any]:
        """Everything as plain lists, numbers and strings."""
        return {
            "findings": [asdict(finding) for finding in self.findings],
            "layers": [asdict(layer) for layer in self.layers],
            "loss": self.loss,
            "constant_loss": self.constant_loss,
            "rows": self.rows,
            "total_rows": self.total_rows,
            "update": self.update,
        }

    def __repr__(self) -> str:
        found = ", ".join(self.names) or "healthy"
        return f"<Diagnosis: {found}>"

    def __str__(self) -> str:
        if self.findings:
            head = f"{several(len(self.findings), 'finding')}: {', '.join(self.names)}"
        elif self._learned:
            head = "healthy: it has learned, so small gradients are no illness"
        else:
            head = "healthy: nothing found that keeps it from learning"
        parts = [head, *map(str, self.findings), self._table()]
        return "\n\n".join(parts)

    def _table(self) -> str:
        heads = ["layer", "neurons", "output", "saturated", "dead", "twins"]
        heads += ["gradient", "largest", "zeros", "signal", "update/weight"]
        cells = [heads]
        for layer in self.layers:
            cells.append(
                [
                    layer.name,
                    f"{layer.neurons} {layer.activation}",
                    f"{layer.output_mean:.2g} +- {layer.output_deviation:.2g}",
                    _share(layer.saturated),
                    str(len(layer.dead)),
                    str(layer.twins),
                    _size(layer.gradient_mean),
                    _size(layer.gradient_max),
                    _share(layer.gradient_zeros),
                    _size(layer.signal),
                    _size(layer.update_to_weight),
                ]
            )
        widths = [max([len(line[i]) for line in cells]) for i in range(len(heads))]
        lines = [
            "  ".join(
                cell.ljust(w) if i < 2 else cell.rjust(w)
                for i, (cell, w) in enumerate(zip(line, widths, strict=True))
            ).rstrip()
            for line in cells
        ]
        rows = several(self.rows, "row")
        if self.rows < self.total_rows:
            rows += f" of {self.total_rows:,}, evenly spaced"
        lines.append(f"loss {self.loss:.4g} on {rows}; update: {self.update}")
        lines += [
            "gradient: of the mean loss by weights and biases; signal: of a row's loss by the",
            "weighted sums; twins: neurons that compute and learn the same as another.",
        ]
        return "\n".join(lines)


def _size(x: float) -> str:
    return "-" if math.isnan(x) else "0" if x == 0.0 else f"{x:.1e}"


def _share(x: float) -> str:
    return "-" if math.isnan(x) else f"{100.0 * x:.0f} %"


def listed(names: Sequence[str]) -> str:
    """Names in a sentence: ``"a, b and c"``.

    Example:
        >>> listed(["a"]), listed(["a", "b", "c"])
        ('a', 'a, b and c')
    """
    return " and ".join([", ".join(names[:-1]), names[-1]]) if len(names) > 1 else "".join(names)
