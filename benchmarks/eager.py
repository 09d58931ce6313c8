"""How fast and how frugal eager mode is, next to micrograd and other engines.

    python benchmarks/eager.py [--quick] [--json FILE]

Prints Markdown; README.md in this folder says how to read it.  Peers that are not
installed get a row that says so.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from dataclasses import asdict, dataclass
from importlib.util import find_spec
from pathlib import Path
from statistics import median
from typing import Any

from support.epochs import (
    CIRCLE,
    MICROGRAD,
    PEERS,
    XOR,
    Peer,
    Problem,
    chainrule_epoch,
    check_agreement,
)
from support.graphs import GRAPHS, STATUS
from support.measuring import (
    collector_off,
    duration,
    engine,
    in_a_fresh_process,
    interleaved,
    markdown,
    median_ratio,
    seconds_per_call,
    surroundings,
    version_of,
)

import chainrule

WORKER = str(Path(__file__).parent / "support" / "graphs.py")

# What the project set out to reach, by engine: at least so many times a peer's speed.
FASTER_THAN = {
    "python": {(XOR.name, "micrograd"): 3.0, (CIRCLE.name, "micrograd"): 6.0},
    "native": {
        (XOR.name, "micrograd"): 12.0,
        (CIRCLE.name, "micrograd"): 25.0,
        (CIRCLE.name, "torch"): 25.0,
        (CIRCLE.name, "xad"): 4.0,
    },
}
MOST_FORWARD_GROWTH = 2.0
MOST_BACKWARD_GROWTH = 3.0
MOST_BACKWARD_PER_FORWARD = {"python": 1.0, "native": 1 / 3}
MOST_MEMORY_PER_MICROGRADS = 0.5
MOST_BYTES_PER_NODE = {"native": 145.0}
MOST_SECONDS_TO_IMPORT = 0.1


@dataclass(frozen=True)
class Effort:
    """How much is measured."""

    rounds: int
    seconds: float  # that one timing lasts, at least
    sizes: tuple[int, ...]
    nodes_in_memory: int
    imports: int


FULL = Effort(9, 0.1, (1_000, 10_000, 100_000, 1_000_000), 300_000, 10)
QUICK = Effort(3, 0.02, (1_000, 10_000, 100_000), 100_000, 5)


@dataclass(frozen=True)
class Section:
    """One table, and the figures it was made from."""

    title: str
    header: Sequence[str]
    rows: Sequence[Sequence[str]]
    figures: Any

    def __str__(self) -> str:
        return f"### {self.title}\n\n{markdown(self.header, self.rows)}\n"


def verdict(figure: float, *, least: float | None = None, most: float | None = None) -> str:
    """The target, and whether it is met; empty where there is none."""
    if least is not None:
        return f"≥ {least:g}: {'met' if figure >= least else 'MISSED'}"
    if most is not None:
        return f"≤ {most:.3g}: {'met' if figure <= most else 'MISSED'}"
    return ""


# --- epochs ----------------------------------------------------------------------------------


@dataclass(frozen=True)
class Comparison:
    """Median seconds per epoch; the ratio is the median of the rounds' ratios."""

    problem: str
    peer: str
    version: str
    collector: bool
    ours: float
    theirs: float
    ratio: float
    least: float | None


def compare(problem: Problem, peer: Peer, collector: bool, effort: Effort) -> Comparison:
    check_agreement(problem, peer)
    runs = [chainrule_epoch(problem), peer.epoch(problem)]
    with nullcontext() if collector else collector_off():
        ours, theirs = interleaved(runs, effort.rounds, effort.seconds)
    target = FASTER_THAN[engine()].get((problem.name, peer.package))
    return Comparison(
        problem.name,
        peer.name,
        version_of(peer.package),
        collector,
        median(ours),
        median(theirs),
        median_ratio(theirs, ours),
        target if collector else None,
    )


def epochs(effort: Effort) -> Section:
    pairs = [
        (XOR, MICROGRAD, True),
        (XOR, MICROGRAD, False),
        (CIRCLE, MICROGRAD, True),
        (CIRCLE, MICROGRAD, False),
        *[(CIRCLE, peer, True) for peer in PEERS if peer is not MICROGRAD],
    ]
    rows, found = [], []
    for problem, peer, collector in pairs:
        name = problem.name if collector else f"{problem.name}, collector off"
        try:
            c = compare(problem, peer, collector, effort)
        except ModuleNotFoundError:
            rows.append([name, peer.name, "", "not installed", "", ""])
            continue
        found.append(asdict(c))
        times = [duration(c.ours), duration(c.theirs), f"{c.ratio:.2f} x"]
        target = verdict(c.ratio, least=c.least)
        rows.append([name, f"{peer.name} {c.version}", *times, target])
    return Section(
        "One epoch of full-batch training: forward, backward, update",
        ["problem", "peer", "chainrule", "peer's time", "peer / chainrule", "target"],
        rows,
        found,
    )


# --- cost per node ---------------------------------------------------------------------------


def cost_per_node(effort: Effort) -> Section:
    rows, found = [], {}
    for graph in GRAPHS:
        costs = {n: _cost(graph, n, effort) for n in effort.sizes}
        found[graph] = costs
        for n, cost in costs.items():
            ratio = cost["backward"] / cost["forward"]
            times = [duration(cost[way] * 1e-9) for way in ("forward", "backward")]
            target = verdict(ratio, most=MOST_BACKWARD_PER_FORWARD[engine()])
            rows.append([f"{graph}, {n:,} nodes", *times, f"{ratio:.2f}", target])
        forward, backward = [_growth(costs, way) for way in ("forward", "backward")]
        target = (
            f"{verdict(forward, most=MOST_FORWARD_GROWTH)}, "
            f"{verdict(backward, most=MOST_BACKWARD_GROWTH)}"
        )
        name = f"{graph}, dearest size / smallest"
        rows.append([name, f"{forward:.2f} x", f"{backward:.2f} x", "", target])
    return Section(
        "Cost per node, without the garbage collector",
        ["graph", "forward", "backward", "backward / forward", "target"],
        rows,
        found,
    )


def _cost(graph: str, nodes: int, effort: Effort) -> dict[str, float]:
    answer: dict[str, float] = in_a_fresh_process(
        WORKER, "time", graph, str(nodes), str(effort.rounds)
    )
    return answer


def _growth(costs: dict[int, dict[str, float]], way: str) -> float:
    return max(cost[way] for cost in costs.values()) / costs[min(costs)][way]


# --- memory per node -------------------------------------------------------------------------


def memory_per_node(effort: Effort) -> Section:
    title = f"Memory per node, of {effort.nodes_in_memory:,}"
    header = ["what", "chainrule", "micrograd", "chainrule / micrograd", "target"]
    if not STATUS.exists():
        return Section(title, header, [["measured on Linux only", "", "", "", ""]], {})
    ours = _memory("chainrule", effort)
    theirs = _memory("micrograd", effort) if find_spec("micrograd") else {}
    rows = []
    for what, name in (("graph", "the graph"), ("peak", "at most, with the backward pass")):
        target = ""
        if what == "graph" and engine() in MOST_BYTES_PER_NODE:
            target = f"{verdict(ours[what], most=MOST_BYTES_PER_NODE[engine()])} bytes"
        cells = ["not installed", ""]
        if theirs:
            ratio = ours[what] / theirs[what]
            cells = [f"{theirs[what]:.0f} bytes", f"{ratio:.2f}"]
            target = ", ".join(
                [*([target] if target else []), verdict(ratio, most=MOST_MEMORY_PER_MICROGRADS)]
            )
        rows.append([name, f"{ours[what]:.0f} bytes", *cells, target])
    return Section(title, header, rows, {"chainrule": ours, "micrograd": theirs})


def _memory(kind: str, effort: Effort) -> dict[str, float]:
    answer: dict[str, float] = in_a_fresh_process(
        WORKER, "memory", kind, str(effort.nodes_in_memory)
    )
    return answer


# --- strict() --------------------------------------------------------------------------------


def strict_mode(effort: Effort) -> Section:
    """An operation before any strict() block, inside one, and after it."""
    a, b = chainrule.Value(2.0), chainrule.Value(3.0)

    def operation() -> object:
        return a * b

    def timed() -> float:
        return seconds_per_call(operation, round(effort.seconds / 1e-6))

    before = [timed() for _ in range(effort.rounds + 1)][1:]
    inside, after = [], []
    for _ in range(effort.rounds):
        with chainrule.strict():
            inside.append(timed())
        after.append(timed())
    figures = {"before": median(before), "inside": median(inside), "after": median(after)}
    rows = [
        [when, duration(seconds), f"{seconds / figures['before']:.2f} x"]
        for when, seconds in figures.items()
    ]
    title = "One multiplication before, inside and after a strict() block"
    return Section(title, ["when", "time", "compared with before"], rows, figures)


# --- import ----------------------------------------------------------------------------------


def import_time(effort: Effort) -> Section:
    program = (
        "import time; start = time.process_time(); import chainrule; "
        "print(time.process_time() - start)"
    )
    times = [in_a_fresh_process("-c", program) for _ in range(effort.imports + 1)][1:]
    seconds = median(times)
    limit = MOST_SECONDS_TO_IMPORT
    target = f"≤ {duration(limit)}: {'met' if seconds <= limit else 'MISSED'}"
    return Section(
        "import chainrule, in a fresh process",
        ["", "time", "target"],
        [["import chainrule", duration(seconds), target]],
        seconds,
    )


# ---------------------------------------------------------------------------------------------


SECTIONS: tuple[Callable[[Effort], Section], ...] = (
    strict_mode,  # first: "before" means that no such block was ever entered
    epochs,
    cost_per_node,
    memory_per_node,
    import_time,
)


def main() -> None:
    parser = argparse.ArgumentParser(description="Speed and memory of chainrule's eager mode.")
    parser.add_argument("--quick", action="store_true", help="fewer rounds, smaller graphs")
    parser.add_argument("--json", metavar="FILE", type=Path, help="write the figures there, too")
    options = parser.parse_args()
    effort = QUICK if options.quick else FULL

    about = surroundings()
    print("## Eager mode\n")
    print(", ".join([f"{what} {text}" for what, text in about.items()]) + "\n")
    results = {}
    for measure in SECTIONS:
        section = measure(effort)
        print(section, flush=True)
        results[measure.__name__] = section.figures
    if options.json:
        options.json.write_text(
            json.dumps({"about": about, **results}, indent=2) + "\n", encoding="utf-8"
        )


if __name__ == "__main__":
    main()
