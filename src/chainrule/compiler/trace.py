"""Stage 1: run the user's function once on tracers, and write down what it does.

A `Tracer` stands for a number that is not known yet.  Operations on tracers are
not carried out but recorded in a `Trace`: a list of nodes, operands before results,
in which the same operation on the same operands occurs once (hash-consing).
"""

from __future__ import annotations

import struct
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, ClassVar, Final, NoReturn

from chainrule import ops
from chainrule.arithmetic import Arithmetic
from chainrule.errors import ChainruleError, CompileMismatch, TraceError, describe, users_line
from chainrule.modes import misplaced, refuse, tracing
from chainrule.operation import ROWS, Op, as_float, unknown
from chainrule.structure import Structure, flatten
from chainrule.value import Value, topological_order

__all__ = ["PERTURBED", "Gate", "Leaf", "Trace", "Tracer", "kept_too_long", "record"]


@dataclass(frozen=True, slots=True)
class Leaf:
    """A node without operands.

    Attributes:
        kind: ``"parameter"`` (the same for all examples), ``"input"`` or ``"constant"``.
        argument: for an input, which argument of the function it belongs to.
        place: which parameter, or which number of the argument.
        bits: for a constant, its 8 bytes, so that -0.0 and nan are themselves.
    """

    kind: str
    argument: int = 0
    place: int = 0
    bits: bytes = b""

    @property
    def constant(self) -> float:
        """The number of a constant."""
        number: float = struct.unpack("d", self.bits)[0]
        return number


_bits: Final = struct.Struct("d").pack


class Trace:
    """What a function does, as a list of operations.

    Args:
        parameters: the values to differentiate by.
        first: an earlier trace of the same function.  The two then share their nodes: a
            second run that does the same as the first finds every node there already.
        lines: whether to keep the user's line for each node.

    Attributes:
        ops: the operation of each node, or None for a leaf.
        operands: the numbers of each node's operands, all smaller than its own.
        leaves: the leaf that a node is, by its number.
        parameters: the values that the parameters were traced from: those asked for
            first, then any other leaf that the function uses.
        outputs: the numbers of the results.
        structure: how the function returns them.
        lines: the user's line that made each node, if asked for.
        closed: whether the function has returned, so that nothing more is to come.
    """

    def __init__(
        self, parameters: Sequence[Value], first: Trace | None = None, lines: bool = False
    ) -> None:
        shared = self if first is None else first
        if first is None:
            self.ops: list[Op | None] = []
            self.operands: list[tuple[int, ...]] = []
            self.leaves: dict[int, Leaf] = {}
            self._known: dict[Any, int] = {}
            self._numbers: dict[int, float] = {}  # those nodes that are constants
        self.ops, self.operands, self.leaves = shared.ops, shared.operands, shared.leaves
        self._known, self._numbers = shared._known, shared._numbers
        self.parameters: list[Value] = list(parameters)
        self.outputs: list[int] = []
        self.structure: Structure | None = None
        self.lines: list[str] | None = [] if lines else None
        self.closed = False
        self._values: dict[int, int] = {}  # a Value's id: its node
        self._kept: list[Value] = []  # keeps those ids from being used again
        for i, value in enumerate(self.parameters):
            self._values[id(value)] = self.leaf(Leaf("parameter", place=i))

    def leaf(self, leaf: Leaf) -> int:
        """The node of a leaf, made at its first use."""
        found = self._known.get(leaf)
        if found is None:
            found = self._new(None, ())
            self._known[leaf] = found
            self.leaves[found] = leaf
        return found

    def constant(self, x: float) -> int:
        """The node of a constant."""
        bits = _bits(x)
        found = self._known.get(bits)
        if found is None:
            found = self._known[bits] = self._new(None, ())
            self.leaves[found] = Leaf("constant", bits=bits)
            self._numbers[found] = x
        return found

    def node(self, op: Op, operands: tuple[int, ...]) -> int:
        """The node of an operation, made at its first use; constants fold."""
        if self.closed:
            raise kept_too_long(f"used at {users_line()}")
        key = (op, operands)
        found = self._known.get(key)
        if found is None:
            found = self._known[key] = self._made(op, operands)
        return found

    def _made(self, op: Op, operands: tuple[int, ...]) -> int:
        numbers = self._numbers
        for i in operands:
            if i not in numbers:
                found = self._identity(op, operands)
                return self._new(op, operands) if found is None else found
        return self.constant(op.value([numbers[i] for i in operands]))

    def _identity(self, op: Op, operands: tuple[int, ...]) -> int | None:
        """The operand that the result is equal to for every number, if there is one."""
        numbers = self._numbers
        if op is ops.mul:
            x, y = operands
            if x in numbers and numbers[x] == 1.0:
                return y
            if y in numbers and numbers[y] == 1.0:
                return x
        elif op is ops.pow:
            if numbers.get(operands[1]) == 1.0:
                return operands[0]
        elif op is ops.where:
            if operands[0] in numbers:
                return operands[1] if numbers[operands[0]] != 0.0 else operands[2]
        elif op is ops.pick and operands[0] in numbers:
            place = ops.pick.forward([numbers[operands[0]], *range(1, len(operands))])
            return operands[int(place)]
        return None

    def _new(self, op: Op | None, operands: tuple[int, ...]) -> int:
        self.ops.append(op)
        self.operands.append(operands)
        if self.lines is not None:
            self.lines.append(users_line())
        return len(self.ops) - 1

    def index(self, x: Any) -> int | None:
        """The node of an operand, or None for something unknown."""
        if type(x) is Tracer:
            if x.trace is not self:
                raise kept_too_long(f"used at {users_line()}")
            return x.index
        if isinstance(x, Value):
            found = self._values.get(id(x))
            return self._value(x) if found is None else found
        number = as_float(x)
        return None if number is None else self.constant(number)

    def _value(self, root: Value) -> int:
        """The node of a value that is not a parameter asked for, traced to its leaves."""
        for value in topological_order(root):
            if id(value) in self._values:
                continue
            if value.is_leaf:
                found = self.leaf(Leaf("parameter", place=len(self.parameters)))
                self.parameters.append(value)
            else:
                if value.has_own_rule:
                    raise TraceError(
                        f"the hand-made operation {value._op or 'without a name'!r}, used at "
                        f"{users_line()}, cannot be compiled, because its rule is a function of "
                        "your own. Write it with the operations of the table."
                    )
                operands = tuple([self._known_index(x) for x in value.operands])
                found = self.node(ROWS[value._op], operands)
            self._values[id(value)] = found
            self._kept.append(value)
        return self._values[id(root)]

    def _known_index(self, x: Value | float) -> int:
        return self._values[id(x)] if isinstance(x, Value) else self.constant(x)


class Tracer(Arithmetic):
    """A number that is not known yet, in a function that is being compiled."""

    __slots__ = ("index", "trace")

    rank: ClassVar[int] = 2

    def __init__(self, trace: Trace, index: int) -> None:
        self.trace = trace
        self.index = index

    def __repr__(self) -> str:
        return f"<tracer of node {self.index}>"

    def __op__(self, op: Op, operands: tuple[Any, ...]) -> Tracer:
        trace = self.trace
        indices = []
        for x in operands:
            index = trace.index(x)
            if index is None:
                raise TraceError(
                    f"{op.name} was given {describe(x)} at {users_line()}, while the function is "
                    "being compiled: it can only be computed with numbers and Values. Transforms "
                    "such as grad do not go inside a compiled function."
                )
            indices.append(index)
        return Tracer(trace, trace.node(op, tuple(indices)))

    # Most nodes come from these; going by infix() would take three times as long.

    def __add__(self, other: Any) -> Any:
        return _infix(self.trace, ops.add, self.index, other)

    def __radd__(self, other: Any) -> Any:
        return _reflected(self.trace, ops.add, other, self.index)

    def __mul__(self, other: Any) -> Any:
        return _infix(self.trace, ops.mul, self.index, other)

    def __rmul__(self, other: Any) -> Any:
        return _reflected(self.trace, ops.mul, other, self.index)

    def __gate__(self, taken: bool) -> Any:
        condition = self if taken else ops.equal(self, 0.0)
        return Gate(condition)

    # There is no number yet: every way of asking for one is an error that says what to do.

    def __float__(self) -> float:
        refuse("float")

    def __int__(self) -> int:
        refuse("int")

    def __index__(self) -> int:
        refuse("index")

    def __bool__(self) -> bool:
        refuse("bool")

    def __eq__(self, other: object) -> bool:
        refuse("==")

    __hash__ = Arithmetic.__hash__

    @property
    def data(self) -> float:
        """Not there yet: raises `TraceError`."""
        refuse("data")

    @property
    def grad(self) -> float:
        """Not there yet: raises `TraceError`."""
        refuse("grad")

    def __iter__(self) -> Any:
        refuse("iter")

    def __round__(self, digits: object = None) -> Any:
        refuse("round")

    def __format__(self, spec: str) -> str:
        if spec:
            refuse("format")
        return repr(self)  # as in a message for somebody who looks at the tracing itself

    def detach(self) -> Value:
        """Not to be had: raises `TraceError`."""
        refuse("detach")

    def backward(self) -> None:
        """No place for it: raises `TraceError`."""
        misplaced(
            "backward() was called",
            "Leave it out: gradients come out of the compiled function, as in "
            "value, gradient = compiled.value_and_grad(...).",
        )


@dataclass(frozen=True, slots=True)
class Gate:
    """The local derivative of a branch: 1 where the condition holds, no edge elsewhere."""

    condition: Tracer


def kept_too_long(where: str) -> TraceError:
    """The error for a tracer that outlived its trace."""
    return TraceError(
        f"a tracer of an earlier trace was {where}: the function stores its inputs or results "
        "somewhere (a list, a cache) and they are read in a later call. Compute them anew in each "
        "call, and return what you need outside of it."
    )


def _infix(trace: Trace, op: Op, x: int, other: Any) -> Any:
    y = trace.index(other)
    return unknown(other, op.symbol) if y is None else Tracer(trace, trace.node(op, (x, y)))


def _reflected(trace: Trace, op: Op, other: Any, y: int) -> Any:
    x = trace.index(other)
    return unknown(other, op.symbol) if x is None else Tracer(trace, trace.node(op, (x, y)))


# --- two traces that must agree ------------------------------------------------------------


PERTURBED: Final = threading.RLock()
"""Held while parameters have other numbers than their own."""


def record(
    f: Callable[..., Any],
    arguments: Sequence[Structure],
    parameters: Sequence[Value],
    pure: bool = False,
) -> Trace:
    """Trace a function twice, the second time with other parameters, and compare.

    A number that depends on a parameter's data, on chance, or on an earlier call
    would be frozen into the program; the comparison finds it.

    Args:
        f: the function of one example.
        arguments: the structure of each argument.
        parameters: the values to differentiate by.
        pure: whether the function is known to do the same in every call.  It is then traced
            once, and no parameter is touched, so that other threads may use them meanwhile.

    Returns:
        The trace.  Leaves that the function makes anew in every call are constants in it.

    Raises:
        TraceError: the function asks for a number that is not known yet.
        CompileMismatch: the two traces differ.
    """
    first = _traced(f, arguments, Trace(parameters))
    if pure:
        return first
    nodes = len(first.ops)
    with _perturbed(first.parameters):
        second = _traced(f, arguments, Trace(parameters, first))
    if len(first.ops) > nodes or not _same(first, second):
        first = _traced(f, arguments, Trace(parameters, lines=True))
        with _perturbed(first.parameters):
            second = _traced(f, arguments, Trace(parameters, lines=True))
        _explain_difference(first, second)
    return _settled(first, second, len(parameters))


@contextmanager
def _perturbed(parameters: Sequence[Value]) -> Iterator[None]:
    """Within the block, parameters have slightly other data, and quite other gradients."""
    with PERTURBED:
        before = [(p.data, p.grad) for p in parameters]
        try:
            for p, (data, grad) in zip(parameters, before, strict=True):
                p.data = data * (1.0 + 2.0**-10) + 2.0**-10
                p.grad = -1.5 - grad
            yield
        finally:
            for p, (data, grad) in zip(parameters, before, strict=True):
                p.data = data
                p.grad = grad


def _traced(f: Callable[..., Any], arguments: Sequence[Structure], trace: Trace) -> Trace:
    fed = [
        structure.fill(
            [
                Tracer(trace, trace.leaf(Leaf("input", argument=i, place=j)))
                for j in range(structure.size)
            ]
        )
        for i, structure in enumerate(arguments)
    ]
    try:
        with tracing():
            result = f(*fed)
            outputs, trace.structure = flatten(result, "the function's result")
            trace.outputs += [_output(y, trace) for y in outputs]
    except (TypeError, AttributeError) as error:
        if isinstance(error, ChainruleError) or Tracer.__name__ not in str(error):
            raise
        raise TraceError(
            f"{error}, at {users_line(error)}, while the function is being compiled. A Tracer "
            "stands for a single number that is not known yet, and takes part in operations only. "
            "Where an argument should be a list, call the compiled function with one: "
            "f([2.0, 3.0]); with parameters=, a row per example: step([[2.0, 3.0]])."
        ) from None
    finally:
        trace.closed = True
    if not outputs:
        raise TraceError(
            f"the function returned {describe(result)}, without a single number in it; a "
            "compiled function returns at least one"
        )
    return trace


def _output(y: Any, trace: Trace) -> int:
    if isinstance(y, Tracer) and y.trace is not trace:
        raise kept_too_long("returned")
    index = trace.index(y)
    if index is None:
        raise TraceError(
            f"the function returned {describe(y)}; a compiled function returns numbers"
        )
    return index


def _same(first: Trace, second: Trace) -> bool:
    """Whether the second run came to the same nodes."""
    return (
        first.outputs == second.outputs
        and first.structure == second.structure
        and all(map(_alike, first.parameters, second.parameters))
    )


def _alike(a: Value, b: Value) -> bool:
    return a is b or _bits(a.data) == _bits(b.data)


def _settled(first: Trace, second: Trace, requested: int) -> Trace:
    """Leaves that each call makes anew, such as ``Value(0.0)``, are constants."""
    fresh = {
        place: a.data
        for place, (a, b) in enumerate(zip(first.parameters, second.parameters, strict=False))
        if a is not b
    }
    if not fresh:
        return first
    settled = Trace(first.parameters[:requested])
    at: list[int] = []
    for i, (op, operands) in enumerate(zip(first.ops, first.operands, strict=True)):
        if op is not None:
            at.append(settled.node(op, tuple([at[x] for x in operands])))
            continue
        leaf = first.leaves[i]
        if leaf.kind == "constant":
            at.append(settled.constant(leaf.constant))
        elif leaf.kind == "input":
            at.append(settled.leaf(leaf))
        elif leaf.place in fresh:
            at.append(settled.constant(fresh[leaf.place]))
        else:
            at.append(settled._value(first.parameters[leaf.place]))
    settled.outputs = [at[i] for i in first.outputs]
    settled.structure = first.structure
    return settled


def _explain_difference(first: Trace, second: Trace) -> NoReturn:
    """Name the first line at which two traces of one function part."""
    assert first.lines is not None
    assert second.lines is not None
    cause = (
        "The function was traced twice, the second time with slightly different parameters, and "
        "did not do the same. Usual causes: p.detach() or no_grad() inside the function, a random "
        "number drawn inside it, something that changes from call to call. Use the parameter "
        "itself (stop_gradient(p) for a constant), and pass random numbers in as inputs."
    )
    places = max(len(first.ops), len(second.ops))
    for i in range(places):
        if i >= len(first.ops) or i >= len(second.ops):
            line = (first if i < len(first.ops) else second).lines[i]  # type: ignore[index]
            raise CompileMismatch(f"an operation at {line} happens in one call only. {cause}")
        a, b = first.leaves.get(i), second.leaves.get(i)
        if a != b and a is not None and b is not None and a.kind == b.kind == "constant":
            raise CompileMismatch(
                f"a number at {first.lines[i]} was {a.constant!r} in one call and "
                f"{b.constant!r} in the next. {cause}"
            )
        if a != b or first.ops[i] is not second.ops[i] or first.operands[i] != second.operands[i]:
            raise CompileMismatch(f"the function did something else at {first.lines[i]}. {cause}")
    for i, leaf in first.leaves.items():
        if leaf.kind == "parameter":
            a_value, b_value = first.parameters[leaf.place], second.parameters[leaf.place]
            if not _alike(a_value, b_value):
                raise CompileMismatch(
                    f"a Value made inside the function and used at {first.lines[i]} was "
                    f"{a_value.data!r} in one call and {b_value.data!r} in the next. {cause}"
                )
    raise CompileMismatch(f"the function returned something else in the second call. {cause}")
