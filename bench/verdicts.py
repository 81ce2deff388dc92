"""Verdict files: what a monitor said of each row, and what the row was."""

from __future__ import annotations

import csv
import json
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from edgemon.bench.errors import BenchError
from edgemon.runtime.evaluation import Verdict

COLUMNS = ("row", "label", "prediction", "verdict", "score")
# Our own words, and those of the published tools.
VERDICTS = {
    "trust": Verdict.TRUST,
    "correct": Verdict.TRUST,
    "uncertain": Verdict.UNCERTAIN,
    "alarm": Verdict.ALARM,
    "incorrect": Verdict.ALARM,
    "wrong": Verdict.ALARM,
    "fault": Verdict.FAULT,
}
TRUTHS = {"true": True, "1": True, "false": False, "0": False}

Row = Mapping[str, Any]


@dataclass(frozen=True, eq=False)
class Verdicts:
    """One monitor on n rows."""

    name: str
    verdict: npt.NDArray[np.uint8]  # (n,) of Verdict
    wrong: npt.NDArray[np.bool_]  # (n,) is the model wrong?
    score: npt.NDArray[np.float64] | None  # (n,); infinite on a fault
    constant: bool  # does the model give one and the same answer on every row?

    @property
    def alarm(self) -> npt.NDArray[np.bool_]:
        """(n,): everything but trust."""
        return np.asarray(self.verdict != Verdict.TRUST)

    def counts(self) -> dict[str, int]:
        """Rows of each verdict."""
        found = Counter(Verdict(v).name.lower() for v in self.verdict)
        return {v.name.lower(): found[v.name.lower()] for v in Verdict}


def read(path: Path, name: str = "") -> list[Verdicts]:
    """CSV with a header, or JSON lines (``edgemon run --json-lines``), by what the file holds.

    Columns: verdict; label and prediction, or correct; score if there is one. JSON lines may hold
    ``monitors``, a verdict a monitor: each follows as one more result, without scores. ``name`` is
    what the results are called (default: the file's stem). Raises BenchError, which names the line
    and what it lacks.
    """
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            first = file.read(1)
            file.seek(0)
            rows = list(_json_lines(path, file) if first == "{" else _csv_lines(path, file))
    except UnicodeDecodeError:
        raise BenchError(f"{path}: is not text in UTF-8; give CSV or JSON lines") from None
    except OSError as error:
        raise BenchError(f"{path}: cannot be read: {error.strerror}") from None
    if not rows:
        raise BenchError(f"{path}: holds no verdict")
    wrong = np.array([_is_wrong(path, line, row) for line, row in rows])
    answers = {str(row["prediction"]) for _, row in rows if row.get("prediction") is not None}
    constant = len(answers) == 1
    verdict = np.array([_verdict(path, line, row["verdict"]) for line, row in rows], np.uint8)
    name = name or path.stem
    found = [Verdicts(name, verdict, wrong, _scores(path, rows, verdict), constant)]
    for monitor in _monitors(rows):
        each = [_verdict(path, line, _of_monitor(row, monitor)) for line, row in rows]
        found.append(
            Verdicts(f"{name}: {monitor}", np.array(each, np.uint8), wrong, None, constant)
        )
    return found


def write(
    path: Path,
    labels: npt.NDArray[Any],
    predicted: npt.NDArray[Any],
    verdict: npt.NDArray[np.uint8],
    score: npt.NDArray[Any],
) -> None:
    """A CSV that ``read`` reads."""
    words = [Verdict(v).name.lower() for v in verdict]
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(COLUMNS)
        columns = (labels.tolist(), predicted.tolist(), words, score.tolist())
        writer.writerows((i, *row) for i, row in enumerate(zip(*columns, strict=True)))


def _csv_lines(path: Path, file: Any) -> Iterable[tuple[int, Row]]:
    reader = csv.DictReader(file)
    columns = [c.strip() for c in reader.fieldnames or []]
    if not columns:
        raise BenchError(f"{path}: is empty")
    if "verdict" not in columns:
        raise BenchError(
            f"{path}: has no column 'verdict' (the first line holds {', '.join(columns)})"
        )
    reader.fieldnames = columns
    try:
        for row in reader:
            if None in row or None in row.values():
                raise BenchError(
                    f"{path}: line {reader.line_num} does not have {len(columns)} columns as the "
                    "first one has"
                )
            yield reader.line_num, row
    except csv.Error as error:
        raise BenchError(f"{path}: line {reader.line_num} is not CSV: {error}") from None


def _json_lines(path: Path, file: Any) -> Iterable[tuple[int, Row]]:
    for number, line in enumerate(file, 1):
        if not line.strip():
            continue
        try:
            row = json.loads(line)
        except ValueError:
            row = None
        if not isinstance(row, dict):
            raise BenchError(f"{path}: line {number} is not a JSON object; give one object a line")
        if "verdict" not in row:
            raise BenchError(f"{path}: line {number} has no 'verdict'")
        yield number, row


def _is_wrong(path: Path, line: int, row: Row) -> bool:
    correct = row.get("correct")
    if correct is not None and correct != "":
        truth = TRUTHS.get(str(correct).strip().lower())
        if truth is None:
            raise BenchError(f"{path}: line {line}: correct is {correct!r}, not true or false")
        return not truth
    label, prediction = (row.get(k) for k in ("label", "prediction"))
    if label in (None, "") or prediction in (None, ""):
        raise BenchError(
            f"{path}: line {line} tells neither 'correct' nor 'label' and 'prediction', so that "
            "wrong answers are unknown; run on labelled rows"
        )
    return _canonical(label) != _canonical(prediction)


def _canonical(value: Any) -> str:
    """Class 3, '3' and '3.0' are the same."""
    text = str(value).strip()
    try:
        number = float(text)
    except ValueError:
        return text
    return str(int(number)) if number.is_integer() else text


def _verdict(path: Path, line: int, value: Any) -> Verdict:
    found = VERDICTS.get(str(value).strip().lower())
    if found is None:
        raise BenchError(
            f"{path}: line {line}: unknown verdict {value!r}; there are {', '.join(VERDICTS)}"
        )
    return found


def _scores(
    path: Path, rows: list[tuple[int, Row]], verdict: npt.NDArray[np.uint8]
) -> npt.NDArray[np.float64] | None:
    if all(row.get("score") in (None, "") for _, row in rows):
        return None
    scores = np.empty(len(rows))
    for i, (line, row) in enumerate(rows):
        try:
            scores[i] = float(row["score"])
        except (KeyError, TypeError, ValueError):
            scores[i] = np.nan
        if np.isnan(scores[i]):
            if verdict[i] != Verdict.FAULT:
                raise BenchError(
                    f"{path}: line {line}: the score {row.get('score')!r} is not a number; give "
                    "every "
                    "row a score, or none"
                )
            scores[i] = np.inf  # a fault is never trusted
    return scores


def _of_monitor(row: Row, monitor: str) -> Any:
    verdicts = row.get("monitors")
    return verdicts.get(monitor) if isinstance(verdicts, dict) else None


def _monitors(rows: list[tuple[int, Row]]) -> list[str]:
    """Names of the monitors, if there are several: one is the verdict itself."""
    first = rows[0][1].get("monitors")
    return list(first) if isinstance(first, dict) and len(first) > 1 else []
