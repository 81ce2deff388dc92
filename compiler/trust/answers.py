"""The answers of a model or of a bundle to labelled rows, with their confidence."""

from __future__ import annotations

import tempfile
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import numpy.typing as npt

from edgemon.compiler.data.loading import Dataset
from edgemon.compiler.reporter import Reporter
from edgemon.compiler.trust.examples import MOST, Document, example, worst_of_classes
from edgemon.compiler.trust.judge import Answered, Reading, open_judge

Bools = npt.NDArray[np.bool_]
Classes64 = npt.NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Answers(Answered):
    """The same with the classes of labels (n,), -1 for one of no class, and names of classes."""

    labels: Classes64
    names: tuple[str, ...]
    examples: tuple[Document, ...] = ()  # the surest wrong answer of each class

    @property
    def right(self) -> Bools:
        """(n,)."""
        return np.equal(self.predicted, self.labels)

    def take(self, rows: npt.ArrayLike) -> Answers:
        """These rows."""
        at = np.asarray(rows)
        return replace(
            self, p=self.p[at], predicted=self.predicted[at], labels=self.labels[at],
            passed=None if self.passed is None else self.passed[at],
        )  # fmt: skip


def answers(
    path: Path, data: str, reading: Reading, *, label_column: str | None = None, workers: int = 2,
    reporter: Reporter = Reporter(),  # noqa: B008 - stateless
    examples: bool = False, pictures: bool = False, full_scale: int = 255,
) -> Answers:  # fmt: skip
    """Of a bundle, as it reads rows, or of a model. ``examples``: with wrong ones to look at, and
    ``pictures`` of those that are images of bytes. Raises EdgemonError."""
    with tempfile.TemporaryDirectory(prefix="edgemon-") as scratch:
        judge, rows, labels = open_judge(
            path, data, reading, Path(scratch), label_column=label_column, workers=workers,
            reporter=reporter,
        )  # fmt: skip
        found = judge.answer(rows, reporter)
        names = judge.classes.names
        shown = _examples(found, rows, labels, names, full_scale if pictures else 0)
    return Answers(
        found.p, found.predicted, found.passed, labels, names, tuple(shown) if examples else ()
    )


def _examples(
    found: Answered, rows: Dataset, labels: Classes64, names: tuple[str, ...], full_scale: int
) -> list[Document]:
    """``full_scale``: of images; 0 for no pictures."""
    drawn = full_scale and len(rows.shape) in (3, 4) and rows.dtype == np.uint8
    lines = []
    for i in worst_of_classes(labels, found.predicted, found.confidence)[:MOST]:
        (block,) = rows.take([i]).blocks(1)
        said = int(found.predicted[i])
        lines.append(
            example(
                block[0] if drawn else None, label=names[labels[i]],
                answer=names[said] if said >= 0 else "no answer",
                confidence=float(found.confidence[i]), row=int(rows.numbers[i]),
                full_scale=full_scale,
            )
        )  # fmt: skip
    return lines


def by_scenario(found: Answers, which: str) -> Classes64:
    """Of each row (n,) its scenario: the class of its label, or of its answer."""
    return found.labels if which == "true" else found.predicted
