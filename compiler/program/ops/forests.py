"""What all ops of trees share: a forest as ONNX, and rows at its thresholds."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from edgemon.compiler.errors import CompileError
from edgemon.compiler.program.forest import Forest
from edgemon.compiler.program.grids import Array, beside
from edgemon.compiler.program.ops.op import F32, Value

if TYPE_CHECKING:
    from edgemon.compiler.program.neighbours import Around, TapRows
    from edgemon.compiler.program.onnx_graph import OnnxGraph

EXACT_BITS = 24  # whole numbers that float32, and so ONNX's trees, hold exactly


def forest_onnx(e: OnnxGraph, forest: Forest, source: Value, x: str) -> str:
    """The name of the forest's sums (n, outputs) of the value x, int32."""
    if source.bits > EXACT_BITS:
        raise CompileError("trees: the input is too wide for ONNX's float32 comparisons")
    if np.abs(forest.value).max(initial=0) * len(forest.roots) > 1 << EXACT_BITS:
        raise CompileError("trees: the leaf values are too large for ONNX's float32 sums")
    value = forest.value.reshape(forest.left.size, -1)
    alone = [r for r, d in zip(forest.roots, forest.depths, strict=True) if d == 0]
    constant = value[alone].sum(axis=0)
    ids: list[tuple[int, int]] = []  # (tree, node) of trees with at least one split
    leaf = forest.is_leaf
    for tree, (root, end) in enumerate(zip(forest.roots, forest.ends, strict=True)):
        if forest.depths[tree]:
            ids += [(tree, i) for i in range(root, end)]
    if not ids:
        fixed = e.constant(constant, np.int32)
        first = e.part(x, 0, 1)
        return e.op("Where", e.op("Equal", first, first), fixed, fixed)
    at = np.array([i for _, i in ids])
    base = np.array([forest.roots[t] for t, _ in ids])
    outputs = forest.outputs
    leaves = [(t, i, k) for t, i in ids if leaf[i] for k in range(outputs)]
    summed = e.op(
        "TreeEnsembleRegressor",
        e.cast(x, F32),
        domain="ai.onnx.ml",
        n_targets=outputs,
        aggregate_function="SUM",
        post_transform="NONE",
        nodes_treeids=[t for t, _ in ids],
        nodes_nodeids=(at - base).tolist(),
        nodes_featureids=forest.feature[at].tolist(),
        nodes_modes=["LEAF" if leaf[i] else "BRANCH_LEQ" for i in at],
        nodes_missing_value_tracks_true=[1] * len(ids),
        nodes_values=np.where(leaf[at], 0, forest.threshold[at]).astype(float).tolist(),
        nodes_truenodeids=np.where(leaf[at], 0, forest.left[at] - base).tolist(),
        nodes_falsenodeids=np.where(leaf[at], 0, forest.left[at] + 1 - base).tolist(),
        target_treeids=[t for t, _, _ in leaves],
        target_nodeids=[i - forest.roots[t] for t, i, _ in leaves],
        target_ids=[k for _, _, k in leaves],
        target_weights=[float(value[i, k]) for _, i, k in leaves],
    )
    return e.op("Add", e.cast(summed, np.int32), e.constant(constant, np.int32))


def forest_edges(around: Around, forest: Forest) -> Iterator[TapRows]:
    """For each inner node a row that reaches it with its feature below, at and above the
    threshold."""
    dtype = around.dtype
    leaf = forest.is_leaf
    made = []
    for root in forest.roots:
        stack: list[tuple[int, Array]] = [(root, around.row)]
        while stack:
            index, row = stack.pop()
            if leaf[index]:
                continue
            feature, threshold = forest.feature[index], forest.threshold[index]
            values = beside(threshold, dtype)
            for value in values:
                made.append(row.copy())
                made[-1][feature] = value
            if len(made) >= around.block:
                yield from around.replaced(np.array(made, dtype))
                made = []
            for child, value in ((0, values[len(values) // 2]), (1, values[-1])):
                next_row = row.copy()
                if bool(row[feature] <= threshold) != (child == 0):
                    next_row[feature] = value
                stack.append((int(forest.left[index]) + child, next_row))
    if made:
        yield from around.replaced(np.array(made, dtype))
