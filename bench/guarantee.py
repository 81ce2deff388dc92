"""``edgemon guarantee``: does the promised false-alarm rate hold, over many resplits?

The right answers of a bundle's model are split again and again into two halves: one sets the
threshold, the other tells the rate that came out. The share of splits in which it exceeds the
promise is compared with what theory predicts (``resplit_law``). A plain quantile of the same scores
stands beside it. Then the same where rows come in groups, see ``grouped_guarantee``: those that
``--group`` names, or else made-up ones.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from edgemon.bench import grouped_guarantee, own_thresholds
from edgemon.bench.errors import BenchError
from edgemon.bench.resplit_law import BAND, band, share_exceeding
from edgemon.compiler.bundle.bundle import Bundle
from edgemon.compiler.bundle_rows import record_rows
from edgemon.compiler.monitors.shared.tails import STEPS
from edgemon.compiler.monitors.shared.ties import TieBreak
from edgemon.compiler.promise.thresholds import FalseAlarmPromise, order_statistic
from edgemon.compiler.recording.evaluation import evaluate
from edgemon.compiler.reporter import Reporter
from edgemon.compiler.terminal import Terminal, percent

Floats = npt.NDArray[np.float64]

RATES = (0.01, 0.05, 0.2)
LEVELS = 256
UPPER = 0.1  # share of rows in the upper value of the two-valued score


@dataclass(frozen=True)
class GuaranteeLine:
    """One score under one promise. Shares are of resplits whose realised rate exceeds it."""

    score: str
    rate: float
    calibration_rows: int
    test_rows: int
    mean_rate: float  # realised, over the resplits
    exceeded: float
    predicted: float  # for scores without ties; with ties it is an upper bound
    band: tuple[float, float]  # of the share, if the prediction is right
    within: bool  # is ``exceeded`` no higher than the band?
    quantile_exceeded: float  # the same for a plain quantile
    quantile_within: bool


def run(
    bundle_path: Path,
    data: str,
    *,
    resplits: int = 200,
    confidence: float = 0.95,
    seed: int = 0,
    label_column: str | None = None,
    group: str | None = None,
    workers: int = 2,
    reporter: Reporter = Reporter(),  # noqa: B008 - stateless
) -> dict[str, Any]:
    """The JSON document of ``guarantee --json``."""
    bundle = Bundle.open(bundle_path)
    bundle.require_intact()
    with tempfile.TemporaryDirectory(prefix="edgemon-") as scratch:
        rows = record_rows(
            bundle, data, Path(scratch), label_column=label_column, group=group, workers=workers,
            reporter=reporter, takes_group=True,
        )  # fmt: skip
        right = rows.take(np.flatnonzero(rows.correct))
        if len(right) < 4:
            raise BenchError(f"{data}: only {len(right)} right answers; give more rows")
        if right.groups is not None:
            grouped_guarantee.possible(right.groups, RATES, confidence)
        own = own_thresholds.judge(bundle, data, rows, seed)
        score = evaluate(bundle.artifact.program, right).scores[0].astype(np.float64)
    lines = list(study(score, resplits, confidence, seed))
    if right.groups is None or right.labels is None:
        grouped, groups, labels = grouped_guarantee.made_up(seed)
    else:
        grouped, groups, labels = score, right.groups, right.labels
    return {
        "monitor": bundle.artifact.program.monitors[0].name,
        "rows": len(right),
        "resplits": resplits,
        "confidence": confidence,
        "band": BAND,
        "own": own,
        "lines": [asdict(line) for line in lines],
        "grouped": {
            "by": group or grouped_guarantee.MADE_UP,
            "rows": len(grouped), "groups": len(np.unique(groups)),
            "lines": [
                asdict(line)
                for line in grouped_guarantee.study(
                    grouped, groups, labels, RATES, resplits, confidence, seed
                )
            ],
        },
    }  # fmt: skip


def study(score: Floats, resplits: int, confidence: float, seed: int) -> Iterator[GuaranteeLine]:
    """One line for the scores (n,) of right answers, and one for each coarser form of them."""
    rng = np.random.default_rng(seed)
    splits = [rng.permutation(len(score)) for _ in range(resplits)]
    for rate in RATES:
        for name, scores in scores_of(score).items():
            yield _line(name, scores, splits, FalseAlarmPromise(rate, confidence))


def scores_of(score: Floats) -> dict[str, Floats]:
    """The score itself, with few levels, with two values, and with two values whose ties are
    ranked, as ``compile`` does."""
    ranks = np.argsort(np.argsort(score, kind="stable"), kind="stable")
    levels = np.floor(ranks * LEVELS / len(score))
    two = (ranks >= (1 - UPPER) * len(score)).astype(np.float64)
    tie = TieBreak.of(two, score)
    ranked = np.searchsorted(tie.values, two) * STEPS + np.searchsorted(tie.softmax, score)
    return {
        "as it is": score,
        "8 bits": levels,
        "two values": two,
        "two values, ties ranked": ranked.astype(np.float64),
    }


def _line(
    name: str, scores: Floats, splits: list[npt.NDArray[np.int64]], target: FalseAlarmPromise
) -> GuaranteeLine:
    n = len(scores) // 2
    m = len(scores) - n
    k = order_statistic(n, target)
    promised, plain = [], []
    for order in splits:
        held_out, test = np.sort(scores[order[:n]]), scores[order[n:]]
        promised.append((test > held_out[k - 1]).mean())
        plain.append((test > np.quantile(held_out, 1 - target.rate)).mean())
    predicted = share_exceeding(target, n, m)
    low, high = band(predicted, len(splits))
    exceeded = float(np.mean(np.array(promised) > target.rate))
    by_quantile = float(np.mean(np.array(plain) > target.rate))
    return GuaranteeLine(
        name, target.rate, n, m, float(np.mean(promised)), exceeded, predicted,
        (low, high), bool(exceeded <= high), by_quantile, bool(by_quantile <= high),
    )  # fmt: skip


def show(terminal: Terminal, document: dict[str, Any]) -> None:
    """The same as tables."""
    own_thresholds.show(terminal, document["own"])
    terminal.table(
        ("score", "promise", "realised, mean", "exceeded", "predicted", "99 % band", "holds",
         "by a quantile", "holds"),
        [
            (
                line["score"], percent(line["rate"]), percent(line["mean_rate"]),
                percent(line["exceeded"]), percent(line["predicted"]),
                f"{percent(line['band'][0])} to {percent(line['band'][1])}",
                "yes" if line["within"] else "NO", percent(line["quantile_exceeded"]),
                "yes" if line["quantile_within"] else "NO",
            )
            for line in document["lines"]
        ],
        title=f"{document['monitor']}: {document['resplits']} resplits of {document['rows']:,} "
        "right answers into halves; in how many the rate exceeds the promise",
    )  # fmt: skip
    grouped = document["grouped"]
    terminal.table(
        ("counts", "divided", "promise", "realised, mean", "exceeded", "predicted", "99 % band",
         "holds"),
        [
            (
                line["counted"], line["divided"], percent(line["rate"]),
                percent(line["mean_rate"]), percent(line["exceeded"]), percent(line["predicted"]),
                f"{percent(line['band'][0])} to {percent(line['band'][1])}",
                "yes" if line["within"] else "NO",
            )
            for line in grouped["lines"]
        ],
        title=f"{grouped['rows']:,} right answers in {grouped['groups']:,} groups "
        f"({grouped['by']}), {document['resplits']} resplits into halves",
    )  # fmt: skip
