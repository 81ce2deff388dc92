"""Copies of rows that are changed: made on disk, and put behind the fit rows once recorded."""

from __future__ import annotations

import math
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Literal

import numpy as np
import numpy.typing as npt

from edgemon.compiler.data.loading import Dataset
from edgemon.compiler.data.row_file import RowFile
from edgemon.compiler.faults.properties import Bytes, Change, changed
from edgemon.compiler.recording.joined import joined
from edgemon.compiler.recording.recorder import Recorder
from edgemon.compiler.recording.recording import Recording
from edgemon.compiler.reporter import Progress, unseen

Indices = npt.NDArray[np.int64]
Make = Callable[[Bytes, Indices], Bytes]  # images (n, H, W[, C]), and the numbers of their rows

BLOCK = 256  # images that are changed at a time, at most
BLOCK_BYTES = 1 << 24  # of such images
DRAWS = 1 << 32  # keeps draws apart from those of `robustness` with the same seed


def made(
    data: Dataset, parts: Sequence[tuple[Make, Indices]], scratch: Path, progress: Progress = unseen
) -> Dataset:
    """Copies of rows as each of several makes them, one after the other."""
    count = sum(len(rows) for _, rows in parts)
    path = Path(tempfile.mkdtemp(dir=scratch), "x.npy")
    file = RowFile.create(path, (count, *data.shape[1:]), np.uint8)
    start = 0
    step = max(1, min(BLOCK, BLOCK_BYTES // max(1, math.prod(data.shape[1:]))))
    for make, rows in parts:
        for own in (rows[at : at + step] for at in range(0, len(rows), step)):
            (images,) = data.take(own).blocks(step)
            file.write(start, make(images, data.numbers[own]))
            start += len(own)
            progress(start, count)
    every = np.concatenate([rows for _, rows in parts])
    y = None if data.y is None else data.y[every]
    return replace(
        data, x=path, rows=np.arange(count), y=y, first_row=0, groups=None,
        source=f"changed copies of {data.source}",
    )  # fmt: skip


class Maker:
    """Copies of rows under changes."""

    def __init__(self, data: Dataset, full_scale: int, recorder: Recorder) -> None:
        self._data, self._full_scale, self.recorder = data, full_scale, recorder
        (self._frame,) = data.take([0]).blocks(1)

    def dataset(self, parts: Sequence[tuple[Change, Indices]]) -> Dataset:
        """Copies of rows under each of several changes, one after the other."""
        each = [(partial(self._changed, change), rows) for change, rows in parts]
        return made(self._data, each, self.recorder.scratch)

    def _changed(self, change: Change, images: Bytes, numbers: Indices) -> Bytes:
        return changed(
            images, change, seed=self.recorder.seed + DRAWS, rows=numbers,
            full_scale=self._full_scale, frame=self._frame[0],
        )  # fmt: skip


def with_copies(
    fit: Recording, copies: Recording, source: Indices, scratch: Path,
    kind: Literal["changed", "augmented"],
) -> Recording:  # fmt: skip
    """``fit``, then ``copies`` of its rows ``source``, which are marked as of this kind. Rows and
    their copies are in one group."""
    groups = fit.rows if fit.groups is None else fit.groups
    first = replace(fit, groups=groups, copied=fit.copied or fit.groups is None)
    second = replace(copies, groups=groups[source])
    none, every = np.zeros(len(copies), bool), np.ones(len(copies), bool)
    if kind == "changed":
        first = replace(first, changed=np.zeros(len(fit), bool))
        second = replace(second, changed=every)
    else:
        first = replace(first, augmented=np.zeros(len(fit), bool))
        second = replace(
            second, augmented=every, changed=None if fit.changed is None else none
        )  # fmt: skip
    return joined(first, second, Path(tempfile.mkdtemp(dir=scratch)))
