"""Cut a failing program down to its smallest failing part."""

from __future__ import annotations

import ast
import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from typing import Any

from chainrule.conformance.cases import Case, expected
from chainrule.conformance.program import parse, size

__all__ = ["shrink"]


def shrink(case: Case, fails: Callable[[Case], bool], point: int = 0, tries: int = 150) -> Case:
    """The smallest case that still fails.

    Args:
        case: one that fails.
        fails: whether another case fails too.
        point: at which of its points it fails.
        tries: at most so many cases are tried.

    Returns:
        The smallest one found; it has one point.
    """
    best = replace(case, points=(case.points[point],))
    body = parse(case.program).body
    straight = all(
        isinstance(s, ast.Assign) and isinstance(s.targets[0], ast.Name) for s in body[:-1]
    )
    if not straight or not case.program.endswith("\ny.backward()"):
        return best
    improved = True
    while improved and tries > 0:
        improved = False
        for candidate in _smaller(best):
            tries -= 1
            if _sound(candidate) and fails(candidate):
                best, improved = candidate, True
                break
            if tries <= 0:
                break
    return best


def _sound(case: Case) -> bool:
    try:
        return all(math.isfinite(x) for x in expected(case)[0])
    except (KeyError, ValueError):
        return False


def _smaller(case: Case) -> Iterator[Case]:
    """Cases with one operation less, then with rounder numbers."""
    tree = parse(case.program)
    for i, statement in enumerate(tree.body[:-1]):
        assert isinstance(statement, ast.Assign)
        for operand in _operands(statement.value):
            yield _without(case, i, operand)
        for j in range(len(list(_inner(statement.value)))):
            for k in range(2):
                changed = _simplified(statement.value, j, k)
                if changed is not None:
                    yield _without(case, i, None, changed)
    for name, number in case.points[0].items():
        for rounder in (float(round(number)), round(number, 1)):
            if rounder not in (number, 0.0):
                yield replace(case, points=({**case.points[0], name: rounder},))


def _operands(value: ast.expr) -> Iterator[ast.expr]:
    """What may stand in an operation's place."""
    match value:
        case ast.BinOp(left=left, right=right):
            yield from (x for x in (left, right) if not isinstance(x, ast.Constant))
        case ast.UnaryOp(operand=operand):
            yield operand
        case ast.Call(func=ast.Attribute(value=owner)):
            yield owner


def _inner(value: ast.expr) -> Iterator[ast.expr]:
    """Operations within an expression."""
    for node in ast.walk(value):
        if node is not value and isinstance(node, ast.BinOp | ast.UnaryOp | ast.Call):
            yield node


def _simplified(value: ast.expr, place: int, which: int) -> ast.expr | None:
    """The expression with one of its inner operations replaced by an operand of it."""
    copied = ast.parse(ast.unparse(value)).body[0]
    assert isinstance(copied, ast.Expr)
    target = list(_inner(copied.value))[place]
    choices = list(_operands(target))
    if which >= len(choices):
        return None
    _Replace(target, choices[which]).visit(copied)
    return copied.value


class _Replace(ast.NodeTransformer):
    def __init__(self, old: ast.AST, new: ast.expr) -> None:
        self.old = old
        self.new = new

    def visit(self, node: ast.AST) -> Any:
        return self.new if node is self.old else self.generic_visit(node)


class _Rename(ast.NodeTransformer):
    def __init__(self, name: str, value: ast.expr) -> None:
        self.name = name
        self.value = value

    def visit_Name(self, node: ast.Name) -> ast.AST:
        return self.value if node.id == self.name else node


def _without(case: Case, i: int, operand: ast.expr | None, changed: ast.expr | None = None) -> Case:
    """The case with statement ``i`` replaced by its operand, or by another expression."""
    body = ast.parse(case.program).body
    statement = body[i]
    assert isinstance(statement, ast.Assign)
    target = statement.targets[0]
    assert isinstance(target, ast.Name)
    if changed is not None:
        statement.value = changed
    elif target.id == "y" or not isinstance(operand, ast.Name):
        assert operand is not None
        statement.value = operand
    else:
        rename = _Rename(target.id, operand)
        body = [rename.visit(s) for s in body[:i] + body[i + 1 :]]
    return _pruned(case, body)


def _pruned(case: Case, body: list[ast.stmt]) -> Case:
    """Without statements and inputs that the result does not need."""
    needed = {"y"}
    kept: list[ast.stmt] = []
    for statement in reversed(body):
        if isinstance(statement, ast.Assign):
            assert isinstance(statement.targets[0], ast.Name)
            if statement.targets[0].id not in needed:
                continue
            needed |= {n.id for n in ast.walk(statement.value) if isinstance(n, ast.Name)}
        kept.append(statement)
    text = "\n".join([ast.unparse(statement) for statement in reversed(kept)])
    point: Mapping[str, float] = {k: v for k, v in case.points[0].items() if k in needed}
    watch = ("y.data", *[f"{name}.grad" for name in point])
    return replace(case, program=text, points=(point,), watch=watch, size=size(text))
