"""Rectified activations against NumPy."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from scipy.special import logsumexp

from edgemon.compiler import fitting
from edgemon.compiler.data.splits import Splits
from edgemon.compiler.errors import CompileError
from edgemon.compiler.monitors import parse
from edgemon.compiler.monitors.react import RectifiedMonitor
from edgemon.compiler.promise.thresholds import FalseAlarmPromise
from tests.compiler.monitors.scoring import real_scores
from tests.compiler.recordings import make_recording

TAPS = ("features", "logits")


@pytest.mark.parametrize("dtype", ["int8", "float32"])
@pytest.mark.parametrize("percentile", [50.0, 90.0, 100.0])
@pytest.mark.parametrize("score", ["energy", "msp"])
def test_the_score_is_that_of_clipped_features(
    tmp_path: Path, dtype: str, percentile: float, score: str
) -> None:
    """On a network whose logits are linear in its features."""
    rows = make_recording(tmp_path, dtype, 600, 1)
    monitor = RectifiedMonitor(TAPS, percentile, score).fit(rows)
    x, z = rows.values("features"), rows.values("logits")
    bound = np.sort(x[x > 0])[int((x > 0).sum() * percentile / 100) - 1]
    assert monitor.upper_ == pytest.approx(bound, abs=0.2)
    assert monitor.details()["logits_explained"] > 0.9
    model = np.linalg.lstsq(np.column_stack([x, np.ones(600)]), z, rcond=None)[0]
    clipped = np.column_stack([np.minimum(x, monitor.upper_), np.ones(600)]) @ model
    if score == "energy":
        expected = -logsumexp(clipped, axis=1)
    else:
        own = clipped[np.arange(600), rows.predicted]
        others = clipped.copy()
        others[np.arange(600), rows.predicted] = -np.inf
        expected = logsumexp(others, axis=1) - own
    np.testing.assert_allclose(real_scores(monitor, rows), expected, rtol=1e-6, atol=1e-6)
    if percentile == 100:
        assert monitor.details()["share_clipped"] == 0
    splits = Splits(rows, rows, rows)
    fitted = fitting.fit_monitors([monitor], "output", splits, FalseAlarmPromise())
    (judge,) = fitted.judges
    found = fitted.on_test.scores[0] * judge.monitor.display_scale
    assert np.corrcoef(found, expected)[0, 1] > 0.999


def test_mistakes_are_one_sentence(tmp_path: Path) -> None:
    with pytest.raises(CompileError, match="score='odin' is unknown; use energy, msp"):
        parse("react:score=odin")
    with pytest.raises(CompileError, match=r"percentile=0\.0 must lie between 1 and 100"):
        parse("react:percentile=0")
    rows = make_recording(tmp_path, "float32", 100, 1)
    rows.files[2].write(0, np.full((100, 12), -1, np.float32))
    with pytest.raises(CompileError, match="'features' is never positive; read another layer"):
        RectifiedMonitor(TAPS).fit(rows)
