"""The derivation behind an explanation: every part of a graph with its numbers and formulas.

The numbers are those that the nodes hold.  The formulas come from the table: a rule that
gives a local derivative when fed numbers writes its formula when fed names.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from heapq import heappop, heappush
from itertools import count
from typing import Any, Final, final

from chainrule.errors import GraphError, OptionError, describe
from chainrule.operation import NO_EDGE, ROWS
from chainrule.symbol import Symbol
from chainrule.transforms import pull_back
from chainrule.value import _NO_GRAPH, Value, partial_derivatives, topological_order
from chainrule.views.naming import names_of

__all__ = ["Derivation", "Edge", "Part", "derive", "short"]

WIDE: Final = 8
"""How many operands of a node are shown in a graph that is too large to be shown whole."""

LONG: Final = 40
"""How many numbers, names and operations an expression may have to be written out."""

READABLE: Final = 120
"""How many characters any other formula may have to be shown."""


@final
@dataclass(frozen=True, slots=True)
class Edge:
    """From a part to one of its operands.

    Attributes:
        operand: its name.
        place: which of the operands it is, counted from 0.
        formula: the local derivative, in names; None if it is too long to read.
        numbers: the same with numbers in place of the names.
        local: the local derivative.
        product: the upstream gradient times the local derivative.
    """

    operand: str
    place: int
    formula: Symbol | None
    numbers: Symbol | None
    local: float
    product: float


@final
@dataclass(frozen=True, slots=True)
class Part:
    """A node of the graph.

    Attributes:
        name: what the explanation calls it.
        label: the label of the value.
        op: the operation's name; empty for a leaf.
        says: the operation's rule in a sentence.
        operands: the names of its operands, and plain numbers.
        formula: how it is computed, in names; None for a leaf.
        numbers: the same with numbers in place of the names.
        value: the number.
        gradient: the derivative of the result by it.
        received: the terms of the gradient, each with the name of the part it comes from.
        received_more: how many more terms come from parts that are left out, and their sum.
        edges: where the gradient goes on to.
        edges_more: how many more operands receive a gradient, but are left out.
        blocked: operands that no gradient passes to.
        opened: whether the operands are shown too.
        reached: whether any gradient comes here; none comes to a branch not taken.
        depends: whether it passes a gradient on to the input that was asked for.
    """

    name: str
    label: str
    op: str
    says: str
    operands: tuple[str | float, ...]
    formula: Symbol | None
    numbers: Symbol | None
    value: float
    gradient: float
    received: tuple[tuple[str, float], ...]
    received_more: tuple[int, float]
    edges: tuple[Edge, ...]
    edges_more: int
    blocked: tuple[str, ...]
    opened: bool
    reached: bool
    depends: bool


@final
@dataclass(frozen=True, slots=True)
class Derivation:
    """A graph, ready to be explained.

    Attributes:
        result: the name of the result.
        expression: the result as a formula of the leaves; None if it is too long to read.
        parts: the nodes, operands before results.
        inputs: the names of the inputs by which the gradient was asked for.
        wrt: the name of the input, if only one was asked for.
        size: how many nodes the graph has.
        left_out: how many of them are not shown, although they were asked for.
    """

    result: str
    expression: Symbol | None
    parts: tuple[Part, ...]
    inputs: tuple[str, ...]
    wrt: str | None
    size: int
    left_out: int


def short(x: float) -> float:
    """A number to six digits, for reading; ``-0.0`` becomes 0."""
    return float(f"{x:.6g}") + 0.0


def derive(root: Value, wrt: Value | str | None, limit: int) -> Derivation:
    """Work out the derivation of a value; the arguments are those of `explain`."""
    if not isinstance(root, Value):
        raise GraphError(f"explain() takes the Value to explain; got {describe(root)}")
    if root._more is _NO_GRAPH:
        raise GraphError(
            "explain() was asked about a value made under no_grad(), which keeps no graph. "
            "Compute it outside the no_grad() block."
        )
    return _Writer(root, wrt, limit).derivation()


class _Writer:
    """The graph, and what has been found out about it, by the ``id`` of its nodes."""

    def __init__(self, root: Value, wrt: Value | str | None, limit: int) -> None:
        self.root = root
        self.limit = limit
        self.order = topological_order(root)
        found = pull_back([root], [1.0], self.order, graph=False)
        self.gradients = {id(x): float(g) for x, g in zip(self.order, found, strict=True)}
        self.reached = self._reached()
        self.wrt = self._find(wrt)
        self.depends = set(self.gradients) if self.wrt is None else self._leading_to(self.wrt)
        self.route = self._leading_to(self._most_sensitive() if self.wrt is None else self.wrt)
        self.opened: set[int] = set()
        self.shown: dict[int, Value] = {id(root): root}
        if self.wrt is not None:
            self.shown[id(self.wrt)] = self.wrt
        self._select()
        shown = [x for x in self.order if id(x) in self.shown]
        # What is given comes first, then what is computed from it.
        self.parts = sorted(shown, key=lambda x: id(x) in self.opened)
        small = len(self.order) <= limit
        self.inputs = [x for x in self.order if x.is_leaf and (small or id(x) in self.shown)]
        self.names = names_of(list(dict.fromkeys([*self.inputs, *shown])), root)

    # --- the whole graph ------------------------------------------------------------------

    def _reached(self) -> set[int]:
        """The nodes that a gradient comes to."""
        reached = {id(self.root)}
        for node in reversed(self.order):
            if id(node) in reached:
                reached.update(id(x) for _, x, _ in _edges(node))
        return reached

    def _find(self, wrt: Value | str | None) -> Value | None:
        """The input that was asked for."""
        if wrt is None:
            return None
        if isinstance(wrt, str):
            found = [x for x in self.order if x.label == wrt]
            if len(found) == 1:
                return found[0]
            if found:
                raise OptionError(
                    f"{len(found)} values have the label {wrt!r}; give the Value itself: wrt=x"
                )
        elif isinstance(wrt, Value):
            if any(x is wrt for x in self.order):
                return wrt
        else:
            raise OptionError(f"wrt must be a Value of the graph or its label; got {describe(wrt)}")
        labels = [repr(x.label) for x in self.order if x.label and x.is_leaf]
        known = f" Its labelled inputs: {', '.join(labels[:12])}." if labels else ""
        raise OptionError(f"the value was not computed from wrt={describe(wrt)}.{known}")

    def _most_sensitive(self) -> Value:
        """The input with the largest gradient."""
        leaves = [x for x in self.order if x.is_leaf]
        return max(leaves, key=lambda x: (id(x) in self.reached, _size(self.gradients[id(x)])))

    def _leading_to(self, end: Value) -> set[int]:
        """The nodes that pass a gradient on to a node, and that node itself."""
        leading = {id(end)}
        for node in self.order:
            if id(node) in self.reached and any(id(x) in leading for _, x, _ in _edges(node)):
                leading.add(id(node))
        return leading

    # --- what is shown --------------------------------------------------------------------

    def _select(self) -> None:
        """Choose the nodes to show: a path to an input first, then where most gradient flows."""
        node: Value | None = self.root
        while node is not None:
            self._open(node, self.limit if self.wrt is not None else self.limit // 2)
            ahead = [x for _, x, _ in self._by_importance(node) if id(x) in self.route]
            node = ahead[0] if ahead and id(node) in self.opened else None
        turn = count()
        waiting: list[tuple[float, int, Value]] = []

        def wait(nodes: Iterable[Value]) -> None:
            for x in nodes:
                heappush(waiting, (-_size(self.gradients[id(x)]), next(turn), x))

        wait(self.shown.values())
        done = set()
        while waiting:
            *_, node = heappop(waiting)
            if id(node) not in done:
                done.add(id(node))
                self._open(node, self.limit)
                if id(node) in self.opened:
                    wait(self._chosen(node))

    def _open(self, node: Value, room: int) -> None:
        """Show the operands of a node, if there is room for them."""
        if node.is_leaf or node is self.wrt:
            return
        if id(node) not in self.depends and node is not self.root:
            return
        chosen = {id(x): x for x in self._chosen(node)}
        if len(self.shown | chosen) <= max(room, len(chosen) + 1 if node is self.root else 0):
            self.opened.add(id(node))
            self.shown |= chosen

    def _chosen(self, node: Value) -> list[Value]:
        if len(self.order) <= self.limit or len(node._prev) <= WIDE:
            return list(node._prev)
        return [x for _, x, _ in self._by_importance(node)[:WIDE]]

    def _by_importance(self, node: Value) -> list[tuple[int, Value, float]]:
        """The edges of a node, those on the way to an input first, then by what they pass on."""
        upstream = self.gradients[id(node)]

        def importance(edge: tuple[int, Value, float]) -> tuple[bool, float]:
            _, x, local = edge
            return id(x) not in self.route, -_size(local * upstream)

        return sorted(_edges(node), key=importance)

    # --- writing --------------------------------------------------------------------------

    def derivation(self) -> Derivation:
        received = self._received()
        parts = tuple([self._part(x, *received[id(x)]) for x in self.parts])
        inputs = self.inputs if self.wrt is None else [self.wrt]
        return Derivation(
            result=self.names[id(self.root)],
            expression=self._expression(),
            parts=parts,
            inputs=tuple([self.names[id(x)] for x in inputs]),
            wrt=None if self.wrt is None else self.names[id(self.wrt)],
            size=len(self.order),
            left_out=sum(1 for i in self.depends if i not in self.shown),
        )

    def _received(self) -> dict[int, tuple[list[tuple[str, float]], tuple[int, float]]]:
        """The terms that the gradient of each part is the sum of."""
        terms: dict[int, list[tuple[str, float]]] = {id(x): [] for x in self.parts}
        others: dict[int, tuple[int, float]] = {id(x): (0, 0.0) for x in self.parts}
        for node in reversed(self.order):
            if id(node) not in self.reached:
                continue
            for _, x, local in _edges(node):
                product = local * self.gradients[id(node)]
                if id(node) in self.opened and id(x) in terms:
                    terms[id(x)].append((self.names[id(node)], product))
                elif id(x) in terms:
                    number, total = others[id(x)]
                    others[id(x)] = number + 1, total + product
        return {i: (terms[i], others[i]) for i in terms}

    def _part(
        self, node: Value, received: list[tuple[str, float]], others: tuple[int, float]
    ) -> Part:
        opened = id(node) in self.opened
        op = ROWS.get(node._op)
        operands = [x if isinstance(x, float) else self._shown_name(x) for x in node.operands]
        complete = opened and op is not None and None not in operands
        formula = None
        if complete and op is not None:
            formula = _readable(op.apply(tuple(map(_written, operands))))
        passing = _edges(node) if opened and id(node) in self.reached else []
        places = {place for place, *_ in passing}
        blocked = [x for i, x in enumerate(operands) if isinstance(x, str) and i not in places]
        return Part(
            name=self.names[id(node)],
            label=node.label,
            op="" if node.is_leaf else op.name if op else node._op,
            says=op.says if op else "",
            operands=tuple(["..." if x is None else x for x in operands]),
            formula=formula,
            numbers=self._with_numbers(formula),
            value=node.data,
            gradient=self.gradients[id(node)],
            received=tuple(received),
            received_more=others,
            edges=tuple(self._explained_edges(node, passing, operands if complete else None)),
            edges_more=sum(1 for _, x, _ in passing if id(x) not in self.shown),
            blocked=tuple(dict.fromkeys(blocked)) if opened else (),
            opened=opened,
            reached=id(node) in self.reached,
            depends=id(node) in self.depends,
        )

    def _explained_edges(
        self,
        node: Value,
        passing: list[tuple[int, Value, float]],
        operands: Sequence[str | float | None] | None,
    ) -> Iterator[Edge]:
        rules: Sequence[Any] = ()
        if operands is not None and len(operands) <= LONG:  # a wide node's rules are as wide
            here = [_written(x) for x in operands]
            wanted = [isinstance(x, Symbol) for x in here]
            rules = ROWS[node._op].derivatives(Symbol(self.names[id(node)]), here, wanted)
        for place, x, local in passing:
            if id(x) in self.shown and id(x) in self.depends:
                rule = self._rule(rules[place], local) if rules else None
                product = local * self.gradients[id(node)]
                numbers = self._with_numbers(rule)
                yield Edge(self.names[id(x)], place, rule, numbers, local, product)

    @staticmethod
    def _rule(written: Any, local: float) -> Symbol | None:
        """The formula of a local derivative."""
        rule = _as_symbol(written)
        # Simplifying is for finite numbers: it drops what only nan or inf would need.
        return _readable(rule.simplify() if math.isfinite(local) else rule)

    def _shown_name(self, x: Value) -> str | None:
        return self.names[id(x)] if id(x) in self.shown else None

    def _with_numbers(self, formula: Symbol | None) -> Symbol | None:
        if formula is None:
            return None
        numbers = {self.names[i]: Symbol(short(x.data)) for i, x in self.shown.items()}
        return _readable(formula.evaluate(numbers))

    def _expression(self) -> Symbol | None:
        """The result as a formula of the leaves, unless that is too long."""
        if len(self.order) > self.limit or any(x.has_own_rule for x in self.order):
            return None
        sizes: dict[int, int] = {}
        for node in self.order:
            sizes[id(node)] = 1 + sum(
                1 if isinstance(x, float) else sizes[id(x)] for x in node.operands
            )
        if sizes[id(self.root)] > LONG:
            return None
        written: dict[int, Any] = {}
        for node in self.order:
            if node.is_leaf:
                written[id(node)] = Symbol(self.names[id(node)])
            else:
                here = [x if isinstance(x, float) else written[id(x)] for x in node.operands]
                written[id(node)] = ROWS[node._op].apply(tuple(here))
        return _as_symbol(written[id(self.root)])


def _edges(node: Value) -> list[tuple[int, Value, float]]:
    """The operands that a gradient passes to: place, operand and local derivative."""
    if node.has_own_rule:  # met only in a branch not taken: elsewhere it is an error
        return []
    return [
        (place, x, local)
        for place, (x, local) in enumerate(
            zip(node.operands, partial_derivatives(node), strict=True)
        )
        if isinstance(x, Value) and local is not NO_EDGE
    ]


def _size(x: float) -> float:
    return abs(x) if x == x else float("inf")


def _written(x: str | float | None) -> Any:
    return Symbol(x) if isinstance(x, str) else x


def _as_symbol(x: Any) -> Symbol:
    return x if isinstance(x, Symbol) else Symbol(x)


def _readable(x: Any) -> Symbol | None:
    """A formula that is short enough to be read."""
    formula = _as_symbol(x)
    return formula if len(formula.text) <= READABLE else None
