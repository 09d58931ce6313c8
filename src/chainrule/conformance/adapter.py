"""How to talk to a class that nobody has seen before.

The family of micrograd goes by many names: the number is called ``data``, ``value`` or
``val``, the gradient ``grad`` or ``derivative``, and the backward pass may be a method or
a function.  `ClassShape` finds out.  Other shapes, such as functions over tapes, are
described by an adapter: a Python file with functions that take the learner's module as
their first argument (see `AdapterShape`).
"""

from __future__ import annotations

import inspect
import operator
from types import ModuleType
from typing import Any, Final

from chainrule.conformance.program import BINARY, NotOffered

__all__ = ["AdapterShape", "ClassShape", "Unusable"]

DATA: Final = ("data", "value", "val", "_data", "_value", "v", "x", "item", "scalar", "num")
GRAD: Final = (
    "grad", "gradient", "derivative", "_grad", "deriv", "grad_value", "adjoint", "adj", "der", "d",
)  # fmt: skip
BACKWARD: Final = (
    "backward", "backprop", "backpropagate", "backpropagation", "back_propagate", "back_prop",
    "backwards", "compute_gradients", "calculate_gradients", "compute_grad", "run_backward",
)  # fmt: skip
FUNCTIONS: Final = {
    "relu": ("relu", "ReLU", "Relu", "reLU", "RELU"),
    "leaky_relu": ("leaky_relu", "leakyrelu", "leakyReLU", "LeakyReLU", "leaky_ReLU"),
    "log": ("log", "ln", "log_"),
    "sigmoid": ("sigmoid", "sigm", "logistic", "Sigmoid", "sig"),
    "tanh": ("tanh", "Tanh"),
    "exp": ("exp", "Exp"),
    "gelu": ("gelu", "GELU", "GeLU"),
    "sqrt": ("sqrt", "square_root"),
    "sin": ("sin", "sine"),
    "cos": ("cos", "cosine"),
}
"""The names that an operation goes by."""

SPECIAL: Final = {
    "+": ("__add__", "__radd__"),
    "-": ("__sub__", "__rsub__"),
    "*": ("__mul__", "__rmul__"),
    "/": ("__truediv__", "__rtruediv__"),
    "**": ("__pow__", "__rpow__"),
    "<": ("__lt__", "__gt__"),
}
"""The methods behind an operator: with the value on its left, and on its right."""

PLAIN: Final = dict(BINARY.values()) | {"<": operator.lt}


class Unusable(Exception):
    """The class cannot be judged at all; the argument says why."""


class ClassShape:
    """A class of the micrograd family.

    Args:
        cls: the class.
        module: where functions may stand that it has no methods for.

    Raises:
        Unusable: no object can be made, or it shows no number or no gradient.
    """

    def __init__(self, cls: type, module: ModuleType) -> None:
        self.cls = cls
        self.module = module
        self.more: dict[str, Any] = _arguments(cls)
        first, second = self.make(1.25), self.make(-7.5)
        self.data_name = next(
            (n for n in DATA if _number(first, n) == 1.25 and _number(second, n) == -7.5), ""
        )
        if not self.data_name:
            found = ", ".join(sorted(vars(first))) if hasattr(first, "__dict__") else "nothing"
            raise Unusable(
                f"{cls.__name__}(1.25) has no attribute that is 1.25 again; looked for "
                f"{', '.join(DATA[:3])} and the like, and found {found}"
            )
        self.grad_name = next((n for n in GRAD if hasattr(first, n)), "")
        if not self.grad_name:
            raise Unusable(
                f"{cls.__name__}(1.25) has no gradient attribute; looked for "
                f"{', '.join(GRAD[:3])} and the like"
            )
        self.backward_name, self.backward_function = self._find_backward(first)

    def _find_backward(self, value: Any) -> tuple[str, Any]:
        for name in BACKWARD:
            if callable(getattr(self.cls, name, None)):
                return name, None
        for name in BACKWARD:
            function = getattr(self.module, name, None)
            if inspect.isfunction(function):
                return name, function
        name = next((n for n in BACKWARD if callable(getattr(value, n, None))), "")
        return name, None

    def make(self, number: float) -> Any:
        return self.cls(number, **self.more)

    def data(self, value: Any) -> Any:
        return getattr(value, self.data_name)

    def grad(self, value: Any) -> Any:
        return getattr(value, self.grad_name)

    def set_data(self, value: Any, number: Any) -> None:
        try:
            setattr(value, self.data_name, number)
        except AttributeError:
            raise NotOffered(f"a.{self.data_name} = ...") from None

    def set_grad(self, value: Any, number: Any) -> None:
        try:
            setattr(value, self.grad_name, number)
        except AttributeError:
            raise NotOffered(f"a.{self.grad_name} = ...") from None

    def backward(self, value: Any) -> None:
        if self.backward_function is not None:
            self.backward_function(value)
        elif self.backward_name:
            getattr(value, self.backward_name)()
        else:
            raise NotOffered("backward()")

    def binary(self, symbol: str, a: Any, b: Any) -> Any:
        left, right = SPECIAL[symbol]
        if not isinstance(a, self.cls):
            if getattr(self.cls, right, None) is None:
                raise NotOffered(f"2 {symbol} a")
        elif symbol == "<":
            if "__lt__" not in _own(self.cls):
                raise NotOffered("a < b")
        elif getattr(self.cls, left, None) is None:
            raise NotOffered(f"a {symbol} b")
        return PLAIN[symbol](a, b)

    def unary(self, name: str, a: Any) -> Any:
        if name == "neg":
            if getattr(self.cls, "__neg__", None) is None:
                raise NotOffered("-a")
            return -a
        for spelling in FUNCTIONS.get(name, (name,)):
            if callable(getattr(self.cls, spelling, None)):
                return getattr(a, spelling)()
        for spelling in FUNCTIONS.get(name, (name,)):
            function = getattr(self.module, spelling, None)
            if inspect.isfunction(function) and function.__module__ == self.module.__name__:
                return function(a)
        raise NotOffered(f"{name}(a)")

    def is_value(self, thing: Any) -> bool:
        return isinstance(thing, self.cls) or thing is None


class AdapterShape:
    """An engine described by functions of an adapter file.

    Args:
        adapter: the adapter's module.  Its functions take the learner's module first::

            def make(engine, number): ...          # required
            def data(engine, value): ...           # required
            def grad(engine, value): ...           # required
            def backward(engine, value): ...       # required
            def start(engine): ...                 # before each program: a new tape
            def add(engine, a, b): ...             # also sub mul div pow neg
            def tanh(engine, a): ...               # any function of one operand
            def set_data(engine, value, number): ...
            def set_grad(engine, value, number): ...

        engine: the learner's module.

    Raises:
        Unusable: a required function is missing.
    """

    NAMES: Final = {"+": "add", "-": "sub", "*": "mul", "/": "div", "**": "pow", "<": "less"}

    def __init__(self, adapter: ModuleType, engine: ModuleType) -> None:
        self.adapter = adapter
        self.engine = engine
        required = ("make", "data", "grad", "backward")
        missing = [n for n in required if not callable(getattr(adapter, n, None))]
        if missing:
            raise Unusable(f"the adapter does not define {', '.join(missing)}")

    def _call(self, name: str, *args: Any) -> Any:
        function = getattr(self.adapter, name, None)
        if function is None:
            raise NotOffered(name)
        return function(self.engine, *args)

    def make(self, number: float) -> Any:
        return self._call("make", number)

    def start(self) -> None:
        if hasattr(self.adapter, "start"):
            self._call("start")

    def data(self, value: Any) -> Any:
        return self._call("data", value)

    def grad(self, value: Any) -> Any:
        return self._call("grad", value)

    def set_data(self, value: Any, number: Any) -> None:
        self._call("set_data", value, number)

    def set_grad(self, value: Any, number: Any) -> None:
        self._call("set_grad", value, number)

    def backward(self, value: Any) -> None:
        self._call("backward", value)

    def binary(self, symbol: str, a: Any, b: Any) -> Any:
        name = self.NAMES[symbol]
        if hasattr(self.adapter, name):
            return self._call(name, a, b)
        left, right = SPECIAL[symbol]
        on_left = self.is_value(a)
        method = left if on_left else right
        if symbol == "<" or not hasattr(a if on_left else b, method):
            raise NotOffered(f"a {symbol} b" if on_left else f"2 {symbol} a")
        return PLAIN[symbol](a, b)

    def unary(self, name: str, a: Any) -> Any:
        return self._call(name, a)

    def is_value(self, thing: Any) -> bool:
        return not isinstance(thing, int | float)


def _own(cls: type) -> set[str]:
    """The names that a class and its bases define, `object` left out."""
    return {name for base in cls.__mro__[:-1] for name in vars(base)}


def _number(value: Any, name: str) -> Any:
    try:
        return float(getattr(value, name))
    except (AttributeError, TypeError, ValueError):
        return None


def _arguments(cls: type) -> dict[str, Any]:
    """What the constructor needs besides the number: no operands, no operation."""
    try:
        parameters = list(inspect.signature(cls).parameters.values())[1:]
    except (TypeError, ValueError):
        return {}
    given: dict[str, Any] = {}
    for p in parameters:
        if p.name == "requires_grad":
            given[p.name] = True
        elif p.default is p.empty and p.kind in (p.POSITIONAL_OR_KEYWORD, p.KEYWORD_ONLY):
            low = p.name.lower().strip("_")
            texts = low.startswith(("op", "label", "name"))
            given[p.name] = 0.0 if low.startswith("grad") else "" if texts else ()
    return given
