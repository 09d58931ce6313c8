"""The doctor: networks made sick on purpose, each found and named, and healthy ones let go."""

import json
import math
import random
import warnings

import numpy as np
import pytest

from chainrule import SGD, Adam, Network, Value, blobs, circle, diagnose, exp, moons, spiral, xor
from chainrule.diagnosis import Finding, gradient_decay
from chainrule.diagnosis.paths import strongest_path
from chainrule.diagnosis.report import NAMES
from chainrule.errors import DataError, OptionError, ShapeError
from chainrule.nn import History
from chainrule.nn.inspection import inspect_network, shape_of

MOONS = moons(40, seed=1)
CIRCLE = circle(40, seed=1)
BLOBS = blobs(40, centers=[[-1.0, -1.0], [1.0, 1.0]], seed=1)
SPIRAL = spiral(40, classes=2, seed=1)
THREE = spiral(45, classes=3, seed=1)
LINE = [[x / 10.0] for x in range(-10, 11)], [2.0 * x / 10.0 - 0.5 for x in range(-10, 11)]

BCE = "binary_cross_entropy"
LOGITS = "binary_cross_entropy_with_logits"


def doubled(x):
    return 2.0 * x / (1.0 + abs(x))


# --- sick networks ------------------------------------------------------------------------------


def with_weights(net, weight, layers=None):
    """The same network with weights ``weight(layer, neuron, input)``."""
    for i, layer in enumerate(net.layers):
        for k, neuron in enumerate(layer.neurons):
            for j, w in enumerate(neuron.weights):
                if layers is None or i in layers:
                    w.data = weight(i, k, j)
    return net


def scaled(net, factor, layers=None):
    for i, layer in enumerate(net.layers):
        for p in layer.parameters():
            if layers is None or i in layers:
                p.data *= factor
    return net


def deep(hidden, activation, init="lesson", output="sigmoid", factor=1.0, inputs=2):
    return scaled(Network([inputs, *hidden, 1], activation, output, init, seed=3), factor)


def biased(net, bias, layers):
    for i in layers:
        for neuron in net.layers[i].neurons:
            neuron.bias.data = bias
    return net


def multiplied(data, *factors):
    X, y = data
    return [[x * f for x, f in zip(row, factors, strict=True)] for row in X], y


def shifted(data, by):
    X, y = data
    return [[x + by for x in row] for row in X], y


VANISHING = [
    (deep([8] * 6, "sigmoid"), MOONS, {}),
    (deep([4] * 9, "sigmoid"), xor(), {}),
    (deep([16] * 7, "sigmoid", "xavier_uniform"), CIRCLE, {"loss": BCE}),
    (deep([6] * 12, "sigmoid", "he_normal", "linear"), BLOBS, {"loss": "hinge"}),
    (deep([8] * 4, "tanh", "xavier_uniform", factor=0.1), MOONS, {}),
    (deep([5] * 3, "tanh", output="linear", factor=0.05), CIRCLE, {"loss": LOGITS}),
    (deep([8] * 5, "gelu", factor=0.2), BLOBS, {}),
    (deep([8] * 5, "leaky_relu", factor=0.1), MOONS, {"loss": BCE}),
    (deep([10, 5] * 4, "sigmoid"), SPIRAL, {}),
]
EXPLODING = [
    (deep([8] * 5, "leaky_relu", "normal", "linear", 2.0), MOONS, {}),
    (deep([6] * 6, "elu", "normal", "linear", 2.0), CIRCLE, {}),
    (deep([12] * 4, "relu", "he_normal", "linear", 6.0), BLOBS, {}),
    (deep([8] * 6, "linear", "xavier_normal", "linear", 4.0, inputs=1), LINE, {}),
    (deep([4] * 9, "softplus", "uniform", "linear", 4.0), xor(), {}),
    (deep([16] * 3, "silu", "he_normal", "linear", 8.0), CIRCLE, {"loss": "hinge"}),
]
DEAD = [
    (biased(deep([8], "relu"), -9.0, [0]), MOONS, {}),
    (biased(deep([4, 4], "relu"), -9.0, [1]), xor(), {}),
    (biased(deep([16, 8, 4], "relu", "he_normal"), -20.0, [0, 1]), CIRCLE, {"loss": BCE}),
    (biased(deep([6, 6], "relu", "normal", "linear"), -50.0, [0]), BLOBS, {"loss": "hinge"}),
    (biased(deep([8], "elu"), -30.0, [0]), MOONS, {}),
    (biased(deep([8, 8], "gelu", "he_normal"), -40.0, [1]), SPIRAL, {}),
    (biased(deep([5], "softplus"), -25.0, [0]), CIRCLE, {}),
]
SATURATED = [
    (deep([8], "tanh", factor=20.0), MOONS, {}),
    (deep([8, 8], "tanh", "normal", factor=10.0), CIRCLE, {"loss": BCE}),
    (deep([4], "sigmoid", factor=40.0), xor(), {}),
    (deep([16, 16, 16], "sigmoid", "normal", factor=10.0), BLOBS, {}),
    (deep([6, 6], "erf", "he_normal", factor=12.0), SPIRAL, {}),
    (biased(deep([8], "tanh"), 7.0, [0]), MOONS, {"loss": BCE}),
    (biased(deep([8, 4], "tanh", "xavier_uniform"), -9.0, [1]), CIRCLE, {}),
    (biased(deep([8], "tanh"), 12.0, [1]), MOONS, {"loss": "mse"}),
]
NON_FINITE = [
    (with_weights(deep([4], "exp", output="linear"), lambda *_: 800.0), xor(), {}),
    (deep([4], "log", output="linear"), MOONS, {}),
    (deep([8, 8], "sqrt", output="linear"), xor(), {}),
    (with_weights(deep([3], "tanh"), lambda *_: math.nan), CIRCLE, {"loss": BCE}),
    (with_weights(deep([3, 3], "linear", output="linear"), lambda *_: 1e200), MOONS, {}),
    (with_weights(deep([5], "relu"), lambda *_: math.inf, [1]), BLOBS, {}),
]
SYMMETRIC = [
    (deep([4], "sigmoid", "zeros"), xor(), {}),
    (deep([8, 8], "tanh", "zeros"), CIRCLE, {"loss": BCE}),
    (with_weights(deep([6], "tanh"), lambda *_: 0.5), MOONS, {}),
    (with_weights(deep([3, 7], "gelu"), lambda i, *_: 0.3 + 0.1 * i), xor(), {}),
    (with_weights(deep([16], "relu", output="linear"), lambda *_: 0.2), BLOBS, {"loss": "hinge"}),
    (with_weights(deep([4, 4, 4], "sigmoid"), lambda *_: 0.4, [1, 2]), CIRCLE, {}),
]
UNSCALED = [
    (deep([8], "tanh"), multiplied(MOONS, 200.0, 200.0), {"loss": BCE}),
    (deep([8, 8], "relu", "he_normal", "linear"), multiplied(CIRCLE, 1000.0, 1.0), {}),
    (deep([4], "sigmoid"), multiplied(xor(), 255.0, 255.0), {}),
    (deep([16], "gelu"), shifted(BLOBS, 300.0), {"loss": BCE}),
    (deep([6, 6], "tanh", "xavier_uniform"), multiplied(SPIRAL, 1.0, 0.001), {}),
    (deep([8], "tanh"), multiplied(MOONS, 0.001, 0.001), {"loss": BCE}),
    (deep([5], "elu", output="linear"), multiplied(BLOBS, 1e6, 1e6), {"loss": "hinge"}),
]
MISMATCH = [
    (deep([8], "tanh", output="linear"), MOONS, {"loss": BCE}),
    (deep([4, 4], "relu", output="tanh"), xor(), {"loss": BCE}),
    (deep([8], "tanh"), CIRCLE, {"loss": LOGITS}),
    (deep([4], "sigmoid", output="relu"), BLOBS, {"loss": LOGITS}),
    (deep([4, 8], "relu"), MOONS, {"loss": "hinge"}),
    (Network([2, 8, 3], "tanh", "sigmoid", seed=1), THREE, {"loss": "cross_entropy"}),
    (Network([2, 4, 4, 3], "relu", "softplus", seed=1), THREE, {"loss": "cross_entropy"}),
    (deep([8], "tanh", inputs=1), LINE, {}),
    (deep([8], "tanh", output="tanh", inputs=1), LINE, {}),
    (deep([4], "elu", output="relu", inputs=1), LINE, {}),
    (deep([4], "elu"), (xor()[0], [-1.0, 1.0, 1.0, -1.0]), {}),
]
TOO_HIGH = [
    (deep([8], "tanh", output="linear", inputs=1), LINE, {"lr": 5.0}),
    (deep([8], "relu", "he_normal", "linear"), MOONS, {"lr": 30.0}),
    (deep([8, 8], "tanh", "xavier_uniform"), CIRCLE, {"loss": BCE, "lr": 100.0}),
    (deep([4], "gelu", output="linear"), BLOBS, {"loss": "hinge", "lr": 200.0}),
    (deep([16], "tanh"), MOONS, {"loss": BCE, "optimizer": "adam", "lr": 10.0}),
    (deep([4], "linear", output="linear", inputs=1), LINE, {"optimizer": SGD(lr=3.0)}),
    (deep([8], "elu", output="linear"), xor(), {"lr": 20.0, "batch_size": 1}),
]
TOO_LOW = [
    (deep([8], "tanh", output="linear", inputs=1), LINE, {"lr": 1e-5}),
    (deep([8], "relu", "he_normal", "linear"), MOONS, {"lr": 1e-6}),
    (deep([8, 8], "tanh", "xavier_uniform"), CIRCLE, {"loss": BCE, "lr": 1e-4}),
    (deep([4], "gelu", output="linear"), BLOBS, {"loss": "hinge", "lr": 1e-5}),
    (deep([16], "tanh"), MOONS, {"loss": BCE, "optimizer": "adam", "lr": 1e-7}),
    (deep([4], "linear", output="linear", inputs=1), LINE, {"optimizer": Adam(lr=1e-7)}),
    (deep([8], "elu", output="linear"), BLOBS, {"lr": 1e-6, "batch_size": 4}),
]
SICK = {
    "vanishing": VANISHING,
    "exploding": EXPLODING,
    "dead units": DEAD,
    "saturated": SATURATED,
    "non-finite": NON_FINITE,
    "symmetric initialisation": SYMMETRIC,
    "unscaled inputs": UNSCALED,
    "loss and output activation do not match": MISMATCH,
    "learning rate too high": TOO_HIGH,
    "learning rate too low": TOO_LOW,
}


def sick_cases():
    for name, cases in SICK.items():
        for i, (net, data, settings) in enumerate(cases):
            yield pytest.param(name, net, data, settings, id=f"{name} {i}")


@pytest.mark.parametrize(("name", "net", "data", "settings"), [*sick_cases()])
def test_a_sick_network_is_found_and_named(name, net, data, settings):
    found = diagnose(net, *data, **settings)
    assert name in found.names


# --- healthy networks ---------------------------------------------------------------------------

USUAL = {
    "sigmoid": "lesson",
    "tanh": "xavier_uniform",
    "relu": "he_normal",
    "leaky_relu": "he_uniform",
    "elu": "xavier_normal",
    "gelu": "he_normal",
    "silu": "he_normal",
    "softplus": "lesson",
}
PROBLEMS = {
    "moons": (MOONS, BCE, "sigmoid"),
    "circle": (CIRCLE, LOGITS, "linear"),
    "blobs": (BLOBS, "hinge", "linear"),
    "spiral": (SPIRAL, "mse", "sigmoid"),
}


def healthy_cases():
    for i, (activation, init) in enumerate(USUAL.items()):
        for j, (problem, (data, loss, output)) in enumerate(PROBLEMS.items()):
            hidden = [[8], [6, 6], [16], [8, 8, 8], [4]][(i + j) % 5]
            net = Network([2, *hidden, 1], activation, output, init, seed=10 * i + j)
            yield pytest.param(net, data, loss, id=f"{activation} {hidden} {problem}")


@pytest.mark.parametrize(("net", "data", "loss"), [*healthy_cases()])
def test_nothing_is_found_on_a_healthy_network_fresh_half_trained_or_trained(net, data, loss):
    settings = {"loss": loss, "optimizer": "adam", "lr": 0.02}
    assert diagnose(net, *data, **settings).names == []
    for epochs in (10, 40, 150):
        history = net.fit(*data, epochs=epochs, **settings)
        assert diagnose(net, *data, **settings, history=history).names == [], epochs


def test_more_healthy_networks():
    line = Network([1, 8, 1], "tanh", "linear", "xavier_uniform", seed=1)
    assert diagnose(line, *LINE, lr=0.1).healthy
    three = Network([2, 12, 3], "relu", "linear", "he_normal", seed=1)
    assert diagnose(three, *THREE, loss="cross_entropy", optimizer=Adam(lr=0.02)).healthy
    assert diagnose(Network([2, 1], init="zeros"), *MOONS, loss=BCE, lr=1.0).healthy
    own = Network([2, 8, 1], doubled, "linear", seed=2)
    assert diagnose(own, *MOONS, loss=lambda p, t: (p - t) ** 2).healthy
    vector = Network([2, 8, 2], "tanh", "sigmoid", seed=2)
    assert diagnose(vector, xor()[0], [[0, 1], [1, 0], [1, 0], [0, 1]]).healthy
