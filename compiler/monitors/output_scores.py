"""Scores of the classifier's own output.

All read the logits, never the model's own int8 softmax: that saturates, and images that tie at its
top code cannot be ranked. With z the logits, p their softmax:

* softmax: maximum softmax probability, 1 - max p (Hendrycks & Gimpel, ICLR 2017);
* msp_t: the same at a temperature that is fitted (Guo, Pleiss, Sun, Weinberger, ICML 2017);
* entropy of p;
* energy: -T logsumexp(z / T) (Liu, Wang, Owens, Li, NeurIPS 2020);
* gen: generalised entropy, sum of (p (1 - p))^gamma (Liu, Lochman, Zach, CVPR 2023);
* doctor: (1 - sum p^2) / sum p^2 (Granese, Romanelli, Gorla, Palamidessi, Piantanida, NeurIPS
  2021), of which only the first term of 1 / sum p^2 - 1 is computed;
* odin_t: ODIN (Liang, Li, Srikant, ICLR 2018) without its gradient: at a large temperature its
  order is that of sum z - C max z.
"""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
from scipy.optimize import minimize_scalar
from scipy.special import log_softmax

from edgemon.compiler.errors import CompileError
from edgemon.compiler.monitors.estimator import MonitorEstimator, Score
from edgemon.compiler.monitors.shared.vectors import logits_of, logits_values, negated, softmax_odds
from edgemon.compiler.program.ir import Builder
from edgemon.compiler.recording.recording import Recording

TEMPERATURES = (0.05, 20.0)
BLOCK_ELEMENTS = 1 << 18  # of logits at a time


class OutputScore(MonitorEstimator):
    """A score of the logits that needs no training; the threshold is calibrated later."""

    learns_errors: ClassVar[bool] = False

    default_taps: ClassVar[tuple[str, ...]] = ("logits",)
    reads_layers: ClassVar[bool] = False

    def __init__(self, taps: tuple[str, ...] = ()) -> None:
        self.taps = taps

    def _fit(self, recording: Recording) -> None:
        """Nothing to learn but the number of classes."""
        self.n_classes_ = recording.n_classes

    def _below_top(self, builder: Builder, predicted: int) -> int:
        """Logits minus the largest of them: at most 0."""
        logits = logits_of(builder, self.taps[0], predicted)
        return builder.node("sub", logits, builder.node("max", logits))


class SoftmaxMonitor(OutputScore):
    """Alarms when the classifier itself is unsure. Shown as 1 - max p."""

    kind: ClassVar[str] = "softmax"
    what: ClassVar[str] = "the classifier's own softmax"
    source: ClassVar[str] = (
        "Hendrycks, Gimpel: A Baseline for Detecting Misclassified and Out-of-Distribution "
        "Examples, ICLR 2017"
    )
    temperature_ = 1.0

    def lower(self, builder: Builder, predicted: int) -> Score:
        odds = softmax_odds(builder, self.taps[0], predicted, self.temperature_)
        return Score(odds, display="odds")

    def reason(self) -> str:
        return "uncertain of its own answer: 1 - max p is {score}, above {threshold}"


class TemperatureMonitor(SoftmaxMonitor):
    """``softmax`` at the temperature with the least negative log-likelihood on the fit rows.
    Matters to the order only where there are more than two classes."""

    learns_errors: ClassVar[bool] = True
    kind: ClassVar[str] = "msp_t"
    what: ClassVar[str] = "the classifier's softmax at a fitted temperature"
    source: ClassVar[str] = (
        "Guo, Pleiss, Sun, Weinberger: On Calibration of Modern Neural Networks, ICML 2017"
    )

    def _fit(self, recording: Recording) -> None:
        """Needs labels."""
        super()._fit(recording)
        z = logits_values(recording, self.taps[0])
        labels = np.asarray(recording.labels)
        step = max(1, BLOCK_ELEMENTS // z.shape[1])  # rows: many classes of many rows are large
        blocks = [slice(start, start + step) for start in range(0, len(z), step)]

        def loss(log_t: float) -> float:
            each = [_log_likelihoods(z[b] / np.exp(log_t), labels[b]) for b in blocks]
            return float(-np.concatenate(each).mean())

        bounds = tuple(np.log(TEMPERATURES))
        self.temperature_ = float(np.exp(minimize_scalar(loss, bounds=bounds, method="bounded").x))

    def details(self) -> dict[str, Any]:
        return {"temperature": self.temperature_}


def _log_likelihoods(z: npt.NDArray[Any], labels: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Of the label of each row of logits (n, C), (n,)."""
    found: npt.NDArray[Any] = log_softmax(z, axis=1)[np.arange(len(z)), labels]
    return found


class EntropyMonitor(OutputScore):
    """Entropy of p, in nats."""

    kind: ClassVar[str] = "entropy"
    what: ClassVar[str] = "entropy of the classifier's softmax"
    source: ClassVar[str] = "entropy of the softmax; Hendrycks, Gimpel, ICLR 2017, and many others"

    def lower(self, builder: Builder, predicted: int) -> Score:
        # With d = z - max z: H = ln(sum e^d) - sum(d e^d) / sum e^d.
        d = self._below_top(builder, predicted)
        total = builder.node("sum", builder.node("exp", d))
        mean = builder.node("div", builder.node("sum", builder.node("xexp", d)), total)
        return Score(builder.node("sub", builder.node("log", total), mean))

    def reason(self) -> str:
        return "uncertain of its own answer: entropy is {score} nats, above {threshold}"


class EnergyMonitor(OutputScore):
    """Free energy of the logits; low logits alarm."""

    kind: ClassVar[str] = "energy"
    what: ClassVar[str] = "free energy of the logits"
    source: ClassVar[str] = (
        "Liu, Wang, Owens, Li: Energy-based Out-of-distribution Detection, NeurIPS 2020"
    )
    limits: ClassVar[dict[str, tuple[float, float]]] = {"temperature": TEMPERATURES}

    def __init__(self, taps: tuple[str, ...] = (), temperature: float = 1.0) -> None:
        super().__init__(taps)
        self.temperature = temperature

    def _fit(self, recording: Recording) -> None:
        """Raises CompileError for probabilities: whatever the logits were, theirs is 0."""
        super()._fit(recording)
        if recording.tap(self.taps[0]).probabilities and self.temperature == 1:
            raise CompileError(
                "energy: the model gives probabilities and no logits, and the energy of "
                "probabilities is always 0: choose another monitor, as msp_t"
            )

    def lower(self, builder: Builder, predicted: int) -> Score:
        z = logits_of(builder, self.taps[0], predicted)
        if self.temperature != 1:
            z = builder.node("scale", z, tables=[np.array([1 / self.temperature])])
        whole = builder.node("logsumexp", z, tables=[np.array([1], np.uint32)])
        if self.temperature != 1:
            whole = builder.node("scale", whole, tables=[np.array([self.temperature])])
        return Score(negated(builder, whole))

    def reason(self) -> str:
        return "weak evidence for any class: energy is {score}, above {threshold}"


class GenMonitor(OutputScore):
    """Generalised entropy; ``gamma`` below 1 weighs small probabilities more."""

    kind: ClassVar[str] = "gen"
    what: ClassVar[str] = "generalised entropy of the classifier's softmax"
    source: ClassVar[str] = (
        "Liu, Lochman, Zach: GEN, Pushing the Limits of Softmax-Based Out-of-Distribution "
        "Detection, CVPR 2023"
    )
    limits: ClassVar[dict[str, tuple[float, float]]] = {"gamma": (0.01, 2.0)}

    def __init__(self, taps: tuple[str, ...] = (), gamma: float = 0.1) -> None:
        super().__init__(taps)
        self.gamma = gamma

    def lower(self, builder: Builder, predicted: int) -> Score:
        e = builder.node("exp", self._below_top(builder, predicted))
        total = builder.node("sum", e)
        p = builder.node("div", e, total)
        rest = builder.node("sub", p, builder.node("div", total, total))  # p - 1
        # (p (1 - p))^gamma = exp(gamma / 2 * log(p^2 (1 - p)^2)): squares need no sign.
        product = builder.node("mul", p, rest)
        square = builder.node("log", builder.node("mul", product, product))
        power = builder.node("scale", square, tables=[np.array([self.gamma / 2])])
        return Score(builder.node("sum", builder.node("exp", power)))

    def reason(self) -> str:
        return "uncertain of its own answer: generalised entropy is {score}, above {threshold}"


class DoctorMonitor(OutputScore):
    """Odds that a class drawn from p differs from another one drawn so."""

    kind: ClassVar[str] = "doctor"
    what: ClassVar[str] = "chance that two draws from the softmax differ"
    source: ClassVar[str] = (
        "Granese, Romanelli, Gorla, Palamidessi, Piantanida: DOCTOR, NeurIPS 2021"
    )

    def lower(self, builder: Builder, predicted: int) -> Score:
        e = builder.node("exp", self._below_top(builder, predicted))
        total = builder.node("sum", e)
        squares = builder.node("sum", builder.node("mul", e, e))
        return Score(builder.node("div", builder.node("mul", total, total), squares))

    def reason(self) -> str:
        return "uncertain of its own answer: 1 / sum of p^2 is {score}, above {threshold}"


class OdinMonitor(OutputScore):
    """How far the other logits lie below the largest, in sum: exact integers on int8 logits."""

    kind: ClassVar[str] = "odin_t"
    what: ClassVar[str] = "logits that lie close together (ODIN without gradient)"
    source: ClassVar[str] = (
        "Liang, Li, Srikant: Enhancing the Reliability of Out-of-distribution Image Detection "
        "(ODIN), ICLR 2018, without its gradient"
    )

    def lower(self, builder: Builder, predicted: int) -> Score:
        return Score(builder.node("sum", self._below_top(builder, predicted)))

    def reason(self) -> str:
        return "logits lie close together: sum z - C max z is {score}, above {threshold}"


OUTPUT_SCORES: tuple[type[OutputScore], ...] = (
    SoftmaxMonitor, TemperatureMonitor, EntropyMonitor, EnergyMonitor, GenMonitor, DoctorMonitor,
    OdinMonitor,
)  # fmt: skip
