"""How the weights of a network start.

An initializer draws one weight: a function ``(n_inputs, n_outputs, source)``,
where ``n_inputs`` and ``n_outputs`` are the width of the layer's two sides and
``source`` is where random numbers come from.  Biases start at 0.

The weights of a layer must differ from each other, or its neurons would learn
the same thing for ever; and they must be of the right size, or the signal grows
or fades from layer to layer.  For layers much wider than these lessons' the
usual choice is Xavier for sigmoid and tanh, and He for relu and its kin.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, Final, TypeAlias

from chainrule.errors import OptionError, describe
from chainrule.options import RandomSource

__all__ = [
    "INITIALIZERS",
    "Initializer",
    "he_normal",
    "he_uniform",
    "initializer_of",
    "lesson",
    "normal",
    "uniform",
    "xavier_normal",
    "xavier_uniform",
    "zeros",
]


Initializer: TypeAlias = Callable[[int, int, RandomSource], float]


def lesson(n_inputs: int, n_outputs: int, source: RandomSource) -> float:
    """Draw from ``uniform(-s, s)`` with ``s = sqrt(2 / n_inputs)``: the classic lesson's choice.

    Example:
        >>> from random import Random
        >>> abs(lesson(2, 4, Random(7))) <= 1.0
        True
    """
    s = math.sqrt(2.0 / n_inputs)
    return source.uniform(-s, s)


def xavier_uniform(n_inputs: int, n_outputs: int, source: RandomSource) -> float:
    """Draw from ``uniform(-s, s)`` with ``s = sqrt(6 / (n_inputs + n_outputs))``.

    Keeps the variance of signals and gradients alike from layer to layer where the
    activation is near linear (Glorot & Bengio, 2010, equation 16).

    Example:
        >>> from random import Random
        >>> abs(xavier_uniform(4, 2, Random(7))) <= 1.0
        True
    """
    s = math.sqrt(6.0 / (n_inputs + n_outputs))
    return source.uniform(-s, s)


def xavier_normal(n_inputs: int, n_outputs: int, source: RandomSource) -> float:
    """Draw from a normal distribution of variance ``2 / (n_inputs + n_outputs)``.

    Source: Glorot & Bengio, 2010, equation 12.

    Example:
        >>> from random import Random
        >>> isinstance(xavier_normal(4, 2, Random(7)), float)
        True
    """
    return source.gauss(0.0, math.sqrt(2.0 / (n_inputs + n_outputs)))


def he_uniform(n_inputs: int, n_outputs: int, source: RandomSource) -> float:
    """Draw from ``uniform(-s, s)`` with ``s = sqrt(6 / n_inputs)``.

    The same variance as `he_normal`.

    Example:
        >>> from random import Random
        >>> abs(he_uniform(6, 2, Random(7))) <= 1.0
        True
    """
    s = math.sqrt(6.0 / n_inputs)
    return source.uniform(-s, s)


def he_normal(n_inputs: int, n_outputs: int, source: RandomSource) -> float:
    """Draw from a normal distribution of variance ``2 / n_inputs``.

    Keeps the variance of signals through relu, which halves it (He et al., 2015,
    equation 10).

    Example:
        >>> from random import Random
        >>> isinstance(he_normal(4, 2, Random(7)), float)
        True
    """
    return source.gauss(0.0, math.sqrt(2.0 / n_inputs))


def uniform(n_inputs: int, n_outputs: int, source: RandomSource) -> float:
    """Draw from ``uniform(-1, 1)``, whatever the widths.

    Example:
        >>> from random import Random
        >>> abs(uniform(4, 2, Random(7))) <= 1.0
        True
    """
    return source.uniform(-1.0, 1.0)


def normal(n_inputs: int, n_outputs: int, source: RandomSource) -> float:
    """Draw from the standard normal distribution, whatever the widths.

    Example:
        >>> from random import Random
        >>> isinstance(normal(4, 2, Random(7)), float)
        True
    """
    return source.gauss(0.0, 1.0)


def zeros(n_inputs: int, n_outputs: int, source: RandomSource) -> float:
    """Always 0.0, drawing nothing: to see that a network without differences cannot learn.

    Example:
        >>> from random import Random
        >>> zeros(4, 2, Random(7))
        0.0
    """
    return 0.0


INITIALIZERS: Final[dict[str, Initializer]] = {
    "lesson": lesson,
    "xavier": xavier_uniform,
    "glorot": xavier_uniform,
    "xavier_uniform": xavier_uniform,
    "glorot_uniform": xavier_uniform,
    "xavier_normal": xavier_normal,
    "glorot_normal": xavier_normal,
    "he": he_uniform,
    "kaiming": he_uniform,
    "he_uniform": he_uniform,
    "kaiming_uniform": he_uniform,
    "he_normal": he_normal,
    "kaiming_normal": he_normal,
    "uniform": uniform,
    "normal": normal,
    "zeros": zeros,
}
"""Every initializer, by its usual names; a scheme without a distribution is the uniform one."""


def initializer_of(init: Any) -> Initializer:
    """The initializer of a name, or the function itself.

    Raises:
        OptionError: the name is unknown, or it is no function.

    Example:
        >>> initializer_of("glorot_uniform") is xavier_uniform
        True
    """
    if isinstance(init, str):
        if init in INITIALIZERS:
            return INITIALIZERS[init]
    elif callable(init):
        return init  # type: ignore[no-any-return]
    raise OptionError(
        f"unknown initializer {describe(init)}; expected a function "
        f"(n_inputs, n_outputs, source) -> weight or one of: {', '.join(INITIALIZERS)}"
    )
