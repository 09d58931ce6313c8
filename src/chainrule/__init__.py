"""chainrule: backpropagation that can be seen, checked and trusted.

Start with `Value`; the whole of the engine is in ``value.py``, its derivatives in
``ops.py``.

Example:
    >>> from chainrule import Value
    >>> w, x, b = Value(0.5, label="w"), Value(2.0, label="x"), Value(-1.5, label="b")
    >>> y = (w * x + b).tanh()
    >>> y.backward()
    >>> round(w.grad, 6)
    1.572895
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

import chainrule.engine  # noqa: F401 - first: it decides which of the files below are loaded
from chainrule.errors import (
    ChainruleError,
    CompileMismatch,
    DataError,
    GradientMismatch,
    GraphError,
    MissingExtraError,
    ModelFileError,
    NonFiniteError,
    NotANumberError,
    OptionError,
    ParseError,
    ShapeError,
    TraceError,
)
from chainrule.modes import no_grad
from chainrule.ops import abs as abs
from chainrule.ops import (
    acos,
    add,
    asin,
    atan,
    cos,
    cosh,
    div,
    dot,
    elu,
    equal,
    erf,
    exp,
    expm1,
    gelu,
    greater,
    greater_equal,
    leaky_relu,
    less,
    less_equal,
    log,
    log1p,
    log_sigmoid,
    log_softmax,
    logsumexp,
    maximum,
    mean,
    minimum,
    mul,
    neg,
    not_equal,
    pick,
    relu,
    sigmoid,
    silu,
    sin,
    sinh,
    softmax,
    softplus,
    sqrt,
    stop_gradient,
    sub,
    tan,
    tanh,
    where,
)
from chainrule.ops import pow as pow
from chainrule.ops import sum as sum
from chainrule.value import Value, topological_order

if TYPE_CHECKING:
    from chainrule.checking import check_gradients as check_gradients
    from chainrule.compiler import Compiled as Compiled
    from chainrule.compiler import compile as compile
    from chainrule.data import blobs as blobs
    from chainrule.data import circle as circle
    from chainrule.data import moons as moons
    from chainrule.data import read_csv as read_csv
    from chainrule.data import spiral as spiral
    from chainrule.data import train_test_split as train_test_split
    from chainrule.data import xor as xor
    from chainrule.diagnosis import diagnose as diagnose
    from chainrule.dual import Dual as Dual
    from chainrule.nn import SGD as SGD
    from chainrule.nn import Adam as Adam
    from chainrule.nn import AdamW as AdamW
    from chainrule.nn import EarlyStopping as EarlyStopping
    from chainrule.nn import History as History
    from chainrule.nn import Layer as Layer
    from chainrule.nn import Network as Network
    from chainrule.nn import Neuron as Neuron
    from chainrule.nn import RMSprop as RMSprop
    from chainrule.nn import binary_cross_entropy as binary_cross_entropy
    from chainrule.nn import binary_cross_entropy_with_logits as binary_cross_entropy_with_logits
    from chainrule.nn import clip_norm as clip_norm
    from chainrule.nn import clip_value as clip_value
    from chainrule.nn import cross_entropy as cross_entropy
    from chainrule.nn import hinge_loss as hinge_loss
    from chainrule.nn import l2_penalty as l2_penalty
    from chainrule.nn import mse_loss as mse_loss
    from chainrule.nonfinite import origin_of_nonfinite as origin_of_nonfinite
    from chainrule.nonfinite import strict as strict
    from chainrule.parsing import parse as parse
    from chainrule.symbol import Symbol as Symbol
    from chainrule.symbol import formula as formula
    from chainrule.transforms import count_passes as count_passes
    from chainrule.transforms import grad as grad
    from chainrule.transforms import gradients as gradients
    from chainrule.transforms import hessian as hessian
    from chainrule.transforms import hvp as hvp
    from chainrule.transforms import jacobian as jacobian
    from chainrule.transforms import jvp as jvp
    from chainrule.transforms import value_and_grad as value_and_grad
    from chainrule.transforms import vjp as vjp
    from chainrule.views import draw as draw
    from chainrule.views import explain as explain
    from chainrule.views import step_through as step_through
    from chainrule.views.plots import plot_activations as plot_activations
    from chainrule.views.plots import plot_decision_boundary as plot_decision_boundary
    from chainrule.views.plots import plot_gradient_flow as plot_gradient_flow
    from chainrule.views.plots import plot_history as plot_history

__version__ = "0.1.0"

_LATER = {
    "parse": "chainrule.parsing",
    "formula": "chainrule.symbol",
    "Symbol": "chainrule.symbol",
    "check_gradients": "chainrule.checking",
    "Compiled": "chainrule.compiler",
    "compile": "chainrule.compiler",
    "blobs": "chainrule.data",
    "circle": "chainrule.data",
    "moons": "chainrule.data",
    "read_csv": "chainrule.data",
    "spiral": "chainrule.data",
    "train_test_split": "chainrule.data",
    "xor": "chainrule.data",
    "diagnose": "chainrule.diagnosis",
    "Dual": "chainrule.dual",
    "SGD": "chainrule.nn",
    "Adam": "chainrule.nn",
    "AdamW": "chainrule.nn",
    "EarlyStopping": "chainrule.nn",
    "History": "chainrule.nn",
    "Layer": "chainrule.nn",
    "Network": "chainrule.nn",
    "Neuron": "chainrule.nn",
    "RMSprop": "chainrule.nn",
    "binary_cross_entropy": "chainrule.nn",
    "binary_cross_entropy_with_logits": "chainrule.nn",
    "clip_norm": "chainrule.nn",
    "clip_value": "chainrule.nn",
    "cross_entropy": "chainrule.nn",
    "hinge_loss": "chainrule.nn",
    "l2_penalty": "chainrule.nn",
    "mse_loss": "chainrule.nn",
    "origin_of_nonfinite": "chainrule.nonfinite",
    "strict": "chainrule.nonfinite",
    "count_passes": "chainrule.transforms",
    "grad": "chainrule.transforms",
    "gradients": "chainrule.transforms",
    "hessian": "chainrule.transforms",
    "hvp": "chainrule.transforms",
    "jacobian": "chainrule.transforms",
    "jvp": "chainrule.transforms",
    "value_and_grad": "chainrule.transforms",
    "vjp": "chainrule.transforms",
    "draw": "chainrule.views",
    "explain": "chainrule.views",
    "step_through": "chainrule.views",
    "plot_activations": "chainrule.views.plots",
    "plot_decision_boundary": "chainrule.views.plots",
    "plot_gradient_flow": "chainrule.views.plots",
    "plot_history": "chainrule.views.plots",
}
"""What is imported at its first use, so that ``import chainrule`` stays fast, by module."""


def __getattr__(name: str) -> Any:
    module = _LATER.get(name)
    if module is None:
        raise AttributeError(f"module 'chainrule' has no attribute {name!r}")
    found = getattr(importlib.import_module(module), name)
    globals()[name] = found
    return found


def _picture(value: Value) -> str | None:
    """The hook that `Value` offers to whoever can draw it."""
    from chainrule.views import notebook_picture

    return notebook_picture(value)


Value._picture = _picture


def __dir__() -> list[str]:
    return sorted([*globals(), *_LATER])


__all__ = [
    "SGD",
    "Adam",
    "AdamW",
    "ChainruleError",
    "CompileMismatch",
    "Compiled",
    "DataError",
    "Dual",
    "EarlyStopping",
    "GradientMismatch",
    "GraphError",
    "History",
    "Layer",
    "MissingExtraError",
    "ModelFileError",
    "Network",
    "Neuron",
    "NonFiniteError",
    "NotANumberError",
    "OptionError",
    "ParseError",
    "RMSprop",
    "ShapeError",
    "Symbol",
    "TraceError",
    "Value",
    "acos",
    "add",
    "asin",
    "atan",
    "binary_cross_entropy",
    "binary_cross_entropy_with_logits",
    "blobs",
    "check_gradients",
    "circle",
    "clip_norm",
    "clip_value",
    "cos",
    "cosh",
    "count_passes",
    "cross_entropy",
    "diagnose",
    "div",
    "dot",
    "draw",
    "elu",
    "equal",
    "erf",
    "exp",
    "explain",
    "expm1",
    "formula",
    "gelu",
    "grad",
    "gradients",
    "greater",
    "greater_equal",
    "hessian",
    "hinge_loss",
    "hvp",
    "jacobian",
    "jvp",
    "l2_penalty",
    "leaky_relu",
    "less",
    "less_equal",
    "log",
    "log1p",
    "log_sigmoid",
    "log_softmax",
    "logsumexp",
    "maximum",
    "mean",
    "minimum",
    "moons",
    "mse_loss",
    "mul",
    "neg",
    "no_grad",
    "not_equal",
    "origin_of_nonfinite",
    "parse",
    "pick",
    "plot_activations",
    "plot_decision_boundary",
    "plot_gradient_flow",
    "plot_history",
    "read_csv",
    "relu",
    "sigmoid",
    "silu",
    "sin",
    "sinh",
    "softmax",
    "softplus",
    "spiral",
    "sqrt",
    "step_through",
    "stop_gradient",
    "strict",
    "sub",
    "tan",
    "tanh",
    "topological_order",
    "train_test_split",
    "value_and_grad",
    "vjp",
    "where",
    "xor",
]
