"""A companion that the user gives, on its whole way: choice, recording, proof, bench, documents."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from edgemon.bench.benchmark import run_benchmark
from edgemon.compiler.bundle.bundle import Bundle
from edgemon.compiler.commands.verification import verify_bundle
from edgemon.compiler.emit import flat
from tests.command_line import document, edgemon, refused
from tests.tiny_companions import write_doubling, write_joining
from tests.tiny_tflite import write_tiny


@pytest.fixture(scope="module")
def made(tiny_data: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("made")
    edgemon(
        "compile", write_tiny(folder / "tiny.tflite"), "--data", tiny_data, "--monitor",
        "softmax,box", "--taps", "box=both@companion", "--companion",
        write_joining(folder / "beside.onnx"), "--out", folder / "bundle",
    )  # fmt: skip
    return folder / "bundle"


def test_verify_evaluates_it_again(made: Path, tiny_data: Path) -> None:
    verify_bundle(made, data=str(tiny_data))


def test_what_is_read_is_written_again_to_the_byte(made: Path) -> None:
    data = Bundle.open(made).artifact_bytes
    assert data[10] == flat.MINOR
    assert flat.write(flat.read(data)) == data


def test_bench_counts_its_time_and_bytes(made: Path, tiny_data: Path) -> None:
    found, _ = run_benchmark(made, str(tiny_data), limits=[], rounds=100)
    (companion,) = found["companions"]
    assert companion["bytes"] == (made / "companion.onnx").stat().st_size
    assert companion["us"]["min"] > 0
    shares = {m["name"]: m["share_of_model"] for m in found["monitors"]}
    assert shares["box"] > companion["share_of_model"] > shares["softmax"]
    assert found["overhead_ratio"] > 1 + companion["share_of_model"] / 2
    assert not found["second_inference"]


def test_documents_say_who_needs_it(made: Path) -> None:
    (companion,) = Bundle.open(made).manifest["companions"]
    assert (companion["view"], companion["file"]) == ("companion", "companion.onnx")
    assert companion["monitors"] == ["box"]
    assert companion["source"].endswith("beside.onnx")
    found = document("inspect", made)
    assert {t["name"]: t["view"] for t in found["taps"]}["both@companion"] == "companion"
    assert found["sections"]["companions"] == 48
    assert found["companions"] == [companion]
    assert "box needs a companion model (companion.onnx," in (made / "report.html").read_text()


def test_a_bundle_without_says_nothing_of_companions(bundle: Path) -> None:
    assert "companion" not in (bundle / "manifest.json").read_text()
    assert "companion" not in (bundle / "report.json").read_text()


@pytest.mark.parametrize(
    ("taps", "says"),
    [
        ("box=output@companion", "give its file with --companion"),
        ("box=logits@odin", "name the monitor odin as well"),
        ("box=logits@odin@odin", "write one @odin behind a rule"),
        ("box=@companion", "write one @companion behind a rule"),
    ],
)
def test_a_view_without_its_companion_is_refused(
    tiny_data: Path, tmp_path: Path, taps: str, says: str
) -> None:
    model = write_tiny(tmp_path / "tiny.tflite")
    where = ("--data", tiny_data, "--out", tmp_path / "out")
    assert says in refused("compile", model, *where, "--monitor", "box", "--taps", taps)


def test_a_companion_that_does_not_fit_is_refused(tiny_data: Path, tmp_path: Path) -> None:
    model = write_tiny(tmp_path / "tiny.tflite")
    where = ("--data", tiny_data, "--out", tmp_path / "out", "--monitor", "box")
    of_five = write_doubling(tmp_path / "five.onnx", (1, 5))
    taps = ("--taps", "box=output@companion", "--companion")
    assert "build it for this model" in refused("compile", model, *where, *taps, of_five)
    text = tmp_path / "text.tflite"
    text.write_bytes(b"no model" * 8)
    assert "text.tflite" in refused("compile", model, *where, *taps, text)
    assert "cannot be read" in refused("compile", model, *where, *taps, tmp_path / "gone.onnx")
    both = write_joining(tmp_path / "both.onnx")
    unknown = ("--taps", "box=nothing@companion", "--companion")
    assert "it has 'both', 'negative'" in refused("compile", model, *where, *unknown, both)
    np.testing.assert_equal(list(tmp_path.glob("out*")), [])
