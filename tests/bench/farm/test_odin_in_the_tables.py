"""The monitor odin in a benchmark: its float source, its companion in keys and costs."""

from __future__ import annotations

from pathlib import Path

import pytest

from edgemon.bench.farm.compiled import artifact
from edgemon.compiler.emit import flat
from edgemon.compiler.float_model import LEAST_AGREEMENT
from edgemon.compiler.program.ir import Builder, Monitor, Tap
from edgemon.runtime.monitor import CompanionInfo
from tests.command_line import document

SPEC = """
rows = 30
[faults]
fog = [3]
[[case]]
name = "resnet8"
model = "mlperf_tiny_resnet8_int8.tflite"
FLOAT
fit = "../cifar10_train20k.npz[0:300]"
calibrate = "../cifar10_test.npz[0:300]"
test = "../cifar10_test.npz[300:400]"
monitors = ["odin_t", "odin:eps=0.0025", "odin:eps=0.01"]
"""
FLOAT = 'float_model = "mlperf_tiny_resnet8_float.tflite"'


@pytest.fixture
def models(shared: Path) -> Path:
    return shared / "data" / "images" / "models"


def run(text: str, models: Path, folder: Path) -> dict[str, object]:
    spec = folder / "spec.toml"
    spec.write_text(text)
    found: dict[str, object] = document("farm", spec, "--root", models, "--out", folder / "out")
    return found


def monitors(found: dict[str, object]) -> dict[str, dict[str, object]]:
    return {m["monitor"]: m for m in found["monitors"]}  # type: ignore[attr-defined]


def test_a_companion_counts_and_another_one_is_another_case(models: Path, tmp_path: Path) -> None:
    found = run(SPEC.replace("FLOAT", FLOAT), models, tmp_path)
    by_name = monitors(found)
    small, large = by_name["odin:eps=0.0025"], by_name["odin:eps=0.01"]
    assert small["second_inference"]
    assert small["companion_bytes"] > 318_144  # type: ignore[operator] # that of the float model
    assert "companion_bytes" not in by_name["odin_t"]
    assert small["answers_shared_with_float_model"] > LEAST_AGREEMENT  # type: ignore[operator]
    assert "brings another companion" in str(large["left_out"])
    text = (tmp_path / "out" / "farm.md").read_text()
    assert "odin:eps=0.0025: beside that a companion model of" in text


def test_answers_are_kept_apart_by_companion() -> None:
    """The programs are the same, and the answers are not."""
    taps = [Tap("logits", "int8", 10, 0.1, -3), Tap("logits", "int8", 10, 0.1, -3, view="odin")]
    builder = Builder(taps)
    monitor = Monitor("odin", builder.node("max", 1), 0, 0)
    program = builder.program(builder.node("argmax", 0), [monitor])
    first, second = (artifact(program, [CompanionInfo("odin", 10, sha * 64)]) for sha in ("a", "b"))
    assert first != second
    assert flat.read(first).companions[0].sha256 == "a" * 64


def test_without_its_float_source_it_is_left_out(models: Path, tmp_path: Path) -> None:
    found = run(SPEC.replace("FLOAT", ""), models, tmp_path)
    assert "--float-model" in str(monitors(found)["odin:eps=0.0025"]["left_out"])
