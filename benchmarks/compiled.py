"""The compiled engines against PyTorch, JAX, micrograd and loops written by hand.

    python benchmarks/compiled.py [--quick] [--only xor,circle,digits,ratio,compile,auto,gpt]

Everything is measured in one run, ours and the peer in turn, so that the ratios hold
on a machine whose speed drifts.  Ours is measured inside ``fit``, bookkeeping included.
A peer that is not installed is left out, and the table says so.
"""

from __future__ import annotations

import argparse
import gc
import importlib.util
import os
import random
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
os.environ.setdefault("OMP_NUM_THREADS", "1")

import numpy as np

import chainrule
from chainrule import Network, Value, circle, cross_entropy, xor


def installed(name: str) -> bool:
    return importlib.util.find_spec(name) is not None


def medians(contenders: dict[str, Callable[[], float]], runs: int) -> dict[str, float]:
    """The median time of each; they take turns, and a first round does not count."""
    times: dict[str, list[float]] = {name: [] for name in contenders}
    for turn in range(runs + 1):
        for name, run in contenders.items():
            gc.collect()
            seconds = run()
            if turn:
                times[name].append(seconds)
    return {name: statistics.median(found) for name, found in times.items()}


def table(title: str, found: dict[str, float], unit: str, goals: dict[str, str]) -> None:
    """One contender a line, ours first; the ratio says how much longer than ours it takes."""
    print(f"\n### {title}\n")
    print(f"| | {unit} | ours is faster by | wanted |\n|---|---:|---:|---|")
    ours = next(iter(found.values()))
    for name, seconds in found.items():
        ratio = "" if seconds == ours else f"{seconds / ours:,.2f} x"
        print(f"| {name} | {seconds * 1e6:,.2f} | {ratio} | {goals.get(name, '')} |")


def timed(run: Callable[[], object], count: int) -> Callable[[], float]:
    """The time of one of ``count`` things that a call does."""

    def measure() -> float:
        start = time.perf_counter()
        run()
        return (time.perf_counter() - start) / count

    return measure


# --- a small network, one update per batch -------------------------------------------------


def fitting(
    sizes: list[int], X: list[list[float]], y: list[float], epochs: int, **settings: object
) -> Callable[[], object]:
    net = Network(sizes, seed=1)
    return lambda: net.fit(X, y, epochs=epochs, engine="numba", progress=False, **settings)


def by_hand(
    sizes: list[int], X: list[list[float]], y: list[float], online: bool
) -> Callable[[int], object]:
    """Loops as one would write them for this network alone, compiled by Numba."""
    import math

    from numba import njit

    n_inputs, n_hidden, _ = sizes

    @njit(error_model="numpy")
    def train(w, b, v, c, X, y, lr, epochs, losses):  # type: ignore[no-untyped-def]
        dw, db, dv = np.zeros_like(w), np.zeros_like(b), np.zeros_like(v)
        h = np.empty(n_hidden)
        for epoch in range(epochs):
            total = 0.0
            dw[:] = 0.0
            db[:] = 0.0
            dv[:] = 0.0
            dc = 0.0
            for row in range(len(X)):
                s = c
                for i in range(n_hidden):
                    z = b[i]
                    for k in range(n_inputs):
                        z += w[i, k] * X[row, k]
                    h[i] = 1.0 / (1.0 + math.exp(-z))
                    s += v[i] * h[i]
                p = 1.0 / (1.0 + math.exp(-s))
                d = p - y[row]
                total += d * d
                ds = 2.0 * d * p * (1.0 - p)
                if online:
                    for i in range(n_hidden):
                        dz = ds * v[i] * h[i] * (1.0 - h[i])
                        v[i] -= lr * ds * h[i]
                        b[i] -= lr * dz
                        for k in range(n_inputs):
                            w[i, k] -= lr * dz * X[row, k]
                    c -= lr * ds
                else:
                    dc += ds
                    for i in range(n_hidden):
                        dz = ds * v[i] * h[i] * (1.0 - h[i])
                        dv[i] += ds * h[i]
                        db[i] += dz
                        for k in range(n_inputs):
                            dw[i, k] += dz * X[row, k]
            if not online:
                c -= lr * dc
                for i in range(n_hidden):
                    v[i] -= lr * dv[i]
                    b[i] -= lr * db[i]
                    for k in range(n_inputs):
                        w[i, k] -= lr * dw[i, k]
            losses[epoch] = total
        return c

    rows, targets = np.array(X), np.array(y)
    rng = np.random.default_rng(1)
    w, v = rng.uniform(-1, 1, (n_hidden, n_inputs)), rng.uniform(-1, 1, n_hidden)
    b = np.zeros(n_hidden)

    def run(epochs: int) -> object:
        losses = np.empty(epochs)
        train(w.copy(), b.copy(), v.copy(), 0.0, rows, targets, 0.1, epochs, losses)
        return losses.tolist()  # as a history has them

    return run


def in_torch(
    sizes: list[int], X: list[list[float]], y: list[float], online: bool
) -> Callable[[int], object]:
    import torch

    torch.set_num_threads(1)
    layers: list[torch.nn.Module] = []
    for a, b in pairwise(sizes):
        layers += [torch.nn.Linear(a, b, dtype=torch.float64), torch.nn.Sigmoid()]
    net = torch.nn.Sequential(*layers)
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    rows = torch.tensor(X, dtype=torch.float64)
    targets = torch.tensor(y, dtype=torch.float64)[:, None]
    batches = (
        [(rows[i : i + 1], targets[i : i + 1]) for i in range(len(X))]
        if online
        else [(rows, targets)]
    )

    def run(epochs: int) -> object:
        for _ in range(epochs):
            for batch, target in batches:
                optimizer.zero_grad()
                loss = ((net(batch) - target) ** 2).sum()
                loss.backward()
                optimizer.step()
        return loss

    return run


def in_jax(
    sizes: list[int], X: list[list[float]], y: list[float], online: bool
) -> Callable[[int], object]:
    """A jit of the whole training, epochs and updates in ``fori_loop``s."""
    import jax
    import jax.numpy as jnp

    jax.config.update("jax_enable_x64", True)
    keys = np.random.default_rng(1)
    start = [(jnp.array(keys.uniform(-1, 1, (b, a))), jnp.zeros(b)) for a, b in pairwise(sizes)]
    rows, targets = jnp.array(X), jnp.array(y)

    def loss(parameters, x, t):  # type: ignore[no-untyped-def]
        for w, b in parameters:
            x = jax.nn.sigmoid(x @ w.T + b)
        return ((x[..., 0] - t) ** 2).sum()

    def update(parameters, x, t):  # type: ignore[no-untyped-def]
        slopes = jax.grad(loss)(parameters, x, t)
        return jax.tree.map(lambda p, g: p - 0.1 * g, parameters, slopes)

    def epoch(_, parameters):  # type: ignore[no-untyped-def]
        if online:
            return jax.lax.fori_loop(
                0, len(X), lambda i, p: update(p, rows[i], targets[i]), parameters
            )
        return update(parameters, rows, targets)

    train = jax.jit(lambda p, n: jax.lax.fori_loop(0, n, epoch, p))
    return lambda epochs: jax.block_until_ready(train(start, epochs))


def in_micrograd(
    sizes: list[int], X: list[list[float]], y: list[float], online: bool
) -> Callable[[int], object]:
    import math

    from micrograd.engine import Value as Theirs

    def sigmoid(v: Theirs) -> Theirs:
        out = Theirs(1 / (1 + math.exp(-v.data)), (v,), "sigmoid")

        def backward() -> None:
            v.grad += out.data * (1 - out.data) * out.grad

        out._backward = backward
        return out

    rng = random.Random(1)
    net = [
        [([Theirs(rng.uniform(-1, 1)) for _ in range(a)], Theirs(0.0)) for _ in range(b)]
        for a, b in pairwise(sizes)
    ]
    parameters = [p for layer in net for w, b in layer for p in (*w, b)]

    def loss(i: int) -> Theirs:
        x: list[object] = list(X[i])
        for layer in net:
            x = [sigmoid(sum((wi * xi for wi, xi in zip(w, x, strict=True)), b)) for w, b in layer]
        return (x[0] - y[i]) ** 2  # type: ignore[operator]

    def run(epochs: int) -> object:
        for _ in range(epochs):
            for batch in [[i] for i in range(len(X))] if online else [list(range(len(X)))]:
                total = sum((loss(i) for i in batch), Theirs(0.0))
                for p in parameters:
                    p.grad = 0.0
                total.backward()
                for p in parameters:
                    p.data -= 0.1 * p.grad
        return total

    return run


def small(name: str, quick: bool) -> None:
    online = name == "circle"
    X, y = circle(80, seed=7) if online else xor()
    sizes = [2, 8, 1] if online else [2, 4, 1]
    settings = {"lr": 0.1, "reduction": "sum", "batch_size": 1 if online else None}
    ours = 20_000 if online else 1_000_000
    if quick:
        ours //= 10
    contenders: dict[str, Callable[[], float]] = {
        "chainrule, engine numba": timed(fitting(sizes, X, y, ours, **settings), ours)
    }
    peers: list[tuple[str, str, Callable[..., Callable[[int], object]], int]] = [
        ("loops by hand, Numba", "numba", by_hand, ours),
        ("JAX, one jit", "jax", in_jax, ours // 20),
        ("PyTorch, eager", "torch", in_torch, 3 if online else 300),
        ("micrograd", "micrograd", in_micrograd, 1 if online else 50),
    ]
    for label, module, make, count in peers:
        if installed(module):
            run = make(sizes, X, y, online)
            contenders[label] = timed(lambda run=run, count=count: run(count), count)  # type: ignore[misc]
        else:
            print(f"{label}: not installed")
    found = medians(contenders, 3 if quick else 7)
    goals = {
        "loops by hand, Numba": "at least 0.83 x (ours within 1.2 x)",
        "JAX, one jit": "at least 3 x" if online else "",
        "PyTorch, eager": "at least 1,000 x" if online else "at least 500 x",
        "micrograd": "" if online else "at least 1,000 x",
    }
    what = "circle 2-8-1, 80 updates" if online else "XOR 2-4-1, full batch"
    table(f"{what}: microseconds per epoch", found, "µs", goals)


# --- digits: large enough for BLAS ---------------------------------------------------------


def fake_digits(rows: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    return rng.normal(size=(rows, 64)), rng.integers(0, 10, rows)


def numpy_by_hand(X: np.ndarray, y: np.ndarray, batch: int) -> Callable[[int], object]:
    rng = np.random.default_rng(1)
    W1, b1 = rng.normal(size=(32, 64)) / 8, np.zeros(32)
    W2, b2 = rng.normal(size=(10, 32)) / 6, np.zeros(10)
    lr = 0.05

    def run(epochs: int) -> object:
        nonlocal W1, b1, W2, b2
        for _ in range(epochs):
            total = 0.0
            for start in range(0, len(X), batch):
                x, t = X[start : start + batch], y[start : start + batch]
                rows = np.arange(len(x))
                h = np.tanh(x @ W1.T + b1)
                z = h @ W2.T + b2
                z -= z.max(axis=1, keepdims=True)
                e = np.exp(z)
                s = e.sum(axis=1, keepdims=True)
                total += float((np.log(s)[:, 0] - z[rows, t]).sum())
                dz = e / s
                dz[rows, t] -= 1.0
                dz /= len(x)
                dh = dz @ W2
                dh *= 1.0 - h * h
                W2 -= lr * (dz.T @ h)
                b2 -= lr * dz.sum(axis=0)
                W1 -= lr * (dh.T @ x)
                b1 -= lr * dh.sum(axis=0)
        return total

    return run


def torch_digits(X: np.ndarray, y: np.ndarray, batch: int) -> Callable[[int], object]:
    import torch

    torch.set_num_threads(1)
    net = torch.nn.Sequential(torch.nn.Linear(64, 32), torch.nn.Tanh(), torch.nn.Linear(32, 10))
    optimizer = torch.optim.SGD(net.parameters(), lr=0.05)
    measure = torch.nn.CrossEntropyLoss()
    rows, targets = torch.tensor(X, dtype=torch.float32), torch.tensor(y)

    def run(epochs: int) -> object:
        total = 0.0
        for _ in range(epochs):
            for start in range(0, len(X), batch):
                optimizer.zero_grad()
                loss = measure(net(rows[start : start + batch]), targets[start : start + batch])
                loss.backward()
                optimizer.step()
                total += loss.item()
        return total

    return run


def digits(quick: bool) -> None:
    batch, steps = 64, 25
    X, y = fake_digits(batch * steps)
    net = Network([64, 32, 10], activation="tanh", output_activation="linear", seed=1)
    epochs = 5 if quick else 20

    def ours() -> object:
        return net.fit(
            X,
            y,
            loss="cross_entropy",
            lr=0.05,
            batch_size=batch,
            epochs=epochs,
            engine="numpy",
            progress=False,
        )

    def without_compiling(run: Callable[[], object]) -> Callable[[], float]:
        def measure() -> float:
            history = run()
            return sum(history.seconds) / epochs / steps  # type: ignore[attr-defined]

        return measure

    contenders = {
        "chainrule, engine numpy, float64": without_compiling(ours),
        "NumPy by hand, float64": timed(lambda: hand(epochs), epochs * steps),
    }
    hand = numpy_by_hand(X, y, batch)
    if installed("torch"):
        run = torch_digits(X, y, batch)
        contenders["PyTorch, float32"] = timed(lambda: run(epochs), epochs * steps)
    found = medians(contenders, 3 if quick else 7)
    goals = {
        "NumPy by hand, float64": "at least 0.77 x (ours within 1.3 x)",
        "PyTorch, float32": "at least 1 x",
    }
    table(
        "digits 64-32-10, tanh, cross-entropy, batch 64: microseconds per step", found, "µs", goals
    )


# --- what a gradient costs, and what compiling costs ---------------------------------------


def example_loss(net: Network) -> Callable[[list[Value], Value], Value]:
    return lambda x, t: cross_entropy(net(x), t)


def ratio(quick: bool) -> None:
    X, y = fake_digits(64)
    net = Network([64, 32, 10], activation="tanh", output_activation="linear", seed=1)
    step = chainrule.compile(example_loss(net), parameters=net.parameters())
    step(X, y)
    count = 100 if quick else 500
    found = medians(
        {
            "value": timed(lambda: [step.value(X, y) for _ in range(count)], count),
            "value and gradient": timed(lambda: [step(X, y) for _ in range(count)], count),
        },
        5,
    )
    print("\n### Gradient over value alone, 64-32-10, batch 64\n")
    print(
        f"value {found['value'] * 1e6:.1f} µs, value and gradient "
        f"{found['value and gradient'] * 1e6:.1f} µs: "
        f"{found['value and gradient'] / found['value']:.2f} x (wanted: at most 3.5 x)"
    )


def compiling(quick: bool) -> None:
    print("\n### Time to compile, without native code: 64-h-10 cross-entropy\n")
    print("| h | scalar nodes | statements | µs per scalar node |\n|---:|---:|---:|---:|")
    X, y = fake_digits(2)
    for hidden in (2, 32, 200) if quick else (2, 32, 200, 2000):
        times = []
        for _ in range(1 if hidden == 2000 else 3):
            net = Network([64, hidden, 10], activation="tanh", output_activation="linear", seed=1)
            step = chainrule.compile(example_loss(net), parameters=net.parameters())
            gc.collect()
            step.value(X, y)
            times.append(step.report.seconds)
        nodes = step.report.scalar_nodes + len(net.parameters())
        each = statistics.median(times) / nodes * 1e6
        print(f"| {hidden:,} | {nodes:,} | {step.report.statements} | {each:.1f} |")
    print("\n(wanted: at most 15; at most 12 statements for h = 32)")


# --- the choice of an engine ---------------------------------------------------------------

AUTO = """
import sys, time
start = time.perf_counter()
import chainrule
from chainrule import Network
task, engine = sys.argv[1:]
if task == "digits":
    import numpy as np
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(1437, 64)).tolist(), rng.integers(0, 10, 1437).tolist()
    net = Network([64, 32, 10], activation="tanh", output_activation="linear", seed=1)
    settings = dict(loss="cross_entropy", batch_size=64, epochs=20)
elif task == "xor":
    X, y = chainrule.xor()
    net, settings = Network([2, 4, 1], seed=1), dict(epochs=1000, reduction="sum")
else:
    X, y = chainrule.circle(80, seed=7)
    net, settings = Network([2, 8, 1], seed=1), dict(epochs=2000, reduction="sum", batch_size=1)
history = net.fit(X, y, lr=0.1, engine=engine, progress=False, **settings)
print(time.perf_counter() - start, history.engine)
"""


def auto(quick: bool) -> None:
    print("\n### The choice of an engine: seconds in a fresh process, imports included\n")
    print(
        "| work | cache | eager | numpy | numba | auto | took |\n|---|---|---:|---:|---:|---:|---|"
    )
    for task in ("xor", "circle", "digits"):
        for cache in ("cold", "warm"):
            cells = []
            for engine in ("eager", "numpy", "numba", "auto"):
                if engine == "eager" and task == "digits":
                    cells.append("(minutes)")
                    continue
                times, took = [], ""
                for _ in range(1 if quick else 3):
                    with tempfile.TemporaryDirectory() as place:
                        if cache == "warm":
                            run_in(place, task, "numba")
                        seconds, took = run_in(place, task, engine)
                        times.append(seconds)
                cells.append(f"{statistics.median(times):.2f}")
            print(f"| {task} | {cache} | {' | '.join(cells)} | {took} |")
    print("\n(wanted: auto within 1.2 x or 100 ms of the best)")


def run_in(place: str, task: str, engine: str) -> tuple[float, str]:
    done = subprocess.run(
        [sys.executable, "-c", AUTO, task, engine],
        env={**os.environ, "CHAINRULE_CACHE": place},
        capture_output=True,
        text=True,
        check=True,
    )
    seconds, took = done.stdout.split()
    return float(seconds), took


# --- the scalar GPT ------------------------------------------------------------------------


def gpt(quick: bool) -> None:
    """One forward and backward pass; eager stands for micrograd, which is slower still."""
    sys.path.insert(0, str(Path(__file__).parent.parent / "examples"))
    from scalar_gpt import Training, encode

    tokens = encode("lanterns"[:7])
    contenders: dict[str, Callable[[], float]] = {}
    for engine, count in (("numba", 200), ("numpy", 50), ("eager", 1)):
        if engine == "numba" and not installed("numba"):
            continue
        training = Training(engine)
        contenders[f"chainrule, {engine}"] = timed(
            lambda training=training, count=count: [
                training.gradient(tokens) for _ in range(count)
            ],
            count,
        )
    found = medians(contenders, 3 if quick else 5)
    goals = {"chainrule, eager": "at least 200 x"}
    table("scalar GPT, loss and gradient of a 7-letter word: microseconds", found, "µs", goals)


PARTS: dict[str, Callable[[bool], None]] = {
    "xor": lambda quick: small("xor", quick),
    "circle": lambda quick: small("circle", quick),
    "digits": digits,
    "ratio": ratio,
    "compile": compiling,
    "auto": auto,
    "gpt": gpt,
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="fewer and shorter runs")
    parser.add_argument("--only", default=",".join(PARTS), help="parts, separated by commas")
    options = parser.parse_args()
    for name in options.only.split(","):
        PARTS[name](options.quick)


if __name__ == "__main__":
    main()
