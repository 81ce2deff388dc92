"""A model of which only the tools' outputs are known: SelfChecker from its stored layer classes,
the others from their notifications."""

from __future__ import annotations

import csv

import numpy as np

from edgemon.bench.errors import BenchError
from edgemon.bench.replicate.effectiveness import MonitorResult
from edgemon.bench.replicate.study import OutputsEntry, Study
from edgemon.bench.replicate.tools import DEPLOYABLE, PUBLISHED, judge_by_rules
from edgemon.bench.verdicts import VERDICTS
from edgemon.compiler.methods.selfchecker import SelfChecker
from edgemon.runtime.evaluation import Verdict


def stored_results(study: Study, entry: OutputsEntry) -> list[MonitorResult]:
    """As published for every tool whose outputs there are; deployable for SelfChecker alone."""
    path = study.file(entry.layer_classes)
    try:
        with np.load(path) as arrays:
            valid, test = (arrays[k].astype(np.int64) for k in ("valid", "test"))
    except (OSError, ValueError, KeyError) as error:
        raise BenchError(f"{path}: is no .npz with valid and test: {error}") from None
    classes, predicted, labels = test[:, :-2], test[:, -2], test[:, -1]
    wrong = predicted != labels
    checker = SelfChecker(entry.classes).fit(valid[:, :-2], valid[:, -2], valid[:, -1])
    alarms = {
        ("selfchecker", PUBLISHED): checker.published_alarms(classes, predicted, labels),
        **{
            (name, DEPLOYABLE): answer.verdict != Verdict.TRUST
            for name, answer in judge_by_rules(checker, classes, predicted).items()
        },
    }
    for method, file in (("prophecy", entry.prophecy), ("deepinfer", entry.deepinfer)):
        if file:
            alarms[method, PUBLISHED] = _notifications(study, file, entry.name, len(wrong))
    return [
        MonitorResult(entry.name, entry.name, monitor, form, False, np.asarray(alarm), wrong)
        for (monitor, form), alarm in alarms.items()
    ]


def _notifications(study: Study, file: str, column: str, rows: int) -> np.ndarray:
    path = study.file(file)
    with path.open(encoding="utf-8", newline="") as opened:
        words = [row.get(column, "") for row in csv.DictReader(opened)]
    if len(words) != rows or not all(w in VERDICTS for w in words):
        raise BenchError(f"{path}: needs a column {column!r} with {rows} verdicts")
    return np.array([VERDICTS[w] != Verdict.TRUST for w in words])
