"""Where ``inf`` and ``nan`` come from: `strict` stops there, `origin_of_nonfinite` looks back.

Once a ``nan`` has arisen, everything computed from it is ``nan`` too, and the loss tells
nothing of the place.  There are three ways in:

* an operation makes a non-finite value out of finite operands: ``log`` of 0, an overflow;
* a local derivative is not finite though the value is: ``sqrt`` at 0;
* a gradient overflows on its way back, as a product or sum of large numbers.

`strict` raises an error for each of them where it happens, and so knows the line of code.
`origin_of_nonfinite` finds the same after the fact, in the graph of the loss.
"""

from __future__ import annotations

import math
import sys
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import count
from textwrap import wrap
from typing import Final, Literal, final

from chainrule import ops
from chainrule.errors import GraphError, NonFiniteError, describe, escaped, users_line
from chainrule.modes import MODES, watching
from chainrule.operation import NO_EDGE, ROWS
from chainrule.symbol.notation import infix_precedence
from chainrule.value import _NO_GRAPH, Value, partial_derivatives, topological_order

__all__ = ["NonFiniteOrigin", "origin_of_nonfinite", "strict"]


@contextmanager
def strict() -> Iterator[None]:
    """Within the block, or the decorated function, ``inf`` and ``nan`` are errors.

    The first operation that makes a non-finite value out of finite operands raises, and so
    does ``backward()`` where a local derivative or a gradient is not finite; it raises before
    it has changed any ``grad``.  The message names the operation, its operands, and the line
    of your code.  It holds for the thread that entered it, and slows that thread down: use it
    to find a mistake.

    Programs made by `compile`, and rules of your own (``_backward``), are not looked into.
    An operation in a branch that `where` does not take raises like any other, because it is
    carried out all the same.

    Raises:
        NonFiniteError: something became ``inf`` or ``nan``.

    Example:
        >>> from chainrule import Value, log
        >>> p = Value(0.0, label="p")
        >>> with strict():
        ...     loss = -log(p)
        Traceback (most recent call last):
        chainrule.errors.NonFiniteError: log(p) is -inf, though its operand is finite: p = 0
            made at: line ...
            what to do: log needs an operand above 0. ...
    """
    with watching(_present()):
        yield


def origin_of_nonfinite(loss: Value) -> NonFiniteOrigin | None:
    """Find where the ``inf`` or ``nan`` in a loss, or in its gradients, came from.

    No ``grad`` is read or written, and ``backward()`` need not have been called.

    Args:
        loss: the value that is not finite, or whose gradients are not.

    Returns:
        If the loss is not finite: the first operation that made a non-finite value out of
        finite operands, or else the input that was not finite from the start.  If only
        gradients are not finite: the first local derivative or gradient on the way back.
        None if all is finite (what is infinite in a branch not taken does no harm).

    Raises:
        GraphError: ``loss`` is no `Value`, or was made under `no_grad`.

    Example:
        >>> from chainrule import Value, sqrt
        >>> w, x = Value(2.0, label="w"), Value(0.0, label="x")
        >>> print(origin_of_nonfinite(w * sqrt(x)))
        the derivative of sqrt(x) by x is inf at x = 0
            the derivative of the root is one over twice the root
            path from the loss:
                w * sqrt(x) = 0
                sqrt(x) = 0
                x = 0
            what to do: sqrt needs an operand of at least 0, and is infinitely steep at 0. ...
    """
    if not isinstance(loss, Value):
        raise GraphError(
            f"origin_of_nonfinite() takes the Value that is not finite; got {describe(loss)}"
        )
    if loss._more is _NO_GRAPH:
        raise GraphError(
            "origin_of_nonfinite() was asked about a value made under no_grad(), which keeps no "
            "graph. Compute it outside the no_grad() block, or find the spot with strict()."
        )
    search = _first_on_the_way_back if math.isfinite(loss._data) else _first_on_the_way_up
    return search(loss, _present())


@final
@dataclass(frozen=True, slots=True, eq=False)
class NonFiniteOrigin:
    """Where a non-finite number arose; ``print`` it.

    Attributes:
        kind: what is not finite: ``"value"`` (of an operation on finite operands),
            ``"input"`` (it was so from the start: a leaf, or a plain number among the
            operands), ``"local derivative"`` or ``"gradient"``.
        node: the operation, or the leaf.
        number: the non-finite number.
        operand: for derivatives, the operand by which.
        factors: for a gradient, the upstream gradient and the local derivative.
        path: from the loss to the node, and on to the operand.
        line: the line of the user's code that made the node, if that ran in the present
            `strict` block.
    """

    kind: Literal["value", "input", "local derivative", "gradient"]
    node: Value
    number: float
    operand: Value | None = None
    factors: tuple[float, float] | None = None
    path: tuple[Value, ...] = field(default=(), repr=False)  # it may be a million steps long
    line: str | None = None

    def __str__(self) -> str:
        op = ROWS.get(self.node._op)
        lines = [self._problem()]
        if op is not None and self.operand is not None:
            lines.append(op.says)
        if self.line is not None:
            lines.append(f"made at: {self.line}")
        if len(self.path) > 1:
            lines += ["path from the loss:", *_path_lines(self.path)]
        lines += wrap(f"what to do: {self._advice()}", 76, break_long_words=False)
        return "\n    ".join(lines)

    def _problem(self) -> str:
        number = f"{self.number:g}"
        spelled = _spelled(self.node)
        operands = ", ".join(_known(self.node))
        if self.kind == "value":
            finite = "operand is" if len(self.node.operands) == 1 else "operands are"
            colon = ": " if operands else ""
            return f"{spelled} is {number}, though its {finite} finite{colon}{operands}"
        if self.operand is None:
            if self.node.is_leaf:
                return f"{spelled} is {number} from the start: it is an input, not a result"
            return f"{spelled} was given the plain number {number}"
        by = _name(self.operand)
        if self.factors is None:
            at = f" at {operands}" if operands else ""
            return f"the derivative of {spelled} by {by} is {number}{at}"
        upstream, local = self.factors
        return (
            f"the gradient of {by} becomes {number}: {spelled} passes on {upstream:g} (its own "
            f"gradient) * {local:g} (the local derivative)"
            f"{', on top of what it had' if math.isfinite(upstream * local) else ''}"
        )

    def _advice(self) -> str:
        if self.kind == "input":
            return "look at the data, or at the update that made this number."
        op = ROWS.get(self.node._op)
        if self.kind == "gradient" or op is None:
            return _TOO_LARGE
        return _ADVICE.get(op.name, _TOO_LARGE)


_TOO_LARGE: Final = (
    "the numbers outgrew what a float can hold (about 1.8e308): scale the inputs down, or use "
    "a smaller learning rate."
)
_EXPONENTIAL: Final = (
    "it overflows beyond about 709.78. Scale its operand down, or use a stable form: sigmoid, "
    "softplus, logsumexp, softmax, or a loss on logits."
)
_ADVICE: Final = {
    "log": "log needs an operand above 0. Add a small number, log(p + 1e-12), or compute the "
    "loss from logits, without any logarithm of a probability.",
    "log1p": "log1p needs an operand above -1; it is the logarithm of 1 + x.",
    "sqrt": "sqrt needs an operand of at least 0, and is infinitely steep at 0. "
    "Add a small number: sqrt(x + 1e-12).",
    "div": "keep the denominator away from 0: add a small number, or use maximum(d, 1e-12).",
    "pow": "large powers overflow; a base below 0 needs a whole exponent; at base 0 a negative "
    "power is infinite, and so is the slope of a power below 1. Scale the base down, or keep it "
    "away from 0 by adding a small number.",
    "exp": _EXPONENTIAL,
    "expm1": _EXPONENTIAL,
    "sinh": _EXPONENTIAL,
    "cosh": _EXPONENTIAL,
    "asin": "asin needs an operand from -1 to 1, and is infinitely steep at both ends.",
    "acos": "acos needs an operand from -1 to 1, and is infinitely steep at both ends.",
}


_serials: Final = count(1)


@final
class _Strict:
    """What `strict` does at each node and before each backward pass."""

    def __init__(self) -> None:
        # Nodes have no room for their line, so it is kept here by id.  The mark of a new node
        # is made its serial number, by which another node at the same address is told apart.
        self._lines: dict[int, tuple[int, str]] = {}

    def made(self, node: Value) -> None:
        node._mark = -next(_serials)
        self._lines[id(node)] = node._mark, sys.intern(users_line())
        if not math.isfinite(node._data) and all(map(_is_finite, node.operands)):
            raise NonFiniteError(
                str(NonFiniteOrigin("value", node, node._data, line=self.line(node)))
            )

    def going_back(self, root: Value) -> None:
        origin = _first_on_the_way_back(root, self)
        if origin is not None:
            raise NonFiniteError(str(origin))

    def line(self, node: Value) -> str | None:
        """Where a node was made, if that was in this block."""
        mark, line = self._lines.get(id(node), (None, None))
        passed = node._mark > 0 and not node.is_leaf  # a pass put its own number there
        return line if passed or node._mark == mark else None


def _present() -> _Strict:
    """The block that the present thread is in, or a new one."""
    watch = MODES.here.watch
    return watch if isinstance(watch, _Strict) else _Strict()


# --- looking for the origin -------------------------------------------------------------------


def _first_on_the_way_up(loss: Value, lines: _Strict) -> NonFiniteOrigin:
    """The node at which non-finite values start."""
    below = {id(x): consumer for x, consumer in _walk(loss, _non_finite_operands)}
    order = (x for x in topological_order(loss) if id(x) in below)
    node = next(x for x in order if not _non_finite_operands(x))
    given = [x for x in node.operands if isinstance(x, float) and not math.isfinite(x)]
    return NonFiniteOrigin(
        "input" if node.is_leaf or given else "value",
        node,
        given[0] if given else node._data,
        path=_path(node, below),
        line=lines.line(node),
    )


def _first_on_the_way_back(loss: Value, lines: _Strict) -> NonFiniteOrigin | None:
    """The edge at which non-finite gradients start."""
    # None stands for a gradient that is not known, because a user's own rule computes it.
    gradients: dict[int, float | None] = {id(loss): 1.0}
    for node in reversed(topological_order(loss)):
        if id(node) not in gradients:
            continue  # no gradient comes here: it serves a branch not taken
        upstream = gradients.pop(id(node))
        if node.has_own_rule:
            gradients.update(dict.fromkeys(map(id, node._prev)))
            continue
        for operand, local in _edges(node):
            factors = None
            number = local
            if upstream is not None and math.isfinite(local):
                before = gradients.get(id(operand), 0.0)
                factors = upstream, local
                number = upstream * local if before is None else before + upstream * local
                gradients[id(operand)] = None if before is None else number
            else:
                gradients[id(operand)] = None
            if not math.isfinite(number):
                below = {id(x): consumer for x, consumer in _walk(loss, _live_operands)}
                return NonFiniteOrigin(
                    "gradient" if factors else "local derivative",
                    node,
                    number,
                    operand,
                    factors,
                    path=(*_path(node, below), operand),
                    line=lines.line(node),
                )
    return None


def _edges(node: Value) -> Iterator[tuple[Value, float]]:
    """The operands to which a gradient passes, with the local derivatives."""
    for operand, local in zip(node.operands, partial_derivatives(node), strict=True):
        if isinstance(operand, Value) and local is not NO_EDGE:
            yield operand, local


def _live_operands(node: Value) -> Iterable[Value]:
    return node._prev if node.has_own_rule else [x for x, _ in _edges(node)]


def _non_finite_operands(node: Value) -> list[Value]:
    """The operands that made a node non-finite: of a branch, the one that was taken."""
    operands = _live_operands(node) or node._prev  # `stop_gradient` passes on values alone
    return [x for x in operands if not math.isfinite(x._data)]


def _walk(
    root: Value, operands: Callable[[Value], Iterable[Value]]
) -> Iterator[tuple[Value, Value | None]]:
    """The nodes below a root, nearest first, each with the one it was met at."""
    met = {id(root)}
    waiting: deque[tuple[Value, Value | None]] = deque([(root, None)])
    while waiting:
        node, consumer = waiting.popleft()
        yield node, consumer
        for x in operands(node):
            if id(x) not in met:
                met.add(id(x))
                waiting.append((x, node))


def _path(node: Value, consumers: dict[int, Value | None]) -> tuple[Value, ...]:
    path = [node]
    while (consumer := consumers[id(path[-1])]) is not None:
        path.append(consumer)
    return tuple(reversed(path))


def _is_finite(x: Value | float) -> bool:
    return math.isfinite(x._data if isinstance(x, Value) else x)


# --- saying it ----------------------------------------------------------------------------------

_SHOWN_STEPS: Final = 4
"""How many steps of a long path are shown at either end."""

_SHOWN_OPERANDS: Final = 4


def _path_lines(path: tuple[Value, ...]) -> list[str]:
    if len(path) <= 2 * _SHOWN_STEPS + 1:
        return [f"    {_line(x)}" for x in path]
    left_out = f"    ... {len(path) - 2 * _SHOWN_STEPS:,} more steps ..."
    ends = [f"    {_line(x)}" for x in (*path[:_SHOWN_STEPS], *path[-_SHOWN_STEPS:])]
    return [*ends[:_SHOWN_STEPS], left_out, *ends[_SHOWN_STEPS:]]


def _line(node: Value) -> str:
    """A step of the path: ``loss = w * sqrt(x) = 0``."""
    if node.is_leaf:
        return f"{escaped(node.label)} = {node._data:g}" if node.label else _name(node)
    return f"{escaped(node.label)} = " * bool(node.label) + f"{_spelled(node, 2)} = {node._data:g}"


def _known(node: Value) -> list[str]:
    """The operands with their values, as far as the spelling does not show them."""
    shown = [f"{_name(x)} = {x._data:g}" for x in node._prev if x.label or not x.is_leaf]
    shown = list(dict.fromkeys(shown))
    more = len(shown) - _SHOWN_OPERANDS
    return [*shown[:_SHOWN_OPERANDS], f"and {more} more"] if more > 0 else shown


def _name(x: Value | float, depth: int = 2) -> str:
    """A label, or else what the value was computed from."""
    if not isinstance(x, Value):
        return f"{x:g}"
    return escaped(x.label) or _spelled(x, depth)


def _spelled(node: Value, depth: int = 3) -> str:
    """A node as an operation on its operands, cut off where it becomes deep or wide."""
    if node.is_leaf:
        return escaped(node.label) or f"Value({node._data:g})"
    if depth == 0:
        return "..."
    op = ROWS.get(node._op)
    names = [_name(x, depth - 1) for x in node.operands[: _SHOWN_OPERANDS + 1]]
    if op is ops.neg or (op is not None and infix_precedence(op) is not None):
        names = [f"({x})" if " " in x or x[0] in "-." else x for x in names]
        return f"-{names[0]}" if op is ops.neg else f" {op.symbol} ".join(names)
    if len(names) > _SHOWN_OPERANDS:
        names[-1] = f"... {len(node.operands)} operands"
    called = op.name if op is not None else escaped(node._op) or "a hand-made operation"
    return f"{called}({', '.join(names)})"
