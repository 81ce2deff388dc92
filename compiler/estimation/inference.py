"""How often a model is right on given rows, from labels of a few that were drawn at random.

Whatever the shift, these estimates are unbiased and their intervals hold: they stand on the draw
alone. The rows are all there is to know about, so that labels of all of them leave no interval.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.stats import norm

from edgemon.compiler.errors import DataError

Array = npt.NDArray[Any]
Floats = npt.NDArray[np.float64]
Bools = npt.NDArray[np.bool_]

CONFIDENCE = 0.95
FEWEST_LABELS = 10  # below which no interval is given
RARE = 2  # with fewer wrong (or right) answers among the labels, their spread is not seen in them


@dataclass(frozen=True)
class Share:
    """A share of rows, and an interval around it, if there is one."""

    estimate: float
    low: float | None = None
    high: float | None = None


def of_labels(right: Bools, whole: int) -> Share:
    """From where the model was right (k,) on rows drawn from ``whole`` without replacement."""
    return prediction_powered(np.zeros(whole), right, np.arange(len(right)))


def prediction_powered(predicted: Floats, right: Bools, drawn: npt.NDArray[np.intp]) -> Share:
    """The mean of predictions of being right over all rows (n,), corrected by what labels say of
    the ``drawn`` ones (k,), without replacement (Angelopoulos et al., "Prediction-powered
    inference", Science 2023). Predictions are weighed by how well they foretell the labels
    (Angelopoulos, Duchi, Zrnic, "PPI++", 2023; in sampling, a regression estimator: Cochran 1977,
    chapter 7), so that useless ones cost nothing. Raises DataError without labels.
    """
    count, whole = len(right), len(predicted)
    if not 1 <= count <= whole:
        raise DataError(f"{count} labels of {whole} rows: give at least one, of rows that exist")
    truth, told = right.astype(np.float64), predicted[drawn]
    weight = _weight(told, truth)
    mean = weight * predicted.mean() + (truth - weight * told).mean()
    estimate = float(np.clip(mean, 0, 1))
    if count == whole:
        return Share(estimate, estimate, estimate)
    if count < FEWEST_LABELS:
        return Share(estimate)
    spread = (truth - weight * told).var() * count / (count - (2 if weight else 1))
    if min(truth.sum(), count - truth.sum()) < RARE:
        spread = max(spread, estimate * (1 - estimate))
    return Share(estimate, *wilson(estimate, float(spread / count * (1 - count / whole)), count))


def wilson(share: float, variance: float, labels: int) -> tuple[float, float]:
    """Wilson's interval (1927) of a share that was estimated with this variance: that of as many
    labels as would give the variance by themselves (Korn & Graubard 1998 do so in surveys). A
    share at which no variance can be seen has that of its labels."""
    z = float(norm.ppf((1 + CONFIDENCE) / 2))
    own = share * (1 - share)
    size = own / variance if own and variance else float(labels)
    centre = (share + z * z / (2 * size)) / (1 + z * z / size)
    half = z / (1 + z * z / size) * np.sqrt(own / size + (z / (2 * size)) ** 2)
    return max(0.0, float(centre - half)), min(1.0, float(centre + half))


def _weight(told: Floats, truth: Floats) -> float:
    """The weight that leaves the least variance, from 0 to 1."""
    spread = float(told.var())
    if not spread or len(told) < FEWEST_LABELS:
        return 1.0 if spread else 0.0
    return float(np.clip(((told - told.mean()) * truth).mean() / spread, 0, 1))
