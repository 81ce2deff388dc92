"""When a device changed most: its windows in the order of time, the neighbours that hold least put
together, so that memory does not grow; and the best split of them."""

from __future__ import annotations

from bisect import bisect_left
from dataclasses import dataclass
from itertools import pairwise
from math import log

from edgemon.runtime.window import Report

MOST = 32  # stretches of a device's time


@dataclass(slots=True)
class Stretch:
    """Windows that follow each other. ``scores``: sum of the windows' mean scores of the first
    monitor, and of how many windows."""

    start: int
    end: int
    windows: int
    judged: int
    raised: int
    scores: float
    scored: int

    def joined(self, other: Stretch) -> Stretch:
        return Stretch(
            min(self.start, other.start), max(self.end, other.end), self.windows + other.windows,
            self.judged + other.judged, self.raised + other.raised, self.scores + other.scores,
            self.scored + other.scored,
        )  # fmt: skip


class History:
    """At most ``MOST`` stretches, whatever the order in which reports come."""

    __slots__ = ("stretches",)

    def __init__(self) -> None:
        self.stretches: list[Stretch] = []

    def add(self, report: Report) -> None:
        """Reports without a clock or a verdict are left out."""
        if not report.ended or not report.judged:
            return
        mean = report.monitors[0].mean if report.monitors else None
        new = Stretch(
            report.started or report.ended, report.ended, 1, report.judged, report.raised,
            mean or 0.0, int(mean is not None),
        )  # fmt: skip
        held = self.stretches
        at = bisect_left(held, new.start, key=lambda s: s.start)
        if at and new.start < held[at - 1].end:
            held[at - 1] = held[at - 1].joined(new)
            return
        held.insert(at, new)
        if len(held) > MOST:
            sizes = [a.windows + b.windows for a, b in pairwise(held)]
            least = sizes.index(min(sizes))
            held[least : least + 2] = [held[least].joined(held[least + 1])]

    def change(self) -> tuple[int, int] | None:
        """The two stretches between which alarms or scores change most, as the time from the start
        of one to the end of the other; None of fewer than two. By the likelihood of one change."""
        held = self.stretches
        if len(held) < 2:
            return None
        gains = [
            max(_of_shares(held[:i], held[i:]), _of_scores(held[:i], held[i:]))
            for i in range(1, len(held))
        ]
        best = gains.index(max(gains))
        return held[best].start, held[best + 1].end


def _of_shares(one: list[Stretch], other: list[Stretch]) -> float:
    """What two shares of alarms say better of the counts than one does, in nats."""
    counts = [(sum(s.raised for s in part), sum(s.judged for s in part)) for part in (one, other)]
    (a, n), (b, m) = counts
    return _likelihood(a, n) + _likelihood(b, m) - _likelihood(a + b, n + m)


def _likelihood(part: int, whole: int) -> float:
    return sum(k * log(k / whole) for k in (part, whole - part) if k)


def _of_scores(one: list[Stretch], other: list[Stretch]) -> float:
    """The same of the stretches' mean scores, taken as normal."""
    both = [s for s in (*one, *other) if s.scored]
    inside = _around([s for s in one if s.scored]) + _around([s for s in other if s.scored])
    whole = _around(both)
    if not whole:
        return 0.0
    return len(both) / 2 * log(whole / max(inside, 1e-12 * whole))


def _around(part: list[Stretch]) -> float:
    """Sum of squares around the mean; a stretch counts as often as it has windows."""
    count = sum(s.scored for s in part)
    mean = sum(s.scores for s in part) / count if count else 0.0
    return sum(s.scored * (s.scores / s.scored - mean) ** 2 for s in part)
