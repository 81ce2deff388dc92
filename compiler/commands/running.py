"""Running a bundle over rows or images, a verdict a row."""

from __future__ import annotations

import json
import math
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from edgemon.compiler.bundle.bundle import reading_of
from edgemon.compiler.data.classes import Classes
from edgemon.compiler.data.images import Pictures
from edgemon.compiler.data.loading import Dataset, load
from edgemon.compiler.recording import input_range
from edgemon.compiler.terminal import Terminal, percent, quiet_interpreter
from edgemon.runtime.accuracy import LEAST_IMAGES
from edgemon.runtime.drift import DriftState
from edgemon.runtime.evaluation import Verdict
from edgemon.runtime.session import Session
from edgemon.runtime.window import Report

BLOCK = 256
REPORT_EVERY = 1000  # images, and up to a block more


def run_bundle(
    path: Path, data: str, *, label_column: str | None, json_lines: bool, terminal: Terminal,
    reports: Path | None = None, device: int = 0,
) -> None:  # fmt: skip
    """Print prediction, verdict, score and reason of every row, then a summary. ``reports``: also
    append what a device of this number would send."""
    with quiet_interpreter():
        session = Session(path)
    with tempfile.TemporaryDirectory(prefix="edgemon-") as scratch:
        how = reading_of(path)
        rows = load(
            data, Path(scratch), label_column=label_column, aside=how.aside,
            features=how.features, warn=terminal.warn,
            pictures=Pictures.of(session.preprocess, session.input, how.exif),
        )  # fmt: skip
        first = next(rows.blocks(BLOCK))
        filled = input_range.measure(first, session.preprocess, session.input)
        for _, text in input_range.problems(None if filled is None else filled.to_json()):
            terminal.warn(text)
        results = []
        summary = _Summary()
        warned = False
        log = None if reports is None else _Log(session, reports, device)
        if not (json_lines or terminal.as_json):
            print(_head(labelled=rows.y is not None), flush=True)
        for row in _rows(session, rows, log):
            summary.add(row)
            if json_lines:
                print(json.dumps(row), flush=True)
            elif terminal.as_json:
                results.append(row)
            else:
                print(_line(row), flush=True)
            if not warned and session.drift.flag:  # known after each block of rows
                warned = True
                _warn_of_drift(session.drift, terminal)
        if log is not None:
            log.write()
    if not json_lines:
        terminal.document(
            {
                "rows": results,
                "summary": {
                    **summary.to_json(), "drift": _drift_json(session),
                    "accuracy": _accuracy_json(session),
                },
            }
        )  # fmt: skip
        terminal.note(summary.sentence())
        _show_accuracy(session, terminal)


def _warn_of_drift(drift: DriftState, terminal: Terminal) -> None:
    terminal.warn(
        f"drift: since image {drift.since:,} the scores are unlike those of calibration (seen at "
        f"image {drift.flagged_at:,}); no promised rate holds from there on"
    )


def _drift_json(session: Session) -> dict[str, Any] | None:
    """None for an artifact without a drift test. Images are numbered from 1."""
    if session.drift_test is None:
        return None
    drift = session.drift
    return {
        "flag": drift.flag,
        "images": drift.images,
        "faults": drift.faults,
        "flagged_at": drift.flagged_at or None,
        "since": drift.since or None,
    }


def _accuracy_json(session: Session) -> dict[str, Any] | None:
    """The estimate over the last images; None for an artifact without a table of accuracy."""
    own = session.accuracy
    if own is None:
        return None
    return {
        "valid": own.valid, "estimate": own.accuracy if own.valid else None,
        "interval": [*own.interval] if own.valid else None, "basis": own.basis.name.lower(),
        "images": own.images, "faults": own.faults, "labels": own.labels,
    }  # fmt: skip


def _show_accuracy(session: Session, terminal: Terminal) -> None:
    own = session.accuracy
    if own is None:
        return
    low, high = own.interval
    if own.valid:
        terminal.note(
            f"accuracy of the last {own.images:,} images, estimated without labels: "
            f"{percent(own.accuracy)} ({100 * low:.2f} to {100 * high:.2f}), as long as images are "
            "like those of calibration"
        )
    elif session.drift.flag:
        terminal.warn(
            "accuracy: no estimate, for the drift flag is up and no label came since; label some "
            "30 images drawn at random (Session.label, edgemon accuracy)"
        )
    else:
        terminal.note(
            f"accuracy: no estimate of {own.images:,} images with a score; "
            f"{LEAST_IMAGES} are needed"
        )


class _Log:
    """Reports of a session's images, as lines of JSON at the end of a file."""

    def __init__(self, session: Session, path: Path, device: int) -> None:
        self._session, self._path, self._device = session, path, device
        self._began, self._images = int(time.time()), 0

    def add(self, images: int) -> None:
        self._images += images
        if self._images >= REPORT_EVERY:
            self.write()

    def write(self) -> None:
        """What was counted since the last report, if anything was."""
        if not self._images:
            return
        now = int(time.time())
        report = self._session.report(device=self._device, started=self._began, ended=now)
        with self._path.open("a", encoding="utf-8") as file:
            file.write(json.dumps(Report.parse(report).to_json()) + "\n")
        self._began, self._images = now, 0


def _rows(session: Session, data: Dataset, log: _Log | None) -> Iterator[dict[str, Any]]:
    classes = Classes(session.labels, session.label_values)
    truth = None if data.y is None else classes.positions(data)
    index = 0
    for images in data.blocks(BLOCK):
        results = session.evaluate_batch(images)
        if log is not None:
            log.add(len(results))
        for result in results:
            row: dict[str, Any] = {
                "row": int(data.numbers[index]),
                "prediction": result.label,
                "verdict": result.verdict.name.lower(),
                "score": None if math.isnan(result.score) else result.score,
                "reason": result.reason,
                "monitors": {m.name: m.verdict.name.lower() for m in result.monitors},
                "terms": {t.name: t.nats for t in result.terms},
            }
            if truth is not None:
                label = int(truth[index])
                row["label"] = _label(classes, data, index, label)
                row["known"] = label >= 0
                row["correct"] = result.prediction >= 0 and result.prediction == label
            yield row
            index += 1


def _label(classes: Classes, data: Dataset, index: int, position: int) -> str | int:
    """The label of a row: the name of its class, or what the data says."""
    assert data.y is not None
    label = int(data.y[index])
    if data.class_names:
        return data.class_names[label]
    name = classes.names[position] if position >= 0 else str(label)
    return label if name == str(label) else name


def _head(*, labelled: bool) -> str:
    """What the columns of ``_line`` are."""
    is_ = f"{'label':<12} {'right?':<10}" if labelled else ""
    return f"{'row':>7}  {'answer':<12} {is_}{'verdict':<9}  why"


def _line(row: dict[str, Any]) -> str:
    is_ = ""
    if "label" in row:
        right = "yes" if row["correct"] else "no" if row["known"] else "new class"
        is_ = f"{row['label']!s:<12} {right:<10}"
    return f"{row['row']:>7}  {row['prediction']:<12} {is_}{row['verdict']:<9}  {row['reason']}"


class _Summary:
    """Verdicts, and with labels how they meet the errors."""

    def __init__(self) -> None:
        self.verdicts: Counter[str] = Counter()
        self.alarms: Counter[str] = Counter()
        self.totals: Counter[str] = Counter()

    def add(self, row: dict[str, Any]) -> None:
        self.verdicts[row["verdict"]] += 1
        if "label" not in row:
            return
        group = "wrong" if not row["correct"] else "right"
        if not row["known"]:
            group = "unknown class"
        self.totals[group] += 1
        self.alarms[group] += row["verdict"] != Verdict.TRUST.name.lower()

    def to_json(self) -> dict[str, Any]:
        return {
            "verdicts": dict(self.verdicts),
            "alarms": {
                group: {"rows": self.totals[group], "alarms": self.alarms[group]}
                for group in self.totals
            },
        }

    def sentence(self) -> str:
        counts = ", ".join(f"{n:,} {verdict}" for verdict, n in self.verdicts.most_common())
        shares = "".join(
            f"; {percent(self.alarms[g] / n)} of the {n:,} "
            + ("rows of an unknown class" if g == "unknown class" else f"{g} answers")
            + " alarmed"
            for g, n in sorted(self.totals.items())
        )
        return f"{sum(self.verdicts.values()):,} rows: {counts}{shares}"
