"""Stacks of dense layers, from TFLite or old Keras files, run in NumPy float32."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.special import expit, softmax

from edgemon.bench.errors import BenchError
from edgemon.compiler.methods.deepinfer import Dense

Array = npt.NDArray[Any]

ACTIVATIONS: dict[str, Callable[[Array], Array]] = {
    "linear": lambda z: z,
    "relu": lambda z: np.asarray(np.maximum(z, 0)),
    "tanh": lambda z: np.asarray(np.tanh(z)),
    "sigmoid": expit,
    "softmax": lambda z: softmax(z, axis=1),
}
_KERAS_HDF5 = "needs h5py to read it: pip install 'edgemon[bench]', or give a .tflite model"


@dataclass(frozen=True, eq=False)
class DenseModel:
    """Layers from input to output. One output unit means two classes, told apart at 0.5."""

    name: str
    layers: tuple[Dense, ...]

    @property
    def n_inputs(self) -> int:
        return int(self.layers[0][0].shape[0])

    @property
    def n_classes(self) -> int:
        return max(2, int(self.layers[-1][0].shape[1]))

    @property
    def n_parameters(self) -> int:
        return int(sum(kernel.size + bias.size for kernel, bias, _ in self.layers))

    def activations(self, x: Array) -> list[npt.NDArray[np.float32]]:
        """The values (n, units) after every layer, of rows x (n, n_inputs)."""
        found = []
        value = np.asarray(x, np.float32)
        for kernel, bias, activation in self.layers:
            value = ACTIVATIONS[activation](value @ kernel + bias).astype(np.float32)
            found.append(value)
        return found

    def predict(self, output: Array) -> npt.NDArray[np.int64]:
        """(n,) classes of the last layer's values (n, units)."""
        if output.shape[1] == 1:
            return (output[:, 0] > 0.5).astype(np.int64)
        return np.asarray(output.argmax(axis=1), np.int64)


def load(path: Path, name: str) -> DenseModel:
    """Read ``.tflite`` or ``.h5``. Raises BenchError for anything but a stack of dense layers."""
    try:
        layers = _from_hdf5(path) if path.suffix == ".h5" else _from_tflite(path)
    except BenchError:
        raise
    except Exception as error:  # readers of other people's files know many errors
        raise BenchError(f"{path}: cannot be read as a model: {error}") from None
    for _, _, activation in layers:
        if activation not in ACTIVATIONS:
            raise BenchError(
                f"{path}: a layer's activation is {activation}; the study runs "
                + ", ".join(ACTIVATIONS)
            )
    if not layers:
        raise BenchError(f"{path}: holds no dense layer")
    return DenseModel(name, tuple(layers))


def _from_tflite(path: Path) -> list[Dense]:
    from edgemon.compiler.models.tflite_graph import read_graph
    from edgemon.compiler.models.tflite_weights import Weights

    content = path.read_bytes()
    graph = read_graph(content)
    stored = Weights(content, graph)
    layers: list[Dense] = []
    for operator in graph.operators:
        if operator.name == "FULLY_CONNECTED":
            weights = stored.dense(operator, None)
            kind = "computed" if weights is None else graph.tensors[operator.inputs[1]].dtype
            if weights is None or kind != "float32":
                raise BenchError(f"{path}: dense weights are {kind}; the study runs stored float32")
            kernel, bias = (w.astype(np.float32) for w in weights)
            layers.append((kernel, bias, operator.activation.replace("none", "linear")))
        elif operator.name in _FOLLOWING and layers and layers[-1][2] == "linear":
            layers[-1] = (*layers[-1][:2], _FOLLOWING[operator.name])
        else:
            raise BenchError(
                f"{path}: holds the operator {operator.name}; the study runs dense layers only"
            )
    return layers


_FOLLOWING = {"LOGISTIC": "sigmoid", "TANH": "tanh", "RELU": "relu", "SOFTMAX": "softmax"}


def _from_hdf5(path: Path) -> list[Dense]:
    try:
        import h5py
    except ImportError:
        raise BenchError(f"{path}: {_KERAS_HDF5}") from None
    layers: list[Dense] = []
    with h5py.File(path) as file:
        config = json.loads(file.attrs["model_config"])["config"]
        for layer in config["layers"] if isinstance(config, dict) else config:
            kind, name = layer["class_name"], layer["config"].get("name", "")
            if kind == "InputLayer":
                continue
            if kind != "Dense":
                raise BenchError(f"{path}: layer {name!r} is {kind}; the study runs dense layers")
            weights = file["model_weights"][name][name]
            layers.append(
                (weights["kernel:0"][:], weights["bias:0"][:], layer["config"]["activation"])
            )
    return layers
