"""Calling a function under test and its gradient, whoever wrote them.

Everything that goes in and comes out is brought down to flat lists of floats here,
with a name for each.
"""

from __future__ import annotations

import inspect
import math
import sys
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import Any

from chainrule.errors import NotANumberError, ShapeError, describe
from chainrule.modes import no_grad
from chainrule.structure import Structure, flatten
from chainrule.transforms import jvp, value_and_grad
from chainrule.value import Value

__all__ = [
    "evaluator",
    "foreign_gradient",
    "names_of",
    "own_gradients",
    "quiet",
    "quietly",
    "takes_floats",
]

Evaluate = Callable[[list[float], Collection[int] | None], float]
"""The function of a list of floats, and of the places in it that move (None for all)."""
REFUSALS = (ArithmeticError, AttributeError, TypeError, ValueError)
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


def evaluator(f: Callable[..., Any], structure: Structure, own: bool) -> Evaluate:
    """The function as one of a list of floats.

    One of this package is called with `Value`s where the input moves and with floats
    elsewhere, which is many times faster; any other with plain numbers only.  The moving
    ones are values because floats have other rules (``1.0 / 0.0`` raises, and a negative
    number to a broken power is complex).
    """

    def evaluate(xs: list[float], moving: Collection[int] | None = None) -> float:
        if not own:
            return _as_number(f(*structure.fill(xs)))
        fed: list[Any] = list(map(Value, xs)) if moving is None else list(xs)
        for i in moving or ():
            fed[i] = Value(xs[i])
        with no_grad():
            leaves, shape = flatten(f(*structure.fill(fed)), "the function's result")
            if shape.size != 1:
                raise _several(shape)
            return float(leaves[0])

    return evaluate


def takes_floats(evaluate: Evaluate, xs: list[float], i: int, value: float) -> bool:
    """Whether the function gives the same if all inputs but one are plain floats."""
    try:
        return math.isclose(evaluate(xs, (i,)), value, rel_tol=1e-12)
    except REFUSALS:  # it uses methods of values, say
        return False


def quiet(evaluate: Evaluate, xs: list[float], moving: Collection[int] | None = None) -> float:
    """Evaluate away from the point: where a function refuses to, it is ``nan``."""
    if moving is not None:
        try:
            return evaluate(xs, moving)
        except REFUSALS:
            pass  # a branch that needs values
    try:
        return evaluate(xs, None)
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
    f: Callable[..., Any], structure: Structure, xs: list[float], plain: Sequence[bool]
) -> tuple[list[float], list[float | None]]:
    """The gradient by reverse mode, and by forward mode.

    ``plain`` tells for each input whether the others may be plain floats.
    """

    def g(numbers: list[Any]) -> Any:
        return f(*structure.fill(numbers))

    _, reverse = value_and_grad(g)(xs)
    forward: list[float | None] = []
    for i in range(len(xs)):
        if plain[i]:
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
