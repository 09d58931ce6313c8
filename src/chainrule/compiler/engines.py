"""Engines: what carries a program out, on a whole batch, for `compile`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from chainrule.compiler import backend_arrays, backend_numba, native
from chainrule.compiler.backend_numpy import Source, emit
from chainrule.compiler.backend_python import run_example
from chainrule.compiler.program import Program

__all__ = ["ENGINES", "LONGEST", "Fitted", "Run", "fitted", "numpy_functions"]

Array = npt.NDArray[Any]

Run = Callable[[Array, Sequence[Array], int, Array | None], tuple[Array, Any]]
"""``(theta, inputs, rows, seed) -> (outputs, gradient)``.

Inputs are of shape (rows, size), outputs (rows, outputs).  ``seed`` weighs the rows, of
shape (rows, 1); without it there is no gradient.  The gradient is by the requested
parameters, summed over the rows, or by one argument, of shape (rows, size).
"""


LONGEST: Final = {"numba": 250, "numpy": 5_000}
"""Statements up to which an engine is taken: Numba compiles about five of them per second,
and of more source than this Python makes heavy weather."""


@dataclass(frozen=True, slots=True)
class Fitted:
    """A program, ready to run.

    Attributes:
        run: what runs it.
        source: the program as NumPy source.
        engine: the engine taken.
        note: why it is not the one asked for, else "".
    """

    run: Run
    source: str
    engine: str
    note: str


def fitted(engine: str, program: Program, wanted: int | None, dtype: Any) -> Fitted:
    """Make a program ready to run, on a simpler engine if it is too long for the one asked for."""
    notes = []
    statements = len(program.statements)
    if engine == "numba" and statements > LONGEST["numba"]:
        notes.append(
            f"{statements:,} statements would keep Numba compiling for minutes, which is done "
            f"for up to {LONGEST['numba']:,}"
        )
        engine = "numpy"
    if engine == "numpy":
        functions, text, note = numpy_functions(program, wanted, dtype)
        if note:
            engine = "arrays"
            notes.append(note)
        return Fitted(_running(functions), text, engine, "; ".join(notes))
    source = emit(program, wanted)
    run = ENGINES[engine](program, source, wanted, dtype)
    return Fitted(run, source.text, engine, "")


def numpy_functions(
    program: Program, wanted: int | None, dtype: Any
) -> tuple[dict[str, Callable[..., Any]], str, str]:
    """``forward`` and ``forward_backward``, from source or, if it is too long, without.

    Returns:
        The functions, the source, and why there is none, else "".
    """
    statements = len(program.statements)
    if statements <= LONGEST["numpy"]:
        source = emit(program, wanted)
        try:
            return source.load(dtype), source.text, ""
        except RecursionError:  # thousands of terms in one sum, which Python nests
            pass
    note = (
        f"{statements:,} statements are too much source for Python, and are carried out one by "
        "one on arrays"
    )
    return backend_arrays.functions(program, wanted, dtype), f"# {note}\n", note


def _numpy(program: Program, source: Source, wanted: int | None, dtype: Any) -> Run:
    return _running(source.load(dtype))


def _arrays(program: Program, source: Source, wanted: int | None, dtype: Any) -> Run:
    return _running(backend_arrays.functions(program, wanted, dtype))


def _running(functions: dict[str, Callable[..., Any]]) -> Run:
    forward, forward_backward = functions["forward"], functions["forward_backward"]

    def run(
        theta: Array, inputs: Sequence[Array], rows: int, seed: Array | None
    ) -> tuple[Array, Any]:
        with np.errstate(all="ignore"):  # inf and nan are results like others
            if seed is None:
                return forward(theta, *inputs, rows), None
            outputs, gradient = forward_backward(theta, *inputs, seed, rows)
            return outputs, gradient

    return run


def _numba(program: Program, source: Source, wanted: int | None, dtype: Any) -> Run:
    evaluate = native.load(backend_numba.emit_evaluation(program, wanted)).evaluate

    def run(
        theta: Array, inputs: Sequence[Array], rows: int, seed: Array | None
    ) -> tuple[Array, Any]:
        outputs = np.empty((rows, len(program.outputs)), dtype)
        shape = theta.shape if wanted is None else (rows, program.inputs[wanted].size)
        gradient = np.zeros(shape, dtype)
        seeds = np.zeros(rows, dtype) if seed is None else seed[:, 0]
        try:
            evaluate(theta, *inputs, seeds, outputs, gradient, seed is not None)
        except IndexError:  # an index out of range: the definition says which
            _python(program, source, wanted, dtype)(theta, inputs, rows, None)
            raise
        return outputs, gradient[: program.requested] if wanted is None else gradient

    return run


def _python(program: Program, source: Source, wanted: int | None, dtype: Any) -> Run:
    group = program.parameters if wanted is None else program.inputs[wanted]

    def run(
        theta: Array, inputs: Sequence[Array], rows: int, seed: Array | None
    ) -> tuple[Array, Any]:
        outputs = []
        gradients = []
        for row in range(rows):
            example = [x[row].tolist() for x in inputs]
            seeds = None if seed is None else seed[row].tolist()
            found, adjoints = run_example(program, theta.tolist(), example, seeds)
            outputs.append(found)
            gradients.append(adjoints.get(group, ()))
        gradient = np.array(gradients, dtype)
        if wanted is None:
            gradient = gradient.sum(axis=0)[: program.requested]
        return np.array(outputs, dtype), gradient

    return run


ENGINES: Final[dict[str, Callable[[Program, Source, int | None, Any], Run]]] = {
    "numpy": _numpy,
    "arrays": _arrays,
    "numba": _numba,
    "python": _python,
}
