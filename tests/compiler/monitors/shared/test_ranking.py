"""Scores that do not vary are refused, and ranked ones say what they are worth themselves."""

from __future__ import annotations

import numpy as np
import pytest

from edgemon.compiler import fitting
from edgemon.compiler.data.splits import Splits
from edgemon.compiler.errors import CompileError
from edgemon.compiler.monitors.estimator import MonitorEstimator, Score
from edgemon.compiler.options import RULES
from edgemon.compiler.program.ir import Builder
from edgemon.compiler.promise.thresholds import FalseAlarmPromise
from edgemon.compiler.recording.recording import Recording
from edgemon.compiler.worth import UNMEASURED
from tests.compiler.recordings import recorded_splits


class Useless(MonitorEstimator):
    """A feature minus itself: the softmax, which ranks ties, gave it an AUROC of .910."""

    kind, what = "useless", "nothing"

    def __init__(self, taps: tuple[str, ...] = ("features",), times: float = 0.0) -> None:
        self.taps, self.times = taps, times

    def _fit(self, recording: Recording) -> None:
        """Nothing to learn."""

    def reason(self) -> str:
        return "{score}"

    def lower(self, builder: Builder, predicted: int) -> Score:  # noqa: ARG002
        x = builder.tap("features")
        weight = np.zeros((1, builder.value(x).length))
        weight[0, 0] = self.times
        node = builder.node("affine", x, tables=[weight.reshape(-1), np.zeros(1)])
        return Score(node)


class Coin(Useless):
    """Two values that have nothing to do with errors."""

    kind = "coin"

    def lower(self, builder: Builder, predicted: int) -> Score:  # noqa: ARG002
        x = builder.node("gather", builder.tap("features"), tables=[np.array([3], np.uint32)])
        return Score(builder.node("exceeds", x, tables=[np.array([2.0])]))


@pytest.fixture(scope="module", params=["int8", "float32"])
def splits(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> dict:  # type: ignore[type-arg]
    folder = tmp_path_factory.mktemp("rows")
    return recorded_splits(folder, request.param, 1500)


@pytest.mark.parametrize("rule", RULES)
def test_a_score_that_does_not_vary_is_refused(splits: Splits[Recording], rule: str) -> None:
    with pytest.raises(CompileError, match="useless: its score is the same for all 3,000 fit and"):
        fitting.fit_monitors(
            [Useless()], "output", splits, FalseAlarmPromise(), rule=rule, logits="logits"
        )


def test_a_rank_stands_beside_what_the_score_itself_is_worth(splits: Splits[Recording]) -> None:
    fitted = fitting.fit_monitors(
        [Coin()], "output", splits, FalseAlarmPromise(0.1, 0.9), rule="guaranteed", logits="logits"
    )
    (entry,) = [j.to_json(UNMEASURED) for j in fitted.judges]
    assert entry["ties_broken"]
    assert entry["auroc"] > entry["raw_auroc"] + 0.1
    assert abs(entry["raw_auroc"] - 0.5) < 0.1
    assert entry["raw_mcc"] is None or abs(entry["raw_mcc"]) < 0.1
