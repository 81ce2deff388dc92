"""What monitors are worth beside nothing and beside the plain softmax, on the same test rows.

Plain softmax: 1 minus the model's largest probability, which costs nothing. A monitor that takes
kilobytes and is no better should say so, and name the one that is.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import astuple, dataclass
from typing import Any, Literal, TypedDict

import numpy as np
import numpy.typing as npt
from scipy.stats import rankdata

from edgemon.compiler.documents import monitors as schema
from edgemon.compiler.fitted import Fitted
from edgemon.compiler.promise.calibration import with_faults
from edgemon.compiler.promise.thresholds import Promise
from edgemon.compiler.recording.evaluation import evaluate
from edgemon.compiler.recording.probabilities import softmax_vectors
from edgemon.compiler.recording.recording import Recording
from edgemon.compiler.statistics.intervals import (
    Interval,
    auroc_difference_interval,
    mcc_difference_interval,
    mcc_interval,
)
from edgemon.compiler.statistics.metrics import Confusion, auroc
from edgemon.runtime.evaluation import Verdict

Array = npt.NDArray[Any]
Bools = npt.NDArray[np.bool_]
Mark = Literal["better", "no better", "worse", "softmax", "weak", "unmeasured"]

SOFTMAX, CHEAP = "softmax", "msp_t"
FEWEST = 2  # right and wrong test rows, without which nothing is measured

UNMEASURED: schema.Worth = {
    "mark": "unmeasured", "softmax_auroc": None, "softmax_mcc": None, "auroc_beyond": None,
    "mcc_beyond": None, "instead": None, "best_member": None, "member_beyond": None,
}  # fmt: skip


@dataclass(frozen=True, eq=False)
class Judged:
    """Ranks (n,) of the test rows by a score, and where it alarms under the promise of it alone
    (n,); None where no such threshold can be set."""

    rank: Array
    alarm: Bools | None


def worths(
    fitted: Fitted, test: Recording, promise: Promise, output_kind: str
) -> list[schema.Worth]:
    """Of each judge. ``output_kind`` of the model: see ``recording.probabilities``."""
    wrong = ~test.correct
    softmax = _softmax(fitted, test, promise, output_kind)
    judges = [_judge(fitted, i, promise) for i in range(len(fitted.judges))]
    kinds = [judge.estimator.kind for judge in fitted.judges]
    names = [judge.name for judge in fitted.judges]
    found = [_worth(i, judges, kinds, names, softmax, wrong) for i in range(len(judges))]
    return [{**w, **_members(fitted, i, judges[i], wrong)} for i, w in enumerate(found)]


class _Members(TypedDict):
    best_member: str | None
    member_beyond: Sequence[float] | None


def _members(fitted: Fitted, i: int, judged: Judged, wrong: Bools) -> _Members:
    """Of a fusion its best signal, and by how much the fusion's AUROC exceeds that one's."""
    names = fitted.judges[i].estimator.signal_names()
    at = {m.name: j for j, m in enumerate(fitted.program.monitors)}
    ranks = {n: rankdata(with_faults(fitted.on_test, at[n])) for n in names if n in at}
    areas = {n: auroc(rank, wrong) for n, rank in ranks.items()}
    known = {n: area for n, area in areas.items() if area is not None}
    if not known:
        return {"best_member": None, "member_beyond": None}
    best = max(known, key=lambda n: known[n])
    return {
        "best_member": best,
        "member_beyond": auroc_difference_interval(judged.rank, ranks[best], wrong),
    }


def _softmax(fitted: Fitted, test: Recording, promise: Promise, kind: str) -> Judged:
    def score(rows: Recording) -> Array:
        return np.asarray(1 - softmax_vectors(rows, kind).max(axis=1))

    return _alone(score(test), score, fitted.draws, promise)


def _judge(fitted: Fitted, i: int, promise: Promise) -> Judged:
    judge, score = fitted.judges[i], with_faults(fitted.on_test, i)
    own = np.asarray(fitted.on_test.verdicts[:, i] != Verdict.TRUST)
    if not judge.calibrated or len(fitted.promised) == 1:
        return Judged(rankdata(score), None if promise.per_class else own)
    return _alone(
        score, lambda rows: with_faults(evaluate(fitted.program, rows), i), fitted.draws, promise
    )


def _alone(
    score: Array, score_of: Callable[[Recording], Array], draws: Recording, promise: Promise
) -> Judged:
    """Test rows of this score, under the threshold by which it alone keeps the promise on draws."""
    known = draws.take(np.flatnonzero(promise.concerns(draws.correct)))
    if promise.per_class or len(known) < promise.alone().rows_needed():
        return Judged(rankdata(score), None)
    above = promise.alone().thresholds([score_of(known)])[0]
    return Judged(rankdata(score), np.asarray(score > above))


def _worth(
    i: int, judges: Sequence[Judged], kinds: Sequence[str], names: Sequence[str], softmax: Judged,
    wrong: Bools,
) -> schema.Worth:  # fmt: skip
    if min(int(wrong.sum()), int((~wrong).sum())) < FEWEST:
        return UNMEASURED
    found = _beyond(judges[i], softmax, wrong)
    mark = marked(judges[i], found, wrong, is_softmax=kinds[i] == SOFTMAX)
    instead = None
    if mark in ("weak", "worse", "no better"):
        instead = _instead(i, judges, names, wrong)
        if instead is None and kinds[i] not in (SOFTMAX, CHEAP) and not is_weak(softmax, wrong):
            instead = CHEAP
    return {
        "mark": mark,
        "softmax_auroc": auroc(softmax.rank, wrong),
        "softmax_mcc": None if softmax.alarm is None else Confusion.of(softmax.alarm, wrong).mcc,
        "auroc_beyond": found[0],
        "mcc_beyond": found[1],
        "instead": instead,
        "best_member": None,
        "member_beyond": None,
    }


def _instead(i: int, judges: Sequence[Judged], names: Sequence[str], wrong: Bools) -> str | None:
    """The judge of the highest AUROC among those that are better than this one by interval."""
    better = [
        (auroc(other.rank, wrong) or 0.0, names[j])
        for j, other in enumerate(judges)
        if j != i and not is_weak(other, wrong) and _is_better(_beyond(other, judges[i], wrong))
    ]
    return max(better)[1] if better else None


def marked(
    judged: Judged, beyond: tuple[Interval | None, Interval | None], wrong: Bools, *,
    is_softmax: bool = False,
) -> Mark:  # fmt: skip
    """The mark of a score whose AUROC and MCC exceed the softmax's by ``beyond``, as far as these
    are defined."""
    if is_weak(judged, wrong):
        return "weak"
    if is_softmax:
        return "softmax"
    if _is_better(beyond):
        return "better"
    reversed_ = tuple(None if b is None else (-b[1], -b[0]) for b in beyond)
    return "worse" if _is_better(reversed_) else "no better"


def is_weak(judged: Judged, wrong: Bools) -> bool:
    """Is it not shown to be better than chance: in its ranking, or in where it alarms?"""
    coin = auroc_difference_interval(judged.rank, np.zeros(len(wrong)), wrong)
    if coin is None or coin[0] <= 0:
        return True
    if judged.alarm is None:
        return False
    found = mcc_interval(astuple(Confusion.of(judged.alarm, wrong)))
    return found is None or found[0] <= 0


def _beyond(one: Judged, other: Judged, wrong: Bools) -> tuple[Interval | None, Interval | None]:
    """By how much one AUROC and one MCC exceed the other's."""
    mcc = None
    if one.alarm is not None and other.alarm is not None:
        mcc = mcc_difference_interval(one.alarm, other.alarm, wrong)
    return auroc_difference_interval(one.rank, other.rank, wrong), mcc


def _is_better(beyond: Sequence[Interval | None]) -> bool:
    """Is one of the differences above 0, and none below?"""
    known = [b for b in beyond if b is not None]
    return any(low > 0 for low, _ in known) and not any(high < 0 for _, high in known)
