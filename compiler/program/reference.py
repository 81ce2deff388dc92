"""What each op means, in NumPy: the definition that C and ONNX are held to, bit for bit.

Every op is one small function over a batch: inputs are arrays (rows, length), the result is
(rows, length of the result). The same functions give real programs (float64) their meaning,
so that a quantised program can be compared with what the monitor's author wrote.

Float32 programs use single IEEE 754 operations in a fixed order (FORMAT.md section 7), which
makes them reproducible on every CPU and in ONNX Runtime.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import factorial
from typing import Any

import numpy as np
import numpy.typing as npt

from edgemon.compiler.program.forest import Forest
from edgemon.compiler.program.ir import Node, Program
from edgemon.compiler.program.ops import NO_BOX, REAL
from edgemon.compiler.program.patterns import unpacked
from edgemon.runtime.evaluation import Evaluation, Verdict

Array = npt.NDArray[Any]

OK, TAP_VALUE, SCORE = 0, -27, -28  # em_status of edgemon.h

# float32 constants of FORMAT.md sections 7.2 and 7.3
F32 = np.float32
LOG2_E, LN2_HIGH, LN2_LOW, LN2 = np.array(
    [0x3FB8AA3B, 0x3F318000, 0xB95E8083, 0x3F317218], np.uint32
).view(F32)
EXP_LIMIT = F32(86.0)
EXP_COEFFICIENTS = tuple(F32(1.0 / factorial(i)) for i in range(8))
LOG_SMALLEST = F32(2.0**-126)
LOG_COEFFICIENTS = tuple(F32(2.0 / (2 * i + 1)) for i in range(7))

BLOCK_ELEMENTS = 1 << 22  # bounds the memory of the box kernel


def evaluate(program: Program, taps: Sequence[Array]) -> Evaluation:
    """Evaluate a device program on n rows; ``taps[i]`` is (n, length) of the tap's dtype."""
    for tap, x in zip(program.taps, taps, strict=True):
        if x.dtype != np.dtype(tap.dtype) or x.ndim != 2 or x.shape[1] != tap.length:
            raise ValueError(f"tap {tap.name!r}: expected (rows, {tap.length}) of {tap.dtype}")
    faulty = np.zeros(len(taps[0]), bool)
    for x in taps:
        if x.dtype == F32:
            faulty |= ~np.isfinite(x).all(axis=1)
    clean = [np.where(faulty[:, None], np.zeros_like(x), x) for x in taps]
    values, cleared = run_device(program, clean)
    verdicts = np.empty((len(faulty), len(program.monitors)), np.uint8)
    scores = []
    bad = cleared | faulty
    reason = np.where(faulty, TAP_VALUE, np.where(cleared, SCORE, OK)).astype(np.int32)
    for m, monitor in enumerate(program.monitors):
        score = values[monitor.score][:, 0]
        verdict = np.where(
            score > monitor.alarm_above,
            Verdict.ALARM,
            np.where(score > monitor.uncertain_above, Verdict.UNCERTAIN, Verdict.TRUST),
        )
        verdicts[:, m] = np.where(bad, Verdict.FAULT, verdict)
        scores.append(np.where(bad, score.dtype.type(0), score))
    predicted = np.where(faulty, np.int32(-1), values[program.predicted][:, 0])
    return Evaluation(
        verdicts.max(axis=1), reason, predicted.astype(np.int32), verdicts, tuple(scores)
    )


def run_device(
    program: Program, taps: Sequence[Array]
) -> tuple[list[Array], npt.NDArray[np.bool_]]:
    """All values of a device program, by id, and the rows (n,) in which a float result was not
    finite: it became zeros, and the row is a fault (FORMAT.md, section 7.10). Taps may hold
    anything."""
    values = list(taps)
    cleared = np.zeros(len(taps[0]), bool)
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
        for node in program.nodes:
            value: Array = OPS[node.op](node, *(values[i] for i in node.inputs))
            if node.value.dtype == "float32":
                bad = np.logical_not(np.isfinite(value).all(axis=1))
                cleared |= bad
                value = np.where(bad[:, None], value.dtype.type(0), value)
            values.append(value)
    return values, cleared


def run_real(program: Program, taps: Sequence[Array]) -> list[Array]:
    """All values of a real program, by id; the taps hold real values."""
    values: list[Array] = [np.asarray(x, np.float64) for x in taps]
    for node in program.nodes:
        values.append(OPS[node.op](node, *(values[i] for i in node.inputs)))
    return values


def _wide(x: Array) -> Array:
    """Integers narrower than int32 widen; nothing else changes."""
    return x.astype(np.int32) if x.dtype.itemsize < 4 else x


def argmax(_: Node, x: Array) -> Array:
    best: Array = x.argmax(axis=1, keepdims=True)
    return best.astype(np.int32)


def maximum(_: Node, x: Array) -> Array:
    largest: Array = _wide(x).max(axis=1, keepdims=True) + x.dtype.type(0)
    return largest


def sub(_: Node, x: Array, y: Array) -> Array:
    return np.subtract(_wide(x), _wide(y))


def lut(node: Node, x: Array) -> Array:
    entries, base = node.tables
    found: Array = entries.astype(x.dtype)[
        np.clip(x.astype(np.int64) - base[0], 0, entries.size - 1)
    ]
    return found


def total(_: Node, x: Array) -> Array:
    if x.dtype == np.int32:
        whole: Array = x.sum(axis=1, keepdims=True, dtype=np.int64)
        return whole
    return halving_sum(x)


def halving_sum(x: Array) -> Array:
    """FORMAT.md section 7.1: (rows, n) to (rows, 1) in a fixed order."""
    length = 1 << (x.shape[1] - 1).bit_length()
    x = np.pad(x, ((0, 0), (0, length - x.shape[1])))
    while x.shape[1] > 1:
        half = x.shape[1] // 2
        x = x[:, :half] + x[:, half:]
    return x


def to_f32(node: Node, x: Array) -> Array:
    scale, zero = node.tables
    if x.dtype == F32:
        return np.multiply(x, scale)
    return np.multiply((x.astype(np.int64) - zero).astype(F32), scale)


def exp(_: Node, x: Array) -> Array:
    return np.exp(x) if x.dtype == REAL else exp_f32(x)


def exp_f32(x: Array) -> Array:
    """FORMAT.md section 7.2."""
    x = np.minimum(np.maximum(x, -EXP_LIMIT), EXP_LIMIT)
    k = np.floor(x * LOG2_E + F32(0.5))
    r = (x - k * LN2_HIGH) - k * LN2_LOW
    p = np.full_like(x, EXP_COEFFICIENTS[-1])
    for c in EXP_COEFFICIENTS[-2::-1]:
        p = p * r + c
    result: Array = p * np.ldexp(F32(1), k.astype(np.int32))
    return result


def scale(node: Node, x: Array) -> Array:
    return np.multiply(x, node.tables[0])


def xexp(_: Node, x: Array) -> Array:
    return np.multiply(x, np.exp(x))


def log(_: Node, x: Array) -> Array:
    return np.log(x) if x.dtype == REAL else log_f32(x)


def log_f32(x: Array) -> Array:
    """FORMAT.md section 7.3."""
    half, exponent = np.frexp(np.maximum(x, LOG_SMALLEST))
    m, k = half * F32(2), (exponent - 1).astype(F32)
    s = (m - F32(1)) / (m + F32(1))
    t = s * s
    p = np.full_like(x, LOG_COEFFICIENTS[-1])
    for d in LOG_COEFFICIENTS[-2::-1]:
        p = p * t + d
    result: Array = s * p + k * LN2
    return result


def add(_: Node, x: Array, y: Array) -> Array:
    return np.add(x, y) if x.dtype.kind == "f" else np.add(x, y, dtype=np.int64)


def mul(_: Node, x: Array, y: Array) -> Array:
    return np.multiply(x, y)


def div(_: Node, x: Array, y: Array) -> Array:
    return np.divide(x, y)


def boxes(node: Node, x: Array, y: Array) -> Array:
    lower, upper, weight, first = node.tables
    x, length = _wide(x), x.shape[1]
    lower, upper = (_wide(t).reshape(-1, length) for t in (lower, upper))
    worst = x.dtype.type(NO_BOX[x.dtype.name])
    result = np.full((len(x), 1), worst)
    for c in range(first.size - 1):
        a, b = int(first[c]), int(first[c + 1])
        rows = np.flatnonzero(y[:, 0] == c)
        if a == b or not rows.size:
            continue
        step = max(1, BLOCK_ELEMENTS // ((b - a) * length))
        for block in (rows[i : i + step] for i in range(0, rows.size, step)):
            z = x[block, None, :]
            outside = np.maximum(lower[a:b] - z, z - upper[a:b]) * weight
            nearest = outside.max(axis=2).min(axis=1)
            result[block, 0] = np.minimum(nearest, worst) + x.dtype.type(0)
    if x.dtype == F32:
        result[~np.isfinite(x).all(axis=1)] = np.nan
    return result


def trees(node: Node, x: Array) -> Array:
    forest = Forest.unpack(node.tables, x.dtype.name)
    summed: Array = forest.value[forest.leaves(x)].sum(axis=1, keepdims=True)
    return summed if x.dtype == REAL else summed.astype(np.int32)


def omit(_: Node, x: Array, y: Array) -> Array:
    return np.where(np.arange(x.shape[1]) == y, x.dtype.type(0), x)


def exceeds(node: Node, x: Array) -> Array:
    return (x > node.tables[0]).astype(np.int32)


def gather(node: Node, x: Array) -> Array:
    return _wide(x)[:, node.tables[0].astype(np.int64)]


def reduce(node: Node, x: Array) -> Array:
    channels = int(node.tables[0][0])
    parts = _wide(x).reshape(len(x), -1, channels)
    if x.dtype.kind != "f":
        total: Array = parts.sum(axis=1, dtype=np.int32)
        return total
    flat = parts.transpose(0, 2, 1).reshape(-1, parts.shape[1])
    mean: Array = halving_sum(flat).reshape(len(x), channels) * x.dtype.type(1 / parts.shape[1])
    return mean


def affine(node: Node, x: Array) -> Array:
    weight, bias = node.tables
    matrix = weight.reshape(bias.size, -1)
    if x.dtype.kind != "f":
        return (x.astype(np.int64) @ matrix.T.astype(np.int64) + bias).astype(np.int32)
    return np.add(_rowwise(x, lambda rows: rows[:, None, :] * matrix), bias)


def select(node: Node, x: Array, y: Array) -> Array:
    length = node.value.length
    return np.take_along_axis(x, y.astype(np.int64) * length + np.arange(length), axis=1)


def tables(node: Node, x: Array) -> Array:
    origin, rate, shape, entries = node.tables
    classes, bins = (int(v) for v in shape)
    t = (x - origin) * rate
    t = np.minimum(np.where(t > 0, t, x.dtype.type(0)), x.dtype.type(bins - 1))
    index = t.astype(np.int64)
    table = entries.reshape(classes, x.shape[1], bins).astype(np.int64)
    found: Array = table[:, np.arange(x.shape[1]), index].sum(axis=2).T
    return found.astype(x.dtype if x.dtype == REAL else np.int32)


def kernels(node: Node, x: Array) -> Array:
    shape, centres, scale, log_weight = node.tables
    classes, count = (int(v) for v in shape)
    centre = (centres.astype(x.dtype) * scale).reshape(classes, count, -1)
    own = x.reshape(len(x), classes, -1)
    squares = np.concatenate(
        [_squared_distances(own[:, c], centre[c]) for c in range(classes)], axis=1
    )
    result: Array = log_weight - squares * x.dtype.type(0.5)
    return result


def logsumexp(node: Node, x: Array) -> Array:
    group = x.reshape(-1, x.shape[1] // int(node.tables[0][0]))
    top = group.max(axis=1, keepdims=True)
    total = halving_sum(exp(node, group - top))
    result: Array = (top + log(node, total)).reshape(len(x), -1)
    return result


def distances(node: Node, x: Array) -> Array:
    return _squared_distances(x, node.tables[0].reshape(-1, x.shape[1]))


def concat(_: Node, x: Array, y: Array) -> Array:
    return np.concatenate([_wide(x), _wide(y)], axis=1)


def hamming(node: Node, x: Array, y: Array) -> Array:
    threshold, index, patterns, first = node.tables
    classes = first.size - 1
    chosen = index.reshape(classes, -1) if index.size else None
    length = x.shape[1] if chosen is None else chosen.shape[1]
    known = unpacked(patterns, length)
    result = np.full((len(x), 1), length + 1, REAL if x.dtype == REAL else np.int32)
    bits = x > threshold
    for c in range(classes):
        rows = np.flatnonzero(y[:, 0] == c)
        own = known[int(first[c]) : int(first[c + 1])].astype(F32)  # exact: whole and small
        if len(rows) and len(own):
            b = (bits[rows] if chosen is None else bits[rows][:, chosen[c]]).astype(F32)
            apart = b @ (1 - 2 * own).T + own.sum(axis=1)
            result[rows, 0] = apart.min(axis=1)
    return result


def clip(node: Node, x: Array) -> Array:
    (upper,) = node.tables
    return np.where(x > upper[0], upper[0], _wide(x))


def _squared_distances(x: Array, centres: Array) -> Array:
    """(rows, centres)."""

    def terms(rows: Array) -> Array:
        return np.square(np.subtract(rows[:, None, :], centres))

    return _rowwise(x, terms)


def _rowwise(x: Array, terms: Callable[[Array], Array]) -> Array:
    """Halving sums over the last axis of ``terms(rows)`` (rows, k, n), some rows at a time."""
    one = terms(x[:1]) if len(x) else terms(np.zeros((1, x.shape[1]), x.dtype))
    step = max(1, BLOCK_ELEMENTS // max(1, one.size))
    parts: list[Array] = [np.empty((0, one.shape[1]), x.dtype)]
    for start in range(0, len(x), step):
        block = terms(x[start : start + step])
        parts.append(halving_sum(block.reshape(-1, block.shape[2])).reshape(block.shape[:2]))
    result: Array = np.concatenate(parts)
    return result


OPS: dict[str, Callable[..., Array]] = {
    "argmax": argmax,
    "max": maximum,
    "sub": sub,
    "lut": lut,
    "sum": total,
    "to_f32": to_f32,
    "exp": exp,
    "xexp": xexp,
    "scale": scale,
    "log": log,
    "add": add,
    "mul": mul,
    "div": div,
    "boxes": boxes,
    "trees": trees,
    "omit": omit,
    "exceeds": exceeds,
    "gather": gather,
    "reduce": reduce,
    "affine": affine,
    "select": select,
    "tables": tables,
    "kernels": kernels,
    "distances": distances,
    "logsumexp": logsumexp,
    "concat": concat,
    "hamming": hamming,
    "clip": clip,
}
