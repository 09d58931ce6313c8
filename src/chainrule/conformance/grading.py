"""Scores, and the formats that course software reads: JUnit XML and Gradescope's JSON."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Mapping, Sequence
from difflib import get_close_matches
from pathlib import Path
from xml.etree import ElementTree

from chainrule.conformance.report import as_text, section_titles
from chainrule.conformance.verdict import Verdict
from chainrule.errors import DataError, OptionError, describe

__all__ = ["as_gradescope", "as_junit", "read_weights", "score"]


def read_weights(path: str | Path) -> dict[str, float]:
    """Read the weights of the sections.

    Args:
        path: a TOML file with a table ``[weights]``: sections and numbers.

    Returns:
        The weights; sections that are not named weigh nothing.

    Raises:
        DataError: it is no TOML, or has no such table.
        OptionError: an unknown section, or a weight that is no number from 0 up.
        OSError: it cannot be read.
    """
    path = Path(path)
    try:
        weights = tomllib.loads(path.read_text("utf-8")).get("weights")
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise DataError(f"{path}: the file is no TOML: {error}.") from None
    known = section_titles()
    if not isinstance(weights, dict) or not weights:
        raise DataError(
            f'{path}: expected a table [weights] with lines such as "reuse" = 2; '
            f"the sections are: {', '.join(known)}."
        )
    for name, weight in weights.items():
        if name not in known:
            near = get_close_matches(name, known, 1)
            hint = f"did you mean {near[0]!r}?" if near else f"there are: {', '.join(known)}."
            raise OptionError(f"{path}: there is no section {name!r}; {hint}")
        if isinstance(weight, bool) or not isinstance(weight, int | float) or not weight >= 0:
            raise OptionError(
                f"{path}: the weight of {name!r} must be a number from 0 up; "
                f"got {describe(weight)}."
            )
    if not sum(weights.values()) > 0:
        raise OptionError(f"{path}: all weights are 0; give at least one section a weight.")
    return {name: float(weight) for name, weight in weights.items()}


def _weights(verdict: Verdict, weights: Mapping[str, float]) -> dict[str, float]:
    """Those given, or else the same for each section that was run."""
    return dict(weights) or {s.name: 1.0 for s in verdict.sections}


def score(verdict: Verdict, weights: Mapping[str, float]) -> float:
    """The score, from 0 to 100.

    Args:
        verdict: the verdict.
        weights: of the sections; empty for equal weights of those that were run.

    Returns:
        The weighted mean of the parts passed; with given weights, a section of which
        nothing is offered counts as 0.
    """
    weighed = _weights(verdict, weights)
    parts = {s.name: s.passed / s.total for s in verdict.sections}
    total = sum(weighed.values())
    if not total:
        return 0.0
    return 100 * sum(w * parts.get(name, 0.0) for name, w in weighed.items()) / total


def as_junit(verdicts: Sequence[Verdict]) -> str:
    """JUnit XML: a suite per file, a test case per case."""
    root = ElementTree.Element("testsuites", name="chainrule check")
    for verdict in verdicts:
        failures = verdict.failed + bool(verdict.problem)
        suite = ElementTree.SubElement(root, "testsuite", name=verdict.file)
        count = 0
        if verdict.problem:
            count += 1
            case = ElementTree.SubElement(suite, "testcase", classname="loading", name="loading")
            ElementTree.SubElement(case, "failure", message=_clean(verdict.problem))
        for section in verdict.sections:
            whole = f"{section.title}: {section.passed} of {section.total}"
            for name in section.failed:
                case = ElementTree.SubElement(
                    suite, "testcase", classname=section.name, name=_clean(name)
                )
                outcome = verdict.outcomes[name]
                message = _clean(outcome.message or outcome.status)
                ElementTree.SubElement(case, "failure", message=message).text = whole
            for i in range(section.passed):
                ElementTree.SubElement(
                    suite, "testcase", classname=section.name, name=f"passed {i + 1}"
                )
            count += section.total
        suite.set("tests", str(count))
        suite.set("failures", str(failures))
        ElementTree.SubElement(suite, "system-out").text = _clean(as_text(verdict))
    ElementTree.indent(root)
    return ElementTree.tostring(root, encoding="unicode", xml_declaration=True) + "\n"


def _clean(text: str) -> str:
    """Without control characters, which XML does not allow."""
    return "".join([c if c.isprintable() or c == "\n" else " " for c in text])


def as_gradescope(verdict: Verdict, weights: Mapping[str, float], reveal: bool = False) -> str:
    """The ``results.json`` of Gradescope's autograder, out of 100 points."""
    weighed = _weights(verdict, weights)
    total = sum(weighed.values()) or 1.0
    parts = {s.name: s for s in verdict.sections}
    tests = []
    for name, weight in weighed.items():
        points = 100 * weight / total
        section = parts.get(name)
        share = section.passed / section.total if section else 0.0
        said = f"{section.passed} of {section.total} cases" if section else "not offered"
        tests.append(
            {
                "name": section_titles()[name],
                "score": round(points * share, 2),
                "max_score": round(points, 2),
                "status": "passed" if share == 1.0 else "failed",
                "output": said,
            }
        )
    result = {
        "score": round(score(verdict, weights), 2),
        "output": as_text(verdict, reveal),
        "stdout_visibility": "hidden",
        "tests": tests,
    }
    return json.dumps(result, indent=2, ensure_ascii=False)
