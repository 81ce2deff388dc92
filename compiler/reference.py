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

from edgemon.compiler.forest import Forest
from edgemon.compiler.ir import NO_BOX, REAL, Node, Program
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
    values = run(program, clean)
    verdicts = np.empty((len(faulty), len(program.monitors)), np.uint8)
    scores = []
    reason = np.where(faulty, TAP_VALUE, OK).astype(np.int32)
    for m, monitor in enumerate(program.monitors):
        score = values[monitor.score][:, 0]
        bad = ~np.isfinite(score)
        verdict = np.where(
            score > monitor.alarm_above,
            Verdict.ALARM,
            np.where(score > monitor.uncertain_above, Verdict.UNCERTAIN, Verdict.TRUST),
        )
        verdicts[:, m] = np.where(bad | faulty, Verdict.FAULT, verdict)
        scores.append(np.where(bad | faulty, score.dtype.type(0), score))
        reason[bad & ~faulty] = SCORE
    predicted = np.where(faulty, np.int32(-1), values[program.predicted][:, 0])
    return Evaluation(
        verdicts.max(axis=1), reason, predicted.astype(np.int32), verdicts, tuple(scores)
    )


def run(program: Program, taps: Sequence[Array], *, real: bool = False) -> list[Array]:
    """All values of a program, by id. With ``real``, the taps hold real values (float64)."""
    values: list[Array] = [np.asarray(x, np.float64) if real else x for x in taps]
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
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
    found: Array = entries[np.clip(x.astype(np.int64) - base[0], 0, entries.size - 1)]
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
    return np.multiply(x.astype(F32), node.tables[0])


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
    return result


def trees(node: Node, x: Array) -> Array:
    forest = Forest.unpack(node.tables, x.dtype.name)
    summed: Array = forest.value[forest.leaves(x)].sum(axis=1, keepdims=True)
    return summed if x.dtype == REAL else summed.astype(np.int32)


def omit(_: Node, x: Array, y: Array) -> Array:
    return np.where(np.arange(x.shape[1]) == y, x.dtype.type(0), x)


OPS: dict[str, Callable[..., Array]] = {
    "argmax": argmax,
    "max": maximum,
    "sub": sub,
    "lut": lut,
    "sum": total,
    "to_f32": to_f32,
    "exp": exp,
    "xexp": xexp,
    "log": log,
    "add": add,
    "mul": mul,
    "div": div,
    "boxes": boxes,
    "trees": trees,
    "omit": omit,
}
