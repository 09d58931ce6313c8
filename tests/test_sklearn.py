"""`BackpropClassifier` and `BackpropRegressor`: under scikit-learn's own checks, and in use."""

import json
import pickle
import subprocess
import sys
import warnings
from pathlib import Path

import numpy as np
import pytest

import chainrule
from chainrule import SGD
from chainrule.data import circle
from chainrule.errors import DataError, OptionError

sklearn = pytest.importorskip("sklearn")

from sklearn.base import clone  # noqa: E402 - after importorskip
from sklearn.datasets import load_breast_cancer, load_digits  # noqa: E402
from sklearn.exceptions import ConvergenceWarning  # noqa: E402
from sklearn.model_selection import (  # noqa: E402
    GridSearchCV,
    cross_val_score,
    train_test_split,
)
from sklearn.neural_network import MLPClassifier  # noqa: E402
from sklearn.pipeline import make_pipeline  # noqa: E402
from sklearn.preprocessing import StandardScaler  # noqa: E402
from sklearn.utils.estimator_checks import check_estimator  # noqa: E402

from chainrule.interop.sklearn import BackpropClassifier, BackpropRegressor  # noqa: E402

SRC = Path(chainrule.__file__).parents[1]


@pytest.mark.slow
@pytest.mark.parametrize("model", [BackpropClassifier(), BackpropRegressor()], ids=repr)
def test_check_estimator(model):
    with warnings.catch_warnings():
        # scikit-learn warns of the checks that it skips for want of array API libraries.
        warnings.simplefilter("ignore")
        check_estimator(model)


OURS = {"lr": 0.001, "epochs": 100}
THEIRS = {"alpha": 0.0, "max_iter": 100, "tol": 0.0, "n_iter_no_change": 1000}


@pytest.mark.slow
@pytest.mark.parametrize(("load", "hidden"), [(load_digits, 32), (load_breast_cancer, 16)])
def test_as_accurate_as_scikit_learns_own(load, hidden):
    """The same architecture, rate and number of epochs, on average over four splits."""
    gains = []
    for seed in range(4):
        X, X_test, y, y_test = train_test_split(
            *load(return_X_y=True), random_state=seed, stratify=load(return_X_y=True)[1]
        )
        scores = []
        for kind, options in ((BackpropClassifier, OURS), (MLPClassifier, THEIRS)):
            model = make_pipeline(StandardScaler(), kind((hidden,), random_state=seed, **options))
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", ConvergenceWarning)  # 100 epochs are given
                scores.append(model.fit(X, y).score(X_test, y_test))
        gains.append(scores[0] - scores[1])
        assert scores[0] > 0.93
    assert np.mean(gains) > -0.01


@pytest.fixture
def data():
    X, y = circle(60, seed=7)
    return np.array(X), np.array(["inside" if t else "outside" for t in y])


def small(**options):
    return BackpropClassifier((6,), **{"lr": 0.05, "random_state": 0, "epochs": 30, **options})


def test_grid_search_in_a_pipeline(data):
    X, y = data
    model = make_pipeline(StandardScaler(), small(epochs=60, activation="tanh"))
    grid = {"backpropclassifier__hidden_layer_sizes": [(), (8,)]}
    search = GridSearchCV(model, grid, cv=2).fit(X, y)
    assert search.best_params_["backpropclassifier__hidden_layer_sizes"] == (8,)
    assert cross_val_score(model, X, y, cv=2).shape == (2,)


def test_two_classes(data):
    X, y = data
    model = small(epochs=100, activation="tanh").fit(X, y)
    assert model.score(X, y) > 0.95
    assert model.classes_.tolist() == ["inside", "outside"]
    assert (model.decision_function(X) > 0).tolist() == (model.predict(X) == "outside").tolist()
    assert model.predict_proba(X).sum(axis=1) == pytest.approx(1.0)
    assert np.exp(model.predict_log_proba(X)) == pytest.approx(model.predict_proba(X))
    expected = np.array([model.network_.predict(row) for row in X.tolist()])
    assert model.decision_function(X) == pytest.approx(expected, abs=1e-12)
    assert (model.n_features_in_, model.n_epochs_, model.stopped_) == (2, 100, "")
    assert model.loss_ == model.loss_curve_[-1] < model.loss_curve_[0]


def test_several_classes():
    source = np.random.RandomState(0)
    X = source.randn(60, 2)
    y = (X[:, 0] > 0).astype(int) + 2 * (X[:, 1] > 0)
    model = small(epochs=100).fit(X, y)
    assert model.score(X, y) > 0.9
    assert model.predict_proba(X).shape == (60, 4)
    assert model.network_.sizes == [2, 6, 4]


def test_several_targets():
    X = np.random.RandomState(0).randn(50, 3)
    Y = np.stack([X[:, 0] - X[:, 1], 2.0 * X[:, 2]], axis=1)
    model = BackpropRegressor((), lr=0.05, random_state=0).fit(X, Y)
    assert model.predict(X).shape == (50, 2)
    assert model.score(X, Y) > 0.99


def test_same_seed_same_network(data):
    X, y = data
    one, two, other = small().fit(X, y), small().fit(X, y), small(random_state=1).fit(X, y)
    assert one.loss_curve_ == two.loss_curve_ != other.loss_curve_


def test_early_stopping_keeps_the_best(data):
    X, y = data
    model = small(early_stopping=True, validation_fraction=0.3, patience=5, epochs=500).fit(X, y)
    assert "validation score has not risen" in model.stopped_
    scores = model.validation_scores_
    assert len(scores) == model.n_epochs_ < 500
    # What the rows set aside say of the network that was kept is the best that was seen.
    source = np.random.RandomState(0)
    source.randint(2**31 - 1)
    seed = int(source.randint(2**31 - 1))
    _, X_test, _, y_test = train_test_split(X, y, test_size=0.3, stratify=y, random_state=seed)
    assert model.score(X_test, y_test) == pytest.approx(max(scores))
    regressor = BackpropRegressor((4,), early_stopping=True, epochs=20, random_state=0)
    assert len(regressor.fit(X, X[:, 0]).validation_scores_) == regressor.n_epochs_


def test_warm_start_goes_on(data):
    X, y = data
    model = small(warm_start=True, epochs=5).fit(X, y)
    network, first = model.network_, model.loss_
    model.fit(X, y)
    assert model.network_ is network
    assert model.n_epochs_ == len(model.loss_curve_) == 10
    assert model.loss_ < first
    with pytest.raises(ValueError, match="warm_start goes on with the classes"):
        model.fit(X, np.where(y == "inside", "a", "b"))
    cold = small(epochs=5).fit(X, y)
    network = cold.network_
    assert cold.fit(X, y).network_ is not network


def test_partial_fit(data):
    X, y = data
    model = small(lr=0.02)
    with pytest.raises(ValueError, match="classes must be passed"):
        model.partial_fit(X, y)
    for _ in range(100):
        model.partial_fit(X, y, classes=["inside", "outside"])
    assert model.score(X, y) > 0.9
    assert model.n_epochs_ == 100
    assert model._optimizer.steps == 100
    with pytest.raises(ValueError, match=r"labels \['between'\], which are not among"):
        model.partial_fit(X[:1], ["between"])
    regressor = BackpropRegressor((), lr=0.1, random_state=0)
    for _ in range(200):
        regressor.partial_fit(X, X[:, 0])
    assert regressor.score(X, X[:, 0]) > 0.99
    with pytest.raises(ValueError, match="2 target"):
        regressor.partial_fit(X, X)


def test_copies(data):
    X, y = data
    model = small().fit(X, y)
    expected = model.predict_proba(X)
    again = pickle.loads(pickle.dumps(model))
    assert again.predict_proba(X).tolist() == expected.tolist()
    model.partial_fit(X, y)
    assert again.predict_proba(X).tolist() == expected.tolist()
    assert clone(small(optimizer=SGD(lr=0.5), lr=None)).optimizer.lr == 0.5


def test_optimiser_as_an_object(data):
    X, y = data
    model = small(optimizer=SGD(lr=0.1, momentum=0.9), lr=None).fit(X, y)
    assert model.loss_ < model.loss_curve_[0]
    with pytest.raises(OptionError, match=r"lr=0\.05 is for an optimiser given by name"):
        small(optimizer=SGD(lr=0.1)).fit(X, y)
    with pytest.raises(OptionError, match=r"unknown optimizer 'lbfgs'.*sgd, rmsprop"):
        small(optimizer="lbfgs").fit(X, y)


def test_data_that_cannot_be_learned(data):
    X, y = data
    with pytest.raises(DataError, match="only one class"):
        small().fit(X, ["same"] * 60)
    with pytest.raises(ValueError, match="NaN"):
        small().fit(np.where(X > 1.0, np.nan, X), y)


def test_divergence_is_said(data):
    X, _ = data
    model = BackpropRegressor((4,), optimizer="sgd", lr=1e6, epochs=50, random_state=0)
    with pytest.warns(ConvergenceWarning, match="training stopped: .*in epoch"):
        model.fit(X * 100.0, X[:, 0])
    assert "in epoch" in model.stopped_


def test_names_of_columns(data):
    pandas = pytest.importorskip("pandas")
    X, y = data
    table = pandas.DataFrame(X, columns=["width", "height"])
    model = small(epochs=2).fit(table, y)
    assert model.feature_names_in_.tolist() == ["width", "height"]
    with pytest.raises(ValueError, match="feature names"):
        model.predict(table[["height", "width"]])


def test_without_scikit_learn():
    code = (
        "import sys, json; sys.modules['sklearn.base'] = None; sys.modules['sklearn'] = None\n"
        "import chainrule\n"
        "try:\n    import chainrule.interop.sklearn\n"
        "except chainrule.MissingExtraError as error:\n    print(json.dumps(str(error)))\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code],
        env={"PYTHONPATH": str(SRC)},
        capture_output=True,
        text=True,
        check=True,
    )
    assert "pip install 'chainrule[sklearn]'" in json.loads(done.stdout)
