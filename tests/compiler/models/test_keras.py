"""Keras models. Everything here needs TensorFlow, which runs in processes of its own."""

from __future__ import annotations

import csv
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from edgemon.compiler.bundle.bundle import Bundle
from edgemon.compiler.commands.verification import verify_bundle
from edgemon.compiler.data.classes import label_map
from edgemon.compiler.data.loading import Dataset, load
from edgemon.compiler.data.sources import Sources
from edgemon.compiler.errors import CompileError, ModelError
from edgemon.compiler.models import open_model
from edgemon.compiler.models.dense import dense_layers
from edgemon.compiler.models.keras import to_int8
from edgemon.compiler.models.model import Model
from edgemon.compiler.models.tap_rules import suggest
from edgemon.compiler.models.tflite_model import TfliteModel
from edgemon.compiler.options import Options
from edgemon.compiler.pipeline import compile_bundle
from edgemon.compiler.recording.recording import Recording, record
from edgemon.runtime.preprocess import Preprocess
from tests.compiler.models.tensorflow_marks import NEEDS_TENSORFLOW

pytestmark = NEEDS_TENSORFLOW

# Saves one small network in every format that Keras 3 and TensorFlow write.
MAKE = """
import sys, keras
folder = sys.argv[1]
keras.utils.set_random_seed(0)
image = keras.Input((8, 8, 1), name="image")
x = keras.layers.Conv2D(4, 3, activation="relu")(image)
x = keras.layers.BatchNormalization()(x)
x = keras.layers.GlobalAveragePooling2D()(x)
x = keras.layers.Dense(6, activation="tanh")(x)
model = keras.Model(image, keras.layers.Dense(3, activation="softmax")(x))
model.save(folder + "/m.keras")
model.save(folder + "/m.h5")
model.save_weights(folder + "/only.weights.h5")
model.export(folder + "/saved")
"""
# Each old .h5 by Keras itself, and as TFLite.
CONVERT = """
import json, sys
from pathlib import Path
import numpy as np
from edgemon.compiler.models.keras_conversion import convert, load
for job in json.loads(sys.stdin.read()):
    x = np.load(job["x"])
    np.save(job["answers"], np.asarray(load(Path(job["model"]))(x)))
    convert(job)
"""


def _python(program: str, *arguments: str, text: str = "") -> None:
    done = subprocess.run(
        [sys.executable, "-c", program, *arguments], input=text, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr[-2000:]


@pytest.fixture(scope="module")
def saved(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("keras")
    _python(MAKE, str(folder))
    return folder


@pytest.fixture(scope="module")
def digits(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Random images, labelled by the sum of a part of them: learnable by nobody, but labelled."""
    rng = np.random.default_rng(0)
    x = rng.integers(0, 17, (600, 8, 8, 1)).astype(np.uint8)
    path = tmp_path_factory.mktemp("data") / "d.npz"
    np.savez(path, x=x, y=rng.integers(0, 3, 600))
    return path


def _record(model: Model, data: Dataset, folder: Path, preprocess: str = "") -> Recording:
    scratch = folder / "record"
    scratch.mkdir()
    return record(
        model.untapped(),
        data,
        preprocess=Preprocess.parse(preprocess),
        input=model.input,
        labels=label_map(model.n_classes, "numeric"),
        scratch=scratch,
    )


@pytest.mark.parametrize("name", ["m.keras", "m.h5", "saved"])
def test_every_format_becomes_tflite(saved: Path, tmp_path: Path, name: str) -> None:
    model = open_model(saved / name, tmp_path)
    assert isinstance(model, TfliteModel)
    model.require_classifier()
    assert (model.n_classes, model.input.shape) == (3, (8, 8, 1))
    assert model.origin == saved / name
    assert model.conversion is not None
    assert (model.conversion.to, model.conversion.by[:11]) == ("float", "TensorFlow ")
    assert {"logits", "penultimate", "gap", "dense"} <= suggest(model.graph).keys()
    assert [layer.activation for layer in dense_layers(model)] == ["tanh", "softmax"]
    assert {op.name for op in model.graph.operators} <= {
        "CONV_2D", "MEAN", "FULLY_CONNECTED", "TANH", "SOFTMAX", "MUL", "ADD",
    }  # fmt: skip


def test_int8_has_int8_ends_and_nearly_the_same_answers(
    saved: Path, digits: Path, tmp_path: Path
) -> None:
    model = open_model(saved / "m.keras", tmp_path)
    data = load(str(digits), tmp_path)
    declared = Preprocess(scale=1 / 16)
    small = to_int8(model, data, declared, tmp_path)
    assert (small.input.dtype, small.output.dtype) == ("int8", "int8")
    assert small.conversion is not None
    assert small.conversion.to == "int8"
    found = [
        _record(m, data, Path(tempdir), str(declared)).values(m.output.name)
        for m, tempdir in ((model, _folder(tmp_path, "a")), (small, _folder(tmp_path, "b")))
    ]
    assert np.abs(found[0] - found[1]).max() < 0.05


def _folder(parent: Path, name: str) -> Path:
    (parent / name).mkdir()
    return parent / name


def test_only_keras_models_are_converted_to_int8(
    tiny_data: Path, tiny: Any, tmp_path: Path
) -> None:
    with pytest.raises(ModelError, match="--convert int8 is for Keras models"):
        to_int8(TfliteModel.open(tiny()), load(str(tiny_data), tmp_path), Preprocess(), tmp_path)
    with pytest.raises(CompileError, match="--convert int4: use float or int8"):
        compile_bundle(
            tiny(), Sources(data=str(tiny_data)), tmp_path / "out", Options(convert="int4")
        )


@pytest.mark.parametrize("share", [0.02, 0.5, 0.95])
@pytest.mark.parametrize("name", ["m.keras", "m.h5"])
def test_a_truncated_model_is_one_sentence(
    saved: Path, tmp_path: Path, name: str, share: float
) -> None:
    content = (saved / name).read_bytes()
    path = tmp_path / name
    path.write_bytes(content[: int(len(content) * share)])
    with pytest.raises(ModelError) as error:
        open_model(path, tmp_path)
    assert str(error.value).startswith(f"{path}: ")
    assert "\n" not in str(error.value)
    assert len(str(error.value)) < 400


def test_weights_alone_are_no_model(saved: Path, tmp_path: Path) -> None:
    with pytest.raises(ModelError, match="weights only; save the whole model"):
        open_model(saved / "only.weights.h5", tmp_path)


def test_29_old_models_have_their_counts_from_h5_and_from_tflite(
    shared: Path, tmp_path: Path
) -> None:
    trustdnn = shared / "data/trustdnn"
    with (trustdnn / "expected/table2_models.csv").open() as file:
        rows = [row for row in csv.DictReader(file) if row["dataset"] != "CIFAR10"]
    assert len(rows) == 29
    for name in {row["dataset"] for row in rows}:
        folder = trustdnn / "splits" / name / "test"
        x, y = (np.loadtxt(folder / f"{k}.csv", delimiter=",", skiprows=1) for k in "xy")
        np.savez(tmp_path / f"{name}.npz", x=x.astype(np.float32), y=y.astype(int).ravel())
        np.save(tmp_path / f"{name}.npy", x.astype(np.float32))
    jobs = [
        {
            "model": str(trustdnn / f"models/{row['model']}.h5"),
            "x": str(tmp_path / f"{row['dataset']}.npy"),
            "answers": str(tmp_path / f"{row['model']}.npy"),
            "out": str(tmp_path / f"{row['model']}.tflite"),
        }
        for row in rows
    ]
    _python(CONVERT, text=json.dumps(jobs))
    for row in rows:
        data = load(str(tmp_path / f"{row['dataset']}.npz"), tmp_path)
        assert data.y is not None
        answers = np.load(tmp_path / f"{row['model']}.npy")[:, 0] > 0.5
        model = TfliteModel.open(tmp_path / f"{row['model']}.tflite")
        model.require_classifier()
        found = _record(model, data, _folder(tmp_path, row["model"]))
        for right in ((answers == data.y).sum(), found.correct.sum()):
            counts = (int(right), len(data) - int(right))
            assert counts == (int(row["n_correct"]), int(row["n_incorrect"])), row["model"]


@pytest.mark.parametrize(
    ("name", "data", "preprocess", "classes", "accuracy"),
    [
        ("mlperf_tiny_resnet8", "cifar10_test", "", 10, 0.8719),
        # 94.29 % on the 5,460 images of the whole test set, of which the file has every second.
        ("otb_gtsrb_0-10", "gtsrb_test", "scale=1/127.5,offset=-1", 11, 0.9431),
        ("gtsrb_dataflair_traffic_classifier", "gtsrb_test", "resize=30x30", 43, 0.9428),
    ],
)
def test_public_models_have_their_known_accuracy(
    shared: Path, tmp_path: Path, name: str, data: str, preprocess: str, classes: int,
    accuracy: float,
) -> None:  # fmt: skip
    model = open_model(shared / f"data/images/models/{name}.h5", tmp_path)
    model.require_classifier()
    rows = load(str(shared / f"data/images/{data}.npz"), tmp_path)
    assert rows.y is not None
    rows = rows.take(np.flatnonzero(rows.y < classes))
    found = _record(model, rows, tmp_path, preprocess)
    assert round(float(found.correct.mean()), 4) == accuracy


def test_a_keras_model_compiles_to_a_proven_bundle(shared: Path, tmp_path: Path) -> None:
    data = str(shared / "data/images/cifar10_test.npz")
    out = tmp_path / "bundle"
    compile_bundle(
        shared / "data/images/models/mlperf_tiny_resnet8.h5",
        Sources(data=f"{data}[0:3000]"),
        out,
        Options(monitors="softmax,box", convert="int8", expect_accuracy=0.8),
    )
    manifest = Bundle.open(out).manifest
    assert manifest["model"]["file"] == "mlperf_tiny_resnet8.h5"
    assert manifest["model"]["converted"]["to"] == "int8 TFLite"
    verify_bundle(out, f"{data}[3000:3500]").require()
