"""Boards without an emulator: rows for their harness, and what it printed (docs/porting.md)."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy.typing as npt

from edgemon import targets
from edgemon.compiler.bundle.bundle import Bundle
from edgemon.compiler.errors import DataError
from edgemon.compiler.proof.on_target import TargetProof, compare
from edgemon.runtime.monitor import Monitor

Array = npt.NDArray[Any]

ROWS, SIZES = "rows.bin", "sizes.h"


def write_rows(bundle: Bundle, taps: list[Array], out: Path) -> str:
    """Writes ``ROWS`` and ``SIZES`` into a folder, which is made if need be; a sentence about
    them. ``taps``: (n, length) each."""
    data = targets.packed(taps)
    workspace = max(8, Monitor(bundle.artifact_bytes).workspace_size)
    out.mkdir(parents=True, exist_ok=True)
    (out / ROWS).write_bytes(data.tobytes())
    (out / SIZES).write_text(
        "/* Written by edgemon target rows, for targets/boards/harness.c. */\n"
        f"#define ROWS {len(data)}\n#define ROW_BYTES {data.shape[1]}\n"
        f"#define WORKSPACE_BYTES {workspace}\n"
    )
    return (
        f"wrote {out / ROWS} ({len(data):,} rows of {data.shape[1]:,} bytes) and {out / SIZES}; "
        f"the workspace takes {workspace:,} bytes"
    )


def read_log(bundle: Bundle, taps: list[Array], log: Path) -> TargetProof:
    """What a board printed, compared with the reference. Raises DataError if it is no such log."""
    lines = targets.between(log.read_text(encoding="utf-8", errors="replace"))
    if lines is None:
        raise DataError(
            f"{log}: no whole run of the harness in it, from its first line to 'end'; record what "
            "the board prints from its reset on"
        )
    outcome = targets.outcome_of(Monitor(bundle.artifact_bytes), lines, str(log))
    return compare(str(log), bundle.artifact_bytes, taps, outcome)


def to_json(proof: TargetProof) -> dict[str, Any]:
    """For ``--json``."""
    return {
        "rows": proof.rows,
        "refused": proof.refused,
        "mismatches": proof.mismatches,
        "first_mismatch": proof.first_mismatch,
        "result_sha256": proof.result_sha256,
        "stack_seen": proof.outcome.stack_seen,
    }
