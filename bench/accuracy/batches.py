"""Batches of a stream whose rows get worse, as the paper's figure 4 has them of one set."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

import numpy as np

from edgemon.compiler.accuracy.table import AccuracyTable
from edgemon.compiler.estimation import estimates
from edgemon.compiler.estimation.inference import of_labels, prediction_powered
from edgemon.compiler.estimation.learned import Learned
from edgemon.compiler.estimation.observed import Observed
from edgemon.compiler.estimation.unlabelled import BASELINES
from edgemon.compiler.methods.accuracy import estimate

SIZE, EACH = 500, 16  # rows a batch, and batches of one strength
LABELS = 100  # a batch: the paper's 20 %


def follow(
    rows: Mapping[str, Observed], learned: Learned, own: AccuracyTable, seed: int
) -> dict[str, Any]:
    """Truth and every estimate of batches drawn with replacement: clean, then the fault with the
    most severities, in their order; and each estimate's root mean square error."""
    names = _worsening(list(rows))
    rng = np.random.default_rng([seed, SIZE])
    of: list[str] = []
    found: dict[str, list[float]] = {}
    for name in names:
        whole = rows[name]
        moved = _moved(whole, learned)
        for _ in range(EACH):
            batch = whole.take(rng.integers(0, len(whole), SIZE))
            at = rng.choice(SIZE, LABELS, replace=False)
            told, right = estimates.probabilities(batch, own), batch.right
            values = {
                "truth": float(right.mean()),
                "prediction_powered": prediction_powered(told, right[at], at).estimate,
                "random": of_labels(right[at], SIZE).estimate,
                "calibrated_score": float(told.mean()),
                **{
                    baseline: BASELINES[baseline].estimate(batch.p, learned.baselines[baseline])
                    for baseline in ("mp", "mp_star")
                },
            }
            if moved is not None:
                values["ensemble_transfer"] = estimate(moved.member_scores(batch.p))[0]
            for key, value in values.items():
                found.setdefault(key, []).append(value)
            of.append(name)
    truth = np.array(found.pop("truth"))
    return {
        "rows": SIZE, "labels": LABELS, "of": of, "truth": truth.tolist(), "estimates": found,
        "rmse": {
            name: float(np.sqrt(np.mean((np.array(own_) - truth) ** 2)))
            for name, own_ in found.items()
        },
    }  # fmt: skip


def _moved(whole: Observed, learned: Learned) -> Any:
    """The ensemble moved by 1 % of the set's labels, as published."""
    if learned.ensemble is None or whole.classes is None:
        return None
    at = estimates.most_entropy(whole, learned, max(1, round(0.01 * len(whole))))
    return learned.ensemble.transfer(whole.p[at], whole.right[at])


def _worsening(names: list[str]) -> list[str]:
    series: dict[str, list[str]] = {}
    for name in names[1:]:
        match = re.fullmatch(r"([a-z_]+) \d", name)
        if match:
            series.setdefault(match.group(1), []).append(name)
    return [names[0], *max(series.values(), key=len, default=[])]
