"""The examples: plain scalar code that runs eagerly and compiled, with equal results."""

import importlib.util
import os
import random
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import chainrule
from chainrule import Adam, Value
from chainrule.compiler import compile

ROOT = Path(__file__).parents[1]


def load(name):
    spec = importlib.util.spec_from_file_location(name, ROOT / "examples" / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


gpt = load("scalar_gpt")


@pytest.fixture(scope="module")
def eager():
    """Losses of the first steps, and the gradient of the very first."""
    training = gpt.Training("eager")
    first = training.gradient(gpt.encode("almeron"))
    return first, [training.step(gpt.encode(word)) for word in WORDS]


WORDS = ("almeron", "velmi", "belora", "almeron")


def test_gpt_learns_the_same_compiled(eager):
    (loss, gradient), losses = eager
    training = gpt.Training("numpy")
    found = training.gradient(gpt.encode("almeron"))
    assert found[0] == pytest.approx(loss, abs=1e-12)
    np.testing.assert_allclose(found[1], gradient, rtol=0.0, atol=1e-12)
    assert np.linalg.norm(gradient) > 0.1
    compiled = [training.step(gpt.encode(word)) for word in WORDS]
    np.testing.assert_allclose(compiled, losses, rtol=0.0, atol=1e-9)
    assert losses[-1] < losses[0]


def test_gpt_is_a_few_statements_and_one_program_per_length():
    weights = gpt.make_weights()
    parameters = gpt.parameters_of(weights)
    step = compile(lambda tokens: gpt.loss(weights, tokens), parameters=parameters)
    step([gpt.encode("almeron")])
    seven = step.program
    assert step.report.scalar_nodes > 30_000
    assert step.report.statements <= 60
    step([gpt.encode("halvira"), gpt.encode("kelvira")])
    assert step.program is seven
    step([gpt.encode("velmi")])
    assert step.program is not seven
    step([gpt.encode("almeron")])
    assert step.program is seven


def test_gpt_has_room_for_its_words():
    lengths = {len(word) for word in gpt.WORDS}
    assert len(lengths) <= 8  # as many programs as compile() remembers
    assert max(lengths) + 1 <= gpt.POSITIONS
    assert len(set(gpt.WORDS)) == len(gpt.WORDS) == 40


def test_gpt_loss_is_the_surprise_of_each_letter():
    """Against the definition, in which every position is read afresh and nothing is kept."""
    weights = gpt.make_weights(seed=3)
    tokens = gpt.encode("velmi")
    expected = []
    for n in range(1, len(tokens)):
        keys, values = [], []
        for position in range(n):
            logits = gpt.read(weights, tokens[position], position, keys, values)
        shares = chainrule.softmax(logits)
        expected.append(-np.log(float(shares[tokens[n]])))
    assert gpt.loss(weights, tokens).data == pytest.approx(np.mean(expected), abs=1e-12)
    start = gpt.loss(gpt.make_weights(), tokens).data
    assert start == pytest.approx(np.log(gpt.TOKENS), abs=0.5)  # it knows nothing yet


def test_gpt_does_not_look_ahead():
    weights = gpt.make_weights()
    keys, values = [], []
    first = [float(x) for x in gpt.read(weights, gpt.END, 0, keys, values)]
    gpt.read(weights, 3, 1, keys, values)
    again = gpt.read(weights, gpt.END, 0, [], [])
    assert first == [float(x) for x in again]


def test_adam_of_the_example_is_adam():
    source = random.Random(0)
    p = Value(0.5)
    optimizer = Adam([p], lr=0.01, betas=(0.9, 0.99), eps=1e-8)
    number, m, v = 0.5, 0.0, 0.0
    for t in range(1, 6):
        p.grad = g = source.gauss(0.0, 1.0)
        optimizer.step()
        number, m, v = gpt.adam(number, g, m, v, t, 0.01)
        assert number == pytest.approx(p.data, abs=1e-15)


def test_gpt_makes_up_words():
    weights = gpt.make_weights()
    words = [gpt.sample(weights, random.Random(k)) for k in range(3)]
    assert len(set(words)) > 1
    assert all(set(word) <= set(gpt.LETTERS) and len(word) <= gpt.POSITIONS for word in words)


def printed(engine):
    found = subprocess.run(
        [sys.executable, "examples/scalar_gpt.py", "--engine", engine, "--steps", "2"],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(Path(chainrule.__file__).parents[1])},
        capture_output=True,
        text=True,
        check=True,
    )
    return found.stdout.splitlines()


@pytest.mark.slow
def test_gpt_on_the_command_line():
    first, *steps, last = printed("eager")
    assert first == "4128 parameters, 40 words, engine eager"
    assert [line.split()[:3] for line in steps] == [["step", str(k), "loss"] for k in (1, 2)]
    assert last.startswith("new words: ")
    _, *others, same = printed("numpy")
    assert [line.split()[:4] for line in others] == [line.split()[:4] for line in steps]
    assert same == last
