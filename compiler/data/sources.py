"""Which rows are for what: one data set that is split, or three that the user split."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np

from edgemon.compiler.data.images import Pictures
from edgemon.compiler.data.loading import Dataset, file_of, load
from edgemon.compiler.data.repeats import KEEP, treated
from edgemon.compiler.data.splits import REFUSE, Splits, align_classes, split, without_overlap
from edgemon.compiler.errors import DataError
from edgemon.compiler.reporter import Progress, Warn

NAMES = tuple(f.name for f in fields(Splits))


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
    pictures: Pictures = Pictures(),  # noqa: B008 - immutable
    group: str | None = None,
    repeats: str = KEEP,
    shared_rows: str = REFUSE,
    progress: Progress | None = None,
    warn: Warn,
) -> Splits[Dataset]:
    """The fit, threshold and test rows: labelled, and no row in two of them, or see
    ``splits.without_overlap``. Of rows that repeat others see ``repeats.treated``. With ``group``
    (see ``load``) no group is in two of them either; of the groups of different files see
    ``keep_groups_apart``."""
    found: dict[str, Dataset] = {}
    for name, spec in sources.described().items():
        known = next((data.features for data in found.values() if data.features), None)
        found[name] = load(
            spec, scratch, label_column=label_column, pictures=pictures, group=group,
            features=known, takes_group=True, progress=progress, warn=warn,
        )  # fmt: skip
    if sources.data is None:
        for name, data in found.items():
            _require_labels(data, f"the {name} data")
        found = {name: treated(data, repeats, seed, warn) for name, data in found.items()}
        found = without_overlap(found, shared_rows, warn)
        keep_groups_apart(found, warn)
        return Splits(**align_classes(found))
    whole = treated(found["data"], repeats, seed, warn)
    labels = _require_labels(whole, "--data")
    parts = split(labels, seed, groups=whole.groups)
    return Splits(*map(whole.take, parts))


def keep_groups_apart(parts: Mapping[str, Dataset], warn: Warn) -> None:
    """Raises DataError if two parts that come from one file share a group. Groups of different
    files that are called alike may be the same thing (a patient's number) or not (a number that
    starts anew in each file): of those it warns."""
    for (a, first), (b, second) in combinations(parts.items(), 2):
        if first.groups is None or second.groups is None:
            continue
        shared = len(np.intersect1d(first.groups, second.groups))
        if not shared:
            continue
        if file_of(first.source) == file_of(second.source):
            raise DataError(
                f"rows of the same groups ({shared} of them) are in {first.source} ({a}) and in "
                f"{second.source} ({b}), which --group forbids; give other row ranges, or --data, "
                "of which whole groups are taken"
            )
        warn(
            f"groups of {first.source} ({a}) and of {second.source} ({b}) are called alike "
            f"({shared} of them); if they are the same things, what is measured is too good and "
            "what is promised does not hold: give files of different groups"
        )


def _require_labels(data: Dataset, what: str) -> Any:
    if data.y is None:
        raise DataError(
            f"{what} ({data.source}) has no labels; monitors need to know which answers are right "
            "(for a CSV, name the column with --label-column)"
        )
    return data.y
