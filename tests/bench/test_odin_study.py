"""The companion of odin is judged as it runs: beside the model, on its rows and on novel ones."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from edgemon.bench.odin_study import Rows, study, table
from edgemon.compiler.errors import CompileError
from edgemon.runtime.preprocess import Preprocess
from tests.tiny_tflite import write_tiny


@pytest.fixture
def novel(tmp_path: Path) -> Path:
    path = tmp_path / "novel.npz"
    np.savez(path, x=np.full((300, 4), 0.5, np.float32) + np.arange(300)[:, None] * 1e-3)
    return path


def test_no_step_is_odin_t_and_a_step_is_not(tiny_data: Path, novel: Path, tmp_path: Path) -> None:
    rows = Rows.of(tiny_data, novel, 200)
    found = study(write_tiny(tmp_path / "tiny.tflite"), None, rows, Preprocess())
    figures = {(r["monitor"], r.get("eps")): r for r in found["monitors"]}
    plain, none, largest = (figures[k] for k in (("odin_t", None), ("odin", 0.0), ("odin", 0.005)))
    assert [none[k] for k in ("novelty", "own_errors")] == [
        plain[k] for k in ("novelty", "own_errors")
    ]
    assert largest["own_errors"] != plain["own_errors"]
    assert none["bytes"] > (tmp_path / "tiny.tflite").stat().st_size
    assert len(list(table(found))) == 3 + len(found["monitors"])


def test_too_few_rows_are_said(tiny_data: Path, novel: Path) -> None:
    with pytest.raises(CompileError, match="--rows 400"):
        Rows.of(tiny_data, novel, 400)
