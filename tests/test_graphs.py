"""Properties of gradients on random graphs, among them: HIPS autograd finds the same."""

import math
from itertools import count

import autograd
import autograd.numpy as anp
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from chainrule import Value, ops, topological_order

quick = settings(derandomize=True, max_examples=60, deadline=None, database=None)

numbers = st.floats(-2.0, 2.0, allow_subnormal=False)
leaves = st.lists(numbers, min_size=3, max_size=3)


class Chainrule:
    sin, tanh, exp, log, sqrt = ops.sin, ops.tanh, ops.exp, ops.log, ops.sqrt


class Hips:
    sin, tanh, exp, log, sqrt = anp.sin, anp.tanh, anp.exp, anp.log, anp.sqrt


# Smooth everywhere and bounded in growth, so that graphs of any shape stay comparable.
STEPS = [
    lambda m, x, y: x + y,
    lambda m, x, y: x - y,
    lambda m, x, y: 0.5 * x - y * 3,
    lambda m, x, y: x * y / (1.0 + y * y),
    lambda m, x, y: 2.0 / (1.5 + x * x) - 1.0,
    lambda m, x, y: (1.0 + x**2) ** m.sin(y),
    lambda m, x, y: 1.5 ** m.tanh(x),
    lambda m, x, y: m.sin(x),
    lambda m, x, y: m.tanh(x) * m.exp(m.sin(y)),
    lambda m, x, y: m.log(1.0 + x * x),
    lambda m, x, y: m.sqrt(1.0 + x * x),
    lambda m, x, y: -x,
]

# A program is a list of steps, each on two earlier results counted from the end: later
# steps use earlier ones again and again, so nodes are shared.
programs = st.lists(
    st.tuples(st.integers(0, len(STEPS) - 1), st.integers(0, 7), st.integers(0, 7)),
    min_size=1,
    max_size=14,
)


def run(program, inputs, m=Chainrule):
    results = list(inputs)
    for step, i, j in program:
        x, y = results[-1 - i % len(results)], results[-1 - j % len(results)]
        results.append(STEPS[step](m, x, y))
    total = results[-1]
    for x in results[:-1]:  # every node counts
        total = total + 0.1 * x
    return total


def gradient(f, point):
    """The value of ``f`` and its gradient."""
    xs = [Value(x) for x in point]
    y = f(xs)
    y.backward()
    return y.data, [x.grad for x in xs]


def close(expected, rel=1e-9, size=1.0):
    return pytest.approx(expected, rel=rel, abs=rel * size)


@quick
@given(programs, leaves)
def test_random_graphs_against_hips_autograd(program, point):
    value, found = gradient(lambda xs: run(program, xs), point)
    expected = autograd.grad(lambda xs: run(program, [xs[0], xs[1], xs[2]], Hips))(anp.array(point))
    assert value == close(float(run(program, point, Hips)))
    assert found == close(expected.tolist(), size=max(map(abs, found)))


def test_a_wrong_gradient_would_be_seen():
    program = [(3, 0, 1), (0, 0, 2)]
    _, found = gradient(lambda xs: run(program, xs), [0.5, 1.0, -1.0])
    assert found == close(found)
    assert found != close([g * 1.00001 for g in found])


@quick
@given(programs, programs, leaves, numbers, numbers)
def test_linearity(f, g, point, a, b):
    _, of_f = gradient(lambda xs: run(f, xs), point)
    _, of_g = gradient(lambda xs: run(g, xs), point)
    _, of_both = gradient(lambda xs: a * run(f, xs) + run(g, xs) * b, point)
    expected = [a * df + b * dg for df, dg in zip(of_f, of_g, strict=True)]
    assert of_both == close(expected, size=max(map(abs, of_f + of_g)))


@quick
@given(programs, programs, leaves)
def test_product_rule(f, g, point):
    y, of_f = gradient(lambda xs: run(f, xs), point)
    z, of_g = gradient(lambda xs: run(g, xs), point)
    _, of_both = gradient(lambda xs: run(f, xs) * run(g, xs), point)
    expected = [df * z + y * dg for df, dg in zip(of_f, of_g, strict=True)]
    size = max(abs(y), abs(z)) * max(map(abs, of_f + of_g))
    assert of_both == close(expected, size=size)


@quick
@given(programs, leaves)
def test_chain_rule(f, point):
    y, inner = gradient(lambda xs: run(f, xs), point)
    _, outer = gradient(lambda xs: ops.tanh(run(f, xs)), point)
    slope = 1.0 - math.tanh(y) ** 2
    assert outer == close([slope * d for d in inner], size=max(map(abs, inner)))


@quick
@given(st.lists(numbers, min_size=2, max_size=8), st.randoms(use_true_random=False))
def test_the_order_of_operands_does_not_matter(point, source):
    shuffled = list(range(len(point)))
    source.shuffle(shuffled)

    def terms(xs):
        return [xs[i] * xs[i - 1] + ops.sin(xs[i]) for i in range(len(xs))]

    for gather in (ops.sum, sum, ops.logsumexp, lambda ts: ops.tanh(ops.dot(ts, ts))):
        _, straight = gradient(lambda xs: gather(terms(xs)), point)  # noqa: B023  used at once
        _, permuted = gradient(
            lambda xs: gather([terms(xs)[i] for i in shuffled]),  # noqa: B023
            point,
        )
        assert permuted == close(straight, rel=1e-12, size=max(map(abs, straight)))


@quick
@given(programs, leaves)
def test_a_second_pass_adds_the_same_again(program, point):
    xs = [Value(x) for x in point]
    y = run(program, xs)
    y.backward()
    once = [x.grad for x in xs]
    inner = [v.grad for v in topological_order(y) if not v.is_leaf]
    y.backward()
    twice = [2.0 * g for g in once]
    assert [x.grad for x in xs] == close(twice, rel=1e-14, size=max(map(abs, inner)))
    assert [v.grad for v in topological_order(y) if not v.is_leaf] == inner


@quick
@given(programs, leaves)
def test_each_node_comes_once_and_after_its_operands(program, point):
    y = run(program, [Value(x) for x in point])
    order = topological_order(y)
    place = dict(zip(order, count(), strict=False))
    assert len(place) == len(order)
    assert order[-1] is y
    assert all(place[x] < place[v] for v in order for x in v.operands if isinstance(x, Value))
