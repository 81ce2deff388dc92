"""Two answers that a system combines: is the result right, and is that more than both being right?

The example of the draft is a system that adds two digits. Where errors of a pair are independent
the result is right about as often as the product of its parts says, and to look at pairs adds
nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from edgemon.bench.errors import BenchError
from edgemon.compiler.statistics.intervals import Interval, percentiles

Array = npt.NDArray[Any]
Bools = npt.NDArray[np.bool_]
Indices = npt.NDArray[np.intp]

RESAMPLES = 500


@dataclass(frozen=True)
class Combiner:
    """``result``: of the classes that two frames were answered with, (n,) each, and the confidence
    of either. ``same``: are both frames of one class? ``numeric``: do classes stand for numbers?"""

    result: Callable[[Array, Array, Array, Array], Array]
    what: str
    same: bool = False
    numeric: bool = False


COMBINERS: Mapping[str, Combiner] = {
    "add": Combiner(lambda a, b, _, __: a + b, "the sum of two digits", numeric=True),
    "both": Combiner(
        lambda a, b, _, __: a * (1 << 20) + b, "both answers, as a pair"
    ),
    "max": Combiner(lambda a, b, _, __: np.maximum(a, b), "the larger of two", numeric=True),
    "vote": Combiner(
        lambda a, b, c, d: np.where(c >= d, a, b), "the surer of two frames of one thing", same=True
    ),
}  # fmt: skip


@dataclass(frozen=True, eq=False)
class Pairs:
    """Positions (m,) of both frames among the sampled rows, which belong together."""

    first: Indices
    second: Indices

    @classmethod
    def drawn(cls, classes: Array, combiner: Combiner, count: int, seed: int) -> Pairs:
        """``count`` pairs of different rows for every two classes (or each class)."""
        rng = np.random.default_rng(seed)
        of = {c: np.flatnonzero(classes == c) for c in np.unique(classes).tolist()}
        first, second = [], []
        for one in of:
            for other in [one] if combiner.same else of:
                a, b = rng.choice(of[one], count), rng.choice(of[other], count)
                first.append(a[a != b])
                second.append(b[a != b])
        return cls(np.concatenate(first), np.concatenate(second))


@dataclass(frozen=True)
class Together:
    """``rate``: share of pairs whose result is right; ``product``: what their parts' rates say;
    ``masked``: share that is right although an answer is wrong; ``excess``: rate less product."""

    pairs: int
    rate: float
    product: float
    masked: float
    excess: float
    interval: Interval | None

    @property
    def adds_nothing(self) -> bool:
        """May the excess be 0?"""
        return self.interval is not None and self.interval[0] <= 0 <= self.interval[1]


def combine(
    combiner: Combiner, pairs: Pairs, classes: Array, predicted: Array, confidence: Array,
    values: Array, seed: int,
) -> Together:  # fmt: skip
    """Of sampled rows: their classes (n,), answers (n,) with a confidence (n,), and the numbers
    that classes stand for. The interval is that of draws of rows within each class."""
    right = predicted == classes
    a, b = pairs.first, pairs.second
    answered = np.where(predicted >= 0, values[np.maximum(predicted, 0)], -(1 << 30))
    truth = values[classes]
    result = combiner.result(answered[a], answered[b], confidence[a], confidence[b])
    good = result == combiner.result(truth[a], truth[b], confidence[a], confidence[b])
    both = right[a] & right[b]
    own = _rates(right, classes, np.ones(len(classes)))
    product = float((own[classes[a]] * own[classes[b]]).mean())
    rate = float(good.mean())
    rng = np.random.default_rng(seed)
    draws = []
    for _ in range(RESAMPLES):
        weight = _drawn(classes, rng)
        pair = weight[a] * weight[b]
        shares = _rates(right, classes, weight)
        whole = pair.sum()
        if whole:
            expected = (pair * shares[classes[a]] * shares[classes[b]]).sum() / whole
            draws.append((pair * good).sum() / whole - expected)
    return Together(
        len(a), rate, product, float((good & ~both).mean()), rate - product,
        percentiles(np.array(draws)) if draws else None,
    )  # fmt: skip


def find(name: str, names: Sequence[str]) -> tuple[str, Combiner, Array]:
    """A combiner by name ("": add where classes are numbers, else both), and the number that each
    class stands for. Raises BenchError."""
    numbers = all(n.lstrip("-").isdigit() for n in names)
    name = name or ("add" if numbers else "both")
    if name not in COMBINERS:
        raise BenchError(f"--combine {name!r} is unknown; use {', '.join(COMBINERS)}")
    found = COMBINERS[name]
    if not found.numeric:
        return name, found, np.arange(len(names))
    if not numbers:
        raise BenchError(
            f"--combine {name} needs classes that are numbers, and these are {', '.join(names[:5])}"
            "; use --combine both"
        )
    return name, found, np.array([int(n) for n in names])


def _rates(right: Bools, classes: Array, weight: Array) -> Array:
    whole = np.bincount(classes, weight)
    return np.asarray(np.bincount(classes, weight * right) / np.maximum(whole, 1e-12))


def _drawn(classes: Array, rng: np.random.Generator) -> Array:
    """How often each row (n,) is drawn, with replacement within its class."""
    found = np.zeros(len(classes))
    for c in np.unique(classes):
        own = np.flatnonzero(classes == c)
        found[own] = np.bincount(rng.integers(0, len(own), len(own)), minlength=len(own))
    return found
