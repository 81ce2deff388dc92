"""One case: the model is run once, monitors are fitted once, splits are drawn many times."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from edgemon.bench.compare import costs
from edgemon.bench.compare.judges import RecordedRows
from edgemon.bench.compare.panel import Document, Panel, PanelOptions, Split
from edgemon.bench.compare.read_by_references import Reads
from edgemon.bench.compare.recorder import CaseRecorder, with_taps
from edgemon.bench.compare.reference_panel import judge_references
from edgemon.bench.compare.rows import CaseRows, load_rows
from edgemon.bench.compare.signals import signal_table
from edgemon.bench.compare.spec import Case
from edgemon.bench.errors import BenchError
from edgemon.compiler.augmenting import (
    augmented,
    copies_help,
    copies_wanted,
    may_help,
    moved_copies,
)
from edgemon.compiler.data.classes import label_map
from edgemon.compiler.float_model import agreement_json
from edgemon.compiler.models import open_model
from edgemon.compiler.monitors import MonitorEstimator
from edgemon.compiler.reporter import Reporter
from edgemon.runtime.preprocess import Preprocess


def run_case(case: Case, root: Path, options: PanelOptions, reporter: Reporter) -> Document:
    """All numbers of a case. Raises EdgemonError in one sentence; what a single monitor cannot do
    is said beside its name."""
    with tempfile.TemporaryDirectory(prefix="edgemon-") as scratch_name:
        scratch = Path(scratch_name)
        with reporter.stage(f"{case.name}: opening the model"):
            model = open_model(root / case.model, scratch)
            model.require_classifier()
        with reporter.stage(f"{case.name}: reading the data"):
            data = load_rows(case, root, label_map(model.n_classes, case.label_order), scratch,
                             reporter, model.input)  # fmt: skip
        estimators, refused, tensors = with_taps(
            case, root, model, data.pool[0], options.seed, reporter
        )
        reads = Reads.of(model, estimators.values())
        if case.references:
            tensors = tuple(dict.fromkeys((*tensors, *reads.tensors)))
        copies = copies_wanted(case.augment, data.fit, list(estimators.values()), reporter)
        recorder = CaseRecorder(case, model, tensors, data.fit, scratch, options.workers, reporter)
        rows, used = _record(
            recorder, case, data, copies, list(estimators.values()), scratch, options.seed
        )
        preprocess = Preprocess.parse(case.preprocess)
        model_us = costs.model_us(model, data.pool[0], preprocess)
        beside = costs.companions(recorder.companions, model, data.pool[0], preprocess)
        panel = Panel(rows, splits_of(case, rows, options.seed), case.has_fixed_split, options)
        found: dict[str, Document] = {name: {"left_out": why} for name, why in refused.items()}
        with reporter.stage(f"{case.name}: judging") as progress:
            for done, (name, estimator) in enumerate(estimators.items(), 1):
                found[name] = {**panel.judge(estimator), **agreement_json(estimator)}
                progress(done, len(estimators))
        with reporter.stage(f"{case.name}: judging references"):
            references = judge_references(panel, reads, case.references)
        if options.signals:
            for name, estimator in estimators.items():
                if estimator.learns_from_held_out and "left_out" not in found[name]:
                    with reporter.stage(f"{case.name}: signals of {name}") as progress:
                        found[name]["signal_table"] = signal_table(panel, estimator, progress)
        rows_of_signals = [r for c in found.values() for r in c.get("signal_table", ())]
        judged = [c for c in (*found.values(), *rows_of_signals) if "program" in c]
        with reporter.stage(f"{case.name}: timing") as progress:
            programs = [content.pop("program") for content in judged]
            times = costs.nanoseconds(programs, rows.pool[0], progress)
    for content, ns, program in zip(judged, times, programs, strict=True):
        content["nanoseconds"] = ns
        content["share_of_model"] = costs.share_of_model(program, ns, beside, model_us)
        content.update(costs.companion_json(program, beside))
    wrong = rows.wrong
    return {
        "name": case.name, "group": case.group, "model": case.model,
        "rows": {
            "fit": len(data.fit), "moved_copies": used, "pool": len(wrong),
            "novel": {name: len(part) for name, part in rows.novel.items()},
        },
        "accuracy": float(1 - wrong.mean()),
        "accuracy_on_fit_rows": float(rows.fit.as_given.correct.mean()),
        "wrong": int(wrong.sum()), "resplits": case.resplits, "fixed_split": case.has_fixed_split,
        "model_us": model_us,
        "monitors": [{"monitor": name, **found[name]} for name in case.monitors],
        **references,
    }  # fmt: skip


def splits_of(case: Case, rows: RecordedRows, seed: int) -> list[Split]:
    """The fixed split, if there is one, then resplits: half of the pool each, at random."""
    n = len(rows.wrong)
    if n < 2:
        raise BenchError(f"{n} rows cannot be split")
    found = []
    if case.has_fixed_split:
        first = len(rows.pool[0])
        found.append(Split(np.arange(first), np.arange(first, n)))
    for number in range(case.resplits):
        order = np.random.default_rng([seed, number]).permutation(n)
        found.append(Split(np.sort(order[: n // 2]), np.sort(order[n // 2 :])))
    return found


def _record(
    recorder: CaseRecorder, case: Case, data: CaseRows, copies: int,
    estimators: Sequence[MonitorEstimator], scratch: Path, seed: int,
) -> tuple[RecordedRows, int]:  # fmt: skip
    """Also the number of moved copies of fit rows from which some learn."""
    fit = recorder.record(data.fit, "fit")
    if copies and (case.augment is not None or may_help(fit, estimators)):
        moved = moved_copies(data.fit, copies, seed, scratch)
        found = augmented(fit, recorder.record(moved, "moved"), len(fit), scratch)
        used = case.augment is not None or copies_help(found, estimators, seed)
        fit = found if used else fit
    return RecordedRows(
        recorder.output, recorder.logits, fit,
        tuple(recorder.record(part, "pool") for part in data.pool),
        {name: recorder.record(part, name) for name, part in data.novel.items()},
    ), int(fit.moved.sum())  # fmt: skip
