"""The process in which a learner's code runs.

It reads requests from its standard input, one JSON object per line, and answers on what
was its standard output.  Whatever the learner's code prints goes nowhere.
"""

from __future__ import annotations

import importlib.util
import json
import math
import os
import signal
import sys
from pathlib import Path
from types import FrameType, ModuleType, TracebackType
from typing import Any, Final, TextIO

from chainrule.conformance.adapter import AdapterShape, ClassShape, Unusable
from chainrule.conformance.loading import Source, load, read_source
from chainrule.conformance.networks import Wrong, check_network
from chainrule.conformance.program import NotOffered, Shape, execute, read

__all__ = ["main"]

LONGEST_MESSAGE: Final = 300


class _Hang(BaseException):
    """Raised in the learner's code when a case has used up its time."""


def main() -> None:
    """Answer requests until there are no more."""
    requests, answers = _private_pipes()
    first = json.loads(requests.readline())
    _limit(first["memory"], first["processor"])
    source = read_source(first["path"])
    worker: _Worker | None = None
    try:
        worker = _Worker(source, first["class"], first["adapter"])
        ready: dict[str, Any] = {"status": "ready", **worker.facts()}
    except Unusable as error:
        ready = {"status": "unusable", "message": str(error)}
    except BaseException as error:
        ready = _failure(error, source.path)
    _send(answers, ready)
    if worker is None:
        return
    for line in requests:
        _send(answers, worker.answer(json.loads(line)))


def _private_pipes() -> tuple[TextIO, TextIO]:
    """Move the pipes away from where the learner's code would read and print."""
    requests = os.fdopen(os.dup(0), "r", encoding="utf-8")
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    nowhere = os.open(os.devnull, os.O_RDWR)
    for stream in range(3):
        os.dup2(nowhere, stream)
    sys.stdout = open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115
    sys.stderr = sys.stdout
    return requests, answers


def _send(answers: TextIO, message: dict[str, Any]) -> None:
    answers.write(json.dumps(message) + "\n")
    answers.flush()


def _limit(memory: int, processor: int) -> None:
    """Bound memory (bytes), processor time (seconds), and the size of files written."""
    try:
        import resource
    except ImportError:  # Windows: the time limit of the parent process remains
        return
    wanted = (
        (resource.RLIMIT_AS, memory),
        (resource.RLIMIT_CPU, processor),
        (resource.RLIMIT_FSIZE, 1_000_000),
        (resource.RLIMIT_CORE, 0),
    )
    for kind, amount in wanted:
        hard = resource.getrlimit(kind)[1]
        if hard != resource.RLIM_INFINITY:
            amount = min(amount, hard)
        try:
            resource.setrlimit(kind, (amount, amount))
        except (ValueError, OSError):  # macOS refuses some
            continue


def _on_alarm(number: int, frame: FrameType | None) -> None:
    raise _Hang


class _Worker:
    """The learner's engine, loaded."""

    def __init__(self, source: Source, name: str, adapter: str) -> None:
        self.path = source.path
        self.module = load(source)
        self.shape: Shape
        if adapter:
            self.shape = AdapterShape(_adapter(adapter), self.module)
        else:
            cls = getattr(self.module, name, None)
            if not isinstance(cls, type):
                raise Unusable(f"{name} is not defined as a class at the top of the file")
            self.shape = ClassShape(cls, self.module)

    def facts(self) -> dict[str, str]:
        """What the engine calls things."""
        if isinstance(self.shape, ClassShape):
            shape = self.shape
            return {
                "data": shape.data_name,
                "grad": shape.grad_name,
                "backward": shape.backward_name,
                "function": "yes" if shape.backward_function is not None else "",
            }
        return {}

    def answer(self, request: dict[str, Any]) -> dict[str, Any]:
        """Run a case, and give what it reads at each point."""
        rows: list[list[Any]] = []
        recursion = sys.getrecursionlimit()
        try:
            _start_clock(request["seconds"])
            try:
                if not request["program"]:
                    check_network(request["watch"][0], self.module, self.shape)
                    return {"status": "ran", "got": [[]]}
                for inputs in request["points"]:
                    rows.append(self._run(request["program"], inputs, request["watch"]))
            finally:
                _start_clock(0.0)
                sys.setrecursionlimit(recursion)
        except _Hang:
            return {"status": "hang", "point": len(rows)}
        except (NotOffered, NotImplementedError) as error:
            return {"status": "absent", "message": _cut(str(error))}
        except Wrong as error:
            return {"status": "wrong", "message": _cut(str(error))}
        except BaseException as error:
            return {**_failure(error, self.path), "point": len(rows)}
        return {"status": "ran", "got": rows}

    def _run(self, program: str, inputs: dict[str, float], watch: list[str]) -> list[Any]:
        if isinstance(self.shape, AdapterShape):
            self.shape.start()
        names = execute(program, self.shape, inputs)
        return [self._plain(read(expression, self.shape, names)) for expression in watch]

    def _plain(self, x: Any) -> Any:
        """A number as JSON has it; what is none becomes a list with its type's name."""
        if x is None:
            return 0.0
        if isinstance(self.shape, ClassShape) and isinstance(x, self.shape.cls):
            return ["a value"]
        try:
            number = float(x)
        except (TypeError, ValueError):
            return [type(x).__name__[:40]]
        return number if math.isfinite(number) else repr(number)


def _start_clock(seconds: float) -> None:
    """Count processor time, so that a busy machine does not turn a right answer into a hang."""
    if hasattr(signal, "setitimer"):
        signal.signal(signal.SIGVTALRM, _on_alarm)
        signal.setitimer(signal.ITIMER_VIRTUAL, seconds, 0.05 if seconds else 0.0)


def _adapter(path: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location("_adapter", path)
    if spec is None or spec.loader is None:
        raise Unusable(f"the adapter {path} is no Python file")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def _cut(text: str) -> str:
    return " ".join(text.split())[:LONGEST_MESSAGE]


def _failure(error: BaseException, path: Path) -> dict[str, Any]:
    line, function = _origin(error.__traceback__, path)
    if isinstance(error, SyntaxError) and error.lineno:
        line = error.lineno
    try:
        text = str(error)
    except Exception:
        text = ""
    return {
        "status": "error",
        "message": _cut(f"{type(error).__name__}: {text}"),
        "line": line,
        "function": function,
    }


def _origin(trace: TracebackType | None, path: Path) -> tuple[int, str]:
    """The innermost line of the learner's file that an exception passed."""
    line, function = 0, ""
    while trace is not None:
        code = trace.tb_frame.f_code
        if code.co_filename == str(path):
            line, function = trace.tb_lineno, code.co_name
        trace = trace.tb_next
    return line, function


if __name__ == "__main__":
    main()
