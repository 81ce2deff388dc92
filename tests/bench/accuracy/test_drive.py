"""A simulated drive: estimates near the truth, none that claims to be valid where nobody knows."""

from __future__ import annotations

import shutil
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from edgemon.bench.accuracy.drive import _fitted_on
from edgemon.compiler.accuracy.table import fit
from edgemon.compiler.bundle.bundle import Bundle
from edgemon.compiler.bundle.manifest import source_json
from edgemon.compiler.bundle_rows import record_rows
from edgemon.compiler.emit import flat
from edgemon.compiler.recording.evaluation import evaluate
from tests.command_line import DATA, document, refused


@pytest.fixture(scope="module")
def estimating(digits_bundle: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The digits' bundle with a table of accuracy of 600 rows."""
    folder = tmp_path_factory.mktemp("drive")
    bundle = Bundle.open(digits_bundle)
    assert bundle.artifact.drift is not None
    rows = record_rows(bundle, f"{DATA}[0:600]", folder)
    monitor = bundle.artifact.drift.monitor
    scores = evaluate(bundle.artifact.program, rows).scores[monitor]
    table = fit(scores, rows.correct, monitor=monitor, window=200)
    out = shutil.copytree(digits_bundle, folder / "bundle")
    (out / "monitor.emon").write_bytes(flat.write(replace(bundle.artifact, accuracy=table)))
    return out


def test_a_drive_into_noise_and_back(estimating: Path, tmp_path: Path) -> None:
    drive = (
        "accuracy-drive", estimating, "--data", DATA, "--out", tmp_path / "out", "--images",
        "600", "--fault", "contrast", "--full-scale", "16", "--labels", "0.2", "--reset",
        "200", "--drives", "3", "--draws", "60",
    )  # fmt: skip
    found = document(*drive)
    assert (tmp_path / "out" / "drive.svg").read_text().startswith("<?xml")
    clean, noisy, again = found["thirds"]
    assert noisy["accuracy"] < clean["accuracy"] - 0.2
    for third in (clean, noisy, again):
        assert third["valid"] > 0
        assert third["mean_error"] < 0.12
    assert all(c["coverage"] > 0.8 for c in found["coverage"] if c["labels"])
    flagged = [p for p in found["points"] if p["flag"]]
    assert {p["third"] for p in flagged} >= {1}
    for point in found["points"]:
        if point["flag"] and point["labels"] < 30:
            assert not point["valid"]
        if not point["valid"]:
            assert point["interval"] == [0, 1]
    assert document(*drive)["points"] == found["points"]


def test_mistakes_are_said(digits_bundle: Path, estimating: Path, tmp_path: Path) -> None:
    given = ("--data", DATA, "--out", tmp_path)
    assert "edgemon accuracy fit" in refused("accuracy-drive", digits_bundle, *given)
    drive = ("accuracy-drive", estimating, *given)
    assert "from 0 to 1" in refused(*drive, "--labels", "2")
    assert "--severity 6: give a number, from 1 to 5" in refused(*drive, "--severity", "6")
    assert "at most --images" in refused(*drive, "--reset", "9000")
    assert not np.any([path.suffix == ".svg" for path in tmp_path.iterdir()])


@pytest.mark.parametrize(
    ("fitted", "given", "shared"),
    [
        ("[0:50]", "[50:90]", False), ("[0:50]", "[49:90]", True), ("", "[5:9]", True),
        ("[:40]", "[40:]", False), ("[40:]", "[:41]", True), ("[0:50]", "[-9:]", True),
    ],
)  # fmt: skip
def test_rows_of_the_table_are_seen(
    fitted: str, given: str, shared: bool, tmp_path: Path
) -> None:  # fmt: skip
    np.save(tmp_path / "x.npy", np.zeros(3))
    spec = str(tmp_path / "x.npy")
    assert _fitted_on({"data": source_json(spec + fitted)}, spec + given) == shared
    np.save(tmp_path / "y.npy", np.ones(3))
    assert not _fitted_on({"data": source_json(spec)}, str(tmp_path / "y.npy"))
    assert not _fitted_on(None, spec)
