"""Which rows are for what, and which label is which class."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.model_selection import train_test_split

from edgemon.compiler.data.loading import Dataset
from edgemon.compiler.errors import DataError

Indices = npt.NDArray[np.int64]

FRACTIONS = (0.6, 0.2, 0.2)
ORDERS = ("numeric", "string")


def split(
    y: npt.NDArray[np.integer[Any]],
    seed: int,
    fractions: tuple[float, float, float] = FRACTIONS,
) -> tuple[Indices, Indices, Indices]:
    """Disjoint, sorted row indices for fit, threshold and test that together are all rows.

    Stratified: each label is cut in these proportions, by rounding its cumulated shares. Raises
    DataError if a part would be empty.
    """
    rng = np.random.default_rng(seed)
    parts: tuple[list[Indices], ...] = ([], [], [])
    inner = np.cumsum(fractions)[:2] / sum(fractions)
    for label in np.unique(y):
        rows = rng.permutation(np.flatnonzero(y == label))
        # A random offset below one row, so that small classes do not all round the same way.
        cuts = np.floor(inner * len(rows) + rng.random()).astype(int)
        for part, piece in zip(parts, np.split(rows, np.minimum(cuts, len(rows))), strict=True):
            part.append(piece)
    fit, threshold, test = (
        np.sort(np.concatenate([*part, np.empty(0, np.int64)])).astype(np.int64) for part in parts
    )
    if not (len(fit) and len(threshold) and len(test)):
        raise DataError(
            f"{len(y)} rows are too few to split into fit, threshold and test rows; give more data"
        )
    return fit, threshold, test


def divide(correct: npt.NDArray[np.bool_], share: float, seed: int) -> tuple[Indices, Indices]:
    """All but a share of the rows (n,), and that share, with right and wrong rows alike in both."""
    enough = min(int(correct.sum()), int((~correct).sum())) >= 2
    first, second = train_test_split(
        np.arange(len(correct)), test_size=share, random_state=seed,
        stratify=correct if enough else None,
    )  # fmt: skip
    return np.sort(first), np.sort(second)


def refuse_overlap(parts: Mapping[str, Dataset]) -> None:
    """Raises DataError if a row of one part has the same content as a row of another."""
    owners: defaultdict[bytes, set[str]] = defaultdict(set)
    for name, data in parts.items():
        for digest in data.fingerprints():
            owners[digest].add(name)
    shared: defaultdict[tuple[str, ...], int] = defaultdict(int)
    for names in owners.values():
        if len(names) > 1:
            shared[tuple(n for n in parts if n in names)] += 1
    if shared:
        counts = ", ".join(f"{n} in {' and '.join(names)}" for names, n in shared.items())
        raise DataError(
            f"fit, threshold and test rows must differ, but equal rows are in two of them "
            f"({counts}); remove the repeated rows, or give other row ranges"
        )


def align_classes(parts: Mapping[str, Dataset]) -> dict[str, Dataset]:
    """The same parts with one numbering of labels. Labels that are words are numbered in each
    file by itself, so that a class that one file lacks would shift the others' numbers. Raises
    DataError if some parts have words and others numbers."""
    named = {name: data for name, data in parts.items() if data.class_names is not None}
    if not named:
        return dict(parts)
    if len(named) < len(parts):
        raise DataError(
            f"labels are words in the {' and '.join(named)} data but numbers elsewhere; "
            "use the same in all"
        )
    names = tuple(sorted({n for data in named.values() for n in data.class_names or ()}))
    aligned = {}
    for part, data in named.items():
        numbers = np.array([names.index(n) for n in data.class_names or ()], np.int64)
        y = None if data.y is None else numbers[data.y]
        aligned[part] = replace(data, y=y, class_names=names)
    return aligned


def label_map(n_classes: int, order: str) -> Indices:
    """The data label of each model class: ``map[class] = label``.

    "numeric": class j has label j. "string": classes are sorted as text (0, 1, 10, 11, ..., 2), as
    tools do that read class folders by name.
    """
    if order not in ORDERS:
        raise DataError(f"label order {order!r} is unknown; use {' or '.join(ORDERS)}")
    labels = range(n_classes)
    return np.array(sorted(labels, key=str) if order == "string" else labels, np.int64)


def to_classes(y: npt.NDArray[np.integer[Any]], labels: Indices) -> Indices:
    """The model class of each label, ``labels`` being a label map. Raises DataError for a label
    that no class has."""
    order = np.argsort(labels)
    at = np.minimum(np.searchsorted(labels[order], y), len(labels) - 1)
    unknown = labels[order][at] != y
    if unknown.any():
        row = int(np.argmax(unknown))
        counted_from_one = y.min(initial=1) == 1 and y.max(initial=0) == len(labels)
        hint = "; labels seem to count from 1: subtract 1" if counted_from_one else ""
        raise DataError(
            f"label {int(y[row])} (row {row}) has no class: the model has {len(labels)} classes, "
            f"{int(labels.min())} to {int(labels.max())}{hint}"
        )
    return order[at].astype(np.int64)
