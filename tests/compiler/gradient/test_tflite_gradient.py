"""Backward operators against finite differences, and the whole companion by the interpreter."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from ai_edge_litert import schema_py_generated as schema

from edgemon.compiler.errors import CompileError
from edgemon.compiler.gradient.tflite_backward import Backward
from edgemon.compiler.gradient.tflite_rules import RULES
from edgemon.compiler.gradient.tflite_step import step_model
from edgemon.compiler.gradient.tflite_writer import TfliteWriter
from edgemon.compiler.models import open_model
from edgemon.compiler.models.model import Model
from edgemon.compiler.models.selection import Selection
from edgemon.compiler.monitors import MONITORS
from edgemon.runtime.formats import open_classifier
from edgemon.runtime.preprocess import InputSpec, Preprocess
from tests.compiler.gradient.finite_differences import require_gradient
from tests.tiny_tflite import write_tiny

Array = npt.NDArray[np.float32]
Build = Callable[[TfliteWriter, int], int]
SHAPE = (1, 6, 6, 4)
SAME, VALID = schema.Padding.SAME, schema.Padding.VALID
RELU, RELU6 = schema.ActivationFunctionType.RELU, schema.ActivationFunctionType.RELU6
ONE = schema.ActivationFunctionType.RELU_N1_TO_1
MAX = "MAX_POOL_2D"
RNG = np.random.default_rng(3)
START = RNG.bit_generator.state


@pytest.fixture(autouse=True)
def the_same_numbers_whatever_ran_before() -> None:
    RNG.bit_generator.state = START


def random(*shape: int) -> Array:
    return RNG.normal(0, 1, shape).astype(np.float32)


def empty(path: Path, shape: tuple[int, ...]) -> tuple[TfliteWriter, int]:
    """A model of one input, and nothing else."""
    file = TfliteWriter(write_tiny(path).read_bytes())
    file.graph.operators, file.graph.tensors = [], []
    return file, file.tensor(shape)


def run(content: bytes, x: Array) -> Array:
    model = open_classifier(Path("x.tflite"), threads=1, kernels="builtin", content=content)
    model.invoke(x)
    return np.array(model.output(0)).ravel()


def conv(
    made: int, size: int, stride: int = 1, padding: int = SAME, fused: int = 0, dilation: int = 1
) -> Build:
    def build(f: TfliteWriter, x: int) -> int:
        _, h, w, taken = f.shape(x)
        weights = f.constant(random(made, size, size, taken))
        reach = 0 if padding == SAME else (size - 1) * dilation
        shape = (1, -(-(h - reach) // stride), -(-(w - reach) // stride), made)
        return f.op(
            "CONV_2D", (x, weights, f.constant(random(made))), shape, options="Conv2DOptions",
            padding=padding, strideW=stride, strideH=stride, fusedActivationFunction=fused,
            dilationWFactor=dilation, dilationHFactor=dilation,
        )  # fmt: skip

    return build


def depthwise(
    multiplier: int, stride: int, size: int = 3, padding: int = SAME, dilation: int = 1
) -> Build:
    def build(f: TfliteWriter, x: int) -> int:
        _, h, w, taken = f.shape(x)
        made = taken * multiplier
        inputs = (x, f.constant(random(1, size, size, made)), f.constant(random(made)))
        reach = 0 if padding == SAME else (size - 1) * dilation
        shape = (1, -(-(h - reach) // stride), -(-(w - reach) // stride), made)
        return f.op(
            "DEPTHWISE_CONV_2D", inputs, shape, options="DepthwiseConv2DOptions", padding=padding,
            strideW=stride, strideH=stride, depthMultiplier=multiplier, dilationWFactor=dilation,
            dilationHFactor=dilation,
        )  # fmt: skip

    return build


def pool(
    size: int, name: str = "AVERAGE_POOL_2D", stride: int = 0, padding: int = VALID, fused: int = 0
) -> Build:
    def build(f: TfliteWriter, x: int) -> int:
        _, h, w, channels = f.shape(x)
        step, reach = stride or size, 0 if padding == SAME else size - 1
        shape = (1, -(-(h - reach) // step), -(-(w - reach) // step), channels)
        return f.op(
            name, (x,), shape, options="Pool2DOptions", padding=padding, strideW=step, strideH=step,
            filterWidth=size, filterHeight=size, fusedActivationFunction=fused,
        )  # fmt: skip

    return build


def mean(f: TfliteWriter, x: int) -> int:
    axes = f.constant(np.array([1, 2], np.int32))
    shape = (1, f.shape(x)[-1])
    return f.op("MEAN", (x, axes), shape, options="ReducerOptions", keepDims=False)


def clipped(name: str) -> Build:
    def build(f: TfliteWriter, x: int) -> int:
        wide = f.op("MUL", (x, f.constant(np.float32([5]))), f.shape(x), options="MulOptions")
        return f.op(name, (wide,), f.shape(x))

    return build


def pooled_relu(f: TfliteWriter, x: int) -> int:
    """Windows of zeros, all of which are largest."""
    return pool(2, MAX)(f, conv(4, 3, fused=RELU)(f, x))


def residual(f: TfliteWriter, x: int) -> int:
    left, right = conv(4, 3, fused=RELU)(f, x), conv(4, 1)(f, x)
    return f.op(
        "ADD", (left, right), f.shape(left), options="AddOptions", fusedActivationFunction=RELU
    )


def unary(name: str, wide: float = 1.0, options: str = "", **values: Any) -> Build:
    def build(f: TfliteWriter, x: int) -> int:
        moved = f.op("MUL", (x, f.floats(wide)), f.shape(x), options="MulOptions")
        return f.op(name, (moved,), f.shape(x), options=options, **values)

    return build


def arithmetic(f: TfliteWriter, x: int) -> int:
    """(3 - x) * c / d * x, with constants of a channel, and a layer that is broadcast."""
    c, d = f.constant(random(4)), f.constant(np.abs(random(6, 4)) + 0.5)
    value = f.op("SUB", (f.floats(3.0), x), SHAPE, options="SubOptions")
    value = f.op("MUL", (value, c), SHAPE, options="MulOptions")
    value = f.op("DIV", (value, d), SHAPE, options="DivOptions")
    value = f.op("MUL", (value, x), SHAPE, options="MulOptions")
    few = f.op("SUM", (x, f.integers([1, 2])), (1, 4), options="ReducerOptions", keepDims=False)
    return f.op("SUB", (value, few), SHAPE, options="SubOptions")


def rearranged(f: TfliteWriter, x: int) -> int:
    """Padded, turned, joined with itself."""
    to = f.constant(np.array([[0, 0], [1, 2], [0, 1], [0, 0]], np.int32))
    wide = f.op("PAD", (x, to), (1, 9, 7, 4), options="PadOptions")
    turned = f.op(
        "TRANSPOSE", (wide, f.integers([0, 2, 3, 1])), (1, 7, 4, 9), options="TransposeOptions"
    )
    other = f.op("TANH", (turned,), (1, 7, 4, 9))
    both = f.op(
        "CONCATENATION", (turned, f.constant(random(1, 7, 1, 9)), other), (1, 7, 9, 9),
        options="ConcatenationOptions", axis=-2,
    )  # fmt: skip
    flat = f.op("SQUEEZE", (both,), (7, 9, 9), options="SqueezeOptions", squeezeDims=[0])
    return f.op("LOGISTIC", (flat,), (7, 9, 9))


def dense(f: TfliteWriter, x: int) -> int:
    to = f.constant(np.array([1, 144], np.int32))
    flat = f.op("RESHAPE", (x, to), (1, 144), options="ReshapeOptions", newShape=[1, 144])
    inputs = (flat, f.constant(random(7, 144)), f.constant(random(7)))
    return f.op(
        "FULLY_CONNECTED", inputs, (1, 7), options="FullyConnectedOptions",
        fusedActivationFunction=RELU,
    )  # fmt: skip


LAYERS: dict[str, Build] = {
    "convolution": conv(5, 3), "strided": conv(5, 3, 2), "point": conv(3, 1, 2),
    "unpadded": conv(5, 3, 1, VALID), "unpadded and strided": conv(2, 3, 2, VALID),
    "relu": conv(5, 3, fused=RELU), "relu6": conv(5, 3, fused=RELU6),
    "depthwise": depthwise(1, 1), "depthwise by two": depthwise(2, 2),
    "max pool": pool(2, MAX), "max pool with a rest": pool(4, MAX),
    "max pool of all": pool(6, MAX), "padded max pool that needs none": pool(3, MAX, 3, SAME),
    "max pool with relu": pool(3, MAX, fused=RELU), "max pool of relu": pooled_relu,
    "average pool": pool(2), "global average pool": pool(6), "mean": mean,
    "dilated": conv(5, 3, 1, VALID, dilation=2), "dilated and padded": conv(5, 3, dilation=2),
    "even kernel": conv(5, 2), "unpadded even kernel": conv(5, 4, 1, VALID),
    "unpadded depthwise": depthwise(1, 1, 3, VALID), "even depthwise": depthwise(1, 1, 2),
    "strided depthwise": depthwise(1, 2), "dilated depthwise": depthwise(1, 1, 3, SAME, 2),
    "relu between -1 and 1": conv(5, 3, fused=ONE), "average pool with a rest": pool(4),
    "average pool that overlaps": pool(3, stride=1), "arithmetic": arithmetic,
    "rearranged": rearranged, "hard swish": unary("HARD_SWISH", 3, "HardSwishOptions"),
    "leaky relu": unary("LEAKY_RELU", 1, "LeakyReluOptions", alpha=0.3),
    "RELU": clipped("RELU"), "RELU6": clipped("RELU6"), "residual": residual, "dense": dense,
}  # fmt: skip


@pytest.mark.parametrize("name", LAYERS)
def test_a_gradient_is_that_of_finite_differences(name: str, tmp_path: Path) -> None:
    file, x = empty(tmp_path / "m.tflite", SHAPE)
    made = LAYERS[name](file, x)
    forward = TfliteWriter(file.content(x, made))
    weights = random(*file.shape(made))  # of the sum whose gradient is taken
    gradient = Backward(file, x, RULES).of_entry(made, file.constant(weights))
    value = random(*SHAPE)
    content = forward.content(x, made)
    require_gradient(
        run(file.content(x, gradient), value),
        lambda moved: float(run(content, moved).astype(np.float64) @ weights.ravel()), value, 1e-2,
        tolerance=2e-2,
    )  # fmt: skip


def test_equal_values_share_a_gradient(tmp_path: Path) -> None:
    file, x = empty(tmp_path / "m.tflite", (1, 2, 4, 1))
    made = pool(2, MAX)(file, x)
    gradient = Backward(file, x, RULES).of_entry(
        made, file.constant(np.float32([6, 3]).reshape(1, 1, 2, 1))
    )
    value = np.float32([[5, 5, 1, 0], [5, 2, 0, 0]]).reshape(1, 2, 4, 1)
    assert run(file.content(x, gradient), value).tolist() == [2, 2, 3, 0, 2, 0, 0, 0]


@pytest.mark.parametrize(
    ("build", "what"),
    [
        (pool(3, MAX, 2), "MAX_POOL_2D whose windows overlap"),
        (pool(2, MAX, 3), "MAX_POOL_2D whose windows overlap or leave gaps"),
        (pool(4, MAX, 4, SAME), "MAX_POOL_2D with padding"),
        (conv(3, 3, 2, dilation=2), "dilated CONV_2D that moves by several pixels"),
        (unary("ELU"), "the operator ELU"),
    ],
)
def test_an_operator_without_gradient_is_named(build: Build, what: str, tmp_path: Path) -> None:
    file, x = empty(tmp_path / "m.tflite", SHAPE)
    made = build(file, x)
    with pytest.raises(CompileError, match=f"{what}.*has no gradient here.*odin_t"):
        Backward(file, x, RULES).of_entry(made, file.constant(random(*file.shape(made))))


def test_the_step_raises_the_confidence_of_the_own_answer(tmp_path: Path) -> None:
    content = write_tiny(tmp_path / "m.tflite").read_bytes()
    entry = InputSpec("input", (4,), "float32")
    # Of 4 features the last two are one neuron: classes 0, 1 and 2 are features 0, 1 and 2 + 3.
    x = np.float32([[3, 1, 0.5, 0.25]])
    moved = run(step_model(content, entry, np.float32([0.125]), 1.0), x)
    assert moved.tolist() == [3.125, 0.875, 0.375, 0.125]


def test_an_integer_companion_takes_and_gives_codes(tmp_path: Path) -> None:
    content = write_tiny(tmp_path / "m.tflite").read_bytes()
    entry = InputSpec("input", (4,), "int8", 0.125, -3)
    codes = np.int8([[21, 5, 1, -1]])  # 3, 1, .5 and .25
    moved = run(step_model(content, entry, np.float32([0.125]), 1.0), codes)
    assert moved.dtype == np.int8
    assert moved.tolist() == [22, 4, 0, -2]


def test_bytes_that_are_cast_are_moved_by_whole_ones(tmp_path: Path) -> None:
    """As of a model that takes pixels without a scale."""
    file = TfliteWriter(write_tiny(tmp_path / "m.tflite").read_bytes())
    pixels = file.tensor((1, 4), schema.TensorType.UINT8)
    casts = {"inDataType": schema.TensorType.UINT8, "outDataType": schema.TensorType.FLOAT32}
    file.place(file.made("CAST", (pixels,), 0, 1, "CastOptions", **casts), first=True)
    content = file.content(pixels, 5)
    entry = InputSpec("input", (4,), "uint8")
    x = np.uint8([[255, 9, 3, 1]])
    moved = run(step_model(content, entry, np.float32([1.7]), 1000.0), x)
    assert moved.dtype == np.uint8
    assert moved.tolist() == [255, 7, 1, 0]
    # The same of a float source.
    floats = write_tiny(tmp_path / "f.tflite").read_bytes()
    assert run(step_model(floats, entry, np.float32([1.7]), 1000.0), x).tolist() == [255, 7, 1, 0]
    with pytest.raises(CompileError, match="other codes than the model"):
        step_model(content, InputSpec("input", (4,), "int8"), np.float32([1.7]), 1.0)


def stored_as(kind: int, weights: Array) -> Build:
    """A convolution whose weights lie in the file as int8 (a scale a channel) or float16."""

    def build(f: TfliteWriter, x: int) -> int:
        buffer = schema.BufferT()
        tensor = f.tensor(weights.shape, kind)
        if kind == schema.TensorType.INT8:
            scale = np.abs(weights).max(axis=(1, 2, 3)) / 127
            codes = np.rint(weights / scale.reshape(-1, 1, 1, 1)).astype(np.int8)
            buffer.data = np.frombuffer(codes.tobytes(), np.uint8)
            quantised = schema.QuantizationParametersT()
            quantised.scale, quantised.zeroPoint = scale, np.zeros(len(scale), np.int64)
            f.graph.tensors[tensor].quantization = quantised
        else:
            buffer.data = np.frombuffer(weights.astype(np.float16).tobytes(), np.uint8)
        f.model.buffers.append(buffer)
        f.graph.tensors[tensor].buffer = len(f.model.buffers) - 1
        if kind == schema.TensorType.FLOAT16:
            tensor = f.op("DEQUANTIZE", (tensor,), weights.shape, options="DequantizeOptions")
        return f.op(
            "CONV_2D", (x, tensor, f.constant(np.zeros(5, np.float32))), (1, 6, 6, 5),
            options="Conv2DOptions", padding=SAME, strideW=1, strideH=1, dilationWFactor=1,
            dilationHFactor=1,
        )  # fmt: skip

    return build


@pytest.mark.parametrize("kind", [schema.TensorType.INT8, schema.TensorType.FLOAT16])
def test_weights_that_are_stored_small_are_read(kind: int, tmp_path: Path) -> None:
    """The gradient is that of the weights as they are stored."""
    weights, towards = random(5, 3, 3, 4), random(1, 6, 6, 5)
    file, x = empty(tmp_path / "m.tflite", SHAPE)
    made = stored_as(kind, weights)(file, x)
    gradient = Backward(file, x, RULES).of_entry(made, file.constant(towards))
    wanted, wide = np.zeros(SHAPE), np.pad(towards, ((0, 0), (1, 1), (1, 1), (0, 0)))
    for i, j in np.ndindex(3, 3):
        wanted += wide[:, 2 - i : 8 - i, 2 - j : 8 - j] @ weights[:, i, j]
    found = run(file.content(x, gradient), random(*SHAPE)).reshape(SHAPE)
    assert np.abs(found - wanted).max() < 0.02 * np.abs(wanted).max()


def opened(path: Path, tmp_path: Path) -> Model:
    return open_model(path, tmp_path, Selection())


def test_a_step_that_rounds_to_none_is_refused(shared: Path, tmp_path: Path) -> None:
    images = shared / "data" / "images" / "models"
    model = opened(images / "mlperf_tiny_resnet8_int8.tflite", tmp_path)
    source = str(images / "mlperf_tiny_resnet8_float.tflite")
    odin = MONITORS["odin"](float_model=source)
    with pytest.raises(CompileError, match=r"0\.36 of a code.*use eps above 0\.002"):
        odin.companion(model, Preprocess())
    assert odin.set_params(eps=0.005).companion(model, Preprocess())


def test_an_integer_model_asks_for_its_float_source(shared: Path, tmp_path: Path) -> None:
    path = shared / "data" / "images" / "models" / "mlperf_tiny_resnet8_int8.tflite"
    with pytest.raises(CompileError, match="--float-model"):
        MONITORS["odin"](eps=0.005).companion(opened(path, tmp_path), Preprocess())


def test_a_float_model_of_another_input_is_refused(shared: Path, tmp_path: Path) -> None:
    images = shared / "data" / "images" / "models"
    model = opened(images / "mlperf_tiny_resnet8_int8.tflite", tmp_path)
    tiny = write_tiny(tmp_path / "m.tflite")
    with pytest.raises(CompileError, match=r"--float-model takes \(1, 4\)"):
        MONITORS["odin"](eps=0.005, float_model=str(tiny)).companion(model, Preprocess())
