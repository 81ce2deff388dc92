"""What a report says of the model's confidence."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import cast

import numpy as np
import numpy.typing as npt

from edgemon.compiler.documents import report as schema
from edgemon.compiler.recording.probabilities import softmax_vectors
from edgemon.compiler.recording.recording import Recording
from edgemon.compiler.statistics.calibration import expected_calibration_error, reliability
from edgemon.compiler.statistics.trust import Trust, density, measure, question_answer_trust

WORST = 3  # classes whose density is shown


def describe_trust(
    test: Recording, output_kind: str, passed: npt.NDArray[np.bool_], labels: Sequence[str]
) -> schema.TrustReport:
    """Of the test rows (n,), of which the verdict let some pass (n,)."""
    p = softmax_vectors(test, output_kind)
    confidence = p[np.arange(len(p)), test.predicted]
    right = test.correct
    assert test.labels is not None
    found = measure(confidence, right, test.labels, test.n_classes)
    trust = question_answer_trust(confidence, right)
    return {
        "net_trust_score": found.net_trust_score,
        "interval": found.interval,
        "confidence_right": found.confidence_right,
        "confidence_wrong": found.confidence_wrong,
        "expected_calibration_error": expected_calibration_error(confidence, right),
        "passing": float(trust[passed].mean()) if passed.any() else None,
        "spectrum": [
            {
                "label": labels[s.scenario], "rows": s.rows, "trust": s.trust,
                "interval": s.interval,
            }
            for s in found.spectrum
            if s.scenario is not None
        ],
        "densities": densities(found, trust, test.labels, labels),
        "reliability": [
            cast(schema.ReliabilityBin, asdict(b)) for b in reliability(confidence, right)
        ],
    }  # fmt: skip


def densities(
    found: Trust, trust: npt.NDArray[np.float64], classes: npt.NDArray[np.int64],
    names: Sequence[str],
) -> list[schema.TrustDensity]:  # fmt: skip
    """Of the trust (n,) of all answers, and of the ``classes`` (n,) that are trusted least."""
    known = [s for s in found.spectrum if s.trust is not None and s.scenario is not None]
    worst = sorted(known, key=lambda s: s.trust or 0.0)[:WORST]
    parts = [(None, trust)] + [(s.scenario, trust[classes == s.scenario]) for s in worst]
    return [
        {
            "label": None if z is None else names[z],
            "trust": places.round(6).tolist(), "density": values.round(6).tolist(),
        }
        for z, rows in parts
        for places, values in [density(rows)]
    ]  # fmt: skip
