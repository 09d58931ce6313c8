"""A progress bar for trainings that take a while, on a terminal; silent everywhere else."""

from __future__ import annotations

import sys
from time import perf_counter
from typing import TYPE_CHECKING, Any

from chainrule.errors import OptionError, describe

if TYPE_CHECKING:
    from rich.progress import Progress, TaskID

__all__ = ["ProgressBar"]

_LONG = 1.0
"""Seconds that a training must be expected to take for a bar to be shown."""

_LOOK_AFTER = 0.2
"""Seconds after which the speed is known well enough to tell."""


class ProgressBar:
    """A bar on standard error that counts rows; a context manager.

    Args:
        epochs: how many epochs there will be.
        rows: how many rows each has.
        wanted: True for a bar in any case, False for none, ``"auto"`` for one on
            a terminal if the training will take more than about a second.

    Raises:
        OptionError: ``wanted`` is something else.
    """

    def __init__(self, epochs: int, rows: int, wanted: Any) -> None:
        if not (isinstance(wanted, bool) or (isinstance(wanted, str) and wanted == "auto")):
            raise OptionError(f"progress must be True, False or 'auto'; got {describe(wanted)}.")
        self.total = epochs * rows
        self.done = 0
        self.note = ""
        self.always = wanted is True
        self.possible = self.total > 0 and (self.always or (bool(wanted) and _on_terminal()))
        self.started = perf_counter()
        self._bar: tuple[Progress, TaskID] | None = None

    def __enter__(self) -> ProgressBar:
        return self

    def __exit__(self, *exception: object) -> None:
        if self._bar is not None:
            self._bar[0].stop()

    def advance(self, rows: int) -> None:
        """Note that so many more rows are done."""
        self.done += rows
        if not self.possible:
            return
        if self._bar is None:
            if not (self.always or self._will_take_long()):
                return
            self._bar = self._opened()
        bar, task = self._bar
        bar.update(task, completed=self.done, note=self.note)

    def epoch(self, number: int, loss: float) -> None:
        """Note which epoch was completed, and with which loss."""
        self.note = f"epoch {number}, loss {loss:.6g}"

    def _will_take_long(self) -> bool:
        elapsed = perf_counter() - self.started
        return elapsed > _LOOK_AFTER and elapsed / self.done * self.total > _LONG

    def _opened(self) -> tuple[Progress, TaskID]:
        from rich.console import Console
        from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

        console = Console(stderr=True)
        bar = Progress(
            TextColumn("training"),
            BarColumn(20),  # leaves room for the ^C that a terminal shows
            TextColumn("{task.percentage:>3.0f} %"),
            TimeRemainingColumn(),
            TextColumn("{task.fields[note]}"),
            console=console,
            transient=console.is_terminal,  # in a log file one line remains
        )
        task = bar.add_task("training", total=self.total, note=self.note)
        bar.start()
        return bar, task


def _on_terminal() -> bool:
    stream = sys.stderr
    return stream is not None and hasattr(stream, "isatty") and stream.isatty()
