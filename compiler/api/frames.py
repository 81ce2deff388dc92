"""Rows as objects: arrays, and frames of pandas and polars, whose columns have names."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Sequence
from types import FrameType
from typing import Any

import numpy as np
import numpy.typing as npt

from edgemon.compiler.data.named_columns import listed, places, say_left_out
from edgemon.runtime.errors import InputError


class EdgemonWarning(UserWarning):
    """Something that works, but is probably not what is wanted."""


def names_of(x: Any) -> tuple[str, ...] | None:
    """The names of a frame's columns; None of what is no frame."""
    columns = getattr(x, "columns", None)
    return None if columns is None else tuple(str(name) for name in columns)


def in_order(x: Any, features: Sequence[str] | None, where: str) -> npt.NDArray[Any]:
    """(n, ...): of a frame the columns that are ``features``, in that order, where these are known;
    others are left out with a warning. Raises EdgemonError where some are missing, and for columns
    of words."""
    names = names_of(x)
    if names is None or features is None:
        return as_rows(x)
    found = places(where, names, features)
    if found is None:
        warn(f"{where}: no column has the name of a feature, so that they are taken in their order")
        return as_rows(x)
    say_left_out(where, names, found, warn)
    return as_rows(x[[list(x.columns)[i] for i in found]])


def warn(text: str) -> None:
    """A warning that points to the line that called edgemon."""
    warnings.warn(text, EdgemonWarning, stacklevel=_levels_to_the_caller())


def _levels_to_the_caller() -> int:
    """How many calls below ``warn`` lies the line that called edgemon, which a warning shows."""
    frame, levels = sys._getframe(1), 1
    while frame.f_back is not None and _is_ours(frame):
        frame, levels = frame.f_back, levels + 1
    return levels


def _is_ours(frame: FrameType) -> bool:
    return str(frame.f_globals.get("__name__", "")).partition(".")[0] == "edgemon"


def as_rows(x: Any) -> npt.NDArray[Any]:
    """(n, ...) of what holds rows: an array, or a frame of pandas or polars. Raises InputError."""
    found = np.asarray(x.to_numpy() if hasattr(x, "to_numpy") else x)
    if found.dtype.kind == "O" and names_of(x) is not None:
        columns = [np.asarray(x[name].to_numpy()) for name in x.columns]
        if all(c.dtype.kind in "biuf" for c in columns):
            found = np.stack([c.astype(np.uint8) if c.dtype == bool else c for c in columns], 1)
    if found.dtype.kind not in "biuf":
        raise InputError(f"rows must be numbers, and are {found.dtype}{_of_words(x)}")
    if found.ndim < 2:
        raise InputError(f"rows have the shape {found.shape}; one row must be one image, (n, ...)")
    return np.ascontiguousarray(found)


def _of_words(x: Any) -> str:
    """Which columns are no numbers, and what to do with them."""
    what = "encode them as for the model's training"
    names = names_of(x)
    if names is None:
        return f": {what}"
    wrong = [
        name for i, name in enumerate(names)
        if np.asarray(x[list(x.columns)[i]].to_numpy()).dtype.kind not in "biuf"
    ]  # fmt: skip
    return f" in the columns {listed(wrong)}: {what}, or leave them out"
