"""The picture of a network: neurons with their connections, or layers if there are many."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Final

from chainrule.errors import OptionError
from chainrule.nn.layers import Layer, Network, Neuron
from chainrule.options import several
from chainrule.value import Value
from chainrule.views.scene import Box, Link, Scene, number

__all__ = ["network_scene"]

NEURONS: Final = 40
"""So many neurons are drawn one by one."""

CONNECTIONS: Final = 200
"""So many connections between them, too."""


def network_scene(network: Network | Layer | Neuron, fold: str, limit: int) -> Scene:
    """What to draw for a network, a layer or a neuron; the arguments are those of `draw`."""
    if isinstance(network, Network):
        layers = [layer.neurons for layer in network.layers]
    else:
        layers = [network.neurons if isinstance(network, Layer) else [network]]
    neurons = sum(map(len, layers))
    weights = sum(len(x.weights) for layer in layers for x in layer)
    count = several(len(network.parameters()), "parameter")
    shape = " → ".join(map(str, [len(layers[0][0].weights), *map(len, layers)]))
    title = f"{type(network).__name__} {shape}: {count}"
    ran = any(x.grad != 0.0 for x in network.parameters())
    words = () if ran else ("no gradients yet: all are 0, as before the first backward()",)
    single = neurons <= min(NEURONS, limit) and weights <= CONNECTIONS
    if fold in ("neuron", "none") and neurons > limit:
        raise OptionError(
            f"fold={fold!r} would draw {neurons:,} neurons, and limit={limit:,}. "
            f"Raise the limit (limit={neurons}), or leave fold='auto'."
        )
    if fold in ("neuron", "none") or (fold == "auto" and single):
        return _by_neuron(layers, title, words, ran)
    return _by_layer(layers, title, words, ran)


def _by_neuron(
    layers: Sequence[Sequence[Neuron]], title: str, words: tuple[str, ...], ran: bool
) -> Scene:
    boxes = [
        Box((f"x{i + 1}",), "", (("input", str(i + 1)),), "leaf", f"input {i + 1}")
        for i in range(len(layers[0][0].weights))
    ]
    links = []
    below = range(len(boxes))
    for i, layer in enumerate(layers):
        here = range(len(boxes), len(boxes) + len(layer))
        for j, neuron in enumerate(layer):
            name = f"layers.{i}.neurons.{j}" if len(layers) > 1 else f"neurons.{j}"
            rows = [("bias", number(neuron.bias.data))]
            rows.append(("|grad|", _norm(neuron.parameters()) if ran else "not yet"))
            told = ", ".join([f"{what} {text}" for what, text in rows])
            activation = _name(neuron)
            kind = "result" if i == len(layers) - 1 else "op"
            about = f"{name}, {activation}: {told}"
            boxes.append(Box((name,), activation, tuple(rows), kind, about))
            for source, w in zip(below, neuron.weights, strict=True):
                links.append(Link(source, here[j], (), w.data))
        below = here
    legend = "a connection's width is its weight's size; dashed: the weight is negative"
    norm = "|grad|: the norm of the gradient by the neuron's weights and bias"
    return Scene(tuple(boxes), tuple(links), (legend, norm, *words), title)


def _by_layer(
    layers: Sequence[Sequence[Neuron]], title: str, words: tuple[str, ...], ran: bool
) -> Scene:
    inputs = several(len(layers[0][0].weights), "input")
    boxes = [Box((inputs,), "", (), "leaf", inputs)]
    for i, layer in enumerate(layers):
        weights = [w.data for x in layer for w in x.weights]
        parameters = [p for x in layer for p in x.parameters()]
        rows = (
            ("neurons", f"{len(layer):,}"),
            ("parameters", f"{len(parameters):,}"),
            ("weights", f"{number(min(weights))} … {number(max(weights))}"),
            ("|grad|", _norm(parameters) if ran else "not yet"),
        )
        name = f"layers.{i}"
        activation = "/".join(dict.fromkeys(map(_name, layer)))
        told = ", ".join([f"{what} {text}" for what, text in rows])
        kind = "result" if i == len(layers) - 1 else "fold"
        boxes.append(Box((name,), activation, rows, kind, f"{name}, {activation}: {told}"))
    links = tuple(Link(i, i + 1) for i in range(len(layers)))
    folded = (
        f"each layer's neurons are folded into one box; {words[0]}"
        if words
        else ("each layer's neurons are folded into one box; |grad|: the norm of its gradient")
    )
    return Scene(tuple(boxes), links, (folded,), title)


def _name(neuron: Neuron) -> str:
    activation = neuron.activation
    return activation if isinstance(activation, str) else getattr(activation, "__name__", "own")


def _norm(parameters: Sequence[Value]) -> str:
    return number(math.hypot(*[p.grad for p in parameters]))
