"""`draw`: a picture of a graph or of a network."""

from __future__ import annotations

import os
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Final, final

from chainrule.errors import MissingExtraError, OptionError, describe
from chainrule.nn.layers import Layer, Network, Neuron
from chainrule.options import check_folder, choice, whole
from chainrule.value import _NO_GRAPH, Value
from chainrule.views import formats
from chainrule.views.graph_scene import FOLDS, graph_scene
from chainrule.views.layout import lay_out
from chainrule.views.network_scene import network_scene
from chainrule.views.scene import Scene
from chainrule.views.svg import THEMES, svg

__all__ = ["Drawing", "draw", "notebook_picture"]

SUFFIXES: Final = (".svg", ".png", ".dot", ".gv", ".mmd", ".mermaid")


@final
@dataclass(frozen=True)
class Drawing:
    """What `draw` returns; a notebook shows it.

    Attributes:
        scene: the boxes and links, with all texts.
        theme: ``"auto"``, ``"light"`` or ``"dark"``.
    """

    scene: Scene
    theme: str

    @cached_property
    def svg(self) -> str:
        """The picture as an ``<svg>`` element."""
        return svg(self.scene, lay_out(self.scene), self.theme)

    @property
    def png(self) -> bytes:
        """The picture as a PNG file's content; light, unless the theme is dark."""
        fixed = "dark" if self.theme == "dark" else "light"
        return formats.png(svg(self.scene, lay_out(self.scene), fixed), fixed)

    @property
    def dot(self) -> str:
        """The graph in DOT, the language of Graphviz."""
        return formats.dot(self.scene)

    @property
    def mermaid(self) -> str:
        """The graph as a Mermaid flowchart."""
        return formats.mermaid(self.scene)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write a file; its suffix tells the format.

        Args:
            path: a name that ends in .svg, .png, .dot (or .gv), .mmd (or .mermaid).

        Raises:
            OptionError: another suffix.
            MissingExtraError: SVG or PNG, without the extra ``draw``.
        """
        file = _checked_path(path)
        suffix = file.suffix.lower()
        if suffix == ".png":
            file.write_bytes(self.png)
            return
        if suffix == ".svg":
            text = self.svg + "\n"
        else:
            text = self.dot if suffix in (".dot", ".gv") else self.mermaid
        file.write_text(text, encoding="utf-8")

    def __repr__(self) -> str:
        return f"<drawing: {self.scene.title}, {len(self.scene.boxes)} boxes>"

    def _repr_svg_(self) -> str:
        return self.svg


def draw(
    what: Value | Network | Layer | Neuron,
    path: str | os.PathLike[str] | None = None,
    *,
    edges: bool = False,
    fold: str = "auto",
    around: Value | str | None = None,
    radius: int | None = None,
    limit: int = 80,
    theme: str = "auto",
) -> Drawing:
    """Draw the graph of a value, or the layers of a network.

    Each box shows label, operation, data and gradient.  As long as ``backward()`` has not
    run on the value, the gradients are called "not yet", never 0.  A graph that is too large
    is folded, by neuron or by layer, or cut down to what is near the result; the picture
    says so.

    Args:
        what: a `Value`, a `Network`, a `Layer` or a `Neuron`.
        path: a file to write: .svg, .png, .dot (or .gv), .mmd (or .mermaid).  SVG and PNG
            need the extra ``draw``.
        edges: also show at each arrow the local derivative (``×``) and what flowed back
            along it (``←``), upstream gradient times local derivative.
        fold: ``"auto"``, ``"none"``, ``"neuron"`` or ``"layer"``; the last two go by the
            labels of a network's parameters.
        around: draw only the neighbourhood of this value, given itself or by its label.
        radius: how many steps from it; None for as many as the limit allows.
        limit: the largest number of boxes.
        theme: colours: ``"light"``, ``"dark"``, or ``"auto"`` for what the reader's system
            prefers (in PNG: light).

    Returns:
        A `Drawing`: a notebook shows it, and it has ``svg``, ``png``, ``dot``, ``mermaid``.

    Raises:
        OptionError: an option is unknown, or the value to draw around is not in the graph.
        GraphError: the value was made under `no_grad`.
        MissingExtraError: SVG or PNG, without the extra ``draw``.

    Example:
        >>> a, b = Value(2.0, label="a"), Value(-3.0, label="b")
        >>> print(draw(a * b).mermaid)
        %% The graph: 3 values
        %% backward() has not run on this result, so there are no gradients yet
        flowchart LR
          n0(["a<br>data 2<br>grad not yet"])
          n1(["b<br>data −3<br>grad not yet"])
          n2["#42;<br>data −6<br>grad not yet"]
          n0 --> n2
          n1 --> n2
          classDef leaf stroke:#007a59,stroke-width:2px
          class n0,n1 leaf
          classDef result stroke:#b84f00,stroke-width:2px
          class n2 result
        <BLANKLINE>
    """
    choice("fold", fold, FOLDS)
    choice("theme", theme, THEMES)
    limit = whole("limit", limit, least=2, example=80)
    if radius is not None:
        radius = whole("radius", radius, least=1, example=3)
    if path is not None:
        _checked_path(path)
    if isinstance(what, Value):
        scene = graph_scene(what, fold=fold, around=around, radius=radius, limit=limit, edges=edges)
    elif isinstance(what, (Network, Layer, Neuron)):
        if around is not None or radius is not None:
            raise OptionError(
                "around= and radius= are for the graph of a value; a network has layers. "
                "Draw the graph of its output: draw(net(row), around=...)."
            )
        scene = network_scene(what, fold, limit)
    else:
        hint = " Draw one of its elements, or their sum." if isinstance(what, (list, tuple)) else ""
        raise OptionError(
            f"draw() takes a Value, a Network, a Layer or a Neuron; got {describe(what)}.{hint}"
        )
    drawing = Drawing(scene, theme)
    if path is not None:
        drawing.save(path)
    return drawing


def _checked_path(path: Any) -> Path:
    if not isinstance(path, (str, os.PathLike)):
        raise OptionError(f"path must be a file name such as 'graph.svg'; got {describe(path)}")
    file = Path(os.fspath(path))
    if file.suffix.lower() not in SUFFIXES:
        raise OptionError(
            f"the file name tells the format, by ending in {', '.join(SUFFIXES[:-1])} or "
            f"{SUFFIXES[-1]}; got {describe(str(file))}"
        )
    check_folder(file)
    return file


def notebook_picture(value: Value) -> str | None:
    """What a notebook shows for a value: its graph, folded if it is large, as SVG.

    Args:
        value: any.

    Returns:
        None, so that the notebook shows the value's text, where there is no graph to show,
        or nothing to lay it out with.
    """
    if value.is_leaf or value._more is _NO_GRAPH:
        return None
    try:
        return draw(value).svg
    except MissingExtraError:
        return None
