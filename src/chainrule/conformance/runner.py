"""Run a learner's code in a process of its own, within limits.

The limits bound accidents: endless loops, runaway recursion, memory, ``sys.exit``.
They are no sandbox: code that means harm can do what its user can do.
"""

from __future__ import annotations

import json
import os
import selectors
import subprocess
import sys
import time
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any, Final

from chainrule.conformance.cases import Case

__all__ = ["Limits", "Runner"]

HUGE_ANSWER: Final = 1_000_000
"""An answer longer than this, in bytes, is not read to its end."""


@dataclass(frozen=True)
class Limits:
    """What a learner's code may use.

    Attributes:
        seconds: processor time for one case.
        wall: seconds on the clock for one case, after which the process is ended.
        memory: bytes.
        processor: seconds of processor time for all cases together.
    """

    seconds: float = 0.7
    wall: float = 10.0
    memory: int = 2_000_000_000
    processor: int = 60


class Runner:
    """A worker process, restarted when the learner's code has ended it.

    Args:
        path: the learner's file.
        class_name: the class in it.
        adapter: an adapter file; "" for none.
        limits: what the code may use.

    Attributes:
        ready: the worker's first answer: what it calls things, or why it cannot be used.
    """

    def __init__(
        self, path: Path, class_name: str, adapter: str = "", limits: Limits | None = None
    ) -> None:
        self.limits = limits or Limits()
        self._first = {
            "path": str(path.resolve()),
            "class": class_name,
            "adapter": str(Path(adapter).resolve()) if adapter else "",
            "memory": self.limits.memory,
            "processor": self.limits.processor,
        }
        self._process: subprocess.Popen[bytes] | None = None
        self._rest = b""
        self.ready = self._start()

    def __enter__(self) -> Runner:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def close(self) -> None:
        """End the process."""
        process, self._process = self._process, None
        if process is not None:
            process.kill()
            process.wait()
            for pipe in (process.stdin, process.stdout):
                if pipe is not None:
                    with suppress(OSError):
                        pipe.close()

    def ask(self, case: Case) -> dict[str, Any]:
        """Run one case.

        Returns:
            The worker's answer; its ``status`` is ``hang`` or ``crash`` if there was none.
        """
        if self._process is None:
            again = self._start()
            if again["status"] != "ready":
                return {"status": "crash", "message": again.get("message", "")}
        return self._exchange(
            {
                "program": case.program,
                "points": [dict(point) for point in case.points],
                "watch": list(case.watch),
                "seconds": self.limits.seconds * (3 if case.section == "training" else 1),
            }
        )

    def ask_all(self, cases: Iterable[Case]) -> dict[str, dict[str, Any]]:
        """Run cases one after the other; the answers by the cases' names."""
        return {case.name: self.ask(case) for case in cases}

    def _start(self) -> dict[str, Any]:
        folder = str(Path(__file__).parents[2])
        paths = [folder, *filter(None, [os.environ.get("PYTHONPATH")])]
        self._rest = b""
        self._process = subprocess.Popen(
            [sys.executable, "-m", "chainrule.conformance.worker"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env={
                **os.environ,
                "PYTHONPATH": os.pathsep.join(paths),
                "PYTHONHASHSEED": "0",
                "PYTHONDONTWRITEBYTECODE": "1",
                "MPLBACKEND": "Agg",
            },
        )
        return self._exchange(self._first)

    def _exchange(self, message: dict[str, Any]) -> dict[str, Any]:
        process = self._process
        assert process is not None
        assert process.stdin is not None
        try:
            process.stdin.write(json.dumps(message).encode() + b"\n")
            process.stdin.flush()
        except OSError:  # it ended between two cases
            return self._ended()
        line = self._line(process)
        if line is None:
            self.close()
            return {"status": "hang"}
        try:
            answer = json.loads(line)
        except ValueError:
            return self._ended()
        return answer if isinstance(answer, dict) and "status" in answer else self._ended()

    def _ended(self) -> dict[str, Any]:
        """The process has ended without an answer: by itself, or by a limit."""
        process = self._process
        status: int | None = None
        if process is not None:
            with suppress(subprocess.TimeoutExpired):
                status = process.wait(timeout=1)
        self.close()
        if status is not None and status < 0:
            return {"status": "crash", "message": f"the process was ended by signal {-status}"}
        return {"status": "crash", "message": f"the process ended with status {status}"}

    def _line(self, process: subprocess.Popen[bytes]) -> bytes | None:
        """The next line of the worker; None if it takes too long."""
        assert process.stdout is not None
        end = time.monotonic() + self.limits.wall
        chunks = self._rest
        with selectors.DefaultSelector() as selector:
            selector.register(process.stdout, selectors.EVENT_READ)
            while b"\n" not in chunks:
                left = end - time.monotonic()
                if left <= 0 or len(chunks) > HUGE_ANSWER:
                    return None
                if selector.select(left):
                    new = os.read(process.stdout.fileno(), 65536)
                    if not new:
                        return b""
                    chunks += new
        line, _, self._rest = chunks.partition(b"\n")
        return line
