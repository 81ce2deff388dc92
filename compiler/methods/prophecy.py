"""Rule tables: one decision tree a layer predicts whether the classifier is wrong.

Gopinath, Converse, Pasareanu, Taly: "Property Inference for Deep Neural Networks", ASE 2019
(Prophecy). ``AS_PUBLISHED`` grows the trees without bounds; ``DEPLOYABLE`` is what fits a device.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator
from sklearn.metrics import balanced_accuracy_score
from sklearn.tree import DecisionTreeClassifier

from edgemon.runtime.evaluation import Verdict

Array = npt.NDArray[Any]

RIGHT, WRONG, DROPPED = 0, 1, -1
PRUNINGS = 8  # strengths to choose from, the whole tree among them


@dataclass(frozen=True)
class Settings:
    """How the trees grow and vote."""

    max_depth: int | None = None
    max_leaves: int | None = None
    min_rows: int = 1
    balanced: bool = False  # weigh right and wrong rows alike
    prune: bool = False  # by cost-complexity, chosen on validation rows
    on_off: bool = False  # split on ``value > 0`` instead of values
    only_pure: bool = False  # drop the vote of a leaf with right and wrong rows
    seed: int = 42


AS_PUBLISHED = Settings()
DEPLOYABLE = Settings(max_depth=6, max_leaves=32, min_rows=10, balanced=True, prune=True)


class Prophecy(BaseEstimator):  # type: ignore[misc] # scikit-learn is untyped
    """Each layer's tree votes; the majority decides, and a tie is uncertain."""

    def __init__(self, settings: Settings = DEPLOYABLE) -> None:
        self.settings = settings

    def fit(
        self,
        layers: Sequence[Array],
        wrong: npt.NDArray[np.bool_],
        validation: tuple[Sequence[Array], npt.NDArray[np.bool_]] | None = None,
    ) -> Self:
        """Learn from the neuron values of each layer, (n, neurons), and which rows (n,) the model
        gets wrong. ``validation``, the same of other rows, is needed to prune."""
        self.trees_ = []
        for i, layer in enumerate(layers):
            held_out = None if validation is None else (validation[0][i], validation[1])
            self.trees_.append(self._grow(layer, wrong, held_out))
        return self

    def votes(self, layers: Sequence[Array]) -> npt.NDArray[np.int8]:
        """(n, layers) of RIGHT, WRONG and DROPPED."""
        return np.stack(
            [self._vote(t, layer) for t, layer in zip(self.trees_, layers, strict=True)], axis=1
        )

    def verdicts(self, layers: Sequence[Array]) -> npt.NDArray[np.uint8]:
        """(n,) of Verdict."""
        net = self._net(self.votes(layers))
        found = np.where(net > 0, Verdict.ALARM, Verdict.TRUST)
        return np.where(net == 0, Verdict.UNCERTAIN, found).astype(np.uint8)

    def scores(self, layers: Sequence[Array]) -> npt.NDArray[np.float64]:
        """(n,): net votes for "wrong"; within equal votes by the leaves' mean share of wrong."""
        shares = [
            self.wrong_shares(t)[t.apply(self.features(x))]
            for t, x in zip(self.trees_, layers, strict=True)
        ]
        return np.asarray(self._net(self.votes(layers)) + np.mean(shares, axis=0) / 2)

    def features(self, layer: Array) -> Array:
        """What the trees read of a layer's neuron values (n, neurons)."""
        return (layer > 0).astype(np.float32) if self.settings.on_off else layer

    def node_votes(self, tree: Any) -> npt.NDArray[np.int8]:
        """(nodes,): what each node would vote as a leaf. As scikit-learn decides it: a share can
        round to one half where the two weights differ."""
        vote = np.asarray(tree.classes_, np.int8)[tree.tree_.value[:, 0, :].argmax(axis=1)]
        if self.settings.only_pure:
            vote[tree.tree_.impurity > 0] = DROPPED
        return np.asarray(vote, np.int8)

    @staticmethod
    def wrong_shares(tree: Any) -> npt.NDArray[np.float64]:
        """(nodes,): share of wrong rows, as the tree weighs them."""
        value = tree.tree_.value[:, 0, :]
        wrong = value[:, np.asarray(tree.classes_, bool)].sum(axis=1)
        return np.asarray(wrong / value.sum(axis=1), np.float64)

    def _grow(self, layer: Array, wrong: Array, held_out: tuple[Array, Array] | None) -> Any:
        chosen = self.settings

        def tree(pruning: float) -> Any:
            return DecisionTreeClassifier(
                max_depth=chosen.max_depth,
                max_leaf_nodes=chosen.max_leaves,
                min_samples_leaf=chosen.min_rows,
                class_weight="balanced" if chosen.balanced else None,
                ccp_alpha=pruning,
                random_state=chosen.seed,
            ).fit(x, wrong)

        x = self.features(layer)
        full = tree(0.0)
        if not chosen.prune or held_out is None or full.tree_.node_count == 1:
            return full
        alphas = full.cost_complexity_pruning_path(x, wrong).ccp_alphas[:-1]  # not to the root
        steps = np.linspace(0, len(alphas) - 1, min(len(alphas), PRUNINGS)).astype(int)
        candidates = [full, *(tree(max(0.0, float(alphas[i]))) for i in steps[1:])]
        x_held, wrong_held = self.features(held_out[0]), held_out[1]
        quality = [balanced_accuracy_score(wrong_held, c.predict(x_held)) for c in candidates]
        best = max(quality)
        return candidates[max(i for i, q in enumerate(quality) if q == best)]  # the smallest tree

    def _vote(self, tree: Any, layer: Array) -> npt.NDArray[np.int8]:
        return np.asarray(self.node_votes(tree)[tree.apply(self.features(layer))], np.int8)

    @staticmethod
    def _net(votes: npt.NDArray[np.int8]) -> npt.NDArray[np.int64]:
        return np.asarray((votes == WRONG).sum(axis=1) - (votes == RIGHT).sum(axis=1))
