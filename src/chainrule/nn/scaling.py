"""Standardising columns while training, without the model having to know.

A network learns quickly where its inputs are of a size of about 1.  Columns of
other sizes are brought there by ``(x - mean) / deviation``; since that is a
straight line, the first layer can take it over afterwards and the network works
on the numbers as they were.

Source: Y. LeCun, L. Bottou, G. Orr and K.-R. Müller, "Efficient BackProp", 1998,
section 4.3.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from chainrule.nn.layers import Layer

__all__ = ["Scaling"]


@dataclass(frozen=True)
class Scaling:
    """The mean and the standard deviation of each column.

    Attributes:
        means: one number per column, in the column's units.
        deviations: one number per column, above 0; 1.0 for a column that is constant.

    Example:
        >>> scaling = Scaling.of([[10.0], [30.0]])
        >>> scaling.scaled([[10.0], [20.0], [30.0]])
        [[-1.0], [0.0], [1.0]]
    """

    means: list[float]
    deviations: list[float]

    @classmethod
    def of(cls, rows: Sequence[Sequence[float]]) -> Scaling:
        """Measure the columns of some rows.

        Args:
            rows: at least one row of finite numbers.

        Returns:
            The scaling that gives each column the mean 0 and the deviation 1.
        """
        means, deviations = [], []
        for column in zip(*rows, strict=True):
            exponent = math.frexp(max(map(abs, column)))[1]
            xs = [math.ldexp(x, -exponent) for x in column]  # so that no square overflows
            mean = math.fsum(xs) / len(xs)
            deviation = math.sqrt(math.fsum([(x - mean) ** 2 for x in xs]) / len(xs))
            means.append(math.ldexp(mean, exponent))
            constant = deviation < 1e-12  # but for rounding
            deviations.append(1.0 if constant else math.ldexp(deviation, exponent))
        return cls(means, deviations)

    def scaled(self, rows: Sequence[Sequence[float]]) -> list[list[float]]:
        """Rows with each column's mean subtracted and divided by its deviation."""
        return [
            [(x - m) / s for x, m, s in zip(row, self.means, self.deviations, strict=True)]
            for row in rows
        ]

    def into_inputs(self, layer: Layer) -> None:
        """Make a layer that takes scaled numbers take them unscaled.

        Args:
            layer: the first one of a network; its weights and biases change.

        Example:
            >>> layer, scaling = Layer(1, 1, seed=7), Scaling([20.0], [10.0])
            >>> before = layer([1.0])[0].data
            >>> scaling.into_inputs(layer)
            >>> abs(layer([30.0])[0].data - before) < 1e-15
            True
        """
        for neuron in layer.neurons:
            for weight, m, s in zip(neuron.weights, self.means, self.deviations, strict=True):
                weight.data /= s
                neuron.bias.data -= weight.data * m

    def out_of_inputs(self, layer: Layer) -> None:
        """Undo `into_inputs`."""
        for neuron in layer.neurons:
            for weight, m, s in zip(neuron.weights, self.means, self.deviations, strict=True):
                neuron.bias.data += weight.data * m
                weight.data *= s

    def into_outputs(self, layer: Layer) -> None:
        """Make a linear layer that gives scaled numbers give them unscaled.

        Args:
            layer: the last one of a network, with one neuron per column.
        """
        for neuron, m, s in zip(layer.neurons, self.means, self.deviations, strict=True):
            for weight in neuron.weights:
                weight.data *= s
            neuron.bias.data = neuron.bias.data * s + m

    def out_of_outputs(self, layer: Layer) -> None:
        """Undo `into_outputs`."""
        for neuron, m, s in zip(layer.neurons, self.means, self.deviations, strict=True):
            for weight in neuron.weights:
                weight.data /= s
            neuron.bias.data = (neuron.bias.data - m) / s
