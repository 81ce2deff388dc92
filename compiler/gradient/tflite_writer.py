"""Operators and tensors appended to a TFLite model."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import flatbuffers
import numpy as np
import numpy.typing as npt
from ai_edge_litert import schema_py_generated as schema

Array = npt.NDArray[Any]
Shape = tuple[int, ...]

FLOAT = schema.TensorType.FLOAT32
_CODES = {v: k for k, v in vars(schema.BuiltinOperator).items() if isinstance(v, int)}
_TYPES: dict[np.dtype[Any], int] = {
    np.dtype(np.float32): FLOAT,
    np.dtype(np.int32): schema.TensorType.INT32,
    np.dtype(np.int64): schema.TensorType.INT64,
}
_STORED: dict[int, np.dtype[Any]] = {
    **{v: k for k, v in _TYPES.items()},
    schema.TensorType.FLOAT16: np.dtype(np.float16),
    schema.TensorType.INT8: np.dtype(np.int8),
}


class TfliteWriter:
    """A model's first subgraph, which grows."""

    def __init__(self, content: bytes) -> None:
        self.model = schema.ModelT.InitFromPackedBuf(content, 0)
        self.graph = self.model.subgraphs[0]

    def name(self, operator: Any) -> str:
        """Of a built-in operator, as CONV_2D."""
        code = self.model.operatorCodes[operator.opcodeIndex]
        return str(_CODES[max(int(code.builtinCode), int(code.deprecatedBuiltinCode))])

    def shape(self, index: int) -> tuple[int, ...]:
        return tuple(int(n) for n in self.graph.tensors[index].shape)

    def is_float(self, index: int) -> bool:
        return bool(self.graph.tensors[index].type == FLOAT)

    def value(self, index: int) -> Array | None:
        """The real values of a constant, also one of codes or of float16, as float32."""
        stored, tensor = self._stored(index), self.graph.tensors[index]
        if stored is None:
            makers = (o for o in self.graph.operators if int(o.outputs[0]) == index)
            maker = next((o for o in makers if self.name(o) == "DEQUANTIZE"), None)
            return None if maker is None else self.value(int(maker.inputs[0]))
        if stored.dtype.kind == "f":
            return stored.astype(np.float32)
        quantised = tensor.quantization
        if tensor.type != schema.TensorType.INT8 or quantised is None or quantised.scale is None:
            return None
        scale, zero = np.asarray(quantised.scale), np.asarray(quantised.zeroPoint)
        along = [1] * stored.ndim
        along[quantised.quantizedDimension] = -1
        by, of = (v.reshape(along) if v.size > 1 else v for v in (scale, zero))
        return np.asarray((stored.astype(np.float64) - of) * by, np.float32)

    def whole(self, index: int) -> Array | None:
        """Of a constant of int32 or int64."""
        stored = self._stored(index)
        return None if stored is None or stored.dtype.str not in ("<i4", "<i8") else stored

    def _stored(self, index: int) -> Array | None:
        """A constant as it lies in the file."""
        tensor = self.graph.tensors[index]
        data, kind = self.model.buffers[tensor.buffer].data, _STORED.get(tensor.type)
        if data is None or not len(data) or kind is None or tensor.sparsity is not None:
            return None
        return np.frombuffer(np.asarray(data, np.uint8).tobytes(), kind).reshape(self.shape(index))

    def floats(self, *values: float) -> int:
        """A new constant of (n,) float32."""
        return self.constant(np.array(values, np.float32))

    def integers(self, values: Sequence[int]) -> int:
        """A new constant of (n,) int32, as shapes and axes are."""
        return self.constant(np.array(values, np.int32))

    def tensor(
        self, shape: Sequence[int], kind: int = FLOAT, scale: float = 0.0, zero_point: int = 0
    ) -> int:
        """A new one; with a scale, a quantised one."""
        made = schema.TensorT()
        made.shape, made.type, made.buffer = list(shape), kind, 0
        made.name = f"odin/{len(self.graph.tensors)}"
        if scale:
            made.quantization = schema.QuantizationParametersT()
            made.quantization.scale = np.array([scale], np.float32)
            made.quantization.zeroPoint = np.array([zero_point], np.int64)
        self.graph.tensors.append(made)
        return len(self.graph.tensors) - 1

    def constant(self, value: Array) -> int:
        """A new constant: float32, int32 or int64."""
        value = np.asarray(value)  # of no axis as it is
        index = self.tensor(value.shape, _TYPES[value.dtype])
        buffer = schema.BufferT()
        buffer.data = np.frombuffer(value.tobytes(), np.uint8)
        self.model.buffers.append(buffer)
        self.graph.tensors[index].buffer = len(self.model.buffers) - 1
        return index

    def op(
        self, name: str, inputs: Sequence[int], shape: Sequence[int], kind: int = FLOAT,
        version: int = 1, options: str = "", **values: Any,
    ) -> int:  # fmt: skip
        """A new operator; returns its output. ``options``: its table, as PadOptions."""
        output = self.tensor(shape, kind)
        self.place(self.made(name, inputs, output, version, options, **values))
        return output

    def place(self, operator: Any, *, first: bool = False) -> None:
        self.graph.operators.insert(0 if first else len(self.graph.operators), operator)

    def made(
        self, name: str, inputs: Sequence[int], output: int, version: int = 1, options: str = "",
        **values: Any,
    ) -> Any:  # fmt: skip
        """An operator that writes a tensor that is there."""
        found = schema.OperatorT()
        found.opcodeIndex = self._code(name, version)
        found.inputs, found.outputs = list(inputs), [output]
        if options:
            table = getattr(schema, f"{options}T")()
            for key, value in values.items():
                if not hasattr(table, key):
                    raise AttributeError(f"{options} has no {key}")
                setattr(table, key, value)
            found.builtinOptionsType = getattr(schema.BuiltinOptions, options)
            found.builtinOptions = table
        return found

    def _code(self, name: str, version: int) -> int:
        number = getattr(schema.BuiltinOperator, name)
        for i, code in enumerate(self.model.operatorCodes):
            own = max(int(code.builtinCode), int(code.deprecatedBuiltinCode))
            if (own, code.version) == (number, version):
                return i
        made = schema.OperatorCodeT()
        made.builtinCode, made.version = number, version
        made.deprecatedBuiltinCode = min(number, 127)
        self.model.operatorCodes.append(made)
        return len(self.model.operatorCodes) - 1

    def content(self, entry: int, output: int) -> bytes:
        """The file of one input and one output, without signatures and metadata."""
        self.graph.inputs, self.graph.outputs = [entry], [output]
        self.model.signatureDefs, self.model.metadata, self.model.metadataBuffer = [], [], []
        builder = flatbuffers.Builder(1 << 16)
        builder.Finish(self.model.Pack(builder), b"TFL3")
        return bytes(builder.Output())
