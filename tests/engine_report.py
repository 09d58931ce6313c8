"""What an engine computes, to the last bit: a program for test_engines_agree.py.

python tests/engine_report.py expressions|graphs|training|pickle FILE|unpickle FILE
"""

import json
import math
import pickle
import random
import sys
from pathlib import Path

from chainrule import Network, Value, engine, no_grad, ops, topological_order, xor
from chainrule.operation import ROWS
from chainrule.parsing import parse

DATA = Path(__file__).parent / "data"
FIXED = [op for op in ROWS.values() if op.arity > 0]


def bits(x):
    return "nan" if math.isnan(x) else float(x).hex()


def told(root, leaves):
    """The numbers that a graph holds, before and after a backward pass."""
    root.backward()
    nodes = topological_order(root)
    seen = [f"{x._op}:{bits(x.data)}:{bits(x.grad)}" for x in nodes]
    return " ".join([bits(root.data), *[bits(x.grad) for x in leaves], *seen])


def expressions():
    for line in (DATA / "expressions.jsonl").read_text(encoding="utf-8").splitlines():
        row = json.loads(line)
        leaves = {name: Value(float(x)) for name, x in row["inputs"].items()}
        yield told(parse(row["expr"]).evaluate(leaves), leaves.values())


def graph(source):
    """A random graph over the whole table, with shared nodes and plain numbers."""
    leaves = [Value(source.uniform(-2.0, 2.0)) for _ in range(3)]
    pool = list(leaves)

    def operand():
        return source.choice(pool) if source.random() < 0.8 else source.uniform(-2.0, 2.0)

    for _ in range(source.randint(1, 25)):
        way = source.random()
        if way < 0.4:
            x, y = source.choice(pool), operand()
            x, y = (x, y) if source.random() < 0.5 else (y, x)
            pool.append([x + y, x - y, x * y, x / y, x**y][source.randrange(5)])
        elif way < 0.8:
            op = source.choice(FIXED)
            pool.append(op(source.choice(pool), *[operand() for _ in range(op.arity - 1)]))
        else:
            several = [source.choice(pool), *[operand() for _ in range(source.randint(0, 4))]]
            op = source.choice([ops.sum, ops.logsumexp, ops.pick])
            index = [float(source.randrange(len(several)))] if op is ops.pick else []
            pool.append(op(*index, several))
    return ops.sum(pool), leaves


def graphs():
    source = random.Random(5)
    for _ in range(1000):
        yield told(*graph(source))


def training():
    rows, targets = xor()
    for activation in ("sigmoid", "tanh", "relu", "gelu"):
        net = Network([2, 4, 1], activation=activation, seed=7)
        for _ in range(50):
            loss = sum([(net(row) - t) ** 2 for row, t in zip(rows, targets, strict=True)])
            net.zero_grad()
            loss.backward()
            for p in net.parameters():
                p.data -= 0.1 * p.grad
        with no_grad():
            yield " ".join([bits(net(row).data) for row in rows])
        yield " ".join([bits(p.data) for p in net.parameters()])


def stored():
    source = random.Random(6)
    return [graph(source) for _ in range(20)], Network([2, 3, 1], activation="tanh", seed=3)


def unpickled(file):
    pairs, net = pickle.loads(Path(file).read_bytes())
    for root, leaves in pairs:
        yield told(root, leaves)
    yield bits(net([0.25, -0.5]).data)


if __name__ == "__main__":
    print(engine.in_use().name)
    what, *file = sys.argv[1:]
    if what == "pickle":
        Path(*file).write_bytes(pickle.dumps(stored()))
    elif what == "unpickle":
        print("\n".join(unpickled(*file)))
    else:
        print(
            "\n".join({"expressions": expressions, "graphs": graphs, "training": training}[what]())
        )
