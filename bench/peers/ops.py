"""Single ops as work: boxes, tables, linear, distances and a kernel density estimate."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from scipy.linalg import hadamard

from edgemon.bench.op_programs import CLASSES, single_ops
from edgemon.bench.peers.work import Array
from edgemon.compiler.program import reference
from edgemon.compiler.program.ir import Builder, Monitor, Node, Program, Tap

ROWS = 16
CLASS = 3  # of every row
OPS = {
    "boxes": ("boxes of float32[64], 10", "boxes of int8[64], 10"),
    "tables": ("tables of float32[64], 32",),
    "linear": ("affine of float32[64], 10", "affine of int8[64], 10"),
    "distances": ("distances of float32[64], 10",),
}
FEATURES, POINTS = 16, 128  # of the density


@dataclass(frozen=True, eq=False)
class OpWork:
    """Nodes of one purpose on rows, and what the reference answers."""

    kind: str
    name: str
    program: Program  # a tap of the class, a tap x, the class, then the nodes
    empty: Program  # without the nodes
    rows: Array  # (n, length)
    answers: Array  # (n, results)

    @property
    def node(self) -> Node:
        """The first, which has the tables."""
        return self.program.nodes[1]

    @property
    def taps(self) -> list[Array]:
        """(n, classes) and (n, length)."""
        classes = np.zeros((len(self.rows), CLASSES), np.int8)
        classes[:, CLASS] = 1
        return [classes, self.rows]


def works(kind: str) -> Iterator[OpWork]:
    """The works of one of OPS, or of ``kde``."""
    if kind == "kde":
        yield density()
        return
    found = {probe.name: (probe.program, empty.program) for probe, empty in single_ops()}
    for name in OPS[kind]:
        yield work(kind, name, *found[name])


def work(kind: str, name: str, program: Program, empty: Program) -> OpWork:
    """Rows for a program, with the reference's answers."""
    rng = np.random.default_rng(0)
    tap = program.taps[1]
    rows: Array = rng.integers(-100, 100, (ROWS, tap.length)).astype(tap.dtype)
    if tap.dtype == "float32":
        rows = rng.normal(0, 1, (ROWS, tap.length)).astype(np.float32)
    blank = OpWork(kind, name, program, empty, rows, rows)
    values, _ = reference.run_device(program, blank.taps)
    return OpWork(kind, name, program, empty, rows, np.asarray(values[-1]))


def density(points: int = POINTS) -> OpWork:
    """The log density of a Gaussian kernel a point, of bandwidth 1.

    The points are rows of Hadamard matrices times lengths that are drawn: their covariance is a
    multiple of the identity, so that SciPy's bandwidth, a multiple of it too, can be 1 as well.
    """
    rng = np.random.default_rng(0)
    scale = np.float32(0.02)
    block = hadamard(2 * FEATURES)[:, 1 : FEATURES + 1]  # columns of sum 0
    lengths = rng.integers(10, 100, points // len(block))
    codes = np.concatenate([block * n for n in lengths]).astype(np.int8)
    shape = np.array([1, points], np.uint32)
    log_weight = np.full(points, -np.log(points) - FEATURES / 2 * np.log(2 * np.pi), np.float32)
    programs = []
    for whole in (True, False):
        builder = Builder([Tap("classes", "int8", CLASSES, 0.1), Tap("x", "float32", FEATURES, 1)])
        predicted = builder.node("argmax", 0)
        if whole:
            tables: list[Array] = [shape, codes.ravel(), np.full(1, scale), log_weight]
            kernels = builder.node("kernels", 1, tables=tables)
            builder.node("logsumexp", kernels, tables=[np.ones(1, np.uint32)])
        programs.append(builder.program(predicted, [Monitor("predicted", predicted, 99, 99)]))
    return work("kde", f"{points} points of float32[{FEATURES}]", programs[0], programs[1])
