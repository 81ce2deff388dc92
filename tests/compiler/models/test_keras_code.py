"""No Keras file runs code of its own, whatever the version of Keras that loads it."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from edgemon.compiler.errors import ModelError
from edgemon.compiler.models import open_model
from edgemon.compiler.models.keras_classes import CLASSES, REFUSED
from tests.compiler.models.tensorflow_marks import NEEDS_TENSORFLOW

pytestmark = NEEDS_TENSORFLOW

# A Lambda that leaves a mark wherever it is called, in each way of storing a model; also as Keras 2
# stored it, and in a model within a model. Keras itself runs it if it is told to trust the file.
MAKE = """
import base64, json, marshal, os, shutil, sys
import h5py, keras
folder, mark = sys.argv[1:]
run = eval("lambda x: (__import__('pathlib').Path(%r).touch(), x)[1]" % mark)
inner = keras.Sequential([keras.Input((4,)), keras.layers.Lambda(run, output_shape=(4,))])
image = keras.Input((4,))
nested = keras.Model(image, keras.layers.Dense(3)(inner(image)))
for name, model in (("alone", inner), ("nested", nested)):
    model.save(f"{folder}/{name}.keras")
    model.save(f"{folder}/{name}.h5")
    shutil.copy(f"{folder}/{name}.h5", f"{folder}/{name}_2.h5")
    with h5py.File(f"{folder}/{name}_2.h5", "r+") as file:
        file.attrs["keras_version"] = "2.12.0"
shutil.copy(f"{folder}/alone_2.h5", f"{folder}/alone_1.h5")
with h5py.File(f"{folder}/alone_1.h5", "r+") as file:
    config = json.loads(file.attrs["model_config"])
    for layer in config["config"]["layers"]:
        if layer["class_name"] == "Lambda":
            code = base64.b64encode(marshal.dumps(run.__code__)).decode()
            layer["config"].update(function=[code, None, None], function_type="lambda",
                                   module="__main__", output_shape=None)
            for key in ("module", "registered_name", "build_config"):
                layer.pop(key, None)
    file.attrs["model_config"] = json.dumps(config)
nested.export(f"{folder}/saved", verbose=False)
os.unlink(mark)
keras.models.load_model(f"{folder}/alone.keras", safe_mode=False)(keras.ops.zeros((1, 4)))
assert os.path.exists(mark)
os.unlink(mark)
"""
NAMES = ("alone.keras", "alone.h5", "alone_2.h5", "alone_1.h5", "nested.keras", "nested.h5",
         "nested_2.h5")  # fmt: skip


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("code")
    done = subprocess.run(
        [sys.executable, "-c", MAKE, str(folder), str(folder / "mark")],
        capture_output=True, text=True,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-2000:]
    return folder


@pytest.mark.parametrize("name", NAMES)
def test_a_lambda_is_refused_and_leaves_no_mark(made: Path, tmp_path: Path, name: str) -> None:
    with pytest.raises(ModelError, match="is a Lambda, which runs Python code from the file"):
        open_model(made / name, tmp_path)
    assert not (made / "mark").exists()


def test_a_saved_model_has_the_graph_of_a_lambda_and_not_its_code(
    made: Path, tmp_path: Path
) -> None:
    assert open_model(made / "saved", tmp_path).n_classes == 3
    assert not (made / "mark").exists()


LAYERS = """
import json, keras
of = {name: getattr(keras.layers, name) for name in dir(keras.layers)}
print(json.dumps([n for n, c in of.items() if isinstance(c, type) and issubclass(c, keras.Layer)]))
"""


def test_every_layer_of_keras_is_permitted_or_refused_with_a_reason() -> None:
    done = subprocess.run(
        [sys.executable, "-c", LAYERS], capture_output=True, text=True, check=True
    )
    layers = json.loads(done.stdout.splitlines()[-1])
    assert len(layers) > 100
    assert set(layers) - CLASSES - REFUSED.keys() == set()
    assert not CLASSES & REFUSED.keys()
