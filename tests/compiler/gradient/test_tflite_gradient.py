"""Backward operators against finite differences, and the whole companion by the interpreter."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pytest
from ai_edge_litert import schema_py_generated as schema

from edgemon.compiler.errors import CompileError
from edgemon.compiler.gradient.tflite_backward import Backward
from edgemon.compiler.gradient.tflite_step import step_model
from edgemon.compiler.gradient.tflite_writer import TfliteWriter
from edgemon.compiler.models import open_model
from edgemon.compiler.models.model import Model
from edgemon.compiler.models.selection import Selection
from edgemon.compiler.monitors import MONITORS
from edgemon.runtime.formats import open_classifier
from edgemon.runtime.preprocess import InputSpec, Preprocess
from tests.tiny_tflite import write_tiny

Array = npt.NDArray[np.float32]
Build = Callable[[TfliteWriter, int], int]
SHAPE = (1, 6, 6, 4)
SAME, VALID = schema.Padding.SAME, schema.Padding.VALID
RELU, RELU6 = schema.ActivationFunctionType.RELU, schema.ActivationFunctionType.RELU6
MAX = "MAX_POOL_2D"
RNG = np.random.default_rng(3)


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


def depthwise(multiplier: int, stride: int) -> Build:
    def build(f: TfliteWriter, x: int) -> int:
        _, h, w, taken = f.shape(x)
        made = taken * multiplier
        inputs = (x, f.constant(random(1, 3, 3, made)), f.constant(random(made)))
        return f.op(
            "DEPTHWISE_CONV_2D", inputs, (1, -(-h // stride), -(-w // stride), made),
            options="DepthwiseConv2DOptions", padding=SAME, strideW=stride, strideH=stride,
            depthMultiplier=multiplier, dilationWFactor=1, dilationHFactor=1,
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
    "RELU": clipped("RELU"), "RELU6": clipped("RELU6"), "residual": residual, "dense": dense,
}  # fmt: skip


@pytest.mark.parametrize("name", LAYERS)
def test_a_gradient_is_that_of_finite_differences(name: str, tmp_path: Path) -> None:
    file, x = empty(tmp_path / "m.tflite", SHAPE)
    made = LAYERS[name](file, x)
    forward = TfliteWriter(file.content(x, made))
    weights = random(*file.shape(made))  # of the sum whose gradient is taken
    gradient = Backward(file, x).of_entry(made, file.constant(weights))
    value = random(*SHAPE)
    found = run(file.content(x, gradient), value)
    content, step = forward.content(x, made), 1e-2
    differences = []
    for at in range(value.size):
        ends = []
        for sign in (-1, 1):
            moved = value.copy()
            moved.flat[at] += sign * step
            ends.append(run(content, moved).astype(np.float64) @ weights.ravel())
        differences.append((ends[1] - ends[0]) / (2 * step))
    error = np.abs(found - differences)
    # A kink within the step is no fault of the gradient; it is hit by few.
    assert np.mean(error < 2e-2 * np.abs(differences).max()) > 0.9
    assert np.abs(found).max() > 0


def test_equal_values_share_a_gradient(tmp_path: Path) -> None:
    file, x = empty(tmp_path / "m.tflite", (1, 2, 4, 1))
    made = pool(2, MAX)(file, x)
    gradient = Backward(file, x).of_entry(
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
        (conv(3, 3, padding=VALID, dilation=2), "dilated CONV_2D"),
    ],
)
def test_an_operator_without_gradient_is_named(build: Build, what: str, tmp_path: Path) -> None:
    file, x = empty(tmp_path / "m.tflite", SHAPE)
    made = build(file, x)
    with pytest.raises(CompileError, match=f"{what}.*has no gradient here.*odin_t"):
        Backward(file, x).of_entry(made, file.constant(random(*file.shape(made))))


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
