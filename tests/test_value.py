"""`Value`: building a graph, its one backward pass, and everything around them."""

import copy
import math
import operator
import pickle
import re
import threading
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest

import chainrule
from chainrule import (
    GraphError,
    NotANumberError,
    ShapeError,
    Value,
    no_grad,
    ops,
    topological_order,
)
from chainrule.errors import describe
from chainrule.operation import NO_EDGE, number
from chainrule.value import partial_derivatives

INF, NAN = math.inf, math.nan


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


# --- numbers in, numbers out ---------------------------------------------------------------

NUMBERS = [
    3,
    True,
    2.5,
    Fraction(1, 4),
    Decimal("1.5"),
    np.float16(1.5),
    np.float32(1.5),
    np.float64(1.5),
    np.longdouble(1.5),
    np.int8(-3),
    np.uint64(7),
    np.bool_(True),
]


@pytest.mark.parametrize("x", NUMBERS, ids=lambda x: f"{type(x).__name__}")
def test_every_real_number_becomes_a_float(x):
    v = Value(0.0)
    v.data = x
    results = (Value(x), v, Value(1.0) * x, x * Value(1.0), chainrule.add(0.0, x) + Value(0.0))
    for result in results:
        assert type(result) is Value
        assert type(result.data) is float
        assert result.data == float(x)
    assert [type(operand) for operand in (x * Value(1.0)).operands] == [float, Value]


def test_numpy_scalars_on_the_left_of_every_operator():
    v = Value(3.0)
    two = np.float64(2)
    assert (two + v).data == 5.0
    assert (two - v).data == -1.0
    assert (two * v).data == 6.0
    assert (two / v).data == 2.0 / 3.0
    assert (two**v).data == 8.0
    assert bool(two < v)
    assert not two >= v


def test_numpy_arrays_answer_element_by_element():
    v = Value(3.0)
    for array in (np.array([1.0, 2.0]) * v, v * np.array([1.0, 2.0])):
        assert array.dtype == object
        assert [x.data for x in array] == [3.0, 6.0]
        assert all(type(x) is Value for x in array)
    assert [x.data for x in v ** np.array([1.0, 2.0])] == [3.0, 9.0]
    assert (v < np.array([1.0, 5.0])).tolist() == [False, True]
    assert (np.array(2.0) * v).data == 6.0
    (e,) = np.exp(np.array([v]))
    assert e.data == math.exp(3.0)
    assert e.operands == (v,)


def test_conversion_to_plain_numbers():
    v = Value(-2.75)
    assert float(v) == -2.75
    assert int(v) == -2
    assert bool(v)
    assert not Value(0.0)
    assert math.exp(v) == math.exp(-2.75)


def test_ordering_compares_data():
    a, b = Value(1.0), Value(2.0)
    assert a < b
    assert a <= b
    assert b > a
    assert b >= a
    assert a < 1.5 < b
    assert a <= 1
    assert 3 > a  # noqa: SIM300  the number in front is the point
    assert a >= Fraction(1, 2)
    assert not a < NAN
    assert max([a, b]) is b
    assert sorted([b, a]) == [a, b]
    for compare in (operator.lt, operator.le, operator.gt, operator.ge):
        with pytest.raises(TypeError, match="not supported between instances"):
            compare(a, "1")


def test_equality_is_identity_and_hashing_works():
    a, b = Value(1.0), Value(1.0)
    assert a != b
    assert a != 1.0
    assert {a: "a", b: "b"}[a] == "a"
    assert len({a, b, a}) == 2


def test_detach_is_a_leaf_of_its_own():
    a = Value(2.0, label="a")
    d = a.detach()
    assert d is not a
    assert (d.data, d.label, d.operands) == (2.0, "a", ())
    assert gradients_of(a * d, a, d) == (2.0, 2.0)
    assert (a * 3).detach().operands == ()


def test_sum_of_python():
    a, b = Value(1.0), Value(2.0)
    total = sum([a, b, a])
    assert total.data == 4.0
    assert gradients_of(total, a, b) == (2.0, 1.0)


def test_unary_plus_changes_nothing():
    a = Value(2.0)
    assert +a is a
    assert gradients_of(-a, a) == (-1.0,)


# --- bad input -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("given", "named", "advice"),
    [
        ("3", "'3' (a str)", "float(...)"),
        (b"3", "b'3' (a bytes)", "float(...)"),
        (np.str_("3"), "(a str_)", "float(...)"),
        ([1], "[1] (a list)", "[Value(x) for x in ...]"),
        ({"a": 1}, "{'a': 1} (a dict)", "element by element"),
        (iter([1]), "(a list_iterator)", "element by element"),
        (np.array([1.0]), "array([1.]) (a ndarray)", "element by element"),
        (np.array(1.0), "array(1.) (a ndarray)", ".item()"),
        (1j, "1j (a complex)", ".real"),
        (np.complex64(1j), "(a complex64)", ".real"),
        (None, "None (a NoneType)", "return"),
        (Value(1), "Value(data=1.0, grad=0.0) (a Value)", ".data"),
        (object, "<class 'object'> (a type)", "an int or a float"),
        (np.datetime64("2020-01-01"), "(a datetime64)", "an int or a float"),
        (Decimal("sNaN"), "(a Decimal)", "an int or a float"),
    ],
    ids=str,
)
def test_what_is_no_number_is_refused_by_name(given, named, advice):
    message = refusal(NotANumberError, Value, given)
    assert message.startswith("Value needs a real number; got ")
    assert named in message
    assert advice in message
    assert isinstance(NotANumberError(), TypeError)
    v = Value(7.0)
    with pytest.raises(NotANumberError, match=r"Value\.data needs a real number") as caught:
        v.data = given
    assert named in str(caught.value)
    assert v.data == 7.0


@pytest.mark.parametrize("huge", [10**400, 10**5000, Fraction(10**400)], ids=lambda x: "")
def test_numbers_beyond_every_float(huge):
    for call in (Value, Value(1.0).__add__, chainrule.exp):
        assert "larger than any float" in refusal(NotANumberError, call, huge)


@pytest.mark.parametrize("other", ["a", b"a", None, 1j, [1.0], (1.0,), {}, set()], ids=str)
@pytest.mark.parametrize("name", ["add", "sub", "mul", "truediv", "pow"])
def test_operators_explain_themselves_to_newcomers(name, other):
    spell = getattr(operator, name)
    v = Value(1.0)
    for operands in ((v, other), (other, v)):
        message = refusal(NotANumberError, spell, *operands)
        assert re.match(r"the operator (\+|-|\*|/|\*\*) needs a real number; got ", message)
        assert describe(other) in message
        assert "What to do" in message


@pytest.mark.parametrize("name", ["add", "sub", "mul", "truediv", "pow"])
def test_operators_leave_other_types_their_turn(name):
    class Other:
        def answer(self, other):
            return "mine"

        __radd__ = __rsub__ = __rmul__ = __rtruediv__ = __rpow__ = answer

    v, spell = Value(1.0), getattr(operator, name)
    assert spell(v, Other()) == "mine"
    for other in (object(), np.datetime64("2020-01-01")):
        assert getattr(v, f"__{name}__")(other) is NotImplemented
        assert getattr(v, f"__r{name}__")(other) is NotImplemented


def test_bad_children():
    a = Value(1.0)
    message = refusal(NotANumberError, Value, 1.0, a)
    assert "with the comma" in message
    assert "Value(data, (a,), op)" in message
    assert "got 3 (an int)" in refusal(NotANumberError, Value, 1.0, 3)
    assert "an operand needs a real number; got 'x'" in refusal(
        NotANumberError, Value, 1.0, (a, "x")
    )


def test_a_rule_that_cannot_be_called():
    message = refusal(GraphError, setattr, Value(1.0) * 2.0, "_backward", None)
    assert "_backward must be a function without arguments; got None" in message


def test_bad_iterables():
    for who in (ops.sum, ops.logsumexp, chainrule.softmax, chainrule.log_softmax, chainrule.mean):
        message = refusal(NotANumberError, who, Value(1.0))
        assert "takes an iterable of numbers or Values" in message
        assert f"{who.__name__}([a, b])" in message
    assert "dot() takes an iterable" in refusal(NotANumberError, chainrule.dot, [1.0], 2.0)
    assert "got 1 and 2" in refusal(ShapeError, chainrule.dot, [1.0], [1.0, 2.0])
    for who in (chainrule.softmax, chainrule.log_softmax, chainrule.mean):
        assert "at least one value" in refusal(ShapeError, who, [])
    assert "sum needs a real number; got 'a'" in refusal(NotANumberError, ops.sum, ["a"])


def test_a_mistake_inside_a_users_generator_stays_the_users():
    def broken():
        yield Value(1.0)
        raise TypeError("mine")

    for call in (ops.sum, chainrule.mean, lambda children: Value(1.0, children)):
        assert refusal(TypeError, call, broken()) == "mine"


def test_pick_refuses_an_index_that_is_not_there():
    options = [Value(1.0), Value(2.0)]
    for index in (2, -1, 0.5, NAN, INF):
        message = refusal(ShapeError, chainrule.pick, index, options)
        assert f"index {index:g} for 2 option(s)" in message
        assert "from 0 to 1" in message
    assert "at least one option" in refusal(ShapeError, chainrule.pick, 0, [])


def test_describe_survives_anything():
    class Broken:
        def __repr__(self):
            raise RuntimeError

    assert describe(Broken()) == "an object that cannot be shown (a Broken)"
    assert describe("x" * 100, 10) == "'xxxxxx... (a str)"
    assert describe("a\nb") == r"'a\nb' (a str)"
    assert describe(1) == "1 (an int)"
    assert number(2, "x") == 2.0


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
