"""Tables of one-dimensional log-densities, as if a layer's projections were independent."""

from __future__ import annotations

from typing import Any, ClassVar, Self

import numpy as np
import numpy.typing as npt

from edgemon.compiler.monitors.selfchecker.densities.density import (
    EMPTY,
    ClassDensity,
    affine,
    constants,
)
from edgemon.compiler.program.ir import Builder

Floats = npt.NDArray[np.float64]
Array = npt.NDArray[np.integer]

UNITS = 256  # of an entry, to the nat
FLOOR = -40.0  # least log-density of one dimension: one outlier does not decide alone


class Marginal(ClassDensity):
    """A projection to few dimensions (linear discriminants or principal components), and for each
    class and dimension a table of ``bins`` log-densities: Gaussian kernels with Scott's factor."""

    form: ClassVar[str] = "marginal"

    def __init__(self, projection: str, directions: Floats, bins: int) -> None:
        """``directions``: (dimensions, width), found by the named projection."""
        self.projection = projection
        self.directions = directions
        self.dimensions = len(directions)
        self.bins = bins

    def fit(self, x: Floats, labels: Array, n_classes: int) -> Self:
        """Learn from features (n, width)."""
        self.matrix_ = self.directions.copy()
        u = x @ self.matrix_.T
        spread = u.std(axis=0)
        spread[spread == 0] = 1.0
        self.matrix_ /= spread[:, None]
        u /= spread
        self.bias_ = -u.mean(axis=0)
        u += self.bias_
        self.origin_ = u.min(axis=0)
        self.rate_ = self.bins / np.maximum(np.ptp(u, axis=0), 1e-6)
        self.entries_ = np.full((n_classes, self.dimensions, self.bins), FLOOR * UNITS, np.int16)
        self.prior_ = np.zeros(n_classes)
        for c in range(n_classes):
            rows = u[labels == c]
            self.prior_[c] = 0.0 if len(rows) else EMPTY
            for i in range(self.dimensions if len(rows) else 0):
                centres = self.origin_[i] + (np.arange(self.bins) + 0.5) / self.rate_[i]
                density = np.maximum(_log_density(centres, rows[:, i]), FLOOR)
                self.entries_[c, i] = np.rint(density * UNITS)
        return self

    def log_densities(self, x: Floats) -> Floats:
        u = x @ self.matrix_.T + self.bias_
        index = np.clip((u - self.origin_) * self.rate_, 0, self.bins - 1).astype(np.int64)
        entries = self.entries_.astype(np.int64)[:, np.arange(self.dimensions), index]
        return np.asarray(entries.sum(axis=2).T / UNITS + self.prior_)

    def lower(self, builder: Builder, x: int) -> int:
        u = affine(builder, x, self.matrix_, self.bias_)
        classes = len(self.prior_)
        shape = np.array([classes, self.bins], np.uint32)
        tables = [self.origin_, self.rate_, shape, self.entries_.ravel()]
        summed = builder.node("tables", u, tables=tables)
        scaled = builder.node("mul", summed, constants(builder, u, np.full(classes, 1.0 / UNITS)))
        if not self.prior_.any():
            return scaled
        return builder.node("add", scaled, constants(builder, u, self.prior_))

    def settings(self) -> dict[str, Any]:
        return {"projection": self.projection, "dimensions": self.dimensions, "bins": self.bins}


def _log_density(at: Floats, rows: Floats) -> Floats:
    """(len(at),): one-dimensional kernel density of rows (n,). Equal rows get a narrow kernel."""
    n = len(rows)
    width = max(float(rows.std(ddof=1)) if n > 1 else 0.0, 0.05) * n ** (-1 / 5)
    exponent = -np.square((at[:, None] - rows) / width) / 2
    largest = exponent.max(axis=1)
    mean = np.exp(exponent - largest[:, None]).mean(axis=1)
    return np.asarray(largest + np.log(mean) - np.log(width * np.sqrt(2 * np.pi)))
