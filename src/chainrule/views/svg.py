"""A picture as SVG.  Whatever a user wrote, a label say, is text here and never markup."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from typing import Final

from chainrule.views.layout import CHARACTER, LINE, Layout
from chainrule.views.scene import Box, Link, Scene, width

__all__ = ["DARK", "LIGHT", "THEMES", "drawing", "style", "svg"]

THEMES: Final = ("auto", "light", "dark")
"""Dark or light; ``auto`` as the reader's system is set."""

# The palette of Okabe and Ito, "Color Universal Design" (2008), made for all kinds of colour
# vision; for text and lines on white its sky blue and yellow are left out.
LIGHT: Final = {
    "paper": "#ffffff",
    "box": "#ffffff",
    "text": "#1a1a1a",
    "dim": "#595959",
    "line": "#767676",
    "leaf": "#007a59",
    "op": "#0072b2",
    "result": "#b84f00",
    "fold": "#a8517f",
    "minus": "#b84f00",
}
DARK: Final = {
    "paper": "#16181d",
    "box": "#1f232b",
    "text": "#f2f2f2",
    "dim": "#b4b8c0",
    "line": "#8f949e",
    "leaf": "#2fbf95",
    "op": "#56b4e9",
    "result": "#e69f00",
    "fold": "#e3a0c4",
    "minus": "#e69f00",
}

FONT: Final = "'DejaVu Sans Mono', Menlo, Consolas, 'Liberation Mono', monospace"
CAPTION_LINE: Final = 18.0


def style(theme: str) -> str:
    """The style sheet of a picture.

    Example:
        >>> "prefers-color-scheme" in style("auto"), "prefers-color-scheme" in style("dark")
        (True, False)
    """
    if theme != "auto":
        return _FORM + _colours(DARK if theme == "dark" else LIGHT)
    return f"{_FORM}{_colours(LIGHT)}@media (prefers-color-scheme: dark) {{{_colours(DARK)}}}"


_FORM: Final = f"""
.chainrule-graph text {{ font: 12px {FONT}; }}
.chainrule-graph .title {{ font-weight: bold; }}
.chainrule-graph .edge {{ font-size: 10.5px; }}
.chainrule-graph path {{ fill: none; }}
.chainrule-graph .box rect {{ stroke-width: 1.5; }}
.chainrule-graph .result rect {{ stroke-width: 3; }}
.chainrule-graph .fold rect, .chainrule-graph .stub rect {{ stroke-dasharray: 5 3; }}
.chainrule-graph .minus {{ stroke-dasharray: 6 3; }}
"""


def _colours(colours: dict[str, str]) -> str:
    c = colours
    rules = {
        ".paper": f"fill: {c['paper']}",
        "text": f"fill: {c['text']}",
        ".dim": f"fill: {c['dim']}",
        "path": f"stroke: {c['line']}",
        ".head": f"fill: {c['line']}; stroke: none",
        ".box rect": f"fill: {c['box']}; stroke: {c['fold']}",
        ".plus": f"stroke: {c['op']}",
        ".minus": f"stroke: {c['minus']}",
        ".edge": f"fill: {c['dim']}; stroke: {c['paper']}; stroke-width: 4; paint-order: stroke",
    }
    for kind in ("leaf", "op", "result"):
        rules[f".{kind} rect"] = f"stroke: {c[kind]}"
        rules[f".{kind} .title"] = f"fill: {c[kind]}"
    return "\n".join([f".chainrule-graph {name} {{ {rule}; }}" for name, rule in rules.items()])


def svg(scene: Scene, layout: Layout, theme: str) -> str:
    """The whole picture, to stand alone or in a page.

    Args:
        scene: what is shown.
        layout: where.
        theme: one of `THEMES`.

    Returns:
        An ``<svg>`` element.
    """
    lines = [scene.title, *scene.caption]
    wide = max(layout.width, 32.0 + CHARACTER * max(map(width, lines)))
    high = layout.height + CAPTION_LINE * len(lines) + 8.0
    words = "".join(
        [
            f'<text class="{"title" if i == 0 else "dim"}" x="16" '
            f'y="{layout.height + CAPTION_LINE * (i + 0.6):.1f}">{escape(line)}</text>'
            for i, line in enumerate(lines)
        ]
    )
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" class="chainrule-graph" role="img" '
        f'width="{wide:.0f}" height="{high:.0f}" viewBox="0 0 {wide:.0f} {high:.0f}" '
        f'style="max-width: 100%; height: auto"><title>{escape(scene.title)}</title>'
        f"<style>{style(theme)}</style>"
        f'<rect class="paper" width="100%" height="100%"/>{drawing(scene, layout)}{words}</svg>'
    )


def drawing(scene: Scene, layout: Layout) -> str:
    """The links and the boxes, without style."""
    heaviest = max([abs(x.weight) for x in scene.links if x.weight is not None], default=1.0)
    links = [
        _link(x, i, route, heaviest)
        for i, (x, route) in enumerate(zip(scene.links, layout.routes, strict=True))
    ]
    boxes = [
        _box(x, i, place)
        for i, (x, place) in enumerate(zip(scene.boxes, layout.places, strict=True))
    ]
    texts = [_texts(x, route) for x, route in zip(scene.links, layout.routes, strict=True)]
    return "".join([*links, *boxes, *texts])


def _link(link: Link, i: int, route: Sequence[tuple[float, float]], heaviest: float) -> str:
    (x, y), *rest = route
    path = [f"M{x:.1f} {y:.1f}"]
    for nx, ny in rest:
        middle = (x + nx) / 2
        path.append(f"C{middle:.1f} {y:.1f} {middle:.1f} {ny:.1f} {nx:.1f} {ny:.1f}")
        x, y = nx, ny
    if link.weight is not None:
        size = 0.4 + 4.6 * abs(link.weight) / (heaviest or 1.0)
        sign = "minus" if link.weight < 0.0 else "plus"
        return (
            f'<path class="{sign}" stroke-width="{size:.2f}" d="{"".join(path)}">'
            f"<title>weight {link.weight:.6g}</title></path>"
        )
    head = f"M{x:.1f} {y:.1f}l-8 -4v8z"
    return (
        f'<g class="link" data-link="{i}"><path d="{"".join(path)}"/>'
        f'<path class="head" d="{head}"/></g>'
    )


def _texts(link: Link, route: Sequence[tuple[float, float]]) -> str:
    # The place in front of the operand is the one that no other arrow's text claims.
    (x0, y0), (x1, y1) = route[0], route[1]
    x, y = (x0 + x1) / 2, (y0 + y1) / 2 - 6.0 * (len(link.texts) - 1) + 3.5
    return "".join(
        [
            f'<text class="edge" text-anchor="middle" x="{x:.1f}" y="{y + 12 * i:.1f}">'
            f"{escape(line)}</text>"
            for i, line in enumerate(link.texts)
        ]
    )


def _box(box: Box, i: int, place: tuple[float, float, float, float]) -> str:
    x, y, w, h = place
    round_ = min(h / 2, 14.0) if box.kind in ("leaf", "stub") else 4.0
    parts = [f'<rect x="{x:.1f}" y="{y:.1f}" width="{w:.1f}" height="{h:.1f}" rx="{round_:.0f}"/>']

    def write(line: int, text: str, kind: str, end: bool = False) -> None:
        at = x + w - 9.0 if end else x + 9.0
        anchor = ' text-anchor="end"' if end else ""
        top = y + 17.0 + LINE * line
        parts.append(
            f'<text class="{kind}" x="{at:.1f}" y="{top:.1f}"{anchor}>{escape(text)}</text>'
        )

    for line, text in enumerate(box.title):
        write(line, text, "title")
    if box.badge:
        write(0, box.badge, "dim", end=True)
    for line, (name, text) in enumerate(box.rows, len(box.title)):
        write(line, name, "dim")
        write(line, text, f"number {escape(name.split()[0])}", end=True)
    return (
        f'<g class="box {box.kind}" data-box="{i}"><title>{escape(box.about)}</title>'
        f"{''.join(parts)}</g>"
    )
