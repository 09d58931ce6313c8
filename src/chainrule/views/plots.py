"""Plots of a training and of a network at work, with matplotlib.

Each function draws on the axes it is given, or on new ones, and returns them: nothing is
shown or saved, so that they can be combined, changed and tested.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

import numpy as np

from chainrule.errors import ChainruleError, DataError, OptionError, ShapeError, describe
from chainrule.nn import forward
from chainrule.nn.history import History
from chainrule.nn.inspection import inspect_network
from chainrule.nn.layers import Network
from chainrule.nn.losses import Loss, loss_of
from chainrule.nn.rows import checked_rows, checked_targets
from chainrule.options import several
from chainrule.views.axes import (
    BLACK,
    BLUE,
    COLOURS,
    GREEN,
    GREY,
    MARKERS,
    ORANGE,
    PURPLE,
    SKY,
    VERMILION,
    axes,
    layer_ticks,
    tidy,
)

__all__ = [
    "plot_activations",
    "plot_decay",
    "plot_decision_boundary",
    "plot_gradient_flow",
    "plot_history",
]

GRID: Final = 120
"""Points of a decision boundary along each side."""


def plot_history(history: History, *, ax: Any = None) -> Any:
    """Plot the losses of a training, and its accuracy if it was measured.

    Losses that span more than two powers of ten get a logarithmic axis.  Accuracies go
    by the axis at the right.

    Args:
        history: what ``fit`` returned.
        ax: matplotlib axes to draw on; None makes new ones.

    Returns:
        The axes.

    Raises:
        DataError: the history has no epochs.
        MissingExtraError: matplotlib is not installed.
        OptionError: it is no `History`.

    Example:
        >>> from chainrule.nn import History
        >>> ax = plot_history(History(loss=[0.5, 0.25, 0.125]))
        >>> ax.get_xlabel(), len(ax.lines)
        ('epoch', 1)
    """
    if not isinstance(history, History):
        raise OptionError(
            f"plot_history() takes what fit returned, a History; got {describe(history)}."
        )
    if not len(history):
        raise DataError("this history has no epochs to plot; train with epochs=1 or more.")
    ax = axes(ax)
    losses = {"loss": history.loss, "validation loss": history.validation_loss}
    _lines(ax, {name: kept for name, kept in losses.items() if kept}, (BLUE, VERMILION))
    sizes = [x for kept in losses.values() for x in kept if math.isfinite(x)]
    if sizes and min(sizes) > 0.0 and max(sizes) > 100.0 * min(sizes):
        ax.set_yscale("log")
    ax.set(xlabel="epoch", ylabel="loss" + " (sum)" * (history.reduction == "sum"))
    tidy(ax)
    shares = {"accuracy": history.accuracy, "validation accuracy": history.validation_accuracy}
    shares = {name: kept for name, kept in shares.items() if kept}
    handles, names = ax.get_legend_handles_labels()
    if shares:
        right = ax.twinx()
        _lines(right, shares, (GREEN, PURPLE), "--")
        right.set_ylim(0.0, 1.03)
        right.set_ylabel("accuracy")
        tidy(ax, twin=right)
        more = right.get_legend_handles_labels()
        handles, names = handles + more[0], names + more[1]
    if len(names) > 1:
        ax.legend(handles, names, frameon=True, framealpha=0.85, loc="center right")
    return ax


def _lines(
    ax: Any, series: Mapping[str, Sequence[float]], colours: Sequence[str], style: str = "-"
) -> None:
    for (name, kept), colour in zip(series.items(), colours, strict=False):
        marker = "o" if len(kept) == 1 else None
        ax.plot(range(len(kept)), kept, style, color=colour, label=name, marker=marker)


def plot_decision_boundary(
    net: Any,
    X: Any,
    y: Any,
    *,
    loss: str | Loss | Callable[[Any, Any], Any] = "mse",
    ax: Any = None,
    names: Sequence[str] = ("x1", "x2"),
    classes: Sequence[str] | None = None,
) -> Any:
    """Plot which class a network of two inputs predicts where, with the data on top.

    Rows that it gets wrong are marked with a black cross.

    Args:
        net: a `Network` with two inputs.
        X: rows of two numbers.
        y: the class of each row, as in training.
        loss: what it was trained with, which says how outputs stand for classes.
        ax: matplotlib axes to draw on; None makes new ones.
        names: of the two inputs.
        classes: the classes' labels; None numbers them.

    Returns:
        The axes.

    Raises:
        DataError: the targets are no classes.
        MissingExtraError: matplotlib is not installed.
        OptionError: outputs are no classes with this loss.
        ShapeError: rows do not have two numbers.

    Example:
        >>> from chainrule.data import xor
        >>> ax = plot_decision_boundary(Network([2, 4, 1], seed=1), *xor())
        >>> ax.get_xlabel(), ax.get_ylabel()
        ('x1', 'x2')
    """
    measure = loss_of(loss)
    rows = checked_rows(X)
    if len(rows[0]) != 2:
        raise ShapeError(
            f"a decision boundary is drawn on a plane, for rows of two numbers; these have "
            f"{len(rows[0])}. Choose two columns, and train a network on them."
        )
    targets = checked_targets(y, rows=len(rows))
    found = [measure.decide(output) for output in net.predict(rows)]
    outputs = getattr(net, "sizes", [1])[-1]
    right = measure.classes(targets, outputs)
    if right is None:
        raise DataError(
            f"with the loss {measure.name} these targets are no classes, such as "
            f"{describe(targets[0])}. Classes are numbered from 0, and need "
            "loss='cross_entropy' and one output per class if there are more than two."
        )
    ax = axes(ax)
    count = max([outputs, 2, *[c + 1 for c in right]])
    labels = (
        [str(each) for each in classes] if classes is not None else list(map(str, range(count)))
    )
    spans = [_span([row[j] for row in rows]) for j in (0, 1)]
    across, up = (np.linspace(*span, GRID) for span in spans)
    plane = _outputs(net, [[a, b] for b in up for a in across])
    regions = np.array([measure.decide(output) for output in plane]).reshape(GRID, GRID)
    colours = [COLOURS[k % len(COLOURS)] for k in range(count)]
    edges = [k - 0.5 for k in range(count + 1)]
    ax.contourf(across, up, regions, levels=edges, colors=colours, alpha=0.22)
    for k in np.unique(regions)[1:]:
        ax.contour(across, up, regions == k, levels=[0.5], colors=GREY, linewidths=1.0)
    for k in range(count):
        points = [row for row, c in zip(rows, right, strict=True) if c == k]
        if points:
            ax.scatter(
                *zip(*points, strict=True),
                s=30,
                color=colours[k],
                marker=MARKERS[k % len(MARKERS)],
                edgecolors="white",
                linewidths=0.7,
                label=labels[k] if k < len(labels) else str(k),
            )
    wrong = [row for row, a, b in zip(rows, found, right, strict=True) if a != b]
    if wrong:
        ax.scatter(*zip(*wrong, strict=True), s=40, color=BLACK, marker="x", label="wrong")
    ax.set(xlabel=names[0], ylabel=names[1], xlim=spans[0], ylim=spans[1])
    ax.legend(frameon=True, framealpha=0.85, loc="best")
    tidy(ax, grid=False)
    return ax


def _outputs(net: Any, points: list[list[float]]) -> list[Any]:
    """What ``net.predict(points)`` gives, at the speed of a compiled program where possible."""
    try:
        return forward.outputs(net, points)
    except ChainruleError:  # an activation of one's own that decides with Python's if, say
        return list(net.predict(points))


def _span(xs: Sequence[float]) -> tuple[float, float]:
    low, high = min(xs), max(xs)
    margin = 0.12 * (high - low) or 1.0
    return low - margin, high + margin


def plot_gradient_flow(
    net: Network,
    X: Any,
    y: Any,
    *,
    loss: str | Loss | Callable[[Any, Any], Any] = "mse",
    ax: Any = None,
) -> Any:
    """Plot how large the gradients of each layer are, on a logarithmic axis.

    For each layer: the mean and the largest size of the derivatives of the mean loss by
    the layer's weights and biases; grey bars, by the axis at the right, show which share
    of them is exactly 0.

    Args:
        net: a `Network`.
        X: rows of numbers; of many some are taken, evenly spaced.
        y: a target per row.
        loss: as in training.
        ax: matplotlib axes to draw on; None makes new ones.

    Returns:
        The axes.

    Raises:
        MissingExtraError: matplotlib is not installed.
        ChainruleError: rows, targets, network and loss do not fit each other.

    Example:
        >>> from chainrule.data import xor
        >>> ax = plot_gradient_flow(Network([2, 8, 8, 1], seed=1), *xor())
        >>> ax.get_yscale(), [line.get_label() for line in ax.lines]
        ('log', ['largest', 'mean'])
    """
    seen = inspect_network(net, X, y, loss)
    if seen.refusal is not None:
        raise seen.refusal
    sizes = [np.abs(layer.gradients) for layer in seen.layers]
    places = list(range(len(sizes)))
    ax = axes(ax)
    right = ax.twinx()
    right.bar(
        places,
        [100.0 * float((s == 0.0).mean()) for s in sizes],
        width=0.5,
        color="#c8c8c8",
        label="exactly 0 (right axis)",
    )
    right.set(ylim=(0.0, 100.0), ylabel="share that is exactly 0 (%)")
    ax.set_zorder(right.get_zorder() + 1)
    ax.patch.set_visible(False)
    largest = [_positive(float(s.max())) for s in sizes]
    ax.plot(places, largest, "^--", color=ORANGE, label="largest")
    ax.plot(places, [_positive(float(s.mean())) for s in sizes], "o-", color=BLUE, label="mean")
    ax.set_yscale("log")
    ax.set(xlabel="layer (data flows to the right)", ylabel="size of gradient by a parameter")
    layer_ticks(ax, [layer.activation for layer in seen.layers])
    handles, names = ax.get_legend_handles_labels()
    bars, names_of_bars = right.get_legend_handles_labels()
    ax.legend(handles + bars, names + names_of_bars, frameon=True, framealpha=0.85, loc="best")
    tidy(ax, twin=right)
    return ax


def _positive(x: float) -> float:
    """What a logarithmic axis can show; the grey bars tell what is 0."""
    return x if x > 0.0 else math.nan


def plot_activations(net: Network, X: Any, *, ax: Any = None) -> Any:
    """Plot how the outputs of each layer are spread.

    For each layer a box from the first to the third quartile with the median, whiskers to
    the 1st and 99th percentile, and above it how much is saturated or dead.

    Args:
        net: a `Network`.
        X: rows of numbers; of many some are taken, evenly spaced.
        ax: matplotlib axes to draw on; None makes new ones.

    Returns:
        The axes.

    Raises:
        MissingExtraError: matplotlib is not installed.
        ChainruleError: the rows do not fit the network.

    Example:
        >>> from chainrule.data import xor
        >>> ax = plot_activations(Network([2, 8, 8, 1], seed=1), xor()[0])
        >>> ax.get_ylabel()
        'output'
    """
    seen = inspect_network(net, X)
    outputs = [layer.outputs.ravel() for layer in seen.layers]
    finite = [x[np.isfinite(x)] for x in outputs]
    ax = axes(ax)
    drawn = ax.boxplot(
        finite,
        positions=range(len(finite)),
        whis=(1, 99),
        widths=0.5,
        patch_artist=True,
        showfliers=False,
        medianprops={"color": BLACK, "linewidth": 1.8},
    )
    for box in drawn["boxes"]:
        box.set(facecolor=SKY, alpha=0.8, edgecolor=BLUE)
    layer_ticks(ax, [layer.activation for layer in seen.layers])
    for i, layer in enumerate(seen.layers):
        notes = []
        if layer.flat.any():
            notes.append(f"{100.0 * float(layer.flat.mean()):.0f} % saturated")
        if layer.dead:
            notes.append(f"{len(layer.dead)} of {len(layer.shapes)} dead")
        if len(finite[i]) < len(outputs[i]):
            notes.append(several(len(outputs[i]) - len(finite[i]), "output") + " not finite")
        ax.annotate(
            "\n".join(notes),
            (i, 1.0),
            xycoords=ax.get_xaxis_transform(),
            ha="center",
            va="bottom",
            color=VERMILION,
            fontsize="small",
        )
    ax.set(xlabel="layer (data flows to the right)", ylabel="output")
    tidy(ax)
    return ax


def plot_decay(
    curves: Mapping[str, Sequence[float]], bound: Sequence[float], *, ax: Any = None
) -> Any:
    """Plot what is left of a gradient after each layer, as `gradient_decay` measures it.

    Args:
        curves: numbers from the output layer back to the first, by name.
        bound: the bound 0.25^n beside them.
        ax: matplotlib axes to draw on; None makes new ones.

    Returns:
        The axes.

    Raises:
        MissingExtraError: matplotlib is not installed.

    Example:
        >>> ax = plot_decay({"sigmoid": [1.0, 0.1]}, [1.0, 0.25])
        >>> ax.get_yscale()
        'log'
    """
    ax = axes(ax)
    for i, (name, kept) in enumerate(curves.items()):
        colour, marker = COLOURS[i % len(COLOURS)], MARKERS[i % len(MARKERS)]
        style = ("-", ":", "-.")[i // len(COLOURS) % 3]
        ax.plot([_positive(x) for x in kept], style, color=colour, marker=marker, label=name)
    ax.plot(bound, "--", color=GREY, label="$0.25^n$, the bound on sigmoid's slopes")
    ax.set_yscale("log")
    ax.set(xlabel="layers passed on the way back", ylabel="gradient, as a share of the output's")
    ax.legend(frameon=False, loc="best")
    tidy(ax)
    return ax
