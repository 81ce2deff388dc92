"""From recordings to a device program: fit, lower, quantise, calibrate, assess.

The threshold of a monitor is calibrated on the *quantised* scores of the threshold rows, computed
by the reference, so that what was promised is what the device computes.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
from scipy.stats import rankdata

from edgemon.compiler.cost.bill import Bill
from edgemon.compiler.cross_fitting import cross_fitted, device_scores
from edgemon.compiler.data.groups import Groups
from edgemon.compiler.data.splits import Splits
from edgemon.compiler.fitted import Alone, Candidate, Fitted, FittedMonitor
from edgemon.compiler.lessons import Lessons, lessons
from edgemon.compiler.monitors.estimator import MonitorEstimator
from edgemon.compiler.monitors.lowering import Lowered, lowered
from edgemon.compiler.monitors.shared import ranking
from edgemon.compiler.program.ir import Program
from edgemon.compiler.promise.calibration import (
    drawn,
    find_thresholds,
    set_thresholds,
    with_faults,
)
from edgemon.compiler.promise.thresholds import Promise
from edgemon.compiler.recording.evaluation import evaluate
from edgemon.compiler.recording.recording import Recording
from edgemon.compiler.reporter import Progress, unseen
from edgemon.compiler.statistics.quality import Quality, assess
from edgemon.runtime.evaluation import Evaluation, Verdict
from edgemon.targets import OpTimes


def fit_monitors(
    estimators: Sequence[MonitorEstimator],
    output: str,
    rows: Splits[Recording],
    promise: Promise,
    progress: Progress = unseen,
    *,
    rule: str = "method",
    logits: str = "",
    other_kernels: Sequence[Recording] = (),
    seed: int = 0,
    times: OpTimes | None = None,
    class_names: Sequence[str] = (),
) -> Fitted:
    """Fit on the fit rows, set thresholds on the threshold rows, assess on the test rows.

    Fusions learn from the fit rows or from a part of the threshold rows, see ``lessons``, and all
    thresholds are calibrated on the rest of these.

    Args:
        output: name of the tap with the model's output, whose argmax is the prediction.
        rule: one of ``options.RULES``.
        logits: name of the tap whose softmax breaks ties of coarse scores; the output if none.
        other_kernels: the same threshold rows, recorded under further kernel sets under which the
            thresholds must keep to the promise too.
        seed: of the rows that are drawn from groups, see ``calibration.drawn``.
        times: of the device, for fusions that have a budget of time and for the comparison.
        class_names: of the model's classes, for messages.
    """
    learned_from, held_out = lessons(estimators, rows, promise, seed)
    _fit(estimators, rows.fit, learned_from, output, promise, times, progress)
    plain = lowered(estimators, rows.fit.taps, output)
    calibrated = tuple(rule == "guaranteed" or s.alarm_above is None for s in plain.scores)
    given = replace(rows, fit=rows.fit.as_given)
    ranked = _ranked(plain, estimators, calibrated, logits or output, given, promise.rate)
    court = _Court(
        [drawn(r, promise, seed) for r in (held_out, *_same_rows(other_kernels, held_out))],
        rows.test, promise, class_names,
    )  # fmt: skip
    raw = [
        None if a is b else court.judged(plain.quantised([m]), (True,), alone=True).quality[0]
        for a, b, m in zip(plain.scores, ranked.scores, plain.monitors(), strict=True)
    ]
    signals = [signal for e in estimators for signal in e.signal_monitors()]
    program = ranked.quantised([*ranked.monitors(), *signals])
    whole = court.judged(program, calibrated)
    alone = _alone(court, program, calibrated)
    judges = tuple(
        _judges(estimators, whole, calibrated, raw, alone, times, per_class=bool(promise.per_class))
    )
    comparison = [c for e in estimators for c in _compare(e, output, court, times)]
    progress(len(estimators) + 1, len(estimators) + 1)
    return Fitted(
        whole.program, judges, whole.together, whole.on_test, held_out, court.held_out[0],
        tuple(comparison),
    )  # fmt: skip


def _fit(
    estimators: Sequence[MonitorEstimator], rows: Recording, taught: Lessons, output: str,
    promise: Promise, times: OpTimes | None, progress: Progress,
) -> None:  # fmt: skip
    for done, estimator in enumerate(estimators, 1):
        estimator.fit(taught.fit if estimator.learns_from_held_out else rows)
        progress(done, len(estimators) + 1)
    for estimator in estimators:
        if estimator.learns_from_held_out:
            combine(
                estimator, output, taught, times, per_class=bool(promise.per_class)
            )  # fmt: skip


def combine(
    fusion: MonitorEstimator, output: str, taught: Lessons, times: OpTimes | None = None, *,
    per_class: bool = False,
) -> None:  # fmt: skip
    """Teach a fusion, whose members are fitted, what their device scores mean on rows on which they
    were not; ``times`` of the device, if they are known; ``per_class``: will it have a threshold a
    class?"""
    fusion.learned_from_ = taught.said
    # Before the others, for it may leave members out.
    crossed = cross_fitted(fusion, output, taught.fit) if taught.held_out is None else None
    rows = taught.fit.without_moved if taught.held_out is None else taught.held_out
    copies = taught.copies
    parts = [rows] if copies is None else [rows, copies]
    program, represented = lowered(fusion.members_, rows.taps, output).represented()
    found = (
        [device_scores(program, represented, part) for part in parts]
        if crossed is None
        else [crossed]
    )
    fusion.combine(
        np.concatenate(found), ~np.concatenate([part.correct for part in parts]),
        Bill(program, times), _groups(rows, copies),
        thresholds=rows.n_classes if per_class else 1,
    )  # fmt: skip


def _groups(rows: Recording, copies: Recording | None) -> Groups | None:
    """Of rows, then of copies: those of rows that come by themselves are numbered below all."""
    if copies is None or copies.groups is None:
        return rows.groups
    own = rows.groups if rows.groups is not None else -1 - np.arange(len(rows))
    return np.concatenate([own, copies.groups])


def _ranked(
    plain: Lowered, estimators: Sequence[MonitorEstimator], calibrated: Sequence[bool],
    logits: str, rows: Splits[Recording], rate: float,
) -> Lowered:  # fmt: skip
    """With the ties of scores ranked by the softmax where they would cost power. A fusion's score
    stays: it is a sum that explains itself, and a rank would not."""
    builder, predicted = plain.builder, plain.predicted
    looked, softmax = ranking.look(builder, predicted, plain.scores, logits, rows.fit)
    known = [rows.fit, rows.threshold]
    ranking.require_varied(builder, predicted, plain.scores, plain.names, looked, known)
    asked = [c and not e.learns_from_held_out for c, e in zip(calibrated, estimators, strict=True)]
    scores = ranking.without_ties(builder, plain.scores, asked, looked, softmax, rate)
    return replace(plain, scores=tuple(scores))


@dataclass(frozen=True, eq=False)
class _Judged:
    """A program with its thresholds set, and what came of them on the test rows."""

    program: Program
    # Of each monitor that judges, as people are shown scores: one, one of each class, or none.
    thresholds: tuple[tuple[float, ...], ...]
    on_test: Evaluation
    quality: tuple[Quality, ...]  # of each monitor that judges
    together: Quality


@dataclass(frozen=True, eq=False)
class _Court:
    """Where thresholds are set and assessed."""

    held_out: Sequence[Recording]  # one a kernel set; rows as they were drawn
    test: Recording
    promise: Promise
    class_names: Sequence[str] = ()

    def judged(
        self, program: Program, calibrated: Sequence[bool], *, alone: bool = False
    ) -> _Judged:
        """The first monitors of a program, of which those that are ``calibrated`` get thresholds
        that keep the promise: of their verdict together, or of each ``alone``."""
        promise = self.promise.alone() if alone else self.promise
        names = () if alone else self.class_names
        found = find_thresholds(program, calibrated, self.held_out, promise, names)
        shown = tuple(
            tuple(map(m.shown, own)) for m, own in zip(program.monitors, found, strict=False)
        )
        program = set_thresholds(program, found, per_class=bool(promise.per_class))
        on_test, wrong = evaluate(program, self.test), ~self.test.correct
        quality = tuple(
            assess(
                on_test.verdicts[:, i] != Verdict.TRUST, rankdata(with_faults(on_test, i)), wrong
            )
            for i in range(len(calibrated))
        )
        together = assess(on_test.verdict != Verdict.TRUST, on_test.verdict, wrong)
        return _Judged(program, shown, on_test, quality, together)


def _alone(court: _Court, program: Program, calibrated: Sequence[bool]) -> list[Alone | None]:
    """What each monitor is worth by itself, where several are promised something together."""
    if court.promise.whose != "verdict" or sum(calibrated) < 2:
        return [None] * len(calibrated)
    own = court.judged(program, calibrated, alone=True)
    return [
        Alone(own.thresholds[i], own.quality[i]) if yes else None
        for i, yes in enumerate(calibrated)
    ]


def _judges(
    estimators: Sequence[MonitorEstimator], whole: _Judged, calibrated: Sequence[bool],
    raw: Sequence[Quality | None], alone: Sequence[Alone | None], times: OpTimes | None, *,
    per_class: bool,
) -> Iterator[FittedMonitor]:  # fmt: skip
    program, bill = whole.program, Bill(whole.program, times)
    position = {m.name: i for i, m in enumerate(program.monitors)}
    for i, estimator in enumerate(estimators):
        monitor = program.monitors[i]
        own = program.only(monitor.name)
        read = {tap.name for tap in own.taps}
        yield FittedMonitor(
            estimator, monitor, calibrated[i], whole.quality[i], raw[i], alone[i],
            whole.thresholds[i] if per_class else (),
            tuple(t for t in estimator.taps if t in read), own.second_inference,
            bill.together([i, *(position[n] for n in estimator.signal_names())]),
        )  # fmt: skip


def _compare(
    fusion: MonitorEstimator, output: str, court: _Court, times: OpTimes | None
) -> Iterator[Candidate]:
    """What each of a fusion's members would be worth alone."""
    if not fusion.members_:
        return
    program, _ = lowered(fusion.members_, court.test.taps, output).represented()
    judged = court.judged(program, (True,) * len(fusion.members_), alone=True)
    bill = Bill(judged.program, times)
    for i, (member, found) in enumerate(zip(fusion.members_, judged.quality, strict=True)):
        cost = bill.together([i])
        yield Candidate(
            member.kind, fusion.is_novelty(member), fusion.is_kept(member), cost.size_bytes,
            cost.microseconds, found, _opinion(member, court.test),
            judged.program.only(member.kind).second_inference,
        )  # fmt: skip


def _opinion(member: MonitorEstimator, test: Recording) -> tuple[int, int] | None:
    answers = member.answers(test)
    if answers is None:
        return None
    right = answers == test.labels
    return int((right & ~test.correct).sum()), int((~right & test.correct).sum())


def _same_rows(recordings: Sequence[Recording], wanted: Recording) -> Iterator[Recording]:
    """From recordings of the same data, the rows that are in another."""
    for recording in recordings:
        yield recording.take(np.flatnonzero(np.isin(recording.rows, wanted.rows)))
