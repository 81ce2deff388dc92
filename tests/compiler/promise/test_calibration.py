"""Thresholds of device programs: of false alarms, of misses, of each class by itself."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import beta

from edgemon.compiler import fitting, lessons
from edgemon.compiler.data.row_file import RowFile
from edgemon.compiler.data.splits import Splits
from edgemon.compiler.emit import flat, onnx_emitter
from edgemon.compiler.errors import CompileError
from edgemon.compiler.monitors import MONITORS, parse
from edgemon.compiler.monitors.fusion.fusion import FusionMonitor
from edgemon.compiler.program import reference
from edgemon.compiler.program.ir import Builder, Monitor, Program, Tap
from edgemon.compiler.promise.calibration import drawn, find_thresholds, set_thresholds
from edgemon.compiler.promise.thresholds import WHOSE, FalseAlarmPromise, MissPromise
from edgemon.compiler.proof import self_test
from edgemon.compiler.proof.prove import prove
from edgemon.compiler.recording import evaluation
from edgemon.compiler.recording.recording import Recording
from edgemon.runtime.evaluation import Verdict
from tests.compiler.recordings import CLASSES, make_recording

TAPS = {"msp_t": ("logits",), "odin_t": ("logits",), "box": ("features",), "energy": ("logits",)}
Make = Callable[[str, int, int], Recording]


@pytest.fixture(scope="module")
def make(tmp_path_factory: pytest.TempPathFactory) -> Make:
    folder: Path = tmp_path_factory.mktemp("recordings")
    return lambda dtype, rows, seed: make_recording(
        folder / f"{dtype}{rows}{seed}", dtype, rows, seed
    )


@pytest.mark.parametrize("dtype", ["int8", "float32"])
@pytest.mark.parametrize("kind", sorted(TAPS))  # scores of int32, int64 and float32
def test_each_class_has_its_own_threshold(make: Make, dtype: str, kind: str) -> None:
    splits = Splits(*(make(dtype, 1500, i) for i in range(3)))
    target = FalseAlarmPromise(0.1, 0.9, per_class="each")
    monitors = [MONITORS[kind](taps=TAPS[kind])]
    fitted = fitting.fit_monitors(monitors, "output", splits, target, rule="guaranteed")
    plain = fitting.fit_monitors(
        monitors, "output", splits, FalseAlarmPromise(0.1, 0.9), rule="guaranteed"
    )
    rows = splits.threshold.take(np.flatnonzero(splits.threshold.correct))
    alarms = evaluation.evaluate(fitted.program, rows).verdict != 0
    scores = evaluation.evaluate(plain.program, rows).scores[0]
    for c in range(CLASSES):
        own = rows.predicted == c
        threshold = FalseAlarmPromise(0.1, 0.9).threshold(scores[own])
        assert alarms[own].mean() <= 0.1
        # As many alarms as the exact thresholds give, but for scores in the last float's place.
        assert abs(int(alarms[own].sum()) - int((scores[own] > threshold).sum())) <= 1
    vectors = self_test.choose(fitted.program, fitted.on_test, splits.test)[0]
    artifact = flat.write(flat.Artifact(fitted.program, "00" * 32, {}, vectors))
    proof = prove(
        artifact, onnx_emitter.emit(fitted.program, {}), evaluation.blocks(fitted.program, rows)
    )
    assert proof.first_mismatch is None


def test_a_class_with_too_few_rows_is_named(make: Make) -> None:
    splits = Splits(*(make("int8", 900, i) for i in range(3)))
    labels = np.asarray(splits.threshold.labels)
    few = splits.threshold.take(np.flatnonzero((labels != 2) | (np.arange(900) < 100)))
    with pytest.raises(CompileError, match=r"each class needs 59 .* fewer of 1 \(class 2: "):
        fitting.fit_monitors(
            [MONITORS["msp_t"](taps=("logits",))], "output", replace(splits, threshold=few),
            FalseAlarmPromise(per_class="each"),
        )  # fmt: skip


@pytest.mark.parametrize("dtype", ["int8", "float32"])
def test_a_miss_rate_is_kept_on_the_threshold_rows(make: Make, dtype: str) -> None:
    splits = Splits(*(make(dtype, 1500, i) for i in range(3)))
    monitors = [MONITORS[k](taps=TAPS[k]) for k in ("msp_t", "energy")]
    wrong = splits.threshold.take(np.flatnonzero(~splits.threshold.correct))
    for whose in WHOSE:
        target = MissPromise(0.2, 0.9, whose=whose)
        fitted = fitting.fit_monitors(monitors, "output", splits, target, rule="guaranteed")
        found = evaluation.evaluate(fitted.program, wrong)
        promised = [found.verdict] if whose == "verdict" else found.verdicts.T
        for column in promised:
            assert (column == 0).mean() <= 0.2
            assert (column == 0).any()  # not everything alarms


@given(st.integers(30, 3000), st.sampled_from([0.1, 0.2, 0.5]), st.sampled_from([0.8, 0.95]))
@settings(deadline=None)
def test_the_miss_threshold_is_the_highest_that_keeps_the_promise(
    n: int, rate: float, confidence: float
) -> None:
    target = MissPromise(rate, confidence)
    k = int(target.threshold(np.arange(1, n + 1))) + 1  # the k-th score is k
    assert beta.sf(rate, k, n + 1 - k) <= 1 - confidence + 1e-9
    assert beta.sf(rate, k + 1, n - k) > 1 - confidence - 1e-9


def test_too_few_errors_for_a_miss_rate_are_refused_with_the_number() -> None:
    with pytest.raises(CompileError, match="needs 29 wrong threshold rows, but there are 28"):
        MissPromise(0.1).threshold(np.arange(28))
    assert np.isfinite(MissPromise(0.1).threshold(np.arange(29)))


def test_ties_are_on_the_safe_side() -> None:
    """All wrong rows score alike: either all alarm or none does; all must."""
    for scores in (np.full(100, 3), np.full(100, 3.0, np.float32)):
        assert MissPromise(0.2).threshold(scores) < 3


def test_float_thresholds_of_classes_are_never_below_the_exact_ones(make: Make) -> None:
    rows = make("float32", 1500, 1)
    splits = Splits(rows, rows, rows)
    target = FalseAlarmPromise(0.1, 0.9, per_class="each")
    fitted = fitting.fit_monitors([MONITORS["energy"](taps=("logits",))], "output", splits, target)
    plain = fitting.fit_monitors(
        [MONITORS["energy"](taps=("logits",))], "output", splits, FalseAlarmPromise(0.1, 0.9)
    )
    taps = next(evaluation.blocks(fitted.program, rows))
    raw = reference.evaluate(plain.program, taps).scores[0]
    excess = reference.evaluate(fitted.program, taps).scores[0]
    for c in range(CLASSES):
        own = rows.predicted == c
        exact = target.threshold(raw[own & rows.correct])
        assert not (excess[own & (raw <= exact)] > 0).any()


def faulty_program() -> Program:
    """A score that overflows where the feature is large: such a row is a fault."""
    tap = Tap("output", "float32", 2)
    b = Builder([tap])
    weights = [np.array([3e38, 0, 0, 1], np.float32), np.zeros(2, np.float32)]
    score = b.node("max", b.node("affine", 0, tables=weights))
    return b.program(b.node("argmax", 0), [Monitor("m", score, 0.0, 0.0)])


def faulty_rows(folder: Path, faults: int) -> Recording:
    """200 correct rows, some of which are faults."""
    x = np.column_stack([np.zeros(200), np.linspace(1, 2, 200)]).astype(np.float32)
    x[:faults, 0] = 1.5
    labels = x.argmax(axis=1)
    file = RowFile.create(folder / "output.npy", x.shape, "float32")
    file.write(0, x)
    tap = faulty_program().taps[0]
    return Recording((tap,), (file,), np.arange(200), labels.astype(np.int32), labels, 2)


def test_faults_count_as_alarms_when_thresholds_are_set(tmp_path: Path) -> None:
    """Their score is stored as 0, which once made them look like the calmest of rows."""
    target = FalseAlarmPromise(0.1, 0.9)
    rows = faulty_rows(tmp_path, 8)
    found = find_thresholds(faulty_program(), (True,), [rows], target)
    program = set_thresholds(faulty_program(), found, per_class=False)
    found = evaluation.evaluate(program, rows)
    assert (found.verdicts[:8, 0] == Verdict.FAULT).all()
    assert 8 <= (found.verdicts[:, 0] != Verdict.TRUST).sum() <= 20


def test_more_faults_than_the_promise_admits_are_refused(tmp_path: Path) -> None:
    rows, target = [faulty_rows(tmp_path, 40)], FalseAlarmPromise(0.1, 0.9)
    with pytest.raises(CompileError, match="m: more threshold rows are faults"):
        find_thresholds(faulty_program(), (True,), rows, target)


@given(st.integers(0, 2**32 - 1), st.booleans())
@settings(max_examples=30)
def test_one_row_of_each_group_that_the_target_concerns_sets_the_threshold(
    make: Make, seed: int, by_class: bool
) -> None:
    rows = make("int8", 400, 0)
    groups = np.random.default_rng(seed).integers(0, 60, len(rows))
    rows = replace(rows, groups=groups)
    for target, concerned in (
        (FalseAlarmPromise(0.1, 0.9, "each" if by_class else ""), rows.correct),
        (MissPromise(0.3, 0.9), ~rows.correct),
    ):
        found = drawn(rows, target, seed)
        assert target.concerns(found.correct).all()
        keys = groups * CLASSES + rows.predicted if target.per_class else groups
        expected = np.unique(keys[concerned])
        own = keys[found.rows]
        np.testing.assert_array_equal(np.sort(own), expected)
        np.testing.assert_array_equal(found.rows, drawn(rows, target, seed).rows)


def test_rows_without_groups_all_count(make: Make) -> None:
    rows = make("int8", 400, 0)
    assert drawn(rows, FalseAlarmPromise(), 0) is rows


def test_too_few_groups_for_a_promise_are_refused_by_their_number(make: Make) -> None:
    """400 rows would do; 30 groups do not, whatever their rows are."""
    splits = Splits(*(make("int8", 400, i) for i in range(3)))
    splits = splits.map(lambda _, r: replace(r, groups=np.arange(400) % 30))
    monitors = [MONITORS["msp_t"](taps=("logits",))]
    for target, says in (
        (FalseAlarmPromise(), "59 groups with correct threshold rows, of each of which one row"),
        (FalseAlarmPromise(per_class="each"), "59 groups with correct threshold rows of each pred"),
        (MissPromise(), "29 groups with wrong threshold rows"),
    ):
        with pytest.raises(CompileError, match=says):
            fitting.fit_monitors(monitors, "output", splits, target, rule="guaranteed")


def test_fusions_learn_from_whole_groups(make: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    splits = Splits(*(make("int8", 3000, i) for i in range(3)))
    splits = splits.map(lambda _, r: replace(r, groups=np.arange(3000) % 1000))
    (fusion,) = parse("errors")
    fusion.signals = tuple(MONITORS[k](taps=TAPS[k]) for k in ("msp_t", "energy"))
    fusion.taps = ("logits",)
    seen: list[Any] = []
    combine = FusionMonitor.combine

    def listening(
        self: Any, scores: Any, wrong: Any, sizes: Any, groups: Any, **settings: Any
    ) -> Any:
        seen.append(groups)
        return combine(self, scores, wrong, sizes, groups, **settings)

    monkeypatch.setattr(FusionMonitor, "combine", listening)
    monkeypatch.setattr(lessons, "MOST_CROSSED", 0)
    fitted = fitting.fit_monitors(
        [fusion], "output", splits, FalseAlarmPromise(), rule="guaranteed"
    )
    held_out = fitted.threshold_rows.groups
    (learned,) = seen
    assert not np.isin(learned, held_out).any()
    assert len(learned) + len(held_out) == 3000
    assert len(fitted.draws) == len(np.unique(held_out[fitted.threshold_rows.correct]))


def test_threshold_rows_are_divided_only_where_the_rest_is_enough(
    make: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    """42 groups with a right answer, among 400, of which chance can leave fewer than 14."""
    rows = make("int8", 400, 0)
    labels = (rows.predicted + (np.arange(400) >= 42)) % CLASSES
    rows = replace(rows, labels=labels)
    rows = replace(rows, groups=np.tile(np.arange(400), 2), **_twice(rows))
    target = FalseAlarmPromise(0.2)
    assert target.rows_needed() == 14
    monkeypatch.setattr(lessons, "LEAST_SHARE", lessons.LEARN_SHARE)  # as with fewer errors
    found = [lessons.threshold_halves(rows, target, seed, 0) for seed in range(400)]
    assert 0 < found.count(None) < 40
    for learn, rest in filter(None, found):
        assert int(drawn(rest, target, 0).correct.sum()) >= 14
        assert not np.isin(learn.groups, rest.groups).any()


def _twice(rows: Recording) -> dict[str, Any]:
    """Each row again, and then with a wrong answer."""
    return {
        "rows": np.concatenate([rows.rows, rows.rows]),
        "predicted": np.concatenate([rows.predicted, rows.predicted]),
        "labels": np.concatenate([rows.labels, (rows.predicted + 1) % CLASSES]),
    }


def test_a_class_that_would_be_left_with_too_few_rows_keeps_them_all(make: Make) -> None:
    """All classes together were enough to divide, and then one was not."""
    rows = make("int8", 900, 1)
    right = np.flatnonzero(rows.correct)
    few = rows.take(np.concatenate([
        right[rows.predicted[right] != 2], right[rows.predicted[right] == 2][:80]
    ]))  # fmt: skip
    assert lessons.learns_from_thresholds(few.correct, FalseAlarmPromise())
    assert lessons.threshold_halves(few, FalseAlarmPromise(), 0, 0) is not None
    assert lessons.threshold_halves(few, FalseAlarmPromise(per_class="each"), 0, 0) is None
