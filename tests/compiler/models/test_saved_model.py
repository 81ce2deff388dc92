"""The graph of a SavedModel is looked through before TensorFlow loads it: none that writes or reads
files of its own choice is run, wherever it stands."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from edgemon.compiler.errors import ModelError
from edgemon.compiler.models import open_model
from tests.compiler.models.tensorflow_marks import NEEDS_TENSORFLOW

pytestmark = NEEDS_TENSORFLOW

# A folder leaves a mark when it is loaded: by an initialiser that writes a file, by the operators
# that save models, which every folder has, and by a form of the graph that TensorFlow prefers.
MAKE = """
import os, shutil, sys
import tensorflow as tf
folder, mark = sys.argv[1:]
class Plain(tf.Module):
    def __init__(self):
        self.kernel = tf.Variable(tf.ones((4, 3)))
    @tf.function(input_signature=[tf.TensorSpec((None, 4), name="x")])
    def __call__(self, x):
        return tf.nn.softmax(tf.matmul(x, self.kernel))
tf.saved_model.save(Plain(), folder + "/plain")
class Writes(tf.Module):
    @tf.function(input_signature=[tf.TensorSpec((None, 4), name="x")])
    def __call__(self, x):
        with tf.control_dependencies([tf.io.write_file(mark, "ran")]):
            return tf.nn.softmax(x)
tf.saved_model.save(Writes(), folder + "/writes")
class Reads(tf.Module):
    @tf.function(input_signature=[tf.TensorSpec((None, 4), name="x")])
    def __call__(self, x):
        return x * tf.cast(tf.strings.length(tf.io.read_file("/etc/hostname")), tf.float32)
tf.saved_model.save(Reads(), folder + "/reads")
class Python(tf.Module):
    @tf.function(input_signature=[tf.TensorSpec((None, 4), name="x")])
    def __call__(self, x):
        return tf.ensure_shape(tf.numpy_function(lambda v: v, [x], tf.float32), (None, 4))
tf.saved_model.save(Python(), folder + "/python")

# Version 1: what "restores" the variables saves them, to a file of the model's choice.
v1 = tf.compat.v1
with tf.Graph().as_default(), v1.Session() as session:
    x = v1.placeholder(tf.float32, (None, 4), name="x")
    kernel = v1.get_variable("kernel", initializer=tf.ones((4, 3)), use_resource=True)
    y = tf.nn.softmax(tf.matmul(x, kernel))
    session.run(v1.global_variables_initializer())
    with tf.control_dependencies([tf.raw_ops.SaveV2(prefix=mark, tensor_names=["k"],
                                                    shape_and_slices=[""], tensors=[kernel])]):
        first = tf.no_op("first")
    builder = v1.saved_model.Builder(folder + "/saves")
    info = v1.saved_model.build_tensor_info
    builder.add_meta_graph_and_variables(
        session, ["serve"], main_op=first,
        signature_def_map={"serving_default": v1.saved_model.build_signature_def(
            {"x": info(x)}, {"y": info(y)}, "tensorflow/serving/predict")})
    builder.save()
with tf.Graph().as_default(), v1.Session() as session:
    v1.saved_model.load(session, ["serve"], folder + "/saves")
assert os.path.exists(mark + ".index")
for name in os.listdir(folder):
    if name.startswith("mark"):
        os.unlink(os.path.join(folder, name))
"""


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("graphs")
    done = subprocess.run(
        [sys.executable, "-c", MAKE, str(folder), str(folder / "mark")],
        capture_output=True, text=True,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-2000:]
    return folder


@pytest.mark.parametrize(
    ("name", "operator"),
    [("writes", "WriteFile"), ("reads", "ReadFile"), ("python", "(Eager)?PyFunc")],
)
def test_an_operator_that_does_more_than_compute_is_refused_by_name(
    made: Path, tmp_path: Path, name: str, operator: str
) -> None:
    with pytest.raises(ModelError, match=f"operator '{operator}' in '__inference_.*only compute"):
        open_model(made / name, tmp_path)
    assert not list(made.glob("mark*"))


def test_a_restoring_step_that_writes_leaves_no_mark(made: Path, tmp_path: Path) -> None:
    assert open_model(made / "saves", tmp_path).n_classes == 3
    assert not list(made.glob("mark*"))


def test_another_form_of_the_graph_beside_it_is_not_what_is_loaded(
    made: Path, tmp_path: Path
) -> None:
    other = made / "plain" / "saved_model.cpb"
    other.write_bytes(b"not a graph")
    try:
        assert open_model(made / "plain", tmp_path).n_classes == 3
    finally:
        other.unlink()


def test_a_link_to_an_endless_file_is_one_sentence(made: Path, tmp_path: Path) -> None:
    endless = made / "plain" / "variables" / "endless"
    endless.symlink_to("/dev/zero")
    try:
        with pytest.raises(ModelError, match="variables/endless is not a file"):
            open_model(made / "plain", tmp_path)
    finally:
        endless.unlink()


@pytest.mark.parametrize("content", [b"", b"\x07garbage", b"\xff" * 100])
def test_a_damaged_graph_is_one_sentence(tmp_path: Path, content: bytes) -> None:
    folder = tmp_path / "folder"
    folder.mkdir()
    (folder / "saved_model.pb").write_bytes(content)
    with pytest.raises(ModelError, match=r"folder: .*(is damaged|cannot be converted)") as error:
        open_model(folder, tmp_path)
    assert "\n" not in str(error.value)


OPERATORS = """
from tensorflow.core.framework.op_def_pb2 import OpList
from tensorflow.python.client import pywrap_tf_session as session
from edgemon.compiler.models.saved_model import OPERATORS, WRITE
ops = OpList()
ops.ParseFromString(session.TF_GetBuffer(session.TF_GetAllOpList()))
of = {op.name: op for op in ops.op}
print(*(OPERATORS | WRITE) - of.keys(), *(name for name in WRITE if of[name].output_arg))
"""


def test_the_list_names_operators_of_tensorflow_and_those_that_write_have_no_results() -> None:
    done = subprocess.run(
        [sys.executable, "-c", OPERATORS], capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == ""
