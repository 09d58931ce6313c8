"""`compile`: scalar code in, a matrix program out."""

from __future__ import annotations

import math
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from operator import attrgetter
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from chainrule.compiler.engines import ENGINES, Run, fitted
from chainrule.compiler.lower import lower
from chainrule.compiler.program import Program
from chainrule.compiler.trace import PERTURBED, Trace, Tracer, kept_too_long, record
from chainrule.errors import CompileMismatch, NotANumberError, OptionError, ShapeError, describe
from chainrule.operation import Operand, as_float
from chainrule.options import function
from chainrule.structure import Structure, flatten
from chainrule.transforms import pull_back
from chainrule.value import Value

__all__ = ["Compiled", "Report", "compile"]

Array = npt.NDArray[np.float64]

_REMEMBERED: Final = 8  # programs kept per function, one for each structure of arguments
_data: Final = attrgetter("_data")  # a property call per parameter and step would be felt


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
        engine: ``"numpy"``, ``"numba"`` (needs the extra ``fast``), ``"arrays"`` (NumPy
            without source: what a program of thousands of statements gets anyway) or
            ``"python"`` (slow, the definition that the others are tested against).
        dtype: ``"float64"`` or ``"float32"``, the numbers computed with; Numba computes with
            float64 in between, and rounds results.

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
        note: why the engine is not the one asked for, else "".
    """

    scalar_nodes: int
    statements: int
    parameters: int
    engine: str
    seconds: float
    bytes_per_example: int
    note: str = ""

    def __str__(self) -> str:
        return (
            f"{self.scalar_nodes:,} scalar nodes became {self.statements:,} statements "
            f"({self.parameters:,} parameters), compiled for {self.engine} in "
            f"{1000 * self.seconds:.1f} ms; {self.bytes_per_example:,} bytes per example"
            + (f". {self.note}" if self.note else "")
        )


@dataclass(slots=True)
class _Entry:
    """A program for one structure of arguments, ready to run."""

    trace: Trace
    program: Program
    source: str
    run: Run
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

    Example:
        >>> f = compile(lambda x: x[0] * x[1])
        >>> f([2.0, 3.0])
        6.0
        >>> f.report.statements
        1
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
        self._lock = threading.RLock()

    # --- calling ---------------------------------------------------------------------------

    def __call__(self, *arguments: Any) -> Any:
        if self._batched:
            return self.value_and_grad(*arguments)
        return self.value(*arguments)

    def value(self, *arguments: Any) -> Any:
        """The result alone: of one example, or the mean or sum over the batch.

        A function of several results is not reduced: of a batch there is an array of
        shape (examples, results).
        """
        entry, inputs, rows = self._prepared(arguments)
        found = entry.run(self._theta(entry), inputs, rows, None)[0]
        if not self._batched:
            return entry.program.structure.fill(found[0].tolist())
        if found.shape[1] != 1:
            return np.array(found, dtype=self._dtype)  # it may be a view of an argument
        return self._reduced(found)

    def value_and_grad(self, *arguments: Any) -> tuple[float, Any]:
        """The result and its gradient: by the parameters, or by the first argument.

        Returns:
            ``(value, gradient)``.  The gradient is an array with one number per parameter;
            without parameters it is like the first argument: a float for a number, an
            array in the shape of an array or a list, a dict for a dict.

        Raises:
            ShapeError: the function returns more than one number, or the arguments do
                not fit together.
        """
        if not self._batched and not arguments:
            raise ShapeError(
                "there is nothing to differentiate by: without parameters= the gradient is by "
                "the first argument, and none was given"
            )
        entry, inputs, rows = self._prepared(arguments)
        if len(entry.program.outputs) != 1:
            raise ShapeError(
                f"a gradient needs a function that returns one number; this one returns "
                f"{len(entry.program.outputs)}. Use .value(...), or sum the outputs."
            )
        weight = 1.0 / rows if self._reduction == "mean" else 1.0
        seed = np.full((rows, 1), weight, dtype=self._dtype)
        found, gradient = entry.run(self._theta(entry), inputs, rows, seed)
        if self._batched:
            return self._reduced(found), gradient
        return self._reduced(found), _like(arguments[0], gradient[0])

    def _reduced(self, found: Array) -> float:
        return float(found.mean() if self._reduction == "mean" else found.sum())

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
        read = self._examples if self._batched else self._example
        structures, inputs = read(arguments)
        entry = self._compiled(structures)
        self._last = entry
        if not entry.checked:
            self._check(entry, arguments, inputs)
        return entry, inputs, len(inputs[0]) if inputs else 1

    def _example(self, arguments: tuple[Any, ...]) -> tuple[list[Structure], list[Array]]:
        structures, inputs = [], []
        for i, argument in enumerate(arguments):
            leaves, structure = flatten(argument, f"argument {i}")
            for x in leaves:
                if isinstance(x, Operand):
                    raise NotANumberError(_no_operand(f"argument {i}", x))
            structures.append(structure)
            inputs.append(np.array([leaves], dtype=self._dtype))
        return structures, inputs

    def _examples(self, arguments: tuple[Any, ...]) -> tuple[list[Structure], list[Array]]:
        structures: list[Structure] = []
        inputs: list[Array] = []
        for i, argument in enumerate(arguments):
            array = _array(argument, f"argument {i}", self._dtype)
            if array.ndim == 0:
                raise ShapeError(
                    f"argument {i} needs a leading batch axis, because parameters= was given; "
                    f"got the single number {argument!r}. Write [{argument!r}] for one example."
                )
            rows = len(array)
            if inputs and rows != len(inputs[0]):
                raise ShapeError(
                    f"argument 0 has {len(inputs[0])} examples and argument {i} has {rows}; "
                    "each argument needs one row per example"
                )
            if rows == 0:
                raise ShapeError(
                    f"argument {i} is an empty batch: there is no example to compute with"
                )
            structures.append(_nested(array.shape[1:]))
            inputs.append(array.reshape(rows, math.prod(array.shape[1:])))
        return structures, inputs

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
        function(
            "a compiled function is called with the arguments of the function itself",
            self._f,
            len(structures),
            ShapeError,
        )
        start = time.perf_counter()
        wanted = None if self._batched or not structures else 0
        trace = record(self._f, structures, self._parameters)
        program = lower(trace, structures, len(self._parameters), wanted)
        ready = fitted(self._engine, program, wanted, self._dtype)
        seconds = time.perf_counter() - start
        size = sum([s.target.size for s in program.statements if s.target.batched])
        report = Report(
            scalar_nodes=program.scalar_nodes,
            statements=len(program.statements),
            parameters=program.parameters.size,
            engine=ready.engine,
            seconds=seconds,
            bytes_per_example=size * self._dtype.itemsize,
            note=ready.note,
        )
        return _Entry(trace, program, ready.source, ready.run, report)

    def _theta(self, entry: _Entry) -> Array:
        parameters = entry.trace.parameters
        with PERTURBED:
            return np.fromiter(map(_data, parameters), self._dtype, len(parameters))

    # --- checking --------------------------------------------------------------------------

    def _check(self, entry: _Entry, arguments: tuple[Any, ...], inputs: list[Array]) -> None:
        """Hold the program to the function itself, on the first example."""
        first = [x[:1] for x in inputs]
        asked = self._parameters
        if self._batched:
            example = [
                _nested(np.shape(a)[1:]).fill(x[0].tolist())
                for a, x in zip(arguments, first, strict=True)
            ]
        else:
            example = list(arguments)
            if example:
                leaves, structure = flatten(example[0], "argument 0")
                asked = [Value(x) for x in leaves]
                example[0] = structure.fill(asked)
        with PERTURBED:  # no other thread is tracing: the parameters have their own numbers
            outputs, _ = flatten(self._f(*example), "the function's result")
            if any(isinstance(y, Tracer) for y in outputs):
                raise kept_too_long("returned")
            single = len(outputs) == 1
            seed = np.ones((1, 1), dtype=self._dtype) if single else None
            found, gradient = entry.run(self._theta(entry), first, 1, seed)
            expected = [float(y) for y in outputs]
            slopes = pull_back(outputs, [1.0], asked, graph=False) if single else []
        _agree("result", found[0], expected, self._dtype)
        if single:
            _agree("gradient", np.ravel(gradient), slopes, self._dtype)
        entry.checked = True


def _agree(what: str, found: Any, expected: Sequence[float], dtype: Any) -> None:
    a, b = np.asarray(found, dtype=float), np.asarray(expected, dtype=float)
    if not np.isfinite(b).all():
        return
    tolerance = 1e-8 if dtype == np.float64 else 1e-2
    scale = max(1.0, float(np.abs(b).max(initial=0.0)))  # norms of huge numbers overflow
    gap = np.linalg.norm(a / scale - b / scale)
    if not gap <= tolerance * (1.0 / scale + np.linalg.norm(b / scale)):
        worst = int(np.argmax(np.abs(a - b)))
        raise CompileMismatch(
            f"on the first example the program's {what} differs from that of the function itself: "
            f"{float(a[worst])!r} instead of {float(b[worst])!r}. Something in the "
            "function depends on more than its inputs and the parameters: a counter, a cache?"
        )


def _checked(parameters: Iterable[Value]) -> list[Value]:
    try:
        found = list(parameters)
    except TypeError:
        given: Any = parameters
        one = isinstance(given, Value)
        advice = "parameters=net.parameters() for a network" if not one else "parameters=[w]"
        raise OptionError(
            f"parameters must be a list of Values; got {describe(given)}. Write {advice}."
        ) from None
    places: dict[int, int] = {}
    for i, p in enumerate(found):
        if not isinstance(p, Value):
            raise NotANumberError(f"parameters must be Values; parameter {i} is {describe(p)}")
        if not p.is_leaf:
            raise OptionError(
                f"a parameter must be a leaf; parameter {i}, {p!r}, was computed from other "
                "values. Give those, or p.detach()."
            )
        if places.setdefault(id(p), i) != i:
            raise OptionError(
                f"parameters {places[id(p)]} and {i} are the same Value, {p!r}; give it once"
            )
    return found


def _no_operand(what: str, x: Operand) -> str:
    return (
        f"{what} must be plain numbers; got {describe(x)}. Numbers that are the same for all "
        "examples go into parameters=; the number in a Value is its .data"
    )


def _array(argument: Any, what: str, dtype: Any) -> Array:
    """A batch as an array of real numbers."""
    if isinstance(argument, Operand):
        raise NotANumberError(_no_operand(what, argument))
    try:
        array = np.asarray(argument)
    except ValueError:
        raise ShapeError(
            f"{what} must have examples of one shape; got {describe(argument)}, whose rows differ"
        ) from None
    if array.dtype.kind not in "biuf":
        for x in array.ravel().tolist():
            if isinstance(x, Operand):
                raise NotANumberError(_no_operand(what, x))
            if as_float(x) is None:
                raise NotANumberError(
                    f"{what} must hold real numbers; it holds {describe(x)}. Convert it first: "
                    "text with float(...), a missing number to something that the function knows."
                )
    with np.errstate(over="ignore"):  # beyond the largest float32 is inf
        return array.astype(dtype, copy=False)


def _like(argument: Any, gradient: Array) -> Any:
    """A gradient in the shape of what it is by."""
    if as_float(argument) is not None:
        return float(gradient[0])
    leaves, structure = flatten(argument, "argument 0")
    if isinstance(argument, np.ndarray) or not leaves:
        return gradient.reshape(np.shape(argument))
    try:
        shape = np.shape(argument)
    except ValueError:  # rows of different lengths
        shape = ()
    regular = isinstance(argument, (list, tuple)) and math.prod(shape) == len(leaves)
    return gradient.reshape(shape) if regular else structure.fill(gradient.tolist())


def _nested(shape: tuple[int, ...]) -> Structure:
    """The structure of an example: nested lists of the given lengths."""

    def nest(dims: tuple[int, ...]) -> Any:
        return 0.0 if not dims else [nest(dims[1:]) for _ in range(dims[0])]

    return flatten(nest(shape), "an example")[1]
