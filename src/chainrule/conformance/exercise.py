"""Write your own engine, step by step: the starter file, and how far somebody has come."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from chainrule.conformance.cases import Case
from chainrule.conformance.loading import read_source
from chainrule.conformance.outcome import judge
from chainrule.conformance.runner import Runner
from chainrule.conformance.verdict import Verdict

__all__ = ["EXERCISES", "STEPS", "Step", "is_exercise", "progress", "progress_text", "starter"]

MARK: Final = "chainrule exercise: backprop"

STARTER: Final = '''"""Backpropagation, written by yourself.

{mark}

Fill in the methods from top to bottom, and after each one run

    chainrule check {file}
"""

import math
import random


class Value:
    # Step 1: a node.  It keeps a number, a gradient (0.0 at first), the values it was
    # computed from, and a function that passes its gradient on to them.
    def __init__(self, data, children=()):
        raise NotImplementedError("step 1: data, grad, _children, _backward")

    # Step 2: addition and multiplication.  `other` may be a plain number.
    def __add__(self, other):
        raise NotImplementedError("step 2: a + b")

    def __radd__(self, other):
        raise NotImplementedError("step 2: 2 + a")

    def __mul__(self, other):
        raise NotImplementedError("step 2: a * b")

    def __rmul__(self, other):
        raise NotImplementedError("step 2: 2 * a")

    # Step 3: more operations.  `n` is a plain number.
    def __neg__(self):
        raise NotImplementedError("step 3: -a")

    def __sub__(self, other):
        raise NotImplementedError("step 3: a - b")

    def __rsub__(self, other):
        raise NotImplementedError("step 3: 2 - a")

    def __pow__(self, n):
        raise NotImplementedError("step 3: a**n")

    def __truediv__(self, other):
        raise NotImplementedError("step 3: a / b")

    def __rtruediv__(self, other):
        raise NotImplementedError("step 3: 2 / a")

    def exp(self):
        raise NotImplementedError("step 3: exp")

    def log(self):
        raise NotImplementedError("step 3: log")

    def tanh(self):
        raise NotImplementedError("step 3: tanh")

    # Step 4: the activations.
    def sigmoid(self):
        raise NotImplementedError("step 4: sigmoid")

    def relu(self):
        raise NotImplementedError("step 4: relu")

    # Step 5: the backward pass: every node once, results before operands.
    def backward(self):
        raise NotImplementedError("step 5: backward")


# Step 6: a neuron: tanh of the weighted sum of its inputs, plus a bias.
class Neuron:
    def __init__(self, inputs):
        raise NotImplementedError("step 6: weights and a bias, drawn at random")

    def __call__(self, x):
        raise NotImplementedError("step 6: the output for a list x")

    def parameters(self):
        raise NotImplementedError("step 6: a list of the weights and the bias")


# Step 7: a layer: neurons side by side, on the same inputs.
class Layer:
    def __init__(self, inputs, outputs):
        raise NotImplementedError("step 7: a list of neurons")

    def __call__(self, x):
        raise NotImplementedError("step 7: a list of outputs; the output itself if there is one")

    def parameters(self):
        raise NotImplementedError("step 7: those of all neurons")


# Step 8: a network: layers one after the other.  MLP(3, [4, 2, 1]) has three.
class MLP:
    def __init__(self, inputs, outputs):
        raise NotImplementedError("step 8: a list of layers that fit each other")

    def __call__(self, x):
        raise NotImplementedError("step 8: each layer takes the output of the one before")

    def parameters(self):
        raise NotImplementedError("step 8: those of all layers")

    def zero_grad(self):
        raise NotImplementedError("step 8: set the gradient of every parameter to 0.0")


# Step 9: train an MLP on XOR.  Return the list of losses; the last has to be below 0.05.
def train_xor():
    raise NotImplementedError("step 9: zero_grad, loss, backward, update; again and again")


# Step 10: clip gradients: if the norm of all gradients together is above the limit, scale
# each gradient so that the norm is the limit.
def clip_gradients(parameters, limit):
    raise NotImplementedError("step 10: clipping")


# Step 11: see gradients vanish: the mean of |grad| over the parameters of each layer.
def gradient_sizes(network):
    raise NotImplementedError("step 11: a list of one number per layer")
'''

EXERCISES: Final = {"backprop": STARTER}
"""The exercises, by name."""


@dataclass(frozen=True)
class Step:
    """A step of the exercise.

    Attributes:
        title: what is written in it.
        values: programs whose results are checked before there is a backward pass.
        cases: sections or cases of the verdict that belong to it.
        check: a function of the exercise.
    """

    title: str
    values: tuple[str, ...] = ()
    cases: tuple[str, ...] = ()
    check: str = ""


STEPS: Final = (
    Step("a node", ("y = a",)),
    Step("addition and multiplication", ("y = a + b", "y = a * b", "y = 2 + a", "y = 2 * a")),
    Step(
        "more operations",
        (
            "y = -a", "y = a - b", "y = 2 - a", "y = a**3", "y = a / b", "y = 2 / a",
            "y = a.exp()", "y = b.log()", "y = a.tanh()",
        ),
    ),
    Step("sigmoid and ReLU", ("y = a.sigmoid()", "y = a.relu()", "y = b.relu()")),
    Step(
        "the backward pass",
        cases=(
            "node", "add and mul", "more operators", "constants", "functions", "activations",
            "reuse", "order", "passes", "random graphs",
        ),
    ),
    Step("a neuron", cases=("neuron", "neuron parameters")),
    Step("a layer", cases=("layer", "layer parameters")),
    Step("a network", cases=("network", "network sizes", "zero_grad")),
    Step("training on XOR", check="train_xor"),
    Step("clipping gradients", check="clip_gradients"),
    Step("vanishing gradients", check="gradient_sizes"),
)  # fmt: skip
"""The steps, in the order of the lesson."""


def starter(file: str, exercise: str = "backprop") -> str:
    """The text of a starter file.

    Args:
        file: its name, for the instructions in it.
        exercise: a key of `EXERCISES`.

    Example:
        >>> starter("mine.py").splitlines()[0]
        '\"\"\"Backpropagation, written by yourself.'
    """
    return EXERCISES[exercise].replace("{mark}", f"({MARK})").replace("{file}", file)


def is_exercise(path: str | Path) -> bool:
    """Whether a file was begun from a starter file."""
    return MARK in read_source(path).text


def progress(path: str | Path, verdict: Verdict) -> list[tuple[Step, str]]:
    """How far somebody has come.

    Args:
        path: the file.
        verdict: the verdict on it.

    Returns:
        Each step with ``done``, ``to do``, or what is wrong.
    """
    with Runner(Path(path), "Value") as runner:
        if runner.ready["status"] != "ready":
            unwritten = "NotImplementedError" in str(runner.ready.get("message", ""))
            first = "to do" if unwritten else str(runner.ready.get("message", "does not load"))
            return [(s, "to do" if i else first) for i, s in enumerate(STEPS)]
        return [(step, _state(step, verdict, runner)) for step in STEPS]


def _state(step: Step, verdict: Verdict, runner: Runner) -> str:
    for program in step.values:
        case = Case(program, "node", program, ({"a": -1.5, "b": 0.5},), "", ("y.data",))
        outcome = judge(case, runner.ask(case))
        if outcome.status == "absent":
            return "to do"
        if outcome.failed:
            return f"{program.removeprefix('y = ')} is wrong {outcome.message}".strip()
    if step.check:
        case = Case(step.check, "training", "", ({},), "", (step.check,))
        outcome = judge(case, runner.ask(case))
        if outcome.status == "absent":
            return "to do"
        return "done" if not outcome.failed else outcome.message or outcome.status
    if step.cases:
        own = [
            outcome
            for section in verdict.sections
            for name, outcome in verdict.outcomes.items()
            if (section.name in step.cases and name in section.failed) or name in step.cases
        ]
        ran = [o for o in own if o.status != "absent"]
        if any(o.failed for o in ran):
            return "something is wrong; see below"
        sections = {s.name for s in verdict.sections if s.total}
        begun = bool(ran) or bool(sections & set(step.cases))
        return "done" if begun else "to do"
    return "done"


def progress_text(states: Sequence[tuple[Step, str]]) -> str:
    """The steps as lines of text; the first one that is not done is marked.

    Example:
        >>> print(progress_text([(STEPS[0], "done"), (STEPS[1], "to do")]))
           1  a node                       done
        >  2  addition and multiplication  to do
        1 of 2 steps are done.
    """
    lines = []
    pointed = False
    for i, (step, state) in enumerate(states, 1):
        here = state != "done" and not pointed
        pointed = pointed or here
        lines.append(f"{'>' if here else ' '} {i:>2}  {step.title:<27}  {state}")
    done = sum(state == "done" for _, state in states)
    return "\n".join([*lines, f"{done} of {len(states)} steps are done."])
