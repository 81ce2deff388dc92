"""Boxes of one layer: one a k-means cluster of each class's correctly classified rows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import numpy as np
import numpy.typing as npt
from sklearn.cluster import KMeans

from edgemon.compiler.monitors.shared.projections import Projection
from edgemon.compiler.program.ir import Builder

Array = npt.NDArray[np.float64]

FLAT = 0.01  # least range of a dimension, as a share of the median range
# By how much of a range a computed value may be off: a fit row that defines a side, or the only
# one of a flat box, must not fall outside for that. Weighted sums by the device's codes of weights,
# means by the last digit of a double.
ROUNDED_SUM, ROUNDED_MEAN = 1e-3, 1e-12


@dataclass(frozen=True)
class Growth:
    """How clusters are found and boxes enlarged; see ``BoxMonitor``."""

    gamma: float
    floor: float
    tau: float
    max_clusters: int
    seed: int


class LayerBoxes:
    """B boxes in the d dimensions of a projection. ``unit_`` (classes, d) is what a violation is
    measured in: the range of the correct rows, of all classes or by class as the projection.
    ``means``: the features are the means of channels."""

    def __init__(self, projection: Projection, growth: Growth, *, means: bool = False) -> None:
        self.projection = projection
        self.growth = growth
        self.rounded = ROUNDED_SUM if projection.by_class else ROUNDED_MEAN if means else 0.0

    def fit(self, x: Array, classes: npt.NDArray[Any], n_classes: int) -> Self:
        """Learn from the features (n, width) of correct rows and their classes (n,)."""
        self.projection.fit(x, classes, n_classes)
        own = [self.projection.values(x[classes == c], c) for c in range(n_classes)]
        found = [self._boxes(z) if len(z) else [] for z in own]
        self.first_ = np.concatenate([[0], np.cumsum([len(b) for b in found])])
        lower, upper = (np.array([b[side] for boxes in found for b in boxes]) for side in (0, 1))
        if self.projection.by_class:
            ranges = [np.ptp(z, axis=0) if len(z) else np.zeros(lower.shape[1]) for z in own]
        else:
            ranges = [np.ptp(np.concatenate(own), axis=0)] * n_classes
        self.unit_ = np.array([_unit(r) for r in ranges])
        margin = np.maximum(self.growth.gamma * (upper - lower) / 2, self.growth.floor)
        margin = np.maximum(margin, self.rounded * self.unit_[self._owners()])
        self.lower_, self.upper_ = lower - margin, upper + margin
        return self

    def _owners(self) -> npt.NDArray[np.int64]:
        """The class of each box, (B,)."""
        return np.repeat(np.arange(self.first_.size - 1), np.diff(self.first_))

    def _boxes(self, z: Array) -> list[tuple[Array, Array]]:
        distinct = len(np.unique(z, axis=0))
        best = self._cluster(z, 1)
        for k in range(2, min(self.growth.max_clusters, distinct) + 1):
            finer = self._cluster(z, k)
            if best.inertia_ <= 0 or 1 - finer.inertia_ / best.inertia_ < self.growth.tau:
                break
            best = finer
        members = (z[best.labels_ == c] for c in range(best.n_clusters))
        return [(m.min(axis=0), m.max(axis=0)) for m in members if len(m)]

    def _cluster(self, z: Array, k: int) -> Any:
        return KMeans(k, n_init=3, random_state=self.growth.seed).fit(z)

    def lower(self, builder: Builder, features: int, predicted: int) -> int:
        """Value id of the largest violation, smallest over the boxes of the predicted class."""
        scale = 1.0 / self.unit_
        x = self.projection.lower(builder, features, predicted, scale)
        lower, upper, weight = self.lower_, self.upper_, scale[0]
        if self.projection.by_class:  # then x is in units already
            lower, upper = (side * scale[self._owners()] for side in (lower, upper))
            weight = np.ones_like(weight)
        tables = [lower.ravel(), upper.ravel(), weight, self.first_]
        return builder.node("boxes", x, predicted, tables=tables)

    def details(self) -> dict[str, Any]:
        return {
            "boxes_per_class": np.diff(self.first_).tolist(),
            "classes_without_box": np.flatnonzero(np.diff(self.first_) == 0).tolist(),
            "dimensions": int(self.unit_.shape[1]),
            **self.projection.details(),
        }


def _unit(ranges: Array) -> Array:
    """Ranges without those that are (nearly) zero."""
    median = float(np.median(ranges[ranges > 0])) if (ranges > 0).any() else 1.0
    return np.maximum(ranges, FLAT * median)
