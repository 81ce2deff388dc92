"""ONNX files: read the graph."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt
import onnx

from edgemon.compiler.models.graph import (
    Graph,
    Operator,
    Tensor,
    UnsupportedError,
    mark_constants,
    usable_names,
)

Array = npt.NDArray[Any]
Found = Mapping[str, tuple[str, tuple[int, ...]]]  # dtype and shape of tensors, by ONNX name

# Where operators with a quantised output have its scale and zero point among their inputs.
_QUANTISATION = {
    "QuantizeLinear": (1, 2), "QLinearConv": (6, 7), "QLinearMatMul": (6, 7), "QGemm": (7, 8),
    "QLinearAdd": (6, 7), "QLinearMul": (6, 7), "QLinearConcat": (0, 1), "QLinearWhere": (7, 8),
    **dict.fromkeys(
        ("QLinearSoftmax", "QLinearSigmoid", "QLinearLeakyRelu", "QLinearGlobalAveragePool",
         "QLinearAveragePool", "QLinearReduceMean"), (3, 4),
    ),
}  # fmt: skip
_POST_TRANSFORMS = {
    "SOFTMAX": "softmax", "SOFTMAX_ZERO": "softmax", "LOGISTIC": "sigmoid", "PROBIT": "probit",
}  # fmt: skip
_SAME_CODES = {
    "Reshape", "Flatten", "Squeeze", "Unsqueeze", "Identity", "Transpose", "MaxPool",
}  # fmt: skip


def parse(content: bytes) -> Any:
    """The ModelProto. Raises ValueError if the bytes are not one."""
    try:
        model = onnx.load_model_from_string(content)
    except Exception:  # the protobuf library's own, of which it has no stubs
        raise ValueError("not an ONNX model") from None
    if not model.ir_version or not model.graph.node:
        raise ValueError("not an ONNX model")
    return model


def computed_names(model: Any) -> list[str]:
    """Names of the tensors that nodes compute, in the order of the file."""
    return [name for node in model.graph.node for name in node.output if name]


def read_graph(model: Any, found: Found) -> tuple[Graph, tuple[str, ...]]:
    """The graph, and the ONNX name of each tensor. ``found``: of inputs and computed tensors."""
    graph = model.graph
    values = dict(_constants(graph))
    inputs = [i.name for i in graph.input if i.name not in values]
    names = tuple(dict.fromkeys([*inputs, *values, *computed_names(model)]))
    index = {name: i for i, name in enumerate(names)}
    scales = _scales(graph, values)
    tensors = [
        _tensor(i, shown, name, values, found, scales)
        for i, (name, shown) in enumerate(zip(names, usable_names(names), strict=True))
    ]
    operators = tuple(
        Operator(
            node.op_type,
            tuple(index.get(name, -1) for name in node.input),
            tuple(index[name] for name in node.output if name),
            _activation(node),
        )
        for node in graph.node
        if node.op_type != "Constant"
    )
    outputs = tuple(index[o.name] for o in graph.output if o.name in index)
    if not outputs:
        raise UnsupportedError("it has no output that it computes")
    read = Graph(
        tuple(index[name] for name in inputs), outputs, tuple(tensors), operators, channel_axis=1
    )
    return mark_constants(read), names


def constant_values(model: Any) -> dict[str, Array]:
    """Initialisers and Constant nodes by name, as arrays."""
    return {
        name: onnx.numpy_helper.to_array(value)
        for name, value in _constants(model.graph)
        if isinstance(value, onnx.TensorProto)
    }


def attributes(node: Any) -> dict[str, Any]:
    """The attributes of a node, by name."""
    return {a.name: onnx.helper.get_attribute_value(a) for a in node.attribute}


def _activation(node: Any) -> str:
    """What an operator of the domain ai.onnx.ml does to its scores: see ``graph.Operator``."""
    if node.op_type == "Normalizer":
        return str(attributes(node).get("norm", b"MAX"), "ascii").lower()
    transform = str(attributes(node).get("post_transform", b"NONE"), "ascii")
    return _POST_TRANSFORMS.get(transform, "none")


def stored_tensors(graph: Any) -> Iterator[Any]:
    """All tensors that a graph and its inner graphs store."""
    yield from graph.initializer
    for node in graph.node:
        for attribute in node.attribute:
            if attribute.HasField("t"):
                yield attribute.t
            yield from attribute.tensors
            for inner in ([attribute.g] if attribute.HasField("g") else []) + list(
                attribute.graphs
            ):
                yield from stored_tensors(inner)


def _constants(graph: Any) -> Iterator[tuple[str, Any]]:
    """Name and TensorProto of each; None where a constant is none (sparse, a number, a list)."""
    for tensor in graph.initializer:
        yield tensor.name, tensor
    for sparse in graph.sparse_initializer:
        yield sparse.values.name, None
    for node in graph.node:
        if node.op_type == "Constant" and node.output:
            stored = [a.t for a in node.attribute if a.name == "value"]
            yield node.output[0], stored[0] if stored else None


def _scales(graph: Any, values: Mapping[str, Any]) -> dict[str, tuple[Array, int]]:
    """Scales and zero point of quantised tensors, by name."""
    found: dict[str, tuple[Array, int]] = {}
    for node in graph.node:
        if node.op_type in _SAME_CODES and node.input[0] in found:
            found[node.output[0]] = found[node.input[0]]
        at = _QUANTISATION.get(node.op_type)
        if at is None or values.get(_operand(node, at[0])) is None:
            continue
        zero = values.get(_operand(node, at[1]))
        zeros = onnx.numpy_helper.to_array(zero).ravel() if zero is not None else np.zeros(1)
        scale = onnx.numpy_helper.to_array(values[node.input[at[0]]]).ravel()
        if scale.size and zeros.size:
            found[node.output[0]] = (scale, int(zeros[0]))
    return found


def _operand(node: Any, position: int) -> str:
    return node.input[position] if position < len(node.input) else ""


def _tensor(
    index: int, shown: str, name: str, values: Mapping[str, Any], found: Found,
    scales: Mapping[str, tuple[Array, int]],
) -> Tensor:  # fmt: skip
    stored = values.get(name)
    dtype, shape = found.get(name, ("no tensor of numbers", (-1,)))
    if stored is not None:
        dtype, shape = str(onnx.helper.tensor_dtype_to_np_dtype(stored.data_type)), stored.dims
    scale, zero_point = scales.get(name, (np.zeros(1), 0))
    return Tensor(
        index=index,
        name=shown,
        shape=tuple(int(n) for n in shape),
        dtype=dtype,
        scale=float(scale[0]),
        zero_point=zero_point,
        per_channel=scale.size > 1,
        constant=name in values,
    )
