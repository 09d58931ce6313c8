"""The signature of an engine: what became of every case; and how one is taken."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from chainrule.conformance.cases import Case
from chainrule.conformance.outcome import Outcome, judge
from chainrule.conformance.runner import Runner

__all__ = ["is_loose", "take", "tokens"]

AFTER_HANG = "a smaller case of this kind does not come to an end"


def is_loose(case: Case) -> bool:
    """Whether a mistake changes this case's numbers from seed to seed, or from order to order."""
    return case.random or case.name.startswith("XOR")


def take(runner: Runner, cases: Iterable[Case]) -> dict[str, Outcome]:
    """Run cases on an engine.

    After two hangs in a section its larger cases are not run any more.

    Args:
        runner: the engine's process.
        cases: what to run, small to large.

    Returns:
        The outcomes, by the cases' names.
    """
    found: dict[str, Outcome] = {}
    hangs: dict[str, int] = {}
    for case in cases:
        if hangs.get(case.section, 0) >= 2 or sum(hangs.values()) >= 5:
            found[case.name] = Outcome(case.name, "absent", message=AFTER_HANG)
            continue
        outcome = judge(case, runner.ask(case))
        found[case.name] = outcome
        if outcome.status in ("hang", "crash"):
            hangs[case.section] = hangs.get(case.section, 0) + 1
    return found


def tokens(outcomes: Mapping[str, Outcome]) -> dict[str, str]:
    """The failures of a signature, as the fault dictionary keeps them."""
    return {name: outcome.token for name, outcome in outcomes.items() if outcome.failed}
