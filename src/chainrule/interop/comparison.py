"""Training a network here and in PyTorch, and comparing every number on the way."""

from __future__ import annotations

import copy
import math
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Final

from chainrule.errors import OptionError, describe
from chainrule.interop.conversion import to_module
from chainrule.interop.extras import needed
from chainrule.nn.history import milestones
from chainrule.nn.layers import Network
from chainrule.nn.losses import LOSSES, loss_of
from chainrule.nn.optimizers import OPTIMIZERS, Optimizer
from chainrule.nn.rows import checked_rows, checked_targets
from chainrule.nn.training import DEFAULT_LR
from chainrule.ops import sum as total_of
from chainrule.options import choice, several, whole

__all__ = ["Comparison", "ParameterComparison", "compare"]

SHOWN: Final = 20
"""Parameters that a printed comparison lists."""


@dataclass(frozen=True)
class ParameterComparison:
    """One parameter after the last epoch, here and in PyTorch.

    Attributes:
        name: such as ``"layers.0.neurons.1.bias"``.
        data: its value here.
        torch_data: its value there.
        gradient: the derivative of the last epoch's loss by it, here.
        torch_gradient: the same, there.
        difference: the largest ``|gradient - torch_gradient|`` of all epochs.
    """

    name: str
    data: float
    torch_data: float
    gradient: float
    torch_gradient: float
    difference: float


@dataclass(frozen=True)
class Comparison:
    """What `compare` found; ``print(comparison)`` shows it.

    Attributes:
        losses: the loss of each epoch, here.
        torch_losses: the same, in PyTorch.
        differences: for each epoch the norm of the difference of the two gradients, by
            the norm of the gradient where that is above 1.
        parameters: the parameters, in the order of ``net.parameters()``.
        loss: the loss's name.
        optimizer: the optimiser and its settings.
        rows: how many rows were trained on.
        torch_version: of PyTorch.
    """

    losses: list[float]
    torch_losses: list[float]
    differences: list[float]
    parameters: list[ParameterComparison]
    loss: str
    optimizer: str
    rows: int
    torch_version: str

    @property
    def largest_difference(self) -> float:
        """The largest of ``differences``."""
        return _largest(self.differences)

    def to_dict(self) -> dict[str, Any]:
        """Everything as plain lists, numbers and strings, ready for ``json.dumps``."""
        return asdict(self)

    def __str__(self) -> str:
        epochs = [
            ("epoch", "loss here", "loss in PyTorch", "gradients differ by"),
            *[
                (
                    str(i),
                    f"{self.losses[i]:.15g}",
                    f"{self.torch_losses[i]:.15g}",
                    f"{self.differences[i]:.1e}",
                )
                for i in milestones(len(self.losses))
            ],
        ]
        listed = sorted(self.parameters, key=lambda p: p.difference, reverse=True)[:SHOWN]
        if len(self.parameters) <= SHOWN:
            listed = self.parameters
        parameters = [
            ("gradient of", "here", "in PyTorch", "largest difference"),
            *[
                (p.name, f"{p.gradient:.12g}", f"{p.torch_gradient:.12g}", f"{p.difference:.1e}")
                for p in listed
            ],
        ]
        hidden = len(self.parameters) - len(listed)
        rest = [f"... and {several(hidden, 'parameter')} that differ less"] if hidden else []
        last = len(self.losses) - 1
        return "\n".join(
            [
                f"{several(len(self.losses), 'epoch')} of {several(self.rows, 'row')}, "
                f"{self.loss}, {self.optimizer}; PyTorch {self.torch_version}, float64",
                "",
                *_table(epochs),
                "",
                f"In epoch {last}, and the largest difference of all epochs:",
                "",
                *_table(parameters, left=1),
                *rest,
                "",
                f"Largest difference of all gradients, in norm: {self.largest_difference:.1e}",
            ]
        )


def _table(lines: Sequence[tuple[str, ...]], left: int = 0) -> list[str]:
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    return [
        "  ".join(
            cell.ljust(width) if i < left else cell.rjust(width)
            for i, (cell, width) in enumerate(zip(line, widths, strict=True))
        ).rstrip()
        for line in lines
    ]


def _largest(numbers: list[float]) -> float:
    """The largest, where nan is larger than any number: it must not hide."""
    return max(numbers, key=lambda x: (math.isnan(x), x), default=0.0)


def compare(
    net: Network,
    X: Any,
    y: Any,
    *,
    loss: str = "mse",
    optimizer: str | Optimizer = "sgd",
    lr: float | None = None,
    epochs: int = 50,
    reduction: str = "mean",
) -> Comparison:
    """Train a network here and in PyTorch from the same start, and compare every number.

    Both sides take all rows in each update, in float64.  PyTorch runs its own losses,
    gradients and optimisers; here, the graph of `Value`s is built and walked.  The
    network given is left as it is.

    The two differ by rounding, as a sum of the same numbers in another order does.  What
    an optimiser divides by a gradient of almost 0 (Adam's first steps) enlarges that,
    and training that diverges enlarges it without limit.

    Args:
        net: the network to start from.
        X: the inputs: rows of finite numbers.
        y: a target per row.
        loss: the name of a loss in `chainrule.nn.LOSSES`.
        optimizer: ``"sgd"``, ``"rmsprop"``, ``"adam"``, ``"adamw"``, or an object such as
            ``SGD(lr=0.1, momentum=0.9)``.
        lr: the learning rate; None for the object's own, or for a name as in ``fit``.
        epochs: how many, from 1.
        reduction: ``"mean"`` or ``"sum"`` of the rows' losses.

    Returns:
        The `Comparison`.

    Raises:
        MissingExtraError: PyTorch is not installed.
        OptionError: a setting is unknown, or PyTorch has no such thing.
        DataError: a number is not finite, or a target does not suit the loss.
        ShapeError: rows and targets do not fit each other, the network or the loss.
    """
    torch = needed("torch", "compare()", "torch")
    module = to_module(net)
    measure = loss_of(loss)
    if measure.name not in LOSSES or LOSSES[measure.name] is not measure:
        raise OptionError(
            f"compare knows PyTorch's counterpart of these losses: {', '.join(LOSSES)}; "
            f"got {describe(loss)}, for which there is none."
        )
    epochs = whole("epochs", epochs, least=1, example=50)
    reduction = choice("reduction", reduction, ("mean", "sum"))
    rows = checked_rows(X, "X", net.sizes[0])
    targets = checked_targets(y, "y", len(rows))
    measure.check_outputs(net.sizes[-1])

    ours = copy.deepcopy(net)
    names = [name for name, _ in ours.named_parameters()]
    parameters = ours.parameters()
    stepper = _optimizer(optimizer, lr).bound_to(parameters)
    settings = {name: getattr(stepper, name) for name in stepper.settings}
    torch_stepper = getattr(torch.optim, type(stepper).__name__)(module.parameters(), **settings)
    inputs = torch.tensor(rows, dtype=torch.float64)
    wanted = torch.tensor(targets, dtype=torch.float64)
    torch_loss = _torch_loss(torch, measure.name, reduction)

    losses, torch_losses, differences = [], [], []
    worst = [0.0] * len(parameters)
    for _ in range(epochs):
        each = [measure(ours(row), target) for row, target in zip(rows, targets, strict=True)]
        total: Any = total_of(each)
        if reduction == "mean":
            total = total / len(each)
        stepper.zero_grad()
        total.backward()
        torch_stepper.zero_grad()
        torch_total = torch_loss(module(inputs), wanted)
        torch_total.backward()
        gradient = [p.grad for p in parameters]
        torch_gradient = _in_our_order(module, lambda tensor: tensor.grad.tolist())
        losses.append(total.data)
        torch_losses.append(torch_total.item())
        apart = [abs(g - t) for g, t in zip(gradient, torch_gradient, strict=True)]
        differences.append(math.hypot(*apart) / max(1.0, math.hypot(*gradient)))
        worst = [_largest([before, now]) for before, now in zip(worst, apart, strict=True)]
        stepper.step()
        torch_stepper.step()
    torch_data = _in_our_order(module, lambda tensor: tensor.tolist())
    return Comparison(
        losses=losses,
        torch_losses=torch_losses,
        differences=differences,
        parameters=[
            ParameterComparison(*found)
            for found in zip(
                names,
                [p.data for p in parameters],
                torch_data,
                gradient,
                torch_gradient,
                worst,
                strict=True,
            )
        ],
        loss=measure.name,
        optimizer=repr(stepper),
        rows=len(rows),
        torch_version=str(torch.__version__),
    )


def _optimizer(given: Any, lr: float | None) -> Optimizer:
    """An optimiser without parameters, of a kind that PyTorch has."""
    if isinstance(given, Optimizer):
        if type(given) not in OPTIMIZERS.values():
            raise OptionError(
                f"torch.optim has no counterpart of {describe(given)}. Compare with one of: "
                f"{', '.join(kind.__name__ for kind in OPTIMIZERS.values())}."
            )
        made = copy.copy(given)
        if lr is not None:
            settings = {name: getattr(given, name) for name in given.settings}
            made = type(given)(**{**settings, "lr": lr})
        return made
    name = choice("optimizer", given, OPTIMIZERS, "an object such as SGD(lr=0.1, momentum=0.9)")
    return OPTIMIZERS[name](lr=DEFAULT_LR[name] if lr is None else lr)


def _torch_loss(torch: Any, name: str, reduction: str) -> Callable[[Any, Any], Any]:
    """PyTorch's own loss of outputs (rows, outputs) and targets.

    It has none for hinge, which is spelled here in its operations.
    """
    functional = torch.nn.functional

    def hinge(scores: Any, targets: Any, reduction: str) -> Any:
        signs = torch.where(targets > 0, 1.0, -1.0)
        return getattr(torch.relu(1.0 - signs * scores), reduction)()

    def squares(outputs: Any, targets: Any, reduction: str) -> Any:
        found = functional.mse_loss(outputs, targets, reduction=reduction)
        # Of several outputs a row's loss is the mean.
        return found / outputs.shape[1] if reduction == "sum" else found

    def classes(logits: Any, targets: Any, reduction: str) -> Any:
        return functional.cross_entropy(logits, targets.long(), reduction=reduction)

    if name == "cross_entropy":
        return lambda outputs, targets: classes(outputs, targets, reduction)
    found = {
        "mse": squares,
        "binary_cross_entropy": functional.binary_cross_entropy,
        "binary_cross_entropy_with_logits": functional.binary_cross_entropy_with_logits,
        "hinge": hinge,
    }[name]
    return lambda outputs, targets: found(
        outputs, targets.reshape(outputs.shape), reduction=reduction
    )


def _in_our_order(module: Any, read: Callable[[Any], Any]) -> list[float]:
    """The numbers of a module's parameters, neuron by neuron: its weights, then its bias."""
    tensors = [read(tensor) for tensor in module.parameters()]
    return [
        number
        for weights, biases in zip(tensors[::2], tensors[1::2], strict=True)
        for row, bias in zip(weights, biases, strict=True)
        for number in [*row, bias]
    ]
