"""Is a confidence of .8 right in 80 % of cases? What the field uses to say so."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from edgemon.compiler.statistics.intervals import Interval, clopper_pearson

Floats = npt.NDArray[np.float64]
Bools = npt.NDArray[np.bool_]
Classes = npt.NDArray[np.int64]

BINS = 15  # as Guo et al. 2017


@dataclass(frozen=True)
class Bin:
    """Answers whose confidence lies in one step of a reliability diagram."""

    low: float
    high: float
    rows: int
    confidence: float | None  # their mean
    accuracy: float | None
    interval: Interval | None  # exact, of the accuracy


def reliability(confidence: Floats, right: Bools, bins: int = BINS) -> tuple[Bin, ...]:
    """The diagram of n answers; the first step is closed, the others are open below."""
    edges = np.linspace(0, 1, bins + 1)
    at = np.clip(np.ceil(confidence * bins).astype(int) - 1, 0, bins - 1)
    found = []
    for i in range(bins):
        own = at == i
        rows, hits = int(own.sum()), int(right[own].sum())
        found.append(
            Bin(
                float(edges[i]), float(edges[i + 1]), rows,
                float(confidence[own].mean()) if rows else None,
                hits / rows if rows else None, clopper_pearson(hits, rows),
            )
        )  # fmt: skip
    return tuple(found)


def expected_calibration_error(confidence: Floats, right: Bools, bins: int = BINS) -> float:
    """The mean gap between confidence and accuracy of the bins, by their rows (Naeini et al. 2015,
    Guo et al. 2017)."""
    return float(
        sum(
            b.rows / len(right) * abs(b.confidence - b.accuracy)
            for b in reliability(confidence, right, bins)
            if b.confidence is not None and b.accuracy is not None
        )
    )


def classwise_error(p: Floats, classes: Classes, bins: int = BINS) -> float:
    """The mean over classes of the calibration error of each one's probability (Kull et al. 2019),
    from softmax vectors (n, classes)."""
    each = [
        expected_calibration_error(p[:, c], np.equal(classes, c), bins) for c in range(p.shape[1])
    ]
    return float(np.mean(each))


def brier(p: Floats, classes: Classes) -> float:
    """The mean squared distance (0 to 2) of softmax vectors from the true class (Brier 1950). A
    label of no class is far from every one."""
    truth = np.zeros_like(p)
    known = classes >= 0
    truth[np.flatnonzero(known), classes[known]] = 1
    return float(((p - truth) ** 2).sum(axis=1).mean())
