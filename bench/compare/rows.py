"""The rows of a case: which to fit on, which to draw splits from, which are novel."""

from __future__ import annotations

import csv
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import numpy.typing as npt

from edgemon.bench.compare.spec import NOVEL, Case
from edgemon.bench.errors import BenchError
from edgemon.compiler.data.classes import Classes, resolve
from edgemon.compiler.data.images import Pictures
from edgemon.compiler.data.loading import Dataset, files_of, load
from edgemon.compiler.data.splits import KEEP, align_classes, without_overlap
from edgemon.compiler.reporter import Reporter
from edgemon.runtime.preprocess import InputSpec, Preprocess

UNKNOWN = "unknown classes"
X, Y = "x.csv", "y.csv"


@dataclass(frozen=True, eq=False)
class CaseRows:
    """``pool`` is one part, or the calibration and the test rows of a fixed split."""

    fit: Dataset
    pool: tuple[Dataset, ...]
    novel: dict[str, Dataset]  # without labels, by name


def load_rows(
    case: Case, root: Path, labels: npt.NDArray[np.int64], scratch: Path, reporter: Reporter,
    input: InputSpec | None = None, sharing: str = KEEP,
) -> CaseRows:  # fmt: skip
    """Read all data of a case; ``labels`` is the label map of its model. ``sharing``: what becomes
    of rows that stand in two parts; a published split is what it is, and keeps them."""
    specs = {"fit": case.fit}
    specs |= (
        {"calibrate": case.calibrate, "test": case.test} if case.has_fixed_split
        else {"pool": case.pool}
    )  # fmt: skip
    preprocess = Preprocess.parse(case.preprocess)
    pictures = Pictures(preprocess.resize) if input is None else Pictures.of(preprocess, input)
    parts = {
        name: _read(spec, root, scratch, pictures, case.rows_group if name == "fit" else "")
        for name, spec in specs.items()
    }
    for name, data in parts.items():
        if data.y is None:
            raise BenchError(f"the {name} data ({data.source}) has no labels")
    parts = without_overlap(
        parts, sharing, lambda text: reporter.warn(f"case {case.name!r}: {text}")
    )
    parts = _numbered(case, align_classes(parts), labels, reporter)
    novel: dict[str, Dataset] = {}
    if case.unknown_labels == NOVEL:
        for name, data in parts.items():
            known = np.isin(np.asarray(data.y), labels)
            parts[name] = data.take(np.flatnonzero(known))
            if name in ("pool", "test") and not known.all():
                novel[UNKNOWN] = data.take(np.flatnonzero(~known))
    for spec in case.novel:
        novel[short_name(spec)] = _read(spec, root, scratch, pictures)
    return CaseRows(
        parts.pop("fit"), tuple(parts.values()),
        {name: replace(data, y=None) for name, data in novel.items()},
    )  # fmt: skip


def load_labelled(
    case: Case, spec: str, root: Path, labels: npt.NDArray[np.int64], scratch: Path,
    reporter: Reporter, input: InputSpec,
) -> Dataset:  # fmt: skip
    """Further rows of a case; those that no class of the model has are left out where the case
    says that unknown labels are novel."""
    pictures = Pictures.of(Preprocess.parse(case.preprocess), input)
    data = _read(spec, root, scratch, pictures)
    if data.y is None:
        raise BenchError(f"the data ({spec}) has no labels")
    data = _numbered(case, {spec: data}, labels, reporter)[spec]
    if case.unknown_labels == NOVEL:
        data = data.take(np.flatnonzero(np.isin(np.asarray(data.y), labels)))
    return data


def _numbered(
    case: Case, parts: dict[str, Dataset], labels: npt.NDArray[np.int64], reporter: Reporter
) -> dict[str, Dataset]:
    """The parts with labels from ``labels``, where they are words; -1 where no class has one."""
    if case.classes and case.unknown_labels == NOVEL:
        classes = Classes(case.classes, tuple(labels.tolist()))
        positions = {name: classes.positions(data) for name, data in parts.items()}
        return {
            name: replace(data, y=np.where(positions[name] < 0, -1, labels[positions[name]]))
            for name, data in parts.items()
        }
    if not case.classes and all(data.class_names is None for data in parts.values()):
        return parts
    return resolve(
        parts, len(labels), order=case.label_order, given=case.classes or None,
        warn=lambda text: reporter.warn(f"case {case.name!r}: {text}"),
    )[1]  # fmt: skip


def _read(
    spec: str, root: Path, scratch: Path, pictures: Pictures, rows_group: str = ""
) -> Dataset:
    group = rows_group or None
    folder = root / spec
    if (folder / X).is_file() and (folder / Y).is_file():
        found = load(str(_joined(folder, scratch)), scratch, label_column="-1", group=group)
    else:
        found = load(_below(spec, root), scratch, pictures=pictures, group=group)
    return replace(found, source=spec)


def files_below(spec: str, root: Path) -> list[Path]:
    """The files and folders that data of a case are read from."""
    return files_of(_below(spec, root))


def _below(spec: str, root: Path) -> str:
    if (root / spec).exists():
        return str(root / spec)
    return ",".join(str(root / f.strip()) for f in spec.split(","))


def _joined(folder: Path, scratch: Path) -> Path:
    """One table of two, with the labels last."""
    tables = []
    for name in (X, Y):
        with (folder / name).open(newline="", encoding="utf-8-sig") as file:
            tables.append([line for line in csv.reader(file) if line])
    x, y = tables
    if len(x) != len(y):
        raise BenchError(f"{folder}: {X} has {len(x)} lines, but {Y} {len(y)}")
    out = scratch / f"{len(list(scratch.iterdir()))}.csv"
    with out.open("w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows([*a, *b] for a, b in zip(x, y, strict=True))
    return out


def short_name(spec: str) -> str:
    name, bracket, rows = spec.partition("[")
    return Path(name).stem + bracket + rows
