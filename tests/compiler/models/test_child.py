"""Models in child processes: whatever one does is an error in one sentence (SEC12)."""

from __future__ import annotations

import sys
import time
from pathlib import Path

import pytest

from edgemon.compiler.errors import DataError, ModelError
from edgemon.compiler.models import child


def _program(monkeypatch: pytest.MonkeyPatch, text: str) -> None:
    monkeypatch.setattr(child, "COMMAND", (sys.executable, "-c", text))


def test_a_crash_is_one_sentence_with_the_signals_name(monkeypatch: pytest.MonkeyPatch) -> None:
    _program(monkeypatch, "import os; print('{\"rows\": 1}', flush=True); os.abort()")
    with pytest.raises(ModelError, match=r"m\.tflite: the model crashed .*SIGABRT"):
        child.run([{}], subject="m.tflite", silence_s=20)


def test_silence_ends_every_worker(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    alive = tmp_path / "alive"
    _program(
        monkeypatch,
        f"import time; time.sleep(1.5); open({str(alive)!r}, 'w').close(); time.sleep(60)",
    )
    with pytest.raises(ModelError, match="did not answer"):
        child.run([{}, {}], subject="m.tflite", silence_s=0.3)
    time.sleep(1.6)
    assert not alive.exists()


def test_a_worker_that_ends_its_output_but_not_itself_is_stopped(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    _program(monkeypatch, "import os, time; os.close(1); time.sleep(60)")
    with pytest.raises(ModelError, match="did not end"):
        child.run([{}], subject="m.tflite", silence_s=0.5)


def test_an_exception_shows_its_last_line(monkeypatch: pytest.MonkeyPatch) -> None:
    _program(monkeypatch, "raise ValueError('strange')")
    with pytest.raises(ModelError, match=r"ValueError: strange$"):
        child.run([{}], subject="m.tflite", silence_s=20)


def test_a_worker_that_reads_nothing_is_no_broken_pipe(monkeypatch: pytest.MonkeyPatch) -> None:
    _program(monkeypatch, "pass")
    with pytest.raises(ModelError, match="gave no reason"):
        child.run([{"big": "x" * (1 << 20)}], subject="m.tflite", silence_s=20)


def test_blame_decides_the_kind_of_error(monkeypatch: pytest.MonkeyPatch) -> None:
    _program(monkeypatch, """print('noise'); print('{"error": "row 3", "blames": "data"}')""")
    with pytest.raises(DataError, match=r"m\.tflite: row 3"):
        child.run([{}], subject="m.tflite", silence_s=20)


def test_progress_is_the_sum_over_workers(monkeypatch: pytest.MonkeyPatch) -> None:
    _program(
        monkeypatch,
        "import json, sys\n"
        "n = json.load(sys.stdin)['n']\n"
        "print(json.dumps({'done': n})); print(json.dumps({'rows': n}))",
    )
    seen: list[int] = []
    answers = child.run([{"n": 2}, {"n": 5}], subject="m", silence_s=20, progress=seen.append)
    assert answers == [{"rows": 2}, {"rows": 5}]
    assert seen[-1] == 7
    assert seen == sorted(seen)
