"""What is learned of reference rows: kept as it was, refused where there is nothing to learn."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from edgemon.compiler.bundle.output_folder import ACCURACY
from edgemon.compiler.commands import accuracy
from edgemon.compiler.errors import DataError
from edgemon.compiler.estimation.learned import Labelled, Learned
from edgemon.compiler.estimation.observed import Observed
from edgemon.compiler.methods.accuracy import AccuracyEnsemble
from edgemon.compiler.terminal import Terminal


def _rows(share_right: float, n: int = 200) -> Observed:
    rng = np.random.default_rng(0)
    p = rng.dirichlet(np.ones(3), n)
    predicted = p.argmax(axis=1)
    right = np.arange(n) < share_right * n
    return Observed(
        p, predicted, np.where(right, predicted, (predicted + 1) % 3), rng.integers(0, 99, n),
        np.zeros(n, bool), np.ones(n, bool), np.arange(n), None,
    )  # fmt: skip


def test_what_is_kept_is_read_as_it_was(tmp_path: Path) -> None:
    rows = _rows(0.7)
    labels = Labelled(np.array([3, 5]), np.array([0, -1]), True)
    own = Learned.of(rows, AccuracyEnsemble(2, epochs=1)).with_labels(rows.key, labels)
    assert own.to_bytes() == own.to_bytes()
    (tmp_path / ACCURACY).write_bytes(own.to_bytes())
    found = Learned.read(tmp_path)
    assert (found.rows, found.accuracy, found.baselines) == (200, 0.7, own.baselines)
    assert np.array_equal(found.scores, own.scores)
    kept = found.labels[rows.key]
    assert (kept.numbers.tolist(), kept.classes.tolist(), kept.drawn) == ([3, 5], [0, -1], True)
    assert found.ensemble is not None
    assert own.ensemble is not None
    assert np.array_equal(found.ensemble.member_scores(rows.p), own.ensemble.member_scores(rows.p))


@pytest.mark.parametrize(("share", "said"), [(1.0, "right on all"), (0.0, "wrong on all")])
def test_rows_without_both_kinds_of_answers_teach_nothing(share: float, said: str) -> None:
    with pytest.raises(DataError, match=said):
        Learned.of(_rows(share), None)


def test_an_ensemble_that_would_take_hours_is_left_out_with_a_word(
    capsys: pytest.CaptureFixture[str],
) -> None:
    rows = _rows(0.7, n=4000)
    many = Observed(
        np.broadcast_to(1e-3, (4000, 1000)), rows.predicted, rows.classes, rows.scores,
        rows.faults, rows.passed, rows.numbers, None,
    )  # fmt: skip
    assert accuracy._ensemble(many, 20, 200, False, 0, Terminal()) is None
    said = capsys.readouterr().err
    assert "the published ensemble is left out" in said
    assert "--members" in said
    assert accuracy._ensemble(rows, 20, 200, False, 0, Terminal()) is not None
    assert accuracy._ensemble(rows, 0, 200, False, 0, Terminal()) is None
