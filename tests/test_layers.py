import copy
import math
import pickle
import random
import threading

import numpy as np
import pytest

import chainrule
from chainrule import (
    NonFiniteError,
    NotANumberError,
    OptionError,
    ShapeError,
    TraceError,
    Value,
    no_grad,
    strict,
)
from chainrule.arithmetic import Arithmetic
from chainrule.modes import counting, tracing
from chainrule.nn import ACTIVATIONS, Layer, Network, Neuron, mse_loss
from chainrule.nn.activations import activation_of
from chainrule.operation import ROWS

XOR = [([0, 0], 0), ([0, 1], 1), ([1, 0], 1), ([1, 1], 0)]


# --- the lessons ----------------------------------------------------------------------------


def test_xor_lesson():
    random.seed(42)
    net = Network([2, 4, 1])
    printed = []
    for epoch in range(1000):
        total = Value(0.0)
        for inputs, target in XOR:
            total = total + mse_loss(net([Value(i) for i in inputs]), target)
        net.zero_grad()
        total.backward()
        for p in net.parameters():
            p.data -= 1.0 * p.grad
        if epoch % 100 == 0:
            printed.append(f"{total.data:.6f}")
    assert " ".join(printed) == (
        "1.067385 0.805927 0.190474 0.035562 0.015281 0.009271 0.006544 0.005017 0.004050 0.003385"
    )


def circle_lesson(epochs):
    """Each epoch's summed loss and accuracy, both measured before the updates."""
    random.seed(7)
    data = []
    for _ in range(80):
        x1, x2 = random.uniform(-1.5, 1.5), random.uniform(-1.5, 1.5)
        data.append(([x1, x2], 1.0 if x1**2 + x2**2 < 1 else 0.0))
    net = Network([2, 8, 1])
    for _ in range(epochs):
        random.shuffle(data)
        total, right = 0.0, 0
        for inputs, target in data:
            output = net(inputs)
            loss = mse_loss(output, target)
            net.zero_grad()
            loss.backward()
            for p in net.parameters():
                p.data -= 0.5 * p.grad
            total += loss.data
            right += (output.data > 0.5) == (target == 1.0)
        yield f"{total:.4f}", right / len(data)


def test_circle_lesson():
    epochs = list(circle_lesson(201))
    assert epochs[0][0] == "17.1256"
    assert epochs[200] == ("0.3585", 1.0)


# --- shapes and gradients ---------------------------------------------------------------------


def test_neuron_is_a_weighted_sum_through_an_activation():
    neuron = Neuron(2, activation="tanh")
    neuron.w, neuron.b = [Value(0.5), Value(-2.0)], Value(0.25)
    x = [Value(3.0), Value(1.0)]
    y = neuron(x)
    assert y.data == math.tanh(0.25 + 0.5 * 3.0 - 2.0)
    assert neuron.weights is neuron.w
    assert neuron.bias is neuron.b
    y.backward()
    slope = 1.0 - y.data**2
    assert [p.grad for p in neuron.parameters()] == [3.0 * slope, 1.0 * slope, slope]
    assert [v.grad for v in x] == [0.5 * slope, -2.0 * slope]
    neuron.zero_grad()
    assert [p.grad for p in neuron.parameters()] == [0.0] * 3


def test_outputs():
    assert isinstance(Network([2, 3, 1])([1, 2]), Value)
    assert len(Network([2, 3, 2])([1, 2])) == 2
    assert len(Layer(2, 1)([1, 2])) == 1
    assert Network([2, 3, 2]).sizes == [2, 3, 2]


def test_network_chains_its_layers():
    net = Network([2, 3, 2], activation="relu", output_activation="linear", seed=1)
    row = np.array([0.5, -1.5])
    hidden = np.maximum(0, [[w.data for w in n.weights] for n in net.layers[0].neurons] @ row)
    expected = [[w.data for w in n.weights] for n in net.layers[1].neurons] @ hidden
    assert [y.data for y in net(row)] == pytest.approx(list(expected))
    assert hidden.any()


@pytest.mark.parametrize("kind", [list, tuple, np.array, iter, lambda xs: np.array(xs, "f4")])
def test_inputs_of_every_kind(kind):
    net, layer, neuron = Network([2, 3, 1], seed=1), Layer(2, 3, seed=1), Neuron(2, seed=1)
    row = [0.5, -1.5]
    assert net(kind(row)).data == net(row).data
    assert [v.data for v in layer(kind(row))] == [v.data for v in layer(row)]
    assert neuron(kind(row)).data == neuron(row).data
    assert net([Value(0.5), -1.5]).data == net(row).data
    assert net(np.array([1, True])).data == net([1.0, 1.0]).data


def test_predict():
    one, two = Network([2, 3, 1], seed=1), Network([2, 3, 2], seed=1)
    rows = [[0.0, 1.0], [2.0, 3.0]]
    assert one.predict(rows) == [one(row).data for row in rows]
    assert one.predict(np.array(rows)) == one.predict(rows)
    assert one.predict(rows[0]) == one.predict(np.array(rows[0])) == one(rows[0]).data
    assert two.predict(rows) == [[v.data for v in two(row)] for row in rows]
    assert two.predict(rows[0]) == [v.data for v in two(rows[0])]
    assert one.predict([]) == []
    assert type(one.predict(np.array(rows))[0]) is float


def test_predict_takes_the_activation_of_a_stranger():
    net = Network([1, 2, 1], activation=lambda v: v.tanh() * 2.0, seed=1)
    assert net.predict([[0.5]]) == [net([0.5]).data]


def test_predict_builds_no_graph():
    seen = []
    net = Network([1, 2, 1], activation=lambda v: seen.append(v) or v.tanh())
    net.predict([[0.5], [1.0]])
    assert [v.operands for v in seen] == [()] * 6
    net([0.5])
    assert seen[-1].operands


# --- predict, of many rows ------------------------------------------------------------------


def some_rows(n, columns, spread=1.0):
    return np.random.default_rng(7).normal(scale=spread, size=(n, columns)).tolist()


def row_by_row(net, rows):
    found = [net(row) for row in rows]
    return [[y.data for y in ys] if isinstance(ys, list) else ys.data for ys in found]


@pytest.fixture
def at_once(monkeypatch):
    """What was asked of the compiled program, call by call: the number of rows."""
    from chainrule.nn import forward

    asked = []
    original = forward.outputs

    def spy(net, rows, pure=False):
        asked.append(len(rows))
        return original(net, rows, pure)

    monkeypatch.setattr(forward, "outputs", spy)
    return asked


@pytest.mark.parametrize("activation", sorted(ACTIVATIONS))
@pytest.mark.parametrize("outputs", [1, 3])
def test_many_rows_at_once_are_the_same_numbers(activation, outputs, at_once):
    net = Network([3, 8, 7, outputs], activation, "linear", "xavier_normal", seed=4)
    for layer in net.layers:
        layer.neurons[0].activation = "tanh"
    rows = some_rows(300, 3)
    found = net.predict(rows)
    assert at_once == [300]
    assert type(found) is list
    assert {type(y) for y in found} == {float if outputs == 1 else list}
    expected = np.array(row_by_row(net, rows))
    np.testing.assert_allclose(np.array(found), expected, rtol=1e-12, atol=1e-12)
    for again in (np.array(rows), list(map(tuple, rows))):
        assert str(net.predict(again)) == str(found)  # for nan, too


def test_rows_are_taken_in_portions(at_once, monkeypatch):
    from chainrule.nn import forward

    monkeypatch.setattr(forward, "ROWS_AT_ONCE", 64)
    net = Network([2, 16, 16, 2], seed=1)
    rows = some_rows(130, 2)
    assert net.predict(rows) == [pytest.approx(ys, rel=1e-12) for ys in row_by_row(net, rows)]
    assert at_once == [130]


def test_infinite_inputs_pass_through_the_program(at_once):
    net = Network([2, 16, 16, 1], "tanh", seed=1)
    rows = some_rows(100, 2)
    rows[5], rows[6] = [math.inf, 0.0], [math.nan, 1.0]
    found = net.predict(rows)
    np.testing.assert_allclose(found, row_by_row(net, rows), rtol=1e-12)
    assert math.isfinite(found[5])
    assert math.isnan(found[6])
    assert at_once == [100]


def test_the_program_follows_the_parameters(at_once):
    net = Network([2, 16, 16, 1], seed=1)
    rows = some_rows(100, 2)
    before = net.predict(rows)
    net.parameters()[0].data += 1.0
    net.layers[1].neurons[0].weights[0] = net.layers[0].neurons[0].weights[0] * 2.0
    net.layers[1].neurons[1] = net.layers[1].neurons[2]
    after = net.predict(rows)
    assert after != before
    assert after == pytest.approx(row_by_row(net, rows), rel=1e-12)
    assert at_once == [100, 100]


def test_little_work_is_not_worth_a_program(at_once):
    large, small = Network([2, 16, 16, 1], seed=1), Network([2, 4, 1], seed=1)
    for net, n in ((large, 99), (small, 1100)):
        rows = some_rows(n, 2)
        assert net.predict(rows) == row_by_row(net, rows)
    assert at_once == []
    small.predict(some_rows(1200, 2))
    assert at_once == [1200]


class Halved(Network):
    def __call__(self, inputs):
        return super().__call__(inputs) * 0.5


class Remarkable(Network):
    def remark(self):
        return "as ever"


class Twice(Neuron):
    def __call__(self, inputs):
        return super().__call__(inputs) * 2.0


class Doubled(Layer):
    def __call__(self, inputs):
        return [y * 2.0 for y in super().__call__(inputs)]


def with_own_neuron(net):
    net.layers[0].neurons[3] = Twice(2, seed=5)


def with_own_layer(net):
    net.layers[0] = Doubled(2, 16, seed=5)


def with_own_activation(net):
    net.layers[0].neurons[3].activation = lambda x: x if x > 0.0 else 0.5 * x


def with_traceable_activation(net):
    net.layers[0].neurons[3].activation = lambda x: x.tanh() * 2.0


def with_own_operation(net):
    weights = net.layers[0].neurons[3].weights
    weights[0] = Value(2.0, (weights[0],), "mine")
    weights[0]._backward = lambda: None


@pytest.mark.parametrize(
    "change",
    [
        with_own_neuron,
        with_own_layer,
        with_own_activation,
        with_traceable_activation,
        with_own_operation,
    ],
)
def test_what_is_not_the_packages_own_goes_row_by_row(change):
    net = Network([2, 16, 16, 1], seed=1)
    change(net)
    rows = some_rows(100, 2)
    assert net.predict(rows) == row_by_row(net, rows)


def test_a_subclass_that_computes_something_else_goes_row_by_row(at_once):
    rows = some_rows(100, 2)
    net = Halved([2, 16, 16, 1], seed=1)
    assert net.predict(rows) == row_by_row(net, rows)
    assert at_once == []
    net = Remarkable([2, 16, 16, 1], seed=1)
    assert net.predict(rows) == pytest.approx(row_by_row(net, rows), rel=1e-12)
    assert at_once == [100]


def test_an_activation_of_ones_own_is_called_for_every_row():
    seen = []
    net = Network([2, 16, 16, 1], lambda x: seen.append(x.data) or x.tanh(), seed=1)
    net.predict(some_rows(100, 2))
    assert len(seen) == 100 * 33


def test_who_looks_at_every_operation_sees_every_row(at_once):
    net = Network([2, 16, 16, 1], seed=1)
    rows = some_rows(100, 2)
    expected = row_by_row(net, rows)
    with counting() as count:
        assert net.predict(rows) == expected
        assert count() > 100 * 600
    with strict():
        assert net.predict(rows) == expected
        net.parameters()[0].data = 1.7e308
        with pytest.raises(NonFiniteError):
            net.predict(rows)
    with tracing(), pytest.raises(TraceError):
        net.predict(rows)
    assert at_once == []
    with no_grad():
        net.predict(rows)
    assert at_once == [100]


def test_bad_rows_among_many_are_named_as_ever(at_once):
    net = Network([2, 16, 16, 1], seed=1)
    rows = some_rows(100, 2)
    for bad, error in (
        ([1.0], ShapeError),
        ([1.0, "2"], NotANumberError),
        ([1.0, None], NotANumberError),
        ([1.0, [2.0]], ShapeError),
        (3.0, ShapeError),
        ("12", NotANumberError),
        ([1.0, 10**400], NotANumberError),
    ):
        with pytest.raises(error) as alone:
            net(bad)
        with pytest.raises(error) as among:
            net.predict([*rows, bad, *rows])
        assert str(among.value) == str(alone.value)
    with pytest.raises(ShapeError, match=r"layers\.0 of the network expects 2 inputs; got 3"):
        net.predict(some_rows(100, 3))
    rows[50] = [Value(1.0), True]
    assert net.predict(rows)[50] == net([1.0, 1.0]).data
    rows[50] = iter([1.0, 1.0])
    assert net.predict(rows)[50] == net([1.0, 1.0]).data
    assert at_once == []


def test_other_threads_may_use_the_network_meanwhile():
    net = Network([2, 16, 16, 1], seed=1)
    rows = some_rows(100, 2)
    expected = net([0.5, 0.5]).data
    wrong = []
    done = threading.Event()

    def look():
        while not done.is_set():
            if net([0.5, 0.5]).data != expected:
                wrong.append(1)

    thread = threading.Thread(target=look)
    thread.start()
    for _ in range(20):
        net.predict(rows)
    done.set()
    thread.join()
    assert not wrong


def test_names_of_parameters():
    net = Network([2, 3, 1])
    names = [name for name, _ in net.named_parameters()]
    assert names[:4] == [
        "layers.0.neurons.0.weights.0",
        "layers.0.neurons.0.weights.1",
        "layers.0.neurons.0.bias",
        "layers.0.neurons.1.weights.0",
    ]
    assert names[-1] == "layers.1.neurons.0.bias"
    for module in (net, *net.layers, *net.layers[0].neurons):
        named = [p for _, p in module.named_parameters()]
        assert list(map(id, named)) == list(map(id, module.parameters()))
    assert [p.label for p in net.parameters()] == names
    assert len(net.parameters()) == len(set(net.parameters())) == 13


def test_descriptions():
    assert repr(Neuron(2)) == "Neuron(2, activation='sigmoid')"
    assert repr(Layer(2, 3, activation="relu")) == "Layer(2, 3, activation='relu')"
    net = Network([2, 3, 1], activation=abs, output_activation=chainrule.tanh)
    assert repr(net) == "<Network 2 -> 3 abs -> 1 'tanh': 13 parameters>"
    net.layers[0].neurons[0].activation = "relu"
    assert repr(net.layers[0]) == "Layer(2, 3, activation='relu'/abs)"


@pytest.mark.parametrize("copied", [copy.deepcopy, lambda net: pickle.loads(pickle.dumps(net))])
def test_copies_are_whole_and_apart(copied):
    net = Network([2, 3, 1], activation="leaky_relu", seed=1)
    net.meta["classes"] = ["no", "yes"]
    net([1.0, 2.0]).backward()
    twin = copied(net)
    assert twin([1.0, 2.0]).data == net([1.0, 2.0]).data
    assert [p.grad for p in twin.parameters()] == [p.grad for p in net.parameters()]
    assert list(map(str, twin.named_parameters())) == list(map(str, net.named_parameters()))
    twin.parameters()[0].data += 1.0
    assert twin([1.0, 2.0]).data != net([1.0, 2.0]).data
    assert twin.meta == net.meta


# --- activations ------------------------------------------------------------------------------


def test_activations_are_the_rows_of_the_table():
    usual = "linear identity sigmoid tanh relu leaky_relu elu silu gelu softplus log_sigmoid sin"
    assert set(usual.split()) <= set(ACTIVATIONS)
    assert "stop_gradient" not in ACTIVATIONS
    for name in set(ACTIVATIONS) - {"linear", "identity"}:
        assert ACTIVATIONS[name] is ROWS[name]
        y = Neuron(1, activation=name, init=lambda *_: 0.75)([0.5])
        assert y.data == ROWS[name](0.375)


def test_linear():
    neuron = Neuron(2, activation="linear", init=lambda *_: 0.5)
    assert neuron([1.0, 2.0]).data == 1.5


def test_output_activation():
    net = Network([1, 2, 2, 1], activation="tanh", output_activation="linear")
    assert [layer.neurons[0].activation for layer in net.layers] == ["tanh", "tanh", "linear"]
    net = Network([1, 2, 1], activation="tanh")
    assert [layer.neurons[0].activation for layer in net.layers] == ["tanh", "tanh"]


def test_an_operation_is_known_by_its_name():
    assert activation_of(chainrule.gelu) == "gelu"
    with pytest.raises(OptionError, match="unknown activation 'mul'"):
        activation_of(chainrule.mul)


@pytest.mark.parametrize("name", ["softmax", "log_softmax"])
def test_softmax_is_explained(name):
    with pytest.raises(OptionError, match="Use output_activation='linear' and the loss cross"):
        Network([2, 3], output_activation=name)


@pytest.mark.parametrize("bad", ["tahn", "same", 3, None])
def test_unknown_activation(bad):
    with pytest.raises(OptionError, match=r"unknown activation .* linear, sigmoid, tanh"):
        Network([2, 1], activation=bad)


# --- any operand ------------------------------------------------------------------------------


class Recorder(Arithmetic):
    """Takes part in operations and refuses, like a tracer, to become a number."""

    __slots__ = ()
    rank = 9
    seen: list[str] = []  # noqa: RUF012

    def __op__(self, op, operands):
        self.seen.append(op.name)
        return self

    def __float__(self):
        raise AssertionError("a layer looked at the number inside an operand")


def test_networks_only_apply_operations():
    Recorder.seen = []
    Network([2, 1, 1], activation="tanh")([Recorder(), 0.5])
    assert Recorder.seen == ["mul", "add", "add", "tanh", "mul", "add", "tanh"]


# --- bad input ----------------------------------------------------------------------------------


@pytest.mark.parametrize("row", [[1.0], [1.0, 2.0, 3.0], []])
def test_wrong_number_of_inputs_names_the_layer(row):
    with pytest.raises(ShapeError, match=rf"layers.0 of the network .* 2 inputs; got {len(row)}\."):
        Network([2, 3, 1])(row)
    with pytest.raises(ShapeError, match=rf"the neuron expects 2 inputs; got {len(row)}\."):
        Layer(2, 3)(row)
    net = Network([2, 3, 1])
    net.layers[1] = Layer(4, 1)
    with pytest.raises(ShapeError, match=r"layers.1 of the network expects 4 inputs; got 3\."):
        net([1.0, 2.0])


@pytest.mark.parametrize("call", [Network([1, 1]), Network([1, 1]).predict, Layer(1, 1), Neuron(1)])
def test_inputs_that_are_no_row(call):
    for bad in (0.5, np.array(0.5), Value(0.5), None):
        with pytest.raises(ShapeError, match=r"must be a list .* got .* in brackets too: net\(\["):
            call(bad)


def test_many_rows_at_once():
    for rows in ([[0, 0], [0, 1]], np.zeros((2, 2))):
        with pytest.raises(ShapeError, match=r"one row .* input 0 is \[0.* net.predict\(X\)"):
            Network([2, 1])(rows)


@pytest.mark.parametrize("bad", ["a", None, 1j])
def test_inputs_that_are_no_numbers(bad):
    for call in (Network([2, 1]), Network([2, 1]).predict):
        with pytest.raises(NotANumberError, match="input 1 needs a real number; got"):
            call([1.0, bad])


@pytest.mark.parametrize("sizes", [2, [2], [], "21", None, {}])
def test_sizes_must_be_a_list(sizes):
    with pytest.raises(OptionError, match=r"such as Network\(\[2, 4, 1\]\); got"):
        Network(sizes)


@pytest.mark.parametrize("size", [0, -1, 2.0, "4", True, None])
def test_each_size_must_be_a_whole_number(size):
    with pytest.raises(OptionError, match=r"sizes\[1\] must be a whole number of at least 1; got"):
        Network([2, size, 1])
    with pytest.raises(OptionError, match="n_inputs must be a whole number"):
        Neuron(size)
    with pytest.raises(OptionError, match="n_outputs must be a whole number"):
        Layer(2, size)


def test_fit_passes_every_option_on(monkeypatch):
    import inspect

    from chainrule.nn import training

    own = inspect.signature(Network.fit).parameters
    theirs = inspect.signature(training.fit).parameters
    assert [p.replace(name="x") for p in list(own.values())[1:]] == [
        p.replace(name="x") for p in list(theirs.values())[1:]
    ]
    assert list(own)[1:] == list(theirs)[1:]
    given = {}
    monkeypatch.setattr(training, "fit", lambda *args, **options: given.update(options) or args)
    options = {name: object() for name, p in own.items() if p.kind is p.KEYWORD_ONLY}
    net = Network([1, 1])
    assert net.fit("X", "y", **options) == (net, "X", "y")
    assert given == options
