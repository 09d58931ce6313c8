"""A network's layers as matrices, which is how other libraries take them."""

from __future__ import annotations

from typing import Any, Final, NamedTuple

from chainrule.errors import OptionError, describe
from chainrule.nn.layers import Network

__all__ = ["LINEAR", "Matrices", "matrices_of"]

LINEAR: Final = ("linear", "identity")
"""The names of the activation that does nothing."""


class Matrices(NamedTuple):
    """One layer.

    Attributes:
        weights: a row per neuron, with one number per input.
        biases: one number per neuron.
        activation: the name that all its neurons share.
    """

    weights: list[list[float]]
    biases: list[float]
    activation: str


def matrices_of(net: Network) -> list[Matrices]:
    """Each layer of a network.

    Args:
        net: the network.

    Raises:
        OptionError: it is no network; the neurons of a layer differ in their activation, or
            it is a function of the user's.

    Example:
        >>> matrices_of(Network([2, 1], init="zeros"))
        [Matrices(weights=[[0.0, 0.0]], biases=[0.0], activation='sigmoid')]
    """
    if not isinstance(net, Network):
        raise OptionError(
            f"expected a chainrule.Network, such as Network([2, 4, 1]); got {describe(net)}."
        )
    return [
        Matrices(
            [[w.data for w in neuron.weights] for neuron in layer.neurons],
            [neuron.bias.data for neuron in layer.neurons],
            _activation(i, [neuron.activation for neuron in layer.neurons]),
        )
        for i, layer in enumerate(net.layers)
    ]


def _activation(i: int, given: list[Any]) -> str:
    kinds = list(dict.fromkeys(given))
    if len(kinds) > 1:
        raise OptionError(
            f"layers.{i} has neurons of different activations ({', '.join(map(str, kinds))}); a "
            "layer of matrices has one for all. Give its neurons the same."
        )
    if not isinstance(kinds[0], str):
        raise OptionError(
            f"the activation of layers.{i} is {describe(kinds[0])}, and a function of your own "
            "cannot be carried over. Use one by name."
        )
    return kinds[0]
