"""The fault dictionary: what each known mistake does to the cases.

It is made by planting the mistakes in the reference engines and running the cases::

    python -m chainrule.conformance.dictionary

writes ``dictionary.json`` anew; a test holds that file to the code it was made from.
"""

from __future__ import annotations

import json
import tempfile
from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cache
from hashlib import sha256
from pathlib import Path
from typing import Final

from chainrule.conformance.cases import Case
from chainrule.conformance.catalogue import all_cases
from chainrule.conformance.planting import PLANTS, Plant, planted
from chainrule.conformance.reference import PATHS
from chainrule.conformance.runner import Runner
from chainrule.conformance.signature import take, tokens

__all__ = ["PATH", "Entry", "entries", "fingerprint", "record", "recorded_cases"]

PATH: Final = Path(__file__).with_name("dictionary.json")
LOADING: Final = "loading"
"""Stands in the place of a case's name when the file cannot be loaded at all."""


@dataclass(frozen=True)
class Entry:
    """What one plant does.

    Attributes:
        fault: the mistake.
        style: the engine it was planted in.
        tokens: for each case that fails its token.
    """

    fault: str
    style: str
    tokens: dict[str, str]


def recorded_cases() -> list[Case]:
    """The cases that the dictionary knows: all but the long trainings."""
    return [case for case in all_cases() if not case.name.startswith("XOR")]


def record(plant: Plant, folder: Path) -> Entry:
    """Plant a mistake and run the cases.

    Args:
        plant: the mistake.
        folder: where the engine's file is written.

    Returns:
        The entry.
    """
    source = planted(PATHS[plant.style].read_text("utf-8"), plant.edits)
    path = folder / f"engine_{abs(hash(plant))}.py"
    path.write_text(source, "utf-8")
    with Runner(path, "Value") as runner:
        if runner.ready["status"] != "ready":
            return Entry(plant.fault, plant.style, {LOADING: "!"})
        outcomes = take(runner, recorded_cases())
    return Entry(plant.fault, plant.style, tokens(outcomes))


def record_all(plants: Iterable[Plant]) -> list[Entry]:
    """Record many plants, two at a time."""
    with tempfile.TemporaryDirectory() as folder, ThreadPoolExecutor(2) as pool:
        return list(pool.map(lambda plant: record(plant, Path(folder)), plants))


def fingerprint() -> str:
    """Of all that the dictionary is made from: cases, engines, plants."""
    hashed = sha256()
    for case in recorded_cases():
        hashed.update(repr((case.name, case.program, case.points, case.watch)).encode())
    for plant in PLANTS:
        hashed.update(repr(plant).encode())
    for path in PATHS.values():
        hashed.update(path.read_bytes())
    return hashed.hexdigest()[:16]


@cache
def entries() -> Sequence[Entry]:
    """The entries of the shipped dictionary.

    Example:
        >>> len({entry.fault for entry in entries()}) >= 60
        True
    """
    stored = json.loads(PATH.read_text("utf-8"))
    names = stored["cases"]
    return [
        Entry(fault, style, {names[int(i)]: token for i, token in found.items()})
        for fault, style, found in stored["entries"]
    ]


def write(found: Sequence[Entry]) -> None:
    """Write the dictionary."""
    names = [LOADING, *[case.name for case in recorded_cases()]]
    place = {name: i for i, name in enumerate(names)}
    rows = [[e.fault, e.style, {str(place[n]): t for n, t in e.tokens.items()}] for e in found]
    lines = ",\n".join([json.dumps(row, separators=(",", ":")) for row in rows])
    head = json.dumps({"fingerprint": fingerprint(), "cases": names})[:-1]
    PATH.write_text(f'{head}, "entries": [\n{lines}\n]}}\n', "utf-8")


if __name__ == "__main__":
    write(record_all(PLANTS))
