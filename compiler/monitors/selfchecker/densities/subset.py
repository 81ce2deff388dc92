"""Few weighted kernels a class, on int8 centres."""

from __future__ import annotations

from typing import Any, ClassVar, Self

import numpy as np
import numpy.typing as npt
from scipy.special import logsumexp
from sklearn.cluster import KMeans
from threadpoolctl import threadpool_limits

from edgemon.compiler.monitors.selfchecker.densities.density import EMPTY, ClassDensity, affine
from edgemon.compiler.monitors.selfchecker.densities.statistics import LayerStatistics
from edgemon.compiler.program.ir import Builder

Floats = npt.NDArray[np.float64]
Array = npt.NDArray[np.integer]

MOST_CODE = 127
MOST_ROWS = 1000  # of a class, that are clustered


class Subset(ClassDensity):
    """Gaussian kernels of equal width on ``kernels`` k-means centres a class, weighted by the rows
    of each cluster, in the first whitened coordinates. ``width``: of the kernels, in units of the
    clusters' own spread."""

    form: ClassVar[str] = "subset"

    def __init__(self, dimensions: int, kernels: int, width: float = 1.0, seed: int = 0) -> None:
        self.dimensions = dimensions
        self.kernels = kernels
        self.width = width
        self.seed = seed

    def fit(self, statistics: LayerStatistics, x: Floats, labels: Array) -> Self:
        q, classes = self.dimensions, len(statistics.counts)
        u = statistics.coordinates(x)[:, :q]
        centres = np.zeros((classes, self.kernels, q))
        self.log_weight_ = np.full((classes, self.kernels), EMPTY)
        within, used = 0.0, 0
        for c in np.flatnonzero(statistics.counts):
            rows = u[labels == c][: max(MOST_ROWS, self.kernels)]
            distinct = min(self.kernels, len(np.unique(rows, axis=0)))
            with threadpool_limits(1):  # threads would only wait for each other
                found = KMeans(distinct, n_init=1, max_iter=20, random_state=self.seed).fit(rows)
            centres[c, :distinct] = found.cluster_centers_
            counts = np.bincount(found.labels_, minlength=distinct)
            self.log_weight_[c, :distinct] = np.log(np.maximum(counts, 1) / len(rows))
            within += found.inertia_
            used += len(rows)
        spread = np.sqrt(max(within / (used * q), 1e-4)) * self.width
        self.basis_, self.centre_ = statistics.basis[:, :q] / spread, statistics.centre
        self.scale_ = float(max(np.abs(centres).max() / spread, 1e-6) / MOST_CODE)
        self.codes_ = np.rint(centres / spread / self.scale_).astype(np.int8)
        return self

    def log_densities(self, x: Floats) -> Floats:
        u = (x - self.centre_) @ self.basis_
        v = self.codes_.reshape(-1, self.dimensions) * self.scale_
        squares = (
            np.square(u).sum(axis=1)[:, None] - 2 * u @ v.T + np.square(v).sum(axis=1)
        ).reshape(len(x), *self.log_weight_.shape)
        return np.asarray(logsumexp(self.log_weight_ - squares / 2, axis=2))

    def lower(self, builder: Builder, x: int) -> int:
        u = affine(builder, x, self.basis_.T, -self.centre_ @ self.basis_)
        # One group of kernels: every class looks at the same coordinates.
        shape = np.array([1, self.log_weight_.size], np.uint32)
        tables = [shape, self.codes_.ravel(), np.array([self.scale_]), self.log_weight_.ravel()]
        kernels = builder.node("kernels", u, tables=tables)
        groups = np.array([len(self.log_weight_)], np.uint32)
        return builder.node("logsumexp", kernels, tables=[groups])

    def settings(self) -> dict[str, Any]:
        return {"dimensions": self.dimensions, "kernels_per_class": self.kernels}
