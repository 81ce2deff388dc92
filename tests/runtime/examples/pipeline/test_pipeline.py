"""The pipeline answers as a session does, at its rate and in constant memory."""

from __future__ import annotations

import json
import math
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from edgemon.compiler.data.sources import Sources
from edgemon.compiler.options import Options
from edgemon.compiler.pipeline import compile_bundle
from edgemon.runtime import Session
from edgemon.runtime.errors import InputError
from edgemon.runtime.preprocess import Preprocess
from edgemon.runtime.window import Report
from tests.conftest import DEMO
from tests.runtime.examples.pipeline.conftest import NAN, SURE, UNSURE, Program, Ran, filmed
from tests.tiny_onnx import write_conv_onnx, write_tiny_onnx
from tests.tiny_tflite import write_tiny

pytestmark = pytest.mark.xdist_group("pipeline")


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


@pytest.mark.parametrize(
    ("fusion", "said"),
    [("errors", "of correct rows stay below"), ("scod", " nats; the other signals ")],
)
def test_a_fusion_says_the_same_signal_as_in_a_session(
    fusion: str, said: str, tiny_data: Path, tflite_program: Program, tmp_path: Path
) -> None:
    """Of one signal alone (errors, here) and of several."""
    bundle = fusion_bundle(tmp_path, tiny_data, fusion)
    images = [*np.load(tiny_data)["x"][:200], NAN, UNSURE]
    ran = tflite_program.run(bundle, filmed(tmp_path / "frames", images))
    compare(ran, Session(bundle), images)
    assert any(said in line["reason"] for line in ran.frames)


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


def test_reports_are_those_of_a_session(
    bundle: Path, tflite_program: Program, tmp_path: Path
) -> None:
    """But for the time, which the vehicle's clock says."""
    rng = np.random.default_rng(3)
    images = [*np.abs(rng.normal(size=(40, 4))).astype(np.float32), NAN, None, UNSURE]
    path, session, expected = tmp_path / "reports", Session(bundle), []
    options = ["--reports", str(path), "--report-every", "20", "--device", "7"]
    assert tflite_program.run(bundle, filmed(tmp_path / "frames", images), *options).code == 0
    for number, image in enumerate(images, 1):
        if image is not None:
            session.evaluate(image)
        if number in (20, 40, len(images)):
            expected.append(Report.parse(session.report(device=7)))
    content, found = path.read_bytes(), []
    while content:
        size = int.from_bytes(content[12:16], "little")
        found.append(Report.parse(content[:size]))
        content = content[size:]
    assert [replace(report, started=0, ended=0) for report in found] == expected
    assert all(report.ended >= report.started > 1_600_000_000 for report in found)


def test_an_onnx_model_with_a_mean_a_channel_is_judged_as_in_a_session(
    shared: Path, program: Program, tmp_path: Path
) -> None:
    if program.onnxruntime is None:
        pytest.skip("no libonnxruntime.so in the onnxruntime package")
    images, out = shared / "data" / "images", tmp_path / "bundle"
    mean, deviation = "mean=0.4914:0.4822:0.4465", "std=0.2471:0.2435:0.2616"
    declared = Preprocess.parse(f"scale=1/255,{mean},{deviation}")
    options = Options(monitors="softmax", preprocess=declared)
    data = Sources(data=f"{images / 'cifar10_test.npz'}[0:800]")
    compile_bundle(images / "models" / "cifar10_resnet_2b_vnncomp2021.onnx", data, out, options)
    rows = list(np.load(images / "cifar10_test.npz")["x"][800:860])
    ran = program.run(out, filmed(tmp_path / "frames", rows))
    compare(ran, Session(out), rows)


def test_a_float_model_differs_by_last_bits_of_another_version_alone(
    shared: Path, tflite_program: Program, tmp_path: Path
) -> None:
    """Resized pictures; the workstation's XNNPACK is newer than that of the C library."""
    images, out = shared / "data" / "images", tmp_path / "bundle"
    options = Options(
        monitors="softmax", preprocess=Preprocess.parse("scale=1/255,resize=30x30"),
        label_order="string",
    )  # fmt: skip
    data = Sources(data=f"{images / 'gtsrb_test.npz'}[0:1500]")
    model = images / "models" / "gtsrb_nihal1521_traffic_sign_model.tflite"
    compile_bundle(model, data, out, options)
    rows = list(np.load(images / "gtsrb_test.npz")["x"][1500:1560])
    ran, session = tflite_program.run(out, filmed(tmp_path / "frames", rows)), Session(out)
    for line, row in zip(ran.frames, rows, strict=True):
        expected = session.evaluate(row)
        found = (line["verdict"], line["class"])
        assert found == (expected.verdict.name.lower(), expected.prediction)
        assert line["score"] == pytest.approx(expected.score, rel=1e-3, abs=1e-6)


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
