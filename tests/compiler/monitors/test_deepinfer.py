"""The lowered monitor against the method in ``compiler.methods.deepinfer``."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from edgemon.compiler.errors import CompileError
from edgemon.compiler.methods.deepinfer import COMPARATORS, DeepInfer, Precondition
from edgemon.compiler.monitors.deepinfer import DeepInferMonitor
from edgemon.compiler.program import reference
from edgemon.compiler.program.ir import Builder, Monitor, Tap
from edgemon.compiler.program.quantise import quantise
from tests.compiler.monitors.scoring import evaluated
from tests.compiler.recordings import WIDTH, make_recording


@pytest.mark.parametrize("dtype", ["int8", "float32"])
@pytest.mark.parametrize("comparator", sorted(COMPARATORS))
@pytest.mark.parametrize("special", [None, np.nan, np.inf, -np.inf])
def test_verdicts_are_the_methods(
    tmp_path: Path, dtype: str, comparator: str, special: float | None
) -> None:
    fit = make_recording(tmp_path / "fit", dtype, 400, 0)
    test = make_recording(tmp_path / "test", dtype, 700, 1)
    # Bounds on values that occur, so that equality is met.
    bounds = np.median(fit.values("features"), axis=0)
    bounds[: WIDTH // 2] = fit.values("features")[7, : WIDTH // 2]
    if special is not None:
        bounds[3] = special
    monitor = DeepInferMonitor(("features",), comparator=comparator)
    monitor.precondition_ = Precondition(bounds)
    monitor.rule_ = DeepInfer(bounds, comparator).fit(fit.values("features"))
    found = evaluated(monitor, test)
    expected = monitor.rule_.verdicts(test.values("features"))
    np.testing.assert_array_equal(found.verdict, expected)


@pytest.mark.parametrize("dtype", ["int8", "float32"])
@pytest.mark.parametrize(("features", "important"), [(1, 1), (5, 0), (600, 300), (1500, 1499)])
def test_any_number_of_features(dtype: str, features: int, important: int) -> None:
    """A few rows of each pair of counts near the threshold, and random ones."""
    rng = np.random.default_rng(features)
    scale, zero = (1.0, 0) if dtype == "float32" else (0.5, -3)
    tap, output = Tap("x", dtype, features, scale, zero), Tap("output", dtype, 2, scale, zero)
    monitor = DeepInferMonitor(("x",))
    monitor.precondition_ = Precondition(np.zeros(features))
    monitor.rule_ = DeepInfer(np.zeros(features)).fit(np.zeros((1, features)))
    monitor.rule_.important_ = rng.permutation(features) < important
    share = rng.uniform(0, 1, (900, 2))
    share[:300] = rng.choice([0.0, 1.0], (300, 2))
    chance = np.where(monitor.rule_.important_, share[:, :1], share[:, 1:])
    x = tap.values(np.full(chance.shape, zero - 1) + 2 * (rng.random(chance.shape) > chance))
    seen: set[int] = set()
    # The threshold between counts that occur, and on one.
    for threshold in (*np.quantile((x < 0).sum(axis=1), [0.3, 0.5]) + 0.5, features // 2):
        monitor.rule_.threshold_ = float(threshold)
        b = Builder([output, tap], real=True)
        predicted = b.node("argmax", b.tap("output"))
        s = monitor.lower(b, predicted)
        assert s.alarm_above is not None
        assert s.uncertain_above is not None
        rule = Monitor("d", s.id, s.alarm_above, s.uncertain_above)
        codes = (x / scale + zero).astype(dtype)
        program = quantise(b.program(predicted, [rule]))
        found = reference.evaluate(program, [np.zeros((900, 2), dtype), codes])
        np.testing.assert_array_equal(found.verdict, monitor.rule_.verdicts(x))
        seen |= set(found.verdict.tolist())
        graded = monitor.rule_.scores(x)
        for verdict in (0, 2):
            rows = found.verdict == verdict
            order = np.argsort(found.scores[0][rows], kind="stable")
            assert (np.diff(graded[rows][order]) >= -1).all()  # whole features
    if important == 300:
        assert seen == {0, 1, 2}


def test_too_many_features_are_refused() -> None:
    monitor = DeepInferMonitor(("features",))
    monitor.rule_ = DeepInfer(np.zeros(30_000)).fit(np.zeros((1, 30_000)))
    with pytest.raises(CompileError, match="30000 inputs, but at most 21845"):
        monitor.lower(Builder([]), 0)
