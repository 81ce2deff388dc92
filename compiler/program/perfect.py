"""Decision trees whose leaves all have one depth, as flat arrays (FORMAT.md section 7.13).

A tree of height h has ``2**h - 1`` tests in the order of a heap and ``2**h`` exits. A leaf above
that depth is the exit of everything that would lie below it. Tests compare *keys*: unsigned numbers
in the order of the values that they are made from.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from edgemon.compiler.errors import CompileError
from edgemon.compiler.program.forest import LEAF_THRESHOLD, Forest, Row

Array = npt.NDArray[Any]

MAX_HEIGHT = 12
MOST = 1 << 15  # features and different leaves, which have 15 bits
SIGN = np.uint32(1 << 31)
ZERO_KEY = SIGN  # of 0, for tests that decide nothing


def keys_of(x: Array) -> npt.NDArray[np.uint32]:
    """Keys of integers of at most 32 bits, or of float32: ``a < b`` iff the key of a is below that
    of b, with -0 below 0 and NaNs at the ends."""
    if x.dtype == np.float32:
        bits = np.ascontiguousarray(x).view(np.uint32)
        return np.where(bits & SIGN, ~bits, bits | SIGN)
    return x.astype(np.int32).view(np.uint32) ^ SIGN


def values_of(keys: npt.NDArray[np.uint32], dtype: str) -> Array:
    """The inverse: float32, or int64 for integers."""
    if dtype == "float32":
        return np.where(keys & SIGN, keys ^ SIGN, ~keys).astype(np.uint32).view(np.float32)
    return (keys ^ SIGN).view(np.int32).astype(np.int64)


@dataclass(frozen=True, eq=False)
class PerfectForest:
    """T trees of height h: test i of a tree leads to test 2 i + 1, or 2 i + 2 where the key of
    ``x[feature]`` exceeds ``keys``; below the last level lie the exits."""

    keys: npt.NDArray[np.uint32]  # (T, 2**h - 1)
    features: npt.NDArray[np.int16]  # (T, 2**h - 1)
    exits: npt.NDArray[np.int16]  # (T, 2**h), rows of ``values``
    values: npt.NDArray[np.int16]  # (leaves, outputs)

    @property
    def height(self) -> int:
        return int(self.exits.shape[1]).bit_length() - 1

    @property
    def size_bytes(self) -> int:
        return sum(t.nbytes for t in self.pack())

    @classmethod
    def of(cls, forest: Forest, dtype: str, length: int) -> PerfectForest | None:
        """A device forest in this form; None where it does not fit the form."""
        height = max(forest.depths)
        leaves, which = np.unique(
            forest.value.reshape(forest.left.size, -1), axis=0, return_inverse=True
        )
        outside = np.abs(forest.value).max(initial=0) >= MOST
        if not 1 <= height <= MAX_HEIGHT or len(leaves) > MOST or length > MOST or outside:
            return None
        tests = len(forest.roots) * (2**height - 1)
        if tests * 6 > 12 * forest.left.size * forest.outputs + 64:
            return None  # far more bytes than trees that end where they end
        kind: Any = np.float32 if dtype == "float32" else np.int32
        node_keys = keys_of(forest.threshold.astype(kind) + kind(0))  # no -0
        which, leaf = which.reshape(-1), forest.is_leaf
        shape = len(forest.roots), 2**height - 1
        keys, features = np.full(shape, ZERO_KEY), np.zeros(shape, np.int16)
        exits = np.zeros((shape[0], 2**height), np.int16)
        for t, root in enumerate(forest.roots):
            stack = [(root, 1, height)]  # node, its place in the heap from 1, levels below
            while stack:
                node, at, below = stack.pop()
                if leaf[node]:
                    first = (at << below) - 2**height
                    exits[t, first : first + (1 << below)] = which[node]
                    continue
                keys[t, at - 1], features[t, at - 1] = node_keys[node], forest.feature[node]
                left = int(forest.left[node])
                stack += [(left, 2 * at, below - 1), (left + 1, 2 * at + 1, below - 1)]
        used = np.unique(exits)
        renamed = np.searchsorted(used, exits).astype(np.int16)
        return cls(keys, features, renamed, leaves[used].astype(np.int16))

    def pack(self) -> tuple[Array, ...]:
        """The op's tables."""
        shape = np.array([self.height, self.values.shape[1]], np.uint32)
        rest = (self.keys, self.features, self.exits, self.values)
        return (shape, *(np.ascontiguousarray(t).ravel() for t in rest))

    @classmethod
    def unpack(cls, tables: Sequence[Array]) -> PerfectForest:
        """The inverse. Raises CompileError for tables of sizes that do not belong together."""
        shape, keys, features, exits, values = tables
        height, outputs = (int(v) for v in shape) if shape.size == 2 else (0, 0)
        if not 1 <= height <= MAX_HEIGHT or outputs < 1:
            raise CompileError(f"perfect_trees: a height of {height}, with {outputs} outputs")
        each = 2**height
        trees = exits.size // each
        sizes = (keys.size, features.size, exits.size)
        if sizes != (trees * (each - 1), trees * (each - 1), trees * each) or not trees:
            raise CompileError("perfect_trees: tables do not hold whole trees")
        if not values.size or values.size % outputs:
            raise CompileError("perfect_trees: values do not fill whole leaves")
        return cls(
            keys.reshape(trees, each - 1), features.reshape(trees, each - 1),
            exits.reshape(trees, each), values.reshape(-1, outputs),
        )  # fmt: skip

    def check(self, dtype: str, length: int) -> None:
        """Rules Q3 to Q5 of the format; raises CompileError."""
        if self.features.min() < 0 or self.features.max() >= length:
            raise CompileError(f"perfect_trees: a feature is outside the input's {length} elements")
        if self.exits.min() < 0 or self.exits.max() >= len(self.values):
            raise CompileError("perfect_trees: an exit leads to no leaf")
        if dtype == "float32":
            found = values_of(self.keys, dtype)
            if not np.isfinite(found).all() or (found.view(np.uint32) == SIGN).any():
                raise CompileError("perfect_trees: a key is that of no finite number, or of -0")

    def sums(self, x: Array) -> npt.NDArray[np.int32]:
        """(rows, outputs) of x (rows, D)."""
        rows = keys_of(x)
        tree = np.arange(len(self.exits))
        at = np.zeros((len(x), tree.size), np.int64)
        for _ in range(self.height):
            picked = np.take_along_axis(rows, self.features[tree, at].astype(np.int64), axis=1)
            at = 2 * at + 1 + (picked > self.keys[tree, at])
        exits = self.exits[tree, at - self.keys.shape[1]]
        summed: npt.NDArray[np.int32] = self.values[exits].sum(axis=1, dtype=np.int32)
        return summed

    def pruned(self, dtype: str) -> Forest:
        """The same sums as a forest, without tests whose exits all agree."""
        thresholds = values_of(self.keys, dtype).tolist()
        end: Any = LEAF_THRESHOLD["float32" if dtype == "float32" else "integer"]
        values = self.values.astype(np.int64)
        nothing = np.zeros_like(values[0])
        rows: list[Row] = []
        roots, depths = [], []
        each = self.exits.shape[1]
        for t, exits in enumerate(self.exits):
            roots.append(len(rows))
            level, depth = [1], 0
            while level:
                following, below = len(rows) + len(level), list[int]()
                width = each >> depth
                for at in level:
                    own = exits[at * width - each : (at + 1) * width - each]
                    if (own == own[0]).all():
                        rows.append((0, end, len(rows), values[own[0]]))
                    else:
                        test = int(self.features[t, at - 1]), thresholds[t][at - 1]
                        rows.append((*test, following + len(below), nothing))
                        below += [2 * at, 2 * at + 1]
                level, depth = below, depth + bool(below)
            depths.append(depth)
        feature, threshold, left, value = zip(*rows, strict=True)
        summed = np.array(value, np.int64)
        return Forest(
            np.array(feature, np.int64),
            np.array(threshold, np.float32 if dtype == "float32" else np.int64),
            np.array(left, np.int64),
            summed[:, 0] if summed.shape[1] == 1 else summed,
            tuple(roots),
            tuple(depths),
        )
