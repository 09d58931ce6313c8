"""Checks of a learner's neuron, layer and network, whatever their activation is.

Nothing is assumed of how they work inside: a parameter's gradient has to agree with the
slope of the output, measured by changing the parameter.
"""

from __future__ import annotations

import random
import re
from types import ModuleType
from typing import Any, Final

from chainrule.conformance.program import NotOffered, Shape

__all__ = ["Wrong", "check_network"]

NAMES: Final = {
    "neuron": re.compile(r"neuron|perceptron|node_?unit", re.IGNORECASE),
    "layer": re.compile(r"layer", re.IGNORECASE),
    "network": re.compile(r"mlp|network|^net$|neuralnet|multilayer", re.IGNORECASE),
}

ROW: Final = (0.5, -1.25, 2.0)
OTHER: Final = (-0.75, 1.5, 0.25)


class Wrong(Exception):
    """A check failed; the argument says how, in a few words that do not depend on numbers."""


def check_network(name: str, module: ModuleType, shape: Shape) -> None:
    """Carry out one check.

    Args:
        name: a key of `chainrule.conformance.catalogue.CHECKS`, or a function of the exercise.
        module: the learner's file.
        shape: how to talk to its engine.

    Raises:
        Wrong: the check failed.
        NotOffered: the file has no such class.
    """
    random.seed(1)
    match name:
        case "neuron":
            _gradients(_make(module, "neuron", 3), shape, 1)
        case "neuron parameters":
            _count(_make(module, "neuron", 3), shape, 4)
        case "neuron activation":
            _bends(module, shape)
        case "layer":
            _gradients(_make(module, "layer", 3, 2), shape, 2)
        case "layer parameters":
            _count(_make(module, "layer", 3, 2), shape, 8)
        case "network":
            _gradients(_make(module, "network", 3, [4, 2, 1]), shape, 1)
        case "network sizes":
            _count(_make(module, "network", 3, [4, 2, 1]), shape, 29)
        case "zero_grad":
            _zeroing(module, shape)
        case "train_xor":
            _training(module)
        case "clip_gradients":
            _clipping(module, shape)
        case "gradient_sizes":
            _vanishing(module, shape)
        case "wrong length":
            _length(_make(module, "neuron", 3), shape)


def _make(module: ModuleType, kind: str, *sizes: Any) -> Any:
    found = [
        thing
        for name, thing in vars(module).items()
        if isinstance(thing, type)
        and NAMES[kind].search(name)
        and "__call__" in {n for base in thing.__mro__ for n in vars(base)}
    ]
    if not found:
        raise NotOffered(kind)
    try:
        return found[-1](*sizes)
    except TypeError as error:
        if "argument" not in str(error) or "__init__" not in str(error):
            raise
        if kind == "network" and len(sizes) == 2:  # sizes in one list
            try:
                return found[-1]([sizes[0], *sizes[1]])
            except (TypeError, NotImplementedError):
                pass
        raise NotOffered(f"{kind} with the arguments (inputs, outputs)") from None


def _parameters(model: Any, shape: Shape) -> list[Any]:
    parameters = getattr(model, "parameters", None)
    if parameters is None:
        raise NotOffered("parameters()")
    found = list(parameters() if callable(parameters) else parameters)
    if not all(shape.is_value(p) and p is not None for p in found):
        raise Wrong("parameters() gives things that are no values")
    return found


def _outputs(model: Any, shape: Shape, row: tuple[float, ...]) -> list[Any]:
    result = model([shape.make(x) for x in row])
    outputs = list(result) if isinstance(result, list | tuple) else [result]
    if not all(shape.is_value(y) and y is not None for y in outputs):
        kind = "None" if outputs == [None] else "something else"
        raise Wrong(f"the result is {kind}, no value")
    return outputs


def _count(model: Any, shape: Shape, right: int) -> None:
    first, second = (len(_parameters(model, shape)) for _ in range(2))
    if second != first:
        raise Wrong("parameters() grows with every call")
    if first == right + 1:
        return  # one value stored beside the parameters is no mistake
    if first != right:
        raise Wrong(f"{first} parameters where there are {right}")


def _gradients(model: Any, shape: Shape, width: int) -> None:
    h = 1e-4
    reached: set[int] = set()
    parameters = _parameters(model, shape)
    for row in (ROW, OTHER, (1.0, 2.0, 3.0), (-1.0, -2.0, -3.0)):
        outputs = _outputs(model, shape, row)
        if len(outputs) != width:
            raise Wrong(f"{len(outputs)} results where there are {width}")
        for p in parameters:
            shape.set_grad(p, 0.0)
        total = outputs[0] if width == 1 else shape.binary("+", *outputs)
        shape.backward(total)
        for i, p in enumerate(parameters):
            start = shape.data(p)
            sides = []
            for step in (h, 0.0, -h):
                shape.set_data(p, start + step)
                sides.append(sum(float(shape.data(y)) for y in _outputs(model, shape, row)))
            shape.set_data(p, start)
            slopes = ((sides[0] - sides[1]) / h, (sides[1] - sides[2]) / h)
            gradient = float(shape.grad(p) or 0.0)
            slack = 1e-2 * (1 + abs(gradient))
            if not min(slopes) - slack <= gradient <= max(slopes) + slack:
                raise Wrong("a parameter's gradient is not the slope of the output")
            if abs(slopes[0]) > 1e-6:
                reached.add(i)
    if 2 * len(reached) < len(parameters):
        raise Wrong("most parameters do not matter for the output")


def _bends(module: ModuleType, shape: Shape) -> None:
    model = _make(module, "neuron", 3)
    gaps = []
    for row in (ROW, OTHER):
        values = []
        for factor in (-4.0, 0.0, 4.0):
            scaled = tuple([factor * x for x in row])
            values.append(float(shape.data(_outputs(model, shape, scaled)[0])))
        gaps.append(abs(values[0] - 2 * values[1] + values[2]))
    if max(gaps) < 1e-9 and _has_activation(module):
        raise Wrong("the output is a straight line: no activation")


def _has_activation(module: ModuleType) -> bool:
    """Whether the neuron means to have one: its code names it."""
    names: set[str] = set()
    for name, thing in vars(module).items():
        if isinstance(thing, type) and NAMES["neuron"].search(name):
            names.update(thing.__call__.__code__.co_names)
    return bool(names & {"relu", "tanh", "sigmoid", "ReLU", "leaky_relu"})


def _zeroing(module: ModuleType, shape: Shape) -> None:
    model = None
    for kind, sizes in (("network", (3, [4, 2, 1])), ("layer", (3, 2)), ("neuron", (3,))):
        try:
            model = _make(module, kind, *sizes)
            break
        except NotOffered:
            continue
    zero = getattr(model, "zero_grad", None)
    if zero is None:
        raise NotOffered("zero_grad()")
    parameters = _parameters(model, shape)
    for p in parameters:
        shape.set_grad(p, 1.0)
    zero()
    if any(float(shape.grad(p) or 0.0) != 0.0 for p in parameters):
        raise Wrong("gradients are not 0 after zero_grad()")


def _length(model: Any, shape: Shape) -> None:
    try:
        _outputs(model, shape, ROW[:2])
    except Exception:
        return  # refused, in whatever way
    raise Wrong("a row of two numbers is accepted where there are three")


# --- functions of the exercise ----------------------------------------------------------------


def _function(module: ModuleType, name: str) -> Any:
    function = getattr(module, name, None)
    if function is None:
        raise NotOffered(f"{name}()")
    return function


def _training(module: ModuleType) -> None:
    losses = list(_function(module, "train_xor")() or [])
    if len(losses) < 2:
        raise Wrong("train_xor() returns no list of losses")
    if not float(losses[-1]) < 0.05:
        raise Wrong(f"the last loss is {float(losses[-1]):.3g}, not below 0.05")


def _clipping(module: ModuleType, shape: Shape) -> None:
    clip = _function(module, "clip_gradients")
    for gradients, limit, right in (((3.0, -4.0), 1.0, (0.6, -0.8)), ((0.3, 0.4), 1.0, (0.3, 0.4))):
        parameters = [shape.make(1.0) for _ in gradients]
        for p, g in zip(parameters, gradients, strict=True):
            shape.set_grad(p, g)
        clip(parameters, limit)
        got = [float(shape.grad(p)) for p in parameters]
        if any(abs(a - b) > 1e-6 for a, b in zip(got, right, strict=True)):
            raise Wrong(f"gradients {gradients} clipped to norm {limit} became {tuple(got)}")


def _vanishing(module: ModuleType, shape: Shape) -> None:
    sizes = _function(module, "gradient_sizes")
    model = _make(module, "network", 3, [4, 2, 1])
    place = 0
    right = []
    for count in (16, 10, 3):  # the layers' parameters
        for p in _parameters(model, shape)[place : place + count]:
            shape.set_grad(p, -float(count))
        place += count
        right.append(float(count))
    got = [float(x) for x in sizes(model)]
    if len(got) != 3 or any(abs(a - b) > 1e-6 for a, b in zip(got, right, strict=True)):
        raise Wrong(f"the mean sizes of the gradients are {right}; got {got}")
