"""What a node costs, in time and in memory: run in a process of its own.

    python benchmarks/support/graphs.py time chain 1000000 5
    python benchmarks/support/graphs.py memory micrograd 300000

Prints JSON.  Both graphs are made of values alone, so that every engine makes the same
number of nodes.  A process of its own, because what one graph leaves behind (memory that
is free, yet not given back) would help the next.
"""

from __future__ import annotations

import gc
import importlib
import json
import random
import sys
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median
from typing import Any

ENGINES = {"chainrule": "chainrule", "micrograd": "micrograd.engine"}
STATUS = Path("/proc/self/status")


def chain(kind: Any, nodes: int) -> Callable[[], Any]:
    """A function that builds ``y = y * w + b``, again and again: as deep as can be."""
    start, w, b = kind(0.5), kind(0.9), kind(0.1)
    steps = nodes // 2

    def build() -> Any:
        y = start
        for _ in range(steps):
            y = y * w + b
        return y

    return build


def branching(kind: Any, nodes: int) -> Callable[[], Any]:
    """A function that blends values picked at random from a pool, then adds up the pool.

    Nodes are used several times or once, and neighbours in the graph lie apart in memory.
    """
    source = random.Random(0)
    start, half = [kind(i / 64) for i in range(64)], kind(0.5)
    picks = [(source.randrange(64), source.randrange(64)) for _ in range((nodes - 63) // 3)]

    def build() -> Any:
        pool = list(start)
        for i, j in picks:
            pool[i] = pool[i] * half + pool[j] * half
        return sum(pool[1:], pool[0])

    return build


GRAPHS = {"chain": chain, "branching": branching}


def time_per_node(graph: str, nodes: int, rounds: int) -> dict[str, float]:
    """Median nanoseconds per node, forward and backward, without the garbage collector."""
    from chainrule import Value

    gc.disable()
    build = GRAPHS[graph](Value, nodes)
    forward, backward = [], []
    for number in range((rounds + 1) * max(1, 20_000 // nodes)):
        began = time.process_time_ns()
        root = build()
        built = time.process_time_ns()
        root.backward()
        done = time.process_time_ns()
        del root
        if number:
            forward.append((built - began) / nodes)
            backward.append((done - built) / nodes)
    return {"forward": median(forward), "backward": median(backward)}


def bytes_per_node(engine: str, nodes: int) -> dict[str, float]:
    """Bytes per node while the graph is alive, and at most, a backward pass included."""
    kind = importlib.import_module(ENGINES[engine]).Value
    sys.setrecursionlimit(10 * nodes)  # micrograd's backward calls itself
    build = branching(kind, nodes)
    build_small = branching(kind, 1000)
    build_small().backward()  # what is allocated once and for all
    gc.collect()
    before = resident("VmRSS")
    root = build()
    held = resident("VmRSS")
    root.backward()
    peak = resident("VmHWM")
    return {"graph": (held - before) / nodes, "peak": (peak - before) / nodes}


def resident(line: str) -> int:
    """Bytes of memory that the process has (VmRSS), or had at most (VmHWM)."""
    fields = dict(row.split(":", 1) for row in STATUS.read_text().splitlines())
    return int(fields[line].split()[0]) * 1024


def main(task: str, what: str, nodes: str, rounds: str = "1") -> None:
    if task == "time":
        answer = time_per_node(what, int(nodes), int(rounds))
    else:
        answer = bytes_per_node(what, int(nodes))
    print(json.dumps(answer))


if __name__ == "__main__":
    main(*sys.argv[1:])
