"""A wrong rule in the table is found, three times over, by methods that share nothing.

Forward and reverse mode read the same rule, so that they agree with each other is no
evidence.  What is independent of the rule: differences of the function, mpmath's
derivatives, gradients recorded from PyTorch, and the function itself off the real line.
"""

import cmath
import json
import math
import random
from pathlib import Path

import mpmath
import pytest
from mpmath import mp

from chainrule import ops
from chainrule.checking import check_gradients
from chainrule.parsing import parse
from chainrule.transforms import grad, jvp, vjp

POINTS = [random.Random(5).uniform(-1.2, 1.2) for _ in range(5)]

EXPRESSIONS = [
    json.loads(line)
    for line in (Path(__file__).parent / "data" / "expressions.jsonl").read_text().splitlines()
]


def off(rule):
    """A rule that is wrong by 0.05 %."""
    return lambda y, x: 1.0005 * rule(y, x)


def by_differences(op):
    return all(check_gradients(lambda x: op(x) + 0.0 * x, x).ok for x in POINTS)


def by_mpmath(op):
    with mp.workdps(30):
        exact = [float(mp.diff(getattr(mp, op.name), mpmath.mpf(x))) for x in POINTS]
    return [op.partials[0](op.forward(x), x) for x in POINTS] == pytest.approx(exact, rel=1e-12)


def by_complex_step(op):
    # Squire & Trapp, "Using complex variables to estimate derivatives", 1998.
    h = 1e-30
    exact = [getattr(cmath, op.name)(complex(x, h)).imag / h for x in POINTS]
    return [grad(op)(x) for x in POINTS] == pytest.approx(exact, rel=1e-12)


def by_recorded_gradients(op):
    # "-2.12" stands in the one expression of which Python makes a complex number.
    rows = [
        row for row in EXPRESSIONS if f"{op.name}(" in row["expr"] and "-2.12" not in row["expr"]
    ]
    assert len(rows) >= 5
    for row in rows:
        found = grad(parse(row["expr"]).evaluate)({k: float(x) for k, x in row["inputs"].items()})
        size = max([abs(x) for x in row["grads"].values()])
        if found != pytest.approx(row["grads"], rel=1e-9, abs=1e-12 * size):
            return False
    return True


JUDGES = [by_differences, by_mpmath, by_complex_step, by_recorded_gradients]


@pytest.mark.parametrize("judge", JUDGES)
@pytest.mark.parametrize("name", ["sin", "exp", "tanh", "cos"])
def test_planted_bug_is_found_by_each_judge(name, judge, monkeypatch):
    op = getattr(ops, name)
    assert judge(op)
    monkeypatch.setattr(op, "partials", (off(op.partials[0]),))
    assert not judge(op)


def test_the_two_modes_alone_would_not_find_it(monkeypatch):
    monkeypatch.setattr(ops.sin, "partials", (off(ops.sin.partials[0]),))
    wrong = 1.0005 * math.cos(0.4)
    assert jvp(ops.sin, [0.4], [1.0])[1] == vjp(ops.sin, 0.4)[1](1.0)[0] == wrong
