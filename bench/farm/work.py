"""The tasks of a benchmark: one set each, made, recorded and judged by all monitors.

A task is keyed by the content of what it reads, so that its answers, once stored, are found again
by every run that asks the same. Nothing of it but its answers outlives it.
"""

from __future__ import annotations

import hashlib
import shutil
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from importlib.metadata import entry_points, version
from pathlib import Path

import numpy as np
import numpy.typing as npt

from edgemon.bench.compare.panel import PanelOptions
from edgemon.bench.compare.rows import load_labelled, short_name
from edgemon.bench.farm.answers import Answers
from edgemon.bench.farm.sets import CaseSets, FaultRows
from edgemon.bench.farm.spec import FarmCase, FarmSpec, Wanted
from edgemon.bench.farm.subjects import Judge, OfBundle, OfCase, Subject
from edgemon.compiler.data.loading import Dataset
from edgemon.compiler.faults import registry
from edgemon.compiler.faults.attacks import NotAvailableError
from edgemon.compiler.recording.recording import Recording
from edgemon.compiler.reporter import Reporter

CLEAN, NOVEL, FAULTY, MADE = "clean", "novel", "faulty", "made"
FORMAT = "1"  # of stored answers


@dataclass(frozen=True)
class Piece:
    """Which rows: of a ``sort`` above, by name, and of made ones the severity."""

    sort: str
    name: str = ""
    severity: int = 0

    def __str__(self) -> str:
        return " ".join(filter(None, (self.name or self.sort, str(self.severity or ""))))


@dataclass(frozen=True)
class Place:
    """Where a case is worked on: the same of all its tasks."""

    case: FarmCase
    spec: FarmSpec
    options: PanelOptions
    bundle: Path | None = None

    def pieces(self, workshop: Workshop) -> list[Piece]:
        """Of the whole case."""
        return [
            Piece(CLEAN), *(Piece(NOVEL, name) for name in workshop.subject.data.novel),
            *(Piece(FAULTY, name) for name in self.case.faulty),
            *(Piece(MADE, w.fault, w.severity) for w in self.spec.wanted),
        ]  # fmt: skip


@dataclass(frozen=True)
class Task:
    """``monitors`` by name; ``store``: the folder of stored answers, if there is one."""

    place: Place
    piece: Piece
    monitors: Mapping[str, Judge]
    key: str
    store: Path | None

    @property
    def file(self) -> Path | None:
        return None if self.store is None else self.store / f"{self.key}.parquet"


class Workshop:
    """A case's model and rows, opened; ``keeps`` is what must live as long."""

    def __init__(
        self, place: Place, scratch: Path, reporter: Reporter, keeps: object = None
    ) -> None:
        case, spec = place.case, place.spec
        self.place, self._scratch, self._reporter = place, scratch, reporter
        self._keeps = keeps
        self.subject: Subject = (
            OfCase(case, spec.root, place.options, scratch, reporter)
            if place.bundle is None
            else OfBundle(case, spec.root, place.bundle, place.options.workers, scratch, reporter)
        )
        self.sets = CaseSets(
            case, self.subject.data, spec.rows, spec.seed, spec.root, scratch,
            self.subject.labels, reporter,
        )  # fmt: skip

    def answers(self, piece: Piece, monitors: Mapping[str, Judge]) -> Answers:
        """Raises NotAvailableError where these rows cannot be made here."""
        about, rows = self._rows(piece)
        try:
            return Answers(
                about, labels_of(rows), rows.predicted.astype(np.int64),
                {name: monitor.judge(rows) for name, monitor in monitors.items()},
            )  # fmt: skip
        finally:
            for file in rows.files:
                shutil.rmtree(file.path.parent, ignore_errors=True)

    def key(self, piece: Piece, monitors: Mapping[str, Judge]) -> str:
        """A hash of what ``answers`` reads."""
        place, whole = self.place, hashlib.sha256()
        case = replace(
            place.case, monitors=(), name="", group="", fit="", calibrate="", test="", novel=(),
            faulty=(),
        )  # fmt: skip
        whole.update(repr((FORMAT, version("edgemon"), case, self.sets.count, place.spec.seed,
                           piece)).encode())  # fmt: skip
        files = [self.subject.model_path]
        if piece.sort == MADE and place.case.gradient:
            files.append(place.spec.root / place.case.gradient)
        for path in files:
            for file in sorted(path.rglob("*")) if path.is_dir() else [path]:
                if file.is_file():
                    whole.update(hashlib.sha256(file.read_bytes()).digest())
        for data in self._read(piece):
            whole.update(b"".join(data.fingerprints()))
            whole.update(data.numbers.tobytes())  # by which draws are seeded
            whole.update(b"" if data.y is None else data.y.tobytes())
        for entry in entry_points(group=registry.GROUP):
            if entry.dist is not None and entry.name == piece.name:
                whole.update(f"{entry.dist.name} {entry.dist.version}".encode())
        for name, monitor in monitors.items():
            whole.update(name.encode() + monitor.content())
        return whole.hexdigest()

    def _rows(self, piece: Piece) -> tuple[dict[str, object], Recording]:
        if piece.sort == CLEAN:
            return {"rows": len(self.sets.clean)}, self.subject.record(self.sets.clean, CLEAN)
        with self._reporter.stage(f"{self.place.case.name}: {piece}"):
            made = self._fault_rows(piece)
        found = self.subject.record(made.data, str(piece))
        if piece.sort == MADE:
            shutil.rmtree(made.data.x.parent, ignore_errors=True)
        return {**made.to_json(), "novel": made.is_novel}, found

    def _fault_rows(self, piece: Piece) -> FaultRows:
        if piece.sort == MADE:
            return self.sets.make(Wanted(piece.name, piece.severity))
        if piece.sort == NOVEL:
            return self.sets.novel(piece.name)
        return self.sets.faulty(short_name(piece.name), self._labelled(piece))

    def _labelled(self, piece: Piece) -> Dataset:
        place, subject = self.place, self.subject
        return load_labelled(
            place.case, piece.name, place.spec.root, subject.labels, self._scratch,
            self._reporter, subject.input,
        )  # fmt: skip

    def _read(self, piece: Piece) -> list[Dataset]:
        """The rows on which the answers depend; of a frozen frame the clean ones too."""
        if piece.sort == NOVEL:
            return [self.subject.data.novel[piece.name]]
        if piece.sort == FAULTY:
            return [self._labelled(piece)]
        return [self.sets.clean, self.sets.base]


def labels_of(rows: Recording) -> npt.NDArray[np.int64]:
    """-1 where there are none."""
    found = np.full(len(rows), -1) if rows.labels is None else rows.labels
    return found.astype(np.int64)


def do(task: Task, workshop: Workshop | None = None) -> Answers | str:
    """The answers of a task, from the store if they are there, and put there else; or why these
    rows are not available."""
    if task.file is not None and task.file.is_file():
        return Answers.load(task.file)
    shop = _workshop(task.place) if workshop is None else workshop
    try:
        found = shop.answers(task.piece, task.monitors)
    except NotAvailableError as error:
        return str(error)
    if task.file is not None:
        found.save(task.file)
    return found


def do_and_store(task: Task) -> str:
    """On a worker: empty, or why the rows are not available; answers travel by the store."""
    found = do(task)
    return found if isinstance(found, str) else ""


@lru_cache(maxsize=1)
def _workshop(place: Place) -> Workshop:
    """A worker keeps the case that it worked on last, in a folder that goes with it."""
    folder = tempfile.TemporaryDirectory(prefix="edgemon-")
    return Workshop(place, Path(folder.name), Reporter(), keeps=folder)
