"""Programs with one op each, in several sizes, for ``op_times``."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from edgemon.bench.errors import BenchError
from edgemon.compiler.program.forest import LEAF_THRESHOLD, Forest
from edgemon.compiler.program.ir import Builder, Monitor, Program, Tap
from edgemon.compiler.program.perfect import PerfectForest, keys_of

Array = npt.NDArray[Any]
Add = Callable[[Builder, int, int], Any]  # builder, id of the tap, id of the predicted class

CLASSES = 10
INTEGERS, FLOATS = ("int8", "int16"), ("float32",)
RNG = np.random.default_rng(0)  # what tables hold decides nothing


@dataclass(frozen=True, eq=False)
class Probe:
    """A program with one op, beside those that it needs."""

    name: str
    program: Program

    def taps(self, rows: int) -> list[Array]:
        """Values for each tap (rows, length), the same in every run."""
        rng = np.random.default_rng(0)
        return [
            rng.normal(0, 1, (rows, t.length)).astype(np.float32) if t.dtype == "float32"
            else rng.integers(-100, 100, (rows, t.length)).astype(t.dtype)
            for t in self.program.taps
        ]  # fmt: skip


@dataclass(frozen=True, eq=False)
class Sweep:
    """Programs of one op that grow in one way, each beside the same without the op."""

    what: str  # grows
    of: str  # the op, and what stays
    sizes: tuple[int, ...]
    programs: tuple[tuple[Probe, Probe], ...]


def probes() -> Iterator[Probe]:
    """Every part in several sizes."""
    for count in (1, 4, 16, 64):
        yield _probe(f"{count} nodes", "float32", 1, _chain(count))
    for length in (16, 256, 4096):
        yield _probe(f"float tap of {length}", "float32", length, lambda _b, _x, _p: None)
    for name, dtypes, lengths, add in _OPS:
        for dtype in dtypes:
            for length in lengths:
                yield _probe(f"{name} of {dtype}[{length}]", dtype, length, add)
    for name, dtypes, lengths in _OF_TWO:
        for dtype in dtypes:
            for length in lengths:
                yield _probe(f"{name} of {dtype}[{length}]", dtype, length, _two(name), taps=2)
    for name, dtypes, shapes, make in _SHAPED:
        for dtype in dtypes:
            for length, size in shapes:
                yield _probe(f"{name} of {dtype}[{length}], {size}", dtype, length, make(size))


def single_ops() -> Iterator[tuple[Probe, Probe]]:
    """Every program of one op on a tap, in several sizes, and the same without that op."""
    for probe in probes():
        nodes = probe.program.nodes
        if len(nodes) == 2:  # the other one is the predicted class
            tap = probe.program.taps[1]
            yield probe, _nothing(tap.dtype, tap.length, len(probe.program.taps) - 1)


def named_ops(only: str) -> list[tuple[Probe, Probe]]:
    """Those of which the name contains this. Raises BenchError if there are none."""
    found = [(probe, empty) for probe, empty in single_ops() if only in probe.name]
    if not found:
        raise BenchError(f"op-bounds: no op has {only!r} in its name; see all without --only")
    return found


def sweeps() -> Iterator[Sweep]:
    """What grows, and how the programs of one op grow with it."""
    for what, of, sizes, make in (
        ("features", "affine of 10 rows", (64, 128, 256, 512, 1024, 2048, 4096), None),
        ("classes", "distances of 64 features", (8, 16, 32, 64, 128, 256, 512), _distances),
        ("trees", "trees of depth 6", (4, 8, 16, 32, 64, 128, 256), _forest),
        ("boxes", "boxes of 64 features", (2, 4, 8, 16, 32, 64, 128), _boxes),
        ("bins", "tables of 64 features", (8, 16, 32, 64, 128, 256, 512), _lookups),
    ):
        programs = []
        for size in sizes:
            length, add = (size, _affine(CLASSES)) if make is None else (64, make(size))
            programs.append((_probe(of, "float32", length, add), _nothing("float32", length)))
        yield Sweep(what, of, sizes, tuple(programs))


def _forest(trees: int) -> Add:
    return _trees((trees, 6))


def _nothing(dtype: str, length: int, taps: int = 1) -> Probe:
    return _probe("nothing", dtype, length, lambda _b, _x, _p: None, taps=taps)


def _probe(name: str, dtype: str, length: int, add: Add, *, taps: int = 1) -> Probe:
    """``taps``: how many of the type, x first."""
    scale = 1.0 if dtype == "float32" else 0.1
    given = [Tap(tensor, dtype, length, scale) for tensor in ("x", "y")[:taps]]
    builder = Builder([Tap("classes", "int8", CLASSES, 0.1), *given])
    predicted = builder.node("argmax", 0)
    add(builder, 1, predicted)  # it is run although no score needs it
    return Probe(name, builder.program(predicted, [Monitor("predicted", predicted, 99, 99)]))


def _chain(count: int) -> Add:
    def add(builder: Builder, x: int, _: int) -> None:
        for _step in range(count):
            x = builder.node("mul", x, x)

    return add


def _op(op: str, tables: Callable[[Builder, int], Sequence[Array]] = lambda _b, _x: []) -> Add:
    return lambda b, x, _: b.node(op, x, tables=tables(b, x))


def _two(op: str) -> Add:
    return lambda b, x, _: b.node(op, x, x + 1)


def _gather(b: Builder, x: int) -> list[Array]:
    return [RNG.permutation(b.value(x).length).astype(np.uint32)]


def _bound(b: Builder, x: int) -> list[Array]:
    return [np.ones(1, np.float32 if b.value(x).dtype == "float32" else np.int32)]


def _lut(b: Builder, x: int, _: int) -> None:
    whole = b.node("gather", x, tables=_gather(b, x))
    b.node("lut", whole, tables=[np.arange(200, dtype=np.int32), np.array([-100], np.int32)])


def _integer_sum(b: Builder, x: int, _: int) -> None:
    b.node("sum", b.node("gather", x, tables=_gather(b, x)))


def _wide_affine(rows: int) -> Add:
    def add(b: Builder, x: int, predicted: int) -> None:
        _affine(rows)(b, b.node("gather", x, tables=_gather(b, x)), predicted)

    return add


def _affine(rows: int) -> Add:
    def add(b: Builder, x: int, _: int) -> None:
        size = rows * b.value(x).length
        weight: list[Array] = [RNG.integers(-20, 20, size).astype(np.int16), _i32(rows)]
        if b.value(x).dtype == "float32":
            weight = [_f32(size), np.zeros(rows, np.float32)]
        b.node("affine", x, tables=weight)

    return add


def _deviation(channels: int) -> Add:
    return _op("deviation", lambda _b, _x: [np.array([channels], np.uint32)])


def _reduce(channels: int) -> Add:
    return _op("reduce", lambda _b, _x: [np.array([channels], np.uint32)])


def _distances(centres: int) -> Add:
    return _op("distances", lambda b, x: [_f32(centres * b.value(x).length)])


def _kernels(each: int) -> Add:
    def add(b: Builder, x: int, _: int) -> None:
        codes = RNG.integers(-100, 100, each * b.value(x).length).astype(np.int8)
        shape = np.array([CLASSES, each], np.uint32)
        scale = np.full(1, 0.1, np.float32)
        b.node("kernels", x, tables=[shape, codes, scale, _f32(CLASSES * each)])

    return add


def _lookups(bins: int) -> Add:
    def add(b: Builder, x: int, _: int) -> None:
        length = b.value(x).length
        entries = RNG.integers(-999, 999, CLASSES * length * bins).astype(np.int16)
        origin, rate = np.full(length, -6, np.float32), np.full(length, bins / 12, np.float32)
        b.node("tables", x, tables=[origin, rate, np.array([CLASSES, bins], np.uint32), entries])

    return add


def _logsumexp(groups: int) -> Add:
    return _op("logsumexp", lambda _b, _x: [np.array([groups], np.uint32)])


def _boxes(boxes: int) -> Add:
    def add(b: Builder, x: int, predicted: int) -> None:
        value = b.value(x)
        size = CLASSES * boxes * value.length
        lower, upper = RNG.integers(-100, 0, size), RNG.integers(0, 100, size)
        weight = np.ones(value.length, np.float32 if value.dtype == "float32" else np.int32)
        bounds = [lower.astype(value.dtype), upper.astype(value.dtype)]
        b.node("boxes", x, predicted, tables=[*bounds, weight, _first(boxes)])

    return add


def _trees(size: tuple[int, int]) -> Add:
    def add(b: Builder, x: int, _: int) -> None:
        b.node("trees", x, tables=_full_trees(*size, b.value(x).length, b.value(x).dtype))

    return add


def _early_trees(size: tuple[int, int]) -> Add:
    def add(b: Builder, x: int, _: int) -> None:
        b.node("early_trees", x, tables=_full_trees(*size, b.value(x).length, b.value(x).dtype))

    return add


def _perfect_trees(size: tuple[int, int]) -> Add:
    def add(b: Builder, x: int, _: int) -> None:
        (count, height), length = size, b.value(x).length
        shape = count, 2**height
        perfect = PerfectForest(
            keys_of(np.zeros((count, shape[1] - 1), np.float32)),
            RNG.integers(0, length, (count, shape[1] - 1)).astype(np.int16),
            RNG.integers(0, 64, shape).astype(np.int16),
            RNG.integers(-99, 99, (64, 1)).astype(np.int16),
        )
        b.node("perfect_trees", x, tables=perfect.pack())

    return add


def _full_trees(count: int, depth: int, features: int, dtype: str) -> tuple[Array, ...]:
    """Tables of ``count`` trees without a leaf above ``depth``."""
    nodes = 2 ** (depth + 1) - 1
    inner = np.tile(np.arange(nodes) < nodes // 2, count)
    own = np.tile(np.arange(nodes), count)
    start = np.repeat(np.arange(count) * nodes, nodes)
    is_float = dtype == "float32"
    leaf: Any = LEAF_THRESHOLD["float32" if is_float else "integer"]
    forest = Forest(
        np.where(inner, RNG.integers(0, features, own.size), 0),
        np.where(inner, 0, leaf).astype(np.float32 if is_float else np.int64),
        start + np.where(inner, 2 * own + 1, own),
        np.where(inner, 0, RNG.integers(-99, 99, own.size)),
        tuple((np.arange(count) * nodes).tolist()),
        (depth,) * count,
    )
    return forest.pack(dtype)


def _hamming(patterns: int) -> Add:
    def add(b: Builder, x: int, predicted: int) -> None:
        value = b.value(x)
        count = CLASSES * patterns * (value.length // 32)
        words = RNG.integers(0, 1 << 32, count, np.uint64).astype(np.uint32)
        kind = np.float32 if value.dtype == "float32" else np.int32
        none = np.zeros(0, np.uint32)
        tables = [np.zeros(value.length, kind), none, words, _first(patterns)]
        b.node("hamming", x, predicted, tables=tables)

    return add


def _first(each: int) -> Array:
    """Where each class begins, if all have as many."""
    return (np.arange(CLASSES + 1) * each).astype(np.uint32)


def _f32(size: int) -> Array:
    return RNG.normal(0, 1, size).astype(np.float32)


def _i32(size: int) -> Array:
    return RNG.integers(-99, 99, size).astype(np.int32)


_EVERY = (*INTEGERS, *FLOATS)
_LENGTHS = (8, 43, 256, 1024)
_FORESTS = ((1, 6), (1, 9), (1, 12), (2, 6), (3, 6), (4, 6), (8, 9), (100, 6))  # trees, depth
_OPS: tuple[tuple[str, tuple[str, ...], tuple[int, ...], Add], ...] = (
    ("argmax", _EVERY, _LENGTHS, _op("max")),
    ("gather", _EVERY, _LENGTHS, _op("gather", _gather)),
    ("clip", _EVERY, _LENGTHS, _op("clip", _bound)),
    ("concat", _EVERY, _LENGTHS, lambda b, x, _: b.node("concat", x, x)),
    ("sub", _EVERY, _LENGTHS, lambda b, x, _: b.node("sub", x, b.node("max", x))),
    ("add", FLOATS, _LENGTHS, lambda b, x, _: b.node("add", x, x)),
    ("lut", INTEGERS, _LENGTHS, _lut),
    ("sum", INTEGERS, _LENGTHS, _integer_sum),
    ("sum", FLOATS, _LENGTHS, _op("sum")),
    ("exp", FLOATS, _LENGTHS, _op("exp")),
    ("log", FLOATS, _LENGTHS, _op("log")),
)
_OF_TWO = (("squared_error", _EVERY, (*_LENGTHS, 3072)),)  # of two taps
_SHAPED: tuple[
    tuple[str, tuple[str, ...], tuple[tuple[int, Any], ...], Callable[[Any], Add]], ...
] = (
    ("affine", _EVERY, ((8, 64), (64, 1), (64, 10), (64, 64), (200, 10), (512, 32)), _affine),
    ("wide affine", ("int16",), ((10, 10), (64, 10), (64, 64), (256, 10)), _wide_affine),
    ("affine", FLOATS, ((1, 1), (9, 9), (10, 43), (43, 10), (60, 10), (84, 10)), _affine),
    ("distances", FLOATS, ((9, 10), (12, 40), (43, 10)), _distances),
    ("reduce", _EVERY, ((64, 64), (1024, 16), (4096, 64), (3072, 3), (16384, 16)), _reduce),
    ("deviation", _EVERY, ((1024, 16), (4096, 64), (16384, 16), (3136, 64)), _deviation),
    ("reduce", FLOATS, ((2000, 20), (3136, 64)), _reduce),  # 10 x 10 and 7 x 7 positions
    ("distances", FLOATS, ((8, 10), (32, 40), (64, 10), (64, 80), (84, 80), (128, 10)), _distances),
    ("kernels", FLOATS, ((20, 20), (80, 8), (320, 8), (640, 4), (1280, 4)), _kernels),
    ("tables", FLOATS, ((8, 16), (16, 64), (64, 32)), _lookups),
    ("logsumexp", FLOATS, ((10, 1), (43, 1), (80, 10), (640, 10), (200, 1)), _logsumexp),
    ("boxes", _EVERY, ((8, 4), (64, 1), (64, 10), (256, 4)), _boxes),
    ("trees", _EVERY, tuple((64, v) for v in _FORESTS), _trees),
    ("early_trees", _EVERY, ((64, (4, 9)), (64, (8, 6))), _early_trees),
    ("perfect_trees", _EVERY, tuple((64, v) for v in _FORESTS[5:]), _perfect_trees),
    ("hamming", _EVERY, ((32, 10), (64, 10), (64, 64), (256, 64)), _hamming),
)  # fmt: skip
