"""An ONNX model all the way: compile, verify, run, bench."""

from __future__ import annotations

import shutil
from pathlib import Path

import numpy as np
import pytest

from edgemon.bench.benchmark import run_benchmark
from edgemon.compiler.bundle.bundle import Bundle
from edgemon.compiler.commands.inspection import describe_model
from edgemon.compiler.commands.verification import verify_bundle
from edgemon.compiler.data.sources import Sources
from edgemon.compiler.errors import ModelError
from edgemon.compiler.options import Options
from edgemon.compiler.pipeline import compile_bundle
from edgemon.runtime.errors import ArtifactError, BackendError
from edgemon.runtime.session import Session
from tests.tiny_onnx import write_conv_onnx, write_tiny_onnx


@pytest.fixture(scope="module")
def onnx_bundle(tiny_data: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("onnx")
    model = write_tiny_onnx(folder / "tiny.onnx")
    out = folder / "bundle"
    compile_bundle(model, Sources(data=str(tiny_data)), out, Options(monitors="softmax,box"))
    return out


def test_the_bundle_holds_the_onnx_model_and_says_what_runs_it(onnx_bundle: Path) -> None:
    bundle = Bundle.open(onnx_bundle)
    bundle.require_intact()
    assert (onnx_bundle / "model.tapped.onnx").is_file()
    assert not (onnx_bundle / "model.tapped.tflite").exists()
    assert bundle.artifact.metadata["kernels"] == "onnxruntime"
    assert bundle.manifest["model"]["file"] == "tiny.onnx"
    assert bundle.manifest["sha256"]["model.tapped.onnx"] == bundle.artifact.model_sha256


def test_it_gives_the_verdicts_of_the_same_model_in_tflite(
    onnx_bundle: Path, bundle: Path, tiny_data: Path
) -> None:
    images = np.load(tiny_data)["x"][:100]
    here, there = (Session(b).evaluate_batch(images) for b in (onnx_bundle, bundle))
    assert [r.prediction for r in here] == [r.prediction for r in there]
    for a, b in zip(here, there, strict=True):
        assert a.monitors[0].score == pytest.approx(b.monitors[0].score, abs=1e-5)


def test_it_is_proven_again_and_measured(onnx_bundle: Path, tiny_data: Path) -> None:
    verify_bundle(onnx_bundle, f"{tiny_data}[0:50]").require()
    measured, _ = run_benchmark(onnx_bundle, str(tiny_data), limits=(), rounds=20)
    assert measured["environment"]["interpreter"].startswith("onnxruntime ")


def test_another_model_or_kernel_set_is_refused(onnx_bundle: Path, tmp_path: Path) -> None:
    copy = Path(shutil.copytree(onnx_bundle, tmp_path / "copy"))
    with pytest.raises(BackendError, match="cannot run an ONNX model"):
        Session(copy, kernels="reference")
    with (copy / "model.tapped.onnx").open("ab") as file:
        file.write(b"\0")
    with pytest.raises(ArtifactError):
        Session(copy)


def test_inspect_shows_an_onnx_model(tmp_path: Path) -> None:
    found = describe_model(write_conv_onnx(tmp_path / "c.onnx"))
    assert (found["classes"], found["suggested_taps"]["gap"]) == (3, ["pooled"])


def test_convert_to_int8_is_refused_for_onnx(tiny_data: Path, tmp_path: Path) -> None:
    model = write_tiny_onnx(tmp_path / "t.onnx")
    with pytest.raises(ModelError, match="--convert int8 is for Keras models"):
        compile_bundle(
            model, Sources(data=str(tiny_data)), tmp_path / "out", Options(convert="int8")
        )
