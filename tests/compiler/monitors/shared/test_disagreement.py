"""The threshold of a second classifier."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from scipy.special import log_softmax

from edgemon.compiler.errors import CompileError
from edgemon.compiler.monitors import MONITORS
from edgemon.compiler.monitors.shared.disagreement import alarm_threshold, odds_against
from edgemon.compiler.recording.recording import Recording
from edgemon.compiler.statistics import tuning
from edgemon.compiler.statistics.intervals import mcc
from tests.compiler.recordings import make_recording


@pytest.fixture
def rows(tmp_path: Path) -> Recording:
    return make_recording(tmp_path, "float32", 400, seed=4)


def test_odds_are_of_all_other_classes_together() -> None:
    scores = np.log([[0.7, 0.2, 0.1], [0.1, 0.3, 0.6]]) + 5
    found = odds_against(scores, np.array([0, 1]))
    np.testing.assert_allclose(np.exp(found), [0.3 / 0.7, 0.7 / 0.3])


def test_no_threshold_is_read_off_moved_copies(rows: Recording) -> None:
    judged: list[np.ndarray] = []

    def classify(x: np.ndarray, labels: np.ndarray, own: np.ndarray) -> np.ndarray:  # noqa: ARG001
        judged.append(own[:, 0])
        return np.random.default_rng(0).normal(size=(len(own), rows.n_classes))

    moved = np.arange(len(rows)) % 2 == 1
    x = np.arange(len(rows), dtype=float)[:, None]
    given = replace(rows, augmented=moved, groups=np.arange(len(rows)) // 2)
    alarm_threshold("mcc", given, x, classify, 0)
    np.testing.assert_array_equal(np.sort(np.concatenate(judged)), np.flatnonzero(~moved))


def test_the_threshold_is_best_on_rows_that_were_not_learned_from(rows: Recording) -> None:
    """A classifier that remembers is sure of every row it has seen: in sample its odds are no
    guide."""
    learned: list[np.ndarray] = []
    rng = np.random.default_rng(0)
    truth = rng.normal(0, 1, (len(rows), rows.n_classes))
    truth[np.arange(len(rows)), rows.labels] += 2

    def classify(x: np.ndarray, labels: np.ndarray, judged: np.ndarray) -> np.ndarray:
        learned.append(x[:, 0])
        assert not np.isin(judged[:, 0], x[:, 0]).any()
        assert len(x) == len(labels)
        return np.asarray(log_softmax(truth[judged[:, 0].astype(int)], axis=1))

    x = np.arange(len(rows), dtype=float)[:, None]
    found = alarm_threshold("mcc", rows, x, classify, 0)
    assert len(learned) == tuning.FOLDS
    odds, wrong = odds_against(log_softmax(truth, axis=1), rows.predicted), ~rows.correct

    def quality(threshold: float) -> float:
        alarm = odds > threshold
        counts = [(a & w).sum() for a in (alarm, ~alarm) for w in (wrong, ~wrong)]
        tp, fp, fn, tn = counts
        return float(mcc(np.array([[tp, fp, tn, fn]]))[0])

    assert quality(found) == max(quality(t) for t in np.sort(odds))
    assert quality(found) > quality(0.0)


def test_groups_are_not_divided(rows: Recording) -> None:
    groups = np.arange(len(rows)) // 4
    seen: list[np.ndarray] = []

    def classify(x: np.ndarray, labels: np.ndarray, judged: np.ndarray) -> np.ndarray:  # noqa: ARG001
        assert not np.isin(judged[:, 0] // 4, x[:, 0] // 4).any()
        seen.append(judged[:, 0])
        return np.zeros((len(judged), rows.n_classes))

    grouped = replace(rows, groups=groups)
    alarm_threshold("mcc", grouped, np.arange(len(rows), dtype=float)[:, None], classify, 0)
    assert sorted(np.concatenate(seen)) == list(range(len(rows)))


def test_too_few_errors_leave_it_at_disagreement(rows: Recording) -> None:
    kept = np.concatenate([np.flatnonzero(rows.correct), np.flatnonzero(~rows.correct)[:9]])
    few = rows.take(kept)

    def classify(*_: np.ndarray) -> np.ndarray:
        raise AssertionError("nothing can be learned here")

    assert alarm_threshold("mcc", few, np.zeros((len(few), 1)), classify, 0) == 0.0
    assert alarm_threshold("disagreement", rows, np.zeros((len(rows), 1)), classify, 0) == 0.0


@pytest.mark.parametrize("kind", ["boosted_opinion", "mahalanobis_gap", "second_opinion"])
def test_a_rule_that_does_not_exist(kind: str, rows: Recording) -> None:
    with pytest.raises(CompileError, match="rule='best' is unknown; use mcc, disagreement"):
        MONITORS[kind](taps=("features",), rule="best").fit(rows)


def test_many_wrong_rows_of_few_groups_set_no_threshold(rows: Recording) -> None:
    """Ten wrong frames of one track once counted as ten errors."""
    groups = np.where(rows.correct, np.arange(len(rows)), -1)

    def classify(*_: np.ndarray) -> np.ndarray:
        raise AssertionError("nothing can be learned here")

    grouped = replace(rows, groups=groups)
    assert alarm_threshold("mcc", grouped, np.zeros((len(rows), 1)), classify, 0) == 0.0


def test_equal_infinities_stay_together() -> None:
    score = np.array([-np.inf, -np.inf, 0.0, np.inf, np.inf])
    wrong = np.array([False, True, False, True, True])
    assert tuning.best_mcc_threshold(score, wrong) == 0.0
