"""`fit`: train a network on rows and targets.

It checks everything the user gave before anything starts, lays the training out
as a `Plan`, and lets an engine carry it out epoch by epoch, while it keeps the
`History`, asks the callbacks and answers Ctrl-C.
"""

from __future__ import annotations

import math
import sys
import warnings
from collections.abc import Callable, Iterator, Sequence
from time import perf_counter
from typing import Any, Final

from chainrule.errors import ChainruleError, OptionError, describe
from chainrule.modes import no_grad
from chainrule.nn.callbacks import Callback, checked_callbacks, stop_reason
from chainrule.nn.choice import ENGINES, chosen_engine
from chainrule.nn.engines import Chunk, Diverged, Orders, Plan, plain
from chainrule.nn.history import History
from chainrule.nn.losses import Loss, loss_of
from chainrule.nn.optimizers import OPTIMIZERS, Optimizer
from chainrule.nn.progress import ProgressBar
from chainrule.nn.rows import Target, checked_rows, checked_targets
from chainrule.nn.schedules import ConstantSchedule, Rate, Schedule, schedule_of
from chainrule.operation import as_float
from chainrule.options import choice, random_source, real, whole
from chainrule.value import Value

__all__ = ["DEFAULT_LR", "History", "fit"]

DEFAULT_LR: Final = {"sgd": 0.1, "rmsprop": 0.01, "adam": 0.01, "adamw": 0.01}
"""The learning rate of an optimiser given by name: larger than the defaults of its
class, which are PyTorch's and meant for networks far bigger than these."""


def fit(
    net: Any,
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
    """Train a network.

    Ctrl-C ends the training and returns what was recorded.  So does a loss that
    becomes ``inf`` or ``nan``: a `RuntimeWarning` says when it happened and what to
    look at, and the parameters go back to the last values that gave a finite
    loss.  In both cases ``history.stopped`` holds the reason.

    Args:
        net: a `Network`, or anything that can be called with a list of floats,
            returns a `Value` or a list of them, and has ``parameters()``.
        X: the inputs: rows of finite numbers, as lists or a NumPy array.
        y: a target per row: a number, or one number per output.
        loss: ``"mse"``, ``"binary_cross_entropy"``, ``"binary_cross_entropy_with_logits"``,
            ``"cross_entropy"``, ``"hinge"``, or a function ``(output, target)``.
        optimizer: ``"sgd"``, ``"rmsprop"``, ``"adam"``, ``"adamw"``, or an object such
            as ``SGD(lr=0.1, momentum=0.9)``.  One that was made with parameters
            trains only these, and remembers its state from call to call.
        lr: the learning rate; None takes the object's own, or for a name that of
            `DEFAULT_LR`: 0.1 for SGD, 0.01 for the others.
        epochs: how often to go through all rows, from 0.
        batch_size: rows per update; None takes all, 1 is online learning.
        reduction: an update follows the gradient of the ``"mean"`` or the ``"sum"``
            of its rows' losses; ``history.loss`` is the same of the epoch's rows.
        shuffle: put the rows in a new random order before each epoch.
        seed: a whole number for an order of its own; None draws from Python's
            global random numbers, so that ``random.seed(42)`` has its effect.
        schedule: how the learning rate changes: ``"constant"``, ``"step"``,
            ``"cosine"``, ``"linear_warmup"``, a schedule object, or a function
            ``(epoch, lr) -> lr``.
        clip_value: the largest size of each gradient, above 0; None for no limit.
        clip_norm: the largest norm of all gradients together, above 0; taken after
            ``clip_value``; None for no limit.
        validation: a pair ``(X, y)`` on which loss and accuracy are measured after
            each epoch; the loss is the mean of its rows.
        callbacks: functions ``(epoch, net, history)`` called after each epoch; one that
            returns True, or a reason as text, ends the training.
        progress: ``"auto"`` shows a bar on a terminal if the training will take
            longer than about a second; True always does, False never.
        engine: what does the work: ``"eager"``, or ``"auto"`` to choose.

    Returns:
        The `History`.

    Raises:
        DataError: there are no rows, a number is not finite, or a target does not
            suit the loss.
        NotANumberError: something among the rows or targets is no number.
        OptionError: a setting is unknown or out of range.
        ShapeError: rows and targets do not fit each other or the network.

    Example:
        >>> from chainrule.data import xor
        >>> from chainrule.nn.layers import Network
        >>> net = Network([2, 4, 1], activation="tanh", output_activation="sigmoid", seed=1)
        >>> history = fit(net, *xor(), optimizer="adam", lr=0.1, epochs=100)
        >>> len(history), history.loss[-1] < 0.05, history.accuracy[-1]
        (100, True, 1.0)
    """
    parameters = _parameters(net)
    measure = loss_of(loss)
    trained_by, base = _optimizer(optimizer, lr, parameters)
    rates = _rates(schedule, base, whole("epochs", epochs, least=0, example=100))
    watchers = checked_callbacks(callbacks)
    reduction = choice("reduction", reduction, ("mean", "sum"))
    engine = choice("engine", engine, ("auto", *ENGINES))
    if not isinstance(shuffle, bool):
        raise OptionError(f"shuffle must be True or False; got {describe(shuffle)}.")
    source = random_source(seed)
    rows, targets = _examples(net, measure, X, y)
    held_out = None
    if validation is not None:
        held_out = _Validation(
            net, measure, *_examples(net, measure, *_pair(validation), prefix="validation ")
        )
    plan = Plan(
        rows=rows,
        targets=targets,
        forward=net,
        loss=measure,
        parameters=parameters,
        optimizer=trained_by,
        batch_size=_batch_size(batch_size, len(rows)),
        reduction=reduction,
        clip_value=_limit("clip_value", clip_value),
        clip_norm=_limit("clip_norm", clip_norm),
        observed=bool(watchers or held_out),
    )
    bar = ProgressBar(len(rates), len(rows), progress)
    history = History(reduction=reduction, rows=len(rows), optimizer=repr(trained_by))
    started = perf_counter()
    try:
        worker, history.engine_reason = chosen_engine(engine, plan, len(rates))
    except KeyboardInterrupt:  # compiling takes seconds, and nothing is trained yet
        history.stopped = "interrupted by Ctrl-C after 0 epochs, while an engine was prepared"
        history.total_seconds = perf_counter() - started
        return history
    history.engine = worker.name
    results = worker.run(Orders(len(rows), source if shuffle else None), rates, bar.advance)
    try:
        with bar:
            history.stopped = _run(net, results, rates, history, held_out, watchers, bar)
    except KeyboardInterrupt:
        history.stopped = f"interrupted by Ctrl-C after {_complete_epochs(history)} epochs"
    except Diverged as trouble:
        epoch = len(history)
        history.stopped = _advice(trouble, epoch, rates[epoch], plan)
        message = f"training stopped: {history.stopped}"
        warnings.warn(message, RuntimeWarning, stacklevel=_users_level())
    history.total_seconds = perf_counter() - started
    return history


def _run(
    net: Any,
    results: Iterator[Chunk],
    rates: list[float],
    history: History,
    held_out: _Validation | None,
    watchers: list[Callback],
    bar: ProgressBar,
) -> str:
    """Record each epoch and show it to the callbacks; the reason why one ended it, or ""."""
    clock = perf_counter()
    for chunk in results:
        n, epoch = len(chunk.losses), len(history.loss)
        history.loss += chunk.losses
        if chunk.accuracies is not None:
            history.accuracy += chunk.accuracies
        if held_out is not None:
            held_out.record(history)
        history.lr += rates[epoch : epoch + n]
        history.seconds += [(perf_counter() - clock) / n] * n
        bar.epoch(epoch + n - 1, history.loss[-1])
        reasons = [stop_reason(each, each(epoch, net, history)) for each in watchers]
        for reason in filter(None, reasons):
            return reason
        clock = perf_counter()
    return ""


class _Validation:
    """Rows that are not learned from, to measure what was learned."""

    def __init__(
        self, net: Any, loss: Loss, rows: list[list[float]], targets: list[Target]
    ) -> None:
        self.net = net
        self.loss = loss
        self.rows = rows
        self.targets = targets

    def record(self, history: History) -> None:
        with no_grad():
            outputs = [self.net(row) for row in self.rows]
            losses = [
                float(self.loss(output, target))
                for output, target in zip(outputs, self.targets, strict=True)
            ]
        history.validation_loss.append(sum(losses) / len(losses))
        accuracy = self.loss.accuracy([plain(output) for output in outputs], self.targets)
        if accuracy is not None:
            history.validation_accuracy.append(accuracy)


# --- checking what the user gave --------------------------------------------------------------


def _parameters(net: Any) -> list[Value]:
    if isinstance(net, type) or not callable(net) or not callable(getattr(net, "parameters", None)):
        raise OptionError(
            "fit trains a network: something that can be called with a row and has "
            f"parameters(), such as Network([2, 4, 1]); got {describe(net)}."
        )
    return list(net.parameters())


def _optimizer(given: Any, lr: float | None, parameters: list[Value]) -> tuple[Optimizer, float]:
    """An optimiser that holds parameters, and the base learning rate."""
    if isinstance(given, type) and issubclass(given, Optimizer):
        raise OptionError(
            f"optimizer is the class {given.__name__} itself; make an object of it: "
            f"{given.__name__}(lr=0.01), or give its name."
        )
    if isinstance(given, Optimizer):
        base = given.lr if lr is None else real("lr", lr, least=0.0, example="0.1")
        if given.parameters is None:
            made = given.bound_to(parameters)
            made.lr = base
            return made, base
        known = {id(parameter) for parameter in parameters}
        for i, parameter in enumerate(given.parameters):
            if id(parameter) not in known:
                raise OptionError(
                    f"the optimiser was made with parameters of something else: its parameter "
                    f"{i}, {describe(parameter)}, is not among net.parameters(). Make it with "
                    f"net.parameters(), or without parameters: {type(given).__name__}(lr=...)."
                )
        return given, base
    name = choice("optimizer", given, OPTIMIZERS, "an object such as SGD(lr=0.1, momentum=0.9)")
    made = OPTIMIZERS[name](parameters, lr=DEFAULT_LR[name] if lr is None else lr)
    return made, made.lr


def _rates(schedule: Any, base: float, epochs: int) -> list[float]:
    """The learning rate of each epoch."""
    rate = schedule_of(schedule, epochs)
    if isinstance(rate, ConstantSchedule):
        return [base] * epochs
    rates = []
    for epoch in range(epochs):
        given = rate(epoch, base)
        lr = as_float(given)
        if lr is None or not 0.0 <= lr < math.inf:
            raise OptionError(
                f"the schedule gave {describe(given)} as the learning rate of epoch {epoch}; "
                "expected a finite number of at least 0. A schedule is called with the epoch "
                "and the base learning rate, and returns the rate."
            )
        rates.append(lr)
    return rates


def _batch_size(given: Any, rows: int) -> int:
    return rows if given is None else min(rows, whole("batch_size", given, least=1, example=16))


def _limit(name: str, given: Any) -> float | None:
    return None if given is None else real(name, given, above=0.0, example="1.0")


def _pair(given: Any) -> tuple[Any, Any]:
    try:
        X, y = given
    except (TypeError, ValueError):
        raise OptionError(
            f"validation must be a pair (X, y) of rows and targets; got {describe(given)}. "
            "chainrule.train_test_split makes one."
        ) from None
    return X, y


def _examples(
    net: Any, loss: Loss, X: Any, y: Any, prefix: str = ""
) -> tuple[list[list[float]], list[Target]]:
    """Rows and targets as plain floats, known to suit the network and the loss."""
    sizes = getattr(net, "sizes", None)
    columns = sizes[0] if isinstance(sizes, (list, tuple)) else None
    rows = checked_rows(X, f"{prefix}X", columns)
    targets = checked_targets(y, f"{prefix}y", len(rows))
    with no_grad():
        output = net(rows[0])
        loss.check_outputs(len(output) if isinstance(output, (list, tuple)) else 1)
        tried = set()
        for i, target in enumerate(targets):
            key = tuple(target) if isinstance(target, list) else target
            if key in tried:
                continue
            tried.add(key)
            try:
                loss(output, target)
            except ChainruleError as error:
                raise type(error)(f"{prefix}y[{i}] = {target}: {error}") from None
    return rows, targets


# --- saying why it ended ------------------------------------------------------------------------


def _complete_epochs(history: History) -> int:
    """Cut off what an interruption left of an epoch that was being recorded."""
    n = len(history.seconds)  # recorded last
    for kept in history.series().values():
        del kept[n:]
    return n


def _users_level() -> int:
    """The ``stacklevel`` at which a warning of `fit` points to the user's line.

    `fit` may have been called by itself or through a network.
    """
    frame, level = sys._getframe(1), 1
    while str(frame.f_globals.get("__name__")).partition(".")[0] == "chainrule" and frame.f_back:
        frame, level = frame.f_back, level + 1
    return level


def _advice(trouble: Diverged, epoch: int, lr: float, plan: Plan) -> str:
    hints = [f"a learning rate below {lr:g}"]
    if plan.clip_norm is None and plan.clip_value is None:
        hints.append("clip_norm=1.0")
    hints.append("inputs scaled to a size of about 1")
    hints.append("log, sqrt and / in a loss of your own")
    return (
        f"{trouble.what} in epoch {epoch}, batch {trouble.batch} (both counted from 0). "
        "The parameters were kept at the last values that gave a finite loss. "
        f"Look at: {', '.join(hints)}."
    )
