"""Weights of dense layers in a TFLite file, dequantised."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from ai_edge_litert import schema_py_generated as schema

from edgemon.compiler.models.graph import Graph, Operator

Reals = npt.NDArray[np.float64]

_DTYPES = {
    getattr(schema.TensorType, name.upper()): np.dtype(name).newbyteorder("<")
    for name in ("float32", "float16", "int8", "uint8", "int16", "int32", "int64")
}


class Weights:
    """The constants of a model, also those that are unpacked from float16."""

    def __init__(self, content: bytes, graph: Graph) -> None:
        self._model = schema.Model.GetRootAs(content, 0)
        self._subgraph = self._model.Subgraphs(0)
        self._graph = graph

    def dense(self, dense: Operator, bias: Operator | None) -> tuple[Reals, Reals] | None:
        """Kernel (n_in, n_out) and bias (n_out,) of a FULLY_CONNECTED, to which ``bias`` may add;
        None if they cannot be read."""
        kernel = self._value(dense.inputs[1])
        if kernel is None or kernel.ndim != 2:
            return None
        added = [*dense.inputs[2:3], *filter(self._is_stored, bias.inputs if bias else ())]
        total = np.zeros(len(kernel))
        for index in added:
            if index >= 0:
                values = self._value(index)
                if values is None:
                    return None
                total = total + values.ravel()
        return np.ascontiguousarray(kernel.T), total

    def _is_stored(self, index: int) -> bool:
        return index >= 0 and self._graph.tensors[index].constant

    def _value(self, index: int) -> Reals | None:
        """The real values of a constant."""
        op = self._graph.producer(index)
        if op is not None:
            packed = op.name == "DEQUANTIZE" and op.inputs[0] >= 0
            return self._value(op.inputs[0]) if packed else None
        tensor = schema.TensorT.InitFromObj(self._subgraph.Tensors(index))
        dtype = _DTYPES.get(tensor.type)
        data = self._model.Buffers(tensor.buffer).DataAsNumpy()
        if dtype is None or tensor.sparsity is not None or not isinstance(data, np.ndarray):
            return None
        values = data.view(dtype).reshape(self._graph.tensors[index].shape).astype(np.float64)
        quantised = tensor.quantization
        if quantised is None or quantised.scale is None or not len(quantised.scale):
            return values
        axis = int(quantised.quantizedDimension or 0) if len(quantised.scale) > 1 else 0
        along = [-1 if i == axis else 1 for i in range(values.ndim)]
        zeros = quantised.zeroPoint if quantised.zeroPoint is not None else np.zeros(1)
        scale = np.asarray(quantised.scale, np.float64).reshape(along)
        return np.asarray(scale * (values - np.asarray(zeros, np.float64).reshape(along)))
