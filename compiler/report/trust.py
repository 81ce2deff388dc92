"""What a report says of the model's confidence."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from edgemon.compiler.documents import report as schema
from edgemon.compiler.recording.probabilities import softmax_vectors
from edgemon.compiler.recording.recording import Recording
from edgemon.compiler.statistics.calibration import expected_calibration_error
from edgemon.compiler.statistics.trust import measure, question_answer_trust


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
    }  # fmt: skip
