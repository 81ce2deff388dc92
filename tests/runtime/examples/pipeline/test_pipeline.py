"""The pipeline answers as a session does, at its rate and in constant memory, and survives what
happens on a vehicle: each mishap has a sentence and a code, or a reaction."""

from __future__ import annotations

import hashlib
import importlib.util
import json
import math
import shutil
import time
import zlib
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

from edgemon.compiler.data.sources import Sources
from edgemon.compiler.options import Options
from edgemon.compiler.pipeline import compile_bundle
from edgemon.runtime import Session
from edgemon.runtime.errors import InputError
from tests.conftest import DEMO
from tests.runtime.examples.pipeline.conftest import PIPELINE, Program, Ran
from tests.tiny_onnx import write_conv_onnx, write_tiny_onnx
from tests.tiny_tflite import write_tiny

pytestmark = pytest.mark.xdist_group("pipeline")
SURE = np.array([4, 0, 0, 0], np.float32)
UNSURE = np.array([1, 1, 0, 1], np.float32)
NAN = np.array([1, np.nan, 0, 0], np.float32)


def _frames_module() -> ModuleType:
    spec = importlib.util.spec_from_file_location("frames", PIPELINE / "frames.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


frames_module = _frames_module()


def filmed(folder: Path, images: Any) -> Path:
    """A folder of frames; None leaves its number out."""
    folder.mkdir()
    for number, image in enumerate(images):
        if image is not None:
            frames_module.write_frame(folder, number, image)
    return folder


def number_or_nan(value: float | None) -> float:
    return math.nan if value is None else value


def compare(ran: Ran, session: Session, images: Any) -> None:
    """Every line against the session: verdict, class, score bits, each raw score's display, why."""
    assert (ran.code, len(ran.frames)) == (0, len(images))
    for line, image in zip(ran.frames, images, strict=True):
        try:
            expected = session.evaluate(image)
        except InputError:
            assert (line["verdict"], line["class"], line["score"]) == ("fault", -1, None)
            continue
        found = (line["verdict"], line["class"], line["label"], line["reason"])
        verdict = expected.verdict.name.lower()
        assert found == (verdict, expected.prediction, expected.label, expected.reason)
        assert repr(number_or_nan(line["score"])) == repr(expected.score)
    assert ran.summary["frames"] == len(images)
    assert ran.summary["drift_flagged_at"] == session.drift.flagged_at


@pytest.fixture(scope="module")
def digits(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The demonstration's model, calibrated on the kernels that the C library takes."""
    out = tmp_path_factory.mktemp("pipeline_bundle") / "digits"
    options = Options(monitors="softmax,box,prophecy", thresholds="method",
                      target="host-x86_64-builtin")  # fmt: skip
    data = Sources(data=str(DEMO / "digits.npz"))
    compile_bundle(DEMO / "digits_int8.tflite", data, out, options)
    return out


@pytest.fixture
def copy(bundle: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(bundle, tmp_path / "copy"))


def test_digits_are_judged_as_in_a_session(
    digits: Path, tflite_program: Program, tmp_path: Path
) -> None:
    known, novel = (np.load(DEMO / f"{name}.npz")["x"] for name in ("digits", "novelty"))
    images = [*known[:150], *novel[:50], np.zeros((3, 3), np.uint8), *known[150:180]]
    ran = tflite_program.run(digits, filmed(tmp_path / "frames", images))
    compare(ran, Session(digits, kernels="builtin"), images)
    assert ran.lines[0]["caution"] is None
    assert len({line["verdict"] for line in ran.frames}) >= 3
    assert "needs" in ran.frames[200]["reason"]


def test_other_kernels_than_those_of_calibration_are_said(
    digits_bundle: Path, tflite_program: Program, tmp_path: Path
) -> None:
    image = np.load(DEMO / "digits.npz")["x"][0]
    ran = tflite_program.run(digits_bundle, filmed(tmp_path / "frames", [image]))
    assert "calibrated on xnnpack kernels" in ran.lines[0]["caution"]
    assert ran.lines[0]["caution"] in ran.sentences


def fusion_bundle(folder: Path, data: Path, monitors: str) -> Path:
    model = write_tiny(folder / "tiny.tflite")
    compile_bundle(model, Sources(data=str(data)), folder / "bundle", Options(monitors=monitors))
    return folder / "bundle"


def test_a_fusion_says_the_same_signal_as_in_a_session(
    tiny_data: Path, tflite_program: Program, tmp_path: Path
) -> None:
    bundle = fusion_bundle(tmp_path, tiny_data, "errors")
    images = [*np.load(tiny_data)["x"][:200], NAN, UNSURE]
    ran = tflite_program.run(bundle, filmed(tmp_path / "frames", images))
    compare(ran, Session(bundle), images)
    assert any(" nats; the other signals " in line["reason"] for line in ran.frames)


@pytest.mark.parametrize("kind", ["vector", "channels first"])
def test_onnx_models_are_judged_as_in_a_session(
    kind: str, tiny_data: Path, program: Program, tmp_path: Path
) -> None:
    if program.onnxruntime is None:
        pytest.skip("no libonnxruntime.so in the onnxruntime package")
    rng = np.random.default_rng(1)
    if kind == "vector":
        model, data = write_tiny_onnx(tmp_path / "m.onnx"), tiny_data
        images = [*np.load(tiny_data)["x"][:100], NAN]
    else:
        model, data = write_conv_onnx(tmp_path / "m.onnx"), tmp_path / "conv.npz"
        x = rng.normal(size=(600, 4, 5, 2)).astype(np.float32)
        hidden = np.stack([x[..., 0], -x[..., 1], x[..., 0] + x[..., 1]], axis=-1)
        own = np.maximum(hidden, 0).mean(axis=(1, 2))
        np.savez(data, x=x, y=np.argmax(own + rng.normal(0, 0.05, own.shape), axis=1))
        images = list(x[:60])
    out = tmp_path / "bundle"
    compile_bundle(model, Sources(data=str(data)), out, Options(monitors="softmax"))
    ran = program.run(out, filmed(tmp_path / "frames", images))
    compare(ran, Session(out), images)
    assert ran.lines[0]["interpreter"].startswith("ONNX Runtime ")


def test_mirrored_taps_come_from_a_second_inference(
    tflite_program: Program, tmp_path: Path
) -> None:
    out = tmp_path / "bundle"
    options = Options(monitors="mirror", target="host-x86_64-builtin")
    data = Sources(data=f"{DEMO / 'digits.npz'}[0:800]")
    compile_bundle(DEMO / "digits_int8.tflite", data, out, options)
    images = list(np.load(DEMO / "digits.npz")["x"][:60])
    ran = tflite_program.run(out, filmed(tmp_path / "frames", images))
    compare(ran, Session(out, kernels="builtin"), images)


def test_a_missing_frame_and_a_nan_are_faults_that_hold_the_last_answer(
    bundle: Path, tflite_program: Program, tmp_path: Path
) -> None:
    images = [SURE, None, NAN, SURE, SURE, SURE]
    frames = filmed(tmp_path / "frames", images)
    (frames / "frame-000004.npy").write_bytes(b"\x93NUMPY")
    ran = tflite_program.run(bundle, frames, "--alarms", "4", "--hold", "2")
    assert ran.code == 0
    assert [line["verdict"] for line in ran.frames] == ["trust", *["fault"] * 2, "trust", "fault",
                                                        "trust"]  # fmt: skip
    assert ran.frames[1]["reason"] == "frame 1 is missing"
    assert ran.frames[2]["reason"] == "an image has a NaN or an infinity"
    assert "header is damaged" in ran.frames[4]["reason"]
    actions = [(line["action"], line["answer"], line["answer_age"]) for line in ran.frames]
    assert actions[:4] == [("use", 0, 0), ("hold", 0, 1), ("hold", 0, 2), ("use", 0, 0)]


def test_alarms_hand_over_and_good_frames_take_back(
    bundle: Path, tflite_program: Program, tmp_path: Path
) -> None:
    images = [SURE, UNSURE, UNSURE, UNSURE, SURE, SURE, SURE]
    policy = ["--alarms", "3", "--window", "5", "--recover", "2"]
    ran = tflite_program.run(bundle, filmed(tmp_path / "frames", images), *policy)
    found = [line["action"] for line in ran.frames]
    assert found == ["use", "hold", "hold", "hand over", "hand over", "use", "use"]
    assert ran.summary["actions"] == {"use": 3, "hold": 2, "hand over": 2}


def flip(path: Path, at: int) -> None:
    content = bytearray(path.read_bytes())
    content[at] ^= 0x10
    path.write_bytes(content)


def restate(bundle: Path, name: str) -> None:
    """The manifest says that a file is as it is now."""
    path = bundle / "manifest.json"
    manifest = json.loads(path.read_text())
    manifest["sha256"][name] = hashlib.sha256((bundle / name).read_bytes()).hexdigest()
    path.write_text(json.dumps(manifest))


MODEL = "model.tapped.tflite"
MISHAPS = {
    "corrupt model": (4, "not the file that compile wrote"),
    "corrupt model, manifest made to fit": (4, "compiled for another model"),
    "no model": (4, f"{MODEL}: missing"),
    "corrupt artifact": (3, "checksum mismatch"),
    "short artifact": (3, "file size in the header differs"),
    "artifact of another bundle": (3, "monitor.emon: not the file that compile wrote"),
    "no manifest": (3, "manifest.json: missing"),
    "damaged manifest": (3, "no JSON object"),
    "no model in the manifest": (3, "names no tapped model"),
    "no interpreter": (5, "cannot be loaded; name the library in EDGEMON_TFLITE_LIB"),
    "another library": (5, "lacks the function TfLiteVersion"),
    "no frames": (6, "no frames; give a folder of frame-000001.ppm"),
    "two frames of one number": (6, "two files are frame 0"),
    "unknown option": (2, "there is no option --speed"),
    "k above n": (2, "--alarms 1 to that"),
}


def cause(mishap: str, bundle: Path, frames: Path, digits: Path, program: Program) -> list[str]:
    """Makes a mishap; the options that it needs."""
    artifact, model, manifest = (bundle / n for n in ("monitor.emon", MODEL, "manifest.json"))
    if mishap.startswith("corrupt model"):
        flip(model, model.stat().st_size // 2)
        if "fit" in mishap:
            restate(bundle, MODEL)
    elif mishap == "no model":
        model.unlink()
    elif mishap == "corrupt artifact":
        flip(artifact, 500)
    elif mishap == "short artifact":
        artifact.write_bytes(artifact.read_bytes()[:-16])
    elif mishap == "artifact of another bundle":
        shutil.copy(digits / "monitor.emon", artifact)
    elif mishap == "no manifest":
        manifest.unlink()
    elif mishap == "damaged manifest":
        manifest.write_text("[")
    elif mishap == "no model in the manifest":
        manifest.write_text('{"sha256": {}}')
        restate(bundle, "monitor.emon")
    elif mishap == "no frames":
        shutil.rmtree(frames)
    elif mishap == "two frames of one number":
        shutil.copy(frames / "frame-000000.npy", frames / "again-0.npy")
    return {
        "no interpreter": ["--tflite-lib", "libnowhere.so"],
        "another library": ["--tflite-lib", str(program.onnxruntime or "libm.so.6")],
        "unknown option": ["--speed", "9"],
        "k above n": ["--alarms", "5", "--window", "4"],
    }.get(mishap, [])


@pytest.mark.parametrize("mishap", MISHAPS)
def test_mishaps_end_with_one_line_and_a_code(
    mishap: str, copy: Path, digits_bundle: Path, tflite_program: Program, tmp_path: Path
) -> None:
    frames = filmed(tmp_path / "frames", [SURE])
    options = cause(mishap, copy, frames, digits_bundle, tflite_program)
    ran = tflite_program.run(copy, frames, *options)
    code, says = MISHAPS[mishap]
    assert (ran.code, ran.lines) == (code, [])
    first, *more = ran.sentences.splitlines()
    assert says in first
    assert first.startswith("pipeline: ")
    assert not more or more[0].startswith("usage: ")


def test_a_model_that_an_interpreter_refuses_is_a_sentence(
    copy: Path, tflite_program: Program, tmp_path: Path
) -> None:
    """Hashes fit, the flatbuffer does not: its graph has lost its operators' codes."""
    artifact, model = copy / "monitor.emon", copy / MODEL
    model.write_bytes(b"\x10\x00\x00\x00TFL3" + bytes(200))
    content = bytearray(artifact.read_bytes())
    content[32:64] = hashlib.sha256(model.read_bytes()).digest()
    content[28:32] = zlib.crc32(content[32:], zlib.crc32(content[:28])).to_bytes(4, "little")
    artifact.write_bytes(content)
    restate(copy, MODEL)
    restate(copy, "monitor.emon")
    ran = tflite_program.run(copy, filmed(tmp_path / "frames", [SURE]))
    assert ran.code == 4
    assert "the interpreter refuses it: " in ran.sentences


def test_a_fixed_rate_and_constant_memory(
    bundle: Path, tflite_program: Program, tmp_path: Path
) -> None:
    rng = np.random.default_rng(0)
    frames = filmed(tmp_path / "frames", np.abs(rng.normal(size=(2000, 4))).astype(np.float32))
    log = tmp_path / "log.jsonl"
    ran = tflite_program.run(bundle, frames, "--fps", "1000", "--log", str(log))
    lines = [json.loads(line) for line in log.read_text().splitlines()]
    summary = lines[-1]
    assert (ran.code, ran.lines, summary["frames"], len(lines)) == (0, [], 2000, 2002)
    times = sorted(line["latency_us"] for line in lines[1:-1])
    assert summary["latency_us"] == {"p50": times[999], "p99": times[1979], "max": times[-1]}
    assert sum(line["late"] for line in lines[1:-1]) == summary["late"]
    memory = summary["resident_kb"]
    assert 0 < memory["warm"] <= memory["most"] <= memory["warm"] + 256


def test_the_rate_is_kept(bundle: Path, tflite_program: Program, tmp_path: Path) -> None:
    frames = filmed(tmp_path / "frames", [SURE] * 21)
    start = time.monotonic()
    assert tflite_program.run(bundle, frames, "--fps", "20").code == 0
    assert time.monotonic() - start >= 1.0


def test_resnet8_is_judged_as_in_a_session(
    shared: Path, tflite_program: Program, tmp_path: Path
) -> None:
    images = shared / "data" / "images"
    out = tmp_path / "bundle"
    options = Options(monitors="softmax", target="host-x86_64-builtin")
    data = Sources(data=f"{images / 'cifar10_test.npz'}[0:800]")
    compile_bundle(images / "models" / "mlperf_tiny_resnet8_int8.tflite", data, out, options)
    rows = list(np.load(images / "cifar10_test.npz")["x"][800:900])
    ran = tflite_program.run(out, filmed(tmp_path / "frames", rows))
    compare(ran, Session(out, kernels="builtin"), rows)
