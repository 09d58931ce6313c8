"""Many rows through a network at once, by the program that the compiler finds in it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, Final

import numpy as np

from chainrule.compiler.engines import numpy_functions
from chainrule.compiler.lower import lower
from chainrule.compiler.trace import PERTURBED, record
from chainrule.errors import CompileMismatch
from chainrule.modes import no_grad
from chainrule.nn.engines import plain
from chainrule.structure import flatten

__all__ = ["outputs"]

ROWS_AT_ONCE: Final = 4096
"""So that the memory needed does not grow with the number of rows."""


def outputs(net: Any, rows: Sequence[list[float]], pure: bool = False) -> list[Any]:
    """What a network gives for each row, without graphs.

    The numbers are those of ``net(row)`` up to rounding, since sums are added up in another
    order.

    Args:
        net: a function of one row, such as a `Network`.
        rows: lists of floats, all of the same length; at least one.
        pure: whether the network is known to do the same in every call; see
            `chainrule.compiler.trace.record`.

    Returns:
        For each row a float, or a list of floats.

    Raises:
        TraceError: the network asks for a number that is not known yet.
        CompileMismatch: it does not do the same in every call.

    Example:
        >>> outputs(lambda row: row[0] * 2.0 + row[1], [[1.0, 2.0], [3.0, 4.0]])
        [4.0, 10.0]
    """

    def example(row: Any) -> Any:
        found = net(row)
        return list(found) if isinstance(found, (list, tuple)) else [found]

    with no_grad():
        expected = plain(net(rows[0]))
    arguments = [flatten(rows[0], "a row")[1]]
    trace = record(example, arguments, [], pure)
    forward = numpy_functions(lower(trace, arguments, 0, None), None, np.float64)[0]["forward"]
    with PERTURBED:  # no other thread is tracing: the parameters have their own numbers
        theta = np.array([p.data for p in trace.parameters], dtype=np.float64)
    found: list[list[float]] = []
    with np.errstate(all="ignore"):  # inf and nan are results like others
        for start in range(0, len(rows), ROWS_AT_ONCE):
            some = np.array(rows[start : start + ROWS_AT_ONCE], dtype=np.float64)
            found += forward(theta, some, len(some)).tolist()
    many = isinstance(expected, list)
    _agree(found[0], expected if many else [expected])
    return found if many else [row[0] for row in found]


def _agree(found: list[float], expected: list[float]) -> None:
    for i, (a, b) in enumerate(zip(found, expected, strict=True)):
        if math.isfinite(b) and not math.isclose(a, b, rel_tol=1e-9, abs_tol=1e-9):
            raise CompileMismatch(
                f"on the first row the compiled output {i} is {a!r}, but the network gives {b!r}. "
                "Something in it depends on more than the row and the parameters. Call it row by "
                "row: [net(row) for row in rows]."
            )
