"""What fitting comes to: a device program, and what is known of each of its monitors."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import cast

from edgemon.compiler.cost.bill import Cost
from edgemon.compiler.documents import monitors as schema
from edgemon.compiler.left_out import LeftOut, each
from edgemon.compiler.monitors.estimator import MonitorEstimator
from edgemon.compiler.program.ir import Monitor, Program
from edgemon.compiler.recording.recording import Recording
from edgemon.compiler.statistics.quality import Quality
from edgemon.runtime.evaluation import Evaluation

# Said of a monitor whose classes have thresholds of their own, see ``promise.calibration``, ...
EXCESS = "{what}: its score exceeds the threshold of this class by {{score}}"
# ... and of one whose score is a rank, see ``monitors.shared.ties``.
RANKED = (
    "{what}: level {{score}} of its score, with ties ranked by the softmax, above {{threshold}}"
)


@dataclass(frozen=True)
class Alone:
    """A monitor at thresholds that promise of it alone what the verdict is promised."""

    thresholds: tuple[float, ...]  # as people are shown scores; one, or one of each class
    quality: Quality

    def to_json(self) -> schema.Alone:
        return cast(schema.Alone, asdict(self))


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

    def to_json(self) -> schema.Candidate:
        return cast(schema.Candidate, asdict(self))


@dataclass(frozen=True, eq=False)
class FittedMonitor:
    """A monitor that judges: how it learned, what it became, and how well it does."""

    estimator: MonitorEstimator
    monitor: Monitor  # in the device program
    calibrated: bool  # is its threshold a promise (else the method's own)?
    quality: Quality  # on the test rows
    raw: Quality | None  # of a score whose ties the softmax ranks: without that
    alone: Alone | None  # where the promise is of several together
    # Where its score is the excess over the threshold of the predicted class: of each class that
    # threshold, as people are shown scores. Empty otherwise.
    class_thresholds: tuple[float, ...]
    taps: tuple[str, ...]  # that it reads
    second_inference: bool
    cost: Cost  # with the signals that explain it, which it needs on a device

    @property
    def name(self) -> str:
        return self.monitor.name

    @property
    def ties_broken(self) -> bool:
        """Is its score a rank, with ties broken by the softmax?"""
        return self.raw is not None

    @property
    def reason(self) -> str:
        """What it says when it alarms: a template with ``{score}`` and ``{threshold}``."""
        if self.class_thresholds:
            return EXCESS.format(what=self.estimator.what)
        if self.ties_broken:
            return RANKED.format(what=self.estimator.what)
        return self.estimator.reason()

    def to_json(self, worth: schema.Worth) -> schema.Monitor:
        """Thresholds, bytes, quality, and what it learned. Where it has ``class_thresholds``, its
        score is the excess over that of the predicted class."""
        m, without_ranks = self.monitor, self.raw or self.quality
        return {
            "name": m.name,
            "kind": self.estimator.kind,
            "what": self.estimator.what,
            "reason": self.reason,
            "taps": list(self.taps),
            "second_inference": self.second_inference,
            "threshold": m.shown(m.alarm_above),
            "uncertain_above": m.shown(m.uncertain_above),
            "threshold_raw": m.alarm_above,
            "threshold_from": "held-out" if self.calibrated else "method",
            "ties_broken": self.ties_broken,
            "raw_auroc": without_ranks.auroc,
            "raw_mcc": without_ranks.mcc,
            "alone": None if self.alone is None else self.alone.to_json(),
            "class_thresholds": list(self.class_thresholds) or None,
            "bytes": self.cost.size_bytes,
            "estimated_us": self.cost.microseconds,
            **self.quality.to_json(),
            "worth": worth,
            "details": self.estimator.details(),
        }


@dataclass(frozen=True, eq=False)
class Fitted:
    """A device program, ready to emit. Its monitors are the judges in their order, then the signals
    of fusions, which never alarm by themselves and are there to be read."""

    program: Program
    judges: tuple[FittedMonitor, ...]
    together: Quality  # of the artifact's verdict
    on_test: Evaluation  # the reference's results for the test rows
    threshold_rows: Recording  # held out for thresholds alone
    draws: Recording  # those of them that thresholds were set on, see ``calibration.drawn``
    comparison: tuple[Candidate, ...]  # of fusions' signals

    @property
    def promised(self) -> tuple[int, ...]:
        """Positions of the judges whose thresholds are a promise."""
        return tuple(i for i, judge in enumerate(self.judges) if judge.calibrated)

    @property
    def left_out(self) -> list[LeftOut]:
        """What fusions went without."""
        return [x for judge in self.judges for x in each(judge.estimator.left_out_)]
