"""What is written beside a monitor: for the device (metadata) and for people (the manifest)."""

from __future__ import annotations

import hashlib
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np

from edgemon.compiler.cost.bill import Bill
from edgemon.compiler.data.classes import Classes
from edgemon.compiler.fitting import Fitted
from edgemon.compiler.models.model import Model, TappedModel
from edgemon.compiler.monitors import MonitorEstimator
from edgemon.compiler.monitors.fusion.fusion import FusionMonitor
from edgemon.compiler.recording.recording import Recording
from edgemon.runtime.preprocess import Preprocess
from edgemon.targets import OpTimes, Target

# Of a monitor whose classes have thresholds of their own: see ``calibration``.
EXCESS = "{what}: its score exceeds the threshold of this class by {{score}}"
# Of a monitor whose score is a rank: see ``monitors.ties``.
RANKED = (
    "{what}: level {{score}} of its score, with ties ranked by the softmax, above {{threshold}}"
)


def metadata(
    model: Model,
    tapped: TappedModel,
    preprocess: Preprocess,
    target: Target,
    classes: Classes,
    fitted: Fitted,
) -> dict[str, Any]:
    """What a session needs on the device."""
    return {
        "edgemon": version("edgemon"),
        "model": {
            **_origin(model),
            "tapped_sha256": tapped.sha256,
            "outputs": len(model.graph.outputs),
        },
        "input": model.input.to_json(),
        "preprocess": preprocess.to_json(),
        "labels": list(classes.names),
        "label_values": list(classes.values),
        **({"decision_threshold": model.decides_above} if model.output.length == 1 else {}),
        "kernels": model.kernels(target.kernels),
        "target": target.name,
        "taps": [
            {"name": tap.name, "output": position}
            for tap, position in zip(tapped.taps, tapped.positions, strict=True)
        ],
        "monitors": [
            _monitor_entry(e, rule)
            for e, rule in zip(fitted.estimators, _rules(fitted), strict=True)
        ],
        "score_direction": "higher is more suspicious",
        "tie_rule": "alarm iff score > threshold",
        "rounding_rule": "IEEE 754 to nearest even, no contraction",
    }


def _rules(fitted: Fitted) -> list[str]:
    """What each monitor says when it alarms, of the score that it has come to."""
    return [
        EXCESS.format(what=e.what) if by_class
        else RANKED.format(what=e.what) if raw is not None
        else e.reason()
        for e, raw, by_class in zip(
            fitted.estimators, fitted.raw, fitted.class_thresholds, strict=True
        )
    ]  # fmt: skip


def _monitor_entry(estimator: MonitorEstimator, rule: str) -> dict[str, Any]:
    """``terms``: of a fusion, what the session needs to say which signal alarmed."""
    entry: dict[str, Any] = {
        "name": estimator.kind,
        "kind": estimator.kind,
        "rule": rule,
    }
    if isinstance(estimator, FusionMonitor):
        entry |= estimator.explanation_json()
    return entry


def _origin(model: Model) -> dict[str, Any]:
    """The file that the user gave, and what became of it."""
    part = {} if model.prepared is None else model.prepared.to_json()
    part |= {"output_kind": model.output_kind}
    made = model.conversion
    if made is None:
        given = model if model.prepared is None else model.prepared
        return {"file": given.path.name, "sha256": given.sha256, **part}
    return {
        **part,
        "file": made.path.name,
        "sha256": made.sha256,
        "converted": {
            "to": f"{made.to} TFLite", "by": made.by, "changed": list(made.changed),
            "sha256": model.sha256,
        },
    }  # fmt: skip


def monitors_json(fitted: Fitted, times: OpTimes | None = None) -> list[dict[str, Any]]:
    """What is known about each monitor: thresholds, bytes, quality, what it learned; its time where
    the times of the target are known. Where it has ``class_thresholds``, one of each class of the
    model, its score is the excess over that of the predicted class."""
    bill = Bill(fitted.program, times)
    costs = [bill.together(fitted.explained(i)) for i in range(len(fitted.judges))]
    alone = {m.name: fitted.program.only(m.name) for m in fitted.judges}
    read = {name: {tap.name for tap in program.taps} for name, program in alone.items()}
    return [
        {
            "name": m.name,
            "kind": e.kind,
            "what": e.what,
            "reason": rule,
            "taps": [name for name in e.taps if name in read[m.name]],
            "second_inference": alone[m.name].second_inference,
            "threshold": m.shown(m.alarm_above),
            "uncertain_above": m.shown(m.uncertain_above),
            "threshold_raw": m.alarm_above,
            "threshold_from": "held-out" if calibrated else "method",
            "ties_broken": raw is not None,
            "raw_auroc": (raw or quality).auroc,
            "raw_mcc": (raw or quality).mcc,
            "alone": None if own is None else own.to_json(),
            "class_thresholds": list(by_class) or None,
            "bytes": cost.size_bytes,
            "estimated_us": cost.microseconds,
            **quality.to_json(),
            "details": e.details(),
        }
        for m, e, rule, calibrated, quality, raw, own, by_class, cost in zip(
            fitted.judges,
            fitted.estimators,
            _rules(fitted),
            fitted.calibrated,
            fitted.quality,
            fitted.raw,
            fitted.alone,
            fitted.class_thresholds,
            costs,
            strict=True,
        )
    ]


def groups_json(
    by: str | None, rows: dict[str, Recording], fitted: Fitted
) -> dict[str, Any] | None:
    """How many groups the rows of each split are of, of how many one row set thresholds (with
    ``per_class`` one of each predicted class), and how many rows those are; None where rows come by
    themselves."""
    if by is None:
        return None
    counted = {**rows, "drawn": fitted.draws}
    counts = {n: len(np.unique(r.groups)) for n, r in counted.items() if r.groups is not None}
    calibrated = any(fitted.calibrated)
    return {
        "by": by, **counts,
        "drawn": counts["drawn"] if calibrated else None,
        "drawn_rows": len(fitted.draws) if calibrated else None,
    }  # fmt: skip


def source_json(spec: str) -> dict[str, Any]:
    """A data specification, and the hashes of the files it names."""
    files = [Path(p.partition("[")[0]) for p in spec.split(",")]
    hashes = {f.name: _sha256(f) for f in files if f.is_file()}
    return {"spec": Path(spec).name, "sha256": hashes}


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def accuracies(rows: dict[str, Recording], *, together: bool) -> dict[str, Any]:
    """Accuracy over all rows of one data set; with separate files over the held-out ones, since
    fit rows are often the model's own training rows."""
    counted = [r for name, r in rows.items() if together or name != "fit"]
    return {
        "accuracy": sum(int(r.correct.sum()) for r in counted) / sum(len(r) for r in counted),
        "by_split": {name: float(r.correct.mean()) for name, r in rows.items()},
    }
