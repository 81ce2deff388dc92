"""The drift test of an artifact: what it is, and the reference of how it runs.

Several CUSUM tests side by side (Page 1954, "Continuous inspection schemes"), over one monitor's
raw score, in whole numbers, so that C and Python agree with this bit for bit. FORMAT.md, section
13. ``drift.fitting`` chooses the numbers.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from edgemon.runtime.drift import DriftState

Array = npt.NDArray[Any]

UNIT = 1 << 16  # increments and limit are in 1/UNIT nat
LARGEST = 1 << 24  # of an increment and of the limit
MOST_IMAGES = (1 << 32) - 1  # counters stay there


@dataclass(frozen=True, eq=False)
class DriftTest:
    """B bins and K alternatives to the scores of calibration."""

    monitor: int  # index of the monitor whose scores are watched
    edges: Array  # (B - 1,) raw scores, int64 or float32, strictly ascending
    increments: npt.NDArray[np.int32]  # (K, B): what a score in a bin adds to each sum
    limit: int  # the flag rises when a sum reaches it
    run_length: int  # promised mean of images until a false flag

    def bins(self, scores: Array) -> npt.NDArray[np.intp]:
        """The bin (n,) of each raw score: how many edges it exceeds."""
        found: npt.NDArray[np.intp] = np.searchsorted(self.edges, scores, side="left")
        return found

    def sums_after(self, sums: Array, bins: Array | np.intp) -> npt.NDArray[np.int64]:
        """The sums (..., K) after one more image, whose bin is (...)."""
        increments: Array = self.increments.T[bins]
        return np.clip(sums.astype(np.int64) + increments, 0, self.limit)


class DriftReference:
    """One stream of images."""

    def __init__(self, test: DriftTest) -> None:
        self.test = test
        self.images = self.faults = self.flagged_at = self.since = self.alternative = 0
        self.sums = np.zeros(len(test.increments), np.int64)
        self.starts = np.zeros(len(test.increments), np.int64)

    def update(self, scores: Array, faults: npt.NDArray[np.bool_]) -> None:
        """Count images: the raw scores (n,) of the watched monitor, and where it had none (n,)."""
        faults = faults | ~np.isfinite(scores)
        bins = self.test.bins(np.where(faults, scores.dtype.type(0), scores))
        for where, fault in zip(bins, faults, strict=True):
            self.images = min(self.images + 1, MOST_IMAGES)
            if fault:
                self.faults = min(self.faults + 1, MOST_IMAGES)
            else:
                self._add(where)

    def _add(self, where: np.intp) -> None:
        self.starts[self.sums == 0] = self.images
        self.sums = self.test.sums_after(self.sums, where)
        reached = self.sums == self.test.limit
        if reached.any() and not self.flagged_at:
            self.alternative = int(np.argmax(reached))
            self.flagged_at = self.images
            self.since = int(self.starts[self.alternative])

    @property
    def state(self) -> DriftState:
        """In the form of the runtime's, to compare."""
        return DriftState(
            self.images, self.faults, self.flagged_at, self.since, self.alternative,
            tuple(map(int, self.sums)),
        )  # fmt: skip
