"""Small data sets to learn on, a reader for CSV files, and a split into train and test.

Every function gives plain lists, ready for a loop: ``X``, a list of rows of
floats, and ``y``, a list with one float per row.  A class label is its index:
0.0, 1.0, 2.0 and so on.

Example:
    >>> X, y = circle(80, seed=7)
    >>> X_train, X_test, y_train, y_test = train_test_split(X, y, seed=7)
    >>> len(X_train), len(X_test)
    (60, 20)
"""

from __future__ import annotations

from chainrule.data.bundled import digits
from chainrule.data.generators import Dataset, blobs, circle, moons, spiral, xor
from chainrule.data.matching import MatchedRows, read_rows
from chainrule.data.splitting import train_test_split
from chainrule.data.tables import Table, read_csv

__all__ = [
    "Dataset",
    "MatchedRows",
    "Table",
    "blobs",
    "circle",
    "digits",
    "moons",
    "read_csv",
    "read_rows",
    "spiral",
    "train_test_split",
    "xor",
]
