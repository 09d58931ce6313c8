"""What became of a case, and the short token under which the fault dictionary keeps it."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from hashlib import blake2s
from typing import Any, Final

from chainrule.conformance.cases import Case, expected

__all__ = ["Outcome", "error_kind", "judge"]

KINDS: Final = (
    # a pattern of "ErrorName: message", and what it is called in the dictionary
    (r"NameError: .*'(math|np|numpy|random)'", "missing import"),
    (r"(Unbound|Name)\w*Error: ", "unknown name"),
    (r"AttributeError: '(int|float)' object has no attribute '_?(data|val|value)'", "number.data"),
    (r"AttributeError: '(int|float)' object has no attribute '_?(grad|der)", "number.grad"),
    (r"AttributeError: '(int|float|str|list)' object", "attribute of a number"),
    (r"AttributeError: 'NoneType' object", "result None"),
    (r"AttributeError: module", "attribute of a module"),
    (r"AttributeError: ", "attribute"),
    (r"TypeError: .*'NoneType' object is not callable", "None called"),
    (r"TypeError: .*object is not callable", "number called"),
    (r"TypeError: unhashable", "unhashable"),
    (r"TypeError: isinstance", "isinstance"),
    (r"TypeError: must be real number, not NoneType", "result None"),
    (r"TypeError: must be real number", "math of a value"),
    (r"TypeError: .*(positional argument|unexpected keyword|missing \d)", "arguments"),
    (r"TypeError: unsupported operand.*NoneType", "result None"),
    (r"TypeError: unsupported operand", "operands"),
    (r"TypeError: .*NoneType", "result None"),
    (r"RecursionError: ", "recursion"),
    (r"ZeroDivisionError: ", "division by zero"),
    (r"OverflowError: ", "overflow"),
    (r"AssertionError: ", "assertion"),
    (r"SystemExit: ", "exit"),
)
"""Exceptions that have an own meaning; the first pattern that fits counts."""


@dataclass(frozen=True)
class Outcome:
    """What became of a case.

    Attributes:
        case: its name.
        status: ``ok``, ``wrong``, ``error``, ``hang``, ``crash`` or ``absent`` (not offered).
        got: for each point the numbers read, if it ran to the end.
        token: for the fault dictionary; ``""`` if ok.
        point: which point failed first.
        place: what was wrong there first: an index into `Case.watch`.
        message: the exception, or what is not offered.
        line: where in the learner's file the exception arose; 0 if unknown.
        function: in which function of it.
    """

    case: str
    status: str
    got: tuple[tuple[Any, ...], ...] = ()
    token: str = ""
    point: int = 0
    place: int = 0
    message: str = ""
    line: int = 0
    function: str = ""

    @property
    def failed(self) -> bool:
        """Whether the engine did something wrong."""
        return self.status not in ("ok", "absent")


def error_kind(message: str) -> str:
    """The short name of an exception in the fault dictionary.

    Example:
        >>> error_kind("NameError: name 'math' is not defined")
        'missing import'
    """
    for pattern, kind in KINDS:
        if re.match(pattern, message):
            return kind
    return message.partition(":")[0]


def judge(case: Case, answer: dict[str, Any]) -> Outcome:
    """Compare what the worker answered with what is right.

    Args:
        case: the question.
        answer: the worker's message: a ``status`` and what belongs to it.

    Returns:
        The outcome.
    """
    status = answer["status"]
    if status == "error" and case.optional:
        status = "absent"
    if status != "ran":
        message = answer.get("message", "")
        token = {"absent": "", "error": f"!{error_kind(message)}"}.get(status, f"!{status}")
        if status == "wrong":  # a check of networks: the message says all
            token = f"v:{message}"
        return Outcome(
            case.name,
            status,
            token=token,
            point=answer.get("point", 0),
            message=message,
            line=answer.get("line", 0),
            function=answer.get("function", ""),
        )
    got = tuple([tuple([_number(x) for x in row]) for row in answer["got"]])
    if not case.program:
        return Outcome(case.name, "ok", got)
    right = expected(case)
    wrong = [
        (i, j)
        for i, row in enumerate(right)
        for j, x in enumerate(row)
        if not _close(got[i][j], x, case.tolerance)
    ]
    if not wrong:
        return Outcome(case.name, "ok", got)
    values = any(case.watch[j].endswith(".data") for _, j in wrong)
    i, j = wrong[0]
    return Outcome(case.name, "wrong", got, _token("v" if values else "g", got), i, j)


def _number(x: Any) -> Any:
    """JSON has no inf and nan: they travel as texts, and what is no number as a list."""
    return float(x) if isinstance(x, str) else x


def _close(got: Any, right: float, tolerance: tuple[float, float]) -> bool:
    if not isinstance(got, int | float):
        return False
    if math.isnan(right) or math.isnan(got) or math.isinf(right) or math.isinf(got):
        return got == right or (math.isnan(got) and math.isnan(right))
    relative, absolute = tolerance
    return abs(got - right) <= absolute + relative * abs(right)


def _token(letter: str, got: tuple[tuple[Any, ...], ...]) -> str:
    words = []
    for x in [x for row in got for x in row]:
        if not isinstance(x, int | float):
            words.append(str(x[0]))
        elif abs(x) < 1e-8:
            words.append("0")
        else:
            words.append(f"{x:.5e}")
    return letter + blake2s(" ".join(words).encode(), digest_size=4).hexdigest()
