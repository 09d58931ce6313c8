"""What a case is: a question to an engine, as plain data.

The numbers a case expects come from running the same program on `chainrule.Value`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from typing import Any, Final

from chainrule.conformance.program import BINARY, execute, read, size
from chainrule.value import Value

__all__ = ["OURS", "SECTIONS", "Case", "expected", "short"]

SECTIONS: Final = {
    "node": "A node holds a number and a gradient",
    "add and mul": "Addition and multiplication",
    "more operators": "Negation, subtraction, division, powers",
    "constants": "Plain numbers on either side",
    "functions": "exp, log, tanh and their kin",
    "activations": "Sigmoid and ReLU",
    "reuse": "A value used more than once",
    "order": "Diamonds: the order of the backward pass",
    "passes": "Several backward passes and losses",
    "random graphs": "Random graphs",
    "network": "Neuron, layer, network",
    "training": "A training step, and XOR",
    "limits": "Limits inherited from micrograd",
}
"""The sections of a report, in the order of the lesson."""


@dataclass(frozen=True)
class Case:
    """One question to an engine.

    Attributes:
        name: what it is called in reports and in the fault dictionary.
        section: a key of `SECTIONS`.
        program: see `chainrule.conformance.program`; for the ``network`` section the name of
            a check in `chainrule.conformance.networks`.
        points: the numbers of the inputs; the program runs once for each.
        says: what the case shows, in a sentence.
        watch: what is read at the end.
        optional: an engine may refuse this by an exception.
        limit: what a report says if the engine has this inherited limit; "" for a case that
            every engine should pass.
        tolerance: relative and absolute.
    """

    name: str
    section: str
    program: str
    points: tuple[Mapping[str, float], ...]
    says: str
    watch: tuple[str, ...]
    optional: bool = False
    limit: str = ""
    tolerance: tuple[float, float] = (1e-6, 1e-9)
    size: int = field(default=0)

    @property
    def random(self) -> bool:
        """Whether it is a random graph: its numbers depend on the seed."""
        return self.section == "random graphs"


class _Ours:
    """How to talk to `chainrule.Value`."""

    def make(self, number: float) -> Any:
        return Value(number)

    def data(self, value: Any) -> Any:
        return value.data

    def grad(self, value: Any) -> Any:
        return value.grad

    def set_data(self, value: Any, number: Any) -> None:
        value.data = number

    def set_grad(self, value: Any, number: Any) -> None:
        value.grad = number

    def backward(self, value: Any) -> None:
        value.backward()

    def binary(self, symbol: str, a: Any, b: Any) -> Any:
        if symbol == "<":
            return a < b
        return next(plain for written, plain in BINARY.values() if written == symbol)(a, b)

    def unary(self, name: str, a: Any) -> Any:
        return -a if name == "neg" else getattr(a, name)()

    def is_value(self, thing: Any) -> bool:
        return isinstance(thing, Value)


OURS: Final = _Ours()
"""How to talk to `chainrule.Value`: where the expected numbers come from."""


def expected(case: Case) -> list[list[float]]:
    """The right numbers: for each point, one number for each thing watched.

    Example:
        >>> case = short("reuse", "y = a + a", "a=3", "Both operands add up.")
        >>> case.watch, expected(case)[0]
        (('y.data', 'a.grad'), [6.0, 2.0])
    """
    return [list(row) for row in _expected(case.program, _frozen(case.points), case.watch)]


def _frozen(points: tuple[Mapping[str, float], ...]) -> tuple[tuple[tuple[str, float], ...], ...]:
    return tuple([tuple(point.items()) for point in points])


@cache
def _expected(
    program: str, points: tuple[tuple[tuple[str, float], ...], ...], watch: tuple[str, ...]
) -> list[list[float]]:
    rows = []
    for point in points:
        names = execute(program, OURS, dict(point))
        rows.append([float(read(expression, OURS, names)) for expression in watch])
    return rows


def short(
    section: str,
    program: str,
    points: str,
    says: str,
    name: str = "",
    *,
    watch: tuple[str, ...] = (),
    whole: bool = False,
    backward: bool = True,
    **more: Any,
) -> Case:
    """A case from short forms: the points are written ``"a=2 b=-3; a=1 b=4"``.

    Args:
        section: as in `Case`.
        program: as in `Case`; ``y.backward()`` is added where there is no backward pass.
        points: the inputs' numbers.
        says: as in `Case`.
        name: as in `Case`; made from the program if left out.
        watch: as in `Case`; the result and all gradients if left out.
        whole: give the engine whole numbers, of type int.
        backward: whether there is a backward pass.
        more: other fields of `Case`.

    Returns:
        The case.
    """
    kind = int if whole else float
    rows = tuple(
        [
            {key: kind(text) for key, _, text in (word.partition("=") for word in part.split())}
            for part in points.split(";")
        ]
    )
    name = name or program.removeprefix("y = ").replace("u = ", "").replace("\ny = ", ", ")
    if backward and ".backward()" not in program:
        program += "\ny.backward()"
    watch = watch or ("y.data", *[f"{key}.grad" for key in rows[0]])
    return Case(name, section, program, rows, says, watch, size=size(program), **more)
