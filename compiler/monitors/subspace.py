"""How well a probabilistic principal component analysis of early features explains a row: far along
the directions in which fit rows vary, or outside of them (Tipping, Bishop: "Probabilistic Principal
Component Analysis", Journal of the Royal Statistical Society B 61, 1999).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from edgemon.compiler.errors import CompileError
from edgemon.compiler.models import tap_rules
from edgemon.compiler.models.model import Model
from edgemon.compiler.models.positions import Image, feature_maps
from edgemon.compiler.monitors.estimator import Analysis, MonitorEstimator, Score
from edgemon.compiler.monitors.shared.cells import cells, cells_values, cells_width, image_in_cells
from edgemon.compiler.program.ir import Builder
from edgemon.compiler.recording.recording import Recording

Floats = npt.NDArray[np.float64]

FLATTEST = 1e-4  # least variance of a direction, as a share of the largest
FEWEST = 4  # directions
FEW_MAPS = 2  # feature maps of a network whose middle one is its last
SHORTEST = 1e-38  # squared length that an image without content has
WEIGHT_BYTES = 4


class SubspaceMonitor(MonitorEstimator):
    """Twice the negative log-likelihood, but for a constant, of a Gaussian with ``dims`` directions
    of their own variance and one variance for all others.

    It reads the means of the channels of the first and the middle feature map, each map in units of
    its spread. Of a network without feature maps it reads the input: of an image the means of cells
    of its pixels, as a vector of length 1; or what is in front of the last layer where the input
    cannot be read.
    """

    kind: ClassVar[str] = "subspace"
    learns_errors: ClassVar[bool] = False
    default_taps: ClassVar[tuple[str, ...]] = ("middle",)
    most_taps: ClassVar[int | None] = None
    from_model: ClassVar[tuple[str, ...]] = ("taps", "image")
    limits: ClassVar[dict[str, tuple[float, float]]] = {"dims": (1, 1024)}
    what: ClassVar[str] = "early features outside the directions of the fit rows"
    source: ClassVar[str] = (
        "Tipping, Bishop: Probabilistic Principal Component Analysis, Journal of the Royal "
        "Statistical Society B 61, 1999"
    )

    def __init__(
        self, taps: tuple[str, ...] = (), image: tuple[Image, ...] = (), dims: int = 24
    ) -> None:
        self.taps = taps
        self.image = image  # the model's input, if it is one
        self.dims = dims

    def analyse(self, model: Model) -> Analysis:
        maps = feature_maps(model.graph)
        if maps:
            middle = tap_rules.suggest(model.graph)["middle"]
            names = tuple(dict.fromkeys(t.name for t in (maps[0], *middle)))
            return Analysis(names)
        entry = model.graph.tensors[model.graph.inputs[0]]
        if tap_rules.obstacle(model.graph, entry) is not None:
            return Analysis(("penultimate",))
        image = image_in_cells(model)
        return Analysis((entry.name,), {"image": () if image is None else (image,)})

    def least_bytes(self, recording: Recording) -> int:
        width = sum(self._width(recording, name) for name in self.taps)
        return WEIGHT_BYTES * width * (1 + min(self.dims, width - 1))

    def smaller(self, recording: Recording) -> MonitorEstimator | None:
        """With half as many directions, down to a few."""
        width = sum(self._width(recording, name) for name in self.taps)
        kept = min(self.dims, width - 1)
        if kept <= FEWEST:
            return None
        return type(self)(self.taps, self.image, max(kept // 2, FEWEST))

    @property
    def stored_as(self) -> str:
        return f"{self.dims} directions"

    def _fit(self, recording: Recording) -> None:
        """Needs no labels."""
        blocks = [self._values(recording, name) for name in self.taps]
        spread = [float(np.sqrt(b.var(axis=0).sum())) for b in blocks]
        if not all(spread) or len(recording) < 2:
            raise CompileError("subspace: the features of a tap never change on the fit rows")
        scale = np.concatenate(
            [np.full(b.shape[1], 1 / s) for b, s in zip(blocks, spread, strict=True)]
        )
        x = np.concatenate(blocks, axis=1)
        self.means_ = [b.mean(axis=0) for b in blocks]
        covariance = np.atleast_2d(np.cov(x * scale, rowvar=False))
        found, directions = (a[..., ::-1] for a in np.linalg.eigh(covariance))
        variance = np.maximum(found, found[0] * FLATTEST)
        kept = min(self.dims, len(variance) - 1)
        rest = float(variance[kept:].mean())
        self.explained_ = float(found[:kept].sum() / found.sum())
        # Of the squared distance over the variance of the rest, each direction of its own takes
        # back what is beyond its variance.
        back = np.sqrt(np.maximum(1 / rest - 1 / variance[:kept], 0))
        self.projection_ = directions[:, :kept].T * back[:, None] * scale
        self.shift_ = -self.projection_ @ x.mean(axis=0)
        self.weights_of_taps_ = [1 / (s * s * rest) for s in spread]

    def lower(self, builder: Builder, predicted: int) -> Score:  # noqa: ARG002 - the contract
        parts = [self._lowered(builder, name) for name in self.taps]
        ends = np.cumsum([len(m) for m in self.means_])[:-1]
        distance = _added(
            builder,
            [
                builder.node(
                    "scale", builder.node("distances", x, tables=[mean]), tables=[np.array([w])]
                )
                for x, mean, w in zip(parts, self.means_, self.weights_of_taps_, strict=True)
            ],
        )
        if not len(self.shift_):
            return Score(distance)
        shifts = [self.shift_, *[np.zeros_like(self.shift_)] * len(ends)]
        along = _added(
            builder,
            [
                builder.node("affine", x, tables=[weight.ravel(), shift])
                for x, weight, shift in zip(
                    parts, np.split(self.projection_, ends, axis=1), shifts, strict=True
                )
            ],
        )
        back = builder.node("distances", along, tables=[np.zeros(len(self.shift_))])
        return Score(builder.node("sub", distance, back))

    def reason(self) -> str:
        return "early features unlike the fit rows: {score} nats twice, above {threshold}"

    def details(self) -> dict[str, Any]:
        return {
            "features": int(self.projection_.shape[1]),
            "dimensions": len(self.shift_),
            "explained_variance": self.explained_,
        }

    def _image(self, name: str) -> Image | None:
        return next((image for image in self.image if image[0] == name), None)

    def _width(self, recording: Recording, name: str) -> int:
        image = self._image(name)
        if image is None:
            return recording.width([name])
        return cells_width(recording, image)

    def _values(self, recording: Recording, name: str) -> Floats:
        """(n, width): same as ``_lowered``."""
        image = self._image(name)
        if image is None:
            return recording.features(name)
        x = cells_values(recording, image)
        length = np.sqrt(np.maximum(np.square(x).sum(axis=1, keepdims=True), SHORTEST))
        return np.asarray(x / length)

    def _lowered(self, builder: Builder, name: str) -> int:
        image = self._image(name)
        if image is None:
            return builder.features(name)
        x = cells(builder, image)
        squares = builder.node("sum", builder.node("mul", x, x))
        half = builder.node("scale", builder.node("log", squares), tables=[np.array([0.5])])
        return builder.node("div", x, builder.node("exp", half))


def _added(builder: Builder, ids: Sequence[int]) -> int:
    first, *others = ids
    for other in others:
        first = builder.node("add", first, other)
    return first


def suits(model: Model) -> bool:
    """Does it see more than a density of the middle map? In a network of few feature maps the
    middle one is the last and nothing early is read, in one without any what is in front of the
    last layer."""
    maps = feature_maps(model.graph)
    return len(maps) <= FEW_MAPS if maps else image_in_cells(model) is not None
