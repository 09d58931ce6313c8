"""Judge an engine: run the cases, diagnose, and put the verdict together."""

from __future__ import annotations

import ast
import inspect
import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from chainrule.conformance.blame import Finding, find_engine, is_plausible, line_of, static_findings
from chainrule.conformance.cases import SECTIONS, Case, expected
from chainrule.conformance.catalogue import all_cases
from chainrule.conformance.diagnosis import Diagnosis, diagnose
from chainrule.conformance.faults import describe_fault, fault_of
from chainrule.conformance.loading import Source, read_source
from chainrule.conformance.outcome import Outcome, judge
from chainrule.conformance.runner import Limits, Runner
from chainrule.conformance.shrinking import shrink
from chainrule.conformance.signature import take
from chainrule.errors import DataError, GradientMismatch, OptionError, describe

__all__ = ["Example", "Mistake", "Section", "Verdict", "check"]


@dataclass(frozen=True)
class Mistake:
    """One mistake, in words.

    Attributes:
        name: the name in the fault dictionary; "" for one that is not in it.
        certainty: ``certain``, ``likely`` or ``possible``.
        title: what it is.
        hint: where to look.
        fix: how to mend it.
        line: where in the file, counted from 1; 0 if unknown.
        where: the same in words.
        code: the text of that line.
        explains: how many failing cases it explains.
        others: titles of mistakes that explain as much.
    """

    name: str
    certainty: str
    title: str
    hint: str
    fix: str
    line: int = 0
    where: str = ""
    code: str = ""
    explains: int = 0
    others: tuple[str, ...] = ()


@dataclass(frozen=True)
class Example:
    """The smallest expression that goes wrong, in the learner's own names.

    Attributes:
        case: the name of the case it was cut from.
        lines: Python.
        problem: what is expected and what came, or the exception, per line of text.
        says: what should hold, in a sentence.
    """

    case: str
    lines: tuple[str, ...]
    problem: tuple[str, ...]
    says: str


@dataclass(frozen=True)
class Section:
    """How many cases of a section passed.

    Attributes:
        name: a key of `SECTIONS`.
        title: in words.
        passed: how many passed.
        total: how many were run: those that are not offered do not count.
        failed: the names of those that failed.
    """

    name: str
    title: str
    passed: int
    total: int
    failed: tuple[str, ...]


@dataclass(frozen=True)
class Verdict:
    """All that was found out about an engine.

    Attributes:
        file: its file.
        engine: its class; "" if none was found.
        problem: why it could not be judged at all; "" if it could.
        sections: the results.
        mistakes: the diagnosis; the one to mend first in front.
        unexplained: failing cases that no known mistake explains.
        example: the smallest failing expression; None if all is right.
        limits: inherited limits, in words.
        absent: what is not offered.
        outcomes: what became of each case.
        seed: of the random graphs.
    """

    file: str
    engine: str
    problem: str
    sections: tuple[Section, ...]
    mistakes: tuple[Mistake, ...]
    unexplained: tuple[str, ...]
    example: Example | None
    limits: tuple[str, ...]
    absent: tuple[str, ...]
    outcomes: Mapping[str, Outcome]
    seed: int

    @property
    def right(self) -> bool:
        """Whether nothing is wrong; inherited limits are not counted."""
        return not (self.problem or self.mistakes or self.failed)

    @property
    def failed(self) -> int:
        """How many cases failed; inherited limits are not counted."""
        return sum(len(section.failed) for section in self.sections)

    @property
    def text(self) -> str:
        """The verdict, for a terminal."""
        from chainrule.conformance.report import as_text

        return as_text(self)

    def __str__(self) -> str:
        return self.text

    def raise_if_wrong(self) -> None:
        """For tests.

        Raises:
            GradientMismatch: something is wrong; the message is the report.
        """
        if not self.right:
            raise GradientMismatch(self.text)


def check(
    target: str | Path | type,
    *,
    adapter: str | Path = "",
    seed: int = 0,
    limits: Limits | None = None,
) -> Verdict:
    """Judge somebody's engine.

    Its file is loaded in a separate process, definitions only, with limits on time and
    memory.  That bounds accidents and is no sandbox against malice.

    Args:
        target: a file ``engine.py`` or ``engine.ipynb``, one with a class,
            ``"engine.py:Value"``, or a class that was defined in a file.
        adapter: a Python file that says how to talk to an engine of another shape.
        seed: of the random graphs.
        limits: what the code may use.

    Returns:
        The verdict.

    Raises:
        OptionError: the class is not in a file of its own.
        DataError: the file is no Python source and no notebook.
        OSError: the file cannot be read.

    Example:
        >>> from chainrule.conformance.reference import PATHS
        >>> check(PATHS["closures"]).right
        True
    """
    path, name = _target(target)
    source = read_source(path)
    try:
        tree = ast.parse(source.text)
    except SyntaxError as error:
        return _unusable(source, name, f"SyntaxError: {error.msg}", error.lineno or 0, seed)
    if not name and not adapter:
        name = find_engine(tree)
        if not name:
            classes = [n.name for n in tree.body if isinstance(n, ast.ClassDef)]
            found = f"it defines {', '.join(classes)}" if classes else "it defines no class"
            problem = f"no class with __add__ or __mul__ was found; {found}"
            return _unusable(source, "", problem, 0, seed)
    with Runner(path, name, str(adapter), limits) as runner:
        if runner.ready["status"] != "ready":
            problem = runner.ready.get("message") or "the file did not load within its limits"
            return _unusable(source, name, problem, runner.ready.get("line", 0), seed)
        cases = all_cases(seed)
        outcomes = take(runner, cases)
        maker = _Maker(source, tree, name, runner, seed)
        return maker.verdict(cases, outcomes)


def _target(target: str | Path | type) -> tuple[Path, str]:
    if isinstance(target, type):
        try:
            file = inspect.getsourcefile(target)
        except (TypeError, OSError):
            file = None
        if file is None or not Path(file).is_file() or "<" in target.__qualname__:
            raise OptionError(
                f"check() runs a class in a process of its own, so it needs the file that defines "
                f"it at its top level; {describe(target)} has none. Save the class in a .py file."
            )
        return Path(file), target.__name__
    text = str(target)
    file, colon, name = text.rpartition(":")
    if colon and name.isidentifier() and not Path(text).exists():
        return Path(file), name
    path = Path(text)
    if path.is_dir():
        raise DataError(f"{path} is a folder; give a .py file or an .ipynb notebook in it.")
    return path, ""


def _unusable(source: Source, name: str, problem: str, line: int, seed: int) -> Verdict:
    """The verdict on a file that cannot be judged."""
    mistake = Mistake(
        "",
        "certain",
        f"the engine cannot be used: {problem}",
        "Nothing else can be judged before the file loads.",
        "Mend this first, then check again.",
        line,
        source.where(line) if line else "",
        source.line(line),
    )
    return Verdict(str(source.path), name, problem, (), (mistake,), (), None, (), (), {}, seed)


class _Maker:
    """Puts a verdict together."""

    def __init__(
        self, source: Source, tree: ast.Module, name: str, runner: Runner, seed: int
    ) -> None:
        self.source = source
        self.tree = tree
        self.name = name
        self.runner = runner
        self.seed = seed
        self.data = runner.ready.get("data") or "data"
        self.grad = runner.ready.get("grad") or "grad"
        self.backward = runner.ready.get("backward") or "backward"

    def verdict(self, cases: tuple[Case, ...], outcomes: Mapping[str, Outcome]) -> Verdict:
        diagnosis = diagnose(cases, outcomes, plausible=self._plausible)
        mistakes = self._mistakes(cases, outcomes, diagnosis)
        sections = []
        for key, title in SECTIONS.items():
            if key == "limits":
                continue
            run = [
                outcomes[c.name]
                for c in cases
                if c.section == key and outcomes[c.name].status != "absent"
            ]
            failed = tuple([o.case for o in run if o.failed])
            if run:
                sections.append(Section(key, title, len(run) - len(failed), len(run), failed))
        limits = [c.limit for c in cases if c.section == "limits" and outcomes[c.name].failed]
        absent = [
            o.message for o in outcomes.values() if o.status == "absent" and len(o.message) < 40
        ]
        return Verdict(
            str(self.source.path),
            self.name,
            "",
            tuple(sections),
            tuple(mistakes),
            diagnosis.unexplained,
            self._example(cases, outcomes),
            tuple(dict.fromkeys(limits)),
            tuple(dict.fromkeys(filter(None, absent))),
            outcomes,
            self.seed,
        )

    def _mistakes(
        self, cases: tuple[Case, ...], outcomes: Mapping[str, Outcome], diagnosis: Diagnosis
    ) -> list[Mistake]:
        found = [self._from_source(f) for f in static_findings(self.tree, self.name)]
        for suspect in diagnosis.suspects:
            fault = describe_fault(suspect.fault)
            line = self._line(suspect.fault, [outcomes[name] for name in suspect.explains])
            found.append(
                Mistake(
                    suspect.fault,
                    suspect.certainty,
                    fault.title,
                    fault.hint,
                    fault.fix,
                    line,
                    self.source.where(line) if line else "",
                    self.source.line(line),
                    len(suspect.explains),
                    tuple([describe_fault(other).title for other in suspect.others]),
                )
            )
        if diagnosis.unexplained and not diagnosis.suspects:
            found.append(self._unknown(cases, outcomes, diagnosis))
        return found

    def _plausible(self, fault: str) -> bool:
        return is_plausible(self.tree, self.name, fault, self.backward)

    def _from_source(self, finding: Finding) -> Mistake:
        line = finding.line
        return Mistake(
            "name", "certain", finding.title, finding.hint, finding.fix, line,
            self.source.where(line), self.source.line(line),
        )  # fmt: skip

    def _line(self, fault: str, failures: list[Outcome]) -> int:
        """Where the exception arose, or else the statement that the mistake is about."""
        raised = [o.line for o in failures if o.status == "error" and o.line]
        if raised and fault_of(fault).stage == 0 and not fault.startswith("closure called"):
            return max(set(raised), key=raised.count)
        return line_of(self.tree, self.name, fault, self.backward, self.grad)

    def _unknown(
        self, cases: tuple[Case, ...], outcomes: Mapping[str, Outcome], diagnosis: Diagnosis
    ) -> Mistake:
        """A mistake that the dictionary does not know: told by its smallest case."""
        first = next(c for c in cases if c.name in diagnosis.unexplained)
        outcome = outcomes[first.name]
        raised = next((outcomes[n] for n in diagnosis.unexplained if outcomes[n].line), outcome)
        problem = f": {outcome.message}" if outcome.message else ""
        return Mistake(
            "",
            "possible",
            f"`{first.name}` is wrong, in a way that no known mistake explains{problem}",
            first.says,
            first.says,
            raised.line,
            self.source.where(raised.line) if raised.line else "",
            self.source.line(raised.line),
            len(diagnosis.unexplained),
        )

    def _example(self, cases: tuple[Case, ...], outcomes: Mapping[str, Outcome]) -> Example | None:
        failing = [c for c in cases if c.section != "limits" and outcomes[c.name].failed]
        if not failing:
            return None
        case = min(failing, key=lambda c: (c.size, len(c.points[0])))
        outcome = outcomes[case.name]
        if not case.program:
            return Example(case.name, (), (outcome.message,), case.says)

        def fails(candidate: Case) -> bool:
            found = judge(candidate, self.runner.ask(candidate))
            return found.status == outcome.status

        small = replace(case, points=(case.points[outcome.point],))
        if outcome.status in ("wrong", "error"):
            small = shrink(case, fails, outcome.point)
            again = judge(small, self.runner.ask(small))
            outcome = again if again.failed else replace(outcome, point=0, got=outcome.got[:1])
        return Example(case.name, self._lines(small), self._problem(small, outcome), case.says)

    def _lines(self, case: Case) -> tuple[str, ...]:
        """A program as the learner would write it."""
        text = "\n".join(
            [
                *[f"{k} = {self.name or 'Value'}({x})" for k, x in case.points[0].items()],
                case.program,
            ]
        )
        return tuple(self._own_names(text).splitlines())

    def _own_names(self, text: str) -> str:
        text = text.replace(".grad", f".{self.grad}").replace(".data", f".{self.data}")
        if self.runner.ready.get("function"):
            return text.replace("y.backward()", f"{self.backward}(y)")
        return text.replace(".backward()", f".{self.backward}()")

    def _problem(self, case: Case, outcome: Outcome) -> tuple[str, ...]:
        if outcome.status == "hang":
            return ("it does not come to an end",)
        if outcome.status != "wrong":
            line = f" ({self.source.where(outcome.line)})" if outcome.line else ""
            return (f"{outcome.message or 'the process ended'}{line}",)
        found = []
        for name, right, got in zip(case.watch, expected(case)[0], outcome.got[0], strict=True):
            same = isinstance(got, float | int) and math.isclose(
                got, right, rel_tol=case.tolerance[0], abs_tol=case.tolerance[1]
            )
            verdict = (
                f"is {_shown(got)}, right"
                if same
                else f"should be {_shown(right)}, is {_shown(got)}"
            )
            found.append(f"{self._own_names(name)} {verdict}")
        return tuple(found)


def _shown(x: Any) -> str:
    return f"{x:.6g}" if isinstance(x, float | int) else str(x[0])
