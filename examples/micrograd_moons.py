"""micrograd's demo: two moons, a network 2-16-16-1, hinge loss plus L2.

Only the imports differ from code that runs on micrograd itself.  Run it with

    python examples/micrograd_moons.py

(100 steps of some 75,000 operations each: about ten seconds.)  Source: micrograd's
notebook demo.ipynb.
"""

import argparse
import random

from chainrule.data import moons
from chainrule.interop.micrograd import MLP, Value


def loss(model, X, y):
    """The loss of the whole data set, and the share of points on the right side."""
    inputs = [list(map(Value, row)) for row in X]
    scores = list(map(model, inputs))

    # the margin that support vector machines ask for
    losses = [(1 + -yi * score).relu() for yi, score in zip(y, scores, strict=True)]
    data_loss = sum(losses) * (1.0 / len(losses))

    # L2 regularisation
    alpha = 1e-4
    reg_loss = alpha * sum(p * p for p in model.parameters())

    right = [(yi > 0) == (score.data > 0) for yi, score in zip(y, scores, strict=True)]
    return data_loss + reg_loss, sum(right) / len(right)


def train(steps, seed=1337, report=lambda line: None):
    """Train a new network; the accuracy before the last step."""
    random.seed(seed)
    X, y = moons(100, noise=0.1)
    y = [2 * label - 1 for label in y]  # -1 and +1
    model = MLP(2, [16, 16, 1])
    report(f"{model.__class__.__name__} with {len(model.parameters())} parameters")
    accuracy = 0.0
    for k in range(steps):
        total, accuracy = loss(model, X, y)
        model.zero_grad()
        total.backward()
        learning_rate = 1.0 - 0.9 * k / 100
        for p in model.parameters():
            p.data -= learning_rate * p.grad
        if k % 10 == 0 or k == steps - 1:
            report(f"step {k} loss {total.data:.6f}, accuracy {accuracy * 100:g}%")
    return accuracy


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--steps", type=int, default=100)
    parser.add_argument("--seed", type=int, default=1337)
    options = parser.parse_args()
    train(options.steps, options.seed, print)
