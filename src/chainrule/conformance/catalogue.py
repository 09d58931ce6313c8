"""All cases, small to large: what an engine is asked to do."""

from __future__ import annotations

import random
from functools import cache
from typing import Final

from chainrule.conformance.cases import SECTIONS, Case, short
from chainrule.conformance.random_graphs import random_graphs

__all__ = ["CHECKS", "FUNCTIONS", "all_cases"]

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

DERIVATIVES: Final = {
    "exp": "y: the exponential function is its own",
    "log": "1 / a",
    "sqrt": "1 / (2 * y)",
    "sin": "cos(a)",
    "cos": "-sin(a)",
    "tanh": "1 - y**2",
    "softplus": "sigmoid(a)",
    "sigmoid": "y * (1 - y)",
    "relu": "1 where a is positive, and 0 elsewhere",
}

OPERATORS: Final = {
    "+": ("add and mul", "Each operand of a sum receives the upstream gradient unchanged."),
    "*": ("add and mul", "Each factor receives the other factor, times upstream."),
    "-": ("more operators", "The second operand of a difference receives minus upstream."),
    "/": ("more operators", "a / b has the derivatives 1 / b and -a / b**2."),
}


def _nodes() -> list[Case]:
    return [
        short("node", "y = a", "a=3; a=-2.5", "The gradient of a value by itself is 1.", "a alone"),
        short(
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
            short(section, f"y = {e}", TWO, says),
            short(
                section,
                f"u = {e}\ny = u * c",
                THREE,
                "The local derivatives are multiplied by the upstream gradient, which is c here.",
                f"({e}) * c",
            ),
            short(
                "reuse",
                f"y = a {symbol} a",
                "a=3; a=-0.5",
                "A value that is both operands receives two gradients, and they add up.",
            ),
            short(
                "reuse",
                f"u = {e}\nv = {e}\ny = u + v",
                TWO,
                "Two results of the same operands each add to the operands' gradients.",
                f"{e} made twice",
            ),
            short("constants", f"y = a {symbol} 2", "a=3; a=-0.5", either),
            short("constants", f"y = 2.5 {symbol} a", "a=3; a=-0.5", either),
            short("constants", f"u = 2 {symbol} a\ny = u * c", "a=3 c=4; a=-0.5 c=-2", either),
        ]
    minus = "-a passes on minus the upstream gradient."
    return [
        *cases,
        short("more operators", "y = -a", "a=3; a=-2", minus),
        short("more operators", "u = -a\ny = u * c", "a=3 c=4; a=-2 c=-0.5", minus, "(-a) * c"),
        short("constants", "y = sum([a, b, a])", "a=3 b=-2", "sum([...]) starts with 0 + a."),
        short(
            "more operators",
            "y = a / b",
            "a=7 b=2; a=1 b=4; a=-7 b=2",
            "Dividing whole numbers does not round: 7 / 2 is 3.5.",
            "7 / 2, whole numbers",
            whole=True,
        ),
        short(
            "add and mul",
            "y = a * 0.5",
            "a=3; a=-1",
            "Data that starts as a whole number may become a fraction.",
            "whole number * 0.5",
            whole=True,
        ),
        short(
            "add and mul",
            "y = a * b",
            "a=0.25 b=0.5; a=-1.75 b=0.125",
            "Data may be fractions.",
            "fractions",
        ),
        short(
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
        cases.append(short("more operators", f"y = a**{n}", points, rule))
    return [
        *cases,
        short("more operators", "u = a**3\ny = u * c", "a=3 c=4; a=-0.5 c=-2", rule, "a**3 * c"),
        short(
            "reuse",
            "u = a**3\nv = a**3\ny = u + v",
            "a=3; a=-0.5",
            "Two results of the same operand each add to its gradient.",
            "a**3 made twice",
        ),
        short("more operators", "y = a**b", "a=2 b=3; a=0.5 b=-1.5", both, optional=True),
        short("more operators", "y = 2**a", "a=3; a=-0.5", both, optional=True),
        short("more operators", "y = a**0", "a=3; a=-2", "a**0 is 1 with gradient 0."),
    ]


def _functions() -> list[Case]:
    cases = []
    for name, (points, section) in FUNCTIONS.items():
        rule = f"y = {name}(a) has the derivative {DERIVATIVES[name]}."
        first, second, *_ = points.split(";")
        cases += [
            short(section, f"y = a.{name}()", points, rule),
            short(
                section,
                f"u = a.{name}()\ny = u * c",
                f"{first} c=4;{second} c=-2;{first} c=-3",
                "The local derivative is multiplied by the upstream gradient, which is c here.",
                f"a.{name}() * c",
            ),
            short(
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
            short(
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
        short(
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
    cases = [short("order", text, points, last, name) for name, (text, points) in programs.items()]
    return [
        *cases,
        short(
            "order",
            "u = a\nfor _ in range(40):\n    u = u * b + u\ny = u + a",
            "a=3 b=0.5",
            "40 layers have 2**40 paths, but only 120 nodes: visit each node once, not each path.",
            "40 diamonds, 2**40 paths",
        ),
        short(
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
        short("passes", "y = a * b\ny.backward()\ny.backward()", TWO, sums, "one op, two passes"),
        short(
            "passes",
            "p = a * b\nq = a + b\np.backward()\nq.backward()",
            TWO,
            sums,
            "two losses on the same leaves",
            watch=("a.grad", "b.grad"),
        ),
        short(
            "passes",
            "u = a * b\nv = u * a\nv.backward()\n"
            "a.grad = 0\nb.grad = 0\nu.grad = 0\nv.grad = 0\nw = u + a\nw.backward()",
            TWO,
            again,
            "a second loss after zeroing",
            watch=("a.grad", "b.grad"),
        ),
        short(
            "passes",
            "y = a * b\ny.backward()\na.grad = 0\nb.grad = 0\nz = a + b\nz.backward()",
            TWO,
            again,
            "a new graph after zeroing",
            watch=("z.data", "a.grad", "b.grad"),
        ),
        short(
            "passes",
            "u = a * b\ny = u * a\nu.backward()",
            TWO,
            "backward() may be called on any node, also on one that others use.",
            "backward from the middle",
            watch=("u.data", "a.grad", "b.grad"),
        ),
        short(
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
        short(
            "limits",
            "u = a * b\ny = u * c\ny.backward()\ny.backward()",
            "a=3 b=-2 c=0.5",
            "Two passes over one graph give twice the gradient.",
            "two ops, two passes",
            limit=stale,
        ),
        short(
            "limits",
            "u = a * b\np = u + a\nq = u * b\np.backward()\nq.backward()",
            "a=3 b=-2",
            "Two losses on one subgraph: leaves get the sum.",
            "two losses on one subgraph",
            watch=("a.grad", "b.grad"),
            limit=stale,
        ),
        short(
            "limits",
            "y = a * b\na.data = 10\ny.backward()",
            "a=3 b=-2",
            "The gradient belongs to the forward pass: data changed afterwards does not count.",
            "data changed after the forward pass",
            watch=("b.grad",),
            limit="backward reads the operands' data late, so a change in between spoils it",
        ),
        short(
            "limits",
            "u = a\nfor _ in range(10000):\n    u = u + b\ny = u * a",
            "a=3 b=0.5",
            "A chain of 10,000 additions.",
            "a chain of 10,000",
            limit="a recursive backward pass hits Python's recursion limit on long chains",
        ),
        short(
            "limits",
            "y = a**0",
            "a=0",
            "a**0 is 1 with gradient 0, also at 0.",
            "a**0 at 0",
            limit="a**0 at 0 divides by zero, because the rule computes 0 * 0**-1",
        ),
        short(
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
            short(
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
    return short(
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
        short(
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


@cache
def all_cases(seed: int = 0) -> tuple[Case, ...]:
    """All cases, small to large within each section.

    Args:
        seed: of the random graphs.
    """
    makers = (_nodes, _operators, _powers, _functions, _diamonds, _passes, _training, _networks)
    cases = [case for make in makers for case in make()]
    order = list(SECTIONS)
    cases += [*random_graphs(seed), *_limits()]
    return tuple(sorted(cases, key=lambda case: (order.index(case.section), case.size)))
