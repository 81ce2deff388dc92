"""A small fleet by simulation: the one that drifts is found, at its time."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from tests.command_line import document, refused


def test_the_device_that_drifts_is_found(bundle: Path, tiny_data: Path, tmp_path: Path) -> None:
    with np.load(tiny_data) as stored:
        x = stored["x"]
    np.savez(tmp_path / "dark.npz", x=x * np.float32(0.15))  # scores are closer to the boundary
    options = ["--devices", 12, "--images", 12_000, "--window", 500, "--drifting", 5]
    options += ["--since", 6001, "--share", 0.8]
    logs = tmp_path / "logs"
    given = ("fleet-simulation", bundle, "--data", tiny_data, "--drifted", tmp_path / "dark.npz")
    found = document(*given, "--out", logs, *map(str, options))
    assert found["images"] == 144_000
    assert found["reports"] == 12 * 24
    assert found["confirmed"] == ["5"]
    late = found["found"]["since"] - found["drifting"]["since"]
    assert 0 <= late < 3600
    assert 6000 < found["found"]["since_image"] <= found["found"]["flagged_at_image"] < 7000
    assert "cannot be made" in refused(*given, "--out", logs)
    assert "not there" in refused(*given, "--out", tmp_path / "b", "--devices", "3")
