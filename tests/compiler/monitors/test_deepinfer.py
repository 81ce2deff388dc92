"""The lowered monitor against the method in ``compiler.methods.deepinfer``."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from edgemon.compiler import reference
from edgemon.compiler.errors import CompileError
from edgemon.compiler.ir import Builder, Monitor
from edgemon.compiler.methods.deepinfer import COMPARATORS, DeepInfer, Precondition
from edgemon.compiler.monitors.deepinfer import DeepInferMonitor
from edgemon.compiler.passes.quantise import quantise
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
    b = Builder(fit.taps, real=True)
    predicted = b.node("argmax", b.tap("output"))
    s = monitor.lower(b, predicted)
    assert s.alarm_above is not None
    assert s.uncertain_above is not None
    program = quantise(b.program(predicted, [Monitor("d", s.id, s.alarm_above, s.uncertain_above)]))
    found = reference.evaluate(program, [test.codes(t.name) for t in program.taps])
    expected = monitor.rule_.verdicts(test.values("features"))
    np.testing.assert_array_equal(found.verdict, expected)


def test_too_many_features_are_refused() -> None:
    monitor = DeepInferMonitor(("features",))
    monitor.precondition_ = Precondition(np.zeros(600))
    monitor.rule_ = DeepInfer(np.zeros(600)).fit(np.eye(600) - 0.5)
    monitor.rule_.important_ = np.arange(600) < 300
    with pytest.raises(CompileError, match="600 features are too many"):
        monitor.lower(Builder([]), 0)
