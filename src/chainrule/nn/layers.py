"""Neurons, layers of them, and networks of layers: plain objects around `Value`s.

A neuron weighs its inputs, adds a bias and bends the sum::

    output = activation(bias + w[0] * x[0] + w[1] * x[1] + ...)

A `Layer` is a list of neurons that all see the same inputs; a `Network` is a
list of layers, each fed with the outputs of the one before::

    net = Network([2, 4, 1])            # 2 inputs, 4 hidden neurons, 1 output
    loss = mse_loss(net([0.0, 1.0]), 1.0)
    loss.backward()                     # the derivative by every weight and bias
    for p in net.parameters():
        p.data -= 0.5 * p.grad          # one step downhill

Nothing here knows how to differentiate: weights and biases are `Value`s, and
the graph that the operators build is all that ``backward`` needs.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Final, Self

from chainrule.errors import OptionError, ShapeError, describe
from chainrule.modes import no_grad
from chainrule.nn.activations import ACTIVATIONS, Activation, activation_of
from chainrule.nn.initializers import Initializer, initializer_of
from chainrule.nn.inputs import checked_row, is_sequence, listed
from chainrule.options import random_source, whole
from chainrule.value import Value

if TYPE_CHECKING:
    from chainrule.nn.callbacks import Callback
    from chainrule.nn.history import History
    from chainrule.nn.losses import Loss
    from chainrule.nn.optimizers import Optimizer
    from chainrule.nn.schedules import Rate, Schedule

__all__ = ["Layer", "Network", "Neuron"]


class _Module:
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


class Neuron(_Module):
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
        n_inputs: int,
        activation: Activation = "sigmoid",
        init: str | Initializer = "lesson",
        seed: Any = None,
        n_outputs: int = 1,
    ) -> None:
        n_inputs = whole("n_inputs", n_inputs, least=1, example=2)
        draw, source = initializer_of(init), random_source(seed)
        self.activation = activation_of(activation)
        self.weights = [Value(draw(n_inputs, n_outputs, source)) for _ in range(n_inputs)]
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
            raise _wrong_count("the neuron", len(self.weights), len(inputs))
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


class Layer(_Module):
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
        n_inputs: int,
        n_outputs: int,
        activation: Activation = "sigmoid",
        init: str | Initializer = "lesson",
        seed: Any = None,
    ) -> None:
        n_outputs = whole("n_outputs", n_outputs, least=1, example=4)
        source = random_source(seed)
        self.neurons = [
            Neuron(n_inputs, activation, init, source, n_outputs) for _ in range(n_outputs)
        ]
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


class Network(_Module):
    """Layers one behind the other: a multilayer perceptron.

    Args:
        sizes: the number of inputs, then the number of neurons of each layer:
            ``[2, 4, 1]`` is 2 inputs, 4 hidden neurons and 1 output.
        activation: of the hidden layers, as in `Neuron`.
        output_activation: of the last layer; ``"same"`` for that of the hidden ones.
        init: how the weights start, as in `Neuron`.
        seed: as in `Neuron`.  Weights are drawn neuron by neuron, layer by layer.

    Attributes:
        layers: the list of them.
        meta: what else belongs to the model, in plain JSON: names of inputs and
            classes, say.  It is saved with the network.

    Raises:
        OptionError: a setting is unknown or out of range.

    Example:
        >>> net = Network([2, 4, 1], activation="tanh", output_activation="linear", seed=42)
        >>> net
        <Network 2 -> 4 'tanh' -> 1 'linear': 17 parameters>
        >>> net([0.0, 0.0]).data
        0.0
    """

    def __init__(
        self,
        sizes: Sequence[int],
        activation: Activation = "sigmoid",
        output_activation: Activation = "same",
        init: str | Initializer = "lesson",
        seed: Any = None,
    ) -> None:
        widths = _checked_sizes(sizes)
        last = activation if output_activation == "same" else output_activation
        activations = [activation] * (len(widths) - 2) + [last]
        source = random_source(seed)
        self.layers = [
            Layer(n_inputs, n_outputs, activation, init, source)
            for n_inputs, n_outputs, activation in zip(
                widths[:-1], widths[1:], activations, strict=True
            )
        ]
        self.meta: dict[str, Any] = {}
        self._label_parameters()

    def __call__(self, inputs: Iterable[Any]) -> Any:
        """The network's output for one row, with its graph.

        Args:
            inputs: one number or `Value` per input: a list, a tuple, a NumPy row.

        Returns:
            A `Value`; from a network with several outputs a list of them.

        Raises:
            ShapeError: the number of inputs is wrong; the message names the layer.
            NotANumberError: an input is no number.
        """
        values = checked_row(inputs)
        for i, layer in enumerate(self.layers):
            if len(values) != layer.n_inputs:
                raise _wrong_count(f"layers.{i} of the network", layer.n_inputs, len(values))
            values = layer(values)
        return values[0] if len(values) == 1 else values

    def predict(self, X: Iterable[Any]) -> Any:
        """The network's outputs as plain floats, without a graph.

        Args:
            X: rows of inputs, or a single row; lists or NumPy arrays.

        Returns:
            For each row one float, or a list of floats if the network has several
            outputs; for a single row just that.

        Raises:
            ShapeError: a row has the wrong number of inputs.
            NotANumberError: an input is no number.

        Example:
            >>> net = Network([2, 1], init="zeros")
            >>> net.predict([[0.0, 1.0], [1.0, 1.0]]), net.predict([0.0, 1.0])
            ([0.5, 0.5], 0.5)
        """
        rows = listed(X)
        with no_grad():
            if rows and not is_sequence(rows[0]):
                return _floats(self(rows))
            return [_floats(self(row)) for row in rows]

    def fit(
        self,
        X: Any,
        y: Any,
        *,
        loss: str | Loss | Callable[[Any, Any], Any] = "mse",
        optimizer: str | Optimizer = "sgd",
        lr: float | None = None,
        epochs: int = 100,
        batch_size: int | None = None,
        reduction: str = "mean",
        shuffle: bool = False,
        seed: int | None = None,
        schedule: str | Schedule | Rate | None = None,
        clip_value: float | None = None,
        clip_norm: float | None = None,
        validation: tuple[Any, Any] | None = None,
        callbacks: Callback | Sequence[Callback] = (),
        progress: bool | str = "auto",
        engine: str = "auto",
    ) -> History:
        """Train the network; the options are explained at `chainrule.nn.training.fit`.

        Args:
            X: the inputs: rows of finite numbers, as lists or a NumPy array.
            y: a target per row: a number, or one number per output.
            loss: a name from `chainrule.nn.LOSSES`, or a function ``(output, target)``.
            optimizer: ``"sgd"``, ``"rmsprop"``, ``"adam"``, ``"adamw"``, or an object.
            lr: the learning rate; None for the optimiser's usual one.
            epochs: how often to go through all rows.
            batch_size: rows per update; None takes all, 1 is online learning.
            reduction: ``"mean"`` or ``"sum"`` of the rows' losses.
            shuffle: put the rows in a new random order before each epoch.
            seed: for that order; None draws from Python's global random numbers.
            schedule: how the learning rate changes from epoch to epoch.
            clip_value: the largest size of each gradient; None for no limit.
            clip_norm: the largest norm of all gradients; None for no limit.
            validation: a pair ``(X, y)`` to measure on after each epoch.
            callbacks: functions ``(epoch, net, history)`` called after each epoch.
            progress: ``"auto"``, True or False: whether to show a bar.
            engine: ``"auto"``, or the name of what does the work.

        Returns:
            The `History`: ``history.loss`` has one number per epoch.

        Raises:
            ChainruleError: rows, targets or an option cannot be used; the message
                says which and why.

        Example:
            >>> net = Network([1, 1], activation="linear", seed=7)
            >>> history = net.fit([[0.0], [1.0]], [1.0, 3.0], lr=0.5, epochs=200)
            >>> round(net.predict([2.0]), 6)
            5.0
        """
        from chainrule.nn import training

        return training.fit(
            self,
            X,
            y,
            loss=loss,
            optimizer=optimizer,
            lr=lr,
            epochs=epochs,
            batch_size=batch_size,
            reduction=reduction,
            shuffle=shuffle,
            seed=seed,
            schedule=schedule,
            clip_value=clip_value,
            clip_norm=clip_norm,
            validation=validation,
            callbacks=callbacks,
            progress=progress,
            engine=engine,
        )

    def save(self, path: str | os.PathLike[str], meta: Mapping[str, Any] | None = None) -> None:
        """Write the network to a JSON file that a person can read.

        Every number is written exactly.  The file is replaced in one step: whatever
        goes wrong, the old one stays whole.

        Args:
            path: the file, such as ``"model.json"``.
            meta: what to write in place of the attribute ``meta``.

        Raises:
            OptionError: an activation is a function of your own, which no file can
                hold; or ``meta`` is not plain JSON.
            OSError: the file cannot be written.
        """
        from chainrule.nn import storage

        storage.save(self, path, meta)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Self:
        """Read a network that `save` wrote.

        Nothing in the file is ever executed.

        Args:
            path: the file.

        Returns:
            The network, with its attribute ``meta``.

        Raises:
            ModelFileError: the file is damaged, is no saved network, or comes from a
                later version; the message says what is wrong with it.
            OSError: the file cannot be read.
        """
        from chainrule.nn import storage

        return storage.load(cls, path)

    def __repr__(self) -> str:
        layers = [f"{layer.n_outputs} {layer._activations()}" for layer in self.layers]
        chain = " -> ".join([str(self.layers[0].n_inputs), *layers])
        return f"<Network {chain}: {len(self.parameters())} parameters>"

    @property
    def sizes(self) -> list[int]:
        """The number of inputs, then the number of neurons of each layer."""
        return [self.layers[0].n_inputs, *[layer.n_outputs for layer in self.layers]]

    def parameters(self) -> list[Value]:
        return [parameter for layer in self.layers for parameter in layer.parameters()]

    def named_parameters(self) -> Iterator[tuple[str, Value]]:
        for i, layer in enumerate(self.layers):
            for name, parameter in layer.named_parameters():
                yield f"layers.{i}.{name}", parameter


MOST_PARAMETERS: Final = 20_000_000
"""A network of more would fill gigabytes before the first call."""


def _checked_sizes(sizes: Any) -> list[int]:
    found = listed(sizes) if hasattr(type(sizes), "__iter__") else []
    if len(found) < 2 or isinstance(sizes, str):
        raise OptionError(
            "sizes must be a list of at least two whole numbers, inputs first and outputs last, "
            f"such as Network([2, 4, 1]); got {describe(sizes)}."
        )
    widths = [whole(f"sizes[{i}]", size, least=1, example=4) for i, size in enumerate(found)]
    count = sum((n + 1) * m for n, m in pairwise(widths))
    if count > MOST_PARAMETERS:
        raise OptionError(
            f"a network of sizes {widths} would have {count:,} parameters, each an object of its "
            f"own; at most {MOST_PARAMETERS:,} are possible. Make the layers smaller."
        )
    return widths


def _wrong_count(who: str, expected: int, given: int) -> ShapeError:
    return ShapeError(
        f"{who} expects {expected} input{'s' * (expected != 1)}; got {given}. "
        "Each row needs one number per input, and each layer one input per neuron of the "
        "layer before."
    )


def _floats(output: Any) -> float | list[float]:
    return [float(y) for y in output] if isinstance(output, list) else float(output)


def _shown(activation: Activation) -> str:
    if isinstance(activation, str):
        return repr(activation)
    return getattr(activation, "__name__", type(activation).__name__)
