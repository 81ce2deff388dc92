"""What is written beside a monitor: for the device (metadata) and for people (the manifest)."""

from __future__ import annotations

import hashlib
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np

from edgemon.compiler.data.classes import Classes
from edgemon.compiler.data.splits import Splits
from edgemon.compiler.fitted import Fitted, FittedMonitor
from edgemon.compiler.models.model import Model, TappedModel
from edgemon.compiler.recording.recording import Recording
from edgemon.runtime.preprocess import Preprocess
from edgemon.targets import Target


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
        "monitors": [_monitor_entry(judge) for judge in fitted.judges],
        "score_direction": "higher is more suspicious",
        "tie_rule": "alarm iff score > threshold",
        "rounding_rule": "IEEE 754 to nearest even, no contraction",
    }


def _monitor_entry(judge: FittedMonitor) -> dict[str, Any]:
    """With what the session needs to say which signal of a fusion alarmed."""
    return {
        "name": judge.name,
        "kind": judge.estimator.kind,
        "rule": judge.reason,
        **judge.estimator.explanation_json(),
    }


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


def groups_json(by: str | None, rows: Splits[Recording], fitted: Fitted) -> dict[str, Any] | None:
    """How many groups the rows of each split are of, of how many one row set thresholds (with
    ``per_class`` one of each predicted class), and how many rows those are; None where rows come by
    themselves."""
    if by is None:
        return None
    counted = {**dict(rows.items()), "drawn": fitted.draws}
    counts = {n: len(np.unique(r.groups)) for n, r in counted.items() if r.groups is not None}
    return {
        "by": by, **counts,
        "drawn": counts["drawn"] if fitted.promised else None,
        "drawn_rows": len(fitted.draws) if fitted.promised else None,
    }  # fmt: skip


def source_json(spec: str) -> dict[str, Any]:
    """A data specification, and the hashes of the files it names."""
    files = [Path(p.partition("[")[0]) for p in spec.split(",")]
    hashes = {f.name: _sha256(f) for f in files if f.is_file()}
    return {"spec": Path(spec).name, "sha256": hashes}


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def accuracies(rows: Splits[Recording], *, together: bool) -> dict[str, Any]:
    """Accuracy over all rows of one data set; with separate files over the held-out ones, since
    fit rows are often the model's own training rows."""
    counted = [r for name, r in rows.items() if together or name != "fit"]
    return {
        "accuracy": sum(int(r.correct.sum()) for r in counted) / sum(len(r) for r in counted),
        "by_split": {name: float(r.correct.mean()) for name, r in rows.items()},
    }
