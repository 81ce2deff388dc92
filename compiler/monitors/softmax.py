"""Output scores: maximum softmax probability (MP) and entropy.

MP after Hendrycks & Gimpel (2017), 1 - max p. Computed from the logits, never from the model's
own int8 softmax: that saturates, and images that tie at its top code cannot be ranked.
"""

from __future__ import annotations

from typing import ClassVar, Self

import numpy as np

from edgemon.compiler.errors import CompileError
from edgemon.compiler.ir import Builder
from edgemon.compiler.models.decision import ONE_UNIT_ABOVE
from edgemon.compiler.monitors.base import MonitorEstimator, Score
from edgemon.compiler.recording import Recording

SCORES = ("probability", "entropy")


class SoftmaxMonitor(MonitorEstimator):
    """Alarms when the classifier itself is unsure.

    ``score="probability"`` ranks by the odds against the largest probability,
    ``(1 - max p) / max p``: the same order as 1 - max p, but with full resolution where max p is
    close to 1. It is shown as 1 - max p. ``score="entropy"`` is the entropy of p in nats.
    """

    kind: ClassVar[str] = "softmax"
    default_taps: ClassVar[tuple[str, ...]] = ("logits",)
    reads_layers: ClassVar[bool] = False
    what: ClassVar[str] = "the classifier's own softmax"
    source: ClassVar[str] = (
        "Hendrycks, Gimpel: A Baseline for Detecting Misclassified and Out-of-Distribution "
        "Examples in Neural Networks. ICLR 2017"
    )

    def __init__(self, taps: tuple[str, ...] = (), score: str = "probability") -> None:
        self.taps = taps
        self.score = score

    def check_settings(self) -> None:
        if self.score not in SCORES:
            raise CompileError(
                f"--monitor {self.kind}: score={self.score!r} is unknown; use {' or '.join(SCORES)}"
            )

    def fit(self, recording: Recording) -> Self:
        """Nothing to learn but the number of classes; the threshold is calibrated later."""
        self.check_taps()
        (name,) = self.taps
        self.n_classes_ = next(t.length for t in recording.taps if t.name == name)
        return self

    def lower(self, builder: Builder, predicted: int) -> Score:
        logits = self._logits(builder, predicted)
        d = builder.node("sub", logits, builder.node("max", logits))
        e = builder.node("exp", d)
        if self.score == "probability":
            others = builder.node("omit", e, builder.node("argmax", logits))
            return Score(builder.node("sum", others), display="odds")
        # With d = z - max z: H = ln(sum e^d) - sum(d e^d) / sum e^d.
        total = builder.node("sum", e)
        mean = builder.node("div", builder.node("sum", builder.node("xexp", d)), total)
        return Score(builder.node("sub", builder.node("log", total), mean))

    def _logits(self, builder: Builder, predicted: int) -> int:
        """One unit in front of its sigmoid is the logit of class 1 against a 0 for class 0. A
        model without a sigmoid decides at one half: its distance from there takes that place."""
        tap = builder.tap(self.taps[0])
        if builder.value(tap).length > 1:
            return tap
        (output,) = builder.nodes[predicted - len(builder.taps)].inputs
        bias = np.array([0.0, -ONE_UNIT_ABOVE if tap == output else 0.0])
        return builder.node("affine", tap, tables=[np.array([0.0, 1.0]), bias])

    def reason(self) -> str:
        if self.score == "probability":
            return "uncertain of its own answer: 1 - max p is {score}, above {threshold}"
        return "uncertain of its own answer: entropy is {score} nats, above {threshold}"


class EntropyMonitor(SoftmaxMonitor):
    """``softmax`` with the entropy as its score."""

    kind: ClassVar[str] = "entropy"
    what: ClassVar[str] = "entropy of the classifier's softmax"

    def __init__(self, taps: tuple[str, ...] = (), score: str = "entropy") -> None:
        super().__init__(taps, score)
