from __future__ import annotations

import io
import subprocess
import sys
import zipfile
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from edgemon.compiler.errors import ModelError
from edgemon.compiler.models import is_model, keras, open_model, write_untapped
from edgemon.compiler.models.front_ends import FRONT_ENDS, FrontEnd
from edgemon.compiler.models.onnx_model import OnnxModel
from edgemon.compiler.models.tap_rules import suggest
from edgemon.compiler.models.tflite_model import TfliteModel
from edgemon.runtime.formats import open_classifier
from tests.compiler.models.tensorflow_marks import NEEDS_TENSORFLOW
from tests.tiny_onnx import write_tiny_onnx
from tests.tiny_tflite import write_tiny

KERAS = """
import sys, keras
x = image = keras.Input((4,))
for kind in ("relu", "softmax"):
    x = keras.layers.Dense(3, kind)(x)
keras.Model(image, x).save(sys.argv[1])
"""
HEAVY = "onnx onnxruntime tensorflow keras h5py ai_edge_litert flatbuffers sklearn scipy matplotlib"


def _write_keras(path: Path) -> Path:
    named = path.with_suffix(".keras")
    subprocess.run([sys.executable, "-c", KERAS, str(named)], check=True, capture_output=True)
    return named.rename(path)


# A small model of each kind: 4 numbers in, 3 probabilities out.
WRITERS: dict[str, Callable[[Path], Path]] = {
    "TFLite": write_tiny, "Keras": _write_keras, "ONNX": write_tiny_onnx,
}  # fmt: skip
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
        (
            "model",
            b"",
            "not a model that edgemon can read; give a .tflite, .keras, .h5 or .onnx file",
        ),
        ("model.bin", b"hello, world", "not a model that edgemon can read"),
        ("data.npz", _zip("x.npy"), "not a model that edgemon can read"),
        ("model.keras", _zip("config.json")[:60], "damaged zip archive"),
        ("model.keras", b"hello, world", "not a Keras model, or it is damaged"),
        ("model.h5", _zip("x.npy"), "not a Keras model, or it is damaged"),
        ("model.onnx", b"hello, world", "not an ONNX model, or it is damaged"),
        ("model.bin", b"\x08\x07\x12\x04", "not an ONNX model, or it is damaged"),
        ("model.tflite", b"hello, world", "not a TFLite model, or it is damaged"),
        ("model.tflite", b"", "not a TFLite model, or it is damaged"),
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


rows_of_the_table = pytest.mark.parametrize(
    "row",
    [
        pytest.param(row, id=row.name, marks=NEEDS_TENSORFLOW if row.name == "Keras" else ())
        for row in FRONT_ENDS
    ],
)


@rows_of_the_table
def test_every_kind_opens_by_content_and_answers_bit_for_bit_with_taps_and_without_them_again(
    tmp_path: Path, row: FrontEnd
) -> None:
    path = WRITERS[row.name](tmp_path / "model")
    assert [r for r in FRONT_ENDS if r.recognises(path, path.read_bytes()[:8])] == [row]
    model = open_model(path, tmp_path)
    model.require_classifier()
    assert (model.origin, model.n_classes) == (path, 3)
    assert model.tapped_name == row.runs_as.in_bundle
    wanted = tuple(dict.fromkeys(t for found in suggest(model.graph).values() for t in found))
    tapped = model.with_taps(wanted, tmp_path / model.tapped_name)
    plain = tmp_path / "plain"
    write_untapped(tapped.path, 1, plain)
    there, with_taps, again = (
        open_classifier(file, kernels=model.kernels("xnnpack"))
        for file in (model.path, tapped.path, plain)
    )
    assert with_taps.n_outputs > there.n_outputs == again.n_outputs == 1
    assert again.output_names == there.output_names
    for x in np.random.default_rng(0).normal(size=(20, 1, 4)).astype(np.float32):
        answers = []
        for classifier in (there, with_taps, again):
            classifier.invoke(x)
            answers.append(classifier.output(0).tobytes())
        assert len(set(answers)) == 1


@rows_of_the_table
def test_every_kind_refuses_damage_in_one_sentence(tmp_path: Path, row: FrontEnd) -> None:
    content = WRITERS[row.name](tmp_path / "model").read_bytes()
    for suffix in row.suffixes:
        path = tmp_path / f"damaged{suffix}"
        for length in (0, 4, 9, len(content) // 2, len(content) - 30):
            path.write_bytes(content[:length])
            with pytest.raises(ModelError) as error:
                open_model(path, tmp_path)
            assert str(error.value).startswith(f"{path}: ")
            assert str(error.value).count(str(path)) == 1
            assert "\n" not in str(error.value)


@pytest.mark.parametrize("row", FRONT_ENDS, ids=lambda row: row.name)
def test_the_suffix_decides_where_the_content_does_not(tmp_path: Path, row: FrontEnd) -> None:
    for suffix in row.suffixes:
        path = tmp_path / f"model{suffix.upper()}"
        path.write_bytes(b"hello, world")
        with pytest.raises(ModelError, match=rf"not an? {row.name} model, or it is damaged"):
            open_model(path, tmp_path)


@pytest.mark.parametrize("kind", ["", "TFLite", "ONNX"])
def test_workers_import_nothing_heavy_and_a_front_end_only_its_own(
    tmp_path: Path, kind: str
) -> None:
    program = (
        "import sys\nfrom pathlib import Path\nimport edgemon.compiler.models.worker as worker\n"
        "from edgemon.compiler.models import open_model\n"
        "if sys.argv[1:]: open_model(Path(sys.argv[1]), Path(sys.argv[1]).parent)\n"
        f"print(*sorted(set({HEAVY.split()}) & set(sys.modules)))"
    )
    model = [str(WRITERS[kind](tmp_path / "model"))] if kind else []
    found = subprocess.run(
        [sys.executable, "-c", program, *model], capture_output=True, text=True, check=True
    ).stdout.split()
    own = {"": set(), "TFLite": {"ai_edge_litert", "flatbuffers"}, "ONNX": {"onnx"}}
    assert set(found) == own[kind]
