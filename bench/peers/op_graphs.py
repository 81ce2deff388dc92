"""Single ops as ONNX, in the operators that somebody would take who only knows the formula."""

from __future__ import annotations

from typing import Any

import numpy as np

from edgemon.bench.peers.ops import CLASS, OpWork
from edgemon.bench.peers.work import Array

OPSET = 18


class _Graph:
    def __init__(self) -> None:
        self.nodes: list[Any] = []
        self.constants: list[Any] = []

    def op(self, kind: str, *inputs: str | Array, **attributes: Any) -> str:
        from onnx import helper, numpy_helper

        names = []
        for given in inputs:
            name = given if isinstance(given, str) else f"c{len(self.constants)}"
            if not isinstance(given, str):
                self.constants.append(numpy_helper.from_array(np.ascontiguousarray(given), name))
            names.append(name)
        out = f"v{len(self.nodes)}"
        self.nodes.append(helper.make_node(kind, names, [out], **attributes))
        return out


def graph(work: OpWork) -> Any:
    """The onnx.ModelProto: input ``x`` (1, length), one output."""
    from onnx import helper

    g = _Graph()
    out = _nodes(g, work)
    dtype = helper.np_dtype_to_tensor_dtype
    x = helper.make_tensor_value_info("x", dtype(work.rows.dtype), [1, work.rows.shape[1]])
    y = helper.make_tensor_value_info(out, dtype(work.answers.dtype), None)
    made = helper.make_graph(g.nodes, work.kind, [x], [y], g.constants)
    return helper.make_model(made, opset_imports=[helper.make_opsetid("", OPSET)], ir_version=8)


def _nodes(g: _Graph, work: OpWork) -> str:
    from onnx import TensorProto

    t = work.node.tables
    length, wide = work.rows.shape[1], work.answers.dtype
    last = np.array([1], np.int64)
    x = "x"
    if work.rows.dtype == np.int8:
        x = g.op("Cast", x, to=TensorProto.INT32)
    if work.kind == "boxes":
        chosen = slice(int(t[3][CLASS]), int(t[3][CLASS + 1]))
        low, high = (v.reshape(-1, length)[chosen].astype(wide) for v in t[:2])
        apart = g.op("Max", g.op("Sub", low, x), g.op("Sub", x, high))
        far = g.op("ReduceMax", g.op("Mul", apart, t[2]), last, keepdims=0)
        return g.op("ReduceMin", far, np.array([0], np.int64), keepdims=1)
    if work.kind == "tables":
        classes, bins = (int(v) for v in t[2])
        by_bin = t[3].reshape(classes, length * bins).T.astype(np.int32)  # (length bins, classes)
        at = g.op("Mul", g.op("Sub", x, t[0]), t[1])
        zero, most = np.float32(0), np.float32(bins - 1)
        whole = g.op("Cast", g.op("Clip", at, np.array(zero), np.array(most)), to=TensorProto.INT64)
        index = g.op("Add", whole, (np.arange(length) * bins)[None])
        return g.op("ReduceSum", g.op("Gather", by_bin, index), last, keepdims=0)
    if work.kind == "linear":
        weights = t[0].reshape(-1, length).astype(wide)
        return g.op("Add", g.op("MatMul", x, weights.T), t[1][None])
    if work.kind == "distances":
        apart = g.op("Sub", x, t[0].reshape(-1, length))
        return g.op("ReduceSum", g.op("Mul", apart, apart), last, keepdims=0)
    points = (t[1].astype(np.float32) * t[2]).reshape(-1, length)
    apart = g.op("Sub", x, points)
    squares = g.op("ReduceSum", g.op("Mul", apart, apart), last, keepdims=0)
    one = g.op("Sub", t[3], g.op("Mul", squares, np.array(0.5, np.float32)))
    return g.op("ReduceLogSumExp", one, np.array([0], np.int64), keepdims=1)
