"""Reverse-mode automatic differentiation on numbers: backpropagation, whole.

A `Value` is a number that remembers where it came from::

    a = Value(2.0)
    b = Value(-3.0)
    d = a * b + a          # d.data is -4.0

Python calls ``a.__mul__(b)``, then ``(a * b).__add__(a)``, and each call makes a
new node that points back at its operands.  The result stands at the top of a
graph::

    a ──┬──► [*] ──► [+] = d
    b ──┘             ▲
    a ────────────────┘

Each node knows, from the moment it is made, its *local derivative* by each
operand: for ``a * b`` they are ``b.data`` and ``a.data``.  The gradient of ``d``
by any node then follows from the chain rule alone:

    a node's gradient, times the local derivative by an operand,
    is what that operand receives; what it receives from all its uses adds up.

``d.backward()`` applies that sentence once per node, results before operands,
and leaves the answer in ``a.grad`` (``b.data + 1``, the two ways from ``d`` to
``a``) and ``b.grad`` (``a.data``).

The derivatives of the individual operations are in `chainrule.ops`.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import count, islice
from typing import Any, ClassVar, Final, SupportsFloat, final

from chainrule.arithmetic import Arithmetic
from chainrule.engine import mypyc_attr
from chainrule.errors import GraphError, NotANumberError, describe
from chainrule.modes import MODES, reading
from chainrule.operation import NO_EDGE, ROWS, VARIADIC, Op, as_float, number, unknown
from chainrule.ops import div, pow, relu, sigmoid

__all__ = ["Value", "partial_derivatives", "topological_order"]


@mypyc_attr(allow_interpreted_subclasses=True)
class Value(Arithmetic):
    """A number in a computational graph.

    Args:
        data: the number; ints, bools and NumPy scalars are converted to float.
        children: for a hand-made operation, its operands in order.
        op: what ``_op`` shows for it.
        label: a name, for pictures and explanations.

    Attributes:
        data: the number, a float.
        grad: the derivative by this value of whatever ``backward()`` was called
            on; 0.0 before.
        label: the name given.
        operands: what it was computed from, in order: `Value`s and plain floats.

    Raises:
        NotANumberError: ``data`` is not a real number.

    Example:
        >>> a, b = Value(2.0), Value(-3.0)
        >>> d = a * b + a
        >>> d.backward()
        >>> d.data, a.grad, b.grad
        (-4.0, -2.0, 2.0)
    """

    __slots__ = ("_a", "_b", "_da", "_data", "_db", "_mark", "_more", "_op", "grad", "label")

    rank: ClassVar[int] = 1

    # The graph.  A node of one or two operands keeps them in _a and _b, and its local
    # derivatives beside them in _da and _db.  Where an operand is a plain number, its slot
    # is None and the number itself stands in the place of the derivative nobody needs.
    # Every other node keeps its operands in _more.
    _data: float
    grad: float
    label: str
    _op: str
    _a: Value | None
    _da: float
    _b: Value | None
    _db: float
    _more: _More | None
    _mark: int  # number of the last pass that came by; _LEAF on a node without operands

    def __init__(
        self,
        data: SupportsFloat,
        children: Iterable[Value | float] = (),
        op: str = "",
        label: str = "",
    ) -> None:
        self._data = data if type(data) is float else number(data, "Value")
        self.grad = 0.0
        self.label = label
        self._op = op
        self._a = self._b = None
        self._da = self._db = 0.0
        self._more = None
        self._mark = _LEAF
        operands = () if children is _NOTHING else _operands(children)
        if operands:
            self._more = _More(operands, _values(operands), rule=_no_rule)
            self._mark = 0
            _show_to_collector(self)  # its rule will tend to refer to it
            if MODES.used:
                _review(self)

    @property
    def data(self) -> float:
        """The number itself.  Assigning to it changes no graph that was built before."""
        if MODES.used:
            reading("data")
        return self._data

    @data.setter
    def data(self, data: SupportsFloat) -> None:
        self._data = data if type(data) is float else number(data, "Value.data")

    def __repr__(self) -> str:
        label = f", label={self.label!r}" if self.label else ""
        return f"Value(data={self._data}, grad={self.grad}{label})"

    _picture: ClassVar[Callable[[Value], str | None] | None] = None  # filled by __init__.py

    def _repr_svg_(self) -> str | None:
        """What a notebook shows: a picture of the graph."""
        return None if Value._picture is None else Value._picture(self)

    # --- building the graph ---------------------------------------------------------------

    # The operators and derivatives that almost all nodes come from are spelled out, for speed;
    # a test holds each to its row of the table.  All other operations go through __op__.

    def __add__(self, other: Any) -> Any:
        if isinstance(other, Value):
            return _node(self._data + other._data, "+", self, 1.0, other, 1.0)
        y = as_float(other)
        if y is None:
            return unknown(other, "+")
        return _node(self._data + y, "+", self, 1.0, None, y)

    def __radd__(self, other: Any) -> Any:
        x = as_float(other)
        if x is None:
            return unknown(other, "+")
        return _node(x + self._data, "+", None, x, self, 1.0)

    def __sub__(self, other: Any) -> Any:
        if isinstance(other, Value):
            return _node(self._data - other._data, "-", self, 1.0, other, -1.0)
        y = as_float(other)
        if y is None:
            return unknown(other, "-")
        return _node(self._data - y, "-", self, 1.0, None, y)

    def __rsub__(self, other: Any) -> Any:
        x = as_float(other)
        if x is None:
            return unknown(other, "-")
        return _node(x - self._data, "-", None, x, self, -1.0)

    def __mul__(self, other: Any) -> Any:
        if isinstance(other, Value):
            x, y = self._data, other._data
            return _node(x * y, "*", self, y, other, x)
        n = other if type(other) is float else as_float(other)
        if n is None:
            return unknown(other, "*")
        return _node(self._data * n, "*", self, n, None, n)

    def __rmul__(self, other: Any) -> Any:
        n = as_float(other)
        if n is None:
            return unknown(other, "*")
        return _node(n * self._data, "*", None, n, self, n)

    def __truediv__(self, other: Any) -> Any:
        if isinstance(other, Value):
            y = other._data
            z = div.forward(self._data, y)
            return _node(z, "/", self, div.forward(1.0, y), other, -div.forward(z, y))
        n = as_float(other)
        if n is None:
            return unknown(other, "/")
        return _node(div.forward(self._data, n), "/", self, div.forward(1.0, n), None, n)

    def __rtruediv__(self, other: Any) -> Any:
        x = as_float(other)
        if x is None:
            return unknown(other, "/")
        y = self._data
        z = div.forward(x, y)
        return _node(z, "/", None, x, self, -div.forward(z, y))

    def __pow__(self, other: Any) -> Any:
        n = as_float(other)
        if n is None:
            return super().__pow__(other)
        x = self._data
        slope = n * pow.forward(x, n - 1.0) if n != 0.0 else 0.0
        return _node(pow.forward(x, n), "**", self, slope, None, n)

    def __op__(self, op: Op, operands: tuple[Any, ...]) -> Value:
        """Make the node of any operation of the table."""
        if op.arity == 1:
            x = self._data
            y = op.forward(x)
            if op is sigmoid:
                slope: Any = y * (1.0 - y)
            elif op is relu:
                slope = _relu_slope(x)
            else:
                slope = op.partials[0](y, x)
            if slope is not NO_EDGE:
                return _node(y, op.symbol, self, slope, None, 0.0)
        primals = [x._data if isinstance(x, Value) else x for x in operands]
        y = op.value(primals)
        partials = op.derivatives(y, primals, [isinstance(x, Value) for x in operands])
        return _node(y, op.symbol, *_layout(op.symbol, operands, partials))

    def __gate__(self, taken: bool) -> Any:
        return 1.0 if (self._data != 0.0) is taken else NO_EDGE

    def __float__(self) -> float:
        if MODES.used:
            reading("float")
        return self._data

    def __eq__(self, other: object) -> Any:
        if MODES.used:
            reading("==")
        return True if self is other else NotImplemented

    def __hash__(self) -> int:
        return object.__hash__(self)

    def detach(self) -> Value:
        """The same number as a new leaf: no gradient passes back through it."""
        return Value(self._data, label=self.label)

    # --- looking at the graph ---------------------------------------------------------------

    @property
    def operands(self) -> tuple[Value | float, ...]:
        """What this was computed from, in order, repeats and plain numbers included."""
        if self._more is not None:
            return self._more.operands
        if self._mark == _LEAF:
            return ()
        a: Value | float = self._da if self._a is None else self._a
        if ROWS[self._op].arity == 1:
            return (a,)
        return (a, self._db if self._b is None else self._b)

    @property
    def is_leaf(self) -> bool:
        """Whether it was computed from nothing: a parameter, an input, a constant."""
        return self._mark == _LEAF

    @property
    def has_own_rule(self) -> bool:
        """Whether a function assigned to ``_backward`` replaces the rule of the table."""
        return self._more is not None and self._more.rule is not None

    @property
    def _prev(self) -> tuple[Value, ...]:
        return _values(self.operands)

    @property
    def _children(self) -> tuple[Value, ...]:
        return self._prev

    # --- the chain rule -----------------------------------------------------------------------

    def backward(self) -> None:
        """Compute the derivative of this value by every value it depends on.

        Adds it to the ``grad`` of each leaf, so that several losses sum up (call
        ``zero_grad`` between training steps); intermediate nodes are set afresh.

        Raises:
            GraphError: this value was made under `no_grad`, or a hand-made node
                on the way has no rule.
            NotANumberError: the ``grad`` of a leaf was set to something that is no number.
            NonFiniteError: within `strict`, a gradient would become ``inf`` or ``nan``.

        Example:
            >>> x = Value(3.0)
            >>> y = x * x
            >>> y.backward()
            >>> x.grad
            6.0
        """
        if self._more is _NO_GRAPH:
            raise GraphError(
                "backward() was called on a value made under no_grad(), which keeps no graph. "
                "Compute it outside the no_grad() block."
            )
        if MODES.used and MODES.here.watch is not None:
            MODES.here.watch.going_back(self)
        try:
            self._propagate()
        except TypeError:
            _check_gradients(self)
            raise

    def _propagate(self) -> None:
        """The pass itself: every node once, results before operands."""
        order = _backward_order(self)
        self.grad = 1.0 if order else self.grad + 1.0
        for node in reversed(order):
            if node._more is None:  # _push(), spelled out: it is most of the work
                gradient = node.grad
                a = node._a
                if a is not None:
                    a.grad += node._da * gradient
                b = node._b
                if b is not None:
                    b.grad += node._db * gradient
            else:
                node._push()

    def _push(self) -> None:
        """Apply the chain rule at this node: pass its gradient on to its operands."""
        more = self._more
        if more is None:
            if self._a is not None:
                self._a.grad += self._da * self.grad
            if self._b is not None:
                self._b.grad += self._db * self.grad
        elif more.rule is not None:
            more.rule()
        else:
            for operand, partial in zip(more.edges, more.partials, strict=True):
                operand.grad += partial * self.grad

    @property
    def _backward(self) -> Callable[[], None]:
        """Call it to pass this node's gradient on; assign a closure to replace the rule."""
        return self._push

    @_backward.setter
    def _backward(self, rule: Callable[[], None]) -> None:
        if not callable(rule):
            raise GraphError(
                f"_backward must be a function without arguments; got {describe(rule)}. "
                "Assign the function itself, not the result of calling it."
            )
        if self._more is _NO_GRAPH or self._mark == _LEAF:
            return  # nothing to pass a gradient to: lessons do this on every leaf
        self._more = _More(self.operands, self._prev, rule=rule)
        self._a = self._b = None
        _show_to_collector(self)

    # --- copying and storing --------------------------------------------------------------------

    # Both go by a flat list, operands before results, because following the operands one
    # inside the other would exhaust Python's stack.

    def __deepcopy__(self, memo: dict[int, Any]) -> Value:
        order = topological_order(self)
        for node, copied in zip(order, _rebuilt(_flattened(order, memo)), strict=True):
            memo[id(node)] = copied
        found: Value = memo[id(self)]
        return found

    def __reduce_ex__(self, protocol: Any) -> tuple[Any, ...]:
        order = topological_order(self)
        # Leaves are stored as objects of their own, so that values that share parameters
        # still share them afterwards.
        leaves = {id(x): x for x in order if x._mark == _LEAF and x is not self}
        return _stored, (_flattened(order, leaves),)


@final
class _More:
    """The operands of a node that has more than two, or a rule of its own.

    ``edges`` are the operands that receive a gradient, ``partials`` the local
    derivative by each; ``idle`` are the places, among all operands, of those that
    receive none: branches not taken, and plain numbers.
    """

    __slots__ = ("edges", "idle", "operands", "partials", "rule")

    def __init__(
        self,
        operands: tuple[Value | float, ...],
        edges: Sequence[Value],
        partials: Sequence[float] = (),
        idle: Sequence[int] = (),
        rule: Callable[[], None] | None = None,
    ) -> None:
        self.operands = operands
        self.edges = edges
        self.partials = partials
        self.idle = idle
        self.rule = rule


def _no_rule() -> None:
    raise GraphError(
        "backward() reached a hand-made node, Value(data, children, op), that has no rule. "
        "Assign one: out._backward = a function that adds to the operands' grad."
    )


_LEAF: Final = sys.maxsize // 2
_NOTHING: Final = ()
_NO_GRAPH: Final = _More((), ())
_passes: Final = count(1)
_new: Final = object.__new__


def _node(
    data: float,
    op: str,
    a: Value | None,
    da: float,
    b: Value | None,
    db: float,
    more: _More | None = None,
) -> Value:
    node: Value = _new(Value)  # past __init__, whose checks are for users
    node._data = data
    node.grad = 0.0
    node.label = ""
    node._op = op
    node._a = a
    node._da = da
    node._b = b
    node._db = db
    node._more = more
    node._mark = 0
    if MODES.used:
        _review(node)
    return node


def _show_to_collector(node: Value) -> None:
    """Let Python's cyclic garbage collector know of a node that may be part of a cycle.

    Operations of the table make none, so compiled code leaves their nodes out of the
    collector's sight (it would walk through them again and again), unless an operand is in it.
    ``setup.py`` fills this function.
    """


def _review(node: Value) -> None:
    """What a new node goes through while a thread is in a special mode."""
    MODES.here.operations += 1
    if MODES.here.watch is not None:
        MODES.here.watch.made(node)
    if not MODES.here.recording:
        node._a = node._b = None
        node._op = ""
        node._more = _NO_GRAPH
        node._mark = _LEAF


def _relu_slope(x: float) -> float:
    return 1.0 if x > 0.0 else 0.0 if x <= 0.0 else x


def _backward_order(root: Value) -> list[Value]:
    """The nodes that ``root`` depends on, leaves left out, operands before results.

    A walk into the depth: go down as long as there is an operand this pass has
    not met; where there is none, everything below the node is in the list, and
    the node follows.  A path of its own instead of recursion lets the graph be
    millions deep.  Intermediate gradients are set to 0 on the way.
    """
    this_pass = next(_passes)
    order: list[Value] = []
    path: list[Value] = []  # the nodes that the walk went through to the present one
    waiting: list[Value | None] = []  # a None for each of them, then operands yet to be met
    idle: list[Value] = []
    node = root
    if node._mark == _LEAF:
        return order
    while True:
        node._mark = this_pass
        node.grad = 0.0
        a, b, more = node._a, node._b, node._more
        if a is not None and a._mark < this_pass:
            path.append(node)
            waiting.append(None)
            if b is not None:
                waiting.append(b)
            node = a
            continue
        if b is not None and b._mark < this_pass:
            path.append(node)
            waiting.append(None)
            node = b
            continue
        if more is None:
            order.append(node)
        else:
            path.append(node)
            waiting.append(None)
            waiting += more.edges
            if more.idle:  # the operands in use are marked by the time it matters
                idle += node._prev
        while waiting:
            following = waiting.pop()
            if following is None:
                order.append(path.pop())
            elif following._mark < this_pass:
                node = following
                break
        else:
            break
    while idle:  # what serves only branches not taken has gradient 0, whatever it had before
        node = idle.pop()
        if node._mark < this_pass:
            node._mark = this_pass
            node.grad = 0.0
            idle += node._prev
    return order


def _check_gradients(root: Value) -> None:
    """Explain why a pass failed, if it was for a ``grad`` that somebody set to no number.

    It is looked at only now, because a check of each assignment would slow down every pass.
    """
    for node in topological_order(root):
        if as_float(node.grad) is None:
            raise NotANumberError(
                f"backward() adds to the grad of each leaf, which must be a number; that of "
                f"{node!r} is {describe(node.grad)}. To start afresh set it to 0.0, or call "
                "zero_grad() of the network."
            )


def topological_order(*roots: Any, until: Iterable[Value] = ()) -> list[Value]:
    """Every value that the roots were computed from, operands before results.

    Args:
        *roots: the `Value`s at the top of a graph.
        until: values to take in without going on to their operands.

    Returns:
        Each `Value` of the graph once, leaves and roots included.

    Raises:
        GraphError: a root is no `Value`.

    Example:
        >>> a = Value(2.0, label="a")
        >>> [v.label or v._op for v in topological_order(a * a + 1.0)]
        ['a', '*', '+']
    """
    for root in roots:
        if not isinstance(root, Value):
            raise GraphError(
                f"topological_order takes the Values at the top of a graph; got {describe(root)}. "
                "Write topological_order(y), or topological_order(*values) for a list."
            )
    order: list[Value] = []
    ends = {id(x) for x in until}
    seen: set[int] = set()
    path: list[tuple[Value | None, Iterator[Value]]] = [(None, iter(roots))]
    while path:
        node, rest = path[-1]
        for operand in rest:
            if id(operand) not in seen:
                seen.add(id(operand))
                path.append((operand, iter(() if id(operand) in ends else operand._prev)))
                break
        else:
            path.pop()
            if node is not None:
                order.append(node)
    return order


# --- hand-made, copied and stored nodes ---------------------------------------------------------


def _operands(children: Iterable[Value | float]) -> tuple[Value | float, ...]:
    """The operands of a hand-made node, checked."""
    if isinstance(children, Value):
        raise NotANumberError(
            f"children must be a sequence of operands; got a single {describe(children)}. "
            "Write Value(data, (a,), op), with the comma."
        )
    try:
        found: Iterator[Any] = iter(children)
    except TypeError:
        raise NotANumberError(
            f"children must be a sequence of operands; got {describe(children)}. "
            "Write Value(data, (a, b), op)."
        ) from None
    return tuple([x if isinstance(x, Value) else number(x, "an operand") for x in found])


def _layout(
    op: str, operands: tuple[Value | float, ...], partials: Sequence[Any]
) -> tuple[Value | None, float, Value | None, float, _More | None]:
    """Where a node keeps its operands and local derivatives: in its slots if they fit."""
    if 1 <= len(operands) <= 2 and ROWS[op].arity != VARIADIC:
        slots: list[tuple[Value | None, Any]] = [
            (x, d) if isinstance(x, Value) else (None, x)
            for x, d in zip(operands, partials, strict=True)
        ]
        (a, da), (b, db) = slots if len(slots) == 2 else (*slots, (None, 0.0))
        if da is not NO_EDGE and db is not NO_EDGE:
            return a, da, b, db, None
    edges = []
    slopes = []
    for x, d in zip(operands, partials, strict=True):
        if d is not NO_EDGE and isinstance(x, Value):
            edges.append(x)
            slopes.append(d)
    idle = []
    if len(edges) < len(operands):
        idle = [i for i, d in enumerate(partials) if d is NO_EDGE]
    return None, 0.0, None, 0.0, _More(operands, edges, slopes, idle)


def _values(operands: tuple[Value | float, ...]) -> tuple[Value, ...]:
    return tuple([x for x in operands if isinstance(x, Value)])


def partial_derivatives(node: Value) -> list[Any]:
    """The local derivative of a node by each operand, `NO_EDGE` where there is none."""
    more = node._more
    if more is None:
        slots = [NO_EDGE if node._a is None else node._da, NO_EDGE if node._b is None else node._db]
        return slots[: len(node.operands)]
    by_edge = iter(more.partials)
    idle = set(more.idle)
    return [NO_EDGE if i in idle else next(by_edge) for i in range(len(more.operands))]


def _flattened(order: list[Value], known: Mapping[int, Value]) -> list[Any]:
    """Nodes as a flat list of plain things; those known by ``id`` stand for themselves."""
    place = {id(node): i for i, node in enumerate(order)}
    flat: list[Any] = []
    for node in order:
        if id(node) in known:
            flat.append(known[id(node)])
            continue
        if node.has_own_rule:
            raise GraphError(
                f"a graph with a hand-made operation ({node._op or 'without a name'!r}) cannot "
                "be copied or stored, because its rule is a function of your own. Copy the "
                "leaves and compute the result again."
            )
        attributes = getattr(node, "__dict__", None)  # of a subclass without __slots__
        flat += (type(node), attributes, node._data, node.grad, node.label, node._op)
        flat.append(len(node.operands))
        flat += [place[id(x)] if isinstance(x, Value) else x for x in node.operands]
        flat += partial_derivatives(node)
    return flat


def _rebuilt(flat: list[Any]) -> list[Value]:
    """The nodes of a `_flattened` list, in the same order."""
    made: list[Value] = []
    following = iter(flat)
    for kind in following:
        if isinstance(kind, Value):
            made.append(kind)
            continue
        node: Value = kind.__new__(kind, 0.0)
        attributes = next(following)
        node._data, node.grad, node.label, node._op = islice(following, 4)
        n = next(following)
        operands = tuple([made[x] if type(x) is int else x for x in islice(following, n)])
        if n:
            layout = _layout(node._op, operands, list(islice(following, n)))
            node._a, node._da, node._b, node._db, node._more = layout
            node._mark = 0
            _show_to_collector(node)  # an operand may be of a subclass
        else:
            node._a, node._da, node._b, node._db, node._more = None, 0.0, None, 0.0, None
            node._mark = _LEAF
        if attributes:
            vars(node).update(attributes)
        made.append(node)
    return made


def _stored(flat: list[Any]) -> Value:
    return _rebuilt(flat)[-1]
