"""Ways to look at a graph: in words and formulas (`explain`)."""

from __future__ import annotations

from chainrule.views.explanation import Explanation, explain

__all__ = ["Explanation", "explain"]
