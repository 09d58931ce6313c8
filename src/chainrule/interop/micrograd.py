"""The names of micrograd 0.1.0, so that code written for it runs here.

Change ``from micrograd.engine import ...`` and ``from micrograd.nn import ...`` to
``from chainrule.interop.micrograd import ...``, and nothing else.

`Value` is chainrule's own.  Its arguments ``children`` and ``op`` are ``_children`` and
``_op`` in micrograd, which matters only to code that gives them by name.  Where it
behaves differently, a fault was mended; the page ``docs/from-micrograd.md`` lists each.
The classes of networks are small shells with micrograd's signatures and attributes; they
draw their weights in micrograd's order, so that after ``random.seed(1337)`` a network here
is the network there.

Source: A. Karpathy, micrograd 0.1.0, 2020.
"""

from __future__ import annotations

import random
from collections.abc import Iterable, Sequence
from typing import Any

from chainrule.errors import OptionError, ShapeError, describe
from chainrule.nn.inputs import checked_row
from chainrule.options import whole
from chainrule.value import Value

__all__ = ["MLP", "Layer", "Module", "Neuron", "Value"]


class Module:
    """Anything with parameters: the base of micrograd's networks.

    Example:
        >>> Module().parameters()
        []
    """

    def zero_grad(self) -> None:
        """Set the gradient of every parameter to 0."""
        for p in self.parameters():
            p.grad = 0.0

    def parameters(self) -> list[Value]:
        """What training changes."""
        return []


class Neuron(Module):
    """A weighted sum of the inputs plus a bias, through ReLU.

    Args:
        nin: how many inputs it takes.
        nonlin: whether to apply ReLU; False for a linear neuron.

    Attributes:
        w: the weights, drawn from ``random.uniform(-1, 1)``.
        b: the bias, which starts at 0.
        nonlin: as given.

    Raises:
        OptionError: ``nin`` is no whole number from 1.

    Example:
        >>> neuron = Neuron(2, nonlin=False)
        >>> neuron
        LinearNeuron(2)
        >>> neuron.w = [Value(2.0), Value(-1.0)]
        >>> neuron([3.0, 4.0]).data
        2.0
    """

    def __init__(self, nin: int, nonlin: bool = True) -> None:
        nin = whole("nin", nin, least=1, example=2)
        self.w = [Value(random.uniform(-1, 1)) for _ in range(nin)]
        self.b = Value(0.0)
        self.nonlin = nonlin

    def __call__(self, x: Iterable[Any]) -> Any:
        """The neuron's output.

        Args:
            x: one number or `Value` per weight.

        Raises:
            ShapeError: the number of inputs is wrong.
        """
        inputs = checked_row(x)
        if len(inputs) != len(self.w):
            raise ShapeError(
                f"{self!r} takes {len(self.w)} inputs; got {len(inputs)}. "
                "Give one number per weight."
            )
        act: Any = self.b
        for wi, xi in zip(self.w, inputs, strict=True):
            act = act + wi * xi
        return act.relu() if self.nonlin else act

    def parameters(self) -> list[Value]:
        return [*self.w, self.b]

    def __repr__(self) -> str:
        return f"{'ReLU' if self.nonlin else 'Linear'}Neuron({len(self.w)})"


class Layer(Module):
    """Neurons side by side.

    Args:
        nin: how many inputs each neuron takes.
        nout: how many neurons there are.
        nonlin: as in `Neuron`.

    Attributes:
        neurons: the list of them.

    Raises:
        OptionError: a number is no whole number from 1.

    Example:
        >>> len(Layer(2, 3)([1.0, 2.0])), Layer(2, 1)
        (3, Layer of [ReLUNeuron(2)])
    """

    def __init__(self, nin: int, nout: int, nonlin: bool = True) -> None:
        nout = whole("nout", nout, least=1, example=3)
        self.neurons = [Neuron(nin, nonlin=nonlin) for _ in range(nout)]

    def __call__(self, x: Iterable[Any]) -> Any:
        """The output of each neuron: a list, or of a single neuron its `Value`."""
        inputs = checked_row(x)
        out = [neuron(inputs) for neuron in self.neurons]
        return out[0] if len(out) == 1 else out

    def parameters(self) -> list[Value]:
        return [p for neuron in self.neurons for p in neuron.parameters()]

    def __repr__(self) -> str:
        return f"Layer of [{', '.join(map(str, self.neurons))}]"


class MLP(Module):
    """A multilayer perceptron: ReLU inside, linear at the end.

    Args:
        nin: how many inputs it takes.
        nouts: the number of neurons of each layer.

    Attributes:
        layers: the list of them.

    Raises:
        OptionError: a number is no whole number from 1, or ``nouts`` no list of them.

    Example:
        >>> random.seed(1337)
        >>> model = MLP(2, [16, 16, 1])
        >>> len(model.parameters())
        337
        >>> round(model([1.0, -1.0]).data, 6)
        -0.924517
    """

    def __init__(self, nin: int, nouts: Sequence[int]) -> None:
        if isinstance(nouts, str) or not isinstance(nouts, Sequence) or not nouts:
            raise OptionError(
                "nouts must be a list with the number of neurons of each layer, such as "
                f"MLP(2, [16, 16, 1]); got {describe(nouts)}."
            )
        sizes = [nin, *nouts]
        last = len(nouts) - 1
        self.layers = [Layer(sizes[i], sizes[i + 1], nonlin=i != last) for i in range(len(nouts))]

    def __call__(self, x: Iterable[Any]) -> Any:
        """The network's output: a `Value`, or a list of them if it has several."""
        for layer in self.layers:
            x = layer(x)
        return x

    def parameters(self) -> list[Value]:
        return [p for layer in self.layers for p in layer.parameters()]

    def __repr__(self) -> str:
        return f"MLP of [{', '.join(map(str, self.layers))}]"
