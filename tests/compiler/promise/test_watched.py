"""Which score the drift test watches, and that choosing takes nothing from its promise."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from edgemon.compiler import drift_changes
from edgemon.compiler.promise.drift import watched
from edgemon.compiler.promise.drift.choice import design_half, fit_drift
from edgemon.compiler.reporter import Reporter
from edgemon.runtime.evaluation import Verdict

ROWS = 1000


def rows(shifts: tuple[float, float], right: float, seed: int) -> Any:
    """Recorded rows, whose two scores have these means."""
    rng = np.random.default_rng(seed)
    scores = [np.float32(rng.normal(size=ROWS) + shift) for shift in shifts]
    verdicts = np.full((ROWS, 2), Verdict.TRUST)
    return SimpleNamespace(
        correct=rng.random(ROWS) < right, scores=scores, verdicts=verdicts, groups=None
    )


def choose(changed: list[tuple[str, Any]], monkeypatch: pytest.MonkeyPatch) -> watched.Watched:
    monkeypatch.setattr(watched, "evaluate", lambda _, found: found)
    names = ("errors", "errors.density")
    program: Any = SimpleNamespace(
        monitors=[SimpleNamespace(name=n, alarm_above=1.6) for n in names]
    )
    return watched.choose(
        program, 1, 0, rows((0, 0), 0.9, 1), 0.9, changed, run_length=10_000, confidence=0.95
    )


def test_the_score_that_sees_most_is_watched(monkeypatch: pytest.MonkeyPatch) -> None:
    """The fusion was watched always, also where a signal inside it sees a change much sooner."""
    found = choose([("fog=3", rows((0.1, 1.0), 0.7, 2))], monkeypatch)
    assert found.monitor == 1
    fusion, signal = map(watched.mean_images, found.considered)
    assert 10 < signal < 100 < fusion
    assert found.changes == ("fog=3",)
    drift: Any = {**vars(found), "monitor": "errors.density"}
    assert watched.sentence(drift).startswith("it watches errors.density: on changed copies")

    none: Any = {
        **drift,
        "considered": ({"monitor": "errors", "images": None}, found.considered[1]),
    }
    assert watched.sentence(none).endswith("there is no test of errors")


@pytest.mark.parametrize(
    "changed",
    [
        [],
        [("fog=1", rows((0.1, 1.0), 0.9, 2))],  # costs no accuracy
        [("fog=3", rows((1.0, 1.0), 0.7, 2))],  # both see it
    ],
)
def test_the_promised_one_stays_unless_another_is_clearly_sooner(
    changed: list[tuple[str, Any]], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert choose(changed, monkeypatch).monitor == 0


def test_a_signal_without_a_threshold_has_a_test() -> None:
    scores = np.float32(np.random.default_rng(0).normal(size=4000))
    found = fit_drift(scores, None, 3, run_length=10_000, confidence=0.95, seed=0)
    assert found is not None
    assert found.test.monitor == 3
    assert "more alarms" not in found.alternatives


def test_what_the_choice_sees_says_nothing_of_the_bounds() -> None:
    """Rows that bound false flags may be anything: edges come from the design half alone."""
    scores = np.float32(np.random.default_rng(0).normal(size=4000))
    design = design_half(len(scores), 5)
    other = np.where(design, scores, scores[::-1])
    tests = [
        fit_drift(np.float32(s), 1.6, 0, run_length=10_000, confidence=0.95, seed=5)
        for s in (scores, other)
    ]
    assert all(t is not None for t in tests)
    first, second = (t.test.edges for t in tests if t is not None)
    assert (first == second).all()


def test_only_rows_that_design_the_test_choose_its_score(monkeypatch: pytest.MonkeyPatch) -> None:
    """The rows that bound false flags would bound them no more."""
    everything = Recorded(np.arange(1000))
    design = design_half(1000, 0, None)
    given: dict[str, Any] = {}

    def choosing(*args: Any, **_: Any) -> watched.Watched:
        given["design"], given["changed"] = (
            args[3].rows,
            np.concatenate([c.rows for _, c in args[5]]),
        )
        return watched.Watched(0)

    class Maker:
        def __init__(self, own: Any, *_: Any) -> None:
            self.own = own

        def dataset(self, changes: list[Any]) -> np.ndarray:
            return np.tile(self.own.rows, len(changes))

    monkeypatch.setattr(drift_changes, "choose", choosing)
    monkeypatch.setattr(drift_changes, "Maker", Maker)
    fitted: Any = SimpleNamespace(
        promised=(0,), judges=[0], threshold_rows=everything,
        program=SimpleNamespace(monitors=[0, 1]),
    )  # fmt: skip
    recorder: Any = SimpleNamespace(record=lambda _tapped, rows, _progress: Recorded(rows))
    options: Any = SimpleNamespace(
        drift_run_length=10_000, seed=0, full_scale=255, promise=SimpleNamespace(confidence=0.95)
    )
    data: Any = Recorded(np.arange(1000))
    drift_changes.watch(fitted, recorder, None, data, options, Reporter())
    assert set(given["design"]) == set(np.flatnonzero(design))
    assert set(given["changed"]) <= set(np.flatnonzero(design))
    assert len(given["changed"])


class Recorded:
    """Rows by their numbers; as data they are images."""

    dtype, shape, groups = np.dtype(np.uint8), (1000, 8, 8, 3), None

    def __init__(self, rows: np.ndarray) -> None:
        self.rows, self.correct = rows, np.ones(len(rows), bool)

    def __len__(self) -> int:
        return len(self.rows)

    def take(self, index: np.ndarray) -> Recorded:
        return Recorded(self.rows[index])

    def blocks(self, count: int) -> Any:
        yield np.full((count, 8, 8, 3), 255, np.uint8)
