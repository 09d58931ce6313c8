"""A picture in other formats: DOT (Graphviz), Mermaid, PNG."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Final

from chainrule.views.layout import needed
from chainrule.views.scene import Box, Scene
from chainrule.views.svg import DARK, LIGHT

__all__ = ["dot", "mermaid", "png"]

_SHAPES: Final = {"leaf": "ellipse", "fold": "box3d", "stub": "plaintext"}


def dot(scene: Scene) -> str:
    """The picture in Graphviz's language, laid out by Graphviz or by any viewer of it."""
    lines = [
        "digraph {",
        "  rankdir=LR",
        f"  label={_quoted([scene.title, *scene.caption])}",
        '  node [shape=box, fontname="monospace"]',
        '  edge [fontname="monospace", fontsize=10]',
    ]
    for i, box in enumerate(scene.boxes):
        shape = f", shape={_SHAPES[box.kind]}" if box.kind in _SHAPES else ""
        wide = ", penwidth=3" if box.kind == "result" else ""
        colour = LIGHT.get(box.kind, LIGHT["line"])
        lines.append(f'  n{i} [label={_quoted(_lines(box))}, color="{colour}"{shape}{wide}]')
    for link in scene.links:
        texts = list(link.texts)
        if link.weight is not None:
            texts.append(f"{link.weight:.6g}")
        label = f" [label={_quoted(texts)}]" if texts else ""
        lines.append(f"  n{link.source} -> n{link.target}{label}")
    return "\n".join([*lines, "}", ""])


def _lines(box: Box) -> list[str]:
    first = f"{box.title[0]}  {box.badge}" if box.badge else box.title[0]
    return [first, *box.title[1:], *[f"{name} {text}" for name, text in box.rows]]


def _quoted(lines: list[str]) -> str:
    escaped = [x.replace("\\", "\\\\").replace('"', '\\"') for x in lines]
    return '"' + "\\n".join(escaped) + '"'


def mermaid(scene: Scene) -> str:
    """The picture in Mermaid's language, which GitHub and many editors draw."""
    lines = [f"%% {re.sub('[<>&{}]', ' ', line)}" for line in (scene.title, *scene.caption)]
    lines.append("flowchart LR")
    opening = {"leaf": ("([", "])"), "fold": ("[[", "]]"), "stub": ("(", ")")}
    for i, box in enumerate(scene.boxes):
        left, right = opening.get(box.kind, ("[", "]"))
        text = "<br>".join(map(_entities, _lines(box)))
        lines.append(f'  n{i}{left}"{text}"{right}')
    for link in scene.links:
        texts = list(link.texts)
        if link.weight is not None:
            texts.append(f"{link.weight:.6g}")
        text = f'|"{"<br>".join(map(_entities, texts))}"|' if texts else ""
        lines.append(f"  n{link.source} -->{text} n{link.target}")
    for kind in ("leaf", "op", "result"):
        members = ",".join([f"n{i}" for i, x in enumerate(scene.boxes) if x.kind == kind])
        if members:
            lines.append(f"  classDef {kind} stroke:{LIGHT[kind]},stroke-width:2px")
            lines.append(f"  class {members} {kind}")
    return "\n".join([*lines, ""])


def _entities(text: str) -> str:
    """Text that Mermaid takes for text: anything else in its own kind of entity."""
    return re.sub(r"[^\w .,|…−+]", lambda found: f"#{ord(found[0])};", text)


def png(svg: str, theme: str) -> bytes:
    """The picture in pixels, two for each of the SVG's.

    Args:
        svg: the picture, in the colours of ``theme``.
        theme: ``"dark"``, or any other for light.

    Raises:
        MissingExtraError: resvg_py or matplotlib, whose font is used, is not installed.
    """
    resvg = needed("resvg_py", "a PNG picture")
    font = Path(needed("matplotlib", "a PNG picture").get_data_path()) / "fonts" / "ttf"
    drawn: bytes = resvg.svg_to_bytes(
        svg_string=svg,
        zoom=2.0,
        background=(DARK if theme == "dark" else LIGHT)["paper"],
        font_files=[str(font / "DejaVuSansMono.ttf"), str(font / "DejaVuSansMono-Bold.ttf")],
    )
    return bytes(drawn)
