"""A scaler that belongs to a model: the mean and the standard deviation of each column, in a file.

Two formats: ``.npz`` with the arrays ``mean`` and ``std``, and ``.json`` with lists of these names.
As scikit-learn's ``StandardScaler`` has them, ``mean_`` and ``scale_`` are understood too. A pickle
is not read, for it may run what it likes.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from edgemon.runtime.errors import InputError

STANDARDIZE = "standardize"
NAMES = {"mean": ("mean", "mean_"), "std": ("std", "scale_", "scale")}
MOST_COLUMNS = 1 << 16
HOW = "np.savez('scaler.npz', mean=scaler.mean_, std=scaler.scale_)"


def standardization(path: Path) -> dict[str, tuple[float, ...]]:
    """``mean`` and ``std`` of a file, one number a column. Raises InputError."""
    where = f"preprocess: {STANDARDIZE}={path}"
    try:
        content = _read(path)
    except MemoryError:
        raise InputError(f"{where}: cannot be read: it is too large") from None
    except Exception as error:  # NumPy and the decompressors have errors of many kinds
        why = getattr(error, "strerror", None) or "it is neither .npz nor .json with numbers"
        raise InputError(f"{where}: cannot be read: {why}; write it with {HOW}") from None
    found = {}
    for name, called in NAMES.items():
        key = next((key for key in called if key in content), None)
        if key is None:
            raise InputError(f"{where}: has no {name}; write it with {HOW}")
        try:
            values = np.asarray(content[key], np.float64)
        except (TypeError, ValueError):
            raise InputError(f"{where}: {key} holds what is no number") from None
        if values.ndim != 1 or not 0 < len(values) <= MOST_COLUMNS:
            raise InputError(f"{where}: {key} has the shape {values.shape}; give a number a column")
        found[name] = tuple(values.tolist())
    if len(found["mean"]) != len(found["std"]):
        raise InputError(
            f"{where}: has {len(found['mean'])} means, but {len(found['std'])} deviations"
        )
    return found


def _read(path: Path) -> Mapping[str, Any]:
    if path.suffix.lower() == ".json":
        content = json.loads(path.read_text(encoding="utf-8"))
        if not isinstance(content, dict):
            raise ValueError("no object")
        return content
    known = {key for called in NAMES.values() for key in called}
    with path.open("rb") as file:
        if file.read(4) != b"PK\x03\x04":
            raise ValueError("no archive")
        file.seek(0)
        with np.load(file, allow_pickle=False) as arrays:
            return {name: arrays[name] for name in arrays.files if name in known}
