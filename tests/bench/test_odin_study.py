"""The companion of odin is judged as it runs: beside the model, on its rows and on novel ones."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import onnx
import pytest

from edgemon.bench import odin_study
from edgemon.bench.odin_study import Rows, study, table
from edgemon.compiler.errors import CompileError
from edgemon.runtime.preprocess import Preprocess
from tests.tiny_onnx import write_tiny_onnx
from tests.tiny_tflite import write_tiny


@pytest.fixture
def novel(tmp_path: Path) -> Path:
    path = tmp_path / "novel.npz"
    np.savez(path, x=np.full((300, 4), 0.5, np.float32) + np.arange(300)[:, None] * 1e-3)
    return path


WRITERS = {"tflite": write_tiny, "onnx": write_tiny_onnx}


@pytest.mark.parametrize("kind", WRITERS)
def test_no_step_is_odin_t_and_a_step_is_not(
    kind: str, tiny_data: Path, novel: Path, tmp_path: Path
) -> None:
    rows, path = Rows.of(tiny_data, novel, 200), tmp_path / f"tiny.{kind}"
    found = study(WRITERS[kind](path), None, rows, Preprocess())
    figures = {(r["monitor"], r.get("eps")): r for r in found["monitors"]}
    plain, none, largest = (figures[k] for k in (("odin_t", None), ("odin", 0.0), ("odin", 0.005)))
    assert [none[k] for k in ("novelty", "own_errors")] == [
        plain[k] for k in ("novelty", "own_errors")
    ]
    assert largest["own_errors"] != plain["own_errors"]
    assert none["bytes"] > path.stat().st_size
    assert len(list(table(found))) == 3 + len(found["monitors"])


def test_the_float_source_must_answer_alike(
    tiny_data: Path, novel: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(odin_study, "STEPS", (0.005,))
    rows, path = Rows.of(tiny_data, novel, 200), write_tiny_onnx(tmp_path / "tiny.onnx")
    assert study(path, path, rows, Preprocess())["agreement"] == 1
    other = onnx.load(path)
    stored = next(t for t in other.graph.initializer if t.name == "w2")
    turned = np.ascontiguousarray(onnx.numpy_helper.to_array(stored)[::-1])
    stored.CopyFrom(onnx.numpy_helper.from_array(turned, "w2"))
    onnx.save(other, tmp_path / "other.onnx")
    with pytest.raises(CompileError, match="another network"):
        study(path, tmp_path / "other.onnx", rows, Preprocess())


def test_a_weak_accuracy_is_said() -> None:
    found = {"rows": 200, "wrong": 101, "agreement": None, "monitors": []}
    assert any("--label-order" in line for line in table(found))
    assert not any("--label-order" in line for line in table({**found, "wrong": 100}))


def test_labels_of_another_order_are_said(tiny_data: Path, novel: Path, tmp_path: Path) -> None:
    rows = Rows.of(tiny_data, novel, 200)
    turned = replace(rows, labels=(rows.labels + 1) % 3)
    with pytest.raises(CompileError, match=r"chance level: check --preprocess, --label-order"):
        study(write_tiny(tmp_path / "tiny.tflite"), None, turned, Preprocess())


def test_too_few_rows_are_said(tiny_data: Path, novel: Path) -> None:
    with pytest.raises(CompileError, match="--rows 400"):
        Rows.of(tiny_data, novel, 400)
