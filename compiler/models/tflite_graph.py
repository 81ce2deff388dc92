"""TFLite files: read the graph."""

from __future__ import annotations

from typing import Any

from ai_edge_litert import schema_py_generated as schema

from edgemon.compiler.models.graph import (
    Graph,
    Operator,
    Tensor,
    UnsupportedError,
    mark_constants,
    usable_names,
)


def _names(enumeration: Any) -> dict[int, str]:
    return {v: k for k, v in vars(enumeration).items() if not k.startswith("_")}


_DTYPES = {code: name.lower() for code, name in _names(schema.TensorType).items()}
_OPERATORS = _names(schema.BuiltinOperator)
_ACTIVATIONS = {code: name.lower() for code, name in _names(schema.ActivationFunctionType).items()}


def read_graph(content: bytes) -> Graph:
    """The graph of the first subgraph. Raises UnsupportedError, and on a damaged file whatever the
    flatbuffer reader does: it has no errors of its own."""
    model = schema.ModelT.InitFromPackedBuf(content, 0)
    if not model.subgraphs:
        raise UnsupportedError("it has no graph")
    buffers = model.buffers or []
    if any((b.offset or 0) > 1 for b in buffers):
        raise UnsupportedError("its weights lie outside the flatbuffer (a model above 2 GB)")
    subgraph = model.subgraphs[0]
    count = len(subgraph.tensors or [])
    names = usable_names([decoded(t.name) for t in subgraph.tensors or []])
    graph = Graph(
        inputs=_indices(subgraph.inputs, count),
        outputs=_indices(subgraph.outputs, count),
        tensors=tuple(
            _tensor(i, names[i], t, buffers) for i, t in enumerate(subgraph.tensors or [])
        ),
        operators=tuple(
            _operator(op, model.operatorCodes, count) for op in subgraph.operators or []
        ),
    )
    if not graph.outputs:
        raise UnsupportedError("it has no output")
    return mark_constants(graph)


def decoded(name: Any) -> str:
    """A name as the schema reads it, as text; "" for none."""
    if isinstance(name, bytes):
        return name.decode("utf-8", "replace")
    return name or ""


def _indices(values: Any, count: int) -> tuple[int, ...]:
    found = tuple(int(v) for v in (values if values is not None else ()))
    if any(not 0 <= v < count for v in found):
        raise UnsupportedError("it names a tensor that does not exist")
    return found


def _tensor(index: int, name: str, tensor: Any, buffers: list[Any]) -> Tensor:
    shape = [int(n) for n in (tensor.shape if tensor.shape is not None else ())]
    signature = tensor.shapeSignature
    if signature is not None and len(signature) == len(shape):
        shape[1:] = [
            n if int(s) >= 0 else -1 for n, s in zip(shape[1:], signature[1:], strict=True)
        ]
    quantised = tensor.quantization
    scales: Any = quantised.scale if quantised is not None and quantised.scale is not None else ()
    zeros = quantised.zeroPoint if quantised is not None else None
    if not 0 <= tensor.buffer < max(len(buffers), 1):
        raise UnsupportedError("it names a buffer that does not exist")
    data = buffers[tensor.buffer].data if buffers else None
    return Tensor(
        index=index,
        name=name,
        shape=tuple(shape),
        dtype=_DTYPES.get(tensor.type, f"type {tensor.type}"),
        scale=float(scales[0]) if len(scales) else 0.0,
        zero_point=int(zeros[0]) if zeros is not None and len(zeros) else 0,
        per_channel=len(scales) > 1,
        constant=data is not None and len(data) > 0,
        variable=bool(tensor.isVariable),
    )


def _operator(operator: Any, codes: list[Any], count: int) -> Operator:
    code = codes[operator.opcodeIndex]
    builtin = max(code.builtinCode, code.deprecatedBuiltinCode)
    name = _OPERATORS.get(builtin, f"operator {builtin}")
    inputs = tuple(int(i) for i in (operator.inputs if operator.inputs is not None else ()))
    if any(not -1 <= i < count for i in inputs):
        raise UnsupportedError("it names a tensor that does not exist")
    activation = getattr(operator.builtinOptions, "fusedActivationFunction", 0)
    return Operator(
        name=decoded(code.customCode) if name == "CUSTOM" else name,
        inputs=inputs,
        outputs=_indices(operator.outputs, count),
        activation=_ACTIVATIONS.get(activation, "none"),
    )
