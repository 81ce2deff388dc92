"""Precondition thresholds: how many demands of the model's weights does a row violate?

Ahmed, Gao, Rajan: "Inferring Data Preconditions from Deep Learning Models for Trustworthy
Prediction in Deployment", ICSE 2024 (DeepInfer), in its deployable form: which features are
important is frozen from the fit rows. Its signal for the model's own errors is about nil.
"""

from __future__ import annotations

import math
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from edgemon.compiler.errors import CompileError
from edgemon.compiler.methods.deepinfer import COMPARATORS, DeepInfer, Dense, precondition
from edgemon.compiler.models.dense import DenseLayer, dense_layers
from edgemon.compiler.models.model import Model
from edgemon.compiler.monitors.estimator import Analysis, MonitorEstimator, Score
from edgemon.compiler.program.forest import MAX_NODES, Forest, Row
from edgemon.compiler.program.ir import Builder
from edgemon.compiler.recording.recording import Recording

Reals = npt.NDArray[np.float64]

VERDICT = 1 << 17  # a verdict's step in the score; the rest ranks rows with equal verdicts
MOST_FEATURES = MAX_NODES // 3


class DeepInferMonitor(MonitorEstimator):
    """Reads the input of the first dense layer. Every feature is one comparison; the numbers of
    violated important and unimportant features decide. Rows with equal verdicts are ranked by how
    many whole features they are away from the conditions for "wrong".

    ``layers`` are the dense layers from there to the output; ``analyse`` finds them.
    """

    kind: ClassVar[str] = "deepinfer"
    learns_errors: ClassVar[bool] = False
    default_taps: ClassVar[tuple[str, ...]] = ()
    reads_layers: ClassVar[bool] = False
    choices: ClassVar[dict[str, tuple[str, ...]]] = {"comparator": tuple(COMPARATORS)}
    from_model: ClassVar[tuple[str, ...]] = ("taps", "layers")
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

    def analyse(self, model: Model) -> Analysis:
        """The head's dense layers; the tap is the input of the first."""
        head = _head(dense_layers(model))
        if not head:
            raise CompileError("deepinfer: the model has no dense layer to analyse")
        layers = tuple((v.kernel, v.bias, v.activation) for v in head)
        return Analysis((head[0].input_tensor.name,), {"layers": layers})

    def _fit(self, recording: Recording) -> None:
        """Solves the preconditions and counts how the fit rows violate them; needs no labels."""
        self.precondition_ = precondition(self.layers)
        (name,) = self.taps
        x = recording.values(name)
        if x.shape[1] != self.precondition_.values.size:
            raise CompileError(
                f"deepinfer: the tap has {x.shape[1]} elements, the first dense layer "
                f"{self.precondition_.values.size} inputs; leave the tap to the analysis"
            )
        self.rule_ = DeepInfer(self.precondition_.values, self.comparator).fit(x)

    def lower(self, builder: Builder, predicted: int) -> Score:  # noqa: ARG002 - the contract
        """Both counts decide, yet one-dimensional tables are enough: "wrong" (others > threshold
        and important < threshold) and "uncertain" (equal counts) exclude each other, so the two
        verdicts are computed apart and one is subtracted from the other."""
        important, threshold = self.rule_.important_, self.rule_.threshold_
        if important.size > MOST_FEATURES:
            raise CompileError(
                f"deepinfer: the first dense layer has {important.size} inputs, but at most "
                f"{MOST_FEATURES} comparisons fit into one table; choose another monitor"
            )
        tap = builder.tap(self.taps[0])
        m, others = (self._count(builder, tap, part) for part in (important, ~important))
        counts = np.arange(important.size + 1)
        # Whole features by which each condition holds, at least 0 where it does; negative, so
        # that the larger is the one that holds less.
        exceeds = _lookup(builder, others, math.floor(threshold) + 1 - counts)
        below = _lookup(builder, m, counts - math.ceil(threshold) + 1)
        missing = builder.node("max", builder.node("concat", exceeds, below))
        wrong = _lookup(builder, missing, _graded(important.size), base=-important.size - 1)
        # A count of 0 becomes -1, which no count of others equals.
        some = _lookup(builder, m, np.where(counts == 0, -1, counts))
        unequal = builder.node("sub", others, some)
        uncertain = _lookup(builder, unequal, np.array([0, -VERDICT, 0]), base=-1)
        return Score(
            builder.node("sub", wrong, uncertain),
            alarm_above=3 * VERDICT // 2,
            uncertain_above=VERDICT // 2,
            display_scale=1 / VERDICT,
        )

    def _count(self, builder: Builder, tap: int, part: npt.NDArray[np.bool_]) -> int:
        """Value id of the number of features of a part that are violated."""
        forest = _stumps(self.precondition_.values, self.comparator, np.flatnonzero(part))
        return builder.node("trees", tap, tables=forest.pack("float64"))

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


def _graded(features: int) -> npt.NDArray[np.int64]:
    """The score for "wrong" by the whole features that are missing to it, -features - 1 and up:
    2 or 0 verdicts, and within them how clear it is."""
    missing = np.arange(-features - 1, features + 2)
    clear = np.trunc(-missing / (features + 1) * (VERDICT // 2 - 1))
    return (np.where(missing <= 0, 2 * VERDICT, 0) + clear).astype(np.int64)


def _lookup(builder: Builder, x: int, entries: npt.NDArray[Any], base: int = 0) -> int:
    return builder.node("lut", x, tables=[entries.astype(np.int32), np.array([base], np.int32)])


def _stumps(bounds: Reals, comparator: str, features: npt.NDArray[Any]) -> Forest:
    """One comparison a feature, worth 1 where the feature is violated; of no feature a 0."""
    rows: list[Row] = []
    roots, depths = [], []
    for f in features.tolist():
        at, bound = len(rows), float(bounds[f])
        roots.append(at)
        depths.append(int(np.isfinite(bound)))
        if not np.isfinite(bound):  # no input decides it
            satisfied = bool(COMPARATORS[comparator](0.0, bound))
            rows.append((0, np.inf, at, 0.0 if satisfied else 1.0))
            continue
        # x >= w is violated at most just below w, x > w at most at w; the others beyond.
        edge = np.nextafter(bound, -np.inf) if comparator in (">=", "<") else bound
        below = 1.0 if comparator in (">=", ">") else 0.0
        rows.append((f, float(edge), at + 1, 0.0))
        rows.append((0, np.inf, at + 1, below))
        rows.append((0, np.inf, at + 2, 1.0 - below))
    if not rows:
        return Forest.from_rows([(0, np.inf, 0, 0.0)], [0], [0])
    return Forest.from_rows(rows, roots, depths)
