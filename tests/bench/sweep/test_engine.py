"""Steps of a sweep: the same in order, wherever they are done, and found again."""

from __future__ import annotations

import os
import signal
from dataclasses import dataclass
from pathlib import Path

import pytest

from edgemon.bench.errors import BenchError
from edgemon.bench.sweep import content
from edgemon.bench.sweep.engine import LOSSES, Engine
from edgemon.bench.sweep.store import stored
from edgemon.compiler.reporter import Reporter
from tests.command_line import document
from tests.conftest import DEMO


@dataclass(frozen=True)
class Square:
    """Writes n * n; ``deadly``: so often its process is lost first."""

    n: int
    store: Path
    deadly: int = 0

    @property
    def key(self) -> str:
        return str(self.n)

    @property
    def file(self) -> Path:
        return self.store / self.key


def here(step: Square) -> int | str:
    if not step.file.is_file():
        if step.n < 0:
            return "no root"
        step.file.write_text(str(step.n * step.n))
    return int(step.file.read_text())


def there(step: Square) -> str:
    losses = step.file.with_suffix(".lost")
    before = losses.stat().st_size if losses.exists() else 0
    if before < step.deadly:
        losses.write_bytes(b"x" * (before + 1))
        os.kill(os.getpid(), signal.SIGKILL)
    found = here(step)
    return found if isinstance(found, str) else ""


def test_answers_come_in_the_order_of_the_steps(tmp_path: Path) -> None:
    steps = [Square(n, tmp_path) for n in (5, -1, 3, 4)]
    wanted = [25, "no root", 9, 16]
    for engine in (Engine(), Engine(jobs=3)):
        assert list(engine.each(steps, here, there, "squares", Reporter())) == wanted
        for file in tmp_path.iterdir():
            file.unlink()


def test_a_process_that_is_lost_costs_its_step(tmp_path: Path) -> None:
    steps = [Square(n, tmp_path, deadly=n == 2) for n in range(5)]
    found = list(Engine(jobs=2).each(steps, here, there, "squares", Reporter()))
    assert found == [0, 1, 4, 9, 16]
    assert (tmp_path / "2.lost").stat().st_size == 1


def test_a_step_that_always_loses_its_process_ends_in_a_sentence(tmp_path: Path) -> None:
    steps = [Square(n, tmp_path, deadly=99 * (n == 2)) for n in range(3)]
    with pytest.raises(BenchError, match=f"lost {LOSSES} times"):
        list(Engine(jobs=2).each(steps, here, there, "squares", Reporter()))


def test_a_key_is_of_content(tmp_path: Path) -> None:
    folder, file = tmp_path / "images", tmp_path / "model"
    folder.mkdir()
    (folder / "a.png").write_bytes(b"a")
    file.write_bytes(b"model")
    own = content.key("step", [folder, file])
    assert content.key("step", [folder, file]) == own
    assert content.key("other", [folder, file]) != own
    (folder / "b.png").write_bytes(b"b")
    grown = content.key("step", [folder, file])
    assert grown != own
    file.write_bytes(b"another")
    assert content.key("step", [folder, file]) != grown


def test_a_scheduler_needs_a_folder_that_its_workers_see() -> None:
    with (
        pytest.raises(BenchError, match="needs --store FOLDER"),
        stored(Engine("tcp://127.0.0.1:9"), None),
    ):
        pass


SPEC = """
[defaults]
model = "digits_int8.tflite"
fit = "digits.npz[0:500]"
pool = "digits.npz[500:1395]"
monitors = ["msp_t", "softmax"]
resplits = 2
[[case]]
name = "first"
[[case]]
name = "second"
resplits = 3
"""


def test_compare_by_processes_and_from_the_store(tmp_path: Path) -> None:
    """All but times: they are measured."""

    def quality(found: object) -> str:
        text = str(found)
        return text.replace(str(tmp_path), "")

    spec, store = tmp_path / "spec.toml", tmp_path / "store"
    spec.write_text(SPEC)
    run = ("compare", spec, "--root", DEMO)
    two = document(*run, "--store", store, "--jobs", "2")
    again = document(*run, "--store", store)
    assert quality(two) == quality(again)  # times too: nothing was done again
    assert len(list(store.glob("*.json"))) == 2
    one = document(*run)
    for found in (one, two):
        for case in found["cases"]:
            case.pop("model_us")
            for monitor in case["monitors"]:
                monitor.pop("nanoseconds")
                monitor.pop("share_of_model")
        found.pop("groups")
    assert one == two
