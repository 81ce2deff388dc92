"""The way of the data: model and labelled rows in, a proven bundle out.

open -> split -> record -> is the accuracy plausible? -> fit -> lower -> quantise -> calibrate ->
emit -> prove -> report -> write. The folder appears only when everything before has succeeded.
"""

from __future__ import annotations

import hashlib
import json
import logging
import resource
import shutil
import tempfile
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np

from edgemon import targets
from edgemon.compiler import budget as budgets
from edgemon.compiler import fitting
from edgemon.compiler.bundle import manifest as manifests
from edgemon.compiler.bundle import output_folder as outputs
from edgemon.compiler.cost.bill import Bill
from edgemon.compiler.data.classes import Classes, resolve
from edgemon.compiler.data.images import Pictures
from edgemon.compiler.data.loading import Dataset
from edgemon.compiler.data.repeats import contents
from edgemon.compiler.data.sources import Sources, load_sources
from edgemon.compiler.data.splits import Splits
from edgemon.compiler.emit import flat, onnx_emitter
from edgemon.compiler.fitted import Fitted
from edgemon.compiler.left_out import LeftOut
from edgemon.compiler.models import keras, open_model, tap_rules
from edgemon.compiler.models.graph import Tensor
from edgemon.compiler.models.model import Model, TappedModel
from edgemon.compiler.monitors import MonitorEstimator, parse
from edgemon.compiler.options import Options
from edgemon.compiler.promise.drift import guard as drifts
from edgemon.compiler.promise.realised import realised
from edgemon.compiler.promise.thresholds import Promise
from edgemon.compiler.proof import self_test
from edgemon.compiler.proof.prove import prove
from edgemon.compiler.recording import accuracy, evaluation
from edgemon.compiler.recording.recorder import (
    Recorder,
    finite,
    require_probabilities,
    require_seen,
)
from edgemon.compiler.recording.recording import Recording
from edgemon.compiler.reporter import Progress, Reporter
from edgemon.compiler.robustness import code_errors, kernel_sets
from edgemon.compiler.taps.assignment import assign_taps
from edgemon.compiler.taps.safety import follow, settle
from edgemon.runtime.session import MONITOR

FEW_ERRORS = 30  # fewer wrong fit rows than this earn a warning


def compile_bundle(
    model_path: Path,
    sources: Sources,
    out: Path,
    options: Options = Options(),  # noqa: B008 - immutable
    reporter: Reporter = Reporter(),  # noqa: B008 - stateless
) -> dict[str, Any]:
    """Compile; returns the manifest that the bundle holds. Raises EdgemonError in one sentence."""
    options.require_sound()
    target = targets.load(options.target)
    budget = budgets.resolve(options.budget_kb, options.budget_us, target)
    estimators = parse(
        options.monitors, seed=options.seed, profile=options.profile, mirror=options.mirror,
        budget=budget,
    )  # fmt: skip
    budgets.require_times(estimators, target)
    with (
        outputs.writing(out, force=options.force) as folder,
        tempfile.TemporaryDirectory(prefix="edgemon-") as scratch_name,
    ):
        scratch = Path(scratch_name)
        model, classes, splits = _open(model_path, sources, scratch, options, reporter)
        left_out: list[LeftOut] = []
        chosen = assign_taps(model, estimators, options.taps, options.preprocess, left_out)
        logits = tap_rules.suggest(model.graph).get("logits", ())  # they break ties of scores
        if options.thresholds == "guaranteed":
            chosen = tuple(dict.fromkeys((*chosen, *logits)))
        own_kernels = model.kernels(target.kernels)
        kernels = kernel_sets.parse(options.certify_kernels, model, own_kernels)
        recorder = Recorder(
            model, scratch, options.preprocess, own_kernels, classes,
            workers=options.workers, seed=options.seed,
        )  # fmt: skip
        decision = recorder.settle(splits.test, options.decision_threshold)
        if decision is not None:
            reporter.note(str(decision))
        model = recorder.model
        with reporter.stage("looking at input and accuracy"):
            look = recorder.look(splits)
        for _, text in accuracy.about_input(look.to_json()):
            reporter.warn(text)
        model = recorder.model
        if not options.taps:  # what the user named is read, or refused
            with reporter.stage("trying the taps"):
                moves = settle(model, chosen, recorder.changed_by(splits.test))
            follow(estimators, moves, left_out)
            found = (moves.get(t, t) for t in chosen)
            chosen = tuple(dict.fromkeys(t for t in found if t is not None))
            logits = tuple(t for t in (moves.get(t, t) for t in logits) if t is not None)
        tapped = model.with_taps(chosen, scratch / model.tapped_name)
        recorded = _record(recorder, tapped, splits, kernels[1:], reporter)
        require_seen(decision, recorded.all.values())
        require_probabilities(tapped, recorded.all.values())
        accuracies = _accuracies(recorded.all, sources, reporter)
        look.question.require_expected(
            look.sample, accuracies["accuracy"], accuracies["rows"], options.expect_accuracy
        )
        _warn_of_few_errors(recorded.finite.fit, reporter)
        fitted = _fit(
            estimators, tapped, recorded, logits, target.times, classes.names, options, reporter
        )
        budgets.require_kept(fitted, budget, target)
        read = {tap.name for tap in fitted.program.taps}
        if len(read) < len(tapped.taps):  # what no monitor came to read is no output either
            chosen = tuple(
                t for t, tap in zip(chosen, tapped.taps, strict=True) if tap.name in read
            )
            tapped = model.with_taps(chosen, scratch / model.tapped_name)
            recorder.compare_taps(tapped, splits.test, recorded.all.test)
        metadata = manifests.metadata(
            model, tapped, options.preprocess, target, classes, fitted
        )  # fmt: skip
        if recorded.others:
            metadata["certified_kernels"] = list(kernels)
        drift, drift_json = drifts.guard(
            fitted.program, next(iter(fitted.promised), 0), fitted.threshold_rows,
            recorded.finite.test, fitted.on_test, run_length=options.drift_run_length,
            confidence=options.promise.confidence, seed=options.seed, reporter=reporter,
        )  # fmt: skip
        with reporter.stage("choosing self-test vectors"):
            vectors, found_damage = self_test.choose(
                fitted.program, fitted.on_test, recorded.finite.test, options.seed
            )
        artifact = flat.write(
            flat.Artifact(fitted.program, tapped.sha256, metadata, vectors, drift)
        )
        onnx = onnx_emitter.emit(fitted.program, metadata)
        with reporter.stage("proving") as progress:
            proof = _prove(fitted, artifact, onnx, recorded.finite, progress)
            proof |= recorder.compare_outputs(tapped, splits.test)
        with reporter.stage("measuring robustness"):
            robustness = _robustness(fitted, recorder, tapped, recorded, splits, kernels)
        cost = Bill(fitted.program, target.times).together()
        test = recorded.finite.test
        came_out = realised(
            fitted.on_test, {judge.name: judge.calibrated for judge in fitted.judges},
            options.promise, test, contents(splits.test)[test.rows], options.seed,
        )  # fmt: skip
        manifest = {
            "edgemon": version("edgemon"),
            "model": metadata["model"],
            "data": {k: manifests.source_json(v) for k, v in sources.described().items()},
            "features": None if (f := splits.fit.features) is None else list(f),
            "options": options.to_json(),
            "own_labels": None if recorder.own_labels is None else recorder.own_labels.to_json(),
            "decision": None if decision is None else decision.to_json(),
            "accuracy": accuracies["accuracy"],
            "clipped_share": None if look.spread is None else look.spread.clipped_share,
            "input": look.to_json(),
            "accuracy_by_split": accuracies["by_split"],
            "rows": {name: len(data) for name, data in splits.items()},
            "groups": manifests.groups_json(options.group, recorded.finite, fitted),
            "budget": asdict(budget),
            "monitors": [judge.to_json() for judge in fitted.judges],
            "comparison": [c.to_json() for c in fitted.comparison],
            "together": fitted.together.to_json(),
            "left_out": [x.to_json() for x in (*left_out, *fitted.left_out)],
            "realised": came_out.to_json(),
            "drift": drift_json,
            "robustness": robustness,
            "proof": proof,
            "self_test": found_damage.to_json(),
            "bytes": {"artifact": len(artifact), "onnx": len(onnx), "monitors": cost.size_bytes},
            "estimated_us": cost.microseconds,
            "sha256": {
                MONITOR: hashlib.sha256(artifact).hexdigest(),
                outputs.ONNX: hashlib.sha256(onnx).hexdigest(),
                tapped.path.name: tapped.sha256,
            },
        }
        with reporter.stage("writing the report"):
            manifest["report"] = outputs.REPORT
            hashes, manifest["findings"] = _report(
                folder, fitted, recorded.finite, options.promise, manifest, metadata, artifact
            )
            manifest["sha256"] |= hashes
        _write(folder, options, artifact, onnx, tapped, manifest, splits)
    return {**manifest, "peak_memory_bytes": _peak_memory(recorded.finite)}


def _open(
    path: Path, sources: Sources, scratch: Path, options: Options, reporter: Reporter
) -> tuple[Model, Classes, Splits[Dataset]]:
    with reporter.stage("opening the model"):
        model = open_model(path, scratch, options.selection)
        model.require_classifier()
    if model.prepared is not None and model.prepared.left_out:
        reporter.note(model.prepared.sentence)
    with reporter.stage("reading the data") as progress:
        splits = load_sources(
            sources, scratch, seed=options.seed, label_column=options.label_column,
            pictures=Pictures.of(options.preprocess, model.input, options.exif),
            group=options.group, repeats=options.repeats, shared_rows=options.shared_rows,
            progress=progress, warn=reporter.warn,
        )  # fmt: skip
    classes, numbered = resolve(
        dict(splits.items()), model.n_classes, order=options.label_order, given=options.classes,
        of_model=model.class_names, warn=reporter.warn,
    )  # fmt: skip
    splits = Splits(**numbered)
    if options.convert == "int8":
        with reporter.stage("converting to int8"):
            model = keras.to_int8(model, splits.fit, options.preprocess, scratch, options.selection)
    for change in () if model.conversion is None else model.conversion.changed:
        reporter.note(f"{change}, in the model that runs")
    return model, classes, splits


@dataclass(frozen=True, eq=False)
class _Recorded:
    """Rows by split: all of them, and without those that are faults; threshold rows under other
    kernel sets."""

    all: Splits[Recording]
    finite: Splits[Recording]
    others: list[Recording]


def _record(
    recorder: Recorder, tapped: TappedModel, splits: Splits[Dataset], others: Sequence[str],
    reporter: Reporter,
) -> _Recorded:  # fmt: skip

    def recording(name: str, data: Dataset) -> Recording:
        with reporter.stage(f"recording {len(data)} {name} rows") as progress:
            return recorder.record(tapped, data, progress)

    rows = splits.map(recording)
    under_others = []
    for name in others:
        what = f"threshold rows under {name} kernels"
        with reporter.stage(f"recording {what}") as progress:
            found = recorder.record(tapped, splits.threshold, progress, kernels=name)
            under_others.append(finite(what, found, reporter))
    return _Recorded(
        rows, rows.map(lambda name, r: finite(f"{name} rows", r, reporter)), under_others
    )


def _accuracies(rows: Splits[Recording], sources: Sources, reporter: Reporter) -> dict[str, Any]:
    """The model's accuracy, on all rows that are not known to be fit rows, and by split."""
    together = sources.data is not None
    found = manifests.accuracies(rows, together=together)
    reporter.note(
        f"accuracy {found['accuracy']:.2%} ("
        + ", ".join(f"{k} {r.correct.mean():.2%} of {len(r)}" for k, r in rows.items())
        + " rows)"
    )
    return {**found, "rows": sum(len(r) for n, r in rows.items() if together or n != "fit")}


def _fit(
    estimators: Sequence[MonitorEstimator], tapped: TappedModel, recorded: _Recorded,
    logits: Sequence[Tensor], times: targets.OpTimes | None, class_names: Sequence[str],
    options: Options, reporter: Reporter,
) -> Fitted:  # fmt: skip
    with reporter.stage("fitting") as progress:
        fitted = fitting.fit_monitors(
            estimators, tapped.taps[0].name, recorded.finite, options.promise, progress,
            rule=options.thresholds, logits=logits[0].name if logits else "",
            other_kernels=recorded.others, seed=options.seed, times=times,
            class_names=class_names,
        )  # fmt: skip
    if recorded.others and not fitted.promised:
        reporter.warn(
            "--certify-kernels: no threshold is calibrated, so that none holds under further "
            "kernel sets; use --thresholds guaranteed"
        )
    return fitted


def _prove(
    fitted: Fitted, artifact: bytes, onnx: bytes, rows: Splits[Recording],
    progress: Progress | None,
) -> dict[str, Any]:  # fmt: skip
    held_out = (
        block
        for part in (rows.threshold, rows.test)
        for block in evaluation.blocks(fitted.program, part)
    )
    proof = prove(artifact, onnx, held_out, progress)
    proof.require()
    return proof.to_json()


def _robustness(
    fitted: Fitted, recorder: Recorder, tapped: TappedModel, recorded: _Recorded,
    splits: Splits[Dataset], kernels: Sequence[str],
) -> dict[str, Any]:  # fmt: skip
    sample = code_errors.sample(recorded.finite.test, recorder.seed)
    judges = len(fitted.judges)
    lsb = code_errors.measure(fitted.program, sample, judges, recorder.seed)
    recordings = recorder.under_each(
        kernels if recorded.others else (), tapped, splits.test, sample
    )
    return {
        "lsb": None if lsb is None else lsb.to_json(),
        "certified_kernels": list(kernels),
        "kernels": [
            kernel_sets.compare(fitted.program, judges, name, sample, found).to_json()
            for name, found in recordings
        ],
    }


def _warn_of_few_errors(fit: Recording, reporter: Reporter) -> None:
    wrong = int((~fit.correct).sum())
    if wrong < FEW_ERRORS:
        reporter.warn(
            f"only {wrong} of {len(fit)} fit rows are classified wrongly: monitors that learn from "
            "errors will be weak; fit on rows that the model was not trained on"
        )


def _report(
    folder: Path, fitted: Fitted, rows: Splits[Recording], promise: Promise,
    manifest: dict[str, Any], metadata: dict[str, Any], artifact: bytes,
) -> tuple[dict[str, str], list[dict[str, str]]]:  # fmt: skip
    """Writes both forms of the report; returns their hashes by file name, and the findings."""
    # Where matplotlib keeps its font cache, and that it makes one, is no user's concern.
    logging.getLogger("matplotlib").setLevel(logging.ERROR)
    from edgemon.compiler import report  # here, for its plots take long to import

    document = report.collect(fitted, rows, promise, manifest, metadata, artifact)
    content = {
        outputs.REPORT: report.render(document),
        outputs.REPORT_JSON: json.dumps(document, indent=1, allow_nan=False) + "\n",
    }
    for name, text in content.items():
        (folder / name).write_bytes(text.encode())
    hashes = {name: hashlib.sha256(t.encode()).hexdigest() for name, t in content.items()}
    return hashes, document["findings"]


def _write(
    folder: Path, options: Options, artifact: bytes, onnx: bytes, tapped: TappedModel,
    manifest: dict[str, Any], splits: Splits[Dataset],
) -> None:  # fmt: skip
    (folder / MONITOR).write_bytes(artifact)
    (folder / outputs.ONNX).write_bytes(onnx)
    shutil.copyfile(tapped.path, folder / tapped.path.name)
    if options.c_header:
        (folder / outputs.C_HEADER).write_text(flat.c_header(artifact))
    rows: dict[str, Any] = {name: data.numbers for name, data in splits.items()}
    np.savez_compressed(folder / outputs.SPLITS, **rows)
    (folder / outputs.MANIFEST).write_text(json.dumps(manifest, indent=2) + "\n")


def _peak_memory(rows: Splits[Recording]) -> dict[str, int]:
    """Peak resident memory of this process and of its largest worker, in bytes."""
    own = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024  # Linux counts in KiB
    return {"compile": own, "largest_worker": max(r.worker_peak_bytes for r in rows.values())}
