"""The estimate of accuracy in a session, in ``edgemon run`` and in ``edgemon inspect``."""

from __future__ import annotations

import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from edgemon.compiler.accuracy.table import fit
from edgemon.compiler.emit import flat
from edgemon.runtime.accuracy import UNIT, Basis
from edgemon.runtime.errors import InputError
from edgemon.runtime.session import Session
from tests.command_line import document, edgemon

IMAGES = np.random.default_rng(5).normal(size=(80, 4)).astype(np.float32)


@pytest.fixture
def estimating(bundle: Path, tmp_path: Path) -> Path:
    """The bundle, with a table of accuracy of its first monitor."""
    made = flat.read((bundle / "monitor.emon").read_bytes())
    dtype = made.program.value(made.program.monitors[0].score).dtype
    rng = np.random.default_rng(0)
    scores = rng.normal(0, 50, 300).astype(dtype)
    table = fit(scores, rng.random(300) < 0.9, monitor=0, window=64)
    folder = shutil.copytree(bundle, tmp_path / "estimating")
    (folder / "monitor.emon").write_bytes(flat.write(replace(made, accuracy=table)))
    return folder


def test_a_session_estimates_its_accuracy(estimating: Path) -> None:
    session = Session(estimating)
    info = session.accuracy_table
    assert info is not None
    assert (info.monitor, info.window, info.rows) == (0, 64, 300)
    results = [session.evaluate(x) for x in IMAGES[:40]]
    shares = [r.probability for r in results if r.probability is not None]
    assert len(shares) == 40
    found = session.accuracy
    assert found is not None
    assert (found.images, found.faults) == (40, 0)
    assert found.sum == sum(round(s * UNIT) for s in shares)
    if not session.drift.flag:
        assert found.valid
        assert found.accuracy == pytest.approx(np.mean(shares), abs=1 / UNIT)
    fault = session.evaluate(np.full(4, np.nan, np.float32))
    assert fault.probability is None
    assert session.accuracy is not None
    assert session.accuracy.faults == 1
    before = session.accuracy
    with pytest.raises(InputError):
        session.evaluate_batch([IMAGES[0], np.zeros(3, np.float32)])
    assert session.accuracy == before  # none is counted if one raises


def test_labels_correct_it(estimating: Path) -> None:
    session = Session(estimating)
    for number, result in enumerate(session.evaluate_batch(IMAGES[:60])):
        assert result.probability is not None
        session.label(result.probability, number % 2 == 0)
    found = session.accuracy
    assert found is not None
    assert found.labels <= 60
    if found.labels >= 30:
        assert found.basis == Basis.LABELS
        assert found.accuracy == pytest.approx(0.5, abs=0.15)
    with pytest.raises(InputError, match=r"Result\.probability"):
        session.label(1.5, True)


def test_without_a_table_there_is_none(bundle: Path) -> None:
    session = Session(bundle)
    assert session.evaluate(IMAGES[0]).probability is None
    assert session.accuracy is None
    assert session.accuracy_table is None


def test_run_and_inspect_show_it(estimating: Path, tmp_path: Path) -> None:
    rows = tmp_path / "rows.npy"
    np.save(rows, IMAGES)
    result = edgemon("run", estimating, "--data", rows)
    assert result.exit_code == 0, result.stderr
    summary: dict[str, Any] = document("run", estimating, "--data", rows)["summary"]
    assert summary["accuracy"]["images"] > 0
    if summary["accuracy"]["valid"]:
        assert "estimated without labels" in result.stdout
    else:
        assert summary["accuracy"]["estimate"] is None
        assert "accuracy: no estimate" in result.stdout + result.stderr
    few = edgemon("run", estimating, "--data", f"{rows}[0:9]")
    assert "accuracy: no estimate of 9 images with a score; 30 are needed" in few.stdout
    shown = document("inspect", estimating)
    table = shown["accuracy_table"]
    assert len(table["probabilities"]) == len(table["edges"]) + 1
    assert shown["sections"]["accuracy"] > 0
    assert "labels count from 30 on" in edgemon("inspect", estimating).stdout


def test_a_flag_without_labels_is_said(estimating: Path, tmp_path: Path) -> None:
    """Images far from those of calibration: the estimate would be of others."""
    rows = tmp_path / "far.npy"
    np.save(rows, np.tile(IMAGES[:1] * 0, (3000, 1)))
    result = edgemon("run", estimating, "--data", rows)
    assert "drift: since image" in result.stderr
    assert "accuracy: no estimate, for the drift flag is up" in result.stderr
    assert "Session.label" in result.stderr
