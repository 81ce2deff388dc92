"""What is kept of the reports: sums by device, day and class, whose memory does not grow with the
number of reports, and which are the same (but for rounding) in whatever order they come."""

from __future__ import annotations

from bisect import bisect_right, insort
from collections import Counter
from dataclasses import dataclass, field
from math import sqrt
from typing import Any

from edgemon.compiler.fleet.history import History
from edgemon.runtime.accuracy import Estimate
from edgemon.runtime.window import Report

DAY = 86_400  # s
MOST_DEVICES = 1_000_000
MOST_STRETCHES = 1000  # of a device's time


@dataclass(slots=True)
class Accuracies:
    """Estimates of accuracy as reports have them, weighted by their images. The mean of intervals
    holds however the estimates depend on each other: no standard deviation of a mean exceeds the
    mean of the standard deviations."""

    valid: int = 0  # reports
    not_valid: int = 0
    images: int = 0  # of the valid ones
    estimate: float = 0.0  # sums, each report's times its images
    low: float = 0.0
    high: float = 0.0

    def add(self, report: Report) -> None:
        own = report.accuracy
        if own is None:
            return
        if not own.valid:
            self.not_valid += 1
            return
        low, high = own.interval
        self.valid += 1
        self.images += report.judged
        self.estimate += report.judged * own.accuracy
        self.low += report.judged * low
        self.high += report.judged * high

    def to_json(self) -> dict[str, Any] | None:
        """None where no report has an estimate."""
        if not self.valid and not self.not_valid:
            return None
        n = self.images
        return {
            "estimate": self.estimate / n if n else None,
            "interval": [self.low / n, self.high / n] if n else None,
            "reports": self.valid,
            "not_valid": self.not_valid,
        }


@dataclass(slots=True)
class Tally:
    """Sums over windows; ``windows`` are those with a verdict. ``squares``: of raised^2 / judged,
    by which windows tell whether images are independent."""

    windows: int = 0
    images: int = 0
    judged: int = 0
    raised: int = 0
    value_faults: int = 0
    score_faults: int = 0
    other_faults: int = 0
    squares: float = 0.0
    accuracy: Accuracies = field(default_factory=Accuracies)

    def add(self, report: Report) -> None:
        self.images += report.images
        self.accuracy.add(report)
        self.value_faults += report.value_faults
        self.score_faults += report.score_faults
        self.other_faults += report.other_faults
        self.add_verdicts(report.judged, report.raised)

    def add_verdicts(self, judged: int, raised: int) -> None:
        if judged:
            self.windows += 1
            self.judged += judged
            self.raised += raised
            self.squares += raised * raised / judged

    @property
    def faults(self) -> int:
        return self.value_faults + self.score_faults + self.other_faults


@dataclass(slots=True)
class Moments:
    """Mean and variance of a number of each window (Welford 1962)."""

    n: int = 0
    mean: float = 0.0
    around: float = 0.0  # sum of squares around the mean

    def add(self, x: float) -> None:
        self.n += 1
        step = x - self.mean
        self.mean += step / self.n
        self.around += step * (x - self.mean)

    @property
    def deviation(self) -> float:
        """With n - 1; 0 of one number."""
        return sqrt(self.around / (self.n - 1)) if self.n > 1 else 0.0


@dataclass(slots=True)
class Windows:
    """The share of alarms, and the first monitor's mean score, of each of several windows."""

    rate: Moments = field(default_factory=Moments)
    score: Moments = field(default_factory=Moments)

    def add(self, report: Report) -> None:
        if report.judged:
            self.rate.add(report.raised / report.judged)
        if report.monitors and report.monitors[0].mean is not None:
            self.score.add(report.monitors[0].mean)


@dataclass(frozen=True, slots=True)
class Flag:
    """A drift flag as the first report has it that shows it."""

    ended: int  # of that window
    flagged_at: int  # image
    since: int  # image
    alternative: int
    about: int | None  # when image ``since`` was seen, at this window's images a second


class Stretches:
    """Stretches of time that reports cover; those that meet are one."""

    __slots__ = ("starts", "stops")

    def __init__(self) -> None:
        self.starts: list[int] = []
        self.stops: list[int] = []

    def take(self, start: int, stop: int) -> bool:
        """Adds [start, stop); False, and nothing is added, if more than half is covered. A clock
        that is set back a little must not cost a report."""
        first = bisect_right(self.stops, start)
        last, covered = first, 0
        while last < len(self.starts) and self.starts[last] < stop:
            covered += min(stop, self.stops[last]) - max(start, self.starts[last])
            last += 1
        if 2 * covered > stop - start:
            return False
        before = bisect_right(self.stops, start - 1)
        if last < len(self.starts) and self.starts[last] == stop:
            last += 1
        if before < last:
            start, stop = min(start, self.starts[before]), max(stop, self.stops[last - 1])
            del self.starts[before:last], self.stops[before:last]
        insort(self.starts, start)
        insort(self.stops, stop)
        if len(self.starts) > MOST_STRETCHES:
            gaps = [b - a for a, b in zip(self.stops, self.starts[1:], strict=False)]
            least = gaps.index(min(gaps))
            del self.starts[least + 1], self.stops[least]
        return True


@dataclass(slots=True)
class Device:
    """A device's sums. Windows before and after its flag are those that lie wholly there."""

    tally: Tally = field(default_factory=Tally)
    first: int = 0
    last: int = 0
    flag: Flag | None = None
    flagged_now: bool = False  # in the last report
    accuracy: Estimate | None = None  # in the last report
    before: Windows = field(default_factory=Windows)
    after: Windows = field(default_factory=Windows)
    covered: Stretches = field(default_factory=Stretches)
    history: History = field(default_factory=History)


@dataclass
class Fleet:
    """All sums. ``artifact``: reports of others are left out."""

    artifact: str | None = None
    total: Tally = field(default_factory=Tally)
    devices: dict[str, Device] = field(default_factory=dict)
    days: dict[int | None, Tally] = field(default_factory=dict)  # None: without a clock
    classes: dict[int, Tally] = field(default_factory=dict)
    unflagged: Windows = field(default_factory=Windows)
    artifacts: Counter[str] = field(default_factory=Counter)
    reports: int = 0  # that count
    of_others: int = 0  # reports of another artifact
    repeated: int = 0  # reports of a time that is covered
    beyond: int = 0  # reports of devices beyond the most
    full: int = 0
    clipped: int = 0

    def add(self, report: Report) -> None:
        """Counts a report, or says why not in a count of its own."""
        if report.artifact in self.artifacts or len(self.artifacts) < MOST_STRETCHES:
            self.artifacts[report.artifact] += 1
        if self.artifact is not None and report.artifact != self.artifact:
            self.of_others += 1
            return
        device = self.devices.get(report.device)
        if device is None:
            if len(self.devices) >= MOST_DEVICES:
                self.beyond += 1
                return
            device = self.devices[report.device] = Device()
        if 0 < report.started < report.ended and not device.covered.take(
            report.started, report.ended
        ):
            self.repeated += 1
            return
        self.reports += 1
        self.total.add(report)
        self.full += report.full
        self.clipped += report.clipped
        day = report.ended // DAY if report.ended else None
        self.days.setdefault(day, Tally()).add(report)
        for number, (images, alarms) in enumerate(report.classes):
            if images:
                tally = self.classes.setdefault(number, Tally())
                tally.images += images
                tally.add_verdicts(images, alarms)
        self._count(device, report)

    def _count(self, device: Device, report: Report) -> None:
        device.tally.add(report)
        device.history.add(report)
        device.first = min(device.first or report.ended, report.started or report.ended)
        drift = report.drift
        if report.ended >= device.last:
            device.last = report.ended
            device.flagged_now = drift is not None and drift.flagged_at > 0
            device.accuracy = report.accuracy
        if drift is None:
            return
        if not drift.flagged_at:
            device.before.add(report)
            self.unflagged.add(report)
            return
        if drift.flagged_at <= drift.images - report.images:
            device.after.add(report)
        flag = Flag(report.ended, drift.flagged_at, drift.since, drift.alternative, _about(report))
        if device.flag is None or (flag.ended, flag.flagged_at) < (
            device.flag.ended, device.flag.flagged_at,
        ):  # fmt: skip
            device.flag = flag


def _about(report: Report) -> int | None:
    assert report.drift is not None
    if not 0 < report.started < report.ended or not report.images:
        return None
    each = (report.ended - report.started) / report.images
    return max(0, round(report.ended - each * (report.drift.images - report.drift.since)))
