"""Operations that a user adds by a closure, as micrograd's readers do, and `no_grad`."""

import threading

import pytest

from chainrule import (
    GraphError,
    Value,
    no_grad,
    ops,
)


def gradients_of(y, *leaves):
    y.backward()
    return tuple([x.grad for x in leaves])


def refusal(error, call, *args):
    """The message of the error that a call must raise."""
    with pytest.raises(error) as caught:
        call(*args)
    assert type(caught.value) is error
    return str(caught.value)


# --- operations of one's own ---------------------------------------------------------------


def cube(a):
    """The way micrograd's readers add an operation."""
    out = Value(a.data**3, (a,), "cube")

    def _backward():
        a.grad += 3 * a.data**2 * out.grad

    out._backward = _backward
    return out


def test_a_custom_operation_by_closure():
    x = Value(2.0)
    y = cube(x * 2.0) + x
    assert y.data == 66.0
    for passes in (1, 2):
        y.backward()
        assert x.grad == passes * (3 * 16.0 * 2.0 + 1.0)
    inner = y.operands[0]
    assert inner._op == "cube"
    assert inner.has_own_rule
    assert not y.has_own_rule


def test_a_rule_may_be_replaced_on_any_node():
    a, b = Value(2.0), Value(3.0)
    y = a * b
    z = y + 1.0

    def clipped():
        a.grad += min(1.0, y.grad * 3.0)

    y._backward = clipped
    assert y.operands == (a, b)
    assert gradients_of(z, a, b) == (1.0, 0.0)


def test_calling_backward_of_one_node_applies_the_chain_rule_there():
    a, b = Value(2.0), Value(3.0)
    for node, expected in [
        (a * b, (30.0, 20.0)),
        (a * 3.0, (30.0, 0.0)),
        (3.0 * b, (0.0, 30.0)),
        (ops.sum([a, b, b]), (10.0, 20.0)),
        (ops.where(1.0, a, b), (10.0, 0.0)),
    ]:
        a.grad = b.grad = 0.0
        node.grad = 10.0
        node._backward()
        assert (a.grad, b.grad) == expected
        node._backward()
        assert (a.grad, b.grad) == (2 * expected[0], 2 * expected[1])
    own = cube(a)
    own.grad, a.grad = 1.0, 0.0
    own._backward()
    assert a.grad == 12.0
    a._backward()  # of a leaf: nothing to do


def test_a_rule_assigned_to_a_leaf_is_ignored():
    a = Value(2.0)
    a._backward = lambda: None
    assert not a.has_own_rule
    assert gradients_of(a * 3.0, a) == (3.0,)


def test_a_hand_made_node_without_rule_says_so():
    out = Value(8.0, (Value(2.0),), "cube")
    message = refusal(GraphError, (out * 2.0).backward)
    assert "hand-made node" in message
    assert "out._backward =" in message
    assert "no rule" in refusal(GraphError, Value(1.0, (2.0,), "f").backward)


def test_an_exception_in_a_closure_leaves_nothing_behind():
    x = Value(2.0)
    fail = [True]
    h = x * 3.0
    out = Value(h.data, (h,), "maybe")

    def maybe():
        if fail[0]:
            raise RuntimeError("not now")
        h.grad += out.grad

    out._backward = maybe
    y = out * out + h
    with pytest.raises(RuntimeError, match="not now"):
        y.backward()
    fail[0] = False
    x.grad = 0.0
    y.backward()
    assert x.grad == (2 * 6.0 + 1.0) * 3.0
    assert h.grad == 13.0


# --- no_grad -------------------------------------------------------------------------------


def test_no_grad_builds_no_graph():
    w = Value(2.0)
    with no_grad():
        y = w * 3.0 + w.exp()
        z = ops.sum([w, y, w])
        own = cube(w)
    for value in (y, z, own):
        assert value.operands == ()
        assert value.is_leaf
        assert not value.has_own_rule
    assert z.data == 2.0 + y.data + 2.0
    message = refusal(GraphError, y.backward)
    assert "no_grad()" in message
    assert "outside" in message
    assert "no_grad()" in refusal(GraphError, own.backward)
    assert (w * 3.0).operands == (w, 3.0)


def test_a_value_from_no_grad_is_a_constant_elsewhere():
    w = Value(2.0)
    with no_grad():
        y = w * 3.0
    assert gradients_of(y * w, w) == (6.0,)
    assert y.grad == 2.0


def test_leaves_made_under_no_grad_are_ordinary():
    with no_grad():
        w = Value(2.0)
    assert gradients_of(w * w, w) == (4.0,)
    w.backward()


def test_no_grad_nests_decorates_and_survives_exceptions():
    w = Value(2.0)
    with no_grad():
        with no_grad():
            pass
        assert (w * 2.0).operands == ()
    with pytest.raises(ZeroDivisionError), no_grad():
        _ = 1 / 0
    assert (w * 2.0).operands == (w, 2.0)

    @no_grad()
    def predict():
        return w * 2.0

    assert predict().operands == ()
    assert predict().operands == ()
    assert (w * 2.0).operands == (w, 2.0)


def test_no_grad_belongs_to_its_thread():
    w = Value(2.0)
    inside, outside = threading.Event(), threading.Event()
    found = []

    def other():
        inside.wait(10)
        found.append((w * 2.0).operands)
        outside.set()

    thread = threading.Thread(target=other)
    thread.start()
    with no_grad():
        inside.set()
        assert outside.wait(10)
        assert (w * 2.0).operands == ()
    thread.join()
    assert found == [(w, 2.0)]
