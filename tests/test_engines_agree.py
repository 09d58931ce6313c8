"""The compiled engine does what the source does, to the last bit and in every corner.

Skipped where no extension is installed; `make test` installs one and runs this there.
"""

import os
import subprocess
import sys
from pathlib import Path

import pytest

import chainrule
from chainrule.engine import in_use

ROOT = Path(chainrule.__file__).parents[1]
REPORT = Path(__file__).with_name("engine_report.py")

pytestmark = pytest.mark.skipif(in_use().name != "native", reason="needs the native engine")


def run(engine, *arguments):
    """Lines printed by Python with one of the engines."""
    done = subprocess.run(
        [sys.executable, *map(str, arguments)],
        env={**os.environ, "PYTHONPATH": str(ROOT), "CHAINRULE_ENGINE": engine},
        capture_output=True,
        text=True,
        timeout=100,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


def both(*arguments):
    python, native = run("python", *arguments), run("native", *arguments)
    assert (python.pop(0), native.pop(0)) == ("python", "native")
    return python, native


@pytest.mark.parametrize(
    ("what", "count"), [("expressions", 400), ("graphs", 1000), ("training", 8)]
)
def test_the_same_to_the_last_bit(what, count):
    python, native = both(REPORT, what)
    assert len(python) == count
    for expected, found in zip(python, native, strict=True):
        assert found == expected


def test_graphs_go_from_one_engine_to_the_other(tmp_path):
    results = []
    for giver in ("python", "native"):
        run(giver, REPORT, "pickle", tmp_path / giver)
        for taker in ("python", "native"):
            results.append(run(taker, REPORT, "unpickle", tmp_path / giver)[1:])
    assert len(results[0]) == 21
    assert all(found == results[0] for found in results)


# Each program prints the same with both engines.
PROGRAMS = {
    "a chain of a million": """
x = y = Value(1.0)
for _ in range(500_000):
    y = (y + 1e-6) * 1.0
y.backward()
print(x.grad, y.data.hex())
del y
print("freed")
""",
    "interpreter exit with a million nodes alive": """
y = Value(1.0)
for _ in range(500_000):
    y = (y + 1e-6) * 1.0
alive = [y * float(i) for i in range(1000)]
print("exit")
""",
    "a deep copy of a deep graph": """
import copy
x = y = Value(1.0)
for _ in range(100_000):
    y = y + x
z = copy.deepcopy(y)
z.backward()
print(x.grad, sum(v.grad for v in topological_order(z) if v.is_leaf))
""",
    "threads": """
import threading
results = [None] * 8
def work(k):
    x = Value(float(k))
    total = 0.0
    for i in range(300):
        if k % 2:
            with no_grad():
                y = x * x
                assert y.operands == ()
        y = (x * x + float(i)).tanh() * x
        y.backward()
        total += y.data
    results[k] = (total.hex(), x.grad.hex())
threads = [threading.Thread(target=work, args=(k,)) for k in range(8)]
for t in threads: t.start()
for t in threads: t.join()
print(results)
""",
    "labels, pictures of numbers, attributes": """
x = Value(data=2, label="x")
y = Value(8.0, [x, 3.0], op="cube", label="y")
print(x, y, y.operands, y._prev, y.is_leaf, y._op, x + 1, -x, abs(x), float(x), int(x), bool(x))
for name, thing in (("gradient", 1.0), ("data", "2"), ("data", None)):
    try:
        setattr(x, name, thing)
    except (AttributeError, TypeError) as error:
        print(name, type(error).__name__)
""",
    "mistakes": """
for wrong in ("3", None, 1j, [1.0], x := Value(1.0), object()):
    try:
        Value(wrong)
    except NotANumberError as error:
        print(str(error)[:90].split(" object at")[0])
for wrong in ("3", None, 1j, [1.0]):
    for spell in (lambda a, b: a + b, lambda a, b: b * a, lambda a, b: a ** b):
        try:
            spell(x, wrong)
        except TypeError as error:
            print(type(error).__name__, error)
""",
    "a rule of one's own": """
a = Value(3.0)
out = Value(a.data ** 3, (a,), "cube")
def rule():
    a.grad += 3.0 * a.data ** 2 * out.grad
out._backward = rule
(out * 2.0).backward()
print(a.grad, out.has_own_rule)
try:
    Value(1.0, (a,), "unfinished").backward()
except RuntimeError as error:
    print(error)
""",
    "a subclass": """
import copy, pickle
class Length(Value):
    def __init__(self, data, unit="metre"):
        super().__init__(data, label=unit)
        self.unit = unit
    def double(self):
        return self * 2.0
    def tanh(self):
        return "mine"
v = Length(1.5)
y = v.double() + Value(1.0) * v
y.backward()
print(v, v.unit, v.tanh(), type(y), v.grad, isinstance(v, Value), y.operands)
twin = copy.deepcopy(v)
print(type(twin) is Length, twin.unit, twin.data)
w = Network([1, 1], activation="linear", seed=1)
w.layers[0].neurons[0].bias = Length(0.5)
print(w([1.0]).data.hex())
""",
    "neurons, layers and networks": """
import copy, pickle
class Twice(Neuron):
    def __call__(self, inputs):
        return super().__call__(inputs) * self.factor
n = Twice(2, seed=1)
n.factor = 2.0
print(n([1.0, 2.0]).data.hex(), n)
layer = Layer(2, 2, seed=3)
layer.neurons[1] = n
print([y.data.hex() for y in layer([1, 2])], layer, [k for k, _ in layer.named_parameters()])
net = Network([2, 2, 1], seed=1)
net.note = "mine"
twin = pickle.loads(pickle.dumps(net))
print(twin.note, net, twin([1.0, 2.0]).data == net([1.0, 2.0]).data, copy.deepcopy(layer))
layer.neurons[0].w[0].data = 3.0
layer.neurons[0].b = Value(1.0)
print(layer.neurons[0].weights[0].data, layer.neurons[0].bias.data)
for wrong in ((0,), ("2",), (2.5,), (2, "nonsense")):
    try:
        Neuron(*wrong)
    except ChainruleError as error:
        print(error)
try:
    n([1.0])
except ShapeError as error:
    print(error)
""",
    "NumPy": """
import numpy as np
x = Value(np.float32(0.5))
print(x, np.float64(2) * x, x * np.int8(3), np.array([1.0, 2.0]) * x, x + np.ones(2))
print(Value(np.bool_(True)), np.array(x, dtype=object), x < np.float64(1.0))
""",
    "other ways to differentiate": """
print(grad(lambda x: x * tanh(x))(0.5).hex(), hessian(lambda x: x ** 3)(2.0))
print(jvp(lambda x, y: x * y, [2.0, 3.0], [1.0, 0.0]), formula(lambda x: x * x + 1.0, "x"))
x = Value(0.5)
(d,) = gradients(x.exp() * x, [x])
(d2,) = gradients(d, [x])
print(d.data.hex(), d2.data.hex())
""",
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_the_same_behaviour(name):
    start = "from chainrule import *\nfrom chainrule import engine\nprint(engine.in_use().name)\n"
    python, native = both("-c", start + PROGRAMS[name])
    assert python, "a program that prints nothing shows nothing"
    assert native == python
