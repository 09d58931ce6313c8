"""Checks of what a network starts from: its loss, its inputs, its weights.

Each looks at a network at work and gives its finding, or None.
"""

from __future__ import annotations

import math
from typing import Final

import numpy as np

from chainrule.diagnosis.report import Finding
from chainrule.nn.inspection import Inspection, LayerInspection

__all__ = ["mismatch", "symmetric", "unscaled"]

LARGE: Final = 5.0
"""Inputs, and sums of the first layer, whose root mean square is above it are large."""

SMALL: Final = 0.02
"""The same, below which inputs and sums are small."""

UNEVEN: Final = 100.0
"""How much more one input may weigh in the first layer's sums than another."""


def mismatch(seen: Inspection) -> Finding | None:
    """An output layer that cannot give what the loss, or the targets, ask for."""
    if not seen.targets:
        return None
    last = seen.layers[-1]
    expected = seen.loss.output_activation
    if expected == "sigmoid":
        return _no_probability(seen, last)
    if expected == "linear":
        return _no_logit(seen, last)
    return _out_of_reach(seen, last)


def _no_probability(seen: Inspection, last: LayerInspection) -> Finding | None:
    (shape,) = last.shapes
    if shape.low >= 0.0 and shape.high <= 1.0:
        return None
    outputs = last.outputs[:, 0]
    return Finding(
        "loss and output activation do not match",
        (last.name,),
        f"the loss {seen.loss.name} takes probabilities from 0 to 1; the output layer is "
        f"{shape.name!r}, whose outputs on these rows go from {outputs.min():.3g} to "
        f"{outputs.max():.3g}.",
        "the logarithm of a number that is no probability is undefined or pinned to its end, "
        "and so is the gradient.",
        (
            "Keep a linear output layer and use loss='binary_cross_entropy_with_logits', "
            "which is also exact for certain answers.",
            "Or give the output layer a sigmoid: output_activation='sigmoid'.",
        ),
    )


def _no_logit(seen: Inspection, last: LayerInspection) -> Finding | None:
    wrong = [s for s in last.shapes if s.kind in ("bounded", "one-sided")]
    if not wrong:
        return None
    shape = wrong[0]
    several_outputs = seen.loss.outputs == "several"
    if shape.kind == "bounded":
        reach = f"lie between {shape.low:.3g} and {shape.high:.3g}"
        limit = "so the loss can never become small, and saturated outputs stop learning"
    else:
        reach = "are flat on one side"
        limit = "so rows on that side have no gradient, and stay wrong"
    other = "binary_cross_entropy" if shape.name == "sigmoid" and not several_outputs else ""
    return Finding(
        "loss and output activation do not match",
        (last.name,),
        f"the loss {seen.loss.name} takes any number as a score; the output layer is "
        f"{shape.name!r}, whose outputs {reach}.",
        f"the loss brings its own {'softmax' if several_outputs else 'limit'}, and expects "
        f"scores without bounds; {limit}.",
        (
            "Make the output layer linear: output_activation='linear'.",
            *([f"Or keep the sigmoid and use loss='{other}'."] if other else []),
        ),
    )


def _out_of_reach(seen: Inspection, last: LayerInspection) -> Finding | None:
    rows = seen.target_rows
    if len(rows[0]) != len(last.shapes):
        return None  # a loss of one's own, whose targets are something else
    slack = 0.01
    missed: dict[int, list[float]] = {}
    for k, shape in enumerate(last.shapes):
        if shape.kind in ("bounded", "one-sided"):
            low = shape.low - slack if shape.low > -50.0 else -math.inf
            high = shape.high + slack if shape.high < 50.0 else math.inf
            out = [row[k] for row in rows if not low <= row[k] <= high]
            if out:
                missed[k] = out
    if not missed:
        return None
    k, out = next(iter(missed.items()))
    shape = last.shapes[k]
    end = f"{shape.high:.3g}" if shape.high < 50.0 else "any size"
    remedies = ["Make the output layer linear: output_activation='linear'."]
    if shape.name == "sigmoid" and {t for row in rows for t in row} <= {-1.0, 1.0}:
        remedies.insert(0, "Write the classes as 0 and 1, which a sigmoid reaches.")
    remedies.append(f"Or bring the targets into the range of {shape.name!r}.")
    return Finding(
        "loss and output activation do not match",
        (last.name,),
        f"{len(out)} of {len(rows)} targets cannot be reached, such as {out[0]:g}: the outputs "
        f"of {shape.name!r} go from {shape.low:.3g} to {end}.",
        "the output is driven to the end of its range, where the activation is flat and the "
        "gradient ends.",
        tuple(remedies),
    )


# --- inputs and start -----------------------------------------------------------------------------


def unscaled(seen: Inspection, names: list[str] | None = None) -> Finding | None:
    """Inputs whose size makes the first layer's sums far too large, too small, or uneven."""
    first = seen.layers[0]
    X = np.array(seen.rows)
    with np.errstate(all="ignore"):
        sizes = np.sqrt((X**2).mean(axis=0))
        spreads = X.std(axis=0)
        sums = float(np.sqrt((first.sums**2).mean()))
        weights = np.sqrt((first.weights**2).mean(axis=0))
        # What an input contributes: a first layer that makes up for the size of its
        # inputs, as one trained on standardised columns does, is as good as scaled inputs.
        parts = np.where(spreads > 0.0, spreads * weights, np.nan)
    columns = names or [f"column {j}" for j in range(X.shape[1])]
    worst = int(sizes.argmax())
    if sizes[worst] > LARGE and not sums <= LARGE:
        evidence = (
            f"{columns[worst]} has values of size {sizes[worst]:.3g} (root mean square; mean "
            f"{X[:, worst].mean():.3g}, deviation {spreads[worst]:.3g}), and the first "
            f"layer's weighted sums are of size {sums:.3g}."
        )
        cause = (
            f"sums that large {_effect(first)}, and the gradient by a weight is proportional "
            "to its input: no learning rate suits these weights and the others."
        )
    elif 0.0 < sizes[worst] < SMALL and sums < SMALL:
        evidence = (
            f"the largest input, {columns[worst]}, is of size {sizes[worst]:.3g} (root mean "
            f"square), and the first layer's weighted sums are of size {sums:.3g}."
        )
        cause = (
            "the gradient by a weight is proportional to its input: the first layer hardly "
            "learns, and every row looks the same to the next one."
        )
    else:
        live = np.flatnonzero(parts > 0.0)
        if len(live) < 2:
            return None
        heavy, light = live[parts[live].argmax()], live[parts[live].argmin()]
        uneven = spreads[heavy] > UNEVEN * spreads[light]
        if not (uneven and parts[heavy] > UNEVEN * parts[light]):
            return None
        evidence = (
            f"{columns[heavy]} varies by {spreads[heavy]:.3g} and {columns[light]} by "
            f"{spreads[light]:.3g}; in the first layer's sums they weigh "
            f"{parts[heavy]:.3g} and {parts[light]:.3g}."
        )
        cause = (
            "the gradient by a weight is proportional to its input: a learning rate that "
            "suits the one is far too large or too small for the other."
        )
    return Finding(
        "unscaled inputs",
        (first.name,),
        evidence,
        cause,
        (
            "Standardise each column: subtract its mean and divide by its standard deviation "
            "(of the training rows). chainrule train does so with CSV files.",
            "If columns span powers of ten, take their logarithm first.",
        ),
    )


def _effect(layer: LayerInspection) -> str:
    share = float(layer.flat.mean())
    if share > 0.0:
        return f"saturate {100.0 * share:.0f} % of the outputs of {layer.activation}"
    return "are passed on to every layer behind"


def symmetric(seen: Inspection) -> Finding | None:
    """Neurons of a hidden layer that are, and remain, copies of each other."""
    alike = [layer for layer in seen.layers[:-1] if layer.twins]
    if not alike:
        return None
    layer = max(alike, key=lambda each: each.twins)
    n = len(layer.shapes)
    zero = not any(each.weights.any() for each in alike)
    which = "all weights are 0" if zero else "they have the same weights"
    return Finding(
        "symmetric initialisation",
        tuple([each.name for each in alike]),
        f"{layer.twins + 1} of the {n} neurons of {layer.name} compute the same and get the "
        f"same gradient: {which}."
        if layer.twins < n - 1
        else f"all {n} neurons of {layer.name} compute the same and get the same gradient: "
        f"{which}.",
        "neurons that start alike are changed alike, for ever: the layer is worth a single "
        "neuron, however wide it is.",
        (
            "Start from random weights: Network(..., init='xavier_uniform'), or 'he_normal' "
            "for relu. Only biases may start at 0.",
            "If you set the weights yourself, draw each from a distribution.",
        ),
    )
