"""The activations that a neuron can be given by name.

They are the table's operations of one operand, under their own names, so there
is nothing to keep in step: a new row of the table is an activation at once.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, TypeAlias

from chainrule import ops
from chainrule.errors import OptionError, describe
from chainrule.operation import ROWS, VARIADIC, Op

__all__ = ["ACTIVATIONS", "Activation", "activation_of"]

Activation: TypeAlias = str | Callable[[Any], Any]
"""A name from `ACTIVATIONS`, or a function of one number."""


def identity(x: Any) -> Any:
    """Return ``x`` itself: the activation of a linear neuron."""
    return x


def _is_activation(op: Op) -> bool:
    return (
        op.arity != VARIADIC
        and op.arity - len(op.defaults) == 1
        and op is not ops.stop_gradient  # a neuron behind it would never learn
    )


ACTIVATIONS: Final[dict[str, Callable[[Any], Any]]] = {
    "linear": identity,
    "identity": identity,
    **{op.name: op for op in ROWS.values() if _is_activation(op)},
}
"""Every activation, by its name."""


def activation_of(activation: Any) -> Activation:
    """What a neuron keeps as its activation: the name where there is one.

    Args:
        activation: a name from `ACTIVATIONS`; an operation of the table, such as
            `chainrule.tanh`; or a function of your own of one number, made of
            operators and of chainrule's functions.

    Returns:
        The name, or your function.

    Raises:
        OptionError: it is none of these.

    Example:
        >>> activation_of(ops.tanh)
        'tanh'
    """
    if isinstance(activation, Op):
        activation = activation.name
    if isinstance(activation, str):
        if activation in ACTIVATIONS:
            return activation
        if activation in ("softmax", "log_softmax"):
            raise OptionError(
                f"{activation} mixes all outputs of a layer, so it is no activation of one "
                "neuron. Use output_activation='linear' and the loss cross_entropy, which "
                "applies it; for the shares themselves call chainrule.softmax(net(x))."
            )
    elif callable(activation):
        return activation  # type: ignore[no-any-return]
    raise OptionError(
        f"unknown activation {describe(activation)}; expected a function of one number or a "
        "name: linear, sigmoid, tanh, relu, leaky_relu, elu, silu, gelu, softplus, or any "
        "other operation of one operand"
    )
