"""Checks of what reaches each layer: each gives its finding, or None.

The limits are wide on purpose: between a healthy network and these lies a grey zone in
which a network merely learns more slowly, and about which nothing is said.
"""

from __future__ import annotations

import math
from typing import Final

import numpy as np
import numpy.typing as npt

from chainrule.diagnosis.paths import signal, strongest_path
from chainrule.diagnosis.report import Finding, listed
from chainrule.nn.inspection import Inspection, LayerInspection
from chainrule.options import several

__all__ = [
    "dead_units",
    "exploding",
    "has_learned",
    "non_finite",
    "saturated",
    "vanishing",
]

LEARNED: Final = 0.2
"""A network whose loss is below this share of a constant answer's has learned."""

MOST_SATURATED: Final = 0.5
"""The share of a layer's outputs on the flat ends from which it is a finding."""

HARMFUL: Final = 0.15
"""The mean slope of such a layer, as a share of the steepest, below which it does harm."""

MOST_DEAD: Final = 0.5
"""The share of a layer's neurons above which it is a finding."""

VANISHED: Final = 1e-3
"""The first layer's signal as a share of the last one's, below which it has vanished."""

EXPLODED: Final = 30.0
"""The same, above which it has exploded."""

OVERWHELMING: Final = 100.0
"""A gradient of that many times the size of the weights has exploded as well."""


def has_learned(seen: Inspection) -> bool:
    """Whether the loss is far below that of a constant answer: gradients are then small."""
    return seen.mean_loss <= LEARNED * seen.constant_loss


def non_finite(seen: Inspection) -> Finding | None:
    """A loss, or a gradient, that is ``inf`` or ``nan``: told by `origin_of_nonfinite`."""
    if seen.origin is None:
        return None
    origin, place = seen.origin
    return Finding(
        "non-finite",
        (),
        f"for row {place}, {origin}",
        "everything computed from inf or nan is inf or nan too, the next update included.",
        (
            "Look at the operation named above, and at the numbers that went into it.",
            "Start from weights of usual size: init='xavier_uniform', or 'he_normal' for relu.",
            "Train with a smaller learning rate, or with clip_norm=1.0.",
        ),
    )


def dead_units(seen: Inspection) -> Finding | None:
    """Layers of which more than half the neurons pass on no gradient for any row."""
    sick = [layer for layer in seen.layers if len(layer.dead) > MOST_DEAD * len(layer.shapes)]
    if not sick:
        return None
    counts = listed([f"{len(x.dead)} of {len(x.shapes)} in {x.name}" for x in sick])
    worst = max(sick, key=lambda x: len(x.dead) / len(x.shapes))
    shape = worst.shapes[worst.dead[0]]
    sums = worst.sums[:, worst.dead]
    bias = float(worst.biases[worst.dead].mean())
    remedies = [
        "Start again with a smaller learning rate: one large step pushes neurons over the edge.",
        "Use leaky_relu, elu or gelu, which keep a slope on the other side.",
        "Start from init='he_normal' and biases of 0 (or slightly above).",
        "Scale the inputs to mean 0, so that no neuron sees only one side.",
    ]
    if bias < -1.0:
        remedies.insert(0, remedies.pop(2))
    return Finding(
        "dead units",
        tuple([x.name for x in sick]),
        f"{counts} have no slope for any of {several(len(seen.rows), 'row')}: in {worst.name} "
        f"their sums go from {sums.min():.3g} to {sums.max():.3g} (mean bias {bias:.3g}), where "
        f"{shape.name!r} is flat.",
        f"the derivative of {shape.name!r} is 0 there, so no gradient reaches the neurons' own "
        "weights: they cannot come back, and pass nothing on to the layers below.",
        tuple(remedies),
    )


def saturated(seen: Inspection, *, but_first: bool) -> Finding | None:
    """Layers that work on the flat ends of a bounded activation.

    Args:
        seen: the network at work.
        but_first: leave the first layer out, as it is known why it is.
    """
    shares = [_flat(layer) for layer in seen.layers[:-1]]
    shares.append(_stuck(seen))
    sick = [
        i
        for i, share in enumerate(shares)
        if share >= MOST_SATURATED and not (but_first and i == 0)
    ]
    if not sick:
        return None
    worst = max(sick, key=lambda i: shares[i])
    layer = seen.layers[worst]
    bounded = [k for k, s in enumerate(layer.shapes) if s.kind == "bounded"]
    slope = float(np.abs(layer.slopes[:, bounded]).mean())
    steepest = layer.shapes[bounded[0]].steepest
    sums = _size(layer.sums[:, bounded])
    weights = _size(layer.weights)
    last = len(seen.layers) - 1
    shown = listed([f"{100.0 * shares[i]:.0f} % in {seen.layers[i].name}" for i in sick])
    wrong = " that are wrong" if sick == [last] else ""
    first_signal, last_signal = signal(seen.layers[0]), signal(seen.layers[-1])
    reach = ""
    if last > 0 and 0.0 < first_signal < last_signal:
        reach = f" Of the last layer's gradient {first_signal / last_signal:.1e} reach the first."
    remedies = [
        "Start from smaller weights: init='xavier_uniform', which suits the layer's width.",
        "Scale the inputs to mean 0 and deviation 1.",
        "Use an activation that is not flat at both ends, such as relu or leaky_relu.",
        "If it came with training: a smaller learning rate, or an l2_penalty on the weights.",
    ]
    if sick == [last]:
        remedies.insert(
            0,
            "Use a loss whose gradient does not pass the flat ends: a linear output layer "
            "with binary_cross_entropy_with_logits, or cross_entropy.",
        )
    return Finding(
        "saturated",
        tuple([seen.layers[i].name for i in sick]),
        f"outputs{wrong} on the flat ends: {shown}. In {layer.name} the mean slope is "
        f"{slope:.2g} (at most {steepest:.3g}), the sums are of size {sums:.3g}, the weights "
        f"{weights:.3g}.{reach}",
        f"far from 0 {layer.activation!r} is flat; its derivative is a factor of every gradient "
        "that passes the layer.",
        tuple(remedies),
    )


def _flat(layer: LayerInspection) -> float:
    """The share of outputs on flat ends; 0 where the others keep the gradient alive."""
    steepest = np.array([s.steepest if s.kind == "bounded" else math.nan for s in layer.shapes])
    relative = np.abs(layer.slopes) / steepest
    alive = not np.isfinite(relative).any() or np.nanmean(relative) > HARMFUL
    return 0.0 if alive else float(layer.flat.mean())


def _stuck(seen: Inspection) -> float:
    """The share of the last layer's outputs that are flat, wrong, and without a gradient."""
    last = seen.layers[-1]
    targets = seen.target_rows
    if len(targets[0]) != len(last.shapes):
        return 0.0
    reach = np.array([s.high - s.low for s in last.shapes])
    off = np.abs(last.outputs - np.array(targets)) > 0.5 * reach
    return float((last.flat & off & (np.abs(last.by_sum) < 0.1)).mean())


def exploding(seen: Inspection) -> Finding | None:
    """A signal that grows on its way back, or gradients that dwarf the weights."""
    signals = [signal(layer) for layer in seen.layers]
    if not signals[-1] > 0.0:
        return None
    top = max(range(len(signals)), key=signals.__getitem__)
    grown = signals[top] / signals[-1]
    sizes = [
        (_size(x.gradients), _size(np.column_stack([x.weights, x.biases]))) for x in seen.layers
    ]
    shares = [gradient / weight if weight else 0.0 for gradient, weight in sizes]
    worst = int(np.argmax(shares))
    if grown >= EXPLODED:
        path = strongest_path(seen, _typical(seen))
        where = [
            x.name for x, s in zip(seen.layers, signals, strict=True) if s >= 0.1 * signals[top]
        ]
        evidence = (
            f"the gradient by the sums is {signals[-1]:.2g} in {seen.layers[-1].name} and "
            f"{signals[top]:.2g} in {seen.layers[top].name}: "
            f"{grown ** (1.0 / (len(seen.layers) - 1 - top)):.3g} times as much per layer. "
            f"Along the strongest path (row {path.row}) the weights multiply to "
            f"{math.prod(path.weights[top:]):.2g}, the slopes to "
            f"{math.prod(path.slopes[top:]):.2g}."
        )
    elif shares[worst] >= OVERWHELMING:
        where = [x.name for x, s in zip(seen.layers, shares, strict=True) if s >= OVERWHELMING]
        evidence = (
            f"in {seen.layers[worst].name} the gradient is of size {sizes[worst][0]:.2g}, "
            f"{shares[worst]:.2g} times that of the weights ({sizes[worst][1]:.2g}); the loss is "
            f"{seen.mean_loss:.3g}, with outputs of size {_size(seen.layers[-1].outputs):.2g}."
        )
    else:
        return None
    return Finding(
        "exploding",
        tuple(where),
        evidence,
        "sums, and the gradients on their way back, are multiplied by the weights of each layer; "
        "weights too large for the layer's width make both grow from layer to layer.",
        (
            f"Start from weights that suit the width: init='{_usual_init(seen)}'.",
            "Limit the gradient: fit(clip_norm=1.0).",
            "Bring targets that are large numbers to mean 0 and deviation 1.",
            "Use a smaller learning rate, and fewer layers where they are not needed.",
        ),
    )


def vanishing(seen: Inspection) -> Finding | None:
    """A signal that shrinks to next to nothing on its way back."""
    layers = seen.layers
    signals = [signal(layer) for layer in layers]
    if not signals[-1] > 0.0 or signals[0] > VANISHED * signals[-1]:
        return None
    if any(not layer.weights.any() for layer in layers[1:]):
        return None  # a layer that starts at 0 passes a gradient after the first update
    path = strongest_path(seen, _typical(seen))
    hops = len(layers) - 1
    ratio = signals[0] / signals[-1]
    names = list(dict.fromkeys([layer.activation for layer in layers[:-1]]))
    by_slopes = path.slope_share >= 0.5
    limited = path.bound < 0.99
    bound = f", at most {_bound(path.bound, hops)}" if limited else ""
    evidence = (
        f"the gradient by the sums is {signals[-1]:.2g} in {layers[-1].name} and "
        f"{signals[0]:.2g} in {layers[0].name}: {ratio:.1e} of it arrive. Along the strongest "
        f"path (row {path.row}), the product of {several(hops, 'slope')} of {'/'.join(names)} is "
        f"{path.slope_product:.2g}{bound}; the product of {several(hops, 'weight')} is "
        f"{path.weight_product:.2g}. The slopes did {100.0 * path.slope_share:.0f} % of it, the "
        f"weights {100.0 - 100.0 * path.slope_share:.0f} % (counted in powers of ten)."
    )
    init = f"Start from weights that suit the width: init='{_usual_init(seen)}'."
    relu = "Use relu, whose slope is 1 where it is on, with init='he_normal'."
    remedies = [
        "Use fewer layers: what the first ones could add does not reach them.",
        "Follow it with chainrule vanish, which shows what each remedy changes.",
    ]
    if by_slopes:
        cause = (
            f"going back, each layer multiplies by the slope of its activation, and sigmoid's is "
            f"at most 0.25: {hops} of them leave at most {0.25**hops:.1e}."
            if "sigmoid" in names
            else "going back, each layer multiplies by the slope of its activation, and these "
            "slopes are small."
        )
        remedies = [relu, "Use tanh, whose slope is 1 at 0, with init='xavier_uniform'.", *remedies]
    else:
        cause = (
            "going back, each layer multiplies by its weights, and these are small for the width "
            "of their layers."
        )
        remedies = [init, *([relu] if limited else []), *remedies]
    return Finding(
        "vanishing",
        tuple([x.name for x, s in zip(layers, signals, strict=True) if s <= 0.01 * signals[-1]]),
        evidence,
        cause,
        tuple(remedies),
    )


def _bound(bound: float, hops: int) -> str:
    each = bound ** (1.0 / hops)
    return f"{each:.3g}^{hops} = {bound:.1e}"


def _typical(seen: Inspection) -> int:
    """The row of median gradient where the chain begins: neither solved nor an exception."""
    sizes = np.abs(seen.layers[-1].by_sum).sum(axis=1)
    return int(np.argsort(sizes)[len(sizes) // 2])


def _usual_init(seen: Inspection) -> str:
    one_sided = [s.kind == "one-sided" for layer in seen.layers[:-1] for s in layer.shapes]
    return "he_normal" if any(one_sided) else "xavier_uniform"


def _size(x: npt.NDArray[np.float64]) -> float:
    """The root mean square."""
    return float(np.sqrt((x**2).mean()))
