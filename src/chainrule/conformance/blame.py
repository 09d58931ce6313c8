"""Which lines of the learner's file are to blame: read from the source, without running it."""

from __future__ import annotations

import ast
import difflib
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from chainrule.conformance.adapter import FUNCTIONS
from chainrule.conformance.faults import fault_of, methods_of
from chainrule.conformance.networks import NAMES

__all__ = ["Finding", "find_engine", "is_plausible", "line_of", "static_findings"]

DUNDERS: Final = frozenset(
    f"__{name}__"
    for name in [
        "init", "new", "del", "repr", "str", "bytes", "format", "lt", "le", "eq", "ne", "gt",
        "ge", "hash", "bool", "getattr", "getattribute", "setattr", "delattr", "dir", "get",
        "set", "delete", "set_name", "init_subclass", "class_getitem", "call", "len",
        "length_hint", "getitem", "setitem", "delitem", "missing", "iter", "reversed", "contains",
        "add", "sub", "mul", "matmul", "truediv", "floordiv", "mod", "divmod", "pow", "lshift",
        "rshift", "and", "xor", "or", "radd", "rsub", "rmul", "rmatmul", "rtruediv", "rfloordiv",
        "rmod", "rdivmod", "rpow", "rlshift", "rrshift", "rand", "rxor", "ror", "iadd", "isub",
        "imul", "imatmul", "itruediv", "ifloordiv", "imod", "ipow", "ilshift", "irshift", "iand",
        "ixor", "ior", "neg", "pos", "abs", "invert", "complex", "int", "float", "index", "round",
        "trunc", "floor", "ceil", "enter", "exit", "await", "aiter", "anext", "aenter", "aexit",
        "post_init", "copy", "deepcopy", "reduce", "reduce_ex", "getstate", "setstate", "slots",
        "match_args", "doc", "array_priority", "array_ufunc", "array", "sizeof", "module", "dict",
        "name", "qualname", "annotations",
    ]
)  # fmt: skip
"""The special methods that Python knows."""

MATH: Final = re.compile(r"__?(exp|sqrt|tanh|log|sigmoid|relu|sin|cos|power|backward)_{0,2}")


IMPORTED: Final = re.compile(r"value|scalar|variable|var|node|tensor", re.IGNORECASE)
"""What an engine is called that a file imports from the file beside it."""


@dataclass(frozen=True)
class Finding:
    """A mistake that the source itself shows.

    Attributes:
        line: where.
        title: what.
        hint: where to look.
        fix: how to mend it.
    """

    line: int
    title: str
    hint: str
    fix: str


def find_engine(tree: ast.Module) -> str:
    r"""The class that looks most like an engine: the one with most operators.

    Args:
        tree: the learner's file.

    Returns:
        Its name; "" if no class has any.

    Example:
        >>> text = "class A: pass\nclass B:\n    def __add__(self, other): pass"
        >>> find_engine(ast.parse(text))
        'B'
    """
    classes = {node.name: node for node in tree.body if isinstance(node, ast.ClassDef)}
    wanted = {"__add__", "__mul__", "__pow__", "__neg__", "__radd__", "__truediv__", "__sub__"}
    wanted |= {"backward", "relu", "tanh", "__rmul__", "sigmoid", "exp"}

    def score(node: ast.ClassDef) -> int:
        own = len(wanted & {f.name for f in _functions(node)})
        bases = [classes[b.id] for b in node.bases if isinstance(b, ast.Name) and b.id in classes]
        return own + sum(score(base) for base in bases if base is not node)

    best = max(reversed(classes.values()), key=score, default=None)
    if best is not None and _operators(best, classes):
        return best.name
    imported = [
        alias.asname or alias.name
        for node in tree.body
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    ]
    return next((name for name in imported if IMPORTED.fullmatch(name)), "")


def _operators(node: ast.ClassDef, classes: dict[str, ast.ClassDef]) -> bool:
    names = {f.name for f in _functions(node)}
    if names & {"__add__", "__mul__"}:
        return True
    bases = [b.id for b in node.bases if isinstance(b, ast.Name)]
    return any(_operators(classes[b], classes) for b in bases if b in classes and b != node.name)


def _functions(node: ast.ClassDef) -> Iterator[ast.FunctionDef]:
    for child in node.body:
        if isinstance(child, ast.FunctionDef):
            yield child


def line_of(tree: ast.Module, class_name: str, fault: str, backward: str, grad: str) -> int:
    """The line most likely to blame for a mistake.

    Args:
        tree: the learner's file.
        class_name: the engine in it.
        fault: the mistake.
        backward: what the backward pass is called.
        grad: what the gradient is called.

    Returns:
        The line; 0 if the file has no such method.
    """
    for wanted in methods_of(fault):
        kind, dot, name = wanted.rpartition(".")
        name = backward if name == "backward" and backward else name
        node = _definition(tree, name, class_name, NAMES[kind] if dot else None)
        if node is not None:
            return _line_in(node, fault, grad)
    return 0


def _definition(
    tree: ast.Module, name: str, class_name: str, kind: re.Pattern[str] | None
) -> ast.FunctionDef | None:
    spellings = {name, *FUNCTIONS.get(name, ())}
    found = None
    for node in ast.walk(tree):
        if isinstance(node, ast.ClassDef):
            fits = kind.search(node.name) if kind else node.name == class_name
            if fits or (name == "zero_grad" and not kind):
                for function in _functions(node):
                    if function.name in spellings:
                        found = function
    if found is None and kind is None:
        for statement in tree.body:
            if isinstance(statement, ast.FunctionDef) and statement.name in spellings:
                found = statement
    return found


def _line_in(node: ast.FunctionDef, fault: str, grad: str) -> int:
    """Within a method, the statement that the mistake is about."""
    kind = fault.partition(":")[0]
    for inner in ast.walk(node):
        if not isinstance(inner, ast.stmt):
            continue
        targets: Sequence[ast.expr] = ()
        if isinstance(inner, ast.Assign):
            targets = inner.targets
        elif isinstance(inner, ast.AugAssign):
            targets = [inner.target]
        gradient = any(isinstance(t, ast.Attribute) and t.attr == grad for t in targets)
        match kind:
            case "assigned" if gradient and isinstance(inner, ast.Assign):
                return inner.lineno
            case "forward order" | "root only" if isinstance(inner, ast.For):
                return inner.lineno
            case "closure called" if (
                isinstance(inner, ast.Assign)
                and isinstance(inner.value, ast.Call)
                and "backward" in ast.unparse(inner.targets[0])
            ):
                return inner.lineno
            case (
                "no upstream" | "own factor" | "grad for data" | "sign" | "at output" | "at input"
                | "other rule" | "no coefficient" | "exponent kept" | "gate open" | "gate at 0"
                | "gate by gradient" | "gate reversed" | "slope" | "not squared" | "seed added"
                | "seed is 2" | "seed is the data" | "leaves wiped" | "value as gradient"
            ) if gradient:  # fmt: skip
                return inner.lineno
    results = [inner.lineno for inner in ast.walk(node) if isinstance(inner, ast.Return)]
    if results and fault_of(fault).stage == 2 and "grad" not in ast.unparse(node):
        return results[-1]  # a rule that stands in the result itself
    return node.lineno


def is_plausible(tree: ast.Module, class_name: str, fault: str, backward: str) -> bool:
    """Whether a mistake can be in the source, as far as reading it tells.

    Args:
        tree: the learner's file.
        class_name: the engine in it.
        fault: the mistake.
        backward: what the backward pass is called.
    """
    start = _definition(tree, "__init__", class_name, None)
    hides = start is not None and f"self.{backward} = " in ast.unparse(start)
    node = _definition(tree, backward, class_name, None)
    text = ast.unparse(node) if node is not None else ""
    loops = "for " in text or "while " in text
    reverses = "reversed(" in text or "[::-1]" in text or ".reverse()" in text
    kind, _, op = fault.partition(":")
    if kind == "assigned":
        if op == "all":
            names = ("+", "*", "**", "relu", "tanh", "exp", "sigmoid")
            methods = [m for name in names for m in methods_of(f"assigned:{name}")]
            rules = [_definition(tree, name, class_name, None) for name in methods]
            return _assigns(node) or sum(map(_assigns, rules)) > 1
        rules = [_definition(tree, name, class_name, None) for name in methods_of(fault)]
        return any(_assigns(rule) for rule in rules)
    match fault:
        case "hidden backward":
            return hides
        case "no seed":
            return not hides
        case "forward order":
            return loops and not reverses
        case "root only":
            return reverses or not loops
        case "one consumer":
            return _links_back(tree)
        case "growing labels":
            return start is not None and "join" in ast.unparse(start)
    return True


def _links_back(tree: ast.Module) -> bool:
    """Whether something is stored in another node than the new one, its gradient left aside."""
    return any(
        isinstance(target, ast.Attribute)
        and isinstance(target.value, ast.Name)
        and target.value.id not in ("self", "out", "result", "res", "new")
        and "grad" not in target.attr
        for node in ast.walk(tree)
        if isinstance(node, ast.Assign)
        for target in node.targets
    )


def _assigns(node: ast.FunctionDef | None) -> bool:
    """Whether a gradient is set there to something computed."""
    return node is not None and any(
        isinstance(inner, ast.Assign)
        and isinstance(inner.targets[0], ast.Attribute)
        and "grad" in ast.unparse(inner.value)
        for inner in ast.walk(node)
    )


def static_findings(tree: ast.Module, class_name: str) -> list[Finding]:
    """Mistakes that the source itself shows: names that Python does not know."""
    found = []
    engine = next(
        (n for n in tree.body if isinstance(n, ast.ClassDef) and n.name == class_name), None
    )
    if engine is not None:
        for function in _functions(engine):
            name = function.name
            if name in DUNDERS or not name.startswith("__") or name == "__":
                continue
            finished = name.endswith("__")
            near = difflib.get_close_matches(f"{name.rstrip('_')}__", sorted(DUNDERS), 1, 0.85)
            plain = MATH.fullmatch(name)
            if not finished and not near and not plain:
                continue  # a private helper
            if plain:
                advice = f"Call it `{plain[1]}`: Python gives `{name}` no meaning."
            elif near:
                advice = f"Python knows `{near[0]}`."
            else:
                advice = "Give it a plain name, without underscores."
            found.append(
                Finding(
                    function.lineno,
                    f"`{name}` is no special method of Python, so no operator ever calls it",
                    "Which operator or function should reach this method, and under which name?",
                    advice,
                )
            )
    return found
