"""Copying and storing graphs of any depth."""

import copy
import math
import pickle

import pytest

from chainrule import GraphError, Value, ops, topological_order
from chainrule.operation import NO_EDGE
from chainrule.value import partial_derivatives


def gradients_of(y, *leaves):
    y.backward()
    return tuple([x.grad for x in leaves])


def refusal(error, call, *args):
    """The message of the error that a call must raise."""
    with pytest.raises(error) as caught:
        call(*args)
    assert type(caught.value) is error
    return str(caught.value)


def cube(a):
    """The way micrograd's readers add an operation."""
    out = Value(a.data**3, (a,), "cube")

    def _backward():
        a.grad += 3 * a.data**2 * out.grad

    out._backward = _backward
    return out


# --- copying and storing -------------------------------------------------------------------


def through_pickle(x):
    return pickle.loads(pickle.dumps(x))


both_ways = pytest.mark.parametrize("copied", [copy.deepcopy, through_pickle])


@both_ways
def test_a_copy_is_the_same_graph_and_shares_nothing(copied):
    a, b, c = Value(2.0, label="a"), Value(-3.0, label="b"), Value(0.0)
    y = ops.sum([a * b, a**b, 3.0 - a, ops.where(c, b, b) * 2, ops.less(a, b), a.tanh() / 2, a])
    y.grad = 5.0
    other = copied(y)
    ours, theirs = topological_order(y), topological_order(other)
    assert not set(ours) & set(theirs)
    for x, z in zip(ours, theirs, strict=True):
        assert (x.data, x.grad, x.label, x._op) == (z.data, z.grad, z.label, z._op)
        assert [type(p) for p in x.operands] == [type(p) for p in z.operands]
        assert partial_derivatives(x) == partial_derivatives(z)
    other.backward()
    assert a.grad == b.grad == 0.0
    y.backward()
    assert [x.grad for x in ours] == [z.grad for z in theirs]


@both_ways
def test_a_copied_leaf(copied):
    a = Value(2.0, label="a")
    a.grad = 3.0
    other = copied(a)
    assert repr(other) == repr(a)
    assert other is not a
    assert gradients_of(other * 2.0, other) == (5.0,)


@both_ways
def test_values_copied_together_still_share_their_leaves(copied):
    w = Value(2.0)
    first, second, leaf = copied([w * 3.0, w.exp(), w])
    first.backward()
    second.backward()
    assert leaf.grad == 3.0 + math.exp(2.0)
    assert w.grad == 0.0


def test_deepcopy_keeps_shared_inner_nodes_shared():
    w = Value(2.0)
    h = w * 3.0
    h2, y2 = copy.deepcopy((h, h * h))
    assert y2.operands == (h2, h2)


@both_ways
def test_a_deep_graph_is_copied(copied):
    x = y = Value(1.0)
    for _ in range(100_000):
        y = y + 1.0
    other = copied(y)
    other.backward()
    assert topological_order(other)[0].grad == 1.0
    assert x.grad == 0.0


def test_a_deep_graph_and_shared_leaves_in_a_network_like_structure():
    ws = [Value(float(i)) for i in range(50)]
    y = Value(0.0)
    for i in range(100_000):
        y = y + ws[i % 50]
    ws2, y2 = through_pickle((ws, y))
    y2.backward()
    assert all(w.grad == 2000.0 for w in ws2)


@both_ways
def test_a_graph_with_a_rule_of_ones_own_refuses(copied):
    y = cube(Value(2.0)) * 3.0
    message = refusal(GraphError, copied, y)
    assert "hand-made operation ('cube')" in message
    assert "Copy the leaves" in message
    unnamed = (Value(1.0) + 1.0) * 1.0
    unnamed._backward = lambda: None
    unnamed._op = ""
    assert "'without a name'" in refusal(GraphError, copied, unnamed)


def test_shallow_copy_shares_the_leaves():
    a = Value(2.0)
    other = copy.copy(a * 3.0)
    assert gradients_of(other, a) == (3.0,)


class Named(Value):
    """A subclass of a user, with attributes of its own."""


@both_ways
def test_a_subclass_keeps_its_type_and_attributes(copied):
    v = Named(2.0)
    v.unit = "metre"
    other = copied(v * 3.0).operands[0] if copied is copy.deepcopy else copied(v)
    assert type(other) is Named
    assert other.unit == "metre"
    assert other.data == 2.0


def test_the_no_edge_marker_is_one():
    assert repr(NO_EDGE) == "NO_EDGE"
    assert through_pickle(NO_EDGE) is NO_EDGE
    assert copy.deepcopy(NO_EDGE) is NO_EDGE


def test_an_operation_is_copied_and_stored_as_itself():
    for op in (ops.tanh, ops.sum):
        assert copy.copy(op) is op
        assert copy.deepcopy([op]) == [op]
        assert pickle.loads(pickle.dumps(op)) is op
