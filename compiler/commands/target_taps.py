"""``edgemon target taps``: what ``edgemon-bench`` needs on a device (docs/porting.md)."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy.typing as npt

from edgemon import targets
from edgemon.compiler.bundle.bundle import Bundle
from edgemon.compiler.bundle.output_folder import writing
from edgemon.compiler.emit import flat
from edgemon.compiler.errors import CompileError
from edgemon.compiler.program import reference
from edgemon.compiler.program.ir import Program
from edgemon.runtime.monitor import Monitor
from edgemon.runtime.session import MONITOR

Array = npt.NDArray[Any]

TAPS = "taps.bin"
NO_MODEL = "00" * 32  # an artifact that is only timed belongs to no model


def write_taps(bundle: Bundle, taps: Sequence[Array], out: Path, most: int) -> str:
    """Writes a new folder: the bundle's artifact, an artifact of each monitor alone, and the first
    ``most`` rows of the taps, (n, length) each. Returns a sentence about them. Raises CompileError
    if ``out`` exists or cannot be written, or if there are no rows."""
    if os.path.lexists(out):
        raise CompileError(f"{out} exists; choose another --out")
    if not len(taps[0]):
        raise CompileError("--data has no rows: give at least one")
    given = len(taps[0])
    rows = [tap[:most] for tap in taps]
    program = bundle.artifact.program
    artifacts = {MONITOR: (bundle.artifact_bytes, program, rows)}
    for number, monitor in enumerate(program.monitors, 1):
        alone = program.only(monitor.name)
        own = [rows[program.taps.index(tap)] for tap in alone.taps]
        artifact = flat.write(flat.Artifact(alone, NO_MODEL, {}))
        artifacts[_file_name(number, monitor.name)] = artifact, alone, own
    results = [(artifact, _crc(own, read)) for artifact, own, read in artifacts.values()]
    with writing(out, force=False) as folder:
        for name, (artifact, _, _) in artifacts.items():
            (folder / name).write_bytes(artifact)
        data = targets.taps_file(Monitor(bundle.artifact_bytes).taps, rows, results)
        (folder / TAPS).write_bytes(data)
    left = f", of {given:,} (--rows)" if given > most else ""
    return (
        f"wrote {out}: {TAPS} ({min(given, most):,} rows{left}, {len(data):,} bytes) and "
        f"{', '.join(artifacts)}; on the device: edgemon-bench {' '.join(artifacts)} {TAPS}"
    )


def _file_name(number: int, monitor: str) -> str:
    return f"{number}-{re.sub(r'[^A-Za-z0-9_.-]', '_', monitor)}.emon"


def _crc(program: Program, rows: Sequence[Array]) -> int:
    return targets.results_crc(reference.evaluate(program, rows))
