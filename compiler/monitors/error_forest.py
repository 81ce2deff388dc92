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
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.metrics import roc_auc_score

from edgemon.compiler.errors import CompileError
from edgemon.compiler.models import tap_rules
from edgemon.compiler.models.model import Model
from edgemon.compiler.monitors.estimator import Analysis, MonitorEstimator, Needs, Score
from edgemon.compiler.monitors.shared.disagreement import RULES, alarm_threshold, odds_against
from edgemon.compiler.monitors.shared.vectors import joined, joined_values, log_odds_against
from edgemon.compiler.program.forest import Forest, Tree
from edgemon.compiler.program.ir import Builder
from edgemon.compiler.recording.recording import Recording
from edgemon.compiler.statistics import tuning

Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]

NO_CLASS = -60.0  # log-probability (nats) of a class without fit rows
UNIT = 1 << 12  # of whole numbers that leaves hold
NODE_BYTES = 12  # of a tree on the device: a test and a value
LARGEST_SUM = 1 << 24  # of leaves: what float32, and so ONNX's trees, add exactly
LEAVES = (4, 8, 16)  # of a boosted tree, that are tried
MOST_BYTES = 24 * 1024  # of boosted trees, above which more leaves are not tried
UNCHOSEN = 8  # where too few errors tell which number is better
FEWEST_TREES = 15
ROWS_OF_LEAF = 20  # at least
SEEN = 0.1  # false alarms up to which errors that are found count: few are ever promised
MANY_ROWS = 20_000  # of which one fold tells as much


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
    network makes of a narrow input would only tell them its opinion once more.

    Trees grow leaf by leaf, the one with the largest gain first, to at most ``leaves``. Of 0 it is
    the number in ``LEAVES`` with which the fit rows' errors are found best out of fold at few false
    alarms (``SEEN``), of those whose trees take at most ``MOST_BYTES``: of three classes or more,
    with 60 trees each, the smallest. ``rule`` is that of ``disagreement.alarm_threshold``."""

    kind: ClassVar[str] = "boosted_opinion"
    limits: ClassVar[dict[str, tuple[float, float]]] = {"trees": (1, 1000), "leaves": (0, 64)}
    choices: ClassVar[dict[str, tuple[str, ...]]] = {"rule": RULES}
    needs: ClassVar[Needs] = Needs.CLASSES
    what: ClassVar[str] = "a second classifier, of boosted trees, disagrees"
    source: ClassVar[str] = (
        "Friedman: Greedy Function Approximation, a Gradient Boosting Machine, Annals of "
        "Statistics 2001; trees leaf by leaf as in Ke et al.: LightGBM, NeurIPS 2017"
    )

    def __init__(
        self,
        taps: tuple[str, ...] = (),
        trees: int = 60,
        leaves: int = 0,
        rule: str = "mcc",
        seed: int = 0,
    ) -> None:
        self.taps = taps
        self.trees = trees
        self.leaves = leaves
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
        self.leaves_ = self._chosen_leaves(x, labels, recording)
        self.boosted_ = self._boosted().fit(x, labels)
        self.start_ = np.ravel(self.boosted_._baseline_prediction)
        self.accuracy_ = float(self.boosted_.score(x, labels))
        self.threshold_ = alarm_threshold(self.rule, recording, x, self._classify, self.seed)

    def check_settings(self) -> None:
        super().check_settings()
        if self.leaves == 1:
            raise CompileError(
                f"--monitor {self.kind}: leaves=1 decides nothing; give 2 or more, or 0 to "
                "have the number chosen"
            )

    def least_bytes(self, recording: Recording) -> int:
        """Half of what they take if all trees are as large as the first of each series, with the
        fewest leaves that may be chosen."""
        labels = np.asarray(recording.labels)
        if len(np.unique(labels)) < 2:
            return 0  # ``fit`` says so
        few = self.__class__(**{**self.get_params(deep=False), "trees": 1})
        few.leaves_ = self.leaves or LEAVES[0]
        first = few._boosted().fit(joined_values(recording, self.taps), labels)._predictors[0]
        return sum(len(p.nodes) for p in first) * self.trees * NODE_BYTES // 2

    def _bytes(self, leaves: int, recording: Recording) -> int:
        """Of trees that have as many leaves as they may."""
        classes = len(np.unique(np.asarray(recording.labels)))
        return (1 if classes == 2 else classes) * self.trees * (2 * leaves - 1) * NODE_BYTES

    def smaller(self, recording: Recording) -> MonitorEstimator | None:  # noqa: ARG002
        """With half of the trees."""
        if self.trees <= FEWEST_TREES:
            return None
        fewer = max(FEWEST_TREES, self.trees // 2)
        return self.__class__(**{**self.get_params(deep=False), "trees": fewer})

    @property
    def stored_as(self) -> str:
        return f"{self.trees} trees a class"

    def _boosted(self) -> HistGradientBoostingClassifier:
        return HistGradientBoostingClassifier(
            max_iter=self.trees, max_leaf_nodes=self.leaves_, min_samples_leaf=ROWS_OF_LEAF,
            early_stopping=False, random_state=self.seed,
        )  # fmt: skip

    def _chosen_leaves(self, x: Floats, labels: Integers, recording: Recording) -> int:
        if self.leaves:
            return self.leaves
        tried = [n for n in LEAVES if self._bytes(n, recording) <= MOST_BYTES] or [LEAVES[0]]
        wrong, predicted = ~recording.correct, recording.predicted
        folds = tuning.folds(wrong, self.seed, recording.groups)
        folds = [(learn, judge) for learn, judge in folds if len(np.unique(labels[learn])) > 1]
        if not folds:
            return min(tried[-1], UNCHOSEN)

        def worth(leaves: int) -> float:
            self.leaves_ = leaves
            parts = []
            for learn, judge in folds[:1] if len(x) > MANY_ROWS else folds:
                odds = odds_against(
                    self._classify(x[learn], labels[learn], x[judge]), predicted[judge]
                )
                parts.append(roc_auc_score(wrong[judge], odds, max_fpr=SEEN))
            return float(np.mean(parts))

        return max(tried, key=worth) if len(tried) > 1 else tried[0]

    def _classify(self, x: Floats, labels: Integers, judged: Floats) -> Floats:
        """Trees that learn from rows, on others; see ``disagreement.Classifier``."""
        learned = self._boosted().fit(x, labels)
        scores = np.full((len(judged), self.n_classes_), NO_CLASS)
        found = learned.decision_function(judged)
        if found.ndim == 1:  # of the second of two classes
            found = np.stack([-found, found], axis=1) / 2
        scores[:, learned.classes_.astype(int)] = np.maximum(found, NO_CLASS)
        return scores

    def lower(self, builder: Builder, predicted: int) -> Score:
        x = joined(builder, self.taps)
        sums = [self._sum(builder, x, k) for k in range(len(self.start_))]
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
        nodes = [of_classes[k].nodes for of_classes in self.boosted_._predictors]
        values = [n["value"] for n in nodes]
        values[0] = values[0] + self.start_[k]
        # A leaf with rows of one class can be worth any number of nats: more than the sum of all
        # trees can hold, and than any other tree could outvote.
        most = LARGEST_SUM // len(nodes)
        leaves = [np.clip(np.rint(v * UNIT), -most, most) for v in values]
        trees = [
            Tree(
                n["left"], n["right"], n["is_leaf"].astype(bool), n["feature_idx"],
                n["num_threshold"],
            )
            for n in nodes
        ]  # fmt: skip
        total = builder.node("trees", x, tables=Forest.from_trees(trees, leaves).pack("float64"))
        return builder.node("scale", total, tables=[np.array([1 / UNIT])])

    def reason(self) -> str:
        return f"{self.what}: log-odds against this class are {{score}}, above {{threshold}}"

    def details(self) -> dict[str, Any]:
        return {
            "trees": len(self.boosted_._predictors) * len(self.start_),
            "leaves": self.leaves_,
            "accuracy_on_fit_rows": self.accuracy_,
            "rule": self.rule,
            "threshold": self.threshold_,
        }
