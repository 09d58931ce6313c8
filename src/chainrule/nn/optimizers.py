"""Optimisers: rules by which a parameter follows its gradient.

Each optimiser is one *scalar* rule, its ``update``: from a parameter, its
gradient and what the optimiser remembers about that parameter, to the new
parameter and the new memory.  For gradient descent with momentum it reads::

    velocity = momentum * velocity + gradient
    parameter = parameter - lr * velocity

The rule is a pure function, and where it needs more than ``+ - * /`` it uses
the table of operations, never a Python ``if`` on a number of the training.  So
the same rule serves plain floats here and can be recorded like any other scalar
code.

Definitions and defaults are those of ``torch.optim`` (PyTorch 2).

Used as in PyTorch::

    optimizer = Adam(net.parameters(), lr=0.01)
    for epoch in range(100):
        loss = ...
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()

or given to ``fit`` as an object without parameters: ``optimizer=Adam(lr=0.01)``.
"""

from __future__ import annotations

import copy
from collections.abc import Iterable, Sequence
from typing import Any, ClassVar, Final, Self, TypeAlias

from chainrule.errors import NotANumberError, OptionError, describe
from chainrule.ops import div, equal, sqrt, where
from chainrule.options import real
from chainrule.value import Value

__all__ = ["OPTIMIZERS", "SGD", "Adam", "AdamW", "Optimizer", "RMSprop", "State"]

State: TypeAlias = tuple[Any, ...]
"""What an optimiser remembers about one parameter: a few numbers."""


class Optimizer:
    """What all optimisers share: a list of parameters, and one rule for each of them.

    A subclass gives ``update`` and, if it remembers anything, ``start``.

    Args:
        parameters: the `Value`s to train, such as ``net.parameters()``; None
            for an optimiser that is given to ``fit``.
        lr: the learning rate, from 0; may be assigned to at any time.

    Attributes:
        parameters: the list of them, or None.
        lr: the learning rate.
        steps: how many steps were taken.
        states: what is remembered about each parameter.

    Raises:
        OptionError: the parameters cannot be trained, or a setting is out of range.

    Example:
        >>> class SignDescent(Optimizer):
        ...     def update(self, parameter, gradient, state, step, lr):
        ...         from chainrule import where, less
        ...         return parameter - lr * where(less(gradient, 0.0), -1.0, 1.0), state
        >>> w = Value(2.0)
        >>> optimizer = SignDescent([w], lr=0.5)
        >>> (w * w).backward()
        >>> optimizer.step()
        >>> w.data
        1.5
    """

    settings: ClassVar[tuple[str, ...]] = ("lr",)
    """The names of the constructor's settings, which are attributes, too."""

    start: State = ()
    """What is remembered about a parameter before the first step."""

    def __init__(self, parameters: Iterable[Value] | None = None, lr: float = 1e-3) -> None:
        self.lr = real("lr", lr, least=0.0, example="0.01")
        self.parameters: list[Value] | None = None
        self.steps = 0
        self.states: list[State] = []
        if parameters is not None:
            self.parameters = _trainable(parameters, type(self).__name__)

    def __repr__(self) -> str:
        given = ", ".join(f"{name}={getattr(self, name)!r}" for name in self.settings)
        return f"{type(self).__name__}({given})"

    def update(
        self, parameter: Any, gradient: Any, state: State, step: Any, lr: Any
    ) -> tuple[Any, State]:
        """The rule: one parameter's next value and what to remember about it.

        Args:
            parameter: its value.
            gradient: the derivative of the loss by it.
            state: what was remembered about it.
            step: the number of this step, from 1.
            lr: the learning rate of this step.

        Returns:
            The new value and the new state.
        """
        raise NotImplementedError

    def update_all(
        self,
        values: Sequence[float],
        gradients: Sequence[float],
        states: Sequence[State],
        step: int,
        lr: float,
    ) -> tuple[list[float], list[State]]:
        """The rule applied to each of several parameters.

        Args:
            values: the parameters.
            gradients: as many derivatives.
            states: as many states.
            step: the number of this step, from 1.
            lr: the learning rate of this step.

        Returns:
            The new values and the new states; nothing is changed in place.
        """
        n = float(step)
        update = self.update
        pairs = [
            update(value, gradient, state, n, lr)
            for value, gradient, state in zip(values, gradients, states, strict=True)
        ]
        return [value for value, _ in pairs], [state for _, state in pairs]

    def step(self) -> None:
        """Change every parameter once, by the gradient in its ``grad``.

        Raises:
            OptionError: the optimiser was made without parameters.
        """
        parameters = self._bound()
        values, self.states = self.update_all(
            [p.data for p in parameters],
            [p.grad for p in parameters],
            self.states or [self.start] * len(parameters),
            self.steps + 1,
            self.lr,
        )
        self.steps += 1
        for parameter, value in zip(parameters, values, strict=True):
            parameter.data = value

    def zero_grad(self) -> None:
        """Set the gradient of every parameter to 0.

        Raises:
            OptionError: the optimiser was made without parameters.
        """
        for parameter in self._bound():
            parameter.grad = 0.0

    def bound_to(self, parameters: Iterable[Value]) -> Self:
        """The same optimiser for these parameters, with nothing remembered yet.

        Args:
            parameters: the `Value`s to train.

        Returns:
            A new optimiser with the same settings.

        Raises:
            OptionError: the parameters cannot be trained.
        """
        made = copy.copy(self)
        made.parameters = _trainable(parameters, type(self).__name__)
        made.steps = 0
        made.states = []
        return made

    def _bound(self) -> list[Value]:
        if self.parameters is None:
            name = type(self).__name__
            raise OptionError(
                f"this {name} was made without parameters, so it has nothing to change. Write "
                f"{name}(net.parameters(), lr={self.lr:g}), or give it to net.fit(optimizer=...)."
            )
        return self.parameters


def _trainable(parameters: Any, who: str) -> list[Value]:
    """The parameters as a list, checked."""
    try:
        found: list[Any] = [parameters] if isinstance(parameters, str) else list(parameters)
    except (TypeError, NotANumberError):
        raise OptionError(
            f"{who} needs a list of parameters, such as net.parameters(); "
            f"got {describe(parameters)}. Settings are given by name: {who}(lr=0.01)."
        ) from None
    if not found:
        raise OptionError(
            f"{who} got an empty list of parameters. If net.parameters() is a generator that was "
            "used up before, call it again."
        )
    seen: set[int] = set()
    for i, parameter in enumerate(found):
        if not isinstance(parameter, Value):
            raise OptionError(
                f"{who} trains Values; parameter {i} is {describe(parameter)}. "
                "Give it net.parameters()."
            )
        if parameter.operands:
            raise OptionError(
                f"{who} trains leaves; parameter {i} is the result of an operation "
                f"({describe(parameter)}), which the next forward pass computes afresh. "
                "Give it the Values that it was computed from."
            )
        if id(parameter) in seen:
            raise OptionError(
                f"parameter {i} ({describe(parameter)}) is in {who}'s list twice and would be "
                "changed twice a step. Give each parameter once."
            )
        seen.add(id(parameter))
    return found


class SGD(Optimizer):
    """Gradient descent, plain or with momentum.

    ``v = momentum * v + (1 - dampening) * g`` and ``p = p - lr * v``, where the
    first step takes ``v = g``; with ``nesterov``, ``p = p - lr * (g + momentum * v)``.

    Args:
        parameters: the `Value`s to train; None for an optimiser given to ``fit``.
        lr: the learning rate, from 0.
        momentum: the share of the last velocity that is kept, from 0.
        dampening: how much less than all of the gradient enters the velocity.
        weight_decay: this much times the parameter is added to its gradient.
        nesterov: look ahead along the velocity; needs momentum and no dampening.

    Raises:
        OptionError: the parameters cannot be trained, or a setting is out of range.

    Example:
        >>> w = Value(2.0)
        >>> optimizer = SGD([w], lr=0.25)
        >>> (w * w).backward()
        >>> optimizer.step()
        >>> w.data
        1.0

    Source:
        ``torch.optim.SGD``; H. Robbins and S. Monro, "A stochastic approximation
        method", 1951; I. Sutskever et al., "On the importance of initialization
        and momentum in deep learning", 2013 (PyTorch's variant multiplies the
        whole velocity by the learning rate).
    """

    settings = ("lr", "momentum", "dampening", "weight_decay", "nesterov")

    def __init__(
        self,
        parameters: Iterable[Value] | None = None,
        lr: float = 1e-3,
        momentum: float = 0.0,
        dampening: float = 0.0,
        weight_decay: float = 0.0,
        nesterov: bool = False,
    ) -> None:
        super().__init__(parameters, lr)
        self.momentum = real("momentum", momentum, least=0.0, example="0.9")
        self.dampening = real("dampening", dampening, example="0")
        self.weight_decay = real("weight_decay", weight_decay, least=0.0, example="0.0001")
        self.nesterov = _flag("nesterov", nesterov)
        if self.nesterov and (self.momentum == 0.0 or self.dampening != 0.0):
            raise OptionError(
                "nesterov=True needs momentum above 0 and no dampening; got "
                f"momentum={self.momentum:g}, dampening={self.dampening:g}. "
                "Write, for example, SGD(lr=0.01, momentum=0.9, nesterov=True)."
            )
        if self.momentum:
            self.start = (0.0,)

    def update(
        self, parameter: Any, gradient: Any, state: State, step: Any, lr: Any
    ) -> tuple[Any, State]:
        if self.weight_decay:
            gradient = gradient + self.weight_decay * parameter
        if not self.momentum:
            return parameter - lr * gradient, ()
        (velocity,) = state
        if self.dampening:
            damped = self.momentum * velocity + (1.0 - self.dampening) * gradient
            velocity = where(equal(step, 1.0), gradient, damped)
        else:  # at the first step this is the gradient, because the velocity is 0
            velocity = self.momentum * velocity + gradient
        direction = gradient + self.momentum * velocity if self.nesterov else velocity
        return parameter - lr * direction, (velocity,)


class RMSprop(Optimizer):
    """Steps divided by a running root mean square of the gradient.

    ``s = alpha * s + (1 - alpha) * g²`` and ``p = p - lr * g / (sqrt(s) + eps)``.

    Args:
        parameters: the `Value`s to train; None for an optimiser given to ``fit``.
        lr: the learning rate, from 0.
        alpha: the share of the running mean that is kept, from 0 to below 1.
        eps: keeps the divisor away from 0.
        weight_decay: this much times the parameter is added to its gradient.
        momentum: the share of the last step that is kept, from 0.
        centered: divide by the standard deviation, that is, take the square of
            the running mean gradient off ``s``.

    Raises:
        OptionError: the parameters cannot be trained, or a setting is out of range.

    Example:
        >>> w = Value(2.0)
        >>> optimizer = RMSprop([w], lr=0.01)
        >>> (w * w).backward()
        >>> optimizer.step()
        >>> round(w.data, 6)
        1.9

    Source:
        ``torch.optim.RMSprop``; G. Hinton, "Neural networks for machine
        learning", lecture 6e, 2012; centred: A. Graves, "Generating sequences
        with recurrent neural networks", 2013.
    """

    settings = ("lr", "alpha", "eps", "weight_decay", "momentum", "centered")

    def __init__(
        self,
        parameters: Iterable[Value] | None = None,
        lr: float = 1e-2,
        alpha: float = 0.99,
        eps: float = 1e-8,
        weight_decay: float = 0.0,
        momentum: float = 0.0,
        centered: bool = False,
    ) -> None:
        super().__init__(parameters, lr)
        self.alpha = real("alpha", alpha, least=0.0, below=1.0, example="0.99")
        self.eps = real("eps", eps, least=0.0, example="1e-8")
        self.weight_decay = real("weight_decay", weight_decay, least=0.0, example="0.0001")
        self.momentum = real("momentum", momentum, least=0.0, example="0.9")
        self.centered = _flag("centered", centered)
        self.start = (0.0,) * (1 + bool(self.momentum) + self.centered)

    def update(
        self, parameter: Any, gradient: Any, state: State, step: Any, lr: Any
    ) -> tuple[Any, State]:
        if self.weight_decay:
            gradient = gradient + self.weight_decay * parameter
        before = iter(state)
        square = self.alpha * next(before) + (1.0 - self.alpha) * (gradient * gradient)
        after: State = (square,)
        if self.centered:
            mean = self.alpha * next(before) + (1.0 - self.alpha) * gradient
            square = square - mean * mean
            after += (mean,)
        change = div(gradient, sqrt(square) + self.eps)
        if self.momentum:
            change = self.momentum * next(before) + change
            after += (change,)
        return parameter - lr * change, after


class Adam(Optimizer):
    """Momentum and RMSprop together, each corrected for having started at 0.

    ``m = b1 * m + (1 - b1) * g``, ``s = b2 * s + (1 - b2) * g²``, and
    ``p = p - lr * m' / (sqrt(s') + eps)`` with ``m' = m / (1 - b1 ** step)`` and
    ``s' = s / (1 - b2 ** step)``.

    Args:
        parameters: the `Value`s to train; None for an optimiser given to ``fit``.
        lr: the learning rate, from 0.
        betas: the shares ``(b1, b2)`` of the two running means that are kept,
            each from 0 to below 1.
        eps: keeps the divisor away from 0.
        weight_decay: this much times the parameter is added to its gradient.

    Raises:
        OptionError: the parameters cannot be trained, or a setting is out of range.

    Example:
        >>> w = Value(2.0)
        >>> optimizer = Adam([w], lr=0.1)
        >>> (w * w).backward()
        >>> optimizer.step()
        >>> round(w.data, 6)
        1.9

    Source:
        ``torch.optim.Adam``; D. Kingma and J. Ba, "Adam: a method for stochastic
        optimization", 2015.
    """

    settings = ("lr", "betas", "eps", "weight_decay")
    start = (0.0, 0.0)

    def __init__(
        self,
        parameters: Iterable[Value] | None = None,
        lr: float = 1e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0.0,
    ) -> None:
        super().__init__(parameters, lr)
        try:
            first, second = betas
        except (TypeError, ValueError):
            raise OptionError(
                f"betas must be a pair of numbers; got {describe(betas)}. "
                "Write, for example, betas=(0.9, 0.999)."
            ) from None
        self.betas = (
            real("betas[0]", first, least=0.0, below=1.0, example="0.9"),
            real("betas[1]", second, least=0.0, below=1.0, example="0.999"),
        )
        self.eps = real("eps", eps, least=0.0, example="1e-8")
        self.weight_decay = real("weight_decay", weight_decay, least=0.0, example="0.01")

    def update(
        self, parameter: Any, gradient: Any, state: State, step: Any, lr: Any
    ) -> tuple[Any, State]:
        if self.weight_decay:
            gradient = gradient + self.weight_decay * parameter
        return self._adapted(parameter, gradient, state, step, lr)

    def _adapted(
        self, parameter: Any, gradient: Any, state: State, step: Any, lr: Any
    ) -> tuple[Any, State]:
        """The rule after weight decay, which is where Adam and AdamW differ."""
        mean, square = state
        b1, b2 = self.betas
        mean = b1 * mean + (1.0 - b1) * gradient
        square = b2 * square + (1.0 - b2) * (gradient * gradient)
        rate = lr / (1.0 - b1**step)
        root = sqrt(square) / sqrt(1.0 - b2**step)
        return parameter - rate * div(mean, root + self.eps), (mean, square)


class AdamW(Adam):
    """Adam whose weight decay shrinks the parameter itself, apart from the gradient.

    First ``p = p * (1 - lr * weight_decay)``, then a step of `Adam`.

    Args:
        parameters: the `Value`s to train; None for an optimiser given to ``fit``.
        lr: the learning rate, from 0.
        betas: the shares of the two running means that are kept, each from 0 to
            below 1.
        eps: keeps the divisor away from 0.
        weight_decay: the share by which a parameter shrinks, per unit of ``lr``.

    Raises:
        OptionError: the parameters cannot be trained, or a setting is out of range.

    Example:
        >>> w = Value(2.0)
        >>> optimizer = AdamW([w], lr=0.1)
        >>> (w * w).backward()
        >>> optimizer.step()
        >>> round(w.data, 6)
        1.898

    Source:
        ``torch.optim.AdamW``; I. Loshchilov and F. Hutter, "Decoupled weight
        decay regularization", 2019.
    """

    def __init__(
        self,
        parameters: Iterable[Value] | None = None,
        lr: float = 1e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 1e-2,
    ) -> None:
        super().__init__(parameters, lr, betas, eps, weight_decay)

    def update(
        self, parameter: Any, gradient: Any, state: State, step: Any, lr: Any
    ) -> tuple[Any, State]:
        parameter = parameter * (1.0 - lr * self.weight_decay)
        return self._adapted(parameter, gradient, state, step, lr)


def _flag(name: str, given: Any) -> bool:
    if isinstance(given, bool):
        return given
    raise OptionError(f"{name} must be True or False; got {describe(given)}.")


OPTIMIZERS: Final[dict[str, type[Optimizer]]] = {
    "sgd": SGD,
    "rmsprop": RMSprop,
    "adam": Adam,
    "adamw": AdamW,
}
"""The optimisers that ``fit`` knows by name."""
