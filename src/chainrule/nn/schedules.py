"""Learning-rate schedules: how the learning rate changes from epoch to epoch.

A schedule is a pure function ``schedule(epoch, lr) -> lr``: from the number of the
epoch, counted from 0, and the base learning rate to the rate of that epoch.  Give
one to ``fit`` by name, as an object, or as a function of your own::

    net.fit(X, y, lr=0.5, schedule="cosine")
    net.fit(X, y, lr=0.5, schedule=StepSchedule(step_size=30))
    net.fit(X, y, lr=0.5, schedule=lambda epoch, lr: lr / (1 + epoch))

Definitions and defaults are those of ``torch.optim.lr_scheduler`` (PyTorch 2), in
closed form.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Final, Self, TypeAlias

from chainrule.errors import OptionError, describe
from chainrule.options import function, real, whole

__all__ = [
    "SCHEDULES",
    "ConstantSchedule",
    "CosineSchedule",
    "LinearWarmup",
    "Rate",
    "Schedule",
    "StepSchedule",
    "schedule_of",
]

Rate: TypeAlias = Callable[[int, float], float]
"""Any function from the epoch and the base learning rate to that epoch's rate."""


class Schedule:
    """A function from the epoch and the base learning rate to that epoch's rate."""

    def __call__(self, epoch: int, lr: float) -> float:
        """The learning rate of an epoch.

        Args:
            epoch: its number, from 0.
            lr: the base learning rate.

        Returns:
            The learning rate.
        """
        raise NotImplementedError

    def over(self, epochs: int) -> Self:
        """This schedule with what was left open fitted to a training of ``epochs`` epochs."""
        return self


@dataclass(frozen=True)
class ConstantSchedule(Schedule):
    """The base learning rate at every epoch.

    Example:
        >>> ConstantSchedule()(7, 0.5)
        0.5
    """

    def __call__(self, epoch: int, lr: float) -> float:
        return lr


@dataclass(frozen=True)
class StepSchedule(Schedule):
    """Every ``step_size`` epochs the learning rate is multiplied by ``gamma``.

    ``lr * gamma ** (epoch // step_size)``.

    Args:
        step_size: epochs between two changes; left out, a third of the training.
        gamma: the factor, above 0.

    Raises:
        OptionError: a setting is out of range.

    Example:
        >>> schedule = StepSchedule(step_size=2, gamma=0.5)
        >>> [schedule(epoch, 8.0) for epoch in range(5)]
        [8.0, 8.0, 4.0, 4.0, 2.0]

    Source:
        ``torch.optim.lr_scheduler.StepLR``.
    """

    step_size: int | None = None
    gamma: float = 0.1

    def __post_init__(self) -> None:
        if self.step_size is not None:
            whole("step_size", self.step_size, least=1, example=30)
        real("gamma", self.gamma, above=0.0, example="0.1")

    def __call__(self, epoch: int, lr: float) -> float:
        if self.step_size is None:
            raise _left_open("StepSchedule", "step_size")
        return lr * float(self.gamma) ** (epoch // self.step_size)

    def over(self, epochs: int) -> Self:
        if self.step_size is not None:
            return self
        return replace(self, step_size=max(1, math.ceil(epochs / 3)))


@dataclass(frozen=True)
class CosineSchedule(Schedule):
    """From the base learning rate down to ``eta_min`` along half a cosine wave.

    ``eta_min + (lr - eta_min) * (1 + cos(pi * epoch / T_max)) / 2``; past ``T_max``
    epochs the wave goes on, and the rate rises again.

    Args:
        T_max: epochs until the lowest rate; left out, the whole training.
        eta_min: the lowest rate, from 0.

    Raises:
        OptionError: a setting is out of range.

    Example:
        >>> schedule = CosineSchedule(T_max=4)
        >>> [round(schedule(epoch, 1.0), 3) for epoch in range(5)]
        [1.0, 0.854, 0.5, 0.146, 0.0]

    Source:
        ``torch.optim.lr_scheduler.CosineAnnealingLR``; I. Loshchilov and F. Hutter,
        "SGDR: stochastic gradient descent with warm restarts", 2017.
    """

    T_max: int | None = None
    eta_min: float = 0.0

    def __post_init__(self) -> None:
        if self.T_max is not None:
            whole("T_max", self.T_max, least=1, example=100)
        real("eta_min", self.eta_min, least=0.0, example="0.001")

    def __call__(self, epoch: int, lr: float) -> float:
        if self.T_max is None:
            raise _left_open("CosineSchedule", "T_max")
        share = (1.0 + math.cos(math.pi * epoch / self.T_max)) / 2.0
        return self.eta_min + (lr - self.eta_min) * share

    def over(self, epochs: int) -> Self:
        return self if self.T_max is not None else replace(self, T_max=max(1, epochs))


@dataclass(frozen=True)
class LinearWarmup(Schedule):
    """The learning rate rises in a straight line, then follows another schedule.

    For the first ``total_iters`` epochs it is ``lr`` times a factor that goes from
    ``start_factor`` to 1.  Then ``then`` takes over and counts its epochs from 0.

    Args:
        total_iters: epochs until the full rate.
        start_factor: the factor at epoch 0, above 0 and at most 1.
        then: what follows, a schedule or function; None keeps the full rate.

    Raises:
        OptionError: a setting is out of range.

    Example:
        >>> schedule = LinearWarmup(total_iters=4, start_factor=0.5)
        >>> [schedule(epoch, 8.0) for epoch in range(6)]
        [4.0, 5.0, 6.0, 7.0, 8.0, 8.0]

    Source:
        ``torch.optim.lr_scheduler.LinearLR``, and ``SequentialLR`` for what follows;
        P. Goyal et al., "Accurate, large minibatch SGD", 2017.
    """

    total_iters: int = 5
    start_factor: float = 1.0 / 3.0
    then: Rate | None = None

    def __post_init__(self) -> None:
        whole("total_iters", self.total_iters, least=1, example=5)
        factor = real("start_factor", self.start_factor, above=0.0, example="0.1")
        if factor > 1.0:
            raise OptionError(
                f"start_factor must be above 0 and at most 1; got {describe(self.start_factor)}. "
                "Give a number such as start_factor=0.1."
            )
        if self.then is not None and not callable(self.then):
            raise OptionError(
                "then must be a schedule such as CosineSchedule(), a function (epoch, lr) -> lr, "
                f"or None; got {describe(self.then)}."
            )

    def __call__(self, epoch: int, lr: float) -> float:
        if epoch < self.total_iters:
            rise = (1.0 - self.start_factor) * epoch / self.total_iters
            return lr * (self.start_factor + rise)
        return lr if self.then is None else self.then(epoch - self.total_iters, lr)

    def over(self, epochs: int) -> Self:
        if not isinstance(self.then, Schedule):
            return self
        return replace(self, then=self.then.over(max(1, epochs - self.total_iters)))


def _left_open(who: str, setting: str) -> OptionError:
    return OptionError(
        f"{who}() was made without {setting}, which only fit knows how to fill in from its "
        f"epochs. Write, for example, {who}({setting}=100)."
    )


SCHEDULES: Final[dict[str, Callable[[], Schedule]]] = {
    "constant": ConstantSchedule,
    "step": StepSchedule,
    "cosine": CosineSchedule,
    "linear_warmup": LinearWarmup,
}
"""The schedules that ``fit`` knows by name."""


def schedule_of(given: Any, epochs: int) -> Rate:
    """The schedule that a user named, gave as an object, or left out.

    Args:
        given: a name in `SCHEDULES`, a schedule, a function ``(epoch, lr) -> lr``,
            or None for a constant rate.
        epochs: how long the training is.

    Returns:
        A function from the epoch and the base learning rate to the epoch's rate.

    Raises:
        OptionError: it is none of these.
    """
    if given is None:
        return ConstantSchedule()
    if isinstance(given, str) and given in SCHEDULES:
        given = SCHEDULES[given]()
    if isinstance(given, Schedule):
        return given.over(epochs)
    if callable(given) and not isinstance(given, type):
        function("schedule must be a function (epoch, lr) -> lr", given, 2)
        found: Rate = given
        return found
    names = ", ".join(repr(name) for name in SCHEDULES)
    raise OptionError(
        f"schedule must be one of {names}, a schedule such as StepSchedule(step_size=30), a "
        f"function (epoch, lr) -> lr, or None; got {describe(given)}."
    )
