"""Random graphs, drawn by a seed."""

from __future__ import annotations

import math
import random
from typing import Final

from chainrule.conformance.cases import Case, expected
from chainrule.conformance.program import size

__all__ = ["random_graphs"]

GROUPS: Final = {
    "+ *": (("+", "*"), ()),
    "+ - * / and numbers": (("+", "-", "*", "/", "neg", "number"), ()),
    "with powers": (("+", "*", "**"), ()),
    "with tanh": (("+", "*"), ("tanh",)),
    "with exp and log": (("+", "*"), ("exp", "log")),
    "with sigmoid": (("+", "*"), ("sigmoid",)),
    "with relu": (("+", "*"), ("relu",)),
    "with sin and cos": (("+", "*"), ("sin", "cos")),
}
"""Random graphs: the operations of each group."""


def _random_program(rng: random.Random, group: str) -> str:
    """Some statements, each of which uses earlier results."""
    operators, functions = GROUPS[group]
    names, lines = ["a", "b", "c"], []
    for i in range(rng.randint(5, 11)):
        new = f"n{i}"
        one, two = rng.choice(names[-4:]), rng.choice(names)
        kind = rng.choice([*operators, *functions, *functions])
        match kind:
            case "neg":
                text = f"-{one}"
            case "number":
                text = rng.choice([f"2 * {one}", f"{one} + 1.5", f"3 - {one}", f"{one} / 4"])
            case "**":
                text = f"{one}**{rng.choice([2, 3])}"
            case "log":
                text = f"({one} * {one} + b * b).log()"
            case _ if kind in functions:
                text = f"{one}.{kind}()"
            case _:
                text = f"{one} {kind} {two}"
        lines.append(f"{new} = {text}")
        names.append(new)
    used = "\n".join([line.partition(" = ")[2] for line in lines])
    ends = [n for n in names[3:] if f"{n} " not in used + " " and f"{n}." not in used]
    return "\n".join([*lines, f"y = {' + '.join(ends)}", "y.backward()"])


def random_graphs(seed: int, each: int = 6) -> list[Case]:
    """Cases whose graphs are drawn at random, their numbers finite and of ordinary size.

    Args:
        seed: other graphs for another seed.
        each: how many for each group of operations.

    Returns:
        The cases.

    Example:
        >>> random_graphs(1)[0] == random_graphs(1)[0], random_graphs(1)[0] == random_graphs(2)[0]
        (True, False)
    """
    cases = []
    for group in GROUPS:
        rng = random.Random(f"{seed} {group}")
        found = 0
        while found < each:
            program = _random_program(rng, group)
            point = {n: round(rng.uniform(0.2, 2) * rng.choice([-1, 1]), 3) for n in "abc"}
            case = Case(
                f"random {group} {found + 1}",
                "random graphs",
                program,
                (point,),
                "A random graph, against chainrule.",
                ("y.data", "a.grad", "b.grad", "c.grad"),
                size=size(program),
                tolerance=(1e-6, 1e-7),
            )
            numbers = expected(case)[0]
            if all(math.isfinite(x) and abs(x) < 1e4 for x in numbers) and abs(numbers[0]) > 1e-3:
                cases.append(case)
                found += 1
    return cases
