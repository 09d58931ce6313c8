"""`diagnose`: look into a network, and say why it does not learn."""

from __future__ import annotations

import copy
import math
from collections.abc import Callable
from typing import Any

import numpy as np

from chainrule.diagnosis import checks, start
from chainrule.diagnosis.learning_rate import Trial, optimizer_of, rate_by_history, rate_by_trial
from chainrule.diagnosis.paths import signal
from chainrule.diagnosis.report import NAMES, Diagnosis, Finding, LayerReport
from chainrule.errors import OptionError, describe
from chainrule.nn.history import History
from chainrule.nn.inspection import Inspection, LayerInspection, inspect_network
from chainrule.nn.layers import Network
from chainrule.nn.losses import Loss
from chainrule.nn.optimizers import OPTIMIZERS, Optimizer

__all__ = ["diagnose"]


def diagnose(
    net: Network,
    X: Any,
    y: Any,
    *,
    loss: str | Loss | Callable[[Any, Any], Any] = "mse",
    optimizer: str | Optimizer | None = None,
    lr: float | None = None,
    batch_size: int | None = None,
    history: History | None = None,
) -> Diagnosis:
    """Find out why a network does not learn.

    Copies of the network are run on the data, forward and backward, and for the learning
    rate trained for 20 epochs; the network itself, its gradients included, is not touched.
    Of many rows some are taken, evenly spaced.

    The learning rate is judged only if you say it: by ``lr``, an optimizer, or a history.

    Args:
        net: a `Network`, fresh or trained.
        X: the inputs: rows of finite numbers.
        y: a target per row.
        loss: what it is, or will be, trained with, as `fit` takes it.
        optimizer: the same; None for that of the history, or else ``"sgd"``.
        lr: the learning rate; None for that of the history or the optimizer.
        batch_size: rows per update in the trials; None takes all.
        history: what ``fit`` returned, if it was trained.

    Returns:
        The `Diagnosis`: ``print`` it, or look at ``names`` and ``findings``.

    Raises:
        OptionError: ``net`` is no `Network`, or a setting is unknown.
        DataError: a number is not finite, or a target does not suit the loss.
        ShapeError: rows, targets, network and loss do not fit each other.

    Example:
        >>> from chainrule.data import xor
        >>> deep = Network([2, *[8] * 9, 1], activation="sigmoid", seed=1)
        >>> found = diagnose(deep, *xor())
        >>> found.names
        ['vanishing']
        >>> print(found.findings[0].remedies[0])
        Use relu, whose slope is 1 where it is on, with init='he_normal'.
    """
    if history is not None and not isinstance(history, History):
        raise OptionError(f"history must be what fit returned, a History; got {describe(history)}.")
    seen = inspect_network(net, X, y, loss)
    if optimizer is None:
        optimizer = _by_history(history) or "sgd"
        judged = lr is not None or history is not None
    else:
        judged = lr is not None or history is not None or isinstance(optimizer, Optimizer)
    if lr is None and history is not None and history.lr and not isinstance(optimizer, Optimizer):
        lr = history.lr[-1]
    copied = copy.deepcopy(net)
    rule = optimizer_of(optimizer, lr, copied.parameters())
    with np.errstate(all="ignore"):
        findings = _findings(seen, net.meta.get("features"), history)
        if judged and not findings and not _without_gradient(seen):
            trial = Trial(net, seen, optimizer, rule.lr, batch_size)
            findings += [x for x in [rate_by_trial(trial, history)] if x is not None]
        moved = _moved(copied, rule, seen)
        layers = [_figures(layer, m) for layer, m in zip(seen.layers, moved, strict=True)]
    return Diagnosis(
        sorted(findings, key=lambda finding: NAMES.index(finding.name)),
        layers,
        seen.mean_loss,
        seen.constant_loss,
        len(seen.rows),
        seen.total,
        repr(rule),
        _learned=checks.has_learned(seen),
    )


def _by_history(history: History | None) -> str | None:
    """The name of the optimiser of a training."""
    name = "" if history is None else history.optimizer.partition("(")[0].lower()
    return name if name in OPTIMIZERS else None


def _without_gradient(seen: Inspection) -> bool:
    return seen.origin is not None or seen.refusal is not None


def _findings(seen: Inspection, names: Any, history: History | None) -> list[Finding]:
    found = [checks.non_finite(seen), start.mismatch(seen)]
    if history is not None:
        found.append(rate_by_history(history, seen))
    if not checks.has_learned(seen):
        inputs = start.unscaled(seen, names)
        alike = start.symmetric(seen)
        found += [inputs, alike]
        if not _without_gradient(seen):
            dead = checks.dead_units(seen)
            flat = checks.saturated(seen, but_first=inputs is not None)
            found += [dead, flat, checks.exploding(seen)]
            # Each of these makes gradients small, and is the better name for it.
            if not (inputs or alike or dead or flat):
                found.append(checks.vanishing(seen))
    return [finding for finding in found if finding is not None]


def _moved(net: Network, rule: Optimizer, seen: Inspection) -> list[float]:
    """How far one update moves each layer, as a share of its size; nan where it cannot."""
    if _without_gradient(seen):
        return [math.nan] * len(seen.layers)
    before = [[p.data for p in layer.parameters()] for layer in net.layers]
    for layer, looked in zip(net.layers, seen.layers, strict=True):
        for p, gradient in zip(layer.parameters(), looked.gradients.ravel(), strict=True):
            p.grad = float(gradient)
    rule.step()
    shares = []
    for layer, old in zip(net.layers, before, strict=True):
        start = np.array(old)
        step = np.array([p.data for p in layer.parameters()]) - start
        size = float(np.sqrt((start**2).sum()))
        length = float(np.sqrt((step**2).sum()))
        shares.append(length / size if size else math.nan)
    return shares


def _figures(layer: LayerInspection, moved: float) -> LayerReport:
    gradients = np.abs(layer.gradients) if np.isfinite(layer.by_sum).all() else np.array(math.nan)
    zeros = math.nan if np.isnan(gradients).any() else float((gradients == 0.0).mean())
    return LayerReport(
        layer.name,
        len(layer.shapes),
        layer.activation,
        float(layer.outputs.mean()),
        float(layer.outputs.std()),
        float(layer.flat.mean()),
        tuple(layer.dead),
        layer.twins,
        float(gradients.mean()),
        float(gradients.max()),
        zeros,
        signal(layer),
        moved,
    )
