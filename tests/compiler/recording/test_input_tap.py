"""The model's own input as a tap: whoever runs the model has it, and no graph need give it back."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest

from edgemon.bench.benchmark import run_benchmark
from edgemon.compiler.bundle.bundle import Bundle
from edgemon.compiler.commands.verification import verify_bundle
from edgemon.compiler.data.sources import Sources
from edgemon.compiler.models import open_model, tap_rules
from edgemon.compiler.options import Options
from edgemon.compiler.pipeline import compile_bundle
from edgemon.runtime.formats import open_classifier
from edgemon.runtime.preprocess import INPUT
from edgemon.runtime.session import Session
from tests.tiny_onnx import write_tiny_onnx
from tests.tiny_tflite import write_tiny


@pytest.fixture(scope="module", params=["onnx", "tflite"])
def compiled(
    request: pytest.FixtureRequest, tiny_data: Path, tmp_path_factory: pytest.TempPathFactory
) -> tuple[Path, dict[str, Any]]:
    """A bundle that ``auto`` made of a model with a narrow input, and its manifest."""
    folder = tmp_path_factory.mktemp("input_tap")
    write = {"onnx": write_tiny_onnx, "tflite": write_tiny}[request.param]
    model = write(folder / f"tiny.{request.param}")
    manifest = compile_bundle(
        model, Sources(data=str(tiny_data)), folder / "bundle", Options(monitors="auto,forest")
    )
    return folder / "bundle", manifest


def test_the_default_command_works_on_a_narrow_input(
    compiled: tuple[Path, dict[str, Any]],
) -> None:
    """It ended with "choose a tensor that the model computes" on every ONNX file, though the user
    chose none."""
    path, manifest = compiled
    assert manifest["proof"]["mismatches"] == manifest["proof"]["output_mismatches"] == 0
    forest = next(m for m in manifest["monitors"] if m["name"] == "forest")
    assert "input" in forest["taps"]
    bundle = Bundle.open(path)
    at = {t.name: p for t, p in zip(bundle.model.taps, bundle.model.positions, strict=True)}
    assert at["input"] == INPUT
    if bundle.model.path.suffix == ".onnx":
        assert "input" not in {o.name for o in onnx.load(bundle.model.path).graph.output}


def test_session_and_workstation_read_the_same_input(
    compiled: tuple[Path, dict[str, Any]], tiny_data: Path
) -> None:
    path, _ = compiled
    verify_bundle(path, f"{tiny_data}[0:200]").require()
    images = np.load(tiny_data)["x"][:200]
    one_by_one = Session(path)
    each = [one_by_one.evaluate(x) for x in images]
    assert [r.monitors for r in each] == [r.monitors for r in Session(path).evaluate_batch(images)]
    # What the session says is what the recorded taps say.
    bundle = Bundle.open(path)
    classifier = open_classifier(bundle.model.path, kernels=bundle.artifact.metadata["kernels"])
    for x in images[:3]:
        classifier.invoke(x[None])
        np.testing.assert_array_equal(classifier.output(INPUT), x)


def test_the_benchmark_reads_it_too(compiled: tuple[Path, dict[str, Any]], tiny_data: Path) -> None:
    measured, _ = run_benchmark(compiled[0], str(tiny_data), limits=(), rounds=20)
    assert measured["overhead_ratio"] > 0


@pytest.mark.parametrize("write", [write_tiny_onnx, write_tiny])
def test_an_input_tap_adds_no_output(write: Callable[[Path], Path], tmp_path: Path) -> None:
    model = open_model(write(tmp_path / "model"), tmp_path)
    entry = tap_rules.narrow_input(model.graph)
    assert entry is not None
    tapped = model.with_taps((model.graph.tensors[model.graph.outputs[0]], entry), tmp_path / "out")
    assert tapped.positions == (0, INPUT)
    assert tapped.path.read_bytes() == model.content


@pytest.mark.parametrize("name", ["e7", "lr"])
def test_case_04_gives_a_bundle(name: str, shared: Path, tmp_path: Path) -> None:
    case = shared / "data" / "cases" / "04-auto-onnx-narrow-input"
    data = Sources(data=f"{case / 'e7.npz'}")
    manifest = compile_bundle(case / f"{name}.onnx", data, tmp_path / "bundle")
    assert manifest["proof"]["mismatches"] == 0
