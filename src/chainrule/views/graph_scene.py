"""The picture of a value's graph: whole, folded, or the neighbourhood of one value."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Any, Final

from chainrule.errors import GraphError, OptionError, describe
from chainrule.operation import NO_EDGE
from chainrule.options import several
from chainrule.value import _NO_GRAPH, Value, partial_derivatives, topological_order
from chainrule.views.folding import Group, groups_of, neighbourhood
from chainrule.views.scene import Box, Link, Scene, number, operation, printable, shortened

__all__ = ["FOLDS", "graph_scene"]

FOLDS: Final = ("auto", "none", "neuron", "layer")
"""The ways to fold a large graph."""


def graph_scene(
    root: Value,
    *,
    fold: str,
    around: Value | str | None,
    radius: int | None,
    limit: int,
    edges: bool,
) -> Scene:
    """What to draw for a value; the arguments are those of `draw`."""
    if root._more is _NO_GRAPH:
        raise GraphError(
            "draw() was given a value made under no_grad(), which keeps no graph. "
            "Compute it outside the no_grad() block."
        )
    picture = _Picture(root, limit, edges)
    if around is not None or radius is not None:
        centre = root if around is None else picture.find(around)
        return picture.near(centre, radius)
    if fold == "none":
        if len(picture.order) > limit:
            raise OptionError(
                f"fold='none' would draw {len(picture.order):,} boxes, and limit={limit:,}. "
                f"Raise the limit (limit={len(picture.order)}), or leave fold='auto'."
            )
        return picture.whole()
    if fold == "auto":
        if len(picture.order) <= limit:
            return picture.whole()
        for by in ("neuron", "layer"):
            groups = groups_of(picture.order, root, by)
            if 0 < len(groups) <= limit:
                return picture.folded(groups, by)
        return picture.near(root, None)
    groups = groups_of(picture.order, root, fold)
    if not groups:
        raise OptionError(
            f"fold={fold!r} goes by the labels that Network and Layer give their parameters, "
            "such as layers.0.neurons.1.bias; this graph has none. "
            "Draw the neighbourhood of one value instead: draw(y, around=y, radius=3)."
        )
    if len(groups) > limit:
        other = " or fold='layer'" if fold == "neuron" else ""
        raise OptionError(
            f"fold={fold!r} leaves {len(groups):,} boxes, and limit={limit:,}. "
            f"Raise the limit{other}."
        )
    return picture.folded(groups, fold)


class _Picture:
    def __init__(self, root: Value, limit: int, edges: bool) -> None:
        self.root = root
        self.limit = limit
        self.edges = edges
        self.order = topological_order(root)
        # backward() leaves 1 in the root, so a gradient that is 0 everywhere was never asked for.
        computed = [x for x in self.order if not x.is_leaf] or [root]
        self.ran = any(x.grad != 0.0 for x in computed)

    def find(self, wanted: Any) -> Value:
        """The value to draw the neighbourhood of."""
        if isinstance(wanted, Value):
            found = [x for x in self.order if x is wanted]
        elif isinstance(wanted, str):
            found = [x for x in self.order if x.label == wanted]
        else:
            raise OptionError(f"around must be a Value or its label; got {describe(wanted)}")
        if len(found) == 1:
            return found[0]
        if found:
            raise OptionError(
                f"{len(found)} values have the label {wanted!r}; give the Value itself: around=x"
            )
        labels = [repr(x.label) for x in self.order if x.label]
        known = f" Its labels: {', '.join(labels[:12])}." if labels else ""
        raise OptionError(
            f"the graph that is drawn does not contain around={describe(wanted)}.{known}"
        )

    # --- three ways to draw it ------------------------------------------------------------

    def whole(self) -> Scene:
        return self._scene([[x] for x in self.order], self._words())

    def folded(self, groups: Sequence[Group], by: str) -> Scene:
        places = {id(x): i for i, group in enumerate(groups) for x in group.nodes}
        used = {id(self.root)}
        links: dict[tuple[int, int], int] = {}
        for node in self.order:
            for x in node._prev:
                pair = places[id(x)], places[id(node)]
                if pair[0] != pair[1]:
                    links[pair] = links.get(pair, 0) + 1
                    used.add(id(x))
        boxes = [
            self._box(group.nodes[0])
            if len(group.nodes) == 1
            else self._group_box(group, [x for x in group.nodes if id(x) in used])
            for group in groups
        ]
        folds = [x for x in groups if len(x.nodes) > 1]
        hidden = sum(len(x.nodes) for x in folds)
        words = (
            f"{len(self.order):,} values in {len(boxes)} boxes, by {by}: "
            f"{hidden:,} are folded into the {len(folds)} with a dashed edge"
        )
        drawn = tuple(
            Link(a, b, (f"{count} arrows",) if count > 1 and self.edges else ())
            for (a, b), count in links.items()
        )
        return Scene(tuple(boxes), drawn, (words, *self._words()), self._title())

    def near(self, centre: Value, radius: int | None) -> Scene:
        found, steps, cut = neighbourhood(self.order, centre, radius, self.limit)
        name = printable(centre.label) or (
            "the result" if centre is self.root else operation(centre)
        )
        far = "step" if steps == 1 else "steps"
        words = (
            f"{len(found):,} of {len(self.order):,} values: those within {steps} {far} of {name}"
        )
        if cut:
            words += f" (not all of the last step: limit={self.limit})"
        if len(found) < len(self.order):
            words += "; +n stands for n operands or uses that are folded"
        shown = [x for x in self.order if id(x) in found]
        return self._scene([[x] for x in shown], (words, *self._words()), found)

    def _scene(
        self, groups: list[list[Value]], caption: tuple[str, ...], shown: set[int] | None = None
    ) -> Scene:
        """Values one by one; where some are not shown, with stubs in their place."""
        nodes = [x for group in groups for x in group]
        place = {id(x): i for i, x in enumerate(nodes)}
        boxes = [self._box(x) for x in nodes]
        links = []
        for node in nodes:
            texts: dict[int, list[str]] = {}
            hidden = 0
            for x, local in zip(node.operands, _partials(node), strict=True):
                if not isinstance(x, Value):
                    continue
                if id(x) in place:
                    texts.setdefault(place[id(x)], []).extend(self._flow(node, local))
                else:
                    hidden += 1
            links += [Link(i, place[id(node)], tuple(lines)) for i, lines in texts.items()]
            if hidden:
                links.append(Link(len(boxes), place[id(node)]))
                boxes.append(_stub(hidden, "operand"))
        if shown is not None:
            uses: dict[int, int] = {}
            for node in self.order:
                for x in node._prev if id(node) not in shown else ():
                    if id(x) in shown:
                        uses[id(x)] = uses.get(id(x), 0) + 1
            for i, count in uses.items():
                links.append(Link(place[i], len(boxes)))
                boxes.append(_stub(count, "use"))
        return Scene(tuple(boxes), tuple(links), caption, self._title())

    # --- boxes ----------------------------------------------------------------------------

    def _box(self, node: Value) -> Box:
        op = "" if node.is_leaf else operation(node)
        gradient = self._gradient(node)
        name = printable(node.label) or op or "value"
        computed = f", computed by {op}" if op else ", given"
        return Box(
            title=shortened(node.label) if node.label else (op,) if op else ("value",),
            badge=op if node.label else "",
            rows=(("data", number(node.data)), ("grad", gradient)),
            kind="result" if node is self.root else "leaf" if node.is_leaf else "op",
            about=f"{name}{computed}: data {number(node.data)}, gradient {gradient}",
        )

    def _gradient(self, node: Value) -> str:
        if self.ran:
            return number(node.grad)
        # A leaf keeps what earlier passes, from other results, have added to it.
        if node.is_leaf and node.grad != 0.0:
            return f"{number(node.grad)} (earlier)"
        return "not yet"

    def _group_box(self, group: Group, used: Sequence[Value]) -> Box:
        parameters = [x for x in group.nodes if x.is_leaf]
        rows = [("values", f"{len(group.nodes):,}")]
        if len(used) == 1:
            rows.append(("out", number(used[0].data)))
            rows.append(("grad", self._gradient(used[0])))
        else:
            data = [x.data for x in used]
            rows.append(("out", f"{number(min(data))} … {number(max(data))}"))
        if parameters and len(parameters) < len(group.nodes):
            norm = number(math.hypot(*[x.grad for x in parameters])) if self.ran else "not yet"
            rows.append((f"{len(parameters)} parameters, |grad|", norm))
        holds_root = any(x is self.root for x in group.nodes)
        told = ", ".join([f"{name} {text}" for name, text in rows])
        return Box(
            title=shortened(group.name),
            badge="",
            rows=tuple(rows),
            kind="result" if holds_root else "fold",
            about=f"{group.name}, folded: {told}",
        )

    def _flow(self, node: Value, local: Any) -> Iterable[str]:
        """What stands at an arrow: the local derivative, and what flowed back along it."""
        if not self.edges:
            return
        if local is None:
            yield "own rule"
        elif local is NO_EDGE:
            yield "no gradient"
        else:
            yield f"× {number(local)}"
            if self.ran:
                yield f"← {number(local * node.grad)}"

    # --- words ----------------------------------------------------------------------------

    def _title(self) -> str:
        name = f" of {printable(self.root.label)}" if self.root.label else ""
        return f"The graph{name}: {several(len(self.order), 'value')}"

    def _words(self) -> tuple[str, ...]:
        if self.ran:
            if self.root.grad != 1.0:
                what = f"grad is {number(self.root.grad)} at the result drawn here, not 1"
                return (f"{what}: it belongs to a pass from another value",)
            return ()
        old = any(x.grad != 0.0 for x in self.order)
        kept = "; what leaves hold is of an earlier pass" if old else ""
        return (f"backward() has not run on this result, so there are no gradients yet{kept}",)


def _partials(node: Value) -> Sequence[Any]:
    if node.has_own_rule:
        return [None] * len(node.operands)
    return partial_derivatives(node)


def _stub(count: int, what: str) -> Box:
    words = f"{several(count, what)} folded"
    return Box((f"+{count:,}",), "", (), "stub", words)
