"""origin_of_nonfinite finds, after the fact, where inf and nan came from."""

import math
import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from chainrule import (
    GraphError,
    NonFiniteError,
    Value,
    exp,
    log,
    maximum,
    no_grad,
    origin_of_nonfinite,
    pick,
    sqrt,
    stop_gradient,
    strict,
    tanh,
    topological_order,
    where,
)
from chainrule.nonfinite import _ADVICE
from chainrule.operation import ROWS


def names(origin):
    return [x.label or x._op for x in origin.path]


def test_a_value_that_arose_in_the_middle():
    p, w = Value(0.0, label="p"), Value(3.0, label="w")
    loss = tanh(w * log(p) + 1.0) * w + log(p) * 0.5
    origin = origin_of_nonfinite(loss)
    assert (origin.kind, origin.node._op, origin.number) == ("value", "log", -math.inf)
    assert names(origin) == ["+", "*", "log"]
    assert origin.line is None
    assert str(origin).splitlines()[:5] == [
        "log(p) is -inf, though its operand is finite: p = 0",
        "    path from the loss:",
        "        ((...) * w) + ((...) * 0.5) = -inf",
        "        log(p) * 0.5 = -inf",
        "        log(p) = -inf",
    ]
    assert len(repr(origin)) < 300


def test_an_input_that_was_not_finite_from_the_start():
    x = Value(math.nan, label="x")
    origin = origin_of_nonfinite((x + 1.0) * 2.0)
    assert (origin.kind, origin.node) == ("input", x)
    assert str(origin).startswith("x is nan from the start: it is an input, not a result")
    assert origin_of_nonfinite(x).path == (x,)


def test_a_plain_number_that_was_not_finite():
    origin = origin_of_nonfinite(Value(2.0, label="w") * math.inf - 1.0)
    assert (origin.kind, origin.number, origin.node._op) == ("input", math.inf, "*")
    assert str(origin).startswith("w * inf was given the plain number inf")


def test_a_finite_loss_with_an_infinite_local_derivative():
    x = Value(0.0, label="x")
    loss = sqrt(x) * 2.0
    loss.label = "loss"
    origin = origin_of_nonfinite(loss)
    assert (origin.kind, origin.number) == ("local derivative", math.inf)
    assert origin.operand is x
    assert names(origin) == ["loss", "sqrt", "x"]
    assert "the derivative of sqrt(x) by x is inf at x = 0" in str(origin)
    assert x.grad == 0.0


def test_a_finite_loss_with_an_infinite_value_inside():
    z = Value(800.0, label="z")
    origin = origin_of_nonfinite(1.0 / (1.0 + exp(z)))
    assert (origin.kind, origin.node._op, origin.operand) == ("local derivative", "exp", z)


def test_a_gradient_that_overflows():
    x = Value(1e-300, label="x")
    origin = origin_of_nonfinite(x * 1e200 * 1e200)
    assert (origin.kind, origin.factors, origin.number) == ("gradient", (1e200, 1e200), math.inf)
    assert "the numbers outgrew what a float" in str(origin)


def test_nothing_to_find():
    x = Value(2.0)
    assert origin_of_nonfinite(x) is None
    assert origin_of_nonfinite(tanh(x * x)) is None
    assert origin_of_nonfinite(where(x > 0.0, x, log(x - 2.0))) is None
    assert origin_of_nonfinite(stop_gradient(1.0 / exp(x * 400.0)) + x) is None


def test_the_branch_that_was_taken_is_the_one_to_blame():
    good, bad, worse = Value(1.0), Value(0.0, label="bad"), Value(-1.0, label="worse")
    taken = log(bad)
    for loss in (where(good, taken, log(worse)), pick(1.0 * good, [log(worse), taken])):
        assert origin_of_nonfinite(loss * 2.0).node is taken


def test_a_gradient_stop_lets_the_value_through():
    node = log(Value(0.0))
    assert origin_of_nonfinite(stop_gradient(node) + 1.0).node is node


def test_a_hand_made_operation_is_named():
    x = Value(1.0, label="x")
    out = Value(math.inf, (x,), "mine")
    out._backward = lambda: None
    assert str(origin_of_nonfinite(out * 2.0)).startswith("mine(x) is inf, though its operand")
    steep = sqrt(Value(0.0, label="z"))
    fine = Value(2.0, (steep,), "mine")
    fine._backward = lambda: None
    assert origin_of_nonfinite(fine * 2.0).node is steep
    nameless = Value(math.nan, (x,))
    assert "a hand-made operation(x) is nan" in str(origin_of_nonfinite(nameless))


def test_inside_strict_the_lines_are_known():
    x = Value(0.0)
    with strict():
        y = sqrt(x)
        assert "test_nonfinite.py" in origin_of_nonfinite(y).line
    assert origin_of_nonfinite(y).line is None


def test_a_long_path_is_cut_in_the_middle():
    x = sqrt(Value(0.0, label="x"))
    for _ in range(100):
        x = x * 1.0
    said = str(origin_of_nonfinite(x))
    assert "... 94 more steps ..." in said
    assert len(said.splitlines()) < 16


@pytest.mark.slow
@pytest.mark.parametrize(("start", "depth"), [(sqrt, 1_000_000), (log, 100_000)])
def test_a_deep_graph(start, depth):
    x = start(Value(0.0))
    for _ in range(depth):
        x = x * 1.0
    origin = origin_of_nonfinite(x)
    assert origin.node._op == start.name
    assert len(origin.path) == depth + 1 + (start is sqrt)
    assert len(str(origin)) + len(repr(origin)) < 3000


@pytest.mark.parametrize("given", [2.0, None, "loss"])
def test_something_that_is_no_value(given):
    with pytest.raises(GraphError, match="takes the Value that is not finite; got"):
        origin_of_nonfinite(given)


def test_a_value_without_a_graph():
    with no_grad():
        y = log(Value(0.0))
    with pytest.raises(GraphError, match="no_grad"):
        origin_of_nonfinite(y)


def test_advice_is_for_operations_that_exist():
    assert set(_ADVICE) <= {op.name for op in ROWS.values()}


@given(st.integers(0, 10**6))
@settings(max_examples=300, deadline=None)
def test_it_finds_something_exactly_when_something_is_not_finite(seed):
    source = random.Random(seed)
    nodes = [Value(source.choice([0.0, 1.0, -1.0, 2.0, 800.0, 1e200])) for _ in range(3)]
    made = []
    for _ in range(source.randrange(1, 9)):
        x, y = source.choice(nodes), source.choice(nodes)
        kind = source.randrange(8)
        unary = [log, exp, sqrt, tanh]
        if kind < 4:
            nodes.append(unary[kind](x))
        else:
            nodes.append([x * y, x / y, where(x > 0.0, x, y), maximum(x, y)][kind - 4])
        made.append(nodes[-1])
    loss = made[-1]
    below = topological_order(loss)
    loss.backward()
    finite = math.isfinite(loss.data) and all(math.isfinite(x.grad) for x in below)
    origin = origin_of_nonfinite(loss)
    assert (origin is None) == finite
    if origin is None:
        return
    assert str(origin)
    assert origin.path[0] is loss
    for node, operand in zip(origin.path, origin.path[1:], strict=False):
        assert any(x is operand for x in node._prev)
    if origin.kind == "value":
        assert not math.isfinite(origin.node.data)
        assert all(math.isfinite(x.data) for x in origin.node._prev)
    if math.isfinite(loss.data):
        with strict(), pytest.raises(NonFiniteError):
            loss.backward()
