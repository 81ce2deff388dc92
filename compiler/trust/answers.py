"""The answers of a model or of a bundle to labelled rows, with their confidence."""

from __future__ import annotations

import tempfile
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import numpy.typing as npt

from edgemon.compiler.reporter import Reporter
from edgemon.compiler.trust.judge import Answered, Reading, open_judge

Bools = npt.NDArray[np.bool_]
Classes64 = npt.NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Answers(Answered):
    """The same with the classes of labels (n,), -1 for one of no class, and names of classes."""

    labels: Classes64
    names: tuple[str, ...]

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
) -> Answers:  # fmt: skip
    """Of a bundle, as it reads rows, or of a model. Raises EdgemonError."""
    with tempfile.TemporaryDirectory(prefix="edgemon-") as scratch:
        judge, rows, labels = open_judge(
            path, data, reading, Path(scratch), label_column=label_column, workers=workers,
            reporter=reporter,
        )  # fmt: skip
        found = judge.answer(rows, reporter)
    return Answers(found.p, found.predicted, found.passed, labels, judge.classes.names)


def by_scenario(found: Answers, which: str) -> Classes64:
    """Of each row (n,) its scenario: the class of its label, or of its answer."""
    return found.labels if which == "true" else found.predicted
