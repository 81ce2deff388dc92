"""Artifacts and recorded taps for ``edgemon-bench``, and the program built."""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from edgemon import targets
from edgemon.compiler.emit import flat
from edgemon.compiler.program import reference
from edgemon.compiler.program.ir import Builder, Monitor, Program, Tap
from edgemon.runtime.monitor import Monitor as Opened
from tests.runtime.c_compilers import C_FLAGS, PRIVATE, SOURCES, C, need, run

Array = npt.NDArray[Any]

BENCH = sorted((C / "bench").glob("*.c"))
ROWS = 12


def program() -> Program:
    """Integer and float scores, taps whose rows need padding, and a tap of the mirrored image."""
    b = Builder(
        [Tap("codes", "int8", 5), Tap("x", "float32", 3), Tap("x", "float32", 3, view="mirror")]
    )
    predicted = b.node("argmax", 0)
    top, odd = b.node("max", 0), b.node("sum", b.node("add", 1, 2))
    return b.program(predicted, [Monitor("top", top, 90, 50), Monitor("sum", odd, 1.0, 0.5)])


def recorded() -> list[Array]:
    rng = np.random.default_rng(0)
    rows = [rng.integers(-128, 128, (ROWS, 5)).astype(np.int8)]
    rows += [rng.normal(size=(ROWS, 3)).astype(np.float32) for _ in range(2)]
    rows[1][7, 1] = np.nan  # a fault is a result, too
    return rows


def artifact_of(own: Program) -> bytes:
    return flat.write(flat.Artifact(own, "00" * 32, {}))


def write(folder: Path) -> Path:
    """Artifacts of all monitors and of each alone, and their taps."""
    rows, own = recorded(), program()
    parts = {"monitor.emon": own} | {f"{m.name}.emon": own.only(m.name) for m in own.monitors}
    results = []
    for name, part in parts.items():
        (folder / name).write_bytes(artifact_of(part))
        found = reference.evaluate(part, [rows[own.taps.index(t)] for t in part.taps])
        results.append((artifact_of(part), targets.results_crc(found)))
    taps = Opened(artifact_of(own)).taps
    (folder / "taps.bin").write_bytes(targets.taps_file(taps, rows, results))
    return folder


def build(cc: str, folder: Path, *flags: str) -> Path:
    path = folder / f"edgemon-bench-{Path(cc).name}"
    run(need(cc), *C_FLAGS, PRIVATE, *flags, *BENCH, *SOURCES, "-o", path)
    return path


def files(folder: Path) -> list[Path]:
    return [folder / name for name in ("monitor.emon", "top.emon", "sum.emon", "taps.bin")]


def outcome(*command: str | Path) -> tuple[int, str, str]:
    done = subprocess.run(
        [*map(str, command), "--rounds", "2"], capture_output=True, text=True, check=False
    )
    return done.returncode, done.stdout, done.stderr
