"""What is brought to a companion, without TensorFlow."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest

from edgemon.bench.alocc.companions import Companions
from edgemon.bench.alocc.rows import ends_of, inputs, real
from edgemon.bench.errors import BenchError
from edgemon.compiler.data.loading import load
from edgemon.runtime.preprocess import InputSpec, Preprocess
from tests.command_line import DATA, MODEL, edgemon

SHAPE = (4, 4, 1)
FLOAT = InputSpec("input", SHAPE, "float32")
IMAGE = np.zeros((4, 4, 1), np.uint8)


def test_black_and_white_are_those_of_the_classifiers_input() -> None:
    found = ends_of(IMAGE, Preprocess.parse("scale=1/127.5,offset=-1"), FLOAT)
    assert (found.low, found.high) == pytest.approx((-1, 1), abs=1e-6)
    quantised = InputSpec("input", SHAPE, "int8", 0.5, -128)
    assert (ends_of(IMAGE, Preprocess.parse(""), quantised).high) == 127.5  # the last code


def test_codes_mean_what_the_classifier_takes_them_for() -> None:
    spec = InputSpec("input", SHAPE, "int8", 0.5, -128)
    assert real(np.array([-128, 0, 127], np.int8), spec).tolist() == [0, 64, 127.5]


def test_a_negative_scale_is_refused() -> None:
    with pytest.raises(BenchError, match="white into black"):
        ends_of(IMAGE, Preprocess.parse("scale=-1"), FLOAT)


def test_rows_that_are_no_images_are_refused(tmp_path: Path) -> None:
    np.save(tmp_path / "x.npy", np.zeros((3, 16)))
    rows = load(str(tmp_path / "x.npy"), tmp_path)
    with pytest.raises(BenchError, match=r"\[1, 16\]; it redraws images"):
        inputs(rows, Preprocess.parse(""), InputSpec("input", (16,), "float32"))
    with pytest.raises(BenchError, match="float64; it redraws images of bytes"):
        inputs(rows, Preprocess.parse(""), FLOAT)


def test_a_folder_without_companions_is_refused(tmp_path: Path) -> None:
    with pytest.raises(BenchError, match="no companion"):
        Companions(tmp_path)


def test_training_without_tensorflow_says_what_to_install(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "tensorflow", None)  # as if it were not installed
    out = tmp_path / "companion.tflite"
    found = edgemon("alocc", "train", MODEL, "--data", DATA, "--out", out)
    assert found.exit_code == 2
    assert "edgemon[keras]" in found.stderr
    assert not out.exists()
