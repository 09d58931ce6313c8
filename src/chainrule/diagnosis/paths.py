"""Why a gradient shrinks or grows: the factors along a path through the layers.

By the chain rule the derivative of the loss by a weighted sum deep inside is a sum over
paths, and each path is a product of *slopes* of activations and of *weights*.  The
strongest path tells which of the two did it.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from chainrule.nn.inspection import Inspection, LayerInspection

__all__ = ["Path", "strongest_path"]


@dataclass(frozen=True)
class Path:
    """From the last layer's sums to the first layer's, along one neuron per layer.

    Attributes:
        row: the place of the row it was taken for.
        neurons: one index per layer, first to last.
        slopes: of the activations passed, one per layer but the last, first to last.
        weights: of the weights passed, as many.
        bound: the largest that the product of the slopes could be: sigmoid's 0.25 for each.
    """

    row: int
    neurons: list[int]
    slopes: list[float]
    weights: list[float]
    bound: float

    @property
    def slope_product(self) -> float:
        """The product of the slopes."""
        return math.prod(self.slopes)

    @property
    def weight_product(self) -> float:
        """The product of the weights."""
        return math.prod(self.weights)

    @property
    def slope_share(self) -> float:
        """How much of a shrinkage, counted in powers of ten, the slopes did: 0 to 1."""
        lost = [max(0.0, -_log(self.slope_product)), max(0.0, -_log(self.weight_product))]
        return lost[0] / sum(lost) if sum(lost) else 0.0


def strongest_path(seen: Inspection, row: int) -> Path:
    """The path of the largest product, found layer by layer (Viterbi, 1967).

    Args:
        seen: the network at work.
        row: the index of the row among those looked at.
    """
    layers = seen.layers
    last = layers[-1]
    start = np.abs(last.by_sum[row])
    best: npt.NDArray[np.float64] = np.where(np.isfinite(start) & (start > 0), 0.0, -np.inf)
    if not np.isfinite(best).any():
        best = np.zeros(len(start))
    choices: list[npt.NDArray[np.intp]] = []
    for below, above in zip(layers[-2::-1], layers[:0:-1], strict=True):
        with np.errstate(divide="ignore"):
            through = best[:, None] + np.log10(np.abs(above.weights))
            slopes = np.log10(np.abs(below.slopes[row]))
        choices.append(through.argmax(axis=0))
        best = through.max(axis=0) + slopes
    neurons = [int(best.argmax())]
    for choice in reversed(choices):
        neurons.append(int(choice[neurons[-1]]))
    pairs = list(zip(layers[:-1], layers[1:], neurons[:-1], neurons[1:], strict=True))
    return Path(
        row=seen.places[row],
        neurons=neurons,
        slopes=[abs(float(below.slopes[row, k])) for below, _, k, _ in pairs],
        weights=[abs(float(above.weights[j, k])) for _, above, k, j in pairs],
        bound=math.prod([below.shapes[k].steepest for below, _, k, _ in pairs]),
    )


def signal(layer: LayerInspection) -> float:
    """The mean size of the derivatives of a row's loss by the layer's weighted sums."""
    return float(np.abs(layer.by_sum).mean())


def _log(x: float) -> float:
    return math.log10(x) if x > 0.0 else -400.0
