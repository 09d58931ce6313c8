"""What emitted NumPy programs call beyond NumPy: the table's operations on arrays.

Each is held to its row of the table by a test.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import numpy.typing as npt

from chainrule.errors import ShapeError

__all__ = [
    "beside",
    "cross_entropy",
    "elu",
    "erf",
    "gelu",
    "leaky_relu",
    "less_one_at",
    "log_sigmoid",
    "logsumexp",
    "masked_product",
    "pick",
    "picked",
    "relu",
    "scatter_add",
    "scatter_or",
    "sigmoid",
    "silu",
    "softmax",
    "softplus",
    "truth",
]

Array = npt.NDArray[np.float64]


def sigmoid(x: Array) -> Array:
    """The logistic function; where exp(-x) overflows to inf, the result is 0 all the same."""
    found: Array = 1.0 / (1.0 + np.exp(-x))
    return found


def log_sigmoid(x: Array) -> Array:
    """The logarithm of the logistic function."""
    return np.minimum(x, 0.0) - np.log1p(np.exp(-np.abs(x)))


def softplus(x: Array) -> Array:
    """``log(1 + exp(x))``."""
    return np.maximum(x, 0.0) + np.log1p(np.exp(-np.abs(x)))


def relu(x: Array) -> Array:
    """``max(x, 0)``."""
    return np.where(x < 0.0, 0.0, x)


def leaky_relu(x: Array, slope: Array) -> Array:
    """``x`` where it is positive, else ``slope * x``."""
    return np.where(x > 0.0, x, slope * x)


def elu(x: Array, alpha: Array) -> Array:
    """``x`` where it is positive, else ``alpha * (exp(x) - 1)``."""
    return np.where(x > 0.0, x, alpha * np.expm1(x))


def silu(x: Array) -> Array:
    """``x * sigmoid(x)``; at minus infinity its limit, -0."""
    return np.where(x == -math.inf, -0.0, x * sigmoid(x))


_erf = np.frompyfunc(math.erf, 1, 1)
_erfc = np.frompyfunc(math.erfc, 1, 1)


def erf(x: Array) -> Array:
    """The error function, which NumPy has not."""
    return np.asarray(_erf(x), dtype=np.result_type(x, np.float32))


def gelu(x: Array) -> Array:
    """``x`` times the normal distribution function."""
    half = 0.5 * np.asarray(_erfc(-x * math.sqrt(0.5)), dtype=np.result_type(x, np.float32))
    return np.where(x == -math.inf, -0.0, x * half)


def logsumexp(x: Array) -> Array:
    """Along the last axis, which is kept with length 1; the largest goes out first."""
    top = x.max(axis=-1, keepdims=True)
    total = np.exp(x - top).sum(axis=-1, keepdims=True)
    if total.min() >= 1.5:  # never true of nan
        found: Array = top + np.log(total)
        return found
    return _careful_logsumexp(x, top)


def _careful_logsumexp(x: Array, top: Array) -> Array:
    """Where a sum is close to 1, its logarithm must not lose the small terms."""
    safe = np.where(np.isfinite(top), top, 0.0)
    e = np.exp(x - safe)
    ones = e == 1.0  # the largest, and its equals: one of them is the 1 of log1p
    rest = np.where(ones, 0.0, e).sum(axis=-1, keepdims=True)
    rest += ones.sum(axis=-1, keepdims=True) - 1.0
    found: Array = np.where(np.isfinite(top), top + np.log1p(np.maximum(rest, 0.0)), top)
    return found


def softmax(x: Array, y: Array) -> Array:
    """The derivatives of ``y = logsumexp(x)`` by each operand."""
    weights: Array = np.exp(x - y)
    weights /= weights.sum(axis=-1, keepdims=True)
    return weights


def cross_entropy(index: Array, logits: Array) -> tuple[Array, Array]:
    """The loss ``logsumexp(logits - logits[index])`` of each row, and the softmax."""
    rows, places = np.arange(len(logits)), _places(index, logits.shape[-1])[:, 0]
    largest = logits.argmax(axis=-1)
    top, chosen = logits[rows, largest, None], logits[rows, places, None]
    shares = np.exp(logits - top)
    if not math.isfinite(top.sum()):
        shares /= shares.sum(axis=-1, keepdims=True)
        return logsumexp(logits - chosen), shares
    # The largest has share 1 before the division.  It is left out of the sum, so that the
    # logarithm of a sum close to 1 does not lose the small terms.
    shares[rows, largest] = 0.0
    rest = shares.sum(axis=-1, keepdims=True)
    shares[rows, largest] = 1.0
    shares /= 1.0 + rest
    return np.log1p(rest) + (top - chosen), shares


def less_one_at(index: Array, shares: Array) -> Array:
    """The derivative of the cross-entropy by each logit: the softmax, less 1 at the index.

    There it is minus the sum of the others, which is exact even where it is tiny.
    """
    rows, places = np.arange(len(shares)), index[:, 0].astype(np.intp)
    slopes = shares.copy()
    slopes[rows, places] = 0.0
    slopes[rows, places] = -slopes.sum(axis=-1)
    return slopes


def beside(*pieces: Array) -> Array:
    """Pieces joined along the last axis, those without a batch axis repeated for each row."""
    shape = np.broadcast_shapes(*[piece.shape[:-1] for piece in pieces])
    return np.concatenate(
        [np.broadcast_to(piece, (*shape, piece.shape[-1])) for piece in pieces], axis=-1
    )


def _places(index: Array, count: int) -> npt.NDArray[np.intp]:
    places = index.astype(np.intp)
    # seen as unsigned, a negative number is larger than any count
    if not ((places == index) & (places.view(np.uintp) < count)).all():
        wrong = ~((index >= 0) & (index < count) & (index == np.floor(index)))
        raise ShapeError(
            f"pick() got index {index[wrong].flat[0]:g} for {count} option(s); "
            f"expected a whole number from 0 to {count - 1}"
        )
    return places


def pick(index: Array, options: Array) -> Array:
    """``options[..., index]`` for each row, with a last axis of length 1."""
    places = _places(index, options.shape[-1])
    if places.ndim == options.ndim == 2:
        found: Array = options[np.arange(len(options)), places[:, 0]]
        return found[:, None]
    shape = np.broadcast_shapes(places.shape[:-1], options.shape[:-1])
    options = np.broadcast_to(options, (*shape, options.shape[-1]))
    return np.take_along_axis(options, np.broadcast_to(places, (*shape, 1)), axis=-1)


def picked(index: Array, count: int) -> npt.NDArray[np.bool_]:
    """For each row a mask of ``count`` options that is true at the one picked."""
    mask: npt.NDArray[np.bool_] = np.arange(count) == index
    return mask


def scatter_add(target: Array, index: npt.NDArray[np.intp], amount: Any) -> None:
    """``target[..., index] += amount``, where a repeated index adds up."""
    places = index.ravel()
    if target.ndim == 2:  # as one vector, which NumPy is several times faster at
        places = (target.shape[1] * np.arange(len(target))[:, None] + places).ravel()
    amount = np.broadcast_to(amount, (*target.shape[:-1], *index.shape))
    np.add.at(target.reshape(-1), places, amount.ravel())


def scatter_or(target: npt.NDArray[np.bool_], index: npt.NDArray[np.intp], truth: Any) -> None:
    """``target[..., index] |= truth``, where a repeated index is true if any of its uses is."""
    where: Any = (..., index)
    np.logical_or.at(target, where, np.broadcast_to(truth, target[where].shape))


def masked_product(d: Array, mask: npt.NDArray[np.bool_], other: Array) -> Array:
    """``d @ other`` for adjoints that are no gradient, rather than 0, outside the mask."""
    if np.isfinite(other).all():
        return d @ other
    terms = d[..., None] * (other if d.ndim == 1 else other[..., None, :, :])
    found: Array = np.where(mask[..., None], terms, 0.0).sum(axis=-2)
    return found


def truth(condition: Any, shape: tuple[int, ...]) -> npt.NDArray[np.bool_]:
    """A condition in the shape of the result that it governs."""
    return np.broadcast_to(np.asarray(condition) != 0, shape)
