from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest

from edgemon.runtime.errors import BackendError, InputError
from edgemon.runtime.onnx_classifier import OnnxClassifier, layout_of
from edgemon.runtime.tflite_classifier import TfliteClassifier
from tests.tiny_onnx import write_conv_onnx, write_tiny_onnx
from tests.tiny_tflite import write_tiny

ROWS = np.array([[1, 0, 0, 0], [0, 1, 0, 0], [0, 0, 0.5, 0.5]], np.float32)


@pytest.fixture
def tiny_onnx(tmp_path: Path) -> Path:
    return write_tiny_onnx(tmp_path / "tiny.onnx")


@pytest.mark.parametrize("batch", [1, "N"])
def test_it_answers_as_the_same_model_in_tflite(tmp_path: Path, batch: int | str) -> None:
    here = OnnxClassifier(write_tiny_onnx(tmp_path / "t.onnx", batch=batch))
    there = TfliteClassifier(write_tiny(tmp_path / "t.tflite"))
    assert (here.n_outputs, here.input.shape, here.input.dtype) == (1, (4,), "float32")
    for row in ROWS:
        here.invoke(row[None])
        there.invoke(row[None])
        np.testing.assert_allclose(here.output(0), there.output(0), rtol=1e-6)


def test_outputs_stay_where_they_are_and_copies_outlive_them(tiny_onnx: Path) -> None:
    classifier = OnnxClassifier(tiny_onnx)
    classifier.invoke(ROWS[:1])
    view, copy = classifier.view(0), classifier.output(0)
    kept = copy.copy()
    classifier.invoke(ROWS[1:2])
    np.testing.assert_array_equal(copy, kept)
    np.testing.assert_array_equal(view, classifier.output(0))
    assert not np.array_equal(view, copy)


@pytest.mark.parametrize("x", [np.zeros((1, 5), np.float32), np.zeros((1, 4)), np.zeros((2, 4))])
def test_a_wrong_input_is_an_input_error(tiny_onnx: Path, x: np.ndarray) -> None:
    with pytest.raises(InputError, match="does not fit"):
        OnnxClassifier(tiny_onnx).invoke(x)


def test_missing_damaged_and_unknown_are_one_sentence(tiny_onnx: Path, tmp_path: Path) -> None:
    damaged = tmp_path / "damaged.onnx"
    damaged.write_bytes(tiny_onnx.read_bytes()[:100])
    for model, kernels, says in (
        (tmp_path / "none.onnx", "onnxruntime", "no such file"),
        (damaged, "onnxruntime", "refuses"),
        (tiny_onnx, "xnnpack", "cannot run an ONNX model; use onnxruntime"),
    ):
        with pytest.raises(BackendError, match=says) as error:
            OnnxClassifier(model, kernels=kernels)
        assert "\n" not in str(error.value)


def test_without_onnx_runtime_the_sentence_says_what_to_install(
    tiny_onnx: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "onnxruntime", None)
    with pytest.raises(BackendError, match="pip install onnxruntime"):
        OnnxClassifier(tiny_onnx)


def test_an_open_image_size_is_refused(tmp_path: Path) -> None:
    import onnx

    path = write_conv_onnx(tmp_path / "conv.onnx")
    model = onnx.load(path)
    model.graph.input[0].type.tensor_type.shape.dim[2].dim_param = "height"
    path.write_bytes(model.SerializeToString())
    with pytest.raises(BackendError, match=r"\(1, 2, \?, 5\).*fixed size"):
        OnnxClassifier(path)


@pytest.mark.parametrize(
    ("shape", "layout"),
    [
        ((3, 32, 32), "nchw"),
        ((32, 32, 3), "nhwc"),
        ((1, 28, 28), "nchw"),
        ((28, 28, 1), "nhwc"),
        ((3, 224, 3), "nchw"),
        ((64, 8, 8), "nchw"),
        ((10,), "nhwc"),
        ((49, 10), "nhwc"),
    ],
)
def test_the_layout_follows_from_the_shape(shape: tuple[int, ...], layout: str) -> None:
    assert layout_of(shape) == layout
