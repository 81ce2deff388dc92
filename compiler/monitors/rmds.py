"""Relative Mahalanobis distance, in the space of a linear discriminant analysis (Ren, Fort, Liu,
Guha Roy, Padhy, Lakshminarayanan: "A Simple Fix to Mahalanobis Distance for Improving Near-OOD
Detection", 2021).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.preprocessing import StandardScaler

from edgemon.compiler.models import tap_rules
from edgemon.compiler.models.model import Model
from edgemon.compiler.monitors.estimator import Analysis, MonitorEstimator, Needs, Score
from edgemon.compiler.monitors.second_opinion import with_spread
from edgemon.compiler.monitors.shared import pooling
from edgemon.compiler.monitors.shared.vectors import Block, blocks_of, values_of
from edgemon.compiler.program.ir import Builder, Tap
from edgemon.compiler.recording.recording import Recording

Floats = npt.NDArray[np.float64]

FEW = 16  # discriminants, before features are given up rather than these
FEWEST = 4  # discriminants
LEAST_BEYOND = 1e-9  # variance of all rows beyond that of the classes, which is 1


class RelativeMahalanobisMonitor(MonitorEstimator):
    """Distance from the predicted class minus distance from all rows, of the features in front of
    the last layer and of the deviations of the last feature map (and the means of its channels,
    unless these are the features). ``dims``: of the discriminants that are kept (0: all)."""

    kind: ClassVar[str] = "rmds"
    learns_errors: ClassVar[bool] = False
    default_taps: ClassVar[tuple[str, ...]] = ("penultimate", "last_map")
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

    def analyse(self, model: Model) -> Analysis:
        """The last map where there is one."""
        found = tap_rules.suggest(model.graph)
        return Analysis(tuple(r for r in self.default_taps if r == "penultimate" or r in found))

    def least_bytes(self, recording: Recording) -> int:
        kept = self._kept(recording) + self._are_whole(recording)
        if self.pool > 1:
            width = recording.width(self.taps) // self.pool
            of_row = width * pooling.weight_bytes(recording, self.taps, self.pool)
        else:
            of_row = sum(b.width * b.weight_bytes for b in self._blocks(recording.taps))
        return of_row * kept + 4 * kept * recording.n_classes

    def _blocks(self, known: Sequence[Tap]) -> tuple[Block, ...]:
        taps = {tap.name: tap for tap in known}
        return blocks_of([taps[name] for name in self.taps])

    def _are_whole(self, recording: Recording) -> bool:
        """Are all features whole numbers?"""
        if self.pool > 1:
            return pooling.are_whole(recording, self.taps, self.pool)
        return all(block.whole for block in self._blocks(recording.taps))

    def _kept(self, recording: Recording) -> int:
        """Dimensions that are left."""
        present = len(np.unique(np.asarray(recording.labels)))
        most = max(1, min(present - 1, recording.width(self.taps) // self.pool))
        return min(self.dims or most, most)

    def smaller(self, recording: Recording) -> MonitorEstimator | None:
        """With half as many discriminants down to a few, then without feature maps, then of pooled
        features, at last with fewer discriminants still."""
        width, kept = recording.width(self.taps), self._kept(recording)
        vectors = tuple(t for t in self.taps if not recording.tap(t).channels)
        if kept > FEW:
            return type(self)(self.taps, kept // 2, self.pool)
        if vectors and len(vectors) < len(self.taps):
            return type(self)(vectors, self.dims, self.pool)
        pool = pooling.next_pool(
            width, self.pool, lambda p: pooling.weight_bytes(recording, self.taps, p)
        )
        if kept > FEWEST and (pool is None or width // pool < pooling.NARROW):
            return type(self)(self.taps, max(kept // 2, FEWEST), self.pool)
        return None if pool is None else type(self)(self.taps, self.dims, pool)

    @property
    def stored_as(self) -> str:
        layers = f"of {len(self.taps)} layers" if len(self.taps) > 1 else "of 1 layer"
        return f"{self.dims or 'all'} discriminants {layers}{pooling.said(self.pool)}"

    def _fit(self, recording: Recording) -> None:
        """Needs labels; a class with fewer than ``FEWEST_ROWS`` fit rows is as far as the
        farthest."""
        self.blocks_ = self._blocks(recording.taps)
        self.whole_ = self._are_whole(recording)
        x = (
            values_of(recording, self.blocks_) if self.pool == 1
            else pooling.pooled_values(recording, self.taps, self.pool)
        )  # fmt: skip
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
        if self.whole_:
            return self._lower_as_one(builder, predicted)
        y = self._projected(builder, self.projection_, self.shift_)
        every = builder.node("distances", y, tables=[self.means_.ravel()])
        own = builder.node("select", every, predicted)
        # A row of weights, where a diagonal matrix would be as many squared.
        squares = builder.node("mul", y, y)
        weights = [1 / np.square(self.spread_), np.zeros(1)]
        all_rows = builder.node("affine", squares, tables=weights)
        return Score(builder.node("sub", own, all_rows))

    def _lower_as_one(self, builder: Builder, predicted: int) -> Score:
        """The difference of both distances is a distance too, but for a number of each class: with
        ``s`` the spread of all rows, ``(y - m)^2 - (y / s)^2`` is ``r (y - m / r)^2`` less
        ``m^2 / (s^2 - 1)``, where ``r`` is ``1 - 1 / s^2``. One more coordinate, the same for all
        rows, holds these numbers: sooner done, for a row of short weights more."""
        beyond = np.maximum(np.square(self.spread_) - 1, LEAST_BEYOND)
        root = np.sqrt(beyond / (1 + beyond))
        less = (np.square(self.means_) / beyond).sum(axis=1)
        centres = np.column_stack([self.means_ / root, np.sqrt(less.max() - less)])
        nothing = np.zeros(self.projection_.shape[1])
        projection = np.vstack([self.projection_ * root[:, None], nothing])
        y = self._projected(builder, projection, np.append(self.shift_ * root, 0.0))
        every = builder.node("distances", y, tables=[centres.ravel()])
        own = builder.node("select", every, predicted)
        shift = [np.ones(1), -np.array([less.max()])]
        return Score(builder.node("affine", own, tables=shift))

    def _projected(self, builder: Builder, projection: Floats, shift: Floats) -> int:
        """Value id of the sums. Each block has weights of its own: those of whole numbers stay
        short."""
        if self.pool > 1:
            x = pooling.pooled(builder, self.taps, self.pool)
            return builder.node("affine", x, tables=[projection.ravel(), shift])
        ends = np.cumsum([b.tap.width for b in self.blocks_])[:-1]
        first, *others = (
            builder.node("affine", b.lower(builder), tables=[weight.ravel(), bias])
            for b, weight, bias in zip(
                self.blocks_, np.split(projection, ends, axis=1),
                [shift, *[np.zeros_like(shift)] * len(ends)], strict=True,
            )
        )  # fmt: skip
        for other in others:
            first = builder.node("add", first, other)
        return first

    def reason(self) -> str:
        return "features unlike the predicted class: relative distance {score}, above {threshold}"

    def details(self) -> dict[str, Any]:
        return {"features": int(self.projection_.shape[1]), "dimensions": len(self.spread_)}
