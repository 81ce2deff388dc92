"""Scores of the output equal their formulas, and rank as published."""

from __future__ import annotations

import tracemalloc
from pathlib import Path

import numpy as np
import pytest
from scipy.special import logsumexp, softmax
from scipy.stats import spearmanr

from edgemon.compiler.errors import CompileError
from edgemon.compiler.monitors import MONITORS, output_scores, parse
from edgemon.compiler.recording.recording import Recording
from tests.compiler.monitors.scoring import real_scores
from tests.compiler.recordings import make_recording


@pytest.fixture(scope="module")
def rows(tmp_path_factory: pytest.TempPathFactory) -> Recording:
    return make_recording(tmp_path_factory.mktemp("rows"), "float32", 400, 3)


def logits(rows: Recording) -> np.ndarray:
    return rows.values("logits")


def formula(name: str, z: np.ndarray) -> np.ndarray:
    p = softmax(z, axis=1)
    top = p.max(axis=1)
    return {
        "softmax": (1 - top) / top,
        "entropy": -(p * np.log(np.maximum(p, 1e-300))).sum(axis=1),
        "energy": -logsumexp(z, axis=1),
        "gen": ((p * (1 - p)) ** 0.1).sum(axis=1),
        "doctor": 1 / np.square(p).sum(axis=1),
        "odin_t": z.sum(axis=1) - z.shape[1] * z.max(axis=1),
    }[name]


@pytest.mark.parametrize("name", ["softmax", "entropy", "energy", "gen", "doctor", "odin_t"])
def test_scores_are_their_formulas(rows: Recording, name: str) -> None:
    found = real_scores(MONITORS[name](taps=("logits",)).fit(rows), rows)
    np.testing.assert_allclose(found, formula(name, logits(rows)), rtol=1e-6, atol=1e-9)


def test_temperature_has_the_least_negative_log_likelihood(rows: Recording) -> None:
    monitor = MONITORS["msp_t"](taps=("logits",)).fit(rows)
    t = monitor.details()["temperature"]

    def loss(temperature: float) -> float:
        z = logits(rows) / temperature
        own = z[np.arange(len(z)), rows.labels]
        return float((logsumexp(z, axis=1) - own).mean())

    assert all(loss(t) <= loss(t * factor) + 1e-9 for factor in (0.5, 0.9, 1.1, 2.0))
    expected = formula("softmax", logits(rows) / t)
    np.testing.assert_allclose(real_scores(monitor, rows), expected, rtol=1e-6)


def test_the_temperature_of_many_rows_of_many_classes_takes_little_more_than_their_logits(
    rows: Recording, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = MONITORS["msp_t"](taps=("logits",)).fit(rows).details()
    monkeypatch.setattr(output_scores, "BLOCK_ELEMENTS", 1 << 8)
    assert MONITORS["msp_t"](taps=("logits",)).fit(rows).details() == whole  # to the last bit
    many = make_recording(tmp_path, "float32", 20_000, 3)
    size = logits(many).nbytes
    tracemalloc.start()
    try:
        MONITORS["msp_t"](taps=("logits",)).fit(many)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 3 * size, peak / size  # all at once: 5.6 times


def test_an_odd_temperature_is_refused() -> None:
    with pytest.raises(CompileError, match=r"temperature=0\.0 must lie"):
        parse("energy:temperature=0")


def test_a_monitor_without_settings_says_so() -> None:
    with pytest.raises(CompileError, match="unknown setting 'score=entropy'; it has none"):
        parse("softmax:score=entropy")


def test_odin_is_exact_on_integers(tmp_path: Path) -> None:
    """With a large temperature ODIN without gradient orders as sum z - C max z does."""
    rows = make_recording(tmp_path, "int8", 200, 5)
    codes = rows.codes("logits").astype(np.int64)
    found = real_scores(MONITORS["odin_t"](taps=("logits",)).fit(rows), rows)
    whole = codes.sum(axis=1) - codes.shape[1] * codes.max(axis=1)
    np.testing.assert_allclose(found, whole * rows.tap("logits").scale, rtol=1e-12, atol=1e-12)
    large = 1 - softmax(rows.values("logits") / 1e4, axis=1).max(axis=1)
    assert spearmanr(large, whole).statistic > 0.9999
