"""ALOCC on its whole way: a companion that the user gives, an op of two taps, session, bench."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from edgemon.bench.benchmark import run_benchmark
from edgemon.compiler.bundle.bundle import Bundle
from edgemon.compiler.commands.verification import verify_bundle
from edgemon.compiler.errors import CompileError
from edgemon.compiler.models.tflite_model import TfliteModel
from edgemon.compiler.monitors import MONITORS
from edgemon.runtime.evaluation import Verdict
from edgemon.runtime.preprocess import Preprocess, to_input
from edgemon.runtime.session import Session
from tests.command_line import DATA, MODEL, edgemon, refused
from tests.compiler.recordings import make_recording
from tests.tiny_companions import write_blurring, write_joining
from tests.tiny_tflite import write_tiny


def compiled(out: Path, *arguments: str | Path) -> Path:
    done = edgemon("compile", *arguments, "--out", out)
    assert done.exit_code == 0, done.stderr
    return out


@pytest.fixture(scope="module", params=[0.0, 2.5], ids=["same-codes", "other-codes"])
def digits(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The demonstration's model beside one that blurs its images."""
    folder = tmp_path_factory.mktemp("digits")
    blurring = write_blurring(
        folder / "blur.tflite", TfliteModel.open(Path(MODEL)).input, request.param
    )
    return compiled(
        folder / "bundle",
        MODEL,
        "--data",
        f"{DATA}[0:600]",
        "--monitor",
        "alocc",
        "--companion",
        blurring,
    )


def test_its_score_is_the_mean_squared_error_of_both_images(digits: Path) -> None:
    """Exactly, where both have the same codes: a sum of whole numbers."""
    bundle, session = Bundle.open(digits), Session(digits)
    program = bundle.artifact.program
    x, y = program.taps[-2:]
    assert (x.view, y.view, x.length, y.length) == ("plain", "companion", 64, 64)
    same = (x.scale, x.zero_point) == (y.scale, y.zero_point)
    (monitor,) = program.monitors
    assert program.value(monitor.score).dtype == ("int64" if same else "float32")
    own = TfliteModel.open(Path(MODEL)).input
    with np.load(DATA) as found:
        images = found["x"][:20]
    for image in images:
        codes = to_input(image, Preprocess(), own)
        wanted = np.square(x.values(codes) - y.values(redrawn(digits, codes))).mean()
        score = session.evaluate(image).monitors[0].score
        assert score == pytest.approx(wanted, rel=1e-12 if same else 1e-5)


def test_noise_that_it_cannot_redraw_raises_its_score(digits: Path) -> None:
    session = Session(digits)
    with np.load(DATA) as found:
        image = found["x"][0]
    noise = np.random.default_rng(0).choice(np.array([0, image.max()], image.dtype), image.shape)
    usual, strange = (session.evaluate(v) for v in (image, noise))
    assert strange.monitors[0].score > usual.monitors[0].score
    assert strange.verdict == Verdict.ALARM
    assert "redrawn badly" in strange.reason


@pytest.mark.parametrize("digits", [0.0], indirect=True)
def test_it_can_be_verified_and_measured(digits: Path) -> None:
    verify_bundle(digits, data=DATA)
    found, _ = run_benchmark(digits, DATA, limits=[], rounds=100)
    (companion,) = found["companions"]
    assert companion["bytes"] == (digits / "companion.tflite").stat().st_size
    assert found["monitors"][0]["share_of_model"] > companion["share_of_model"] > 0


@pytest.mark.parametrize("digits", [0.0], indirect=True)
def test_the_report_says_what_it_needs(digits: Path) -> None:
    assert (
        "alocc needs a companion model (companion.tflite," in (digits / "report.html").read_text()
    )


def test_without_a_companion_it_says_who_makes_one(tmp_path: Path) -> None:
    said = refused("compile", MODEL, "--data", DATA, "--monitor", "alocc", "--out", tmp_path / "b")
    assert "needs a companion model, one that `edgemon alocc train` makes" in said
    assert "--companion" in said
    assert list(tmp_path.iterdir()) == []


def test_one_of_several_outputs_is_chosen(tiny_data: Path, tmp_path: Path) -> None:
    model, both = write_tiny(tmp_path / "tiny.tflite"), write_joining(tmp_path / "both.onnx")
    taps = ("--taps", "alocc=input+negative@companion", "--companion", both)
    made = compiled(
        tmp_path / "bundle", model, "--data", tiny_data, "--monitor", "alocc", *taps
    )  # fmt: skip
    x = np.float32([1, 2, 3, 5])
    score = Session(made).evaluate(x).monitors[0].score
    assert score == pytest.approx(4 * np.square(x).mean())


@pytest.mark.parametrize(
    ("taps", "says"),
    [
        (("features", "features@companion", "logits"), "needs 2 taps, but got 3; choose with"),
        (("features", "logits"), "compares a tensor of the model with an output of the companion"),
        (("logits", "features@companion"), "logits has 4 numbers, and features@companion has 12"),
    ],
)
def test_taps_that_are_no_image_and_its_redrawn_one_are_refused(
    taps: tuple[str, ...], says: str, tmp_path: Path
) -> None:
    with pytest.raises(CompileError, match=says):
        MONITORS["alocc"](taps=taps).fit(make_recording(tmp_path, "int8", 60, 0))


def redrawn(bundle: Path, codes: Any) -> Any:
    from ai_edge_litert.interpreter import Interpreter

    model = Interpreter(str(bundle / "companion.tflite"), num_threads=1)
    model.allocate_tensors()
    model.set_tensor(model.get_input_details()[0]["index"], codes)
    model.invoke()
    return model.get_tensor(model.get_output_details()[0]["index"])
