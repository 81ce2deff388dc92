"""Gaussian densities of features: of one layer against the predicted class, of early layers.

* rmds: relative Mahalanobis distance (Ren, Fort, Liu, Guha Roy, Padhy, Lakshminarayanan: "A Simple
  Fix to Mahalanobis Distance for Improving Near-OOD Detection", 2021), in the space of a linear
  discriminant analysis;
* density: squared Mahalanobis distance of early features from all fit rows, whatever the class
  (Lee, Lee, Lee, Shin: "A Simple Unified Framework for Detecting Out-of-Distribution Samples and
  Adversarial Attacks", NeurIPS 2018, with one class): sensor faults and far novelty.
"""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
from sklearn.decomposition import PCA
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.preprocessing import StandardScaler

from edgemon.compiler.errors import CompileError
from edgemon.compiler.models import tap_rules
from edgemon.compiler.models.model import Model
from edgemon.compiler.monitors.estimator import Analysis, MonitorEstimator, Needs, Score
from edgemon.compiler.monitors.second_opinion import with_spread
from edgemon.compiler.monitors.shared import pooling
from edgemon.compiler.program.ir import Builder
from edgemon.compiler.recording.recording import Recording

Floats = npt.NDArray[np.float64]

FLATTEST = 1e-3  # least variance of a component, as a share of the largest
FEW_DIRECTIONS, FEW_DISCRIMINANTS = 8, 16  # before features are pooled rather than these given up
FEWEST = 4  # dimensions


class RelativeMahalanobisMonitor(MonitorEstimator):
    """Distance from the predicted class minus distance from all rows."""

    kind: ClassVar[str] = "rmds"
    learns_errors: ClassVar[bool] = False
    default_taps: ClassVar[tuple[str, ...]] = ("penultimate",)
    most_taps: ClassVar[int | None] = None
    needs: ClassVar[Needs] = Needs.CLASSES
    limits: ClassVar[dict[str, tuple[float, float]]] = {"dims": (0, 1024), "pool": pooling.LIMITS}
    what: ClassVar[str] = "features far from the predicted class, for this kind of data"
    source: ClassVar[str] = (
        "Ren, Fort, Liu, Guha Roy, Padhy, Lakshminarayanan: A Simple Fix to Mahalanobis "
        "Distance for Improving Near-OOD Detection, 2021"
    )

    def __init__(self, taps: tuple[str, ...] = (), dims: int = 0, pool: int = 1) -> None:
        self.taps = taps
        self.dims = dims
        self.pool = pool

    def least_bytes(self, recording: Recording) -> int:
        width, kept = recording.width(self.taps) // self.pool, self._kept(recording)
        of_weights = pooling.weight_bytes(recording, self.taps, self.pool) * width * kept
        return of_weights + 4 * kept * recording.n_classes

    def _kept(self, recording: Recording) -> int:
        """Dimensions that are left."""
        present = len(np.unique(np.asarray(recording.labels)))
        most = max(1, min(present - 1, recording.width(self.taps) // self.pool))
        return min(self.dims or most, most)

    def smaller(self, recording: Recording) -> MonitorEstimator | None:
        return _smaller(self, recording, self._kept(recording), FEW_DISCRIMINANTS)

    @property
    def stored_as(self) -> str:
        return _form(self.dims, "discriminants", self.pool)

    def _fit(self, recording: Recording) -> None:
        """Needs labels; a class with fewer than ``FEWEST_ROWS`` fit rows is as far as the
        farthest."""
        x = pooling.pooled_values(recording, self.taps, self.pool)
        labels = np.asarray(recording.labels)
        enough = with_spread(self.kind, x, labels)
        x, labels = x[enough], labels[enough]
        present = np.unique(labels)
        scaler = StandardScaler().fit(x)
        model = LinearDiscriminantAnalysis(solver="eigen", shrinkage="auto")
        y = model.fit(scaler.transform(x), labels).transform(scaler.transform(x))
        y = y[:, : self.dims or y.shape[1]]  # those that tell the classes best apart come first
        means = np.stack([y[labels == c].mean(axis=0) for c in present])
        within = y - means[np.searchsorted(present, labels)]
        # Units in which the classes have variance 1; all rows together have more.
        unit = np.maximum(within.std(axis=0), 1e-9)
        self.spread_ = np.maximum((y / unit).std(axis=0), 1e-6)
        projection = model.scalings_[:, : y.shape[1]].T / unit[:, None] / scaler.scale_
        self.projection_ = projection
        centred = (y / unit).mean(axis=0)
        self.shift_ = -(x.mean(axis=0) @ projection.T)
        own = means / unit - centred
        self.means_ = np.tile(own[np.square(own).sum(axis=1).argmax()], (recording.n_classes, 1))
        self.means_[present] = own

    def lower(self, builder: Builder, predicted: int) -> Score:
        x = pooling.pooled(builder, self.taps, self.pool)
        y = builder.node("affine", x, tables=[self.projection_.ravel(), self.shift_])
        every = builder.node("distances", y, tables=[self.means_.ravel()])
        own = builder.node("select", every, predicted)
        # A row of weights, where a diagonal matrix would be as many squared.
        squares = builder.node("mul", y, y)
        weights = [1 / np.square(self.spread_), np.zeros(1)]
        all_rows = builder.node("affine", squares, tables=weights)
        return Score(builder.node("sub", own, all_rows))

    def reason(self) -> str:
        return "features unlike the predicted class: relative distance {score}, above {threshold}"

    def details(self) -> dict[str, Any]:
        return {"features": int(self.projection_.shape[1]), "dimensions": len(self.spread_)}


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
        of_weights = pooling.weight_bytes(recording, self.taps, self.pool) * kept * width
        return of_weights + pooling.gather_bytes(recording, self.taps)

    def _kept(self, recording: Recording) -> int:
        """Dimensions that are left."""
        return min(self.dims, recording.width(self.taps) // self.pool, len(recording) - 1)

    def smaller(self, recording: Recording) -> MonitorEstimator | None:
        return _smaller(self, recording, self._kept(recording), FEW_DIRECTIONS)

    @property
    def stored_as(self) -> str:
        return _form(self.dims, "directions", self.pool)

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


def _smaller(
    monitor: RelativeMahalanobisMonitor | DensityMonitor, recording: Recording, kept: int, few: int
) -> MonitorEstimator | None:
    """With half of the dimensions that are ``kept`` down to a ``few``, then with pooled features,
    then with fewer dimensions still, but not fewer than ``FEWEST``."""
    width = recording.width(monitor.taps)
    pool = pooling.next_pool(width, monitor.pool)
    narrow = pool is None or width // pool < pooling.NARROW
    if kept > few or (kept > FEWEST and narrow):
        return type(monitor)(monitor.taps, max(kept // 2, FEWEST), monitor.pool)
    return None if pool is None else type(monitor)(monitor.taps, monitor.dims, pool)


def _form(dims: int, what: str, pool: int) -> str:
    pools = f", of means of {pool} features each" if pool > 1 else ""
    return f"{dims} {what}{pools}" if dims else f"all {what}{pools}"


def early_features(model: Model) -> tuple[str, ...]:
    """Rule or name of what an early-layer monitor reads."""
    if "middle" in tap_rules.suggest(model.graph):
        return ("middle",)
    entry = tap_rules.narrow_input(model.graph)
    return ("penultimate",) if entry is None else (entry.name,)
