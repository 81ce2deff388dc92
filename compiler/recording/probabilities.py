"""The softmax vector of each recorded row, whatever the model's output gives."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from edgemon.compiler.models.outputs import LOGITS, PROBABILITIES
from edgemon.compiler.program.ir import Tap
from edgemon.compiler.recording.recording import Recording
from edgemon.runtime.views import PLAIN

Floats = npt.NDArray[np.float64]

SLACK = 2.0**-6  # by which a softmax of logits may miss probabilities that were quantised


def softmax_vectors(rows: Recording, kind: str) -> Floats:
    """(n, classes) of recorded rows, whose first tap is the model's output; of logits where they
    are tapped, since probabilities of integers saturate. ``kind``: see ``outputs.kind_of``."""
    own = rows.taps[0]
    values = rows.values(own.name)
    if own.length == 1:
        one = np.clip(values, 0, 1) if kind == PROBABILITIES else 1 / (1 + np.exp(-values))
        return np.concatenate([1 - one, one], axis=1)
    if kind == LOGITS or (kind != PROBABILITIES and not _sums_to_one(values)):
        return _softmax(values)
    p = np.clip(values, 0, 1)
    p /= np.maximum(p.sum(axis=1, keepdims=True), np.finfo(np.float64).tiny)
    for tap in rows.taps[1:]:
        if _may_be_logits(tap, own):
            found = _softmax(rows.values(tap.name))
            if np.abs(found - p).max(initial=0) < SLACK:
                return found
    return p


def _may_be_logits(tap: Tap, own: Tap) -> bool:
    return tap.length == own.length and tap.view == PLAIN and not tap.channels


def _sums_to_one(values: Floats) -> bool:
    return bool(
        values.min(initial=0) >= 0 and np.abs(values.sum(axis=1) - 1).max(initial=0) < SLACK
    )


def _softmax(z: Floats) -> Floats:
    odds = np.exp(z - z.max(axis=1, keepdims=True))
    found: Floats = odds / odds.sum(axis=1, keepdims=True)
    return found
