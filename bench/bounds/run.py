"""Each op in the C runtime, at -O3 and -Os, beside plain C at -O3 and beside its bytes.

An op's own time is that of a program with it less that of the same program without it; all are
minima of interleaved rounds. Answers of plain C are held to the reference: integers are equal,
sums of floats, which are added in another order, agree to a part in 10,000.
"""

from __future__ import annotations

import platform
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from edgemon.bench.bounds.built import Plain, Runtime, Timer, build, compiler
from edgemon.bench.op_programs import CLASSES, Probe, named_ops
from edgemon.compiler.program import reference
from edgemon.compiler.program.ir import Node
from edgemon.compiler.reporter import Progress, unseen
from edgemon.compiler.terminal import Terminal

Array = npt.NDArray[Any]

ROWS = 16
ROUNDS = 60
BATCH_NS = 20_000.0  # a batch lasts at least so long: a clock takes some tens of ns
TARGET, LIMIT, SMALL = 1.2, 2.0, 2.0
SHORT_NS = 100.0  # below, the call itself and the clock decide


@dataclass(frozen=True)
class Line:
    """One op in one size; nanoseconds of one evaluation."""

    op: str
    size: str
    ns: float  # of the runtime at -O3
    small_ns: float  # at -Os
    plain_ns: float  # plain C at -O3
    stream_ns: float  # its bytes read once
    bytes: int
    equal: bool

    @property
    def ratio(self) -> float:
        """To plain C."""
        return self.ns / self.plain_ns

    def to_json(self) -> dict[str, Any]:
        return {**asdict(self), "ratio": self.ratio, "small_ratio": self.small_ns / self.ns}


def measure(
    cc: str | None = None, only: str = "", rounds: int = ROUNDS, progress: Progress = unseen
) -> list[Line]:
    """All ops of which the name contains ``only``. Raises BenchError without a C
    compiler, or without such an op."""
    chosen = compiler(cc)
    found = named_ops(only)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        fast = Runtime(build(chosen, "-O3", "runtime.c", folder))
        small = Runtime(build(chosen, "-Os", "runtime.c", folder))
        plain = Plain(build(chosen, "-O3", "plain.c", folder))
        lines: list[Line] = []
        for done, (probe, base) in enumerate(found):
            lines += _measured(probe, base, (fast, small), plain, rounds)
            progress(done + 1, len(found))
    return lines


def _measured(
    probe: Probe, base: Probe, runtimes: tuple[Runtime, Runtime], plain: Plain, rounds: int
) -> Iterator[Line]:
    program = probe.program
    node = program.nodes[-1]
    x_id = node.inputs[0]
    taps = probe.taps(ROWS)
    values, _ = reference.run_device(program, taps)
    x, wanted = np.ascontiguousarray(values[x_id]), values[-1]
    name = f"{node.op}_{x.dtype.name}"
    if not plain.has(name) or x_id != 1:
        return
    shape = [x.shape[1], wanted.shape[1], 0, int(values[program.predicted][-1, 0])]
    out = np.zeros(wanted.shape[1], wanted.dtype)
    others = [values[i][-1] for i in node.inputs[1:] if 1 < i < len(taps)]  # of the last row
    tables = [np.ascontiguousarray(t) for t in (*others, *node.tables)]
    size = x.nbytes // len(x) + sum(v.nbytes for v in others) + _read_bytes(node)
    timers = [
        *(r.timer(p.program, taps) for r in runtimes for p in (probe, base)),
        plain.timer(name, x, tables, shape, out), plain.stream(size),
    ]  # fmt: skip
    fast, fast_base, small, small_base, by_hand, streamed = _fastest(timers, rounds)
    yield Line(
        node.op, probe.name.partition(" of ")[2], max(fast - fast_base, 0.1),
        max(small - small_base, 0.1), by_hand, streamed, size, _agree(wanted[-1], out),
    )  # fmt: skip


def _agree(wanted: Array, found: Array) -> bool:
    if wanted.dtype.kind != "f":
        return bool((wanted == found).all())
    scale = float(np.abs(wanted).max()) or 1.0
    return bool((np.abs(wanted - found) <= 1e-4 * scale).all())


def _read_bytes(node: Node) -> int:
    """Bytes of tables that an evaluation reads: of ops by class, those of one class; of densities,
    one entry of each table."""
    whole = sum(t.nbytes for t in node.tables)
    if node.op in ("boxes", "hamming"):
        return whole // CLASSES
    if node.op == "tables":
        return node.tables[3].nbytes // int(node.tables[2][1]) + 8 * node.tables[0].size
    return whole


def _fastest(timers: Sequence[Timer], rounds: int) -> list[float]:
    passes = [max(1, int(BATCH_NS / max(1.0, t.ns(1) * ROWS))) for t in timers]
    best = [float("inf")] * len(timers)
    for _ in range(rounds):
        for i, (timer, count) in enumerate(zip(timers, passes, strict=True)):
            best[i] = min(best[i], timer.ns(count))
    for timer in timers:
        timer.close()
    return best


def to_json(lines: Sequence[Line]) -> dict[str, Any]:
    """One document."""
    return {"machine": platform.machine(), "ops": [line.to_json() for line in lines]}


def show(terminal: Terminal, lines: Sequence[Line]) -> None:
    """The table for people, slowest beside plain C first."""
    terminal.table(
        ("op", "size", "ns", "plain C", "ratio", "-Os/-O3", "bytes once", "answers"),
        [
            (
                line.op, line.size, f"{line.ns:,.0f}", f"{line.plain_ns:,.0f}", f"{line.ratio:.2f}",
                f"{line.small_ns / line.ns:.2f}", f"{line.stream_ns:,.0f}",
                "equal" if line.equal else "DIFFER",
            )
            for line in sorted(lines, key=lambda line: -line.ratio)
        ],
    )  # fmt: skip
    long = [line for line in lines if line.plain_ns >= SHORT_NS]
    above = sum(line.ratio > TARGET for line in long)
    far = sum(line.ratio > LIMIT for line in long)
    small = sum(line.small_ns > SMALL * line.ns for line in long)
    terminal.note(
        f"of {len(long)} that take plain C {SHORT_NS:.0f} ns or more, {above} take more than "
        f"{TARGET} times as long, {far} more than {LIMIT:.0f}; {small} take more than {SMALL:.0f} "
        "times as long with -Os. Trees: edgemon bench --peers."
    )
