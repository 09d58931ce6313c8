"""An engine whose operations are classes with a forward and a backward method.

Negation has a rule; subtraction and division are made of other operations.
"""

from __future__ import annotations

import math
import random
from typing import Any

__all__ = ["MLP", "Layer", "Module", "Neuron", "Value"]


class Operation:
    """Remembers what its backward method needs."""

    parents: tuple[Value, ...] = ()
    x: float
    y: float

    def forward(self, *numbers: Any) -> float:
        """The result."""
        raise NotImplementedError

    def backward(self, grad: float) -> tuple[float, ...]:
        """What each operand receives of the upstream gradient."""
        raise NotImplementedError


class Add(Operation):
    """The sum of two."""

    def forward(self, x: float, y: float) -> float:
        return x + y

    def backward(self, grad: float) -> tuple[float, ...]:
        return (1.0 * grad, 1.0 * grad)


class Mul(Operation):
    """The product of two."""

    def forward(self, x: float, y: float) -> float:
        self.x, self.y = x, y
        return x * y

    def backward(self, grad: float) -> tuple[float, ...]:
        x, y = self.x, self.y
        return (y * grad, x * grad)


class Neg(Operation):
    """Minus."""

    def forward(self, x: float) -> float:
        return -x

    def backward(self, grad: float) -> tuple[float, ...]:
        return (-1.0 * grad,)


class Pow(Operation):
    """A power with a fixed exponent."""

    def __init__(self, n: float) -> None:
        self.n = n

    def forward(self, x: float) -> float:
        self.x = x
        return _power(x, self.n)

    def backward(self, grad: float) -> tuple[float, ...]:
        x, n = self.x, self.n
        return (_slope(x, n) * grad,)


class Exp(Operation):
    """The function exp."""

    def forward(self, x: float) -> float:
        self.x = x
        return _exp(x)

    def backward(self, grad: float) -> tuple[float, ...]:
        x = self.x
        e = _exp(x)
        return (e * grad,)


class Log(Operation):
    """The function log."""

    def forward(self, x: float) -> float:
        self.x = x
        return math.log(x)

    def backward(self, grad: float) -> tuple[float, ...]:
        x = self.x
        return (1 / x * grad,)


class Sqrt(Operation):
    """The function sqrt."""

    def forward(self, x: float) -> float:
        self.x = x
        return math.sqrt(x)

    def backward(self, grad: float) -> tuple[float, ...]:
        x = self.x
        r = math.sqrt(x)
        return (0.5 / r * grad,)


class Sin(Operation):
    """The function sin."""

    def forward(self, x: float) -> float:
        self.x = x
        return math.sin(x)

    def backward(self, grad: float) -> tuple[float, ...]:
        x = self.x
        return (math.cos(x) * grad,)


class Cos(Operation):
    """The function cos."""

    def forward(self, x: float) -> float:
        self.x = x
        return math.cos(x)

    def backward(self, grad: float) -> tuple[float, ...]:
        x = self.x
        return (-math.sin(x) * grad,)


class Tanh(Operation):
    """The function tanh."""

    def forward(self, x: float) -> float:
        self.x = x
        return math.tanh(x)

    def backward(self, grad: float) -> tuple[float, ...]:
        x = self.x
        t = math.tanh(x)
        return ((1 - t**2) * grad,)


class Softplus(Operation):
    """The function softplus."""

    def forward(self, x: float) -> float:
        self.x = x
        return max(x, 0.0) + math.log1p(math.exp(-abs(x)))

    def backward(self, grad: float) -> tuple[float, ...]:
        x = self.x
        return (_sigmoid(x) * grad,)


class Sigmoid(Operation):
    """The function sigmoid."""

    def forward(self, x: float) -> float:
        self.x = x
        return _sigmoid(x)

    def backward(self, grad: float) -> tuple[float, ...]:
        x = self.x
        s = _sigmoid(x)
        return (s * (1 - s) * grad,)


class Relu(Operation):
    """The function relu."""

    def forward(self, x: float) -> float:
        self.x = x
        return x if x > 0 else 0.0

    def backward(self, grad: float) -> tuple[float, ...]:
        x = self.x
        return ((1.0 if x > 0 else 0.0) * grad,)


class LeakyRelu(Operation):
    """The function leaky_relu."""

    def forward(self, x: float) -> float:
        self.x = x
        return x if x > 0 else 0.01 * x

    def backward(self, grad: float) -> tuple[float, ...]:
        x = self.x
        return ((1.0 if x > 0 else 0.01) * grad,)


class Gelu(Operation):
    """The function gelu."""

    def forward(self, x: float) -> float:
        self.x = x
        c = 0.5 * (1 + math.erf(x / math.sqrt(2)))
        return x * c

    def backward(self, grad: float) -> tuple[float, ...]:
        x = self.x
        c = 0.5 * (1 + math.erf(x / math.sqrt(2)))
        return ((c + x * math.exp(-x * x / 2) / math.sqrt(2 * math.pi)) * grad,)


class Value:
    """A number with a gradient."""

    def __init__(self, data: float, ctx: Operation | None = None) -> None:
        self.data = float(data)
        self.grad = 0.0
        self.ctx = ctx

    def __add__(self, other: Any) -> Value:
        return _apply(Add(), self, other)

    def __mul__(self, other: Any) -> Value:
        return _apply(Mul(), self, other)

    def __pow__(self, other: float) -> Value:
        if isinstance(other, Value):
            return NotImplemented
        return _apply(Pow(other), self)

    def __neg__(self) -> Any:
        return _apply(Neg(), self)

    def __sub__(self, other: Any) -> Any:
        return self + (-other)

    def __truediv__(self, other: Any) -> Any:
        other = other if isinstance(other, Value) else Value(other)
        return self * other**-1

    def __radd__(self, other: Any) -> Any:
        return Value(other) + self

    def __rsub__(self, other: Any) -> Any:
        return Value(other) - self

    def __rmul__(self, other: Any) -> Any:
        return Value(other) * self

    def __rtruediv__(self, other: Any) -> Any:
        return Value(other) / self

    def __lt__(self, other: Any) -> bool:
        return bool(self.data < getattr(other, "data", other))

    def exp(self) -> Value:
        return _apply(Exp(), self)

    def log(self) -> Value:
        return _apply(Log(), self)

    def sqrt(self) -> Value:
        return _apply(Sqrt(), self)

    def sin(self) -> Value:
        return _apply(Sin(), self)

    def cos(self) -> Value:
        return _apply(Cos(), self)

    def tanh(self) -> Value:
        return _apply(Tanh(), self)

    def softplus(self) -> Value:
        return _apply(Softplus(), self)

    def sigmoid(self) -> Value:
        return _apply(Sigmoid(), self)

    def relu(self) -> Value:
        return _apply(Relu(), self)

    def leaky_relu(self) -> Value:
        return _apply(LeakyRelu(), self)

    def gelu(self) -> Value:
        return _apply(Gelu(), self)

    def backward(self) -> None:
        """Apply the chain rule to every node below this one."""
        order: list[Value] = []
        seen: set[int] = set()
        stack = [(self, False)]
        while stack:
            node, done = stack.pop()
            if done:
                order.append(node)
            elif id(node) not in seen:
                seen.add(id(node))
                stack.append((node, True))
                if node.ctx is not None:
                    for parent in node.ctx.parents:
                        stack.append((parent, False))
        for node in order:
            if node.ctx is not None:
                node.grad = 0.0
        self.grad = 1.0 if self.ctx is not None else self.grad + 1.0
        for node in reversed(order):
            if node.ctx is not None:
                grads = node.ctx.backward(node.grad)
                for parent, grad in zip(node.ctx.parents, grads, strict=True):
                    parent.grad += grad


def _apply(operation: Operation, *operands: Any) -> Value:
    values = tuple([v if isinstance(v, Value) else Value(v) for v in operands])
    operation.parents = values
    return Value(operation.forward(*[v.data for v in values]), operation)


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
