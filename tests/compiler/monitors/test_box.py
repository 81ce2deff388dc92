"""Box bounds by hand."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from edgemon.compiler import reference
from edgemon.compiler.errors import CompileError
from edgemon.compiler.ir import Builder, Monitor
from edgemon.compiler.monitors.box import BoxMonitor
from edgemon.compiler.passes.quantise import quantise
from tests.compiler.recordings import make_recording


def test_fit_rows_are_inside_and_gamma_widens(tmp_path: Path) -> None:
    recording = make_recording(tmp_path, "int8", 600, 0)
    sizes = []
    for gamma in (0.0, 0.1, 0.35):
        box = BoxMonitor(("features",), gamma=gamma).fit(recording)
        (layer,) = box.layers_
        sizes.append((layer.upper_ - layer.lower_).sum())
        b = Builder(recording.taps, real=True)
        predicted = b.node("argmax", b.tap("output"))
        score = box.lower(b, predicted)
        program = quantise(b.program(predicted, [Monitor("box", score.id, 0.0, 0.0)]))
        rows = recording.take(np.flatnonzero(recording.correct))
        found = reference.evaluate(program, [rows.codes(t.name) for t in program.taps])
        assert (found.verdict == 0).all()
        assert (found.scores[0] <= 0).all()
    assert sizes[0] < sizes[1] < sizes[2]


def test_a_class_that_is_never_right_has_no_box_and_alarms(tmp_path: Path) -> None:
    recording = make_recording(tmp_path, "float32", 300, 0)
    assert recording.labels is not None
    recording.labels[recording.predicted == 2] = 0
    box = BoxMonitor(("features",)).fit(recording)
    assert box.details()["layers"][0]["classes_without_box"] == [2]


def test_nothing_right_is_refused(tmp_path: Path) -> None:
    recording = make_recording(tmp_path, "float32", 300, 0)
    assert recording.labels is not None
    recording.labels[:] = (recording.predicted + 1) % 4
    with pytest.raises(CompileError, match="no fit row is classified correctly"):
        BoxMonitor(("features",)).fit(recording)


def test_a_negative_gamma_is_refused(tmp_path: Path) -> None:
    with pytest.raises(CompileError, match="gamma=-1"):
        BoxMonitor(("features",), gamma=-1).fit(make_recording(tmp_path, "int8", 100, 0))
