"""``chainrule compile``: which scalar operations became which statement."""

import re

import pytest

from chainrule import compile, dot, relu, tanh
from chainrule.cli import main
from chainrule.compiler.listing import listing
from chainrule.nn import ACTIVATIONS, LOSSES, Network, mse_loss
from chainrule.value import Value


@pytest.fixture
def run(capsys):
    """Run a command; give its status and what it printed."""

    def go(words):
        status = main(words.split())
        out, err = capsys.readouterr()
        return status, out, err

    return go


def test_the_program_stands_beside_the_neurons(run):
    status, out, err = run("compile 2-8-1 --show")
    assert (status, err) == (0, "")
    assert out.startswith("Network 2 -> 8 'tanh' -> 1 'linear': 33 parameters\nLoss: mse\n")
    for expected in (
        "58 scalar nodes became 5 statements.\n",
        "  layers.0  8 neurons: tanh(b + w0*x0 + w1*x1)\n",
        "  layers.1  1 neuron: b + w0*x0 + w1*x1 + ... + w7*x7\n",
        "  loss      mse(output, y)\n",
        "  W1 = theta[0:24].reshape(8, 3)[:, :2]\n",
        "  # layers.0: 8 neurons x (2 products, 2 sums, 1 tanh)\n  h1 = np.tanh(x @ W1.T + b1)\n",
        "  # layers.1: 1 neuron x (8 products, 8 sums)\n  z2 = h1 @ W2.T + b2\n",
        "  # loss: 1 difference\n  v1 = z2 - y\n",
        "  # loss: 1 power\n  loss = v1 * v1\n",
        "  # layers.0\n  dh1 = dz2 @ W2\n  dz1 = dh1 * (1.0 - h1 * h1)\n  dW1 += dz1.T @ x\n",
    ):
        assert expected in out


def test_without_show_there_are_only_the_numbers(run):
    status, out, _ = run("compile xor")
    assert status == 0
    assert "statements" in out
    assert "--show" in out
    assert "theta" not in out


@pytest.mark.parametrize(
    "words",
    [
        "xor",
        "circle",
        "spiral",
        "64-32-10",
        "2-4-4-3 --activation relu",
        "3-5-1 --loss hinge --activation leaky_relu",
        "2-4-1 --loss binary_cross_entropy_with_logits --activation gelu",
        "2-3-2 --loss mse --activation silu",
        "4-1",
    ],
)
def test_every_line_fits_and_every_node_is_accounted_for(words, run):
    status, out, err = run(f"compile {words} --show")
    assert (status, err) == (0, "")
    assert max(map(len, out.splitlines())) <= 80
    nodes = int(re.search(r"([\d,]+)\s+scalar nodes", out)[1].replace(",", ""))
    counted = 0
    for comment in re.findall(r"^  # (.*:.*)$(?!\n  #)", out, re.MULTILINE):
        times = re.search(r"(\d+) (?:neurons? )?x \(", comment)
        each = sum(int(n) for n in re.findall(r"(\d+) [a-z]\w*(?: change)?s?(?=[,)]|$)", comment))
        counted += each * (int(times[1]) if times else 1)
    assert counted == nodes


def test_an_activation_belongs_to_its_layer_and_a_loss_to_the_loss(run):
    _, out, _ = run(
        "compile 2-4-1 --activation relu --loss binary_cross_entropy_with_logits --show"
    )
    assert "# layers.0: 4 neurons x (2 products, 2 sums, 1 relu)\n" in out
    assert "# layers.1: 1 neuron x (4 products, 4 sums)\n" in out
    assert out.count("# loss: 1 softplus\n") == 2
    _, out, _ = run("compile 2-4-1 --loss binary_cross_entropy --show")
    assert "# layers.1: 1 neuron x (4 products, 4 sums, 1 sigmoid)\n" in out


def test_a_saved_network(run, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    net = Network([3, 2, 2], activation="elu", output_activation="linear", seed=1)
    net.save("model.json")
    status, out, _ = run("compile model.json --show")
    assert status == 0
    assert "Loss: mse" in out
    assert "# layers.0: 2 neurons x (3 products, 3 sums)" in out
    assert "# layers.0: 2 neurons x (1 elu)" in out
    _, out, _ = run("compile model.json --loss cross_entropy --show")
    assert "  # loss: 1 pick, 2 differences, 1 logsumexp\n  loss, p1 = cross_entropy(" in out
    status, _, err = run("compile model.json --activation relu")
    assert status == 1
    assert "the one in the file has its own" in err


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ("compile", "Missing argument 'NETWORK'"),
        (
            "compile 2-x",
            "NETWORK is one of xor, circle, moons, spiral, digits, or the number of inputs",
        ),
        ("compile 2", "such as 2-8-1"),
        ("compile 2-0-1", "got '2-0-1'"),
        ("compile none.json", "none.json: No such file"),
        ("compile 2-4-3 --loss hinge", "the loss hinge needs a network with one output"),
        ("compile 2-4-1 --loss cross_entropy", "cross_entropy"),
        ("compile 2-4-1 --activation relo", "relo"),
        ("compile 2-4-1 --loss mean", "'mean' is not one of 'mse'"),
    ],
)
def test_mistakes_are_explained(words, expected, run):
    status, out, err = run(words)
    assert status in (1, 2)
    assert out == ""
    assert expected in err
    assert err.count("\n") == 1


def test_every_activation_and_loss_can_be_shown(run):
    for activation in sorted(ACTIVATIONS):
        assert run(f"compile 2-3-2 --activation {activation} --show")[0] == 0
    for loss in sorted(LOSSES):
        assert run(f"compile 2-3-{1 + (loss == 'cross_entropy')} --loss {loss} --show")[0] == 0


# --- the listing itself -------------------------------------------------------------------------


def test_a_function_that_is_no_network():
    w = [Value(0.5), Value(-1.0), Value(2.0), Value(0.1)]

    def f(x):
        hidden = [tanh(dot(w[:2], x)), tanh(dot(w[2:], x))]
        return relu(hidden[0] * hidden[1])

    step = compile(f, parameters=w)
    step([[1.0, 2.0]])
    found = listing(step.program, step.source, ["a", "a", "b", "b"], {})
    assert found.forward[0] == "# a, b: 2 neurons x (2 products, 1 sum, 1 tanh)"
    assert found.forward[-2:] == ["# loss: 1 relu", "loss = relu(v1)"]


def test_a_program_without_parameters():
    step = compile(lambda x: x[0] * x[1])
    step([2.0, 3.0])
    found = listing(step.program, step.source, [], {})
    assert (found.weights, found.forward[0]) == ([], "# loss: 1 product")


def test_results_that_are_laid_side_by_side():
    w = [Value(0.1 * i) for i in range(6)]

    def f(x):
        sums = [dot(w[: k + 1], x[: k + 1]) for k in range(6)]
        for _ in range(4):
            sums = [tanh(s * 0.5) for s in sums]
        return sum(sums)

    step = compile(f, parameters=w)
    step([[1.0] * 6])
    found = listing(step.program, step.source, ["w"] * 6, {})
    at = found.forward.index("# side by side")
    assert re.fullmatch(r"v\d+ = beside\((z\d+, ){5}z\d+\)", found.forward[at + 1])


def test_long_statements_are_continued():
    net = Network([2, 4, 1], activation="relu", output_activation="linear")
    names, parameters = zip(*net.named_parameters(), strict=True)
    step = compile(lambda x, y: mse_loss(net(x), y), parameters=parameters)
    step([[1.0, 2.0]], [1.0])
    narrow = listing(step.program, step.source, names, {"layers.0": "relu"}, width=40)
    lines = [*narrow.weights, *narrow.forward, *narrow.backward]
    assert max(map(len, lines)) <= 40
    wide = listing(step.program, step.source, names, {"layers.0": "relu"}, width=200)
    for part in ("weights", "forward", "backward"):
        joined = re.sub(r"\n(?:#   |        )", " ", "\n".join(getattr(narrow, part)))
        assert joined == "\n".join(getattr(wide, part))
