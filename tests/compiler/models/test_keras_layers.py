"""Keras models as tutorials make them: converted, with what was changed told, or one sentence."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from edgemon.compiler.data.loading import load
from edgemon.compiler.errors import ModelError
from edgemon.compiler.models import open_model
from edgemon.compiler.models.keras import to_int8
from edgemon.runtime.preprocess import Preprocess
from tests.compiler.models.tensorflow_marks import NEEDS_TENSORFLOW

pytestmark = NEEDS_TENSORFLOW

MAKE = """
import sys, keras
from keras import layers as L
folder = sys.argv[1]
keras.utils.set_random_seed(0)
def head(*layers):
    return keras.Sequential([*layers, L.Dense(3, activation="softmax", dtype="float32")])
sequence = keras.Input((6, 4))
head(sequence, L.LSTM(5)).save(folder + "/lstm.keras")
head(sequence, L.Bidirectional(L.GRU(3))).save(folder + "/gru.keras")
head(keras.Input((300, 4)), L.LSTM(5)).save(folder + "/long.keras")
head(keras.Input((None, None, 1)), L.Conv2D(2, 3), L.GlobalAveragePooling2D()).save(
    folder + "/open.keras")
head(L.Flatten()).save(folder + "/unbuilt.keras")
augmented = head(keras.Input((8, 8, 1)), L.RandomRotation(0.1), L.Flatten())
augmented.save(folder + "/augmented.keras")
augmented.export(folder + "/augmented", verbose=False)
keras.mixed_precision.set_global_policy("mixed_float16")
head(keras.Input((8, 8, 1)), L.Conv2D(2, 3), L.Flatten()).save(folder + "/mixed.keras")
"""


@pytest.fixture(scope="module")
def models(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("models")
    subprocess.run([sys.executable, "-c", MAKE, str(folder)], check=True, capture_output=True)
    return folder


@pytest.mark.parametrize("name", ["lstm", "gru"])
def test_recurrent_layers_are_written_out_in_int8_and_it_is_told(
    models: Path, tmp_path: Path, name: str
) -> None:
    """Their loop crashed the interpreter, without a way out."""
    rng = np.random.default_rng(0)
    np.savez(tmp_path / "d.npz", x=rng.normal(size=(60, 6, 4)), y=rng.integers(0, 3, 60))
    rows = load(str(tmp_path / "d.npz"), tmp_path)
    model = to_int8(open_model(models / f"{name}.keras", tmp_path), rows, Preprocess(), tmp_path)
    assert model.conversion is not None
    told = model.conversion.changed
    assert len(told) == (1 if name == "lstm" else 2)
    assert all("is written out over 6 steps" in text for text in told)
    assert model.input.dtype == "int8"
    whole = open_model(models / f"{name}.keras", tmp_path)
    answers = [_outputs(m.path, next(rows.blocks(60))) for m in (whole, model)]
    assert np.abs(answers[0] - (answers[1] + 128) / 256).max() < 0.05


def _outputs(path: Path, x: np.ndarray) -> np.ndarray:
    from ai_edge_litert.interpreter import Interpreter

    interpreter = Interpreter(str(path))
    interpreter.allocate_tensors()
    (entry,), (end,) = interpreter.get_input_details(), interpreter.get_output_details()
    scale, zero_point = entry["quantization"]
    found = []
    for row in x.astype(np.float32):
        value = row if not scale else np.clip(np.rint(row / scale) + zero_point, -128, 127)
        interpreter.set_tensor(entry["index"], value[None].astype(entry["dtype"]))
        interpreter.invoke()
        found.append(interpreter.get_tensor(end["index"]).reshape(-1).astype(np.float64))
    return np.array(found)


def test_mixed_precision_computes_in_float32_and_it_is_told(models: Path, tmp_path: Path) -> None:
    model = open_model(models / "mixed.keras", tmp_path)
    assert model.conversion is not None
    assert "layers of mixed_float16 compute in float32" in model.conversion.changed[0]
    assert open_model(models / "augmented.keras", tmp_path).n_classes == 3


@pytest.mark.parametrize(
    ("name", "says"),
    [
        ("open.keras", "is open, (?, ?, 1); a device needs one size"),
        ("unbuilt.keras", "it was saved before it was built, so its input has no shape"),
        ("augmented", "random layers, as for augmentation, are for training"),
    ],
)
def test_what_no_device_can_run_gets_one_sentence(
    models: Path, tmp_path: Path, name: str, says: str
) -> None:
    with pytest.raises(ModelError) as error:
        open_model(models / name, tmp_path)
    assert says in str(error.value)
    assert "\n" not in str(error.value)


def test_a_sequence_that_is_too_long_to_be_written_out_is_refused(
    models: Path, tmp_path: Path
) -> None:
    rng = np.random.default_rng(0)
    np.savez(tmp_path / "d.npz", x=rng.normal(size=(30, 300, 4)), y=rng.integers(0, 3, 30))
    rows = load(str(tmp_path / "d.npz"), tmp_path)
    with pytest.raises(ModelError, match="recurrent over 300 steps, and int8 writes out 200"):
        to_int8(open_model(models / "long.keras", tmp_path), rows, Preprocess(), tmp_path)
