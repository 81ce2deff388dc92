"""From recordings to a device program: fit, lower, quantise, calibrate, assess.

The threshold of a monitor is calibrated on the *quantised* scores of the threshold rows, computed
by the reference, so that what was promised is what the device computes.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from edgemon.compiler.cost.bill import Bill
from edgemon.compiler.data.splits import divide
from edgemon.compiler.errors import CompileError
from edgemon.compiler.left_out import LeftOut, each
from edgemon.compiler.monitors import MonitorEstimator, Score
from edgemon.compiler.monitors.fusion.fusion import FusionMonitor
from edgemon.compiler.monitors.shared import ranking
from edgemon.compiler.program.ir import Builder, Monitor, Program
from edgemon.compiler.program.quantise import Represented, quantise, quantise_scores
from edgemon.compiler.promise.calibration import drawn, enough, find_thresholds, set_thresholds
from edgemon.compiler.promise.thresholds import Promise
from edgemon.compiler.recording.evaluation import evaluate, predicted_class
from edgemon.compiler.recording.recording import Recording
from edgemon.compiler.reporter import Progress, unheard
from edgemon.compiler.statistics.quality import Quality, assess
from edgemon.runtime.evaluation import Evaluation, Verdict
from edgemon.targets import OpTimes

RULES = ("guaranteed", "method")  # whose thresholds: calibrated, or the method's own if it has any
LEARN_SHARE = 0.5  # of the threshold rows, from the rest of which fusions learn
FIT_SHARE = 1 / 3  # of the fit rows, from which fusions learn where threshold rows are too few


@dataclass(frozen=True, eq=False)
class Fitted:
    """A device program, ready to emit, and what is known about each of its monitors.

    The program's monitors are the estimators' in their order, then the signals of fusions, which
    never alarm by themselves and are there to be read."""

    program: Program
    estimators: tuple[MonitorEstimator, ...]
    calibrated: tuple[bool, ...]  # was the threshold calibrated (else the method's own)?
    quality: tuple[Quality, ...]  # on the test rows, a monitor
    together: Quality  # of the artifact's verdict
    on_test: Evaluation  # the reference's results for the test rows
    alone: tuple[Alone | None, ...]  # a monitor, where the promise is of several together
    threshold_rows: Recording  # held out for thresholds alone
    draws: Recording  # those of them that thresholds were set on, see ``calibration.drawn``
    comparison: tuple[Candidate, ...]  # of fusions' signals
    raw: tuple[Quality | None, ...]  # of scores whose ties the softmax ranks: without that
    # Where a monitor's score is the excess over the threshold of the predicted class: of each class
    # that threshold, as people are shown scores. Empty otherwise.
    class_thresholds: tuple[tuple[float, ...], ...]

    @property
    def tie_broken(self) -> tuple[bool, ...]:
        """Is a monitor's score a rank, with ties broken by the softmax?"""
        return tuple(r is not None for r in self.raw)

    @property
    def judges(self) -> tuple[Monitor, ...]:
        """The program's monitors without the signals."""
        return self.program.monitors[: len(self.estimators)]

    @property
    def left_out(self) -> list[LeftOut]:
        """What fusions went without."""
        fusions = (e for e in self.estimators if isinstance(e, FusionMonitor))
        return [x for fusion in fusions for x in each(fusion.left_out_)]

    def explained(self, index: int) -> list[int]:
        """Positions of a judge and of the signals that explain it, which it needs on a device."""
        estimator = self.estimators[index]
        names = estimator.signal_names() if isinstance(estimator, FusionMonitor) else ()
        return [index, *(i for i, m in enumerate(self.program.monitors) if m.name in names)]


@dataclass(frozen=True)
class Alone:
    """A monitor at thresholds that promise of it alone what the verdict is promised."""

    thresholds: tuple[float, ...]  # as people are shown scores; one, or one of each class
    quality: Quality

    def to_json(self) -> dict[str, Any]:
        return asdict(self)


@dataclass(frozen=True)
class Candidate:
    """What a signal would be worth alone, at the same promise."""

    signal: str
    novelty: bool
    kept: bool
    size_bytes: int
    estimated_us: float | None
    quality: Quality
    # Of one that answers itself: test rows that it alone has right, and that the model alone has.
    opinion: tuple[int, int] | None = None
    second_inference: bool = False  # which no cost here includes

    def to_json(self) -> dict[str, Any]:
        return asdict(self)


def fit_monitors(
    estimators: Sequence[MonitorEstimator],
    output: str,
    rows: dict[str, Recording],
    promise: Promise,
    progress: Progress = unheard,
    *,
    rule: str = "method",
    logits: str = "",
    other_kernels: Sequence[Recording] = (),
    seed: int = 0,
    times: OpTimes | None = None,
    class_names: Sequence[str] = (),
) -> Fitted:
    """Fit on ``rows["fit"]``, calibrate on ``rows["threshold"]``, assess on ``rows["test"]``.

    Fusions learn their weights from half of the threshold rows, and all thresholds are then
    calibrated on the other half; where those would be too few for the promise, of a class too
    with ``per_class``, fusions learn from a third of the fit rows instead.

    Args:
        output: name of the tap with the model's output, whose argmax is the prediction.
        rule: one of ``RULES``.
        logits: name of the tap whose softmax breaks ties of coarse scores; the output if none.
        other_kernels: the same threshold rows, recorded under further kernel sets under which the
            thresholds must keep to the promise too.
        seed: of the rows that are drawn from groups, see ``calibration.drawn``.
        times: of the device, for fusions that have a budget of time and for the comparison.
        class_names: of the model's classes, for messages.
    """
    steps = len(estimators) + 1
    fusions = [e for e in estimators if isinstance(e, FusionMonitor)]
    fit_rows, threshold_rows = rows["fit"], rows["threshold"]
    learn = fit_rows
    if fusions:
        judges = len(estimators)
        own = threshold_halves(threshold_rows, promise, fusions[0].seed, seed, judges)
        if own is not None:
            learn, threshold_rows = own
        else:
            fit_rows, learn = divided(fit_rows, FIT_SHARE, fusions[0].seed)
    for done, estimator in enumerate(estimators):
        estimator.fit(fit_rows if estimator in fusions else rows["fit"])
        progress(done + 1, steps)
    for fusion in fusions:
        combine(fusion, output, learn, times, per_class=bool(promise.per_class))
    builder = Builder(rows["fit"].taps, real=True)
    predicted = predicted_class(builder, builder.tap(output))
    scores = [e.lower(builder, predicted) for e in estimators]
    calibrated = tuple(rule == "guaranteed" or s.alarm_above is None for s in scores)
    plain = scores
    recorded = [tap.name for tap in rows["fit"].taps]
    ranks = logits if logits in recorded else output
    looked, softmax = ranking.look(builder, predicted, plain, ranks, rows["fit"])
    names = [e.kind for e in estimators]
    known = [rows[part] for part in ("fit", "threshold")]
    ranking.require_varied(builder, predicted, plain, names, looked, known)
    # A fusion's score is a sum that explains itself; a rank would not.
    asked = [c and e not in fusions for c, e in zip(calibrated, estimators, strict=True)]
    scores = ranking.without_ties(builder, plain, asked, looked, softmax, promise.rate)
    monitors = [*map(_undecided, estimators, scores)]
    monitors += [signal for fusion in fusions for signal in _signals(fusion)]
    program = quantise(builder.program(predicted, monitors)).trimmed()
    held_out = [
        drawn(r, promise, seed)
        for r in (threshold_rows, *(_same_rows(r, threshold_rows) for r in other_kernels))
    ]
    unranked = [
        None if a is b else _undecided(e, a)
        for e, a, b in zip(estimators, plain, scores, strict=True)
    ]
    raw = tuple(_raw(builder, predicted, unranked, held_out, rows["test"], promise))
    thresholds = find_thresholds(program, calibrated, held_out, promise, class_names)
    shown = tuple(
        tuple(map(m.shown, found)) if promise.per_class else ()
        for m, found in zip(program.monitors, thresholds, strict=False)
    )
    alone: tuple[Alone | None, ...] = (None,) * len(estimators)
    if promise.whose == "verdict" and sum(calibrated) > 1:
        alone = tuple(_alone(program, calibrated, held_out, rows["test"], promise))
    program = set_thresholds(program, thresholds, per_class=bool(promise.per_class))
    on_test = evaluate(program, rows["test"])
    quality, together = _assess(on_test, ~rows["test"].correct, len(estimators))
    comparison = [
        candidate
        for fusion in fusions
        for candidate in _compare(fusion, output, held_out, rows["test"], promise, times)
    ]
    progress(steps, steps)
    return Fitted(
        program, tuple(estimators), calibrated, quality, together, on_test, alone, threshold_rows,
        held_out[0], tuple(comparison),
        raw,
        shown,
    )  # fmt: skip


def _alone(
    program: Program, calibrated: tuple[bool, ...], held_out: Sequence[Recording], test: Recording,
    promise: Promise,
) -> Iterator[Alone | None]:  # fmt: skip
    thresholds = find_thresholds(program, calibrated, held_out, promise.alone())
    own = set_thresholds(program, thresholds, per_class=bool(promise.per_class))
    quality, _ = _assess(evaluate(own, test), ~test.correct, len(calibrated))
    for monitor, found, judged in zip(program.monitors, thresholds, quality, strict=False):
        yield Alone(tuple(map(monitor.shown, found)), judged) if found else None


def _raw(
    builder: Builder, predicted: int, ranked: Sequence[Monitor | None],
    held_out: Sequence[Recording], test: Recording, promise: Promise,
) -> Iterator[Quality | None]:  # fmt: skip
    """Of monitors whose ties are ranked: what the score itself is worth, at a threshold that
    promises the same of it alone."""
    for monitor in ranked:
        if monitor is None:
            yield None
            continue
        program = quantise(builder.program(predicted, [monitor])).trimmed()
        thresholds = find_thresholds(program, (True,), held_out, promise.alone())
        program = set_thresholds(program, thresholds, per_class=bool(promise.per_class))
        yield _assess(evaluate(program, test), ~test.correct, 1)[0][0]


def combine(
    fusion: FusionMonitor, output: str, rows: Recording, times: OpTimes | None = None, *,
    per_class: bool = False,
) -> None:  # fmt: skip
    """Teach a fusion, whose members are fitted, what their device scores mean on held-out rows;
    ``times`` of the device, if they are known; ``per_class``: will it have a threshold a class?"""
    program, represented = members_program(fusion, output, rows)
    found = evaluate(program, rows).scores
    scores = [r.real(s) for r, s in zip(represented, found, strict=True)]
    fusion.combine(
        np.column_stack(scores), ~rows.correct, Bill(program, times), rows.groups,
        thresholds=rows.n_classes if per_class else 1,
    )  # fmt: skip


def threshold_halves(
    rows: Recording, promise: Promise, seed: int, drawing_seed: int, monitors: int = 1
) -> tuple[Recording, Recording] | None:
    """Threshold rows from which fusions learn, and the rest, on which thresholds are set; None
    where these would be too few. Of rows in groups only the division tells how many groups of the
    rest have a row that the promise concerns."""
    found = drawn(rows, promise, drawing_seed)
    if not learns_from_thresholds(found.correct, promise, monitors):
        return None
    learn, rest = divided(rows, LEARN_SHARE, seed)
    return (learn, rest) if enough(drawn(rest, promise, drawing_seed), promise, monitors) else None


def learns_from_thresholds(
    correct: npt.NDArray[np.bool_], promise: Promise, monitors: int = 1
) -> bool:
    """Are these threshold rows (n,), or one of each group, enough for fusions to learn from half
    of them?"""
    return int(promise.concerns(correct).sum()) >= 3 * promise.rows_needed(monitors)


def divided(rows: Recording, share: float, seed: int) -> tuple[Recording, Recording]:
    """All but a share of the rows, and that share; see ``splits.divide``. Raises CompileError where
    groups are so few that either is empty."""
    first, second = divide(rows.correct, share, seed, rows.groups)
    if rows.groups is not None and not (len(first) and len(second)):
        raise CompileError(
            f"{len(rows)} rows of {len(np.unique(rows.groups))} groups cannot be divided, to learn "
            "from some of them how much each signal is worth: give rows of more groups (--fit)"
        )
    return rows.take(first), rows.take(second)


def _same_rows(recording: Recording, wanted: Recording) -> Recording:
    """Those of its rows that are in another recording of the same data."""
    return recording.take(np.flatnonzero(np.isin(recording.rows, wanted.rows)))


def members_program(
    fusion: FusionMonitor, output: str, rows: Recording
) -> tuple[Program, tuple[Represented, ...]]:
    """A program with all fitted members of a fusion as its monitors."""
    builder = Builder(rows.taps, real=True)
    predicted = predicted_class(builder, builder.tap(output))
    scores = [m.lower(builder, predicted) for m in fusion.members_]
    monitors = list(map(_undecided, fusion.members_, scores))
    return quantise_scores(builder.program(predicted, monitors))


def _compare(
    fusion: FusionMonitor, output: str, held_out: Sequence[Recording], test: Recording,
    promise: Promise, times: OpTimes | None,
) -> Iterator[Candidate]:  # fmt: skip
    program, _ = members_program(fusion, output, test)
    wanted = (True,) * len(fusion.members_)
    thresholds = find_thresholds(program, wanted, held_out, promise.alone())
    program = set_thresholds(program, thresholds, per_class=bool(promise.per_class))
    quality, _ = _assess(evaluate(program, test), ~test.correct, len(fusion.members_))
    bill = Bill(program, times)
    kept = {id(t.member) for t in fusion.terms_}
    for i, (member, found) in enumerate(zip(fusion.members_, quality, strict=True)):
        cost = bill.together([i])
        yield Candidate(
            member.kind, member not in fusion.signals, id(member) in kept, cost.size_bytes,
            cost.microseconds, found, _opinion(member, test),
            program.only(member.kind).second_inference,
        )  # fmt: skip


def _opinion(member: MonitorEstimator, test: Recording) -> tuple[int, int] | None:
    answers = member.answers(test)
    if answers is None:
        return None
    right = answers == test.labels
    return int((right & ~test.correct).sum()), int((~right & test.correct).sum())


def _undecided(estimator: MonitorEstimator, score: Score) -> Monitor:
    alarm = 0.0 if score.alarm_above is None else score.alarm_above
    uncertain = alarm if score.uncertain_above is None else score.uncertain_above
    return Monitor(estimator.kind, score.id, alarm, uncertain, score.display, score.display_scale)


def _signals(fusion: FusionMonitor) -> Iterator[Monitor]:
    for name, score in zip(fusion.signal_names(), fusion.signal_scores_, strict=True):
        yield Monitor(name, score.id, np.inf, np.inf, score.display, score.display_scale)


def _assess(
    found: Evaluation, wrong: npt.NDArray[np.bool_], monitors: int
) -> tuple[tuple[Quality, ...], Quality]:
    """Of the first ``monitors``, and of the verdict."""
    each = tuple(
        assess(found.verdicts[:, i] != Verdict.TRUST, found.scores[i], wrong)
        for i in range(monitors)
    )
    return each, assess(found.verdict != Verdict.TRUST, found.verdict, wrong)
