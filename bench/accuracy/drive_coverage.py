"""How often the interval of a device's estimate covers the truth, by simulation."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from edgemon.compiler.statistics.intervals import clopper_pearson
from edgemon.runtime.accuracy import Accuracy
from edgemon.runtime.evaluation import Evaluation
from edgemon.runtime.monitor import Monitor


@dataclass(frozen=True)
class Rows:
    """What the model and its monitors make of images, and which answers are right."""

    found: Evaluation
    right: npt.NDArray[np.bool_]
    probabilities: npt.NDArray[np.uint16]  # of being right, in 1/65535
    scored: npt.NDArray[np.bool_]

    def weights(self, share: float) -> npt.NDArray[np.float64]:
        """Of rows with a score, so that this share of them is right."""
        right, wrong = self.right & self.scored, ~self.right & self.scored
        own: npt.NDArray[np.float64] = right * share / max(right.sum(), 1)
        own += wrong * (1 - share) / max(wrong.sum(), 1)
        return own


def coverage(
    monitor: Monitor, pool: Rows, labels: int, draws: int, rng: np.random.Generator,
    share: float | None = None,
) -> dict[str, Any]:  # fmt: skip
    """Of a full window and so many labels, all drawn from the rows with a score; ``share``: so that
    this share of them is right. The truth is the share in the rows, not in the window."""
    table = monitor.accuracy
    assert table is not None
    truth = float(pool.right[pool.scored].mean()) if share is None else share
    weights = pool.weights(truth)
    inside, widths, errors = 0, [], []
    for _ in range(draws):
        accuracy = Accuracy(monitor)
        drawn = rng.choice(len(weights), table.window + labels, p=weights)
        accuracy.update(pool.found.take(drawn[labels:]))
        for row in drawn[:labels]:
            accuracy.label(int(pool.probabilities[row]), bool(pool.right[row]))
        own = accuracy.estimate()
        assert own is not None
        low, high = own.interval
        inside += low <= truth <= high
        widths.append(high - low)
        errors.append(own.accuracy - truth)
    return {
        "labels": labels, "accuracy": truth, "draws": draws,
        "coverage": inside / draws, "interval": clopper_pearson(inside, draws),
        "mean_width": float(np.mean(widths)), "mean_error": float(np.mean(np.abs(errors))),
        "bias": float(np.mean(errors)),
    }  # fmt: skip
