"""ODIN with its gradient on its whole way: companion, recording, program, session."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from edgemon.compiler.bundle.bundle import Bundle
from edgemon.compiler.commands.verification import verify_bundle
from edgemon.compiler.errors import CompileError
from edgemon.compiler.monitors import MONITORS
from edgemon.compiler.monitors.odin import step_of
from edgemon.runtime.preprocess import Preprocess
from edgemon.runtime.session import Session
from tests.command_line import edgemon, refused
from tests.tiny_companions import write_doubling
from tests.tiny_tflite import W1, W2, write_tiny


@pytest.fixture(scope="module")
def made(tiny_data: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("made")
    edgemon(
        "compile", write_tiny(folder / "tiny.tflite"), "--data", tiny_data, "--monitor",
        "odin:eps=0.05:white=1,odin_t", "--out", folder / "bundle",
    )  # fmt: skip
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
    (companion,) = Bundle.open(made).manifest["companions"]
    assert (companion["view"], companion["file"]) == ("odin", "odin.tflite")
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
    assert "built of TFLite models alone" in refused(
        "compile", write_tiny(tmp_path / "tiny.tflite"), "--data",
        tiny_data, "--monitor", "odin", "--float-model", write_doubling(tmp_path / "d.onnx"),
        "--out", tmp_path / "bundle",
    )  # fmt: skip


def test_the_step_is_in_the_units_of_the_models_input() -> None:
    assert step_of(0.002, 255, Preprocess()) == pytest.approx(0.51)
    scaled = Preprocess(scale=1 / 255, mean=(0.5,), std=(0.25,))
    assert step_of(0.002, 255, scaled) == pytest.approx(0.008)
    with pytest.raises(CompileError, match="another std"):
        step_of(0.002, 255, Preprocess(std=(1.0, 2.0, 3.0)))


def test_eps_has_limits() -> None:
    with pytest.raises(CompileError, match="eps="):
        MONITORS["odin"](eps=0.5).check_settings()
