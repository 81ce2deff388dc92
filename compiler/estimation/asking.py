"""Rows that are worth a label: written for people to fill in, and read when they come back."""

from __future__ import annotations

import csv
import math
from collections.abc import Sequence
from io import StringIO
from pathlib import Path

import numpy as np
import numpy.typing as npt

from edgemon.compiler.data.classes import Classes
from edgemon.compiler.data.labels import as_number
from edgemon.compiler.errors import DataError
from edgemon.compiler.estimation.learned import Labelled
from edgemon.compiler.estimation.observed import Observed

Indices = npt.NDArray[np.intp]

COLUMNS = ("row", "prediction", "label", "chosen")
RANDOM, STRATIFIED, ENTROPY = WAYS = ("random", "stratified", "most-entropy")
NONE = "none"  # what people write for an image of no class


def count_of(text: str, whole: int) -> int:
    """``250`` or ``1%`` of the rows, at least one. Raises DataError."""
    number = as_number(text.removesuffix("%").strip())
    if number is None or not math.isfinite(number) or number < 0:
        raise DataError(f"{text!r} is no number of rows: write 250, or 1% for a share of them")
    found = round(number * whole / 100) if text.strip().endswith("%") else number
    if found != int(found) or found > whole:
        raise DataError(f"{text!r}: give a whole number of rows, at most all {whole:,}")
    return int(found) if not text.strip().endswith("%") or number == 0 else max(1, int(found))


def table(rows: Observed, at: Indices, names: Sequence[str], way: str) -> str:
    """The CSV of these rows (k,), with labels to fill in."""
    out = StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(COLUMNS)
    for i in at.tolist():
        writer.writerow([int(rows.numbers[i]), names[int(rows.predicted[i])], "", way])
    return out.getvalue()


def read(path: Path, classes: Classes) -> tuple[Labelled, int]:
    """The labels that were filled in, and how many are missing. Raises DataError in one sentence
    for anything that is no such file."""
    try:
        with path.open(newline="", encoding="utf-8-sig") as file:
            reader = csv.DictReader(file)
            if reader.fieldnames is None or not {"row", "label", "chosen"} <= set(
                reader.fieldnames
            ):
                raise DataError(
                    f"{path}: no list of labels: it needs the columns row, label and chosen, as "
                    "`edgemon accuracy label` writes them"
                )
            lines = list(reader)
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        why = getattr(error, "strerror", None) or error
        raise DataError(f"{path}: cannot be read ({why})") from None
    ways = {(line["chosen"] or "").strip() for line in lines}
    if not lines or not ways <= set(WAYS) or (ENTROPY in ways and len(ways) > 1):
        raise DataError(
            f"{path}: the column chosen must say how all rows were chosen ({', '.join(WAYS)}), as "
            "`edgemon accuracy label` wrote it"
        )
    given = [(n, line) for n, line in enumerate(lines, 2) if (line["label"] or "").strip()]
    numbers = [_number(path, n, line["row"]) for n, line in given]
    if len(set(numbers)) < len(numbers):
        twice = next(v for v in numbers if numbers.count(v) > 1)
        raise DataError(f"{path}: row {twice} is there twice; keep one of the two")
    positions = [_position(path, n, line["label"].strip(), classes) for n, line in given]
    if not given:
        raise DataError(f"{path}: no label is filled in; write one into the column label")
    labels = Labelled(
        np.array(numbers, np.int64), np.array(positions, np.int64), ENTROPY not in ways
    )
    return labels, len(lines) - len(given)


def _number(path: Path, line: int, text: str | None) -> int:
    found = as_number((text or "").strip())
    if found is None or not math.isfinite(found) or found != int(found) or found < 0:
        raise DataError(f"{path}, line {line}: {text!r} is no row number")
    return int(found)


def _position(path: Path, line: int, text: str, classes: Classes) -> int:
    if text.lower() == NONE:
        return -1
    if text in classes.names:
        return classes.names.index(text)
    value = as_number(text)
    if value is not None and value in classes.values:
        return classes.values.index(int(value))
    shown = ", ".join(classes.names[:12]) + (", ..." if len(classes.names) > 12 else "")
    raise DataError(
        f"{path}, line {line}: {text!r} is no class: write one of {shown}, or {NONE} for an image "
        "of no class"
    )


def located(rows: Observed, labels: Labelled) -> Indices:
    """Where labelled rows are among these (k,). Raises DataError if one is not."""
    order = np.argsort(rows.numbers)
    at = np.minimum(np.searchsorted(rows.numbers[order], labels.numbers), len(order) - 1)
    missing = rows.numbers[order][at] != labels.numbers
    if missing.any():
        raise DataError(
            f"row {int(labels.numbers[np.argmax(missing)])} has a label and is not among the "
            f"{len(rows):,} rows that --data names"
        )
    return order[at]
