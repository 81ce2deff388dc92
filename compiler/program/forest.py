"""Decision trees as flat arrays, in the order that the flat format prescribes.

One layout serves both levels of a program (``ir.py``): each tree in breadth-first order, children
adjacent (``right = left + 1``), leaves that step to themselves. ``runtime/FORMAT.md`` section 7.5.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from edgemon.compiler.errors import CompileError

Array = npt.NDArray[Any]

Row = tuple[int, float, int, Any]  # feature, threshold, left, value(s) of a node

MAX_NODES = 65536
# A leaf's threshold: no finite input exceeds it, so a step from a leaf stays there.
LEAF_THRESHOLD = {
    "integer": int(np.iinfo(np.int32).max),
    "float32": np.finfo(np.float32).max,
    "float64": np.inf,
}


@dataclass(frozen=True, eq=False)
class Tree:
    """N nodes in any order, the root first: at an inner one ``x[feature] <= threshold`` goes to
    ``left``, else to ``right``. Each (N,)."""

    left: Array
    right: Array
    is_leaf: npt.NDArray[np.bool_]
    feature: Array
    threshold: Array


def _kind(dtype: str) -> str:
    return dtype if dtype in ("float32", "float64") else "integer"


@dataclass(frozen=True, eq=False)
class Forest:
    """N nodes, T trees. At an inner node ``x[feature] <= threshold`` goes to ``left``, else to
    ``left + 1``; a leaf has ``left`` = its own index."""

    feature: npt.NDArray[np.int64]  # (N,)
    threshold: Array  # (N,) int64, float32 or float64
    left: npt.NDArray[np.int64]  # (N,)
    value: Array  # (N,) or (N, outputs), int64 (device) or float64 (real); 0 in inner nodes
    roots: tuple[int, ...]  # (T,)
    depths: tuple[int, ...]  # (T,) steps from root to the deepest leaf

    @property
    def outputs(self) -> int:
        """Sums that the forest gives."""
        return 1 if self.value.ndim == 1 else int(self.value.shape[1])

    @property
    def ends(self) -> tuple[int, ...]:
        """The node after each tree."""
        return (*self.roots[1:], self.left.size)

    def sums(self, x: Array) -> Array:
        """(rows, outputs) of x (rows, D)."""
        found = self.value[self.leaves(x)]
        summed: Array = found.sum(axis=1).reshape(len(x), self.outputs)
        return summed

    def parts_of(self, most: int) -> list[Forest]:
        """Forests whose sums add up to this one's, with at most ``most`` nodes each. Raises
        CompileError where one tree has more."""
        parts: list[Forest] = []
        first, ends = 0, self.ends
        for t, end in enumerate(ends):
            if end - self.roots[t] > most:
                raise CompileError(
                    f"trees: tree {t} has {end - self.roots[t]:,} nodes, and a table holds "
                    f"{most:,}; bound its depth or its leaves when it is trained"
                )
            if t + 1 == len(ends) or ends[t + 1] - self.roots[first] > most:
                parts.append(self._between(first, t + 1))
                first = t + 1
        return parts

    def _between(self, first: int, last: int) -> Forest:
        """The trees from ``first`` to before ``last``."""
        start = self.roots[first]
        at = slice(start, self.ends[last - 1])
        return Forest(
            self.feature[at], self.threshold[at], self.left[at] - start, self.value[at],
            tuple(r - start for r in self.roots[first:last]), self.depths[first:last],
        )  # fmt: skip

    @property
    def is_leaf(self) -> npt.NDArray[np.bool_]:
        return np.equal(self.left, np.arange(self.left.size))

    @classmethod
    def from_sklearn(cls, trees: Sequence[Any], values: Sequence[Array]) -> Forest:
        """A real forest of fitted ``sklearn.tree._tree.Tree`` objects; ``values[t][node]`` is the
        value, or the vector of values, that node would have as a leaf of tree t. Thresholds
        are as scikit-learn compares them: with the input rounded to float32."""
        plain = [
            Tree(
                t.children_left, t.children_right, t.children_left < 0, t.feature,
                _before_rounding(t.threshold),
            )
            for t in trees
        ]  # fmt: skip
        return cls.from_trees(plain, values)

    @classmethod
    def from_trees(cls, trees: Sequence[Tree], values: Sequence[Array]) -> Forest:
        """A real forest; of ``values`` see ``from_sklearn``."""
        rows: list[Row] = []
        roots: list[int] = []
        depths: list[int] = []
        nothing = np.zeros_like(np.asarray(values[0][0], np.float64))
        for tree, leaf_values in zip(trees, values, strict=True):
            roots.append(len(rows))
            level, depth = [0], 0
            while level:
                following = len(rows) + len(level)
                below: list[int] = []
                for node in level:
                    if tree.is_leaf[node]:
                        rows.append((0, np.inf, len(rows), leaf_values[node]))
                    else:
                        test = int(tree.feature[node]), float(tree.threshold[node])
                        rows.append((*test, following + len(below), nothing))
                        below += [int(tree.left[node]), int(tree.right[node])]
                level, depth = below, depth + bool(below)
            depths.append(depth)
        return cls.from_rows(rows, roots, depths)

    @classmethod
    def from_rows(cls, rows: Sequence[Row], roots: Sequence[int], depths: Sequence[int]) -> Forest:
        """A real forest of its nodes, one after another."""
        feature, threshold, left, value = zip(*rows, strict=True)
        return cls(
            np.array(feature, np.int64),
            np.array(threshold, np.float64),
            np.array(left, np.int64),
            np.array(value, np.float64),
            tuple(roots),
            tuple(depths),
        )

    def pack(self, dtype: str) -> tuple[Array, Array, Array]:
        """The op's tables for a tap of this dtype (float64: a real program)."""
        links = self.feature + (self.left << 16)
        roots = np.array([self.roots, self.depths], np.uint32).T.ravel()
        if dtype == "float64":
            nodes = np.stack([self.threshold, links.astype(np.float64)], axis=1).ravel()
            return nodes, self.value.astype(np.float64).ravel(), roots
        word = self.threshold.astype(np.float32 if dtype == "float32" else np.int32)
        if self.left.size > MAX_NODES:
            raise CompileError(f"trees: {self.left.size} nodes; one table holds {MAX_NODES}")
        nodes = np.stack([word.view(np.uint32), links.astype(np.uint32)], axis=1).ravel()
        return nodes, self.value.astype(np.int32).ravel(), roots

    @classmethod
    def unpack(cls, tables: Sequence[Array], dtype: str) -> Forest:
        """The inverse of ``pack``."""
        nodes, value, roots = tables
        word, links = nodes.reshape(-1, 2).T
        if dtype == "float64":
            threshold: Array = word
        else:
            kind: Any = np.float32 if dtype == "float32" else np.int32
            threshold = np.ascontiguousarray(word).view(kind)
            threshold = threshold if dtype == "float32" else threshold.astype(np.int64)
        whole = links.astype(np.int64)
        pairs = roots.reshape(-1, 2).astype(int)
        if value.size % whole.size or not value.size:
            raise CompileError(f"trees: {value.size} values for {whole.size} nodes")
        if value.size > whole.size:
            value = value.reshape(whole.size, -1)
        return cls(
            whole & 0xFFFF,
            threshold,
            whole >> 16,
            value if dtype == "float64" else value.astype(np.int64),
            tuple(pairs[:, 0].tolist()),
            tuple(pairs[:, 1].tolist()),
        )

    def check(self, length: int) -> None:
        """Rules R1 to R4 of the format for inputs of ``length`` elements; raises CompileError."""
        n = self.left.size
        if n < 1:
            raise CompileError("trees: a forest without nodes")
        for root, end, depth in zip(self.roots, self.ends, self.depths, strict=True):
            level_end, following, levels = root + 1, root + 1, 0
            for node in range(root, end):
                if node == level_end:
                    level_end, levels = following, levels + 1
                if self.left[node] != node:
                    if self.left[node] != following:
                        raise CompileError(f"trees: node {node} is not in breadth-first order")
                    following += 2
            if following != end or levels != depth:
                raise CompileError(f"trees: the tree at node {root} has a wrong size or depth")
        inner = ~self.is_leaf
        if (self.feature > 0xFFFF).any():
            raise CompileError("trees: only the first 65536 elements of a tap can be features")
        if (self.feature >= length).any() or (self.feature[~inner] != 0).any():
            raise CompileError(f"trees: a feature is outside the input's {length} elements")
        leaf = LEAF_THRESHOLD[_kind(self.threshold.dtype.name)]
        if (self.threshold[~inner] != leaf).any() or (self.value[inner] != 0).any():
            raise CompileError("trees: a leaf threshold or an inner value is wrong")
        if np.isnan(self.threshold[inner]).any() or np.isinf(self.threshold[inner]).any():
            raise CompileError("trees: a threshold is NaN or infinite")

    def leaves(self, x: Array) -> npt.NDArray[np.int64]:
        """Leaf index per row of x (rows, D) and tree: (rows, T)."""
        inner = ~self.is_leaf
        node = np.tile(np.array(self.roots, np.int64), (len(x), 1))
        for _ in range(max(self.depths)):
            above = np.take_along_axis(x, self.feature[node], axis=1) > self.threshold[node]
            node = self.left[node] + (above & inner[node])
        return node


def _before_rounding(threshold: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """The t for which ``x <= t`` says of every real x what ``float32(x) <= threshold`` says."""
    below = threshold.astype(np.float32)
    below = np.where(below > threshold, np.nextafter(below, np.float32(-np.inf)), below)
    above = np.nextafter(below, np.float32(np.inf))
    middle = (below.astype(np.float64) + above.astype(np.float64)) / 2
    # The middle itself is rounded to the even one of the two.
    even = (below.view(np.uint32) & 1) == 0
    return np.where(even, middle, np.nextafter(middle, -np.inf))
