"""A Gaussian density of early features, whatever the class: sensor faults and far novelty.

The squared Mahalanobis distance from all fit rows (Lee, Lee, Lee, Shin: "A Simple Unified Framework
for Detecting Out-of-Distribution Samples and Adversarial Attacks", NeurIPS 2018, with one class).
"""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
from sklearn.decomposition import PCA
from sklearn.preprocessing import StandardScaler

from edgemon.compiler.errors import CompileError
from edgemon.compiler.models import tap_rules
from edgemon.compiler.models.model import Model
from edgemon.compiler.monitors.estimator import Analysis, MonitorEstimator, Score
from edgemon.compiler.monitors.shared import pooling
from edgemon.compiler.program.ir import Builder
from edgemon.compiler.recording.recording import Recording

Floats = npt.NDArray[np.float64]

FLATTEST = 1e-3  # least variance of a component, as a share of the largest
FEW = 8  # directions, before features are pooled rather than these given up
FEWEST = 4  # directions


class DensityMonitor(MonitorEstimator):
    """Squared Mahalanobis distance of early features in their ``dims`` widest directions.

    By default it reads the feature map in the middle of the network; of a network without
    feature maps its input, or what is in front of the last layer if the input is wide.
    """

    kind: ClassVar[str] = "density"
    learns_errors: ClassVar[bool] = False
    default_taps: ClassVar[tuple[str, ...]] = ("middle",)
    most_taps: ClassVar[int | None] = None
    limits: ClassVar[dict[str, tuple[float, float]]] = {"dims": (1, 1024), "pool": pooling.LIMITS}
    what: ClassVar[str] = "early features unlike the fit rows"
    source: ClassVar[str] = "Lee, Lee, Lee, Shin, NeurIPS 2018, with one class and early features"

    def __init__(self, taps: tuple[str, ...] = (), dims: int = 32, pool: int = 1) -> None:
        self.taps = taps
        self.dims = dims
        self.pool = pool

    def analyse(self, model: Model) -> Analysis:
        return Analysis(early_features(model))

    def least_bytes(self, recording: Recording) -> int:
        width, kept = recording.width(self.taps) // self.pool, self._kept(recording)
        return pooling.weight_bytes(recording, self.taps, self.pool) * kept * width

    def _kept(self, recording: Recording) -> int:
        """Dimensions that are left."""
        return min(self.dims, recording.width(self.taps) // self.pool, len(recording) - 1)

    def smaller(self, recording: Recording) -> MonitorEstimator | None:
        """With half as many directions down to a few, then of pooled features, at last with fewer
        directions still."""
        width, kept = recording.width(self.taps), self._kept(recording)
        pool = pooling.next_pool(
            width, self.pool, lambda p: pooling.weight_bytes(recording, self.taps, p)
        )
        narrow = pool is None or width // pool < pooling.NARROW
        if kept > FEW or (kept > FEWEST and narrow):
            return type(self)(self.taps, max(kept // 2, FEWEST), self.pool)
        return None if pool is None else type(self)(self.taps, self.dims, pool)

    @property
    def stored_as(self) -> str:
        return f"{self.dims} directions{pooling.said(self.pool)}"

    def _fit(self, recording: Recording) -> None:
        """Needs no labels."""
        x = pooling.pooled_values(recording, self.taps, self.pool)
        scaler = StandardScaler().fit(x)
        most = min(self.dims, x.shape[1], len(x) - 1)
        if most < 1 or not np.ptp(x, axis=0).any():
            raise CompileError("density: the features never change on the fit rows")
        pca = PCA(most, svd_solver="full").fit(scaler.transform(x))
        variance = np.maximum(pca.explained_variance_, pca.explained_variance_[0] * FLATTEST)
        self.explained_ = float(pca.explained_variance_ratio_.sum())
        self.projection_ = pca.components_ / np.sqrt(variance)[:, None] / scaler.scale_
        self.shift_ = -(x.mean(axis=0) @ self.projection_.T)

    def lower(self, builder: Builder, predicted: int) -> Score:  # noqa: ARG002 - the contract
        x = pooling.pooled(builder, self.taps, self.pool)
        y = builder.node("affine", x, tables=[self.projection_.ravel(), self.shift_])
        return Score(builder.node("distances", y, tables=[np.zeros(len(self.shift_))]))

    def reason(self) -> str:
        return "early features unlike the fit rows: squared distance {score}, above {threshold}"

    def details(self) -> dict[str, Any]:
        return {
            "features": int(self.projection_.shape[1]),
            "dimensions": len(self.shift_),
            "explained_variance": self.explained_,
        }


def early_features(model: Model) -> tuple[str, ...]:
    """Rule or name of what an early-layer monitor reads."""
    if "middle" in tap_rules.suggest(model.graph):
        return ("middle",)
    entry = tap_rules.narrow_input(model.graph)
    return ("penultimate",) if entry is None else (entry.name,)
