"""Tracing: what is recorded, and that nothing is frozen into a program silently."""

import inspect
import math
import random
import threading

import numpy as np
import pytest

from chainrule import CompileMismatch, ShapeError, TraceError, Value, ops, strict
from chainrule.compiler.trace import Leaf, Trace, Tracer, record
from chainrule.dual import Dual
from chainrule.modes import MODES, counting, no_grad, tracing, watched
from chainrule.operation import ROWS, VARIADIC
from chainrule.structure import flatten

NAN = math.nan


def traced(f, inputs=2, parameters=()):
    """The trace of a function of a list of numbers."""
    return record(f, [flatten([0.0] * inputs, "x")[1]], list(parameters))


def text(trace, i=None):
    """A node, written out: x0 is an input, p0 a parameter."""
    if i is None:
        return ", ".join([text(trace, i) for i in trace.outputs])
    op = trace.ops[i]
    if op is not None:
        return f"{op.name}({', '.join([text(trace, x) for x in trace.operands[i]])})"
    leaf = trace.leaves[i]
    if leaf.kind == "constant":
        return repr(leaf.constant)
    return f"{'x' if leaf.kind == 'input' else 'p'}{leaf.place}"


def count(trace):
    return sum(op is not None for op in trace.ops)


# --- what is recorded ----------------------------------------------------------------------------


def test_operations_and_leaves():
    w = Value(2.0)
    trace = traced(lambda x: ops.tanh(w * x[0] + 0.5) - x[1], parameters=[w])
    assert text(trace) == "sub(tanh(add(mul(p0, x0), 0.5)), x1)"
    assert trace.parameters == [w]
    assert count(trace) == 4


OPERATORS = {
    "x + y": (lambda x, y: x + y, ops.add),
    "x - y": (lambda x, y: x - y, ops.sub),
    "x * y": (lambda x, y: x * y, ops.mul),
    "x / y": (lambda x, y: x / y, ops.div),
    "x ** y": (lambda x, y: x**y, ops.pow),
}


@pytest.mark.parametrize(("f", "op"), OPERATORS.values(), ids=OPERATORS)
def test_operators_keep_the_order_of_operands(f, op):
    w = Value(3.0)
    for left, right, expected in [
        (lambda x: x[0], lambda x: x[1], "x0, x1"),
        (lambda x: x[0], lambda x: 2.0, "x0, 2.0"),
        (lambda x: 2.0, lambda x: x[0], "2.0, x0"),
        (lambda x: x[0], lambda x: w, "x0, p0"),
        (lambda x: w, lambda x: x[0], "p0, x0"),
        (lambda x: x[0], lambda x: np.float64(2.0), "x0, 2.0"),
        (lambda x: np.float64(2.0), lambda x: x[0], "2.0, x0"),
        (lambda x: x[0], lambda x: True + True, "x0, 2.0"),
    ]:
        trace = traced(lambda x: f(left(x), right(x)), parameters=[w])  # noqa: B023
        assert text(trace) == f"{op.name}({expected})"


@pytest.mark.parametrize("op", ROWS.values(), ids=lambda op: op.name)
def test_every_operation_is_recorded_as_itself(op):
    if op.arity == VARIADIC:
        leading = op.leading
        trace = traced(lambda x: op(*x[:leading], x[leading:]), inputs=leading + 3)
        names = ", ".join([f"x{i}" for i in range(leading + 3)])
    else:
        trace = traced(lambda x: op(*x), inputs=op.arity)
        names = ", ".join([f"x{i}" for i in range(op.arity)])
    assert text(trace) == f"{op.name}({names})"


def test_common_subexpressions_are_recorded_once():
    w = Value(2.0)

    def f(x):
        return ops.sin(w * x[0]) * ops.sin(w * x[0]) + ops.sin(w * x[0])

    trace = traced(f, parameters=[w])
    assert count(trace) == 4
    assert text(trace).count("sin") == 3


def test_constants_are_told_apart_by_their_bits():
    trace = traced(lambda x: [x[0] + 0.0, x[0] + -0.0, x[0] * NAN, x[1] * NAN, x[0] + 0])
    zero, minus_zero, nan, other_nan, again = trace.outputs
    assert zero != minus_zero
    assert zero == again
    assert nan != other_nan
    numbers = [leaf.constant for leaf in trace.leaves.values() if leaf.kind == "constant"]
    assert [str(x) for x in numbers] == ["0.0", "-0.0", "nan"]


def test_products_with_one_and_known_choices_vanish():
    trace = traced(
        lambda x: [
            1.0 * x[0],
            x[0] * 1.0,
            x[0] ** 1,
            ops.where(2.0, x[0], x[1]),
            ops.where(0.0, x[1], x[0]),
            ops.where(NAN, x[0], x[1]),  # nan is not 0, so it is true
            ops.pick(1, [x[1], x[0], x[1]]),
        ]
    )
    assert text(trace) == ", ".join(["x0"] * 7)
    assert count(trace) == 0


def test_what_is_not_equal_for_every_number_stays():
    trace = traced(lambda x: [x[0] * 0.0, 0.0 + x[0], x[0] / 1.0, x[0] - x[0], x[0] ** 0])
    assert text(trace) == "mul(x0, 0.0), add(0.0, x0), div(x0, 1.0), sub(x0, x0), pow(x0, 0.0)"


def test_a_known_index_is_checked():
    with pytest.raises(ShapeError, match=r"index 2 for 2 option\(s\)"):
        traced(lambda x: ops.pick(2, [x[0], x[1]]))


def test_values_are_traced_through_to_their_leaves():
    p, q = Value(0.5), Value(0.25)
    before = ops.exp(p) * q
    trace = traced(lambda x: before * x[0] + p, parameters=[p])
    assert text(trace) == "add(mul(mul(exp(p0), p1), x0), p0)"
    assert trace.parameters == [p, q]  # q was not asked for, and is a parameter all the same


def test_choices_between_values_keep_both_branches():
    """Eager mode walks one branch only; the program must have both."""
    p, q = Value(0.5), Value(-0.25)
    trace = traced(
        lambda x: (
            ops.where(ops.greater(p, 0.0), p * x[0], q) + ops.pick(ops.less(q, 0.0), [p * q, q * q])
        ),
        parameters=[p, q],
    )
    assert text(trace) == (
        "add(where(greater(p0, 0.0), mul(p0, x0), p1), "
        "pick(less(p1, 0.0), mul(p0, p1), mul(p1, p1)))"
    )


def test_values_made_inside_are_constants():
    kept = Value(7.0)

    def f(x):
        total = Value(0.0)
        for v in x:
            total = total + v * Value(2.0)
        return [total + kept, ops.exp(Value(0.0)) + Value(1.0) * Value(3.0)]

    trace = traced(f, parameters=[])
    assert text(trace) == "add(add(add(0.0, mul(x0, 2.0)), mul(x1, 2.0)), p0), 4.0"
    assert trace.parameters == [kept]
    assert [leaf.place for leaf in trace.leaves.values() if leaf.kind == "parameter"] == [0]


def test_structures_of_results():
    trace = traced(lambda x: {"a": x[0], "b": [x[1], 3.0]})
    assert trace.structure.fill([1.0, 2.0, 3.0]) == {"a": 1.0, "b": [2.0, 3.0]}


@pytest.mark.parametrize("result", [[], {}, ()])
def test_a_result_without_numbers(result):
    with pytest.raises(TraceError, match="without a single number in it"):
        traced(lambda x: result)


def test_a_forgotten_return():
    with pytest.raises(TypeError, match="forgot its return"):
        traced(lambda x: None)


def test_arrays_of_tracers():
    trace = record(
        lambda x: np.sum(np.exp(x) * np.array([1.0, 2.0])), [flatten(np.zeros(2), "x")[1]], []
    )
    assert text(trace) == "add(exp(x0), mul(exp(x1), 2.0))"


# --- TraceError: asking for a number that is not known yet ---------------------------------------

P, Q = Value(1.0), Value(2.0)


def if_input(x):
    return x[0] if x[0] > 0 else x[1]  # here


def if_truth(x):
    return x[0] if x[0] else x[1]  # here


def boolean_and(x):
    return x[0] and x[1]  # here


def while_input(x):
    total = x[0]
    while total < 3.0:  # here
        total = total + 1.0
    return total


def to_float(x):
    return float(x[0])  # here


def to_int(x):
    return x[0] * int(x[1])  # here


def of_math(x):
    return math.exp(x[0])  # here


def input_data(x):
    return x[0].data * 2.0  # here


def input_grad(x):
    return x[0] * x[1].grad  # here


def equal_inputs(x):
    return 1.0 if x[0] == x[1] else x[0]  # here


def unequal_inputs(x):
    return 1.0 if x[0] != 2.0 else x[0]  # here


def among(x):
    return 1.0 if x[0] in [1.0, 2.0] else x[0]  # here


def largest(x):
    return max(x)  # here


def in_order(x):
    return sorted(x)[0]  # here


def as_index(x):
    return [5.0, 6.0][x[0]]  # here


def as_range(x):
    return x[0] * len(range(x[1]))  # here


def iterated(x):
    return sum(v for v in x[0])  # here


def in_an_array(x):
    return np.array(x, dtype=float).sum() * x[0]  # here


def if_parameter(x):
    return x[0] if P > 0 else x[1]  # here


def if_parameter_truth(x):
    return x[0] if P else x[1]  # here


def equal_parameters(x):
    return x[0] if P == Q else x[1]  # here


def parameter_equal_to_number(x):
    return x[0] if P != 1.0 else x[1]  # here


def larger_parameter(x):
    return max(P, Q) * x[0]  # here


def parameter_to_float(x):
    return float(P) * x[0]  # here


def parameter_to_int(x):
    return int(P) * x[0]  # here


def parameter_of_math(x):
    return math.exp(P) * x[0]  # here


def parameter_data(x):
    return P.data * x[0]  # here


def if_parameter_data(x):
    return x[0] if P.data > 0.0 else x[1]  # here


def computed_data(x):
    return (P * Q).data * x[0]  # here


def compared_to_input(x):
    return x[0] if P > x[0] else x[1]  # here  # noqa: SIM300


def rounded_parameter(x):
    return round(P, 2) * x[0]  # here


def formatted_parameter(x):
    return float(f"{P:.2f}") * x[0]  # here


REFUSED = {
    if_input: r"compared, or converted.*write where\(greater\(a, b\), x, y\)",
    if_truth: r"truth of a value was asked for.*write where",
    boolean_and: "truth of a value was asked for",
    while_input: "compared, or converted",
    to_float: r"compared, or converted.*write stop_gradient\(a\)",
    to_int: r"int\(\) was applied.*write pick\(index, options\)",
    of_math: "compared, or converted",
    input_data: r"`\.data` of a value was read.*stop_gradient",
    input_grad: r"`\.grad` of a value was read.*returns the gradients",
    equal_inputs: r"compared with == or !=.*Write equal\(a, b\)",
    unequal_inputs: "compared with == or !=",
    among: "compared with == or !=",
    largest: "compared, or converted.*maximum",
    in_order: "compared, or converted",
    as_index: r"used as an index.*write pick\(index, options\)",
    as_range: "used as an index",
    iterated: "iterated over.*It is a single number",
    in_an_array: "compared, or converted",
    if_parameter: r"compared, or converted.*write where\(greater\(a, b\), x, y\)",
    if_parameter_truth: "compared, or converted",
    equal_parameters: r"compared with == or !=.*Write equal\(a, b\).*a is b",
    parameter_equal_to_number: "compared with == or !=",
    larger_parameter: "compared, or converted.*maximum",
    parameter_to_float: r"compared, or converted.*write stop_gradient\(a\)",
    parameter_to_int: "compared, or converted",
    parameter_of_math: "compared, or converted",
    parameter_data: r"`\.data` of a value was read.*stop_gradient",
    if_parameter_data: r"`\.data` of a value was read",
    computed_data: r"`\.data` of a value was read",
    compared_to_input: "compared, or converted",
    rounded_parameter: "was rounded.*outside of it",
    formatted_parameter: "was formatted as text.*outside of it",
}


def test_a_value_without_a_format_is_shown_while_tracing():
    seen = []
    traced(lambda x: seen.append(f"{P}") or x[0] * P, parameters=[P])
    assert seen[0] == repr(P)


def line_of(f):
    """How an error must name the marked line of a function."""
    lines, start = inspect.getsourcelines(f)
    (number,) = [i for i, line in enumerate(lines) if "# here" in line]
    return f"line {start + number} of {__file__}"


def refused(error, f, *, parameters=(P, Q)):
    """The message of the error that tracing ends in; nothing may be left behind by it."""
    before = [(p.data, p.grad) for p in (P, Q)]
    with pytest.raises(error) as caught:
        traced(f, parameters=parameters)
    assert [(p.data, p.grad) for p in (P, Q)] == before
    assert not MODES.used
    assert not MODES.here.tracing
    return " ".join(str(caught.value).split())


def matches(pattern, message):
    """The parts of a pattern, in order, between which anything may stand."""
    with pytest.raises(ValueError, match=pattern):
        raise ValueError(message)


@pytest.mark.parametrize(
    ("f", "pattern"), REFUSED.items(), ids=lambda x: getattr(x, "__name__", "")
)
def test_a_number_that_is_not_known_yet(f, pattern):
    message = refused(TraceError, f)
    matches(pattern, message)
    assert line_of(f) in message
    assert "while the function is being compiled" in message


def test_a_tracer_kept_from_an_earlier_call():
    kept = []

    def f(x):
        kept.append(x[0])
        return kept[0] * 2.0 + x[1]  # here

    message = refused(TraceError, f)
    assert "a tracer of an earlier trace was used" in message
    assert line_of(f) in message


def test_a_tracer_kept_from_an_earlier_call_alone():
    kept = []

    def f(x):
        kept.append(x[0])
        return ops.exp(kept[0])  # here

    message = refused(TraceError, f)
    assert "a tracer of an earlier trace was used" in message
    assert line_of(f) in message

    def g(x):
        kept.append(x[0])
        return kept[0]

    assert "a tracer of an earlier trace was returned" in refused(TraceError, g)
    with pytest.raises(TraceError, match="a tracer of an earlier trace was used"):
        kept[-1] + 1.0


def test_a_cache_of_results():
    cache = {}

    def f(x):
        if "h" not in cache:
            cache["h"] = P * x[0]
        return cache["h"] + x[1]  # here

    message = refused(TraceError, f)
    assert "a tracer of an earlier trace was used" in message
    assert line_of(f) in message


def test_a_hand_made_operation():
    def square(v):
        out = Value(v.data**2, (v,), "square")
        out._backward = lambda: None
        return out

    made = square(P)

    def f(x):
        return made * x[0]  # here

    message = refused(TraceError, f)
    assert "the hand-made operation 'square', used at" in message
    assert line_of(f) in message
    assert "Write it with the operations of the table" in message


def test_another_interpreter_inside():
    def f(x):
        return ops.exp(ops.maximum(x[0], Dual(1.0, 1.0, 1)))  # here

    with pytest.raises(TypeError):
        traced(f)


def test_text_and_other_strangers():
    for stranger in ("a", None, [1.0], 2j):
        with pytest.raises(TypeError, match="real number"):
            traced(lambda x, s=stranger: x[0] + s)
        with pytest.raises(TypeError, match="real number"):
            traced(lambda x, s=stranger: ops.maximum(x[0], s))


def test_an_error_of_the_users_own_passes_through():
    def f(x):
        raise ZeroDivisionError("mine")

    assert refused(ZeroDivisionError, f) == "mine"


def test_an_error_in_the_second_trace_restores_the_parameters():
    calls = []

    def f(x):
        calls.append(1)
        if len(calls) == 2:
            raise KeyboardInterrupt
        return P * x[0]

    refused(KeyboardInterrupt, f)


# --- CompileMismatch: not the same in every call -------------------------------------------------


def counter():
    calls = iter(range(1000))

    def f(x):
        return x[0] * next(calls)  # here

    return f


def growing():
    terms = []

    def f(x):
        terms.append(1.0)
        return sum([x[0] * ops.sin(x[1] + i) for i in range(len(terms))])  # here

    return f


def shrinking():
    calls = iter(range(1000, 0, -1))

    def f(x):
        n = next(calls)
        return ops.sum([ops.sin(v) for v in [*x, P, Q][: n - 996]])  # here

    return f


def switching():
    calls = []

    def f(x):
        calls.append(1)
        op = ops.sin if len(calls) % 2 else ops.cos
        return op(x[0])  # here

    return f


def chance(x):
    return x[0] * random.random()  # here


def dropout(x):
    return ops.sum([v * random.choice([0.0, 2.0, 3.0, 5.0, 7.0]) for v in [*x, P, Q]])  # here


def random_value(x):
    return x[0] * Value(random.random())  # here


def detached(x):
    return P.detach() * x[0]  # here


def without_graph(x):
    with no_grad():
        scale = P * Q
    return scale * x[0]  # here


def own_gradient(x):
    return x[0] * Q.grad  # here


DIFFERENT = {
    "a counter": (counter, "a number at"),
    "a list that grows": (growing, "something else|in one call only"),
    "a list that shrinks": (shrinking, "something else|in one call only"),
    "another operation": (switching, "something else"),
    "a random number": (lambda: chance, "a number at"),
    "dropout": (lambda: dropout, "a number at|something else|in one call only"),
    "a random Value": (lambda: random_value, "a Value made inside"),
    "detach": (lambda: detached, "a Value made inside"),
    "no_grad": (lambda: without_graph, "a Value made inside"),
    "a parameter's gradient": (lambda: own_gradient, "a number at"),
}


@pytest.mark.parametrize(("make", "pattern"), DIFFERENT.values(), ids=DIFFERENT)
def test_not_the_same_in_every_call(make, pattern):
    random.seed(1)
    f = make()
    message = refused(CompileMismatch, f)
    matches(pattern, message)
    assert line_of(f) in message
    assert "traced twice" in message
    assert "pass random numbers in as inputs" in message


def test_another_structure_in_the_second_call():
    calls = []

    def f(x):
        calls.append(1)
        return [x[0], x[1]] if len(calls) % 2 else (x[0], x[1])

    assert "returned something else in the second call" in refused(CompileMismatch, f)


def test_results_in_another_order():
    calls = []

    def f(x):
        calls.append(1)
        return [x[0], x[1]][:: 1 if len(calls) % 2 else -1]

    assert "returned something else in the second call" in refused(CompileMismatch, f)


def test_even_what_has_no_influence_must_be_the_same():
    def f(x):
        unused = x[1] * random.random()  # here
        assert unused is not None
        return x[0] * x[1]

    assert line_of(f) in refused(CompileMismatch, f)


# --- the engine around it ------------------------------------------------------------------------


def test_outside_of_a_trace_values_compare_as_ever():
    a, b = Value(1.0), Value(1.0)
    assert a == a
    assert a != b
    assert a != 1.0
    assert hash(a) != hash(b)
    assert len({a, b, a}) == 2
    assert [b, a].index(a) == 1
    assert a not in [b, 1.0]
    assert (a >= b, a < b, float(a), int(a), bool(a)) == (True, False, 1.0, 1, True)
    with no_grad():
        assert a != b
        assert float(a) == a.data == 1.0


def test_only_the_thread_that_traces_is_concerned():
    found = []
    with tracing():
        thread = threading.Thread(target=lambda: found.append((P.data, float(P), P == Q)))
        thread.start()
        thread.join()
        with pytest.raises(TraceError):
            float(P)
    assert found == [(1.0, 1.0, False)]
    assert float(P) == 1.0


def test_a_pure_function_is_traced_once_and_nothing_is_perturbed():
    p = Value(2.0)
    seen = []

    def f(x):
        seen.append(p._data)
        return x[0] * p

    whole = record(f, [flatten([0.0], "x")[1]], [])
    assert len(set(seen)) == 2
    seen.clear()
    once = record(f, [flatten([0.0], "x")[1]], [], pure=True)
    assert seen == [2.0]
    assert text(once) == text(whole)
    assert once.parameters == whole.parameters == [p]


@pytest.mark.parametrize("block", [counting, tracing, strict])
def test_who_looks_at_every_operation(block):
    with no_grad():
        assert not watched()
        with block():
            assert watched()
            found = []
            thread = threading.Thread(target=lambda: found.append(watched()))
            thread.start()
            thread.join()
            assert found == [False]
            with counting():
                pass
            assert watched()
        assert not watched()
    assert not watched()


def test_a_trace_shows_itself():
    trace = Trace(())
    assert repr(Tracer(trace, trace.leaf(Leaf("input")))) == "<tracer of node 0>"
