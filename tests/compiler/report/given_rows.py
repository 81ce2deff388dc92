"""Rows for a report, made of arrays."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from edgemon.compiler.data.loading import Dataset
from edgemon.compiler.report import Given
from edgemon.runtime.preprocess import InputSpec, Preprocess

Array = npt.NDArray[Any]


def given_rows(
    folder: Path, test: Array, spec: InputSpec, *, fit: Array | None = None, shown: bool = True,
    features: tuple[str, ...] | None = None, files: tuple[str, ...] | None = None,
    preprocess: str = "",
) -> Given:  # fmt: skip
    """Rows ``test`` (n, ...) of a model with this input; monitors learned from ``fit``, or them."""
    data = [
        _dataset(folder / f"{name}.npy", x, features, files)
        for name, x in (("fit", test if fit is None else fit), ("test", test))
    ]
    return Given(*data, data[1], Preprocess.parse(preprocess), spec, shown)


def _dataset(
    path: Path, x: Array, features: tuple[str, ...] | None, files: tuple[str, ...] | None
) -> Dataset:
    np.save(path, x)
    rows = np.arange(len(x))
    return Dataset(path, rows, np.zeros(len(x), np.int64), None, "rows", 0, None, features, files)
