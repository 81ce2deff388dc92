"""Several methods on several data sets: ranks, and what differs (Demsar 2006, "Statistical
Comparisons of Classifiers over Multiple Data Sets").

Values are (sets, methods), higher is better; the best method of a set has rank 1, equal ones share
the mean of theirs.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np
import numpy.typing as npt
from scipy.stats import f, friedmanchisquare, rankdata, studentized_range, wilcoxon

Floats = npt.NDArray[np.float64]

ALPHA = 0.05
FEWEST = 3  # methods that Friedman's test compares
DRAWS, PRIOR = 4000, 0.5  # of the Bayesian test: draws, and the weight of its pseudo-observation


def critical_difference(methods: int, sets: int, alpha: float = ALPHA) -> float:
    """Of mean ranks (Nemenyi 1963): q sqrt(k (k + 1) / 6N), q of the studentised range."""
    q = float(studentized_range.ppf(1 - alpha, methods, np.inf)) / np.sqrt(2)
    return float(q * np.sqrt(methods * (methods + 1) / (6 * sets)))


@dataclass(frozen=True)
class Ranking:
    """``ranks`` are means over the sets, in the order of the methods. Friedman's chi2 with its p,
    and Iman and Davenport's F, which is less conservative; None where there are fewer than three
    methods or two sets, or all values are equal. ``cliques``: positions of methods, by rank, that
    are closer together than the critical difference; none that lies in another."""

    sets: int
    ranks: tuple[float, ...]
    critical_difference: float | None
    chi2: float | None
    chi2_p: float | None
    f: float | None
    f_p: float | None
    cliques: tuple[tuple[int, ...], ...]

    @property
    def differs(self) -> bool:
        """Is it refuted that all methods are alike, at 5 %?"""
        return self.f_p is not None and self.f_p < ALPHA

    @classmethod
    def of(cls, values: Floats) -> Ranking:
        """From values (sets, methods) without NaN."""
        n, k = values.shape
        ranks = rankdata(-values, axis=1).mean(axis=0)
        reach = critical_difference(k, n) if k > 1 and n else None
        chi2, chi2_p, ratio, ratio_p = None, None, None, None
        if k >= FEWEST and n > 1 and np.ptp(values, axis=1).any():
            found = friedmanchisquare(*values.T)
            chi2, chi2_p = float(found.statistic), float(found.pvalue)
            rest = n * (k - 1) - chi2
            ratio = float((n - 1) * chi2 / rest) if rest > 1e-9 else np.inf
            ratio_p = float(f.sf(ratio, k - 1, (k - 1) * (n - 1)))
            ratio = ratio if np.isfinite(ratio) else None
        return cls(
            n, tuple(map(float, ranks)), reach, chi2, chi2_p, ratio, ratio_p,
            () if reach is None else cliques(ranks, reach),
        )  # fmt: skip


def cliques(ranks: Floats, reach: float) -> tuple[tuple[int, ...], ...]:
    """Groups of two and more positions whose ranks differ by at most ``reach``."""
    order = np.argsort(ranks, kind="stable")
    found: list[tuple[int, ...]] = []
    last = -1
    for first in range(len(order)):
        end = first
        while end + 1 < len(order) and ranks[order[end + 1]] - ranks[order[first]] <= reach:
            end += 1
        if end > first and end > last:
            found.append(tuple(order[first : end + 1].tolist()))
            last = end
    return tuple(found)


@dataclass(frozen=True)
class Pair:
    """Two methods, by position: the mean of ``one`` minus ``other``, Wilcoxon's signed-rank p, the
    same after Holm's correction for all pairs, and the probabilities of the Bayesian signed-rank
    test that one is better, that they are alike within the rope, and that the other is."""

    one: int
    other: int
    difference: float
    p: float
    p_holm: float
    one_better: float
    alike: float
    other_better: float


def pairs(values: Floats, *, rope: float, seed: int) -> list[Pair]:
    """All pairs of methods, from values (sets, methods)."""
    chosen = list(combinations(range(values.shape[1]), 2))
    differences = [values[:, a] - values[:, b] for a, b in chosen]
    p = [float(wilcoxon(d).pvalue) if d.any() else 1.0 for d in differences]
    return [
        Pair(a, b, float(d.mean()), raw, corrected, *signed_rank(d, rope=rope, seed=seed))
        for (a, b), d, raw, corrected in zip(chosen, differences, p, holm(p), strict=True)
    ]


def holm(p: Sequence[float]) -> list[float]:
    """p-values of several tests, corrected step by step (Holm 1979)."""
    order = np.argsort(p, kind="stable")
    found, largest = [0.0] * len(p), 0.0
    for done, at in enumerate(order):
        largest = max(largest, min(1.0, (len(p) - done) * p[at]))
        found[at] = largest
    return found


def signed_rank(
    differences: Floats, *, rope: float, seed: int = 0, draws: int = DRAWS
) -> tuple[float, float, float]:
    """Probabilities that the first method is better by more than ``rope``, that they are alike, and
    that the second is (Benavoli et al. 2017, "Time for a Change"): a Dirichlet process over the
    differences (n,), with one pseudo-observation of 0."""
    z = np.append(0.0, differences)
    sums = z[:, None] + z
    above, below = (sums > 2 * rope).astype(float), (sums < -2 * rope).astype(float)
    rng = np.random.default_rng(seed)
    weights = rng.dirichlet([PRIOR, *[1.0] * len(differences)], draws)
    better = np.einsum("ni,ij,nj->n", weights, above, weights, optimize=True)
    worse = np.einsum("ni,ij,nj->n", weights, below, weights, optimize=True)
    most = np.argmax([better, 1 - better - worse, worse], axis=0)
    first, alike, second = (float((most == i).mean()) for i in range(3))
    return first, alike, second
