"""Which rows are for what: one data set that is split, or three that the user split."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from edgemon.compiler.data.loading import Dataset, load
from edgemon.compiler.data.splits import align_classes, refuse_overlap, split
from edgemon.compiler.errors import DataError
from edgemon.compiler.reporter import Progress

NAMES = ("fit", "threshold", "test")


@dataclass(frozen=True)
class Sources:
    """Specifications as ``data.loading.load`` takes them: either ``data``, or the other three."""

    data: str | None = None
    fit: str | None = None
    calibrate: str | None = None
    test: str | None = None

    def __post_init__(self) -> None:
        separate = (self.fit, self.calibrate, self.test)
        if (self.data is None) == (None in separate) or (self.data and any(separate)):
            raise DataError("give either --data, or all of --fit, --calibrate and --test")

    def described(self) -> dict[str, str]:
        """The specifications that were given, by the name of the rows they hold."""
        if self.data is not None:
            return {"data": self.data}
        found = zip(NAMES, (self.fit, self.calibrate, self.test), strict=True)
        return {name: spec for name, spec in found if spec is not None}


def load_sources(
    sources: Sources,
    scratch: Path,
    *,
    seed: int,
    label_column: str | None = None,
    resize: tuple[int, int] | None = None,
    progress: Progress | None = None,
    warn: Callable[[str], None],
) -> dict[str, Dataset]:
    """The fit, threshold and test rows: labelled, and no row in two of them."""
    if sources.data is None:
        parts = {
            name: load(spec, scratch, label_column=label_column, resize=resize, progress=progress)
            for name, spec in sources.described().items()
        }
        for name, data in parts.items():
            _require_labels(data, f"the {name} data")
        refuse_overlap(parts)
        return align_classes(parts)
    whole = load(sources.data, scratch, label_column=label_column, resize=resize, progress=progress)
    labels = _require_labels(whole, "--data")
    first = np.unique(np.array(whole.fingerprints()), return_index=True)[1]
    if len(first) < len(whole):
        warn(f"{len(whole) - len(first)} rows repeat an earlier row and are left out")
        whole, labels = whole.take(np.sort(first)), labels[np.sort(first)]
    return {name: whole.take(rows) for name, rows in zip(NAMES, split(labels, seed), strict=True)}


def _require_labels(data: Dataset, what: str) -> Any:
    if data.y is None:
        raise DataError(
            f"{what} ({data.source}) has no labels; monitors need to know which answers are right "
            "(for a CSV, name the column with --label-column)"
        )
    return data.y
