"""How wrong a network is on one row: the number that training makes small.

A loss is a function ``(output, target)`` of what the network returned for one
row (one number, or a list of them) and of what it should have returned.  The
definitions are PyTorch's; where rounding allows a better digit than PyTorch's
formula has, the loss is written so that it has it.

Everything is spelled in operations of the table, so a loss works on floats, on
`Value`s and on whatever else operations apply to.  Checks look at plain numbers
and `Value`s only.

`LOSSES` lists them by name, with what training and the command line must know.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal, TypeAlias

from chainrule.errors import DataError, OptionError, ShapeError, describe
from chainrule.nn.inputs import is_sequence, listed
from chainrule.operation import Operand, number
from chainrule.ops import (
    less,
    less_equal,
    log,
    log1p,
    logsumexp,
    maximum,
    mean,
    pick,
    relu,
    softplus,
    where,
)
from chainrule.ops import sum as total_of
from chainrule.options import function, real
from chainrule.value import Value

__all__ = [
    "LOSSES",
    "Loss",
    "binary_cross_entropy",
    "binary_cross_entropy_with_logits",
    "cross_entropy",
    "hinge_loss",
    "l2_penalty",
    "loss_of",
    "mse_loss",
]


# --- checks ---------------------------------------------------------------------------------


def _one(x: Any, who: str, what: str) -> Any:
    """A single number: an operand as it is, anything else as a plain float."""
    if isinstance(x, Operand) or type(x) is float:
        return x
    if is_sequence(x):
        raise ShapeError(
            f"{who} needs one number as its {what}; got {describe(x)}. For a network with "
            "several outputs use mse_loss with as many targets, or cross_entropy with the "
            "index of the right class."
        )
    return number(x, f"the {what} of {who}")


def _known(x: Any) -> float | None:
    """The number, where there is one to check: plain, or inside a `Value`."""
    if isinstance(x, Operand):
        return float(x) if isinstance(x, Value) else None
    return float(x)


# --- losses ---------------------------------------------------------------------------------


def mse_loss(prediction: Any, target: Any) -> Any:
    """The squared error ``(prediction - target) ** 2``, or its mean over several outputs.

    Args:
        prediction: one number, or a list of them.
        target: as many numbers.

    Returns:
        One number: a float, or a `Value` where an argument holds one.

    Raises:
        ShapeError: there are not as many targets as predictions.

    Example:
        >>> mse_loss(0.5, 1.0), mse_loss([0.5, 1.0], [1.0, 1.0])
        (0.25, 0.125)
    """
    if not is_sequence(prediction):
        p = _one(prediction, "mse_loss", "prediction")
        return _square(p - _one(target, "mse_loss", "target"))
    predictions = listed(prediction)
    targets = listed(target) if is_sequence(target) else [target]
    if len(predictions) != len(targets) or not predictions:
        raise ShapeError(
            f"mse_loss needs as many targets as predictions; got {len(predictions)} "
            f"prediction(s) and {len(targets)} target(s). For the index of a class use "
            "cross_entropy, or write the class as a list such as [0, 1, 0]."
        )
    return mean(
        [
            _square(_one(p, "mse_loss", "prediction") - _one(t, "mse_loss", "target"))
            for p, t in zip(predictions, targets, strict=True)
        ]
    )


def _square(x: Any) -> Any:
    # A float to a power would raise OverflowError where the product is inf.
    return x * x if isinstance(x, float) else x**2.0


def binary_cross_entropy(prediction: Any, target: Any) -> Any:
    """``-(target * log(p) + (1 - target) * log(1 - p))`` of a probability ``p``.

    Each logarithm is at least -100, as in PyTorch's ``BCELoss``, so the loss is
    at most 100 and never infinite.  Its gradient is the derivative of just that:
    0 where a logarithm was cut off.  (PyTorch cuts the gradient elsewhere, at
    ``p * (1 - p) = 1e-12``; behind a sigmoid, which is flat there, the two
    make no difference to training.)

    A prediction that is certain and wrong no longer learns.
    `binary_cross_entropy_with_logits` has no such end.

    Args:
        prediction: a probability from 0 to 1, such as a sigmoid's output.
        target: 0 or 1, or a probability in between.

    Returns:
        One number: a float, or a `Value` where an argument is one.

    Raises:
        ShapeError: an argument is a list.
        DataError: an argument lies outside [0, 1].

    Example:
        >>> round(binary_cross_entropy(0.75, 1.0), 6), binary_cross_entropy(0.0, 1.0)
        (0.287682, 100.0)
    """
    who = "binary_cross_entropy"
    p, t = _one(prediction, who, "prediction"), _probability(target, who)
    known = _known(p)
    if known is not None and (known < 0.0 or known > 1.0):  # nan passes, and shows in the loss
        raise DataError(
            f"{who} needs a probability from 0 to 1; got {known}. Give the output layer a "
            "sigmoid, or use binary_cross_entropy_with_logits for any number."
        )
    if isinstance(t, float) and t in (0.0, 1.0):  # the usual case: the other term is 0
        return 0.0 - (_log_yes(p) if t == 1.0 else _log_no(p))  # a minus sign would give -0.0
    return -(t * _log_yes(p) + (1.0 - t) * _log_no(p))


_LOG_FLOOR: Final = -100.0
_SMALLEST: Final = math.exp(_LOG_FLOOR)


# An infinite logarithm must not even be computed: unused as it is, it would alarm whoever
# watches for infinities, and its slope times 0 would be nan.


def _log_yes(p: Any) -> Any:
    """The logarithm of ``p``, at least -100."""
    return log(maximum(p, _SMALLEST))


def _log_no(p: Any) -> Any:
    """The logarithm of ``1 - p``, at least -100, and exact for tiny ``p``."""
    certain = less_equal(1.0, p)
    return where(certain, _LOG_FLOOR, log1p(-where(certain, 0.5, p)))


def binary_cross_entropy_with_logits(logit: Any, target: Any) -> Any:
    """`binary_cross_entropy` of ``sigmoid(logit)``, exact and never saturated.

    Written as ``target * softplus(-logit) + (1 - target) * softplus(logit)``.  Its
    gradient is ``sigmoid(logit) - target``, however wrong the logit is.

    Args:
        logit: any number, such as the output of a linear neuron.
        target: 0 or 1, or a probability in between.

    Returns:
        One number: a float, or a `Value` where an argument is one.

    Raises:
        ShapeError: an argument is a list.
        DataError: the target lies outside [0, 1].

    Example:
        >>> round(binary_cross_entropy_with_logits(0.0, 1.0), 6)
        0.693147
        >>> binary_cross_entropy_with_logits(-1000.0, 1.0)
        1000.0
    """
    who = "binary_cross_entropy_with_logits"
    z, t = _one(logit, who, "logit"), _probability(target, who)
    return t * softplus(-z) + (1.0 - t) * softplus(z)


def _probability(target: Any, who: str) -> Any:
    t = _one(target, who, "target")
    known = _known(t)
    if known is not None and not 0.0 <= known <= 1.0:
        raise DataError(
            f"{who} needs a target from 0 to 1, usually 0 or 1; got {known}. For labels "
            "-1 and +1 use hinge_loss; for more than two classes use cross_entropy."
        )
    return t


def cross_entropy(logits: Any, target: Any) -> Any:
    """Minus the logarithm of the softmax share of the right class.

    Written as ``logsumexp`` of the differences to the right class's logit, which
    is exact even where the share is nearly 1 (Blanchard, Higham & Higham, 2021,
    on log-sum-exp).

    Args:
        logits: one number per class, at least two, such as a linear layer's outputs.
        target: the index of the right class, from 0.

    Returns:
        One number: a float, or a `Value` where a logit is one.

    Raises:
        ShapeError: there are fewer than two logits.
        DataError: the target is not the index of one of them.

    Example:
        >>> round(cross_entropy([0.0, 0.0], 1), 6)
        0.693147
        >>> cross_entropy([1000.0, 0.0], 1)
        1000.0
    """
    who = "cross_entropy"
    if not is_sequence(logits):
        raise ShapeError(
            f"{who} needs a list of logits, one per class; got {describe(logits)}. For a "
            "network with one output use binary_cross_entropy_with_logits."
        )
    vs = [_one(v, who, "logit") for v in listed(logits)]
    if len(vs) < 2:
        raise ShapeError(
            f"{who} needs the logits of at least two classes; got {len(vs)}. For a network "
            "with one output use binary_cross_entropy_with_logits."
        )
    t = _one(target, who, "target (the index of a class)")
    known = _known(t)
    if known is not None and not (0.0 <= known < len(vs) and known == math.floor(known)):
        raise DataError(
            f"{who} needs the index of a class, a whole number from 0 to {len(vs) - 1} for "
            f"{len(vs)} logits; got {known:g}. Number the classes from 0, and give the "
            "network one output per class."
        )
    if isinstance(t, Operand):
        chosen = pick(t, vs)
        return logsumexp([v - chosen for v in vs])
    # The right class's difference to itself is spelled 0: computed, it would add 1 - 1 to
    # the gradient of its logit and drown the small number that is there.
    at = int(t)
    return logsumexp([0.0 if i == at else v - vs[at] for i, v in enumerate(vs)])


def hinge_loss(score: Any, target: Any) -> Any:
    """``max(0, 1 - y * score)`` with ``y`` -1 or +1: 0 once right with a margin of 1.

    Source: Cortes & Vapnik, "Support-vector networks", 1995.

    Args:
        score: any number, such as the output of a linear neuron; its sign is the
            class.
        target: the class, either as 0 and 1 or as -1 and +1 (0 means -1).

    Returns:
        One number: a float, or a `Value` where an argument is one.

    Raises:
        ShapeError: an argument is a list.
        DataError: the target is no such label.

    Example:
        >>> hinge_loss(0.25, 1.0), hinge_loss(0.25, 0.0), hinge_loss(2.0, 1.0)
        (0.75, 1.25, 0.0)
    """
    s, t = _one(score, "hinge_loss", "score"), _one(target, "hinge_loss", "target")
    known = _known(t)
    if known is not None and known not in (-1.0, 0.0, 1.0):
        raise DataError(
            f"hinge_loss needs a label 0 or 1 (or -1 or +1); got {known}. For more than two "
            "classes use cross_entropy."
        )
    y = where(less(0.0, t), 1.0, -1.0)
    return relu(1.0 - y * s)


def l2_penalty(parameters: Iterable[Any], strength: float) -> Any:
    """``strength`` times the sum of the squares: added to a loss, it keeps weights small.

    Its gradient is ``2 * strength * p``.  An optimiser's ``weight_decay`` is that
    factor, so ``l2_penalty(..., 0.5 * weight_decay)`` does the same to plain SGD.

    Args:
        parameters: numbers or `Value`s, such as ``net.parameters()``.
        strength: a number of at least 0.

    Returns:
        One number; 0.0 for no parameters.

    Raises:
        OptionError: the strength is negative or not finite.

    Example:
        >>> l2_penalty([1.0, 2.0], 0.5)
        2.5
    """
    factor = real("strength", strength, least=0.0, example="0.001")
    return factor * total_of([p * p for p in parameters])


# --- losses by name ---------------------------------------------------------------------------

Output: TypeAlias = "float | Sequence[float]"


def _largest(output: Output) -> int:
    """The index of the largest; of equal ones the first."""
    if not isinstance(output, Sequence):
        raise ShapeError(f"several outputs are needed to pick a class; got {describe(output)}")
    return max(range(len(output)), key=output.__getitem__)


@dataclass(frozen=True)
class Loss:
    """A loss, and what a training loop must know of it.

    Attributes:
        name: as in ``fit(loss=name)``.
        function: ``(output, target) -> loss`` of one row.
        outputs: how many outputs of the network it takes: ``"one"``, ``"several"``
            or ``"any"``.
        output_activation: what the output layer should use; None if anything goes.
        threshold: above it a single output means class 1; None if outputs are not
            classes.  Of several outputs the largest gives the class.
        signed: whether -1 may stand for class 0 among the targets.

    Example:
        >>> LOSSES["hinge"].decide(-0.3)
        0
        >>> LOSSES["hinge"].accuracy([-0.3, 0.2], [-1.0, -1.0])
        0.5
    """

    name: str
    function: Callable[[Any, Any], Any]
    outputs: Literal["one", "several", "any"] = "any"
    output_activation: str | None = None
    threshold: float | None = None
    signed: bool = False

    def __call__(self, output: Any, target: Any) -> Any:
        return self.function(output, target)

    def check_outputs(self, n_outputs: int) -> None:
        """Refuse a network that does not fit.

        Args:
            n_outputs: how many outputs the network has.

        Raises:
            ShapeError: the loss needs one output and there are several, or the
                other way round.
        """
        if self.outputs == "one" and n_outputs != 1:
            raise ShapeError(
                f"the loss {self.name} needs a network with one output; this one has "
                f"{n_outputs}. For several classes use cross_entropy."
            )
        if self.outputs == "several" and n_outputs < 2:
            raise ShapeError(
                f"the loss {self.name} needs a network with one output per class, at least "
                f"two; this one has {n_outputs}. For two classes and one output use "
                "binary_cross_entropy_with_logits."
            )

    def decide(self, output: Output) -> int:
        """The class that an output of the network stands for.

        Args:
            output: one float, or several.

        Raises:
            OptionError: outputs are no classes with this loss.
        """
        if isinstance(output, Sequence) or self.outputs == "several":
            return _largest(output)
        if self.threshold is None:
            raise OptionError(f"with the loss {self.name} outputs do not stand for classes")
        return int(output > self.threshold)

    def classes(self, targets: Sequence[Any], n_outputs: int) -> list[int] | None:
        """The class that each target stands for.

        Args:
            targets: what the network should return for each row.
            n_outputs: how many outputs it has.

        Returns:
            Classes from 0; None if the targets are no classes, as in a regression.
        """
        if self.threshold is None:
            return None
        found = []
        for target in targets:
            expected = self._class_of(n_outputs, target)
            if expected is None:
                return None
            found.append(expected)
        return found

    def accuracy(self, outputs: Sequence[Output], targets: Sequence[Any]) -> float | None:
        """The share of rows whose class is right.

        Args:
            outputs: what the network returned for each row, as floats.
            targets: what it should have returned.

        Returns:
            A number from 0 to 1; None if the targets are no classes (as in a
            regression) or there are no rows.
        """
        if not len(targets):
            return None
        first = outputs[0]
        expected = self.classes(targets, len(first) if isinstance(first, Sequence) else 1)
        if expected is None:
            return None
        right = [self.decide(o) == c for o, c in zip(outputs, expected, strict=True)]
        return right.count(True) / len(right)

    def _class_of(self, n_outputs: int, target: Any) -> int | None:
        """The class that a target stands for: 0 or 1, an index, or a single 1 among 0s."""
        if is_sequence(target):
            marks = [float(t) for t in target]
            return marks.index(1.0) if sorted(marks) == [0.0] * (len(marks) - 1) + [1.0] else None
        label = float(target)
        if self.signed and label == -1.0:
            return 0
        classes = max(n_outputs, 2)
        return int(label) if label in range(classes) else None


LOSSES: Final[dict[str, Loss]] = {
    loss.name: loss
    for loss in (
        Loss("mse", mse_loss, threshold=0.5),
        Loss("binary_cross_entropy", binary_cross_entropy, "one", "sigmoid", 0.5),
        Loss(
            "binary_cross_entropy_with_logits",
            binary_cross_entropy_with_logits,
            "one",
            "linear",
            0.0,
        ),
        Loss("cross_entropy", cross_entropy, "several", "linear", 0.5),
        Loss("hinge", hinge_loss, "one", "linear", 0.0, signed=True),
    )
}
"""Every loss, by its name."""


def loss_of(loss: Any) -> Loss:
    """The loss of a name, or one made from a function of your own.

    Args:
        loss: a name from `LOSSES`, a `Loss`, or a function ``(output, target)``.

    Returns:
        The `Loss`.  One of the functions above brings what is known of it; of
        your own function nothing is known, and there will be no accuracy.

    Raises:
        OptionError: it is none of these.

    Example:
        >>> loss_of(hinge_loss).name
        'hinge'
    """
    if isinstance(loss, Loss):
        return loss
    if isinstance(loss, str):
        if loss in LOSSES:
            return LOSSES[loss]
    elif callable(loss):
        for known in LOSSES.values():
            if known.function is loss:
                return known
        function("loss needs a function (output, target) of one row", loss, 2)
        return Loss(getattr(loss, "__name__", type(loss).__name__), loss)
    raise OptionError(
        f"unknown loss {describe(loss)}; expected a function (output, target) -> loss or one "
        f"of: {', '.join(LOSSES)}"
    )
