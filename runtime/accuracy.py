"""How accurate the model is now, over a stream of images: FORMAT.md, section 15, run in C."""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from edgemon.runtime.evaluation import Evaluation, all_faults

if TYPE_CHECKING:
    from edgemon.runtime.drift import Drift
    from edgemon.runtime.monitor import Monitor

UNIT = 65535  # probability 1
BLOCKS = 8  # of the window
MOST_LABELS = 1 << 16
LEAST_IMAGES = 30  # of a valid estimate
STATE = np.dtype(  # the C struct em_accuracy
    [
        ("blocks", [("sum", "u8"), ("squares", "u8"), ("images", "u4"), ("faults", "u4")], BLOCKS),
        ("label_sum", "u8"), ("label_squares", "u8"), ("labels", "u4"), ("rights", "u4"),
        ("flagged_at", "u4"), ("block", "u4"),
    ]
)  # fmt: skip
ESTIMATE = np.dtype(  # the C struct em_estimate
    [
        ("sum", "u8"), ("squares", "u8"), ("label_sum", "u8"), ("label_squares", "u8"),
        ("images", "u4"), ("faults", "u4"), ("labels", "u4"), ("rights", "u4"),
        ("estimate", "u2"), ("low", "u2"), ("high", "u2"), ("valid", "u1"), ("basis", "u1"),
    ]
)  # fmt: skip


class Basis(IntEnum):
    """What an estimate stands on."""

    NONE = 0  # no image
    CALIBRATION = 1  # images are like those of calibration
    LABELS = 2  # labels of images drawn at random, whatever the images are
    LABELS_ALONE = 3  # the same; the interval is of the labels alone: few are wrong, or right


@dataclass(frozen=True)
class AccuracyInfo:
    """What an artifact says about its table of accuracy; ``monitor`` is the index of the one whose
    scores are looked up."""

    monitor: int
    steps: int
    window: int  # images
    least: int  # labels, from which on they count
    rows: int  # of calibration
    variance: int  # of the residual there, in 1/65535^2


@dataclass(frozen=True)
class AccuracyState:
    """What is counted: of each block the sum of probabilities, of their squares, images, faults; of
    labels the sum of residuals plus 1, of their squares, labels, and how many say right."""

    blocks: tuple[tuple[int, int, int, int], ...]
    labels: tuple[int, int, int, int]
    flagged_at: int
    block: int


@dataclass(frozen=True)
class Estimate:
    """The accuracy of a window of images, in 1/65535, and the sums that it was made of: ``sum`` and
    ``squares`` of the images' probabilities, ``label_sum`` and ``label_squares`` of residuals,
    each plus 1."""

    estimate: int
    low: int
    high: int
    valid: bool
    basis: Basis
    images: int  # of the window, with a probability
    faults: int  # of the window, without
    labels: int
    rights: int
    sum: int
    squares: int
    label_sum: int
    label_squares: int

    @property
    def accuracy(self) -> float:
        """The estimated share of right answers; not to be relied on unless ``valid``."""
        return self.estimate / UNIT

    @property
    def interval(self) -> tuple[float, float]:
        """At 95 %; 0 to 1 unless ``valid``."""
        return self.low / UNIT, self.high / UNIT


class Accuracy:
    """The state of one stream of images, kept by the C runtime. Without a table in the artifact
    nothing is counted; ``monitor.accuracy`` tells."""

    def __init__(self, monitor: Monitor) -> None:
        self._monitor = monitor
        self._words = np.zeros(STATE.itemsize // 8, np.uint64)

    @property
    def words(self) -> npt.NDArray[np.uint64]:
        """The C struct ``em_accuracy``; always the same array."""
        return self._words

    @property
    def state(self) -> AccuracyState:
        """As of now."""
        own = self._words.view(STATE)[0]
        return AccuracyState(
            tuple((int(b[0]), int(b[1]), int(b[2]), int(b[3])) for b in own["blocks"]),
            (
                int(own["label_sum"]), int(own["label_squares"]), int(own["labels"]),
                int(own["rights"]),
            ),
            int(own["flagged_at"]), int(own["block"]),
        )  # fmt: skip

    def reset(self) -> None:
        """Forgets all images and labels."""
        self._words[:] = 0

    def update(self, found: Evaluation, drift: Drift | None = None) -> None:
        """Counts the rows of an evaluation, in their order. ``drift``, the stream's own, is updated
        with each row first, as a device does: do not update it with them too."""
        words = None if drift is None else drift.words
        self._monitor.update_accuracy(self._words, words, found.verdicts, found.scores)

    def update_faults(self, images: int = 1, drift: Drift | None = None) -> None:
        """Counts images that could not even be evaluated."""
        verdicts, scores = all_faults(images, len(self._monitor.monitors))
        words = None if drift is None else drift.words
        self._monitor.update_accuracy(self._words, words, verdicts, scores)

    def label(self, probability: int, right: bool) -> None:
        """Counts a label that came back, of an image drawn at random, since the flag if there is
        one: the ``probability`` that the image had, in 1/65535; was the answer right?"""
        if not 0 <= probability <= UNIT:
            raise ValueError(f"a probability of {probability}/65535: give 0 to 65535")
        self._monitor.label_accuracy(self._words, probability, right)

    def estimate(self, drift: Drift | None = None) -> Estimate | None:
        """As of now; None without a table. ``drift``: the stream's own."""
        found = self.record(drift)
        return None if found is None else estimate_of(found)

    def record(self, drift: Drift | None = None) -> bytes | None:
        """The same as the C struct ``em_estimate``."""
        words = None if drift is None else drift.words
        return self._monitor.estimate_accuracy(self._words, words)


def estimate_of(record: bytes) -> Estimate:
    """Of the C struct ``em_estimate``. Raises ValueError for a basis that none has."""
    own = np.frombuffer(record, ESTIMATE)[0]
    number = {name: int(own[name]) for name in ESTIMATE.names or ()}
    return Estimate(
        **{**number, "valid": bool(number["valid"]), "basis": Basis(number["basis"])}  # type: ignore[arg-type]
    )
