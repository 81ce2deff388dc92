"""The whole companion of an ONNX model, by ONNX Runtime."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import numpy.typing as npt
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

from edgemon.compiler.errors import CompileError
from edgemon.compiler.gradient.codes import Codes
from edgemon.compiler.gradient.onnx_step import codes_of, step_model
from edgemon.compiler.models.onnx_model import OnnxModel
from edgemon.runtime.formats import open_classifier
from edgemon.runtime.preprocess import InputSpec
from tests.tiny_onnx import write_conv_onnx, write_tiny_onnx, write_unit_onnx

# Of 4 features the last two are one neuron: classes 0, 1 and 2 are features 0, 1 and 2 + 3.
X = np.float32([[3, 1, 0.5, 0.25]])
FLOATS = InputSpec("input", (4,), "float32")


def run(content: bytes, x: npt.NDArray[np.generic]) -> npt.NDArray[np.generic]:
    model = open_classifier(Path("x.onnx"), threads=1, kernels="onnxruntime", content=content)
    model.invoke(x)
    return np.array(model.output(0)).ravel()


def step(*sizes: float) -> npt.NDArray[np.float32]:
    return np.array(sizes, np.float32)


@pytest.mark.parametrize("head", ["Softmax", "LogSoftmax", "Identity"])
def test_the_step_raises_the_confidence_of_the_own_answer(head: str, tmp_path: Path) -> None:
    model = OnnxModel.open(write_tiny_onnx(tmp_path / "m.onnx", head=head))
    content = step_model(model, FLOATS, Codes(), step(0.125), 1000.0)
    assert run(content, X).tolist() == [3.125, 0.875, 0.375, 0.125]
    kept = {node.op_type for node in onnx.load_model_from_string(content).graph.node}
    assert "LogSoftmax" not in kept  # nothing of the end is left that the step does not need


def test_each_channel_has_its_step(tmp_path: Path) -> None:
    model = OnnxModel.open(write_conv_onnx(tmp_path / "m.onnx"))
    x = np.ones((1, 2, 4, 5), np.float32)
    entry = InputSpec("input", (2, 4, 5), "float32", layout="nchw")
    steps = step(0.25, 0.5).reshape(-1, 1, 1)
    moved = run(step_model(model, entry, Codes(), steps, 1000.0), x).reshape(x.shape)
    assert np.unique(moved[0, 0] - 1).tolist() in ([-0.25], [0.25])
    assert np.unique(moved[0, 1] - 1).tolist() in ([-0.5], [0.5])


@pytest.mark.parametrize(("dtype", "zero"), [("int8", -3), ("uint8", 7)])
def test_an_integer_companion_takes_and_gives_codes(dtype: str, zero: int, tmp_path: Path) -> None:
    model = OnnxModel.open(write_tiny_onnx(tmp_path / "m.onnx"))
    entry = InputSpec("input", (4,), dtype)
    codes = (X / 0.125 + zero).astype(dtype)
    moved = run(step_model(model, entry, Codes(0.125, zero), step(0.2), 1.0), codes)
    assert moved.dtype == dtype
    # 1.6 codes become 2.
    assert (moved.astype(int) - codes.ravel().astype(int)).tolist() == [2, -2, -2, -2]
    ends = np.full((1, 4), np.iinfo(dtype).max, dtype)
    ends[0, 1:] = np.iinfo(dtype).min
    saturated = run(step_model(model, entry, Codes(0.125, zero), step(0.2), 1.0), ends)
    assert saturated.tolist() == ends.ravel().tolist()


def reading(tmp_path: Path, node: str, *, zero: bool = True) -> OnnxModel:
    """int8 codes -> reals by an operator -> three classes."""
    inputs = ["x", *(["s", "z"] if zero else ["s"])] if node == "DequantizeLinear" else ["x"]
    values = {"to": 1} if node == "Cast" else {}
    nodes = [helper.make_node(node, inputs, ["real"], **values)]
    if node == "Abs":
        nodes = [helper.make_node("Abs", ["x"], ["a"]), helper.make_node("Cast", ["a"], ["real"],
                                                                         to=1)]  # fmt: skip
    graph = helper.make_graph(
        [*nodes, helper.make_node("MatMul", ["real", "w"], ["y"])], "g",
        [helper.make_tensor_value_info("x", TensorProto.INT8, (1, 4))],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, (1, 3))],
        [numpy_helper.from_array(v, k) for k, v in (
            ("w", np.eye(4, 3, dtype=np.float32)), ("s", np.float32(0.5)), ("z", np.int8(-3)),
        )],
    )  # fmt: skip
    made = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8)
    path = tmp_path / "codes.onnx"
    path.write_bytes(made.SerializeToString())
    return OnnxModel.open(path)


def test_codes_mean_what_the_models_first_operator_says(tmp_path: Path) -> None:
    assert codes_of(reading(tmp_path, "DequantizeLinear")) == Codes(0.5, -3)
    assert codes_of(reading(tmp_path, "DequantizeLinear", zero=False)) == Codes(0.5, 0)
    assert codes_of(reading(tmp_path, "Cast")) == Codes(1.0, 0)
    with pytest.raises(CompileError, match="what the codes of the model's input mean"):
        codes_of(reading(tmp_path, "Abs"))


def test_one_unit_has_no_class_to_step_to(tmp_path: Path) -> None:
    model = OnnxModel.open(write_unit_onnx(tmp_path / "m.onnx"))
    with pytest.raises(CompileError, match="two or more classes"):
        step_model(model, InputSpec("input", (2,), "float32"), Codes(), step(0.1), 1.0)


def test_a_source_of_another_input_is_refused(tmp_path: Path) -> None:
    model = OnnxModel.open(write_tiny_onnx(tmp_path / "m.onnx"))
    with pytest.raises(CompileError, match=r"--float-model takes \(1, 4\)"):
        step_model(model, InputSpec("input", (5,), "float32"), Codes(), step(0.1), 1.0)
