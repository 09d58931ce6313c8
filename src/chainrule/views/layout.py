"""Where the boxes of a picture stand: in columns, operands left of what is computed from them.

The method is that of Sugiyama, Tagawa and Toda, "Methods for Visual Understanding of
Hierarchical System Structures" (IEEE Transactions on Systems, Man, and Cybernetics, 1981),
as the library grandalf carries it out.
"""

from __future__ import annotations

import importlib
from dataclasses import dataclass
from typing import Any, Final, final

from chainrule.errors import MissingExtraError
from chainrule.views.scene import Box, Scene, width

__all__ = ["CHARACTER", "LINE", "Layout", "lay_out", "needed"]

CHARACTER: Final = 7.3
"""The width of a character, for a font of 12 pixels whose characters are all as wide."""

LINE: Final = 16.0
"""From one line of text to the next, in pixels."""

MARGIN: Final = 16.0
APART: Final = 14.0
COLUMN_GAP: Final = 46.0
CROWDED: Final = 160.0  # how much wider a gap may become where very many arrows cross it
TEXT_GAP: Final = 34.0  # for arrows that carry text, beside its own width

Point = tuple[float, float]


@final
@dataclass(frozen=True, slots=True)
class Layout:
    """The places of everything, in pixels.

    Attributes:
        places: for each box the left upper corner, the width and the height.
        routes: for each link the points it runs through, from the operand's right side to
            the result's left side.
        width: of the whole picture.
        height: of the whole picture.
    """

    places: tuple[tuple[float, float, float, float], ...]
    routes: tuple[tuple[Point, ...], ...]
    width: float
    height: float


class _Extent:
    """What grandalf must know of a box or an arrow: the size, here with x and y swapped."""

    def __init__(self, w: float = 0.0, h: float = 0.0) -> None:
        self.w = w
        self.h = h
        self.xy: Point = (0.0, 0.0)

    def setpath(self, points: list[Point]) -> None:
        self.points = points


def needed(module: str, what_for: str, extra: str = "draw") -> Any:
    """A module that an extra brings.

    Raises:
        MissingExtraError: it is not installed.
    """
    try:
        return importlib.import_module(module)
    except ImportError:
        library = module.partition(".")[0]
        raise MissingExtraError(
            f"{what_for} needs {library}, which is not installed. "
            f"Install it with: pip install 'chainrule[{extra}]'"
        ) from None


def size_of(box: Box) -> Point:
    """Width and height of a box."""
    name = max([len(name) for name, _ in box.rows], default=0)
    lines = [width(x) for x in box.title] + [name + 1 + width(x) for _, x in box.rows]
    if box.badge:
        lines[0] += 2 + width(box.badge)
    return max(lines) * CHARACTER + 18.0, (len(box.title) + len(box.rows)) * LINE + 10.0


def lay_out(scene: Scene, gap: float = COLUMN_GAP) -> Layout:
    """Find a place for every box and a way for every link.

    Args:
        scene: the picture.
        gap: the least room between two columns, in pixels.

    Raises:
        MissingExtraError: grandalf is not installed.
    """
    graphs = needed("grandalf.graphs", "drawing a graph")
    layouts = needed("grandalf.layouts", "drawing a graph")
    sizes = [size_of(x) for x in scene.boxes]
    vertices = [graphs.Vertex(i) for i in range(len(sizes))]
    for vertex, (w, h) in zip(vertices, sizes, strict=True):
        vertex.view = _Extent(h, w)
    # The edges run from results to operands: a leaf then stands next to its first use.
    edges = [graphs.Edge(vertices[x.target], vertices[x.source]) for x in scene.links]
    for edge in edges:
        edge.view = _Extent()
    graph = graphs.Graph(vertices, edges)
    text = max([len(line) for x in scene.links for line in x.texts], default=0)
    if text:
        gap = max(gap, TEXT_GAP + text * CHARACTER * 0.85)
    gap += min(0.4 * max(0, len(edges) - len(sizes)), CROWDED)
    below = 0.0
    routes: dict[Any, list[Point]] = {}
    centres: dict[int, Point] = {}
    for component in graph.C:
        _place(layouts.SugiyamaLayout(component), gap)
        ends = [(v.view.xy[0], v.view.w) for v in component.sV]
        top = min(x - w / 2 for x, w in ends)
        for vertex in component.sV:
            x, y = vertex.view.xy
            centres[vertex.data] = -y, x - top + below
        for edge in component.sE:
            points = getattr(edge.view, "points", [])[1:-1]
            routes[edge] = [(-y, x - top + below) for x, y in points]
        below += max(x + w / 2 for x, w in ends) - top + APART
    left = min(x - sizes[i][0] / 2 for i, (x, _) in centres.items()) - MARGIN
    places = []
    for i, (w, h) in enumerate(sizes):
        x, y = centres[i]
        places.append((x - left - w / 2, y + MARGIN - h / 2, w, h))
    ways = []
    for link, edge in zip(scene.links, edges, strict=True):
        sx, sy, sw, sh = places[link.source]
        tx, ty, _, th = places[link.target]
        between = [(x - left, y + MARGIN) for x, y in reversed(routes.get(edge, []))]
        ways.append(((sx + sw, sy + sh / 2), *between, (tx, ty + th / 2)))
    bottom = max(y + h for _, y, _, h in places) + MARGIN
    right = max(x + w for x, _, w, _ in places) + MARGIN
    return Layout(tuple(places), tuple(ways), right, bottom)


def _place(sugiyama: Any, gap: float) -> None:
    sugiyama.xspace = APART
    sugiyama.yspace = gap
    sugiyama.dw = sugiyama.dh = 8.0  # what an arrow needs that passes a column
    sugiyama.init_all()
    sugiyama.draw(8)
