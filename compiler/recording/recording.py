"""What a model computed on a data set: its taps, on disk, and its answers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from edgemon.compiler.data.classes import to_classes
from edgemon.compiler.data.groups import Groups
from edgemon.compiler.data.loading import Dataset
from edgemon.compiler.data.row_file import RowFile
from edgemon.compiler.errors import DataError
from edgemon.compiler.models import child
from edgemon.compiler.models.model import TappedModel
from edgemon.compiler.program.ir import DEVIATION, MEAN, Tap
from edgemon.compiler.reporter import Progress
from edgemon.runtime.preprocess import InputSpec, Preprocess

Array = npt.NDArray[Any]

SILENCE_S = 300.0
BLOCK_ELEMENTS = 1 << 20  # of feature maps in memory at a time
FEWEST_ROWS = 64  # a worker with less to do costs more to start than it saves


@dataclass(frozen=True, eq=False)
class Recording:
    """N rows. ``predicted`` is the class that the model's output means (see ``models.decision``);
    ``labels`` are in the order of the model's classes; ``groups`` as in ``data.groups``, where rows
    come in groups; ``changed`` and ``augmented`` where they are copies of others (see ``guarding``
    and ``augmenting``), None where none is. The taps stay on disk."""

    taps: tuple[Tap, ...]
    files: tuple[RowFile, ...]
    rows: npt.NDArray[np.int64]  # into the files
    predicted: npt.NDArray[np.int32]
    labels: npt.NDArray[np.int64] | None
    n_classes: int
    worker_peak_bytes: int = 0  # resident memory of the largest worker, 0 where unknown
    row_s: float = 0.0  # processor time of a row, 0 where unknown
    groups: Groups | None = None
    changed: npt.NDArray[np.bool_] | None = None
    augmented: npt.NDArray[np.bool_] | None = None
    copied: bool = False  # do groups hold a row and its copies, and nothing else?

    def __len__(self) -> int:
        return len(self.rows)

    def tap(self, name: str) -> Tap:
        """The tap with this tensor name."""
        return self.taps[self._position(name)]

    def codes(self, name: str, rows: npt.ArrayLike | None = None) -> Array:
        """The tap as stored, (n, length); all rows, or those with these indices."""
        wanted = self.rows if rows is None else self.rows[np.asarray(rows)]
        return self.files[self._position(name)].read(wanted)

    def values(self, name: str, rows: npt.ArrayLike | None = None) -> npt.NDArray[np.float64]:
        """The tap's real values, (n, length)."""
        return self.tap(name).values(self.codes(name, rows))

    def features(
        self, name: str, rows: npt.ArrayLike | None = None, statistic: str = MEAN, bands: int = 1
    ) -> npt.NDArray[np.float64]:
        """(n, bands * width): the tap's real values, or of a feature map a statistic of each
        channel over the positions of each band. Same as ``Builder.features``; the maps are read
        some rows at a time."""
        tap = self.tap(name)
        if not tap.channels:
            return self.values(name, rows)
        index = np.arange(len(self)) if rows is None else np.arange(len(self))[np.asarray(rows)]
        of = np.std if statistic == DEVIATION else np.mean
        found = np.empty((len(index), bands * tap.channels))
        step = max(1, BLOCK_ELEMENTS // tap.length)
        for start in range(0, len(index), step):
            block = self.values(name, index[start : start + step])
            if tap.channels_first:
                maps = block.reshape(len(block), tap.channels, bands, -1).transpose(0, 2, 3, 1)
            else:
                maps = block.reshape(len(block), bands, -1, tap.channels)
            found[start : start + step] = of(maps, axis=2).reshape(len(block), -1)
        return found

    def width(self, names: Sequence[str]) -> int:
        """The number of ``features`` of these taps side by side."""
        return sum(tap.channels or tap.length for tap in map(self.tap, names))

    @property
    def correct(self) -> npt.NDArray[np.bool_]:
        """Is the model's answer right? Raises DataError without labels."""
        if self.labels is None:
            raise DataError("the data has no labels, so that right answers are unknown")
        return np.equal(self.predicted, self.labels)

    def take(self, rows: npt.ArrayLike) -> Recording:
        """These rows only; nothing is copied on disk."""
        index = np.asarray(rows)
        return replace(
            self,
            rows=self.rows[index],
            predicted=self.predicted[index],
            labels=None if self.labels is None else self.labels[index],
            groups=None if self.groups is None else self.groups[index],
            changed=None if self.changed is None else self.changed[index],
            augmented=None if self.augmented is None else self.augmented[index],
        )

    @property
    def as_given(self) -> Recording:
        """The rows that are no copies."""
        own = self.without_moved
        if own.changed is None:
            return own
        return replace(own.take(np.flatnonzero(~own.changed)), changed=None)._by_itself

    @property
    def without_moved(self) -> Recording:
        """The rows that ``augmenting`` did not add."""
        if self.augmented is None:
            return self
        own = replace(self.take(np.flatnonzero(~self.augmented)), augmented=None)
        return own if own.changed is not None else own._by_itself

    @property
    def own(self) -> npt.NDArray[np.bool_]:
        """(n,): is the row no copy?"""
        return ~self.moved if self.changed is None else ~(self.moved | self.changed)

    @property
    def _by_itself(self) -> Recording:
        """Rows whose copies are gone: in no groups, where these were of copies."""
        return replace(self, groups=None, copied=False) if self.copied else self

    @property
    def moved(self) -> npt.NDArray[np.bool_]:
        """(n,): did ``augmenting`` add the row?"""
        return np.zeros(len(self), bool) if self.augmented is None else self.augmented

    def grouped(self, groups: Groups) -> Recording:
        """The same rows in these groups (n,)."""
        return replace(self, groups=groups)

    def _position(self, name: str) -> int:
        return next(i for i, tap in enumerate(self.taps) if tap.name == name)


def record(
    tapped: TappedModel,
    data: Dataset,
    *,
    preprocess: Preprocess,
    input: InputSpec,
    labels: npt.NDArray[np.int64],
    kernels: str = "xnnpack",
    scratch: Path,
    workers: int = 2,
    progress: Progress | None = None,
) -> Recording:
    """Run the model on every row, one at a time as on the device, in worker processes.

    ``labels`` is the label map (see ``splits.label_map``). Files are made in ``scratch``, which
    must be empty of earlier ones. Raises ModelError if the model fails, DataError if the data does
    not fit it.
    """
    count = len(data)
    classes = None if data.y is None else to_classes(data.y, labels)
    files = tuple(
        RowFile.create(scratch / f"tap{i}.npy", (count, tap.length), tap.dtype)
        for i, tap in enumerate(tapped.taps)
    )
    predicted = RowFile.create(scratch / "predicted.npy", (count,), np.int32)
    rows = RowFile.create(scratch / "rows.npy", (count,), np.int64)
    rows.write(0, data.rows)
    shares = max(1, min(workers, count // FEWEST_ROWS))
    edges = np.linspace(0, count, shares + 1).astype(int).tolist()
    job = {
        "task": "record",
        "model": str(tapped.path),
        "kernels": kernels,
        "x": str(data.x),
        "first_row": data.first_row,
        "rows": str(rows.path),
        "preprocess": preprocess.to_json(),
        "input": input.to_json(),
        "taps": [
            {"position": position, "view": tap.view, "file": str(file.path)}
            for position, tap, file in zip(tapped.positions, tapped.taps, files, strict=True)
        ],
        "companions": {view: str(path) for view, path in tapped.companion_paths.items()},
        "predicted": str(predicted.path),
        "output": asdict(tapped.output),
    }
    answers = child.run(
        [{**job, "start": a, "stop": b} for a, b in pairwise(edges)],
        subject=f"{tapped.path.name} on {data.source}",
        silence_s=SILENCE_S,
        progress=None if progress is None else lambda done: progress(done, count),
    )
    if progress is not None:
        progress(count, count)
    everything = np.arange(count)
    return Recording(
        tapped.taps,
        files,
        everything,
        predicted.read(everything),
        classes,
        len(labels),
        max(int(answer["peak_bytes"]) for answer in answers),
        sum(float(answer["seconds"]) for answer in answers) / max(1, count),
        data.groups,
    )


def answers(
    model: TappedModel, data: Dataset, ways: Sequence[Preprocess], *, input: InputSpec,
    kernels: str, workers: int,
) -> npt.NDArray[np.int64]:  # fmt: skip
    """(ways, n): the classes that the model gives the rows under each of several preprocessings;
    -1 of a row that overflows. Raises as ``record``."""
    job = {
        "task": "answers", "model": str(model.path), "kernels": kernels, "x": str(data.x),
        "rows": data.rows.tolist(), "input": input.to_json(), "output": asdict(model.output),
    }  # fmt: skip
    shares = [ways[i::workers] for i in range(min(workers, len(ways)))]
    found = child.run(
        [{**job, "preprocess": [way.to_json() for way in share]} for share in shares],
        subject=f"{model.path.name} on {data.source}", silence_s=SILENCE_S,
    )  # fmt: skip
    classes = np.empty((len(ways), len(data)), np.int64)
    for i, answer in enumerate(found):
        classes[i :: len(shares)] = answer["classes"]
    return classes
