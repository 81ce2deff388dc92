"""SavedModel folders, models of two inputs, and files that change while edgemon reads them."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from edgemon.compiler.data.classes import label_map
from edgemon.compiler.data.loading import load
from edgemon.compiler.errors import ModelError
from edgemon.compiler.models import open_model
from edgemon.compiler.models.keras import to_int8
from edgemon.compiler.models.selection import Selection
from edgemon.compiler.recording.recording import record
from edgemon.runtime.preprocess import Preprocess
from tests.compiler.models.tensorflow_marks import NEEDS_TENSORFLOW

pytestmark = NEEDS_TENSORFLOW

MAKE = """
import sys
import keras, numpy as np, tensorflow as tf
from keras import layers as L
folder = sys.argv[1]
keras.utils.set_random_seed(0)
x = np.load(folder + "/rows.npz")["x"]
keras.Sequential([keras.Input((6, 5)), L.LSTM(4), L.Dense(3)]).export(folder + "/lstm_saved")
a, b = keras.Input((6, 5), name="a"), keras.Input((2,), name="b")
both = L.Concatenate()([L.Flatten()(a), b])
two = keras.Model([a, b], L.Dense(3, activation="softmax")(both))
two.save(folder + "/two.keras")
np.save(folder + "/two.npy", two.predict([x, np.full((len(x), 2), 0.5)], verbose=0))
keras.Sequential([keras.Input((6, 5)), L.Flatten(), L.Dense(3)]).save(folder + "/one.keras")
# Slots of an optimizer, as trained models of Keras 2 have them: TensorFlow's loader fails on them.
class Trained(tf.Module):
    @tf.function(input_signature=[tf.TensorSpec((None, 4), name="x")])
    def __call__(self, x):
        return tf.matmul(x, self.kernel)
trained = Trained()
trained.kernel = tf.Variable(tf.ones((4, 3)))
trained.part = tf.Module()
trained.part.slot = tf.Variable(0.0)
tf.saved_model.save(trained, folder + "/old_saved")
from tensorflow.core.protobuf import saved_model_pb2
whole = saved_model_pb2.SavedModel()
path = folder + "/old_saved/saved_model.pb"
whole.ParseFromString(open(path, "rb").read())
nodes = whole.meta_graphs[0].object_graph_def.nodes
names = {c.local_name: c.node_id for c in nodes[0].children}
part = nodes[names["part"]]
slot = {c.local_name: c.node_id for c in part.children}["slot"]
part.slot_variables.add(original_variable_node_id=names["kernel"], slot_name="m",
                        slot_variable_node_id=slot)
open(path, "wb").write(whole.SerializeToString())
tf.lite.TFLiteConverter.from_saved_model(folder + "/old_saved")
"""


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("saved")
    x = np.random.default_rng(0).random((60, 6, 5)).astype(np.float32)
    np.savez(folder / "rows.npz", x=x, y=np.arange(60) % 3)
    done = subprocess.run([sys.executable, "-c", MAKE, str(folder)], capture_output=True, text=True)
    # The last line: the loader itself does fail.
    assert "has no attribute 'add_slot'" in done.stderr, done.stderr[-2000:]
    return folder


def test_a_trained_saved_model_of_keras_2_is_converted(made: Path, tmp_path: Path) -> None:
    model = open_model(made / "old_saved", tmp_path)
    model.require_classifier()
    assert (model.n_classes, model.input.shape) == (3, (4,))


def test_recurrent_layers_in_a_saved_model_are_one_sentence(made: Path, tmp_path: Path) -> None:
    with pytest.raises(ModelError, match=r"save the model as \.keras and give that") as error:
        open_model(made / "lstm_saved", tmp_path)
    assert "\n" not in str(error.value)


def test_one_of_two_inputs_is_fixed_by_its_name_in_keras(made: Path, tmp_path: Path) -> None:
    with pytest.raises(ModelError, match=r"2 inputs.*--input NAME=FILE\.npy"):
        open_model(made / "two.keras", tmp_path).require_classifier()
    fixed = Selection(inputs={"b": np.full((1, 2), 0.5, np.float32)})
    model = open_model(made / "two.keras", tmp_path, fixed)
    model.require_classifier()
    rows = load(str(made / "rows.npz"), tmp_path)
    found = record(
        model.untapped(), rows, preprocess=Preprocess(), input=model.input,
        labels=label_map(3, "numeric"), scratch=tmp_path,
    )  # fmt: skip
    assert np.abs(found.values(model.output.name) - np.load(made / "two.npy")).max() < 1e-5


def test_a_model_that_changes_between_its_conversions_is_refused(
    made: Path, tmp_path: Path
) -> None:
    path = tmp_path / "m.keras"
    shutil.copy(made / "one.keras", path)
    model = open_model(path, tmp_path)
    shutil.copy(made / "two.keras", path)
    rows = load(str(made / "rows.npz"), tmp_path)
    with pytest.raises(ModelError, match="has changed since it was opened"):
        to_int8(model, rows, Preprocess(), tmp_path)
