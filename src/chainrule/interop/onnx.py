"""Networks as ONNX files, which many runtimes and devices execute."""

from __future__ import annotations

import json
import math
import os
from typing import Any, Final

from chainrule.errors import OptionError, describe
from chainrule.interop.extras import needed
from chainrule.interop.matrices import LINEAR, matrices_of
from chainrule.nn.layers import Network

__all__ = ["to_onnx"]

OPSET: Final = 17
IR_VERSION: Final = 8
"""Both of 2022: old enough for the runtimes in use, and all that is needed is there."""

Step = tuple[str, list[Any], dict[str, Any]]


def _step(op: str, *inputs: Any, **attributes: Any) -> Step:
    return op, list(inputs), attributes


X: Final = "x"

# Each activation as a few operators of ONNX.  A step's operands are X, plain numbers, and
# the steps before it by their index.  Elu and Softplus are spelled out because runtimes lack
# them in double precision.
_STEPS: Final[dict[str, list[Step]]] = {
    "sigmoid": [_step("Sigmoid", X)],
    "tanh": [_step("Tanh", X)],
    "relu": [_step("Relu", X)],
    "leaky_relu": [_step("LeakyRelu", X, alpha=0.01)],
    "elu": [
        _step("Min", X, 0.0),
        _step("Exp", 0),
        _step("Sub", 1, 1.0),
        _step("Relu", X),
        _step("Add", 3, 2),
    ],
    "silu": [_step("Sigmoid", X), _step("Mul", X, 0)],
    "softplus": [
        _step("Abs", X),
        _step("Neg", 0),
        _step("Exp", 1),
        _step("Add", 2, 1.0),
        _step("Log", 3),
        _step("Relu", X),
        _step("Add", 5, 4),
    ],
    "log_sigmoid": [
        _step("Abs", X),
        _step("Neg", 0),
        _step("Exp", 1),
        _step("Add", 2, 1.0),
        _step("Log", 3),
        _step("Min", X, 0.0),
        _step("Sub", 5, 4),
    ],
    "exp": [_step("Exp", X)],
    "abs": [_step("Abs", X)],
    "sin": [_step("Sin", X)],
    "cos": [_step("Cos", X)],
}

# Runtimes lack Erf in double precision.
_STEPS["gelu"] = [
    _step("Mul", X, math.sqrt(0.5)),
    _step("Cast", 0, to="FLOAT"),
    _step("Erf", 1),
    _step("Cast", 2, to="DOUBLE"),
    _step("Add", 3, 1.0),
    _step("Mul", X, 0.5),
    _step("Mul", 5, 4),
]


def to_onnx(net: Network, path: str | os.PathLike[str]) -> None:
    """Write a network to an ONNX file.

    The file's graph takes ``X``, doubles of shape (rows, inputs), and gives ``Y``, doubles
    of shape (rows, outputs); any number of rows will do.  ONNX's own checker has passed
    it before it is written.  ``net.meta`` travels along as JSON, under the key
    ``chainrule``.

    Args:
        net: the network; each layer has one activation, of: linear, sigmoid, tanh, relu,
            leaky_relu, elu, silu, gelu, softplus, log_sigmoid, exp, abs, sin, cos.
            ``gelu`` is computed to single precision, about seven digits, because runtimes
            have no better error function.
        path: the file, such as ``"model.onnx"``.

    Raises:
        MissingExtraError: the package onnx is not installed.
        OptionError: ``net`` is no network, or has another activation.
        OSError: the file cannot be written.

    Example:
        >>> import pathlib, tempfile
        >>> folder = tempfile.TemporaryDirectory()
        >>> path = pathlib.Path(folder.name, "model.onnx")
        >>> to_onnx(Network([2, 4, 1], activation="tanh", seed=1), path)
        >>> path.stat().st_size > 100
        True
        >>> folder.cleanup()
    """
    onnx = needed("onnx", "to_onnx()", "onnx")
    data = _model(onnx, net).SerializeToString()
    with open(path, "wb") as file:
        file.write(data)


def _model(onnx: Any, net: Network) -> Any:
    """The checked model."""
    helper, double = onnx.helper, onnx.TensorProto.DOUBLE
    nodes: list[Any] = []
    constants: dict[str, Any] = {}

    def constant(name: str, shape: list[int], numbers: list[float]) -> str:
        constants.setdefault(name, helper.make_tensor(name, double, shape, numbers))
        return name

    def operand(given: Any, x: str, prefix: str) -> str:
        if given == X:
            return x
        if isinstance(given, int):
            return f"{prefix}.{given}"
        return constant(f"number {given!r}", [], [given])

    value = "X"
    for i, (weights, biases, activation) in enumerate(matrices_of(net)):
        n_outputs, n_inputs = len(weights), len(weights[0])
        flat = [w for row in weights for w in row]
        W = constant(f"layers.{i}.weights", [n_outputs, n_inputs], flat)
        b = constant(f"layers.{i}.biases", [n_outputs], biases)
        nodes.append(helper.make_node("Gemm", [value, W, b], [f"layers.{i}.sum"], transB=1))
        value = f"layers.{i}.sum"
        if activation in LINEAR:
            continue
        if activation not in _STEPS:
            raise OptionError(
                f"the activation of layers.{i} is {describe(activation)}; to_onnx knows "
                f"linear, {', '.join(_STEPS)}."
            )
        prefix, steps = f"layers.{i}.{activation}", _STEPS[activation]
        for j, (op, inputs, attributes) in enumerate(steps):
            if "to" in attributes:
                attributes = {"to": getattr(onnx.TensorProto, attributes["to"])}
            names = [operand(given, value, prefix) for given in inputs]
            nodes.append(helper.make_node(op, names, [f"{prefix}.{j}"], **attributes))
        value = f"{prefix}.{len(steps) - 1}"
    nodes[-1].output[0] = "Y"
    graph = helper.make_graph(
        nodes,
        "network",
        [helper.make_tensor_value_info("X", double, ["rows", net.sizes[0]])],
        [helper.make_tensor_value_info("Y", double, ["rows", net.sizes[-1]])],
        list(constants.values()),
    )
    opsets = [helper.make_opsetid("", OPSET)]
    model = helper.make_model(
        graph, producer_name="chainrule", opset_imports=opsets, ir_version=IR_VERSION
    )
    if net.meta:
        helper.set_model_props(model, {"chainrule": json.dumps(net.meta)})
    onnx.checker.check_model(model, full_check=True)
    return model
