"""fit: the lesson's numbers, what is recorded, what ends a training, and bad input."""

import io
import json
import math
import random
import signal
import subprocess
import sys
from functools import partial

import numpy as np
import pytest

from chainrule import Value, no_grad
from chainrule.data import moons, xor
from chainrule.errors import (
    DataError,
    GraphError,
    NotANumberError,
    OptionError,
    ShapeError,
)
from chainrule.nn.callbacks import EarlyStopping
from chainrule.nn.clipping import clip_norm, clip_value
from chainrule.nn.engines import EagerEngine, Orders, plain
from chainrule.nn.history import History
from chainrule.nn.layers import Network
from chainrule.nn.losses import mse_loss
from chainrule.nn.optimizers import OPTIMIZERS, SGD, Adam
from chainrule.nn.progress import ProgressBar
from chainrule.nn.schedules import StepSchedule
from chainrule.nn.training import DEFAULT_LR, fit

X, Y = xor()


class Line:
    """The smallest thing that can be trained: ``w * x + b``."""

    def __init__(self, w=0.5, b=0.0):
        self.w, self.b = Value(w, label="w"), Value(b, label="b")

    def __call__(self, row):
        return self.w * row[0] + self.b

    def parameters(self):
        return [self.w, self.b]

    def values(self):
        return [self.w.data, self.b.data]


LINE_X = [[0.0], [1.0], [2.0], [3.0], [4.0]]
LINE_Y = [1.0, 3.0, 5.0, 7.0, 9.0]


def network(seed=3, sizes=(2, 4, 1), **options):
    return Network(list(sizes), seed=seed, **options)


def values(net):
    return [p.data for p in net.parameters()]


# --- the lesson -------------------------------------------------------------------------------


def test_the_xor_lesson():
    random.seed(42)
    net = Network([2, 4, 1])
    history = fit(net, X, Y, lr=1.0, epochs=1000, reduction="sum")
    assert " ".join(f"{history.loss[epoch]:.6f}" for epoch in range(0, 1000, 100)) == (
        "1.067385 0.805927 0.190474 0.035562 0.015281 0.009271 0.006544 0.005017 0.004050 0.003385"
    )
    assert history.accuracy[-1] == 1.0


def circle_lesson():
    random.seed(7)
    points = [(random.uniform(-1.5, 1.5), random.uniform(-1.5, 1.5)) for _ in range(80)]
    data = [([x1, x2], 1.0 if x1 * x1 + x2 * x2 < 1.0 else 0.0) for x1, x2 in points]
    return data, Network([2, 8, 1])


def test_the_circle_lesson():
    data, net = circle_lesson()
    rows, targets = [row for row, _ in data], [target for _, target in data]
    options = {"lr": 0.5, "batch_size": 1, "reduction": "sum", "shuffle": True}
    history = fit(net, rows, targets, epochs=201, **options)
    assert f"{history.loss[0]:.4f} {history.loss[200]:.4f}" == "17.1256 0.3585"
    assert history.accuracy[200] == 1.0


def test_shuffling_is_that_of_the_lesson():
    data, net = circle_lesson()
    losses = []
    for _ in range(3):
        random.shuffle(data)
        total = 0.0
        for row, target in data:
            loss = mse_loss(net(row), target)
            net.zero_grad()
            loss.backward()
            for p in net.parameters():
                p.data -= 0.5 * p.grad
            total += loss.data
        losses.append(total)
    by_hand = values(net)

    data, net = circle_lesson()
    rows, targets = [row for row, _ in data], [target for _, target in data]
    history = fit(net, rows, targets, lr=0.5, epochs=3, batch_size=1, reduction="sum", shuffle=True)
    assert history.loss == losses
    assert values(net) == by_hand


# --- the same as a loop written by hand -----------------------------------------------------------


@pytest.mark.parametrize("name", OPTIMIZERS)
@pytest.mark.parametrize("reduction", ["mean", "sum"])
@pytest.mark.parametrize("batch_size", [None, 1, 3, 100])
def test_is_the_loop_written_by_hand(name, reduction, batch_size):
    schedule = StepSchedule(2, 0.5)
    net = network()
    optimizer = OPTIMIZERS[name](net.parameters())
    losses = []
    for epoch in range(4):
        optimizer.lr = schedule(epoch, 0.1)
        total = 0.0
        size = batch_size or len(X)
        for start in range(0, len(X), size):
            rows, targets = X[start : start + size], Y[start : start + size]
            loss = Value(0.0)
            for row, target in zip(rows, targets, strict=True):
                loss = loss + mse_loss(net(row), target)
            total += loss.data
            if reduction == "mean":
                loss = loss / len(rows)
            optimizer.zero_grad()
            loss.backward()
            clip_value(net.parameters(), 0.05)
            clip_norm(net.parameters(), 0.1)
            optimizer.step()
        losses.append(total / len(X) if reduction == "mean" else total)

    trained = network()
    history = fit(
        trained,
        X,
        Y,
        optimizer=name,
        lr=0.1,
        epochs=4,
        batch_size=batch_size,
        reduction=reduction,
        schedule=schedule,
        clip_value=0.05,
        clip_norm=0.1,
    )
    assert history.loss == pytest.approx(losses, rel=1e-12)
    assert values(trained) == pytest.approx(values(net), rel=1e-9)
    assert history.lr == [0.1, 0.1, 0.05, 0.05]


@pytest.mark.parametrize(
    ("loss", "output", "targets"),
    [
        ("mse", "sigmoid", Y),
        ("binary_cross_entropy", "sigmoid", Y),
        ("binary_cross_entropy_with_logits", "linear", Y),
        ("hinge", "linear", [2.0 * t - 1.0 for t in Y]),
    ],
)
def test_every_loss_of_one_output_learns_xor(loss, output, targets):
    net = network(sizes=(2, 8, 1), activation="tanh", output_activation=output)
    history = fit(net, X, targets, loss=loss, optimizer="adam", lr=0.05, epochs=200)
    assert history.accuracy[-1] == 1.0
    assert history.loss[-1] < 0.3 * history.loss[0]


def test_several_outputs_and_classes():
    rows, labels = [[-1.0], [0.0], [1.0]] * 3, [0, 1, 2] * 3
    net = network(sizes=(1, 6, 3), activation="tanh", output_activation="linear")
    history = fit(net, rows, labels, loss="cross_entropy", optimizer="adam", lr=0.1, epochs=100)
    assert history.accuracy[-1] == 1.0
    net = network(sizes=(1, 6, 3), activation="tanh")
    marks = [[float(i == label) for i in range(3)] for label in labels]
    history = fit(net, rows, marks, optimizer="adam", lr=0.1, epochs=100)
    assert history.accuracy[-1] == 1.0


def test_a_loss_and_a_network_of_ones_own():
    def absolute(output, target):
        return abs(output - target)

    line = Line()
    history = fit(line, LINE_X, LINE_Y, loss=absolute, lr=0.05, epochs=300, schedule="cosine")
    assert line.values() == pytest.approx([2.0, 1.0], abs=0.1)
    assert history.accuracy == []


def test_a_regression_has_no_accuracy():
    history = fit(Line(), LINE_X, LINE_Y, epochs=2)
    assert history.accuracy == []


# --- settings ---------------------------------------------------------------------------------


def test_learning_rates():
    for name, lr in DEFAULT_LR.items():
        assert fit(Line(), LINE_X, LINE_Y, optimizer=name, epochs=1).lr == [lr]
    for given in (Adam(lr=0.2), "adam"):
        assert fit(Line(), LINE_X, LINE_Y, optimizer=given, lr=0.3, epochs=1).lr == [0.3]
    history = fit(Line(), LINE_X, LINE_Y, optimizer=Adam(lr=0.2), epochs=1)
    assert history.lr == [0.2]
    assert history.optimizer.startswith("Adam(lr=0.2, betas=")


def test_an_optimizer_with_parameters_remembers():
    once, twice = Line(), Line()
    optimizer = Adam(twice.parameters(), lr=0.1)
    fit(once, LINE_X, LINE_Y, optimizer="adam", lr=0.1, epochs=6)
    fit(twice, LINE_X, LINE_Y, optimizer=optimizer, epochs=3)
    fit(twice, LINE_X, LINE_Y, optimizer=optimizer, epochs=3)
    assert twice.values() == once.values()
    assert optimizer.steps == 6


@pytest.mark.parametrize("make", [SGD, partial(SGD, momentum=0.9), Adam])
def test_what_an_optimizer_remembers_does_not_depend_on_the_engine(make):
    kept = []
    for engine in ("eager", "numpy"):
        net = network()
        optimizer = make(net.parameters(), lr=0.1)
        net.fit(X, Y, optimizer=optimizer, epochs=3, engine=engine)
        kept.append(optimizer.states)
    assert [len(state) for state in kept[0]] == [len(state) for state in kept[1]]
    assert {type(state) for state in kept[0] + kept[1]} == {tuple}
    for one, other in zip(*kept, strict=True):
        assert one == pytest.approx(other, rel=1e-9)


def test_an_optimizer_without_parameters_starts_afresh():
    optimizer = SGD(lr=0.05, momentum=0.9)
    first, second = Line(), Line()
    fit(first, LINE_X, LINE_Y, optimizer=optimizer, epochs=3)
    fit(second, LINE_X, LINE_Y, optimizer=optimizer, epochs=3)
    assert first.values() == second.values()
    assert optimizer.parameters is None


def test_an_optimizer_of_some_parameters_trains_only_these():
    line = Line()
    fit(line, LINE_X, LINE_Y, optimizer=SGD([line.b], lr=0.1), epochs=3)
    assert line.w.data == 0.5
    assert line.b.data != 0.0


def test_a_seed_fixes_the_order_and_leaves_the_global_numbers_alone():
    options = {"epochs": 3, "batch_size": 1, "shuffle": True}
    state = random.getstate()
    runs = [fit(network(), X, Y, seed=seed, **options).loss for seed in (1, 1, 2)]
    assert random.getstate() == state
    assert runs[0] == runs[1] != runs[2]


def test_without_shuffling_no_random_number_is_drawn():
    state = random.getstate()
    fit(network(), X, Y, epochs=2, batch_size=1)
    assert random.getstate() == state


def test_no_epochs():
    line = Line()
    history = fit(line, LINE_X, LINE_Y, epochs=0)
    assert (len(history), line.values(), history.stopped) == (0, [0.5, 0.0], "")


def test_the_engine_is_named():
    for engine in ("auto", "eager"):
        assert fit(Line(), LINE_X, LINE_Y, epochs=1, engine=engine).engine == "eager"


# --- kinds of data ----------------------------------------------------------------------------


class Frame:
    """What a table of pandas looks like from outside."""

    def __init__(self, array):
        self.array = array
        self.ndim = array.ndim

    def __len__(self):
        return len(self.array)

    def to_numpy(self):
        return self.array


@pytest.mark.parametrize(
    ("rows", "targets"),
    [
        (np.array(X), np.array(Y)),
        (np.array(X, dtype=np.float32), np.array(Y, dtype=np.int64)),
        (np.array(X, dtype=bool), np.array(Y, dtype=bool)),
        (np.array(X, dtype=object), Y),
        ([np.array(row) for row in X], [np.float64(t) for t in Y]),
        (tuple(tuple(row) for row in X), tuple(Y)),
        (X, [[t] for t in Y]),
        (X, np.array(Y).reshape(-1, 1)),
        (X, [np.array(t) for t in Y]),
        (Frame(np.array(X)), Frame(np.array(Y))),
        ([[int(x) for x in row] for row in X], [int(t) for t in Y]),
    ],
)
def test_lists_and_arrays_alike(rows, targets):
    expected = fit(network(), X, Y, epochs=3).loss
    assert fit(network(), rows, targets, epochs=3).loss == expected


def test_the_data_are_not_changed():
    rows, targets = [[0, 1], [1, 0]], [0, 1]
    fit(network(), rows, targets, epochs=2, shuffle=True)
    assert (rows, targets) == ([[0, 1], [1, 0]], [0, 1])


NAN, INF = math.nan, math.inf


@pytest.mark.parametrize(
    ("rows", "targets", "error", "says"),
    [
        ([], [], DataError, "X is empty"),
        (np.empty((0, 2)), [], DataError, "X is empty"),
        (X, [], DataError, "y is empty"),
        (X, Y[:3], ShapeError, r"got 4 rows and 3 targets \(y\)"),
        ([[0, 1], [1]], [0, 1], ShapeError, r"X\[0\] has 2 numbers and X\[1\] has 1"),
        ([0, 1], [0, 1], ShapeError, r"\[\[x\] for x in X\]"),
        (np.array([0.0, 1.0]), [0, 1], ShapeError, r"X\[0\] is 0.0"),
        (5, Y, ShapeError, "X must be a list of rows; got 5"),
        ("abc", Y, ShapeError, "X must be a list of rows; got 'abc'"),
        ({"a": X}, Y, ShapeError, "X must be a list of rows; got {'a'"),
        (X, None, ShapeError, "y must be a list with one target per row; got None"),
        ([[0, 1], [1, "a"]], [0, 1], NotANumberError, r"X\[1\]\[1\] .* got 'a' .*read_csv"),
        ([[0, None]], [0], NotANumberError, r"X\[0\]\[1\] .* got None .*fill the gap"),
        ([[0, [1]]], [0], NotANumberError, r"X\[0\]\[1\] .* got \[1\] .*a flat list"),
        ([[0, 1j]], [0], NotANumberError, r"X\[0\]\[1\] .* got 1j .*row 0, column 1"),
        ([[0, Value(1)]], [0], NotANumberError, r"X\[0\]\[1\] .* got Value"),
        (X, [0, 1, "b", 0], NotANumberError, r"y\[2\] must be a number; got 'b'"),
        (X, [0, 1, [1], 0], ShapeError, r"y\[0\] is 0 .* and y\[2\] is \[1\]"),
        (X, [[0], [1], [1, 0], [0]], ShapeError, r"y\[0\] has 1 .* y\[2\] has 2"),
        ([[0, NAN], [0, 1]], [0, 1], DataError, r"X\[0\]\[1\] is nan. That is the only"),
        ([[0, 1], [INF, 1], [0, NAN]], [0, 1, 1], DataError, r"X\[1\]\[0\] is inf.*: 1, 2 "),
        ([[NAN, 1]] * 20, [0] * 20, DataError, r"20 such rows: 0, 1, .*, 7 and 12 more"),
        (X, [0, -INF, 1, 0], DataError, r"y\[1\] is -inf"),
        ([[0, 1, 2]], [0], ShapeError, "has 3 numbers, and the network takes 2 inputs"),
        (X, [[0, 1]] * 4, ShapeError, r"y\[0\] = \[0.0, 1.0\]: mse_loss needs"),
    ],
)
def test_bad_data(rows, targets, error, says):
    net = network()
    before = values(net)
    with pytest.raises(error, match=says):
        fit(net, rows, targets)
    assert values(net) == before


def test_targets_that_do_not_suit_the_loss():
    net = network(sizes=(2, 3), activation="linear")
    with pytest.raises(DataError, match=r"y\[2\] = 3.0: .* from 0 to 2"):
        fit(net, X, [0, 1, 3, 1], loss="cross_entropy")
    with pytest.raises(DataError, match=r"y\[1\] = 0.5"):
        fit(net, X, [0, 0.5, 2, 1], loss="cross_entropy")
    with pytest.raises(ShapeError, match="one output per class"):
        fit(network(), X, Y, loss="cross_entropy")
    with pytest.raises(DataError, match=r"y\[3\] = 2.0"):
        fit(network(), X, [0, 1, 1, 2], loss="binary_cross_entropy")
    with pytest.raises(DataError, match=r"validation y\[0\] = 7.0"):
        fit(network(), X, Y, loss="binary_cross_entropy", validation=(X, [7] * 4))


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"epochs": -1}, "^epochs"),
        ({"epochs": 2.5}, "^epochs"),
        ({"epochs": True}, "^epochs"),
        ({"batch_size": 0}, "^batch_size"),
        ({"batch_size": "all"}, "^batch_size"),
        ({"lr": -1.0}, "^lr"),
        ({"lr": NAN}, "^lr"),
        ({"lr": "fast"}, "^lr"),
        ({"lr": -1.0, "optimizer": Adam()}, "^lr"),
        ({"loss": "mes"}, "'mes'"),
        ({"optimizer": "adm"}, "^optimizer must be one of 'sgd', .*got 'adm'"),
        ({"optimizer": Adam}, r"class Adam itself.*Adam\(lr=0.01\)"),
        ({"optimizer": Adam([Value(1.0)])}, "parameters of something else"),
        ({"reduction": "average"}, "^reduction must be one of 'mean', 'sum'"),
        ({"engine": "gpu"}, "^engine must be one of"),
        ({"shuffle": "yes"}, "^shuffle"),
        ({"seed": "x", "shuffle": True}, "^seed"),
        ({"schedule": "cosin"}, "^schedule"),
        ({"schedule": lambda epoch, lr: None}, "gave None .* of epoch 0"),
        ({"schedule": lambda epoch, lr: lr - epoch}, "gave -0.9 .* of epoch 1"),
        ({"clip_value": 0.0}, "^clip_value"),
        ({"clip_norm": -1.0}, "^clip_norm"),
        ({"validation": X}, "^validation must be a pair"),
        ({"validation": 3}, "^validation must be a pair"),
        ({"callbacks": 3}, "^callbacks must be a list"),
        ({"callbacks": "stop"}, "^callbacks must be a list"),
        ({"callbacks": [3]}, r"^callbacks\[0\] must be a function"),
        ({"callbacks": [EarlyStopping]}, r"class EarlyStopping itself.*EarlyStopping\(\)"),
        ({"callbacks": EarlyStopping}, "^callbacks must be a list"),
        ({"progress": "yes"}, "^progress must be True, False or 'auto'"),
    ],
)
def test_a_bad_setting_is_named(options, says):
    net = network()
    before = values(net)
    with pytest.raises(OptionError, match=says):
        fit(net, X, Y, **options)
    assert values(net) == before


@pytest.mark.parametrize("net", [3, None, Network, lambda row: row[0]])
def test_what_is_no_network(net):
    with pytest.raises(OptionError, match="fit trains a network"):
        fit(net, X, Y)


def test_a_loss_that_gives_no_value():
    with pytest.raises(GraphError, match=r"returned 3.0 .*not from .data or with math"):
        fit(network(), X, Y, loss=lambda output, target: 3.0)
    with pytest.raises(GraphError, match="Return one Value per row"):
        fit(network(), X, Y, loss=lambda output, target: [output])


def test_under_no_grad_nothing_can_be_learned():
    with no_grad(), pytest.raises(GraphError, match="no_grad"):
        fit(network(), X, Y)


# --- validation and callbacks -------------------------------------------------------------------


def test_validation_is_measured_after_each_epoch():
    net = network(sizes=(2, 4, 1), activation="tanh", output_activation="sigmoid")
    rows, targets = moons(20, seed=1)
    held_out = moons(10, seed=2)
    measured = []

    def by_hand(epoch, net, history):
        outputs = net.predict(held_out[0])
        losses = [mse_loss(o, t) for o, t in zip(outputs, held_out[1], strict=True)]
        measured.append(sum(losses) / len(losses))

    history = fit(
        net,
        rows,
        targets,
        epochs=4,
        batch_size=7,
        reduction="sum",
        validation=held_out,
        callbacks=by_hand,
    )
    assert history.validation_loss == measured
    assert len(history.validation_accuracy) == 4


def test_validation_of_a_regression():
    history = fit(Line(), LINE_X, LINE_Y, epochs=2, validation=(LINE_X, LINE_Y))
    assert len(history.validation_loss) == 2
    assert history.validation_accuracy == []


def test_callbacks_see_every_epoch():
    seen = []

    def look(epoch, net, history):
        seen.append((epoch, len(history), len(history.lr), len(history.seconds), net.values()))

    line = Line()
    fit(line, LINE_X, LINE_Y, epochs=3, callbacks=[look])
    assert [each[:4] for each in seen] == [(0, 1, 1, 1), (1, 2, 2, 2), (2, 3, 3, 3)]
    assert seen[-1][4] == line.values()
    assert seen[0][4] != seen[1][4]


def test_a_callback_may_change_the_parameters():
    def jump(epoch, net, history):
        if epoch == 1:
            net.b.data = 5.0

    line, expected = Line(), Line()
    fit(line, LINE_X, LINE_Y, epochs=4, callbacks=jump)
    fit(expected, LINE_X, LINE_Y, epochs=2)
    expected.b.data = 5.0
    fit(expected, LINE_X, LINE_Y, epochs=2)
    assert line.values() == expected.values()


@pytest.mark.parametrize(
    ("answer", "stopped"),
    [
        (True, "callback ask returned True"),
        (np.bool_(True), "callback ask returned True"),
        ("stop", "ask"),
        ("good enough", "good enough"),
        (None, ""),
        (False, ""),
        (np.bool_(False), ""),
        ("", ""),
        (0.25, ""),
    ],
)
def test_a_callback_may_end_the_training(answer, stopped):
    def ask(epoch, net, history):
        return answer if epoch == 1 else None

    others = []
    history = fit(Line(), LINE_X, LINE_Y, epochs=5, callbacks=[ask, lambda *_: others.append(1)])
    assert history.stopped == stopped
    assert len(history) == len(others) == (2 if stopped else 5)


def feed(stop, series, name="loss"):
    history = History()
    for epoch, value in enumerate(series):
        history.loss.append(value)
        if name != "loss":
            getattr(history, name).append(value)
        answer = stop(epoch, None, history)
        if answer:
            return epoch, answer
    return None


def test_early_stopping():
    assert feed(EarlyStopping(3), [5, 4, 3, 3, 3, 3]) == (
        5,
        "loss has not improved for 3 epochs; the best was 3 at epoch 2",
    )
    assert feed(EarlyStopping(3), [5, 4, 3, 3, 3, 2.9, 3, 3]) is None
    assert feed(EarlyStopping(1, min_delta=0.5), [5, 4, 3.6])[0] == 2
    assert feed(EarlyStopping(2), [NAN, 1.0, 2.0, 2.0])[0] == 3


def test_early_stopping_of_an_accuracy_wants_more():
    stop = EarlyStopping(2, monitor="accuracy")
    assert feed(stop, [0.5, 0.6, 0.7, 0.7, 0.6], "accuracy")[0] == 4


def test_early_stopping_prefers_the_validation_loss():
    stop = EarlyStopping(1)
    assert feed(stop, [3.0, 4.0], "validation_loss")[1].startswith("validation_loss has")


def test_early_stopping_starts_afresh_in_each_training():
    stop = EarlyStopping(2)
    assert feed(stop, [1.0, 2.0, 3.0])[0] == 2
    assert feed(stop, [9.0, 8.0, 7.0]) is None


def test_early_stopping_in_fit():
    history = fit(Line(2.0, 1.0), LINE_X, LINE_Y, epochs=50, callbacks=EarlyStopping(4))
    assert len(history) == 5
    assert "has not improved for 4 epochs" in history.stopped


def test_early_stopping_of_what_is_not_measured():
    with pytest.raises(OptionError, match=r"not measure 'validation_loss'.*loss, lr, seconds"):
        fit(Line(), LINE_X, LINE_Y, callbacks=EarlyStopping(monitor="validation_loss"))
    with pytest.raises(OptionError, match="nothing yet"):
        History().measured("loss")


@pytest.mark.parametrize(
    ("settings", "named"),
    [
        ({"patience": 0}, "patience"),
        ({"min_delta": -1.0}, "min_delta"),
        ({"monitor": 3}, "monitor"),
    ],
)
def test_early_stopping_with_bad_settings(settings, named):
    with pytest.raises(OptionError, match=f"^{named}"):
        EarlyStopping(**settings)


# --- interruptions and divergence ---------------------------------------------------------------


def test_ctrl_c_returns_what_was_done():
    def interrupt(epoch, net, history):
        if epoch == 2:
            signal.raise_signal(signal.SIGINT)

    line = Line()
    history = fit(line, LINE_X, LINE_Y, epochs=50, callbacks=interrupt)
    assert history.stopped == "interrupted by Ctrl-C after 3 epochs"
    assert len(history) == 3
    assert history.total_seconds > 0.0
    expected = Line()
    fit(expected, LINE_X, LINE_Y, epochs=3)
    assert line.values() == expected.values()


def test_ctrl_c_within_an_epoch_keeps_complete_epochs_only():
    class Interrupted(Line):
        calls = 0

        def __call__(self, row):
            self.calls += 1
            if self.calls == 1 + 5 * 2 + 3:  # one call looks at the first row before training
                raise KeyboardInterrupt
            return super().__call__(row)

    line = Interrupted()
    history = fit(line, LINE_X, LINE_Y, epochs=50, batch_size=1, lr=0.01, engine="eager")
    assert len(history) == len(history.lr) == len(history.seconds) == 2
    assert history.stopped == "interrupted by Ctrl-C after 2 epochs"
    expected = Line()
    fit(expected, LINE_X, LINE_Y, epochs=2, batch_size=1, lr=0.01)
    fit(expected, LINE_X[:2], LINE_Y[:2], epochs=1, batch_size=1, lr=0.01)
    assert line.values() == expected.values()


def test_ctrl_c_while_an_epoch_is_recorded():
    class Interrupted(Line):
        calls = 0

        def __call__(self, row):
            self.calls += 1
            if self.calls == 2 + 5 * 2 + 5 * 1 + 1:  # within the second validation
                raise KeyboardInterrupt
            return super().__call__(row)

    held_out = (LINE_X, LINE_Y)
    history = fit(Interrupted(), LINE_X, LINE_Y, epochs=9, validation=held_out)
    assert {name: len(kept) for name, kept in history.series().items()} == {
        "loss": 1,
        "validation_loss": 1,
        "lr": 1,
        "seconds": 1,
    }


def test_ctrl_c_between_two_parameters_leaves_no_half_update():
    class Trap(Value):
        armed = False

        @property
        def data(self):
            return self._data

        @data.setter
        def data(self, data):
            if Trap.armed:
                Trap.armed = False
                raise KeyboardInterrupt
            self._data = float(data)

    line = Line()
    line.b = Trap(0.0)

    def arm(epoch, net, history):
        Trap.armed = epoch == 1

    history = fit(line, LINE_X, LINE_Y, epochs=9, lr=0.01, callbacks=arm)
    assert history.stopped == "interrupted by Ctrl-C after 2 epochs"
    expected = Line()
    fit(expected, LINE_X, LINE_Y, epochs=3, lr=0.01)
    assert line.values() == expected.values()


def test_the_warning_points_to_the_line_that_called_the_networks_fit():
    net = Network([1, 1], activation="linear", seed=1)
    with pytest.warns(RuntimeWarning, match="training stopped") as w:
        net.fit([[1e3], [2e3]], [0.0, 1.0], lr=1e3, epochs=500)
    assert w[0].filename == __file__


@pytest.mark.parametrize("batch_size", [None, 2])
def test_a_loss_that_becomes_infinite_ends_the_training(batch_size):
    line = Line()
    rows = [[1e3 * x for x in row] for row in LINE_X]
    with pytest.warns(RuntimeWarning, match="training stopped: the loss became inf in epoch") as w:
        history = fit(line, rows, LINE_Y, lr=1e3, epochs=500, batch_size=batch_size)
    assert "batch" in history.stopped
    assert "a learning rate below 1000, clip_norm=1.0" in history.stopped
    assert str(w[0].message) == f"training stopped: {history.stopped}"
    assert w[0].filename == __file__
    assert all(map(math.isfinite, history.loss))
    assert all(map(math.isfinite, line.values()))
    if batch_size is None:  # the parameters are those of the last recorded loss
        losses = [mse_loss(float(line(row)), t) for row, t in zip(rows, LINE_Y, strict=True)]
        assert sum(losses) / len(losses) == pytest.approx(history.loss[-1])


def test_a_loss_that_is_nan_from_the_start():
    line = Line()
    with pytest.warns(RuntimeWarning, match="the loss became nan in epoch 0, batch 0"):
        history = fit(line, LINE_X, LINE_Y, loss=lambda p, t: (p - p - 1.0).log() + t)
    assert (len(history), line.values()) == (0, [0.5, 0.0])


def test_a_gradient_that_is_not_finite_changes_nothing():
    line = Line(0.0, 0.0)
    with pytest.warns(RuntimeWarning, match="parameter 0 .w. would have become nan .its gradient"):
        history = fit(line, LINE_X, LINE_Y, loss=lambda p, t: p.abs().sqrt(), clip_norm=1.0)
    assert (len(history), line.values()) == (0, [0.0, 0.0])
    assert "clip_norm" not in history.stopped


def test_divergence_takes_the_optimizer_back_too():
    line = Line()
    optimizer = Adam(line.parameters(), lr=0.1)
    calls = []

    def breaks(output, target):
        calls.append(output)
        return mse_loss(output, target) if len(calls) <= 5 * 3 else output * NAN

    with pytest.warns(RuntimeWarning, match="epoch 2"):
        history = fit(line, LINE_X, LINE_Y, loss=breaks, optimizer=optimizer, engine="eager")
    assert len(history) == 2
    expected = Line()
    reference = Adam(expected.parameters(), lr=0.1)
    fit(expected, LINE_X, LINE_Y, optimizer=reference, epochs=1)
    assert line.values() == expected.values()
    assert (optimizer.steps, optimizer.states) == (reference.steps, reference.states)


def test_an_error_in_a_callback_is_not_hidden():
    def broken(epoch, net, history):
        raise ZeroDivisionError("mine")

    with pytest.raises(ZeroDivisionError, match="mine"):
        fit(Line(), LINE_X, LINE_Y, callbacks=broken)


# --- the history ------------------------------------------------------------------------------


def test_history_is_plain_data():
    history = fit(network(), X, Y, epochs=3, validation=(X, Y))
    kept = json.loads(json.dumps(history.to_dict()))
    assert kept == history.to_dict()
    assert kept["loss"] == history.loss
    assert (kept["rows"], kept["reduction"], kept["engine"]) == (4, "mean", "eager")
    assert len(history.seconds) == 3
    assert 0.0 < sum(history.seconds) <= history.total_seconds
    history.to_dict()["loss"].clear()
    assert len(history) == 3


def test_history_prints_well():
    history = History(
        loss=[0.5 / (epoch + 1) for epoch in range(1000)],
        accuracy=[1.0] * 1000,
        validation_loss=[0.25] * 1000,
        lr=[0.1 * 0.99**epoch for epoch in range(1000)],
        total_seconds=1.5,
        rows=1,
        stopped="good enough",
    )
    lines = str(history).splitlines()
    assert lines[0].split() == ["epoch", "loss", "accuracy", "val.", "loss", "lr"]
    assert [line.split()[0] for line in lines[1:12]] == [
        *[str(epoch) for epoch in range(0, 1000, 100)],
        "999",
    ]
    assert lines[-2:] == ["1,000 epochs of 1 row in 1.50 s", "stopped: good enough"]
    assert len({len(line) for line in lines[:12]}) == 1
    assert repr(history) == (
        "<History: 1,000 epochs, loss 0.5 -> 0.0005, accuracy 100.0%, 1.50 s, stopped early>"
    )


def test_an_empty_history_prints():
    assert repr(History()) == "<History: 0 epochs, 0.00 s>"
    assert str(History()).splitlines() == ["epoch", "0 epochs of 0 rows in 0.00 s"]


@pytest.mark.parametrize("epochs", [1, 2, 12, 13, 99, 12345])
def test_a_printed_history_is_short(epochs):
    text = str(History(loss=[1.0] * epochs, lr=[0.1] * epochs)).splitlines()
    assert text[1].split()[0] == "0"
    assert text[-2].split()[0] == str(epochs - 1)
    assert len(text) <= 15


# --- progress ---------------------------------------------------------------------------------


class Terminal(io.StringIO):
    def isatty(self):
        return True


def test_progress_is_silent_off_a_terminal(capsys):
    fit(Line(), LINE_X, LINE_Y, epochs=3)
    assert capsys.readouterr() == ("", "")


def test_progress_on_request(capsys):
    fit(Line(), LINE_X, LINE_Y, epochs=3, progress=True)
    out, err = capsys.readouterr()
    assert out == ""
    assert "training" in err


@pytest.mark.parametrize(
    ("wanted", "stream", "per_row", "shown"),
    [
        ("auto", Terminal, 0.01, True),
        ("auto", Terminal, 0.0001, False),
        ("auto", io.StringIO, 0.01, False),
        (False, Terminal, 0.01, False),
        (True, io.StringIO, 0.0001, True),
    ],
)
def test_progress_shows_on_long_work_on_a_terminal(monkeypatch, wanted, stream, per_row, shown):
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setattr(sys, "stderr", written := stream())
    now = [0.0]
    monkeypatch.setattr("chainrule.nn.progress.perf_counter", lambda: now[0])
    with ProgressBar(10, 100, wanted) as bar:
        for epoch in range(10):
            for _ in range(100):
                now[0] += per_row
                bar.advance(1)
            bar.epoch(epoch, 0.5)
    assert bool(written.getvalue()) is shown


def test_rich_is_imported_only_for_a_bar():
    program = (
        "import sys\n"
        "from chainrule.nn.layers import Network\n"
        "from chainrule.nn.training import fit\n"
        "fit(Network([1, 1]), [[0.0]], [0.0], epochs=2)\n"
        "sys.exit('rich' in sys.modules)\n"
    )
    assert subprocess.run([sys.executable, "-c", program], check=False).returncode == 0


# --- the engine -------------------------------------------------------------------------------


def test_plain():
    assert plain(Value(2.0)) == 2.0
    assert plain((Value(2.0), 1.0)) == [2.0, 1.0]


def test_the_engine_reports_rows_as_they_are_done(monkeypatch):
    seen = []
    run = EagerEngine.run

    def spy(self, orders, rates, report):
        def told(rows):
            seen.append(rows)
            report(rows)

        return run(self, orders, rates, told)

    monkeypatch.setattr(EagerEngine, "run", spy)
    fit(Line(), LINE_X, LINE_Y, epochs=3, batch_size=2, shuffle=True, seed=1, engine="eager")
    assert seen == [2, 2, 1] * 3


def test_shuffled_orders_build_on_each_other():
    orders, source, expected = Orders(5, random.Random(1)), random.Random(1), list(range(5))
    assert not orders.fixed
    for _ in range(3):
        source.shuffle(expected)
        assert orders.next() == expected
    assert Orders(3).fixed
    assert Orders(3).next() == [0, 1, 2]
