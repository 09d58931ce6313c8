"""`Value`: building a graph, its one backward pass, and everything around them."""

import math

import numpy as np
import pytest

import chainrule
from chainrule import (
    NotANumberError,
    Value,
    ops,
    topological_order,
)
from chainrule.engine import in_use
from chainrule.errors import describe
from chainrule.operation import NO_EDGE
from chainrule.value import partial_derivatives

INF = math.inf


def gradients_of(y, *leaves):
    y.backward()
    return tuple([x.grad for x in leaves])


def refusal(error, call, *args):
    """The message of the error that a call must raise."""
    with pytest.raises(error) as caught:
        call(*args)
    assert type(caught.value) is error
    return str(caught.value)


# --- attributes ----------------------------------------------------------------------------


def test_a_fresh_value():
    v = Value(2, label="v")
    assert v.data == 2.0
    assert type(v.data) is float
    assert (v.grad, v.label, v._op) == (0.0, "v", "")
    assert v.operands == v._prev == v._children == ()
    assert v.is_leaf
    assert not v.has_own_rule


def test_the_arguments_may_be_given_by_name():
    a = Value(data=2.0)
    out = Value(data=8.0, children=[a, 3.0], op="cube", label="out")
    assert (out.data, out.operands, out._op, out.label) == (8.0, (a, 3.0), "cube", "out")
    assert not out.is_leaf


def test_operands_keep_order_repeats_and_plain_numbers():
    a, b = Value(2.0), Value(3.0)
    assert (a * b).operands == (a, b)
    assert (b - a).operands == (b, a)
    assert (a + a).operands == (a, a)
    assert (a * 3).operands == (a, 3.0)
    assert (3 * a).operands == (3.0, a)
    assert (1 - a).operands == (1.0, a)
    assert (a / 4).operands == (a, 4.0)
    assert (4 / a).operands == (4.0, a)
    assert (a**2).operands == (a, 2.0)
    assert (2**a).operands == (2.0, a)
    assert a.tanh().operands == (a,)
    assert ops.sum([a, 1, a, b]).operands == (a, 1.0, a, b)
    assert ops.sum([a]).operands == (a,)
    assert ops.pick(1, [a, b]).operands == (1.0, a, b)
    assert ops.where(a, b, 5).operands == (a, b, 5.0)


def test_prev_and_children_are_the_operands_that_are_values():
    a, b = Value(2.0), Value(3.0)
    for node in (a * 3, 3 * a, a.exp()):
        assert node._prev == node._children == (a,)
    assert (a * a)._prev == (a, a)
    assert ops.sum([a, 1, b])._prev == (a, b)


def test_op_is_the_symbol_of_the_row():
    a, b = Value(2.0), Value(3.0)
    nodes = (a + b, a - b, a * b, a / b, a**b, a**2, -a, abs(a), a.sigmoid(), ops.sum([a, b]))
    assert " ".join([x._op for x in nodes]) == "+ - * / ** ** neg abs sigmoid sum"


def test_plain_numbers_in_functions_give_a_plain_float():
    assert type(chainrule.exp(2.0)) is float
    assert type(chainrule.exp(2)) is float
    assert ops.sum([1, 2]) == 3.0
    assert type(chainrule.add(1, np.float32(2))) is float


def test_functions_take_a_mix():
    a = Value(2.0)
    y = ops.maximum(1, a)
    assert y.operands == (1.0, a)
    assert gradients_of(y, a) == (1.0,)


def test_functions_say_what_they_take():
    assert "exp() takes 1 operand(s); 0 were given" in refusal(TypeError, chainrule.exp)
    assert "add() takes 2 operand(s); 3 were given" in refusal(TypeError, chainrule.add, 1, 2, 3)
    assert "leaky_relu() takes 2 operand(s); 0" in refusal(TypeError, chainrule.leaky_relu)
    assert "pick() takes 2 argument(s)" in refusal(TypeError, chainrule.pick, 1)
    assert "exp needs a real number; got 'a'" in refusal(NotANumberError, chainrule.exp, "a")
    message = refusal(NotANumberError, chainrule.exp, [1.0])
    assert "[exp(x) for x in ...]" in message


def test_defaults_of_trailing_operands():
    a = Value(-2.0)
    assert chainrule.leaky_relu(a).operands == (a, 0.01)
    assert a.leaky_relu(0.5).data == -1.0
    assert chainrule.elu(a).operands == (a, 1.0)
    assert a.elu(alpha=2.0).data == 2.0 * math.expm1(-2.0)
    assert a.maximum(-1).data == -1.0
    assert a.minimum(-1).data == -2.0


def test_repr():
    assert repr(Value(2)) == "Value(data=2.0, grad=0.0)"
    x = Value(-0.5, label="w's")
    x.grad = 1.5
    assert repr(x) == 'Value(data=-0.5, grad=1.5, label="w\'s")'


def test_unknown_attributes_are_refused():
    with pytest.raises(AttributeError):
        Value(1.0).gradient = 2.0


def test_a_value_is_formatted_as_its_number():
    v = Value(-2.71828, label="v")
    assert (
        f"{v:.2f}|{v:>+10.3e}|{v:8g}|{v:%}"
        == f"{v.data:.2f}|{v.data:>+10.3e}|{v.data:8g}|{v.data:%}"
    )
    assert f"{v}" == format(v, "") == str(v) == repr(v)
    assert f"{Value(INF):.1f} {Value(-math.nan):05.1f}" == "inf 00nan"
    with pytest.raises(ValueError, match="Unknown format code 'd'"):
        format(v, "d")


def test_a_value_is_rounded_to_a_plain_number():
    for x in (2.567, -0.5, 2.5, 1234.5, 1e300):
        for given in ((), (None,), (2,), (0,), (-2,), (np.int64(1),)):
            found, expected = round(Value(x), *given), round(x, *given)
            assert found == expected
            assert type(found) is type(expected)
    with pytest.raises(ValueError, match="NaN"):
        round(Value(math.nan))
    with pytest.raises(OverflowError):
        round(Value(INF))
    with pytest.raises(TypeError, match="str"):
        round(Value(1.0), "2")


# --- backward ------------------------------------------------------------------------------


def test_two_passes_give_exactly_twice_the_leaf_gradient():
    x = Value(2.0)
    y = x * x * x
    y.backward()
    assert x.grad == 12.0
    y.backward()
    assert x.grad == 24.0  # a naive engine: 36


def test_intermediate_gradients_are_set_afresh():
    x = Value(2.0)
    h = x * x
    y = h * 3.0
    for _ in range(3):
        y.backward()
        assert (y.grad, h.grad) == (1.0, 3.0)
    assert x.grad == 36.0


def test_losses_that_share_a_subgraph_sum_up():
    x = Value(2.0)
    shared = x * x
    first, second = shared * 3.0, shared.exp()
    first.backward()
    second.backward()
    assert x.grad == 3.0 * 4.0 + 4.0 * math.exp(4.0)
    assert shared.grad == math.exp(4.0)


def test_backward_from_an_inner_node_first():
    x = Value(3.0)
    h = x * x
    y = h * h
    h.backward()
    assert x.grad == 6.0
    y.backward()
    assert x.grad == 6.0 + 108.0


def test_backward_on_a_leaf():
    x = Value(3.0)
    x.backward()
    assert x.grad == 1.0
    x.backward()
    assert x.grad == 2.0


def test_repeated_operands_receive_every_share():
    x = Value(3.0)
    assert gradients_of(x + x, x) == (2.0,)
    x = Value(3.0)
    assert gradients_of(ops.sum([x, x, x, 1.0]), x) == (3.0,)
    x = Value(2.0)
    assert gradients_of(x**x, x) == (4.0 * (1.0 + math.log(2.0)),)


def test_the_gradient_belongs_to_the_forward_pass():
    a, b = Value(2.0), Value(3.0)
    y = a * b + a.exp()
    a.data = 100.0
    b.data = -5.0
    assert gradients_of(y, a, b) == (3.0 + math.exp(2.0), 2.0)
    assert y.data == 6.0 + math.exp(2.0)


def test_diamonds():
    a = Value(1.5)
    left, right = a * 2.0, a + 1.0
    assert gradients_of(left * right, a) == (2.0 * 2.5 + 3.0,)


def test_two_to_the_fortieth_paths():
    x = y = Value(1.0)
    for _ in range(40):
        y = y + y
    assert gradients_of(y, x) == (2.0**40,)


def test_a_wide_sum():
    leaves = [Value(float(i)) for i in range(100_000)]
    for y in (ops.sum(leaves), sum(leaves)):
        y.backward()
        assert all(x.grad == 1.0 for x in leaves)
        for x in leaves:
            x.grad = 0.0


def test_wide_shared_nodes():
    x = Value(1.0)
    shared = x * 2.0
    assert gradients_of(ops.sum([shared] * 1000), x) == (2000.0,)


def test_a_chain_of_a_million():
    x = y = Value(1.0)
    for _ in range(500_000):
        y = (y + 1e-6) * 1.0
    assert gradients_of(y, x) == (1.0,)
    del y  # freed without recursion


def test_singular_points():
    x = Value(0.0)
    assert math.isnan(*gradients_of(x * x.sqrt(), x))  # 0 + 0 * inf
    x = Value(0.0)
    assert gradients_of(1 / x, x) == (-INF,)
    x = Value(-1.0)
    assert math.isnan(x.log().data)


def test_ties_share_the_gradient():
    a, b = Value(1.0), Value(1.0)
    assert gradients_of(ops.maximum(a, b), a, b) == (0.5, 0.5)
    a = Value(1.0)
    assert gradients_of(ops.minimum(a, a), a) == (1.0,)


@pytest.mark.parametrize("given", [None, "a", [0.0]])
def test_a_gradient_that_is_no_number_is_named(given):
    v, w = Value(2.0, label="v"), Value(3.0, label="w")
    for y in (v, v * w, ops.sum([w * 2.0, v, w])):
        if in_use().name == "native":
            with pytest.raises(TypeError):
                v.grad = given
        else:
            v.grad = given
            message = refusal(NotANumberError, y.backward)
            assert f"that of {v!r} is {describe(given)}. To start afresh set" in message


def test_an_error_in_a_rule_is_not_taken_for_a_wrong_gradient():
    def rule():
        raise TypeError("of my own")

    v = Value(2.0)
    y = Value(4.0, (v,), "square")
    y._backward = rule
    assert refusal(TypeError, (y * 2.0).backward) == "of my own"


# --- branches that were not taken ----------------------------------------------------------


def test_an_infinite_branch_not_taken_gives_no_nan():
    x = Value(0.0)
    assert gradients_of(ops.where(ops.greater(x, 0.0), x.sqrt(), 2.0 * x), x) == (2.0,)
    x = Value(0.0)
    assert gradients_of(chainrule.pick(1, [x.log(), 3.0 * x, 1 / x]), x) == (3.0,)
    x = Value(0.0)
    assert gradients_of(chainrule.stop_gradient(x.log()) * 0.0 + x, x) == (1.0,)
    a, b, c = Value(1.0), Value(2.0), Value(3.0)
    assert gradients_of(ops.where(c, a, b), a, b, c) == (1.0, 0.0, 0.0)


def test_stale_gradients_in_branches_not_taken_become_zero():
    x, flag = Value(4.0), Value(0.0)
    inner = x * 3.0
    branch = inner.sqrt()
    branch.backward()
    assert branch.grad == 1.0
    before = x.grad
    y = ops.where(flag, branch, 2.0 * x)
    y.backward()
    assert (branch.grad, inner.grad) == (0.0, 0.0)
    assert (flag.grad, x.grad) == (0.0, before + 2.0)
    for result in (
        chainrule.pick(0, [x, branch]),
        chainrule.stop_gradient(branch),
        ops.less(branch, 1.0),
    ):
        branch.grad = inner.grad = 7.0
        result.backward()
        assert (branch.grad, inner.grad) == (0.0, 0.0)


def test_a_node_both_in_a_taken_and_an_idle_branch_keeps_its_gradient():
    x = Value(2.0)
    shared = x * 3.0
    y = ops.where(0.0, shared.exp(), shared * 5.0)
    y.backward()
    assert (shared.grad, x.grad) == (5.0, 15.0)
    for same in (ops.where(1.0, x, x), ops.where(x, x, 0.0), chainrule.pick(1, [x, x, x])):
        x.grad = 0.0
        same.backward()
        assert x.grad == 1.0


def test_local_derivatives_stand_at_their_operands():
    x, c = Value(2.0), Value(0.0)
    assert partial_derivatives(ops.where(c, x, x)) == [NO_EDGE, NO_EDGE, 1.0]
    assert partial_derivatives(ops.where(x, x, c)) == [NO_EDGE, 1.0, NO_EDGE]
    assert partial_derivatives(chainrule.pick(1, [x, x])) == [NO_EDGE, NO_EDGE, 1.0]
    assert partial_derivatives(ops.sum([x, 1.0, x])) == [1.0, NO_EDGE, 1.0]
    assert partial_derivatives(3.0 * x) == [NO_EDGE, 3.0]
    assert partial_derivatives(x**2) == [4.0, NO_EDGE]
    assert partial_derivatives(x.exp()) == [math.exp(2.0)]
    assert partial_derivatives(x) == []


def test_comparisons_pass_no_gradient():
    x = Value(1.0)
    y = ops.less(x, 2.0) * x
    assert y.data == 1.0
    assert gradients_of(y, x) == (1.0,)
    assert ops.less(x, 2.0).operands == (x, 2.0)


def test_second_derivative_of_a_branch_through_its_own_graph():
    x = Value(2.0)
    condition = ops.greater(x, 0.0)
    slope = ops.where.derivatives(None, (condition, x, x), [True] * 3)
    assert slope == [NO_EDGE, 1.0, NO_EDGE]


# --- composites ----------------------------------------------------------------------------


def test_softmax_and_its_logarithm_far_out():
    a, b = Value(1000.0), Value(-1000.0)
    p, q = chainrule.softmax([a, b])
    assert (p.data, q.data) == (1.0, 0.0)
    assert gradients_of(p, a, b) == (0.0, 0.0)
    a.grad = b.grad = 0.0
    _, log_q = chainrule.log_softmax([a, b])
    assert log_q.data == -2000.0
    assert gradients_of(log_q, a, b) == (-1.0, 1.0)


def test_softmax_gradient():
    xs = [Value(x) for x in (0.1, -0.4, 1.2)]
    shares = chainrule.softmax(xs)
    values = [p.data for p in shares]
    assert sum(values) == pytest.approx(1.0, abs=1e-15)
    got = gradients_of(shares[0], *xs)
    expected = [values[0] * ((i == 0) - p) for i, p in enumerate(values)]
    assert got == pytest.approx(expected, abs=1e-15)
    logs = chainrule.log_softmax([x.data for x in xs])
    assert logs == pytest.approx([math.log(p) for p in values], abs=1e-15)


def test_dot_and_mean():
    a, b = Value(2.0), Value(3.0)
    assert gradients_of(chainrule.dot([a, b], [b, 4.0]), a, b) == (3.0, 2.0 + 4.0)
    assert chainrule.dot([], []) == 0.0
    a = Value(2.0)
    assert gradients_of(chainrule.mean(iter([a, 1.0, a, a])), a) == (0.75,)


# --- order of the graph --------------------------------------------------------------------


def test_topological_order_holds_each_once_operands_first():
    a, b = Value(1.0), Value(2.0)
    h = a * b
    y = ops.where(h, h + a, b) * h
    order = topological_order(y)
    assert len(order) == len(set(order)) == 6
    place = {v: i for i, v in enumerate(order)}
    assert all(place[x] < place[v] for v in order for x in v._prev)
    assert order[-1] is y
    assert topological_order(y, until=[h])[:2] == [h, a]
    assert topological_order(a, b) == [a, b]
