"""Neurons, and layers of them: plain objects around `Value`s.

A neuron weighs its inputs, adds a bias and bends the sum::

    output = activation(bias + w[0] * x[0] + w[1] * x[1] + ...)

A `Layer` is a list of neurons that all see the same inputs.

Nothing here knows how to differentiate: weights and biases are `Value`s, and
the graph that the operators build is all that ``backward`` needs.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, SupportsIndex

from chainrule.engine import mypyc_attr
from chainrule.errors import ShapeError
from chainrule.nn.activations import ACTIVATIONS, Activation, activation_of
from chainrule.nn.initializers import Initializer, initializer_of
from chainrule.nn.inputs import checked_row
from chainrule.options import random_source, whole
from chainrule.value import Value

__all__ = ["Layer", "Module", "Neuron", "through"]


@mypyc_attr(allow_interpreted_subclasses=True)
class Module:
    """What neurons, layers and networks have in common: parameters with names."""

    def named_parameters(self) -> Iterator[tuple[str, Value]]:
        """Each parameter with its name, in the order of `parameters`.

        Example:
            >>> [name for name, _ in Layer(1, 2).named_parameters()]
            ['neurons.0.weights.0', 'neurons.0.bias', 'neurons.1.weights.0', 'neurons.1.bias']
        """
        raise NotImplementedError

    def parameters(self) -> list[Value]:
        """What training changes: neuron by neuron, its weights and then its bias.

        Example:
            >>> len(Layer(2, 4).parameters())
            12
        """
        raise NotImplementedError

    def zero_grad(self) -> None:
        """Set the gradient of every parameter to 0.

        ``backward`` adds to what is there, so this comes before it in each step.

        Example:
            >>> neuron = Neuron(2)
            >>> neuron([1.0, 1.0]).backward()
            >>> neuron.zero_grad()
            >>> neuron.bias.grad
            0.0
        """
        for parameter in self.parameters():
            parameter.grad = 0.0

    def _label_parameters(self) -> None:
        for name, parameter in self.named_parameters():
            parameter.label = name


@mypyc_attr(allow_interpreted_subclasses=True)
class Neuron(Module):
    """A weighted sum of the inputs plus a bias, through an activation.

    Args:
        n_inputs: how many inputs it takes, at least 1.
        activation: a name such as ``"sigmoid"``, ``"tanh"``, ``"relu"`` or ``"linear"``
            (see `chainrule.nn.ACTIVATIONS`), or a function of one number.
        init: how the weights start: a name such as ``"lesson"``, ``"xavier_uniform"``
            or ``"he_normal"`` (see `chainrule.nn.INITIALIZERS`), or a function
            ``(n_inputs, n_outputs, source) -> weight``.  The bias starts at 0.
        seed: a whole number for weights of its own; None draws from Python's global
            random numbers; a `random.Random` is drawn from.
        n_outputs: how many neurons its layer has, which Xavier's initializers ask for.

    Attributes:
        weights: one `Value` per input; also called ``w``.
        bias: a `Value`; also called ``b``.
        activation: its name, or the function.

    Raises:
        OptionError: a setting is unknown or out of range.

    Example:
        >>> neuron = Neuron(2, activation="linear")
        >>> neuron.weights = [Value(2.0), Value(-1.0)]
        >>> neuron([3.0, 4.0]).data
        2.0
    """

    def __init__(
        self,
        n_inputs: SupportsIndex,
        activation: Activation = "sigmoid",
        init: str | Initializer = "lesson",
        seed: Any = None,
        n_outputs: int = 1,
    ) -> None:
        n = whole("n_inputs", n_inputs, least=1, example=2)
        draw, source = initializer_of(init), random_source(seed)
        self.activation = activation_of(activation)
        self.weights = [Value(draw(n, n_outputs, source)) for _ in range(n)]
        self.bias = Value(0.0)
        self._label_parameters()

    def __call__(self, inputs: Iterable[Any]) -> Any:
        """The neuron's output.

        Args:
            inputs: one number or `Value` per weight.

        Returns:
            A `Value`.

        Raises:
            ShapeError: the number of inputs is wrong.
        """
        if type(inputs) is not list:
            inputs = checked_row(inputs)
        if len(inputs) != len(self.weights):
            raise wrong_count("the neuron", len(self.weights), len(inputs))
        total: Any = self.bias
        for w, x in zip(self.weights, inputs):  # noqa: B905 - counted above; strict costs 4 %
            total = total + w * x
        activation = self.activation
        if isinstance(activation, str):
            activation = ACTIVATIONS[activation]
        return activation(total)

    def __repr__(self) -> str:
        return f"Neuron({len(self.weights)}, activation={_shown(self.activation)})"

    @property
    def w(self) -> list[Value]:
        """The weights."""
        return self.weights

    @w.setter
    def w(self, weights: list[Value]) -> None:
        self.weights = weights

    @property
    def b(self) -> Value:
        """The bias."""
        return self.bias

    @b.setter
    def b(self, bias: Value) -> None:
        self.bias = bias

    def parameters(self) -> list[Value]:
        return [*self.weights, self.bias]

    def named_parameters(self) -> Iterator[tuple[str, Value]]:
        for i, weight in enumerate(self.weights):
            yield f"weights.{i}", weight
        yield "bias", self.bias


@mypyc_attr(allow_interpreted_subclasses=True)
class Layer(Module):
    """Neurons side by side, which all see the same inputs.

    Args:
        n_inputs: how many inputs each neuron takes, at least 1.
        n_outputs: how many neurons there are, at least 1.
        activation: of every neuron, as in `Neuron`.
        init: how the weights start, as in `Neuron`.
        seed: as in `Neuron`.

    Attributes:
        neurons: the list of them.

    Raises:
        OptionError: a setting is unknown or out of range.

    Example:
        >>> layer = Layer(2, 3, activation="tanh", seed=7)
        >>> len(layer([0.5, -0.5]))
        3
    """

    def __init__(
        self,
        n_inputs: SupportsIndex,
        n_outputs: SupportsIndex,
        activation: Activation = "sigmoid",
        init: str | Initializer = "lesson",
        seed: Any = None,
    ) -> None:
        n = whole("n_outputs", n_outputs, least=1, example=4)
        source = random_source(seed)
        self.neurons = [Neuron(n_inputs, activation, init, source, n) for _ in range(n)]
        self._label_parameters()

    def __call__(self, inputs: Iterable[Any]) -> list[Any]:
        """The output of each neuron.

        Args:
            inputs: one number or `Value` per input.

        Returns:
            A list with a `Value` per neuron, even for a single one.

        Raises:
            ShapeError: the number of inputs is wrong.
        """
        if type(inputs) is not list:
            inputs = checked_row(inputs)
        return [neuron(inputs) for neuron in self.neurons]

    def __repr__(self) -> str:
        return f"Layer({self.n_inputs}, {self.n_outputs}, activation={self._activations()})"

    @property
    def n_inputs(self) -> int:
        """How many inputs each neuron takes."""
        return len(self.neurons[0].weights)

    @property
    def n_outputs(self) -> int:
        """How many neurons there are."""
        return len(self.neurons)

    def parameters(self) -> list[Value]:
        return [parameter for neuron in self.neurons for parameter in neuron.parameters()]

    def named_parameters(self) -> Iterator[tuple[str, Value]]:
        for i, neuron in enumerate(self.neurons):
            for name, parameter in neuron.named_parameters():
                yield f"neurons.{i}.{name}", parameter

    def _activations(self) -> str:
        return "/".join(dict.fromkeys(_shown(neuron.activation) for neuron in self.neurons))


def through(layers: list[Any], inputs: Iterable[Any]) -> list[Any]:
    """The outputs of the last of several layers, each fed with those of the one before.

    Args:
        layers: `Layer`s, or whatever is called like one and has ``n_inputs``.
        inputs: one number or `Value` per input of the first.

    Raises:
        ShapeError: the number of inputs is wrong; the message names the layer.
        NotANumberError: an input is no number.
    """
    values = checked_row(inputs)
    for i, layer in enumerate(layers):
        n_inputs = layer.n_inputs
        if len(values) != n_inputs:
            raise wrong_count(f"layers.{i} of the network", n_inputs, len(values))
        values = layer(values)
    return values


def wrong_count(who: str, expected: int, given: int) -> ShapeError:
    """The error about a wrong number of inputs."""
    return ShapeError(
        f"{who} expects {expected} input{'s' * (expected != 1)}; got {given}. "
        "Each row needs one number per input, and each layer one input per neuron of the "
        "layer before."
    )


def _shown(activation: Activation) -> str:
    if isinstance(activation, str):
        return repr(activation)
    return getattr(activation, "__name__", type(activation).__name__)
