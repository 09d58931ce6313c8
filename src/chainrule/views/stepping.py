"""`step_through`: a page in which a reader plays the forward and the backward pass.

What is shown is the derivation that `explain` writes down; this file adds places for the
boxes and puts everything into one page.  The page's program and its style stand in ``page/``.
"""

from __future__ import annotations

import base64
import hashlib
import json
import math
import os
from collections import Counter
from dataclasses import dataclass
from functools import cached_property
from html import escape
from importlib.resources import files
from pathlib import Path
from typing import Any, Final, final

from chainrule.errors import OptionError, describe
from chainrule.operation import ROWS
from chainrule.options import check_folder, several, whole
from chainrule.symbol import Symbol
from chainrule.symbol.notation import infix_precedence
from chainrule.value import Value
from chainrule.views.derivation import Derivation, Edge, Part, derive
from chainrule.views.layout import lay_out, needed
from chainrule.views.scene import Box, Link, Scene, number, printable, shortened
from chainrule.views.svg import drawing
from chainrule.views.writing import _tex, _tex_d, _tex_local, _tex_partial, _tex_steps

__all__ = ["StepThrough", "step_through"]

DIGITS: Final = 4
"""To so many digits are numbers written in the graph; beside it they have six."""

FLOW_GAP: Final = 82.0
"""Room between columns, in pixels, for what flows back along the arrows."""

MOST_PATHS: Final = 100
"""So many paths to a value are listed; the page says how many there are."""


def step_through(
    value: Value,
    path: str | os.PathLike[str] | None = None,
    *,
    title: str = "",
    limit: int = 60,
) -> StepThrough:
    """Write a page that plays a value's forward and backward pass, node by node.

    The page is one file and needs no network.  The reader steps forwards and back, with
    buttons or the arrow keys; each step shows the rule in words and as a formula, and
    upstream gradient times local derivative.  A click on a value lists the paths from the
    result to it, whose products add up to its gradient.

    Values go by their labels, and the others by the names that `explain` gives them.
    ``backward()`` need not have been called, and no ``grad`` is read or written.

    Args:
        value: the result, such as a loss.
        path: the file to write, .html; None to write none.
        title: the page's heading; by default it is made from the formula.
        limit: how many values are shown.  Of a larger graph those are chosen that the
            strongest gradients flow through; the page says how many were left out.

    Returns:
        A `StepThrough`: it has the page as ``html``, and is a widget in a notebook.

    Raises:
        GraphError: ``value`` is no `Value`, was made under `no_grad`, or was computed by a
            hand-made operation, whose rule nobody can read.
        OptionError: ``path`` does not end in .html, or ``limit`` is too small.
        MissingExtraError: the extra ``draw`` is not installed.

    Example:
        >>> w, x = Value(0.5, label="w"), Value(2.0, label="x")
        >>> page = step_through((w * x).tanh())
        >>> page
        <step-through of y: 2 steps forward, 2 steps back>
        >>> page.html[:15]
        '<!DOCTYPE html>'
    """
    limit = whole("limit", limit, least=2, example=60)
    if not isinstance(title, str):
        raise OptionError(f"title must be a text; got {describe(title)}")
    file = None if path is None else _checked_path(path)
    derivation = derive(value, None, limit)
    steps = StepThrough(derivation, title)
    if file is not None:
        file.write_text(steps.html, encoding="utf-8")
    return steps


def _checked_path(path: Any) -> Path:
    if not isinstance(path, (str, os.PathLike)):
        raise OptionError(f"path must be a file name such as 'steps.html'; got {describe(path)}")
    file = Path(os.fspath(path))
    if file.suffix.lower() not in (".html", ".htm"):
        raise OptionError(
            f"step_through writes a page, so the file name must end in .html; "
            f"got {describe(str(file))}"
        )
    check_folder(file)
    return file


@final
@dataclass(frozen=True)
class StepThrough:
    """What `step_through` returns.

    Attributes:
        derivation: the parts of the graph, with their numbers and formulas.
        title: the heading that was asked for.
    """

    derivation: Derivation
    title: str

    @cached_property
    def data(self) -> dict[str, Any]:
        """What the page's program works on, in plain JSON; infinities and nan are texts."""
        return _data(self.derivation)

    @cached_property
    def markup(self) -> str:
        """The component's own markup: controls, the graph, and room for the present step."""
        found = self.derivation
        heading = self.title
        if not heading:
            heading = f"Backpropagation of {found.result}, step by step"
            formula = found.expression
            if formula is not None and len(formula.text) <= 60:
                heading = f"{found.result} = {formula.text}"
        subtitle = f"The forward and the backward pass through {several(found.size, 'value')}."
        if found.left_out:
            subtitle += (
                f" {found.left_out:,} of them are left out: those with the weaker gradients."
            )
        parts = {"heading": escape(heading), "subtitle": subtitle, "graph": _graph(found)}
        template = _page_file("step.html")
        for name, text in parts.items():
            head, tail = template.split(f"{{{name}}}")
            template = head + text.replace("{", "&#123;") + tail
        return template

    @cached_property
    def html(self) -> str:
        """The whole page, which loads nothing from anywhere."""
        script = _page_file("step.js") + (
            'chainruleSteps(document.querySelector(".chainrule-steps"), '
            'JSON.parse(document.getElementById("chainrule-data").textContent));\n'
        )
        digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
        policy = (
            f"default-src 'none'; style-src 'unsafe-inline'; script-src 'sha256-{digest}'; "
            "img-src data:; base-uri 'none'; form-action 'none'"
        )
        data = json.dumps({**self.data, "whole_page": True}, allow_nan=False)
        # Within a script element only "<" could end it; the others are for older parsers.
        for character in "<>&\u2028\u2029":
            data = data.replace(character, f"\\u{ord(character):04x}")
        title = escape(self.title or f"Backpropagation of {self.derivation.result}")
        return (
            '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
            f'<meta http-equiv="Content-Security-Policy" content="{policy}">\n'
            '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
            '<meta name="color-scheme" content="light dark">\n'
            f'<title>{title}</title>\n<link rel="icon" href="data:,">\n'
            f"<style>\n{_page_file('step.css')}"
            "body { margin: 0; background: #ffffff; }\n"
            "@media (prefers-color-scheme: dark) { body { background: #16181d; } }\n"
            "@media print { body { background: none; } }\n"
            "</style>\n</head>\n<body>\n"
            f'<main class="chainrule-steps">\n{self.markup}</main>\n'
            f'<script type="application/json" id="chainrule-data">{data}</script>\n'
            f"<script>{script}</script>\n</body>\n</html>\n"
        )

    def widget(self) -> Any:
        """The same as a widget for Jupyter and its kin.

        Raises:
            MissingExtraError: the extra ``notebook`` is not installed.
        """
        anywidget = needed("anywidget", "the notebook widget", "notebook")
        traitlets = needed("traitlets", "the notebook widget", "notebook")
        module = _page_file("step.js") + (
            "export default { render({ model, el }) {\n"
            '  const root = document.createElement("div");\n'
            '  root.className = "chainrule-steps";\n'
            '  root.innerHTML = model.get("markup");\n'
            "  el.append(root);\n"
            '  return chainruleSteps(root, model.get("steps"));\n'
            "} };\n"
        )
        traits = {
            "_esm": module,
            "_css": _page_file("step.css"),
            "markup": traitlets.Unicode().tag(sync=True),
            "steps": traitlets.Dict().tag(sync=True),
        }
        kind = type("StepThroughWidget", (anywidget.AnyWidget,), traits)
        return kind(markup=self.markup, steps={**self.data, "whole_page": False})

    def _repr_mimebundle_(self, **kwargs: Any) -> Any:
        return self.widget()._repr_mimebundle_(**kwargs)

    def __repr__(self) -> str:
        forward = sum(x.opened for x in self.derivation.parts)
        back = sum(x.reached and bool(x.edges) for x in self.derivation.parts)
        return (
            f"<step-through of {self.derivation.result}: {several(forward, 'step')} forward, "
            f"{several(back, 'step')} back>"
        )


def _page_file(name: str) -> str:
    return files("chainrule.views").joinpath("page", name).read_text(encoding="utf-8")


# --- the graph ---------------------------------------------------------------------------------


def _labels(derivation: Derivation) -> list[str]:
    """What the page calls each part: its label, if no other has the same."""
    times = Counter(x.label for x in derivation.parts)
    return [
        printable(x.label) or x.name if times[x.label] == 1 else x.name for x in derivation.parts
    ]


def _pairs(derivation: Derivation) -> list[tuple[int, int]]:
    """The arrows: places of operand and result."""
    places = {x.name: i for i, x in enumerate(derivation.parts)}
    return [
        (places[name], i)
        for i, part in enumerate(derivation.parts)
        if part.opened
        for name in dict.fromkeys(part.operands)
        if isinstance(name, str) and name in places
    ]


def _badge(part: Part) -> str:
    """The operation, with the plain numbers among two operands."""
    op = next((x for x in ROWS.values() if x.name == part.op), None)
    if op is None or infix_precedence(op) is None or len(part.operands) != 2:
        return part.op
    left, right = ["" if isinstance(x, str) else number(x) for x in part.operands]
    return f"{left} {op.symbol} {right}".strip()


def _graph(derivation: Derivation) -> str:
    boxes = []
    for part, label in zip(derivation.parts, _labels(derivation), strict=True):
        # Room for a sum that is not complete yet.
        rows = (("data", _brief(part.value)), ("grad", f"{_brief(part.gradient)}  "))
        kind = "result" if part.name == derivation.result else "op" if part.op else "leaf"
        about = label if label == part.name else f"{label} (in formulas: {part.name})"
        boxes.append(Box(shortened(label), _badge(part), rows, kind, about))
    links = [Link(a, b) for a, b in _pairs(derivation)]
    scene = Scene(tuple(boxes), tuple(links), (), "")
    layout = lay_out(scene, gap=FLOW_GAP)
    w, h = layout.width, layout.height
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {w:.0f} {h:.0f}" '
        f'style="--wide: {w:.0f}px" '
        f'role="group" aria-label="Graph of the computation">{drawing(scene, layout)}</svg>'
    )


def _brief(x: float) -> str:
    return number(float(f"{x:.{DIGITS}g}"))


# --- the data ----------------------------------------------------------------------------------


def _data(derivation: Derivation) -> dict[str, Any]:
    places = {x.name: i for i, x in enumerate(derivation.parts)}
    labels = _labels(derivation)
    y = derivation.result

    def shown(part: Part, label: str) -> dict[str, Any]:
        return {
            "label": label,
            "op": _badge(part),
            "says": part.says or part.op,
            "inputs": [places[x] for x in dict.fromkeys(part.operands) if x in places],
            "value": _number(part.value),
            "gradient": _number(part.gradient),
            "more_count": part.received_more[0],
            "more": _number(part.received_more[1]),
            "math": _math([_tex(part.name), *_tex_steps(part)]),
            "opened": part.opened,
            "reached": part.reached,
            "blocked": [labels[places[x]] for x in part.blocked if x in places],
            "edges_more": part.edges_more,
            "edges": [edge(x, part) for x in part.edges],
        }

    def edge(x: Edge, part: Part) -> dict[str, Any]:
        return {
            "operand": places[x.operand],
            "local": _number(x.local),
            "product": _number(x.product),
            "math": _math([_tex_partial(part.name, x.operand), *_tex_local(x)]),
        }

    return {
        "parts": [shown(x, label) for x, label in zip(derivation.parts, labels, strict=True)],
        "links": _pairs(derivation),
        "result": places[y],
        "seed": _math([_tex_d(y, y), Symbol(1.0).latex]),
        "left_out": derivation.left_out,
        "most_paths": MOST_PATHS,
        "digits": DIGITS,
    }


def _number(x: float) -> float | str:
    """JSON has no word for infinity; JavaScript's Number() reads these."""
    if math.isfinite(x):
        return x
    return "NaN" if x != x else "Infinity" if x > 0.0 else "-Infinity"


def _math(steps: list[str]) -> dict[str, str]:
    latex = " = ".join(steps)
    convert = needed("latex2mathml.converter", "the page's formulas").convert
    return {"latex": latex, "mathml": convert(latex)}
