"""What happens on a vehicle: each mishap has one sentence and a code, or a reaction."""

from __future__ import annotations

import hashlib
import json
import shutil
import signal
import subprocess
import zlib
from pathlib import Path

import pytest

from tests.command_line import edgemon
from tests.runtime.examples.pipeline.conftest import SURE, Program, filmed, restate
from tests.tiny_companions import write_joining
from tests.tiny_tflite import write_tiny

pytestmark = pytest.mark.xdist_group("pipeline")


@pytest.fixture
def copy(bundle: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(bundle, tmp_path / "copy"))


def flip(path: Path, at: int) -> None:
    content = bytearray(path.read_bytes())
    content[at] ^= 0x10
    path.write_bytes(content)


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
    "a date among the numbers": (6, "numbered from 0 to 20261128; remove what is no frame"),
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
    elif mishap == "a date among the numbers":
        shutil.copy(frames / "frame-000000.npy", frames / "best-of-20261128.npy")
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


def test_a_bundle_that_needs_a_companion_is_refused(
    tiny_data: Path, tflite_program: Program, tmp_path: Path
) -> None:
    """It said that the metadata were damaged."""
    done = edgemon(
        "compile", write_tiny(tmp_path / "tiny.tflite"), "--data", tiny_data, "--monitor", "box",
        "--taps", "box=both@companion", "--companion", write_joining(tmp_path / "beside.onnx"),
        "--out", tmp_path / "bundle",
    )  # fmt: skip
    assert done.exit_code == 0, done.stderr
    ran = tflite_program.run(tmp_path / "bundle", filmed(tmp_path / "frames", [SURE]))
    assert (ran.code, ran.lines) == (3, [])
    assert "the tap 'both@companion' needs a companion model, which this program does not run" in (
        ran.sentences
    )


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


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_it_after_the_frame_at_hand(
    number: signal.Signals, bundle: Path, tflite_program: Program, tmp_path: Path
) -> None:
    frames = filmed(tmp_path / "frames", [SURE] * 200)
    command = [str(tflite_program.path), str(bundle), str(frames), "--fps", "50"]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, env=tflite_program.environment
    ) as process:
        assert process.stdout is not None
        first = [process.stdout.readline() for _ in range(4)]
        process.send_signal(number)
        lines = [json.loads(line) for line in (*first, *process.stdout)]
    assert process.returncode == 0
    assert lines[-1]["event"] == "summary"
    assert lines[-1]["frames"] == len(lines) - 2 < 100
    assert lines[-1]["resident_kb"]["warm"] is None


def damage_memory(pid: int, content: bytes) -> None:
    """Flips a bit of the artifact in the memory of a child; skips where that is not permitted."""
    for line in Path(f"/proc/{pid}/maps").read_text().splitlines():
        span, rights, *_ = line.split()
        first, end = (int(part, 16) for part in span.split("-"))
        if not rights.startswith("rw") or "[v" in line:
            continue
        try:
            with Path(f"/proc/{pid}/mem").open("r+b", buffering=0) as memory:
                memory.seek(first)
                at = memory.read(end - first).find(content)
                if at >= 0:
                    memory.seek(first + at + len(content) // 2)
                    memory.write(bytes([content[len(content) // 2] ^ 1]))
                    return
        except PermissionError:
            pytest.skip("the memory of a child process cannot be written here")
        except OSError:
            continue
    raise AssertionError("the artifact is not in the memory of the process")


def test_an_artifact_that_changes_in_memory_is_handed_over_for_good(
    bundle: Path, tflite_program: Program, tmp_path: Path
) -> None:
    frames = filmed(tmp_path / "frames", [SURE] * 150)
    command = [str(tflite_program.path), str(bundle), str(frames), "--fps", "60"]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=tflite_program.environment
    ) as process:
        assert process.stdout is not None
        first = [process.stdout.readline() for _ in range(5)]
        damage_memory(process.pid, (bundle / "monitor.emon").read_bytes())
        lines = [json.loads(line) for line in (*first, *process.stdout)]
    assert process.returncode == 7
    (event,) = (number for number, line in enumerate(lines) if line["event"] == "memory changed")
    assert "checksum mismatch" in lines[event]["reason"]
    after = [line["action"] for line in lines[event:] if line["event"] == "frame"]
    assert len(after) > 20
    assert set(after) == {"hand over"}
