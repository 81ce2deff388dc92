"""What a bundle's own thresholds come to on given rows: the promise that was made, judged as it is,
and not the way in which such promises are made."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from edgemon.compiler.bundle.bundle import Bundle
from edgemon.compiler.bundle.manifest import source_json
from edgemon.compiler.data.groups import one_of_each
from edgemon.compiler.recording.evaluation import evaluate
from edgemon.compiler.recording.recording import Recording
from edgemon.compiler.statistics.intervals import clopper_pearson
from edgemon.compiler.terminal import Terminal, percent
from edgemon.runtime.evaluation import Verdict

VERDICT = "the verdict"


@dataclass(frozen=True)
class Judged:
    """A rate on rows of new data; ``held`` unless its interval of 95 % excludes the promise."""

    of: str
    promised: bool
    rows: int
    rate: float | None
    interval: tuple[float, float] | None
    held: bool | None


def judge(bundle: Bundle, data: str, rows: Recording, seed: int) -> dict[str, Any]:
    """The verdict and each monitor of the bundle on rows that are labelled; of rows in groups one
    row of each group."""
    options = bundle.manifest["options"]
    misses = options["promise_of"] == "misses"
    concerned = rows.take(np.flatnonzero(~rows.correct if misses else rows.correct))
    if concerned.groups is not None:
        concerned = concerned.take(one_of_each(concerned.groups, seed, concerned.rows))
    rate, monitors = float(options["rate"]), bundle.manifest["monitors"]
    lines: list[Judged] = []
    if len(concerned):
        found = evaluate(bundle.artifact.program, concerned)
        calibrated = [m["threshold_from"] == "held-out" for m in monitors]
        joint = all(calibrated) and (len(monitors) == 1 or options.get("promise") == "verdict")
        lines.append(_judged(VERDICT, joint, found.verdict, misses, rate))
        for i, (m, own) in enumerate(zip(monitors, calibrated, strict=True)):
            promised = own and (joint or options.get("promise") != "verdict")
            lines.append(_judged(m["name"], promised, found.verdicts[:, i], misses, rate))
    return {
        "of": options["promise_of"],
        "rate": rate,
        "confidence": options["confidence"],
        "same_rows_as_compiled": _same_file(bundle, data),
        "lines": [asdict(line) for line in lines],
    }


def _judged(
    name: str, promised: bool, verdicts: npt.NDArray[Any], misses: bool, rate: float
) -> Judged:
    broken = (verdicts == Verdict.TRUST) if misses else (verdicts != Verdict.TRUST)
    n, k = len(broken), int(broken.sum())
    interval = clopper_pearson(k, n)
    held = None if interval is None else interval[0] <= rate
    return Judged(name, promised, n, k / n if n else None, interval, held)


def _same_file(bundle: Bundle, data: str) -> bool:
    given = set(source_json(data)["sha256"].values())
    known = {h for s in bundle.manifest["data"].values() for h in s["sha256"].values()}
    return bool(given & known)


def show(terminal: Terminal, document: dict[str, Any]) -> None:
    """The same as a table."""
    terminal.table(
        (f"the bundle's own thresholds: {document['of']}", "promised", "rows", "realised",
         "95 % interval", "holds"),
        [
            (
                line["of"], percent(document["rate"]) if line["promised"] else "nothing",
                line["rows"], percent(line["rate"]),
                None if line["interval"] is None
                else f"{percent(line['interval'][0])} to {percent(line['interval'][1])}",
                ("yes" if line["held"] else "NO") if line["promised"] else "",
            )
            for line in document["lines"]
        ],
    )  # fmt: skip
    if document["same_rows_as_compiled"]:
        terminal.note(
            "these are rows of a file that the bundle was compiled from, its threshold rows "
            "perhaps among them: rows that it has not seen tell more"
        )
