"""Ways to look at a graph: in words, in pictures, and step by step."""

from __future__ import annotations

from chainrule.views.drawing import Drawing, draw, notebook_picture
from chainrule.views.explanation import Explanation, explain
from chainrule.views.stepping import StepThrough, step_through

__all__ = [
    "Drawing",
    "Explanation",
    "StepThrough",
    "draw",
    "explain",
    "notebook_picture",
    "step_through",
]
