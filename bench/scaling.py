"""``edgemon scaling``: how time and bytes of monitors grow with what they are made of.

Features, classes, trees, boxes and bins grow by doubling in programs of one op; rows grow in one
batch. The exponent k of size^k is the slope of a line through the
logarithms, with its 95 % interval by Student's t from the scatter around the line; an op's own time
is that of its program less that of the same without it, both minima of interleaved rounds.
"""

from __future__ import annotations

import platform
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import stats

from edgemon.bench.errors import BenchError
from edgemon.bench.latency import NO_MODEL, fastest
from edgemon.bench.op_programs import Probe, Sweep, sweeps
from edgemon.compiler.emit import flat
from edgemon.compiler.reporter import Progress, unseen
from edgemon.compiler.terminal import Terminal
from edgemon.runtime.monitor import Monitor

Array = npt.NDArray[Any]

ROWS = 16  # of inputs
BATCHES = (64, 256, 1024, 4096, 16384)  # rows
ROUNDS = 50
CONFIDENCE = 0.95
LEAST_NS = 1.0  # of an op whose own time drowns in that of its program
PLOTS = (".svg", ".png", ".pdf")


@dataclass(frozen=True)
class Exponent:
    """Of size^k, with its interval."""

    k: float
    low: float
    high: float

    @classmethod
    def of(cls, sizes: Sequence[float], values: Sequence[float]) -> Exponent:
        """Through (n,) positive sizes and values, n at least 3."""
        found = stats.linregress(np.log(sizes), np.log(values))
        half = float(stats.t.ppf((1 + CONFIDENCE) / 2, len(sizes) - 2) * found.stderr)
        return cls(float(found.slope), float(found.slope) - half, float(found.slope) + half)

    def __str__(self) -> str:
        return f"{self.k:.2f} ({self.low:.2f} to {self.high:.2f})"


@dataclass(frozen=True)
class Line:
    """One sweep."""

    what: str
    of: str
    sizes: tuple[int, ...]
    nanoseconds: tuple[float, ...]  # of the op itself, or of the whole batch
    bytes: tuple[int, ...]  # of the artifact

    @property
    def time(self) -> Exponent:
        return Exponent.of(self.sizes, self.nanoseconds)

    @property
    def late(self) -> Exponent:
        """Over the upper half of the sizes, where what is constant weighs less."""
        half = max(3, (len(self.sizes) + 1) // 2)
        return Exponent.of(self.sizes[-half:], self.nanoseconds[-half:])

    def to_json(self) -> dict[str, Any]:
        exponents = {
            "time": asdict(self.time), "time_upper_half": asdict(self.late),
            "bytes": asdict(Exponent.of(self.sizes, self.bytes)),
        }  # fmt: skip
        return {**asdict(self), "exponents": exponents}


def measure(rounds: int = ROUNDS, progress: Progress = unseen) -> list[Line]:
    """All sweeps, on this machine."""
    found = tuple(sweeps())
    lines = []
    for done, sweep in enumerate(found):
        lines.append(_measured(sweep, rounds))
        progress(done + 1, len(found) + 1)
    lines.append(_rows(found[0].programs[0][0], rounds))
    progress(len(found) + 1, len(found) + 1)
    return lines


def _measured(sweep: Sweep, rounds: int) -> Line:
    programs = [p.program for pair in sweep.programs for p in pair]
    ns = fastest(programs, [p.taps(ROWS) for pair in sweep.programs for p in pair], rounds)
    own = np.maximum(ns[::2] - ns[1::2], LEAST_NS)
    sizes = tuple(len(_artifact(probe)) for probe, _ in sweep.programs)
    return Line(sweep.what, sweep.of, sweep.sizes, tuple(own.tolist()), sizes)


def _rows(probe: Probe, rounds: int) -> Line:
    """A batch of evaluations, through Python: its time, and its bytes in memory."""
    monitor = Monitor(_artifact(probe))
    taps = {n: probe.taps(n) for n in BATCHES}
    best = dict.fromkeys(BATCHES, float("inf"))
    for _ in range(max(1, rounds // 10)):
        for n in BATCHES:
            best[n] = min(best[n], _seconds(lambda n=n: monitor.evaluate(taps[n])))  # type: ignore[misc]
    held = tuple(sum(t.nbytes for t in taps[n]) for n in BATCHES)
    return Line("rows", probe.name, BATCHES, tuple(1e9 * best[n] for n in BATCHES), held)


def _seconds(work: Callable[[], object]) -> float:
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def _artifact(probe: Probe) -> bytes:
    return flat.write(flat.Artifact(probe.program, NO_MODEL, {}))


def to_json(lines: Sequence[Line]) -> dict[str, Any]:
    """One document."""
    return {"machine": platform.machine(), "sweeps": [line.to_json() for line in lines]}


def require_plot(path: Path) -> None:
    """Raises BenchError for a plot that cannot be drawn, before anything is measured."""
    if path.suffix not in PLOTS:
        raise BenchError(
            f"scaling: --plot {path}: a plot is a file that ends in {', '.join(PLOTS)}"
        )
    if not path.parent.is_dir():
        raise BenchError(f"scaling: --plot {path}: there is no folder {path.parent}")
    if find_spec("matplotlib") is None:
        raise BenchError(
            "scaling: plots need matplotlib: pip install 'edgemon[bench]', or leave out --plot"
        )


def plot(lines: Sequence[Line], path: Path) -> None:
    """Time and bytes by size, one panel a sweep, logarithmic."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(12, 7), layout="constrained")
    axes: Any = figure.subplots(2, 3)
    for line, panel in zip(lines, axes.flat, strict=True):
        panel.loglog(line.sizes, line.nanoseconds, "o-", label=f"ns, exponent {line.time}")
        panel.loglog(line.sizes, line.bytes, "s--", label="bytes")
        panel.set_xlabel(line.what)
        panel.set_title(line.of)
        panel.legend()
        panel.grid(visible=True, alpha=0.3)
    figure.savefig(path, metadata={"Date": None} if path.suffix == ".svg" else None)


def show(terminal: Terminal, lines: Sequence[Line]) -> None:
    """The table for people."""
    terminal.table(
        ("grows", "op", "sizes", "ns", "exponent of time", "of the upper half", "of bytes"),
        [
            (
                line.what, line.of, f"{line.sizes[0]:,} to {line.sizes[-1]:,}",
                f"{line.nanoseconds[0]:,.0f} to {line.nanoseconds[-1]:,.0f}", str(line.time),
                str(line.late), str(Exponent.of(line.sizes, line.bytes)),
            )
            for line in lines
        ],
    )  # fmt: skip
    terminal.note(
        "exponents are of size^k, with 95 % intervals; of rows the time is that of a whole batch, "
        "and the bytes are those of its taps"
    )
