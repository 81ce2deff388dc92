from __future__ import annotations

import io
import zipfile
from pathlib import Path

import pytest

from edgemon.compiler.errors import ModelError
from edgemon.compiler.models import is_model, keras, open_model
from edgemon.compiler.models.onnx_model import OnnxModel
from edgemon.compiler.models.tflite_model import TfliteModel
from tests.tiny_onnx import write_tiny_onnx
from tests.tiny_tflite import write_tiny

HDF5 = b"\x89HDF\r\n\x1a\n" + bytes(100)


def _zip(name: str) -> bytes:
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w") as archive:
        # A fixed time: test names are made of this, and both workers must make the same.
        archive.writestr(zipfile.ZipInfo(name, (2020, 1, 1, 0, 0, 0)), "{}")
    return content.getvalue()


@pytest.mark.parametrize("name", ["model", "model.h5", "model.bin"])
def test_a_file_is_opened_by_its_content_not_its_name(tmp_path: Path, name: str) -> None:
    assert isinstance(open_model(write_tiny(tmp_path / name), tmp_path), TfliteModel)
    assert isinstance(open_model(write_tiny_onnx(tmp_path / name), tmp_path), OnnxModel)


@pytest.mark.parametrize("content", [HDF5, _zip("config.json")])
def test_keras_without_tensorflow_is_one_clear_sentence(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, content: bytes
) -> None:
    path = tmp_path / "model"
    path.write_bytes(content)
    monkeypatch.setattr(keras, "find_spec", lambda _: None)
    with pytest.raises(ModelError, match=r"needs TensorFlow: pip install 'edgemon\[keras\]', or"):
        open_model(path, tmp_path)


def test_a_saved_model_folder_needs_tensorflow_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert not is_model(tmp_path)
    (tmp_path / "saved_model.pb").write_bytes(b"")
    assert is_model(tmp_path)
    monkeypatch.setattr(keras, "find_spec", lambda _: None)
    with pytest.raises(ModelError, match="needs TensorFlow"):
        open_model(tmp_path, tmp_path)


@pytest.mark.parametrize(
    ("name", "content", "says"),
    [
        ("model", b"", "no model that edgemon reads; give a .tflite, .onnx, .keras or .h5"),
        ("model.bin", b"hello, world", "no model that edgemon reads"),
        ("data.npz", _zip("x.npy"), "no model that edgemon reads"),
        ("model.keras", _zip("config.json")[:60], "damaged zip archive"),
        ("model.onnx", b"hello, world", "no ONNX model"),
        ("model.bin", b"\x08\x07\x12\x04", "no ONNX model"),
        ("model.tflite", b"hello, world", "no TFLite model"),
        ("model.tflite", b"", "no TFLite model"),
    ],
)
def test_what_is_no_model_is_one_sentence(
    tmp_path: Path, name: str, content: bytes, says: str
) -> None:
    path = tmp_path / name
    path.write_bytes(content)
    with pytest.raises(ModelError, match=says) as error:
        open_model(path, tmp_path)
    assert "\n" not in str(error.value)


def test_a_missing_file_and_a_folder_are_one_sentence(tmp_path: Path) -> None:
    for path, says in ((tmp_path / "none.h5", "does not exist"), (tmp_path, "is a folder")):
        with pytest.raises(ModelError, match=says):
            open_model(path, tmp_path)
