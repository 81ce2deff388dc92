"""Scores with few values: the softmax breaks their ties, and a promise is worth something."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from edgemon.compiler import fitting
from edgemon.compiler.data.splits import Splits
from edgemon.compiler.emit import flat, onnx_emitter
from edgemon.compiler.monitors import MONITORS, MonitorEstimator, Score
from edgemon.compiler.monitors.shared.tails import STEPS
from edgemon.compiler.monitors.shared.ties import TieBreak, ties_cost_power
from edgemon.compiler.monitors.shared.vectors import softmax_odds
from edgemon.compiler.program import reference
from edgemon.compiler.program.ir import Builder, Monitor, Tap
from edgemon.compiler.program.quantise import quantise
from edgemon.compiler.promise.thresholds import FalseAlarmPromise
from edgemon.compiler.proof import self_test
from edgemon.compiler.proof.prove import prove
from edgemon.compiler.recording import evaluation
from edgemon.compiler.recording.recording import Recording
from tests.compiler.recordings import recorded_splits


class TwoValued(MonitorEstimator):
    """A score of 0 or 1: is the first feature above its median?"""

    kind: ClassVar[str] = "two"
    default_taps: ClassVar[tuple[str, ...]] = ("features",)
    what: ClassVar[str] = "first feature high"

    def __init__(self, taps: tuple[str, ...] = ("features",)) -> None:
        self.taps = taps

    def _fit(self, recording: Recording) -> None:
        self.median_ = float(np.median(recording.features("features")[:, 0]))

    def lower(self, builder: Builder, predicted: int) -> Score:  # noqa: ARG002
        first = builder.node(
            "gather", builder.features("features"), tables=[np.zeros(1, np.uint32)]
        )
        return Score(builder.node("exceeds", first, tables=[np.array([self.median_])]), 0.5)

    def reason(self) -> str:
        return "high"


@pytest.fixture(scope="module", params=["int8", "float32"])
def splits(request: Any, tmp_path_factory: pytest.TempPathFactory) -> Splits[Recording]:
    folder = tmp_path_factory.mktemp("recordings")
    return recorded_splits(folder, request.param, 1500)


def test_a_two_valued_score_alarms_under_a_promise(splits: Splits[Recording]) -> None:
    target = FalseAlarmPromise(0.1, 0.9)
    fitted = fitting.fit_monitors(
        [TwoValued()], "output", splits, target, rule="guaranteed", logits="logits"
    )
    assert fitted.judges[0].ties_broken
    rows = splits.threshold.take(np.flatnonzero(splits.threshold.correct))
    alarms = evaluation.evaluate(fitted.program, rows).verdict != 0
    assert 0.05 < alarms.mean() <= 0.1
    # Only rows of the upper value alarm.
    high = rows.features("features")[:, 0] > fitted.judges[0].estimator.median_
    assert high[alarms].all()
    vectors = self_test.choose(fitted.program, fitted.on_test, splits.test)[0]
    artifact = flat.write(flat.Artifact(fitted.program, "00" * 32, {}, vectors))
    onnx = onnx_emitter.emit(fitted.program, {})
    assert prove(artifact, onnx, evaluation.blocks(fitted.program, rows)).first_mismatch is None


def test_the_method_own_threshold_breaks_no_ties(splits: Splits[Recording]) -> None:
    fitted = fitting.fit_monitors([TwoValued()], "output", splits, FalseAlarmPromise())
    assert not fitted.judges[0].ties_broken
    assert not fitted.judges[0].calibrated


def test_a_fine_score_is_left_alone(splits: Splits[Recording]) -> None:
    fitted = fitting.fit_monitors(
        [MONITORS["energy"](taps=("logits",))], "output", splits, FalseAlarmPromise(),
        rule="guaranteed", logits="logits",
    )  # fmt: skip
    assert not fitted.judges[0].ties_broken


values = st.lists(st.integers(-3, 3).map(float), min_size=2, max_size=60)


def ranks(tie: TieBreak, scores: np.ndarray, softmax: np.ndarray) -> np.ndarray:
    return np.searchsorted(tie.values, scores) * STEPS + np.searchsorted(tie.softmax, softmax)


@given(values, st.integers(0, 99))
def test_the_order_of_the_score_comes_first(scores: list[float], seed: int) -> None:
    rng = np.random.default_rng(seed)
    softmax = rng.exponential(1, len(scores))
    rank = ranks(TieBreak.of(np.array(scores), softmax), np.array(scores), softmax)
    for i, j in rng.integers(0, len(scores), (20, 2)):
        if scores[i] < scores[j]:
            assert rank[i] < rank[j]
        elif scores[i] == scores[j] and softmax[i] <= softmax[j]:
            assert rank[i] <= rank[j]


def test_values_beyond_those_of_the_fit_rows_keep_their_order() -> None:
    """Distances to patterns of the fit rows are mostly 0 on those, and larger on all others, which
    shared one rank: novelty was no more suspicious than an odd row."""
    tie = TieBreak.of(np.repeat([0.0, 1.0, 3.0], [90, 6, 4]), np.linspace(0, 1, 100))
    found = ranks(tie, np.arange(20.0), np.zeros(20))
    assert (np.diff(found[[0, 1, 3]]) > 0).all()
    assert (np.diff(found[3:]) > 0).all()


def test_many_values_keep_their_upper_end() -> None:
    scores = np.concatenate([np.zeros(900), np.arange(1.0, 1001)])
    tie = TieBreak.of(scores, np.linspace(0, 1, 100))
    assert len(tie.values) <= 256
    found = ranks(tie, np.array([0.0, 10, 500, 1000, 1200]), np.zeros(5))
    assert (np.diff(found) > 0).all()


@pytest.mark.parametrize("scale", [0.11, 1 / 3, 2.0])
def test_the_device_ranks_as_written_whatever_the_scale(scale: float) -> None:
    """Scores lay on knots, and fell on either side of them by rounding."""
    tap, logits = Tap("t", "int8", 1, scale, 5), Tap("logits", "int8", 2, 0.1, 0)
    codes = np.arange(-128, 128, dtype=np.int8)[:, None]
    rng = np.random.default_rng(0)
    rows = [codes, rng.integers(-128, 128, (256, 2)).astype(np.int8)]
    b = Builder([tap, logits], real=True)
    predicted = b.node("argmax", 1)
    softmax = softmax_odds(b, "logits", predicted)
    score = b.node("max", 0)
    real = [t.values(x) for t, x in zip((tap, logits), rows, strict=True)]
    odds = reference.run_real(b.program(predicted, []), real)[softmax][:, 0]
    tie = TieBreak.of(tap.values(codes)[:, 0], odds)
    ranked = tie.lower(b, Score(score), softmax)
    program = quantise(b.program(predicted, [Monitor("m", ranked.id, 0.0, 0.0)]))
    found = reference.evaluate(program, rows).scores[0] // STEPS
    np.testing.assert_array_equal(np.argsort(found, kind="stable"), np.arange(256))
    assert len(np.unique(found)) == 256


def test_ties_cost_power_where_the_threshold_would_lie() -> None:
    softmax = np.random.default_rng(0).random(1000)

    def cost(scores: np.ndarray, rate: float = 0.05) -> bool:
        return ties_cost_power(scores, softmax[: len(scores)], rate)

    assert cost(np.repeat([0, 1], [60, 40]))
    assert not cost(np.arange(1000))
    assert not cost(np.concatenate([np.zeros(500), np.arange(1, 501)]))
    assert cost(np.concatenate([np.arange(900), np.full(100, 1000)]))
    assert not cost(np.empty(0))
    # Upper values that are rare on the rows at hand may be common elsewhere.
    assert cost(np.repeat([0, 1, 2], [990, 5, 5]))


def test_what_the_softmax_cannot_tell_apart_is_left_alone() -> None:
    """A score of the softmax itself, with few values: its ties are the softmax's own."""
    coarse = np.repeat([0.0, 1.0], [60, 40])
    assert not ties_cost_power(coarse, 2 * coarse, 0.05)
