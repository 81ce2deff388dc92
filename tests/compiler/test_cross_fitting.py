"""Fusions that learn from the fit rows, each judged by members that did not learn from it."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from edgemon.compiler import cross_fitting, fitting
from edgemon.compiler.cross_fitting import cross_fitted
from edgemon.compiler.data.splits import Splits
from edgemon.compiler.errors import CompileError
from edgemon.compiler.lessons import FEWEST_CROSSED, MOST_CROSSED, crosses, lessons
from edgemon.compiler.monitors import MONITORS
from edgemon.compiler.monitors.fusion.fusion import FusionMonitor
from edgemon.compiler.program.ir import Program
from edgemon.compiler.promise.thresholds import FalseAlarmPromise
from edgemon.compiler.recording.recording import Recording
from edgemon.compiler.statistics import tuning
from tests.compiler.recordings import recorded_splits

Parts = Splits[Recording]
SIGNALS = {"msp_t": ("logits",), "second_opinion": ("features",), "rmds": ("features",)}


@pytest.fixture(scope="module")
def splits(tmp_path_factory: pytest.TempPathFactory) -> Parts:
    return recorded_splits(tmp_path_factory.mktemp("recordings"), "int8", 900)


def fusion() -> FusionMonitor:
    found = MONITORS["errors"](taps=("features", "logits"))
    assert isinstance(found, FusionMonitor)
    return found.set_params(signals=tuple(MONITORS[k](taps=t) for k, t in SIGNALS.items()))


def test_no_row_is_judged_by_a_member_that_learned_from_it(
    splits: Parts, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = splits.fit.grouped(np.arange(900) % 300)
    trained = fusion().fit(rows)
    taught: list[Recording] = []
    judged: list[Recording] = []
    real = cross_fitting.device_scores

    def listening(program: Program, represented: object, part: Recording) -> np.ndarray:
        judged.append(part)
        return real(program, represented, part)

    fit = MONITORS["rmds"].fit
    monkeypatch.setattr(cross_fitting, "device_scores", listening)
    monkeypatch.setattr(MONITORS["rmds"], "fit", lambda m, r: taught.append(r) or fit(m, r))
    scores = cross_fitted(trained, "output", rows)
    assert scores.shape == (900, 3)
    assert np.isfinite(scores).all()
    own = judged[2::3]
    assert len(own) == len(taught) == 5
    for learn, judge in zip(taught, own, strict=True):
        assert not np.isin(learn.groups, judge.groups).any()
    np.testing.assert_array_equal(np.sort(np.concatenate([j.rows for j in own])), rows.rows)


def test_a_member_that_cannot_learn_from_a_part_is_left_out_and_said(
    splits: Parts, monkeypatch: pytest.MonkeyPatch
) -> None:
    trained = fusion().fit(splits.fit)

    def failing(member: object, rows: Recording) -> None:  # noqa: ARG001
        raise CompileError("too few of something")

    monkeypatch.setattr(MONITORS["rmds"], "fit", failing)
    assert cross_fitted(trained, "output", splits.fit).shape == (900, 2)
    assert [m.kind for m in trained.members_] == ["msp_t", "second_opinion"]
    assert trained.left_out_["rmds"] == "too few of something"


def test_all_threshold_rows_set_thresholds_where_fusions_learn_from_fit_rows(
    splits: Parts,
) -> None:
    assert int((~splits.fit.correct).sum()) >= FEWEST_CROSSED
    taught, held_out = lessons([fusion()], splits, FalseAlarmPromise(), 0)
    assert taught.held_out is None
    assert len(held_out) == 900
    found = fusion()
    fitted = fitting.fit_monitors([found], "output", splits, FalseAlarmPromise())
    assert len(fitted.threshold_rows) == 900
    assert found.details()["learned_from"].startswith("all 900 fit rows")


def test_rows_that_the_model_knows_by_heart_teach_no_weights(splits: Parts) -> None:
    """It is wrong on few of them, and those are other errors than it makes elsewhere."""
    fit, correct, taps = splits.fit, splits.threshold.correct, ("features", "logits")
    assert crosses(fit, correct, taps, 0)
    known = fit.labels.copy()
    known[: len(known) // 2] = fit.predicted[: len(known) // 2]
    assert not crosses(replace(fit, labels=known), correct, taps, 0)
    assert not crosses(fit.take(np.arange(50)), correct, taps, 0)
    taught, held_out = lessons(
        [fusion()], replace(splits, fit=replace(fit, labels=known)), FalseAlarmPromise(), 0
    )
    assert taught.held_out is not None
    assert len(taught.held_out) + len(held_out) == 900


def test_chance_of_few_threshold_rows_is_no_reason_not_to_cross(splits: Parts) -> None:
    """Of 146 threshold rows of a tabular model seven more were wrong than of as many fit rows:
    signals were chosen on 40 errors in place of 119."""
    fit, taps = splits.fit, ("features", "logits")
    share = float((~fit.correct).mean()) / 0.8 + 0.015
    few, many = (np.arange(n) >= round(share * n) for n in (150, 1500))
    assert crosses(fit, few, taps, 0)
    assert not crosses(fit, many, taps, 0)


def test_rows_of_groups_that_leave_a_fold_without_judges_are_not_crossed(splits: Parts) -> None:
    """Most wrong rows in one group: a fold without any was dropped, and its rows had no score."""
    fit = splits.fit
    groups = np.where(fit.correct, 1 + np.arange(900) % 60, 0)
    groups[np.flatnonzero(~fit.correct)[:12]] = np.arange(1, 13)
    grouped = fit.grouped(groups)
    taps = ("features", "logits")
    seen = []
    for seed in range(20):
        folds = tuning.folds(~fit.correct, seed, groups)
        seen.append(len(folds))
        whole = len(folds) == tuning.FOLDS
        assert crosses(grouped, splits.threshold.correct, taps, seed) == whole
        if whole:
            judged = np.sort(np.concatenate([judge for _, judge in folds]))
            np.testing.assert_array_equal(judged, np.arange(900))
    assert min(seen) < tuning.FOLDS


def test_many_threshold_rows_or_features_are_not_worth_fitting_six_times(splits: Parts) -> None:
    """Members of 12,000 rows with 1,600 features took half an hour."""
    fit, taps = splits.fit, ("features", "logits")
    assert not crosses(fit, np.tile(splits.threshold.correct, 10), taps, 0)
    many = np.arange(MOST_CROSSED // fit.width(taps) + 1) % 900
    assert not crosses(fit.take(many), splits.threshold.correct, taps, 0)


def test_changed_copies_teach_beside_held_out_rows_as_before(splits: Parts) -> None:
    changed = np.arange(900) % 3 == 0
    fit = replace(splits.fit, changed=changed, groups=np.arange(900) // 3)
    taught, _ = lessons([fusion()], replace(splits, fit=fit), FalseAlarmPromise(), 0)
    assert taught.held_out is not None
    assert taught.copies is not None
