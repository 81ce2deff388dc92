"""The lowered monitor against the method in ``compiler.methods.prophecy``, and its rules."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pytest

from edgemon.compiler.data.splits import divide
from edgemon.compiler.errors import CompileError
from edgemon.compiler.monitors.prophecy import ProphecyMonitor
from edgemon.compiler.monitors.shared.tree_rules import sentence
from edgemon.compiler.recording.recording import Recording
from tests.compiler.monitors.scoring import evaluated
from tests.compiler.recordings import make_recording


@pytest.mark.parametrize("dtype", ["int8", "float32"])
@pytest.mark.parametrize(
    "taps", [("features",), ("features", "logits"), ("features", "logits", "output")]
)
@pytest.mark.parametrize(
    "settings",
    [
        {},
        {"prune": False},
        {"on_off": True},
        {"only_pure": True},
        {"on_off": True, "only_pure": True},
    ],
    ids=str,
)
def test_verdicts_are_the_methods(
    tmp_path: Path, dtype: str, taps: tuple[str, ...], settings: dict[str, bool]
) -> None:
    fit = make_recording(tmp_path / "fit", dtype, 1500, 0)
    test = make_recording(tmp_path / "test", dtype, 1500, 1)
    monitor = ProphecyMonitor(taps, **settings).fit(fit)
    found = evaluated(monitor, test)
    layers = [test.values(name) for name in taps]
    expected = monitor.method_.verdicts(layers)
    np.testing.assert_array_equal(found.verdict, expected)
    if not settings:
        assert (len(taps) % 2 == 0) == (1 in expected)
        votes = np.sum(
            [t.predict(x) for t, x in zip(monitor.method_.trees_, layers, strict=True)], axis=0
        )
        majority = np.sign(2 * votes - len(taps)) + 1
        np.testing.assert_array_equal(found.verdict, majority)
    if settings.get("only_pure"):
        assert 1 in expected


def test_a_feature_map_is_read_by_its_channels(tmp_path: Path) -> None:
    fit = with_map(make_recording(tmp_path / "fit", "int8", 1500, 0))
    test = with_map(make_recording(tmp_path / "test", "int8", 700, 1))
    monitor = ProphecyMonitor(("features",)).fit(fit)
    expected = monitor.method_.verdicts([test.features("features")])
    np.testing.assert_array_equal(evaluated(monitor, test).verdict, expected)
    conditions = [c for rule in monitor.details()["rules"] for c in rule["if"]]
    assert conditions
    assert all(re.search(r"channel\[[0-3]\]", c) for c in conditions)


def with_map(recording: Recording) -> Recording:
    """The features as a feature map of four channels."""
    taps = [replace(t, channels=4) if t.name == "features" else t for t in recording.taps]
    return replace(recording, taps=tuple(taps))


def test_pruning_makes_trees_smaller(tmp_path: Path) -> None:
    fit = make_recording(tmp_path, "float32", 3000, 0)
    sizes = [
        ProphecyMonitor(("features",), prune=prune, max_depth=12, max_leaves=256)
        .fit(fit)
        .details()["layers"][0]
        for prune in (True, False)
    ]
    assert sizes[0]["leaves"] < sizes[1]["leaves"]
    assert sizes[0]["pruned_by"] > 0 == sizes[1]["pruned_by"]


@pytest.mark.parametrize("on_off", [False, True])
def test_trees_are_bounded_and_rules_are_readable(tmp_path: Path, on_off: bool) -> None:
    """Each rule, read as it is printed, covers as many rows as it states, as precisely."""
    fit = make_recording(tmp_path, "float32", 1500, 0)
    monitor = ProphecyMonitor(("features",), max_depth=3, max_leaves=5, on_off=on_off).fit(fit)
    details = monitor.details()
    assert details["layers"][0]["depth"] <= 3
    assert details["layers"][0]["leaves"] <= 5
    assert details["validation_rows"] == 300
    x, wrong = fit.values("features"), ~fit.correct
    total = np.zeros(len(x), int)
    for rule in details["rules"]:
        covered = np.ones(len(x), bool)
        for condition in rule["if"]:
            covered &= holds(condition, x)
        total += covered
        true = wrong if rule["then"] == "wrong" else ~wrong
        parts = [(rule["support"], rule["precision"])]
        parts.append((rule["validation_support"], rule["validation_precision"]))
        assert covered.sum() == pytest.approx(sum(n for n, _ in parts), abs=2)
        expected = sum(n * (p or 0) for n, p in parts)
        assert true[covered].sum() == pytest.approx(expected, abs=2)
    assert (total == 1).mean() > 0.99  # six digits are printed
    assert {rule["then"] for rule in details["rules"]} == {"wrong", "right"}
    if on_off:
        assert all(re.fullmatch(r"x\[\d+\] (<=|>) 0", c) for r in details["rules"] for c in r["if"])


def test_too_few_errors_to_divide_leave_no_validation(tmp_path: Path) -> None:
    recording = make_recording(tmp_path, "int8", 200, 0)
    assert recording.labels is not None
    recording.labels[:] = recording.predicted
    recording.labels[:2] = (recording.labels[:2] + 1) % 4
    monitor = ProphecyMonitor(("features",), min_rows=1).fit(recording)
    assert monitor.details()["validation_rows"] == 0
    assert {r["validation_precision"] for r in monitor.details()["rules"]} == {None}
    assert sentence(monitor.details()["rules"][0]).endswith("; validation: 0 rows)")


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


def test_validation_rows_are_whole_groups(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    rows = make_recording(tmp_path, "int8", 1200, 1)
    rows = replace(rows, groups=np.arange(1200) // 6)
    taken: list[npt.NDArray[np.int64]] = []
    monkeypatch.setattr(
        "edgemon.compiler.monitors.prophecy.divide",
        lambda *a: taken.extend(divide(*a)) or tuple(taken[-2:]),
    )
    monitor = ProphecyMonitor(taps=("features",)).fit(rows)
    train, held_out = taken
    assert not np.isin(train // 6, held_out // 6).any()
    assert monitor.details()["validation_rows"] == len(held_out)
    # Of few groups none can be spared.
    few = replace(rows, groups=np.zeros(1200, np.int64))
    assert ProphecyMonitor(taps=("features",)).fit(few).details()["validation_rows"] == 0
