"""Graphs hold no reference cycles: dropped, they are gone at once, without the collector."""

import copy
import gc
import pickle
import sys

import pytest

from chainrule import Value, no_grad, ops
from chainrule.operation import ROWS


@pytest.fixture(scope="module", autouse=True)
def _nothing_but_graphs():
    gc.collect()
    gc.freeze()  # what other tests left alive need not be looked at again and again
    yield
    gc.unfreeze()


@pytest.fixture(autouse=True)
def _no_collector():
    gc.collect()
    gc.disable()
    yield
    gc.enable()


def small_graph():
    a, b = Value(0.5), Value(2.0)
    h = (a * b + a).tanh() - a / b
    y = ops.sum([h * h, ops.where(a, h, b), ops.maximum(a, 1.0), 3.0])
    y.backward()


def grown(action, times):
    """By how many blocks of memory Python holds more after running an action so often."""
    for _ in range(100):  # caches and free lists fill up first
        action()
    before = sys.getallocatedblocks()
    for _ in range(times):
        action()
    return sys.getallocatedblocks() - before


def test_many_graphs_do_not_grow_memory():
    # Were one object in a hundred graphs left behind, the growth would be 500.
    assert grown(small_graph, 50_000) < 50


def test_a_million_nodes_do_not_grow_memory():
    def chain():
        y = Value(1.0)
        for _ in range(1000):
            y = y * 1.0 + 0.5
        y.backward()

    assert grown(chain, 500) < 50


def everything(op):
    def action():
        operands = tuple([Value(0.5) for _ in op.domain])
        if op is ops.pick:
            operands = (1.0, *operands[1:])
        y = op.apply(operands)
        y.backward()
        y.backward()
        copy.deepcopy(y).backward()
        pickle.loads(pickle.dumps(y))
        with no_grad():
            op.apply(operands)
        repr(y), y.operands, y._prev, y.detach(), y._backward

    return action


@pytest.mark.parametrize("op", ROWS.values(), ids=lambda op: op.name)
def test_no_row_leaves_a_cycle(op):
    action = everything(op)
    action()
    gc.collect()
    for _ in range(5):
        action()
    assert gc.collect() == 0


def test_a_failed_pass_leaves_no_cycle():
    def action():
        x = Value(1.0)
        y = x * 2.0
        out = Value(y.data, (y,), "unfinished")
        try:
            (out + 1.0).backward()
        except RuntimeError:
            pass
        else:
            raise AssertionError

    action()
    gc.collect()
    action()
    assert gc.collect() == 0


def test_the_collector_would_see_a_cycle():
    def action():
        x = Value(1.0)
        out = Value(1.0, (x,), "cycle")

        def rule():  # a user's closure that holds its own node: their own affair
            x.grad += out.grad

        out._backward = rule

    assert grown(action, 100) >= 100
    assert gc.collect() > 0
