"""An engine whose nodes keep their operands with the local derivatives.

Every operation has a rule of its own; the backward pass is one loop.
"""

from __future__ import annotations

import math
import random
from typing import Any

__all__ = ["MLP", "Layer", "Module", "Neuron", "Value"]


class Value:
    """A number with a gradient."""

    def __init__(self, data: float, _children: tuple[tuple[Value, float], ...] = ()) -> None:
        self.data = float(data)
        self.grad = 0.0
        self._children = _children

    def __add__(self, other: Any) -> Value:
        other = other if isinstance(other, Value) else Value(other)
        x, y = self.data, other.data
        return Value(x + y, ((self, 1.0), (other, 1.0)))

    def __sub__(self, other: Any) -> Value:
        other = other if isinstance(other, Value) else Value(other)
        x, y = self.data, other.data
        return Value(x - y, ((self, 1.0), (other, -1.0)))

    def __mul__(self, other: Any) -> Value:
        other = other if isinstance(other, Value) else Value(other)
        x, y = self.data, other.data
        return Value(x * y, ((self, y), (other, x)))

    def __truediv__(self, other: Any) -> Value:
        other = other if isinstance(other, Value) else Value(other)
        x, y = self.data, other.data
        if y == 0:
            return Value(math.inf, ((self, math.inf), (other, -math.inf)))
        return Value(x / y, ((self, 1 / y), (other, -x / y**2)))

    def __pow__(self, other: float) -> Value:
        if isinstance(other, Value):
            return NotImplemented
        x, n = self.data, other
        return Value(_power(x, n), ((self, _slope(x, n)),))

    def __neg__(self) -> Value:
        x = self.data
        return Value(-x, ((self, -1.0),))

    def __radd__(self, other: Any) -> Value:
        return Value(other) + self

    def __rsub__(self, other: Any) -> Value:
        return Value(other) - self

    def __rmul__(self, other: Any) -> Value:
        return Value(other) * self

    def __rtruediv__(self, other: Any) -> Value:
        return Value(other) / self

    def __lt__(self, other: Any) -> bool:
        return bool(self.data < getattr(other, "data", other))

    def exp(self) -> Value:
        x = self.data
        e = _exp(x)
        return Value(e, ((self, e),))

    def log(self) -> Value:
        x = self.data
        return Value(math.log(x), ((self, 1 / x),))

    def sqrt(self) -> Value:
        x = self.data
        r = math.sqrt(x)
        return Value(r, ((self, 0.5 / r),))

    def sin(self) -> Value:
        x = self.data
        return Value(math.sin(x), ((self, math.cos(x)),))

    def cos(self) -> Value:
        x = self.data
        return Value(math.cos(x), ((self, -math.sin(x)),))

    def tanh(self) -> Value:
        x = self.data
        t = math.tanh(x)
        return Value(t, ((self, (1 - t**2)),))

    def softplus(self) -> Value:
        x = self.data
        return Value(max(x, 0.0) + math.log1p(math.exp(-abs(x))), ((self, _sigmoid(x)),))

    def sigmoid(self) -> Value:
        x = self.data
        s = _sigmoid(x)
        return Value(s, ((self, s * (1 - s)),))

    def relu(self) -> Value:
        x = self.data
        return Value(x if x > 0 else 0.0, ((self, (1.0 if x > 0 else 0.0)),))

    def leaky_relu(self) -> Value:
        x = self.data
        return Value(x if x > 0 else 0.01 * x, ((self, (1.0 if x > 0 else 0.01)),))

    def gelu(self) -> Value:
        x = self.data
        c = 0.5 * (1 + math.erf(x / math.sqrt(2)))
        return Value(x * c, ((self, (c + x * math.exp(-x * x / 2) / math.sqrt(2 * math.pi))),))

    def backward(self) -> None:
        """Apply the chain rule to every node below this one."""
        order: list[Value] = []
        seen = set()
        stack = [(self, False)]
        while stack:
            node, done = stack.pop()
            if done:
                order.append(node)
            elif node not in seen:
                seen.add(node)
                stack.append((node, True))
                for child, _ in reversed(node._children):
                    stack.append((child, False))
        for node in order:
            if node._children:
                node.grad = 0.0
        self.grad = 1.0 if self._children else self.grad + 1.0
        for node in reversed(order):
            for child, local in node._children:
                child.grad += local * node.grad


def _exp(x: float) -> float:
    try:
        return math.exp(x)
    except OverflowError:
        return math.inf


def _sigmoid(x: float) -> float:
    if x >= 0:
        return 1 / (1 + math.exp(-x))
    return math.exp(x) / (1 + math.exp(x))


def _power(x: float, n: float) -> float:
    if n == 0:
        return 1.0
    if x == 0 and n < 0:
        return math.inf
    y: float = x**n
    return y


def _slope(x: float, n: float) -> float:
    return n * _power(x, n - 1) if n else 0.0


class Module:
    """Something with parameters."""

    def zero_grad(self) -> None:
        for p in self.parameters():
            p.grad = 0.0

    def parameters(self) -> list[Value]:
        return []


class Neuron(Module):
    """A weighted sum through an activation."""

    def __init__(self, nin: int, nonlin: bool = True) -> None:
        self.w = [Value(random.uniform(-1, 1)) for _ in range(nin)]
        self.b = Value(0.1)
        self.nonlin = nonlin

    def __call__(self, x: Any) -> Any:
        act = self.b
        for wi, xi in zip(self.w, x, strict=True):
            act = act + wi * xi
        return act.tanh() if self.nonlin else act

    def parameters(self) -> list[Value]:
        return [*self.w, self.b]


class Layer(Module):
    """Neurons side by side."""

    def __init__(self, nin: int, nout: int, nonlin: bool = True) -> None:
        self.neurons = [Neuron(nin, nonlin) for _ in range(nout)]

    def __call__(self, x: Any) -> Any:
        out = [n(x) for n in self.neurons]
        return out[0] if len(out) == 1 else out

    def parameters(self) -> list[Value]:
        return [p for n in self.neurons for p in n.parameters()]


class MLP(Module):
    """Layers one after the other."""

    def __init__(self, nin: int, nouts: list[int]) -> None:
        sizes = [nin, *nouts]
        last = len(nouts) - 1
        self.layers = [Layer(sizes[i], sizes[i + 1], i != last) for i in range(len(nouts))]

    def __call__(self, x: Any) -> Any:
        for layer in self.layers:
            x = layer(x)
        return x

    def parameters(self) -> list[Value]:
        return [p for layer in self.layers for p in layer.parameters()]
