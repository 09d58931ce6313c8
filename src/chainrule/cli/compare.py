"""``chainrule compare``: training here and in PyTorch, number by number."""

from __future__ import annotations

from typing import Any, Final

import click

from chainrule.cli.datasets import GENERATED, load_data
from chainrule.cli.output import advice_in_options, console, show
from chainrule.nn import LOSSES, OPTIMIZERS, Network
from chainrule.nn.scaling import Scaling

__all__ = ["command"]

FEW: Final = 20
"""Rows of a data set with a name: enough to see, and quick in scalars."""


@click.command(
    context_settings={"help_option_names": ["-h", "--help"]},
    epilog="""\b
Examples:
  chainrule compare xor
  chainrule compare moons --optimizer sgd --lr 0.5 --epochs 20
  chainrule compare flowers.csv --loss cross_entropy""",
)
@click.argument("data", metavar="DATA")
@click.option("--hidden", type=int, metavar="N", help="Neurons of the hidden layer.")
@click.option("--activation", metavar="NAME", help="Of the hidden layer.  [default: tanh]")
@click.option("--loss", type=click.Choice(list(LOSSES)), help="What training makes small.")
@click.option(
    "--optimizer",
    type=click.Choice(list(OPTIMIZERS)),
    default="adam",
    show_default=True,
    help="The rule of an update.",
)
@click.option("--lr", type=float, metavar="NUMBER", help="The learning rate.")
@click.option(
    "--epochs", type=int, default=50, show_default=True, metavar="N", help="How many to compare."
)
@click.option(
    "--seed", type=int, default=0, show_default=True, metavar="N", help="Of the starting weights."
)
@advice_in_options()
def command(data: str, hidden: int | None, activation: str | None, **given: Any) -> None:
    """Train on DATA here and in PyTorch from the same start, and compare every number.

    DATA is xor, circle, moons, spiral or digits, of which the first 20 rows are taken; or a
    CSV file, whose columns are brought to mean 0 and deviation 1.  Needs PyTorch.
    """
    from chainrule.interop.torch import compare

    options = dict.fromkeys(["n", "classes", "target", "header", "delimiter"])
    found = load_data(data, loss=given["loss"], seed=given["seed"], **options)
    problem = found.problem
    net = Network(
        [
            len(problem.features),
            found.recipe.hidden[0] if hidden is None else hidden,
            problem.outputs,
        ],
        activation or found.recipe.activation,
        problem.output_activation,
        seed=given["seed"],
    )
    X = Scaling.of(found.X).scaled(found.X) if found.from_file else found.X
    rows = FEW if data in GENERATED else len(X)
    comparison = compare(
        net,
        X[:rows],
        problem.coded(found.y)[:rows],
        loss=problem.loss,
        optimizer=given["optimizer"],
        lr=given["lr"],
        epochs=given["epochs"],
    )
    show(console(), str(net)[1:-1], *str(comparison).splitlines())
