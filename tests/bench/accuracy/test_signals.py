"""Signals of being right, side by side."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from edgemon.bench.accuracy.signals import Distilled, pairs
from edgemon.bench.errors import BenchError
from tests.command_line import DATA, document


def test_a_small_network_in_int8_learns_what_it_is_told() -> None:
    """A smooth function of the largest probability, told to within a few hundredths."""
    rng = np.random.default_rng(0)
    p = rng.dirichlet(np.full(4, 0.3), 3000)
    target = p.max(axis=1) ** 2
    found = Distilled.of(p[:2000], target[:2000], seed=0)
    assert np.abs(found(p[2000:]) - target[2000:]).mean() < 0.05
    assert all(np.abs(w).max() <= 127 and (w == np.rint(w)).all() for w in found.weights)
    assert found.bytes == 4 * 16 + 16 + 4 * 17


def test_all_signals_on_all_sets(digits_bundle: Path) -> None:
    found = document(
        "accuracy-signals", digits_bundle, "--reference", f"{DATA}[0:700]", "--data",
        f"{DATA}[700:1000]", "--faults", "contrast:5", "--members", "2", "--epochs", "10",
    )  # fmt: skip
    assert [line["set"] for line in found["lines"]] == ["clean", "contrast 5"]
    for line in found["lines"]:
        assert set(line["signals"]) == {"table", "ensemble", "distilled"}
        for signal in line["signals"].values():
            assert signal["estimate"] - signal["error"] == pytest.approx(line["accuracy"])
            assert 0 <= signal["brier"] <= 1
    clean, worse = found["lines"]
    assert worse["accuracy"] < clean["accuracy"]
    assert clean["signals"]["table"]["auroc"] > 0.6


@pytest.mark.parametrize("text", ["fog", "fog:0", "fog:6", "fog:x"])
def test_faults_without_a_severity_are_refused(text: str) -> None:
    with pytest.raises(BenchError, match="severities 1 to 5"):
        pairs(text)
