"""An engine whose operations store closures: the style of micrograd.

Negation, subtraction and division are made of multiplication, addition and powers.
"""

from __future__ import annotations

import math
import random
from typing import Any

__all__ = ["MLP", "Layer", "Module", "Neuron", "Value"]


class Value:
    """A number with a gradient."""

    def __init__(self, data: float, _children: tuple[Value, ...] = (), _op: str = "") -> None:
        self.data = float(data)
        self.grad = 0.0
        self._backward: Any = lambda: None
        self._prev = _children
        self._op = _op

    def __add__(self, other: Any) -> Value:
        other = other if isinstance(other, Value) else Value(other)
        out = Value(self.data + other.data, (self, other), "+")

        def _backward() -> None:
            self.grad += 1.0 * out.grad
            other.grad += 1.0 * out.grad

        out._backward = _backward
        return out

    def __mul__(self, other: Any) -> Value:
        other = other if isinstance(other, Value) else Value(other)
        out = Value(self.data * other.data, (self, other), "*")
        x, y = self.data, other.data

        def _backward() -> None:
            self.grad += y * out.grad
            other.grad += x * out.grad

        out._backward = _backward
        return out

    def __pow__(self, other: float) -> Value:
        if isinstance(other, Value):
            return NotImplemented
        x, n = self.data, other
        out = Value(_power(x, n), (self,), "**")

        def _backward() -> None:
            self.grad += _slope(x, n) * out.grad

        out._backward = _backward
        return out

    def __neg__(self) -> Any:
        return self * -1

    def __radd__(self, other: Any) -> Any:
        return self + other

    def __sub__(self, other: Any) -> Any:
        return self + (-other)

    def __rsub__(self, other: Any) -> Any:
        return other + (-self)

    def __rmul__(self, other: Any) -> Any:
        return self * other

    def __truediv__(self, other: Any) -> Any:
        other = other if isinstance(other, Value) else Value(other)
        return self * other**-1

    def __rtruediv__(self, other: Any) -> Any:
        return other * self**-1

    def __lt__(self, other: Any) -> bool:
        return bool(self.data < getattr(other, "data", other))

    def exp(self) -> Value:
        x = self.data
        e = _exp(x)
        out = Value(e, (self,), "exp")

        def _backward() -> None:
            self.grad += e * out.grad

        out._backward = _backward
        return out

    def log(self) -> Value:
        x = self.data
        out = Value(math.log(x), (self,), "log")

        def _backward() -> None:
            self.grad += 1 / x * out.grad

        out._backward = _backward
        return out

    def sqrt(self) -> Value:
        x = self.data
        r = math.sqrt(x)
        out = Value(r, (self,), "sqrt")

        def _backward() -> None:
            self.grad += 0.5 / r * out.grad

        out._backward = _backward
        return out

    def sin(self) -> Value:
        x = self.data
        out = Value(math.sin(x), (self,), "sin")

        def _backward() -> None:
            self.grad += math.cos(x) * out.grad

        out._backward = _backward
        return out

    def cos(self) -> Value:
        x = self.data
        out = Value(math.cos(x), (self,), "cos")

        def _backward() -> None:
            self.grad += -math.sin(x) * out.grad

        out._backward = _backward
        return out

    def tanh(self) -> Value:
        x = self.data
        t = math.tanh(x)
        out = Value(t, (self,), "tanh")

        def _backward() -> None:
            self.grad += (1 - t**2) * out.grad

        out._backward = _backward
        return out

    def softplus(self) -> Value:
        x = self.data
        out = Value(max(x, 0.0) + math.log1p(math.exp(-abs(x))), (self,), "softplus")

        def _backward() -> None:
            self.grad += _sigmoid(x) * out.grad

        out._backward = _backward
        return out

    def sigmoid(self) -> Value:
        x = self.data
        s = _sigmoid(x)
        out = Value(s, (self,), "sigmoid")

        def _backward() -> None:
            self.grad += s * (1 - s) * out.grad

        out._backward = _backward
        return out

    def relu(self) -> Value:
        x = self.data
        out = Value(x if x > 0 else 0.0, (self,), "relu")

        def _backward() -> None:
            self.grad += (1.0 if x > 0 else 0.0) * out.grad

        out._backward = _backward
        return out

    def leaky_relu(self) -> Value:
        x = self.data
        out = Value(x if x > 0 else 0.01 * x, (self,), "leaky_relu")

        def _backward() -> None:
            self.grad += (1.0 if x > 0 else 0.01) * out.grad

        out._backward = _backward
        return out

    def gelu(self) -> Value:
        x = self.data
        c = 0.5 * (1 + math.erf(x / math.sqrt(2)))
        out = Value(x * c, (self,), "gelu")

        def _backward() -> None:
            self.grad += (c + x * math.exp(-x * x / 2) / math.sqrt(2 * math.pi)) * out.grad

        out._backward = _backward
        return out

    def backward(self) -> None:
        """Apply the chain rule to every node below this one."""
        topo: list[Value] = []
        visited = set()
        stack = [(self, False)]
        while stack:
            v, done = stack.pop()
            if done:
                topo.append(v)
            elif v not in visited:
                visited.add(v)
                stack.append((v, True))
                for child in v._prev:
                    stack.append((child, False))
        for v in topo:
            if v._prev:
                v.grad = 0.0
        self.grad = 1.0 if self._prev else self.grad + 1.0
        for v in reversed(topo):
            v._backward()


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
