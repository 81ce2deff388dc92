"""Precondition thresholds: how many demands of the model's weights does a row violate?

Ahmed, Gao, Rajan: "Inferring Data Preconditions from Deep Learning Models for Trustworthy
Prediction in Deployment", ICSE 2024 (DeepInfer), in its deployable form: which features are
important is frozen from the fit rows. Its signal for the model's own errors is about nil.
"""

from __future__ import annotations

from typing import Any, ClassVar, Self

import numpy as np
import numpy.typing as npt

from edgemon.compiler.errors import CompileError
from edgemon.compiler.forest import Forest, Row
from edgemon.compiler.ir import Builder
from edgemon.compiler.methods.deepinfer import COMPARATORS, DeepInfer, Dense, precondition
from edgemon.compiler.models.base import Model
from edgemon.compiler.models.dense import DenseLayer, dense_layers
from edgemon.compiler.monitors.base import MonitorEstimator, Score
from edgemon.compiler.recording import Recording

Reals = npt.NDArray[np.float64]

VERDICT = 1 << 14  # a verdict's step in the score; the rest ranks rows with equal verdicts
LARGEST_TABLE = 65536


class DeepInferMonitor(MonitorEstimator):
    """Reads the input of the first dense layer. Every feature is one comparison; the numbers of
    violated important and unimportant features decide through a table.

    ``layers`` are the dense layers from there to the output; ``analyse`` finds them.
    """

    kind: ClassVar[str] = "deepinfer"
    default_taps: ClassVar[tuple[str, ...]] = ()
    reads_layers: ClassVar[bool] = False
    what: ClassVar[str] = "preconditions of the dense layers violated"
    source: ClassVar[str] = (
        "Ahmed, Gao, Rajan: Inferring Data Preconditions from Deep Learning Models for Trustworthy "
        "Prediction in Deployment. ICSE 2024"
    )

    def __init__(
        self,
        taps: tuple[str, ...] = (),
        layers: tuple[Dense, ...] = (),
        comparator: str = ">=",
    ) -> None:
        self.taps = taps
        self.layers = layers
        self.comparator = comparator

    def check_settings(self) -> None:
        if self.comparator not in COMPARATORS:
            raise CompileError(
                f"--monitor deepinfer: comparator={self.comparator!r} is unknown; "
                f"use {', '.join(COMPARATORS)}"
            )

    def analyse(self, model: Model) -> tuple[str, ...]:
        """The head's dense layers; the tap is the input of the first."""
        head = _head(dense_layers(model))
        if not head:
            raise CompileError("deepinfer: the model has no dense layer to analyse")
        self.layers = tuple((v.kernel, v.bias, v.activation) for v in head)
        return (head[0].input_tensor.name,)

    def fit(self, recording: Recording) -> Self:
        """Solves the preconditions and counts how the fit rows violate them; needs no labels."""
        self.check_taps()
        self.precondition_ = precondition(self.layers)
        (name,) = self.taps
        x = recording.values(name)
        if x.shape[1] != self.precondition_.values.size:
            raise CompileError(
                f"deepinfer: the tap has {x.shape[1]} elements, the first dense layer "
                f"{self.precondition_.values.size} inputs; leave the tap to the analysis"
            )
        self.rule_ = DeepInfer(self.precondition_.values, self.comparator).fit(x)
        return self

    def lower(self, builder: Builder, predicted: int) -> Score:  # noqa: ARG002 - the contract
        important = self.rule_.important_
        most, others = int(important.sum()), int((~important).sum())
        if (most + 1) * (others + 1) > LARGEST_TABLE:
            raise CompileError(
                f"deepinfer: {important.size} features are too many for its decision table"
            )
        # One sum holds both counts: violated important features + (most + 1) * the others.
        unit = np.where(important, 1.0, most + 1.0)
        forest = _stumps(self.precondition_.values, self.comparator, unit)
        count = builder.node("trees", builder.tap(self.taps[0]), tables=forest.pack("float64"))
        m, less = np.meshgrid(np.arange(most + 1), np.arange(others + 1))
        entries = self._table(m.ravel(), less.ravel(), important.size)
        score = builder.node("lut", count, tables=[entries, np.zeros(1, np.int32)])
        return Score(
            score,
            alarm_above=3 * VERDICT // 2,
            uncertain_above=VERDICT // 2,
            display_scale=1 / VERDICT,
        )

    def _table(
        self, m: npt.NDArray[Any], less: npt.NDArray[Any], features: int
    ) -> npt.NDArray[np.int32]:
        """The score of each pair of counts: the verdict, and within it how clear it is."""
        threshold = self.rule_.threshold_
        verdict = np.where((less > threshold) & (m < threshold), 2, 0)
        verdict = np.where((less == m) & (m != 0), 1, verdict)
        clear = np.minimum(less - threshold, threshold - m) / features
        return (verdict * VERDICT + np.trunc(clear * (VERDICT // 2 - 1))).astype(np.int32)

    def reason(self) -> str:
        return "violates preconditions that the weights imply: score {score} of 2"

    def details(self) -> dict[str, Any]:
        bounds = self.precondition_.values
        return {
            "comparator": self.comparator,
            "preconditions": [float(v) if np.isfinite(v) else None for v in bounds],
            "important": np.flatnonzero(self.rule_.important_).tolist(),
            "threshold_of_violations": self.rule_.threshold_,
            "skipped_layers": list(self.precondition_.skipped),
            "softmax_read_as_linear": self.precondition_.as_linear,
        }


def _head(layers: tuple[DenseLayer, ...]) -> tuple[DenseLayer, ...]:
    """The last layers that follow each other directly."""
    start = len(layers) - 1
    while start > 0 and layers[start - 1].kernel.shape[1] == layers[start].kernel.shape[0]:
        start -= 1
    return layers[max(start, 0) :]


def _stumps(bounds: Reals, comparator: str, unit: Reals) -> Forest:
    """One comparison a feature, worth ``unit`` where the feature is violated."""
    rows: list[Row] = []
    roots, depths = [], []
    for f, bound in enumerate(bounds.tolist()):
        at, worth = len(rows), float(unit[f])
        roots.append(at)
        depths.append(int(np.isfinite(bound)))
        if not np.isfinite(bound):  # no input decides it
            satisfied = bool(COMPARATORS[comparator](0.0, bound))
            rows.append((0, np.inf, at, 0.0 if satisfied else worth))
            continue
        # x >= w is violated at most just below w, x > w at most at w; the others beyond.
        edge = np.nextafter(bound, -np.inf) if comparator in (">=", "<") else bound
        below = worth if comparator in (">=", ">") else 0.0
        rows.append((f, float(edge), at + 1, 0.0))
        rows.append((0, np.inf, at + 1, below))
        rows.append((0, np.inf, at + 2, worth - below))
    return Forest.from_rows(rows, roots, depths)
