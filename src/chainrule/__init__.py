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

from chainrule.errors import (
    ChainruleError,
    DataError,
    GraphError,
    MissingExtraError,
    ModelFileError,
    NonFiniteError,
    NotANumberError,
    OptionError,
    ShapeError,
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

__version__ = "0.1.0"

__all__ = [
    "ChainruleError",
    "DataError",
    "GraphError",
    "MissingExtraError",
    "ModelFileError",
    "NonFiniteError",
    "NotANumberError",
    "OptionError",
    "ShapeError",
    "Value",
    "acos",
    "add",
    "asin",
    "atan",
    "cos",
    "cosh",
    "div",
    "dot",
    "elu",
    "equal",
    "erf",
    "exp",
    "expm1",
    "gelu",
    "greater",
    "greater_equal",
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
    "mul",
    "neg",
    "no_grad",
    "not_equal",
    "pick",
    "relu",
    "sigmoid",
    "silu",
    "sin",
    "sinh",
    "softmax",
    "softplus",
    "sqrt",
    "stop_gradient",
    "sub",
    "tan",
    "tanh",
    "topological_order",
    "where",
]
