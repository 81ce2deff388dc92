"""The way of the data: model and labelled rows in, a proven bundle out.

open -> split -> record -> is the accuracy plausible? -> fit -> lower -> quantise -> calibrate ->
emit -> prove -> report -> write. The folder appears only when everything before has succeeded.
"""

from __future__ import annotations

import hashlib
import json
import logging
import os
import resource
import shutil
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np

from edgemon import targets
from edgemon.compiler import accuracy, evaluation, fitting
from edgemon.compiler import bundle as bundles
from edgemon.compiler import manifest as manifests
from edgemon.compiler.assignment import assign_taps
from edgemon.compiler.data.loading import Dataset
from edgemon.compiler.data.sources import Sources, load_sources
from edgemon.compiler.data.splits import label_map
from edgemon.compiler.drift import guard as drifts
from edgemon.compiler.drift.fitting import require_run_length
from edgemon.compiler.emit import flat
from edgemon.compiler.emit import onnx as onnx_emitter
from edgemon.compiler.errors import CompileError, ParityError
from edgemon.compiler.models import keras, open_model
from edgemon.compiler.models import taps as tap_rules
from edgemon.compiler.models.base import Model, TappedModel
from edgemon.compiler.monitors import AUTO, parse
from edgemon.compiler.prove import prove
from edgemon.compiler.recording import Recording, record
from edgemon.compiler.reporter import Reporter
from edgemon.compiler.robustness import code_errors, kernel_sets
from edgemon.compiler.thresholds import FalseAlarmTarget, Target
from edgemon.runtime.preprocess import Preprocess
from edgemon.runtime.session import MONITOR

SAMPLE = 500  # rows of the first look at the accuracy
OUTPUT_ROWS = 1000  # rows on which the tapped model's own output must equal the original's
FEW_ERRORS = 30  # fewer wrong fit rows than this earn a warning


@dataclass(frozen=True)
class Options:
    """What ``edgemon compile`` is told, beside model, data and output."""

    monitors: str = AUTO
    profile: str = "errors"
    thresholds: str = "guaranteed"  # or "method": those that a method brings
    taps: str = ""
    preprocess: Preprocess = field(default_factory=Preprocess)
    label_order: str = "numeric"
    label_column: str | None = None
    target: str = targets.DEFAULT
    certify_kernels: str = ""  # further kernel sets under which thresholds must hold
    expect_accuracy: float | None = None
    target_rate: Target = field(default_factory=FalseAlarmTarget)
    drift_run_length: int = 10_000  # mean images to a false flag; 0: no drift test
    convert: str = "float"  # or "int8": of Keras models
    seed: int = 0
    workers: int = min(2, os.cpu_count() or 1)
    force: bool = False
    c_header: bool = False


def compile_bundle(
    model_path: Path,
    sources: Sources,
    out: Path,
    options: Options = Options(),
    reporter: Reporter = Reporter(),  # noqa: B008 - stateless
) -> dict[str, Any]:
    """Compile; returns the manifest that the bundle holds. Raises EdgemonError in one sentence."""
    if options.expect_accuracy is not None and not 0 <= options.expect_accuracy <= 1:
        raise CompileError(
            f"--expect-accuracy {options.expect_accuracy:g}: give a share between 0 and 1, as 0.85"
        )
    if options.convert not in keras.CHOICES:
        raise CompileError(f"--convert {options.convert}: use {' or '.join(keras.CHOICES)}")
    if options.thresholds not in fitting.RULES:
        raise CompileError(f"--thresholds {options.thresholds}: use {' or '.join(fitting.RULES)}")
    require_run_length(options.drift_run_length)
    estimators = parse(options.monitors, seed=options.seed, profile=options.profile)
    target = targets.load(options.target)
    with (
        bundles.writing(out, force=options.force) as folder,
        tempfile.TemporaryDirectory(prefix="edgemon-") as scratch_name,
    ):
        scratch = Path(scratch_name)
        with reporter.stage("opening the model"):
            model = open_model(model_path, scratch)
            model.require_classifier()
        with reporter.stage("reading the data") as progress:
            splits = load_sources(
                sources, scratch, seed=options.seed, label_column=options.label_column,
                resize=options.preprocess.resize, progress=progress, warn=reporter.warn,
            )  # fmt: skip
        if options.convert == "int8":
            with reporter.stage("converting to int8"):
                model = keras.to_int8(model, splits["fit"], options.preprocess, scratch)
        chosen = assign_taps(model, estimators, options.taps)
        logits = tap_rules.suggest(model.graph).get("logits", ())  # they break ties of scores
        if options.thresholds == "guaranteed":
            chosen = tuple(dict.fromkeys((*chosen, *logits)))
        labels = label_map(model.n_classes, options.label_order)
        own_kernels = model.kernels(target.kernels)
        kernels = kernel_sets.parse(options.certify_kernels, model, own_kernels)
        recorder = _Recorder(model, scratch, options, own_kernels, labels)
        tapped = model.with_taps(chosen, scratch / model.tapped_name)
        question = recorder.look(splits)
        rows = {}
        for name, data in splits.items():
            with reporter.stage(f"recording {len(data)} {name} rows") as progress:
                rows[name] = recorder.record(tapped, data, options.preprocess, progress)
        shown = manifests.accuracies(rows, together=sources.data is not None)
        reporter.note(
            f"accuracy {shown['accuracy']:.2%} ("
            + ", ".join(f"{k} {v:.2%} of {len(rows[k])}" for k, v in shown["by_split"].items())
            + " rows)"
        )
        counted = sum(len(r) for n, r in rows.items() if sources.data is not None or n != "fit")
        question.require_expected(shown["accuracy"], counted, options.expect_accuracy)
        recorded = rows["test"]
        rows = {name: _finite(f"{name} rows", r, reporter) for name, r in rows.items()}
        others = []
        for name in kernels[1:]:
            with reporter.stage(f"recording threshold rows under {name} kernels") as progress:
                found = recorder.record(
                    tapped, splits["threshold"], options.preprocess, progress, kernels=name
                )
                others.append(_finite(f"threshold rows under {name} kernels", found, reporter))
        _warn_of_few_errors(rows["fit"], reporter)
        with reporter.stage("fitting") as progress:
            fitted = fitting.fit_monitors(
                estimators, tapped.taps[0].name, rows, options.target_rate, progress,
                rule=options.thresholds, logits=logits[0].name if logits else "",
                other_kernels=others,
            )  # fmt: skip
        if others and not any(fitted.calibrated):
            reporter.warn(
                "--certify-kernels: no threshold is calibrated, so that none holds under further "
                "kernel sets; use --thresholds guaranteed"
            )
        read = {t.name for t in fitted.program.taps}
        if len(read) < len(tapped.taps):  # what no monitor came to read is no output either
            chosen = tuple(
                t for t, tap in zip(chosen, tapped.taps, strict=True) if tap.name in read
            )
            tapped = model.with_taps(chosen, scratch / model.tapped_name)
            recorder.compare_taps(tapped, splits["test"], recorded)
        metadata = manifests.metadata(
            model, tapped, options.preprocess, target, labels.tolist(),
            splits["fit"].class_names, fitted,
        )  # fmt: skip
        if others:
            metadata["certified_kernels"] = list(kernels)
        drift, drift_json = drifts.guard(
            fitted, options.drift_run_length, options.target_rate.confidence, options.seed, reporter
        )
        artifact = flat.write(
            flat.Artifact(
                fitted.program, tapped.sha256, metadata,
                fitting.self_test(fitted, rows["test"]), drift,
            )
        )  # fmt: skip
        onnx = onnx_emitter.emit(fitted.program, metadata)
        with reporter.stage("proving") as progress:
            held_out = (
                block
                for name in ("threshold", "test")
                for block in evaluation.blocks(fitted.program, rows[name])
            )
            proof = prove(artifact, onnx, held_out, progress)
            proof.require()
            outputs = recorder.compare_outputs(tapped, splits["test"])
        with reporter.stage("measuring robustness") as progress:
            sample = code_errors.sample(rows["test"], options.seed)
            judges = len(fitted.judges)
            lsb = code_errors.measure(fitted.program, sample, judges, options.seed)
            sets = [
                kernel_sets.compare(fitted.program, judges, name, sample, found)
                for name, found in recorder.under_each(
                    kernels if others else (), tapped, splits["test"], sample
                )
            ]
        manifest = {
            "edgemon": version("edgemon"),
            "model": metadata["model"],
            "data": {k: manifests.source_json(v) for k, v in sources.described().items()},
            "options": {
                "monitor": options.monitors, "profile": options.profile,
                "thresholds": options.thresholds, "taps": options.taps, "seed": options.seed,
                "target": options.target, "certify_kernels": options.certify_kernels,
                "preprocess": options.preprocess.to_json(),
                "label_order": options.label_order, "convert": options.convert,
                "promise_of": options.target_rate.of, "rate": options.target_rate.rate,
                "confidence": options.target_rate.confidence,
                "per_class": options.target_rate.per_class,
                "drift_run_length": options.drift_run_length,
                "expect_accuracy": options.expect_accuracy,
            },
            "accuracy": shown["accuracy"],
            "accuracy_by_split": shown["by_split"],
            "rows": {name: len(data) for name, data in splits.items()},
            "monitors": manifests.monitors_json(fitted),
            "comparison": [c.to_json() for c in fitted.comparison],
            "together": fitted.together.to_json(),
            "drift": drift_json,
            "robustness": {
                "lsb": None if lsb is None else lsb.to_json(),
                "certified_kernels": list(kernels),
                "kernels": [found.to_json() for found in sets],
            },
            "proof": {**proof.to_json(), **outputs},
            "bytes": {"artifact": len(artifact), "onnx": len(onnx)},
            "sha256": {
                MONITOR: hashlib.sha256(artifact).hexdigest(),
                bundles.ONNX: hashlib.sha256(onnx).hexdigest(),
                tapped.path.name: tapped.sha256,
            },
        }  # fmt: skip
        with reporter.stage("writing the report"):
            manifest["report"] = bundles.REPORT
            hashes, manifest["findings"] = _report(
                folder, fitted, rows, options.target_rate, manifest, metadata, artifact
            )
            manifest["sha256"] |= hashes
        _write(folder, options, artifact, onnx, tapped, manifest, splits)
    return {**manifest, "peak_memory_bytes": _peak_memory(rows)}


class _Recorder:
    """Records rows of one model, with its input, labels and kernels fixed."""

    def __init__(
        self, model: Model, scratch: Path, options: Options, kernels: str, labels: Any
    ) -> None:
        self.model, self.scratch, self.options = model, scratch, options
        self.kernels, self.labels = kernels, labels

    def record(
        self, tapped: TappedModel, data: Dataset, preprocess: Preprocess, progress: Any = None,
        labels: Any = None, kernels: str = "",
    ) -> Recording:  # fmt: skip
        return record(
            tapped, data, preprocess=preprocess, input=self.model.input,
            labels=self.labels if labels is None else labels, kernels=kernels or self.kernels,
            scratch=Path(tempfile.mkdtemp(dir=self.scratch)), workers=self.options.workers,
            progress=progress,
        )  # fmt: skip

    def under_each(
        self, kernels: Sequence[str], tapped: TappedModel, data: Dataset, own: Recording
    ) -> Iterator[tuple[str, Recording]]:
        """The rows of a recording under each of several kernel sets, of which the first is the
        recording's own."""
        for name in kernels:
            if name == kernels[0]:
                yield name, own
            else:
                chosen = data.take(own.rows)
                yield name, self.record(tapped, chosen, self.options.preprocess, kernels=name)

    def look(self, splits: dict[str, Dataset]) -> accuracy.Question:
        """A first look at the accuracy, on a sample of the test rows: raises at chance level."""
        data = splits["test"]
        rng = np.random.default_rng(self.options.seed)
        sample = data.take(np.sort(rng.permutation(len(data))[:SAMPLE]))
        first = self.record(self.model.untapped(), sample, self.options.preprocess)
        if first.labels is None:
            raise CompileError("the data has no labels; a monitor cannot be fitted without them")

        def measure(preprocess: Preprocess, order: str) -> float:
            labels = label_map(self.model.n_classes, order)
            found = self.record(self.model.untapped(), sample, preprocess, labels=labels)
            return float(found.correct.mean())

        used = (self.options.preprocess, self.options.label_order)
        question = accuracy.Question(used, measure)
        question.require_above_chance(first.correct, first.labels)
        return question

    def compare_taps(self, tapped: TappedModel, data: Dataset, recorded: Recording) -> None:
        """Do fewer taps have the values that they had among more, bit for bit?"""
        sample = np.arange(min(OUTPUT_ROWS, len(data)))
        found = self.record(tapped, data.take(sample), self.options.preprocess)
        for tap in tapped.taps:
            before, after = (np.asarray(r.codes(tap.name, sample)) for r in (recorded, found))
            if before.tobytes() != after.tobytes():
                raise ParityError(
                    f"{self.model.origin}: {tap.name!r} depends on which other layers are tapped; "
                    "name the layers to read with --taps"
                )

    def compare_outputs(self, tapped: TappedModel, data: Dataset) -> dict[str, int]:
        """Does tapping leave the model's own output as it was, bit for bit?"""
        sample = data.take(np.arange(min(OUTPUT_ROWS, len(data))))
        pair = [
            self.record(m, sample, self.options.preprocess) for m in (self.model.untapped(), tapped)
        ]
        name = tapped.taps[0].name
        before, after = (np.asarray(r.codes(name)) for r in pair)
        different = int((before.view(np.uint8) != after.view(np.uint8)).any(axis=1).sum())
        if different:
            raise ParityError(
                f"{self.model.origin}: tapping changed the model's output on {different} of "
                f"{len(sample)} rows: choose other taps, after an activation rather than before it"
            )
        return {"output_rows": len(sample), "output_mismatches": different}


def _finite(what: str, rows: Recording, reporter: Reporter) -> Recording:
    """The rows without a NaN or an infinity in a tap: such a row is a fault, not a lesson."""
    kept = np.ones(len(rows), bool)
    for tap in (t for t in rows.taps if t.dtype == "float32"):
        for start in range(0, len(rows), evaluation.BLOCK):
            block = np.arange(start, min(start + evaluation.BLOCK, len(rows)))
            kept[block] &= np.isfinite(rows.codes(tap.name, block)).all(axis=1)
    if kept.all():
        return rows
    if not kept.any():
        raise CompileError(f"the model's taps hold a NaN or an infinity on all {what}")
    reporter.warn(
        f"{int((~kept).sum())} of {len(rows)} {what} give a NaN or an infinity in a tap and "
        "are left out; on the device they are faults"
    )
    return rows.take(np.flatnonzero(kept))


def _warn_of_few_errors(fit: Recording, reporter: Reporter) -> None:
    wrong = int((~fit.correct).sum())
    if wrong < FEW_ERRORS:
        reporter.warn(
            f"only {wrong} of {len(fit)} fit rows are classified wrongly: monitors that learn from "
            "errors will be weak; fit on rows that the model was not trained on"
        )


def _report(
    folder: Path, fitted: fitting.Fitted, rows: dict[str, Recording], target: Target,
    manifest: dict[str, Any], metadata: dict[str, Any], artifact: bytes,
) -> tuple[dict[str, str], list[dict[str, str]]]:  # fmt: skip
    """Writes both forms of the report; returns their hashes by file name, and the findings."""
    # Where matplotlib keeps its font cache, and that it makes one, is no user's concern.
    logging.getLogger("matplotlib").setLevel(logging.ERROR)
    from edgemon.compiler import report  # here, for its plots take long to import

    document = report.collect(fitted, rows, target, manifest, metadata, artifact)
    content = {
        bundles.REPORT: report.render(document),
        bundles.REPORT_JSON: json.dumps(document, indent=1, allow_nan=False) + "\n",
    }
    for name, text in content.items():
        (folder / name).write_bytes(text.encode())
    hashes = {name: hashlib.sha256(t.encode()).hexdigest() for name, t in content.items()}
    return hashes, document["findings"]


def _write(
    folder: Path, options: Options, artifact: bytes, onnx: bytes, tapped: TappedModel,
    manifest: dict[str, Any], splits: dict[str, Dataset],
) -> None:  # fmt: skip
    (folder / MONITOR).write_bytes(artifact)
    (folder / bundles.ONNX).write_bytes(onnx)
    shutil.copyfile(tapped.path, folder / tapped.path.name)
    if options.c_header:
        (folder / bundles.C_HEADER).write_text(flat.c_header(artifact))
    rows: dict[str, Any] = {name: data.numbers for name, data in splits.items()}
    np.savez_compressed(folder / bundles.SPLITS, **rows)
    (folder / bundles.MANIFEST).write_text(json.dumps(manifest, indent=2) + "\n")


def _peak_memory(rows: dict[str, Recording]) -> dict[str, int]:
    """Peak resident memory of this process and of its largest worker, in bytes."""
    own = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024  # Linux counts in KiB
    return {"compile": own, "largest_worker": max(r.worker_peak_bytes for r in rows.values())}
