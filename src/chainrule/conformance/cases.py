"""What an engine is asked to do: every case is data, small to large.

The numbers a case expects come from running the same program on `chainrule.Value`.
"""

from __future__ import annotations

import math
import random
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from typing import Any, Final

from chainrule.conformance.program import BINARY, execute, read, size
from chainrule.value import Value

__all__ = ["CHECKS", "FUNCTIONS", "OURS", "SECTIONS", "Case", "all_cases", "expected"]

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
        >>> case = next(c for c in all_cases() if c.name == "a + a")
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


def _case(
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
    """A case from short forms: the points are written ``"a=2 b=-3; a=1 b=4"``."""
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


TWO: Final = "a=3 b=-2; a=0.5 b=4; a=-1.5 b=2.5; a=1 b=1"
THREE: Final = "a=3 b=-2 c=0.5; a=0.5 b=4 c=-3; a=-1.5 b=2.5 c=2"
ONE: Final = "a=0.7; a=-1.3; a=2; a=0.1"
POSITIVE: Final = "a=0.7; a=1.3; a=2; a=5"

FUNCTIONS: Final = {
    "exp": (ONE, "functions"),
    "log": (POSITIVE, "functions"),
    "sqrt": (POSITIVE, "functions"),
    "sin": (ONE, "functions"),
    "cos": (ONE, "functions"),
    "tanh": (ONE, "functions"),
    "softplus": (ONE, "functions"),
    "sigmoid": (ONE, "activations"),
    "relu": ("a=0.7; a=-1.3; a=2; a=-0.1", "activations"),
}
"""Functions of one operand: where each is tried, and its section."""

OPERATORS: Final = {
    "+": ("add and mul", "Each operand of a sum receives the upstream gradient unchanged."),
    "*": ("add and mul", "Each factor receives the other factor, times upstream."),
    "-": ("more operators", "The second operand of a difference receives minus upstream."),
    "/": ("more operators", "a / b has the derivatives 1 / b and -a / b**2."),
}


def _nodes() -> list[Case]:
    return [
        _case("node", "y = a", "a=3; a=-2.5", "The gradient of a value by itself is 1.", "a alone"),
        _case(
            "passes",
            "u = a * b\ny = u * c",
            THREE,
            "Every node on the way has a gradient; that of the result itself is 1.",
            "gradients on the way",
            watch=("y.grad", "u.grad"),
        ),
    ]


def _operators() -> list[Case]:
    cases = []
    for symbol, (section, says) in OPERATORS.items():
        e = f"a {symbol} b"
        either = f"A plain number may stand on either side of {symbol}."
        cases += [
            _case(section, f"y = {e}", TWO, says),
            _case(
                section,
                f"u = {e}\ny = u * c",
                THREE,
                "The local derivatives are multiplied by the upstream gradient, which is c here.",
                f"({e}) * c",
            ),
            _case(
                "reuse",
                f"y = a {symbol} a",
                "a=3; a=-0.5",
                "A value that is both operands receives two gradients, and they add up.",
            ),
            _case(
                "reuse",
                f"u = {e}\nv = {e}\ny = u + v",
                TWO,
                "Two results of the same operands each add to the operands' gradients.",
                f"{e} made twice",
            ),
            _case("constants", f"y = a {symbol} 2", "a=3; a=-0.5", either),
            _case("constants", f"y = 2.5 {symbol} a", "a=3; a=-0.5", either),
            _case("constants", f"u = 2 {symbol} a\ny = u * c", "a=3 c=4; a=-0.5 c=-2", either),
        ]
    minus = "-a passes on minus the upstream gradient."
    return [
        *cases,
        _case("more operators", "y = -a", "a=3; a=-2", minus),
        _case("more operators", "u = -a\ny = u * c", "a=3 c=4; a=-2 c=-0.5", minus, "(-a) * c"),
        _case("constants", "y = sum([a, b, a])", "a=3 b=-2", "sum([...]) starts with 0 + a."),
        _case(
            "more operators",
            "y = a / b",
            "a=7 b=2; a=1 b=4; a=-7 b=2",
            "Dividing whole numbers does not round: 7 / 2 is 3.5.",
            "7 / 2, whole numbers",
            whole=True,
        ),
        _case(
            "add and mul",
            "y = a * 0.5",
            "a=3; a=-1",
            "Data that starts as a whole number may become a fraction.",
            "whole number * 0.5",
            whole=True,
        ),
        _case(
            "add and mul",
            "y = a * b",
            "a=0.25 b=0.5; a=-1.75 b=0.125",
            "Data may be fractions.",
            "fractions",
        ),
        _case(
            "more operators",
            "t = truth(a < b)",
            "a=1 b=2; a=2 b=1; a=-3 b=-4",
            "A comparison compares the numbers.",
            "a < b",
            watch=("t",),
            backward=False,
            optional=True,
        ),
    ]


def _powers() -> list[Case]:
    rule = "a**n has the derivative n * a**(n - 1)."
    both = "Where the exponent is a value too, it has the derivative a**b * log(a)."
    cases = []
    for n in ("2", "3", "-1", "0.5", "1"):
        points = POSITIVE if n == "0.5" else "a=3; a=-0.5; a=2"
        cases.append(_case("more operators", f"y = a**{n}", points, rule))
    return [
        *cases,
        _case("more operators", "u = a**3\ny = u * c", "a=3 c=4; a=-0.5 c=-2", rule, "a**3 * c"),
        _case(
            "reuse",
            "u = a**3\nv = a**3\ny = u + v",
            "a=3; a=-0.5",
            "Two results of the same operand each add to its gradient.",
            "a**3 made twice",
        ),
        _case("more operators", "y = a**b", "a=2 b=3; a=0.5 b=-1.5", both, optional=True),
        _case("more operators", "y = 2**a", "a=3; a=-0.5", both, optional=True),
        _case("more operators", "y = a**0", "a=3; a=-2", "a**0 is 1 with gradient 0."),
    ]


def _functions() -> list[Case]:
    cases = []
    for name, (points, section) in FUNCTIONS.items():
        rule = f"The derivative of {name} at many points."
        first, second, *_ = points.split(";")
        cases += [
            _case(section, f"y = a.{name}()", points, rule),
            _case(
                section,
                f"u = a.{name}()\ny = u * c",
                f"{first} c=4;{second} c=-2;{first} c=-3",
                "The local derivative is multiplied by the upstream gradient, which is c here.",
                f"a.{name}() * c",
            ),
            _case(
                "reuse",
                f"u = a.{name}()\nv = a.{name}()\ny = u + v",
                points,
                "Two results of the same operand each add to its gradient.",
                f"a.{name}() made twice",
            ),
        ]
    slope = "y = a.{0}()\np = h.{0}()\nq = l.{0}()\ny.backward()\n"
    for name in ("leaky_relu", "gelu"):
        cases.append(
            _case(
                "activations",
                slope.format(name),
                "a=0.7 h=0.7001 l=0.6999; a=-1.3 h=-1.2999 l=-1.3001; a=2 h=2.0001 l=1.9999",
                f"The gradient of {name} agrees with the slope of its own values.",
                f"a.{name}() against its slope",
                watch=("a.grad - (p.data - q.data) / 0.0002",),
                tolerance=(1e-5, 1e-5),
            )
        )
    return [
        *cases,
        _case(
            "activations",
            "y = a.relu()",
            "a=0",
            "ReLU is flat on the left of 0; its gradient at 0 is 0 by convention.",
            "a.relu() at 0",
        ),
    ]


def _diamonds() -> list[Case]:
    last = "A node passes its gradient on once, after all that use it have given theirs."
    programs = {
        "(a + b) + a": ("y = (a + b) + a", "a=3 b=-2"),
        "a + (a + b)": ("y = a + (a + b)", "a=3 b=-2"),
        "a * b + a": ("y = a * b + a", "a=3 b=-2; a=0.5 b=4"),
        "u * u of u = a + b": ("u = a + b\ny = u * u", "a=3 b=-2"),
        "u + u of u = a * b": ("u = a * b\ny = u + u", "a=3 b=-2"),
        "a skip on the left": ("u = a * b\nv = u * c\ny = u + v", THREE),
        "a skip on the right": ("u = a * b\nv = u * c\ny = v + u", THREE),
        "a long skip on the left": ("u = a * b\nv = u * c\nw = v * b\ny = u * w", THREE),
        "a long skip on the right": ("u = a * b\nv = u * c\nw = v * b\ny = w * u", THREE),
        "a diamond": ("u = a * b\nv = u + a\nw = u * c\ny = v * w", THREE),
        "two diamonds": (
            "u = a * b\nv = u + a\nw = u * c\np = v * w\nq = p * u\nr = p + v\ny = q * r",
            "a=1.5 b=-2 c=0.5; a=0.5 b=1.25 c=-3",
        ),
        "8 diamonds, 256 paths": ("u = a\nfor _ in range(8):\n    u = u * b + u\ny = u + a", TWO),
    }
    cases = [_case("order", text, points, last, name) for name, (text, points) in programs.items()]
    return [
        *cases,
        _case(
            "order",
            "u = a\nfor _ in range(40):\n    u = u * b + u\ny = u + a",
            "a=3 b=0.5",
            "40 layers have 2**40 paths, but only 120 nodes: visit each node once, not each path.",
            "40 diamonds, 2**40 paths",
        ),
        _case(
            "order",
            "u = a\nfor _ in range(200):\n    u = u + b\ny = u * a",
            "a=3 b=0.5",
            "A chain of 200 additions.",
            "a chain of 200",
        ),
    ]


def _passes() -> list[Case]:
    sums = "Leaves add up what each backward pass gives them: call it twice, get twice as much."
    again = "After zeroing by hand, the next pass starts from nothing."
    return [
        _case("passes", "y = a * b\ny.backward()\ny.backward()", TWO, sums, "one op, two passes"),
        _case(
            "passes",
            "p = a * b\nq = a + b\np.backward()\nq.backward()",
            TWO,
            sums,
            "two losses on the same leaves",
            watch=("a.grad", "b.grad"),
        ),
        _case(
            "passes",
            "u = a * b\nv = u * a\nv.backward()\n"
            "a.grad = 0\nb.grad = 0\nu.grad = 0\nv.grad = 0\nw = u + a\nw.backward()",
            TWO,
            again,
            "a second loss after zeroing",
            watch=("a.grad", "b.grad"),
        ),
        _case(
            "passes",
            "y = a * b\ny.backward()\na.grad = 0\nb.grad = 0\nz = a + b\nz.backward()",
            TWO,
            again,
            "a new graph after zeroing",
            watch=("z.data", "a.grad", "b.grad"),
        ),
        _case(
            "passes",
            "u = a * b\ny = u * a\nu.backward()",
            TWO,
            "backward() may be called on any node, also on one that others use.",
            "backward from the middle",
            watch=("u.data", "a.grad", "b.grad"),
        ),
        _case(
            "passes",
            "u = a * b\ny = u * a\ny.backward()\nz = a * b",
            TWO,
            "Computing something else changes no gradient.",
            "a node made after backward",
        ),
    ]


def _limits() -> list[Case]:
    stale = "a second pass through the same nodes adds to gradients left over from the first"
    cases = [
        _case(
            "limits",
            "u = a * b\ny = u * c\ny.backward()\ny.backward()",
            "a=3 b=-2 c=0.5",
            "Two passes over one graph give twice the gradient.",
            "two ops, two passes",
            limit=stale,
        ),
        _case(
            "limits",
            "u = a * b\np = u + a\nq = u * b\np.backward()\nq.backward()",
            "a=3 b=-2",
            "Two losses on one subgraph: leaves get the sum.",
            "two losses on one subgraph",
            watch=("a.grad", "b.grad"),
            limit=stale,
        ),
        _case(
            "limits",
            "y = a * b\na.data = 10\ny.backward()",
            "a=3 b=-2",
            "The gradient belongs to the forward pass: data changed afterwards does not count.",
            "data changed after the forward pass",
            watch=("b.grad",),
            limit="backward reads the operands' data late, so a change in between spoils it",
        ),
        _case(
            "limits",
            "u = a\nfor _ in range(10000):\n    u = u + b\ny = u * a",
            "a=3 b=0.5",
            "A chain of 10,000 additions.",
            "a chain of 10,000",
            limit="a recursive backward pass hits Python's recursion limit on long chains",
        ),
        _case(
            "limits",
            "y = a**0",
            "a=0",
            "a**0 is 1 with gradient 0, also at 0.",
            "a**0 at 0",
            limit="a**0 at 0 divides by zero, because the rule computes 0 * 0**-1",
        ),
        _case(
            "limits",
            "y = a / b",
            "a=1 b=0",
            "1 / 0 is inf in floating-point arithmetic.",
            "1 / 0",
            watch=("y.data",),
            backward=False,
            limit="1 / 0 raises an exception instead of giving inf",
        ),
    ]
    for name in ("sigmoid", "tanh", "softplus"):
        cases.append(
            _case(
                "limits",
                f"y = a.{name}()",
                "a=1000; a=-1000",
                f"{name} at large inputs.",
                f"a.{name}() at 1000",
                limit=f"{name} overflows at large inputs, where exp is out of range",
            )
        )
    return cases


def _xor(name: str, rate: float, steps: int) -> Case:
    """XOR with three hidden neurons, out of ``+``, ``*`` and one function."""
    rng = random.Random(8)
    weights = [f"w{i}" for i in range(13)]
    lines = []
    for k, (x1, x2) in enumerate([(0, 0), (0, 1), (1, 0), (1, 1)]):
        hidden = []
        for j in range(3):
            w1, w2, bias = weights[3 * j : 3 * j + 3]
            terms = [bias, *([f"{w1} * one"] if x1 else []), *([f"{w2} * one"] if x2 else [])]
            lines.append(f"s{j} = {' + '.join(terms)}")
            hidden.append(f"w{9 + j} * s{j}.{name}()")
        target = "minus" if x1 != x2 else "zero"
        lines += [f"d = {' + '.join(hidden)} + w12 + {target}", f"e{k} = d * d"]
    lines += ["loss = e0 + e1 + e2 + e3"]
    zeroing = [f"{w}.grad = 0" for w in [*weights, "one", "minus", "zero"]]
    update = [f"{w}.data = {w}.data - {rate} * {w}.grad" for w in weights]
    body = "\n".join([f"    {line}" for line in [*zeroing, *lines, "loss.backward()", *update]])
    start = {w: round(rng.uniform(-1.5, 1.5), 3) for w in weights}
    point = " ".join([f"{k}={v}" for k, v in {**start, "one": 1, "minus": -1, "zero": 0}.items()])
    return _case(
        "training",
        f"for _ in range({steps}):\n{body}",
        point,
        f"Gradient descent on XOR with {name}, until it has learned it.",
        f"XOR with {name}",
        watch=("loss.data",),
        backward=False,
        tolerance=(1e-3, 1e-6),
    )


def _training() -> list[Case]:
    step = (
        "u = w * x + b\ny = u * u\ny.backward()\n"
        "w.data = w.data - 0.1 * w.grad\nb.data = b.data - 0.1 * b.grad\n"
        "w.grad = 0\nb.grad = 0\nx.grad = 0\nv = w * x + b\nz = v * v\nz.backward()"
    )
    return [
        _case(
            "training",
            step,
            "w=0.5 x=2 b=-3; w=-1 x=0.5 b=2",
            "One step of gradient descent, and the gradients after it.",
            "a step of training",
            watch=("y.data", "z.data", "w.grad", "b.grad"),
        ),
        _xor("tanh", 0.1, 100),
        _xor("sigmoid", 0.2, 300),
        _xor("relu", 0.1, 80),
    ]


CHECKS: Final = {
    "neuron": "A neuron computes a number, and every parameter's gradient is the slope.",
    "neuron parameters": "A neuron of three inputs has four parameters, in every call.",
    "neuron activation": "A neuron's activation bends: it is not a straight line.",
    "layer": "A layer of two neurons gives two results, with right gradients.",
    "layer parameters": "A layer has the parameters of all its neurons.",
    "network": "A network's output depends on every layer, with right gradients.",
    "network sizes": "A 3-4-2-1 network has 16 + 10 + 3 parameters: layers fit each other.",
    "zero_grad": "zero_grad sets the gradient of every parameter to 0.",
    "wrong length": "A row of the wrong length is refused.",
}
"""The checks of networks, by name."""


def _networks() -> list[Case]:
    cut = "zip cuts a row of the wrong length without a word"
    return [
        Case(
            name,
            "limits" if name == "wrong length" else "network",
            "",
            ({},),
            says,
            (name,),
            limit=cut if name == "wrong length" else "",
            size=30 + place,
        )
        for place, (name, says) in enumerate(CHECKS.items())
    ]


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


def _random_graphs(seed: int, each: int = 6) -> list[Case]:
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


@cache
def all_cases(seed: int = 0) -> tuple[Case, ...]:
    """All cases, small to large within each section.

    Args:
        seed: of the random graphs.
    """
    makers = (_nodes, _operators, _powers, _functions, _diamonds, _passes, _training, _networks)
    cases = [case for make in makers for case in make()]
    order = list(SECTIONS)
    cases += [*_random_graphs(seed), *_limits()]
    return tuple(sorted(cases, key=lambda case: (order.index(case.section), case.size)))
