"""One case: its monitors are compiled, then its sets are judged, one task a set."""

from __future__ import annotations

import hashlib
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from edgemon.bench.farm.answers import Answers
from edgemon.bench.farm.compiled import Judgement
from edgemon.bench.farm.measures import ORACLES, Rows, judge
from edgemon.bench.farm.subjects import Judge
from edgemon.bench.farm.system import alone, system
from edgemon.bench.farm.work import Place, Task, Workshop, do, do_and_store
from edgemon.bench.sweep.engine import Engine
from edgemon.bench.verdicts import write
from edgemon.compiler.reporter import Reporter

Document = dict[str, Any]
CLEAN = "none"


@dataclass(frozen=True)
class Wishes:
    """How a benchmark is run: the ``prevalence`` of a further MCC, a folder for verdict files, who
    does the tasks, and a folder of stored answers."""

    prevalence: float = 0.1
    verdicts: Path | None = None
    engine: Engine = Engine()  # noqa: RUF009 - frozen
    store: Path | None = None


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


def run_case(place: Place, wishes: Wishes, reporter: Reporter) -> Judged:
    """All numbers of a case. Raises EdgemonError in one sentence; what a single monitor or fault
    cannot do is said beside its name."""
    case = place.case
    with tempfile.TemporaryDirectory(prefix="edgemon-") as scratch:
        shop = Workshop(place, Path(scratch), reporter)
        found = Judged(_summary(place, shop))
        monitors = _monitors(shop, found, reporter)
        pieces = place.pieces(shop)
        tasks = [
            Task(place, piece, monitors, shop.key(piece, monitors), wishes.store)
            for piece in pieces
        ]  # fmt: skip
        clean, *answers = wishes.engine.each(
            tasks, lambda task: do(task, shop), do_and_store, case.name, reporter
        )  # fmt: skip
        assert isinstance(clean, Answers)
        with reporter.stage(f"{case.name}: judging") as progress:
            _of_clean(case.name, clean, found)
            for done, (piece, one) in enumerate(zip(pieces[1:], answers, strict=True), 1):
                if isinstance(one, str):
                    found.not_available.append({
                        "case": case.name, "fault": piece.name, "severity": piece.severity,
                        "reason": one,
                    })  # fmt: skip
                else:
                    _of_set(place, clean, one, wishes, found)
                progress(done, len(answers))
        with reporter.stage(f"{case.name}: timing") as progress:
            found.costs = {"case": case.name, **shop.subject.costs(progress)}
    return found


def _summary(place: Place, shop: Workshop) -> Document:
    sets, subject = shop.sets, shop.subject
    (images,) = sets.clean.blocks(sets.count)
    base = subject.record(sets.base, "base")
    return {
        "name": place.case.name,
        "model": place.case.model if place.bundle is None else place.bundle.name,
        "rows": sets.count, "accuracy_without_fault": float(base.correct.mean()),
        "clean_sha256": hashlib.sha256(np.ascontiguousarray(images).tobytes()).hexdigest(),
    }  # fmt: skip


def _monitors(shop: Workshop, found: Judged, reporter: Reporter) -> dict[str, Judge]:
    monitors: dict[str, Judge] = {}
    case = shop.place.case
    clean = shop.subject.record(shop.sets.clean, "clean")
    found.summary["accuracy"] = float(clean.correct.mean())
    with reporter.stage(f"{case.name}: compiling monitors") as progress:
        for done, (name, monitor) in enumerate(shop.subject.monitors(clean), 1):
            about: Document = {"case": case.name, "monitor": name}
            found.monitors.append(about)
            if isinstance(monitor, str):
                about["left_out"] = monitor
            else:
                about |= monitor.properties()
                monitors[name] = monitor
            progress(done, len(case.monitors))
    return monitors


def _of_clean(case: str, clean: Answers, found: Judged) -> None:
    rows = _rows([clean])
    found.summary["alone"] = alone(rows)
    for name, judgement in clean.judgements.items():
        of_none = {"case": case, "monitor": name, "fault": CLEAN, "kind": CLEAN, "severity": 0}
        found.system.append({**of_none, **system(rows, judgement)})


def _of_set(place: Place, clean: Answers, faulty: Answers, wishes: Wishes, found: Judged) -> None:
    case, rows = place.case.name, _rows([clean, faulty])
    about = dict(faulty.about)
    is_novel = about.pop("novel")
    right = faulty.labels == faulty.predicted
    found.sets.append({
        "case": case, **about, "clean_rows": len(clean.labels),
        "accuracy": None if is_novel else float(right.mean()),
        "wrong": int(rows.wrong.sum()), "alone": alone(rows),
    })  # fmt: skip
    for name, on_clean in clean.judgements.items():
        both = on_clean.joined(faulty.judgements[name])
        of = {"case": case, "monitor": name, **{k: about[k] for k in ("fault", "kind", "severity")}}
        found.results += [
            {**of, **judge(rows, both, oracle, wishes.prevalence, place.spec.seed)}
            for oracle in ORACLES
        ]  # fmt: skip
        found.system.append({**of, **system(rows, both)})
        if wishes.verdicts is not None:
            folder = wishes.verdicts / case / f"{of['fault']}-{of['severity']}"
            _write(folder, name, rows, both)


def _write(folder: Path, name: str, rows: Rows, found: Judgement) -> None:
    """A file a kind of threshold, which ``edgemon evaluate`` reads: the oracle is overall."""
    folder.mkdir(parents=True, exist_ok=True)
    for kind, verdicts in found.verdicts.items():
        score = np.full(len(verdicts), "") if found.score is None else found.score
        path = folder / f"{name.replace(':', '_').replace('/', '_')}.{kind}.csv"
        write(path, rows.labels, rows.predicted, verdicts, score)


def _rows(parts: Sequence[Answers]) -> Rows:
    return Rows(
        np.concatenate([p.labels for p in parts]),
        np.concatenate([p.predicted for p in parts]),
        np.repeat([False, True][: len(parts)], [len(p.labels) for p in parts]),
    )
