"""Small networks of a table and of images, and their quantised forms as ONNX Runtime makes them."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper
from onnxruntime import quantization
from onnxruntime.quantization import CalibrationDataReader, QuantFormat, QuantType

CLASSES = 3
SIDE = 8  # of images, in pixels
STATIC = {  # format, type of activations, of weights, scales by channel
    "qdq_uint8": (QuantFormat.QDQ, QuantType.QUInt8, QuantType.QInt8, False),
    "qdq_int8": (QuantFormat.QDQ, QuantType.QInt8, QuantType.QInt8, False),
    "qdq_per_channel": (QuantFormat.QDQ, QuantType.QInt8, QuantType.QInt8, True),
    "qdq_int16": (QuantFormat.QDQ, QuantType.QInt16, QuantType.QInt8, False),
    "qdq_uint16": (QuantFormat.QDQ, QuantType.QUInt16, QuantType.QUInt8, False),
    "qop_uint8": (QuantFormat.QOperator, QuantType.QUInt8, QuantType.QUInt8, False),
    "qop_int8": (QuantFormat.QOperator, QuantType.QInt8, QuantType.QInt8, False),
    "qop_per_channel": (QuantFormat.QOperator, QuantType.QUInt8, QuantType.QInt8, True),
}
DYNAMIC = ("dynamic",)


def table_rows(n: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """(n, 8) and labels: three clouds that overlap."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, CLASSES, n)
    x = rng.normal(size=(n, 8)) + 1.9 * np.eye(8)[y]
    return x.astype(np.float32), y


def image_rows(n: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """(n, SIDE, SIDE, 1), channels last, and labels: stripes across, along, and none, in noise."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, CLASSES, n)
    stripes = np.sin(np.arange(SIDE) * np.pi / 2)
    waves = np.stack(np.broadcast_arrays(stripes[:, None], stripes, np.zeros((SIDE, SIDE))))
    x = waves[y] + rng.normal(0, 1.1, (n, SIDE, SIDE))
    return x[..., None].astype(np.float32), y


def write_mlp(path: Path, **more: Any) -> Path:
    """8 -> 16 -> 3 with a ReLU and a softmax, that knows ``table_rows``."""
    rng = np.random.default_rng(3)
    x, y = table_rows(3000, 7)
    w1 = rng.normal(0, 0.6, (8, 16)).astype(np.float32)
    b1 = rng.normal(0, 0.3, 16).astype(np.float32)
    w2, b2 = _readout(np.maximum(x @ w1 + b1, 0), y)
    nodes = [
        helper.make_node("Gemm", ["input", "w1", "b1"], ["h"]),
        helper.make_node("Relu", ["h"], ["r"]),
        helper.make_node("MatMul", ["r", "w2"], ["product"]),
        helper.make_node("Add", ["product", "b2"], ["z"]),
        helper.make_node("Softmax", ["z"], ["p"], axis=1),
    ]
    return write(path, nodes, {"w1": w1, "b1": b1, "w2": w2, "b2": b2}, [8], **more)


def write_cnn(path: Path, **more: Any) -> Path:
    """Two convolutions, of which the second is added to the first, pooled, then dense."""
    rng = np.random.default_rng(4)
    x, y = image_rows(1500, 8)
    c1 = rng.normal(0, 0.5, (6, 1, 3, 3)).astype(np.float32)
    c2 = rng.normal(0, 0.3, (6, 6, 3, 3)).astype(np.float32)
    zeros = np.zeros(6, np.float32)
    nodes = [
        helper.make_node("Conv", ["input", "c1", "zc"], ["a"], pads=[1, 1, 1, 1]),
        helper.make_node("Relu", ["a"], ["ar"]),
        helper.make_node("Conv", ["ar", "c2", "zc"], ["b"], pads=[1, 1, 1, 1]),
        helper.make_node("Relu", ["b"], ["br"]),
        helper.make_node("Add", ["ar", "br"], ["s"]),
        helper.make_node("GlobalAveragePool", ["s"], ["g"]),
        helper.make_node("Flatten", ["g"], ["f"]),
    ]
    stored = {"c1": c1, "c2": c2, "zc": zeros}
    features = _run(nodes, stored, [1, SIDE, SIDE], "f", np.moveaxis(x, -1, 1))
    w, b = _readout(features, y)
    nodes += [helper.make_node("Gemm", ["f", "w", "bias"], ["z"])]
    stored |= {"w": w, "bias": b}
    return write(path, nodes, stored, [1, SIDE, SIDE], output="z", **more)


def write(
    path: Path, nodes: list[Any], stored: dict[str, np.ndarray], shape: list[int], *,
    output: str = "p", opset: int = 13, batch: int | str = "N", width: int = CLASSES,
    ir_version: int = 8,
) -> Path:  # fmt: skip
    graph = helper.make_graph(
        nodes, "net", [helper.make_tensor_value_info("input", TensorProto.FLOAT, [batch, *shape])],
        [helper.make_tensor_value_info(output, TensorProto.FLOAT, [batch, width])],
        [numpy_helper.from_array(np.ascontiguousarray(v), k) for k, v in stored.items()],
    )  # fmt: skip
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)])
    model.ir_version = ir_version
    onnx.save(model, path)
    return path


def quantised(path: Path, form: str, rows: np.ndarray) -> Path:
    """The model in one of ``STATIC`` or ``DYNAMIC``, beside it; ``rows`` as it takes them."""
    out = path.with_name(f"{path.stem}_{form}.onnx")
    logging.disable(logging.WARNING)
    try:
        if form in DYNAMIC:
            quantization.quantize_dynamic(str(path), str(out), weight_type=QuantType.QUInt8)
        else:
            kind, activations, weights, per_channel = STATIC[form]
            quantization.quantize_static(
                str(path), str(out), _Rows(rows), quant_format=kind, per_channel=per_channel,
                activation_type=activations, weight_type=weights,
            )  # fmt: skip
    finally:
        logging.disable(logging.NOTSET)
    return out


class _Rows(CalibrationDataReader):  # type: ignore[misc]
    def __init__(self, rows: np.ndarray) -> None:
        self._rows: Iterator[np.ndarray] = iter(rows[:, None])

    def get_next(self) -> dict[str, np.ndarray] | None:
        row = next(self._rows, None)
        return None if row is None else {"input": row}


def _readout(features: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Weights (width, classes) and bias by least squares, times 6: logits of a fair size."""
    x = np.column_stack([features, np.ones(len(features))])
    found = 6 * np.linalg.lstsq(x, np.eye(CLASSES)[y], rcond=None)[0]
    return found[:-1].astype(np.float32), found[-1].astype(np.float32)


def _run(
    nodes: list[Any], stored: dict[str, np.ndarray], shape: list[int], output: str, x: np.ndarray
) -> np.ndarray:
    import tempfile

    import onnxruntime

    with tempfile.TemporaryDirectory() as folder:
        path = write(Path(folder) / "part.onnx", nodes, stored, shape, output=output, width=6)
        session = onnxruntime.InferenceSession(str(path), providers=["CPUExecutionProvider"])
        return np.asarray(session.run([output], {"input": x})[0])
