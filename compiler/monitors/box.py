"""Box bounds: outside-the-box abstraction.

Henzinger, Lukina, Schilling: "Outside the Box: Abstraction-Based Monitoring of Neural Networks",
ECAI 2020. One layer, all dimensions, k-means clusters a class.
"""

from __future__ import annotations

from typing import Any, ClassVar, Self

import numpy as np
import numpy.typing as npt
from sklearn.cluster import KMeans

from edgemon.compiler.errors import CompileError
from edgemon.compiler.ir import Builder
from edgemon.compiler.monitors.base import MonitorEstimator, Score
from edgemon.compiler.recording import Recording

Array = npt.NDArray[np.float64]

FLAT = 0.01  # least range of a neuron, as a share of the median range


class BoxMonitor(MonitorEstimator):
    """Alarms when a layer's activation lies in no box of the predicted class.

    Boxes bound the activations of correctly classified fit rows, one a cluster; the number of
    clusters grows until inertia falls by less than the share ``tau`` (at most ``max_clusters``).
    Each side is enlarged by ``gamma * (hi - lo) / 2``.

    The score is graded: the largest violation over the dimensions, in units of the neuron's range
    over the fit rows, smallest over the class's boxes; negative inside. The method's own rule is
    "alarm iff outside", that is score > 0.
    """

    kind: ClassVar[str] = "box"
    default_taps: ClassVar[tuple[str, ...]] = ("penultimate",)
    limits: ClassVar[dict[str, tuple[float, float]]] = {
        "gamma": (0, 100),
        "tau": (0, 1),
        "max_clusters": (1, 1000),
    }
    what: ClassVar[str] = "activation outside the boxes of its class"

    def __init__(
        self,
        taps: tuple[str, ...] = (),
        gamma: float = 0.1,
        tau: float = 0.1,
        max_clusters: int = 10,
        seed: int = 0,
    ) -> None:
        self.taps = taps
        self.gamma = gamma
        self.tau = tau
        self.max_clusters = max_clusters
        self.seed = seed

    def fit(self, recording: Recording) -> Self:
        """Needs labels; classes without a correctly classified row get no box (always alarm)."""
        self.check_taps()
        self.check_settings()
        (name,) = self.taps
        if not recording.correct.any():
            raise CompileError("box: no fit row is classified correctly; check the preprocessing")
        ranges = np.ptp(recording.values(name, np.flatnonzero(recording.correct)), axis=0)
        median = float(np.median(ranges[ranges > 0])) if (ranges > 0).any() else 1.0
        self.weight_ = 1.0 / np.maximum(ranges, FLAT * median)
        boxes: list[tuple[Array, Array]] = []
        first = [0]
        for c in range(recording.n_classes):
            rows = np.flatnonzero(recording.correct & (recording.predicted == c))
            if rows.size:
                boxes += self._boxes(recording.values(name, rows))
            first.append(len(boxes))
        self.first_ = np.array(first)
        lower, upper = (np.array([b[side] for b in boxes]) for side in (0, 1))
        margin = self.gamma * (upper - lower) / 2
        self.lower_, self.upper_ = lower - margin, upper + margin
        return self

    def _boxes(self, x: Array) -> list[tuple[Array, Array]]:
        distinct = len(np.unique(x, axis=0))
        best = self._cluster(x, 1)
        for k in range(2, min(self.max_clusters, distinct) + 1):
            finer = self._cluster(x, k)
            if best.inertia_ <= 0 or 1 - finer.inertia_ / best.inertia_ < self.tau:
                break
            best = finer
        members = (x[best.labels_ == c] for c in range(best.n_clusters))
        return [(m.min(axis=0), m.max(axis=0)) for m in members if len(m)]

    def _cluster(self, x: Array, k: int) -> Any:
        return KMeans(k, n_init=3, random_state=self.seed).fit(x)

    def lower(self, builder: Builder, predicted: int) -> Score:
        tables = [self.lower_.ravel(), self.upper_.ravel(), self.weight_, self.first_]
        score = builder.node("boxes", builder.tap(self.taps[0]), predicted, tables=tables)
        return Score(score, alarm_above=0.0)

    def reason(self) -> str:
        return "activation outside every box of the predicted class by {score} of a neuron's range"

    def details(self) -> dict[str, Any]:
        return {
            "boxes_per_class": np.diff(self.first_).tolist(),
            "classes_without_box": np.flatnonzero(np.diff(self.first_) == 0).tolist(),
            "dimensions": int(self.weight_.size),
        }
