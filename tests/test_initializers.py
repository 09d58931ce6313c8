import math
import random
import statistics

import pytest

from chainrule import OptionError
from chainrule.nn import INITIALIZERS, Layer, Network
from chainrule.nn.initializers import initializer_of

# The standard deviation each has in a layer of 6 inputs and 3 outputs, and the largest
# size where there is one.
EXPECTED = {
    "lesson": (math.sqrt(2 / 6) / math.sqrt(3), math.sqrt(2 / 6)),
    "xavier_uniform": (math.sqrt(2 / 9), math.sqrt(6 / 9)),
    "xavier_normal": (math.sqrt(2 / 9), math.inf),
    "he_uniform": (math.sqrt(2 / 6), 1.0),
    "he_normal": (math.sqrt(2 / 6), math.inf),
    "uniform": (1 / math.sqrt(3), 1.0),
    "normal": (1.0, math.inf),
}
ALIASES = {
    "xavier": "xavier_uniform",
    "glorot": "xavier_uniform",
    "he": "he_uniform",
    "kaiming": "he_uniform",
    "glorot_uniform": "xavier_uniform",
    "glorot_normal": "xavier_normal",
    "kaiming_uniform": "he_uniform",
    "kaiming_normal": "he_normal",
}


@pytest.mark.parametrize("name", EXPECTED)
def test_weights_have_the_spread_that_the_formula_promises(name):
    source = random.Random(3)
    drawn = [INITIALIZERS[name](6, 3, source) for _ in range(20_000)]
    deviation, bound = EXPECTED[name]
    assert statistics.pstdev(drawn) == pytest.approx(deviation, rel=0.02)
    assert abs(statistics.fmean(drawn)) < 0.03 * deviation
    assert max(map(abs, drawn)) <= bound
    if bound < math.inf:
        assert max(map(abs, drawn)) > 0.99 * bound
    else:
        assert max(map(abs, drawn)) > 3 * deviation  # tails, so it is no uniform one


def test_every_name_is_tested_here():
    assert set(INITIALIZERS) == {*EXPECTED, *ALIASES, "zeros"}
    for alias, name in ALIASES.items():
        assert INITIALIZERS[alias] is INITIALIZERS[name]


@pytest.mark.torch
@pytest.mark.parametrize("name", ["xavier_uniform", "xavier_normal", "he_uniform", "he_normal"])
def test_spread_is_that_of_pytorch(name):
    import torch

    torch.manual_seed(0)
    weights = torch.empty(300, 600, dtype=torch.float64)
    theirs = {"he": "kaiming"}.get(name[:2], name[:6]) + "_" + name.split("_")[1] + "_"
    options = {"nonlinearity": "relu"} if name.startswith("he") else {}
    getattr(torch.nn.init, theirs)(weights, **options)
    ours = [INITIALIZERS[name](600, 300, random.Random(i)) for i in range(20_000)]
    assert statistics.pstdev(ours) == pytest.approx(weights.std().item(), rel=0.02)


def test_xavier_is_told_both_widths_of_its_layer():
    seen = []

    def spy(n_inputs, n_outputs, source):
        seen.append((n_inputs, n_outputs))
        return 0.5

    Network([3, 2, 1], init=spy)
    assert seen == [(3, 2)] * 6 + [(2, 1)] * 2


def test_lesson_draws_neuron_by_neuron_from_the_global_numbers():
    random.seed(42)
    layer = Layer(2, 4)
    random.seed(42)
    expected = [[random.uniform(-1.0, 1.0) for _ in range(2)] for _ in range(4)]
    assert [[w.data for w in neuron.weights] for neuron in layer.neurons] == expected
    assert [neuron.bias.data for neuron in layer.neurons] == [0.0] * 4


def test_a_seed_has_numbers_of_its_own():
    random.seed(1)
    before = random.getstate()
    one, two = Network([2, 3, 1], seed=7), Network([2, 3, 1], seed=7)
    assert random.getstate() == before
    assert [p.data for p in one.parameters()] == [p.data for p in two.parameters()]
    assert len({w.data for layer in one.layers for n in layer.neurons for w in n.weights}) == 9
    random.seed(7)
    assert [p.data for p in Network([2, 3, 1]).parameters()] == [p.data for p in one.parameters()]


def test_zeros_draws_nothing():
    before = random.getstate()
    assert {p.data for p in Network([2, 3, 1], init="zeros").parameters()} == {0.0}
    assert random.getstate() == before


@pytest.mark.parametrize("seed", ["7", 7.0, [7]])
def test_seed_must_be_a_whole_number(seed):
    with pytest.raises(OptionError, match="seed must be a whole number such as 42"):
        Network([2, 1], seed=seed)


@pytest.mark.parametrize("init", ["xavierre", None, 3])
def test_unknown_initializer_lists_the_known_ones(init):
    with pytest.raises(OptionError, match=r"unknown initializer .* lesson, xavier, "):
        initializer_of(init)
