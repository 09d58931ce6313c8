"""SciPy's minimisers with gradients and Hessian-vector products from chainrule.

A damped oscillation is fitted to 30 noisy points, with three methods: one uses the
gradient alone, two also the product of the Hessian with a vector, which `hvp` computes
without ever making the Hessian.  Run it with

    python examples/scipy_minimize.py

It needs SciPy.
"""

import math
import random

import numpy as np
from scipy.optimize import minimize

from chainrule import cos, exp, hvp, value_and_grad
from chainrule.ops import mean

RATE, PERIOD = 0.7, 3.0
METHODS = ("BFGS", "Newton-CG", "trust-ncg")

source = random.Random(0)
TIMES = [0.2 * k for k in range(30)]
POINTS = [
    2.0 * math.exp(-RATE * t) * math.cos(2 * math.pi * t / PERIOD) + source.gauss(0.0, 0.01)
    for t in TIMES
]


def loss(p):
    """The mean squared error of ``size * exp(-rate * t) * cos(frequency * t)``."""
    size, rate, frequency = p
    return mean(
        [
            (size * exp(-rate * t) * cos(frequency * t) - y) ** 2
            for t, y in zip(TIMES, POINTS, strict=True)
        ]
    )


def fit(method, start=(1.5, 0.5, 2.0)):
    """Minimise with one of SciPy's methods."""
    options = {} if method == "BFGS" else {"hessp": lambda p, v: hvp(loss, p, v)}
    return minimize(value_and_grad(loss), np.array(start), jac=True, method=method, **options)


def main():
    for method in METHODS:
        found = fit(method)
        norm = np.linalg.norm(found.jac)
        print(f"{method:12} gradient at the end {norm:.1e}, {found.nfev} evaluations")
    _, rate, frequency = found.x
    print(f"rate {rate:.2f}, period {2 * math.pi / frequency:.2f}")


if __name__ == "__main__":
    main()
