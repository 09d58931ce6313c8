"""Programs that are too long for an engine, and statements laid side by side to shorten them."""

import runpy
from pathlib import Path

import numpy as np
import pytest

from chainrule import Network, Value, ops
from chainrule.compiler import compile, engines, lower
from chainrule.compiler.backend_numpy import Source
from chainrule.compiler.program import Join
from chainrule.data import xor

faithful = runpy.run_path(str(Path(__file__).with_name("test_compiler_faithful.py")))
hold, RandomGraph = faithful["hold"], faithful["RandomGraph"]

# --- laid side by side ---------------------------------------------------------------------------


@pytest.fixture
def joined(monkeypatch):
    """Lay results side by side wherever that can be done at all."""
    monkeypatch.setattr(lower, "_UNEVEN", 2)
    monkeypatch.setattr(lower, "_WORTH", float("inf"))


def uneven(x, p):
    """Sums of 1, 2, 3 .. products, and the same done with each of them."""
    sums = [ops.dot(p[: k + 1], x[: k + 1]) for k in range(len(x))]
    for _ in range(3):
        sums = [ops.tanh(s) * p[0] for s in sums]
    return ops.sum(sums)


def statements_of(step):
    return step.program.statements


def test_what_is_done_with_sums_of_different_lengths_is_one_statement():
    p = [Value(0.3 * i - 0.5) for i in range(6)]
    batch = np.random.default_rng(0).normal(size=(5, 6))
    step = compile(lambda x: uneven(x, p), parameters=p)
    step(batch)
    assert [type(s) for s in statements_of(step)].count(Join) == 1
    assert len(statements_of(step)) == 1 + 6 + 1 + 3 * 2
    assert "beside(z1, z2, z3, z4, z5, z6)" in step.source
    hold(lambda x: uneven(x, p), p, [batch])
    hold(lambda x: uneven(x, p), p[:2], [batch])


def test_statements_stay_as_they_are_where_joining_does_not_pay():
    p = [Value(0.3 * i - 0.5) for i in range(6)]
    step = compile(lambda x: ops.sum([ops.dot(p[:k], x[:k]) for k in range(2, 7)]), parameters=p)
    step([[1.0] * 6])
    assert not any(isinstance(s, Join) for s in statements_of(step))


@pytest.mark.parametrize("part", range(4))
def test_random_graphs_with_everything_joined(part, joined):
    seen = 0
    for seed in range(part, 200, 4):
        graph = RandomGraph(seed)
        hold(graph, graph.parameters[: graph.requested], graph.batch)
        program, _ = faithful["compiled"](graph, graph.parameters, graph.batch, None)
        seen += any(isinstance(s, Join) for s in program.statements)
    assert seen > 10


@pytest.mark.parametrize("f", faithful["BRANCHES"].values(), ids=faithful["BRANCHES"])
def test_branches_not_taken_in_what_is_joined(f, joined):
    parameters = [Value(x) for x in (0.5, 0.75, 1.5, 0.3, 0.8, 2.0)]
    hold(lambda x: f(x, parameters), parameters, [faithful["POSITIVE"]])


# --- too long for an engine ----------------------------------------------------------------------


def recurrence(w, steps):
    def f(x):
        h = 0.0
        for _ in range(steps):
            h = ops.tanh(w[0] * h + w[1] * x)
        return h

    return f


def expected(w, steps):
    reference = compile(recurrence(w, steps), parameters=w, engine="python")
    return reference([0.3, 0.7, -1.0])


def test_a_recurrence_of_thousands_of_steps():
    w = [Value(1.02), Value(0.1)]
    step = compile(recurrence(w, 2_600), parameters=w)
    value, gradient = step([0.3, 0.7, -1.0])
    assert step.report.statements > engines.LONGEST["numpy"]
    assert step.report.engine == "arrays"
    assert "5,201 statements are too much source" in str(step.report)
    assert step.source == f"# {step.report.note}\n"
    reference = expected(w, 2_600)
    assert value == pytest.approx(reference[0], rel=1e-12)
    np.testing.assert_allclose(gradient, reference[1], rtol=1e-10)
    assert step.value([0.3, 0.7, -1.0]) == value


def test_a_shorter_one_is_source():
    w = [Value(1.02), Value(0.1)]
    step = compile(recurrence(w, 50), parameters=w)
    step([0.3])
    assert (step.report.engine, step.report.note) == ("numpy", "")
    assert "def forward" in step.source
    assert not str(step.report).endswith(".")


def test_source_that_python_cannot_nest(monkeypatch):
    def too_deep(self, dtype):
        raise RecursionError

    monkeypatch.setattr(Source, "load", too_deep)
    w = [Value(1.02), Value(0.1)]
    step = compile(recurrence(w, 20), parameters=w)
    value, gradient = step([0.3, 0.7, -1.0])
    assert step.report.engine == "arrays"
    assert value == pytest.approx(expected(w, 20)[0], rel=1e-12)
    np.testing.assert_allclose(gradient, expected(w, 20)[1], rtol=1e-12)


def test_a_sum_of_thousands_of_terms():
    """Each is of another depth, so that they stay apart: much nesting for Python."""
    w = Value(0.9)

    def f(x):
        h, total = x, 0.0
        for _ in range(2_000):
            h = ops.sin(h) * w
            total = total + h
        return total

    step = compile(f, parameters=[w])
    value, gradient = step([0.5, 1.0])
    reference = compile(f, parameters=[w], engine="python")([0.5, 1.0])
    assert value == pytest.approx(reference[0], rel=1e-12)
    np.testing.assert_allclose(gradient, reference[1], rtol=1e-12)


def test_too_long_for_numba(monkeypatch):
    monkeypatch.setitem(engines.LONGEST, "numba", 40)
    w = [Value(1.02), Value(0.1)]
    step = compile(recurrence(w, 30), parameters=w, engine="numba")
    value, _ = step([0.3, 0.7, -1.0])
    assert step.report.engine == "numpy"
    assert "would keep Numba compiling for minutes" in str(step.report)
    assert value == pytest.approx(expected(w, 30)[0], rel=1e-12)
    monkeypatch.setitem(engines.LONGEST, "numpy", 40)
    step = compile(recurrence(w, 30), parameters=w, engine="numba")
    step([0.3])
    assert step.report.engine == "arrays"
    assert "for up to 40; 61 statements" in str(step.report)


def fitted(engine):
    net = Network([2, 4, 1], activation="tanh", output_activation="sigmoid", seed=1)
    return net.fit(*xor(), optimizer="adam", lr=0.1, epochs=20, engine=engine)


def test_fit_takes_what_is_not_too_long(monkeypatch):
    eager = fitted("eager")
    monkeypatch.setitem(engines.LONGEST, "numba", 2)
    history = fitted("numba")
    assert history.engine == "numpy"
    assert "numba was asked for" in history.engine_reason
    np.testing.assert_allclose(history.loss, eager.loss, atol=1e-9)
    monkeypatch.setitem(engines.LONGEST, "numpy", 2)
    np.testing.assert_allclose(fitted("numpy").loss, eager.loss, atol=1e-9)


def test_single_precision_on_arrays():
    graph = RandomGraph(40)
    asked = graph.parameters[: graph.requested]
    values, gradients = faithful["eager"](graph, asked, graph.batch, None)
    program, theta = faithful["compiled"](graph, asked, graph.batch, None)
    run = engines.ENGINES["arrays"](program, None, None, np.float32)
    batch = [x.astype(np.float32) for x in graph.batch]
    seed = np.ones((len(values), 1), np.float32)
    outputs, found = run(theta.astype(np.float32), batch, len(values), seed)
    assert outputs.dtype == found.dtype == np.float32
    np.testing.assert_allclose(outputs, values, rtol=1e-4, atol=1e-4)
    np.testing.assert_allclose(found, gradients, rtol=1e-4, atol=1e-4)
