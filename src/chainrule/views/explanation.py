"""`explain`: the derivation of a value and of its gradients, as a teacher would write it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, final

from chainrule.options import whole
from chainrule.value import Value
from chainrule.views import writing
from chainrule.views.derivation import Derivation, derive

__all__ = ["Explanation", "explain"]


def explain(value: Value, wrt: Value | str | None = None, limit: int = 60) -> Explanation:
    """Explain how a value was computed, and how the chain rule gives its gradients.

    Every value is shown with its formula and its numbers; then, from the result back, the
    local derivative of each operation by each operand, as a formula and as a number, and
    what it passes on: the upstream gradient times that.  A value with several uses gets the
    sum.  Numbers are rounded to six digits.

    Values go by their labels; the others are called ``y`` (the result), ``x1``, ``x2`` ...
    (leaves) and ``v1``, ``v2`` ... (what is between).  ``backward()`` need not have been
    called, and no ``grad`` is read or written.

    Args:
        value: what to explain.
        wrt: one of the values it was computed from, or its label, to see only the paths
            to that one.
        limit: how many values are shown.  Of a larger graph those are chosen that the
            strongest gradients flow through; the explanation says how many were left out.

    Returns:
        An `Explanation`: print it, or take its ``text``, ``markdown``, ``latex`` or data.

    Raises:
        GraphError: ``value`` is no `Value`, was made under `no_grad`, or was computed by a
            hand-made operation, whose rule nobody can read.
        OptionError: ``wrt`` is none of the values it was computed from.

    Example:
        >>> a, b = Value(2.0, label="a"), Value(-3.0, label="b")
        >>> print(explain(a * b + a, wrt="a"))
        y = a * b + a
        Only paths to a are shown.
        <BLANKLINE>
        Forward pass: every value from its operands
          a  = 2
          b  = -3
          v1 = a * b = 2 * (-3) = -6
          y  = v1 + a = -6 + 2 = -4
        <BLANKLINE>
        Backward pass: upstream gradient times local derivative, result first
        <BLANKLINE>
          y = v1 + a
            dy/dy = 1
            A sum passes the gradient on unchanged to each term.
            to v1: local derivative = 1
              passes on 1 * 1 = 1
            to a: local derivative = 1
              passes on 1 * 1 = 1
        <BLANKLINE>
          v1 = a * b
            dy/dv1 = 1 (from y)
            Each factor gets the gradient times the other factor.
            to a: local derivative = b = -3
              passes on 1 * (-3) = -3
        <BLANKLINE>
        Result: the gradient by a
          dy/da = 1 (from y) + (-3) (from v1) = -2
    """
    return Explanation(derive(value, wrt, whole("limit", limit, least=2, example=60)))


@final
@dataclass(frozen=True, slots=True)
class Explanation:
    """What `explain` returns.

    Attributes:
        derivation: the parts of the graph, with their numbers and formulas.
    """

    derivation: Derivation

    @property
    def text(self) -> str:
        """The explanation for a terminal, 80 characters wide."""
        return writing.text(self.derivation)

    @property
    def markdown(self) -> str:
        """The explanation in Markdown, with formulas in LaTeX between dollar signs."""
        return writing.markdown(self.derivation)

    @property
    def latex(self) -> str:
        r"""The formulas alone: an ``aligned`` block for LaTeX's math mode.

        Example:
            >>> print(explain(Value(3.0, label="x") ** 2).latex)
            \begin{aligned}
            x &= 3 \\
            y &= {x}^{2} = {3}^{2} = 9 \\
            \frac{\partial y}{\partial x} &= 2 \cdot x = 2 \cdot 3 = 6 \\
            \frac{\mathrm{d} y}{\mathrm{d} x} &= \frac{\mathrm{d} y}{\mathrm{d} y} ... = 6
            \end{aligned}
        """
        return writing.latex(self.derivation)

    def to_dict(self) -> dict[str, Any]:
        r"""The explanation as plain data: dicts, lists, texts and numbers, none rounded.

        Example:
            >>> data = explain(Value(3.0, label="x") ** 2).to_dict()
            >>> data["expression"], data["gradients"]
            ('x ** 2', {'x': 6.0})
            >>> data["parts"][1]["edges"]
            [{'operand': 'x', 'place': 0, 'formula': '2 * x', 'latex': '2 \\cdot x',
              'local': 6.0, 'product': 6.0}]
        """
        found = self.derivation
        return {
            "result": found.result,
            "expression": None if found.expression is None else found.expression.text,
            "latex": None if found.expression is None else found.expression.latex,
            "wrt": found.wrt,
            "size": found.size,
            "left_out": found.size - len(found.parts),
            "gradients": {x.name: x.gradient for x in found.parts if x.name in found.inputs},
            "parts": [
                {
                    "name": part.name,
                    "label": part.label,
                    "op": part.op,
                    "says": part.says,
                    "operands": list(part.operands),
                    "formula": None if part.formula is None else part.formula.text,
                    "latex": None if part.formula is None else part.formula.latex,
                    "value": part.value,
                    "gradient": part.gradient,
                    "received": [{"source": name, "amount": x} for name, x in part.received],
                    "received_from_left_out": part.received_more[1],
                    "edges": [
                        {
                            "operand": edge.operand,
                            "place": edge.place,
                            "formula": None if edge.formula is None else edge.formula.text,
                            "latex": None if edge.formula is None else edge.formula.latex,
                            "local": edge.local,
                            "product": edge.product,
                        }
                        for edge in part.edges
                    ],
                }
                for part in found.parts
            ],
        }

    def __str__(self) -> str:
        return self.text

    def __repr__(self) -> str:
        return f"<explanation of {self.derivation.result}>"

    def _repr_markdown_(self) -> str:
        return self.markdown
