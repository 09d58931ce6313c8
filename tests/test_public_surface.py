"""The names that chainrule offers: one list, pinned here so that none comes or goes unseen."""

import builtins
import inspect
import tomllib
from pathlib import Path

import pytest

import chainrule
from chainrule.operation import ROWS

PUBLIC = [
    "Adam",
    "AdamW",
    "ChainruleError",
    "CompileMismatch",
    "Compiled",
    "DataError",
    "Dual",
    "EarlyStopping",
    "GradientMismatch",
    "GraphError",
    "History",
    "Layer",
    "MissingExtraError",
    "ModelFileError",
    "Network",
    "Neuron",
    "NonFiniteError",
    "NotANumberError",
    "OptionError",
    "ParseError",
    "RMSprop",
    "SGD",
    "ShapeError",
    "Symbol",
    "TraceError",
    "Value",
    "acos",
    "add",
    "asin",
    "atan",
    "binary_cross_entropy",
    "binary_cross_entropy_with_logits",
    "blobs",
    "check_gradients",
    "circle",
    "clip_norm",
    "clip_value",
    "cos",
    "cosh",
    "count_passes",
    "cross_entropy",
    "diagnose",
    "div",
    "dot",
    "draw",
    "elu",
    "equal",
    "erf",
    "exp",
    "explain",
    "expm1",
    "formula",
    "gelu",
    "grad",
    "gradients",
    "greater",
    "greater_equal",
    "hessian",
    "hinge_loss",
    "hvp",
    "jacobian",
    "jvp",
    "l2_penalty",
    "leaky_relu",
    "less",
    "less_equal",
    "log",
    "log1p",
    "log_sigmoid",
    "log_softmax",
    "logsumexp",
    "maximum",
    "mean",
    "minimum",
    "moons",
    "mse_loss",
    "mul",
    "neg",
    "no_grad",
    "not_equal",
    "origin_of_nonfinite",
    "parse",
    "pick",
    "plot_activations",
    "plot_decision_boundary",
    "plot_gradient_flow",
    "plot_history",
    "read_csv",
    "relu",
    "sigmoid",
    "silu",
    "sin",
    "sinh",
    "softmax",
    "softplus",
    "spiral",
    "sqrt",
    "step_through",
    "stop_gradient",
    "strict",
    "sub",
    "tan",
    "tanh",
    "topological_order",
    "train_test_split",
    "value_and_grad",
    "vjp",
    "where",
    "xor",
]


def test_the_public_names_are_these():
    assert sorted(PUBLIC) == PUBLIC, "keep the list sorted"
    assert sorted(chainrule.__all__) == PUBLIC
    assert len(set(chainrule.__all__)) == len(chainrule.__all__)


# Reachable as chainrule.sum and so on, but not by ``from chainrule import *``.
SHADOWING = ["abs", "compile", "pow", "sum"]


def test_no_public_name_shadows_a_builtin():
    assert not set(dir(builtins)) & set(chainrule.__all__)
    for name in SHADOWING:
        assert hasattr(builtins, name)
        assert callable(getattr(chainrule, name))


def test_every_public_name_can_be_had_and_completed():
    for name in PUBLIC + SHADOWING:
        assert hasattr(chainrule, name)
        assert name in dir(chainrule)
    with pytest.raises(AttributeError, match="module 'chainrule' has no attribute 'valeu'"):
        _ = chainrule.valeu


@pytest.mark.parametrize("op", ROWS.values(), ids=lambda op: op.name)
def test_every_operation_is_reachable(op):
    assert getattr(chainrule, op.name) is op
    assert (op.name in chainrule.__all__) != hasattr(builtins, op.name)


@pytest.mark.parametrize("name", chainrule.__all__)
def test_public_name_is_documented_with_an_example(name):
    thing = getattr(chainrule, name)
    text = inspect.getdoc(thing)
    assert text
    if not (isinstance(thing, type) and issubclass(thing, Exception)):  # met, never called
        assert ">>> " in text


def test_the_version_is_that_of_the_project():
    project = Path(__file__).parents[1] / "pyproject.toml"
    assert tomllib.loads(project.read_text("utf-8"))["project"]["version"] == chainrule.__version__
