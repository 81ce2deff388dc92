"""Test rows to look at: caught, missed and falsely alarmed ones, the most and least suspicious."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from edgemon.compiler.documents import shown as schema
from edgemon.compiler.fitted import Fitted
from edgemon.compiler.promise.calibration import with_faults
from edgemon.compiler.recording.recording import Recording
from edgemon.compiler.report.distribution import shown_scores
from edgemon.compiler.report.given import Given
from edgemon.compiler.report.pictures import Shades, encoded
from edgemon.compiler.report.unusual import Usual, flat
from edgemon.runtime.evaluation import Verdict
from edgemon.runtime.untrusted import printable

Array = npt.NDArray[Any]
Bools = npt.NDArray[np.bool_]

EACH = 6  # rows of a group
PICTURE_BYTES = 96 * 1024  # of all pictures of examples, as data URIs


def examples(
    fitted: Fitted, test: Recording, labels: Sequence[str], given: Given
) -> schema.Examples:
    """Of the rows of ``given.test``, by the score of the first judge; of equal scores the first
    rows. The same rows give the same examples."""
    rows = given.first()
    kind = given.kind(rows)
    found: schema.Examples = {
        "left_out": not given.shown, "kind": kind, "score_of": fitted.judges[0].name,
        "fit_rows": 0, "drawn": None, "groups": [], "rows": [],
    }  # fmt: skip
    if not given.shown:
        return found
    members = groups(
        with_faults(fitted.on_test, 0), fitted.on_test.verdict != Verdict.TRUST, ~test.correct,
        test.groups,
    )  # fmt: skip
    chosen = list(dict.fromkeys(i for _, _, own in members for i in own))
    found["groups"] = [
        {"name": name, "rows": count, "shown": [chosen.index(i) for i in own]}
        for name, count, own in members
    ]
    found["rows"] = _described(fitted, test, labels, given, chosen)
    if kind == "images":
        shades = Shades.of(rows)
        found["drawn"] = (shades.black, shades.white)
        images = [shades.to_bytes(given.as_picture(x)) for x in _rows(given, chosen)]
        for row, image in zip(found["rows"], encoded(images, PICTURE_BYTES), strict=True):
            row["image"] = image
    if kind == "table":
        learned = flat(given.fit)
        found["fit_rows"] = len(learned)
        usual = Usual(learned, given.columns(learned.shape[1]))
        for row, x in zip(found["rows"], _rows(given, chosen), strict=True):
            row["unusual"] = usual.unusual(x)
    return found


def groups(
    score: Array, alarm: Bools, wrong: Bools, alike: Array | None = None
) -> list[tuple[str, int, list[int]]]:
    """Name, number of rows, and the rows to show: of what is alarmed, and of all, those with the
    highest scores (n,); of what is missed, and of all, those with the lowest. Of rows that are
    ``alike`` (n,) one."""
    _, rank = np.unique(score, return_inverse=True)  # which can be negated
    everything = np.ones(len(wrong), bool)
    asked = (
        ("caught", wrong & alarm, -rank), ("missed", wrong & ~alarm, rank),
        ("false alarms", ~wrong & alarm, -rank), ("most suspicious", everything, -rank),
        ("least suspicious", everything, rank),
    )  # fmt: skip
    found = []
    for name, member, order in asked:
        own = np.flatnonzero(member)
        shown = own[np.argsort(order[own], kind="stable")]
        if alike is not None:
            shown = shown[np.sort(np.unique(alike[shown], return_index=True)[1])]
        found.append((name, len(own), [int(i) for i in shown[:EACH]]))
    return found


def _rows(given: Given, chosen: Sequence[int]) -> list[Array]:
    return [row for block in given.test.take(chosen).blocks(1) for row in block]


def _described(
    fitted: Fitted, test: Recording, labels: Sequence[str], given: Given, chosen: Sequence[int]
) -> list[schema.Example]:
    assert test.labels is not None
    scores = shown_scores(fitted.judges[0].monitor, fitted.on_test.scores[0])
    numbers, files = given.test.numbers, given.test.files
    return [
        {
            "row": int(numbers[i]),
            "file": None if files is None else printable(files[given.test.rows[i]]),
            "label": labels[test.labels[i]],
            "decided": labels[test.predicted[i]],
            "score": float(scores[i]) if np.isfinite(scores[i]) else None,
            "verdict": Verdict(fitted.on_test.verdict[i]).name.lower(),
            "image": None,
            "unusual": [],
        }
        for i in chosen
    ]
