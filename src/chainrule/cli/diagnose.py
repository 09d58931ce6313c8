"""``chainrule diagnose``: why a saved network does not learn."""

from __future__ import annotations

import math
from typing import Any

import click

from chainrule.cli.datasets import GENERATED, load_data
from chainrule.cli.output import advice_in_options, console, show
from chainrule.cli.pictures import check_picture, new_figure, save_picture
from chainrule.cli.problem import Problem, as_number
from chainrule.data import read_rows
from chainrule.errors import DataError, OptionError, describe
from chainrule.nn import LOSSES, OPTIMIZERS, Network

__all__ = ["command"]


@click.command(
    context_settings={"help_option_names": ["-h", "--help"]},
    epilog="""\b
Examples:
  chainrule train flowers.csv --save flowers.json
  chainrule diagnose flowers.json flowers.csv
  chainrule diagnose flowers.json flowers.csv --lr 0.1 --plot flow.png
  chainrule train xor --activation sigmoid --hidden 8,8,8,8,8,8 --save deep.json
  chainrule diagnose deep.json xor""",
)
@click.argument("model", metavar="MODEL.json")
@click.argument("data", metavar="DATA")
@click.option(
    "--loss", type=click.Choice(list(LOSSES)), help="Of the training; else the model tells."
)
@click.option(
    "--optimizer", type=click.Choice(list(OPTIMIZERS)), help="Of the training.  [default: sgd]"
)
@click.option("--lr", type=float, metavar="NUMBER", help="Judge this learning rate, too.")
@click.option("--batch-size", type=int, metavar="N", help="Rows per update; else all.")
@click.option("--delimiter", metavar="CHAR", help="CSV: what separates cells; else found out.")
@click.option(
    "--plot", metavar="FILE", help="Plot gradients and outputs of each layer (.png, .svg, .pdf)."
)
@advice_in_options()
def command(
    model: str,
    data: str,
    loss: str | None,
    optimizer: str | None,
    lr: float | None,
    batch_size: int | None,
    delimiter: str | None,
    plot: str | None,
) -> None:
    """Look into the network in MODEL.json, at work on DATA, and say why it does not learn.

    DATA is a CSV file with the inputs and the right answers, or xor, circle, moons or
    spiral.  Each finding comes with evidence, cause, and what to do.
    """
    from chainrule.diagnosis import diagnose
    from chainrule.views.plots import plot_activations, plot_gradient_flow

    if plot is not None:
        check_picture(plot)
    net = Network.load(model)
    problem = Problem.of(net, model)
    measure = loss or problem.loss
    if not measure:
        raise OptionError(
            f"{model!r} does not say with which loss it was trained. Add --loss mse, say."
        )
    X, y = _rows(data, net, problem, model, measure, delimiter)
    found = diagnose(net, X, y, loss=measure, optimizer=optimizer, lr=lr, batch_size=batch_size)
    show(console(), *str(found).splitlines())
    if plot is not None:
        gradients = all(math.isfinite(layer.gradient_mean) for layer in found.layers)
        figure, axes = new_figure(5.5 + 5.5 * gradients, 4.4, columns=1 + gradients)
        plot_activations(net, X, ax=axes[0])
        if gradients:
            plot_gradient_flow(net, X, y, loss=measure, ax=axes[1])
        save_picture(figure, plot)


def _rows(
    data: str,
    net: Network,
    problem: Problem,
    model: str,
    loss: str,
    delimiter: str | None,
) -> tuple[Any, Any]:
    """The rows of a file or a named data set, with the targets as the loss takes them."""
    if data in GENERATED:
        if delimiter is not None:
            raise OptionError(f"--delimiter is for CSV files; {data} has no columns to split.")
        classes = len(problem.classes) if data == "spiral" and problem.classes else None
        named = load_data(
            data,
            loss=loss,
            seed=0,
            n=None,
            classes=classes,
            target=None,
            header=None,
            delimiter=None,
        )
        named.problem.check_loaded(net, model)
        return named.X, named.problem.coded(named.y)
    features = problem.features if "features" in net.meta else len(problem.features)
    rows = read_rows(data, features, problem.target, problem.target_position, delimiter)
    if not rows.labels:
        raise DataError(
            f"{data} has no column {problem.target!r}, and without the right answers there is "
            "no loss to go back from. Give a file that has it."
        )
    targets: list[float] = []
    for line, label in zip(rows.lines, rows.labels, strict=True):
        known = problem.label_index(label) if problem.classes else as_number(label)
        if known is None:
            expected = (
                f"one of {', '.join(problem.classes[:20])}" if problem.classes else "a number"
            )
            raise DataError(
                f"{data}, line {line}, column {problem.target!r}: expected {expected}; found "
                f"{describe(label)}. Correct it, or leave the row out."
            )
        targets.append(known)
    return rows.X, problem.coded(targets)
