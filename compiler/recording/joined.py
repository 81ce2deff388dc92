"""Two recordings of one tapped model as one."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np

from edgemon.compiler.data.row_file import RowFile
from edgemon.compiler.recording.evaluation import BLOCK
from edgemon.compiler.recording.recording import Recording


def joined(first: Recording, second: Recording, folder: Path) -> Recording:
    """The rows of both, in this order. Their taps are copied to ``folder``, which must be empty;
    both have labels, and groups and marks of copies or neither has."""
    count = len(first) + len(second)
    files = []
    for i, tap in enumerate(first.taps):
        files.append(RowFile.create(folder / f"tap{i}.npy", (count, tap.length), tap.dtype))
        start = 0
        for part in (first, second):
            for at in range(0, len(part), BLOCK):
                rows = np.arange(at, min(at + BLOCK, len(part)))
                files[-1].write(start + at, part.codes(tap.name, rows))
            start += len(part)
    return replace(
        first, files=tuple(files), rows=np.arange(count),
        predicted=np.concatenate([first.predicted, second.predicted]),
        labels=_both(first.labels, second.labels), groups=_both(first.groups, second.groups),
        changed=_both(first.changed, second.changed),
        augmented=_both(first.augmented, second.augmented),
        worker_peak_bytes=max(first.worker_peak_bytes, second.worker_peak_bytes),
    )  # fmt: skip


def _both(a: np.ndarray | None, b: np.ndarray | None) -> np.ndarray | None:
    if a is None or b is None:
        assert a is None
        assert b is None
        return None
    return np.concatenate([a, b])
