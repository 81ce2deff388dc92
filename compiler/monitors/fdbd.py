"""Distance to the decision boundaries.

Liu, Qin: "Fast Decision Boundary based Out-of-Distribution Detector", ICML 2024 (fDBD): the mean
distance of the features to the boundaries between the predicted class and each other, relative to
the features' distance from their mean. Small is suspicious.
"""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from scipy.spatial.distance import cdist

from edgemon.compiler.monitors.estimator import MonitorEstimator, Score
from edgemon.compiler.monitors.shared.vectors import logits_of, logits_values, plus
from edgemon.compiler.program.ir import Builder
from edgemon.compiler.recording.recording import Recording

NEAREST = 2.0**-40  # in units of features: is added to every distance from the boundaries


class BoundaryMonitor(MonitorEstimator):
    """Reads the features in front of the last layer and the logits (in this order). The last
    layer's weights are found by least squares from the recorded features to the logits.

    The score is the logarithm of the inverse ratio.
    """

    learns_errors: ClassVar[bool] = False
    kind: ClassVar[str] = "fdbd"
    default_taps: ClassVar[tuple[str, ...]] = ("penultimate", "logits")
    least_taps: ClassVar[int] = 2
    most_taps: ClassVar[int | None] = 2
    reads_layers: ClassVar[bool] = False
    what: ClassVar[str] = "close to the decision boundaries"
    source: ClassVar[str] = (
        "Liu, Qin: Fast Decision Boundary based Out-of-Distribution Detector, ICML 2024"
    )

    def __init__(self, taps: tuple[str, ...] = ()) -> None:
        self.taps = taps

    def least_bytes(self, recording: Recording) -> int:
        return 2 * recording.n_classes**2 + 4 * recording.width(self.taps[:1])

    def _fit(self, recording: Recording) -> None:
        """Needs no labels."""
        features, logits = self.taps
        x, z = recording.features(features), logits_values(recording, logits)
        self.mean_ = x.mean(axis=0)
        weight = np.linalg.lstsq(x - self.mean_, z - z.mean(axis=0), rcond=None)[0]
        apart = cdist(weight.T, weight.T)
        typical = np.median(apart[apart > 0]) if (apart > 0).any() else 1.0
        inverse = 1.0 / np.maximum(apart, typical * 1e-3)
        np.fill_diagonal(inverse, 0.0)
        inverse /= max(1, len(inverse) - 1)
        # Row y holds sum over c of (z_y - z_c) / |w_y - w_c| as a linear function of z.
        self.boundaries_ = np.diag(inverse.sum(axis=1)) - inverse

    def lower(self, builder: Builder, predicted: int) -> Score:
        features, logits = self.taps
        z = logits_of(builder, logits, predicted)
        classes = len(self.boundaries_)
        every = builder.node("affine", z, tables=[self.boundaries_.ravel(), np.zeros(classes)])
        # Forests answer two classes alike: then the boundary is here, and not infinitely near.
        near = builder.node("log", plus(builder, builder.node("select", every, predicted), NEAREST))
        far = builder.node("distances", builder.features(features), tables=[self.mean_])
        half = np.array([0.5])
        size = builder.node("scale", builder.node("log", far), tables=[half])
        return Score(builder.node("sub", size, near))

    def reason(self) -> str:
        return "close to the decision boundaries for its size: {score}, above {threshold}"

    def details(self) -> dict[str, Any]:
        return {"classes": len(self.boundaries_), "features": len(self.mean_)}
