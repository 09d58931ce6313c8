"""Engines that run a compiled training: `NumpyEngine` and `NumbaEngine`.

The loss of one row is traced and becomes a program (see `chainrule.compiler`); the
optimiser's rule and clipping are traced like everything else.  While epochs run, the
parameters live in one flat array; they are written back to the `Value`s before anybody
can look at them.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from time import perf_counter
from typing import Any, ClassVar, Final, NamedTuple

import numpy as np
import numpy.typing as npt

from chainrule.compiler import backend_numba, backend_numpy, native
from chainrule.compiler.engines import numpy_functions
from chainrule.compiler.lower import lower
from chainrule.compiler.program import Program
from chainrule.compiler.trace import Trace, record
from chainrule.compiler.update import Update, traced_update
from chainrule.errors import CompileMismatch
from chainrule.nn.clipping import clip_gradient, clip_scale
from chainrule.nn.engines import Chunk, Diverged, Orders, Plan
from chainrule.structure import flatten
from chainrule.value import Value

__all__ = ["NumbaEngine", "NumpyEngine", "Prepared", "prepare"]

Array = npt.NDArray[Any]

NO_LIMIT: Final = 2**62
SPAN: Final = 0.05
"""Seconds that one call of native code may take: progress and Ctrl-C stay alive."""


class Prepared(NamedTuple):
    """A training as a program, before a back end writes it.

    Attributes:
        trace: what the loss of one row does; its parameters are those trained first.
        program: the same as statements; its outputs are the loss and the network's.
        update: what happens to a parameter after a batch.
        trained: how many parameters are trained.
    """

    trace: Trace
    program: Program
    update: Update
    trained: int


def prepare(plan: Plan) -> Prepared:
    """Trace a training.

    Args:
        plan: what is to be carried out.

    Raises:
        TraceError: the network or the loss asks for a number that is not known yet.
        CompileMismatch: they do not do the same in every call.
    """

    def example(row: Any, target: Any) -> list[Any]:
        output = plan.forward(row)
        found = list(output) if isinstance(output, (list, tuple)) else [output]
        return [plan.loss.function(output, target), *found]

    trained = plan.optimizer.parameters or []
    arguments = [flatten(plan.rows[0], "X")[1], flatten(plan.targets[0], "y")[1]]
    trace = record(example, arguments, trained)
    limit, norm = plan.clip_value, plan.clip_norm
    update = traced_update(
        plan.optimizer.update,
        len(plan.optimizer.start),
        None if limit is None else lambda g: clip_gradient(g, limit),
        None if norm is None else lambda square: clip_scale(square, norm),
    )
    return Prepared(trace, lower(trace, arguments, len(trained), None), update, len(trained))


class _State:
    """Everything that an update changes, in arrays."""

    def __init__(self, theta: Array, memory: Array, steps: int) -> None:
        self.theta = theta
        self.memory = memory
        self.steps = steps

    def copy(self) -> _State:
        return _State(self.theta.copy(), self.memory.copy(), self.steps)


@dataclass
class _NativeRun:
    """Some epochs in one native call."""

    start: _State
    order: Array
    rates: Array


class _CompiledEngine:
    """What both engines share: parameters in arrays, and chunks of epochs."""

    name: ClassVar[str]

    def __init__(self, plan: Plan, prepared: Prepared | None = None) -> None:
        self.plan = plan
        self.prepared = prepare(plan) if prepared is None else prepared
        self.x = np.array(plan.rows, dtype=np.float64)
        self.y = np.array(plan.targets, dtype=np.float64).reshape(len(plan.rows), -1)
        outputs = len(self.prepared.program.outputs) - 1
        found = plan.loss.classes(plan.targets, outputs)
        self.expected: Array | None = None if found is None else np.array(found, dtype=np.int64)
        self._classes = np.zeros(len(self.x), np.int64) if self.expected is None else self.expected
        self.trained: list[Value] = plan.optimizer.parameters or []
        self._check()

    def _epochs(
        self, state: _State, order: Array, rates: Array
    ) -> tuple[Array, Array, Diverged | None]:
        """Run an epoch for each of the rates, and change the state.

        ``order`` has a line of row numbers for each epoch, or one line for all.  Returns
        the losses of the epochs completed, how many rows were right in each, and what
        ended the one after.
        """
        raise NotImplementedError

    def run(
        self, orders: Orders, rates: list[float], report: Callable[[int], None]
    ) -> Iterator[Chunk]:
        done, count = 0, 1
        fixed = np.array([orders.next()], dtype=np.int64) if orders.fixed else None
        constant = rates.count(rates[0]) == len(rates) if rates else True
        while done < len(rates):
            n = min(count, len(rates) - done)
            some = np.full(n, rates[0]) if constant else np.array(rates[done : done + n])
            if fixed is None:
                order = np.array([orders.next() for _ in range(n)], dtype=np.int64)
            else:
                order = fixed
            state = self._load()
            started = perf_counter()
            losses, rights, trouble = self._epochs(state, order, some)
            elapsed = perf_counter() - started
            if len(losses):
                report(len(losses) * order.shape[1])
                yield from self._shown(state, losses, rights)
            else:
                self._store(state)
            if trouble is not None:
                raise trouble
            done += n
            if not self.plan.observed:
                grown = SPAN / max(elapsed / n, 1e-9)
                count = max(1, min(int(grown), 20 * count, 1_000_000))

    def _shown(self, state: _State, losses: Array, rights: Array) -> Iterator[Chunk]:
        """The results of a chunk, once the values hold the state after it."""
        rows = len(self.plan.rows)
        if self.plan.reduction == "mean":
            losses = losses / rows
        self._store(state)
        accuracies = None
        if self.expected is not None:
            if len(rights) > rows:  # few different shares: each needs to be made only once
                shares = np.array([i / rows for i in range(rows + 1)], dtype=object)
                accuracies = shares[rights].tolist()
            else:
                accuracies = [right / rows for right in rights.tolist()]
        yield Chunk(losses.tolist(), accuracies)

    def _load(self) -> _State:
        """The state as it is in the values and the optimiser: a callback may have changed it."""
        optimizer = self.plan.optimizer
        memory = optimizer.states or [optimizer.start] * len(self.trained)
        parameters = self.prepared.trace.parameters
        return _State(
            np.array([p.data for p in parameters], dtype=np.float64),
            np.array(memory, dtype=np.float64).reshape(len(self.trained), -1).T.copy(),
            optimizer.steps,
        )

    def _store(self, state: _State) -> None:
        optimizer = self.plan.optimizer
        for parameter, value in zip(self.trained, state.theta.tolist(), strict=False):
            parameter.data = value
        # (zip finds no columns in an array without rows: an optimiser that keeps nothing.)
        columns = list(zip(*state.memory.tolist(), strict=True))
        optimizer.states = columns or [optimizer.start] * len(self.trained)
        optimizer.steps = state.steps

    def _check(self) -> None:
        """Hold the program to the network and loss themselves, on the first row."""
        expected = self.plan.loss.function(
            self.plan.forward(self.plan.rows[0]), self.plan.targets[0]
        )
        found = self._first_loss()
        if math.isfinite(float(expected)) and not math.isclose(
            found, float(expected), rel_tol=1e-9, abs_tol=1e-9
        ):
            raise CompileMismatch(
                f"on the first row the compiled loss is {found!r}, but the network and the loss "
                f"give {float(expected)!r}. Something in them depends on more than the row, the "
                "target and the parameters. Use engine='eager'."
            )

    def _first_loss(self) -> float:
        raise NotImplementedError

    def _culprit(self, values: Array) -> str:
        i = int(np.flatnonzero(~np.isfinite(values))[0])
        label = self.trained[i].label
        named = f"parameter {i}" + (f" ({label})" if label else "")
        return f"{named} would have become {values[i]}"


class NumpyEngine(_CompiledEngine):
    """Runs the program on a batch at a time, with NumPy.

    Args:
        plan: what to carry out.
        prepared: the plan's program, if it is known already.
    """

    name: ClassVar[str] = "numpy"

    def __init__(self, plan: Plan, prepared: Prepared | None = None) -> None:
        prepared = prepare(plan) if prepared is None else prepared
        self.functions = dict(numpy_functions(prepared.program, None, np.float64)[0])
        self.functions.update(backend_numpy.emit_update(prepared.update).load())
        super().__init__(plan, prepared)

    def _first_loss(self) -> float:
        with np.errstate(all="ignore"):
            state = self._load()
            found = self.functions["forward"](state.theta, self.x[:1], self.y[:1], 1)
        return float(found[0, 0])

    def _epochs(
        self, state: _State, order: Array, rates: Array
    ) -> tuple[Array, Array, Diverged | None]:
        losses: list[float] = []
        rights: list[int] = []
        with np.errstate(all="ignore"):
            for epoch, lr in enumerate(rates.tolist()):
                try:
                    loss, right = self._epoch(state, order[epoch % len(order)], lr)
                except Diverged as trouble:
                    return np.array(losses), np.array(rights, dtype=np.int64), trouble
                losses.append(loss)
                rights.append(right)
        return np.array(losses), np.array(rights, dtype=np.int64), None

    def _epoch(self, state: _State, order: Array, lr: float) -> tuple[float, int]:
        plan, step, update = self.plan, self.functions["forward_backward"], self.functions["update"]
        size, trained = plan.batch_size, self.prepared.trained
        mean = plan.reduction == "mean"
        x, y, expected = self.x, self.y, self.expected
        if (order != np.arange(len(order))).any():
            x, y = x[order], y[order]
            expected = None if expected is None else expected[order]
        total = 0.0
        answers = np.empty((len(order), len(self.prepared.program.outputs) - 1))
        seed: Array | None = None
        zeros = np.zeros(trained)
        earlier: _State | None = None
        for batch, start in enumerate(range(0, len(order), size)):
            end = min(start + size, len(order))
            rows = end - start
            if seed is None or len(seed) != rows:
                seed = np.full((rows, 1), 1.0 / rows if mean else 1.0)
            losses, outputs, gradient = step(state.theta, x[start:end], y[start:end], seed, rows)
            total += float(losses.sum())
            if not math.isfinite(total):
                if earlier is not None:
                    state.theta, state.memory = earlier.theta, earlier.memory
                    state.steps = earlier.steps
                raise Diverged(batch, f"the loss became {total}")
            answers[start:end] = outputs
            new, memory = update(
                state.theta[:trained], gradient, state.memory, float(state.steps + 1), lr
            )
            if not math.isfinite(new @ zeros):
                raise Diverged(batch, self._culprit(new))
            earlier = _State(state.theta, state.memory, state.steps)
            if trained < len(state.theta):
                new = np.concatenate([new, state.theta[trained:]])
            state.theta, state.memory, state.steps = new, memory, state.steps + 1
        right = 0 if expected is None else int((self._decided(answers) == expected).sum())
        return total, right

    def _decided(self, outputs: Array) -> Array:
        if outputs.shape[1] == 1:
            above: Array = outputs[:, 0] > self.plan.loss.threshold
            return above
        largest: Array = outputs.argmax(axis=1)
        return largest


class NumbaEngine(_CompiledEngine):
    """Runs whole epochs, updates included, in native code compiled by Numba.

    Args:
        plan: what to carry out.
        prepared: the plan's program, if it is known already.

    Raises:
        MissingExtraError: Numba is not installed.
    """

    name: ClassVar[str] = "numba"

    def __init__(self, plan: Plan, prepared: Prepared | None = None) -> None:
        prepared = prepare(plan) if prepared is None else prepared
        text = backend_numba.emit_training(prepared.program, prepared.update, plan.reduction)
        self.train = native.load(text).train
        self._last: _NativeRun | None = None
        super().__init__(plan, prepared)

    def _first_loss(self) -> float:
        run = _NativeRun(self._load(), np.zeros((1, 1), dtype=np.int64), np.zeros(1))
        losses, *_ = self._call(run, NO_LIMIT)
        return float(losses[0]) if len(losses) else math.nan

    def _epochs(
        self, state: _State, order: Array, rates: Array
    ) -> tuple[Array, Array, Diverged | None]:
        run = _NativeRun(state.copy(), order, rates)
        losses, rights, batch, code, total = self._call(run, NO_LIMIT, state)
        trouble = None
        if code:
            what = f"the loss became {total}" if code == 1 else self._culprit(state.theta)
            trouble = Diverged(batch, what)
            self._go_back(run, state)
        self._last = run
        return losses, rights, trouble

    def _go_back(self, run: _NativeRun, state: _State) -> None:
        """Return to the state before the last update, by doing all updates before it again."""
        if state.steps == run.start.steps and self._last is not None:
            run = self._last  # it was the last update of the run before
        elif state.steps == run.start.steps:
            state.theta, state.memory = run.start.theta, run.start.memory
            return
        limit = state.steps - 1
        again = run.start.copy()
        self._call(run, limit, again)
        state.theta, state.memory, state.steps = again.theta, again.memory, again.steps

    def _call(
        self, run: _NativeRun, limit: int, state: _State | None = None
    ) -> tuple[Array, Array, int, int, float]:
        state = run.start.copy() if state is None else state
        epochs = len(run.rates)
        losses = np.empty(epochs)
        rights = np.zeros(epochs, dtype=np.int64)
        threshold = self.plan.loss.threshold
        try:
            epoch, batch, code, steps, total = self.train(
                state.theta,
                self.x,
                self.y,
                run.order,
                self.plan.batch_size,
                run.rates,
                state.memory,
                state.steps,
                limit,
                self._classes,
                0.0 if threshold is None else threshold,
                losses,
                rights,
            )
        except IndexError:
            raise CompileMismatch(
                "an index given to pick() is out of range for a row; use engine='eager', which "
                "says which"
            ) from None
        state.steps = steps
        return losses[:epoch], rights[:epoch], batch, code, total
