"""Activation patterns by hand: bits, distances, choice of neurons, and bad settings."""

from __future__ import annotations

from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from edgemon.compiler import fitting
from edgemon.compiler.data.row_file import RowFile
from edgemon.compiler.data.splits import Splits
from edgemon.compiler.emit import flat
from edgemon.compiler.errors import CompileError
from edgemon.compiler.models import open_model
from edgemon.compiler.monitors import parse
from edgemon.compiler.monitors.pattern import SAYS_NOTHING, PatternMonitor
from edgemon.compiler.program import reference
from edgemon.compiler.program.ir import Builder, Tap
from edgemon.compiler.program.ops.classes import MAX_PATTERN
from edgemon.compiler.program.patterns import bdd_nodes, packed, unpacked
from edgemon.compiler.promise.thresholds import FalseAlarmPromise
from edgemon.compiler.recording.recording import Recording
from tests.compiler.recordings import CLASSES, WIDTH, make_recording
from tests.conftest import DEMO

TAPS = ("features",)


def distances(monitor: PatternMonitor, rows: Recording) -> Any:
    """Scores (n,) of the real program."""
    b = Builder(rows.taps, real=True)
    predicted = b.node("argmax", b.tap("output"))
    score = monitor.lower(b, predicted)
    program = b.program(predicted, [])
    return reference.run_real(program, [rows.values(t.name) for t in rows.taps])[score.id][:, 0]


@pytest.mark.parametrize("dtype", ["int8", "float32"])
@pytest.mark.parametrize("threshold", ["zero", "median"])
@pytest.mark.parametrize("neurons", [0, 5])
def test_the_score_is_the_smallest_distance_by_definition(
    tmp_path: Path, dtype: str, threshold: str, neurons: int
) -> None:
    fit, test = (make_recording(tmp_path / n, dtype, 300, i) for i, n in enumerate("ab"))
    kernel = np.random.default_rng(0).normal(0, 1, (WIDTH, CLASSES))
    monitor = PatternMonitor(
        TAPS, head=(("features", kernel),), threshold=threshold, neurons=neurons, per_class=1000
    ).fit(fit)
    x, y = (r.values("features") for r in (fit, test))
    limit = np.median(x, axis=0) if threshold == "median" else 0.0
    found = distances(monitor, test)
    for row in range(0, 300, 7):
        c = test.predicted[row]
        chosen = np.argsort(-np.abs(kernel[:, c]))[: neurons or WIDTH]
        known = (x > limit)[fit.correct & (fit.predicted == c)][:, chosen]
        assert found[row] == (known != (y[row] > limit)[chosen]).sum(axis=1).min()
    splits = Splits(fit, fit, test)
    fitted = fitting.fit_monitors([monitor], "output", splits, FalseAlarmPromise())
    np.testing.assert_array_equal(fitted.on_test.scores[0], found)
    assert fitted.judges[0].monitor.alarm_above == 0
    artifact = flat.read(flat.write(flat.Artifact(fitted.program, "00" * 32, {})))
    np.testing.assert_array_equal(
        reference.evaluate(artifact.program, [test.codes(t.name) for t in artifact.program.taps])
        .scores[0],
        found,
    )  # fmt: skip


def test_a_class_without_a_pattern_is_further_than_any(tmp_path: Path) -> None:
    rows = make_recording(tmp_path, "int8", 300, 0)
    monitor = PatternMonitor(TAPS).fit(rows.take(np.flatnonzero(rows.predicted != 2)))
    found = distances(monitor, rows)
    assert (found[rows.predicted == 2] == WIDTH + 1).all()
    assert (found[rows.predicted != 2] <= WIDTH).all()


def test_few_patterns_are_typical_ones(tmp_path: Path) -> None:
    rows = make_recording(tmp_path, "int8", 2000, 0)
    few, more, every = (PatternMonitor(TAPS, per_class=n).fit(rows) for n in (1, 8, 5000))
    for small, middle, all_ in zip(few.patterns_, more.patterns_, every.patterns_, strict=True):
        assert len(small) == 1
        assert 1 < len(middle) <= 8 < len(all_)
        for kept in (small, middle):  # medoids: patterns that occurred
            assert {p.tobytes() for p in kept} <= {p.tobytes() for p in all_}
    mean = [distances(m, rows).mean() for m in (few, more, every)]
    assert mean[0] > mean[1] > mean[2]


def test_bits_that_are_nearly_all_on_are_reported(tmp_path: Path) -> None:
    rows = make_recording(tmp_path, "int8", 300, 0)
    assert "warning" not in PatternMonitor(TAPS, threshold="zero").fit(rows).details()
    tap = Tap("features", "int8", 3, 0.1, -128)
    file = RowFile.create(tmp_path / "on.npy", (300, 3), "int8")
    file.write(0, np.full((300, 3), 5, np.int8))
    output, labels = rows.tap("output"), rows.labels
    on = Recording((output, tap), (rows.files[0], file), rows.rows, rows.predicted, labels, CLASSES)
    details = PatternMonitor(TAPS, threshold="zero").fit(on).details()
    assert details["warning"] == SAYS_NOTHING
    assert details["bits_on"] == 1.0
    assert details["patterns"] == CLASSES


@pytest.mark.parametrize("length", [1, 31, 32, 33, 70])
def test_packing_is_reversible_and_pads_with_zeros(length: int) -> None:
    bits = np.random.default_rng(length).random((9, length)) < 0.5
    words = packed(bits)
    assert words.size == 9 * -(-length // 32)
    np.testing.assert_array_equal(unpacked(words, length), bits)
    assert packed(np.ones((1, length), bool))[-1] == (1 << ((length - 1) % 32 + 1)) - 1
    assert unpacked(packed(np.zeros((0, length), bool)), length).shape == (0, length)


def nodes_by_definition(patterns: set[tuple[bool, ...]], length: int) -> int:
    """Bryant: distinct functions of the last bits that depend on the first of these."""
    found = set()
    for bit in range(length):
        for start in product((False, True), repeat=bit):
            ends = {p[bit:] for p in patterns if p[:bit] == start}
            low, high = ({e[1:] for e in ends if e[0] == b} for b in (False, True))
            if low != high:
                found.add((bit, frozenset(ends)))
    return len(found)


@pytest.mark.parametrize("seed", range(20))
def test_the_size_of_a_decision_diagram(seed: int) -> None:
    rng = np.random.default_rng(seed)
    length = int(rng.integers(1, 7))
    bits = rng.random((int(rng.integers(1, 40)), length)) < 0.5
    assert bdd_nodes(bits) == nodes_by_definition({tuple(b) for b in bits.tolist()}, length)
    every = np.array(list(product((False, True), repeat=length)))
    assert bdd_nodes(every) == 0  # the constant function
    assert bdd_nodes(np.zeros((0, length), bool)) == 0


def test_mistakes_are_one_sentence(tmp_path: Path) -> None:
    rows = make_recording(tmp_path, "int8", 300, 0)
    with pytest.raises(CompileError, match="threshold='mean' is unknown; use zero, median"):
        parse("pattern:threshold=mean")
    with pytest.raises(CompileError, match="does not feed the last dense layer"):
        PatternMonitor(TAPS, neurons=4).fit(rows)
    wrong = rows.take(np.flatnonzero(~rows.correct))
    with pytest.raises(CompileError, match="no fit row is classified correctly"):
        PatternMonitor(TAPS).fit(wrong)
    tap = Tap("features", "int8", MAX_PATTERN + 1, 0.1)
    file = RowFile.create(tmp_path / "wide.npy", (300, tap.length), "int8")
    wide = Recording((tap,), (file,), rows.rows, rows.predicted, rows.labels, CLASSES)
    with pytest.raises(CompileError, match="has 2049 neurons, but a pattern at most 2048"):
        PatternMonitor(TAPS).fit(wide)


def test_the_last_layer_of_a_model_ranks_neurons(tmp_path: Path) -> None:
    model = open_model(DEMO / "digits_int8.tflite", tmp_path)
    (monitor,) = parse("pattern:neurons=7:gamma=1")
    assert isinstance(monitor, PatternMonitor)
    found = monitor.analyse(model)
    assert found.taps == ("penultimate",)
    ((_, kernel),) = found.parameters["head"]
    assert kernel.shape[1] == 8
