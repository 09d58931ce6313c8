"""Which known mistakes explain what an engine does wrong?

A mistake explains a failing case if, planted in one of the reference engines, it gave the
very same wrong numbers there.  Only a mistake that explains every failure, contradicts no
success, and is the only one to do so, is called certain.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from chainrule.conformance.cases import Case
from chainrule.conformance.dictionary import Entry, entries
from chainrule.conformance.faults import LIMITS, fault_of
from chainrule.conformance.outcome import Outcome
from chainrule.conformance.signature import is_loose

__all__ = ["Diagnosis", "Suspect", "diagnose"]

PROVEN: Final = frozenset({"missing import", "unhashable", "isinstance swapped"})
"""Kinds whose exception leaves no other reading."""

ALIKE: Final = frozenset(
    {"no gradient", "grad for data", "forward order", "root only", "no seed", "hidden backward"}
)
"""Kinds that do the same as another: what the numbers say is never certain."""

WEAK: Final = ("slope of the output", "do not matter", "the result is")
"""Messages of network checks that several mistakes share."""


@dataclass(frozen=True)
class Suspect:
    """A mistake that was diagnosed.

    Attributes:
        fault: its name.
        certainty: ``certain``, ``likely`` or ``possible``.
        explains: the failing cases that it explains.
        others: mistakes that explain as much, the likelier first.
    """

    fault: str
    certainty: str
    explains: tuple[str, ...]
    others: tuple[str, ...] = ()


@dataclass(frozen=True)
class Diagnosis:
    """What was found.

    Attributes:
        suspects: the mistakes, the one to mend first in front.
        unexplained: failing cases that no known mistake explains.
    """

    suspects: tuple[Suspect, ...]
    unexplained: tuple[str, ...]


@dataclass
class _Record:
    """All that the dictionary knows of one mistake."""

    fault: str
    entries: list[Entry]

    def tokens(self, case: str) -> set[str]:
        """What the case may give; "" for the right answer."""
        return {entry.tokens.get(case, "") for entry in self.entries}


def diagnose(
    cases: Iterable[Case],
    outcomes: Mapping[str, Outcome],
    dictionary: Sequence[Entry] | None = None,
    plausible: Callable[[str], bool] = lambda fault: True,
) -> Diagnosis:
    """Find the mistakes behind the failures.

    Args:
        cases: all cases; those about inherited limits are left out here.
        outcomes: what became of them.
        dictionary: what is known; None for the shipped dictionary.
        plausible: whether a mistake can be in the source, as far as reading it tells; asked
            only where several mistakes explain the same.

    Returns:
        The diagnosis.
    """
    known = _Known(cases, outcomes, entries() if dictionary is None else dictionary, plausible)
    if not known.failing:
        return Diagnosis((), ())
    return known.by_one() or known.by_several()


class _Known:
    """The failures of one engine, beside the dictionary."""

    def __init__(
        self,
        cases: Iterable[Case],
        outcomes: Mapping[str, Outcome],
        dictionary: Sequence[Entry],
        plausible: Callable[[str], bool],
    ) -> None:
        self.plausible = plausible
        self.cases = {
            c.name: c
            for c in cases
            if c.section != "limits" and outcomes[c.name].status != "absent"
        }
        self.outcomes = outcomes
        self.failing = [name for name in self.cases if outcomes[name].failed]
        grouped: dict[str, list[Entry]] = defaultdict(list)
        for entry in dictionary:
            if entry.fault.partition(":")[0] not in LIMITS:
                grouped[entry.fault].append(entry)
        self.records = [_Record(fault, found) for fault, found in grouped.items()]

    def explained(self, record: _Record, loosely: bool) -> list[str]:
        """The failing cases that a mistake explains."""
        return [n for n in self.failing if self._fits(record, n, loosely)]

    def contradicts(self, record: _Record, loosely: bool) -> bool:
        """Whether a case passes that the mistake must make fail."""
        for name, case in self.cases.items():
            if self.outcomes[name].failed or is_loose(case) or not _about(record.fault, case):
                continue
            if "" not in record.tokens(name) and not (loosely and fault_of(record.fault).loose):
                return True
        return False

    def _fits(self, record: _Record, name: str, loosely: bool) -> bool:
        token = self.outcomes[name].token
        if is_loose(self.cases[name]):
            return self._touches_kin(record, self.cases[name])
        found = record.tokens(name)
        if token in found:
            return True
        if loosely and fault_of(record.fault).loose and token[:1] == "g":
            section = self.cases[name].section
            return any(
                case.section == section and record.tokens(other) != {""}
                for other, case in self.cases.items()
            )
        return False

    def _made_of_others(self, record: _Record, name: str) -> bool:
        """Whether an operation may be made of the mistaken one in this engine alone."""
        case = self.cases[name]
        if _about(record.fault, case) or fault_of(record.fault).stage != 2:
            return False
        return case.section == "constants" or any(s in case.program for s in ("-", "/"))

    def _touches_kin(self, record: _Record, case: Case) -> bool:
        """Whether the mistake makes some random graph of the same group fail."""
        if not case.random:
            return True
        group = case.name.rpartition(" ")[0]
        return any(name.startswith(group) for entry in record.entries for name in entry.tokens)

    def by_one(self) -> Diagnosis | None:
        """One mistake for everything: to the number, or else as nearly as can be told.

        "By kind" is the last resort: which numbers come out is chance, as where operands
        are kept in a set, and none of them is in the dictionary.
        """
        for way in ("exactly", "loosely", "made of others", "by kind"):
            full = [r for r in self.records if self._all_by(r, way)]
            if full:
                full.sort(key=self._likelihood)
                shortened = [r for r in full if self.plausible(r.fault)] or full
                first, *others = [r.fault for r in shortened]
                sure = way == "exactly" and len(full) == 1 and self._telling(first)
                certainty = "certain" if sure else "possible" if others else "likely"
                suspect = Suspect(first, certainty, tuple(self.failing), tuple(others))
                return Diagnosis((suspect,), ())
        return None

    def _all_by(self, record: _Record, way: str) -> bool:
        loosely = way in ("loosely", "by kind")
        found = set(self.explained(record, loosely))
        if way != "by kind":
            exact = self.explained(record, loosely=False)
            if all(is_loose(self.cases[n]) for n in exact):
                return False
        left = [n for n in self.failing if n not in found]
        if way == "made of others":
            left = [n for n in left if not self._made_of_others(record, n)]
        return not left and not self.contradicts(record, loosely)

    def _telling(self, fault: str) -> bool:
        """Whether the evidence is numbers; an exception may have many causes."""
        if fault in PROVEN or fault.partition(":")[0] in PROVEN:
            return True
        if fault.partition(":")[0] in ALIKE:
            return False
        tokens = [self.outcomes[name].token for name in self.failing]
        numbers = [t for t in tokens if t[0] in "vg" and not any(w in t for w in WEAK)]
        return bool(numbers)

    def _likelihood(self, record: _Record) -> tuple[int, int, int]:
        """For sorting: whole signatures that agree first, then the less far-reaching."""
        alike = min(
            sum(
                entry.tokens.get(n, "") != self.outcomes[n].token
                for n, case in self.cases.items()
                if not is_loose(case)
            )
            for entry in record.entries
        )
        reach = min(len(entry.tokens) for entry in record.entries)
        return alike, reach, fault_of(record.fault).stage

    def by_several(self) -> Diagnosis:
        """As few mistakes as explain as much as possible."""
        left = list(self.failing)
        chosen: list[Suspect] = []
        records = [r for r in self.records if not self.contradicts(r, loosely=False)]
        solid = {n for n in self.failing if not is_loose(self.cases[n])}
        while left and len(chosen) < 6:
            gains = []
            for record in records:
                found = [n for n in self.explained(record, loosely=False) if n in left]
                gain = [n for n in found if n in solid]
                if gain:
                    gains.append((record, found, len(gain)))
            if not gains:
                break
            best = max(g for _, _, g in gains)
            top = [(r, f) for r, f, g in gains if g == best]
            top.sort(key=lambda pair: self._likelihood(pair[0]))
            record, found = top[0]
            others = tuple([r.fault for r, f in top[1:] if set(f) & solid == set(found) & solid])
            chosen.append(
                Suspect(record.fault, "possible" if others else "likely", tuple(found), others[:4])
            )
            left = [n for n in left if n not in found]
        touched: dict[str, int] = defaultdict(int)
        for suspect in chosen:
            record = next(r for r in self.records if r.fault == suspect.fault)
            for name in left:
                if record.tokens(name) != {""}:
                    touched[name] += 1
        rest = tuple([n for n in left if touched[n] < 2 and not is_loose(self.cases[n])])
        if len(chosen) == 1 and rest:  # one mistake and something unknown beside it
            chosen = [Suspect(chosen[0].fault, "possible", chosen[0].explains, chosen[0].others)]
        chosen.sort(key=lambda s: fault_of(s.fault).stage)
        return Diagnosis(tuple(chosen), rest)


def _about(fault: str, case: Case) -> bool:
    """Whether a case uses the operation that a mistake is about, in its own text."""
    op = fault.partition(":")[2]
    if not op or op == "all":
        return True
    if op == "neg":
        return "= -a" in case.program
    if op == "*":
        return "*" in case.program.replace("**", "")
    return op in case.program
