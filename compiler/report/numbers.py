"""Everything that the report says, as one JSON document."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any, cast

import numpy as np
import numpy.typing as npt
from scipy.stats import rankdata

from edgemon.compiler.cost import bill as cost
from edgemon.compiler.cost.worst_case import worst_case
from edgemon.compiler.data.splits import Splits
from edgemon.compiler.documents import report as schema
from edgemon.compiler.documents.manifest import Companions, Results
from edgemon.compiler.documents.measured import Interval, Realised
from edgemon.compiler.documents.monitors import Monitor, OperatingPoint
from edgemon.compiler.fitted import Fitted, FittedMonitor
from edgemon.compiler.monitors import MonitorEstimator
from edgemon.compiler.promise.thresholds import Promise
from edgemon.compiler.recording.recording import Recording
from edgemon.compiler.report.decision import advice
from edgemon.compiler.report.distribution import histogram, shown_scores
from edgemon.compiler.report.examples import examples
from edgemon.compiler.report.findings import findings
from edgemon.compiler.report.given import Given
from edgemon.compiler.report.operating import operating_points
from edgemon.compiler.report.seen import seen
from edgemon.compiler.report.trust import describe_trust
from edgemon.compiler.statistics.intervals import CONFIDENCE
from edgemon.compiler.statistics.metrics import RiskCoverage, measure
from edgemon.runtime.evaluation import Verdict
from edgemon.runtime.monitor import Monitor as Runtime
from edgemon.runtime.untrusted import printable

VERSION = 1  # of the document; a reader may rely on every field of the version it knows
CURVE_POINTS = 200  # most of a risk-coverage curve

Bools = npt.NDArray[np.bool_]
Array = npt.NDArray[Any]


def collect(
    fitted: Fitted,
    rows: Splits[Recording],
    promise: Promise,
    manifest: Results,
    metadata: Mapping[str, Any],
    artifact: bytes,
    given: Given,
) -> schema.Report:
    """The document ``report.json``.

    Args:
        rows: recordings by split, as given to ``fit_monitors``.
        manifest: what the bundle's manifest says so far. metadata: of the artifact.
        given: the rows of ``rows`` as they were read.
    """
    found = fitted.on_test
    wrong = ~rows.test.correct
    runtime = Runtime(artifact)
    labels = [printable(label) for label in metadata["labels"]]
    points = operating_points(fitted, promise, wrong)
    document: schema.Numbers = {
        "format": "edgemon report",
        "version": VERSION,
        "positive": "the model is wrong; an uncertain verdict and a fault count as alarms",
        "interval_confidence": CONFIDENCE,
        "edgemon": manifest["edgemon"],
        "model": {
            **manifest["model"],
            "classes": rows.test.n_classes,
            "labels": labels,
            "kernels": metadata["kernels"],
            "target": metadata["target"],
            "taps": [
                {"name": t.name, "dtype": t.dtype, "length": t.length, "view": t.view}
                for t in fitted.program.taps
            ],
        },
        "decision": manifest["decision"],
        "own_labels": manifest["own_labels"],
        "clipped_share": manifest["clipped_share"],
        "input": manifest["input"],
        "accuracy": manifest["accuracy"],
        "splits": cast(schema.SplitsReport, dict(rows.map(_split).items())),
        "groups": manifest["groups"],
        "promise": _promise(fitted, promise, manifest["realised"]),
        "together": _judged(found.verdict, found.verdict, wrong),
        "monitors": [
            _monitor(entry, fitted, i, judge, wrong, points[i])
            for i, (entry, judge) in enumerate(
                zip(manifest["monitors"], fitted.judges, strict=True)
            )
        ],
        "comparison": manifest["comparison"],
        "left_out": manifest["left_out"],
        "drift": manifest["drift"],
        "last_bits": manifest["last_bits"],
        "guard": manifest["guard"],
        "augmented": manifest["augmented"],
        "by_class": _by_class(found.verdict != Verdict.TRUST, wrong, rows.test, labels),
        "seen": seen(rows.test, labels, given),
        "examples": examples(fitted, rows.test, labels, given),
        "trust": describe_trust(
            rows.test,
            manifest["model"]["output_kind"],
            found.verdict == Verdict.TRUST,
            labels,
        ),
        "cost": {
            "artifact_bytes": len(artifact),
            "monitors_bytes": manifest["bytes"]["monitors"],
            "estimated_us": manifest["estimated_us"],
            "workspace_bytes": runtime.workspace_size,
            "work": runtime.work,
            "second_inference": fitted.program.second_inference,
            "steps": sum(cost.steps(fitted.program).values()),
            "steps_by_op": cost.steps(fitted.program),
            "worst_case": worst_case(fitted.program).to_json(),
        },
        "budget": manifest["budget"],
        "proof": manifest["proof"],
        "self_test": manifest["self_test"],
        "data": manifest["data"],
        "options": manifest["options"],
        "sha256": dict(manifest["sha256"]),
        **_beside(manifest),
    }
    return {**document, "findings": findings(document), "advice": advice(document)}


def _beside(manifest: Results) -> Companions:
    found = manifest.get("companions")
    return {"companions": found} if found else {}


def _split(_name: str, rows: Recording) -> schema.Split:
    return {
        "rows": len(rows),
        "wrong": int((~rows.correct).sum()),
        "groups": None if rows.groups is None else len(np.unique(rows.groups)),
    }


def _promise(fitted: Fitted, promise: Promise, realised: Realised) -> schema.PromiseReport | None:
    """What the calibrated thresholds guarantee, from how many rows, and what came of it on the test
    rows; None without any."""
    names = [judge.name for judge in fitted.judges if judge.calibrated]
    if not names:
        return None
    return {
        "monitors": names,
        "of": promise.of,
        "answers": promise.answers,
        "rate": promise.rate,
        "confidence": promise.confidence,
        "per_class": promise.per_class,
        "whose": promise.whose if len(names) > 1 else "monitor",
        "rows": int(promise.concerns(fitted.draws.correct).sum()),
        "realised": realised,
    }


def _monitor(
    entry: Monitor, fitted: Fitted, index: int, judge: FittedMonitor, wrong: Bools,
    points: list[OperatingPoint],
) -> schema.MonitorReport:  # fmt: skip
    monitor, estimator = judge.monitor, judge.estimator
    verdicts, raw = fitted.on_test.verdicts[:, index], fitted.on_test.scores[index]
    scores = shown_scores(monitor, raw)
    scores[verdicts == Verdict.FAULT] = np.inf
    marks = (monitor.shown(monitor.uncertain_above), monitor.shown(monitor.alarm_above))
    # Ranks, not shown scores: to show a score may round two into one.
    rank = np.where(verdicts == Verdict.FAULT, np.inf, rankdata(raw))
    curve = RiskCoverage.of(rankdata(rank), wrong).thinned(CURVE_POINTS)
    return {
        **entry,
        "source": estimator.source,
        "settings": _settings(estimator),
        "steps": sum(cost.steps(fitted.program.only(monitor.name)).values()),
        **_judged(verdicts, rank, wrong),
        "histogram": histogram(scores, wrong, marks),
        "risk_coverage": {
            "coverage": curve.coverage.tolist(),
            "risk": curve.risk.tolist(),
        },
        "operating_points": points,
    }


def _judged(verdicts: Array, score: Array, wrong: Bools) -> schema.Judged:
    """Metrics of verdicts (n,), how often each occurs, and what it means to trust the rest."""
    alarm = verdicts != Verdict.TRUST
    metrics = cast(schema.BareMetrics, asdict(measure(alarm, wrong, score)))
    counts: schema.VerdictsReport = {
        "right": _counts(verdicts[~wrong]),
        "wrong": _counts(verdicts[wrong]),
    }
    trusted = int((~alarm).sum())
    return {
        "metrics": {
            **metrics,
            "missed": None if metrics["tpr"] is None else 1 - metrics["tpr"],
            "missed_interval": _complement(metrics["tpr_interval"]),
        },
        "verdicts": counts,
        "trusted": {
            "coverage": trusted / len(wrong),
            "risk": counts["wrong"]["trust"] / trusted if trusted else None,
        },
    }


def _counts(verdicts: Array) -> dict[str, int]:
    return {v.name.lower(): int((verdicts == v).sum()) for v in Verdict}


def _complement(interval: Interval | None) -> Interval | None:
    return None if interval is None else (1 - interval[1], 1 - interval[0])


def _settings(estimator: MonitorEstimator) -> dict[str, bool | int | float | str]:
    """The constructor's parameters that a user can choose."""
    return {
        k: v for k, v in estimator.get_params().items() if isinstance(v, (bool, int, float, str))
    }


def _by_class(
    alarm: Bools, wrong: Bools, rows: Recording, labels: list[str]
) -> list[schema.ClassReport]:
    """How the verdict does on the answers of each class, by the model's prediction."""
    result: list[schema.ClassReport] = []
    for c, label in enumerate(labels):
        own = rows.predicted == c
        result.append(
            {
                "predicted": label,
                "answers": int(own.sum()),
                "wrong": int((own & wrong).sum()),
                "alarms_on_wrong": int((own & wrong & alarm).sum()),
                "alarms_on_right": int((own & ~wrong & alarm).sum()),
            }
        )
    return result
