"""What is demanded of a bundle, for objects: what ``--require`` and ``--baseline`` do."""

from __future__ import annotations

import tempfile
from pathlib import Path

import numpy as np
import numpy.typing as npt

from edgemon.compiler.api.bundle import Bundle
from edgemon.compiler.api.frames import warn
from edgemon.compiler.bundle import bundle as opened
from edgemon.compiler.bundle_rows import load_rows
from edgemon.compiler.commands.early import require_baseline
from edgemon.compiler.gates.judging import judge
from edgemon.compiler.gates.line import Line, require
from edgemon.compiler.gates.wanted import Gates
from edgemon.compiler.reporter import Reporter
from edgemon.runtime.errors import InputError


class Warner(Reporter):
    """Warnings alone, as Python's."""

    def warn(self, text: str) -> None:
        warn(text)


def gates_of(demanded: str, baseline: Bundle | Path | str | None) -> Gates:
    """Raises EdgemonError for what is not understood, and for a baseline that is no whole
    bundle."""
    if not isinstance(demanded, str):
        raise InputError(f"what is required is a text, as 'caught>=0.4', not {demanded!r}")
    if isinstance(baseline, Bundle):
        gates = Gates.parse(demanded, baseline.folder, called="the baseline")
    else:
        gates = Gates.parse(demanded, None if baseline is None else Path(baseline))
    require_baseline(gates.baseline)
    return gates


def judged(
    folder: Path, rows: npt.NDArray[np.generic], labels: npt.NDArray[np.int64], gates: Gates
) -> tuple[Line, ...]:
    """A line for each requirement, of rows (n, ...) with labels (n,) as the bundle has them. Raises
    EdgemonError if one is missed."""
    bundle = opened.Bundle.open(folder)
    bundle.require_intact()
    with tempfile.TemporaryDirectory(prefix="edgemon-") as name:
        scratch = Path(name)
        np.savez(scratch / "rows.npz", x=rows, y=labels)
        loaded = load_rows(bundle, str(scratch / "rows.npz"), scratch, reporter=Warner())
        found = judge(gates, bundle, bundle.classes.numbered(loaded), scratch, reporter=Warner())
    require(found)
    return tuple(found)
