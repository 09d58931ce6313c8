"""The little language that cases are written in: a few statements of Python.

A case has to run on anybody's class, be shown to a learner, and be cut down to its
smallest failing part.  So it is text such as ::

    y = a * b + a
    y.backward()

which this module parses (with `ast`) and interprets statement by statement; the text
is never handed to Python to run.  Allowed are assignments, ``for _ in range(n)``, the
operators, calls of one-operand functions (``a.tanh()``), ``sum([...])``, ``float(...)``,
``.data`` and ``.grad``, and ``y.backward()``.
"""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable, Mapping
from functools import cache
from typing import Any, Final, Protocol

__all__ = ["BINARY", "NotOffered", "Shape", "execute", "parse", "read", "size"]


class NotOffered(Exception):
    """The engine has no such operation; the argument names it."""


class Shape(Protocol):
    """How to talk to an engine."""

    def make(self, number: float) -> Any:
        """A leaf."""

    def data(self, value: Any) -> Any:
        """Its number."""

    def grad(self, value: Any) -> Any:
        """Its gradient."""

    def set_data(self, value: Any, number: Any) -> None:
        """Change its number."""

    def set_grad(self, value: Any, number: Any) -> None:
        """Change its gradient."""

    def backward(self, value: Any) -> None:
        """Compute the gradients of everything below it."""

    def binary(self, symbol: str, a: Any, b: Any) -> Any:
        """Apply an operator."""

    def unary(self, name: str, a: Any) -> Any:
        """Apply a function, or ``neg``."""

    def is_value(self, thing: Any) -> bool:
        """Whether it is a node of this engine."""


BINARY: Final[Mapping[type[ast.operator], tuple[str, Callable[[Any, Any], Any]]]] = {
    ast.Add: ("+", operator.add),
    ast.Sub: ("-", operator.sub),
    ast.Mult: ("*", operator.mul),
    ast.Div: ("/", operator.truediv),
    ast.Pow: ("**", operator.pow),
}
"""Each operator of the language: its symbol, and what it does."""


@cache
def parse(text: str) -> ast.Module:
    """The statements of a program.

    Example:
        >>> len(parse("y = a + a").body)
        1
    """
    return ast.parse(text)


def size(text: str) -> int:
    """How many operations it takes to write a program: cases are sorted by it.

    Example:
        >>> size("y = a * b + a"), size("y = a.tanh()")
        (2, 1)
    """
    total = 0
    for node in ast.walk(parse(text)):
        if isinstance(node, ast.BinOp | ast.UnaryOp | ast.Call):
            total += 1
        elif isinstance(node, ast.For):
            total += 20
    return total - text.count(".backward()")


def execute(text: str, shape: Shape, inputs: Mapping[str, float]) -> dict[str, Any]:
    """Run a program on an engine.

    Args:
        text: the program.
        shape: how to talk to the engine.
        inputs: the leaves' names and numbers.

    Returns:
        What each name stands for at the end.
    """
    names: dict[str, Any] = {name: shape.make(number) for name, number in inputs.items()}
    _block(parse(text).body, shape, names)
    return names


def read(expression: str, shape: Shape, names: Mapping[str, Any]) -> Any:
    """The number that an expression such as ``a.grad`` has after a run."""
    statement = parse(expression).body[0]
    assert isinstance(statement, ast.Expr)
    return _value(statement.value, shape, dict(names))


def _block(statements: list[ast.stmt], shape: Shape, names: dict[str, Any]) -> None:
    for statement in statements:
        match statement:
            case ast.Assign(targets=[ast.Name(id=name)], value=value):
                names[name] = _value(value, shape, names)
            case ast.Assign(targets=[ast.Attribute(value=ast.Name(id=name), attr=attr)]):
                number = _value(statement.value, shape, names)
                change = shape.set_data if attr == "data" else shape.set_grad
                change(names[name], number)
            case ast.For(iter=ast.Call(args=[ast.Constant(value=int(times))])):
                for _ in range(times):
                    _block(statement.body, shape, names)
            case ast.Expr(
                value=ast.Call(func=ast.Attribute(value=ast.Name(id=name), attr="backward"))
            ):
                shape.backward(names[name])
            case _:
                raise ValueError(f"not in the language of cases: {ast.unparse(statement)}")


def _value(node: ast.expr, shape: Shape, names: dict[str, Any]) -> Any:
    match node:
        case ast.Name(id=name):
            return names[name]
        case ast.Constant(value=value):
            return value
        case ast.BinOp(left=left, op=op, right=right):
            a, b = _value(left, shape, names), _value(right, shape, names)
            symbol, plain = BINARY[type(op)]
            if shape.is_value(a) or shape.is_value(b):
                return shape.binary(symbol, a, b)
            return plain(a, b)
        case ast.UnaryOp(op=ast.USub(), operand=operand):
            a = _value(operand, shape, names)
            return shape.unary("neg", a) if shape.is_value(a) else -a
        case ast.Attribute(value=owner, attr="data"):
            return shape.data(_value(owner, shape, names))
        case ast.Attribute(value=owner, attr="grad"):
            return shape.grad(_value(owner, shape, names))
        case ast.Call(func=ast.Name(id="sum"), args=[ast.List(elts=items)]):
            total: Any = 0
            for item in items:
                total = shape.binary("+", total, _value(item, shape, names))
            return total
        case ast.Call(func=ast.Name(id="truth"), args=[ast.Compare() as compare]):
            a = _value(compare.left, shape, names)
            b = _value(compare.comparators[0], shape, names)
            return float(bool(shape.binary("<", a, b)))
        case ast.Call(func=ast.Attribute(value=owner, attr=name)):
            return shape.unary(name, _value(owner, shape, names))
    raise ValueError(f"not in the language of cases: {ast.unparse(node)}")
