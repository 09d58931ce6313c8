"""Is the learning rate too high, or too low?  By a history, and by trying a few others."""

from __future__ import annotations

import copy
import math
import warnings
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Final

from chainrule.diagnosis.report import Finding
from chainrule.nn.history import History
from chainrule.nn.inspection import Inspection
from chainrule.nn.layers import Network
from chainrule.nn.optimizers import OPTIMIZERS, Optimizer
from chainrule.nn.training import DEFAULT_LR
from chainrule.options import choice, real, several
from chainrule.value import Value

__all__ = ["Trial", "optimizer_of", "rate_by_history", "rate_by_trial"]

EPOCHS: Final = 20
"""How long another learning rate is tried."""

STILL: Final = 0.01
"""A loss that falls by less than this share, in a trial or a history, does not fall."""

RISE: Final = 0.1
"""A rise by less than this share may be the optimizer's, which starts without memory."""

BETTER: Final = 0.2
"""The share by which it must fall with a larger rate before the present one is too low."""

POWERS: Final = 7
"""By how many powers of ten a rate is changed to find one that does better."""

NEAR: Final = 0.1
"""Below this share of a constant answer's loss, it is not asked whether the loss falls."""


def optimizer_of(given: Any, lr: float | None, parameters: list[Value]) -> Optimizer:
    """A fresh optimiser for these parameters, as `fit` would make it."""
    if isinstance(given, Optimizer):
        made = given.bound_to(parameters)
        if lr is not None:
            made.lr = real("lr", lr, least=0.0, example="0.1")
        return made
    name = choice("optimizer", given, OPTIMIZERS, "an object such as SGD(lr=0.1, momentum=0.9)")
    return OPTIMIZERS[name](parameters, lr=DEFAULT_LR[name] if lr is None else lr)


# --- by a history -------------------------------------------------------------------------------


def rate_by_history(history: History, seen: Inspection) -> Finding | None:
    """What the losses of a training say against its learning rate."""
    lr = history.lr[-1] if history.lr else math.nan
    losses = history.loss
    if "became" in history.stopped or "would have become" in history.stopped:
        return _too_high(
            lr, f"the training ended because {history.stopped.partition('.')[0]}.", None
        )
    if len(losses) < 5:
        return None
    constant = seen.constant_loss * (history.rows if history.reduction == "sum" else 1)
    if losses[-1] <= NEAR * constant:
        return None
    half = losses[len(losses) // 2 :]
    steps = [b - a for a, b in pairwise(half)]
    jumps = sum(map(abs, steps)) / len(steps) / (sum(half) / len(half))
    rises = sum([step > 0.0 for step in steps]) / len(steps)
    run = several(len(losses), "epoch")
    if min(half) > 1.05 * losses[0]:
        shown = f"over {run} the loss rose from {losses[0]:.4g} to {losses[-1]:.4g}."
        return _too_high(lr, shown, None)
    if rises > 0.3 and jumps > 0.3:
        shown = (
            f"in the second half of {run} the loss rose in {100 * rises:.0f} % of them, and "
            f"jumped by {100 * jumps:.0f} % of its size on average."
        )
        return _too_high(lr, shown, None)
    return None


def fell_in(history: History) -> float:
    """By which share the loss fell in a history."""
    return 1.0 - history.loss[-1] / history.loss[0] if history.loss and history.loss[0] else 0.0


# --- by trying ----------------------------------------------------------------------------------


@dataclass(frozen=True)
class Trial:
    """What other learning rates are tried on.

    Attributes:
        net: the network; it is not changed.
        seen: it at work, with the rows to train on.
        optimizer: the rule.
        lr: the present rate.
        batch_size: rows per update; None for all.
    """

    net: Network
    seen: Inspection
    optimizer: Any
    lr: float
    batch_size: int | None

    def fall(self, lr: float) -> float:
        """By which share the loss falls: below 0 where it rises, -inf where it diverges."""
        net = copy.deepcopy(self.net)
        optimizer = optimizer_of(self.optimizer, lr, net.parameters())
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", RuntimeWarning)  # it is in the history, too
            history = net.fit(
                self.seen.rows,
                self.seen.targets,
                loss=self.seen.loss,
                optimizer=optimizer,
                epochs=EPOCHS + 1,  # a loss is taken before its update
                batch_size=self.batch_size,
                progress=False,
            )
        if history.stopped:
            return -math.inf
        end = history.loss[-5:]
        return 1.0 - sum(end) / len(end) / self.seen.mean_loss if self.seen.mean_loss else 0.0


def rate_by_trial(trial: Trial, history: History | None) -> Finding | None:
    """Train copies for a few epochs with this rate, and with tenths or tens of it."""
    if history is not None and fell_in(history) > 2.0 * STILL:
        return None
    lr = trial.lr
    fall = trial.fall(lr)
    if fall < -RISE:
        for k in range(1, POWERS + 1):
            smaller = lr / 10.0**k
            better = trial.fall(smaller)
            if better > 0.0:
                shown = f"in {EPOCHS} epochs with learning rate {lr:g}, {_said(fall)}"
                return _too_high(lr, f"{shown}; with {smaller:g}, {_said(better)}.", smaller)
        return None
    if trial.seen.mean_loss <= NEAR * trial.seen.constant_loss:
        return None
    if fall < STILL:
        for k in range(1, POWERS + 1):
            larger = lr * 10.0**k if lr else 10.0 ** (k - 3)
            better = trial.fall(larger)
            if better > BETTER:
                return _too_low(lr, fall, larger, better)
    return None


def _said(fall: float) -> str:
    if fall == -math.inf:
        return "the loss becomes infinite or nan"
    if fall < 0.0:
        return f"the loss rises by {-100.0 * fall:.3g} %"
    return f"the loss falls by {100.0 * fall:.2g} %"


def _too_high(lr: float, evidence: str, better: float | None) -> Finding:
    rate = "a tenth of it, and less" if better is None else f"lr={better:g}"
    return Finding(
        "learning rate too high",
        (),
        evidence,
        f"a step of {lr:g} times the gradient goes past the valley and up the other side: the "
        "slope at the start says nothing about the loss so far away.",
        (
            f"Train again from the start with {rate}.",
            "Limit the steps: clip_norm=1.0.",
            "Let the rate fall while training: schedule='cosine'.",
        ),
    )


def _too_low(lr: float, fall: float, larger: float, better: float) -> Finding:
    return Finding(
        "learning rate too low",
        (),
        f"in {EPOCHS} epochs with learning rate {lr:g}, {_said(fall)}; with {larger:g}, "
        f"{_said(better)}.",
        "each update moves the weights by so little that it would take many times as many "
        "epochs to arrive.",
        (
            f"Train with lr={larger:g}.",
            "Use optimizer='adam', whose steps do not depend on the gradient's size.",
            "More updates per epoch: batch_size=16, say.",
        ),
    )
