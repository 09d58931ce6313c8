"""Estimators for scikit-learn: `BackpropClassifier` and `BackpropRegressor`.

They go wherever an estimator goes: into pipelines, grid searches and cross-validation.
The network that they train is an ordinary `Network`, found in ``network_`` afterwards.

Example:
    >>> from chainrule.data import circle
    >>> X, y = circle(80, seed=7)
    >>> model = BackpropClassifier((16,), activation="tanh", lr=0.05, random_state=0)
    >>> model.fit(X, y).score(X, y) > 0.95
    True
    >>> model.network_
    <Network 2 -> 16 'tanh' -> 1 'linear': 65 parameters>
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Sequence
from numbers import Integral
from typing import Any, Final, Self

import numpy as np
import numpy.typing as npt

from chainrule.compiler import compile
from chainrule.errors import DataError, OptionError, describe
from chainrule.interop.extras import needed
from chainrule.nn.history import History
from chainrule.nn.layers import Network
from chainrule.nn.losses import LOSSES
from chainrule.nn.optimizers import OPTIMIZERS, Optimizer
from chainrule.nn.training import DEFAULT_LR, fit
from chainrule.options import real, whole

_base = needed("sklearn.base", "chainrule.interop.sklearn", "sklearn")
_multiclass = needed("sklearn.utils.multiclass", "chainrule.interop.sklearn", "sklearn")
_validation = needed("sklearn.utils.validation", "chainrule.interop.sklearn", "sklearn")

__all__ = ["BackpropClassifier", "BackpropRegressor"]

Array = npt.NDArray[Any]

AUTO_BATCH: Final = 200
"""Rows per update, like that of scikit-learn's own networks."""


class _Backprop(_base.BaseEstimator):  # type: ignore[misc, name-defined]  # of no known type
    """What both estimators share: making, training and asking a network."""

    def __init__(
        self,
        hidden_layer_sizes: Sequence[int] = (32,),
        activation: str = "relu",
        init: str = "xavier_uniform",
        optimizer: str | Optimizer = "adam",
        lr: float | None = None,
        weight_decay: float = 0.0,
        batch_size: int | str | None = "auto",
        epochs: int = 200,
        shuffle: bool = True,
        random_state: Any = None,
        early_stopping: bool = False,
        validation_fraction: float = 0.1,
        patience: int = 10,
        tol: float = 1e-4,
        warm_start: bool = False,
        engine: str = "auto",
    ) -> None:
        self.hidden_layer_sizes = hidden_layer_sizes
        self.activation = activation
        self.init = init
        self.optimizer = optimizer
        self.lr = lr
        self.weight_decay = weight_decay
        self.batch_size = batch_size
        self.epochs = epochs
        self.shuffle = shuffle
        self.random_state = random_state
        self.early_stopping = early_stopping
        self.validation_fraction = validation_fraction
        self.patience = patience
        self.tol = tol
        self.warm_start = warm_start
        self.engine = engine

    # What differs between the two: the loss, and what an array of targets is to it.

    def _loss(self) -> str:
        raise NotImplementedError

    def _score_of(self, outputs: Array, targets: Array) -> float:
        """How good outputs are, for early stopping; larger is better."""
        raise NotImplementedError

    def _train(self, X: Array, targets: Array, outputs: int, classes: Array | None) -> None:
        """Train on checked arrays: a new network, or on and on with ``warm_start``."""
        source = _validation.check_random_state(self.random_state)
        if not (self.warm_start and hasattr(self, "network_")):
            self._begin(X.shape[1], outputs, source)
        watcher = None
        if self.early_stopping:
            X, targets, held_out = self._split(X, targets, classes, source)
            watcher = _Watcher(self, held_out)
        history = self._epochs(X, targets, self.epochs, source, watcher)
        if watcher is not None:
            watcher.restore()
        self.validation_scores_ = None if watcher is None else watcher.scores
        self._ended(history)

    def _begin(self, inputs: int, outputs: int, source: Any) -> None:
        """A new network, and an optimiser with nothing remembered."""
        given = self.hidden_layer_sizes
        hidden = [given] if isinstance(given, Integral) else list(given)
        seed = int(source.randint(2**31 - 1))
        activation = LOSSES[self._loss()].output_activation or "linear"
        self.network_ = Network(
            [inputs, *hidden, outputs], self.activation, activation, self.init, seed
        )
        self._optimizer = _optimizer(self.optimizer, self.lr, self.weight_decay).bound_to(
            self.network_.parameters()
        )
        self.loss_curve_: list[float] = []
        self.n_epochs_ = 0
        self._prepare()

    def _prepare(self) -> None:
        network = self.network_

        def outputs(row: Any) -> list[Any]:
            found = network(row)
            # A program with a single result gives its mean over the rows.
            return found if isinstance(found, list) else [found, found]

        # It is traced when it is first called, and keeps up with the network's numbers.
        self._forward = compile(outputs, parameters=network.parameters())

    def _epochs(
        self, X: Array, targets: Array, epochs: int, source: Any, watcher: Any = None
    ) -> History:
        size: Any = AUTO_BATCH if self.batch_size == "auto" else self.batch_size
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", "training stopped")  # said below, in one place
            history = fit(
                self.network_,
                X,
                targets,
                loss=self._loss(),
                optimizer=self._optimizer,
                epochs=epochs,
                batch_size=size,
                shuffle=self.shuffle,
                seed=int(source.randint(2**31 - 1)),
                callbacks=[] if watcher is None else [watcher],
                progress=False,
                engine=self.engine,
            )
        if history.stopped.startswith("interrupted"):
            raise KeyboardInterrupt
        return history

    def _ended(self, history: History) -> None:
        self.loss_curve_ += history.loss
        self.n_epochs_ += len(history)
        self.loss_ = self.loss_curve_[-1] if self.loss_curve_ else math.nan
        self.stopped_ = history.stopped
        if "became" in history.stopped:
            warnings.warn(
                f"training stopped: {history.stopped}",
                _exceptions().ConvergenceWarning,
                stacklevel=4,
            )

    def _split(
        self, X: Array, targets: Array, classes: Array | None, source: Any
    ) -> tuple[Array, Array, tuple[Array, Array]]:
        """Set rows aside for early stopping."""
        splitting = needed("sklearn.model_selection", "early_stopping", "sklearn")
        fraction = real("validation_fraction", self.validation_fraction, above=0.0, below=1.0)
        X_train, X_test, y_train, y_test = splitting.train_test_split(
            X,
            targets,
            test_size=fraction,
            stratify=classes,
            random_state=int(source.randint(2**31 - 1)),
        )
        return X_train, y_train, (X_test, y_test)

    def _outputs(self, X: Any) -> Array:
        """The network's outputs, of shape (rows, outputs)."""
        _validation.check_is_fitted(self, "network_")
        return self._answers(_validation.validate_data(self, X, dtype=np.float64, reset=False))

    def _answers(self, X: Array) -> Array:
        found: Array = self._forward.value(X)
        return found[:, : self.network_.sizes[-1]]

    def __getstate__(self) -> dict[str, Any]:
        state: dict[str, Any] = dict(super().__getstate__())
        state.pop("_forward", None)  # a program; it is made again from the network
        return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)
        if hasattr(self, "network_"):
            self._prepare()


class _Watcher:
    """Early stopping: judges each epoch by rows set aside, and remembers the best."""

    def __init__(self, model: _Backprop, held_out: tuple[Array, Array]) -> None:
        self.model = model
        self.X, self.targets = held_out
        self.tol = real("tol", model.tol, least=0.0)
        self.patience = whole("patience", model.patience, least=1, example=10)
        self.scores: list[float] = []
        self.best, self.mark, self.since = -math.inf, -math.inf, 0
        self.kept: list[float] | None = None

    def __call__(self, epoch: int, net: Network, history: History) -> str:
        score = self.model._score_of(self.model._answers(self.X), self.targets)
        self.scores.append(score)
        if score > self.best:
            self.best = score
            self.kept = [p.data for p in net.parameters()]
        self.since += 1
        if score > self.mark + self.tol:
            self.mark, self.since = score, 0
        if self.since < self.patience:
            return ""
        return f"the validation score has not risen by {self.tol:g} for {self.patience} epochs"

    def restore(self) -> None:
        """Go back to the network that was best."""
        if self.kept is not None:
            for p, data in zip(self.model.network_.parameters(), self.kept, strict=True):
                p.data = data


def _optimizer(given: Any, lr: float | None, weight_decay: float) -> Optimizer:
    if isinstance(given, Optimizer):
        for name, setting in (("lr", lr), ("weight_decay", weight_decay or None)):
            if setting is not None:
                raise OptionError(
                    f"{name}={setting:g} is for an optimiser given by name; set it in "
                    f"{type(given).__name__}({name}={setting:g}) itself."
                )
        return given
    if given not in OPTIMIZERS:
        raise OptionError(
            f"unknown optimizer {describe(given)}; expected one of {', '.join(OPTIMIZERS)}, or an "
            "object such as SGD(lr=0.1, momentum=0.9)."
        )
    rate = DEFAULT_LR[given] if lr is None else lr
    kind: Any = OPTIMIZERS[given]
    return kind(lr=rate, weight_decay=weight_decay)  # type: ignore[no-any-return]


def _exceptions() -> Any:
    return needed("sklearn.exceptions", "chainrule.interop.sklearn", "sklearn")


class BackpropClassifier(_base.ClassifierMixin, _Backprop):  # type: ignore[misc, name-defined]
    """A network that tells classes apart, as a scikit-learn estimator.

    Two classes share one output with the loss ``binary_cross_entropy_with_logits``; more
    have one output each with ``cross_entropy``.  Inputs are taken as they are: put a
    ``StandardScaler`` in front of columns of different sizes.

    Args:
        hidden_layer_sizes: the number of neurons of each hidden layer; a single number is
            one layer, ``()`` none.
        activation: of the hidden layers, as in `Network`.
        init: how the weights start, as in `Network`.
        optimizer: ``"sgd"``, ``"rmsprop"``, ``"adam"``, ``"adamw"``, or an object.
        lr: the learning rate; None for the optimiser's usual one, as in ``fit``.
        weight_decay: of the optimiser.
        batch_size: rows per update; ``"auto"`` is 200, None all of them.
        epochs: how often to go through all rows, at most.
        shuffle: put the rows in a new order before each epoch.
        random_state: of the weights, the order and the validation rows: a whole number, a
            ``numpy.random.RandomState``, or None.
        early_stopping: end the training when the score on rows set aside no longer rises,
            and keep the network that was best on them.
        validation_fraction: the share of the rows set aside for that.
        patience: how many epochs may pass without a gain before it ends.
        tol: the least rise of the score that is a gain.
        warm_start: whether another ``fit`` goes on with the network as it is.
        engine: what computes, as in ``fit``.

    Attributes:
        network_: the `Network`.
        classes_: the labels, in order.
        loss_curve_: the mean loss of each epoch; ``loss_`` is the last.
        n_epochs_: how many epochs were done.
        validation_scores_: with early stopping the score of each epoch, else None.
        stopped_: why the training ended early, or "".
        n_features_in_: how many inputs it takes; ``feature_names_in_``: their names, where
            ``X`` had some.

    Raises:
        ValueError: when fitted, for data or a setting that cannot be used; `OptionError` and
            `DataError` are kinds of it.
    """

    classes_: Array

    def fit(self, X: Any, y: Any) -> Self:
        """Train the network.

        Args:
            X: rows of numbers, of shape (rows, features).
            y: a label per row, of at least two classes.

        Returns:
            The estimator itself.
        """
        X, y = _validation.validate_data(self, X, y, dtype=np.float64)
        _multiclass.check_classification_targets(y)
        y = _validation.column_or_1d(y, warn=True)
        classes = np.unique(y)
        if self.warm_start and hasattr(self, "network_"):
            if not np.array_equal(classes, self.classes_):
                raise ValueError(
                    f"warm_start goes on with the classes {self.classes_.tolist()}; y has "
                    f"{classes.tolist()}. Give the same ones, or warm_start=False."
                )
        else:
            _check_classes(classes)
            self.classes_ = classes
        indices = np.searchsorted(self.classes_, y)
        self._train(X, indices.astype(np.float64), self._n_outputs(), indices)
        return self

    def partial_fit(self, X: Any, y: Any, classes: Any = None) -> Self:
        """Train for one epoch on these rows, going on from what was learned before.

        Args:
            X: rows of numbers.
            y: a label per row.
            classes: every label there is; needed in the first call.

        Returns:
            The estimator itself.
        """
        first = not hasattr(self, "network_")
        X, y = _validation.validate_data(self, X, y, dtype=np.float64, reset=first)
        y = _validation.column_or_1d(y, warn=True)
        source = _validation.check_random_state(self.random_state)
        if _multiclass._check_partial_fit_first_call(self, classes):
            _check_classes(self.classes_)
        unknown = np.setdiff1d(y, self.classes_)
        if len(unknown):
            raise ValueError(
                f"y has the labels {unknown.tolist()}, which are not among the classes of the "
                f"first call, {self.classes_.tolist()}. Name every class there."
            )
        if first:
            self._begin(X.shape[1], self._n_outputs(), source)
        targets = np.searchsorted(self.classes_, y).astype(np.float64)
        self.validation_scores_ = None
        self._ended(self._epochs(X, targets, 1, source))
        return self

    def decision_function(self, X: Any) -> Array:
        """The network's outputs, as they are: logits.

        Args:
            X: rows of numbers.

        Returns:
            For two classes one number per row, above 0 for the second; for more, shape
            (rows, classes).
        """
        outputs = self._outputs(X)
        return outputs[:, 0] if outputs.shape[1] == 1 else outputs

    def predict(self, X: Any) -> Array:
        """The label of each row.

        Args:
            X: rows of numbers.
        """
        logits = self.decision_function(X)
        indices = (logits > 0.0).astype(int) if logits.ndim == 1 else logits.argmax(axis=1)
        labels: Array = self.classes_[indices]
        return labels

    def predict_proba(self, X: Any) -> Array:
        """How probable each class is, by the network.

        Args:
            X: rows of numbers.

        Returns:
            Numbers from 0 to 1, of shape (rows, classes).
        """
        return np.exp(self.predict_log_proba(X))

    def predict_log_proba(self, X: Any) -> Array:
        """The logarithms of `predict_proba`.

        Args:
            X: rows of numbers.
        """
        logits = self.decision_function(X)
        if logits.ndim == 1:
            logits = np.stack([np.zeros_like(logits), logits], axis=1)
        logits = logits - logits.max(axis=1, keepdims=True)
        shares: Array = logits - np.log(np.exp(logits).sum(axis=1, keepdims=True))
        return shares

    def _n_outputs(self) -> int:
        return 1 if len(self.classes_) == 2 else len(self.classes_)

    def _loss(self) -> str:
        return "cross_entropy" if self._n_outputs() > 1 else "binary_cross_entropy_with_logits"

    def _score_of(self, outputs: Array, targets: Array) -> float:
        found = outputs[:, 0] > 0.0 if outputs.shape[1] == 1 else outputs.argmax(axis=1)
        return float((found == targets).mean())


def _check_classes(classes: Array) -> None:
    if len(classes) < 2:
        raise DataError(
            f"y has only one class, {classes[0]!r}: there is nothing to tell apart. Give rows "
            "of at least two classes."
        )


class BackpropRegressor(_base.RegressorMixin, _Backprop):  # type: ignore[misc, name-defined]
    """A network that predicts numbers, as a scikit-learn estimator.

    Of several targets per row it predicts all at once.  The loss is the mean squared
    error.  Inputs and targets are taken as they are: put a ``StandardScaler`` in front, and
    for targets far from 1 a ``TransformedTargetRegressor`` around it.

    Args:
        hidden_layer_sizes: as in `BackpropClassifier`, like everything below.
        activation: of the hidden layers.
        init: how the weights start.
        optimizer: a name, or an object.
        lr: the learning rate.
        weight_decay: of the optimiser.
        batch_size: rows per update.
        epochs: how often to go through all rows, at most.
        shuffle: put the rows in a new order before each epoch.
        random_state: a whole number, a ``numpy.random.RandomState``, or None.
        early_stopping: end the training when R² on rows set aside no longer rises.
        validation_fraction: their share.
        patience: how many epochs may pass without a gain.
        tol: the least rise of R² that is a gain.
        warm_start: whether another ``fit`` goes on.
        engine: what computes.

    Attributes:
        network_: the `Network`.
        loss_curve_: the mean loss of each epoch, and so on, as in `BackpropClassifier`.

    Raises:
        ValueError: when fitted, for data or a setting that cannot be used.

    Example:
        >>> model = BackpropRegressor((), lr=0.1, random_state=0)
        >>> X = [[0.0], [1.0], [2.0]]
        >>> model.fit(X, [1.0, 3.0, 5.0]).predict([[3.0]]).round(3)
        array([7.])
    """

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = True
        return tags

    def fit(self, X: Any, y: Any) -> Self:
        """Train the network.

        Args:
            X: rows of numbers, of shape (rows, features).
            y: a number per row, or several, of shape (rows, targets).

        Returns:
            The estimator itself.
        """
        X, targets = self._read(X, y, reset=True)
        outputs = 1 if targets.ndim == 1 else targets.shape[1]
        if self.warm_start and hasattr(self, "network_"):
            self._check_targets(outputs)
        self._train(X, targets, outputs, None)
        return self

    def partial_fit(self, X: Any, y: Any) -> Self:
        """Train for one epoch on these rows, going on from what was learned before.

        Args:
            X: rows of numbers.
            y: a number per row, or several.

        Returns:
            The estimator itself.
        """
        first = not hasattr(self, "network_")
        X, targets = self._read(X, y, reset=first)
        outputs = 1 if targets.ndim == 1 else targets.shape[1]
        source = _validation.check_random_state(self.random_state)
        if first:
            self._begin(X.shape[1], outputs, source)
        self._check_targets(outputs)
        self.validation_scores_ = None
        self._ended(self._epochs(X, targets, 1, source))
        return self

    def predict(self, X: Any) -> Array:
        """The number, or the numbers, of each row.

        Args:
            X: rows of numbers.

        Returns:
            Shape (rows,), or (rows, targets) where it was fitted to several.
        """
        outputs = self._outputs(X)
        return outputs[:, 0] if outputs.shape[1] == 1 else outputs

    def _read(self, X: Any, y: Any, reset: bool) -> tuple[Array, Array]:
        X, y = _validation.validate_data(
            self, X, y, dtype=np.float64, multi_output=True, y_numeric=True, reset=reset
        )
        if y.ndim == 2 and y.shape[1] == 1:
            y = _validation.column_or_1d(y, warn=True)
        return X, y.astype(np.float64)

    def _check_targets(self, outputs: int) -> None:
        expected = self.network_.sizes[-1]
        if outputs != expected:
            raise ValueError(
                f"y has {outputs} target(s) per row, and the network was begun with {expected}. "
                "Give as many, or begin anew with fit and warm_start=False."
            )

    def _loss(self) -> str:
        return "mse"

    def _score_of(self, outputs: Array, targets: Array) -> float:
        targets = targets.reshape(outputs.shape)
        rest = ((outputs - targets) ** 2).mean(axis=0)
        spread = ((targets - targets.mean(axis=0)) ** 2).mean(axis=0)
        explained = 1.0 - rest / np.where(spread > 0.0, spread, 1.0)
        return float(explained.mean())
