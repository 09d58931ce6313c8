"""The doctor: networks made sick on purpose, each found and named, and healthy ones let go."""

import json
import math
import random
import warnings

import numpy as np
import pytest

import chainrule
from chainrule import SGD, Adam, Network, Neuron, blobs, circle, diagnose, exp, moons, spiral, xor
from chainrule.diagnosis import Finding, gradient_decay
from chainrule.diagnosis.paths import strongest_path
from chainrule.diagnosis.report import NAMES
from chainrule.errors import DataError, OptionError, ShapeError
from chainrule.nn import LOSSES, History
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
    (deep([4], "sigmoid", factor=60.0), CIRCLE, {}),
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


# --- what it says -------------------------------------------------------------------------------


def test_every_name_has_sick_networks_and_there_are_enough_of_both_kinds():
    assert set(SICK) == set(NAMES)
    assert min(map(len, SICK.values())) >= 6
    assert sum(map(len, SICK.values())) >= 70
    assert len([*healthy_cases()]) >= 30


def test_vanishing_tells_slopes_from_weights_along_a_path():
    by_slopes = diagnose(deep([8] * 9, "sigmoid", "he_normal"), *MOONS).findings[0]
    assert "at most 0.25^9 = 3.8e-06" in by_slopes.evidence
    assert "sigmoid's is at most 0.25" in by_slopes.cause
    assert by_slopes.remedies[0].startswith("Use relu")
    by_weights = diagnose(deep([8] * 4, "tanh", factor=0.1), *MOONS).findings[0]
    assert "its weights" in by_weights.cause
    assert by_weights.remedies[0].startswith("Start from weights that suit the width")
    assert by_slopes.layers[0] == by_weights.layers[0] == "layers.0"


def test_the_strongest_path_is_the_strongest():
    net = Network([2, 3, 4, 3, 1], "tanh", seed=5)
    seen = inspect_network(net, *MOONS)
    path = strongest_path(seen, 7)
    first, second, third, last = seen.layers
    products = [
        abs(
            first.slopes[7, i]
            * second.weights[j, i]
            * second.slopes[7, j]
            * third.weights[k, j]
            * third.slopes[7, k]
            * last.weights[0, k]
        )
        for i in range(3)
        for j in range(4)
        for k in range(3)
    ]
    assert path.slope_product * path.weight_product == pytest.approx(max(products))
    assert path.neurons[-1] == 0
    assert len(path.slopes) == len(path.weights) == 3
    assert path.bound == 1.0


def test_the_inspection_agrees_with_backpropagation():
    net = Network([2, 5, 3, 1], "gelu", "sigmoid", seed=5)
    seen = inspect_network(net, *MOONS, "binary_cross_entropy")
    losses = [LOSSES[BCE](net(row), t) for row, t in zip(*MOONS, strict=True)]
    mean = chainrule.mean(losses)
    mean.backward()
    measured = np.concatenate([layer.gradients.ravel() for layer in seen.layers])
    np.testing.assert_allclose(measured, [p.grad for p in net.parameters()], rtol=1e-12)
    assert seen.mean_loss == pytest.approx(mean.data)
    # The chain rule by hand: what a layer gets, from what the one behind it got.
    for below, above in zip(seen.layers, seen.layers[1:], strict=False):
        by_hand = (above.by_sum @ above.weights) * below.slopes
        np.testing.assert_allclose(below.by_sum, by_hand, rtol=1e-12)


def test_non_finite_says_where_it_arose_and_for_which_row():
    net = deep([4], "log", output="linear")
    finding = diagnose(net, *MOONS).findings[0]
    assert finding.name == "non-finite"
    assert finding.evidence.startswith("for row 0, log(layers.0.neurons.")
    assert "log needs an operand above 0" in finding.evidence


def test_a_history_that_diverged_or_zigzagged_blames_the_learning_rate():
    net = Network([1, 6, 1], "linear", seed=1)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        history = net.fit(*LINE, lr=4.0, epochs=200)
    assert "became" in history.stopped
    found = diagnose(net, *LINE, history=history)
    assert found.names[0] == "learning rate too high"
    assert "the training ended because" in found.findings[0].evidence
    fresh = Network([1, 6, 1], "tanh", "linear", seed=1)
    zigzag = History(loss=[1.0, 2.0, 0.5, 2.0, 0.5, 2.0, 0.5, 2.0], lr=[0.5] * 8, rows=21)
    assert diagnose(fresh, *LINE, history=zigzag).names == ["learning rate too high"]
    falling = History(loss=[2.0 * 0.8**n for n in range(8)], lr=[0.1] * 8, rows=21)
    assert diagnose(fresh, *LINE, history=falling).healthy
    still = History(loss=[1.5] * 8, lr=[1e-6] * 8, rows=21, optimizer="SGD(lr=1e-06)")
    assert diagnose(fresh, *LINE, history=still).names == ["learning rate too low"]


def test_names_of_columns_come_from_the_model():
    net = deep([8], "tanh")
    net.meta["features"] = ["age", "income"]
    finding = diagnose(net, *multiplied(MOONS, 1.0, 5e4)).findings[0]
    assert finding.evidence.startswith("income has values of size")


def test_a_first_layer_that_makes_up_for_large_inputs_is_healthy():
    X, y = multiplied(MOONS, 1000.0, 0.01)
    net = deep([8], "tanh")
    assert diagnose(net, X, y).names == ["unscaled inputs"]
    for neuron in net.layers[0].neurons:
        neuron.weights[0].data /= 1000.0
        neuron.weights[1].data /= 0.01
    assert diagnose(net, X, y).healthy


def test_two_twins_among_different_neurons_are_found():
    net = deep([8], "tanh")
    first, last = net.layers
    assert diagnose(net, *MOONS).healthy
    for mine, theirs in zip(
        first.neurons[2].parameters(), first.neurons[5].parameters(), strict=True
    ):
        mine.data = theirs.data
    assert diagnose(net, *MOONS).healthy  # what they pass on still tells them apart
    last.neurons[0].weights[2].data = last.neurons[0].weights[5].data
    found = diagnose(net, *MOONS)
    assert found.layers[0].twins == 1
    assert found.findings[0].evidence.startswith("2 of the 8 neurons of layers.0")


def test_the_figures_of_a_layer():
    net = Network([1, 2, 1], "relu", "linear", seed=1)
    first, last = net.layers
    for p, x in zip(net.parameters(), [1.0, 0.0, -1.0, -5.0, 2.0, 1.0, 0.0], strict=True):
        p.data = x
    found = diagnose(net, [[1.0], [3.0]], [0.0, 1.0], lr=0.5)
    hidden, output = found.layers
    assert (hidden.neurons, hidden.activation, hidden.dead) == (2, "relu", (1,))
    assert (hidden.output_mean, output.output_mean) == (1.0, 4.0)  # of 1, 0, 3, 0; of 2, 6
    # Rows' losses are 4 and 25, their derivatives by the output 4 and 10.
    assert found.loss == 14.5
    assert output.signal == 7.0
    assert (hidden.signal, hidden.gradient_zeros) == (7.0, 0.5)
    assert hidden.gradient_max == (8.0 * 1.0 + 20.0 * 3.0) / 2.0
    step = 0.5 * math.hypot((4.0 * 1.0 + 10.0 * 3.0) / 2.0, 7.0)
    assert output.update_to_weight == pytest.approx(step / math.sqrt(5.0))
    assert len(first.neurons) == 2
    assert last.neurons[0].bias.data == 0.0


def test_it_touches_nothing():
    net = deep([8, 8], "tanh")
    net(MOONS[0][0]).backward()
    before = [(p.data, p.grad) for p in net.parameters()]
    optimizer = Adam(net.parameters(), lr=0.1)
    random.seed(3)
    state = random.getstate()
    diagnose(net, *MOONS, optimizer=optimizer, lr=0.3)
    assert [(p.data, p.grad) for p in net.parameters()] == before
    assert (optimizer.lr, optimizer.steps) == (0.1, 0)
    assert random.getstate() == state


def test_of_many_rows_some_are_taken():
    X, y = blobs(20_000, centers=2, seed=1)
    found = diagnose(Network([2, 30, 1], "tanh", seed=1), X, y)
    assert found.total_rows == 20_000
    assert 1000 < found.rows < 5000
    assert f"on {found.rows:,} rows of 20,000, evenly spaced" in str(found)


def test_report_and_dictionary():
    found = diagnose(deep([8], "tanh", factor=20.0), *MOONS, lr=0.1)
    lines = str(found).splitlines()
    assert lines[0] == "1 finding: saturated"
    assert "saturated (layers.0, layers.1)" in lines
    assert max(map(len, lines)) <= 120
    first = next(line for line in lines if line.startswith("layers.0"))
    assert f"{100.0 * found.layers[0].saturated:.0f} %" in first
    assert repr(found) == "<Diagnosis: saturated>"
    assert repr(diagnose(deep([8], "tanh"), *MOONS)) == "<Diagnosis: healthy>"
    kept = json.loads(json.dumps(found.to_dict()))
    assert kept["findings"][0]["name"] == "saturated"
    assert kept["layers"][0]["name"] == "layers.0"
    for name, cases in SICK.items():
        net, data, settings = cases[0]
        finding = next(f for f in diagnose(net, *data, **settings).findings if f.name == name)
        assert isinstance(finding, Finding)
        assert finding.evidence
        assert finding.cause
        assert len(finding.remedies) >= 2
        assert all(text[0].isupper() and text.endswith(".") for text in finding.remedies)


def test_activations_are_known_by_what_they_do():
    kinds = {name: shape_of(name).kind for name in ("sigmoid", "tanh", "erf", "atan")}
    assert set(kinds.values()) == {"bounded"}
    for name in ("relu", "elu", "gelu", "silu", "softplus"):
        assert shape_of(name).kind == "one-sided"
    assert shape_of("leaky_relu").kind == "other"
    assert shape_of("linear").kind == shape_of(lambda x: x).kind == "linear"
    assert shape_of(lambda x: 3.0 / (1.0 + exp(-x))).kind == "bounded"
    assert shape_of(doubled).name == "doubled"
    assert shape_of(lambda x: 1.0).steepest == 0.0


def test_decay_keeps_to_the_bound_where_weights_cannot_help():
    shares = gradient_decay(6, "sigmoid", lambda n, m, source: 1.0 / n)
    assert shares[0] == 1.0
    for n, share in enumerate(shares[1:], 1):
        assert 0.0 < share <= 0.25**n
    assert gradient_decay(6, "linear", lambda n, m, source: 1.0) == [
        1.0,
        *[8.0**n for n in range(6)],
    ]


@pytest.mark.parametrize(
    ("arguments", "settings", "error", "said"),
    [
        ((Neuron(2), *MOONS), {}, OptionError, "looking into layers takes a Network"),
        ((deep([4], "tanh"), [[1.0]], [1.0]), {}, ShapeError, "each row of X has 1 numbers"),
        ((deep([4], "tanh"), MOONS[0], [1.0]), {}, ShapeError, "one target per row"),
        ((deep([4], "tanh"), [[math.nan, 1.0]], [1.0]), {}, DataError, r"X\[0\]\[0\] is nan"),
        ((deep([4], "tanh"), *THREE), {"loss": BCE}, DataError, r"y\[2\] = 2.0: binary_cross"),
        ((deep([4], "tanh"), *MOONS), {"loss": "mae"}, OptionError, "unknown loss 'mae'"),
        ((deep([4], "tanh"), *MOONS), {"optimizer": "adm"}, OptionError, "optimizer must be"),
        ((deep([4], "tanh"), *MOONS), {"lr": -1.0}, OptionError, "lr must be"),
        ((deep([4], "tanh"), *MOONS), {"history": [1.0]}, OptionError, "what fit returned"),
        (
            (deep([4], "tanh"), *MOONS),
            {"loss": "cross_entropy"},
            ShapeError,
            "one output per class",
        ),
    ],
)
def test_bad_input_is_explained(arguments, settings, error, said):
    with pytest.raises(error, match=said):
        diagnose(*arguments, **settings)


def test_a_network_that_has_learned_may_be_saturated():
    net = Network([2, 1, 1], "tanh", "sigmoid", seed=1)
    for p, x in zip(net.parameters(), [30.0, 30.0, 0.0, 10.0, 0.0], strict=True):
        p.data = x
    X, y = BLOBS
    learned = diagnose(net, X, y)
    assert learned.layers[0].saturated > 0.9
    assert str(learned).startswith("healthy: it has learned")
    assert "saturated" in diagnose(net, X, [1.0 - t for t in y]).names


def test_a_quarter_of_saturated_outputs_is_no_finding():
    net = Network([2, 4, 1], "tanh", "linear", seed=1)
    for neuron, bias in zip(net.layers[0].neurons, [9.0, 1.85, -1.85, 1.9], strict=True):
        neuron.bias.data = bias
        for weight in neuron.weights:
            weight.data *= 0.01
    found = diagnose(net, *MOONS)
    assert found.layers[0].saturated == 0.25
    assert found.healthy
