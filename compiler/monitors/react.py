"""ReAct: rectified activations.

Sun, Guo, Li: "ReAct: Out-of-distribution Detection With Rectified Activations", NeurIPS 2021:
unknown inputs excite a few units far more than any known one does. The features in front of the
last layer are clipped at a high percentile of what known inputs cause, and the score is that of
the logits that the clipped features give.
"""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from edgemon.compiler.errors import CompileError
from edgemon.compiler.monitors.estimator import MonitorEstimator, Score
from edgemon.compiler.monitors.shared.vectors import log_odds_against, logits_values, negated
from edgemon.compiler.program.ir import Builder
from edgemon.compiler.recording.recording import Recording


class RectifiedMonitor(MonitorEstimator):
    """Reads the features in front of the last layer; in fitting also the logits, for the last
    layer's weights are found by least squares from the features to the logits.

    ``percentile``: of the positive activations of the fit rows, at which features are clipped
    (100: not at all). ``score``: the ``energy`` of the logits, or by ``msp`` the log-odds that the
    softmax gives all other classes against the predicted one.
    """

    learns_errors: ClassVar[bool] = False
    kind: ClassVar[str] = "react"
    default_taps: ClassVar[tuple[str, ...]] = ("penultimate", "logits")
    least_taps: ClassVar[int] = 2
    most_taps: ClassVar[int | None] = 2
    reads_layers: ClassVar[bool] = False
    limits: ClassVar[dict[str, tuple[float, float]]] = {"percentile": (1, 100)}
    choices: ClassVar[dict[str, tuple[str, ...]]] = {"score": ("energy", "msp")}
    what: ClassVar[str] = "weak evidence once strong activations are clipped"
    source: ClassVar[str] = (
        "Sun, Guo, Li: ReAct: Out-of-distribution Detection With Rectified Activations, "
        "NeurIPS 2021"
    )

    def __init__(
        self, taps: tuple[str, ...] = (), percentile: float = 90.0, score: str = "energy"
    ) -> None:
        self.taps = taps
        self.percentile = percentile
        self.score = score

    def _fit(self, recording: Recording) -> None:
        """Needs no labels."""
        features, logits = self.taps
        x, z = recording.features(features), logits_values(recording, logits)
        positive = x[x > 0]
        if not positive.size:
            raise CompileError(f"react: {features!r} is never positive; read another layer")
        # A value that occurred, so that a quantised layer is clipped at one of its own codes.
        self.upper_ = float(np.percentile(positive, self.percentile, method="lower"))
        self.clipped_ = float((x > self.upper_).mean())
        mean = x.mean(axis=0)
        weight, *_ = np.linalg.lstsq(x - mean, z - z.mean(axis=0), rcond=None)
        self.weight_ = weight.T
        self.bias_ = z.mean(axis=0) - self.weight_ @ mean
        residual = z - x @ weight - self.bias_
        self.explained_ = 1 - float(residual.var() / z.var()) if z.var() else 1.0

    def lower(self, builder: Builder, predicted: int) -> Score:
        x = builder.features(self.taps[0])
        rectified = builder.node("clip", x, tables=[np.array([self.upper_])])
        z = builder.node("affine", rectified, tables=[self.weight_.ravel(), self.bias_])
        if self.score == "msp":
            return Score(log_odds_against(builder, z, predicted))
        whole = builder.node("logsumexp", z, tables=[np.array([1], np.uint32)])
        return Score(negated(builder, whole))

    def reason(self) -> str:
        what = "energy" if self.score == "energy" else "log-odds against it"
        return f"weak evidence without strong activations: {what} {{score}}, above {{threshold}}"

    def details(self) -> dict[str, Any]:
        return {
            "clipped_above": self.upper_,
            "share_clipped": self.clipped_,
            "logits_explained": self.explained_,
        }
