"""Blocks of code in which the engine behaves differently: `no_grad`."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final, final

__all__ = ["MODES", "no_grad"]


class _Here(threading.local):
    """What the present thread asked for."""

    recording: bool = True


@final
class _Modes:
    """The one thing that every new node looks at is ``used``, a plain number.

    Attributes:
        used: how many special blocks are open, in all threads together.
        here: what is in force in the present thread; only of interest if ``used``.
    """

    __slots__ = ("_lock", "here", "used")

    def __init__(self) -> None:
        self.used: int = 0
        self.here: _Here = _Here()
        self._lock = threading.Lock()

    def count(self, change: int) -> None:
        """Note that a block was entered (1) or left (-1)."""
        with self._lock:
            self.used += change


MODES: Final = _Modes()


@contextmanager
def no_grad() -> Iterator[None]:
    """Within the block (or the decorated function) operations build no graph.

    For predictions and updates: nothing is kept alive.  It holds for the thread
    that entered it.

    Example:
        >>> from chainrule import Value
        >>> w = Value(2.0)
        >>> with no_grad():
        ...     y = w * 3.0
        >>> y.data, y.operands
        (6.0, ())
    """
    before = MODES.here.recording
    MODES.here.recording = False
    MODES.count(1)
    try:
        yield
    finally:
        MODES.count(-1)
        MODES.here.recording = before
