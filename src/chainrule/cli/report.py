"""What ``train`` and ``predict`` print, as lines and tables for `output.show`."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final

from chainrule.cli.datasets import Data
from chainrule.cli.output import can_draw, columns, joined
from chainrule.cli.problem import Problem
from chainrule.cli.regions import MOST_CLASSES, decision_regions
from chainrule.nn import History, Network
from chainrule.nn.history import milestones
from chainrule.options import several

if TYPE_CHECKING:
    from rich.console import Console

__all__ = ["answers", "losses", "plan", "predictions", "regions", "result", "score"]

BAR: Final = 30
"""Characters for the largest loss."""

ROWS: Final = 10
"""Of the training data, how many predictions are shown."""

MOST_MEASURED: Final = 10_000
"""Of the training data, how many rows the result is measured on."""

MOST_DRAWN: Final = 1_000
"""Of the training data, how many points are drawn."""

FEATURES: Final = 4
"""How many columns of the inputs a table shows."""


def plan(data: Data, net: Network, settings: dict[str, Any], loaded: str | None) -> list[str]:
    """What will be done, before it is: also every setting that was chosen for the user."""
    layers = [f"{layer.n_outputs} {layer.neurons[0].activation}" for layer in net.layers]
    origin = f"loaded from {loaded}" if loaded else f"seed {settings['seed']}"
    size = settings["batch_size"]
    batch = "all rows" if size is None else several(size, "row")
    order = ", shuffled" if settings["shuffle"] else ""
    summed = ", summed over rows" if settings["reduction"] == "sum" else ""
    classes = data.problem.classes
    answer = f"{len(classes)} classes: {joined(classes)}" if classes else "a number"
    parameters = several(len(net.parameters()), "parameter")
    same = [
        name
        for name, column in zip(data.problem.features, zip(*data.X, strict=True), strict=True)
        if data.from_file and len(set(column)) == 1
    ]
    note = []
    if same and len(data.X) > 1:
        verb, them = ("is", "it") if len(same) == 1 else ("are", "them")
        note = [
            f"note:     {joined(same)} {verb} the same in every row, so nothing is learned "
            f"from {them}"
        ]
    return [
        f"data:     {data.name}, {several(len(data.X), 'row')}",
        f"inputs:   {joined(data.problem.features)}",
        f"target:   {data.problem.target}, {answer}",
        f"network:  {' -> '.join([str(net.sizes[0]), *layers])}; {parameters}, {origin}",
        f"training: {several(settings['epochs'], 'epoch')} of {settings['optimizer']}, "
        f"learning rate {settings['lr']:g}, {batch} per update{order}",
        f"loss:     {settings['loss']}{summed}",
        *note,
    ]


def losses(out: Console, history: History) -> Any:
    """The loss over the epochs as a table with bars."""
    finite = [loss for loss in history.loss if math.isfinite(loss)]
    full = max(finite, default=0.0) or 1.0
    block = "█" if can_draw(out) else "#"
    digits = ".6f" if full < 1e4 and min(finite, default=0.0) > 1e-5 else ".4g"
    rows = []
    for epoch in milestones(len(history)):
        loss = history.loss[epoch]
        cells = [str(epoch), f"{loss:{digits}}"]
        if history.accuracy:
            cells.append(percent(history.accuracy[epoch]))
        rows.append([*cells, block * round(BAR * loss / full)])
    heads = ["epoch", "loss", *["accuracy" for _ in history.accuracy[:1]], ""]
    return columns(heads, rows, left=[""])


def result(data: Data, net: Network, history: History, timed: bool) -> list[str]:
    """How good the network is now.

    Args:
        data: what it was trained on.
        net: the network.
        history: of its training.
        timed: whether to tell the time, which is never the same twice.
    """
    every = _spread(len(data.X), MOST_MEASURED)
    outputs = net.predict([data.X[i] for i in every])
    indices = [data.y[i] for i in every]
    y = data.problem.coded(indices)
    measured = [data.problem.measure(output, t) for output, t in zip(outputs, y, strict=True)]
    loss = sum(measured) / len(measured)
    took = f" in {history.total_seconds:.2f} s ({history.engine})" if timed else ""
    if data.problem.classes:
        labels = [data.problem.classes[int(i)] for i in indices]
    else:
        labels = [repr(t) for t in indices]
    lines = [
        f"After {several(len(history), 'epoch')}{took}: loss {loss:.4g}, "
        f"{score(data.problem, outputs, labels)}"
    ]
    if len(every) < len(data.X):
        lines.append(f"(Measured on {len(every):,} of them, evenly spread.)")
    if len(history) and history.reduction == "mean" and loss > history.loss[0]:
        lines.append(f"The loss did not fall: try a learning rate below {history.lr[0]:g} (--lr).")
    return lines


def _spread(n: int, most: int) -> range:
    """At most so many of n rows, evenly spread; all where they are few."""
    return range(0, n, max(1, -(-n // most)))


def score(problem: Problem, outputs: Sequence[Any], labels: Sequence[str]) -> str:
    """How many answers are right, or how far off they are as root mean squares.

    Args:
        problem: what the outputs stand for.
        outputs: the network's, one per row.
        labels: the right answers as text, as many.
    """
    n = len(labels)
    if problem.classes:
        pairs = zip(outputs, labels, strict=True)
        right = sum(
            [problem.index(output) == problem.label_index(label) for output, label in pairs]
        )
        return f"accuracy {percent(right / n)} ({right} of {n})"
    targets = [float(label) for label in labels]
    errors = [output - target for output, target in zip(outputs, targets, strict=True)]
    middle = math.fsum(targets) / n
    off = math.sqrt(math.fsum([error * error for error in errors]) / n)
    spread = math.sqrt(math.fsum([(target - middle) ** 2 for target in targets]) / n)
    return f"typical error {plain(off)} ({problem.target} varies by {plain(spread)})"


def predictions(data: Data, net: Network) -> list[Any]:
    """The first rows of the data with the network's answers."""
    X = data.X[:ROWS]
    problem = data.problem
    labels = [problem.classes[int(i)] if problem.classes else f"{i:.6g}" for i in data.y[:ROWS]]
    title = "Predictions:" if len(X) == len(data.X) else f"Predictions for the first {len(X)} rows:"
    return ["", title, answers(problem, X, net.predict(X), labels)]


def answers(
    problem: Problem, X: Sequence[Sequence[float]], outputs: Sequence[Any], labels: Sequence[str]
) -> Any:
    """A table of rows and what the network says of them.

    Args:
        problem: what the outputs stand for.
        X: the rows.
        outputs: the network's, as many.
        labels: the right answers, as many, "" where unknown; or none at all.
    """
    shown = problem.features[:FEATURES]
    more = ["..."] if len(problem.features) > FEATURES else []
    sure = problem.probability(outputs[0]) is not None
    heads = ["row", *shown, *more, *([problem.target] if labels else []), "predicted"]
    heads += ["probability"] if sure else []
    rows = []
    for i, (row, output) in enumerate(zip(X, outputs, strict=True)):
        cells = [str(i + 1), *[f"{x:.4g}" for x in row[:FEATURES]], *more]
        if labels:
            cells.append(labels[i])
        cells.append(problem.answer(output))
        if sure:
            cells.append(f"{problem.probability(output):.3f}")
        wrong = bool(labels and labels[i] and problem.classes) and (
            problem.index(output) != problem.label_index(labels[i])
        )
        rows.append([*cells, "wrong" if wrong else ""])
    if not any(row[-1] for row in rows):
        return columns(heads, [row[:-1] for row in rows])
    return columns([*heads, ""], rows, left=[""])


def regions(out: Console, data: Data, net: Network) -> list[Any]:
    """The decision regions, of a problem with two inputs and some classes."""
    problem = data.problem
    if len(problem.features) != 2 or not 2 <= len(problem.classes) <= MOST_CLASSES:
        return []

    def decide(rows: list[list[float]]) -> list[int]:
        return [problem.index(output) or 0 for output in net.predict(rows)]

    shown = _spread(len(data.X), MOST_DRAWN)
    drawn = decision_regions(
        decide,
        [data.X[i] for i in shown],
        [data.y[i] for i in shown],
        problem.features,
        problem.classes,
        can_draw(out),
    )
    return ["", "Decision regions:", *drawn]


def plain(x: float) -> str:
    """Four digits of a number, with an exponent only where it must be.

    Example:
        >>> plain(165612.3), plain(0.123456), plain(1.5e-9)
        ('165600', '0.1235', '1.5e-09')
    """
    return f"{float(f'{x:.4g}'):.12g}"


def percent(share: float) -> str:
    """A share as a percentage: 1.0 is 100 %, and nothing less is.

    Example:
        >>> percent(1.0), percent(0.9875), percent(0.99999)
        ('100 %', '98.7 %', '99.9 %')
    """
    return f"{math.floor(share * 1000 + 1e-9) / 10:g} %"
