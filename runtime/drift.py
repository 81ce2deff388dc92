"""The drift test of an artifact over a stream of images: FORMAT.md, section 13, run in C."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from edgemon.runtime.evaluation import Evaluation, all_faults

if TYPE_CHECKING:
    from edgemon.runtime.monitor import Monitor

COUNTERS, MOST_SUMS = 5, 16  # words of the C struct em_drift: counters, sums, starts


@dataclass(frozen=True)
class DriftInfo:
    """What an artifact says about its drift test; ``monitor`` is the index of the one watched."""

    monitor: int
    bins: int
    alternatives: int
    limit: int  # of a sum, in 1/65536 nat
    run_length: int  # promised mean of images until a false flag


@dataclass(frozen=True)
class DriftState:
    """Where the test stands. Images are numbered from 1; ``flagged_at`` is 0 without a flag."""

    images: int  # seen, faults included
    faults: int  # images without a score
    flagged_at: int  # image at which the flag rose; it stays until a reset
    since: int  # image at which the sum that raised it began to grow
    alternative: int  # index of that sum
    sums: tuple[int, ...]  # in 1/65536 nat

    @property
    def flag(self) -> bool:
        """Are the scores unlike those of calibration?"""
        return self.flagged_at > 0


class Drift:
    """The state of one stream of images. Without a drift test in the artifact the flag never
    rises; ``monitor.drift`` tells."""

    def __init__(self, monitor: Monitor) -> None:
        self._monitor = monitor
        self._words = np.zeros(COUNTERS + 2 * MOST_SUMS, np.uint32)

    @property
    def state(self) -> DriftState:
        """As of now."""
        used = 0 if self._monitor.drift is None else self._monitor.drift.alternatives
        sums = self._words[COUNTERS : COUNTERS + used].view(np.int32)
        images, faults, flagged_at, since, alternative = map(int, self._words[:COUNTERS])
        return DriftState(images, faults, flagged_at, since, alternative, tuple(map(int, sums)))

    @property
    def words(self) -> npt.NDArray[np.uint32]:
        """The C struct ``em_drift``; always the same array."""
        return self._words

    def reset(self) -> None:
        """Forgets all images."""
        self._words[:] = 0

    def update(self, found: Evaluation) -> None:
        """Counts the rows of an evaluation, in their order."""
        self._monitor.update_drift(self._words, found.verdicts, found.scores)

    def update_faults(self, images: int = 1) -> None:
        """Counts images that could not even be evaluated."""
        verdicts, scores = all_faults(images, len(self._monitor.monitors))
        self._monitor.update_drift(self._words, verdicts, scores)
