"""A thousand classes: what cannot fit the budget is not fitted, and single rows teach no spread."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from edgemon.compiler.data.row_file import RowFile
from edgemon.compiler.monitors import MONITORS
from edgemon.compiler.monitors.fusion.fusion import FusionMonitor
from edgemon.compiler.program.ir import Tap
from edgemon.compiler.recording.recording import Recording

LARGE = ("second_opinion", "mahalanobis_gap", "fdbd", "prototype_odds", "rmds", "prototypes")
TAPS = {"msp_t": ("logits",), "fdbd": ("features", "logits")}


def many(folder: Path, classes: int, width: int, rows: int) -> Recording:
    """Random logits, which are right half of the time, and features."""
    rng = np.random.default_rng(0)
    logits = rng.normal(size=(rows, classes))
    predicted = logits.argmax(axis=1).astype(np.int32)
    labels = np.where(rng.random(rows) < 0.5, predicted, rng.integers(0, classes, rows))
    values = {"output": logits, "logits": logits, "features": rng.normal(size=(rows, width))}
    files = []
    for name, content in values.items():
        files.append(RowFile.create(folder / f"{name}.npy", content.shape, np.float32))
        files[-1].write(0, content.astype(np.float32))
    taps = tuple(Tap(n, "float32", v.shape[1]) for n, v in values.items())
    return Recording(taps, tuple(files), np.arange(rows), predicted, labels, classes)


def test_what_cannot_fit_the_budget_is_not_fitted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """1,001 classes took 19.8 GB and ten minutes, for signals that no budget had room for."""
    rows = many(tmp_path, 1001, 1280, 40)

    def fit(self: Any, _recording: Recording) -> None:
        raise AssertionError(f"{self.kind} was fitted")

    for kind in LARGE:
        monkeypatch.setattr(MONITORS[kind], "_fit", fit)
    made = {k: MONITORS[k](taps=TAPS.get(k, ("features",))) for k in ("msp_t", *LARGE)}
    fusion = MONITORS["scod"](
        taps=("features", "logits"),
        signals=tuple(made[k] for k in ("msp_t", *LARGE[:4])),
        novelty=(made["rmds"],),
    )
    assert isinstance(fusion, FusionMonitor)
    fusion.fit(rows)
    assert [m.kind for m in fusion.members_] == ["msp_t"]
    assert set(fusion.left_out_) == set(LARGE[:5])
    assert all("kB or more with 1,001 classes" in why for why in fusion.left_out_.values())


def test_the_mean_of_wide_features_counts(tmp_path: Path) -> None:
    """fdbd of 9,216 features, 36 kB, was fitted for minutes, and never fitted in."""
    rows = many(tmp_path, 4, 9216, 8)
    assert MONITORS["fdbd"](taps=TAPS["fdbd"]).least_bytes(rows) > 36 * 1024


@pytest.mark.parametrize("kind", ["mahalanobis_gap", "rmds"])
def test_classes_with_one_row_teach_no_spread_and_raise_no_warning(
    tmp_path: Path, kind: str
) -> None:
    """scikit-learn warned once for each such class: 272 times."""
    rows = many(tmp_path, 30, 6, 90)
    labels = rows.labels
    assert labels is not None
    labels[labels >= 20] %= 20
    labels[:5] = np.arange(20, 25)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        MONITORS[kind](taps=("features",)).fit(rows)
