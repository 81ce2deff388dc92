"""The recorder of one compile: it starts no more workers than rows are worth, records no rows twice
that it has, and finds outputs that tapping changes."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from edgemon.compiler.data.classes import Classes
from edgemon.compiler.data.loading import load
from edgemon.compiler.data.sources import Sources
from edgemon.compiler.data.splits import Splits
from edgemon.compiler.errors import ParityError
from edgemon.compiler.models import child
from edgemon.compiler.models.tap_rules import choose
from edgemon.compiler.models.tflite_model import TfliteModel
from edgemon.compiler.options import Options
from edgemon.compiler.pipeline import compile_bundle
from edgemon.compiler.recording import recorder as module
from edgemon.compiler.recording.recorder import Recorder
from edgemon.runtime.preprocess import Preprocess

Jobs = list[list[dict[str, Any]]]


@pytest.fixture
def jobs(monkeypatch: pytest.MonkeyPatch) -> Jobs:
    """The jobs of each run of workers."""
    run, seen = child.run, Jobs()

    def watched(jobs: list[dict[str, Any]], **options: Any) -> Any:
        seen.append(list(jobs))
        return run(jobs, **options)

    monkeypatch.setattr(child, "run", watched)
    return seen


@pytest.fixture
def recorder(tiny: Callable[..., Path], tmp_path: Path) -> Recorder:
    return Recorder(
        TfliteModel.open(tiny()), tmp_path, Preprocess(), "xnnpack",
        Classes(("0", "1", "2"), (0, 1, 2)), workers=2, seed=0,
    )  # fmt: skip


def test_a_worker_more_has_to_be_worth_its_start(
    recorder: Recorder, tiny_data: Path, tmp_path: Path, jobs: Jobs, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each compile of a small model once started some twenty, which took longer than their work."""
    rows, untapped = load(str(tiny_data), tmp_path), recorder.model.untapped()
    first, second = (recorder.record(untapped, rows) for _ in range(2))
    monkeypatch.setattr(module, "WORKER_S", 1e-9)
    recorder.record(untapped, rows)
    assert [len(run) for run in jobs] == [2, 1, 2], "unknown, 900 rows of little work, and of much"
    assert first.row_s > 0
    np.testing.assert_array_equal(first.codes("probabilities"), second.codes("probabilities"))


def test_a_compile_runs_the_model_once_on_the_same_rows(
    tiny: Callable[..., Path], tiny_data: Path, tmp_path: Path, jobs: Jobs
) -> None:
    """The output under all taps was once recorded again, to be compared with that without."""
    options = Options(monitors="softmax")
    compile_bundle(tiny(), Sources(data=str(tiny_data)), tmp_path / "b", options)
    tasks = [run[0]["task"] for run in jobs]
    # The first look, which here is of all test rows; the taps tried; the three parts.
    assert tasks.count("record") == 5
    assert sum(map(len, jobs)) <= len(jobs) + 1


def test_an_output_that_tapping_changed_is_found(
    recorder: Recorder, tiny_data: Path, tmp_path: Path
) -> None:
    rows = load(str(tiny_data), tmp_path)
    graph = recorder.model.graph
    taps = (*choose(graph, "output"), *choose(graph, "hidden"))
    recorded = recorder.record(recorder.model.with_taps(taps, tmp_path / "tapped.tflite"), rows)
    found = recorder.compare_outputs(recorded, rows)
    assert found == {"output_rows": 900, "output_mismatches": 0}
    values = np.load(recorded.files[0].path, mmap_mode="r+")
    values[[3, 800], 1] += 1
    values.flush()
    with pytest.raises(ParityError, match="changed the model's output on 2 of 900 rows"):
        recorder.compare_outputs(recorded, rows)


def test_what_the_first_look_recorded_is_not_recorded_again(
    recorder: Recorder, tiny_data: Path, tmp_path: Path, jobs: Jobs
) -> None:
    rows = load(str(tiny_data), tmp_path)
    recorder.look(Splits(rows.take(range(300)), rows.take(range(300, 600)), rows))
    before = len(jobs)
    changed = recorder.changed_by(rows)
    assert len(jobs) == before
    assert changed(choose(recorder.model.graph, "output")) == 0
    other = rows.take(np.arange(800, 900))
    recorder.changed_by(other)
    assert len(jobs) == before + 2, "one of the taps, and one of other rows"


def test_a_worker_imports_nothing_that_takes_long() -> None:
    code = (
        "import sys, edgemon.compiler.models.worker; print([m for m in "
        "('importlib.metadata', 'scipy', 'sklearn', 'onnx', 'rich') if m in sys.modules])"
    )
    command = [sys.executable, "-P", "-c", code]
    said = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    assert said.strip() == "[]"
