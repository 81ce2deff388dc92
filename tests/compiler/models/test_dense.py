from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from edgemon.compiler.models import open_model
from edgemon.compiler.models.dense import DenseLayer, dense_layers
from edgemon.compiler.models.model import Model
from edgemon.runtime.formats import open_classifier
from tests.tiny_onnx import write_conv_onnx, write_quantised_onnx, write_tiny_onnx
from tests.tiny_tflite import W1, W2, write_tiny

FUNCTIONS = {
    "linear": lambda v: v,
    "relu": lambda v: np.maximum(v, 0),
    "tanh": np.tanh,
    "sigmoid": lambda v: 1 / (1 + np.exp(-v)),
    "softmax": lambda v: np.exp(v - v.max()) / np.exp(v - v.max()).sum(),
}


def _shapes(layers: tuple[DenseLayer, ...]) -> list[tuple[str, tuple[int, ...], str, str, str]]:
    return [
        (x.name, x.kernel.shape, x.activation, x.input_tensor.name, x.output_tensor.name)
        for x in layers
    ]


def test_the_same_layers_come_from_tflite_and_onnx(tmp_path: Path) -> None:
    tflite = dense_layers(open_model(write_tiny(tmp_path / "t.tflite"), tmp_path))
    onnx = dense_layers(open_model(write_tiny_onnx(tmp_path / "t.onnx"), tmp_path))
    assert _shapes(tflite) == [
        ("hidden", (4, 3), "relu", "input", "hidden"),
        ("logits", (3, 3), "softmax", "hidden", "probabilities"),
    ]
    assert _shapes(onnx) == [("sum", *_shapes(tflite)[0][1:]), _shapes(tflite)[1]]
    for layers in (tflite, onnx):
        for layer, weights in zip(layers, (W1, W2), strict=True):
            assert layer.kernel.dtype == layer.bias.dtype == np.float64
            np.testing.assert_array_equal(layer.kernel, weights.T)
            np.testing.assert_array_equal(layer.bias, np.zeros(3))


def test_weights_behind_a_dequantisation_are_read(tmp_path: Path) -> None:
    (layer,) = dense_layers(open_model(write_quantised_onnx(tmp_path / "q.onnx"), tmp_path))
    codes = np.arange(12).reshape(4, 3)
    np.testing.assert_array_equal(layer.kernel, (codes - [0, 1, 2]) * [0.5, 1, 2])
    assert layer.input_tensor.name == "back"


def test_only_dense_layers_are_layers(tmp_path: Path) -> None:
    (layer,) = dense_layers(open_model(write_conv_onnx(tmp_path / "c.onnx"), tmp_path))
    assert (layer.name, layer.input_tensor.name) == ("scores", "flat")


@pytest.mark.parametrize(
    ("name", "count", "tolerance"),
    [
        ("trustdnn/tflite_float32/BM1.tflite", 3, 1e-5),
        ("trustdnn/tflite_float32/GC9.tflite", 4, 1e-5),
        ("images/models/mnist_mpromonet.tflite", 4, 1e-5),
        ("images/models/cifar10_marabou_small.onnx", 3, 1e-5),
        ("images/models/cifar10_resnet_2b_vnncomp2021.onnx", 2, 1e-5),
        ("images/models/mnist_convnet_maxpool_verivital.onnx", 1, 1e-5),
        # Quantised: a step of a tensor is about 1/256 of its largest value, before the activation.
        ("images/models/mlperf_tiny_resnet8_int8.tflite", 1, 0.05),
        ("images/models/mlperf_tiny_ad01_autoencoder_int8.tflite", 10, 0.05),
        ("odd_tflite/mlperf_tiny_ad_dynrange.tflite", 10, 0.05),
    ],
)
def test_the_weights_compute_what_the_model_computes(
    shared: Path, tmp_path: Path, name: str, count: int, tolerance: float
) -> None:
    model = open_model(shared / "data" / name, tmp_path)
    layers = dense_layers(model)
    assert len(layers) == count
    for layer, (x, y) in zip(layers, _inputs_and_outputs(model, layers, tmp_path), strict=True):
        expected = FUNCTIONS[layer.activation](x @ layer.kernel + layer.bias)
        out = layer.output_tensor
        if out.scale:  # what codes can hold
            low, high = (out.scale * (code - out.zero_point) for code in (-128, 127))
            expected = np.clip(expected, low, high)
        largest = max(float(np.abs(y).max()), 1e-9)
        assert np.abs(expected - y).max() / largest < tolerance, layer.name


def _inputs_and_outputs(
    model: Model, layers: tuple[DenseLayer, ...], folder: Path
) -> list[tuple[np.ndarray, np.ndarray]]:
    """Real values before and behind each layer for one random input."""
    entry = model.graph.inputs[0]
    taps = [t for x in layers for t in (x.input_tensor, x.output_tensor) if t.index != entry]
    tapped = model.with_taps(tuple(taps), folder / "t")
    classifier = open_classifier(tapped.path, kernels=model.kernels("builtin"))
    rng = np.random.default_rng(0)
    x = rng.uniform(0, 1, (1, *model.input.shape)).astype(np.float32)
    if model.input.scale:
        x = rng.integers(-128, 128, x.shape).astype(np.int8)
    classifier.invoke(x)
    first = x.astype(float).ravel()
    if model.input.scale:
        first = model.input.scale * (first - model.input.zero_point)
    values = {entry: first}
    for tensor, tap, position in zip(
        dict.fromkeys(taps), tapped.taps, tapped.positions, strict=True
    ):
        values[tensor.index] = tap.values(classifier.output(position))
    return [(values[x.input_tensor.index], values[x.output_tensor.index]) for x in layers]
