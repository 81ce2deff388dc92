"""Companions of the tiny classifier, small enough to check by hand."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import onnx
from onnx import TensorProto, helper


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
