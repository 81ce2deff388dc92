"""Sums of the leaves that decision trees lead to (FORMAT.md section 7.5)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from edgemon.compiler.errors import CompileError
from edgemon.compiler.program.forest import LEAF_THRESHOLD, MAX_NODES, Forest
from edgemon.compiler.program.grids import Array, Represented
from edgemon.compiler.program.ops.forests import EXACT_BITS, forest_edges, forest_onnx
from edgemon.compiler.program.ops.op import REAL, Context, Op, Parts, Value
from edgemon.compiler.program.ops.tables import bits_of, width
from edgemon.compiler.program.perfect import PerfectForest

if TYPE_CHECKING:
    from edgemon.compiler.program.ir import Node
    from edgemon.compiler.program.neighbours import Around, TapRows
    from edgemon.compiler.program.onnx_graph import OnnxGraph
    from edgemon.compiler.program.quantise import Quantiser

TREES_TOGETHER = 4  # (em_family_trees.c)


class _Walked(Op):
    """Trees whose leaves have records."""

    def infer(self, c: Context) -> Value:
        c.needs_numbers()
        forest = Forest.unpack(c.tables, c.x.dtype)
        forest.check(c.x.length)
        if c.x.dtype == REAL:
            return Value(REAL, forest.outputs)
        return Value("int32", forest.outputs, bits_of(forest.value) + width(len(forest.roots)))

    def evaluate(self, node: Node, x: Array) -> Array:
        summed = Forest.unpack(node.tables, x.dtype.name).sums(x)
        return summed if x.dtype == REAL else summed.astype(np.int32)

    def onnx(self, e: OnnxGraph, node: Node, x: str) -> str:
        source = e.program.value(node.inputs[0])
        return forest_onnx(e, Forest.unpack(node.tables, source.dtype), source, x)

    def edges(self, around: Around) -> Iterator[TapRows]:
        """For each inner node a row that reaches it with its feature below, at and above the
        threshold."""
        yield from forest_edges(around, Forest.unpack(around.node.tables, around.dtype.name))

    def steps(self, node: Node, _: Value) -> int:
        """One comparison a level, and the values of a leaf."""
        depths = _depths(node)
        return int(depths.sum()) + depths.size * node.value.length

    def reads(self, node: Node, _: Value) -> int:
        """Of each tree the nodes from the root to a leaf, and that leaf's values."""
        nodes, values, roots = node.tables
        depths, outputs = _depths(node), node.value.length
        records = int((depths + 1).sum()) * 2 * nodes.itemsize
        leaves = depths.size * outputs * values.itemsize
        return min(records, nodes.nbytes) + min(leaves, values.nbytes) + roots.nbytes

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


class Trees(_Walked):
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
        sums = [self._device(q, x, part) for part in device.parts_of(MAX_NODES)]
        if len(sums) == 1:
            return sums[0]
        whole = sums[0]
        for following in sums[1:]:
            whole = Represented(q.node("concat", whole, following))
        return Represented(q.node("reduce", whole, tables=[np.array([forest.outputs])]))

    def _device(self, q: Quantiser, x: Represented, forest: Forest) -> Represented:
        """Perfect trees where they take no more bytes: their steps are the cheapest."""
        dtype = q.type_of(x).dtype
        perfect = PerfectForest.of(forest, dtype, q.type_of(x).length)
        tables = forest.pack(dtype)
        if perfect is not None and perfect.size_bytes <= sum(t.nbytes for t in tables):
            return Represented(q.node("perfect_trees", x, tables=perfect.pack()))
        return Represented(q.node(self.name, x, tables=tables))


class EarlyTrees(_Walked):
    """The same, by a reader that leaves each tree at its leaf: fewer steps, and not always as many.
    Devices only; ``quantise.early`` makes them."""

    def parts(self, node: Node, _: Value) -> Parts:
        """At most: one tree after another, each to its deepest leaf."""
        return {"tree": int(_depths(node).sum())}


class PerfectTrees(Op):
    """Trees whose leaves all have one depth: a walk without a record for a leaf. Devices only;
    ``Trees.quantise`` makes them."""

    def infer(self, c: Context) -> Value:
        c.needs_numbers()
        perfect = PerfectForest.unpack(c.tables)
        perfect.check(c.x.dtype, c.x.length)
        bits = bits_of(perfect.values) + width(len(perfect.exits))
        return Value("int32", perfect.values.shape[1], bits)

    def evaluate(self, node: Node, x: Array) -> Array:
        return PerfectForest.unpack(node.tables).sums(x)

    def onnx(self, e: OnnxGraph, node: Node, x: str) -> str:
        source = e.program.value(node.inputs[0])
        return forest_onnx(e, PerfectForest.unpack(node.tables).pruned(source.dtype), source, x)

    def edges(self, around: Around) -> Iterator[TapRows]:
        forest = PerfectForest.unpack(around.node.tables).pruned(around.dtype.name)
        yield from forest_edges(around, forest)

    def scratch(self, x: Value) -> int:
        return 4 * x.length

    def steps(self, node: Node, x: Value) -> int:
        """A key an input, one comparison a level, and the values of a leaf."""
        perfect = PerfectForest.unpack(node.tables)
        return x.length + len(perfect.exits) * (perfect.height + node.value.length)

    def reads(self, node: Node, _: Value) -> int:
        """Of each tree a test a level, an exit and the values of a leaf."""
        shape, keys, features, exits, values = node.tables
        perfect = PerfectForest.unpack(node.tables)
        trees = len(perfect.exits)
        tests = trees * perfect.height * (keys.itemsize + features.itemsize)
        leaves = min(trees * node.value.length * values.itemsize, values.nbytes)
        return shape.nbytes + tests + trees * exits.itemsize + leaves

    def parts(self, node: Node, x: Value) -> Parts:
        """A key an element of x, then the steps of all trees, and the values of a leaf."""
        perfect = PerfectForest.unpack(node.tables)
        trees = len(perfect.exits)
        parts = {x.one_by_one: x.length, "perfect": trees * perfect.height}
        if node.value.length > 1:
            parts["vector"] = trees * node.value.length
        return parts


TREE_TABLES = {"nodes": "uint32", "values": "int32", "roots": "uint32"}
PERFECT_TABLES = {
    "shape": "uint32", "keys": "uint32", "features": "int16", "exits": "int16", "values": "int16",
}  # fmt: skip
OPS = (
    Trees("trees", 13, 1, TREE_TABLES),
    PerfectTrees("perfect_trees", 27, 1, PERFECT_TABLES),
    EarlyTrees("early_trees", 28, 1, TREE_TABLES),
)
