"""The way of the data: model and labelled rows in, a proven bundle out.

open -> split -> record -> is the accuracy plausible? -> fit -> lower -> quantise -> calibrate ->
emit -> prove -> write. The folder appears only when everything before has succeeded.
"""

from __future__ import annotations

import hashlib
import json
import os
import resource
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, field
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np

from edgemon import targets
from edgemon.compiler import accuracy, fitting
from edgemon.compiler import bundle as bundles
from edgemon.compiler.data import Dataset
from edgemon.compiler.emit import flat
from edgemon.compiler.emit import onnx as onnx_emitter
from edgemon.compiler.errors import CompileError, ParityError
from edgemon.compiler.models import taps as tap_rules
from edgemon.compiler.models.graph import Tensor
from edgemon.compiler.models.tflite import TappedModel, TfliteModel
from edgemon.compiler.monitors import MonitorEstimator, parse
from edgemon.compiler.prove import Proof, prove
from edgemon.compiler.recording import Recording, record
from edgemon.compiler.reporter import Reporter
from edgemon.compiler.sources import Sources, load_sources
from edgemon.compiler.splits import label_map
from edgemon.compiler.thresholds import FalseAlarmTarget
from edgemon.runtime.preprocess import Preprocess

SAMPLE = 500  # rows of the first look at the accuracy
OUTPUT_ROWS = 1000  # rows on which the tapped model's own output must equal the original's
FEW_ERRORS = 30  # fewer wrong fit rows than this earn a warning


@dataclass(frozen=True)
class Options:
    """What ``edgemon compile`` is told, beside model, data and output."""

    monitors: str = "softmax,box,prophecy"
    taps: str = ""
    preprocess: Preprocess = field(default_factory=Preprocess)
    label_order: str = "numeric"
    label_column: str | None = None
    target: str = targets.DEFAULT
    expect_accuracy: float | None = None
    false_alarm: FalseAlarmTarget = field(default_factory=FalseAlarmTarget)
    seed: int = 0
    workers: int = min(2, os.cpu_count() or 1)
    force: bool = False
    c_header: bool = False


def compile_bundle(
    model_path: Path,
    sources: Sources,
    out: Path,
    options: Options = Options(),  # noqa: B008 - immutable
    reporter: Reporter = Reporter(),  # noqa: B008 - stateless
) -> dict[str, Any]:
    """Compile; returns the manifest that the bundle holds. Raises EdgemonError in one sentence."""
    bundles.refuse_existing(out, force=options.force)
    estimators = parse(options.monitors, seed=options.seed)
    target = targets.load(options.target)
    with tempfile.TemporaryDirectory(prefix="edgemon-") as scratch_name:
        scratch = Path(scratch_name)
        with reporter.stage("opening the model"):
            model = TfliteModel.open(model_path)
            model.require_classifier()
        chosen = _assign_taps(model, estimators, options.taps)
        with reporter.stage("reading the data") as progress:
            splits = load_sources(
                sources, scratch, seed=options.seed, label_column=options.label_column,
                resize=options.preprocess.resize, progress=progress, warn=reporter.warn,
            )  # fmt: skip
        labels = label_map(model.n_classes, options.label_order)
        recorder = _Recorder(model, scratch, options, target.kernels, labels)
        tapped = model.with_taps(chosen, scratch / "model.tapped.tflite")
        recorder.look(splits)
        rows = {}
        for name, data in splits.items():
            with reporter.stage(f"recording {len(data)} {name} rows") as progress:
                rows[name] = recorder.record(tapped, data, options.preprocess, progress)
        shown = _accuracies(rows, together=sources.data is not None)
        reporter.note(
            f"accuracy {shown['accuracy']:.2%} ("
            + ", ".join(f"{k} {v:.2%} of {len(rows[k])}" for k, v in shown["by_split"].items())
            + " rows)"
        )
        _warn_of_few_errors(rows["fit"], reporter)
        with reporter.stage("fitting") as progress:
            fitted = fitting.fit_monitors(
                estimators, tapped.taps[0].name, rows, options.false_alarm, progress
            )
        metadata = _metadata(model, tapped, options, target.kernels, labels, splits, estimators)
        artifact = flat.write(
            flat.Artifact(
                fitted.program, tapped.sha256, metadata,
                fitting.self_test(fitted.program, rows["test"]),
            )
        )  # fmt: skip
        onnx = onnx_emitter.emit(fitted.program, metadata)
        with reporter.stage("proving") as progress:
            held_out = (
                block
                for name in ("threshold", "test")
                for block in fitting.blocks(fitted.program, rows[name])
            )
            proof = prove(artifact, onnx, held_out, progress)
            proof.require()
            outputs = recorder.compare_outputs(tapped, splits["test"])
        manifest = {
            "edgemon": version("edgemon"),
            "model": {"file": model_path.name, "sha256": model.sha256, "tapped_sha256": tapped.sha256},
            "data": {k: _source_json(v, splits.get(k)) for k, v in sources.described().items()},
            "options": {
                "monitor": options.monitors, "taps": options.taps, "seed": options.seed,
                "target": options.target, "preprocess": options.preprocess.to_json(),
                "label_order": options.label_order,
                "false_alarm": options.false_alarm.rate,
                "confidence": options.false_alarm.confidence,
            },
            "accuracy": shown["accuracy"],
            "accuracy_by_split": shown["by_split"],
            "rows": {name: len(data) for name, data in splits.items()},
            "monitors": _monitors_json(fitted),
            "together": fitted.together.to_json(),
            "proof": {**proof.to_json(), **outputs},
            "bytes": {"artifact": len(artifact), "onnx": len(onnx)},
            "sha256": {
                bundles.MONITOR: hashlib.sha256(artifact).hexdigest(),
                bundles.ONNX: hashlib.sha256(onnx).hexdigest(),
                bundles.MODEL: tapped.sha256,
            },
        }  # fmt: skip
        _write(out, options, artifact, onnx, tapped, manifest, splits)
    return {**manifest, "peak_memory_bytes": _peak_memory()}


class _Recorder:
    """Records rows of one model, with its input, labels and kernels fixed."""

    def __init__(
        self, model: TfliteModel, scratch: Path, options: Options, kernels: str, labels: Any
    ) -> None:
        self.model, self.scratch, self.options = model, scratch, options
        self.kernels, self.labels = kernels, labels
        self._plain: TappedModel | None = None

    def record(
        self, tapped: TappedModel, data: Dataset, preprocess: Preprocess, progress: Any = None,
        labels: Any = None,
    ) -> Recording:  # fmt: skip
        return record(
            tapped, data, preprocess=preprocess, input=self.model.input,
            labels=self.labels if labels is None else labels, kernels=self.kernels,
            scratch=Path(tempfile.mkdtemp(dir=self.scratch)), workers=self.options.workers,
            progress=progress,
        )  # fmt: skip

    def look(self, splits: dict[str, Dataset]) -> None:
        """A first look at the accuracy, on a sample of the test rows; raises if it is implausible."""
        data = splits["test"]
        rng = np.random.default_rng(self.options.seed)
        sample = data.take(np.sort(rng.permutation(len(data))[:SAMPLE]))
        first = self.record(self._untapped(), sample, self.options.preprocess)
        if first.labels is None:
            raise CompileError("the data has no labels; a monitor cannot be fitted without them")

        def measure(preprocess: Preprocess, order: str) -> float:
            labels = label_map(self.model.n_classes, order)
            found = self.record(self._untapped(), sample, preprocess, labels=labels)
            return float(found.correct.mean())

        used = (self.options.preprocess, self.options.label_order)
        accuracy.require(first.correct, first.labels, self.options.expect_accuracy, used, measure)

    def compare_outputs(self, tapped: TappedModel, data: Dataset) -> dict[str, int]:
        """Does tapping leave the model's own output as it was, bit for bit?"""
        sample = data.take(np.arange(min(OUTPUT_ROWS, len(data))))
        pair = [
            self.record(m, sample, self.options.preprocess) for m in (self._untapped(), tapped)
        ]
        name = tapped.taps[0].name
        before, after = (np.asarray(r.codes(name)) for r in pair)
        different = int((before.view(np.uint8) != after.view(np.uint8)).any(axis=1).sum())
        if different:
            raise ParityError(
                f"{self.model.path}: tapping changed the model's output on {different} of "
                f"{len(sample)} rows; please report this model"
            )
        return {"output_rows": len(sample), "output_mismatches": different}

    def _untapped(self) -> TappedModel:
        """The original file, with its output as the only tap."""
        if self._plain is None:
            output = self.model.graph.tensors[self.model.graph.outputs[0]]
            tap = tap_rules.tap_of(output)
            self._plain = TappedModel(self.model.path, self.model.sha256, (tap,), (0,))
        return self._plain


def _assign_taps(
    model: TfliteModel, estimators: Sequence[MonitorEstimator], text: str
) -> tuple[Tensor, ...]:
    """Give each estimator its taps; returns all tensors to tap, the model's output first."""
    own: dict[str, str] = {}
    for part in filter(None, (p.strip() for p in text.split(","))):
        monitor, separator, rules = part.rpartition("=")
        if separator and monitor not in {e.kind for e in estimators}:
            raise CompileError(f"--taps {part}: {monitor!r} is not among the monitors")
        for kind in [monitor] if separator else [e.kind for e in estimators if e.most_taps != 1]:
            own[kind] = "+".join(filter(None, (own.get(kind), rules)))
    graph = model.graph
    wanted = [graph.tensors[graph.outputs[0]]]
    for estimator in estimators:
        rules = own[estimator.kind].split("+") if estimator.kind in own else estimator.default_taps
        tensors = list(dict.fromkeys(t for rule in rules for t in _resolve(model, rule, own, estimator)))
        estimator.set_params(taps=tuple(tap_rules.tap_of(t).name for t in tensors))
        estimator.check_taps()
        wanted += [t for t in tensors if t not in wanted]
    return tuple(wanted)


def _resolve(
    model: TfliteModel, rule: str, own: dict[str, str], estimator: MonitorEstimator
) -> tuple[Tensor, ...]:
    found = tap_rules.suggest(model.graph).get(rule, ())
    if found:
        return found
    if estimator.kind not in own and estimator.most_taps != 1:
        return ()  # a rule among several defaults that this model has nothing for
    return tap_rules.choose(model.graph, rule)


def _accuracies(rows: dict[str, Recording], *, together: bool) -> dict[str, Any]:
    """Accuracy over all rows of one data set; with separate files over the held-out ones, since
    fit rows are often the model's own training rows."""
    counted = [r for name, r in rows.items() if together or name != "fit"]
    return {
        "accuracy": sum(int(r.correct.sum()) for r in counted) / sum(len(r) for r in counted),
        "by_split": {name: float(r.correct.mean()) for name, r in rows.items()},
    }


def _warn_of_few_errors(fit: Recording, reporter: Reporter) -> None:
    wrong = int((~fit.correct).sum())
    if wrong < FEW_ERRORS:
        reporter.warn(
            f"only {wrong} of {len(fit)} fit rows are classified wrongly: monitors that learn from "
            "errors will be weak; fit on rows that the model was not trained on"
        )


def _metadata(
    model: TfliteModel, tapped: TappedModel, options: Options, kernels: str, labels: Any,
    splits: dict[str, Dataset], estimators: Sequence[MonitorEstimator],
) -> dict[str, Any]:  # fmt: skip
    names = splits["fit"].class_names
    text = [str(names[i]) if names and i < len(names) else str(i) for i in labels.tolist()]
    return {
        "edgemon": version("edgemon"),
        "model": {
            "file": model.path.name, "sha256": model.sha256, "tapped_sha256": tapped.sha256,
            "outputs": len(model.graph.outputs),
        },
        "input": model.input.to_json(),
        "preprocess": options.preprocess.to_json(),
        "labels": text,
        "label_values": labels.tolist(),
        "kernels": kernels,
        "target": options.target,
        "taps": [
            {"name": t.name, "output": p}
            for t, p in zip(tapped.taps, tapped.positions, strict=True)
        ],
        "monitors": [{"name": e.kind, "kind": e.kind, "rule": e.reason()} for e in estimators],
        "score_direction": "higher is more suspicious",
        "tie_rule": "alarm iff score > threshold",
        "rounding_rule": "IEEE 754 to nearest even, no contraction",
    }  # fmt: skip


def _monitors_json(fitted: fitting.Fitted) -> list[dict[str, Any]]:
    sizes = flat.monitor_bytes(fitted.program)
    return [
        {
            "name": m.name,
            "kind": e.kind,
            "what": e.what,
            "taps": list(e.taps),
            "threshold": _display(m.alarm_above, m),
            "uncertain_above": _display(m.uncertain_above, m),
            "threshold_raw": m.alarm_above,
            "threshold_from": "held-out" if calibrated else "method",
            "bytes": sizes[m.name],
            **quality.to_json(),
            "details": e.details(),
        }
        for m, e, calibrated, quality in zip(
            fitted.program.monitors, fitted.estimators, fitted.calibrated, fitted.quality,
            strict=True,
        )
    ]  # fmt: skip


def _display(raw: float | int, monitor: Any) -> float:
    value = float(raw * monitor.display_scale)
    return value / (1 + value) if monitor.display == "odds" else value


def _source_json(spec: str, data: Dataset | None) -> dict[str, Any]:
    files = [Path(p.partition("[")[0]) for p in spec.split(",")]
    hashes = {f.name: _sha256(f) for f in files if f.is_file()}
    return {"spec": Path(spec).name, "sha256": hashes, **({"rows": len(data)} if data else {})}


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _write(
    out: Path, options: Options, artifact: bytes, onnx: bytes, tapped: TappedModel,
    manifest: dict[str, Any], splits: dict[str, Dataset],
) -> None:  # fmt: skip
    with bundles.writing(out, force=options.force) as folder:
        (folder / bundles.MONITOR).write_bytes(artifact)
        (folder / bundles.ONNX).write_bytes(onnx)
        (folder / bundles.MODEL).write_bytes(tapped.path.read_bytes())
        if options.c_header:
            (folder / bundles.C_HEADER).write_text(flat.c_header(artifact))
        rows: dict[str, Any] = {name: data.rows for name, data in splits.items()}
        np.savez_compressed(folder / bundles.SPLITS, **rows)
        (folder / bundles.MANIFEST).write_text(json.dumps(manifest, indent=2) + "\n")


def _peak_memory() -> dict[str, int]:
    """Peak resident set of this process and of its largest worker, in bytes (Linux: KiB units)."""
    return {
        "compile": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024,
        "largest_worker": resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss * 1024,
    }


__all__ = ["Options", "Proof", "Sources", "compile_bundle"]
