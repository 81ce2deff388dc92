"""Companions of the tiny classifier and of images, small enough to check by hand."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import flatbuffers
import numpy as np
import onnx
from ai_edge_litert import schema_py_generated as schema
from onnx import TensorProto, helper

from edgemon.runtime.preprocess import InputSpec


def write_doubling(path: Path, entry: Sequence[int] = (1, 4), made: str = "Add") -> Path:
    """x -> x + x, of float32; with ``made`` "Shape" another type."""
    nodes = [helper.make_node(made, ["x"] * (2 if made == "Add" else 1), ["y"])]
    kind = TensorProto.FLOAT if made == "Add" else TensorProto.INT64
    shape = entry if made == "Add" else [len(entry)]
    return _write(path, nodes, [("x", entry)], [("y", shape, kind)])


def write_joining(path: Path, *, swapped: bool = False, classes: int = 3) -> Path:
    """(x[1, 4], p[1, 3]) -> both side by side, and x alone. ``swapped``: p is the first input."""
    nodes = [
        helper.make_node("Concat", ["x", "p"], ["both"], axis=1),
        helper.make_node("Neg", ["x"], ["negative"]),
    ]
    entries = [("x", (1, 4)), ("p", (1, classes))]
    made = [("both", (1, 4 + classes), TensorProto.FLOAT), ("negative", (1, 4), TensorProto.FLOAT)]
    return _write(path, nodes, entries[::-1] if swapped else entries, made)


def _write(
    path: Path, nodes: Sequence[onnx.NodeProto], entries: Sequence[tuple[str, Sequence[int]]],
    made: Sequence[tuple[str, Sequence[int], int]],
) -> Path:  # fmt: skip
    inputs = [helper.make_tensor_value_info(n, TensorProto.FLOAT, s) for n, s in entries]
    outputs = [helper.make_tensor_value_info(n, kind, s) for n, s, kind in made]
    graph = helper.make_graph(list(nodes), "companion", inputs, outputs)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    path.write_bytes(model.SerializeToString())
    return path


def write_blurring(path: Path, spec: InputSpec, scale: float = 0.0) -> Path:
    """An image (1, h, w, c) of int8 -> the mean around each pixel, in codes of the same scale or
    of this one."""
    own, pool, step = _codes("x", spec, spec.scale), schema.Pool2DOptionsT(), schema.OperatorT()
    pool.padding, pool.strideW, pool.strideH = schema.Padding.SAME, 1, 1
    pool.filterWidth = pool.filterHeight = 3
    step.opcodeIndex, step.inputs, step.outputs = 0, [0], [1]
    step.builtinOptionsType = schema.BuiltinOptions.Pool2DOptions
    step.builtinOptions = pool
    again = schema.OperatorT()
    again.opcodeIndex, again.inputs, again.outputs = 1, [1], [2]
    again.builtinOptionsType = schema.BuiltinOptions.QuantizeOptions
    again.builtinOptions = schema.QuantizeOptionsT()
    graph, model = schema.SubGraphT(), schema.ModelT()
    blurred, last = _codes("blurred", spec, spec.scale), _codes("coarse", spec, scale or 1.0)
    graph.tensors, graph.inputs = [own, blurred, *([last] if scale else [])], [0]
    graph.operators, graph.outputs = ([step, again], [2]) if scale else ([step], [1])
    model.version, model.subgraphs, model.buffers = 3, [graph], [schema.BufferT()]
    for builtin in (schema.BuiltinOperator.AVERAGE_POOL_2D, schema.BuiltinOperator.QUANTIZE):
        code = schema.OperatorCodeT()
        code.builtinCode = code.deprecatedBuiltinCode = builtin
        code.version = 2
        model.operatorCodes = [*(model.operatorCodes or []), code]
    builder = flatbuffers.Builder(1024)
    builder.Finish(model.Pack(builder), b"TFL3")
    path.write_bytes(builder.Output())
    return path


def _codes(name: str, spec: InputSpec, scale: float) -> Any:
    tensor: Any = schema.TensorT()
    tensor.name, tensor.shape, tensor.buffer = name, list(spec.tensor_shape), 0
    tensor.type, tensor.quantization = schema.TensorType.INT8, schema.QuantizationParametersT()
    tensor.quantization.scale = np.array([scale], np.float32)
    tensor.quantization.zeroPoint = np.array([spec.zero_point], np.int64)
    return tensor
