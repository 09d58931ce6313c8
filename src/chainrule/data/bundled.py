"""Real data that comes with a library."""

from __future__ import annotations

from chainrule.data.generators import Dataset
from chainrule.errors import MissingExtraError

__all__ = ["digits"]


def digits() -> Dataset:
    """Handwritten digits: 1797 pictures of 8 x 8 pixels, in 10 classes.

    They come with scikit-learn and are read from there; nothing is downloaded.

    Returns:
        ``X``, 1797 rows of 64 floats, the pixels line by line from 0 (white) to 1, and
        ``y``, the digit of each as a float.

    Raises:
        MissingExtraError: scikit-learn is not installed.

    Example:
        >>> X, y = digits()
        >>> len(X), len(X[0]), y[:4]
        (1797, 64, [0.0, 1.0, 2.0, 3.0])

    Source:
        E. Alpaydin and C. Kaynak, "Optical recognition of handwritten digits", UCI
        Machine Learning Repository, 1998 (its test set).
    """
    try:
        from sklearn.datasets import load_digits
    except ImportError:
        raise MissingExtraError(
            "the digits come with scikit-learn, which is not installed. "
            "Install it with: pip install 'chainrule[sklearn]'"
        ) from None
    X, y = load_digits(return_X_y=True)
    return (X / 16.0).tolist(), y.astype(float).tolist()
