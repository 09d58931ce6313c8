"""Looking into a network at work: what every neuron of every layer receives and passes on.

`inspect_network` runs rows through a copy of the network, forward and backward, and keeps
what a graph forgets: weighted sums, outputs, the slope of each activation, and how
strongly the loss depends on each sum.  Pictures and diagnoses are made from it.
"""

from __future__ import annotations

import copy
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from chainrule.errors import ChainruleError, OptionError, describe
from chainrule.nn.activations import ACTIVATIONS, Activation
from chainrule.nn.engines import plain
from chainrule.nn.layers import Network, Neuron
from chainrule.nn.losses import Loss, loss_of
from chainrule.nn.rows import Target, checked_rows, checked_targets
from chainrule.nonfinite import NonFiniteOrigin, origin_of_nonfinite
from chainrule.operation import as_float
from chainrule.value import Value

__all__ = ["ActivationShape", "Inspection", "LayerInspection", "inspect_network", "shape_of"]

Array = npt.NDArray[np.float64]

WORK: Final = 200_000
"""How many products of a weight and an input are computed at most, rows times parameters."""

FEWEST: Final = 32
"""Rows that are looked at whatever the work."""

FLAT: Final = 0.05
"""A bounded activation is saturated where its slope is below this share of its steepest."""

DEAD: Final = 1e-3
"""The slope below which an activation that is flat on one side passes on nothing."""


@dataclass(frozen=True)
class ActivationShape:
    """What an activation is like, found by trying it.

    Attributes:
        name: as it is shown.
        low: the smallest output met.
        high: the largest.
        steepest: the largest slope for sums from -6 to 6.
        kind: ``"bounded"`` (flat at both ends, as sigmoid), ``"one-sided"`` (flat at one
            end, as relu), ``"linear"``, or ``"other"``.

    Example:
        >>> shape_of("sigmoid").kind, shape_of("sigmoid").steepest, shape_of("relu").kind
        ('bounded', 0.25, 'one-sided')
    """

    name: str
    low: float
    high: float
    steepest: float
    kind: str


def shape_of(activation: Activation) -> ActivationShape:
    """Try an activation on sums from -100 to 100.

    Args:
        activation: a name, or a function of one number.
    """
    name, function = _named(activation)
    inner = [x / 8.0 for x in range(-48, 49)]
    tried = {x: _value_and_slope(function, x) for x in (-100.0, -50.0, *inner, 50.0, 100.0)}
    outputs = [y for y, _ in tried.values() if math.isfinite(y)] or [math.nan]
    slopes = [abs(tried[x][1]) for x in inner if math.isfinite(tried[x][1])]
    steepest = max(slopes, default=math.nan)
    flat = [
        all(abs(tried[x][1]) < DEAD * max(1.0, steepest) for x in ends)
        for ends in ((-100.0, -50.0), (50.0, 100.0))
    ]
    if all(y == x and slope == 1.0 for x, (y, slope) in tried.items()):
        kind = "linear"
    else:
        kind = {2: "bounded", 1: "one-sided", 0: "other"}[sum(flat)]
    return ActivationShape(name, min(outputs), max(outputs), steepest, kind)


def _named(activation: Activation) -> tuple[str, Callable[[Any], Any]]:
    if isinstance(activation, str):
        return activation, ACTIVATIONS[activation]
    return getattr(activation, "__name__", type(activation).__name__), activation


def _value_and_slope(function: Callable[[Any], Any], x: float) -> tuple[float, float]:
    if function is ACTIVATIONS["linear"]:
        return x, 1.0
    z = Value(x)
    y = function(z)
    if not isinstance(y, Value):  # a function of one's own may answer a constant
        return as_float(y) or 0.0, 0.0
    y.backward()
    return y.data, z.grad


@dataclass(frozen=True, eq=False)
class LayerInspection:
    """What was seen in one layer.  Arrays have a row per row of data, a column per neuron.

    Attributes:
        name: such as ``"layers.0"``.
        shapes: of each neuron's activation.
        weights: ``(neurons, inputs)``.
        biases: ``(neurons,)``.
        sums: the weighted sums, before the activation.
        outputs: after it.
        slopes: the derivative of the outputs by the sums.
        by_sum: the derivative of each row's loss by the sums; nan where there is no loss.
        gradients: ``(neurons, inputs + 1)``: the derivative of the mean loss by each weight,
            and by the bias in the last column.
    """

    name: str
    shapes: list[ActivationShape]
    weights: Array
    biases: Array
    sums: Array
    outputs: Array
    slopes: Array
    by_sum: Array
    gradients: Array

    @property
    def activation(self) -> str:
        """The name of the activation; of several, all of them."""
        return "/".join(dict.fromkeys([shape.name for shape in self.shapes]))

    @cached_property
    def flat(self) -> npt.NDArray[np.bool_]:
        """Where a bounded activation is saturated; elsewhere and of others False."""
        limits = [FLAT * s.steepest if s.kind == "bounded" else 0.0 for s in self.shapes]
        return np.abs(self.slopes) < np.array(limits)

    @cached_property
    def dead(self) -> list[int]:
        """Neurons of a one-sided activation that pass on no gradient for any row."""
        idle = np.abs(self.slopes).max(axis=0) < DEAD
        return [k for k, s in enumerate(self.shapes) if s.kind == "one-sided" and idle[k]]

    @cached_property
    def twins(self) -> int:
        """How many neurons have the same weights and the same gradient as one before them."""
        return len(self.shapes) - len(
            {
                tuple([f"{x:.10g}" for x in (*w, b, *g)])
                for w, b, g in zip(self.weights, self.biases, self.by_sum.T, strict=True)
            }
        )


@dataclass(frozen=True, eq=False)
class Inspection:
    """What was seen in a network.

    Attributes:
        layers: first to last.
        loss: what the outputs were measured with.
        rows: the rows that were looked at.
        targets: as many; empty where none were given.
        places: the index of each among all rows given.
        total: how many rows were given.
        losses: of each row.
        outputs: the network's, of each row: a float, or a list of them.
        origin: where ``inf`` or ``nan`` came from, and the place of the row; None if all
            is finite.
        refusal: the loss's error about an output, where it takes not any number.
    """

    layers: list[LayerInspection]
    loss: Loss
    rows: list[list[float]]
    targets: list[Target]
    places: list[int]
    total: int
    losses: list[float]
    outputs: list[Any]
    origin: tuple[NonFiniteOrigin, int] | None
    refusal: ChainruleError | None

    @property
    def target_rows(self) -> list[list[float]]:
        """The targets as lists, of one number each for a network of one output."""
        return [t if isinstance(t, list) else [t] for t in self.targets]

    @property
    def mean_loss(self) -> float:
        """The mean of the rows' losses; nan without any."""
        return sum(self.losses) / len(self.losses) if self.losses else math.nan

    @cached_property
    def constant_loss(self) -> float:
        """The mean loss of a network that answers every row with its own mean output."""
        if not self.losses or self.refusal is not None:
            return math.nan
        mean = np.mean(np.array(self.outputs, dtype=float), axis=0).tolist()
        return sum([float(self.loss(mean, t)) for t in self.targets]) / len(self.targets)


def inspect_network(net: Any, X: Any, y: Any = None, loss: Any = "mse") -> Inspection:
    """Run rows through a copy of a network and back, and keep what happens on the way.

    Of many rows some are taken, evenly spaced, so that it takes seconds at most.

    Args:
        net: a `Network`.
        X: rows of finite numbers.
        y: a target per row; None to look at the way forward only.
        loss: as `fit` takes it.

    Raises:
        OptionError: ``net`` is no `Network`, or the loss is unknown.
        DataError: a number is not finite, or a target does not suit the loss.
        ShapeError: rows, targets, network and loss do not fit each other.

    Example:
        >>> seen = inspect_network(Network([2, 3, 1], seed=1), [[0, 1], [1, 1]], [0, 1])
        >>> [layer.sums.shape for layer in seen.layers], seen.layers[0].gradients.shape
        ([(2, 3), (2, 1)], (3, 3))
    """
    if not isinstance(net, Network):
        raise OptionError(
            f"looking into layers takes a Network, such as Network([2, 4, 1]); got {describe(net)}."
        )
    measure = loss_of(loss)
    rows = checked_rows(X, "X", net.sizes[0])
    total = len(rows)
    count = min(total, max(FEWEST, WORK // len(net.parameters())))
    places = [i * total // count for i in range(count)]
    targets: list[Target] = []
    if y is not None:
        measure.check_outputs(net.sizes[-1])
        given = checked_targets(y, "y", total)
        targets = [given[i] for i in places]
    return _Walk(copy.deepcopy(net), measure).through(
        [rows[i] for i in places], targets, places, total
    )


class _Walk:
    """The way of rows through a network, which must be a copy: its gradients are used."""

    def __init__(self, net: Network, loss: Loss) -> None:
        self.net = net
        self.loss = loss
        self.origin: tuple[NonFiniteOrigin, int] | None = None
        self.refusal: ChainruleError | None = None
        # A neuron that stops at its weighted sum, and what it would have done with it.
        self.layers = [
            [(_without_activation(n), _named(n.activation)[1]) for n in layer.neurons]
            for layer in net.layers
        ]

    def through(
        self, rows: list[list[float]], targets: list[Target], places: list[int], total: int
    ) -> Inspection:
        self.net.zero_grad()
        losses: list[float] = []
        outputs: list[Any] = []
        seen: list[list[tuple[list[float], ...]]] = [[] for _ in self.layers]
        for i, row in enumerate(rows):
            sums, values = self._forward(row)
            output: Any = values[0] if len(values) == 1 else values
            outputs.append(plain(output))
            back = False
            if targets:
                measured = self._measured(output, targets[i], places[i])
                losses.append(math.nan if measured is None else float(measured))
                if isinstance(measured, Value):
                    back = True
                    self._back(measured, sums, places[i])
            for kept, layer, zs in zip(seen, self.layers, sums, strict=True):
                pairs = [_value_and_slope(f, z.data) for (_, f), z in zip(layer, zs, strict=True)]
                kept.append(
                    (
                        [z.data for z in zs],
                        [y for y, _ in pairs],
                        [slope for _, slope in pairs],
                        [z.grad if back else math.nan for z in zs],
                    )
                )
        if self.refusal is not None:
            losses = []
        layers = [self._layer(k, kept, len(rows)) for k, kept in enumerate(seen)]
        return Inspection(
            layers,
            self.loss,
            rows,
            targets,
            places,
            total,
            losses,
            outputs,
            self.origin,
            self.refusal,
        )

    def _forward(self, row: Sequence[float]) -> tuple[list[list[Value]], list[Any]]:
        values: list[Any] = list(row)
        sums = []
        for i, layer in enumerate(self.layers):
            zs = [neuron(values) for neuron, _ in layer]
            values = []
            for k, (z, (_, function)) in enumerate(zip(zs, layer, strict=True)):
                z.label = f"layers.{i}.neurons.{k}.sum"
                values.append(function(z))
            sums.append(zs)
        return sums, values

    def _measured(self, output: Any, target: Target, place: int) -> Any:
        """The loss of a row; None where it refuses an output."""
        try:
            return self.loss(output, target)
        except ChainruleError as error:
            if _fits_another_output(self.loss, output, target):
                self.refusal = self.refusal or error
                return None
            raise type(error)(f"y[{place}] = {target}: {error}") from None

    def _back(self, loss: Value, sums: list[list[Value]], place: int) -> None:
        loss.backward()
        if self.origin is None:
            numbers = [loss.data, *[p.grad for p in self.net.parameters()]]
            if not all(map(math.isfinite, numbers)):
                found = origin_of_nonfinite(loss)
                self.origin = None if found is None else (found, place)

    def _layer(self, at: int, kept: list[Any], rows: int) -> LayerInspection:
        neurons = self.net.layers[at].neurons
        sums, outputs, slopes, by_sum = (
            np.array([each[j] for each in kept], dtype=float) for j in range(4)
        )
        return LayerInspection(
            name=f"layers.{at}",
            shapes=_shapes(neurons),
            weights=np.array([[w.data for w in n.weights] for n in neurons]),
            biases=np.array([n.bias.data for n in neurons]),
            sums=sums,
            outputs=outputs,
            slopes=slopes,
            by_sum=by_sum,
            gradients=np.array([[p.grad for p in n.parameters()] for n in neurons]) / rows,
        )


def _without_activation(neuron: Neuron) -> Neuron:
    made = copy.copy(neuron)
    made.activation = "linear"
    return made


def _shapes(neurons: list[Neuron]) -> list[ActivationShape]:
    known: dict[Any, ActivationShape] = {}
    for neuron in neurons:
        key = neuron.activation if isinstance(neuron.activation, str) else id(neuron.activation)
        if key not in known:
            known[key] = shape_of(neuron.activation)
    return [
        known[n.activation if isinstance(n.activation, str) else id(n.activation)] for n in neurons
    ]


def _fits_another_output(loss: Loss, output: Any, target: Target) -> bool:
    """Whether it is the output that a loss refuses, and not the target."""
    if isinstance(output, list):
        return False
    try:
        loss(0.5, target)
    except ChainruleError:
        return False
    return True
