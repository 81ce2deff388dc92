"""Trust of answers, as Wong, Wang, Hryniowski: "How Much Can We Really Trust You? Towards Simple,
Interpretable Trust Quantification Metrics for Deep Neural Networks", 2020, define it.

The paper contradicts itself in three places; each reading is an option here. Scenarios are those of
the oracle's answer in its equations 3 to 5, and of the model's in its text; its equations 7 and 8
are joint expectations, while the values of its table 1 are conditional; and P(z) is that of the
data or the same for each scenario.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy.special import ndtr

from edgemon.compiler.errors import DataError
from edgemon.compiler.statistics.intervals import Interval, percentiles

Floats = npt.NDArray[np.float64]
Bools = npt.NDArray[np.bool_]
Classes = npt.NDArray[np.int64]

SCENARIOS = ("true", "predicted")
PRIORS = ("data", "uniform")
BANDWIDTH = 0.5  # of the density's kernel, divided by the root of the rows
POINTS = 256  # at which a density is given
RESAMPLES = 1000


@dataclass(frozen=True)
class Spectrum:
    """Trust of one scenario; None without rows."""

    scenario: int | None  # the class, None for labels of none
    rows: int
    trust: float | None
    interval: Interval | None


@dataclass(frozen=True)
class Trust:
    """All figures of n answers."""

    rows: int
    accuracy: float
    net_trust_score: float
    interval: Interval | None
    confidence_right: float | None  # mean confidence, given that the answer is right
    confidence_wrong: float | None
    spectrum: tuple[Spectrum, ...]


def question_answer_trust(
    confidence: Floats, right: Bools, *, alpha: float = 1.0, beta: float = 1.0
) -> Floats:
    """Q (n,) of answers with a confidence (n,): C^alpha of a right one, (1 - C)^beta of a wrong one
    (equation 1). Raises DataError for exponents that are not positive."""
    if not (alpha > 0 and beta > 0):
        raise DataError(f"alpha {alpha} and beta {beta}: give positive numbers")
    found: Floats = np.where(right, confidence**alpha, (1 - confidence) ** beta)
    return found


def measure(
    confidence: Floats, right: Bools, scenario: Classes, classes: int, *, alpha: float = 1.0,
    beta: float = 1.0, prior: str = "data", joint: bool = False, seed: int = 0,
) -> Trust:  # fmt: skip
    """Trust of n answers in scenarios (n,), of which -1 is none of the classes. ``joint``: the
    confidences as equations 7 and 8 are printed. Raises DataError without rows."""
    if not len(right):
        raise DataError("no rows: trust needs answers")
    if prior not in PRIORS:
        raise DataError(f"P(z) {prior!r} is unknown; use {' or '.join(PRIORS)}")
    q = question_answer_trust(confidence, right, alpha=alpha, beta=beta)
    rng = np.random.default_rng(seed)
    names = [*range(classes), *([-1] if (scenario < 0).any() else [])]
    spectrum = tuple(_of_scenario(q[scenario == z], z, rng) for z in names)
    score = float(q.mean()) if prior == "data" else _uniform(spectrum)
    share = float(right.mean())
    return Trust(
        len(q), share, score, _interval(q, rng) if prior == "data" else None,
        _conditional(confidence, right, share if joint else 1.0),
        _conditional(confidence, ~right, 1 - share if joint else 1.0), spectrum,
    )  # fmt: skip


def of_conditional(accuracy: float, confidence_right: float, confidence_wrong: float) -> float:
    """The NetTrustScore of alpha = beta = 1 from an accuracy and the conditional confidences, by
    which table 1 can be computed again."""
    return accuracy * confidence_right + (1 - accuracy) * (1 - confidence_wrong)


def density(trust: Floats) -> tuple[Floats, Floats]:
    """The trust density: POINTS places on [0, 1], and F there, by a Gaussian kernel that is
    reflected at both ends, so that nothing of it lies outside. Raises DataError without rows."""
    if not len(trust):
        raise DataError("no rows: a density needs answers")
    width = BANDWIDTH / np.sqrt(len(trust))
    edges = np.linspace(0, 1, POINTS + 1)
    below = np.zeros(POINTS + 1)
    for block in np.array_split(trust, max(1, len(trust) // 4096)):
        for centre in (block, -block, 2 - block, block + 2, block - 2, -2 - block):
            below += ndtr((edges[:, None] - centre) / width).sum(axis=1)
    # Means over each step, not values at points: then the integral is 1 also where it is narrow.
    return (edges[1:] + edges[:-1]) / 2, np.diff(below) * POINTS / len(trust)


def _of_scenario(q: Floats, z: int, rng: np.random.Generator) -> Spectrum:
    scenario = None if z < 0 else z
    if not len(q):
        return Spectrum(scenario, 0, None, None)
    return Spectrum(scenario, len(q), float(q.mean()), _interval(q, rng))


def _interval(q: Floats, rng: np.random.Generator) -> Interval | None:
    means = np.array([q[rng.integers(0, len(q), len(q))].mean() for _ in range(RESAMPLES)])
    return percentiles(means)


def _uniform(spectrum: Sequence[Spectrum]) -> float:
    return float(np.mean([s.trust for s in spectrum if s.trust is not None]))


def _conditional(confidence: Floats, chosen: Bools, share: float) -> float | None:
    return float(confidence[chosen].mean()) * share if chosen.any() else None
