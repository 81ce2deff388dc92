"""What is written beside a monitor: for the device (metadata) and for people (the manifest).

The manifest's fields are those of ``schema``.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any, cast

import numpy as np

from edgemon.compiler.bundle.output_folder import ONNX, REPORT
from edgemon.compiler.cost.bill import Cost
from edgemon.compiler.cost.worst_case import worst_case
from edgemon.compiler.data.classes import Classes
from edgemon.compiler.data.loading import Dataset
from edgemon.compiler.data.sources import Sources
from edgemon.compiler.data.splits import Splits
from edgemon.compiler.documents import asked, measured, monitors, report
from edgemon.compiler.documents import manifest as schema
from edgemon.compiler.fitted import Fitted, FittedMonitor
from edgemon.compiler.left_out import LeftOut
from edgemon.compiler.models.decision import Decision
from edgemon.compiler.models.model import Model, TappedModel
from edgemon.compiler.options import Options
from edgemon.compiler.promise.realised import Realised
from edgemon.compiler.proof.self_test import MutationScore
from edgemon.compiler.recording.own_labels import OwnLabels
from edgemon.compiler.recording.recorder import Look
from edgemon.compiler.recording.recording import Recording
from edgemon.runtime.preprocess import Preprocess
from edgemon.runtime.session import MONITOR
from edgemon.targets import Budget, Target


def metadata(
    model: Model,
    tapped: TappedModel,
    preprocess: Preprocess,
    target: Target,
    classes: Classes,
    fitted: Fitted,
    certified: Sequence[str] = (),
) -> dict[str, Any]:
    """What a session needs on the device; ``certified`` kernel sets, where there are several."""
    return {
        "edgemon": version("edgemon"),
        "model": describe_model(model, tapped),
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
        **({"certified_kernels": list(certified)} if certified else {}),
    }


def _monitor_entry(judge: FittedMonitor) -> dict[str, Any]:
    """With what the session needs to say which signal of a fusion alarmed."""
    return {
        "name": judge.name,
        "kind": judge.estimator.kind,
        "rule": judge.reason,
        **judge.estimator.explanation_json(),
    }


def results(
    *,
    model: Model,
    tapped: TappedModel,
    sources: Sources,
    options: Options,
    look: Look,
    own_labels: OwnLabels | None,
    decision: Decision | None,
    accuracy: Accuracy,
    given: Splits[Dataset],
    rows: Splits[Recording],
    budget: Budget,
    fitted: Fitted,
    worth: Sequence[monitors.Worth],
    left_out: Iterable[LeftOut],
    realised: Realised,
    drift: measured.Drift | None,
    guard: measured.Guard | None,
    augmented: measured.Augmented | None,
    last_bits: measured.LastBits,
    proof: measured.Proof,
    self_test: MutationScore,
    artifact: bytes,
    onnx: bytes,
    cost: Cost,
) -> schema.Results:
    """The manifest but for what the report adds. ``given``: rows as they were read; ``rows``: those
    that are no faults, as recorded. ``worth`` of each judge; ``cost``: of all monitors together."""
    return {
        "edgemon": version("edgemon"),
        "model": describe_model(model, tapped),
        "data": {name: source_json(spec) for name, spec in sources.described().items()},
        "features": None if (f := given.fit.features) is None else list(f),
        "options": options.to_json(),
        "own_labels": None if own_labels is None else own_labels.to_json(),
        "decision": None if decision is None else decision.to_json(),
        "accuracy": accuracy.share,
        "clipped_share": None if look.spread is None else look.spread.clipped_share,
        "input": look.to_json(),
        "accuracy_by_split": cast(measured.Shares, dict(accuracy.by_split.items())),
        "rows": cast(measured.Counts, dict(given.map(lambda _, data: len(data)).items())),
        "groups": groups_json(options.group, rows, fitted),
        "budget": cast(asked.Budget, asdict(budget)),
        "monitors": [j.to_json(w) for j, w in zip(fitted.judges, worth, strict=True)],
        "comparison": [c.to_json() for c in fitted.comparison],
        "together": fitted.together.to_json(),
        "left_out": [x.to_json() for x in (*left_out, *fitted.left_out)],
        "realised": realised.to_json(),
        "drift": drift,
        "guard": guard,
        "augmented": augmented,
        "accuracy_fit": None,
        "last_bits": last_bits,
        "proof": proof,
        "self_test": self_test.to_json(),
        "bytes": {"artifact": len(artifact), "onnx": len(onnx), "monitors": cost.size_bytes},
        "estimated_us": cost.microseconds,
        "worst_case": worst_case(fitted.program).to_json(),
        "sha256": {
            MONITOR: hashlib.sha256(artifact).hexdigest(),
            ONNX: hashlib.sha256(onnx).hexdigest(),
            tapped.path.name: tapped.sha256,
            **{c.file: c.info.sha256 for c in tapped.companions},
        },
        **companions_json(tapped, fitted),
    }


def companions_json(tapped: TappedModel, fitted: Fitted) -> schema.Companions:
    """What models beside the classifier there are, and who reads them; nothing without any."""
    readers = {j.name: fitted.program.only(j.name).companions for j in fitted.judges}
    found: list[schema.Companion] = [
        {
            "view": c.view, "file": c.file, "bytes": c.info.size, "sha256": c.info.sha256,
            "source": c.source, "monitors": [n for n, views in readers.items() if c.view in views],
        }
        for c in tapped.companions
    ]  # fmt: skip
    return {"companions": found} if found else {}


def with_report(
    results: schema.Results, hashes: Mapping[str, str], document: report.Report
) -> schema.Manifest:
    """The whole manifest; ``hashes`` of the report's files, by name, and its ``document``."""
    return {
        **results,
        "sha256": {**results["sha256"], **hashes},
        "report": REPORT,
        "findings": document["findings"],
        "operating_points": {m["name"]: m["operating_points"] for m in document["monitors"]},
        "advice": document["advice"],
    }


def describe_model(model: Model, tapped: TappedModel) -> asked.Model:
    """The file that the user gave, and what became of it."""
    return {
        **_origin(model),
        "tapped_sha256": tapped.sha256,
        "outputs": len(model.graph.outputs),
    }


def _origin(model: Model) -> asked.Origin:
    part: asked.Part = {} if model.prepared is None else model.prepared.to_json()
    made = model.conversion
    if made is None:
        given = model if model.prepared is None else model.prepared
        return {
            "file": given.path.name, "sha256": given.sha256, **part,
            "output_kind": model.output_kind,
        }  # fmt: skip
    converted: asked.Conversion = {
        "to": f"{made.to} TFLite", "by": made.by, "changed": list(made.changed),
        "sha256": model.sha256,
    }  # fmt: skip
    return {
        **part, "output_kind": model.output_kind, "file": made.path.name, "sha256": made.sha256,
        "converted": converted,
    }  # fmt: skip


def groups_json(by: str | None, rows: Splits[Recording], fitted: Fitted) -> measured.Groups | None:
    """How many groups the rows of each split are of, of how many one row set thresholds (with
    ``per_class`` one of each predicted class), and how many rows those are; None where rows come by
    themselves."""
    if by is None:
        return None
    counted = {**dict(rows.items()), "drawn": fitted.draws}
    counts = {n: len(np.unique(r.groups)) for n, r in counted.items() if r.groups is not None}
    return {
        "by": by, "fit": counts["fit"], "threshold": counts["threshold"], "test": counts["test"],
        "drawn": counts["drawn"] if fitted.promised else None,
        "drawn_rows": len(fitted.draws) if fitted.promised else None,
    }  # fmt: skip


def source_json(spec: str) -> asked.Source:
    """A data specification, and the hashes of the files it names."""
    files = [Path(p.partition("[")[0]) for p in spec.split(",")]
    hashes = {f.name: _sha256(f) for f in files if f.is_file()}
    return {"spec": Path(spec).name, "sha256": hashes}


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


@dataclass(frozen=True)
class Accuracy:
    """The share of rows that the model has right; ``by_split`` also of fit rows that do not
    count."""

    share: float
    rows: int  # that count
    by_split: Splits[float]

    @classmethod
    def of(cls, rows: Splits[Recording], *, together: bool) -> Accuracy:
        """Over all rows of one data set; with separate files over the held-out ones, since fit
        rows are often the model's own training rows."""
        counted = [r for name, r in rows.items() if together or name != "fit"]
        count = sum(len(r) for r in counted)
        return cls(
            sum(int(r.correct.sum()) for r in counted) / count,
            count,
            rows.map(lambda _, r: float(r.correct.mean())),
        )
