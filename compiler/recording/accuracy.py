"""Is the model any good on this data? A wrong preprocessing is the commonest error in this field,
so this is asked first, and the answer names the likely cause, also of an accuracy that is only a
little worse than it could be."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from typing import cast

import numpy as np
import numpy.typing as npt

from edgemon.compiler.data.loading import Dataset
from edgemon.compiler.documents import measured as schema
from edgemon.compiler.errors import DataError
from edgemon.compiler.recording import input_range
from edgemon.compiler.recording.alternatives import Order, Way

Bools = npt.NDArray[np.bool_]
Labels = npt.NDArray[np.int64]
Answers = Callable[[Dataset, Sequence[Way]], npt.NDArray[np.int64]]

CHANCE_LEVEL = 0.01  # p-value above which an accuracy is no better than always the commonest class
WORTH_NAMING = 0.15  # least gain for an alternative to be suggested where accuracy is bad
SURE = 1e-3  # p-value below which an alternative is better, though the accuracy is not bad
CLEARLY = 0.005  # and it must gain so much
TRIED_ON = 100  # rows on which each alternative is tried
NO_WORSE = 0.03  # of these rows may be lost by chance
CONFIRMED_ON = 2000  # other rows, on which the best ones are compared
FINALISTS = 2

VECTORS = (
    "Rows are vectors, taken for images of {}x{} pixels with their {} colours last, a pixel at a "
    "time. Where colour comes after colour, as in CIFAR's own files, reshape them."
)


def at_chance(correct: Bools, labels: Labels) -> bool:
    """Is accuracy no better than answering the commonest label always?"""
    commonest = np.bincount(labels).max() / len(labels)
    if commonest == 1:
        return not bool(correct.any())
    from scipy.stats import binomtest  # which devices lack

    test = binomtest(int(correct.sum()), len(correct), commonest, alternative="greater")
    return bool(test.pvalue > CHANCE_LEVEL)


@dataclass(frozen=True)
class Better:
    """An alternative with which the model is right on more of ``rows``: on so many rows it alone
    is right, and on so many what is in force. ``p_value``: of McNemar's exact test, times the
    number of alternatives that it was made of."""

    flags: str
    accuracy: float
    accuracy_now: float
    rows: int
    only_it: int
    only_now: int
    p_value: float

    def to_json(self) -> schema.Better:
        return cast(schema.Better, asdict(self))

    def __str__(self) -> str:
        return (
            f"With {self.flags} the model would be right on {self.accuracy:.2%} of {self.rows:,} "
            f"rows, and is now on {self.accuracy_now:.2%} (on {self.only_it} rows only with it, on "
            f"{self.only_now} only now): is that what the model was trained on?"
        )


@dataclass(frozen=True, eq=False)
class Trial:
    """What came of a preprocessing and an order of classes on the first rows of the sample:
    ``correct`` (n,)."""

    way: Way
    order: Order
    correct: Bools

    @property
    def flags(self) -> str:
        """That choose it; "" for what is in force."""
        return " ".join(filter(None, (self.way.flag, self.order.flag)))

    def to_json(self) -> schema.Tried:
        return {
            "flags": self.flags, "right": int(self.correct.sum()), "rows": len(self.correct),
        }  # fmt: skip


def about_input(found: schema.Input | None) -> list[tuple[str, str]]:
    """What a first look found (as JSON) that a reader must know, by kind."""
    if found is None:
        return []
    better, shape = found["better"], found["vectors_as"]
    return [
        *input_range.problems(found["spread"]),
        *([] if shape is None else [("vectors_as_images", VECTORS.format(*shape))]),
        *([] if better is None else [("better_alternative", str(Better(**better)))]),
    ]


@dataclass(frozen=True, eq=False)
class Question:
    """``answers(data, ways)`` are the model's classes (ways, n). ``now`` is what is in force."""

    answers: Answers
    ways: Sequence[Way]
    orders: Sequence[Order]
    now: tuple[Way, Order]

    def require_above_chance(self, sample: Dataset, correct: Bools, labels: Labels) -> None:
        """Raises DataError if the sample's accuracy is at chance level; ``labels`` (n,) are the
        classes that are right."""
        if at_chance(correct, labels):
            self._refuse(sample, float(correct.mean()), len(correct), "which is chance level")

    def require_expected(
        self, sample: Dataset, accuracy: float, rows: int, expected: float | None
    ) -> None:
        """Raises DataError if the accuracy on all rows is below what was expected."""
        if expected is not None and accuracy < expected:
            self._refuse(sample, accuracy, rows, f"below the {expected:.2%} expected")

    def trials(self, sample: Dataset) -> list[Trial]:
        """What is in force, which comes first, and all alternatives, on the first rows of the
        sample."""
        trial = sample.take(np.arange(min(TRIED_ON, len(sample))))
        found = self._correct(trial, [self.now[0], *self.ways])
        return [
            Trial(way, order, correct)
            for way, by_order in zip((self.now[0], *self.ways), found, strict=True)
            for order, correct in zip((self.now[1], *self.orders), by_order, strict=True)
        ]

    def better(self, tried: Sequence[Trial], others: Sequence[Dataset]) -> Better | None:
        """The alternative that is clearly better than what is in force, if there is one. Of what
        was tried the best that are hardly worse are compared on other rows, so that no choice among
        many makes one look good."""
        now = tried[0].correct
        least = now.sum() - NO_WORSE * len(now)
        hardly_worse = [
            t for t in tried[1:] if t.correct.sum() >= least and (t.correct != now).any()
        ]
        best = sorted(hardly_worse, key=lambda t: -int(t.correct.sum()))[:FINALISTS]
        if not best:
            return None
        return self._confirmed([(t.way, t.order) for t in best], others)

    def _confirmed(
        self, best: Sequence[tuple[Way, Order]], others: Sequence[Dataset]
    ) -> Better | None:
        ways = list(dict.fromkeys((self.now[0], *(way for way, _ in best))))
        classes = np.concatenate([self.answers(data, ways) for data in others], axis=1)
        y = np.concatenate([_labels(data) for data in others])

        from scipy.stats import binomtest  # which devices lack

        def correct(way: Way, order: Order) -> Bools:
            return _right(order, classes[ways.index(way)], y)

        now, found = correct(*self.now), []
        for way, order in best:
            its = correct(way, order)
            only_it, only_now = int((its & ~now).sum()), int((now & ~its).sum())
            if only_it - only_now < max(1.0, CLEARLY * len(y)):
                continue
            p = binomtest(only_it, only_it + only_now, alternative="greater").pvalue * len(best)
            if p < SURE:
                flags = " ".join(filter(None, (way.flag, order.flag)))
                found.append(
                    Better(
                        flags,
                        float(its.mean()),
                        float(now.mean()),
                        len(y),
                        only_it,
                        only_now,
                        float(p),
                    )
                )
        return max(found, key=lambda b: b.only_it - b.only_now, default=None)

    def _refuse(self, sample: Dataset, accuracy: float, rows: int, problem: str) -> None:
        raise DataError(
            f"accuracy is {accuracy:.2%} on {rows} rows, {problem}: "
            f"{self._advice(sample, accuracy)}"
        )

    def _advice(self, sample: Dataset, accuracy: float) -> str:
        ways = [self.now[0], *self.ways]
        best, flags = 0.0, ""
        for way, by_order in zip(ways, self._correct(sample, ways), strict=True):
            for order, correct in zip((self.now[1], *self.orders), by_order, strict=True):
                if correct.mean() > best:
                    best = float(correct.mean())
                    flags = " ".join(filter(None, (way.flag, order.flag)))
        if flags and best > accuracy + WORTH_NAMING:
            return f"with {flags} it would be {best:.2%}"
        return (
            "likely causes are the wrong preprocessing (--preprocess scale=, offset=, mean=, std=, "
            "channels=), another order of the classes (--label-order, --classes), labels of other "
            "data, or an untrained model"
        )

    def _correct(self, data: Dataset, ways: Sequence[Way]) -> list[list[Bools]]:
        """Which rows are right, for each way and each order (that in force first)."""
        y = _labels(data)
        return [
            [_right(order, found, y) for order in (self.now[1], *self.orders)]
            for found in self.answers(data, ways)
        ]


def _right(order: Order, classes: Labels, y: Labels) -> Bools:
    """(n,): are the labels of these classes, of which -1 is none, those of the rows?"""
    return np.asarray((order.labels[classes] == y) & (classes >= 0))


def _labels(data: Dataset) -> Labels:
    if data.y is None:
        raise DataError(f"{data.source}: has no labels")
    return data.y
