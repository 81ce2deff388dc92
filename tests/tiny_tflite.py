"""A classifier small enough to check by hand: dense 4 -> 3, ReLU, dense 3 -> 3, softmax."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import flatbuffers
import numpy as np
from ai_edge_litert import schema_py_generated as schema

NAMES = ("input", "w1", "hidden", "w2", "logits", "probabilities")
W1 = np.array([[1, 0, 0, 0], [0, 1, 0, 0], [0, 0, 1, 1]], np.float32)
W2 = np.array([[2, 0, 0], [0, 2, 0], [0, 0, 2]], np.float32)


def write_tiny(
    path: Path,
    *,
    names: Sequence[str | None] = NAMES,
    signature: bool = True,
    outputs: Sequence[int] = (5,),
    entry: tuple[int, ...] = (1, 4),
    fed: bool = False,
) -> Path:
    """Write it; a name None leaves the tensor without one. ``entry``: shape of the input, with its
    4 elements. ``fed``: is w2 a second input?"""
    model: Any = schema.ModelT()
    model.version = 3
    model.buffers = [_buffer(None), _buffer(W1), _buffer(W2)]
    model.operatorCodes = [
        _code(schema.BuiltinOperator.FULLY_CONNECTED),
        _code(schema.BuiltinOperator.SOFTMAX),
    ]
    graph: Any = schema.SubGraphT()
    shapes = (entry, (3, 4), (1, 3), (3, 3), (1, 3), (1, 3))
    graph.tensors = [
        _tensor(n, s, ({1: 1} if fed else {1: 1, 3: 2}).get(i, 0))
        for i, (n, s) in enumerate(zip(names, shapes, strict=True))
    ]
    graph.inputs, graph.outputs = [0, 3] if fed else [0], list(outputs)
    graph.operators = [
        _operator(0, [0, 1, -1], [2], _dense(schema.ActivationFunctionType.RELU)),
        _operator(0, [2, 3, -1], [4], _dense(schema.ActivationFunctionType.NONE)),
        _operator(1, [4], [5], _softmax()),
    ]
    model.subgraphs = [graph]
    if signature:
        entry: Any = schema.SignatureDefT()
        entry.signatureKey = "serving_default"
        entry.inputs = [_map("x", 0), _map("w", 3)] if fed else [_map("x", 0)]
        entry.outputs = [_map(f"y{i}", i) for i in outputs]
        model.signatureDefs = [entry]
    builder = flatbuffers.Builder(1024)
    builder.Finish(model.Pack(builder), b"TFL3")
    path.write_bytes(builder.Output())
    return path


def _buffer(values: Any) -> Any:
    buffer: Any = schema.BufferT()
    if values is not None:
        buffer.data = np.frombuffer(values.tobytes(), np.uint8)
    return buffer


def _code(builtin: int) -> Any:
    code: Any = schema.OperatorCodeT()
    code.builtinCode = code.deprecatedBuiltinCode = builtin
    code.version = 1
    return code


def _tensor(name: str | None, shape: tuple[int, ...], buffer: int) -> Any:
    tensor: Any = schema.TensorT()
    tensor.name, tensor.shape, tensor.buffer = name, list(shape), buffer
    tensor.type = schema.TensorType.FLOAT32
    return tensor


def _operator(code: int, inputs: list[int], outputs: list[int], options: Any) -> Any:
    operator: Any = schema.OperatorT()
    operator.opcodeIndex, operator.inputs, operator.outputs = code, inputs, outputs
    operator.builtinOptionsType, operator.builtinOptions = options
    return operator


def _dense(activation: int) -> tuple[int, Any]:
    options: Any = schema.FullyConnectedOptionsT()
    options.fusedActivationFunction = activation
    return schema.BuiltinOptions.FullyConnectedOptions, options


def _softmax() -> tuple[int, Any]:
    options: Any = schema.SoftmaxOptionsT()
    options.beta = 1.0
    return schema.BuiltinOptions.SoftmaxOptions, options


def _map(name: str, index: int) -> Any:
    entry: Any = schema.TensorMapT()
    entry.name, entry.tensorIndex = name, index
    return entry
