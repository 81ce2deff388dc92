"""Activation patterns: which neurons are on, compared with right answers of the same class.

Cheng, Nührenberg, Yasuoka: "Runtime Monitoring Neuron Activation Patterns", DATE 2019. There the
patterns of a class lie in a binary decision diagram, enlarged by all patterns within a Hamming
distance gamma; here they are packed words, from which the distance itself is computed.
"""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
from sklearn.cluster import KMeans

from edgemon.compiler.errors import CompileError
from edgemon.compiler.models.dense import dense_layers
from edgemon.compiler.models.model import Model
from edgemon.compiler.monitors.estimator import Analysis, MonitorEstimator, Needs, Score
from edgemon.compiler.program.ir import Builder
from edgemon.compiler.program.ops.classes import MAX_PATTERN
from edgemon.compiler.program.patterns import bdd_nodes, packed
from edgemon.compiler.recording.recording import Recording

Reals = npt.NDArray[np.float64]
Bools = npt.NDArray[np.bool_]

MOST_ROWS = 4000  # of a class, from which typical patterns are chosen
NEARLY_ALL = 0.95  # bits that are on: such patterns say nothing
BDD_NODE_BYTES = 8  # a bit's number and two nodes, packed tightly
SAYS_NOTHING = (
    "nearly every bit is on, as of averages behind a ReLU: patterns hardly differ. Use "
    "threshold=median, or another layer"
)


class PatternMonitor(MonitorEstimator):
    """The smallest Hamming distance between the bits of a layer (of a feature map: of the channels'
    means) and the patterns of the predicted class, which correctly classified fit rows showed.

    ``threshold``: a neuron's bit is on above its ``median`` over the fit rows, or above ``zero``,
    as published. ``neurons``: how many a class looks at, those with the largest weights to it; 0:
    all. ``per_class``: most patterns of a class; of more, the medoids of as many clusters are
    kept. The method's own rule is "alarm iff distance > gamma". A class without a pattern always
    alarms.
    """

    kind: ClassVar[str] = "pattern"
    learns_errors: ClassVar[bool] = False
    default_taps: ClassVar[tuple[str, ...]] = ("penultimate",)
    limits: ClassVar[dict[str, tuple[float, float]]] = {
        "neurons": (0, MAX_PATTERN),
        "per_class": (1, 100_000),
        "gamma": (0, MAX_PATTERN),
    }
    choices: ClassVar[dict[str, tuple[str, ...]]] = {"threshold": ("zero", "median")}
    from_model: ClassVar[tuple[str, ...]] = ("taps", "head")
    needs: ClassVar[Needs] = Needs.RIGHT
    what: ClassVar[str] = "activation pattern unlike those of its class"
    source: ClassVar[str] = (
        "Cheng, Nührenberg, Yasuoka: Runtime Monitoring Neuron Activation Patterns. DATE 2019"
    )

    def __init__(
        self,
        taps: tuple[str, ...] = (),
        head: tuple[tuple[str, Reals], ...] = (),
        threshold: str = "median",
        neurons: int = 0,
        per_class: int = 64,
        gamma: int = 0,
        seed: int = 0,
    ) -> None:
        self.taps = taps
        self.head = head  # name of the last dense layer's input, and the kernel
        self.threshold = threshold
        self.neurons = neurons
        self.per_class = per_class
        self.gamma = gamma
        self.seed = seed

    def analyse(self, model: Model) -> Analysis:
        head = tuple((v.input_tensor.name, v.kernel) for v in dense_layers(model)[-1:])
        return Analysis(self.default_taps, {"head": head})

    def _fit(self, recording: Recording) -> None:
        """Needs labels. Raises CompileError if the layer is too wide."""
        (name,) = self.taps
        right = np.flatnonzero(recording.correct)
        x = recording.features(name)
        self.threshold_ = (
            np.median(x, axis=0) if self.threshold == "median" else np.zeros(x.shape[1])
        )
        self.index_ = self._chosen(x.shape[1], recording.n_classes)
        bits = x > self.threshold_
        self.share_on_ = float(bits.mean())
        self.patterns_, self.rows_ = [], []
        for c in range(recording.n_classes):
            own = bits[right[recording.predicted[right] == c]]
            own = own if self.index_ is None else own[:, self.index_[c]]
            self.rows_.append(len(own))
            self.patterns_.append(self._kept(own))

    def _chosen(self, width: int, classes: int) -> npt.NDArray[np.intp] | None:
        """(classes, neurons), or None for all."""
        if not 0 < self.neurons < width:
            if width > MAX_PATTERN:
                raise CompileError(
                    f"pattern: {self.taps[0]!r} has {width} neurons, but a pattern at most "
                    f"{MAX_PATTERN}; set neurons, or read another layer"
                )
            return None
        kernel = dict(self.head).get(self.taps[0])
        if kernel is None or kernel.shape != (width, classes):
            raise CompileError(
                f"--monitor pattern: neurons={self.neurons} ranks neurons by their weights to each "
                f"class, but {self.taps[0]!r} does not feed the last dense layer; leave it out"
            )
        strongest = np.argsort(-np.abs(kernel), axis=0, kind="stable")[: self.neurons]
        return np.sort(strongest, axis=0).T

    def _kept(self, bits: Bools) -> Bools:
        """At most ``per_class`` of the patterns (rows, m): all, or medoids of clusters."""
        distinct = np.unique(bits, axis=0)
        if len(distinct) <= self.per_class:
            return distinct
        rng = np.random.default_rng(self.seed)
        rows = bits[np.sort(rng.permutation(len(bits))[:MOST_ROWS])].astype(np.float32)
        clusters = KMeans(self.per_class, n_init=1, random_state=self.seed).fit(rows)
        medoids = []
        for c, centre in enumerate(clusters.cluster_centers_):
            own = rows[clusters.labels_ == c]
            if len(own):
                medoids.append(own[np.argmin(np.abs(own - centre).sum(axis=1))] > 0.5)
        return np.unique(np.array(medoids), axis=0)

    def lower(self, builder: Builder, predicted: int) -> Score:
        index = np.zeros(0) if self.index_ is None else self.index_.ravel()
        first = np.cumsum([0, *map(len, self.patterns_)])
        tables: list[npt.NDArray[Any]] = [
            self.threshold_,
            index.astype(np.uint32),
            packed(np.concatenate(self.patterns_)),
            first.astype(np.uint32),
        ]
        tap = builder.features(self.taps[0])
        distance = builder.node("hamming", tap, predicted, tables=tables)
        return Score(distance, alarm_above=float(self.gamma))

    def reason(self) -> str:
        return "{score} neurons differ from the nearest activation pattern of the predicted class"

    def details(self) -> dict[str, Any]:
        bits = self.patterns_[0].shape[1]
        count = sum(map(len, self.patterns_))
        found: dict[str, Any] = {
            "neurons_per_pattern": bits,
            "patterns": count,
            "bits_on": self.share_on_,
            "pattern_bytes": count * -(-bits // 32) * 4,
            "same_as_bdd_bytes": BDD_NODE_BYTES * sum(map(bdd_nodes, self.patterns_)),
            "by_class": [
                {"class": c, "right_rows": rows, "patterns": len(kept)}
                for c, (rows, kept) in enumerate(zip(self.rows_, self.patterns_, strict=True))
            ],
        }
        if self.share_on_ > NEARLY_ALL:
            found["warning"] = SAYS_NOTHING
        return found
