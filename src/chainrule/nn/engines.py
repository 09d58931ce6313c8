"""Engines: what carries a training out, once everything is checked and laid out.

`fit` turns what the user gave into a `Plan`, which is plain data and a few
functions of one row, and into `Orders` and learning rates.  An engine runs the
epochs and yields their results in `Chunk`s.  `EagerEngine` builds a graph of
`Value`s for every batch; whoever knows a faster way writes another class with the
same ``run``.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple, Protocol

from chainrule.errors import GraphError, describe
from chainrule.nn.clipping import clip_gradient, clip_scale
from chainrule.nn.losses import Loss
from chainrule.nn.optimizers import Optimizer, State
from chainrule.nn.rows import Target
from chainrule.ops import sum as total_of
from chainrule.value import Value

__all__ = ["Chunk", "Diverged", "EagerEngine", "Engine", "Orders", "Plan", "plain"]


@dataclass(frozen=True)
class Plan:
    """A training, checked and laid out.

    Attributes:
        rows: the inputs.
        targets: as many targets.
        forward: the network: from one row to a `Value` or a list of them.
        loss: from an output and a target to a `Value`.
        parameters: all `Value`s of the network that can be trained.
        optimizer: the optimiser, which holds those that are trained.
        batch_size: rows per update; the last batch of an epoch may be smaller.
        reduction: ``"mean"`` or ``"sum"``: which of a batch's losses is minimised.
        clip_value: the largest size of a gradient, or None.
        clip_norm: the largest norm of all gradients, or None; taken after
            ``clip_value``.
        observed: whether somebody looks at the parameters after every epoch, so
            that an engine must not run ahead.
    """

    rows: list[list[float]]
    targets: list[Target]
    forward: Callable[[list[float]], Any]
    loss: Loss
    parameters: list[Value]
    optimizer: Optimizer
    batch_size: int
    reduction: str
    clip_value: float | None
    clip_norm: float | None
    observed: bool


class Orders:
    """The order in which the rows are taken, epoch after epoch.

    Shuffled orders build on each other, as with ``random.shuffle(data)`` in a loop.

    Args:
        rows: how many rows there are.
        source: what shuffles, a `random.Random` or the module; None for rows in order.
    """

    def __init__(self, rows: int, source: Any = None) -> None:
        self.fixed = source is None
        self._order = list(range(rows))
        self._source = source

    def next(self) -> list[int]:
        """The indices of the rows, in the order of the next epoch."""
        if not self.fixed:
            self._order = self._order.copy()  # an engine may still hold the one before
            self._source.shuffle(self._order)
        return self._order


class Chunk(NamedTuple):
    """What some epochs in a row gave.

    Attributes:
        losses: each epoch's loss: the mean or sum of its rows' losses, taken before
            the update that they led to.
        accuracies: for each epoch the share of rows whose class was right, or None.
    """

    losses: list[float]
    accuracies: list[float] | None


class Diverged(Exception):
    """The loss, or the parameters after an update, stopped being finite numbers.

    Attributes:
        batch: the number of the batch within its epoch, from 0.
        what: what is not finite, in words.
    """

    def __init__(self, batch: int, what: str) -> None:
        super().__init__(what)
        self.batch = batch
        self.what = what


class Engine(Protocol):
    """What `fit` needs of an engine: a class that is made with a `Plan`."""

    name: ClassVar[str]

    def __init__(self, plan: Plan) -> None: ...

    def run(
        self, orders: Orders, rates: list[float], report: Callable[[int], None]
    ) -> Iterator[Chunk]:
        """Run epochs one after the other.

        Whenever it yields, and when it ends by an exception, the `Value`s and
        the optimiser hold the state after the last complete update.

        Args:
            orders: the order of the rows in each epoch.
            rates: the learning rate of each epoch.
            report: called now and then with the number of rows done since the
                last call.

        Yields:
            The results, of one epoch or of several at a time.

        Raises:
            Diverged: something is not finite; the parameters are back at the
                last values for which the loss was.
        """
        ...


class _State(NamedTuple):
    """Everything that an update changes."""

    values: list[float]
    memory: list[State]
    steps: int


class EagerEngine:
    """Builds the graph of every batch out of `Value`s: the living definition of training.

    Args:
        plan: what to carry out.
    """

    name: ClassVar[str] = "eager"

    def __init__(self, plan: Plan) -> None:
        self.plan = plan
        self.trained: list[Value] = plan.optimizer.parameters or []
        # An update replaces the state as a whole, so that an interruption, which may
        # come at any time, finds either the old one or the new one.
        self.state = self.earlier = self._read()

    def run(
        self, orders: Orders, rates: list[float], report: Callable[[int], None]
    ) -> Iterator[Chunk]:
        for lr in rates:
            self.state = self._read()  # a callback may have changed it
            try:
                chunk = self._epoch(orders.next(), lr, report)
            except BaseException:  # Ctrl-C, too, may have come between two parameters
                self._write(self.state)
                raise
            yield chunk

    def _epoch(self, order: list[int], lr: float, report: Callable[[int], None]) -> Chunk:
        plan = self.plan
        rows, targets, forward, loss = plan.rows, plan.targets, plan.forward, plan.loss.function
        size = plan.batch_size
        total = 0.0
        outputs: list[Any] = []
        for batch, start in enumerate(range(0, len(order), size)):
            losses: list[Value] = []
            for i in order[start : start + size]:
                output = forward(rows[i])
                losses.append(loss(output, targets[i]))
                outputs.append(plain(output))
            for each in losses:
                if not isinstance(each, Value):
                    raise _not_a_loss(plan.loss.name, each)
                total += each.data
            if not math.isfinite(total):
                self.state = self.earlier
                raise Diverged(batch, f"the loss became {total}")
            self._update(losses, lr, batch)
            report(len(losses))
        accuracy = plan.loss.accuracy(outputs, [targets[i] for i in order])
        shown = total / len(order) if plan.reduction == "mean" else total
        return Chunk([shown], None if accuracy is None else [accuracy])

    def _update(self, losses: list[Value], lr: float, batch: int) -> None:
        plan, before = self.plan, self.state
        for parameter in plan.parameters:
            parameter.grad = 0.0
        objective: Value = losses[0] if len(losses) == 1 else total_of(losses)
        if plan.reduction == "mean" and len(losses) > 1:
            objective = objective / float(len(losses))
        objective.backward()
        gradients = [parameter.grad for parameter in self.trained]
        if plan.clip_value is not None:
            gradients = [clip_gradient(g, plan.clip_value) for g in gradients]
        if plan.clip_norm is not None:
            scale = clip_scale(sum([g * g for g in gradients], 0.0), plan.clip_norm)
            gradients = [g * scale for g in gradients]
        steps = before.steps + 1
        values, memory = plan.optimizer.update_all(
            before.values, gradients, before.memory, steps, lr
        )
        if not all(map(math.isfinite, values)):
            raise Diverged(batch, self._culprit(values))
        self.earlier = before
        self.state = _State(values, memory, steps)
        self._write(self.state)

    def _culprit(self, values: list[float]) -> str:
        """Which update went wrong, in words: the raw gradients are still in place."""
        i = next(i for i, value in enumerate(values) if not math.isfinite(value))
        parameter = self.trained[i]
        named = f"parameter {i}" + (f" ({parameter.label})" if parameter.label else "")
        return f"{named} would have become {values[i]} (its gradient is {parameter.grad:g})"

    def _read(self) -> _State:
        optimizer = self.plan.optimizer
        memory = optimizer.states or [optimizer.start] * len(self.trained)
        return _State([p.data for p in self.trained], memory, optimizer.steps)

    def _write(self, state: _State) -> None:
        optimizer = self.plan.optimizer
        for parameter, value in zip(self.trained, state.values, strict=True):
            parameter.data = value
        optimizer.states, optimizer.steps = state.memory, state.steps


def plain(output: Any) -> Any:
    """A network's output as plain floats: one, or a list of them.

    Args:
        output: a `Value` or number, or a list of them.

    Returns:
        The same without graphs.

    Example:
        >>> plain([Value(1.0), Value(2.0)])
        [1.0, 2.0]
    """
    if isinstance(output, (list, tuple)):
        return [float(each) for each in output]
    return float(output)


def _not_a_loss(name: str, given: Any) -> GraphError:
    if isinstance(given, float):
        advice = (
            "A number has no graph to go back through: compute the loss from the network's "
            "output with operators and chainrule's functions, not from .data or with math"
        )
    else:
        advice = "Return one Value per row; for several outputs, their mean or sum"
    return GraphError(f"the loss {name} returned {describe(given)}. {advice}.")
