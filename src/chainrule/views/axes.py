"""Axes and colours of the plots, and matplotlib itself, imported where it is used.

The colours are those of M. Okabe and K. Ito, "Color Universal Design" (2008), which differ
for colour-blind readers too.
"""

from __future__ import annotations

import importlib
from collections.abc import Sequence
from typing import Any, Final

from chainrule.errors import MissingExtraError, OptionError, describe

__all__ = ["axes", "layer_ticks", "matplotlib", "new_figure", "tidy"]

BLUE, VERMILION, GREEN, ORANGE, PURPLE, SKY, BLACK = (
    "#0072B2",
    "#D55E00",
    "#009E73",
    "#E69F00",
    "#CC79A7",
    "#56B4E9",
    "#000000",
)
COLOURS: Final = (BLUE, ORANGE, GREEN, PURPLE, VERMILION, SKY, BLACK)
MARKERS: Final = "osD^vPX"
GREY: Final = "#6e6e6e"

UPRIGHT: Final = 7
"""So many layers have room for their activation's name side by side."""


def axes(given: Any) -> Any:
    """The axes to draw on."""
    plt = matplotlib("matplotlib.pyplot")
    if given is None:
        return plt.subplots(figsize=(6.4, 4.4), layout="constrained")[1]
    if not hasattr(given, "get_xaxis_transform"):
        raise OptionError(
            f"ax must be matplotlib axes, such as the second of plt.subplots(); got "
            f"{describe(given)}."
        )
    return given


def matplotlib(module: str) -> Any:
    """A module of matplotlib.

    Raises:
        MissingExtraError: it is not installed.
    """
    try:
        return importlib.import_module(module)
    except ImportError:
        raise MissingExtraError(
            "plots need matplotlib, which is not installed. "
            "Install it with: pip install 'chainrule[plot]'"
        ) from None


def new_figure(width: float, height: float, columns: int = 1) -> tuple[Any, list[Any]]:
    """A figure to be saved, and its axes side by side; no window is ever opened for it.

    Args:
        width: in inches.
        height: in inches.
        columns: how many axes.

    Raises:
        MissingExtraError: matplotlib is not installed.
    """
    figure = matplotlib("matplotlib.figure").Figure((width, height), layout="constrained")
    return figure, list(figure.subplots(1, columns, squeeze=False)[0])


def layer_ticks(ax: Any, activations: Sequence[str]) -> None:
    """Number and activation of each layer; of many only some, so that they stay legible."""
    count = len(activations)
    places = range(0, count, 1 + (count - 1) // 12)
    if count <= UPRIGHT:
        ax.set_xticks(places, [f"{i}\n{activations[i]}" for i in places])
    else:
        names = [f"{i} {activations[i]}" for i in places]
        ax.set_xticks(places, names, rotation=45, ha="right", rotation_mode="anchor")
    ax.set_xlim(-0.6, count - 0.4)


def tidy(ax: Any, *, grid: bool = True, twin: Any = None) -> None:
    """Take away what carries no information.

    Args:
        ax: the axes.
        grid: whether to draw a faint grid.
        twin: further axes over the same place, which have the scale at the right.
    """
    for each in (ax, ax if twin is None else twin):
        each.spines["top"].set_visible(False)
    ax.spines["right"].set_visible(False)
    if grid:
        ax.grid(visible=True, color="#d9d9d9", linewidth=0.6)
        ax.set_axisbelow(True)
