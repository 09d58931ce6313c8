"""Formulas: the interpreter that writes down what the others compute.

`Symbol` is the formula itself; ``notation.py`` writes it as text and LaTeX,
``simplification.py`` shortens it.  Reading text back is `chainrule.parsing`.
"""

from __future__ import annotations

from chainrule.symbol.tree import Symbol, formula

__all__ = ["Symbol", "formula"]
