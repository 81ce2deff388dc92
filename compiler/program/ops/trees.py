"""Sums of the leaves that decision trees lead to (FORMAT.md section 7.5)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from edgemon.compiler.errors import CompileError
from edgemon.compiler.program.forest import LEAF_THRESHOLD, Forest
from edgemon.compiler.program.grids import Array, Represented, beside
from edgemon.compiler.program.ops.op import F32, REAL, Context, Op, Parts, Value
from edgemon.compiler.program.ops.tables import bits_of, width

if TYPE_CHECKING:
    from edgemon.compiler.program.ir import Node
    from edgemon.compiler.program.neighbours import Around, TapRows
    from edgemon.compiler.program.onnx_graph import OnnxGraph
    from edgemon.compiler.program.quantise import Quantiser

EXACT_BITS = 24  # whole numbers that float32, and so ONNX's trees, hold exactly
TREES_TOGETHER = 4  # (em_family_trees.c)


class Trees(Op):
    def infer(self, c: Context) -> Value:
        c.needs_numbers()
        forest = Forest.unpack(c.tables, c.x.dtype)
        forest.check(c.x.length)
        if c.x.dtype == REAL:
            return Value(REAL, 1)
        return Value("int32", 1, bits_of(forest.value) + width(len(forest.roots)))

    def evaluate(self, node: Node, x: Array) -> Array:
        forest = Forest.unpack(node.tables, x.dtype.name)
        summed: Array = forest.value[forest.leaves(x)].sum(axis=1, keepdims=True)
        return summed if x.dtype == REAL else summed.astype(np.int32)

    def quantise(self, q: Quantiser, node: Node) -> Represented:
        (x,) = q.inputs(node)
        value = q.type_of(x)
        if value.bits > EXACT_BITS or value.dtype == "int64":
            x = q.floats(x)
        forest = Forest.unpack(node.tables, REAL)
        inner = ~forest.is_leaf
        dtype = q.type_of(x).dtype
        # One code beyond either end of a tap's dtype says "never" or "always".
        ends = () if q.is_float(x) else (np.iinfo(dtype).min - 1, np.iinfo(dtype).max)
        found = q.at_most(forest.threshold[inner], x, *ends)
        leaf = LEAF_THRESHOLD.get(dtype, LEAF_THRESHOLD["integer"])
        threshold = np.full(inner.size, leaf, found.dtype)
        threshold[inner] = found
        if (forest.value != np.rint(forest.value)).any():
            raise CompileError("trees: leaf values must be whole numbers")
        device = replace(forest, threshold=threshold, value=forest.value.astype(np.int64))
        return Represented(q.node("trees", x, tables=device.pack(dtype)))

    def onnx(self, e: OnnxGraph, node: Node, x: str) -> str:
        source = e.program.value(node.inputs[0])
        forest = Forest.unpack(node.tables, source.dtype)
        if source.bits > EXACT_BITS:
            raise CompileError("trees: the input is too wide for ONNX's float32 comparisons")
        if np.abs(forest.value).max(initial=0) * len(forest.roots) > 1 << EXACT_BITS:
            raise CompileError("trees: the leaf values are too large for ONNX's float32 sums")
        ends = (*forest.roots[1:], forest.left.size)
        constant = sum(
            int(forest.value[r]) for r, d in zip(forest.roots, forest.depths, strict=True) if d == 0
        )
        ids: list[tuple[int, int]] = []  # (tree, node) of trees with at least one split
        leaf = forest.is_leaf
        for tree, (root, end) in enumerate(zip(forest.roots, ends, strict=True)):
            if forest.depths[tree]:
                ids += [(tree, i) for i in range(root, end)]
        if not ids:
            fixed = e.constant(constant, np.int32)
            first = e.part(x, 0, 1)
            return e.op("Where", e.op("Equal", first, first), fixed, fixed)
        at = np.array([i for _, i in ids])
        base = np.array([forest.roots[t] for t, _ in ids])
        leaves = [(t, i) for t, i in ids if leaf[i]]
        summed = e.op(
            "TreeEnsembleRegressor",
            e.cast(x, F32),
            domain="ai.onnx.ml",
            n_targets=1,
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
            target_treeids=[t for t, _ in leaves],
            target_nodeids=[i - forest.roots[t] for t, i in leaves],
            target_ids=[0] * len(leaves),
            target_weights=[float(forest.value[i]) for _, i in leaves],
        )
        return e.op("Add", e.cast(summed, np.int32), e.constant(constant, np.int32))

    def edges(self, around: Around) -> Iterator[TapRows]:
        """For each inner node a row that reaches it with its feature below, at and above the
        threshold."""
        dtype = around.dtype
        forest = Forest.unpack(around.node.tables, dtype.name)
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

    def steps(self, node: Node, _: Value) -> int:
        """One comparison a level and a value."""
        depths = _depths(node)
        return int(depths.sum()) + depths.size

    def parts(self, node: Node, _: Value) -> Parts:
        """Four trees go side by side, as many steps as the deepest of them. Of those that are
        left over, the deepest waits for its memory, and the others fill the wait."""
        depths = _depths(node)
        together = len(depths) - len(depths) % TREES_TOGETHER
        deepest = depths[:together].reshape(-1, TREES_TOGETHER).max(axis=1, initial=0)
        left = depths[together:]
        alone = int(left.max(initial=0))
        steps = TREES_TOGETHER * int(deepest.sum()) + int(left.sum()) - alone
        return {"trees": steps, "tree": alone}


def _depths(node: Node) -> Array:
    """The depth of each tree; the last table holds pairs of root and depth."""
    return node.tables[2][1::2].astype(np.int64)


OPS = (Trees("trees", 13, 1, {"nodes": "uint32", "values": "int32", "roots": "uint32"}),)
