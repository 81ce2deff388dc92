"""Rule tables: one decision tree a layer predicts whether the classifier is wrong.

Gopinath, Converse, Pasareanu, Taly: "Property Inference for Deep Neural Networks", ASE 2019
(Prophecy). Here in its deployable form: bounded, class-balanced trees on neuron values.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, ClassVar, Self

import numpy as np
import numpy.typing as npt
from sklearn.tree import DecisionTreeClassifier

from edgemon.compiler.errors import CompileError
from edgemon.compiler.forest import Forest
from edgemon.compiler.ir import Builder
from edgemon.compiler.monitors.base import MonitorEstimator, Score
from edgemon.compiler.recording import Recording

Path = dict[int, tuple[float, float]]  # neuron: above, at most

VOTE = 1 << 14  # a layer's vote in a leaf's value; the rest ranks rows with equal votes


class ProphecyMonitor(MonitorEstimator):
    """Each layer's tree votes "wrong" or "right"; the majority decides, a tie is uncertain.

    A leaf is worth +-VOTE plus a small term that grows with its share of wrong rows, so that one
    whole number carries the vote exactly and still ranks rows. Shown in net votes.
    """

    kind: ClassVar[str] = "prophecy"
    default_taps: ClassVar[tuple[str, ...]] = ("penultimate", "dense", "output")
    most_taps: ClassVar[int | None] = None
    limits: ClassVar[dict[str, tuple[float, float]]] = {
        "max_depth": (1, 64),
        "max_leaves": (2, 16384),
        "min_rows": (1, 1_000_000),
    }
    what: ClassVar[str] = "majority of one decision tree a layer"
    source: ClassVar[str] = (
        "Gopinath, Converse, Pasareanu, Taly: Property Inference for Deep Neural Networks. ASE 2019"
    )

    def __init__(
        self,
        taps: tuple[str, ...] = (),
        max_depth: int = 6,
        max_leaves: int = 32,
        min_rows: int = 10,
        seed: int = 42,
    ) -> None:
        self.taps = taps
        self.max_depth = max_depth
        self.max_leaves = max_leaves
        self.min_rows = min_rows
        self.seed = seed

    def fit(self, recording: Recording) -> Self:
        """Needs right and wrong rows among the fit rows."""
        self.check_taps()
        wrong = ~recording.correct
        if not wrong.any() or wrong.all():
            raise CompileError(
                f"prophecy: all {wrong.size} fit rows are classified "
                f"{'wrongly' if wrong.all() else 'correctly'}; a rule needs both, so fit on rows "
                "that the model was not trained on (--fit)"
            )
        self.trees_ = [
            DecisionTreeClassifier(
                max_depth=self.max_depth,
                max_leaf_nodes=self.max_leaves,
                min_samples_leaf=self.min_rows,
                class_weight="balanced",
                random_state=self.seed,
            ).fit(recording.values(name), wrong)
            for name in self.taps
        ]
        self.wrong_rows_ = int(wrong.sum())
        self.support_ = [
            self._support(tree, recording.values(name), wrong)
            for tree, name in zip(self.trees_, self.taps, strict=True)
        ]
        return self

    @staticmethod
    def _support(tree: Any, x: npt.NDArray[Any], wrong: npt.NDArray[Any]) -> npt.NDArray[Any]:
        """(nodes, 2): right and wrong fit rows in each leaf, unweighted."""
        leaves = tree.apply(x)
        counts = np.zeros((tree.tree_.node_count, 2), np.int64)
        np.add.at(counts, (leaves, wrong.astype(int)), 1)
        return counts

    def lower(self, builder: Builder, predicted: int) -> Score:  # noqa: ARG002 - the contract
        total: int | None = None
        for name, tree in zip(self.taps, self.trees_, strict=True):
            share = self._wrong_share(tree)
            fine = np.rint((share - 0.5) * 2 * (VOTE // 2 - 1) / len(self.trees_))
            value = np.where(share > 0.5, VOTE, -VOTE) + np.trunc(fine)
            forest = Forest.from_sklearn([tree.tree_], [value])
            node = builder.node("trees", builder.tap(name), tables=forest.pack("float64"))
            total = node if total is None else builder.node("add", total, node)
        if total is None:
            raise CompileError("prophecy: fit first")
        return Score(
            total,
            alarm_above=VOTE // 2 - 1,
            uncertain_above=-(VOTE // 2),
            display_scale=1.0 / VOTE,
        )

    @staticmethod
    def _wrong_share(tree: Any) -> npt.NDArray[np.float64]:
        """Class-balanced share of wrong rows, a node."""
        value = tree.tree_.value[:, 0, :]
        return np.asarray(value[:, 1] / value.sum(axis=1), np.float64)

    def reason(self) -> str:
        return "the layers' rules predict a wrong answer: {score} net votes of " + str(
            len(self.taps)
        )

    def details(self) -> dict[str, Any]:
        return {
            "wrong_fit_rows": self.wrong_rows_,
            "layers": [
                {"tap": name, "depth": int(tree.get_depth()), "leaves": int(tree.get_n_leaves())}
                for name, tree in zip(self.taps, self.trees_, strict=True)
            ],
            "rules": list(self._rules()),
        }

    def _rules(self) -> Iterator[dict[str, Any]]:
        """Every root-to-leaf path that votes "wrong", widest support first."""
        for name, tree, counts in zip(self.taps, self.trees_, self.support_, strict=True):
            t, share = tree.tree_, self._wrong_share(tree)
            found = []
            stack: list[tuple[int, Path]] = [(0, {})]
            while stack:
                node, path = stack.pop()
                if t.children_left[node] >= 0:
                    feature, threshold = int(t.feature[node]), float(t.threshold[node])
                    low, high = path.get(feature, (-np.inf, np.inf))
                    stack.append((t.children_left[node], {**path, feature: (low, threshold)}))
                    stack.append((t.children_right[node], {**path, feature: (threshold, high)}))
                elif share[node] > 0.5:
                    right, wrong = counts[node].tolist()
                    found.append(
                        {
                            "tap": name,
                            "if": [_interval(f, *bounds) for f, bounds in sorted(path.items())],
                            "then": "wrong",
                            "support": right + wrong,
                            "precision": wrong / (right + wrong),
                        }
                    )
            yield from sorted(found, key=lambda rule: -int(str(rule["support"])))


def _interval(neuron: int, above: float, at_most: float) -> str:
    """A condition on one neuron, as short as it can be said."""
    if np.isinf(above):
        return f"x[{neuron}] <= {at_most:.6g}"
    if np.isinf(at_most):
        return f"x[{neuron}] > {above:.6g}"
    return f"{above:.6g} < x[{neuron}] <= {at_most:.6g}"
