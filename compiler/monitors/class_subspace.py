"""How well a probabilistic principal component analysis of the answered class explains a row: one
analysis a class (Wold: "Pattern recognition by means of disjoint principal components models",
Pattern Recognition 8, 1976), each as of Tipping and Bishop ("Probabilistic Principal Component
Analysis", Journal of the Royal Statistical Society B 61, 1999).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self

import numpy as np
import numpy.typing as npt

from edgemon.compiler.data.splits import cut
from edgemon.compiler.errors import CompileError
from edgemon.compiler.models.model import Model
from edgemon.compiler.models.positions import Image
from edgemon.compiler.monitors.estimator import Analysis, MonitorEstimator, Score
from edgemon.compiler.monitors.shared.cells import cells, cells_values, cells_width, image_in_cells
from edgemon.compiler.monitors.shared.class_scores import CODED_BYTES, MOST, ClassScores
from edgemon.compiler.monitors.shared.vectors import plus
from edgemon.compiler.program.ir import Builder
from edgemon.compiler.recording.recording import BLOCK_ELEMENTS, Recording

Floats = npt.NDArray[np.float64]

FLATTEST = 1e-3  # least variance of a direction, as a share of the largest or the features' mean
STILL = 1e-6  # of roots of shares: they vary so much by rounding alone
ABOVE = 1 + 1e-6  # of the least feature, where it is negative: what is left has a logarithm
FEWEST = 3  # directions of a class
LEAST = 2.0**-126  # that has a logarithm on the device; an image without content is even
NODE_BYTES = 704  # of more nodes than signals have otherwise
SAMPLE = 5000  # fit rows, at most, on which it is looked whether classes are told apart


@dataclass(frozen=True, eq=False)
class _Analyses:
    """One a class, of features (width,)."""

    centres: Floats  # (classes, width)
    directions: Floats  # (classes, kept, width): of its own variance, see ``of``
    rest: Floats  # (classes,): the variance of each other direction
    volume: Floats  # (classes,): logarithm of the determinant

    @classmethod
    def of(
        cls, x: Floats, rows: Sequence[npt.NDArray[np.intp]], centres: Floats, dims: int
    ) -> Self:
        """Of those rows of x (n, width) that each class has, about its centre. No variance is less
        than a share of the largest, or of the mean variance of these features: rows of a class may
        be equal, and what is left then is what a centre's rounding leaves."""
        width = x.shape[1]

        def squares(c: int) -> Floats:  # made twice: those of all classes may take gigabytes
            own = x[rows[c]] - centres[c]
            return np.asarray(own.T @ own)

        within = np.zeros((width, width))
        for c in range(len(rows)):
            within += squares(c)
        within /= sum(map(len, rows))
        usual = float(x.var(axis=0).mean())
        kept = min(dims, width - 1)
        directions = np.empty((len(rows), kept, width))
        rest, volume = np.empty(len(rows)), np.empty(len(rows))
        for c, own in enumerate(rows):
            covariance = (squares(c) + width * within) / (len(own) + width)
            found, vectors = (a[..., ::-1] for a in np.linalg.eigh(covariance))
            variance = np.maximum(found, max(found[0], usual) * FLATTEST)
            rest[c] = variance[kept:].mean()
            # What a direction of its own takes back of the squared distance, see ``subspace``.
            back = np.sqrt(np.maximum(1 - rest[c] / variance[:kept], 0))
            directions[c] = vectors[:, :kept].T * back[:, None]
            volume[c] = np.log(variance[:kept]).sum() + (width - kept) * np.log(rest[c])
        return cls(centres, directions, rest, volume)

    def likeliest(self, x: Floats) -> npt.NDArray[np.intp]:
        """(n,): the class whose Gaussian gives each row (n, width) the highest density."""
        found = np.empty(len(x), np.intp)
        step = max(1, BLOCK_ELEMENTS // (x.shape[1] + len(self.rest)))
        for start in range(0, len(x), step):
            block = x[start : start + step]
            density = np.empty((len(block), len(self.rest)))
            for c, (centre, own) in enumerate(zip(self.centres, self.directions, strict=True)):
                off = block - centre
                far = np.square(off).sum(axis=1) - np.square(off @ own.T).sum(axis=1)
                density[:, c] = far / self.rest[c] + self.volume[c]
            found[start : start + step] = density.argmin(axis=1)
        return found


class ClassSubspaceMonitor(MonitorEstimator):
    """Twice the negative log-likelihood, but for a constant of the class, of the answered class's
    Gaussian with ``dims`` directions of their own variance and one variance for all others.

    It reads the means of cells of the input's pixels; where the input is no image, or cannot be
    read, what is in front of the last layer. Features become the square roots of their shares of
    the whole, above the least one where that is negative: a vector of length 1, so that brightness
    does not count, and bright cells less.
    """

    kind: ClassVar[str] = "class_subspace"
    learns_errors: ClassVar[bool] = False
    default_taps: ClassVar[tuple[str, ...]] = ("penultimate",)
    from_model: ClassVar[tuple[str, ...]] = ("taps", "image")
    limits: ClassVar[dict[str, tuple[float, float]]] = {"dims": (1, 1024)}
    what: ClassVar[str] = "outside the directions of the answered class"
    source: ClassVar[str] = (
        "Wold: Pattern recognition by means of disjoint principal components models, Pattern "
        "Recognition 8, 1976"
    )

    def __init__(
        self, taps: tuple[str, ...] = (), image: tuple[Image, ...] = (), dims: int = 10
    ) -> None:
        self.taps = taps
        self.image = image  # the model's input, if it is one
        self.dims = dims

    def analyse(self, model: Model) -> Analysis:
        image = image_in_cells(model)
        if image is None:
            return Analysis(self.default_taps)
        return Analysis(image[:1], {"image": (image,)})

    def least_bytes(self, recording: Recording) -> int:
        width = self._width(recording)
        vectors = 1 + min(self.dims, width - 1)
        return recording.n_classes * (vectors * (width * CODED_BYTES + 4) + 8) + NODE_BYTES

    def smaller(self, recording: Recording) -> MonitorEstimator | None:
        """With three quarters of the directions, down to a few."""
        kept = min(self.dims, self._width(recording) - 1)
        if kept <= FEWEST:
            return None
        return type(self)(self.taps, self.image, max(kept * 3 // 4, FEWEST))

    @property
    def stored_as(self) -> str:
        return f"{self.dims} directions a class"

    def _fit(self, recording: Recording) -> None:
        """Needs labels; classes are of correctly classified rows. The fewer of them a class has,
        the more its directions are those of all, each about its own centre; one without any has
        the centre of all, too. Raises CompileError where no class has two right rows, so that
        nothing says how a class varies."""
        raw = self._read(recording)
        self.lift_ = LEAST - ABOVE * min(float(raw.min()), 0.0)
        x = _roots(raw + self.lift_)
        if len(x) < 2 or np.ptp(x, axis=0).max() < STILL:
            raise CompileError("class_subspace: the features never change on the fit rows")
        classes = np.where(recording.correct, np.asarray(recording.labels), -1)
        rows = [np.flatnonzero(classes == c) for c in range(recording.n_classes)]
        if not _any_pair(rows):
            raise CompileError(
                "class_subspace: no class has two fit rows that the model answers rightly (of all, "
                f"{sum(map(len, rows)):,} are right), so that nothing says how a class varies; "
                "give more rows (--fit)"
            )
        centres = _centres(x, rows)
        self.unit_ = float(np.abs(centres).max() / MOST)
        self.codes_ = np.rint(centres / self.unit_).astype(np.int8)
        coarse = self.codes_.astype(np.float64) * self.unit_
        found = _Analyses.of(x, rows, coarse, self.dims)
        self.rest_ = found.rest
        weight = found.directions.reshape(-1, x.shape[1])
        self.scores_ = ClassScores.of(weight, np.zeros(len(weight)), x, whole=False)
        coded = self.scores_.weight.reshape(found.directions.shape)
        self.shift_ = -np.einsum("ckw,cw->ck", coded, found.centres)
        self.told_apart_ = self._told_apart(x, classes, recording)

    def _told_apart(
        self, x: Floats, classes: npt.NDArray[np.int64], recording: Recording
    ) -> float | None:
        """Of a half of the rows, whole groups where there are groups, the share whose class those
        analyses name that were made of the other half; ``classes`` (n,) are -1 of wrong rows. None
        where a half is too small to be asked. Right rows of each class are in both halves, unless
        it has but one, or one group: rows of a class that only this half has are not named."""
        learned, asked = cut(classes, (0.5, 0.5), np.random.default_rng(0), recording.groups)
        rows = [learned[classes[learned] == c] for c in range(recording.n_classes)]
        if not (_any_pair(rows) and len(asked)):
            return None
        asked = asked[:: -(-len(asked) // SAMPLE)]  # rows may be in the order of their classes
        named = _Analyses.of(x, rows, _centres(x, rows), self.dims).likeliest(x[asked])
        return float((named == np.asarray(recording.labels)[asked]).mean())

    def lower(self, builder: Builder, predicted: int) -> Score:
        classes, kept = self.shift_.shape
        x = self._lowered(builder)
        tables: list[npt.NDArray[Any]] = [
            np.array([1, classes], np.uint32), self.codes_.ravel(), np.array([self.unit_]),
            np.zeros(classes),
        ]  # fmt: skip
        near = builder.node("select", builder.node("kernels", x, tables=tables), predicted)
        scores = self.scores_
        if scores.coded is not None:  # less half the square of x, which is 1 but for the factor
            scores = replace(scores, bias=self.shift_.ravel() + scores.coded.factor**2 / 2)
        along = builder.node("select", scores.lower(builder, x), predicted)
        back = builder.node("distances", along, tables=[np.zeros(kept)])
        left = builder.node("add", back, builder.node("scale", near, tables=[np.array([2.0])]))
        scaled = builder.node("affine", left, tables=[-1 / self.rest_, np.zeros(classes)])
        return Score(builder.node("select", scaled, predicted))

    def reason(self) -> str:
        return "unlike the rows of the answered class: {score} nats twice, above {threshold}"

    def details(self) -> dict[str, Any]:
        return {
            "features": int(self.codes_.shape[1]),
            "dimensions": int(self.shift_.shape[1]),
            "told_apart": self.told_apart_,
        }

    def _width(self, recording: Recording) -> int:
        return cells_width(recording, self.image[0]) if self.image else recording.width(self.taps)

    def _read(self, recording: Recording) -> Floats:
        if self.image:
            return cells_values(recording, self.image[0])
        return recording.features(self.taps[0])

    def _lowered(self, builder: Builder) -> int:
        """Value id of the square roots."""
        raw = cells(builder, self.image[0]) if self.image else builder.features(self.taps[0])
        logarithms = builder.node("log", plus(builder, raw, self.lift_, whole=True))
        whole = builder.node("logsumexp", logarithms, tables=[np.array([1], np.uint32)])
        shares = builder.node("sub", logarithms, whole)
        return builder.node("exp", builder.node("scale", shares, tables=[np.array([0.5])]))


def _any_pair(rows: Sequence[npt.NDArray[np.intp]]) -> bool:
    """Has a class two of these rows?"""
    return max(map(len, rows)) >= 2


def _centres(x: Floats, rows: Sequence[npt.NDArray[np.intp]]) -> Floats:
    """(classes, width): the mean of each class's rows; of all where it has none."""
    return np.stack([x[r].mean(axis=0) if len(r) else x.mean(axis=0) for r in rows])


def _roots(x: Floats) -> Floats:
    """(n, width): the square roots of each feature's share; same as ``_lowered``."""
    x = np.maximum(x, LEAST)
    return np.asarray(np.sqrt(x / x.sum(axis=1, keepdims=True)))
