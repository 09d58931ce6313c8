"""Networks: layers one behind the other, each fed with the outputs of the one before.

::

    net = Network([2, 4, 1])            # 2 inputs, 4 hidden neurons, 1 output
    loss = mse_loss(net([0.0, 1.0]), 1.0)
    loss.backward()                     # the derivative by every weight and bias
    for p in net.parameters():
        p.data -= 0.5 * p.grad          # one step downhill

A `Layer` is a list of neurons, and both are in `chainrule.nn.neurons`.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Final, Self

from chainrule.errors import ChainruleError, OptionError, describe
from chainrule.modes import no_grad, watched
from chainrule.nn.activations import Activation
from chainrule.nn.initializers import Initializer
from chainrule.nn.inputs import checked_row, is_sequence, listed
from chainrule.nn.neurons import Layer, Module, Neuron, through
from chainrule.options import random_source, whole
from chainrule.value import Value

if TYPE_CHECKING:
    from chainrule.nn.callbacks import Callback
    from chainrule.nn.history import History
    from chainrule.nn.losses import Loss
    from chainrule.nn.optimizers import Optimizer
    from chainrule.nn.schedules import Rate, Schedule

__all__ = ["Layer", "Network", "Neuron"]


class Network(Module):
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
        values = through(self.layers, inputs)
        return values[0] if len(values) == 1 else values

    def predict(self, X: Iterable[Any]) -> Any:
        """The network's outputs as plain floats, without a graph.

        For many rows the network is compiled first, which takes a fraction of the time and
        may differ from single rows in the last digits.  Within `strict`, or if layers or
        activations are your own, every row is computed on its own.

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
        if rows and not is_sequence(rows[0]):
            with no_grad():
                return _floats(self(rows))
        found = self._predict_at_once(rows)
        if found is not None:
            return found
        with no_grad():
            return [_floats(self(row)) for row in rows]

    def _predict_at_once(self, rows: list[Any]) -> list[Any] | None:
        """What `predict` answers, by a compiled program; None if it has to go row by row."""
        if len(rows) < MANY_ROWS or not self._is_standard() or watched():
            return None
        if len(rows) * len(self.parameters()) < MUCH_WORK:
            return None
        table = _table(rows, self.layers[0].n_inputs)
        if table is None:
            return None
        from chainrule.nn import forward  # and with it NumPy, which little work does without

        try:
            return forward.outputs(self, table, pure=True)
        except ChainruleError:  # a weight that is the result of an operation of one's own, say
            return None

    def _is_standard(self) -> bool:
        """Whether nothing but the package's own code runs in a call.

        A function of the user's may count its calls, or read what changes between them; it
        must be called for every row.
        """
        if type(self).__call__ is not Network.__call__ or not self.layers:
            return False
        if any(type(layer) is not Layer for layer in self.layers):
            return False
        neurons = [neuron for layer in self.layers for neuron in layer.neurons]
        return all(type(n) is Neuron and isinstance(n.activation, str) for n in neurons)

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

    def __getstate__(self) -> dict[str, Any]:
        return vars(self)  # a compiled base class would leave them out of a copy

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


MANY_ROWS: Final = 100
MUCH_WORK: Final = 20_000  # rows times parameters
"""From when on `predict` compiles the network, on either engine, so that both give the same.
Measured: compiling takes as long as 5 to 35 rows do on the engine's source, and 15 to 65 on
the native one; the first time in a process, also as long as it takes to import NumPy."""

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


def _table(rows: list[Any], columns: int) -> list[list[float]] | None:
    """The rows as lists of floats; None if they hold anything else, or have another length.

    Whatever is wrong with them, going row by row will say.
    """
    if not all(map(is_sequence, rows)):
        return None
    try:
        table = [checked_row(row) for row in rows]
    except ChainruleError:
        return None
    if any(len(row) != columns for row in table):
        return None
    return table if all(type(x) is float for row in table for x in row) else None


def _floats(output: Any) -> float | list[float]:
    return [float(y) for y in output] if isinstance(output, list) else float(output)
