"""Clipping: keeping a single steep place from throwing the parameters away.

Each rule is a scalar expression in the table's operations, so that it can be
recorded like the rest of a training step; the two functions on parameters apply
it to their ``grad``.

Source: R. Pascanu, T. Mikolov and Y. Bengio, "On the difficulty of training
recurrent neural networks", 2013; definitions of ``torch.nn.utils``.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

from chainrule.ops import div, maximum, minimum, sqrt
from chainrule.options import real
from chainrule.value import Value

__all__ = ["clip_gradient", "clip_norm", "clip_scale", "clip_value"]


def clip_gradient(gradient: Any, limit: float) -> Any:
    """A gradient held between ``-limit`` and ``limit``: the rule of `clip_value`.

    Args:
        gradient: a number, or anything the table's operations take.
        limit: the largest size allowed.

    Returns:
        The gradient, or the limit it went past.

    Example:
        >>> clip_gradient(-3.0, 1.0)
        -1.0
    """
    return minimum(maximum(gradient, -limit), limit)


def clip_scale(square: Any, limit: float) -> Any:
    """What all gradients are multiplied by: the rule of `clip_norm`.

    ``min(1, limit / (norm + 1e-6))``, with PyTorch's 1e-6.

    Args:
        square: the sum of the squares of all gradients.
        limit: the largest norm allowed.

    Returns:
        A factor of at most 1.

    Example:
        >>> round(clip_scale(25.0, 1.0), 6)
        0.2
    """
    return minimum(div(limit, sqrt(square) + 1e-6), 1.0)


def clip_value(parameters: Iterable[Value], limit: float) -> None:
    """Hold each parameter's gradient between ``-limit`` and ``limit``.

    Call it between ``backward()`` and ``optimizer.step()``.

    Args:
        parameters: those to clip, such as ``net.parameters()``.
        limit: the largest size allowed, above 0.

    Raises:
        OptionError: the limit is not a number above 0.

    Example:
        >>> w = Value(3.0)
        >>> (w * w).backward()
        >>> clip_value([w], 0.5)
        >>> w.grad
        0.5

    Source:
        ``torch.nn.utils.clip_grad_value_``.
    """
    limit = real("limit", limit, above=0.0, example="1.0")
    for parameter in parameters:
        parameter.grad = clip_gradient(parameter.grad, limit)


def clip_norm(parameters: Iterable[Value], limit: float) -> float:
    """Shrink all gradients together until their Euclidean norm is at most ``limit``.

    Their direction stays the same.  Call it between ``backward()`` and
    ``optimizer.step()``.

    Args:
        parameters: those to clip, such as ``net.parameters()``.
        limit: the largest norm allowed, above 0.

    Returns:
        The norm before clipping.

    Raises:
        OptionError: the limit is not a number above 0.

    Example:
        >>> a, b = Value(3.0), Value(4.0)
        >>> (a * a / 2.0 + b * b / 2.0).backward()
        >>> clip_norm([a, b], 1.0)
        5.0
        >>> round(a.grad, 6), round(b.grad, 6)
        (0.6, 0.8)

    Source:
        ``torch.nn.utils.clip_grad_norm_``.
    """
    limit = real("limit", limit, above=0.0, example="1.0")
    found = list(parameters)
    square = sum([p.grad * p.grad for p in found], 0.0)
    scale = clip_scale(square, limit)
    for parameter in found:
        parameter.grad *= scale
    return math.sqrt(square)
