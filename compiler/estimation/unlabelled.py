"""Estimates of accuracy from softmax vectors alone, without labels of the user's rows.

Each learns at most one number on labelled reference rows. All of them assume that what a softmax
vector says of its answer is the same on the user's rows; under shift it is not (docs/accuracy.md).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.optimize import minimize_scalar
from scipy.special import softmax

Array = npt.NDArray[Any]
Floats = npt.NDArray[np.float64]
Bools = npt.NDArray[np.bool_]

TINY = 1e-12  # for logarithms
TEMPERATURES = (0.02, 50.0)


@dataclass(frozen=True, eq=False)
class Outputs:
    """Softmax vectors (n, classes); of reference rows also the class of each label (n,), -1 for a
    label of none, and where the model was right (n,)."""

    p: Floats
    classes: npt.NDArray[np.int64]
    right: Bools


@dataclass(frozen=True)
class Baseline:
    """``fit`` learns a number, ``estimate`` uses it; ``source`` says whose method it is."""

    fit: Callable[[Outputs], float]
    estimate: Callable[[Floats, float], float]
    source: str


def largest(p: Floats) -> Floats:
    """The largest probability of each vector (n,)."""
    found: Floats = p.max(axis=1)
    return found


def negative_entropy(p: Floats) -> Floats:
    """Of each vector (n,), in nats."""
    found: Floats = (p * np.log(np.maximum(p, TINY))).sum(axis=1)
    return found


def tempered(p: Floats, temperature: float) -> Floats:
    """The vectors with logits divided by a temperature."""
    z = np.log(np.maximum(p, TINY)) / temperature
    return np.asarray(softmax(z, axis=1), np.float64)


def temperature_of(p: Floats, classes: npt.NDArray[np.int64]) -> float:
    """The temperature of the least negative log-likelihood (Guo et al. 2017) of these labels; rows
    whose label is of no class are left out. 1 without rows."""
    known = classes >= 0
    if not known.any():
        return 1.0
    rows, own = p[known], classes[known]

    def loss(log_temperature: float) -> float:
        told = tempered(rows, float(np.exp(log_temperature)))
        return float(-np.log(np.maximum(told[np.arange(len(own)), own], TINY)).mean())

    found = minimize_scalar(loss, bounds=tuple(np.log(TEMPERATURES)), method="bounded")
    return float(np.exp(found.x))


def threshold(scores: Floats, right: Bools) -> float:
    """That which as many scores exceed as answers are right, as nearly as ties let."""
    ordered = np.unique(scores)
    above = len(scores) - np.searchsorted(np.sort(scores), ordered, side="right")
    candidates = np.append(np.nextafter(ordered[0], -np.inf), ordered)
    exceeding = np.append(len(scores), above)
    return float(candidates[np.argmin(np.abs(exceeding - right.sum()))])


def _share_above(score: Callable[[Floats], Floats]) -> tuple[Any, Any]:
    return (
        lambda rows: threshold(score(rows.p), rows.right),
        lambda p, learned: float((score(p) > learned).mean()),
    )


BASELINES: Mapping[str, Baseline] = {
    "mp": Baseline(
        *_share_above(largest),
        "share whose largest probability exceeds a threshold (MP; average thresholded confidence, "
        "Garg et al. 2022)",
    ),
    "entropy": Baseline(
        *_share_above(negative_entropy),
        "share whose entropy is below a threshold (average thresholded confidence on entropy)",
    ),
    "mp_star": Baseline(
        lambda _: 0.0, lambda p, _: float(largest(p).mean()), "mean largest probability (MP*)"
    ),
    "temperature_reference": Baseline(
        lambda rows: temperature_of(rows.p, rows.classes),
        lambda p, t: float(largest(tempered(p, t)).mean()),
        "mean largest probability at the temperature of the reference rows (Guo et al. 2017)",
    ),
    "doc": Baseline(
        lambda rows: float(rows.right.mean() - largest(rows.p).mean()),
        lambda p, gap: float(np.clip(largest(p).mean() + gap, 0, 1)),
        "difference of confidences (Guillory et al. 2021)",
    ),
}
