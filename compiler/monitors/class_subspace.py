"""How well a probabilistic principal component analysis of the answered class explains a row: one
analysis a class (Wold: "Pattern recognition by means of disjoint principal components models",
Pattern Recognition 8, 1976), each as of Tipping and Bishop ("Probabilistic Principal Component
Analysis", Journal of the Royal Statistical Society B 61, 1999).
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from edgemon.compiler.errors import CompileError
from edgemon.compiler.models.model import Model
from edgemon.compiler.models.positions import Image
from edgemon.compiler.monitors.estimator import Analysis, MonitorEstimator, Score
from edgemon.compiler.monitors.shared.cells import cells, cells_values, cells_width, image_in_cells
from edgemon.compiler.monitors.shared.class_scores import CODED_BYTES, MOST, ClassScores
from edgemon.compiler.program.ir import Builder
from edgemon.compiler.recording.recording import Recording

Floats = npt.NDArray[np.float64]

FLATTEST = 1e-3  # least variance of a direction, as a share of the largest
ABOVE = 1 + 1e-6  # of the least feature, where it is negative: what is left has a logarithm
FEWEST = 3  # directions of a class
LEAST = 2.0**-126  # that has a logarithm on the device; an image without content is even
NODE_BYTES = 704  # of more nodes than signals have otherwise
SAMPLE = 5000  # fit rows, at most, on which it is looked whether classes are told apart


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
        the centre of all, too."""
        raw = self._read(recording)
        self.lift_ = LEAST - ABOVE * min(float(raw.min()), 0.0)
        x = _roots(raw + self.lift_)
        if len(x) < 2 or not np.ptp(x, axis=0).any():
            raise CompileError("class_subspace: the features never change on the fit rows")
        labels = np.asarray(recording.labels)
        rows = [
            np.flatnonzero(recording.correct & (labels == c)) for c in range(recording.n_classes)
        ]
        centres = np.stack([x[r].mean(axis=0) if len(r) else x.mean(axis=0) for r in rows])
        self.unit_ = float(np.abs(centres).max() / MOST)
        self.codes_ = np.rint(centres / self.unit_).astype(np.int8)
        self.centres_ = self.codes_ * self.unit_
        self._find_directions(x, rows)
        some = slice(None, None, -(-len(x) // SAMPLE))  # rows may be in the order of their classes
        self.told_apart_ = float((self._likeliest(x[some]) == labels[some]).mean())

    def _find_directions(self, x: Floats, rows: list[npt.NDArray[np.intp]]) -> None:
        width = x.shape[1]
        own = [(x[r] - c).T @ (x[r] - c) for r, c in zip(rows, self.centres_, strict=True)]
        count = sum(map(len, rows))
        within = sum(own) / count if count else np.cov(x, rowvar=False)
        kept = min(self.dims, width - 1)
        directions, self.rest_, self.volume_ = [], np.empty(len(rows)), np.empty(len(rows))
        for c, (r, squares) in enumerate(zip(rows, own, strict=True)):
            covariance = (squares + width * within) / (len(r) + width)
            found, vectors = (a[..., ::-1] for a in np.linalg.eigh(covariance))
            variance = np.maximum(found, found[0] * FLATTEST)
            self.rest_[c] = variance[kept:].mean()
            # What a direction of its own takes back of the squared distance, see ``subspace``.
            back = np.sqrt(np.maximum(1 - self.rest_[c] / variance[:kept], 0))
            directions.append(vectors[:, :kept].T * back[:, None])
            self.volume_[c] = np.log(variance[:kept]).sum() + (width - kept) * np.log(self.rest_[c])
        weight = np.concatenate(directions)
        scores = ClassScores.of(weight, np.zeros(len(weight)), x, whole=False)
        found = scores.weight.reshape(len(rows), kept, width)
        self.shift_ = -np.einsum("ckw,cw->ck", found, self.centres_)
        self.scores_ = scores

    def _likeliest(self, x: Floats) -> npt.NDArray[np.intp]:
        """(n,): the class whose Gaussian gives each row the highest density."""
        classes, kept = self.shift_.shape
        along = (x @ self.scores_.weight.T).reshape(len(x), classes, kept) + self.shift_
        far = np.stack([np.square(x - c).sum(axis=1) for c in self.centres_], axis=1)
        distance = (far - np.square(along).sum(axis=2)) / self.rest_
        return np.asarray((distance + self.volume_).argmin(axis=1))

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
        # No square is below a negative number: a constant that is a float, so that whole numbers
        # become floats before it is taken from them.
        most = builder.node("max", raw)
        square = builder.node("mul", most, most)
        lift = builder.node("clip", square, tables=[np.array([-self.lift_])])
        logarithms = builder.node("log", builder.node("sub", raw, lift))
        whole = builder.node("logsumexp", logarithms, tables=[np.array([1], np.uint32)])
        shares = builder.node("sub", logarithms, whole)
        return builder.node("exp", builder.node("scale", shares, tables=[np.array([0.5])]))


def _roots(x: Floats) -> Floats:
    """(n, width): the square roots of each feature's share; same as ``_lowered``."""
    x = np.maximum(x, LEAST)
    return np.asarray(np.sqrt(x / x.sum(axis=1, keepdims=True)))
