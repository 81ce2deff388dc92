"""Is the model any good on this data? A wrong preprocessing is the commonest error in this field,
so this is asked first, and the answer names the likely cause."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt
from scipy.stats import binomtest

from edgemon.compiler.data.classes import ORDERS, label_map
from edgemon.compiler.errors import DataError
from edgemon.runtime.preprocess import Preprocess

CHANCE_LEVEL = 0.01  # p-value above which an accuracy is no better than always the commonest class
WORTH_NAMING = 0.15  # least gain for an alternative to be suggested

Labels = npt.NDArray[np.int64]
Measure = Callable[[Preprocess, Labels], float]


def at_chance(correct: npt.NDArray[np.bool_], labels: npt.NDArray[np.int64]) -> bool:
    """Is accuracy no better than answering the commonest label always?"""
    commonest = np.bincount(labels).max() / len(labels)
    if commonest == 1:
        return not bool(correct.any())
    test = binomtest(int(correct.sum()), len(correct), commonest, alternative="greater")
    return bool(test.pvalue > CHANCE_LEVEL)


@dataclass(frozen=True)
class Question:
    """The sample on which alternatives are tried, to name the cause of a bad accuracy."""

    preprocess: Preprocess  # in force
    labels: Labels  # the label map in force
    measure: Measure  # accuracy of the sample under others

    def require_above_chance(
        self, correct: npt.NDArray[np.bool_], labels: npt.NDArray[np.int64]
    ) -> None:
        """Raises DataError if the sample's accuracy is at chance level."""
        if at_chance(correct, labels):
            self._refuse(float(correct.mean()), len(correct), "which is chance level")

    def require_expected(self, accuracy: float, rows: int, expected: float | None) -> None:
        """Raises DataError if the accuracy on all rows is below what was expected."""
        if expected is not None and accuracy < expected:
            self._refuse(accuracy, rows, f"below the {expected:.2%} expected")

    def _refuse(self, accuracy: float, rows: int, problem: str) -> None:
        advice = _advice(accuracy, self.preprocess, self.labels, self.measure)
        raise DataError(f"accuracy is {accuracy:.2%} on {rows} rows, {problem}: {advice}")


def _advice(accuracy: float, preprocess: Preprocess, labels: Labels, measure: Measure) -> str:
    results = []
    for other, order, flags in _alternatives(preprocess, labels):
        try:
            results.append((measure(other, order), flags))
        except DataError:
            continue
    best, flags = max(results, default=(0.0, ""))
    if best > accuracy + WORTH_NAMING:
        return f"with {flags} it would be {best:.2%}"
    return (
        "likely causes are the wrong preprocessing (--preprocess scale=, offset=, mean=, std=, "
        "channels=), another order of the classes (--label-order, --classes), labels of other "
        "data, or an untrained model"
    )


def _alternatives(preprocess: Preprocess, labels: Labels) -> list[tuple[Preprocess, Labels, str]]:
    """Preprocessings and label orders that people mix up, with the flags that choose them."""
    scalings = {
        "": (1.0, 0.0),
        "scale=1/255": (1 / 255, 0.0),
        "scale=1/127.5,offset=-1": (1 / 127.5, -1.0),
    }
    orders = {order: label_map(len(labels), order) for order in ORDERS}
    found = []
    for scaling, (scale, offset) in scalings.items():
        for channels in ("asis", "bgr"):
            for order, others in orders.items():
                other = replace(
                    preprocess, scale=scale, offset=offset, mean=(), std=(), channels=channels
                )
                if other == preprocess and np.array_equal(others, labels):
                    continue
                parts = [scaling, f"channels={channels}" if channels != "asis" else ""]
                if preprocess.resize:
                    parts.insert(0, "resize={}x{}".format(*preprocess.resize))
                declared = ",".join(p for p in parts if p)
                flags = f"--preprocess {declared}" if declared else "no --preprocess"
                found.append((other, others, f"{flags} --label-order {order}"))
    return found
