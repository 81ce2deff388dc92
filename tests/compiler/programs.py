"""Random programs and rows for the tests of the op set: every op, every tap type."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.tree import DecisionTreeClassifier

from edgemon.compiler.program.forest import Forest
from edgemon.compiler.program.ir import Builder, Monitor, Program, Tap
from edgemon.compiler.program.patterns import packed

CLASSES, WIDTH, ROWS = 7, 19, 200
DTYPES = ("int8", "uint8", "int16", "float32")


def scale_of(value: float) -> float:
    """TFLite's scales are float32 numbers."""
    return float(np.float32(value))


def taps_of(dtype: str, rng: np.random.Generator) -> list[Tap]:
    """Logits, features and output of a classifier with taps of one type."""
    if dtype == "float32":
        return [
            Tap("logits", dtype, CLASSES),
            Tap("features", dtype, WIDTH),
            Tap("output", dtype, CLASSES),
        ]
    info = np.iinfo(dtype)
    unit = 20.0 / (int(info.max) - int(info.min))

    def tap(name: str, length: int) -> Tap:
        zero = 0 if dtype == "int16" else int(rng.integers(info.min, info.max))
        return Tap(name, dtype, length, scale_of(unit * rng.uniform(0.5, 1.5)), zero)

    return [tap("logits", CLASSES), tap("features", WIDTH), tap("output", CLASSES)]


def rows_of(taps: list[Tap], rng: np.random.Generator, rows: int = ROWS) -> list[Any]:
    """Rows of codes that use the whole range, saturated ends included."""
    found = []
    for tap in taps:
        if tap.dtype == "float32":
            found.append(rng.normal(0, 4, (rows, tap.length)).astype(np.float32))
            continue
        info = np.iinfo(tap.dtype)
        spread = (int(info.max) - int(info.min)) / 4
        centre = rng.normal((int(info.max) + int(info.min)) / 2, spread, (rows, tap.length))
        found.append(np.clip(np.rint(centre), info.min, info.max).astype(tap.dtype))
    return found


def real_program(taps: list[Tap], rows: list[Any], rng: np.random.Generator) -> Program:
    """Every op of real programs: softmax odds, entropy, boxes, and summed trees."""
    real = [t.values(x) for t, x in zip(taps, rows, strict=True)]
    b = Builder(taps, real=True)
    predicted = b.node("argmax", b.tap("output"))
    logits = b.tap("logits")
    d = b.node("sub", logits, b.node("max", logits))
    e = b.node("exp", d)
    odds = b.node("sum", b.node("omit", e, b.node("argmax", logits)))
    total = b.node("sum", e)
    mean = b.node("div", b.node("sum", b.node("xexp", d)), total)
    entropy = b.node("sub", b.node("log", total), mean)
    classes = real[2].argmax(axis=1)
    lower, upper, first = [], [], [0]
    for c in range(CLASSES):
        own = real[1][classes == c]
        for part in (own[::2], own[1::2]) if len(own) > 1 and c != 2 else ():
            lower.append(part.min(axis=0))
            upper.append(part.max(axis=0))
        first.append(len(lower))
    tables = [
        np.array(lower).ravel(),
        np.array(upper).ravel(),
        1 / np.ptp(real[1], axis=0),
        np.array(first),
    ]
    boxes = b.node("boxes", b.tap("features"), predicted, tables=tables)
    trees = [
        b.node("trees", b.tap(taps[i].name), tables=forest(real[i], rng, 1 + 3 * i)) for i in (0, 1)
    ]
    votes = b.node("add", *trees)
    cooler = b.node("scale", d, tables=[np.array([0.3])])
    product = b.node("sum", b.node("mul", cooler, cooler))
    few = b.node("gather", b.tap("features"), tables=[np.array([3, 0, 7, 7], np.uint32)])
    means = b.node("reduce", b.tap("logits"), tables=[np.array([1], np.uint32)])
    spread = b.node("deviation", b.tap("features"), tables=[np.array([1], np.uint32)])
    middle = float(np.median(real[0].mean(axis=1)))
    exceeds = b.node("exceeds", means, tables=[np.array([middle])])
    projection = rng.normal(0, 1, (2 * CLASSES, WIDTH))
    bias = rng.normal(0, 1, 2 * CLASSES)
    y = b.node("affine", b.tap("features"), tables=[projection.ravel(), bias])
    own = b.node("select", y, predicted)
    pair = b.node("gather", own, tables=[np.array([0, 1], np.uint32)])
    flat = np.array([0, 1, 2])
    halves = [np.array([-3.0, -2, -1, 0]), np.array([1.0, 2, 3, 4]), np.ones(2), flat]
    binary = b.node("boxes", pair, exceeds, tables=halves)
    centres = rng.normal(0, 2, (5, 4))
    far = b.node("distances", few, tables=[centres.ravel()])
    wide = b.node("trees", far, tables=forest(squares(real[1][:, [3, 0, 7, 7]], centres), rng, 2))
    density = b.node(
        "tables", y,
        tables=[
            np.full(2 * CLASSES, -8.0), rng.uniform(0.5, 2, 2 * CLASSES),
            np.array([CLASSES, 9], np.uint32),
            rng.integers(-999, 999, CLASSES * 2 * CLASSES * 9).astype(np.int16),
        ],
    )  # fmt: skip
    layer = b.node("max", density)
    kernels = b.node(
        "kernels", y,
        tables=[
            np.array([CLASSES, 6], np.uint32),
            rng.integers(-127, 128, CLASSES * 6 * 2).astype(np.int8), np.array([0.05]),
            rng.normal(0, 1, CLASSES * 6),
        ],
    )  # fmt: skip
    mixture = b.node("logsumexp", kernels, tables=[np.array([CLASSES], np.uint32)])
    likely = b.node("max", mixture)
    both = b.node("concat", few, far)
    joined = b.node("max", both)
    middle_of = np.median(real[1], axis=0)
    bits = real[1] > middle_of
    every = [bits[classes == c][: 3 * (c != 2)] for c in range(CLASSES)]  # class 2 has none
    nearest = b.node("hamming", b.tap("features"), predicted, tables=patterns(middle_of, every))
    chosen = np.stack([rng.permutation(WIDTH)[:5] for _ in range(CLASSES)])
    few_bits = [bits[classes == c][:2, chosen[c]] for c in range(CLASSES)]
    some = b.node(
        "hamming", b.tap("features"), predicted, tables=patterns(middle_of, few_bits, chosen)
    )
    others = b.node("gather", b.tap("features"), tables=[np.array([1, 2, 5, 18], np.uint32)])
    alike = b.node("squared_error", few, others)  # of one grid: whole numbers
    apart = b.node("squared_error", logits, b.tap("output"))
    bound = np.array([np.percentile(real[1], 70)])
    clipped = b.node("sum", b.node("clip", b.tap("features"), tables=[bound]))
    codes = b.node("concat", b.tap("features"), few)  # integers stay integers
    whole = b.node("trees", codes, tables=forest(real[1][:, [*range(WIDTH), 3, 0, 7, 7]], rng, 5))
    entries = [rng.integers(-99, 99, 40).astype(np.int32), np.array([-20], np.int32)]
    looked_up = b.node("lut", trees[0], tables=entries)
    return b.program(
        predicted,
        [
            Monitor("odds", odds, 0.5, 0.5, "odds"),
            Monitor("entropy", entropy, 0.7, 0.3),
            Monitor("boxes", boxes, 0.0, 0.0),
            Monitor("trees", trees[0], 100, 100),
            Monitor("votes", votes, 200, -200),
            Monitor("product", product, 4.5, 1.8),
            Monitor("binary", binary, 0.5, -0.5),
            Monitor("wide", wide, 100, -100),
            Monitor("density", layer, 1500, 900),
            Monitor("kernels", likely, -4.0, -20.0),
            Monitor("joined", joined, 90.0, 40.0),
            Monitor("whole", whole, 200, -200),
            Monitor("nearest", nearest, 7, 6),
            Monitor("some", some, 2, 0),
            Monitor("clipped", clipped, 10.0, -10.0),
            Monitor("looked_up", looked_up, 40, -40),
            Monitor("spread", spread, 4.0, 3.0),
            Monitor("alike", alike, 300.0, 90.0),
            Monitor("apart", apart, 400.0, 150.0),
        ],
    )


def patterns(threshold: Any, own: list[Any], index: Any = ()) -> list[Any]:
    """Tables of ``hamming`` from bits (patterns, length) of each class."""
    first = np.cumsum([0, *map(len, own)])
    return [
        threshold, np.array(index, np.uint32).ravel(), packed(np.concatenate(own)),
        first.astype(np.uint32),
    ]  # fmt: skip


def squares(x: Any, centres: Any) -> Any:
    """Squared distances (rows, centres)."""
    return np.square(x[:, None, :] - centres).sum(axis=2)


def forest(x: Any, rng: np.random.Generator, count: int) -> Any:
    """Tables of a forest of ``count`` trees of random depth that separates random labels."""
    trees = [
        DecisionTreeClassifier(max_depth=int(depth), random_state=i)
        .fit(x, rng.random(len(x)) < 0.4)
        .tree_
        for i, depth in enumerate(rng.integers(1, 8, count))
    ]
    values = [np.rint(1000 * (t.value[:, 0, 1] - 0.5)) for t in trees]
    return Forest.from_sklearn(trees, values).pack("float64")
