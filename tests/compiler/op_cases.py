"""Small device programs, one an op and a data type of its input, and rows of special values.

Taps: ``logits`` float32[3], which gives the class of ops that take one, ``x`` [18] and ``y``
[18] of the type in question; ops on int32 and int64 read values that were made of int16 taps.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from edgemon.compiler.program.forest import LEAF_THRESHOLD, Forest
from edgemon.compiler.program.ir import Builder, Monitor, Program, Tap
from edgemon.compiler.program.patterns import packed
from edgemon.compiler.program.perfect import PerfectForest, keys_of

Array = npt.NDArray[Any]
Add = Callable[["Case"], Sequence[int]]

LENGTH, CLASSES = 18, 3
LOGITS, X, Y = range(3)
# Quiet, signalling, negative NaN and one of all ones; infinities.
NO_NUMBERS = (0x7FC00000, 0x7F800001, 0xFFC00000, 0xFFFFFFFF, 0x7F800000, 0xFF800000)
# -0, denormals, the smallest and the largest normal numbers.
EXTREMES = (0x80000000, 0x1, 0x80000001, 0x007FFFFF, 0x00800000, 0x7F7FFFFF, 0xFF7FFFFF)


class Case:
    """A program in the making: x and y as values of its type, tables of random content."""

    def __init__(self, dtype: str, *, extreme: bool = True) -> None:
        """``extreme``: an int32 reaches both ends of 30 bits, else those of 15."""
        self.dtype = dtype
        self.extreme = extreme
        self.tap_dtype = "int16" if dtype in ("int32", "int64") else dtype
        self.rng = np.random.default_rng(len(dtype))
        self.b = Builder(
            [
                Tap("logits", "float32", CLASSES),
                Tap("x", self.tap_dtype, LENGTH),
                Tap("y", self.tap_dtype, LENGTH),
            ]
        )
        self.predicted = self.b.node("argmax", LOGITS)
        self.x, self.y = self._wide(X), self._wide(Y)

    def _wide(self, tap: int) -> int:
        if self.dtype not in ("int32", "int64"):
            return tap
        whole = self.b.node("gather", tap, tables=[np.arange(LENGTH, dtype=np.uint32)])
        if self.dtype == "int64":
            return self.b.node("add", whole, whole)
        if not self.extreme:
            return whole
        # Codes become the ends of what an int32 may hold, or stay next to 0.
        entries = np.array([-(1 << 30), -1, 0, 1, 1 << 30], np.int32)
        return self.b.node("lut", whole, tables=[entries, np.array([-2], np.int32)])

    @property
    def is_float(self) -> bool:
        return self.dtype == "float32"

    def number(self, x: float) -> Array:
        return np.array([x], np.float32 if self.is_float else np.int32)

    def first_of(self, x: int) -> int:
        """A value with one element: of a float tap its first, without a change of its bits."""
        return self.b.node("gather", x, tables=[np.zeros(1, np.uint32)])

    def floats(self, size: int) -> Array:
        return self.rng.normal(0, 1, size).astype(np.float32)

    def codes(self, size: int, dtype: str) -> Array:
        info = np.iinfo(dtype)
        return self.rng.integers(max(info.min, -99), min(info.max, 99), size).astype(dtype)

    def program(self, add: Add) -> Program:
        """One monitor a number of the results; thresholds in the middle of things."""
        scores: list[int] = []
        for id_ in add(self):
            scores += self._numbers(id_)
        return self.b.program(
            self.predicted, [Monitor(f"m{i}", s, 5, -5) for i, s in enumerate(scores[:32])]
        )

    def _numbers(self, id_: int) -> list[int]:
        value = self.b.value(id_)
        if value.length == 1:
            return [id_]
        if value.dtype == "int64":
            one = [np.ones(1, np.float32), np.zeros(1, np.int32)]
            id_ = self.b.node("to_f32", id_, tables=one)
        return [
            self.b.node("gather", id_, tables=[np.array([i], np.uint32)])
            for i in range(value.length)
        ]


def _one(op: str, *, second: bool = False) -> Add:
    return lambda c: [c.b.node(op, *([c.x, c.y] if second else [c.x]))]


def _sub(c: Case) -> list[int]:
    return [c.b.node("sub", c.x, c.first_of(c.y))]


def _div(c: Case) -> list[int]:
    return [c.b.node("div", c.x, c.first_of(c.y))]


def _to_f32(c: Case) -> list[int]:
    zero = np.array([0 if c.is_float else -7], np.int32)
    tables = [[np.array([s], np.float32), zero] for s in (0.3, 3e38)]
    return [c.b.node("to_f32", c.x, tables=t) for t in tables]


def _boxes(c: Case) -> list[int]:
    first = np.array([0, 2, 2, 3], np.uint32)  # the middle class has none
    size = 3 * LENGTH
    kind = np.dtype(c.dtype)
    ends = np.sort(np.stack([c.floats(size), c.floats(size)]) * (1 if c.is_float else 20), axis=0)
    lower, upper = (ends.clip(0, 99) if c.dtype == "uint8" else ends).astype(kind)
    weight = np.abs(c.floats(LENGTH)) + 1 if c.is_float else c.codes(LENGTH, "uint8") + 1
    tables = [lower, upper, weight.astype(np.float32 if c.is_float else np.int32), first]
    return [c.b.node("boxes", c.x, c.predicted, tables=tables)]


def _trees(c: Case, op: str = "trees") -> list[int]:
    """One sum, and three of one structure."""
    kind = "float32" if c.is_float else "int32"
    forest = _forest(c)
    several = replace(forest, value=np.stack([forest.value * k for k in (1, -1, 0)], axis=1))
    return [c.b.node(op, c.x, tables=f.pack(kind)) for f in (forest, several)]


def _perfect_trees(c: Case) -> list[int]:
    """Of each height with code of its own, and others; with one sum and with three."""
    ids = []
    for height in (1, 3, 6):
        trees, tests = 5, 2**height - 1
        kind = np.float32 if c.is_float else np.int32
        near = c.rng.integers(-2, 3, (trees, tests)).astype(kind) + kind(0)
        features = c.rng.integers(0, LENGTH, (trees, tests)).astype(np.int16)
        exits = c.rng.integers(0, 9, (trees, tests + 1)).astype(np.int16)
        for outputs in (1, 3):
            values = c.rng.integers(-9999, 9999, (9, outputs)).astype(np.int16)
            perfect = PerfectForest(keys_of(near), features, exits, values)
            ids.append(c.b.node("perfect_trees", c.x, tables=perfect.pack()))
    return ids


def _forest(c: Case) -> Forest:
    """Depths 2, 0, 1, and again, so that shallow trees walk beside deep ones; the last leaf is the
    last node."""
    count = 5
    feature: list[int] = []
    left: list[int] = []
    roots, depths = [], []
    for t in range(count):
        root, depth = len(left), (2, 0, 1)[t % 3]
        roots.append(root)
        depths.append(depth)
        inner = 2**depth - 1
        for i in range(2 * inner + 1):
            feature.append((7 * t + i) % LENGTH if i < inner else 0)
            left.append(root + 2 * i + 1 if i < inner else root + i)
    at = np.array(left)
    leaf = at == np.arange(at.size)
    limit: Any = LEAF_THRESHOLD["float32" if c.is_float else "integer"]
    kind: Any = np.float32 if c.is_float else np.int64
    threshold = np.where(leaf, limit, 0).astype(kind)
    value = np.where(leaf, 1 << (np.arange(at.size) % 20), 0)
    return Forest(np.array(feature), threshold, at, value, tuple(roots), tuple(depths))


def _omit(c: Case) -> list[int]:
    return [c.b.node("omit", c.x, c.b.node("argmax", c.x))]


def _exceeds(c: Case) -> list[int]:
    return [c.b.node("exceeds", c.first_of(c.x), tables=[c.number(0)])]


def _gather(c: Case) -> list[int]:
    return [c.b.node("gather", c.x, tables=[np.array([17, 0, 3, 3], np.uint32)])]


def _reduce(c: Case) -> list[int]:
    shapes = ([6], [18], [1], [6, 3], [3, 1], [3, 2], [1, 9])  # channels, positions of a group
    return [c.b.node("reduce", c.x, tables=[np.array(s, np.uint32)]) for s in shapes]


def _deviation(c: Case) -> list[int]:
    return [c.b.node("deviation", c.x, tables=[np.array([k], np.uint32)]) for k in (6, 18, 1)]


def _affine(c: Case) -> list[int]:
    weight = c.floats(4 * LENGTH) if c.is_float else c.codes(4 * LENGTH, "int16")
    bias = c.floats(4) if c.is_float else c.codes(4, "int32")
    return [c.b.node("affine", c.x, tables=[weight, bias])]


def _select(c: Case) -> list[int]:
    return [c.b.node("select", c.x, c.predicted)]


def _tables(c: Case) -> list[int]:
    shape = np.array([2, 9], np.uint32)
    rate, entries = np.abs(c.floats(LENGTH)) + 1, c.codes(2 * LENGTH * 9, "int16")
    return [c.b.node("tables", c.x, tables=[c.floats(LENGTH) - 2, rate, shape, entries])]


def _kernels(c: Case) -> list[int]:
    shape, scale = np.array([3, 2], np.uint32), np.array([0.1], np.float32)
    tables = [shape, c.codes(2 * LENGTH, "int8"), scale, c.floats(6)]
    return [c.b.node("kernels", c.x, tables=tables)]


def _distances(c: Case) -> list[int]:
    return [c.b.node("distances", c.x, tables=[c.floats(3 * LENGTH)])]


def _logsumexp(c: Case) -> list[int]:
    return [c.b.node("logsumexp", c.x, tables=[np.array([k], np.uint32)]) for k in (3, 18)]


def _concat(c: Case) -> list[int]:
    few = c.b.node("gather", c.y, tables=[np.array([0, 17], np.uint32)])
    return [c.b.node("concat", c.x, few)]


def _hamming(c: Case) -> list[int]:
    threshold = np.zeros(LENGTH, np.float32 if c.is_float else np.int32)
    first = np.array([0, 1, 1, 3], np.uint32)
    whole = [np.zeros(0, np.uint32), packed(np.eye(3, LENGTH, dtype=bool)), first]
    some = [np.arange(12, dtype=np.uint32), packed(np.eye(3, 4, dtype=bool)), first]
    return [
        c.b.node("hamming", c.x, c.predicted, tables=[threshold, *tables])
        for tables in (whole, some)
    ]


def _clip(c: Case) -> list[int]:
    return [c.b.node("clip", c.x, tables=[c.number(1)])]


BYTES_AND_WORDS = ("int8", "uint8", "int16")
INTEGERS = (*BYTES_AND_WORDS, "int32")
FLOAT = ("float32",)
CASES: dict[str, tuple[tuple[str, ...], Add]] = {
    "argmax": ((*INTEGERS, *FLOAT), _one("argmax")),
    "max": ((*INTEGERS, *FLOAT), _one("max")),
    "sub": ((*INTEGERS, *FLOAT), _sub),
    "lut": (("int32",), lambda c: [c.x]),  # how an int32 is made
    "sum": (("int32", *FLOAT), _one("sum")),
    "to_f32": ((*INTEGERS, "int64", *FLOAT), _to_f32),
    "exp": (FLOAT, _one("exp")),
    "log": (FLOAT, _one("log")),
    "add": (("int32", "int64", *FLOAT), _one("add", second=True)),
    "mul": (FLOAT, _one("mul", second=True)),
    "div": (FLOAT, _div),
    "boxes": ((*BYTES_AND_WORDS, *FLOAT), _boxes),
    "trees": ((*INTEGERS, *FLOAT), _trees),
    "early_trees": ((*INTEGERS, *FLOAT), lambda c: _trees(c, "early_trees")),
    "perfect_trees": ((*INTEGERS, *FLOAT), _perfect_trees),
    "omit": (("int32", *FLOAT), _omit),
    "exceeds": ((*INTEGERS, *FLOAT), _exceeds),
    "gather": ((*INTEGERS, *FLOAT), _gather),
    "reduce": ((*INTEGERS, *FLOAT), _reduce),
    "affine": ((*INTEGERS, *FLOAT), _affine),
    "select": (("int32", *FLOAT), _select),
    "tables": (FLOAT, _tables),
    "kernels": (FLOAT, _kernels),
    "distances": (FLOAT, _distances),
    "logsumexp": (FLOAT, _logsumexp),
    "concat": ((*INTEGERS, *FLOAT), _concat),
    "hamming": ((*INTEGERS, *FLOAT), _hamming),
    "clip": ((*INTEGERS, *FLOAT), _clip),
    "squared_error": ((*INTEGERS, *FLOAT), _one("squared_error", second=True)),
    "deviation": ((*INTEGERS, *FLOAT), _deviation),
}
NAMES = [(op, dtype) for op, (dtypes, _) in CASES.items() for dtype in dtypes]


def program_of(op: str, dtype: str) -> Program:
    """The program of one case."""
    # A bit more, or ONNX, would not hold it.
    narrow = op in ("sub", "reduce", "affine", "squared_error", "deviation") or op.endswith("trees")
    return Case(dtype, extreme=not narrow).program(CASES[op][1])


def special_values(dtype: str) -> Array:
    """What is no number and the extremes of a tap's type; for integers the extremes."""
    if dtype == "float32":
        return np.array([*NO_NUMBERS, *EXTREMES], np.uint32).view(np.float32)
    info = np.iinfo(dtype)
    return np.array([info.min, info.max, 0, 1, -1 if info.min else 2, info.max // 2 + 1], dtype)


def special_rows(program: Program) -> list[Array]:
    """Rows in which one element of one tap, each in turn, or a whole tap, is each special value."""
    rng = np.random.default_rng(1)
    places = [
        (t, places, value)
        for t, tap in enumerate(program.taps)
        for places in (*range(tap.length), slice(None))
        for value in special_values(tap.dtype)
    ]
    found: list[Array] = []
    for t, tap in enumerate(program.taps):
        rows = rng.normal(0, 2, (len(places) + 1, tap.length))
        if tap.dtype != "float32":
            rows = np.rint(np.abs(rows) if tap.dtype == "uint8" else rows)
        rows = rows.astype(tap.dtype)
        for row, (at, place, value) in enumerate(places):
            if at == t:
                rows[row, place] = value
        found.append(rows)
    return found
