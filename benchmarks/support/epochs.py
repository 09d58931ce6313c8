"""One epoch of training, by chainrule and by each of its peers.

Every function below takes a `Problem` and returns an `Epoch`: a function that runs forward
over all rows, adds up the squared errors, differentiates, and updates the parameters.  All
start from the same parameters and do the same arithmetic, so they must report the same
losses; `check_agreement` makes sure of it.

Each peer is used the way its own documentation shows.  chainrule and micrograd go through
their own classes for neurons and networks; the others are spared that work and get the
bare loops of `sum_of_squares`.
"""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from chainrule import Network, Value, circle, xor

Epoch: TypeAlias = Callable[[], float]
"""Carries out one epoch; returns the loss before the update."""

Layers: TypeAlias = list[list[tuple[list[Any], Any]]]
"""The weights and the bias of each neuron of each layer."""


@dataclass(frozen=True)
class Problem:
    """A network, sigmoid everywhere, and what it should learn."""

    name: str
    sizes: list[int]
    rows: list[list[float]]
    targets: list[float]
    rate: float

    def start(self) -> list[float]:
        """The first parameters, neuron by neuron: its weights, then its bias."""
        source = random.Random(42)
        parameters = []
        for n_inputs, n_outputs in zip(self.sizes[:-1], self.sizes[1:], strict=True):
            scale = math.sqrt(2.0 / n_inputs)
            for _ in range(n_outputs):
                parameters += [source.uniform(-scale, scale) for _ in range(n_inputs)]
                parameters.append(0.0)
        return parameters

    def layers(self, parameters: Iterable[Any]) -> Layers:
        """Parameters in a row, of any kind, in the places where the network has them."""
        following = iter(parameters)
        return [
            [
                ([next(following) for _ in range(n_inputs)], next(following))
                for _ in range(n_outputs)
            ]
            for n_inputs, n_outputs in zip(self.sizes[:-1], self.sizes[1:], strict=True)
        ]


XOR = Problem("XOR 2-4-1, 4 rows", [2, 4, 1], *xor(), rate=1.0)
CIRCLE = Problem("circle 2-8-1, 80 rows", [2, 8, 1], *circle(80, seed=7), rate=0.05)


def sum_of_squares(problem: Problem, layers: Layers, sigmoid: Callable[[Any], Any]) -> Any:
    """The loss, in whatever kind of number the parameters are."""
    total: Any = 0.0
    for row, target in zip(problem.rows, problem.targets, strict=True):
        values: Sequence[Any] = row
        for layer in layers:
            outputs = []
            for weights, bias in layer:
                z = bias
                for w, x in zip(weights, values, strict=True):
                    z = z + w * x
                outputs.append(sigmoid(z))
            values = outputs
        total = total + (values[0] - target) ** 2
    return total


def chainrule_epoch(problem: Problem) -> Epoch:
    net = Network(problem.sizes)
    for parameter, start in zip(net.parameters(), problem.start(), strict=True):
        parameter.data = start

    def epoch() -> float:
        total: Any = sum(
            [(net(row) - t) ** 2 for row, t in zip(problem.rows, problem.targets, strict=True)],
            Value(0.0),
        )
        net.zero_grad()
        total.backward()
        for p in net.parameters():
            p.data -= problem.rate * p.grad
        return float(total.data)

    return epoch


def micrograd_epoch(problem: Problem) -> Epoch:
    from micrograd import nn
    from micrograd.engine import Value

    def sigmoid(x: Any) -> Any:
        s = 1 / (1 + math.exp(-x.data))
        out = Value(s, (x,), "sigmoid")

        def _backward() -> None:
            x.grad += s * (1 - s) * out.grad

        out._backward = _backward
        return out

    class Neuron(nn.Neuron):  # type: ignore[misc]
        def __call__(self, x: Any) -> Any:
            return sigmoid(sum((wi * xi for wi, xi in zip(self.w, x)), self.b))  # noqa: B905

    net = nn.MLP(problem.sizes[0], problem.sizes[1:])
    for layer in net.layers:
        layer.neurons = [Neuron(len(neuron.w)) for neuron in layer.neurons]
    for parameter, start in zip(net.parameters(), problem.start(), strict=True):
        parameter.data = start

    def epoch() -> float:
        total = sum(
            [
                (net([Value(x) for x in row]) - t) ** 2
                for row, t in zip(problem.rows, problem.targets, strict=True)
            ],
            Value(0.0),
        )
        net.zero_grad()
        total.backward()
        for p in net.parameters():
            p.data -= problem.rate * p.grad
        return float(total.data)

    return epoch


def autograd_epoch(problem: Problem) -> Epoch:
    import autograd
    import autograd.numpy as np

    def sigmoid(z: Any) -> Any:
        return 1.0 / (1.0 + np.exp(-z))

    def loss(*parameters: Any) -> Any:
        return sum_of_squares(problem, problem.layers(parameters), sigmoid)

    parameters = problem.start()
    loss_and_gradient = autograd.value_and_grad(loss, tuple(range(len(parameters))))

    def epoch() -> float:
        total, gradient = loss_and_gradient(*parameters)
        parameters[:] = [p - problem.rate * g for p, g in zip(parameters, gradient, strict=True)]
        return float(total)

    return epoch


def xad_epoch(problem: Problem) -> Epoch:
    from xad.adj_1st import Real, Tape
    from xad.math import exp

    def sigmoid(z: Any) -> Any:
        return 1.0 / (1.0 + exp(-z))

    start = problem.start()

    def epoch() -> float:
        with Tape() as tape:
            parameters = [Real(p) for p in start]
            tape.registerInputs(parameters)
            tape.newRecording()
            total = sum_of_squares(problem, problem.layers(parameters), sigmoid)
            tape.registerOutput(total)
            total.derivative = 1.0
            tape.computeAdjoints()
            start[:] = [p.value - problem.rate * p.derivative for p in parameters]
            return float(total.value)

    return epoch


def casadi_epoch(problem: Problem) -> Epoch:
    import casadi

    def sigmoid(z: Any) -> Any:
        return 1.0 / (1.0 + casadi.exp(-z))

    start = problem.start()

    def epoch() -> float:
        parameters = casadi.SX.sym("parameters", len(start))
        layers = problem.layers([parameters[i] for i in range(len(start))])
        total = sum_of_squares(problem, layers, sigmoid)
        gradient = casadi.gradient(total, parameters)
        loss_and_gradient = casadi.Function("loss", [parameters], [total, gradient])
        loss, slopes = loss_and_gradient(start)
        start[:] = [p - problem.rate * g for p, g in zip(start, slopes.elements(), strict=True)]
        return float(loss)

    return epoch


def torch_epoch(problem: Problem) -> Epoch:
    import torch

    parameters = [torch.tensor(p, dtype=torch.float64, requires_grad=True) for p in problem.start()]
    layers = problem.layers(parameters)

    def epoch() -> float:
        total = sum_of_squares(problem, layers, torch.sigmoid)
        total.backward()
        with torch.no_grad():
            for p in parameters:
                p -= problem.rate * p.grad
                p.grad = None
        return float(total.item())

    return epoch


@dataclass(frozen=True)
class Peer:
    """Another engine, to be measured if it is installed."""

    name: str
    package: str
    epoch: Callable[[Problem], Epoch]


# PyTorch comes last: with its many objects in memory the garbage collector works less
# often, which would flatter whoever leaves garbage behind.
MICROGRAD = Peer("micrograd", "micrograd", micrograd_epoch)
PEERS = (
    MICROGRAD,
    Peer("HIPS autograd on scalars", "autograd", autograd_epoch),
    Peer("XAD, C++ tape", "xad", xad_epoch),
    Peer("CasADi SX, built anew", "casadi", casadi_epoch),
    Peer("PyTorch, 0-d float64", "torch", torch_epoch),
)


def check_agreement(problem: Problem, peer: Peer, epochs: int = 5) -> None:
    """Make sure that a peer computes what we compute.

    Raises:
        RuntimeError: its losses differ from ours by more than rounding.
    """
    ours, theirs = chainrule_epoch(problem), peer.epoch(problem)
    for number in range(epochs):
        a, b = ours(), theirs()
        if not math.isclose(a, b, rel_tol=1e-9):
            raise RuntimeError(
                f"{peer.name} does not do the same work on {problem.name}: "
                f"its loss in epoch {number} is {b!r}, ours {a!r}"
            )
