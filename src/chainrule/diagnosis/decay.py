"""How gradients shrink, or grow, in a deep network of a given kind, layer by layer."""

from __future__ import annotations

import random
from typing import Any, Final

from chainrule.diagnosis.paths import signal
from chainrule.nn.activations import Activation
from chainrule.nn.initializers import Initializer
from chainrule.nn.inspection import inspect_network
from chainrule.nn.layers import Network
from chainrule.options import whole

__all__ = ["gradient_decay"]

ROWS: Final = 32


def gradient_decay(
    depth: int,
    activation: Activation,
    init: str | Initializer = "lesson",
    *,
    width: int = 8,
    seed: int = 0,
) -> list[float]:
    """Measure what a fresh network passes back to each layer, as a share of what it had.

    The network has ``depth`` layers of ``width`` neurons and a linear output neuron; it is
    given random rows (normal, of deviation 1) and targets 0 or 1.

    Args:
        depth: how many hidden layers, at least 1.
        activation: as in `Network`.
        init: how the weights start, as in `Network`.
        width: neurons per layer, at least 1.
        seed: of weights and data.

    Returns:
        ``depth + 1`` numbers from the output layer (always 1.0) back to the first: the mean
        size of the derivatives of the squared error by the layer's weighted sums, divided by
        that of the output layer.  The n-th passed n slopes, which for sigmoid are at most
        0.25 each, and n layers of weights.  nan where the output layer gets none.

    Raises:
        OptionError: a setting is unknown or out of range.

    Example:
        >>> shares = gradient_decay(10, "sigmoid")
        >>> len(shares), shares[0], shares[10] < 0.25**10
        (11, 1.0, True)
        >>> gradient_decay(10, "relu", "he_normal")[10] > 0.05
        True
    """
    depth = whole("depth", depth, least=1, example=10)
    width = whole("width", width, least=1, example=8)
    source: Any = random.Random(seed)
    X = [[source.gauss(0.0, 1.0) for _ in range(width)] for _ in range(ROWS)]
    y = [float(source.random() < 0.5) for _ in range(ROWS)]
    net = Network([width, *[width] * depth, 1], activation, "linear", init, source)
    found = [signal(layer) for layer in reversed(inspect_network(net, X, y).layers)]
    return [x / found[0] if found[0] else float("nan") for x in found]
