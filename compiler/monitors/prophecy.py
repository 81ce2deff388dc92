"""Rule tables: one decision tree a layer predicts whether the classifier is wrong.

Gopinath, Converse, Pasareanu, Taly: "Property Inference for Deep Neural Networks", ASE 2019
(Prophecy). Here in its deployable form: bounded, class-balanced trees on neuron values, or on
which neurons are on.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
from sklearn.model_selection import train_test_split

from edgemon.compiler.data.groups import Groups
from edgemon.compiler.data.splits import divide
from edgemon.compiler.methods.prophecy import RIGHT, WRONG, Prophecy, Settings
from edgemon.compiler.monitors.estimator import MonitorEstimator, Needs, Score
from edgemon.compiler.monitors.shared.net_votes import majority, worth
from edgemon.compiler.monitors.shared.tree_rules import leaf_counts, rules
from edgemon.compiler.program.forest import Forest
from edgemon.compiler.program.ir import Builder
from edgemon.compiler.recording.recording import Recording


class ProphecyMonitor(MonitorEstimator):
    """Each layer's tree votes "wrong" or "right"; the majority decides, a tie is uncertain.

    The trees grow on a part of the fit rows; the share ``validation`` of them is kept to prune the
    trees (``prune``: the cost-complexity whose tree has the best balanced accuracy there) and to
    say what each rule is worth on rows that it was not made from. ``on_off`` splits on whether a
    neuron is above 0 instead of on its value. ``only_pure`` drops the vote of a leaf that holds
    right and wrong rows. Of a feature map the trees read each channel's mean.

    A leaf is worth its vote (0 if it is dropped) plus a small term that grows with its share of
    wrong rows; see ``net_votes``.
    """

    kind: ClassVar[str] = "prophecy"
    default_taps: ClassVar[tuple[str, ...]] = ("penultimate", "dense", "output")
    most_taps: ClassVar[int | None] = None
    limits: ClassVar[dict[str, tuple[float, float]]] = {
        "max_depth": (1, 64),
        "max_leaves": (2, 16384),
        "min_rows": (1, 1_000_000),
        "validation": (0.05, 0.5),
    }
    needs: ClassVar[Needs] = Needs.BOTH
    what: ClassVar[str] = "majority of one decision tree a layer"
    source: ClassVar[str] = (
        "Gopinath, Converse, Pasareanu, Taly: Property Inference for Deep Neural Networks. ASE 2019"
    )

    def __init__(
        self,
        taps: tuple[str, ...] = (),
        max_depth: int = 12,
        max_leaves: int = 256,
        min_rows: int = 10,
        prune: bool = True,
        on_off: bool = False,
        only_pure: bool = False,
        validation: float = 0.2,
        seed: int = 42,
    ) -> None:
        self.taps = taps
        self.max_depth = max_depth
        self.max_leaves = max_leaves
        self.min_rows = min_rows
        self.prune = prune
        self.on_off = on_off
        self.only_pure = only_pure
        self.validation = validation
        self.seed = seed

    def _fit(self, recording: Recording) -> None:
        """Needs right and wrong rows among the fit rows."""
        wrong = ~recording.correct
        self.wrong_rows_ = int(wrong.sum())
        self.symbols_ = ["channel" if recording.tap(n).channels else "x" for n in self.taps]
        train, held_out = self._parts(wrong, recording.groups)
        layers = [recording.features(name).astype(np.float32) for name in self.taps]
        seen, unseen = ([x[part] for x in layers] for part in (train, held_out))
        self.method_ = Prophecy(self._settings()).fit(
            seen, wrong[train], (unseen, wrong[held_out]) if held_out.size else None
        )
        self.fit_counts_ = self._counts(seen, wrong[train])
        self.validation_counts_ = self._counts(unseen, wrong[held_out])

    def _parts(
        self, wrong: npt.NDArray[np.bool_], groups: Groups | None
    ) -> tuple[npt.NDArray[Any], npt.NDArray[Any]]:
        """Rows to grow on and rows for validation, with the same share of wrong ones, or of groups
        that have some; no validation where there are too few of either kind to divide."""
        rows = np.arange(wrong.size)
        fewer = min(int(wrong.sum()), int((~wrong).sum()))
        if fewer * self.validation < 1:
            return rows, rows[:0]
        if groups is not None:
            parts = divide(~wrong, self.validation, self.seed, groups)
            enough = all(0 < wrong[part].sum() < len(part) for part in parts)
            return parts if enough else (rows, rows[:0])
        train, held_out = train_test_split(
            rows, test_size=self.validation, stratify=wrong, random_state=self.seed
        )
        return np.sort(train), np.sort(held_out)

    def _settings(self) -> Settings:
        return Settings(
            max_depth=self.max_depth,
            max_leaves=self.max_leaves,
            min_rows=self.min_rows,
            balanced=True,
            prune=self.prune,
            on_off=self.on_off,
            only_pure=self.only_pure,
            seed=self.seed,
        )

    def _counts(self, layers: list[Any], wrong: npt.NDArray[np.bool_]) -> list[npt.NDArray[Any]]:
        return [
            leaf_counts(tree, self.method_.features(x), wrong)
            for tree, x in zip(self.method_.trees_, layers, strict=True)
        ]

    def lower(self, builder: Builder, predicted: int) -> Score:  # noqa: ARG002 - the contract
        total = -1
        trees = self.method_.trees_
        for name, tree in zip(self.taps, trees, strict=True):
            votes, share = self.method_.node_votes(tree), self.method_.wrong_shares(tree)
            net = np.select([votes == WRONG, votes == RIGHT], [1.0, -1.0], 0.0)
            leaves = worth(net, (share - 0.5) * 2, len(trees))
            forest = Forest.from_sklearn([tree.tree_], [leaves])
            if self.on_off:
                on = np.where(forest.is_leaf, forest.threshold, 0.0)
                forest = replace(forest, threshold=on)
            node = builder.node("trees", builder.features(name), tables=forest.pack("float64"))
            total = node if total < 0 else builder.node("add", total, node)
        return majority(total)

    def reason(self) -> str:
        return "the layers' rules predict a wrong answer: {score} net votes of " + str(
            len(self.taps)
        )

    def details(self) -> dict[str, Any]:
        trees = self.method_.trees_
        return {
            "wrong_fit_rows": self.wrong_rows_,
            "validation_rows": int(self.validation_counts_[0].sum()),
            "layers": [
                {
                    "tap": name,
                    "depth": int(tree.get_depth()),
                    "leaves": int(tree.get_n_leaves()),
                    "pruned_by": float(tree.ccp_alpha),
                }
                for name, tree in zip(self.taps, trees, strict=True)
            ],
            "rules": [
                {"tap": name, **rule}
                for name, tree, symbol, fit, validation in zip(
                    self.taps, trees, self.symbols_, self.fit_counts_, self.validation_counts_,
                    strict=True,
                )
                for rule in rules(
                    tree,
                    np.zeros_like(tree.tree_.threshold) if self.on_off else tree.tree_.threshold,
                    self.method_.node_votes(tree), fit, validation, symbol,
                )
            ],
        }  # fmt: skip
