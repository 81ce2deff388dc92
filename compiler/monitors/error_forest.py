"""Trees on what goes into a network, what it makes of it, and what it answers.

* forest: a class-balanced random forest (Breiman, Machine Learning 2001) that predicts whether the
  answer is wrong; with one tree, a rule table on several layers at once. Without the output among
  its inputs most of the gain is gone.
* boosted_opinion: gradient boosted trees (Friedman, Annals of Statistics 2001) that classify the
  row themselves; their log-odds against the model's answer.
"""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
from sklearn.ensemble import GradientBoostingClassifier, RandomForestClassifier

from edgemon.compiler.models import tap_rules
from edgemon.compiler.models.model import Model
from edgemon.compiler.monitors.estimator import Analysis, MonitorEstimator, Needs, Score
from edgemon.compiler.monitors.shared.disagreement import RULES, alarm_threshold
from edgemon.compiler.monitors.shared.vectors import joined, joined_values, log_odds_against
from edgemon.compiler.program.forest import Forest
from edgemon.compiler.program.ir import Builder
from edgemon.compiler.recording.recording import Recording

Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]

NO_CLASS = -60.0  # log-probability (nats) of a class without fit rows
UNIT = 1 << 12  # of whole numbers that leaves hold
NODE_BYTES = 12  # of a tree on the device: a test and a value
LARGEST_SUM = 1 << 24  # of leaves: what float32, and so ONNX's trees, add exactly


class WholeNetworkMonitor(MonitorEstimator):
    """Base: by default reads the input (if it is narrow), the layer before the last, the logits."""

    default_taps: ClassVar[tuple[str, ...]] = ("penultimate", "logits")
    most_taps: ClassVar[int | None] = None

    def analyse(self, model: Model) -> Analysis:
        entry = tap_rules.narrow_input(model.graph)
        return Analysis(self.default_taps if entry is None else (entry.name, *self.default_taps))


class ForestMonitor(WholeNetworkMonitor):
    """Mean over the trees of the class-balanced share of wrong rows in the leaf, minus one half."""

    kind: ClassVar[str] = "forest"
    limits: ClassVar[dict[str, tuple[float, float]]] = {
        "trees": (1, 1000),
        "max_depth": (1, 16),
        "min_rows": (1, 1_000_000),
    }
    needs: ClassVar[Needs] = Needs.BOTH
    what: ClassVar[str] = "trees on input, hidden values and output"
    source: ClassVar[str] = (
        "Breiman: Random Forests, Machine Learning 2001, on the layers of a classifier"
    )

    def __init__(
        self,
        taps: tuple[str, ...] = (),
        trees: int = 16,
        max_depth: int = 6,
        min_rows: int = 5,
        seed: int = 0,
    ) -> None:
        self.taps = taps
        self.trees = trees
        self.max_depth = max_depth
        self.min_rows = min_rows
        self.seed = seed

    def _fit(self, recording: Recording) -> None:
        """Needs right and wrong rows among the fit rows."""
        self.forest_ = RandomForestClassifier(
            self.trees, max_depth=self.max_depth, min_samples_leaf=self.min_rows,
            class_weight="balanced", bootstrap=self.trees > 1, random_state=self.seed,
            max_features="sqrt" if self.trees > 1 else None,
        ).fit(joined_values(recording, self.taps, np.float32), ~recording.correct)  # fmt: skip

    def lower(self, builder: Builder, predicted: int) -> Score:  # noqa: ARG002 - the contract
        trees = [t.tree_ for t in self.forest_.estimators_]
        share = [t.value[:, 0, 1] / t.value[:, 0, :].sum(axis=1) for t in trees]
        forest = Forest.from_sklearn(trees, [np.rint((s - 0.5) * UNIT) for s in share])
        x = joined(builder, self.taps)
        score = builder.node("trees", x, tables=forest.pack("float64"))
        return Score(score, alarm_above=0.0, display_scale=1 / (UNIT * len(trees)))

    def reason(self) -> str:
        return "trees predict a wrong answer: balanced share of errors less one half is {score}"

    def details(self) -> dict[str, Any]:
        return {
            "trees": len(self.forest_.estimators_),
            "leaves": sum(int(t.get_n_leaves()) for t in self.forest_.estimators_),
        }


class BoostedOpinionMonitor(WholeNetworkMonitor):
    """Log-odds against the predicted class, of trees that learn from the labels alone. What the
    network makes of a narrow input would only tell them its opinion once more. ``rule`` is that of
    ``disagreement.alarm_threshold``."""

    kind: ClassVar[str] = "boosted_opinion"
    limits: ClassVar[dict[str, tuple[float, float]]] = {"trees": (1, 1000), "max_depth": (1, 8)}
    choices: ClassVar[dict[str, tuple[str, ...]]] = {"rule": RULES}
    needs: ClassVar[Needs] = Needs.CLASSES
    what: ClassVar[str] = "a second classifier, of boosted trees, disagrees"
    source: ClassVar[str] = (
        "Friedman: Greedy Function Approximation, a Gradient Boosting Machine, Annals of "
        "Statistics 2001"
    )

    def __init__(
        self,
        taps: tuple[str, ...] = (),
        trees: int = 100,
        max_depth: int = 3,
        rule: str = "mcc",
        seed: int = 0,
    ) -> None:
        self.taps = taps
        self.trees = trees
        self.max_depth = max_depth
        self.rule = rule
        self.seed = seed

    def analyse(self, model: Model) -> Analysis:
        entry = tap_rules.narrow_input(model.graph)
        return Analysis(self.default_taps if entry is None else (entry.name,))

    def _fit(self, recording: Recording) -> None:
        """Needs labels of at least two classes."""
        labels = np.asarray(recording.labels)
        self.n_classes_ = recording.n_classes
        x = joined_values(recording, self.taps)
        self.boosted_ = self._boosted().fit(x, labels)
        self.start_ = np.atleast_1d(self.boosted_._raw_predict_init(x[:1])[0])
        self.accuracy_ = float(self.boosted_.score(x, labels))
        self.threshold_ = alarm_threshold(self.rule, recording, x, self._classify, self.seed)

    def least_bytes(self, recording: Recording) -> int:
        """Half of what they take if all trees are as large as the first of each series."""
        labels = np.asarray(recording.labels)
        if len(np.unique(labels)) < 2:
            return 0  # ``fit`` says so
        first = self._boosted(1).fit(joined_values(recording, self.taps), labels).estimators_
        nodes = sum(tree.tree_.node_count for tree in first.ravel())
        return int(nodes) * self.trees * NODE_BYTES // 2

    def _boosted(self, trees: int | None = None) -> GradientBoostingClassifier:
        return GradientBoostingClassifier(
            n_estimators=self.trees if trees is None else trees, max_depth=self.max_depth,
            subsample=0.8, random_state=self.seed,
        )  # fmt: skip

    def _classify(self, x: Floats, labels: Integers, judged: Floats) -> Floats:
        """Trees that learn from rows, on others; see ``disagreement.Classifier``."""
        learned = self._boosted().fit(x, labels)
        scores = np.full((len(judged), self.n_classes_), NO_CLASS)
        found = learned.predict_log_proba(judged)
        scores[:, learned.classes_] = np.maximum(found, NO_CLASS)  # it can be as sure as -inf
        return scores

    def lower(self, builder: Builder, predicted: int) -> Score:
        x = joined(builder, self.taps)
        sums = [self._sum(builder, x, k) for k in range(self.boosted_.estimators_.shape[1])]
        whole = sums[0]
        for following in sums[1:]:
            whole = builder.node("concat", whole, following)
        # What lacks fit rows is never the likelier class.
        present = self.boosted_.classes_.astype(int)
        weight = np.zeros((self.n_classes_, len(sums)))
        bias = np.full(self.n_classes_, NO_CLASS)
        if len(sums) == 1:
            weight[present, 0] = np.array([-0.5, 0.5])
        else:
            weight[present] = np.eye(len(sums))
        bias[present] = 0.0
        scores = builder.node("affine", whole, tables=[weight.ravel(), bias])
        return Score(log_odds_against(builder, scores, predicted), alarm_above=self.threshold_)

    def answers(self, recording: Recording) -> npt.NDArray[np.int64]:
        found = self.boosted_.predict(joined_values(recording, self.taps))
        return np.asarray(found, np.int64)

    def _sum(self, builder: Builder, x: int, k: int) -> int:
        """Value id of the k-th series' raw score, in nats."""
        trees = [t.tree_ for t in self.boosted_.estimators_[:, k]]
        values = [t.value[:, 0, 0] * self.boosted_.learning_rate for t in trees]
        values[0] = values[0] + self.start_[k]
        # A leaf with rows of one class can be worth any number of nats: more than the sum of all
        # trees can hold, and than any other tree could outvote.
        most = LARGEST_SUM // len(trees)
        leaves = [np.clip(np.rint(v * UNIT), -most, most) for v in values]
        forest = Forest.from_sklearn(trees, leaves)
        total = builder.node("trees", x, tables=forest.pack("float64"))
        return builder.node("scale", total, tables=[np.array([1 / UNIT])])

    def reason(self) -> str:
        return f"{self.what}: log-odds against this class are {{score}}, above {{threshold}}"

    def details(self) -> dict[str, Any]:
        return {
            "trees": int(self.boosted_.estimators_.size),
            "accuracy_on_fit_rows": self.accuracy_,
            "rule": self.rule,
            "threshold": self.threshold_,
        }
