"""Blocks of code in which the engine behaves differently: `no_grad`, `counting`, `tracing`.

`watching` is the place for somebody who looks at every node: `chainrule.strict`.
"""

from __future__ import annotations

import _thread
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, Final, NoReturn, Protocol, final

from chainrule.engine import mypyc_attr
from chainrule.errors import TraceError, users_line

__all__ = [
    "MODES",
    "Watch",
    "counting",
    "misplaced",
    "no_grad",
    "reading",
    "refuse",
    "tracing",
    "watched",
    "watching",
]


class Watch(Protocol):
    """Somebody who looks at what the values of a thread do, and may raise an error."""

    def made(self, node: Any) -> None:
        """A node was made; its operands are still there, even within `no_grad`."""

    def going_back(self, root: Any) -> None:
        """A backward pass is about to start; no gradient has been touched yet."""


@mypyc_attr(native_class=False)  # the attributes of a compiled class belong to all threads
class _Here(_thread._local):  # threading.local, under the name by which mypyc finds it
    """What the present thread asked for."""

    recording: bool = True
    operations: int = 0
    counting: bool = False
    tracing: bool = False
    watch: Watch | None = None


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
def _special() -> Iterator[_Here]:
    MODES.count(1)
    try:
        yield MODES.here
    finally:
        MODES.count(-1)


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
    with _special() as here:
        before = here.recording
        here.recording = False
        try:
            yield
        finally:
            here.recording = before


@contextmanager
def counting() -> Iterator[Callable[[], int]]:
    """Count the operations on values that the present thread carries out in the block.

    Yields:
        A function that tells how many there have been so far.

    Example:
        >>> from chainrule import Value
        >>> with counting() as count:
        ...     y = Value(2.0) * 3.0 + 1.0
        >>> count()
        2
    """
    with _special() as here:
        before, outer = here.operations, here.counting
        here.counting = True
        try:
            yield lambda: here.operations - before
        finally:
            here.counting = outer


@contextmanager
def tracing() -> Iterator[None]:
    """While a function is traced by the compiler, the number in a value must not be read."""
    with _special() as here:
        before = here.tracing
        here.tracing = True
        try:
            yield
        finally:
            here.tracing = before


@contextmanager
def watching(watch: Watch) -> Iterator[None]:
    """Within the block the present thread's values report to ``watch``."""
    with _special() as here:
        before = here.watch
        here.watch = watch
        try:
            yield
        finally:
            here.watch = before


def watched() -> bool:
    """Whether the present thread's operations must be carried out one by one, on `Value`s.

    Somebody counts them, looks at each of them, or traces them: a compiled program in their
    place would have none to show.
    """
    if not MODES.used:
        return False
    here = MODES.here
    return here.counting or here.tracing or here.watch is not None


_BRANCH: Final = (
    "Instead of `if a > b` write where(greater(a, b), x, y), or maximum, minimum, relu; to use "
    "a value as a constant write stop_gradient(a); chainrule.exp, not math.exp."
)
_PICK: Final = "To choose among options by an index that is an input, write pick(index, options)."
_READINGS: Final = {
    "float": ("a value was compared, or converted to a number,", f"{_BRANCH} {_PICK}"),
    "bool": ("the truth of a value was asked for (if, while, and, or, not)", _BRANCH),
    "==": (
        "two values were compared with == or !=",
        "Write equal(a, b); to see whether they are the same object, a is b.",
    ),
    "int": ("int() was applied to a value", _PICK),
    "index": ("a value was used as an index", _PICK),
    "round": (
        "a value was rounded",
        "Round the result of the compiled function, outside of it.",
    ),
    "format": (
        "a value was formatted as text",
        "Print what the compiled function returns, outside of it.",
    ),
    "detach": (
        "detach() was called on a value",
        "Where no gradient should pass, write stop_gradient(a).",
    ),
    "data": (
        "`.data` of a value was read",
        "Compute with the value itself; where no gradient should pass, stop_gradient(a).",
    ),
    "grad": (
        "`.grad` of a value was read",
        "The compiled function returns the gradients, next to its result.",
    ),
    "iter": (
        "a value was iterated over",
        "It is a single number: an argument that has one number per example.",
    ),
}


def reading(kind: str) -> None:
    """Somebody wants the number in a value: while a function is traced, that is an error.

    Args:
        kind: how it is read, a key of the list above.

    Raises:
        TraceError: the present thread traces a function.
    """
    if MODES.here.tracing:
        refuse(kind)


def refuse(kind: str) -> NoReturn:
    """Raise the `TraceError` that says why a number cannot be had, and what to do instead."""
    what, remedy = _READINGS[kind]
    misplaced(
        what,
        "The program that is made must serve all numbers, and this one would be frozen into it. "
        f"{remedy}",
    )


def misplaced(what: str, remedy: str) -> NoReturn:
    """Raise the `TraceError` for something that has no place in a compiled function.

    Args:
        what: what happened, such as ``"backward() was called"``.
        remedy: why it cannot be, and what to do instead.
    """
    raise TraceError(f"{what} at {users_line()}, while the function is being compiled. {remedy}")
