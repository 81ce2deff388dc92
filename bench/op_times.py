"""``edgemon op-times``: how long the parts of an evaluation take on the machine that it runs on.

Small programs with one op each, in several sizes, run through the C runtime. Their times and what
``compiler.timing`` counts in them give the times of the parts, by least squares of relative errors
under which no time is negative. A time is the smallest of many batches: what is left without the
interruptions of a busy machine.
"""

from __future__ import annotations

import platform
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from edgemon.bench.latency import fastest
from edgemon.bench.nonnegative import least_squares
from edgemon.bench.op_programs import Probe, probes
from edgemon.compiler.cost import timing
from edgemon.compiler.program.ir import Program, Tap
from edgemon.compiler.reporter import Progress, unseen
from edgemon.compiler.terminal import Terminal
from edgemon.targets import PARTS, OpTimes

Array = npt.NDArray[Any]
Floats = npt.NDArray[np.float64]

ROWS = 16  # of inputs
ROUNDS = 100


@dataclass(frozen=True, eq=False)
class Measured:
    """What was found."""

    times: OpTimes
    probes: tuple[Probe, ...]
    measured: Floats  # (probes,), ns an evaluation
    estimated: Floats

    @property
    def ratio(self) -> Floats:
        """The ratios of estimates to measurements."""
        return self.estimated / self.measured

    def to_json(self) -> dict[str, Any]:
        return {
            "machine": platform.machine(),
            "nanoseconds": dict(self.times.nanoseconds),
            "ratio": dict(zip(("p10", "p50", "p90"), _quantiles(self.ratio), strict=True)),
            "programs": [
                {"program": p.name, "measured_ns": m, "estimated_ns": e}
                for p, m, e in zip(
                    self.probes, self.measured.tolist(), self.estimated.tolist(), strict=True
                )
            ],
        }


def measure(progress: Progress = unseen) -> Measured:
    """Time all programs here, and fit."""
    found = tuple(probes())
    programs = [p.program for p in found]
    measured = fastest(programs, [_inputs(p.taps) for p in programs], ROUNDS, progress)
    times = fit(programs, measured)
    estimated = np.array([timing.nanoseconds(p.program, times) for p in found])
    return Measured(times, found, measured, estimated)


def fit(programs: Sequence[Program], measured: Floats) -> OpTimes:
    """Times of the parts from those of programs (n,), in ns; three digits of each."""
    counted = [timing.parts(p) for p in programs]
    counts = np.array([[c.get(part, 0) for part in PARTS] for c in counted], np.float64)
    found = least_squares(counts / measured[:, None], np.ones(len(measured)))
    return OpTimes({k: float(f"{v:.3g}") for k, v in zip(PARTS, found.tolist(), strict=True)})


def to_toml(times: OpTimes) -> str:
    """The section of a target's profile."""
    lines = (f"{key} = {value!r}" for key, value in times.nanoseconds.items())
    return "[nanoseconds]\n" + "\n".join(lines)


def show(terminal: Terminal, found: Measured) -> None:
    """The table for people."""
    terminal.table(
        ("part", "ns", "what it is"),
        [(key, times, PARTS[key]) for key, times in found.times.nanoseconds.items()],
    )
    low, middle, high = _quantiles(found.ratio)
    terminal.note(
        f"estimate to measurement of the {len(found.probes)} programs behind these numbers: median "
        f"{middle:.2f}, 80 % between {low:.2f} and {high:.2f}"
    )


def _quantiles(ratio: Floats) -> list[float]:
    return [float(v) for v in np.quantile(ratio, [0.1, 0.5, 0.9])]


def _inputs(taps: Sequence[Tap]) -> list[Array]:
    rng = np.random.default_rng(0)
    return [
        rng.normal(0, 3, (ROWS, t.length)).astype(np.float32) if t.dtype == "float32"
        else rng.integers(-100, 100, (ROWS, t.length)).astype(t.dtype)
        for t in taps
    ]  # fmt: skip
