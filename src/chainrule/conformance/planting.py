"""Plant a mistake in a reference engine.

A plant is a list of edits: in the body of a definition, or anywhere in the file, one
piece of text is replaced by another.
"""

# ruff: noqa: E501 (an edit is a piece of somebody's source: it breaks where that breaks)

from __future__ import annotations

import ast
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from chainrule.conformance.reference import PATHS

__all__ = ["PLANTS", "Edit", "Plant", "planted"]

Edit = tuple[str, str, str]
"""A definition such as ``"Value.tanh"`` ("" for the whole file), old text, new text."""


@dataclass(frozen=True)
class Plant:
    """A mistake in one reference engine.

    Attributes:
        fault: the mistake, a kind of `chainrule.conformance.faults` with the operation
            after a colon.
        style: the engine it is planted in.
        edits: how.
    """

    fault: str
    style: str
    edits: tuple[Edit, ...]


def planted(source: str, edits: Sequence[Edit]) -> str:
    r"""The text of an engine with edits made.

    Args:
        source: the engine.
        edits: what to replace.

    Raises:
        ValueError: an edit changes nothing.

    Example:
        >>> planted("def f(x):\n    return x + 1\n", [("f", "+", "-")])
        'def f(x):\n    return x - 1\n'
    """
    for place, old, new in edits:
        first, last = _lines(source, place) if place else (0, len(source.splitlines()))
        lines = source.splitlines(keepends=True)
        part = "".join(lines[first:last])
        if old not in part:
            raise ValueError(f"{place or 'the file'} does not contain {old!r}")
        source = "".join(lines[:first]) + part.replace(old, new) + "".join(lines[last:])
    return source


def _lines(source: str, place: str) -> tuple[int, int]:
    node: ast.AST = ast.parse(source)
    for name in place.split("."):
        node = next(
            child
            for child in ast.iter_child_nodes(node)
            if isinstance(child, ast.ClassDef | ast.FunctionDef) and child.name == name
        )
    assert isinstance(node, ast.ClassDef | ast.FunctionDef)
    assert node.end_lineno is not None
    return node.lineno - 1, node.end_lineno


STYLES: Final = tuple(PATHS)
UNARY: Final = ("exp", "log", "sqrt", "sin", "cos", "tanh", "softplus", "sigmoid", "relu")
METHODS: Final = {"+": "__add__", "-": "__sub__", "*": "__mul__", "/": "__truediv__",
                  "**": "__pow__", "neg": "__neg__"}  # fmt: skip
CLASSES: Final = {"+": "Add", "*": "Mul", "**": "Pow", "neg": "Neg"}


def _rule(style: str, op: str) -> str:
    """Where the rule of an operation stands."""
    if style == "classes":
        return f"{CLASSES.get(op, op.title().replace('_', ''))}.backward"
    return f"Value.{METHODS.get(op, op)}"


def _everywhere(
    fault: str, op: str, old: str, new: str, styles: Sequence[str] = STYLES
) -> list[Plant]:
    """The same edit of an operation's rule in several styles."""
    return [Plant(fault, style, ((_rule(style, op), old, new),)) for style in styles]


def _in_value(fault: str, method: str, edits: dict[str, tuple[str, str]]) -> list[Plant]:
    """An edit of a method of `Value`, by style."""
    return [Plant(fault, s, ((f"Value.{method}", old, new),)) for s, (old, new) in edits.items()]


def _file(fault: str, edits: dict[str, Sequence[tuple[str, str]]]) -> list[Plant]:
    """Edits anywhere in the file, by style."""
    return [Plant(fault, s, tuple([("", o, n) for o, n in pairs])) for s, pairs in edits.items()]


def _rules() -> list[Plant]:
    """Mistakes in the rule of one operation."""
    plants: list[Plant] = []
    for op in ("+", "*", "**", *UNARY):
        plants += _everywhere(f"assigned:{op}", op, "grad +=", "grad =", ["closures"])
        plants += _everywhere(f"no upstream:{op}", op, " * out.grad", "", ["closures"])
        plants += _everywhere(f"no upstream:{op}", op, " * grad", "", ["classes"])
    for op in ("+", "*"):
        for operand in ("self", "other"):
            old = f"{operand}.grad +="
            plants += _everywhere(f"assigned:{op}", op, old, f"{operand}.grad =", ["closures"])
    plants += [
        Plant("no upstream:*", "closures", (("Value.__mul__", "+= y * out.grad", "+= y"),)),
        Plant("no upstream:*", "closures", (("Value.__mul__", "+= x * out.grad", "+= x"),)),
    ]
    for op in ("+", "*", "**", "tanh", "relu", "exp", "sigmoid"):
        plants += _everywhere(
            f"no gradient:{op}", op, "        out._backward = _backward\n", "", ["closures"]
        )
        plants += _everywhere(
            f"closure called:{op}", op, "= _backward\n", "= _backward()\n", ["closures"]
        )
        plants += _everywhere(f"returns nothing:{op}", op, "return out", "pass", ["closures"])
    cut = {
        "-": ("((self, 1.0), (other, -1.0))", "()"),
        "*": ("((self, y), (other, x))", "()"),
        "+": ("((self, 1.0), (other, 1.0))", "()"),
        "relu": ("((self, (1.0 if x > 0 else 0.0)),)", "()"),
        "tanh": ("((self, (1 - t**2)),)", "()"),
        "exp": ("((self, e),)", "()"),
        "sigmoid": ("((self, s * (1 - s)),)", "()"),
        "**": ("((self, _slope(x, n)),)", "()"),
    }
    for op, (old, new) in cut.items():
        plants += _everywhere(f"no gradient:{op}", op, old, new, ["tuples"])
    plants += _in_value("no gradient:-", "__sub__", {
        "closures": ("self + (-other)", "Value(self.data - getattr(other, 'data', other))"),
        "classes": ("self + (-other)", "Value(self.data - getattr(other, 'data', other))"),
    })  # fmt: skip
    swap = "own factor:*"
    plants += [
        Plant(swap, "closures", (("Value.__mul__", "x, y = self.data, other.data", "y, x = self.data, other.data"),)),
        Plant(swap, "tuples", (("Value.__mul__", "((self, y), (other, x))", "((self, x), (other, y))"),)),
        Plant(swap, "classes", (("Mul.backward", "(y * grad, x * grad)", "(x * grad, y * grad)"),)),
        Plant(swap, "tuples", (("Value.__mul__", "(other, x)", "(other, y)"),)),
        Plant(swap, "closures", (("Value.__mul__", "other.grad += x", "other.grad += y"),)),
        Plant("grad for data:*", "closures", (("Value.__mul__", "self.grad += y *", "self.grad += other.grad *"),
                                              ("Value.__mul__", "other.grad += x *", "other.grad += self.grad *"))),
        Plant("grad for data:*", "tuples", (("Value.__mul__", "((self, y), (other, x))", "((self, other.grad), (other, self.grad))"),)),
        Plant("by identity:*", "closures", (("Value.__mul__", "            other.grad +=", "            if other is not self:\n                other.grad +="),)),
        Plant("by identity:*", "tuples", (("Value.__mul__", "((self, y), (other, x))", "((self, y), (other, x)) if other is not self else ((self, y),)"),)),
        Plant("by identity:+", "closures", (("Value.__add__", "            other.grad +=", "            if other is not self:\n                other.grad +="),)),
        Plant("by identity:+", "tuples", (("Value.__add__", "((self, 1.0), (other, 1.0))", "((self, 1.0), (other, 1.0)) if other is not self else ((self, 1.0),)"),)),
        Plant("value as gradient:*", "closures", (("Value.__mul__", "x, y = self.data, other.data", "x, y = self, other"),)),
        Plant("value as gradient:*", "tuples", (("Value.__mul__", "((self, y), (other, x))", "((self, other), (other, self))"),)),
        Plant("sign:-", "tuples", (("Value.__sub__", "(other, -1.0)", "(other, 1.0)"),)),
        Plant("sign:-", "closures", (("Value.__sub__", "self + (-other)",
              "_subtract(self, other)"),
              ("", "def _exp(", "def _subtract(a, b):\n    b = b if isinstance(b, Value) else Value(b)\n    out = Value(a.data - b.data, (a, b))\n\n    def _backward():\n        a.grad += out.grad\n        b.grad += out.grad\n\n    out._backward = _backward\n    return out\n\n\ndef _exp("))),
        Plant("sign:neg", "tuples", (("Value.__neg__", "(self, -1.0)", "(self, 1.0)"),)),
        Plant("sign:neg", "classes", (("Neg.backward", "-1.0 * grad", "1.0 * grad"),)),
        Plant("sign:/", "tuples", (("Value.__truediv__", "-x / y**2", "x / y**2"),)),
        Plant("not squared:/", "tuples", (("Value.__truediv__", "-x / y**2", "-x / y"),)),
        Plant("floor:/", "tuples", (("Value.__truediv__", "Value(x / y,", "Value(x // y,"),)),
    ]  # fmt: skip
    power = "_slope(x, n)"
    plants += _everywhere("no coefficient:**", "**", power, "_power(x, n - 1)")
    plants += _everywhere("exponent kept:**", "**", power, "n * _power(x, n)")
    takes = ("            return NotImplemented\n", "            other = other.data\n")
    plants += _in_value("no exponent gradient:**", "__pow__", dict.fromkeys(STYLES, takes))
    plants += [
        Plant("no log:**", "tuples", (
            ("Value.__pow__", takes[0], "            y = self.data**other.data\n            return Value(y, ((self, _slope(self.data, other.data)), (other, y)))\n"),
        )),
        Plant("no log:**", "closures", (
            ("Value.__pow__", takes[0], "            return _raise(self, other)\n"),
            ("", "def _exp(", "def _raise(a, b):\n    out = Value(a.data**b.data, (a, b))\n    x, n, y = a.data, b.data, out.data\n\n    def _backward():\n        a.grad += _slope(x, n) * out.grad\n        b.grad += y * out.grad\n\n    out._backward = _backward\n    return out\n\n\ndef _exp("),
        )),
    ]  # fmt: skip
    plants += _functions()
    return plants


def _functions() -> list[Plant]:
    gate = "(1.0 if x > 0 else 0.0)"
    edits = (
        ("at output:log", "log", "1 / x", "1 / math.log(x)"),
        ("at input:tanh", "tanh", "(1 - t**2)", "(1 - x**2)"),
        ("at input:sigmoid", "sigmoid", "s * (1 - s)", "x * (1 - x)"),
        ("at input:sqrt", "sqrt", "0.5 / r", "0.5 / x"),
        ("other rule:tanh", "tanh", "(1 - t**2)", "t * (1 - t)"),
        ("other rule:sigmoid", "sigmoid", "s * (1 - s)", "(1 - s**2)"),
        ("other rule:gelu", "gelu", "(c + x *", "(c + 0 *"),
        ("sign:cos", "cos", "-math.sin(x)", "math.sin(x)"),
        ("sign:sin", "sin", "math.cos(x)", "-math.cos(x)"),
        ("not squared:tanh", "tanh", "(1 - t**2)", "(1 - t)"),
        ("gate open:relu", "relu", gate, "1.0"),
        ("gate at 0:relu", "relu", gate, "(1.0 if x >= 0 else 0.0)"),
        ("gate reversed:relu", "relu", gate, "(1.0 if x < 0 else 0.0)"),
        ("slope:leaky_relu", "leaky_relu", "(1.0 if x > 0 else 0.01)", "(1.0 if x > 0 else 0.0)"),
    )
    plants = [p for fault, op, old, new in edits for p in _everywhere(fault, op, old, new)]
    plants += _everywhere("at output:exp", "exp", "+= e", "+= _exp(e)", ["closures"])
    plants += _everywhere("at output:exp", "exp", "(self, e)", "(self, _exp(e))", ["tuples"])
    plants += _everywhere("at output:exp", "exp", "(e * grad,)", "(_exp(e) * grad,)", ["classes"])
    plants += _everywhere("at input:exp", "exp", "+= e", "+= x", ["closures"])
    plants += _everywhere("at input:exp", "exp", "(self, e)", "(self, x)", ["tuples"])
    plants += _everywhere("at input:exp", "exp", "(e * grad,)", "(x * grad,)", ["classes"])
    reads = "gate by gradient:relu"
    plants += _everywhere(reads, "relu", gate, "(1.0 if out.grad > 0 else 0.0)", ["closures"])
    plants += _everywhere(reads, "relu", gate, "(1.0 if grad > 0 else 0.0)", ["classes"])
    for style in STYLES:
        place = "Tanh.forward" if style == "classes" else "Value.tanh"
        plants.append(Plant("wrong value:tanh", style, ((place, "math.tanh(x)", "math.sinh(x)"),)))
    plants += _file(
        "wrong value:sigmoid",
        {style: [("return 1 / (1 + math.exp(-x))", "return 1 / (1 + math.exp(x))")] for style in STYLES},
    )  # fmt: skip
    return plants


def _passes() -> list[Plant]:
    """Mistakes in the backward pass."""
    plants: list[Plant] = []
    v = {"closures": "v", "tuples": "node", "classes": "node"}
    order = {"closures": "topo", "tuples": "order", "classes": "order"}
    has = {"closures": "_prev", "tuples": "_children", "classes": "ctx is not None"}
    for style in STYLES:
        n, o = v[style], order[style]
        inner = f"if {n}.{has[style]}:\n                {n}.grad = 0.0"
        zeroing = f"        for {n} in {o}:\n            {inner}\n"
        test = f"self.{has[style]}"
        seed = f"self.grad = 1.0 if {test} else self.grad + 1.0"
        seen = {"closures": "v not in visited", "tuples": "node not in seen",
                "classes": "id(node) not in seen"}[style]  # fmt: skip
        edits: dict[str, list[tuple[str, str]]] = {
            "forward order": [(f"reversed({o})", o)],
            "root only": [(f"reversed({o})", f"reversed({o}[-1:])")],
            "order": [(f"stack.append(({n}, True))", f"{o}.insert(0, {n})")],
            "no visited set": [(f"elif {seen}:", "else:")],
            "no seed": [(seed, "pass")],
            "seed is the data": [(seed, "self.grad = self.data")],
            "seed is 2": [(seed, "self.grad = 2.0")],
            "seed added": [(zeroing, ""), (seed, "self.grad += 1.0")],
            "stale": [(zeroing, "")],
            "leaves wiped": [(inner, f"{n}.grad = 0.0")],
            "seeded everywhere": [(inner, f"{n}.grad += 1.0")],
        }
        for fault, pairs in edits.items():
            all_edits = tuple([("Value.backward", old, new) for old, new in pairs])
            plants.append(Plant(fault, style, all_edits))
        plants.append(
            Plant(
                "order",
                style,
                (
                    ("Value.backward", f"stack.append(({n}, True))", f"{o}.insert(0, {n})"),
                    ("Value.backward", "stack.pop()", "stack.pop(0)"),
                ),
            )
        )
        guard = f"            elif {seen}:"
        hidden = "        self.grad = 0.0\n        self.backward = lambda: None\n"
        plants += [
            Plant("visited guards wrong line", style, (("Value.backward", guard, f"            elif {seen} or {o}.append({n}):"),)),
            Plant("hidden backward", style, (("Value.__init__", "        self.grad = 0.0\n", hidden),)),
        ]  # fmt: skip
    assigned = "assigned:all"
    plants += _file(assigned, {
        "closures": [("grad += ", "grad = ")],
        "tuples": [("child.grad += local", "child.grad = local")],
        "classes": [("parent.grad += grad", "parent.grad = grad")],
    })  # fmt: skip
    plants += _file("no upstream:all", {
        "closures": [(" * out.grad", "")],
        "tuples": [("local * node.grad", "local")],
        "classes": [("ctx.backward(node.grad)", "ctx.backward(1.0)")],
    })  # fmt: skip
    plants += _after(v, order, has)
    plants += _traversals()
    return plants


def _after(v: dict[str, str], order: dict[str, str], has: dict[str, str]) -> list[Plant]:
    """Gradients lost at the end of the pass."""
    plants = []
    last = {
        "closures": "            v._backward()\n",
        "tuples": "                child.grad += local * node.grad\n",
        "classes": "                    parent.grad += grad\n",
    }
    for style in STYLES:
        n, o = v[style], order[style]
        middle = f"{last[style]}        for {n} in {o}[:-1]:\n            if {n}.{has[style]}:\n                {n}.grad = 0.0\n"
        plants += [
            Plant("root gradient 0", style, (("Value.backward", last[style], f"{last[style]}        self.grad = 0.0\n"),)),
            Plant("middle gradients 0", style, (("Value.backward", last[style], middle),)),
        ]  # fmt: skip
    return plants


def _traversals() -> list[Plant]:
    body = "        order: list[Value] = []\n"
    recursive = (
        "        self.grad = 1.0\n        self._walk()\n\n"
        "    def _walk(self):\n        self._backward()\n        for c in self._prev:\n            c._walk()\n\n"
        "    def unused(self) -> None:\n        topo: list[Value] = []\n"
    )  # fmt: skip
    by_path = (
        "        self._give(1.0)\n\n    def _give(self, g):\n        self.grad += g\n"
        "        for c, local in self._children:\n            c._give(g * local)\n\n"
        f"    def unused(self) -> None:\n{body}"
    )
    default = (
        "        self._give()\n\n    def _give(self, g=1.0):\n        self.grad += g\n"
        "        for c, local in self._children:\n            c._give()\n\n"
        f"    def unused(self) -> None:\n{body}"
    )
    topo = "        topo: list[Value] = []\n"
    deep = (
        "        topo = []\n        seen = set()\n\n        def build(v):\n            if v not in seen:\n"
        "                seen.add(v)\n                for c in v._prev:\n                    build(c)\n"
        "                topo.append(v)\n\n        build(self)\n        for v in topo:\n            if v._prev:\n"
        "                v.grad = 0.0\n        self.grad = 1.0 if self._prev else self.grad + 1.0\n"
        "        for v in reversed(topo):\n            v._backward()\n\n"
        f"    def unused(self) -> None:\n{topo}"
    )
    init = "        self._children = _children\n"
    give = "            for child, local in node._children:\n                child.grad += local * node.grad\n"
    wiped = "            if node._children:\n                node.grad = 0.0\n"
    seed = "        self.grad = 1.0 if self._children else self.grad + 1.0\n"
    backward = "Value.backward"
    return [
        Plant("no visited set", "closures", ((backward, topo, recursive),)),
        Plant("every path", "tuples", ((backward, body, by_path),)),
        Plant("seeded everywhere", "tuples", ((backward, body, default),)),
        Plant("recursive", "closures", ((backward, topo, deep),)),
        Plant("flags kept", "closures", (
            ("Value.__init__", "        self.grad = 0.0\n", "        self.grad = 0.0\n        self.seen = False\n"),
            (backward, "elif v not in visited:", "elif not v.seen:"),
            (backward, "visited.add(v)", "v.seen = True"),
        )),
        Plant("flags kept", "tuples", (
            ("Value.__init__", "        self.grad = 0.0\n", "        self.grad = 0.0\n        self.seen = False\n"),
            (backward, "elif node not in seen:", "elif not node.seen:"),
            (backward, "seen.add(node)", "node.seen = True"),
        )),
        Plant("one consumer", "tuples", (
            ("Value.__init__", init, f"{init}        for c, local in _children:\n            c.user = (self, local)\n"),
            (backward, give, "            if node is not self:\n                user, local = node.user\n                node.grad += local * user.grad\n"),
        )),
        Plant("consumers leak", "tuples", (
            ("Value.__init__", init, f"{init}        self.users = []\n        for c, local in _children:\n            c.users.append((self, local))\n"),
            (backward, wiped, "            pass\n"),
            (backward, seed, "        self.grad = 1.0\n"),
            (backward, give, "            if node is not self:\n                node.grad = sum(local * user.grad for user, local in node.users)\n"),
        )),
        Plant("root by parent", "tuples", (
            ("Value.__init__", init, f"{init}        self.used = False\n        for c, local in _children:\n            c.used = True\n"),
            (backward, seed, "        for node in order:\n            if not node.used:\n                node.grad = 1.0\n"),
        )),
        Plant("root by parent", "closures", (
            ("Value.__init__", "        self._prev = _children\n", "        self._prev = _children\n        self.used = False\n        for c in _children:\n            c.used = True\n"),
            (backward, "        self.grad = 1.0 if self._prev else self.grad + 1.0\n", "        for v in topo:\n            if not v.used:\n                v.grad = 1.0\n"),
        )),
        Plant("late", "closures", (("Value.__mul__", "+= y *", "+= other.data *"), ("Value.__mul__", "+= x *", "+= self.data *"))),
    ]  # fmt: skip


def _python() -> list[Plant]:
    """Mistakes in Python rather than in mathematics."""
    plants: list[Plant] = []
    wrap = "        other = other if isinstance(other, Value) else Value(other)\n"
    for op in ("+", "*"):
        plants += _everywhere(f"constant:{op}", op, wrap, "", ["closures", "tuples"])
    plants += [
        Plant("constant in backward:*", "closures", (
            ("Value.__mul__", wrap, ""),
            ("Value.__mul__", "(self.data * other.data, (self, other), \"*\")",
             "(self.data * getattr(other, 'data', other), (self, other) if isinstance(other, Value) else (self,), \"*\")"),
            ("Value.__mul__", "x, y = self.data, other.data", "x, y = self.data, getattr(other, 'data', other)"),
        )),
        Plant("constant in backward:+", "closures", (
            ("Value.__add__", wrap, ""),
            ("Value.__add__", "(self.data + other.data, (self, other), \"+\")",
             "(self.data + getattr(other, 'data', other), (self, other) if isinstance(other, Value) else (self,), \"+\")"),
        )),
        Plant("isinstance swapped:*", "closures", (("Value.__mul__", "isinstance(other, Value)", "isinstance(Value, other)"),)),
        Plant("isinstance swapped:+", "tuples", (("Value.__add__", "isinstance(other, Value)", "isinstance(Value, other)"),)),
        Plant("number of arguments:relu", "closures", (("Value.relu", '(self,), "relu")', '(self,), "relu", 1)'),)),
        Plant("number of arguments:*", "tuples", (("Value.__mul__", "(other, x)))", "(other, x)), 1, 2)"),)),
        Plant("math of a value:tanh", "closures", (("Value.tanh", "math.tanh(x)", "math.tanh(self)"),)),
        Plant("math of a value:tanh", "tuples", (("Value.tanh", "math.tanh(x)", "math.tanh(self)"),)),
        Plant("math of a value:exp", "closures", (("Value.exp", "_exp(x)", "math.exp(self)"),)),
        Plant("truthy comparison", "tuples", (("Value.__lt__", "bool(self.data < getattr(other, \"data\", other))", "Value(float(self.data < other.data))"),)),
        Plant("truthy comparison", "closures", (("Value.__lt__", "bool(self.data < getattr(other, \"data\", other))", "Value(float(self.data < other.data))"),)),
        Plant("growing labels", "closures", (("Value.__init__", "self._op = _op", "self._op = _op + ''.join([c._op for c in _children]) + '?'"),)),
        Plant("annotation", "closures", (("", "from __future__ import annotations\n", ""),)),
    ]  # fmt: skip
    for style in STYLES:
        plants += [
            Plant("missing import", style, (("", "import math\n", ""),)),
            Plant("integer data", style, (("Value.__init__", "float(data)", "int(data)"),)),
            Plant("swapped:-", style, (("Value.__rsub__", "other + (-self)" if style == "closures" else "Value(other) - self", "self - other"),)),
            Plant("swapped:/", style, (("Value.__rtruediv__", "other * self**-1" if style == "closures" else "Value(other) / self", "self / other"),)),
            Plant("reflected:+", style, (("Value.__radd__", "self + other" if style == "closures" else "Value(other) + self", "self * other"),)),
            Plant("reflected:*", style, (("Value.__rmul__", "self * other" if style == "closures" else "Value(other) * self", "self + other"),)),
            Plant("reflected nothing:*", style, (("Value.__rmul__", "return ", "_ = "),)),
            Plant("reflected nothing:+", style, (("Value.__radd__", "return ", "_ = "),)),
            Plant("calls itself:*", style, (("Value.__rmul__", "self * other" if style == "closures" else "Value(other) * self", "other * self"),)),
            Plant("calls itself:+", style, (("Value.__radd__", "self + other" if style == "closures" else "Value(other) + self", "other + self"),)),
            Plant("overflow:sigmoid", style, (("_sigmoid", "    if x >= 0:\n        return 1 / (1 + math.exp(-x))\n    return math.exp(x) / (1 + math.exp(x))", "    return 1 / (1 + math.exp(-x))"),)),
        ]  # fmt: skip
        if style != "classes":  # its visited set keeps ids, so nothing is wrong there
            plants.append(Plant("unhashable", style, (("Value.__lt__", "    def __lt__", "    def __eq__(self, other):\n        return self.data == getattr(other, 'data', other)\n\n    def __lt__"),)))  # fmt: skip
    wrong = {
        "closures": ("self + (-other)", "self + other"),
        "tuples": ("Value(x - y,", "Value(x + y,"),
        "classes": ("self + (-other)", "self + other"),
    }
    return plants + _in_value("wrong value:-", "__sub__", wrong)


def _networks() -> list[Plant]:
    plants = []
    for style in STYLES:
        plants += [
            Plant("layers not chained", style, (("MLP.__call__", "            x = layer(x)\n        return x", "            out = layer(x)\n        return out"),)),
            Plant("layers not chained", style, (("MLP.__call__", "            x = layer(x)\n        return x", "            out = layer(x)\n        return out"),
                                                ("Neuron.__call__", ", strict=True", ""))),
            Plant("layer sizes", style, (("MLP.__init__", "Layer(sizes[i], ", "Layer(nin, "),)),
            Plant("layer sizes", style, (("MLP.__init__", "Layer(sizes[i], ", "Layer(nin, "), ("Neuron.__call__", ", strict=True", ""))),
            Plant("activation lost", style, (("Neuron.__call__", "return act.tanh() if self.nonlin else act", "act.tanh()\n        return act"),)),
            Plant("parameters without bias", style, (("Neuron.parameters", "[*self.w, self.b]", "[*self.w]"),)),
            Plant("parameters of a layer missing", style, (("MLP.parameters", "in self.layers for", "in self.layers[:-1] for"),)),
            Plant("parameters grow", style, (("Neuron.parameters", "return [*self.w, self.b]", "self.w.append(self.b)\n        return self.w"),)),
            Plant("zero_grad does nothing", style, (("Module.zero_grad", "p.grad = 0.0", "p = Value(0.0)"),)),
            Plant("zip cuts", style, (("Neuron.__call__", ", strict=True", ""),)),
        ]  # fmt: skip
    return plants


PLANTS: Final = (*_rules(), *_passes(), *_python(), *_networks())
"""All plants."""
