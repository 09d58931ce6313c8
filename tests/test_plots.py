"""Plots: what is drawn, on which axes, and what they refuse."""

import math
import sys

import numpy as np
import pytest

from chainrule import (
    Network,
    circle,
    maximum,
    moons,
    plot_activations,
    plot_decision_boundary,
    plot_gradient_flow,
    plot_history,
    spiral,
    xor,
)
from chainrule.errors import DataError, MissingExtraError, OptionError, ShapeError
from chainrule.nn import History
from chainrule.nn.inspection import inspect_network
from chainrule.views.plots import plot_decay

plt = pytest.importorskip("matplotlib.pyplot")

X, Y = moons(30, seed=1)
NET = Network([2, 6, 6, 1], "tanh", seed=1)
HISTORY = History(loss=[1.0, 0.5, 0.25], accuracy=[0.5, 0.75, 1.0])

PLOTS = {
    "history": lambda ax: plot_history(HISTORY, ax=ax),
    "boundary": lambda ax: plot_decision_boundary(NET, X, Y, ax=ax),
    "flow": lambda ax: plot_gradient_flow(NET, X, Y, ax=ax),
    "activations": lambda ax: plot_activations(NET, X, ax=ax),
    "decay": lambda ax: plot_decay({"a": [1.0, 0.1]}, [1.0, 0.25], ax=ax),
}


@pytest.fixture(autouse=True)
def _without_a_screen(monkeypatch):
    plt.switch_backend("Agg")
    monkeypatch.setattr(plt, "show", lambda *_, **__: pytest.fail("a plot must not show itself"))
    yield
    plt.close("all")


def legend_of(ax):
    return [text.get_text() for text in ax.get_legend().get_texts()]


@pytest.mark.parametrize("draw", PLOTS.values(), ids=PLOTS)
def test_it_draws_on_the_axes_it_is_given_and_returns_them(draw, tmp_path):
    figure, (left, right) = plt.subplots(1, 2)
    assert draw(right) is right
    assert not left.has_data()
    assert right.has_data()
    assert right.get_xlabel()
    assert right.get_ylabel()
    figure.savefig(tmp_path / "plot.png")
    assert (tmp_path / "plot.png").stat().st_size > 5000


@pytest.mark.parametrize("draw", PLOTS.values(), ids=PLOTS)
def test_without_axes_it_makes_new_ones(draw):
    first, second = draw(None), draw(None)
    assert first is not second
    assert first.figure is not second.figure


@pytest.mark.parametrize("draw", PLOTS.values(), ids=PLOTS)
def test_a_figure_without_pyplot_is_enough(draw):
    from matplotlib.figure import Figure

    draw(Figure().subplots())
    assert plt.get_fignums() == []


@pytest.mark.parametrize("draw", PLOTS.values(), ids=PLOTS)
def test_without_matplotlib_the_extra_is_named(draw, monkeypatch):
    for name in [name for name in sys.modules if name.partition(".")[0] == "matplotlib"]:
        monkeypatch.setitem(sys.modules, name, None)
    with pytest.raises(MissingExtraError, match=r"pip install 'chainrule\[plot\]'"):
        draw(None)


@pytest.mark.parametrize("draw", PLOTS.values(), ids=PLOTS)
def test_what_is_no_axes_is_refused(draw):
    with pytest.raises(OptionError, match=r"ax must be matplotlib axes.*got 'here'"):
        draw("here")


# --- history ------------------------------------------------------------------------------------


def test_history_shows_losses_and_accuracies():
    history = History(
        loss=[1.0, 0.5],
        validation_loss=[1.2, 0.7],
        accuracy=[0.5, 1.0],
        validation_accuracy=[0.5, 0.9],
    )
    ax = plot_history(history)
    assert legend_of(ax) == ["loss", "validation loss", "accuracy", "validation accuracy"]
    assert list(ax.lines[0].get_ydata()) == [1.0, 0.5]
    assert list(ax.lines[1].get_ydata()) == [1.2, 0.7]
    assert ax.get_yscale() == "linear"
    (right,) = [other for other in ax.figure.axes if other is not ax]
    assert list(right.lines[1].get_ydata()) == [0.5, 0.9]


def test_history_of_a_steep_fall_is_logarithmic():
    assert plot_history(History(loss=[10.0, 0.01])).get_yscale() == "log"
    assert plot_history(History(loss=[10.0, 0.0])).get_yscale() == "linear"
    assert plot_history(History(loss=[math.inf, 1.0])).get_yscale() == "linear"
    ax = plot_history(History(loss=[3.0], reduction="sum"))
    assert ax.get_legend() is None
    assert ax.get_ylabel() == "loss (sum)"


def test_history_refuses_what_is_none():
    with pytest.raises(DataError, match="no epochs to plot"):
        plot_history(History())
    with pytest.raises(OptionError, match=r"takes what fit returned, a History; got \[1.0\]"):
        plot_history([1.0])


# --- decision boundary --------------------------------------------------------------------------


def by_sign(loss="mse"):
    """A network whose class is 1 where the first input is above 0."""
    net = Network([2, 1], "linear" if loss == "hinge" else "sigmoid", seed=1)
    for p, x in zip(net.parameters(), [5.0, 0.0, 0.0], strict=True):
        p.data = x
    return net


@pytest.mark.parametrize("loss", ["mse", "hinge"])
def test_boundary_runs_where_the_decision_changes(loss):
    rows, labels = [[-1.0, 0.0], [1.0, 0.0], [-1.0, 1.0], [1.0, 1.0]], [0.0, 1.0, 0.0, 0.0]
    ax = plot_decision_boundary(
        by_sign(loss), rows, labels, loss=loss, names=("a", "b"), classes=["no", "yes"]
    )
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("a", "b")
    assert legend_of(ax) == ["no", "yes", "wrong"]
    paths = [path.vertices for c in ax.collections for path in c.get_paths() if len(path.vertices)]
    assert any(np.abs(vertices[:, 0]).max() < 0.05 for vertices in paths)
    wrong = ax.collections[-1].get_offsets()
    assert wrong.tolist() == [[1.0, 1.0]]


def test_boundary_of_three_classes_and_of_vectors():
    three = Network([2, 8, 3], "tanh", "linear", seed=1)
    ax = plot_decision_boundary(three, *spiral(30, classes=3, seed=1), loss="cross_entropy")
    assert legend_of(ax)[:3] == ["0", "1", "2"]
    two = Network([2, 4, 2], "tanh", "sigmoid", seed=1)
    ax = plot_decision_boundary(two, xor()[0], [[1, 0], [0, 1], [0, 1], [1, 0]])
    assert legend_of(ax)[:2] == ["0", "1"]


def undecided(x):
    return x if x > 0.0 else 0.5 * x


def test_boundary_of_a_network_that_cannot_be_compiled_is_the_same():
    branched = Network([2, 5, 1], undecided, "sigmoid", seed=3)
    plain = Network([2, 5, 1], lambda x: maximum(x, 0.5 * x), "sigmoid", seed=3)
    drawn = [plot_decision_boundary(net, X, Y).collections for net in (branched, plain)]
    assert len(drawn[0]) == len(drawn[1])
    for one, other in zip(*drawn, strict=True):
        for a, b in zip(one.get_paths(), other.get_paths(), strict=True):
            np.testing.assert_allclose(a.vertices, b.vertices)


def test_boundary_compiles_an_activation_of_ones_own_where_it_can():
    calls = []
    net = Network([2, 5, 1], lambda x: calls.append(1) or maximum(x, 0.5 * x), "sigmoid", seed=3)
    plot_decision_boundary(net, X, Y)
    assert len(calls) < 5 * 100  # the picture has 14,400 points


def test_boundary_refuses_what_it_cannot_draw():
    with pytest.raises(ShapeError, match="rows of two numbers; these have 3"):
        plot_decision_boundary(Network([3, 1], seed=1), [[1, 2, 3]], [1])
    with pytest.raises(DataError, match=r"targets are no classes, such as 0\.3"):
        plot_decision_boundary(NET, [[1, 2]], [0.3])
    with pytest.raises(OptionError, match="do not stand for classes"):
        plot_decision_boundary(NET, X, Y, loss=lambda p, t: (p - t) ** 4)


# --- layers -------------------------------------------------------------------------------------


def test_gradient_flow_shows_mean_largest_and_zeros():
    net = Network([2, 6, 4, 1], "relu", "sigmoid", "he_normal", seed=2)
    net.layers[0].neurons[0].bias.data = -50.0
    ax = plot_gradient_flow(net, X, Y)
    sizes = [np.abs(layer.gradients) for layer in inspect_network(net, X, Y).layers]
    largest, mean = ax.lines
    np.testing.assert_allclose(mean.get_ydata(), [s.mean() for s in sizes])
    np.testing.assert_allclose(largest.get_ydata(), [s.max() for s in sizes])
    (right,) = [other for other in ax.figure.axes if other is not ax]
    bars = [bar.get_height() for bar in right.patches]
    np.testing.assert_allclose(bars, [100.0 * (s == 0.0).mean() for s in sizes])
    assert bars[0] > 16.0  # one neuron of six, or more
    assert ax.get_yscale() == "log"
    assert [t.get_text() for t in ax.get_xticklabels()] == ["0\nrelu", "1\nrelu", "2\nsigmoid"]


def test_gradient_flow_of_a_network_without_any_gradient():
    ax = plot_gradient_flow(Network([2, 3, 3, 1], init="zeros"), X, Y)
    assert np.isnan(ax.lines[0].get_ydata()[0])
    ax.figure.savefig("/dev/null", format="png")


def test_gradient_flow_repeats_what_the_loss_says():
    net = Network([2, 4, 1], "tanh", "linear", seed=1)
    net.layers[-1].neurons[0].bias.data = 5.0
    with pytest.raises(DataError, match="needs a probability from 0 to 1"):
        plot_gradient_flow(net, X, Y, loss="binary_cross_entropy")


def test_activations_tell_what_is_saturated_and_dead():
    net = Network([2, 6, 6, 1], "tanh", seed=1)
    for p in net.layers[0].parameters():
        p.data *= 100.0
    for neuron in net.layers[1].neurons:
        neuron.activation = "relu"
        neuron.bias.data = -50.0
    ax = plot_activations(net, X)
    notes = [text.get_text() for text in ax.texts]
    share = inspect_network(net, X).layers[0].flat.mean()
    assert notes[0] == f"{100.0 * share:.0f} % saturated"
    assert notes[1] == "6 of 6 dead"
    medians = [line.get_ydata()[0] for line in ax.lines if line.get_linewidth() == 1.8]
    assert medians[1] == 0.0


def test_activations_that_are_not_finite_are_counted():
    net = Network([2, 2, 1], "log", "linear", seed=1)
    ax = plot_activations(net, circle(20, seed=1)[0])
    assert "not finite" in ax.texts[0].get_text()
    ax.figure.savefig("/dev/null", format="png")


def test_the_names_of_many_layers_stay_legible():
    ax = plot_activations(Network([2, *[2] * 39, 1], seed=1), X)
    assert len(ax.get_xticks()) <= 12


def test_decay_shows_each_curve_and_the_bound():
    ax = plot_decay({"sigmoid": [1.0, 0.1, 0.01], "relu": [1.0, 0.0, 0.0]}, [1.0, 0.25, 0.0625])
    assert len(legend_of(ax)) == 3
    assert list(ax.lines[-1].get_ydata()) == [1.0, 0.25, 0.0625]
    assert np.isnan(ax.lines[1].get_ydata()[1])
