"""Labels as they come in files, made whole numbers."""

from __future__ import annotations

from array import array
from typing import Any

import numpy as np
import numpy.typing as npt

from edgemon.compiler.errors import DataError

Array = npt.NDArray[Any]
Labels = npt.NDArray[np.int64]
Named = tuple[Labels, tuple[str, ...] | None]

LONGEST_WORD = 256


class LabelReader:
    """Takes labels piece by piece and holds eight bytes a row, and each different word once.

    Whole numbers of any dtype, numbers as text, words, (n, 1), and one-hot rows (n, C). Anything
    else is a DataError; ``first_row`` is the number of the first row in its sentence.
    """

    def __init__(self, source: str, first_row: int = 0) -> None:
        self._source, self._first_row = source, first_row
        self._labels = array("q")
        self._words: dict[str, int] = {}
        self._declared: set[str] = set()

    def add(self, found: Array) -> None:
        """The labels of the next rows."""
        y = found
        if y.ndim == 2 and y.shape[1] == 1:
            y = y[:, 0]
        if y.ndim == 2 and y.dtype.kind in "buif":
            y = self._from_one_hot(y)
        if y.ndim != 1:
            raise DataError(
                f"{self._source}: labels have rows of the shape {found.shape[1:]}; one number a "
                "row is needed"
            )
        if y.dtype.kind in "US":
            words = np.char.decode(y, "utf-8", "replace") if y.dtype.kind == "S" else y
            for row, word in enumerate(words.tolist(), self._row):
                self.add_word(word, f"row {row}")
        elif y.dtype.kind in "buif":
            self._labels.frombytes(self._whole(y, self._row).tobytes())
        else:
            raise DataError(f"{self._source}: labels are {y.dtype}; use whole numbers or words")

    def add_word(self, text: str, where: str) -> None:
        """The label of the next row, which is ``where`` in the file."""
        word = text.strip()
        if not word:
            raise DataError(f"{self._source}: the label of {where} is empty; give every row one")
        if len(word) > LONGEST_WORD:
            raise DataError(
                f"{self._source}: the label of {where} has {len(word)} characters; "
                f"use at most {LONGEST_WORD}"
            )
        self._labels.append(self._words.setdefault(word, len(self._words)))

    def declare(self, text: str) -> None:
        """A word that no row need have: the name of an empty class folder."""
        self._declared.add(text.strip())

    def finish(self) -> Named:
        """Labels (N,) and, if some are words, these and the declared ones in sorted order (label =
        position)."""
        labels = np.array(self._labels, np.int64)
        words = list(self._words)
        if not words:
            return labels, None
        numbers = [as_number(word) for word in words]
        if None not in numbers:
            return self._whole(np.array(numbers, np.float64)[labels], self._first_row), None
        names = sorted({*words, *self._declared})
        position = {name: i for i, name in enumerate(names)}
        return np.array([position[word] for word in words], np.int64)[labels], tuple(names)

    @property
    def _row(self) -> int:
        return self._first_row + len(self._labels)

    def _whole(self, y: Array, first_row: int) -> Labels:
        checks = (
            (~(np.isfinite(y) & (y == np.floor(y))), "is not a whole number; number the classes"),
            ((y < 0) | (y > np.iinfo(np.int32).max), "is out of range; count from 0"),
        )
        for wrong, what in checks:
            if wrong.any():
                at = int(np.argmax(wrong))
                raise DataError(f"{self._source}: label {y[at]:.15g} (row {first_row + at}) {what}")
        return y.astype(np.int64)

    def _from_one_hot(self, y: Array) -> Array:
        if not (((y == 0) | (y == 1)).all() and (y.sum(axis=1) == 1).all()):
            raise DataError(
                f"{self._source}: labels have {y.shape[1]} numbers a row and are not one-hot; "
                "one number a row is needed"
            )
        labels: Array = y.argmax(axis=1)
        return labels


def as_number(text: str) -> float | None:
    """The finite number that a label's text is, if it is one."""
    try:
        return float(text) if text.isascii() and "_" not in text else None
    except ValueError:
        return None
