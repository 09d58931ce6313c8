"""Networks to PyTorch modules and back."""

from __future__ import annotations

from typing import Any, Final

from chainrule.errors import OptionError, describe
from chainrule.interop.extras import needed
from chainrule.interop.matrices import LINEAR, matrices_of
from chainrule.nn.layers import Network
from chainrule.operation import as_float

__all__ = ["ACTIVATIONS", "from_module", "to_module"]

ACTIVATIONS: Final[dict[str, tuple[str, dict[str, Any]]]] = {
    "sigmoid": ("Sigmoid", {}),
    "tanh": ("Tanh", {}),
    "relu": ("ReLU", {}),
    "leaky_relu": ("LeakyReLU", {"negative_slope": 0.01}),
    "elu": ("ELU", {"alpha": 1.0}),
    "silu": ("SiLU", {}),
    "gelu": ("GELU", {"approximate": "none"}),
    # From its threshold on, PyTorch's softplus is the identity, 2e-9 off at the usual 20.
    # At 700 there is nothing left to round.
    "softplus": ("Softplus", {"beta": 1.0, "threshold": 700.0}),
    "log_sigmoid": ("LogSigmoid", {}),
}
"""The class in ``torch.nn`` of each activation, and the settings with which it is ours."""


def to_module(net: Network) -> Any:
    """A PyTorch module that computes what a network computes.

    Args:
        net: the network; its layers must each have one activation, among `ACTIVATIONS`.

    Returns:
        A ``torch.nn.Sequential`` of ``Linear`` and activations, in float64.  It takes
        a tensor of shape (rows, inputs) and gives one of shape (rows, outputs).  Its
        weights are copies: training it leaves ``net`` alone.

    Raises:
        MissingExtraError: PyTorch is not installed.
        OptionError: ``net`` is no network, or has an activation that ``torch.nn`` lacks.
    """
    torch = needed("torch", "to_module()", "torch")
    modules: list[Any] = []
    for weights, biases, activation in matrices_of(net):
        linear = torch.nn.Linear(len(weights[0]), len(weights), dtype=torch.float64)
        with torch.no_grad():
            linear.weight.copy_(torch.tensor(weights, dtype=torch.float64))
            linear.bias.copy_(torch.tensor(biases, dtype=torch.float64))
        modules.append(linear)
        if activation in LINEAR:
            continue
        if activation not in ACTIVATIONS:
            raise OptionError(
                f"torch.nn has no module for the activation {describe(activation)}. It has: "
                f"linear, {', '.join(ACTIVATIONS)}."
            )
        name, settings = ACTIVATIONS[activation]
        modules.append(getattr(torch.nn, name)(**settings))
    return torch.nn.Sequential(*modules)


def from_module(module: Any) -> Network:
    """The network that computes what a PyTorch module computes.

    Args:
        module: a ``torch.nn.Sequential`` of ``Linear`` and activations, possibly one
            inside the other; or a single ``Linear``.  Of any floating-point type and on
            any device; its parameters are copied.  A ``Linear`` without bias becomes
            neurons with the bias 0.

    Returns:
        A `Network` with the same weights.

    Raises:
        MissingExtraError: PyTorch is not installed.
        OptionError: the module holds something else; the message names it.
    """
    torch = needed("torch", "from_module()", "torch")
    if not isinstance(module, torch.nn.Module):
        raise OptionError(
            f"from_module reads a torch.nn.Module; got {describe(module)}. To go the other way "
            "use to_module(net)."
        )
    found: list[tuple[Any, str]] = []  # each Linear, and the activation behind it
    for name, part in _parts(torch, module, ""):
        if isinstance(part, torch.nn.Linear):
            found.append((part, "linear"))
        elif not found:
            raise OptionError(
                f"{name} is {type(part).__name__}, and no Linear stands before it: a network "
                "here begins with weights. Begin the module with a Linear."
            )
        elif found[-1][1] != "linear":
            raise OptionError(
                f"{name} is a second activation behind the same Linear, {type(part).__name__} "
                f"after {found[-1][1]}: a neuron here has one. Take one of them out."
            )
        else:
            found[-1] = (found[-1][0], _activation(name, part))
    if not found:
        raise OptionError("the module has no Linear, so there are no weights to read.")
    net = Network([found[0][0].in_features, *[linear.out_features for linear, _ in found]])
    width = net.sizes[0]
    for layer, (linear, activation) in zip(net.layers, found, strict=True):
        if linear.in_features != width:
            raise OptionError(
                f"a Linear takes {linear.in_features} inputs where the one before gives {width} "
                "outputs: the module could not run. Correct one of the two."
            )
        width = linear.out_features
        biases = [0.0] * width if linear.bias is None else linear.bias.tolist()
        for neuron, weights, bias in zip(
            layer.neurons, linear.weight.tolist(), biases, strict=True
        ):
            neuron.activation = activation
            neuron.bias.data = bias
            for parameter, weight in zip(neuron.weights, weights, strict=True):
                parameter.data = weight
    return net


def _parts(torch: Any, module: Any, name: str) -> list[tuple[str, Any]]:
    """The modules inside, in order, with their names; what does nothing is left out."""
    if isinstance(module, torch.nn.Sequential):
        return [
            found
            for key, part in module.named_children()
            for found in _parts(torch, part, f"{name}.{key}" if name else key)
        ]
    if isinstance(module, torch.nn.Identity):
        return []
    known = [getattr(torch.nn, kind) for kind, _ in ACTIVATIONS.values()]
    if type(module) not in [torch.nn.Linear, *known]:
        raise OptionError(
            f"{name or 'the module'} is {type(module).__name__}, which no layer of a Network is. "
            "from_module reads a Sequential of Linear and of: "
            f"{', '.join(kind for kind, _ in ACTIVATIONS.values())}."
        )
    return [(name, module)]


def _activation(name: str, part: Any) -> str:
    """The name of an activation, whose settings must be ours."""
    for activation, (kind, settings) in ACTIVATIONS.items():
        if type(part).__name__ != kind:
            continue
        for setting, value in settings.items():
            given = getattr(part, setting)
            rounding = setting == "threshold" and (as_float(given) or 0.0) >= 20.0  # 2e-9 at most
            if given != value and not rounding:
                raise OptionError(
                    f"{name} is {kind} with {setting}={given!r}; the activation {activation} here "
                    f"has {setting}={value!r}. Give it that, or train it anew."
                )
        return activation
    raise AssertionError(kind)
