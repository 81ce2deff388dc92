"""Rule tables against scikit-learn, and the vote."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pytest

from edgemon.compiler import reference
from edgemon.compiler.errors import CompileError
from edgemon.compiler.ir import Builder, Monitor
from edgemon.compiler.monitors.prophecy import ProphecyMonitor
from edgemon.compiler.passes.quantise import quantise
from tests.compiler.recordings import make_recording


@pytest.mark.parametrize("dtype", ["int8", "float32"])
@pytest.mark.parametrize(
    "taps", [("features",), ("features", "logits"), ("features", "logits", "output")]
)
def test_verdicts_are_scikit_learns_majority(
    tmp_path: Path, dtype: str, taps: tuple[str, ...]
) -> None:
    fit = make_recording(tmp_path / "fit", dtype, 1500, 0)
    test = make_recording(tmp_path / "test", dtype, 1500, 1)
    monitor = ProphecyMonitor(taps).fit(fit)
    b = Builder(fit.taps, real=True)
    predicted = b.node("argmax", b.tap("output"))
    s = monitor.lower(b, predicted)
    assert s.alarm_above is not None
    assert s.uncertain_above is not None
    program = quantise(b.program(predicted, [Monitor("p", s.id, s.alarm_above, s.uncertain_above)]))
    found = reference.evaluate(program, [test.codes(t.name) for t in program.taps])
    votes = np.array(
        [tree.predict(test.values(name)) for tree, name in zip(monitor.trees_, taps, strict=True)]
    )
    wrong = votes.sum(axis=0)
    expected = np.where(2 * wrong > len(taps), 2, np.where(2 * wrong == len(taps), 1, 0))
    np.testing.assert_array_equal(found.verdict, expected)
    assert (len(taps) % 2 == 0) == (1 in expected)


def test_trees_are_bounded_and_rules_are_readable(tmp_path: Path) -> None:
    fit = make_recording(tmp_path, "float32", 1500, 0)
    details = ProphecyMonitor(("features",), max_depth=3, max_leaves=5).fit(fit).details()
    assert details["layers"][0]["depth"] <= 3
    assert details["layers"][0]["leaves"] <= 5
    x, wrong = fit.values("features"), ~fit.correct
    for rule in details["rules"]:
        covered = np.ones(len(x), bool)
        for condition in rule["if"]:
            covered &= holds(condition, x)
        assert covered.sum() == pytest.approx(rule["support"], abs=2)
        assert wrong[covered].mean() == pytest.approx(rule["precision"], abs=0.02)


def holds(condition: str, x: npt.NDArray[np.float64]) -> npt.NDArray[np.bool_]:
    """Evaluates ``1 < x[3] <= 2``, ``x[3] <= 2`` or ``x[3] > 1`` as it is printed."""
    low, neuron, high = re.fullmatch(
        r"(?:(\S+) < )?x\[(\d+)\](?: <= (\S+))?(?: > \S+)?", condition
    ).groups()
    if " > " in condition:
        low = condition.split(" > ")[1]
    values = x[:, int(neuron)]
    return (values > float(low or -np.inf)) & (values <= float(high or np.inf))


def test_no_errors_to_learn_from_is_refused(tmp_path: Path) -> None:
    recording = make_recording(tmp_path, "int8", 200, 0)
    assert recording.labels is not None
    recording.labels[:] = recording.predicted
    with pytest.raises(CompileError, match="all 200 fit rows are classified correctly"):
        ProphecyMonitor(("features",)).fit(recording)
