"""How often is a model right on rows without labels? An ensemble of small networks that read its
softmax vector, moved to the user's rows by a few labels.

Shao, Yang, Ren: "Increasing Trustworthiness of Deep Neural Networks via Accuracy Monitoring",
AISafety 2020. docs/accuracy.md says what it is worth where rows are shifted, and why edgemon
recommends another estimate.
"""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import pairwise
from typing import Self

import numpy as np
import numpy.typing as npt
from scipy.special import softmax
from sklearn.base import BaseEstimator, clone
from threadpoolctl import threadpool_limits

from edgemon.compiler.reporter import Progress, unseen

Floats = npt.NDArray[np.float32]
Bools = npt.NDArray[np.bool_]
Rng = np.random.Generator

BETA_1, BETA_2, TINY = 0.9, 0.999, 1e-7  # of Adam (Kingma & Ba 2015), as in Keras
BATCH, MOST_STEPS = 128, 40  # rows a step at least; steps an epoch at most
THREADS = 2  # members train side by side, each on one thread of linear algebra
OUTPUT = 2  # position of the output layer, the only one that transfer trains
BLOCK = 4096  # rows judged at a time


def hidden_sizes(classes: int) -> tuple[int, int]:
    """Units of the hidden layers: as published for 43 and 1000 classes, and for ten as its figure
    shows them."""
    return (64, 32) if classes <= 20 else (100, 50) if classes <= 200 else (1000, 1000)


class AccuracyEnsemble(BaseEstimator):  # type: ignore[misc] # scikit-learn is untyped
    """Members that differ in their first weights, order of rows and dropout: two dense ReLU layers,
    dropout, and a softmax over wrong and right, trained by Adam on the cross-entropy.

    The paper gives neither the share that drops out nor the rows of a step; ours are .5, and 128 or
    what makes 40 steps an epoch. ``monte_carlo``: units drop out also when rows are judged (Gal &
    Ghahramani 2016), which the paper names and, as it describes its steps, does not do.
    """

    def __init__(
        self, members: int = 20, *, hidden: tuple[int, int] | None = None, epochs: int = 200,
        dropout: float = 0.5, learning_rate: float = 1e-3, monte_carlo: bool = False,
        seed: int = 0,
    ) -> None:  # fmt: skip
        self.members = members
        self.hidden = hidden
        self.epochs = epochs
        self.dropout = dropout
        self.learning_rate = learning_rate
        self.monte_carlo = monte_carlo
        self.seed = seed

    def fit(self, p: npt.ArrayLike, right: npt.ArrayLike, progress: Progress = unseen) -> Self:
        """Learn from softmax vectors (n, classes) and where the model was right (n,)."""
        rows, truth = np.asarray(p, np.float32), np.asarray(right, bool)
        sizes = (rows.shape[1], *(self.hidden or hidden_sizes(rows.shape[1])), 2)
        networks = [_Network.drawn(sizes, rng) for rng in self._generators()]
        self.networks_ = self._trained(networks, rows, truth, 0, progress)
        return self

    def transfer(self, p: npt.ArrayLike, right: npt.ArrayLike) -> AccuracyEnsemble:
        """A second ensemble, whose output layers go on learning from these rows of the user's."""
        moved: AccuracyEnsemble = clone(self)
        rows, truth = np.asarray(p, np.float32), np.asarray(right, bool)
        moved.networks_ = self._trained(self.networks_, rows, truth, OUTPUT, unseen)
        return moved

    @property
    def parameters(self) -> tuple[list[Floats], list[Floats]]:
        """Weights (members, in, out) and biases (members, out) of each layer."""
        return (
            [np.stack(own) for own in zip(*(n.weights for n in self.networks_), strict=True)],
            [np.stack(own) for own in zip(*(n.biases for n in self.networks_), strict=True)],
        )

    def restored(self, weights: Sequence[Floats], biases: Sequence[Floats]) -> Self:
        """The ensemble with these ``parameters``. Raises ValueError if they do not fit together."""
        width = weights[0].shape[1]
        for w, b in zip(weights, biases, strict=True):
            if w.shape != (self.members, width, b.shape[-1]) or b.shape[:-1] != (self.members,):
                raise ValueError(f"weights {w.shape} do not fit {width} inputs, biases {b.shape}")
            width = b.shape[1]
        self.networks_ = [
            _Network([w[i] for w in weights], [b[i] for b in biases]) for i in range(self.members)
        ]
        return self

    def member_scores(self, p: npt.ArrayLike) -> Floats:
        """What each member says, the probability of being right: (members, n) for (n, classes)."""
        rows = np.asarray(p, np.float32)
        found = np.empty((len(self.networks_), len(rows)), np.float32)
        share = self.dropout if self.monte_carlo else 0.0
        for own, network, rng in zip(found, self.networks_, self._generators(), strict=True):
            for start in range(0, len(rows), BLOCK):
                block = rows[start : start + BLOCK]
                own[start : start + BLOCK] = network.forward(block, share, rng)[-1][:, 1]
        return found

    def _trained(
        self, networks: list[_Network], rows: Floats, right: Bools, first: int, progress: Progress
    ) -> list[_Network]:
        done = [0]

        def train(network: _Network, rng: Rng) -> _Network:
            found = network.trained(
                rows, right, first, self.epochs, self.dropout, self.learning_rate, rng
            )
            done[0] += 1
            progress(done[0], len(networks))
            return found

        # One thread of linear algebra, also for sums in the same order in every run.
        with threadpool_limits(1), ThreadPoolExecutor(THREADS) as pool:
            return list(pool.map(train, networks, self._generators()))

    def _generators(self) -> list[Rng]:
        seeds = np.random.SeedSequence(self.seed).spawn(self.members)
        return [np.random.default_rng(s) for s in seeds]


def estimate(scores: Floats) -> tuple[float, float]:
    """Mean and standard deviation over members (members, n) of the share of rows that each takes
    for right."""
    shares = (scores >= 0.5).mean(axis=1)
    return float(shares.mean()), float(shares.std())


def mean_entropy(scores: Floats) -> Floats:
    """By which rows are chosen for labels: the mean (n,) over members of the entropy of what each
    says, in nats; not the entropy of their mean."""
    p = np.clip(scores, TINY, 1 - TINY)
    found: Floats = -(p * np.log(p) + (1 - p) * np.log(1 - p)).mean(axis=0)
    return found


@dataclass
class _Network:
    """Weights and biases of three layers."""

    weights: list[Floats]
    biases: list[Floats]

    @classmethod
    def drawn(cls, sizes: tuple[int, ...], rng: Rng) -> _Network:
        """Weights by Glorot & Bengio (2010), as in Keras; biases 0."""
        pairs = list(pairwise(sizes))
        bounds = [np.sqrt(6 / (i + o)) for i, o in pairs]
        return cls(
            [
                rng.uniform(-b, b, pair).astype(np.float32)
                for b, pair in zip(bounds, pairs, strict=True)
            ],
            [np.zeros(o, np.float32) for _, o in pairs],
        )

    def forward(self, x: Floats, share: float, rng: Rng) -> list[Floats]:
        """Input, both hidden layers, and the softmax (n, 2); ``share`` of the last hidden layer
        drops out."""
        values = [x]
        for w, b in zip(self.weights[:-1], self.biases[:-1], strict=True):
            values.append(np.maximum(values[-1] @ w + b, 0))
        if share:
            values[-1] *= _kept(values[-1], share, rng)
        z = values[-1] @ self.weights[-1] + self.biases[-1]
        values.append(softmax(z, axis=1))
        return values

    def trained(
        self, rows: Floats, right: Bools, first: int, epochs: int, share: float, rate: float,
        rng: Rng,
    ) -> _Network:  # fmt: skip
        """The same after so many epochs of Adam on the layers from ``first`` on."""
        own = _Network([w.copy() for w in self.weights], [b.copy() for b in self.biases])
        adam = [_Adam(rate, p) for p in (*own.weights[first:], *own.biases[first:])]
        if first:  # what is frozen gives the same for ever
            rows = own.forward(rows, 0, rng)[first]
            own, whole = _Network(own.weights[first:], own.biases[first:]), own
        truth = np.stack([~right, right], axis=1).astype(np.float32)
        size = max(BATCH, -(-len(rows) // MOST_STEPS))
        for _ in range(epochs):
            order = rng.permutation(len(rows))
            for start in range(0, len(order), size):
                taken = order[start : start + size]
                for step, slope in zip(
                    adam, own._slopes(rows[taken], truth[taken], share, rng), strict=True
                ):
                    step.move(slope)
        return whole if first else own

    def _slopes(self, x: Floats, truth: Floats, share: float, rng: Rng) -> list[Floats]:
        """Of the mean cross-entropy: by all weights, then by all biases."""
        if len(self.weights) == 1 and share:
            x, share = x * _kept(x, share, rng), 0.0
        values = self.forward(x, share, rng)
        back = (values[-1] - truth) / np.float32(len(x))
        weights, biases = [], []
        for at in reversed(range(len(self.weights))):
            weights.append(values[at].T @ back)
            biases.append(back.sum(axis=0))
            if at:
                back = (back @ self.weights[at].T) * (values[at] > 0)
                if at == len(self.weights) - 1 and share:
                    back /= np.float32(1 - share)
        return [*weights[::-1], *biases[::-1]]


def _kept(values: Floats, share: float, rng: Rng) -> Floats:
    """0 for units that drop out; for the others what keeps the mean."""
    stay = rng.random(values.shape, dtype=np.float32) >= share
    return stay.astype(np.float32) / np.float32(1 - share)


class _Adam:
    """Moves one array in place."""

    def __init__(self, rate: float, own: Floats) -> None:
        self.rate, self.own = rate, own
        self.mean, self.square, self.steps = np.zeros_like(own), np.zeros_like(own), 0

    def move(self, slope: Floats) -> None:
        self.steps += 1
        self.mean += np.float32(1 - BETA_1) * (slope - self.mean)
        self.square += np.float32(1 - BETA_2) * (slope * slope - self.square)
        rate = self.rate * np.sqrt(1 - BETA_2**self.steps) / (1 - BETA_1**self.steps)
        self.own -= np.float32(rate) * self.mean / (np.sqrt(self.square) + np.float32(TINY))
