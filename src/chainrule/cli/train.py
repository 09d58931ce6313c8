"""``chainrule train``: train a network, and show what it learned."""

from __future__ import annotations

import warnings
from dataclasses import dataclass, replace
from typing import Any

import click

from chainrule.cli import report
from chainrule.cli.datasets import Data, load_data
from chainrule.cli.output import INTERRUPTED, advice_in_options, as_options, console, show
from chainrule.cli.pictures import check_picture, check_writable, new_figure, save_picture
from chainrule.cli.problem import Problem
from chainrule.errors import OptionError
from chainrule.nn import LOSSES, OPTIMIZERS, History, Network
from chainrule.nn.choice import ENGINES
from chainrule.nn.scaling import Scaling
from chainrule.nn.training import DEFAULT_LR
from chainrule.options import real, whole

__all__ = ["command"]


@dataclass(frozen=True)
class Options:
    """The command line's options, under their own names; None was left out."""

    data: str
    hidden: str | None
    activation: str | None
    init: str | None
    loss: str | None
    optimizer: str | None
    lr: float | None
    epochs: int | None
    batch_size: int | None
    shuffle: bool | None
    reduction: str
    clip_norm: float | None
    seed: int
    engine: str
    n: int | None
    classes: int | None
    target: str | None
    header: bool | None
    delimiter: str | None
    scale: bool | None
    save: str | None
    plot: str | None
    load: str | None
    quiet: bool


@click.command(
    context_settings={"help_option_names": ["-h", "--help"]},
    epilog="""\b
Examples:
  chainrule train xor
  chainrule train circle --hidden 8,8 --activation relu --seed 3
  chainrule train spiral --classes 3 --n 150 --plot spiral.png
  chainrule train flowers.csv --target species --save flowers.json
  chainrule train flowers.csv --load flowers.json --epochs 50""",
)
@click.argument("data", metavar="DATA")
@click.option(
    "--hidden",
    metavar="SIZES",
    help="Neurons of each hidden layer: 8,8 is two layers of 8; 'none' is no hidden layer.",
)
@click.option(
    "--activation",
    metavar="NAME",
    help="Of the hidden layers: tanh, sigmoid, relu, leaky_relu, elu, silu, gelu ...",
)
@click.option(
    "--init",
    metavar="NAME",
    help="How the weights start: lesson, xavier_uniform, he_normal, zeros ...",
)
@click.option(
    "--loss",
    type=click.Choice(list(LOSSES)),
    help="What training makes small. Two classes: binary_cross_entropy; more: cross_entropy; "
    "a number: mse.",
)
@click.option("--optimizer", type=click.Choice(list(OPTIMIZERS)), help="The rule of an update.")
@click.option("--lr", type=float, metavar="NUMBER", help="The learning rate: the size of a step.")
@click.option("--epochs", type=int, metavar="N", help="How often to go through all rows.")
@click.option(
    "--batch-size", type=int, metavar="N", help="Rows per update; 1 is online learning, 0 is all."
)
@click.option(
    "--shuffle/--no-shuffle",
    default=None,
    help="A new order of the rows in each epoch; by default where there are batches.",
)
@click.option(
    "--reduction",
    type=click.Choice(["mean", "sum"]),
    default="mean",
    help="Follow the mean or the sum of a batch's losses.",
)
@click.option(
    "--clip-norm", type=float, metavar="NUMBER", help="The largest norm of an update's gradients."
)
@click.option(
    "--seed",
    type=int,
    default=0,
    show_default=True,
    metavar="N",
    help="Of all random numbers: the same seed gives the same result.",
)
@click.option(
    "--engine",
    type=click.Choice(["auto", *ENGINES]),
    default="auto",
    help="What computes: plain Python (eager), or compiled.",
)
@click.option("--n", type=int, metavar="N", help="How many points to generate.")
@click.option("--classes", type=int, metavar="N", help="Spiral: how many arms.")
@click.option(
    "--target", metavar="COLUMN", help="CSV: what to predict, by name or position; else the last."
)
@click.option(
    "--header/--no-header",
    default=None,
    help="CSV: whether the first line names the columns; else found out.",
)
@click.option("--delimiter", metavar="CHAR", help="CSV: what separates cells; else found out.")
@click.option(
    "--scale/--no-scale",
    default=None,
    help="CSV: bring columns to mean 0 and deviation 1 while training. The saved model takes "
    "them as they are in the file.  [default: scale]",
)
@click.option("--save", metavar="FILE", help="Write the trained network to this JSON file.")
@click.option(
    "--plot",
    metavar="FILE",
    help="Plot the losses and, of two inputs, what is decided where (.png, .svg, .pdf).",
)
@click.option("--load", metavar="FILE", help="Go on with a network that was saved.")
@click.option("-q", "--quiet", is_flag=True, help="Print only the result.")
@advice_in_options()
def command(**given: Any) -> int:
    """Train a network on DATA and show what it learned.

    DATA is xor, circle, moons, spiral or digits, or a CSV file whose last column is what
    to predict: a class or a number.  The others hold numbers, or text of a few kinds.
    Whatever you leave out is chosen to suit it.
    """
    options = Options(**given)
    if options.save is not None:
        check_writable("--save", options.save)
    if options.plot is not None:
        check_picture(options.plot)
    net = None
    if options.load is not None:
        net = Network.load(options.load)
        options = _going_on(options, Problem.of(net, options.load))
    data = load_data(
        options.data,
        loss=options.loss,
        seed=options.seed,
        n=options.n,
        classes=options.classes,
        target=options.target,
        header=options.header,
        delimiter=options.delimiter,
    )
    if options.scale is not None and not data.from_file:
        raise OptionError(f"--scale is for CSV files; {data.name} is of a good size as it is.")
    fresh = net is None
    if net is None:
        net = _new_network(data, options)
    else:
        data.problem.check_loaded(net, str(options.load))
    settings = _settings(data, options)
    out = console()
    if not options.quiet:
        show(out, *report.plan(data, net, settings, None if fresh else options.load), "")
    history = _fit(net, data, settings, scale=options.scale is not False, fresh=fresh)
    if not options.quiet and len(history):
        show(out, report.losses(out, history), "")
    show(out, *report.result(data, net, history, timed=out.is_terminal))
    if not options.quiet:
        show(out, *report.predictions(data, net), *report.regions(out, data, net))
    if options.plot is not None and len(history):
        _plot(options.plot, data, net, history)
        if not options.quiet:
            show(out, "", f"Plotted in {options.plot}.")
    if options.save is not None:
        net.save(options.save, data.problem.meta(data.name))
        if not options.quiet:
            use = f"chainrule predict {options.save} FILE.csv"
            show(out, "", f"Saved as {options.save}. To use it: {use}")
    if not history.stopped:
        return 0
    click.echo(f"Training stopped: {as_options(history.stopped)}", err=True)
    return INTERRUPTED if history.stopped.startswith("interrupted") else 1


def _going_on(options: Options, problem: Problem) -> Options:
    """The options for a network that was loaded."""
    for name in ("hidden", "activation", "init"):
        if getattr(options, name) is not None:
            raise OptionError(
                f"--{name} is for a new network, and --load brings one. Leave one of them out."
            )
    return replace(options, loss=options.loss or problem.loss or None)


def _new_network(data: Data, options: Options) -> Network:
    problem, recipe = data.problem, data.recipe
    hidden = recipe.hidden if options.hidden is None else _sizes(options.hidden)
    return Network(
        [len(problem.features), *hidden, problem.outputs],
        options.activation or recipe.activation,
        problem.output_activation,
        options.init or "lesson",
        options.seed,
    )


def _sizes(hidden: str) -> list[int]:
    if hidden.strip().lower() == "none":
        return []
    try:
        sizes = [int(size) for size in hidden.split(",")]
    except ValueError:
        sizes = [0]
    if min(sizes) < 1:
        raise OptionError(
            f"--hidden takes the number of neurons of each hidden layer, such as 8 or 8,8, or "
            f"'none'; got {hidden!r}."
        )
    return sizes


def _settings(data: Data, options: Options) -> dict[str, Any]:
    """What `fit` is given besides the rows."""
    recipe = data.recipe
    optimizer = options.optimizer or recipe.optimizer
    batch_size = recipe.batch_size
    if options.batch_size is not None:
        batch_size = whole("batch_size", options.batch_size, least=0, example=16) or None
    if options.lr is not None:
        lr = real("lr", options.lr, least=0.0)
    else:
        # The recipe's rate goes with the rest of it.
        suits = optimizer == recipe.optimizer and batch_size == recipe.batch_size
        lr = recipe.lr if suits else DEFAULT_LR[optimizer]
    clip_norm = options.clip_norm
    if clip_norm is not None:
        clip_norm = real("clip_norm", clip_norm, above=0.0, example="1.0")
    epochs = recipe.epochs if options.epochs is None else options.epochs
    epochs = whole("epochs", epochs, least=0, example=100)
    batches = batch_size is not None and batch_size < len(data.X)
    return {
        "loss": data.problem.loss,
        "optimizer": optimizer,
        "lr": lr,
        "epochs": epochs,
        "batch_size": batch_size if batches else None,
        "shuffle": batches if options.shuffle is None else options.shuffle,
        "reduction": options.reduction,
        "clip_norm": clip_norm,
        "seed": options.seed,
        "engine": options.engine,
        "progress": False if options.quiet else "auto",
    }


def _fit(
    net: Network, data: Data, settings: dict[str, Any], *, scale: bool, fresh: bool
) -> History:
    """Train, on standardised columns if wanted; the network takes and gives them unscaled."""
    X, y = data.X, data.y
    inputs = outputs = None
    if data.from_file and scale:
        inputs = Scaling.of(X)
        X = inputs.scaled(X)
        if not data.problem.classes and net.layers[-1].neurons[0].activation == "linear":
            outputs = Scaling.of([[target] for target in y])
            y = [row[0] for row in outputs.scaled([[target] for target in y])]
    if not fresh and inputs is not None:
        inputs.out_of_inputs(net.layers[0])
    if not fresh and outputs is not None:
        outputs.out_of_outputs(net.layers[-1])
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "training stopped")  # it is in the history, too
        history = net.fit(X, data.problem.coded(y), **settings)
    if not data.problem.classes:
        history.accuracy = []  # mse takes targets that happen to be 0 or 1 for classes
    if inputs is not None:
        inputs.into_inputs(net.layers[0])
    if outputs is not None:
        outputs.into_outputs(net.layers[-1])
        history.loss = [loss * outputs.deviations[0] ** 2 for loss in history.loss]
    return history


def _plot(path: str, data: Data, net: Network, history: History) -> None:
    """Draw the losses, and for two inputs and classes what the network decides where."""
    from chainrule.views.plots import plot_decision_boundary, plot_history

    problem = data.problem
    plane = len(problem.features) == 2 and bool(problem.classes)
    figure, axes = new_figure(5.5 + 5.5 * plane, 4.6, columns=1 + plane)
    plot_history(history, ax=axes[0])
    if plane:
        plot_decision_boundary(
            net,
            data.X,
            problem.coded(data.y),
            loss=problem.loss,
            ax=axes[1],
            names=problem.features,
            classes=problem.classes,
        )
    save_picture(figure, path)
