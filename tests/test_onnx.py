"""`to_onnx`: the file passes ONNX's checker, and a runtime gives the network's outputs."""

import json
import random

import numpy as np
import pytest

from chainrule import Network
from chainrule.errors import MissingExtraError, OptionError
from chainrule.interop.onnx import _STEPS, to_onnx

onnx = pytest.importorskip("onnx")
runtime = pytest.importorskip("onnxruntime")


def outputs_in_the_runtime(path, X):
    session = runtime.InferenceSession(path, providers=["CPUExecutionProvider"])
    return session.run(None, {"X": np.array(X, dtype=np.float64)})[0]


def differs_by(net, path, X):
    to_onnx(net, path)
    onnx.checker.check_model(onnx.load(path), full_check=True)
    found = outputs_in_the_runtime(path, X)
    expected = np.array(net.predict(X)).reshape(len(X), -1)
    assert found.shape == expected.shape
    return np.abs(found - expected).max()


@pytest.mark.parametrize("activation", ["linear", *_STEPS])
def test_same_outputs(activation, tmp_path):
    source = random.Random(1)
    X = [[source.uniform(-4.0, 4.0) for _ in range(3)] for _ in range(20)]
    X += [[0.0] * 3, [-30.0, 30.0, 0.5]]
    net = Network([3, 6, 2], activation, "linear", seed=2)
    last = Network([3, 4, 1], "tanh", activation, seed=3)
    assert differs_by(net, tmp_path / "net.onnx", X) < 1e-6
    assert differs_by(last, tmp_path / "last.onnx", X) < 1e-6


def test_far_out(tmp_path):
    X = [[-800.0], [800.0]]
    for activation in ("sigmoid", "softplus", "log_sigmoid", "elu", "silu"):
        net = Network([1, 1], activation, init=lambda n_in, n_out, source: 1.0)
        assert differs_by(net, tmp_path / "net.onnx", X) < 1e-6


def test_a_wrong_weight_is_seen(tmp_path):
    net = Network([2, 3, 1], "tanh", seed=1)
    to_onnx(net, tmp_path / "net.onnx")
    net.layers[0].neurons[1].weights[1].data += 1e-3
    X = [[0.5, -0.5]]
    found = outputs_in_the_runtime(tmp_path / "net.onnx", X)
    assert abs(found[0, 0] - net.predict(X)[0]) > 1e-6


def test_meta_travels_along(tmp_path):
    net = Network([2, 1])
    net.meta = {"classes": ["no", "yes"]}
    to_onnx(net, tmp_path / "net.onnx")
    (found,) = onnx.load(tmp_path / "net.onnx").metadata_props
    assert (found.key, json.loads(found.value)) == ("chainrule", net.meta)


def test_what_cannot_be_carried_over(tmp_path):
    path = tmp_path / "net.onnx"
    with pytest.raises(OptionError, match=r"layers\.0 is 'erf'.* knows linear, sigmoid, tanh"):
        to_onnx(Network([1, 1], "erf"), path)
    with pytest.raises(OptionError, match=r"activation of layers\.0 is <function.*by name"):
        to_onnx(Network([1, 1], lambda x: x * x), path)
    mixed = Network([1, 2, 1], "tanh")
    mixed.layers[0].neurons[0].activation = "relu"
    with pytest.raises(OptionError, match=r"layers\.0 has neurons of different .*relu, tanh"):
        to_onnx(mixed, path)
    with pytest.raises(OptionError, match=r"expected a chainrule\.Network"):
        to_onnx("net", path)
    assert not path.exists()


def test_without_the_package(monkeypatch, tmp_path):
    monkeypatch.setitem(__import__("sys").modules, "onnx", None)
    with pytest.raises(MissingExtraError, match=r"onnx.*pip install 'chainrule\[onnx\]'"):
        to_onnx(Network([1, 1]), tmp_path / "net.onnx")
