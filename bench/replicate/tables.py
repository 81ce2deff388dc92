"""Rows of numbers for the study: its splits, and the numbers that it printed."""

from __future__ import annotations

import csv
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.model_selection import train_test_split

from edgemon.bench.errors import BenchError
from edgemon.bench.replicate.study import SPLITS, DatasetEntry, Study

Array = npt.NDArray[Any]


@dataclass(frozen=True, eq=False)
class Rows:
    """Features x (n, f) as float64, and classes y (n,)."""

    x: npt.NDArray[np.float64]
    y: npt.NDArray[np.int64]


def split(study: Study, entry: DatasetEntry, name: str) -> Rows:
    """The rows of train, val or test."""
    if entry.source:
        return _shares(study, entry)[name]
    _, x = _numbers(study.file(entry.x.format(split=name)))
    _, y = _numbers(study.file(entry.y.format(split=name)))
    return _rows(entry, x, y[:, 0])


def without_repeated(study: Study, entry: DatasetEntry) -> dict[str, Rows]:
    """The splits, each without the rows that an earlier one has; features and class count."""
    found, seen = {}, set[bytes]()
    for name in SPLITS:
        rows = split(study, entry, name)
        keys = [x.tobytes() + y.tobytes() for x, y in zip(rows.x, rows.y, strict=True)]
        new = np.array([key not in seen for key in keys])
        seen.update(keys)
        found[name] = Rows(rows.x[new], rows.y[new])
    return found


def unseen(study: Study, entry: DatasetEntry, n_features: int) -> Rows:
    """The rows of the replication of DeepInfer."""
    names, table = _numbers(study.file(entry.unseen))
    if entry.unseen_y:
        _, y = _numbers(study.file(entry.unseen_y))
        return _rows(entry, table[:, :n_features], y[:, 0])
    if len(names) <= n_features:
        raise BenchError(f"{entry.unseen}: has no label column; name a file with unseen_y")
    return _rows(entry, table[:, :n_features], table[:, -1])


def printed(study: Study, table: str) -> dict[str, dict[str, str]]:
    """A printed table by model; empty if the study names none."""
    if table not in study.printed:
        return {}
    return {row["model"]: row for row in printed_rows(study, table)}


def printed_rows(study: Study, table: str) -> list[dict[str, str]]:
    """A printed table's rows."""
    if table not in study.printed:
        return []
    with study.file(study.printed[table]).open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def _shares(study: Study, entry: DatasetEntry) -> dict[str, Rows]:
    """80/10/10 as the study splits: 80/20, and the rest in halves, both with its seed."""
    path = study.file(entry.source)
    names, table = _numbers(path)
    if entry.label not in names:
        raise BenchError(f"{path}: has no column {entry.label!r}; there are {', '.join(names)}")
    wanted = _wanted(entry, names)
    missing = [n for n in wanted if n not in names]
    if missing:
        raise BenchError(f"{path}: has no column {missing[0]!r}; there are {', '.join(names)}")
    x = table[:, [names.index(n) for n in wanted]]
    y = table[:, names.index(entry.label)]
    if entry.scale == "minmax":
        low, high = x.min(axis=0), x.max(axis=0)
        x = (x - low) / np.where(high > low, high - low, 1.0)
    train_x, rest_x, train_y, rest_y = train_test_split(
        x, y, test_size=0.2, random_state=entry.seed
    )
    val_x, test_x, val_y, test_y = train_test_split(
        rest_x, rest_y, test_size=0.5, random_state=entry.seed
    )
    return {
        "train": _rows(entry, train_x, train_y),
        "val": _rows(entry, val_x, val_y),
        "test": _rows(entry, test_x, test_y),
    }


def _wanted(entry: DatasetEntry, names: Sequence[str]) -> Sequence[str]:
    return entry.features or [n for n in names if n != entry.label]


def _rows(entry: DatasetEntry, x: Array, y: Array) -> Rows:
    if len(x) != len(y):
        raise BenchError(f"data set {entry.name!r}: {len(x)} rows of features, {len(y)} labels")
    return Rows(x, y.astype(np.int64))


def _numbers(path: Path) -> tuple[list[str], npt.NDArray[np.float64]]:
    """Header and values (n, columns) of a CSV of numbers."""
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            names = next(csv.reader(file), [])
            values = np.loadtxt(file, delimiter=",", ndmin=2)
    except (ValueError, UnicodeDecodeError) as error:
        raise BenchError(
            f"{path}: is not a CSV file of numbers with one header line: {error}"
        ) from None
    if not values.size or values.shape[1] != len(names):
        raise BenchError(f"{path}: {len(names)} names in its header, {values.shape[1]} columns")
    return [n.strip() for n in names], values
