"""Labels as they come in files, made whole numbers."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from edgemon.compiler.errors import DataError

Array = npt.NDArray[Any]
Labels = npt.NDArray[np.int64]


def to_labels(found: Array, source: str) -> tuple[Labels, tuple[str, ...] | None]:
    """Labels (N,) and, for labels that are words, the words in sorted order (label = position).

    Takes whole numbers of any dtype, digits as text, words, (N, 1), and one-hot rows (N, C).
    Raises DataError for anything else.
    """
    y = found
    if y.ndim == 2 and y.shape[1] == 1:
        y = y[:, 0]
    if y.ndim == 2 and y.dtype.kind in "buif":
        y = _from_one_hot(y, source)
    if y.ndim != 1:
        raise DataError(
            f"{source}: labels have the shape {found.shape}; one number a row is needed"
        )
    if y.dtype.kind in "US":
        return _from_words(y)
    if y.dtype.kind not in "buif":
        raise DataError(f"{source}: labels are {y.dtype}; use whole numbers or words")
    if y.dtype.kind == "f":
        wrong = ~(np.isfinite(y) & (y == np.floor(y)))
        if wrong.any():
            row = int(np.argmax(wrong))
            raise DataError(f"{source}: label {y[row]} (row {row}) is no whole number")
    wrong = (y < 0) | (y > np.iinfo(np.int32).max)
    if wrong.any():
        row = int(np.argmax(wrong))
        raise DataError(f"{source}: label {y[row]} (row {row}) is out of range; count from 0")
    return y.astype(np.int64), None


def _from_words(y: Array) -> tuple[Labels, tuple[str, ...] | None]:
    words = np.char.strip(np.char.decode(y, "utf-8", "replace") if y.dtype.kind == "S" else y)
    if all(w.isascii() and w.isdigit() for w in np.unique(words).tolist()):
        return words.astype(np.int64), None
    names, labels = np.unique(words, return_inverse=True)
    return labels.astype(np.int64), tuple(str(n) for n in names)


def _from_one_hot(y: Array, source: str) -> Array:
    if not (((y == 0) | (y == 1)).all() and (y.sum(axis=1) == 1).all()):
        raise DataError(
            f"{source}: labels have the shape {y.shape} and are not one-hot; "
            "one number a row is needed"
        )
    labels: Array = y.argmax(axis=1)
    return labels
