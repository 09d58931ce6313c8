"""`BackpropClassifier` next to scikit-learn's `MLPClassifier`: accuracy and time of ``fit``.

    python benchmarks/estimators.py [--quick]

Prints Markdown.  Both train the same architecture for the same number of epochs, in batches
of 200 with Adam at the same rate, on standardised columns, on one thread.  Needs
scikit-learn (``pip install 'chainrule[sklearn]'``).
"""

# A file of scikit-learn's own name would stand in its way: Python looks here first.

from __future__ import annotations

import argparse
import os
import sys
import warnings
from importlib.util import find_spec
from statistics import mean
from typing import Any

# Before NumPy is loaded: processor time would count the threads of BLAS one by one.
for library in ("OMP", "OPENBLAS", "MKL"):
    os.environ.setdefault(f"{library}_NUM_THREADS", "1")

from support.measuring import (  # noqa: E402
    duration,
    interleaved,
    markdown,
    median_ratio,
    surroundings,
    version_of,
)

LR = 0.001
PROBLEMS = [("digits", (32,)), ("digits", (100,)), ("breast cancer", (16,))]


def main() -> int:
    parser = argparse.ArgumentParser(description=str(__doc__).partition("\n")[0])
    parser.add_argument("--quick", action="store_true", help="measure less, for a first look")
    options = parser.parse_args()
    if find_spec("sklearn") is None:
        print("scikit-learn is not installed: pip install 'chainrule[sklearn]'")
        return 0
    epochs, seeds, rounds = (20, 1, 1) if options.quick else (200, 5, 3)
    print("## Estimators\n")
    about = {**surroundings(), "scikit-learn": version_of("scikit-learn")}
    print(", ".join(f"{name} {found}" for name, found in about.items()))
    print(f"\n{epochs} epochs; accuracy on a quarter of the rows set aside, mean of {seeds}\n")
    rows = [line(name, hidden, epochs, seeds, rounds) for name, hidden in PROBLEMS]
    header = ["data", "hidden", "MLPClassifier", "ours", "its time", "our time", "ours / its"]
    print(markdown(header, rows))
    return 0


def line(name: str, hidden: tuple[int, ...], epochs: int, seeds: int, rounds: int) -> list[str]:
    """Train both on one data set, and compare."""
    from sklearn.exceptions import ConvergenceWarning
    from sklearn.neural_network import MLPClassifier

    from chainrule.interop.sklearn import BackpropClassifier

    def theirs(seed: int) -> Any:
        return MLPClassifier(
            hidden,
            learning_rate_init=LR,
            alpha=0.0,
            max_iter=epochs,
            tol=0.0,
            n_iter_no_change=epochs + 1,
            random_state=seed,
        )

    def ours(seed: int) -> Any:
        return BackpropClassifier(hidden, lr=LR, epochs=epochs, random_state=seed)

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # the number of epochs is given
        scores = []
        for make in (theirs, ours):
            found = []
            for seed in range(seeds):
                X, X_test, y, y_test = split(name, seed)
                found.append(make(seed).fit(X, y).score(X_test, y_test))
            scores.append(mean(found))
        X, _, y, _ = split(name, 0)
        times = interleaved(
            [lambda: theirs(0).fit(X, y), lambda: ours(0).fit(X, y)], rounds, seconds=0.0
        )
    return [
        name,
        "-".join(map(str, hidden)),
        *[f"{score:.2%}" for score in scores],
        *[duration(sorted(column)[len(column) // 2]) for column in times],
        f"{median_ratio(times[1], times[0]):.2f} x",
    ]


def split(name: str, seed: int) -> Any:
    """Standardised rows for training and testing."""
    from sklearn.datasets import load_breast_cancer, load_digits
    from sklearn.model_selection import train_test_split
    from sklearn.preprocessing import StandardScaler

    load = load_digits if name == "digits" else load_breast_cancer
    X, y = load(return_X_y=True)
    X_train, X_test, y_train, y_test = train_test_split(X, y, random_state=seed, stratify=y)
    scaler = StandardScaler().fit(X_train)
    return scaler.transform(X_train), scaler.transform(X_test), y_train, y_test


if __name__ == "__main__":
    sys.exit(main())
