"""Codes that stand for reals, and thresholds between them, exactly.

A comparison of a real value ``s * (q - Z)`` with a threshold becomes a comparison of the code
``q`` with an integer, computed in rationals: floating point is wrong exactly where thresholds
lie on the grid, which is where trees and boxes put them (``docs/exactness.md``). On float32 taps
a float64 threshold is rounded toward the side that keeps every float32 comparison.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction
from math import ceil, floor
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]


class Grid(Protocol):
    """Codes that stand for reals: ``real = scale * (code - zero_point)``."""

    @property
    def scale(self) -> float | Fraction: ...
    @property
    def zero_point(self) -> int: ...


@dataclass(frozen=True)
class Represented:
    """How a device value stands for a real one: ``real = scale * (device - zero_point)``. The
    scale is exact, so that comparisons are."""

    id: int
    scale: Fraction = Fraction(1)
    zero_point: int = 0

    def at(self, id_: int) -> Represented:
        """Another device value, which stands for reals in the same way."""
        return replace(self, id=id_)

    def alike(self, other: Represented) -> bool:
        """Do equal codes of both stand for equal reals?"""
        return (self.scale, self.zero_point) == (other.scale, other.zero_point)

    def real(self, raw: Array) -> npt.NDArray[np.float64]:
        """The reals that raw device values stand for."""
        return np.asarray(float(self.scale) * (raw.astype(np.float64) - self.zero_point))


def code_at_most(threshold: float, grid: Grid) -> int:
    """The largest code q with ``scale * (q - zero_point) <= threshold``; may lie outside the
    dtype's range, where the comparison is always or never true."""
    return floor(Fraction(threshold) / Fraction(grid.scale)) + grid.zero_point


def code_at_least(threshold: float, grid: Grid) -> int:
    """The smallest code q with ``scale * (q - zero_point) >= threshold``."""
    return ceil(Fraction(threshold) / Fraction(grid.scale)) + grid.zero_point


def f32_at_most(threshold: float) -> np.float32:
    """The largest float32 <= threshold: ``x <= threshold`` for every float32 x stays the same."""
    rounded = np.float32(threshold)
    if float(rounded) > threshold:
        rounded = np.nextafter(rounded, np.float32(-np.inf))
    return np.float32(rounded + np.float32(0))


def f32_at_least(threshold: float) -> np.float32:
    """The smallest float32 >= threshold."""
    return np.float32(-f32_at_most(-threshold) + np.float32(0))


def each(values: Array, convert: Callable[[float], Any], dtype: Any) -> Array:
    """Apply a scalar conversion to each distinct element."""
    distinct, inverse = np.unique(values, return_inverse=True)
    converted = np.array([convert(float(v)) for v in distinct], dtype)
    return converted[inverse.reshape(values.shape)]


def beside(value: Any, dtype: Any) -> list[Any]:
    """The codes (or floats) below, at and above a value that the dtype holds."""
    dtype = np.dtype(dtype)
    if dtype.kind == "f":
        v = dtype.type(value)
        with np.errstate(over="ignore"):  # beside the largest float is an infinity
            return [np.nextafter(v, dtype.type(-np.inf)), v, np.nextafter(v, dtype.type(np.inf))]
    info = np.iinfo(dtype)
    return sorted({min(max(int(value) + d, info.min), info.max) for d in (-1, 0, 1)})
