"""Engines: what carries a program out, on a whole batch, for `compile`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from chainrule.compiler import backend_numba, native
from chainrule.compiler.backend_numpy import Source
from chainrule.compiler.backend_python import run_example
from chainrule.compiler.program import Program

__all__ = ["ENGINES", "Run"]

Array = npt.NDArray[Any]

Run = Callable[[Array, Sequence[Array], int, Array | None], tuple[Array, Any]]
"""``(theta, inputs, rows, seed) -> (outputs, gradient)``.

Inputs are of shape (rows, size), outputs (rows, outputs).  ``seed`` weighs the rows, of
shape (rows, 1); without it there is no gradient.  The gradient is by the requested
parameters, summed over the rows, or by one argument, of shape (rows, size).
"""


def _numpy(program: Program, source: Source, wanted: int | None, dtype: Any) -> Run:
    functions = source.load(dtype)
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
        evaluate(theta, *inputs, seeds, outputs, gradient, seed is not None)
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
    "numba": _numba,
    "python": _python,
}
