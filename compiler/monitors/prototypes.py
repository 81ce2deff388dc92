"""Prototypes: how near is the nearest of a few typical feature vectors, and of which class?

After k-nearest-neighbour detection (Sun, Ming, Zhu, Li: "Out-of-Distribution Detection with Deep
Nearest Neighbors", ICML 2022) on normalised features, with the directions of k-means centres of
each class in place of all rows.
"""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
from scipy.optimize import minimize_scalar
from scipy.special import log_softmax, logsumexp
from sklearn.cluster import KMeans
from sklearn.metrics import pairwise_distances

from edgemon.compiler.monitors.estimator import MonitorEstimator, Score
from edgemon.compiler.monitors.shared import pooling
from edgemon.compiler.monitors.shared.class_scores import CODED_BYTES
from edgemon.compiler.monitors.shared.vectors import SHORT_WEIGHTS, log_odds_against, negated
from edgemon.compiler.program.ir import Builder
from edgemon.compiler.recording.recording import Recording

Floats = npt.NDArray[np.float64]

SHARPNESS = (1.0, 1e4)  # bounds of the inverse kernel variance
LEAST_LENGTH = 1e-19  # of features
FEW = 2  # prototypes a class, before features are pooled rather than these given up
SAMPLE = 5000  # fit rows on which the sharpness is found


class PrototypesMonitor(MonitorEstimator):
    """Half the squared distance to the nearest prototype of any class. Feature vectors are scaled
    to length 1."""

    kind: ClassVar[str] = "prototypes"
    learns_errors: ClassVar[bool] = False
    default_taps: ClassVar[tuple[str, ...]] = ("penultimate",)
    most_taps: ClassVar[int | None] = None
    limits: ClassVar[dict[str, tuple[float, float]]] = {
        "per_class": (1, 1024), "pool": pooling.LIMITS,
    }  # fmt: skip
    what: ClassVar[str] = "unlike all typical rows"
    source: ClassVar[str] = (
        "Sun, Ming, Zhu, Li: Out-of-Distribution Detection with Deep Nearest Neighbors, ICML 2022, "
        "with cluster centres in place of rows"
    )

    def __init__(
        self, taps: tuple[str, ...] = (), per_class: int = 8, seed: int = 0, pool: int = 1
    ) -> None:
        self.taps = taps
        self.per_class = per_class
        self.seed = seed
        self.pool = pool

    def least_bytes(self, recording: Recording) -> int:
        width = recording.width(self.taps) // self.pool
        whole = pooling.are_whole(recording, self.taps, self.pool)
        of_weight = SHORT_WEIGHTS if whole else CODED_BYTES
        return recording.n_classes * self.per_class * (width * of_weight + 4)  # and a bias each

    def smaller(self, recording: Recording) -> MonitorEstimator | None:
        """With half as many prototypes a class down to a few, then of pooled features, at last with
        one a class."""
        width = recording.width(self.taps)
        pool = pooling.next_pool(width, self.pool)
        narrow = pool is None or width // pool < pooling.NARROW
        if self.per_class > FEW or (self.per_class > 1 and narrow):
            return type(self)(self.taps, self.per_class // 2, self.seed, self.pool)
        return None if pool is None else type(self)(self.taps, self.per_class, self.seed, pool)

    @property
    def stored_as(self) -> str:
        plural = "s" * (self.per_class > 1)
        return f"{self.per_class} prototype{plural} a class{pooling.said(self.pool)}"

    def _fit(self, recording: Recording) -> None:
        """Needs labels; prototypes are of correctly classified rows. A class without such rows
        borrows the centre of all."""
        x = self._values(recording)
        labels = np.asarray(recording.labels)
        centres = np.stack(
            [
                self._centres(x[recording.correct & (labels == c)], x.mean(axis=0))
                for c in range(recording.n_classes)
            ]
        )
        centres /= np.maximum(np.linalg.norm(centres, axis=2, keepdims=True), LEAST_LENGTH)
        self.unit_ = float(np.abs(centres).max() / 127) or 1.0
        self.codes_ = np.rint(centres / self.unit_).astype(np.int8)
        self.whole_ = pooling.are_whole(recording, self.taps, self.pool)

    def _values(self, recording: Recording) -> Floats:
        return _normalised(pooling.pooled_values(recording, self.taps, self.pool))

    def _centres(self, x: Floats, fallback: Floats) -> Floats:
        """(per_class, width): cluster centres, repeated where there are fewer rows."""
        if not len(x):
            return np.tile(fallback, (self.per_class, 1))
        count = min(self.per_class, len(np.unique(x, axis=0)))
        found = KMeans(count, n_init=1, random_state=self.seed).fit(x).cluster_centers_
        return np.asarray(found[np.arange(self.per_class) % count], np.float64)

    def _lengthened(self, builder: Builder) -> tuple[int, int]:
        """Value ids of the cosines to the prototypes, class by class, times the features' length,
        and of that."""
        x = pooling.pooled(builder, self.taps, self.pool)
        width = builder.value(x).length
        weight = self.codes_.reshape(-1, width) * self.unit_
        products = builder.node("affine", x, tables=[weight.ravel(), np.zeros(len(weight))])
        return products, self._length(builder, x)

    def _length(self, builder: Builder, x: int) -> int:
        squares = builder.node("sum", builder.node("mul", x, x))
        half = builder.node("scale", builder.node("log", squares), tables=[np.array([0.5])])
        return builder.node("exp", half)

    def _nearness(self, builder: Builder) -> int:
        """Value id of minus half the squared distance to each prototype: its cosine less 1."""
        classes, count, _ = self.codes_.shape
        x = pooling.pooled(builder, self.taps, self.pool)
        y = builder.node("div", x, self._length(builder, x))
        tables: list[npt.NDArray[Any]] = [
            np.array([1, classes * count], np.uint32), self.codes_.ravel(),
            np.array([self.unit_]), np.zeros(classes * count),
        ]  # fmt: skip
        return builder.node("kernels", y, tables=tables)

    def lower(self, builder: Builder, predicted: int) -> Score:  # noqa: ARG002 - the contract
        if not self.whole_:
            return Score(negated(builder, builder.node("max", self._nearness(builder))))
        products, length = self._lengthened(builder)
        nearest = builder.node("div", builder.node("max", products), length)
        return Score(builder.node("affine", nearest, tables=[np.array([-1.0]), np.ones(1)]))

    def reason(self) -> str:
        return "unlike all typical rows: half a squared distance of {score}, above {threshold}"

    def details(self) -> dict[str, Any]:
        _, count, width = self.codes_.shape
        return {"prototypes_per_class": count, "features": width}


class PrototypeOddsMonitor(PrototypesMonitor):
    """Log-odds against the predicted class, where each class is a mixture of equal Gaussians at its
    prototypes."""

    kind: ClassVar[str] = "prototype_odds"
    learns_errors: ClassVar[bool] = True
    learns_from_moved: ClassVar[bool] = True
    what: ClassVar[str] = "nearer to the typical rows of another class"

    def smaller(self, recording: Recording) -> MonitorEstimator | None:
        """With fewer prototypes alone: which class is nearer is no question for coarse features."""
        return super().smaller(recording) if self.per_class > FEW else None

    def _fit(self, recording: Recording) -> None:
        super()._fit(recording)
        x = self._values(recording)[:SAMPLE]
        self.sharpness_ = self._sharpness(x, np.asarray(recording.labels)[:SAMPLE])

    def _sharpness(self, x: Floats, labels: npt.NDArray[Any]) -> float:
        """The inverse variance with the least negative log-likelihood of the labels."""
        classes, count, width = self.codes_.shape
        centres = self.codes_.reshape(-1, width) * self.unit_
        half = pairwise_distances(x, centres, metric="sqeuclidean") / 2
        rows = np.arange(len(x))

        def loss(log_sharpness: float) -> float:
            near = -np.exp(log_sharpness) * half.reshape(len(x), classes, count)
            scores: Floats = log_softmax(logsumexp(near, axis=2), axis=1)
            return float(-scores[rows, labels].mean())

        bounds = tuple(np.log(SHARPNESS))
        return float(np.exp(minimize_scalar(loss, bounds=bounds, method="bounded").x))

    def lower(self, builder: Builder, predicted: int) -> Score:
        cosines = (  # those of floats are less by 1, which odds do not tell
            builder.node("div", *self._lengthened(builder)) if self.whole_
            else self._nearness(builder)
        )  # fmt: skip
        near = builder.node("scale", cosines, tables=[np.array([self.sharpness_])])
        groups = [np.array([len(self.codes_)], np.uint32)]
        scores = builder.node("logsumexp", near, tables=groups)
        return Score(log_odds_against(builder, scores, predicted))

    def reason(self) -> str:
        return "nearer to another class: log-odds against this one are {score}, above {threshold}"

    def details(self) -> dict[str, Any]:
        return {**super().details(), "sharpness": self.sharpness_}


def _normalised(x: Floats) -> Floats:
    return np.asarray(x / np.maximum(np.linalg.norm(x, axis=1, keepdims=True), LEAST_LENGTH))
