"""An optimiser's update, and clipping, as expressions.

The rules are scalar functions written with the table's operations; fed tracers, they
write themselves down, and a back end spells them in its language.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from chainrule.compiler.rules import Speller
from chainrule.compiler.trace import Leaf, Trace, Tracer
from chainrule.modes import tracing
from chainrule.operation import CALL

__all__ = ["Formulas", "Update", "formulas", "traced_update"]


@dataclass(frozen=True, slots=True)
class Formulas:
    """Expressions of named numbers.

    Attributes:
        trace: their operations.
        names: the leaves, by place.
        roots: the node of each expression.
    """

    trace: Trace
    names: tuple[str, ...]
    roots: tuple[int, ...]

    def spell(
        self, speller: Speller, known: Mapping[str, str], fresh: Callable[[str], str]
    ) -> tuple[list[str], list[str]]:
        """Lines for the shared parts, and a text for each expression."""
        lines, texts = speller.expression(
            self.trace, self.roots, lambda place: (known[self.names[place]], CALL), fresh
        )
        return lines, [texts[root][0] for root in self.roots]


@dataclass(frozen=True, slots=True)
class Update:
    """What happens to a parameter after a batch.

    Attributes:
        rule: the new parameter and the new state, of ``p g s0 s1 .. t lr``.
        states: how many numbers are remembered per parameter.
        clip_value: the clipped gradient, of ``g``; or None.
        clip_norm: the factor for all gradients, of ``square``; or None.
    """

    rule: Formulas
    states: int
    clip_value: Formulas | None = None
    clip_norm: Formulas | None = None


def formulas(f: Callable[..., Sequence[Any]], *names: str) -> Formulas:
    """The expressions that a function of named numbers computes."""
    trace = Trace(())
    fed = [Tracer(trace, trace.leaf(Leaf("input", place=i))) for i in range(len(names))]
    with tracing():
        results = f(*fed)
    roots = []
    for y in results:
        index = trace.index(y)
        assert index is not None
        roots.append(index)
    return Formulas(trace, names, tuple(roots))


def traced_update(
    update: Callable[..., tuple[Any, tuple[Any, ...]]],
    states: int,
    clip_value: Callable[[Any], Any] | None,
    clip_norm: Callable[[Any], Any] | None,
) -> Update:
    """Write an optimiser's rule and clipping down.

    Args:
        update: ``(parameter, gradient, state, step, lr) -> (new, new state)``.
        states: how many numbers its state has.
        clip_value: from a gradient to the clipped one, or None.
        clip_norm: from the sum of squares to a factor, or None.
    """
    names = [f"s{i}" for i in range(states)]

    def rule(p: Any, g: Any, *rest: Any) -> list[Any]:
        *state, t, lr = rest
        new, remembered = update(p, g, tuple(state), t, lr)
        return [new, *remembered]

    return Update(
        rule=formulas(rule, "p", "g", *names, "t", "lr"),
        states=states,
        clip_value=None if clip_value is None else formulas(lambda g: [clip_value(g)], "g"),
        clip_norm=None if clip_norm is None else formulas(lambda s: [clip_norm(s)], "square"),
    )
