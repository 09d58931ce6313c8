"""Callbacks: functions that `fit` calls after every epoch, and that may end the training."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from typing import Any, TypeAlias

from chainrule.errors import OptionError, describe
from chainrule.nn.history import History
from chainrule.options import function, real, whole

__all__ = ["Callback", "EarlyStopping", "checked_callbacks", "stop_reason"]

Callback: TypeAlias = Callable[[int, Any, History], Any]
"""A function ``(epoch, net, history)``; True, or a reason as text, ends the training."""


class EarlyStopping:
    """Ends the training when a measurement has stopped getting better.

    Args:
        patience: how many epochs without a better value are allowed, from 1.
        min_delta: a value is better only if it is so by more than this, from 0.
        monitor: ``"loss"``, ``"accuracy"``, ``"validation_loss"`` or
            ``"validation_accuracy"``; None for the validation loss if there is one,
            else the loss.  Of an accuracy, more is better.

    Attributes:
        best: the best value so far.
        best_epoch: its epoch.

    Raises:
        OptionError: a setting is out of range.

    Example:
        >>> stop = EarlyStopping(patience=2)
        >>> history = History()
        >>> for epoch, loss in enumerate([0.5, 0.4, 0.4, 0.45]):
        ...     history.loss.append(loss)
        ...     answer = stop(epoch, None, history)
        >>> answer
        'loss has not improved for 2 epochs; the best was 0.4 at epoch 1'

    Source:
        L. Prechelt, "Early stopping - but when?", 1998.
    """

    def __init__(
        self, patience: int = 10, min_delta: float = 0.0, monitor: str | None = None
    ) -> None:
        self.patience = whole("patience", patience, least=1, example=10)
        self.min_delta = real("min_delta", min_delta, least=0.0, example="0.001")
        if monitor is not None and not isinstance(monitor, str):
            raise OptionError(
                "monitor must be a name such as 'loss' or 'validation_accuracy', or None; "
                f"got {describe(monitor)}."
            )
        self.monitor = monitor
        self.best = math.nan
        self.best_epoch = -1

    def __call__(self, epoch: int, net: Any, history: History) -> str | None:
        """Look at the last epoch.

        Args:
            epoch: its number.
            net: the network; not looked at.
            history: what was recorded so far.

        Returns:
            The reason to stop, or None.

        Raises:
            OptionError: what is to be monitored is not measured.
        """
        name = self.monitor
        if name is None:
            name = "validation_loss" if history.validation_loss else "loss"
        value = history.measured(name)[-1]
        gain = value - self.best if name.endswith("accuracy") else self.best - value
        if len(history) == 1 or math.isnan(self.best) or gain > self.min_delta:
            self.best, self.best_epoch = value, epoch
        if epoch - self.best_epoch < self.patience:
            return None
        n = self.patience
        return (
            f"{name} has not improved for {n} epoch{'s' if n > 1 else ''}; "
            f"the best was {self.best:.6g} at epoch {self.best_epoch}"
        )


def checked_callbacks(given: Any) -> list[Callback]:
    """The callbacks as a list.

    Args:
        given: a sequence of functions, or a single one.

    Returns:
        A new list.

    Raises:
        OptionError: one of them cannot be called.
    """
    if callable(given) and not isinstance(given, type):
        given = [given]
    if isinstance(given, str) or not isinstance(given, Iterable):
        raise OptionError(
            f"callbacks must be a list of functions (epoch, net, history); got {describe(given)}."
        )
    found = list(given)
    for i, callback in enumerate(found):
        if isinstance(callback, type):
            raise OptionError(
                f"callbacks[{i}] is the class {callback.__name__} itself; make an object of it: "
                f"{callback.__name__}()."
            )
        function(f"callbacks[{i}] must be a function (epoch, net, history)", callback, 3)
    return found


def stop_reason(callback: Callback, answer: Any) -> str:
    """Why a callback's answer ends the training; "" if it does not.

    Only True and a text do: a function that happens to return something else,
    such as a loss, does not stop anything.

    Args:
        callback: who answered.
        answer: what it returned.

    Returns:
        The reason.
    """
    name = getattr(callback, "__name__", type(callback).__name__)
    if isinstance(answer, str):
        return "" if not answer else name if answer == "stop" else answer
    # NumPy's bool is no bool
    if type(answer).__name__ in {"bool", "bool_"} and answer:
        return f"callback {name} returned True"
    return ""
