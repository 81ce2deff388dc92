"""One case: its sets are made and recorded once, then each monitor is compiled and judged."""

from __future__ import annotations

import hashlib
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from edgemon.bench.compare.panel import PanelOptions
from edgemon.bench.compare.rows import CaseRows, load_labelled, short_name
from edgemon.bench.farm.compiled import Judgement
from edgemon.bench.farm.measures import ORACLES, Rows, judge
from edgemon.bench.farm.sets import CaseSets, FaultRows
from edgemon.bench.farm.spec import FarmCase, FarmSpec
from edgemon.bench.farm.subjects import OfBundle, OfCase
from edgemon.bench.farm.system import alone, system
from edgemon.bench.faults.attacks import NotAvailableError
from edgemon.bench.verdicts import write
from edgemon.compiler.data.loading import Dataset
from edgemon.compiler.recording.recording import Recording
from edgemon.compiler.reporter import Progress, Reporter
from edgemon.runtime.preprocess import InputSpec

Document = dict[str, Any]
CLEAN = "none"


@dataclass(eq=False)
class Judged:
    """What came of a case. ``costs`` are measured, and differ from run to run; all else does
    not."""

    summary: Document
    sets: list[Document] = field(default_factory=list)
    not_available: list[Document] = field(default_factory=list)
    monitors: list[Document] = field(default_factory=list)
    results: list[Document] = field(default_factory=list)
    system: list[Document] = field(default_factory=list)
    costs: Document = field(default_factory=dict)


@dataclass(frozen=True, eq=False)
class Recorded:
    """A set as the model saw it; ``about`` is None of the clean rows alone."""

    about: FaultRows | None
    recording: Recording


class Subject(Protocol):
    """The model of a case, and the monitors that are judged."""

    data: CaseRows
    labels: npt.NDArray[np.int64]
    input: InputSpec

    def record(self, data: Dataset, name: str, /) -> Recording:
        """All rows; files stay in the scratch folder."""

    def monitors(self, clean: Recording) -> Iterator[tuple[str, Judge | str]]:
        """By name; or why one is left out. Each is made when it is asked for; ``clean`` rows
        decide nothing."""

    def costs(self, progress: Progress) -> Document:
        """Measured times."""


class Judge(Protocol):
    """One monitor."""

    def judge(self, rows: Recording) -> Judgement: ...
    def properties(self) -> Document: ...


def run_case(
    case: FarmCase, spec: FarmSpec, options: PanelOptions, prevalence: float,
    bundle: Path | None, verdicts: Path | None, reporter: Reporter,
) -> Judged:  # fmt: skip
    """All numbers of a case. Raises EdgemonError in one sentence; what a single monitor or fault
    cannot do is said beside its name. ``bundle``: whose monitors are judged instead of the case's;
    ``verdicts``: a folder for verdict files."""
    with tempfile.TemporaryDirectory(prefix="edgemon-") as scratch_name:
        scratch = Path(scratch_name)
        if bundle is None:
            subject: Subject = OfCase(case, spec.root, options, scratch, reporter)
        else:
            subject = OfBundle(case, spec.root, bundle, options.workers, scratch, reporter)
        sets = CaseSets(
            case, subject.data, spec.rows, spec.seed, spec.root, scratch, subject.labels, reporter
        )
        clean = subject.record(sets.clean, "clean")
        (images,) = sets.clean.blocks(len(clean))
        found = Judged({
            "name": case.name, "model": case.model if bundle is None else str(bundle.name),
            "rows": sets.count, "accuracy": float(clean.correct.mean()),
            "accuracy_without_fault": float(subject.record(sets.base, "base").correct.mean()),
            "clean_sha256": hashlib.sha256(np.ascontiguousarray(images).tobytes()).hexdigest(),
        })  # fmt: skip
        recorded = list(_record(case, spec, sets, subject, found, reporter))
        _describe(case, recorded, clean, found)
        with reporter.stage(f"{case.name}: monitors") as progress:
            for done, (name, judge_of) in enumerate(subject.monitors(clean), 1):
                about: Document = {"case": case.name, "monitor": name}
                found.monitors.append(about)
                if isinstance(judge_of, str):
                    about["left_out"] = judge_of
                    continue
                about |= judge_of.properties()
                _judge(case, name, judge_of, recorded, clean, prevalence, spec.seed, found,
                       None if verdicts is None else verdicts / case.name)  # fmt: skip
                progress(done, len(case.monitors))
        with reporter.stage(f"{case.name}: timing") as progress:
            found.costs = {"case": case.name, **subject.costs(progress)}
    return found


def _record(
    case: FarmCase, spec: FarmSpec, sets: CaseSets, subject: Subject, found: Judged,
    reporter: Reporter,
) -> Iterator[Recorded]:  # fmt: skip
    for novel in sets.novel():
        yield Recorded(novel, subject.record(novel.data, novel.fault))
    for given in case.faulty:
        data = load_labelled(
            case, given, spec.root, subject.labels, sets.scratch, reporter, subject.input
        )
        real = sets.faulty(short_name(given), data)
        yield Recorded(real, subject.record(real.data, real.fault))
    for done, wanted in enumerate(spec.wanted, 1):
        what = f"{wanted.fault} {wanted.severity}"
        try:
            with reporter.stage(f"{case.name}: making {what}, {done} of {len(spec.wanted)}"):
                made = sets.make(wanted)
        except NotAvailableError as error:
            found.not_available.append({
                "case": case.name, "fault": wanted.fault, "severity": wanted.severity,
                "reason": str(error),
            })  # fmt: skip
            continue
        yield Recorded(made, subject.record(made.data, what))


def _describe(case: FarmCase, recorded: list[Recorded], clean: Recording, found: Judged) -> None:
    for one in recorded:
        assert one.about is not None
        rows = _rows(clean, one)
        found.sets.append({
            "case": case.name, **one.about.to_json(), "clean_rows": len(clean),
            "accuracy": None if one.about.is_novel else float(one.recording.correct.mean()),
            "wrong": int(rows.wrong.sum()), "alone": alone(rows),
        })  # fmt: skip
    found.summary["alone"] = alone(_rows(clean, None))


def _judge(
    case: FarmCase, name: str, monitor: Judge, recorded: list[Recorded], clean: Recording,
    prevalence: float, seed: int, found: Judged, verdicts: Path | None,
) -> None:  # fmt: skip
    on_clean = monitor.judge(clean)
    of_none = {"case": case.name, "monitor": name, "fault": CLEAN, "kind": CLEAN, "severity": 0}
    found.system.append({**of_none, **system(_rows(clean, None), on_clean)})
    for one in recorded:
        assert one.about is not None
        rows, both = _rows(clean, one), on_clean.joined(monitor.judge(one.recording))
        about = {
            "case": case.name, "monitor": name, "fault": one.about.fault,
            "kind": one.about.kind, "severity": one.about.severity,
        }  # fmt: skip
        found.results += [{**about, **judge(rows, both, o, prevalence, seed)} for o in ORACLES]
        found.system.append({**about, **system(rows, both)})
        if verdicts is not None:
            _write(verdicts / f"{one.about.fault}-{one.about.severity}", name, rows, both)


def _write(folder: Path, name: str, rows: Rows, found: Judgement) -> None:
    """A file a kind of threshold, which ``edgemon evaluate`` reads: the oracle is overall."""
    folder.mkdir(parents=True, exist_ok=True)
    for kind, verdicts in found.verdicts.items():
        score = np.full(len(verdicts), "") if found.score is None else found.score
        path = folder / f"{name.replace(':', '_').replace('/', '_')}.{kind}.csv"
        write(path, rows.labels, rows.predicted, verdicts, score)


def _rows(clean: Recording, faulty: Recorded | None) -> Rows:
    parts = [clean] if faulty is None else [clean, faulty.recording]
    labels = [np.full(len(p), -1) if p.labels is None else p.labels for p in parts]
    return Rows(
        np.concatenate(labels).astype(np.int64),
        np.concatenate([p.predicted for p in parts]).astype(np.int64),
        np.repeat([False, True][: len(parts)], [len(p) for p in parts]),
    )
