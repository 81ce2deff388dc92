"""Who takes part in works of single ops: edgemon, plain C, NumPy, ONNX Runtime and others.

Each gives a timer of a row and its answers to all rows. Peers in Python answer one row a call.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from time import perf_counter_ns
from typing import Any

import numpy as np

from edgemon.bench.bounds.built import NO_MODEL, Plain, Runtime, Timer, build, compiler
from edgemon.bench.peers.op_graphs import graph
from edgemon.bench.peers.ops import CLASS, OpWork
from edgemon.bench.peers.work import Array
from edgemon.compiler.emit import flat
from edgemon.compiler.program.ir import Builder, Monitor, Program
from edgemon.runtime import monitor

PYTHON_ROWS = 8  # of a pass
LEVELS = ("-O1", "-O2", "-O3")


@dataclass(frozen=True, eq=False)
class Entry:
    """A contestant at the start."""

    timer: Timer
    answers: Array  # (n, results)
    bytes: int | None


Make = Callable[[OpWork], Entry]


def natives(folder: Path) -> list[tuple[str, Make]]:
    """edgemon and plain C, built in ``folder``. Raises BenchError without a C compiler."""
    cc = compiler(None)
    runtime = Runtime(build(cc, "-O3", "runtime.c", folder))
    plain = [(level, Plain(build(cc, level, "plain.c", folder))) for level in LEVELS]

    def own(work: OpWork, program: Program) -> Entry:
        size = len(flat.write(flat.Artifact(program, NO_MODEL, {})))
        return Entry(runtime.timer(program, work.taps), verdicts(work), size)

    found: list[tuple[str, Make]] = [
        ("edgemon", lambda work: own(work, work.program)),
        ("edgemon, empty program", lambda work: own(work, work.empty)),
    ]
    for level, library in plain:
        found.append((f"plain C {level}", partial(by_hand, library=library)))
    return found


def verdicts(work: OpWork) -> Array:
    """(n, results): what the C runtime gives when each result is a monitor's score."""
    source = work.program
    builder = Builder(source.taps)
    last = 0
    for node in source.nodes:
        last = builder.node(node.op, *node.inputs, tables=node.tables)
    picked = [
        builder.node("gather", last, tables=[np.array([i], np.uint32)])
        for i in range(work.answers.shape[1])
    ]
    program = builder.program(
        source.predicted, [Monitor(f"r{i}", p, 99, 99) for i, p in enumerate(picked)]
    )
    artifact = flat.write(flat.Artifact(program, NO_MODEL, {}))
    found = monitor.Monitor(artifact).evaluate(work.taps)
    return np.stack(found.scores, axis=1)


def by_hand(work: OpWork, library: Plain) -> Entry:
    """A loop in C."""
    node = work.node
    name = "density_float32" if work.kind == "kde" else f"{node.op}_{work.rows.dtype.name}"
    tables = [np.ascontiguousarray(t) for t in node.tables]
    results = work.answers.shape[1]
    shape = [work.rows.shape[1], results, 0, CLASS]
    answers = np.zeros_like(work.answers)
    for i in range(len(answers)):
        library.timer(name, work.rows[i : i + 1], tables, shape, answers[i]).ns(1)
    timer = library.timer(name, work.rows, tables, shape, np.zeros_like(answers[0]))
    return Entry(timer, answers, sum(t.nbytes for t in tables))


def in_python(work: OpWork, call: Callable[[Array], Any], size: int | None = None) -> Entry:
    """A function of one row (1, length)."""
    rows = [work.rows[i : i + 1] for i in range(len(work.rows))]
    answers = np.stack([np.ravel(call(row)) for row in rows])

    def ns(passes: int) -> float:
        start = perf_counter_ns()
        for _ in range(passes):
            for row in rows[:PYTHON_ROWS]:
                call(row)
        return (perf_counter_ns() - start) / (passes * PYTHON_ROWS)

    return Entry(Timer(ns), answers, size)


def in_numpy(work: OpWork) -> Entry:
    """What somebody would write in NumPy."""
    t = work.node.tables
    length = work.rows.shape[1]
    size = sum(table.nbytes for table in t)
    wide = work.answers.dtype
    if work.kind == "boxes":
        chosen = slice(int(t[3][CLASS]), int(t[3][CLASS + 1]))
        low, high = (v.reshape(-1, length)[chosen].astype(wide) for v in t[:2])
        weight = t[2]

        def call(x: Array) -> Any:
            y = x.astype(wide)
            return (np.maximum(low - y, y - high) * weight).max(axis=1).min()

    elif work.kind == "tables":
        classes, bins = (int(v) for v in t[2])
        entries = t[3].reshape(classes, length, bins)
        features = np.arange(length)

        def call(x: Array) -> Any:
            at = np.clip((x[0] - t[0]) * t[1], 0, bins - 1).astype(np.intp)
            return entries[:, features, at].sum(axis=1, dtype=np.int32)

    elif work.kind == "linear":
        weights = t[0].reshape(-1, length).astype(wide)

        def call(x: Array) -> Any:
            return weights @ x[0].astype(wide) + t[1]

    elif work.kind == "distances":
        centres = t[0].reshape(-1, length)

        def call(x: Array) -> Any:
            return ((x - centres) ** 2).sum(axis=1)

    else:
        points = points_of(work)

        def call(x: Array) -> Any:
            one = t[3] - np.float32(0.5) * ((x - points) ** 2).sum(axis=1)
            top = one.max()
            return top + np.log(np.exp(one - top).sum())

    return in_python(work, call, size)


def onnx_runtime(work: OpWork) -> Entry:
    """ONNX Runtime, one thread, one row a call."""
    import onnxruntime

    model = graph(work).SerializeToString()
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    session = onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])
    return in_python(work, lambda x: session.run(None, {"x": x})[0], len(model))


def points_of(work: OpWork) -> Array:
    """(points, features): the centres of a density."""
    codes, scale = work.node.tables[1], work.node.tables[2]
    return (codes.astype(np.float32) * scale).reshape(-1, work.rows.shape[1])


def in_scipy(work: OpWork) -> Entry:
    """``gaussian_kde``, in double, as it always is."""
    from scipy.stats import gaussian_kde

    points = points_of(work).astype(np.float64)
    kde = gaussian_kde(points.T, bw_method=1 / points.std(axis=0, ddof=1)[0])
    return in_python(work, lambda x: kde.logpdf(x.T))


def scikit_learn(work: OpWork) -> Entry:
    """``KernelDensity``, as exact as edgemon."""
    from sklearn.neighbors import KernelDensity

    kde = KernelDensity(bandwidth=1.0, rtol=0, atol=0).fit(points_of(work))
    return in_python(work, kde.score_samples)


def peers(kind: str) -> list[tuple[str, Make]]:
    """In Python, of one kind of work."""
    found: list[tuple[str, Make]] = [("NumPy", in_numpy), ("ONNX Runtime", onnx_runtime)]
    if kind == "kde":
        found += [("SciPy gaussian_kde", in_scipy), ("scikit-learn KernelDensity", scikit_learn)]
    return found
