"""ODIN with its gradient on its whole way: companion, recording, program, session."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from edgemon.compiler.bundle.bundle import Bundle
from edgemon.compiler.commands.verification import verify_bundle
from edgemon.compiler.errors import CompileError
from edgemon.compiler.models import open_model
from edgemon.compiler.monitors import MONITORS
from edgemon.compiler.monitors.odin import code_of, steps_of
from edgemon.runtime.preprocess import InputSpec, Preprocess
from edgemon.runtime.session import Session
from tests.command_line import edgemon, refused
from tests.tiny_onnx import write_quantised_onnx, write_tiny_onnx
from tests.tiny_tflite import W1, W2, write_tiny

WRITERS = {"tflite": write_tiny, "onnx": write_tiny_onnx}


@pytest.fixture(scope="module", params=WRITERS)
def made(
    request: pytest.FixtureRequest, tiny_data: Path, tmp_path_factory: pytest.TempPathFactory
) -> Path:
    folder = tmp_path_factory.mktemp("made")
    found = edgemon(
        "compile", WRITERS[request.param](folder / f"tiny.{request.param}"), "--data", tiny_data,
        "--monitor", "odin:eps=0.05:white=1,odin_t", "--out", folder / "bundle",
    )  # fmt: skip
    assert found.exit_code == 0, found.stderr
    return folder / "bundle"


def test_a_session_scores_the_moved_input(made: Path) -> None:
    def logits(x: np.ndarray) -> np.ndarray:
        found: np.ndarray = np.maximum(W1 @ x, 0) @ W2.T
        return found

    x = np.float32([1, 0.5, 0.25, 0.125])
    scores = {m.name: m.score for m in Session(made).evaluate(x).monitors}
    # The answer is class 0; the others' features fall by the step, and its own rises.
    for name, z in (("odin", logits(x + np.float32([0.05, -0.05, -0.05, -0.05]))),
                    ("odin_t", logits(x))):  # fmt: skip
        assert scores[name] == pytest.approx(float(z.sum() - 3 * z.max()), rel=1e-5)


def test_verify_evaluates_it_again(made: Path, tiny_data: Path) -> None:
    verify_bundle(made, data=str(tiny_data))


def test_the_manifest_says_who_brought_the_companion(made: Path) -> None:
    bundle = Bundle.open(made)
    (companion,) = bundle.manifest["companions"]
    kind = bundle.model.path.suffix
    assert (companion["view"], companion["file"]) == ("odin", f"odin{kind}")
    assert companion["monitors"] == ["odin"]


def test_a_float_model_that_nobody_reads_is_refused(tiny_data: Path, tmp_path: Path) -> None:
    model = write_tiny(tmp_path / "tiny.tflite")
    assert "--float-model goes with --monitor odin" in refused(
        "compile", model, "--data", tiny_data,
        "--float-model", model, "--monitor", "odin_t", "--out", tmp_path / "bundle",
    )  # fmt: skip


def test_plain_logits_are_those_of_odin_t(tiny_data: Path, tmp_path: Path) -> None:
    assert "those of the input itself are read by odin_t" in refused(
        "compile",
        write_tiny(tmp_path / "tiny.tflite"), "--data", tiny_data, "--monitor", "odin", "--taps",
        "odin=logits", "--out", tmp_path / "bundle",
    )  # fmt: skip


def test_a_source_of_another_format_is_refused(tiny_data: Path, tmp_path: Path) -> None:
    assert "runs as .onnx, and the model as .tflite" in refused(
        "compile", write_tiny(tmp_path / "tiny.tflite"), "--data", tiny_data, "--monitor", "odin",
        "--float-model", write_tiny_onnx(tmp_path / "tiny.onnx"), "--out", tmp_path / "bundle",
    )  # fmt: skip


def test_a_damaged_source_is_refused_in_a_sentence(tiny_data: Path, tmp_path: Path) -> None:
    model = write_tiny(tmp_path / "tiny.tflite")
    damaged = tmp_path / "damaged.tflite"
    damaged.write_bytes(model.read_bytes()[:200])
    assert "damaged.tflite" in refused(
        "compile", model, "--data", tiny_data, "--monitor", "odin", "--float-model", damaged,
        "--out", tmp_path / "bundle",
    )  # fmt: skip


def test_the_step_is_in_the_units_of_the_models_input() -> None:
    last, first = InputSpec("x", (4, 5, 3), "float32"), InputSpec("x", (3, 4, 5), "float32")
    first = replace(first, layout="nchw")
    assert steps_of(0.002, 255, Preprocess(), last).tolist() == pytest.approx([0.51])
    scaled = Preprocess(scale=1 / 255, mean=(0.5,), std=(0.25,))
    assert steps_of(0.002, 255, scaled, first).tolist() == pytest.approx([0.008])
    each = Preprocess(scale=-1 / 255, std=(0.1, 0.2, 0.4))
    assert steps_of(0.002, 255, each, last).tolist() == pytest.approx([0.02, 0.01, 0.005])
    assert steps_of(0.002, 255, each, first).shape == (3, 1, 1)


def quantised(path: Path) -> Path:
    """A QDQ model: codes of the input are 0.5 apart."""
    return write_quantised_onnx(path)


def test_codes_within_the_model_are_codes(tmp_path: Path) -> None:
    model = open_model(quantised(tmp_path / "q.onnx"), tmp_path)
    assert code_of(model) == 0.5
    with pytest.raises(CompileError, match=r"is 0\.4 of a code.*use eps above 0\.25"):
        MONITORS["odin"](eps=0.2, white=1).companion(model, Preprocess())


def test_an_integer_onnx_model_asks_for_its_float_source(tmp_path: Path) -> None:
    model = open_model(quantised(tmp_path / "q.onnx"), tmp_path)
    with pytest.raises(CompileError, match="--float-model"):
        MONITORS["odin"](eps=0.5, white=1).companion(model, Preprocess())


def test_eps_has_limits() -> None:
    with pytest.raises(CompileError, match="eps="):
        MONITORS["odin"](eps=0.5).check_settings()
