"""`chainrule.interop.torch`: there and back, and training side by side."""

import importlib.util
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

import chainrule
from chainrule import SGD, Adam, AdamW, Network, RMSprop
from chainrule.cli import main
from chainrule.data import moons, spiral, xor
from chainrule.errors import MissingExtraError, OptionError
from chainrule.interop import comparison, conversion
from chainrule.interop.conversion import ACTIVATIONS
from chainrule.interop.torch import compare, from_module, to_module
from chainrule.nn import LOSSES
from chainrule.nn.optimizers import Optimizer

ROOT = Path(__file__).parents[1]
INSTALLED = importlib.util.find_spec("torch") is not None
if INSTALLED:
    import torch

OPTIMIZERS = [
    SGD(lr=0.1),
    SGD(lr=0.05, momentum=0.9, nesterov=True, weight_decay=0.01),
    SGD(lr=0.05, momentum=0.9, dampening=0.3),
    RMSprop(lr=0.01),
    RMSprop(lr=0.01, momentum=0.5, centered=True, weight_decay=0.01),
    Adam(lr=0.01),
    Adam(lr=0.01, weight_decay=0.01),
    AdamW(lr=0.01),
]


def test_without_pytorch(monkeypatch, capsys):
    monkeypatch.setitem(sys.modules, "torch", None)
    net = Network([2, 2, 1])
    for call in (
        lambda: to_module(net),
        lambda: from_module(net),
        lambda: compare(net, *xor()),
    ):
        with pytest.raises(MissingExtraError, match=r"torch.*pip install 'chainrule\[torch\]'"):
            call()
    assert main(["compare", "xor"]) == 1
    assert "pip install 'chainrule[torch]'" in capsys.readouterr().err


@pytest.mark.torch
@pytest.mark.parametrize("activation", ["linear", "identity", *ACTIVATIONS])
def test_there_and_back(activation):
    net = Network([3, 5, 2], activation, "linear", seed=1)
    module = to_module(net)
    X = [[0.5, -1.0, 2.0], [30.0, 40.0, -50.0], [0.0, 0.0, 0.0]]
    found = module(torch.tensor(X, dtype=torch.float64)).tolist()
    for row, expected in zip(found, net.predict(X), strict=True):
        assert row == pytest.approx(expected, rel=1e-14, abs=1e-14)
    again = from_module(module)
    assert repr(again) == repr(net).replace("identity", "linear")
    assert [p.data for p in again.parameters()] == [p.data for p in net.parameters()]


@pytest.mark.torch
def test_module_has_copies_of_the_weights():
    net = Network([2, 1], "linear", init="zeros")
    module = to_module(net)
    with torch.no_grad():
        module[0].weight += 1.0
    assert net.predict([1.0, 1.0]) == 0.0


@pytest.mark.torch
def test_from_module_takes_what_is_written_there():
    nn = torch.nn
    module = nn.Sequential(
        nn.Sequential(nn.Linear(2, 3, bias=False), nn.Identity(), nn.Softplus()), nn.Linear(3, 1)
    )
    net = from_module(module)
    assert repr(net) == "<Network 2 -> 3 'softplus' -> 1 'linear': 13 parameters>"
    X = [[0.5, -1.0]]
    assert net.predict(X)[0] == pytest.approx(module(torch.tensor(X)).item(), abs=1e-6)
    assert from_module(nn.Linear(2, 1)).sizes == [2, 1]


@pytest.mark.torch
@pytest.mark.parametrize(
    ("build", "message"),
    [
        (lambda nn: nn.Sequential(nn.Linear(2, 1), nn.Dropout()), "1 is Dropout, which no layer"),
        (lambda nn: nn.Sequential(nn.Tanh(), nn.Linear(2, 1)), "0 is Tanh, and no Linear stands"),
        (
            lambda nn: nn.Sequential(nn.Linear(2, 1), nn.Tanh(), nn.Sigmoid()),
            "2 is a second activation .* Sigmoid after tanh",
        ),
        (
            lambda nn: nn.Sequential(nn.Linear(2, 1), nn.LeakyReLU(0.2)),
            "1 is LeakyReLU with negative_slope=0.2; .* has negative_slope=0.01",
        ),
        (
            lambda nn: nn.Sequential(nn.Linear(2, 1), nn.GELU(approximate="tanh")),
            "GELU with approximate='tanh'",
        ),
        (
            lambda nn: nn.Sequential(nn.Linear(2, 1), nn.Softplus(threshold=2.0)),
            "Softplus with threshold=2.0",
        ),
        (lambda nn: nn.Sequential(nn.Linear(2, 3), nn.Linear(4, 1)), "takes 4 inputs where .* 3"),
        (lambda nn: nn.Sequential(), "no Linear"),
        (lambda nn: nn.Conv1d(1, 1, 1), "the module is Conv1d"),
        (lambda nn: Network([2, 1]), r"reads a torch.nn.Module; got .*to_module\(net\)"),
    ],
)
def test_module_that_is_no_network(build, message):
    with pytest.raises(OptionError, match=message):
        from_module(build(torch.nn))


@pytest.mark.torch
def test_networks_that_cannot_be_carried_over():
    with pytest.raises(OptionError, match=r"no module for the activation 'erf'.*It has: linear"):
        to_module(Network([1, 1], "erf"))
    with pytest.raises(OptionError, match=r"expected a chainrule\.Network"):
        to_module(3)


# --- side by side -----------------------------------------------------------------------------


def example(loss):
    """A network and rows that suit a loss."""
    activation = LOSSES[loss].output_activation or "linear"
    if LOSSES[loss].outputs == "several":
        return Network([2, 5, 3], "tanh", activation, seed=3), *spiral(9, classes=3, seed=1)
    return Network([2, 5, 1], "tanh", activation, seed=3), *moons(8, seed=1)


@pytest.mark.torch
@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("optimizer", OPTIMIZERS, ids=repr)
def test_every_loss_and_optimiser_is_pytorchs(loss, optimizer):
    net, X, y = example(loss)
    found = compare(net, X, y, loss=loss, optimizer=optimizer)
    assert len(found.losses) == 50
    assert found.largest_difference <= 1e-12
    assert found.losses == pytest.approx(found.torch_losses, rel=1e-12)
    assert found.losses[-1] < found.losses[0]
    for p in found.parameters:
        assert p.data == pytest.approx(p.torch_data, rel=1e-10, abs=1e-11)


@pytest.mark.torch
def test_relu_several_outputs_and_sums():
    X, y = spiral(9, classes=3, seed=1)
    marks = [[float(i == k) for k in range(3)] for i in y]
    net = Network([2, 6, 3], "relu", "sigmoid", seed=2)
    found = compare(net, X, marks, reduction="sum", lr=0.05, epochs=20)
    assert found.largest_difference <= 1e-12
    assert found.losses == pytest.approx(found.torch_losses, rel=1e-12)


@pytest.mark.torch
def test_network_given_is_left_alone():
    net, X, y = example("mse")
    before = [p.data for p in net.parameters()]
    compare(net, X, y, epochs=2)
    assert [(p.data, p.grad) for p in net.parameters()] == [(data, 0.0) for data in before]


@pytest.mark.torch
def test_a_difference_is_seen(monkeypatch):
    """PyTorch starts from one weight that is off by 1e-9."""
    net, X, y = example("mse")

    def off(net):
        module = conversion.to_module(net)
        with torch.no_grad():
            module[0].weight[0, 0] += 1e-9
        return module

    monkeypatch.setattr(comparison, "to_module", off)
    assert compare(net, X, y, epochs=3).largest_difference > 1e-11


@pytest.mark.torch
def test_nan_does_not_hide():
    net = Network([1, 1], "linear", seed=1)
    found = compare(net, [[1e200], [1.0]], [0.0, 1.0], lr=1.0, epochs=3)
    assert found.largest_difference != found.largest_difference


@pytest.mark.torch
def test_printed_comparison():
    net, X, y = example("mse")
    found = compare(net, X, y, epochs=2, lr=0.1)
    text = str(found)
    assert text.startswith("2 epochs of 8 rows, mse, SGD(lr=0.1, momentum=0.0")
    assert f"PyTorch {torch.__version__}, float64" in text
    assert "layers.0.neurons.0.weights.0 " in text
    assert "... and 1 parameter that differ less" in text
    assert text.splitlines()[-1].startswith("Largest difference of all gradients, in norm: ")
    json.dumps(found.to_dict())


@pytest.mark.torch
def test_what_cannot_be_compared():
    net, X, y = example("mse")

    class Own(Optimizer):
        pass

    with pytest.raises(OptionError, match=r"knows PyTorch's counterpart .*mse, binary"):
        compare(net, X, y, loss=lambda output, target: output)
    with pytest.raises(OptionError, match=r"no counterpart of Own\(lr=0\.001\).*SGD"):
        compare(net, X, y, optimizer=Own())
    with pytest.raises(OptionError, match="epochs"):
        compare(net, X, y, epochs=0)


@pytest.mark.torch
def test_on_the_command_line(capsys):
    assert main(["compare", "xor", "--epochs", "3"]) == 0
    out = capsys.readouterr().out
    assert out.startswith("Network 2 -> 8 'tanh' -> 1 'sigmoid'")
    assert float(out.rsplit(maxsplit=1)[1]) < 1e-12
    assert main(["compare", "moons", "--epochs", "1", "--hidden", "3", "--lr", "0.1"]) == 0


@pytest.mark.torch
def test_two_processes(tmp_path):
    done = subprocess.run(
        [sys.executable, str(ROOT / "examples" / "ddp_two_processes.py")],
        env={**os.environ, "PYTHONPATH": str(Path(chainrule.__file__).parents[1])},
        capture_output=True,
        text=True,
        check=False,
        timeout=110,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("33 gradients of 40 rows, on 2 processes and on one")
