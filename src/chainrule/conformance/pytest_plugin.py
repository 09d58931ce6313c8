"""Judge engines in a course repository's tests.

In ``conftest.py``::

    pytest_plugins = ["chainrule.conformance.pytest_plugin"]

and in a test::

    def test_engine(check_engine):
        check_engine("engine.py:Value")

Without tests, ``pytest --engine engine.py`` judges a file; and without a ``conftest.py``
``pytest -p chainrule.conformance.pytest_plugin --engine engine.py`` does.

It is no entry point of the package, because pytest would then load it in every project of the
environment, and an ``--engine`` of somebody else's would clash with this one.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from chainrule.conformance.verdict import Verdict, check

__all__ = ["EngineItem", "check_engine"]


@pytest.fixture
def check_engine() -> Callable[..., Verdict]:
    """A function that takes what `chainrule.conformance.check` takes, and fails the test."""

    def go(target: Any, **options: Any) -> Verdict:
        __tracebackhide__ = True
        verdict = check(target, **options)
        if not verdict.right:
            pytest.fail(verdict.text, pytrace=False)
        return verdict

    return go


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add ``--engine``."""
    parser.addoption(
        "--engine",
        action="append",
        default=[],
        metavar="FILE[:CLASS]",
        help="judge this engine with chainrule (may be given several times)",
    )


def pytest_collection_modifyitems(
    session: pytest.Session, config: pytest.Config, items: list[pytest.Item]
) -> None:
    """Add an item for each engine of the command line."""
    items += [EngineItem.from_parent(session, name=name) for name in config.getoption("--engine")]


class EngineItem(pytest.Item):
    """Judges one engine."""

    def runtest(self) -> None:
        check(self.name).raise_if_wrong()

    def repr_failure(self, excinfo: Any, style: Any = None) -> str:
        return str(excinfo.value)

    def reportinfo(self) -> tuple[Path, None, str]:
        return Path(self.name), None, f"engine {self.name}"
