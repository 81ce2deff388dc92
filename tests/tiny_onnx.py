"""Classifiers small enough to check by hand, as ONNX; see ``tests.tiny_tflite`` for the first."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

from tests.tiny_tflite import W1, W2

# A convolutional one: each channel alone, global average, then dense.
W_CONV = np.array([[[[1]], [[0]]], [[[0]], [[-1]]], [[[1]], [[1]]]], np.float32)  # (3, 2, 1, 1)
W_HEAD = np.array([[1, 0, 0], [0, 1, 0], [0, 0, 1]], np.float32)


def write_tiny_onnx(path: Path, *, batch: int | str = "N", head: str = "Softmax") -> Path:
    """Dense 4 -> 3 (MatMul, Add), ReLU, dense 3 -> 3 (Gemm), softmax."""
    nodes = [
        helper.make_node("MatMul", ["input", "w1"], ["product"]),
        helper.make_node("Add", ["product", "b1"], ["sum"]),
        helper.make_node("Relu", ["sum"], ["hidden"]),
        helper.make_node("Gemm", ["hidden", "w2", "b2"], ["logits"], transB=1, alpha=2.0),
        helper.make_node(head, ["logits"], ["probabilities"]),
    ]
    stored = {
        "w1": W1.T,
        "b1": np.zeros(3, np.float32),
        "w2": W2 / 2,
        "b2": np.zeros(3, np.float32),
    }
    return _write(path, nodes, stored, ["input", [batch, 4]], ["probabilities", [batch, 3]])


def write_conv_onnx(path: Path, *, first: bool = True, height: int = 4) -> Path:
    """Input (2, 4, 5), or with channels last (4, 5, 2); three classes, logits out."""
    entry, nodes = "input", []
    if not first:
        entry = "turned"
        nodes.append(helper.make_node("Transpose", ["input"], [entry], perm=[0, 3, 1, 2]))
    nodes += [
        helper.make_node("Conv", [entry, "w"], ["conv"]),
        helper.make_node("Relu", ["conv"], ["features"]),
        helper.make_node("GlobalAveragePool", ["features"], ["pooled"]),
        helper.make_node("Flatten", ["pooled"], ["flat"]),
        helper.make_node("Gemm", ["flat", "head"], ["scores"], transB=1),
    ]
    shape = [1, 2, height, 5] if first else [1, height, 5, 2]
    return _write(path, nodes, {"w": W_CONV, "head": W_HEAD}, ["input", shape], ["scores", [1, 3]])


def write_unit_onnx(path: Path) -> Path:
    """One output unit: a sigmoid of x0 - x1."""
    nodes = [
        helper.make_node("MatMul", ["input", "w"], ["sum"]),
        helper.make_node("Sigmoid", ["sum"], ["p"]),
    ]
    stored = {"w": np.array([[1], [-1]], np.float32)}
    return _write(path, nodes, stored, ["input", ["N", 2]], ["p", ["N", 1]])


def write_linear_onnx(
    path: Path, shape: tuple[int, ...], w: np.ndarray, b: np.ndarray, head: str = "Softmax"
) -> Path:
    """Images of ``shape``, flattened, times (n, k) plus (k,); ``head`` may be "" for none."""
    nodes = [
        helper.make_node("Flatten", ["input"], ["flat"], axis=1),
        helper.make_node("Gemm", ["flat", "w", "b"], ["logits"]),
    ]
    if head:
        nodes.append(helper.make_node(head, ["logits"], ["p"]))
    stored = {"w": w.astype(np.float32), "b": b.astype(np.float32)}
    return _write(
        path, nodes, stored, ["input", ["N", *shape]], ["p" if head else "logits", ["N", len(b)]]
    )


def write_quantised_onnx(path: Path) -> Path:
    """Int8 codes at scale 0.5, zero point -3, dense 4 -> 3 with dequantised weights."""
    nodes = [
        helper.make_node("QuantizeLinear", ["input", "s", "z"], ["codes"]),
        helper.make_node("DequantizeLinear", ["codes", "s", "z"], ["back"]),
        helper.make_node("DequantizeLinear", ["w", "ws", "wz"], ["weights"], axis=1),
        helper.make_node("MatMul", ["back", "weights"], ["logits"]),
    ]
    stored = {
        "s": np.array(0.5, np.float32), "z": np.array(-3, np.int8),
        "w": np.arange(12, dtype=np.int8).reshape(4, 3),
        "ws": np.array([0.5, 1, 2], np.float32), "wz": np.array([0, 1, 2], np.int8),
    }  # fmt: skip
    return _write(path, nodes, stored, ["input", [1, 4]], ["logits", [1, 3]])


def _write(
    path: Path, nodes: list[Any], stored: dict[str, Any], entry: list[Any], out: list[Any]
) -> Path:
    graph = helper.make_graph(
        nodes, "tiny",
        [helper.make_tensor_value_info(entry[0], TensorProto.FLOAT, entry[1])],
        [helper.make_tensor_value_info(out[0], TensorProto.FLOAT, out[1])],
        [numpy_helper.from_array(np.ascontiguousarray(v), k) for k, v in stored.items()],
    )  # fmt: skip
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)])
    model.ir_version = 8
    onnx.checker.check_model(model)
    path.write_bytes(model.SerializeToString())
    return path
