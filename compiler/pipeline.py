"""The way of the data: model and labelled rows in, a proven bundle out.

open -> split -> record -> is the accuracy plausible? -> fit -> lower -> quantise -> calibrate ->
emit -> prove -> report -> write. The folder appears only when everything before has succeeded.
"""

from __future__ import annotations

import logging
import resource
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from edgemon import targets
from edgemon.compiler import augmenting, fitting, guarding
from edgemon.compiler import budget as budgets
from edgemon.compiler.bundle import manifest as manifests
from edgemon.compiler.bundle import output_folder as outputs
from edgemon.compiler.bundle.manifest import Accuracy
from edgemon.compiler.cost.bill import Bill
from edgemon.compiler.data.classes import Classes
from edgemon.compiler.data.loading import Dataset
from edgemon.compiler.data.repeats import contents
from edgemon.compiler.data.sources import Sources
from edgemon.compiler.data.splits import Splits
from edgemon.compiler.documents import manifest as schema
from edgemon.compiler.documents import measured
from edgemon.compiler.drift_changes import watch
from edgemon.compiler.emit import flat, onnx_emitter
from edgemon.compiler.errors import DataError
from edgemon.compiler.fitted import Fitted
from edgemon.compiler.float_model import compare_answers, give_float_model
from edgemon.compiler.gates.verdicts import Verdicts
from edgemon.compiler.last_bits import code_errors, kernel_sets
from edgemon.compiler.left_out import LeftOut
from edgemon.compiler.models.decision import Decision
from edgemon.compiler.models.graph import Tensor
from edgemon.compiler.models.model import TappedModel
from edgemon.compiler.monitors import MonitorEstimator, parse
from edgemon.compiler.opening import open_all
from edgemon.compiler.options import Options
from edgemon.compiler.program.quantise import early
from edgemon.compiler.promise.drift import guard as drifts
from edgemon.compiler.promise.drift.watched import Watched
from edgemon.compiler.promise.realised import Realised, realised
from edgemon.compiler.proof import self_test
from edgemon.compiler.proof.prove import prove
from edgemon.compiler.recording import evaluation
from edgemon.compiler.recording.accuracy import about_input
from edgemon.compiler.recording.recorded import Recorded
from edgemon.compiler.recording.recorder import (
    Look,
    Recorder,
    finite,
    require_probabilities,
    require_seen,
)
from edgemon.compiler.recording.recording import Recording
from edgemon.compiler.reporter import Reporter
from edgemon.compiler.taps.choice import ChosenTaps
from edgemon.compiler.worth import worths

# The model's classes, and its test rows, before anything is recorded.
Begin = Callable[[Classes, Dataset], None]
# The bundle's folder, its test rows, what its verdicts of these are, and a folder to work in.
Accept = Callable[[Path, Dataset, Verdicts, Path], None]
FEW_ERRORS = 30  # fewer wrong fit rows than this earn a warning


def compile_bundle(
    model_path: Path,
    sources: Sources,
    out: Path,
    options: Options = Options(),  # noqa: B008 - immutable
    reporter: Reporter = Reporter(),  # noqa: B008 - stateless
    accept: Accept | None = None,
    begin: Begin | None = None,
) -> schema.Compiled:
    """Compile; returns the manifest that the bundle holds. Raises EdgemonError in one sentence.
    ``begin`` looks at the rows before the work, and ``accept`` at the finished bundle before that
    takes its place: what they raise keeps it away."""
    options.require_sound()
    target = targets.load(options.target)
    budget = budgets.resolve(options.budget_kb, options.budget_us, target)
    estimators = parse(
        options.monitors, seed=options.seed, profile=options.profile, mirror=options.mirror,
        budget=budget,
    )  # fmt: skip
    give_float_model(
        estimators, options.float_model, model_path if options.convert == "int8" else None
    )
    budgets.require_times(estimators, target)
    with (
        outputs.writing(out, force=options.force) as folder,
        tempfile.TemporaryDirectory(prefix="edgemon-") as scratch_name,
    ):
        scratch = Path(scratch_name)
        model, classes, splits = open_all(model_path, sources, scratch, options, reporter)
        if begin is not None:
            begin(classes, splits.test)
        told = compare_answers(
            estimators, model, splits.threshold, options.preprocess, target.kernels
        )
        for sentence in told:
            reporter.note(sentence)
        changes = guarding.wanted(options.guard, splits.fit, options.full_scale, reporter)
        left_out: list[LeftOut] = []
        taps = ChosenTaps.wanted(model, estimators, options, left_out)
        copies = augmenting.copies_wanted(options.augment, splits.fit, estimators, reporter)
        kernels = kernel_sets.parse(options.certify_kernels, model, model.kernels(target.kernels))
        recorder = Recorder(
            model, scratch, options.preprocess, kernels[0], classes,
            workers=options.workers, seed=options.seed,
        )  # fmt: skip
        decision, look = _first_look(recorder, splits, options, reporter)
        if not options.taps:  # what the user named is read, or refused
            with reporter.stage("trying the taps"):
                taps = taps.tried(recorder, splits.test, estimators, left_out)
        tapped = taps.tap(recorder)
        recorded = Recorded.of(recorder, tapped, splits, kernels[1:], reporter)
        require_seen(decision, recorded.all.values())
        require_probabilities(tapped, recorded.all.values())
        accuracy = _accuracy(recorded.all, sources, look, options, reporter)
        guarded = None
        if changes:
            guarded = guarding.guard(
                changes, recorder, tapped, splits.fit, recorded.finite.fit,
                full_scale=options.full_scale, reporter=reporter,
            )  # fmt: skip
            guarding.warn_of_idle(estimators, reporter)
        lessons = recorded.finite.fit if guarded is None else guarded.fit
        augmented = None
        asked = options.augment is not None
        if copies and (asked or augmenting.may_help(recorded.finite.fit, estimators)):
            lessons, augmented = _augmented(
                lessons, copies, estimators, recorder, tapped, splits.fit, recorded.finite.fit,
                options, reporter,
            )  # fmt: skip
        fitted = _fit(
            estimators, tapped, recorded, lessons, taps.logits, target.times, classes.names,
            options, reporter,
        )  # fmt: skip
        budgets.require_kept(fitted, budget, target)
        tapped = taps.without_unread(recorder, tapped, fitted, splits.test, recorded.all.test)
        watched = watch(fitted, recorder, tapped, splits.threshold, options, reporter)
        emitted = _emit(
            recorder, tapped, target, classes, fitted, recorded, kernels, watched, options, reporter
        )
        proof = _prove(fitted, emitted, recorder, splits, recorded, reporter)
        with reporter.stage("measuring the last bits"):
            last_bits = _last_bits(fitted, recorder, tapped, recorded, splits, kernels)
        results = manifests.results(
            model=recorder.model, tapped=tapped, sources=sources, options=options, look=look,
            own_labels=recorder.own_labels, decision=decision, accuracy=accuracy, given=splits,
            rows=recorded.finite, budget=budget, fitted=fitted,
            worth=worths(fitted, recorded.finite.test, options.promise, recorder.model.output_kind),
            left_out=left_out,
            realised=_realised(fitted, recorded.finite.test, splits.test, options),
            drift=emitted.drift, guard=None if guarded is None else guarded.facts,
            augmented=augmented,
            last_bits=last_bits, proof=proof, self_test=emitted.self_test,
            artifact=emitted.artifact, onnx=emitted.onnx,
            cost=Bill(fitted.program, target.times).together(),
        )  # fmt: skip
        with reporter.stage("writing the report"):
            manifest = _report(
                folder, fitted, recorded.finite, options, results, emitted, splits, recorder, look
            )
        manifest = outputs.write(
            folder, emitted.artifact, emitted.onnx, tapped, manifest,
            splits.map(lambda _, data: data.numbers), c_header=options.c_header,
        )  # fmt: skip
        if accept is not None:
            test = recorded.finite.test
            accept(
                folder, splits.test.take(test.rows), Verdicts.of(fitted.on_test, test.correct),
                Path(tempfile.mkdtemp(dir=scratch)),
            )  # fmt: skip
    return {**manifest, "peak_memory_bytes": _peak_memory(recorded.finite)}


def _first_look(
    recorder: Recorder, splits: Splits[Dataset], options: Options, reporter: Reporter
) -> tuple[Decision | None, Look]:
    decision = recorder.settle(splits.test, options.decision_threshold)
    if decision is not None:
        reporter.note(str(decision))
    with reporter.stage("looking at input and accuracy"):
        look = recorder.look(splits)
    for _, text in about_input(look.to_json()):
        reporter.warn(text)
    return decision, look


def _accuracy(
    rows: Splits[Recording], sources: Sources, look: Look, options: Options, reporter: Reporter
) -> Accuracy:
    """The model's accuracy, on all rows that are not known to be fit rows, and by split."""
    found = Accuracy.of(rows, together=sources.data is not None)
    shares = zip(found.by_split.items(), rows.values(), strict=True)
    each = ", ".join(f"{name} {share:.2%} of {len(r)}" for (name, share), r in shares)
    reporter.note(f"accuracy {found.share:.2%} ({each} rows)")
    look.question.require_expected(look.sample, found.share, found.rows, options.expect_accuracy)
    return found


def _augmented(
    lessons: Recording, count: int, estimators: Sequence[MonitorEstimator], recorder: Recorder,
    tapped: TappedModel, data: Dataset, given: Recording, options: Options, reporter: Reporter,
) -> tuple[Recording, measured.Augmented | None]:  # fmt: skip
    """``lessons``, with moved copies of the fit rows as ``given`` behind them where these help."""
    with reporter.stage("moving copies of fit rows") as progress:
        copied = augmenting.moved_copies(
            data.take(given.rows), count, recorder.seed, recorder.scratch, progress
        )
    with reporter.stage(f"recording {len(copied)} moved copies of fit rows") as progress:
        recorded = recorder.record(tapped, copied, progress)
    asked = options.augment is not None
    try:
        copies = finite("moved copies", recorded, reporter)
    except DataError as error:
        if asked:
            raise
        reporter.note(f"no signal learned from moved copies of fit rows: {error}")
        return lessons, None
    found = augmenting.augmented(lessons, copies, len(given), recorder.scratch)
    with reporter.stage("trying whether moved copies help"):
        used = asked or augmenting.copies_help(found, estimators, options.seed)
    facts = augmenting.facts(count, found, used=used)
    if not used:
        reporter.note(augmenting.sentence(facts))
    return found if used else lessons, facts


def _fit(
    estimators: Sequence[MonitorEstimator], tapped: TappedModel, recorded: Recorded,
    lessons: Recording, logits: Sequence[Tensor], times: targets.OpTimes | None,
    class_names: Sequence[str],
    options: Options, reporter: Reporter,
) -> Fitted:  # fmt: skip
    """``lessons``: the fit rows, with copies of them."""
    _warn_of_few_errors(lessons.without_moved, reporter)
    with reporter.stage("fitting") as progress:
        fitted = fitting.fit_monitors(
            estimators, tapped.taps[0].name, replace(recorded.finite, fit=lessons),
            options.promise, progress, rule=options.thresholds,
            logits=logits[0].name if logits else "",
            other_kernels=recorded.others, seed=options.seed, times=times,
            class_names=class_names,
        )  # fmt: skip
    if recorded.others and not fitted.promised:
        reporter.warn(
            "--certify-kernels: no threshold is calibrated, so that none holds under further "
            "kernel sets; use --thresholds guaranteed"
        )
    return _early(fitted, reporter) if options.early_exit else fitted


def _early(fitted: Fitted, reporter: Reporter) -> Fitted:
    """The same scores, with trees that are left at their leaves."""
    program = early(fitted.program)
    found = sum(node.op == "early_trees" for node in program.nodes)
    if not found:
        reporter.warn(
            "--early-exit changes nothing here: no monitor has trees whose leaves differ much in "
            "depth; the others take the same few steps whatever the input"
        )
    else:
        reporter.note(
            f"--early-exit: the time of {found} node(s) of trees depends on the input; the "
            "work that is stated is its bound"
        )
    return replace(fitted, program=program)


@dataclass(frozen=True, eq=False)
class _Emitted:
    """The two forms of the monitors, and what is known of the parts that only they have."""

    metadata: Mapping[str, Any]
    artifact: bytes
    onnx: bytes
    drift: measured.Drift | None
    self_test: self_test.MutationScore


def _emit(
    recorder: Recorder, tapped: TappedModel, target: targets.Target, classes: Classes,
    fitted: Fitted, recorded: Recorded, kernels: Sequence[str], watched: Watched,
    options: Options, reporter: Reporter,
) -> _Emitted:  # fmt: skip
    program, test = fitted.program, recorded.finite.test
    drift, about_drift = drifts.guard(
        program, len(fitted.judges), watched, fitted.threshold_rows, test, fitted.on_test,
        run_length=options.drift_run_length, confidence=options.promise.confidence,
        seed=options.seed, reporter=reporter,
    )  # fmt: skip
    with reporter.stage("choosing self-test vectors"):
        vectors, found = self_test.choose(program, fitted.on_test, test, options.seed)
    metadata = manifests.metadata(
        recorder.model, tapped, options.preprocess, target, classes, fitted,
        certified=kernels if recorded.others else (),
    )  # fmt: skip
    beside = tuple(companion.info for companion in tapped.companions)
    artifact = flat.write(
        flat.Artifact(program, tapped.sha256, metadata, vectors, drift, companions=beside)
    )
    onnx = onnx_emitter.emit(program, metadata)
    return _Emitted(metadata, artifact, onnx, about_drift, found)


def _prove(
    fitted: Fitted, emitted: _Emitted, recorder: Recorder, splits: Splits[Dataset],
    recorded: Recorded, reporter: Reporter,
) -> measured.Proof:  # fmt: skip
    held_out = (
        block
        for part in (recorded.finite.threshold, recorded.finite.test)
        for block in evaluation.blocks(fitted.program, part)
    )
    with reporter.stage("proving") as progress:
        proof = prove(emitted.artifact, emitted.onnx, held_out, progress)
        proof.require()
        return {**proof.to_json(), **recorder.compare_outputs(recorded.all.test, splits.test)}


def _last_bits(
    fitted: Fitted, recorder: Recorder, tapped: TappedModel, recorded: Recorded,
    splits: Splits[Dataset], kernels: Sequence[str],
) -> measured.LastBits:  # fmt: skip
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


def _realised(fitted: Fitted, test: Recording, given: Dataset, options: Options) -> Realised:
    return realised(
        fitted.on_test, {judge.name: judge.calibrated for judge in fitted.judges},
        options.promise, test, contents(given)[test.rows], options.seed,
    )  # fmt: skip


def _warn_of_few_errors(fit: Recording, reporter: Reporter) -> None:
    wrong = int((~fit.correct).sum())
    if wrong < FEW_ERRORS:
        reporter.warn(
            f"only {wrong} of {len(fit)} fit rows are classified wrongly: monitors that learn from "
            "errors will be weak; fit on rows that the model was not trained on"
        )


def _report(
    folder: Path, fitted: Fitted, rows: Splits[Recording], options: Options,
    results: schema.Results, emitted: _Emitted, splits: Splits[Dataset], recorder: Recorder,
    look: Look,
) -> schema.Manifest:  # fmt: skip
    """Writes both forms of the report; returns the whole manifest."""
    # Where matplotlib keeps its font cache, and that it makes one, is no user's concern.
    logging.getLogger("matplotlib").setLevel(logging.ERROR)
    from edgemon.compiler import report  # here, for its plots take long to import

    given = report.Given(
        splits.fit.take(rows.fit.rows), splits.test.take(rows.test.rows), look.sample,
        options.preprocess, recorder.model.input, shown=options.examples,
    )  # fmt: skip
    document = report.collect(
        fitted, rows, options.promise, results, emitted.metadata, emitted.artifact, given
    )
    return manifests.with_report(results, report.write(folder, document), document)


def _peak_memory(rows: Splits[Recording]) -> schema.PeakMemory:
    """Peak resident memory of this process and of its largest worker, in bytes."""
    own = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024  # Linux counts in KiB
    return {"compile": own, "largest_worker": max(r.worker_peak_bytes for r in rows.values())}
