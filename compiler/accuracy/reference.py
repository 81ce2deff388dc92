"""The reference of how a device estimates accuracy: FORMAT.md, section 15, in whole numbers, so
that C and Python agree bit for bit."""

from __future__ import annotations

from dataclasses import dataclass, field
from math import isqrt
from typing import Any

import numpy as np
import numpy.typing as npt

from edgemon.compiler.accuracy.table import UNIT, AccuracyTable
from edgemon.runtime.accuracy import (
    BLOCKS,
    LEAST_IMAGES,
    MOST_LABELS,
    AccuracyState,
    Basis,
    Estimate,
)

Array = npt.NDArray[Any]

FULL = UNIT << 8  # 1, in the units of a mean
LEAST_OF_A_KIND = 5


def _no_blocks() -> list[list[int]]:
    return [[0] * 4 for _ in range(BLOCKS)]


@dataclass
class AccuracyReference:
    """One stream of images and its labels."""

    table: AccuracyTable
    blocks: list[list[int]] = field(default_factory=_no_blocks)  # sum, squares, images, faults
    block: int = 0
    labels: list[int] = field(default_factory=lambda: [0] * 4)  # sum, squares, labels, rights
    flagged_at: int = 0

    def update(
        self, scores: Array, faults: npt.NDArray[np.bool_], flagged_at: Array | int = 0
    ) -> None:
        """Count images: the raw scores (n,) of the watched monitor, where it had none (n,), and at
        which image the drift flag has risen (n,), 0: it has not."""
        faults = faults | ~np.isfinite(scores)
        found = self.table.lookup(np.where(faults, scores.dtype.type(0), scores))
        flags = np.broadcast_to(flagged_at, len(found)).tolist()
        for probability, fault, flag in zip(found.tolist(), faults, flags, strict=True):
            self._add(None if fault else probability, flag)

    def _add(self, probability: int | None, flagged_at: int) -> None:
        if flagged_at != self.flagged_at:
            self.blocks, self.block, self.labels = _no_blocks(), 0, [0] * 4
            self.flagged_at = flagged_at
        own = self.blocks[self.block]
        if own[2] + own[3] >= self.table.block:
            self.block = (self.block + 1) % BLOCKS
            own = self.blocks[self.block] = [0] * 4
        if probability is None:
            own[3] += 1
        else:
            own[0] += probability
            own[1] += probability * probability
            own[2] += 1

    def label(self, probability: int, right: bool) -> None:
        """Count a label of an image that had this probability."""
        if self.labels[2] == MOST_LABELS:
            self.labels = [n // 2 for n in self.labels]
        residual = UNIT * (1 + right) - probability
        self.labels = [
            a + b for a, b in zip(self.labels, (residual, residual**2, 1, right), strict=True)
        ]

    @property
    def state(self) -> AccuracyState:
        """In the form of the runtime's, to compare."""
        blocks = tuple((total, squares, n, faults) for total, squares, n, faults in self.blocks)
        total, squares, labels, rights = self.labels
        return AccuracyState(blocks, (total, squares, labels, rights), self.flagged_at, self.block)

    def estimate(self) -> Estimate:
        """As of now."""
        total, squares, images, faults = (sum(column) for column in zip(*self.blocks, strict=True))
        own, own_squares, labels, rights = self.labels
        estimate, low, high, valid, basis = 0, 0, UNIT, False, Basis.NONE
        if images:
            estimate, low, high, valid, basis = self._conclude(
                (total, squares, images), (own, own_squares, labels), rights
            )
        return Estimate(
            estimate, low, high, valid, basis, images, faults, labels, rights, total, squares, own,
            own_squares,
        )  # fmt: skip

    def _conclude(
        self, window: tuple[int, int, int], residuals: tuple[int, int, int], rights: int
    ) -> tuple[int, int, int, bool, Basis]:
        labels = residuals[2]
        labelled = labels >= self.table.least
        basis = Basis.LABELS if labelled else Basis.CALIBRATION
        centre = (window[0] << 8) // window[2]
        if labelled:
            centre = _clip(centre + (residuals[0] << 8) // labels - FULL)
        valid = window[2] >= LEAST_IMAGES and (labelled or not self.flagged_at)
        low, high = 0, UNIT
        if valid:
            middle, variance = centre, _variance(*window)
            if not labelled:
                variance += (self.table.variance << 16) // self.table.rows
            elif min(rights, labels - rights) < LEAST_OF_A_KIND:
                basis = Basis.LABELS_ALONE
                middle = ((rights + 2) * UNIT << 8) // (labels + 4)
                variance = middle * (FULL - middle) // (labels + 4)
            else:
                variance += _variance(*residuals)
            half = isqrt(variance * 3934 >> 10) + 1
            low, high = _clip(middle - half) >> 8, (_clip(middle + half) + 255) >> 8
        return min(max((centre + 128) >> 8, low), high), low, high, valid, basis


def _variance(total: int, squares: int, count: int) -> int:
    """Of a mean, in 1/65536 of UNIT^2."""
    mean, rest = divmod(total, count)
    around = max(0, squares - mean * (total + rest) - rest * rest // count)
    return ((around // (count - 3)) << 16) // count


def _clip(probability: int) -> int:
    return min(max(probability, 0), FULL)
