"""Weights of dense layers in an ONNX file, dequantised."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from edgemon.compiler.models import onnx_graph
from edgemon.compiler.models.graph import Operator

Reals = npt.NDArray[np.float64]


class Weights:
    """The constants of a model, also those behind operators that rearrange or dequantise them."""

    def __init__(self, content: bytes, names: Sequence[str]) -> None:
        self._names = names  # that the graph's tensors have in the file
        self._model = onnx_graph.parse(content)
        self._stored = onnx_graph.constant_values(self._model)
        self._makers = {name: node for node in self._model.graph.node for name in node.output}

    def dense(self, dense: Operator, bias: Operator | None) -> tuple[Reals, Reals] | None:
        """Kernel (n_in, n_out) and bias (n_out,) of a Gemm or MatMul, to which ``bias`` may add;
        None if they cannot be read."""
        node = self._maker(dense)
        if node.op_type == "Gemm":
            found = self._gemm(node)
        elif node.op_type == "MatMul":
            found = self._matmul(node)
        else:
            return None
        if found is None or bias is None:
            return found
        kernel, total = found
        added = [v for v in map(self._value, self._maker(bias).input) if v is not None]
        return kernel, np.broadcast_to(total + added[0].ravel(), total.shape)

    def _maker(self, operator: Operator) -> Any:
        return self._makers[self._names[operator.outputs[0]]]

    def _gemm(self, node: Any) -> tuple[Reals, Reals] | None:
        given = {"alpha": 1.0, "beta": 1.0, "transA": 0, "transB": 0, **onnx_graph.attributes(node)}
        kernel = self._value(node.input[1])
        if kernel is None or given["transA"]:
            return None
        kernel = given["alpha"] * (kernel.T if given["transB"] else kernel)
        bias = np.zeros(kernel.shape[1])
        if len(node.input) > 2 and node.input[2]:
            added = self._value(node.input[2])
            if added is None:
                return None
            bias = bias + given["beta"] * added.ravel()
        return np.ascontiguousarray(kernel), bias

    def _matmul(self, node: Any) -> tuple[Reals, Reals] | None:
        left, right = (self._value(name) for name in node.input)
        kernel = right if right is not None else left.T if left is not None else None
        if kernel is None or kernel.ndim != 2:
            return None
        return np.ascontiguousarray(kernel), np.zeros(kernel.shape[1])

    def _value(self, name: str) -> Reals | None:
        """The real values of a constant."""
        if name in self._stored:
            return self._stored[name].astype(np.float64)
        node = self._makers.get(name)
        inner = self._value(node.input[0]) if node is not None and node.input else None
        if node is None or inner is None:
            return None
        given = onnx_graph.attributes(node)
        if node.op_type in ("Identity", "Cast"):
            return inner
        if node.op_type == "Transpose":
            return np.transpose(inner, given.get("perm"))
        if node.op_type == "DequantizeLinear":
            return self._dequantised(inner, node, given.get("axis", 1))
        return None

    def _dequantised(self, codes: Reals, node: Any, axis: int) -> Reals | None:
        scale = self._value(node.input[1])
        zero = self._value(node.input[2]) if len(node.input) > 2 and node.input[2] else np.zeros(())
        if scale is None or zero is None or scale.ndim > 1:
            return None
        if scale.ndim:
            along = [-1 if i == axis % codes.ndim else 1 for i in range(codes.ndim)]
            scale, zero = scale.reshape(along), zero.reshape(along if zero.ndim else ())
        return np.asarray((codes - zero) * scale)
