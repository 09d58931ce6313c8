"""Timing side by side, on a machine that may be busy with other things.

What is compared runs in turns (ours, theirs, ours, theirs, ...), so that a slow minute
falls on both.  Times are the processor's, not the clock's: they stand still while another
program has the core.  The first round warms up and is thrown away.
"""

from __future__ import annotations

import gc
import importlib.metadata
import json
import os
import platform
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from statistics import median
from typing import Any

import chainrule
from chainrule import value

Run = Callable[[], object]


def seconds_per_call(run: Run, calls: int) -> float:
    """Processor time per call, averaged over some calls in a row."""
    gc.collect()
    start = time.process_time()
    for _ in range(calls):
        run()
    return (time.process_time() - start) / calls


@contextmanager
def collector_off() -> Iterator[None]:
    """Keep Python's garbage collector from running by itself."""
    gc.disable()
    try:
        yield
    finally:
        gc.enable()


# A graph that hangs in reference cycles is paid for by the collector, epochs later.
FEWEST_CALLS = 5


def calls_that_fill(seconds: float, run: Run) -> int:
    """How many calls take so long that the clock's own error does not matter."""
    calls = FEWEST_CALLS
    while (taken := seconds_per_call(run, calls) * calls) < seconds:
        calls = calls * 2 if taken < seconds / 4 else round(calls * seconds / taken) + 1
    return calls


def interleaved(runs: Sequence[Run], rounds: int, seconds: float) -> list[list[float]]:
    """Seconds per call of each run in each round, the first round left out."""
    calls = [calls_that_fill(seconds, run) for run in runs]
    table = [
        [seconds_per_call(run, n) for run, n in zip(runs, calls, strict=True)]
        for _ in range(rounds + 1)
    ]
    return [list(column) for column in zip(*table[1:], strict=True)]


def median_ratio(above: Sequence[float], below: Sequence[float]) -> float:
    """The median of the ratios round by round, in which what slows both cancels out."""
    return median([a / b for a, b in zip(above, below, strict=True)])


def in_a_fresh_process(*arguments: str) -> Any:
    """Run Python with these arguments; what it prints, read as JSON."""
    done = subprocess.run([sys.executable, *arguments], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise RuntimeError(f"python {' '.join(arguments)} failed:\n{done.stderr}")
    return json.loads(done.stdout)


def engine() -> str:
    """``"python"`` if the engine is the readable source, ``"native"`` if it is compiled."""
    return "python" if Path(str(value.__file__)).suffix == ".py" else "native"


def surroundings() -> dict[str, str]:
    """What the figures depend on."""
    load = f"{os.getloadavg()[0]:.1f}" if hasattr(os, "getloadavg") else "unknown"
    return {
        "chainrule": chainrule.__version__,
        "engine": engine(),
        "Python": f"{platform.python_version()} ({platform.python_implementation()})",
        "processor": f"{_processor()}, {os.cpu_count()} cores",
        "system": platform.platform(terse=True),
        "load at the start": load,
    }


def _processor() -> str:
    about = Path("/proc/cpuinfo")
    lines = about.read_text().splitlines() if about.exists() else []
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.processor() or platform.machine()


def version_of(package: str) -> str:
    """The installed version of a package from PyPI."""
    return importlib.metadata.version(package)


def markdown(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A table that reads well as it stands, and as Markdown.  The first column is text."""
    widths = [max(len(row[i]) for row in [header, *rows]) for i in range(len(header))]

    def line(cells: Sequence[str]) -> str:
        first, *others = [
            cell.rjust(width) if i else cell.ljust(width)
            for i, (cell, width) in enumerate(zip(cells, widths, strict=True))
        ]
        return "| " + " | ".join([first, *others]) + " |"

    rule = "|".join(
        ["", "-" * (widths[0] + 2), *["-" * (width + 1) + ":" for width in widths[1:]], ""]
    )
    return "\n".join([line(header), rule, *[line(row) for row in rows]])


def duration(seconds: float) -> str:
    """Three digits and a unit."""
    for unit, size in (("s", 1.0), ("ms", 1e-3), ("µs", 1e-6)):
        if seconds >= size:
            return f"{_three_digits(seconds / size)} {unit}"
    return f"{_three_digits(seconds / 1e-9)} ns"


def _three_digits(number: float) -> str:
    return f"{number:.{0 if number >= 100 else 1 if number >= 10 else 2}f}"
