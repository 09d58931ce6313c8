"""Verdicts as text, Markdown and JSON."""

from __future__ import annotations

import json
import textwrap
from collections.abc import Sequence
from typing import Any, Final

from chainrule.conformance.cases import SECTIONS
from chainrule.conformance.verdict import Mistake, Verdict

__all__ = ["as_dict", "as_json", "as_markdown", "as_text", "class_table", "section_titles"]

WIDTH: Final = 88

TIED: Final = "\u00a0"
"""A blank at which no line is broken."""

CERTAINTY: Final = {
    "certain": "This is the mistake",
    "likely": "Likely",
    "possible": "Possibly",
}


def as_text(verdict: Verdict, reveal: bool = False) -> str:
    """A verdict for the terminal.

    Args:
        verdict: the verdict.
        reveal: also tell how to mend the mistakes.

    Returns:
        Some lines.
    """
    name = f"{verdict.file}:{verdict.engine}" if verdict.engine else verdict.file
    lines = [f"{name}: {_summary(verdict)}", ""]
    width = max([len(s.title) for s in verdict.sections], default=0)
    for section in verdict.sections:
        mark = "ok" if not section.failed else f"{len(section.failed)} wrong"
        lines.append(
            f"  {section.title:<{width}}  {section.passed:>3} of {section.total:<3} {mark}"
        )
    if verdict.sections:
        lines.append("")
    if verdict.example is not None:
        lines += ["The smallest thing that goes wrong:", ""]
        lines += [f"    {line}" for line in verdict.example.lines]
        lines += [f"    # {problem}" for problem in verdict.example.problem]
        lines += ["", *_wrapped(verdict.example.says), ""]
    if len(verdict.mistakes) > 1:
        lines += [
            *_wrapped(
                f"There are probably {len(verdict.mistakes)} mistakes. Mend them in this order, "
                "and check again after each: some show only when another is gone."
            ),
            "",
        ]
    for i, mistake in enumerate(verdict.mistakes, 1):
        number = f"{i}. " if len(verdict.mistakes) > 1 else ""
        lines += [*_mistake(mistake, number, reveal), ""]
    if verdict.unexplained and any(m.name for m in verdict.mistakes):
        names = ", ".join(verdict.unexplained[:4])
        lines += [*_wrapped(f"Not explained by that: {names}."), ""]
    if verdict.limits:
        lines.append("Limits it shares with micrograd (not counted as mistakes):")
        for limit in verdict.limits:
            lines += _wrapped(limit, "  - ")
        lines.append("")
    if verdict.absent:
        names = ", ".join([name.replace(" ", TIED) for name in verdict.absent])
        lines += [*_wrapped(f"Not offered, and not judged: {names}."), ""]
    if verdict.mistakes and not reveal:
        lines += ["To see how to mend it, add --reveal.", ""]
    return "\n".join(lines).rstrip() + "\n"


def _summary(verdict: Verdict) -> str:
    if verdict.problem:
        return "could not be judged"
    total = sum(s.total for s in verdict.sections)
    if verdict.right:
        return f"right in all {total} cases"
    if not verdict.failed:
        return f"right in all {total} cases, but see below"
    return f"wrong in {verdict.failed} of {total} cases"


def _wrapped(text: str, first: str = "", rest: str | None = None) -> list[str]:
    indent = " " * len(first) if rest is None else rest
    lines = textwrap.wrap(
        text, WIDTH, initial_indent=first, subsequent_indent=indent, break_on_hyphens=False
    )
    return [line.replace(TIED, " ") for line in lines]


def _mistake(mistake: Mistake, number: str, reveal: bool) -> list[str]:
    indent = " " * len(number)
    said = CERTAINTY[mistake.certainty] if mistake.name else "Found"
    lines = _wrapped(f"{said}: {mistake.title}.", number)
    if mistake.line:
        lines.append(f"{indent}  {mistake.where}: {mistake.code}")
    if mistake.explains:
        cases = "case" if mistake.explains == 1 else "cases"
        lines.append(f"{indent}  It explains {mistake.explains} failing {cases}.")
    for other in mistake.others[:4]:
        lines += _wrapped(f"or: {other}", f"{indent}  ", f"{indent}      ")
    lines += _wrapped(f"Hint: {mistake.hint}", f"{indent}  ", f"{indent}        ")
    if reveal:
        lines += _wrapped(f"Fix: {mistake.fix}", f"{indent}  ", f"{indent}       ")
    return lines


def as_markdown(verdict: Verdict, reveal: bool = False) -> str:
    """A verdict as Markdown, for a pull request or a learner's file."""
    lines = [f"## {verdict.file}", "", f"`{verdict.engine}` is {_summary(verdict)}.", ""]
    if verdict.sections:
        lines += ["| section | passed | of |", "|---|---:|---:|"]
        lines += [f"| {s.title} | {s.passed} | {s.total} |" for s in verdict.sections]
        lines.append("")
    if verdict.example is not None:
        code = [*verdict.example.lines, *[f"# {p}" for p in verdict.example.problem]]
        lines += ["The smallest thing that goes wrong:", "", "```python", *code, "```", ""]
    for i, mistake in enumerate(verdict.mistakes, 1):
        place = f" ({mistake.where}: `{mistake.code}`)" if mistake.line else ""
        said = CERTAINTY[mistake.certainty] if mistake.name else "Found"
        lines.append(f"{i}. **{said}: {mistake.title}**{place}.")
        lines += [f"   - or: {other}" for other in mistake.others]
        lines.append(f"   - Hint: {mistake.hint}")
        if reveal:
            lines.append(f"   - Fix: {mistake.fix}")
    if verdict.mistakes:
        lines.append("")
    if verdict.limits:
        lines += ["Limits it shares with micrograd:", "", *[f"- {x}" for x in verdict.limits], ""]
    return "\n".join(lines)


def as_dict(verdict: Verdict, reveal: bool = False) -> dict[str, Any]:
    """A verdict as plain data."""
    example = verdict.example
    return {
        "file": verdict.file,
        "class": verdict.engine,
        "right": verdict.right,
        "problem": verdict.problem,
        "seed": verdict.seed,
        "sections": [
            {
                "name": s.name,
                "title": s.title,
                "passed": s.passed,
                "total": s.total,
                "failed": list(s.failed),
            }
            for s in verdict.sections
        ],
        "mistakes": [
            {
                "name": m.name,
                "certainty": m.certainty,
                "title": m.title,
                "line": m.line,
                "where": m.where,
                "code": m.code,
                "explains": m.explains,
                "others": list(m.others),
                "hint": m.hint,
                **({"fix": m.fix} if reveal else {}),
            }
            for m in verdict.mistakes
        ],
        "unexplained": list(verdict.unexplained),
        "example": None
        if example is None
        else {
            "case": example.case,
            "program": list(example.lines),
            "problem": list(example.problem),
            "says": example.says,
        },
        "limits": list(verdict.limits),
        "not_offered": list(verdict.absent),
    }


def as_json(verdicts: Sequence[Verdict], reveal: bool = False) -> str:
    """Verdicts as JSON: a list of objects."""
    return json.dumps([as_dict(v, reveal) for v in verdicts], indent=2, ensure_ascii=False)


def class_table(rows: Sequence[tuple[Verdict, float]]) -> str:
    """Who made which mistake: a table of plain text.

    Args:
        rows: verdicts with scores between 0 and 100.

    Returns:
        Some lines: the files in order, then how often each mistake was made.
    """
    width = max(len(v.file) for v, _ in rows)
    lines = [f"{'file':<{width}}  score  mistake"]
    counts: dict[str, int] = {}
    for verdict, score in rows:
        titles = [m.title for m in verdict.mistakes] or ["none"]
        for i, title in enumerate(titles):
            start = f"{verdict.file:<{width}}  {score:>5.1f}" if i == 0 else " " * (width + 7)
            lines.append(f"{start}  {title}")
        for title in dict.fromkeys(m.title for m in verdict.mistakes):
            counts[title] = counts.get(title, 0) + 1
    often = sorted(counts.items(), key=lambda item: (-item[1], item[0]))
    repeated = [f"{n} files: {title}" for title, n in often if n > 1]
    right = sum(v.right for v, _ in rows)
    lines += ["", f"{right} of {len(rows)} engines are right."]
    return "\n".join([*lines, *repeated]) + "\n"


def section_titles() -> dict[str, str]:
    """The sections that a weights file may name."""
    return {name: title for name, title in SECTIONS.items() if name != "limits"}
