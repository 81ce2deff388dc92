"""examples/firmware.c on an emulated Cortex-M4F reacts as its policy, written again, says."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest

from edgemon import targets
from edgemon.compiler.emit import flat
from edgemon.compiler.program import reference
from edgemon.compiler.program.ir import Builder, Monitor, Tap
from edgemon.compiler.promise.drift.detector import DriftReference, DriftTest
from edgemon.runtime.evaluation import Evaluation, Verdict
from edgemon.runtime.monitor import Monitor as Loaded
from edgemon.targets import emulation, program, toolchain
from edgemon.targets.emulator import BOARDS
from edgemon.targets.harness_lines import Rows
from tests.runtime.c_compilers import STRICT, C, run
from tests.targets.emulated import emulated

EXAMPLES = C / "examples"
MODEL = "ab" * 32
ALARMS, FRAMES, CHECK_EVERY = 3, 8, 16  # of firmware.c


@dataclass(frozen=True)
class Recorded:
    artifact: bytes
    rows: Rows
    results: Evaluation
    flagged_at: int


@pytest.fixture(scope="module")
def recorded() -> Recorded:
    """A score that is a tap, so that rows choose their verdicts; a drift test over it."""
    b = Builder([Tap("logits", "int8", 4), Tap("doubt", "float32", 1)])
    predicted = b.node("argmax", 0)
    score = b.node("add", b.node("gather", 1, tables=[np.zeros(1, np.uint32)]), 1)
    own = b.program(predicted, [Monitor("doubt", score, 2.0, 1.0)])
    test = DriftTest(
        0, np.array([1.0, 2.0], np.float32), np.array([[-9000, 100, 9000]], np.int32), 60000, 1000
    )
    rng = np.random.default_rng(5)
    rows = [
        rng.integers(-128, 128, (96, 4)).astype(np.int8),
        rng.choice([0.1, 0.7, 1.4], (96, 1), p=[0.7, 0.2, 0.1]).astype(np.float32),
    ]
    rows[1][80:] = 1.4  # a change in the world
    rows[1][30] = np.nan
    vectors = [x[:4] for x in rows]
    self_test = flat.SelfTest(tuple(vectors), reference.evaluate(own, vectors))
    results = reference.evaluate(own, rows)
    drift = DriftReference(test)
    drift.update(results.scores[0], results.verdicts[:, 0] == Verdict.FAULT)
    assert set(results.verdict) == set(Verdict)
    assert 80 < drift.flagged_at < 96
    artifact = flat.write(flat.Artifact(own, MODEL, {}, self_test, test))
    return Recorded(artifact, rows, results, drift.flagged_at)


def lines_of(
    folder: Path, own: Recorded, *defines: str, artifact: bytes | None = None, sha256: str = MODEL
) -> list[str]:
    """What the firmware says on the board."""
    target = emulated("cortex-m4f")
    (folder / "monitor.emon").write_bytes(artifact or own.artifact)
    data = targets.packed(own.rows)
    (folder / "rows.bin").write_bytes(data.tobytes())
    tensors = ", ".join(f'{{"{name}", {at}}}' for name, at in (("doubt", 8), ("logits", 0)))
    digits = ", ".join(f"0x{byte:02x}" for byte in bytes.fromhex(sha256))
    (folder / "recorded.h").write_text(
        f"#define RECORDED_TENSORS {tensors}\n#define RECORDED_SHA256 {digits}\n"
    )
    toolchain.amalgamate(target, folder, folder / "monitor.emon" if artifact is None else None)
    sources = [EXAMPLES / "firmware.c", EXAMPLES / "firmware_recorded.c", BOARDS / "artifact.S"]
    sizes = (f"-DROW_BYTES={data.shape[1]}", '-DARTIFACT="monitor.emon"', *STRICT, *defines)
    path, emulator = program.link(target, sources, sizes, folder)
    return emulation.said(target, [*emulator.command, str(path)], folder)


def policy(own: Recorded, *, until: int | None = None, fails_at: int = 0) -> list[str]:
    """What firmware.c has to say of the results of the reference."""
    said, bad = ["ready"], [False] * FRAMES
    for i, verdict in enumerate(own.results.verdict[:until]):
        if i + 1 == fails_at:
            said += ["a required pointer is null", "hold"]
            verdict = Verdict.FAULT
        else:
            if i + 1 == own.flagged_at:
                said.append(
                    "hand over: the images are no longer those of calibration: promised rates do "
                    "not hold"
                )
            if verdict == Verdict.TRUST:
                said.append(f"act on {own.results.predicted[i]:02d}")
            elif verdict == Verdict.FAULT:
                said += ["a tap holds a NaN or an infinity", "hold"]
            else:
                said.append("hold")
        bad = [*bad[1:], verdict in (Verdict.ALARM, Verdict.FAULT)]
        if sum(bad) >= ALARMS:
            said.append("hand over: too many alarms")
            bad = [False] * FRAMES
    return said


def test_every_reaction(recorded: Recorded, tmp_path: Path) -> None:
    lines = lines_of(tmp_path, recorded)
    assert lines == policy(recorded)
    assert lines.count("hand over: too many alarms") >= 3


def test_an_interpreter_that_fails_is_a_fault(recorded: Recorded, tmp_path: Path) -> None:
    lines = lines_of(tmp_path, recorded, "-DFAIL_AT=7")
    before = recorded.flagged_at
    one_less = Recorded(recorded.artifact, recorded.rows, recorded.results, before)
    assert lines[:40] == policy(one_less, fails_at=7)[:40]


def test_memory_that_changes_is_found_in_idle_time(recorded: Recorded, tmp_path: Path) -> None:
    lines = lines_of(tmp_path, recorded, "-DDAMAGE_AT=20")
    assert lines == [
        *policy(recorded, until=2 * CHECK_EVERY), "hand over: the artifact has changed in memory",
    ]  # fmt: skip


def test_nothing_is_trusted_without_power_on(recorded: Recorded, tmp_path: Path) -> None:
    damaged = bytearray(recorded.artifact)
    damaged[-70] ^= 1
    assert lines_of(tmp_path, recorded, artifact=bytes(damaged)) == [
        "hand over: checksum mismatch: the artifact is corrupt"
    ]
    assert lines_of(tmp_path, recorded, sha256="ac" * 32) == [
        "hand over: the artifact was compiled for another model"
    ]
    assert lines_of(tmp_path, recorded, "-DWORKSPACE_BYTES=8") == [
        "hand over: the workspace is too small"
    ]


def test_a_tensor_that_the_model_lacks(recorded: Recorded, tmp_path: Path) -> None:
    read = flat.read(recorded.artifact)
    taps = [Tap("other", "int8", 4), *read.program.taps[1:]]
    b = Builder(taps)
    predicted = b.node("argmax", 0)
    own = b.program(predicted, [Monitor("m", b.node("sum", 1), 2.0, 1.0)])
    artifact = flat.write(flat.Artifact(own, MODEL, {}))
    assert Loaded(artifact).taps[0].name == "other"
    assert lines_of(tmp_path, recorded, artifact=artifact) == [
        "hand over: the model lacks a tensor that the artifact reads"
    ]


def test_no_heap_and_no_files(recorded: Recorded, tmp_path: Path) -> None:
    """In the whole program that runs on the board."""
    lines_of(tmp_path, recorded)
    target = emulated("cortex-m4f")
    names = {line.split()[-1] for line in run(target.nm, tmp_path / "program").splitlines()}
    assert {"em_evaluate", "memcpy"} <= names
    assert not {"malloc", "_malloc_r", "free", "printf", "fopen", "_sbrk"} & names
