"""Which engine carries a training out: the one asked for, or the quickest by estimate."""

from __future__ import annotations

import importlib.util
import sys
from typing import Any, Final

from chainrule.engine import in_use
from chainrule.errors import ChainruleError, OptionError
from chainrule.modes import MODES, counting
from chainrule.nn.engines import EagerEngine, Engine, Plan

__all__ = ["ENGINES", "chosen_engine"]

ENGINES: Final = ("eager", "numpy", "numba")
"""The engines that ``fit`` knows by name; ``"auto"`` chooses one of them."""

# Seconds, measured on one core of a small server; they need not be exact, since what is
# near a border is about as quick on either side of it.
EAGER_NODE: Final = 0.7e-6 if in_use().name == "python" else 0.3e-6
# (A scalar operation, forward, backward and freed again.)
TRACE_NODE: Final = 15e-6  # a scalar operation traced, lowered and written
TRACE: Final = 0.01
NUMPY_IMPORT: Final = 0.15  # NumPy and the compiler
NUMPY_BATCH: Final = 20e-6  # a batch, apart from its statements
NUMPY_STATEMENT: Final = 9e-6  # a statement with its derivative, apart from its numbers
NUMPY_NODE: Final = 3e-9  # a scalar operation with its derivative
NUMBA_IMPORT: Final = 0.5
NUMBA_COMPILE: Final = 1.2  # machine code for a small network
NUMBA_STATEMENT: Final = 0.1  # and for each statement more
NUMBA_CACHED: Final = 0.3  # machine code read back from the disk
NUMBA_NODE: Final = 4e-9


def chosen_engine(name: str, plan: Plan, epochs: int) -> tuple[Engine, str]:
    """The engine for a training, and the reason where it was chosen here.

    Args:
        name: one of `ENGINES`, or ``"auto"``.
        plan: what is to be carried out.
        epochs: how many epochs it will take.

    Raises:
        TraceError: an engine that compiles was asked for, and the network or the loss
            cannot be compiled.
        MissingExtraError: ``"numba"`` was asked for, and Numba is not installed.
        OptionError: an engine that compiles was asked for within ``strict()``.
    """
    if name == "eager":
        return EagerEngine(plan), "asked for"
    if MODES.used and MODES.here.watch is not None:
        if name == "auto":
            return EagerEngine(plan), "strict() watches eager operations only"
        raise OptionError(
            f"engine={name!r} does not go together with strict(), which watches each operation "
            "as it is carried out; a compiled program has none to show. Use engine='eager'."
        )
    if name == "numpy":
        from chainrule.nn.compiled import NumpyEngine

        return NumpyEngine(plan), "asked for"
    if name == "numba":
        return _native(plan)
    return _quickest(plan, epochs)


def _native(plan: Plan) -> tuple[Engine, str]:
    """Numba's engine, unless it would not be done compiling for minutes."""
    from chainrule.compiler.engines import LONGEST
    from chainrule.nn.compiled import NumbaEngine, NumpyEngine, prepare

    prepared = prepare(plan)
    statements = len(prepared.program.statements)
    if statements <= LONGEST["numba"]:
        return NumbaEngine(plan, prepared), "asked for"
    return NumpyEngine(plan, prepared), (
        f"numba was asked for, but would be compiling {statements:,} statements for minutes"
    )


def _quickest(plan: Plan, epochs: int) -> tuple[Engine, str]:
    rows = len(plan.rows)
    nodes = _nodes(plan)
    eager = EAGER_NODE * nodes * rows * epochs
    compiling = TRACE + TRACE_NODE * nodes
    if "numpy" not in sys.modules:
        compiling += NUMPY_IMPORT
    if eager < compiling + 0.05:
        return EagerEngine(plan), f"about {eager:.2g} s of work; compiling would take longer"
    if importlib.util.find_spec("numpy") is None:
        return EagerEngine(plan), "NumPy is not installed"
    from chainrule.compiler import backend_numba, native
    from chainrule.compiler.engines import LONGEST
    from chainrule.nn.compiled import NumbaEngine, NumpyEngine, prepare

    try:
        prepared = prepare(plan)
        batches = epochs * -(-rows // plan.batch_size)
        statements = len(prepared.program.statements)
        work = prepared.program.scalar_nodes * rows * epochs
        costs = {
            "eager": EAGER_NODE * work,
            "numpy": (NUMPY_BATCH + NUMPY_STATEMENT * statements) * batches + NUMPY_NODE * work,
        }
        if native.numba_installed() and statements <= LONGEST["numba"]:
            warm = 0.0 if "numba" in sys.modules else NUMBA_IMPORT
            text = backend_numba.emit_training(prepared.program, prepared.update, plan.reduction)
            if native.is_cached(text):
                warm += NUMBA_CACHED
            else:
                warm += NUMBA_COMPILE + NUMBA_STATEMENT * statements
            costs["numba"] = warm + NUMBA_NODE * work
        best = min(costs, key=costs.__getitem__)
        listed = ", ".join([f"{name} {cost:.2g} s" for name, cost in costs.items()])
        why = f"by estimate: {listed}"
        if best == "numba":
            return NumbaEngine(plan, prepared), why
        if best == "numpy":
            return NumpyEngine(plan, prepared), why
        return EagerEngine(plan), why
    except ChainruleError as error:
        first = str(error).split(". ")[0]
        return EagerEngine(plan), f"it cannot be compiled: {first}"


def _nodes(plan: Plan) -> int:
    """Scalar operations of one row: an eager graph's, counted by building it once."""
    with counting() as count:
        output: Any = plan.forward(plan.rows[0])
        plan.loss.function(output, plan.targets[0])
        return count()
