"""rmds reads the last feature map beside the features, and can do without."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from edgemon.compiler.cost.bill import Bill
from edgemon.compiler.data.row_file import RowFile
from edgemon.compiler.monitors import MONITORS
from edgemon.compiler.monitors.lowering import lowered
from edgemon.compiler.recording.recording import Recording
from tests.compiler.monitors.scoring import real_scores
from tests.compiler.recordings import WIDTH, make_recording

POSITIONS = 9


def with_map(folder: Path, dtype: str, rows: int) -> Recording:
    """Features that are the means of a map's channels, whose deviations know the class better."""
    found = make_recording(folder, dtype, rows, 3)
    rng = np.random.default_rng(0)
    spread = 0.2 + np.asarray(found.labels)[:, None] + np.zeros(WIDTH)
    real = rng.normal(0, 1, (rows, POSITIONS, WIDTH)) * spread[:, None, :]
    real += found.values("features")[:, None, :]
    tap = replace(found.tap("features"), tensor="map", length=POSITIONS * WIDTH, channels=WIDTH)
    codes = real.astype(np.float32)
    if dtype == "int8":
        codes = np.clip(np.rint(real / tap.scale) + tap.zero_point, -128, 127).astype(np.int8)
    file = RowFile.create(folder / "map.npy", (rows, tap.length), dtype)
    file.write(0, codes.reshape(rows, -1))
    taps = [replace(t, means_of="map" * (t.name == "features")) for t in found.taps]
    return replace(found, taps=(*taps, tap), files=(*found.files, file))


@pytest.mark.parametrize("dtype", ["int8", "float32"])
def test_the_program_sums_what_each_layer_says(tmp_path: Path, dtype: str) -> None:
    rows = with_map(tmp_path / "r", dtype, 400)
    monitor = MONITORS["rmds"](taps=("features", "map")).fit(rows)
    deviations = rows.features("map", statistic="deviation")
    x = np.concatenate([rows.features("features"), deviations], axis=1)
    y = x @ monitor.projection_.T + monitor.shift_
    own = np.square(y - monitor.means_[rows.predicted]).sum(axis=1)
    expected = own - np.square(y / monitor.spread_).sum(axis=1)
    np.testing.assert_allclose(real_scores(monitor, rows), expected, rtol=1e-6, atol=1e-6)


def test_means_of_a_pooled_map_are_not_read_twice(tmp_path: Path) -> None:
    rows = with_map(tmp_path / "r", "float32", 300)
    monitor = MONITORS["rmds"](taps=("features", "map")).fit(rows)
    assert monitor.details()["features"] == 2 * WIDTH
    alone = MONITORS["rmds"](taps=("map",)).fit(rows)
    assert alone.details()["features"] == 2 * WIDTH


@pytest.mark.parametrize("dtype", ["int8", "float32"])
def test_the_map_is_given_up_before_features_are_pooled(tmp_path: Path, dtype: str) -> None:
    rows = with_map(tmp_path / "r", dtype, 300)
    whole = MONITORS["rmds"](taps=("features", "map"))
    smaller = whole.smaller(rows)
    assert smaller is not None
    assert (smaller.taps, smaller.get_params()["pool"]) == (("features",), 1)
    for form in (whole, smaller):
        program = lowered([form.fit(rows)], rows.taps, "output").quantised()
        size = Bill(program, None).together().size_bytes
        assert form.least_bytes(rows) <= size <= form.least_bytes(rows) + 900
    assert whole.least_bytes(rows) > smaller.least_bytes(rows)
