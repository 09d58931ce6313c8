"""Calling a function under test and its gradient, whoever wrote them.

Everything that goes in and comes out is brought down to flat lists of floats here,
with a name for each.
"""

from __future__ import annotations

import inspect
import math
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, nullcontext
from typing import Any, Final

from chainrule.errors import ChainruleError, NotANumberError, ShapeError, describe
from chainrule.modes import no_grad
from chainrule.structure import Structure, flatten
from chainrule.transforms import jvp, value_and_grad
from chainrule.value import Value

__all__ = [
    "evaluator",
    "foreign_gradient",
    "names_of",
    "on_floats",
    "own_gradients",
    "quiet",
    "quietly",
]

Evaluate = Callable[[list[float]], float]
_REFUSALS: Final = (ArithmeticError, AttributeError, TypeError, ValueError, ChainruleError)
"""What a function raises on plain floats that it does not raise on values."""


def names_of(f: Callable[..., Any], point: tuple[Any, ...]) -> list[str]:
    """A name for each number in the arguments, such as ``"w[1]"``."""
    try:
        parameters = list(inspect.signature(f).parameters.values())
    except (TypeError, ValueError):  # built-in functions need not have a signature
        parameters = []
    plain = [p.name for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    found: list[str] = []
    for i, tree in enumerate(point):
        found += _leaf_names(plain[i] if i < len(plain) else f"argument {i}", tree)
    return found


def _leaf_names(name: str, tree: Any) -> Iterator[str]:
    if isinstance(tree, Mapping):
        for key, part in tree.items():
            yield from _leaf_names(f"{name}[{key!r}]", part)
    elif isinstance(tree, (list, tuple)):
        for i, part in enumerate(tree):
            yield from _leaf_names(f"{name}[{i}]", part)
    elif getattr(tree, "ndim", 0):
        for i in range(len(tree)):
            yield from _leaf_names(f"{name}[{i}]", tree[i])
    else:
        yield name


# --- the function -----------------------------------------------------------------------------


def evaluator(f: Callable[..., Any], structure: Structure, values: bool) -> Evaluate:
    """The function as one of a list of floats.

    One of this package is called with `Value`s, so that it may use their methods; any
    other with plain numbers.
    """

    def evaluate(xs: list[float]) -> float:
        if not values:
            return _as_number(f(*structure.fill(xs)))
        with no_grad():
            leaves, shape = flatten(f(*structure.fill(map(Value, xs))), "the function's result")
            if shape.size != 1:
                raise _several(shape)
            return float(leaves[0])

    return evaluate


def on_floats(
    f: Callable[..., Any], structure: Structure, xs: list[float], value: float
) -> Evaluate | None:
    """A function of this package on plain floats, which is many times faster.

    None if it gives something else on them than its value at the point, or refuses them
    because it uses methods of values.  Away from the point it may still differ: floats have
    rules of their own (``1.0 / 0.0`` raises).
    """
    plain = evaluator(f, structure, values=False)

    def evaluate(xs: list[float]) -> float:
        with no_grad():  # it may hold values of its own
            try:
                return plain(xs)
            except _REFUSALS:
                return math.nan

    return evaluate if math.isclose(evaluate(xs), value, rel_tol=1e-12) else None


def quiet(evaluate: Evaluate, xs: list[float]) -> float:
    """Evaluate away from the point: where a function refuses to, it is ``nan``."""
    try:
        return evaluate(xs)
    except (ArithmeticError, ValueError):  # math.log(-1.0), say
        return math.nan


def quietly() -> AbstractContextManager[Any]:
    """Keep NumPy from warning about what differences meet beyond the edge of a domain."""
    numpy = sys.modules.get("numpy")
    return nullcontext() if numpy is None else numpy.errstate(all="ignore")


def _as_number(y: Any) -> float:
    if isinstance(y, complex) or getattr(getattr(y, "dtype", None), "kind", "") == "c":
        return math.nan  # a negative number to a broken power
    if math.prod(getattr(y, "shape", ())) != 1:
        raise _several(f"an array of shape {tuple(y.shape)}")
    try:
        return float(y.item() if hasattr(y, "item") else y)
    except (TypeError, ValueError):
        raise NotANumberError(
            f"the function's result must be one number; got {describe(y)}"
        ) from None


def _several(what: Structure | str) -> ShapeError:
    return ShapeError(
        f"check_gradients needs a function that returns one number; this one returned {what}. "
        "Check one output at a time, or a weighted sum of them."
    )


# --- its gradient -----------------------------------------------------------------------------


def own_gradients(
    f: Callable[..., Any], structure: Structure, xs: list[float], plain: bool
) -> tuple[list[float], list[float | None]]:
    """The gradient by reverse mode, and by forward mode.

    With ``plain``, all inputs but the one at hand may be floats: forward mode is faster then.
    """

    def g(numbers: list[Any]) -> Any:
        return f(*structure.fill(numbers))

    _, reverse = value_and_grad(g)(xs)
    forward: list[float | None] = []
    for i in range(len(xs)):
        if plain:
            _, slope = jvp(lambda x, i=i: g([*xs[:i], x, *xs[i + 1 :]]), [xs[i]], [1.0])
        else:
            _, slope = jvp(g, [xs], [[float(i == j) for j in range(len(xs))]])
        forward.append(flatten(slope, "the derivative")[0][0])
    return reverse, forward


def foreign_gradient(
    gradient: Callable[..., Any], structure: Structure, xs: list[float], point: tuple[Any, ...]
) -> list[float]:
    """What a given gradient function returns, as a flat list in the order of the inputs."""
    found = gradient(*structure.fill(xs))
    if len(point) == 1:
        only = point[0]
        alike = isinstance(only, (list, tuple)) and len(only) == 1
        if isinstance(found, tuple) and len(found) == 1 and not alike:
            (found,) = found  # as torch.autograd.grad returns it
        return list(_matched(found, only, "the gradient"))
    if not isinstance(found, (list, tuple)) or len(found) != len(point):
        raise ShapeError(
            f"for a function of {len(point)} arguments the gradient must be a tuple or list of "
            f"{len(point)} entries; got {describe(found)}"
        )
    return [
        x
        for i, (part, argument) in enumerate(zip(found, point, strict=True))
        for x in _matched(part, argument, f"the gradient by argument {i}")
    ]


def _matched(found: Any, like: Any, what: str) -> Iterator[float]:
    """The numbers of a gradient, part by part as in the argument that it belongs to."""
    if isinstance(like, Mapping):
        if not isinstance(found, Mapping) or set(found) != set(like):
            raise ShapeError(
                f"{what} must be a dict with the keys {list(like)}; got {describe(found)}"
            )
        for key, part in like.items():
            yield from _matched(found[key], part, f"{what}[{key!r}]")
        return
    if getattr(like, "ndim", 0):
        like = like.tolist()
    if isinstance(like, (list, tuple)):
        parts = found.tolist() if hasattr(found, "tolist") else found
        if not isinstance(parts, (list, tuple)) or len(parts) != len(like):
            raise ShapeError(
                f"{what} must hold {len(like)} entries, as its argument does; got {describe(found)}"
            )
        for i, (part, other) in enumerate(zip(parts, like, strict=True)):
            yield from _matched(part, other, f"{what}[{i}]")
        return
    try:
        yield float(found.item() if hasattr(found, "item") else found)
    except (TypeError, ValueError, RuntimeError):  # what float() raises differs with the library
        raise NotANumberError(f"{what} must be one number; got {describe(found)}") from None
