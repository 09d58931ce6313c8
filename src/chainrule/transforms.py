"""Derivatives of functions: `grad`, `jvp`, `vjp`, `jacobian`, `hessian` and more.

Each transform takes a function and gives a function (or its result), reads and
writes nobody's ``.grad``, and can be nested to any order in any mix of modes.

Reverse mode (`grad`, `vjp`) runs the function on `Value`s and goes back through
the graph.  Forward mode (`jvp`) runs it on `Dual`s.  `hessian` and `hvp` run
forward mode through reverse mode, one pass per direction (Pearlmutter, "Fast
exact multiplication by the Hessian", 1994).

Arguments are numbers, or lists, tuples, dicts or NumPy arrays of numbers; results
have the same structure.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import wraps
from typing import Any, Final

from chainrule.dual import Dual, new_level
from chainrule.errors import GraphError, OptionError, ShapeError, describe
from chainrule.modes import MODES, counting, misplaced
from chainrule.operation import NO_EDGE, ROWS
from chainrule.options import function
from chainrule.structure import Structure, flatten, matching
from chainrule.value import _NO_GRAPH, Value, partial_derivatives, topological_order

__all__ = [
    "PassCount",
    "count_passes",
    "grad",
    "gradients",
    "hessian",
    "hvp",
    "jacobian",
    "jvp",
    "value_and_grad",
    "vjp",
]


# --- reverse mode -------------------------------------------------------------------------------


def gradients(output: Value, inputs: Sequence[Value]) -> list[Value]:
    """The derivatives of one value by others, as values with graphs of their own.

    They can be differentiated again, by `gradients` or by ``backward()``.  No
    ``grad`` is read or written.

    Args:
        output: the value to differentiate.
        inputs: the values to differentiate by, leaves or intermediate ones.

    Returns:
        One `Value` per input; 0.0 where ``output`` does not depend on it.

    Raises:
        GraphError: a value on the way had its ``data`` changed after the graph
            was built, or comes from a hand-made operation, whose rule cannot be
            differentiated again; or ``output`` was made under `no_grad`.

    Example:
        >>> x = Value(2.0)
        >>> (first,) = gradients(x**3, [x])
        >>> (second,) = gradients(first, [x])
        >>> first.data, second.data
        (12.0, 12.0)
    """
    _not_while_tracing()
    for x in (output, *inputs):
        if not isinstance(x, Value):
            raise GraphError(
                f"gradients(output, inputs) takes Values; got {describe(x)}. "
                "For a function of plain numbers use grad(f)(x)."
            )
    if output._more is _NO_GRAPH:
        raise GraphError(
            "gradients() was asked about a value made under no_grad(), which keeps no graph. "
            "Compute it outside the no_grad() block."
        )
    found = pull_back([output], [1.0], inputs, graph=True)
    return [x if isinstance(x, Value) else Value(x) for x in found]


def grad(f: Callable[..., Any], argnums: int | Sequence[int] = 0) -> Callable[..., Any]:
    """The gradient of a function with one output, by reverse mode.

    Args:
        f: a function of numbers (or lists, tuples, dicts, arrays of numbers) that
            returns one number.
        argnums: by which positional argument to differentiate; several for a tuple
            of gradients.

    Returns:
        A function of the same arguments that returns the gradient, in the structure
        of the argument.

    Raises:
        ShapeError: when called, if ``f`` returns more than one number.

    Example:
        >>> grad(lambda x: x[0] * x[1])([2.0, 3.0])
        [3.0, 2.0]
        >>> grad(grad(lambda x: x**3))(2.0)
        12.0
    """
    function("grad needs a function of numbers", f)
    both = value_and_grad(f, argnums)

    @wraps(f)
    def gradient(*arguments: Any, **options: Any) -> Any:
        return both(*arguments, **options)[1]

    return gradient


def value_and_grad(f: Callable[..., Any], argnums: int | Sequence[int] = 0) -> Callable[..., Any]:
    """The value of a function and its gradient, from one run.

    Args:
        f: as for `grad`.
        argnums: as for `grad`.

    Returns:
        A function of the same arguments that returns ``(value, gradient)``.

    Example:
        >>> value_and_grad(lambda x: x**2)(3.0)
        (9.0, 6.0)
    """
    function("value_and_grad needs a function of numbers", f)

    @wraps(f)
    def value_and_gradient(*arguments: Any, **options: Any) -> tuple[Any, Any]:
        chosen = _chosen(argnums, len(arguments))
        run = _Run(
            lambda *xs: f(*_replaced(arguments, chosen, xs), **options),
            [arguments[i] for i in chosen],
        )
        if run.structure.size != 1:
            raise ShapeError(
                f"grad needs a function that returns one number; this one returned "
                f"{run.structure}. Use jacobian, or sum the outputs."
            )
        found = run.pull([1.0])
        return run.value(), found[0] if isinstance(argnums, int) else tuple(found)

    return value_and_gradient


def vjp(f: Callable[..., Any], *primals: Any) -> tuple[Any, Callable[[Any], tuple[Any, ...]]]:
    """Run a function once; pull any number of cotangents back through it (reverse mode).

    Args:
        f: a function of numbers that returns a number or a structure of numbers.
        *primals: its arguments.

    Returns:
        ``(value, pull)``, where ``pull(cotangent)`` takes a weight for each output, in
        the structure of the value, and returns a tuple with the gradient of the
        weighted sum of the outputs by each argument.

    Example:
        >>> value, pull = vjp(lambda x, y: [x * y, x + y], 2.0, 3.0)
        >>> value
        [6.0, 5.0]
        >>> pull([1.0, 10.0])
        (13.0, 12.0)
    """
    function("vjp needs a function of numbers", f)
    run = _Run(f, list(primals))

    def pull(cotangent: Any) -> tuple[Any, ...]:
        return tuple(run.pull(matching(cotangent, run.structure, "the cotangent", "the value")))

    return run.value(), pull


class _Run:
    """One run of a function on values of its own, ready to be differentiated."""

    def __init__(self, f: Callable[..., Any], arguments: list[Any]) -> None:
        _not_while_tracing()
        flat = [flatten(x, f"argument {i}") for i, x in enumerate(arguments)]
        self.shapes: list[Structure] = [structure for _, structure in flat]
        # A result must be differentiable again if somebody outside is differentiating
        # too: a transform around this one, or the giver of a Value.
        self.graph = _running.depth > 0 or any(
            _holds_value(x) for leaves, _ in flat for x in leaves
        )
        self.leaves: list[Value] = []
        fed = []
        for leaves, structure in flat:
            fed.append(structure.fill([self._lift(x) for x in leaves]))
        with _deeper():
            outputs, self.structure = flatten(f(*fed), "the function's result")
        self.outputs: list[Any] = outputs

    def _lift(self, x: Any) -> Any:
        """What the function is fed instead of ``x``: a node that only this run knows."""
        if isinstance(x, Dual):
            return Dual(self._lift(x.primal), x.tangent, x.level)
        leaf = 1.0 * x if isinstance(x, Value) else Value(x)
        self.leaves.append(leaf)
        return leaf

    def value(self) -> Any:
        if self.graph:
            return self.structure.fill(self.outputs)
        return self.structure.fill([_plain(x) for x in self.outputs])

    def pull(self, seeds: list[Any]) -> list[Any]:
        graph = self.graph or any(_holds_value(x) for x in seeds)
        with _deeper():
            found = iter(pull_back(self.outputs, seeds, self.leaves, graph=graph, private=True))
        return [shape._fill(found) for shape in self.shapes]


def pull_back(
    outputs: list[Any],
    seeds: list[Any],
    inputs: Sequence[Value],
    *,
    graph: bool,
    private: bool = False,
) -> list[Any]:
    """The gradient of the sum of ``seed * output`` by each input.

    With ``graph`` it is built of values, from the rules; else it is a number, from the
    local derivatives that the nodes hold.  A dual-valued output is differentiated in its
    primal and in its tangent, which makes forward-over-reverse the same as
    reverse-over-forward.  If the inputs are ``private``, made by a run for itself, nothing
    below them is of interest.
    """
    levels = [x.level for x in (*outputs, *seeds) if isinstance(x, Dual)]
    if levels:
        level = max(levels)
        ys = [_split(y, level) for y in outputs]
        ws = [_split(w, level) for w in seeds]
        first = pull_back(
            [y for y, _ in ys], [w for w, _ in ws], inputs, graph=graph, private=private
        )
        second = pull_back(
            [dy for _, dy in ys] + [y for y, _ in ys],
            [w for w, _ in ws] + [dw for _, dw in ws],
            inputs,
            graph=graph,
            private=private,
        )
        return [Dual(p, t, level) for p, t in zip(first, second, strict=True)]

    cotangents: dict[int, Any] = {}
    roots = []
    for y, seed in zip(outputs, seeds, strict=True):
        if isinstance(y, Value) and not _is_zero(seed):
            _accumulate(cotangents, y, seed)
            roots.append(y)
    ends = {id(x) for x in inputs}
    active = set(ends)  # the inputs, and all that depends on one
    order = topological_order(*roots, until=inputs if private else ())
    for node in order:
        if any(id(x) in active for x in node._prev):
            active.add(id(node))
    for node in reversed(order):
        cotangent = cotangents.get(id(node))
        if cotangent is None or id(node) not in active or node.is_leaf:
            continue
        if node.has_own_rule:
            raise GraphError(
                f"the hand-made operation {node._op or 'without a name'!r} has a rule of its own, "
                "a function that writes numbers into .grad; only backward() can use such a rule. "
                "Build the function from operations of the table instead."
            )
        partials = _rules(node) if graph else partial_derivatives(node)
        for operand, partial in zip(node.operands, partials, strict=True):
            if isinstance(operand, Value) and partial is not NO_EDGE and id(operand) in active:
                _accumulate(cotangents, operand, _times(partial, cotangent))
    return [cotangents.get(id(x), 0.0) for x in inputs]


def _rules(node: Value) -> list[Any]:
    """The local derivatives of a node as values, from its row of the table."""
    operands = node.operands
    op = ROWS[node._op]
    wanted = [isinstance(x, Value) for x in operands]
    primals = [x.data if isinstance(x, Value) else x for x in operands]
    # The rules see the present data, so it must still be that of the forward pass.
    y = op.value(primals)
    slopes = op.derivatives(y, primals, wanted)
    held = partial_derivatives(node)
    same = _is_same(y, node.data)
    if not same or not all(map(_is_same, slopes, held)):
        names = ", ".join([x.label or repr(x) for x in node._prev])
        raise GraphError(
            f"data was changed after the graph was built: the operation {op.name} of {names} "
            f"had the {'local derivatives' if same else 'value'} {held if same else node.data} "
            f"then and has {slopes if same else y} now. Higher derivatives are computed from "
            "the present data; build the graph again after an update."
        )
    return op.derivatives(node, operands, wanted)


def _is_same(x: Any, y: Any) -> bool:
    return bool(x is y or x == y or (x != x and y != y))


def _accumulate(cotangents: dict[int, Any], node: Value, amount: Any) -> None:
    before = cotangents.get(id(node))
    cotangents[id(node)] = amount if before is None else before + amount


def _times(partial: Any, cotangent: Any) -> Any:
    if type(partial) is float and partial == 1.0:
        return cotangent
    if type(cotangent) is float and cotangent == 1.0:
        return partial
    return partial * cotangent


def _is_zero(x: Any) -> bool:
    return type(x) is float and x == 0.0


def _split(x: Any, level: int) -> tuple[Any, Any]:
    """Primal and tangent of ``x``, as seen by the differentiation of that level."""
    if isinstance(x, Dual) and x.level == level:
        return x.primal, 0.0 if x.tangent is None else x.tangent
    return x, 0.0


def _holds_value(x: Any) -> bool:
    if isinstance(x, Dual):
        return _holds_value(x.primal) or _holds_value(x.tangent)
    return isinstance(x, Value)


def _plain(x: Any) -> Any:
    """The same numbers without the graph of a run that is over."""
    if isinstance(x, Dual):
        return Dual(_plain(x.primal), _plain(x.tangent), x.level)
    return x.data if isinstance(x, Value) else x


def _not_while_tracing() -> None:
    if MODES.used and MODES.here.tracing:
        misplaced(
            "a reverse-mode transform (grad, vjp, jacobian, gradients ...) was used",
            "It cannot run inside a compiled function, which computes with numbers that are not "
            "known yet; forward mode (jvp) can. For a gradient of the whole function, compile "
            "the function itself: the compiled one has .value_and_grad(...).",
        )


class _Running(threading.local):
    """How many reverse-mode transforms are under way around the present one."""

    depth: int = 0


_running: Final = _Running()


@contextmanager
def _deeper() -> Iterator[None]:
    """Note that a transform is under way; it needs its graph even within `no_grad`."""
    _running.depth += 1
    recording, MODES.here.recording = MODES.here.recording, True
    try:
        yield
    finally:
        _running.depth -= 1
        MODES.here.recording = recording


# --- forward mode -----------------------------------------------------------------------------


def jvp(f: Callable[..., Any], primals: Sequence[Any], tangents: Sequence[Any]) -> tuple[Any, Any]:
    """The value of a function and its derivative in one direction, in one run (forward mode).

    Args:
        f: a function of numbers that returns a number or a structure of numbers.
        primals: a list or tuple of its arguments.
        tangents: the direction: how fast each argument moves, in the same structure.

    Returns:
        ``(value, tangent)``, both in the structure of the result of ``f``.

    Raises:
        ShapeError: ``tangents`` has not the structure of ``primals``.

    Example:
        >>> jvp(lambda x, y: x * y, [2.0, 3.0], [1.0, 0.0])
        (6.0, 3.0)
    """
    function("jvp needs a function of numbers", f)
    for name, given in (("primals", primals), ("tangents", tangents)):
        if not isinstance(given, (list, tuple)):
            raise ShapeError(
                f"jvp takes its {name} as a list or tuple with one entry per argument of the "
                f"function; got {describe(given)}. For one argument write [x]."
            )
    if len(primals) != len(tangents):
        raise ShapeError(f"jvp got {len(primals)} primals and {len(tangents)} tangents")
    level = new_level()
    fed = []
    for i, (primal, tangent) in enumerate(zip(primals, tangents, strict=True)):
        leaves, structure = flatten(primal, f"primal {i}")
        moves = matching(tangent, structure, f"tangent {i}", f"primal {i}")
        # A tangent 0 would meet infinite derivatives that have nothing to do with the
        # direction asked for.
        moves = [None if _is_zero(dx) else dx for dx in moves]
        fed.append(
            structure.fill([Dual(x, dx, level) for x, dx in zip(leaves, moves, strict=True)])
        )
    outputs, structure = flatten(f(*fed), "the function's result")
    split = [_split(y, level) for y in outputs]
    return structure.fill([y for y, _ in split]), structure.fill([dy for _, dy in split])


# --- matrices of derivatives -----------------------------------------------------------------


def jacobian(f: Callable[..., Any], argnums: int = 0, mode: str = "auto") -> Callable[..., Any]:
    """All derivatives of all outputs by all inputs.

    Args:
        f: a function of numbers that returns a number or a structure of numbers.
        argnums: by which positional argument to differentiate.
        mode: ``"forward"`` (one pass per input), ``"reverse"`` (one pass per output)
            or ``"auto"``, which takes the smaller number.

    Returns:
        A function of the same arguments.  Its result has the structure of the output,
        with the structure of the argument in place of each number; for arrays it is
        one array of shape ``output.shape + argument.shape``.

    Example:
        >>> jacobian(lambda x: [x[0] * x[1], x[0]])([2.0, 3.0])
        [[3.0, 2.0], [1.0, 0.0]]
    """
    function("jacobian needs a function of numbers", f)
    if mode not in ("auto", "forward", "reverse"):
        raise OptionError(f"mode must be 'auto', 'forward' or 'reverse'; got {describe(mode)}")
    if not isinstance(argnums, int):
        raise OptionError(f"jacobian takes one argument number; got argnums={describe(argnums)}")

    @wraps(f)
    def matrix(*arguments: Any, **options: Any) -> Any:
        (chosen,) = _chosen(argnums, len(arguments))

        def g(x: Any) -> Any:
            return f(*_replaced(arguments, (chosen,), (x,)), **options)

        leaves, inner = flatten(arguments[chosen], f"argument {chosen}")
        if mode != "forward":
            run = _Run(g, [arguments[chosen]])
            outer = run.structure
            if mode == "reverse" or outer.size <= inner.size:
                rows = [flatten(run.pull(e)[0], "a row")[0] for e in _basis(outer.size)]
                return outer.fill_rows(rows, inner)
        columns = []
        for e in _basis(inner.size):
            _, tangent = jvp(g, [inner.fill(leaves)], [inner.fill(e)])
            column, outer = flatten(tangent, "a column")
            columns.append(column)
        if not columns:
            _, outer = flatten(g(arguments[chosen]), "the function's result")
        rows = [[column[i] for column in columns] for i in range(outer.size)]
        return outer.fill_rows(rows, inner)

    return matrix


def hvp(f: Callable[[Any], Any], x: Any, v: Any) -> Any:
    """The Hessian of a function times a vector, without the Hessian (forward over reverse).

    Args:
        f: a function of one argument that returns one number.
        x: the point.
        v: the vector, in the structure of ``x``.

    Returns:
        The product, in the structure of ``x``.

    Example:
        >>> hvp(lambda x: x[0] ** 2 * x[1], [2.0, 3.0], [1.0, 0.0])
        [6.0, 4.0]
    """
    function("hvp needs a function of one argument", f)
    return jvp(grad(f), [x], [v])[1]


def hessian(f: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """All second derivatives of a function of one argument (forward over reverse).

    Args:
        f: a function of a number, or of a list, tuple, dict or array of numbers,
            that returns one number.

    Returns:
        A function of the same argument.  Its result has the structure of the argument,
        with that structure again in place of each number; for an array of n numbers
        it is an array of shape (n, n).

    Example:
        >>> hessian(lambda x: x[0] ** 2 * x[1])([2.0, 3.0])
        [[6.0, 4.0], [4.0, 0.0]]
    """
    function("hessian needs a function of one argument", f)
    return jacobian(grad(f), mode="forward")


def _basis(n: int) -> Iterator[list[float]]:
    for i in range(n):
        yield [1.0 if i == j else 0.0 for j in range(n)]


def _chosen(argnums: int | Sequence[int], count: int) -> tuple[int, ...]:
    given = argnums if isinstance(argnums, (list, tuple)) else (argnums,)
    for i in given:
        if not isinstance(i, int) or not -count <= i < count:
            raise OptionError(
                f"argnums names argument {i!r}, but the function was called with {count} "
                "positional argument(s), counted from 0"
            )
    chosen = tuple([i % count for i in given])
    if len(set(chosen)) < len(chosen):
        raise OptionError(f"argnums names an argument twice: {describe(argnums)}")
    return chosen


def _replaced(arguments: tuple[Any, ...], chosen: tuple[int, ...], by: Sequence[Any]) -> list[Any]:
    replaced = list(arguments)
    for i, x in zip(chosen, by, strict=True):
        replaced[i] = x
    return replaced


# --- what each mode costs ----------------------------------------------------------------------


@dataclass(frozen=True)
class PassCount:
    """What the full Jacobian of a function costs in either mode, measured.

    Attributes:
        inputs: how many numbers the function takes.
        outputs: how many it returns.
        operations: scalar operations of one run of the function.
        forward_passes: runs that forward mode needs: one per input.
        forward_operations: scalar operations of all of them.
        reverse_passes: passes back that reverse mode needs: one per output.
        reverse_operations: scalar operations of the run and all passes back.
    """

    inputs: int
    outputs: int
    operations: int
    forward_passes: int
    forward_operations: int
    reverse_passes: int
    reverse_operations: int


def count_passes(f: Callable[..., Any], *arguments: Any) -> PassCount:
    """Count what forward and reverse mode take for all derivatives of a function.

    Both are carried out, and every scalar operation on the way is counted.

    Args:
        f: a function of numbers that returns a number or a structure of numbers.
        *arguments: the point at which to run it.

    Returns:
        The numbers of passes and operations.

    Example:
        >>> count = count_passes(lambda x: x[0] * x[1] * x[2], [1.0, 2.0, 3.0])
        >>> count.forward_passes, count.reverse_passes
        (3, 1)
    """
    function("count_passes needs a function of numbers", f)
    flat, structure = flatten(arguments, "the arguments")
    values = [x if isinstance(x, Value) else Value(x) for x in flat]
    with counting() as count:
        outputs, _ = flatten(f(*structure.fill(values)), "the function's result")
        operations = count()
    with counting() as count:
        for i in range(len(values)):
            level = new_level()
            moving = [Dual(x, Value(1.0), level) if i == j else x for j, x in enumerate(values)]
            f(*structure.fill(moving))
        forward = count()
    with counting() as count:
        outputs, _ = flatten(f(*structure.fill(values)), "the function's result")
        for y in outputs:
            pull_back([y], [Value(1.0)], values, graph=True)
        reverse = count()
    return PassCount(
        len(values), len(outputs), operations, len(values), forward, len(outputs), reverse
    )
