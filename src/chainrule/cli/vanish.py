"""``chainrule vanish``: how gradients shrink on their way through a deep network."""

from __future__ import annotations

import math
from typing import Final

import click

from chainrule.cli.output import advice_in_options, columns, console, show
from chainrule.cli.pictures import check_picture, new_figure, save_picture
from chainrule.errors import OptionError, describe
from chainrule.nn import ACTIVATIONS
from chainrule.nn.initializers import initializer_of
from chainrule.options import whole

__all__ = ["command"]

INITS: Final = ("lesson", "xavier_normal", "he_normal")
"""The initializers that are compared."""


@click.command(
    context_settings={"help_option_names": ["-h", "--help"]},
    epilog="""\b
Examples:
  chainrule vanish
  chainrule vanish --depth 20 --activations sigmoid,gelu,relu
  chainrule vanish --init he_normal --width 32 --plot vanish.png""",
)
@click.option(
    "--depth", type=int, default=10, show_default=True, metavar="N", help="Hidden layers."
)
@click.option(
    "--activations",
    default="sigmoid,tanh,relu",
    show_default=True,
    metavar="NAMES",
    help="Of all layers; a network for each.",
)
@click.option(
    "--init",
    default="lesson",
    show_default=True,
    metavar="NAME",
    help="How the weights start, in the table by layers.",
)
@click.option(
    "--width", type=int, default=8, show_default=True, metavar="N", help="Neurons per layer."
)
@click.option(
    "--seed", type=int, default=0, show_default=True, metavar="N", help="Of weights and data."
)
@click.option("--plot", metavar="FILE", help="Plot it as well (.png, .svg, .pdf).")
@advice_in_options()
def command(
    depth: int, activations: str, init: str, width: int, seed: int, plot: str | None
) -> None:
    """Show how gradients shrink, layer by layer, on their way back through deep networks.

    Each layer multiplies them by the slopes of its activation, which for sigmoid are at
    most 0.25, and by its weights.  The second table shows what other initial weights change.
    """
    from chainrule.diagnosis import gradient_decay
    from chainrule.views.plots import plot_decay

    names = [name.strip() for name in activations.split(",") if name.strip()]
    unknown = [name for name in names if name not in ACTIVATIONS]
    if unknown or not names:
        raise OptionError(
            f"--activations takes names such as sigmoid,tanh,relu, with commas between; got "
            f"{describe(unknown[0] if unknown else activations)}."
        )
    depth = whole("depth", depth, least=1, example=10)
    width = whole("width", width, least=1, example=8)
    initializer_of(init)
    if plot is not None:
        check_picture(plot)
    names = list(dict.fromkeys(names))
    inits = list(dict.fromkeys([init, *INITS]))
    measured = {
        (name, start): gradient_decay(depth, name, start, width=width, seed=seed)
        for name in names
        for start in inits
    }
    bound = [0.25**n for n in range(depth + 1)]
    show(
        console(),
        f"{depth} hidden layers of {width} neurons, weights from {init}, seed {seed}.",
        "Mean size of the gradient by a layer's sums, as a share of the output layer's:",
        "",
        columns(
            ["layers passed", "0.25^n", *names],
            [
                [str(n), _shown(bound[n]), *[_shown(measured[name, init][n]) for name in names]]
                for n in range(depth + 1)
            ],
        ),
        "",
        "0.25^n bounds the product of n slopes of sigmoid. The weights multiply, too:",
        "small ones make it less than the bound, large ones can make it more.",
        "",
        "What arrives at the first layer, by how the weights start:",
        "",
        columns(
            ["activation", *inits],
            [[name, *[_shown(measured[name, start][-1]) for start in inits]] for name in names],
            left=["activation"],
        ),
    )
    if plot is not None:
        figure, axes = new_figure(12.0, 4.8, columns=2)
        best = {}
        for name in names:
            kept = {start: _kept(measured[name, start][-1]) for start in inits}
            best[name] = max(inits, key=kept.__getitem__)
        plot_decay({n: measured[n, init] for n in names}, bound, ax=axes[0])
        plot_decay({f"{n}, {best[n]}": measured[n, best[n]] for n in names}, bound, ax=axes[1])
        axes[0].set_title(f"weights from {init}")
        axes[1].set_title("the initializer that keeps most")
        axes[1].sharey(axes[0])
        save_picture(figure, plot)


def _shown(share: float) -> str:
    return f"{share:.1e}"


def _kept(share: float) -> float:
    return 0.0 if math.isnan(share) else share
