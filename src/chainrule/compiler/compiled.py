"""`compile`: scalar code in, a matrix program out."""

from __future__ import annotations

import math
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from chainrule.compiler import backend_numpy
from chainrule.compiler.backend_python import run_example
from chainrule.compiler.lower import lower
from chainrule.compiler.program import Program
from chainrule.compiler.trace import Trace, record
from chainrule.errors import CompileMismatch, NotANumberError, OptionError, ShapeError, describe
from chainrule.operation import Operand
from chainrule.structure import Structure, flatten
from chainrule.transforms import pull_back
from chainrule.value import Value

__all__ = ["Compiled", "Report", "compile"]

Array = npt.NDArray[np.float64]

ENGINES: Final = ("numpy", "numba", "python")
_REMEMBERED: Final = 8  # programs kept per function, one for each structure of arguments


def compile(
    f: Callable[..., Any],
    *,
    parameters: Iterable[Value] | None = None,
    reduction: str = "mean",
    engine: str = "numpy",
    dtype: str = "float64",
) -> Compiled:
    """Find the matrix program in scalar code, differentiate it, and run it at native speed.

    The function is traced at the first call (and again when the shape of an argument
    changes), not before.

    Args:
        f: a function of one example, in plain scalar code, that returns one number (or,
            for values without gradients, several).  An argument is a number or a list of
            numbers.
        parameters: the `Value`s to differentiate by.  If they are given, even as an empty
            list, every argument of a call has a leading batch axis.  Without them a call
            is one example, and the gradient is by the first argument.
        reduction: how the examples' results are joined: ``"mean"`` or ``"sum"``.
        engine: ``"numpy"``, ``"numba"`` (needs the extra ``fast``) or ``"python"`` (slow,
            the definition that the others are tested against).
        dtype: ``"float64"`` or ``"float32"``, the numbers computed with.

    Returns:
        The compiled function; see `Compiled`.

    Raises:
        OptionError: an unknown engine, reduction or dtype.
        TraceError: when called, if ``f`` asks for a number that is not known yet, as
            ``if x > 0`` does; the message names the line and the remedy.
        CompileMismatch: when called, if ``f`` does not do the same in every call.

    Example:
        >>> w = Value(2.0)
        >>> step = compile(lambda x, y: (w * x - y) ** 2, parameters=[w])
        >>> value, gradients = step([1.0, 2.0, 3.0], [2.0, 4.0, 7.0])
        >>> round(value, 6), gradients.round(6)
        (0.333333, array([-2.]))
        >>> rosenbrock = compile(lambda x: (1 - x[0]) ** 2 + 100 * (x[1] - x[0] ** 2) ** 2)
        >>> rosenbrock.value_and_grad(np.array([1.0, 2.0]))
        (100.0, array([-400.,  200.]))
    """
    if not callable(f):
        raise OptionError(f"compile needs a function of one example; got {describe(f)}")
    for name, given, known in (
        ("reduction", reduction, ("mean", "sum")),
        ("engine", engine, ENGINES),
        ("dtype", dtype, ("float64", "float32")),
    ):
        if given not in known:
            raise OptionError(
                f"{name} must be one of {', '.join(map(repr, known))}; got {describe(given)}"
            )
    return Compiled(f, parameters, reduction, engine, dtype)


@dataclass(frozen=True)
class Report:
    """What the compiler found.

    Attributes:
        scalar_nodes: scalar operations of one example.
        statements: vector statements that they became.
        parameters: numbers that the function depends on and that are the same for all.
        engine: what runs the program.
        seconds: how long tracing, finding and writing the program took.
        bytes_per_example: memory for the intermediate results of one example.
    """

    scalar_nodes: int
    statements: int
    parameters: int
    engine: str
    seconds: float
    bytes_per_example: int

    def __str__(self) -> str:
        return (
            f"{self.scalar_nodes:,} scalar nodes became {self.statements:,} statements "
            f"({self.parameters:,} parameters), compiled for {self.engine} in "
            f"{1000 * self.seconds:.1f} ms; {self.bytes_per_example:,} bytes per example"
        )


@dataclass(slots=True)
class _Entry:
    """A program for one structure of arguments, ready to run."""

    trace: Trace
    program: Program
    source: str
    forward: Callable[..., Any]
    forward_backward: Callable[..., Any]
    report: Report
    checked: bool = False


class Compiled:
    """A compiled function.

    With parameters, ``step(X, Y)`` takes a batch and returns ``(value, gradients)``:
    the mean or sum of the examples' results, and an array with its derivative by each
    parameter, in their order.  Without, ``f(x)`` takes one example and returns its
    result.

    Attributes:
        source: the program, after the first call.
        report: what was found, after the first call.
        program: the same as data: its statements.
    """

    def __init__(
        self,
        f: Callable[..., Any],
        parameters: Iterable[Value] | None,
        reduction: str,
        engine: str,
        dtype: str,
    ) -> None:
        self._f = f
        self._batched = parameters is not None
        self._parameters = [] if parameters is None else _checked(parameters)
        self._reduction = reduction
        self._engine = engine
        self._dtype = np.dtype(dtype)
        self._entries: OrderedDict[Any, _Entry] = OrderedDict()
        self._last: _Entry | None = None
        self._lock = threading.RLock()  # tracing perturbs parameters for a moment

    # --- calling ---------------------------------------------------------------------------

    def __call__(self, *arguments: Any) -> Any:
        if self._batched:
            return self.value_and_grad(*arguments)
        return self.value(*arguments)

    def value(self, *arguments: Any) -> Any:
        """The result alone: the mean or sum over the batch, or that of one example."""
        entry, inputs, rows = self._prepared(arguments)
        found = self._run(entry, inputs, rows, None)[0]
        if not self._batched:
            return _single(found[0], entry)
        if found.shape[1] != 1:
            return found
        return float(found.mean() if self._reduction == "mean" else found.sum())

    def value_and_grad(self, *arguments: Any) -> tuple[float, Array]:
        """The result and its gradient: by the parameters, or by the first argument.

        Returns:
            ``(value, gradient)``, the gradient as an array: one number per parameter, or
            in the shape of the first argument.

        Raises:
            ShapeError: the function returns more than one number, or the arguments do
                not fit together.
        """
        entry, inputs, rows = self._prepared(arguments)
        if len(entry.program.outputs) != 1:
            raise ShapeError(
                f"a gradient needs a function that returns one number; this one returns "
                f"{len(entry.program.outputs)}. Use .value(...), or sum the outputs."
            )
        weight = 1.0 / rows if self._reduction == "mean" else 1.0
        seed = np.full((rows, 1), weight, dtype=self._dtype)
        found, gradient = self._run(entry, inputs, rows, seed)
        value = float(found.mean() if self._reduction == "mean" else found.sum())
        if self._batched:
            return value, gradient
        return value, gradient[0].reshape(np.shape(arguments[0]))

    @property
    def source(self) -> str:
        """The program that was found, as source."""
        return self._entry().source

    @property
    def report(self) -> Report:
        """What the compiler found, in numbers."""
        return self._entry().report

    @property
    def program(self) -> Program:
        """The statements that were found, as data."""
        return self._entry().program

    def _entry(self) -> _Entry:
        if self._last is None:
            raise OptionError(
                "nothing has been compiled yet: the function is traced at its first call, which "
                "shows the shapes of its arguments. Call it once."
            )
        return self._last

    # --- preparing -------------------------------------------------------------------------

    def _prepared(self, arguments: tuple[Any, ...]) -> tuple[_Entry, list[Array], int]:
        inputs = []
        structures = []
        rows = -1
        for i, argument in enumerate(arguments):
            if self._batched:
                array = _array(argument, f"argument {i}", self._dtype)
                if array.ndim == 0:
                    raise ShapeError(
                        f"argument {i} needs a leading batch axis, because parameters= was given; "
                        f"got the single number {argument!r}. Write [{argument!r}] for one example."
                    )
                if rows not in (-1, len(array)):
                    raise ShapeError(
                        f"argument 0 has {rows} examples and argument {i} has {len(array)}"
                    )
                rows = len(array)
                structures.append(_nested(array.shape[1:]))
                inputs.append(array.reshape(rows, -1))
            else:
                leaves, structure = flatten(argument, f"argument {i}")
                structures.append(structure)
                inputs.append(np.array([leaves], dtype=self._dtype))
                rows = 1
        if rows == 0:
            raise ShapeError("the batch is empty: there is no example to compute the mean of")
        rows = max(rows, 1)
        entry = self._compiled(structures)
        self._last = entry
        if not entry.checked:
            self._check(entry, arguments, inputs)
        return entry, inputs, rows

    def _compiled(self, structures: list[Structure]) -> _Entry:
        key = tuple(structures)
        with self._lock:
            entry = self._entries.get(key)
            if entry is None:
                entry = self._build(structures)
                self._entries[key] = entry
                if len(self._entries) > _REMEMBERED:
                    self._entries.popitem(last=False)
            else:
                self._entries.move_to_end(key)
            return entry

    def _build(self, structures: list[Structure]) -> _Entry:
        start = time.perf_counter()
        wanted = None if self._batched else 0
        trace = record(self._f, structures, self._parameters)
        program = lower(trace, structures, len(self._parameters), wanted)
        source = backend_numpy.emit(program, wanted)
        functions = source.load()
        seconds = time.perf_counter() - start
        size = sum([s.target.size for s in program.statements if s.target.batched])
        report = Report(
            scalar_nodes=program.scalar_nodes,
            statements=len(program.statements),
            parameters=program.parameters.size,
            engine=self._engine,
            seconds=seconds,
            bytes_per_example=size * self._dtype.itemsize,
        )
        return _Entry(
            trace,
            program,
            source.text,
            functions["forward"],
            functions["forward_backward"],
            report,
        )

    def _theta(self, entry: _Entry) -> Array:
        with self._lock:
            return np.array([p.data for p in entry.trace.parameters], dtype=self._dtype)

    # --- running ---------------------------------------------------------------------------

    def _run(
        self, entry: _Entry, inputs: list[Array], rows: int, seed: Array | None
    ) -> tuple[Array, Any]:
        theta = self._theta(entry)
        if self._engine == "python":
            return self._run_python(entry, theta, inputs, rows, seed)
        with np.errstate(all="ignore"):
            if seed is None:
                return entry.forward(theta, *inputs, rows), None
            outputs, gradient = entry.forward_backward(theta, *inputs, seed, rows)
            return outputs, gradient

    def _run_python(
        self, entry: _Entry, theta: Array, inputs: list[Array], rows: int, seed: Array | None
    ) -> tuple[Array, Any]:
        program = entry.program
        wanted = program.parameters if self._batched else program.inputs[0]
        outputs = []
        gradients = []
        for row in range(rows):
            example = [x[row].tolist() for x in inputs]
            seeds = None if seed is None else seed[row].tolist()
            found, adjoints = run_example(program, theta.tolist(), example, seeds)
            outputs.append(found)
            if seed is not None:
                gradients.append(adjoints[wanted])
        gradient = np.array(gradients)
        if self._batched and seed is not None:
            gradient = gradient.sum(axis=0)[: program.requested]
        return np.array(outputs), gradient

    def _check(self, entry: _Entry, arguments: tuple[Any, ...], inputs: list[Array]) -> None:
        """Hold the program to the function itself, on the first example."""
        first = [x[:1] for x in inputs]
        if self._batched:
            example = [
                _nested(np.shape(a)[1:]).fill(x[0].tolist())
                for a, x in zip(arguments, first, strict=True)
            ]
        else:
            example = list(arguments)
        asked = self._parameters
        if not self._batched and example:
            leaves, structure = flatten(example[0], "argument 0")
            asked = [Value(x) for x in leaves]
            example[0] = structure.fill(asked)
        outputs, _ = flatten(self._f(*example), "the function's result")
        single = len(outputs) == 1
        seed = np.ones((1, 1), dtype=self._dtype) if single else None
        found, gradient = self._run(entry, first, 1, seed)
        expected = [float(y) for y in outputs]
        _agree("result", found[0], expected, self._dtype)
        if single:
            slopes = pull_back(outputs, [1.0], asked, graph=False)
            _agree("gradient", np.ravel(gradient), slopes, self._dtype)
        entry.checked = True


def _agree(what: str, found: Any, expected: Sequence[float], dtype: Any) -> None:
    a, b = np.asarray(found, dtype=float), np.asarray(expected, dtype=float)
    if not np.isfinite(b).all():
        return
    tolerance = 1e-8 if dtype == np.float64 else 1e-2
    if not np.linalg.norm(a - b) <= tolerance * (1.0 + np.linalg.norm(b)):
        worst = int(np.argmax(np.abs(a - b)))
        raise CompileMismatch(
            f"on the first example the program's {what} differs from that of the function itself: "
            f"{float(a[worst])!r} instead of {float(b[worst])!r}. Something in the "
            "function depends on more than its inputs and the parameters: a counter, a cache?"
        )


def _single(row: Array, entry: _Entry) -> Any:
    return entry.program.structure.fill([float(x) for x in row])


def _checked(parameters: Iterable[Value]) -> list[Value]:
    found = list(parameters)
    for p in found:
        if not isinstance(p, Value):
            raise NotANumberError(f"parameters must be Values; got {describe(p)}")
        if not p.is_leaf:
            raise OptionError(
                f"a parameter must be a leaf; {p!r} was computed from other values. "
                "Give those, or p.detach()."
            )
    return found


def _array(argument: Any, what: str, dtype: Any) -> Array:
    if isinstance(argument, Operand):
        raise NotANumberError(f"{what} must be plain numbers; got {describe(argument)}")
    try:
        array = np.asarray(argument, dtype=dtype)
    except (TypeError, ValueError) as error:
        raise ShapeError(
            f"{what} must be numbers in rows of one length; got {describe(argument)} ({error})"
        ) from None
    return array


def _nested(shape: tuple[int, ...]) -> Structure:
    """The structure of an example: nested lists of the given lengths."""

    def nest(dims: tuple[int, ...]) -> Any:
        return 0.0 if not dims else [nest(dims[1:]) for _ in range(dims[0])]

    assert math.prod(shape) >= 0
    return flatten(nest(shape), "an example")[1]
