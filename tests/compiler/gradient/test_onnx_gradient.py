"""Backward rules of ONNX operators against finite differences."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

from edgemon.compiler.errors import CompileError
from edgemon.compiler.gradient.onnx_backward import Backward
from edgemon.compiler.gradient.onnx_rules import RULES
from edgemon.compiler.gradient.onnx_writer import OPSET, OnnxWriter
from edgemon.compiler.models import onnx_graph, onnx_probe
from edgemon.compiler.models.onnx_model import OnnxModel
from edgemon.runtime.formats import open_classifier
from edgemon.runtime.onnx_classifier import inputs_of, open_session
from tests.compiler.gradient.finite_differences import require_gradient

Array = npt.NDArray[np.float32]
RNG = np.random.default_rng(5)
START = RNG.bit_generator.state
IMAGE, CHANNELS = (1, 4, 6, 7), 4


@pytest.fixture(autouse=True)
def the_same_numbers_whatever_ran_before() -> None:
    RNG.bit_generator.state = START


class Layers:
    """A graph under construction. ``value`` is the tensor that was made last."""

    def __init__(self) -> None:
        self.nodes: list[Any] = []
        self.stored: dict[str, npt.NDArray[Any]] = {}
        self.value = "x"

    def then(self, op: str, *inputs: Any, outputs: int = 1, **values: Any) -> Layers:
        """``inputs``: arrays are stored, "." is the last value, "" is left out."""
        names = []
        for given in inputs or (".",):
            if isinstance(given, str):
                names.append(self.value if given == "." else given)
            else:
                names.append(f"c{len(self.stored)}")
                self.stored[names[-1]] = given
        self.value = f"v{len(self.nodes)}"
        made = [self.value, *(f"{self.value}_{i}" for i in range(1, outputs))]
        self.nodes.append(helper.make_node(op, names, made, **values))
        return self

    def content(self, shape: tuple[int, ...], opset: int) -> bytes:
        graph = helper.make_graph(
            self.nodes, "g", [helper.make_tensor_value_info("x", TensorProto.FLOAT, shape)],
            [onnx.ValueInfoProto(name=self.value)],
            [numpy_helper.from_array(v, k) for k, v in self.stored.items()],
        )  # fmt: skip
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)])
        model.ir_version = 10 if opset > 18 else 8
        return onnx.shape_inference.infer_shapes(model).SerializeToString()


def some(*shape: int) -> Array:
    return RNG.normal(0, 1, shape).astype(np.float32)


def whole(*values: int) -> npt.NDArray[np.int64]:
    return np.array(values, np.int64)


def conv(made: int, *size: int, groups: int = 1, **values: Any) -> Layers:
    weights = some(made, CHANNELS // groups, *size)
    return Layers().then("Conv", ".", weights, some(made), group=groups, **values)


def positive(*shape: int) -> Array:
    return (np.abs(some(*shape)) + 0.5).astype(np.float32)


def residual() -> Layers:
    layers = conv(4, 3, 3, pads=[1] * 4).then("Relu")
    layers.then("Conv", ".", some(4, 4, 1, 1))
    return layers.then("Add", ".", "v1").then("Relu")


def gated() -> Layers:
    """Squeeze and excitation: a layer times one number a channel of itself."""
    layers = conv(4, 1, 1).then("GlobalAveragePool").then("Conv", ".", some(4, 4, 1, 1))
    return layers.then("Sigmoid").then("Mul", ".", "v0")


def joined() -> Layers:
    layers = conv(3, 1, 1).then("Tanh")
    return layers.then("Concat", ".", "x", "v0", axis=1).then("Conv", ".", some(2, 10, 1, 1))


def dense(**values: Any) -> Layers:
    weights = some(5, 168) if values.get("transB") else some(168, 5)
    return Layers().then("Flatten").then("Gemm", ".", weights, some(5), **values)


def batch_norm() -> Layers:
    stats = (positive(4), some(4), some(4), positive(4))
    return Layers().then("BatchNormalization", ".", *stats, epsilon=0.01)


def ratio() -> Layers:
    layers = conv(4, 1, 1).then("Sigmoid").then("Add", ".", np.float32(1.5))
    return layers.then("Div", "x", ".")


def old_axes(op: str, opset: int) -> Layers:
    """Axes are an attribute up to opset 17 (of ReduceSum: 12), and an input from then on."""
    if op == "ReduceSum" or opset > 17:
        return Layers().then(op, ".", whole(2, 3), keepdims=0)
    return Layers().then(op, axes=[2, 3], keepdims=0)


LAYERS: dict[str, Callable[[], Layers]] = {
    "convolution": lambda: conv(5, 3, 3, pads=[1, 1, 1, 1]),
    "strided with a rest": lambda: conv(5, 3, 3, strides=[2, 3]),
    "uneven pads": lambda: conv(5, 3, 2, strides=[2, 2], pads=[0, 1, 1, 0]),
    "same upper": lambda: conv(5, 3, 4, strides=[2, 2], auto_pad="SAME_UPPER"),
    "same lower": lambda: conv(5, 2, 4, strides=[2, 2], auto_pad="SAME_LOWER"),
    "valid": lambda: conv(5, 3, 3, auto_pad="VALID"),
    "dilated": lambda: conv(5, 2, 3, dilations=[2, 2], pads=[1, 0, 1, 0]),
    "in groups": lambda: conv(6, 3, 3, groups=2, pads=[1] * 4),
    "depthwise": lambda: conv(8, 3, 3, groups=4, strides=[2, 2], pads=[1] * 4),
    "average pool": lambda: Layers().then("AveragePool", kernel_shape=[2, 3], strides=[2, 2]),
    "padded average pool": lambda: Layers().then(
        "AveragePool", kernel_shape=[3, 3], strides=[2, 2], pads=[1] * 4
    ),
    "average pool with pads counted": lambda: Layers().then(
        "AveragePool", kernel_shape=[3, 3], pads=[1] * 4, count_include_pad=1
    ),
    "global average pool": lambda: Layers().then("GlobalAveragePool"),
    "max pool": lambda: Layers().then("MaxPool", kernel_shape=[2, 2], strides=[2, 2]),
    "max pool that overlaps": lambda: Layers().then(
        "MaxPool", kernel_shape=[3, 3], strides=[2, 2], pads=[1] * 4, ceil_mode=1
    ),
    "global max pool": lambda: Layers().then("GlobalMaxPool"),
    "mean over all": lambda: Layers().then("ReduceMean"),
    "gemm": lambda: dense(transB=1, alpha=0.5),
    "gemm as it is": dense,
    "gemm that adds a layer": lambda: (
        Layers().then("Flatten").then("Gemm", ".", some(168, 168), ".", beta=2.0)
    ),
    "matmul": lambda: Layers().then("MatMul", ".", some(7, 3)).then("Add", ".", some(3)),
    "matmul from the left": lambda: Layers().then("MatMul", some(5, 6), "."),
    "relu": lambda: Layers().then("Relu"),
    "clip": lambda: Layers().then("Clip", ".", np.float32(-0.5), np.float32(0.8)),
    "clip above": lambda: Layers().then("Clip", ".", "", np.float32(0.8)),
    "leaky relu": lambda: Layers().then("LeakyRelu", alpha=0.3),
    "prelu": lambda: Layers().then("PRelu", ".", some(4, 1, 1)),
    "sigmoid": lambda: Layers().then("Sigmoid"),
    "tanh": lambda: Layers().then("Tanh"),
    "hard sigmoid": lambda: Layers().then("HardSigmoid", alpha=0.5, beta=0.4),
    "hard swish": lambda: Layers().then("Mul", ".", np.float32(3)).then("HardSwish"),
    "residual": residual, "gated": gated, "joined": joined, "batch norm": batch_norm,
    "ratio": ratio,
    "square": lambda: Layers().then("Mul", "x", "x"),
    "by constants": lambda: (
        Layers().then("Sub", ".", some(4, 1, 1)).then("Mul", ".", some(1, 4, 1, 1))
        .then("Div", ".", positive(7)).then("Sub", np.float32(1), ".").then("Neg")
    ),
    "twice": lambda: conv(3, 1, 1).then("Sum", ".", "v0", some(3, 1, 1)),
    "broadcast": lambda: (
        Layers().then("ReduceSum", ".", whole(0, 1, 3), keepdims=0)
        .then("Reshape", ".", whole(6, 1)).then("Sub", "x", ".")
    ),
    "turned": lambda: Layers().then("Transpose", perm=[0, 2, 3, 1]).then("MatMul", ".", some(4, 2)),
    "turned over": lambda: Layers().then("Transpose").then("MatMul", ".", some(1, 2)),
    "reshaped": lambda: (
        Layers().then("Squeeze", ".", whole(0)).then("Unsqueeze", ".", whole(0, 4))
        .then("Reshape", ".", whole(0, -1)).then("Identity").then("Dropout", outputs=2)
        .then("MatMul", ".", some(168, 3))
    ),
    "padded": lambda: Layers().then("Pad", ".", whole(0, 0, 1, 2, 0, 1, 0, 1)).then("Tanh"),
    "slice": lambda: Layers().then("Slice", ".", whole(1, -3), whole(99, -1), whole(2, -1)),
    "slice of first axes": lambda: (
        Layers().then("Slice", ".", whole(0, 1), whole(1, 3)).then("Tanh")
    ),
    "cast": lambda: Layers().then("Cast", to=1).then("Tanh"),
}  # fmt: skip


def opened(content: bytes, tmp_path: Path) -> OnnxModel:
    """As ``OnnxModel.open``, but in this process, which is quick."""
    path = tmp_path / "m.onnx"
    path.write_bytes(content)
    session = open_session(path)
    described = onnx_probe.tensors_of(path, session, inputs_of(session, path))
    found = {name: (dtype, tuple(shape)) for name, dtype, shape, _ in described}
    graph, names = onnx_graph.read_graph(onnx_graph.parse(content), found)
    return OnnxModel(path, "", graph, content, names=names)


def gradient_of(content: bytes, tmp_path: Path) -> tuple[bytes, Array]:
    """A model of the gradient of a sum of all outputs, weighted as it says."""
    file = OnnxWriter(opened(content, tmp_path))
    weights = some(*file.shapes[file.output])
    found = Backward(file, file.entry, RULES).of_entry(file.output, file.constant(weights))
    return file.content(file.entry, found), weights


def runner(content: bytes) -> Callable[[Array], npt.NDArray[np.float64]]:
    model = open_classifier(Path("x.onnx"), threads=1, kernels="onnxruntime", content=content)

    def run(x: Array) -> npt.NDArray[np.float64]:
        model.invoke(x)
        return np.array(model.output(0), np.float64).ravel()

    return run


def compare(content: bytes, tmp_path: Path, shape: tuple[int, ...] = IMAGE) -> None:
    """Raises unless the gradient is that of central differences."""
    made, weights = gradient_of(content, tmp_path)
    x, forward = some(*shape), runner(content)
    require_gradient(
        runner(made)(x), lambda moved: float(forward(moved) @ weights.ravel()), x, 2e-3,
        tolerance=1e-2,
    )  # fmt: skip


@pytest.mark.parametrize("name", LAYERS)
def test_a_gradient_is_that_of_finite_differences(name: str, tmp_path: Path) -> None:
    compare(LAYERS[name]().content(IMAGE, 17), tmp_path)


@pytest.mark.parametrize("opset", [13, 15, 18, 21])
@pytest.mark.parametrize("op", ["ReduceMean", "ReduceSum"])
def test_axes_are_read_where_the_opset_has_them(op: str, opset: int, tmp_path: Path) -> None:
    compare(old_axes(op, opset).content(IMAGE, opset), tmp_path)


@pytest.mark.parametrize("name", ["max pool that overlaps", "residual", "hard swish", "padded"])
def test_a_gradient_is_the_same_in_a_later_opset(name: str, tmp_path: Path) -> None:
    compare(LAYERS[name]().content(IMAGE, 22), tmp_path)


def test_every_rule_is_compared_with_finite_differences() -> None:
    tried = {node.op_type for build in LAYERS.values() for node in build().nodes}
    assert set(RULES) <= tried


def test_signals_have_one_axis(tmp_path: Path) -> None:
    layers = Layers().then("Conv", ".", some(3, 2, 3), strides=[2]).then("Relu")
    layers.then("MaxPool", kernel_shape=[2], strides=[1])
    compare(layers.content((1, 2, 12), 17), tmp_path, (1, 2, 12))


def test_a_tie_gives_its_gradient_to_the_first(tmp_path: Path) -> None:
    layers = Layers().then("MaxPool", kernel_shape=[2, 2], strides=[2, 2])
    made, weights = gradient_of(layers.content((1, 1, 4, 4), 17), tmp_path)
    found = runner(made)(np.ones((1, 1, 4, 4), np.float32)).reshape(4, 4)
    assert found[::2, ::2].tolist() == weights[0, 0].astype(float).tolist()
    assert np.count_nonzero(found) == 4


def test_an_old_opset_is_raised(tmp_path: Path) -> None:
    layers = conv(5, 3, 3).then("Relu").then("MaxPool", kernel_shape=[2, 2], strides=[1, 1])
    content = layers.then("Flatten").content(IMAGE, 9)
    made, _ = gradient_of(content, tmp_path)
    assert onnx.load_model_from_string(made).opset_import[0].version == OPSET
    compare(content, tmp_path)


REFUSED: dict[str, tuple[Callable[[], Layers], str]] = {
    "an operator": (lambda: Layers().then("Softplus"), "the operator Softplus"),
    "a softmax within": (lambda: Layers().then("Softmax").then("Tanh"), "the operator Softmax"),
    "two layers": (
        lambda: Layers().then("Transpose", perm=[0, 1, 3, 2]).then("MatMul", "x", "."),
        "MatMul of two layers",
    ),
    "a ceiling": (
        lambda: Layers().then("AveragePool", kernel_shape=[2, 2], ceil_mode=1), "ceil_mode",
    ),
    "a turned left": (
        lambda: Layers().then("Reshape", ".", whole(168, 1)).then("Gemm", ".", some(168, 2),
                                                                  transA=1),
        "Gemm with transA",
    ),
    "every other": (
        lambda: Layers().then("Slice", ".", whole(0), whole(6), whole(2), whole(2)),
        "Slice by steps",
    ),
    "a mirror": (
        lambda: Layers().then("Pad", ".", whole(0, 0, 1, 1, 0, 0, 1, 1), mode="reflect"),
        "Pad that is no constant",
    ),
    "another output": (
        lambda: Layers().then("Split", outputs=2, axis=1).then("Relu", "v0_1"),
        "the operator Split",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", REFUSED)
def test_what_has_no_gradient_is_named(name: str, tmp_path: Path) -> None:
    build, what = REFUSED[name]
    with pytest.raises(CompileError, match=f"{what}.*has no gradient here.*odin_t"):
        gradient_of(build().content(IMAGE, 13), tmp_path)


def test_codes_ask_for_the_float_model(tmp_path: Path) -> None:
    layers = Layers().then("QuantizeLinear", ".", np.float32(0.1), np.int8(0))
    layers.then("DequantizeLinear", ".", np.float32(0.1), np.int8(0)).then("Tanh")
    with pytest.raises(CompileError, match="--float-model"):
        gradient_of(layers.content(IMAGE, 13), tmp_path)


def test_weights_that_are_stored_as_codes_are_no_obstacle(tmp_path: Path) -> None:
    codes = RNG.integers(-99, 99, (5, 4, 1, 1)).astype(np.int8)
    layers = Layers().then("DequantizeLinear", codes, np.float32(0.02), np.int8(3))
    compare(layers.then("Conv", "x", ".").content(IMAGE, 17), tmp_path)
