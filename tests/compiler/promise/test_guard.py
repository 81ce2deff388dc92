"""What is said where there is no drift test."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from edgemon.compiler.promise.drift import guard
from edgemon.compiler.promise.drift.watched import Watched
from edgemon.compiler.reporter import Reporter


class Listening(Reporter):
    def __init__(self) -> None:
        self.heard: list[str] = []

    def warn(self, text: str) -> None:
        self.heard.append(text)


@pytest.mark.parametrize(
    ("scores", "reason"),
    [
        (np.arange(40.0, dtype=np.float32), "40 threshold rows are too few for a drift test"),
        (np.zeros(2000, np.float32), "2000 threshold rows with the few scores of m are no base"),
    ],
)
def test_rows_are_not_called_few_where_scores_are(
    scores: np.ndarray, reason: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows: Any = SimpleNamespace(groups=None)
    program: Any = SimpleNamespace(monitors=(SimpleNamespace(name="m", alarm_above=0.0),))
    tested: Any = None
    monkeypatch.setattr(guard, "evaluate", lambda *_: None)
    monkeypatch.setattr(guard, "scores_of", lambda *_: (scores, np.zeros(len(scores), bool)))
    reporter = Listening()
    assert guard.guard(
        program,
        1,
        Watched(0),
        rows,
        rows,
        tested,
        run_length=10_000,
        confidence=0.95,
        seed=0,
        reporter=reporter,
    ) == (None, None)
    assert reason in reporter.heard[0]
