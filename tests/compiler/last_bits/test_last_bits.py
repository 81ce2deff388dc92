"""Errors of the last bits, and thresholds under several kernel sets."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from edgemon.compiler import fitting
from edgemon.compiler.bundle.bundle import Bundle
from edgemon.compiler.data.row_file import RowFile
from edgemon.compiler.errors import CompileError
from edgemon.compiler.fitted import Fitted
from edgemon.compiler.last_bits import code_errors, kernel_sets
from edgemon.compiler.models import open_model
from edgemon.compiler.monitors import MONITORS
from edgemon.compiler.program.ir import Builder, Monitor, Program, Tap
from edgemon.compiler.promise.thresholds import FalseAlarmPromise, MissPromise
from edgemon.compiler.recording.evaluation import evaluate
from edgemon.compiler.recording.recording import Recording
from edgemon.runtime.evaluation import Verdict
from tests.command_line import edgemon, refused
from tests.compiler.monitors.test_contract import TAPS
from tests.compiler.recordings import make_recording, recorded_splits
from tests.conftest import DEMO
from tests.tiny_onnx import write_tiny_onnx

MODEL, DATA = str(DEMO / "digits_int8.tflite"), str(DEMO / "digits.npz")


def recorded(folder: Path, tap: Tap, codes: Any, labels: Any) -> Recording:
    """A recording of one tap, which is the output."""
    codes = np.asarray(codes, tap.dtype)
    file = RowFile.create(folder / f"{tap.name}.npy", codes.shape, tap.dtype)
    file.write(0, codes)
    predicted = codes.argmax(axis=1).astype(np.int32)
    return Recording(
        (tap,), (file,), np.arange(len(codes)), predicted, np.asarray(labels), tap.length
    )


def largest_above(tap: Tap, threshold: int) -> Program:
    """Alarm if the largest code exceeds a threshold."""
    b = Builder([tap])
    top = b.node("max", b.tap(tap.name))
    return b.program(b.node("argmax", 0), [Monitor("top", top, threshold, threshold)])


def test_flips_by_hand(tmp_path: Path) -> None:
    tap = Tap("output", "int8", 2, 0.1, 0)
    rows = recorded(tmp_path, tap, [[10, -20], [11, -20], [8, -20], [127, -20], [-20, 12]], [0] * 5)
    found = code_errors.measure(largest_above(tap, 10), rows, 1)
    assert found is not None
    effects = {(e.lsb, e.error): e.changes for e in found.effects}
    assert len(effects) == 9
    assert effects[1, "all up"].verdict == code_errors.Flips(to_alarm=1, to_trust=0)
    assert effects[3, "all up"].verdict == code_errors.Flips(2, 0)
    assert effects[1, "all down"].verdict == code_errors.Flips(0, 1)
    assert effects[2, "all down"].verdict == code_errors.Flips(0, 2)  # saturated 127 stays above
    assert {c.monitors["top"] == c.verdict for c in effects.values()} == {True}
    assert {c.classes for c in effects.values()} == {0}


def test_codes_saturate_and_classes_that_change_are_counted(tmp_path: Path) -> None:
    tap = Tap("output", "int8", 2, 0.1, 0)
    rows = recorded(tmp_path, tap, [[126, 127]] * 40 + [[-128, 50]], [1] * 41)
    found = code_errors.measure(largest_above(tap, 127), rows, 1)
    assert found is not None
    effects = {(e.lsb, e.error): e.changes for e in found.effects}
    assert effects[1, "all up"].classes == 40  # 127 and 127: the first on a tie
    assert effects[1, "all down"].classes == 0
    assert 0 < effects[1, "random"].classes < 40
    assert all(c.verdict == code_errors.Flips(0, 0) for c in effects.values())  # none above 127


def test_it_is_seeded_and_skips_float_taps(tmp_path: Path) -> None:
    rows = make_recording(tmp_path / "i", "int8", 300, 1)
    estimator = MONITORS["msp_t"](taps=("logits",))
    splits = recorded_splits(tmp_path, "int8", 900)
    program = fitting.fit_monitors([estimator], "output", splits, FalseAlarmPromise()).program
    a, b, c = (code_errors.measure(program, rows, 1, seed) for seed in (3, 3, 4))
    assert a == b != c
    assert a is not None
    flips = [e.changes.verdict.to_alarm + e.changes.verdict.to_trust for e in a.effects]
    assert max(flips) > 0
    tap = Tap("output", "float32", 2)
    b2 = Builder([tap])
    program = b2.program(b2.node("argmax", 0), [Monitor("m", b2.node("max", 0), 1.0, 1.0)])
    floats = recorded(tmp_path, tap, [[0.5, 0.2]], [0])
    assert code_errors.measure(program, floats, 1) is None


def test_a_sample_is_bounded_and_in_order(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(code_errors, "MOST_ROWS", 50)
    rows = make_recording(tmp_path, "int8", 300, 1)
    chosen = code_errors.sample(rows, 0)
    assert len(chosen) == 50
    assert (np.diff(chosen.rows) > 0).all()
    assert len(code_errors.sample(rows.take(np.arange(20)), 0)) == 20


def shifted(rows: Recording, folder: Path, by: int) -> Recording:
    """The recording as a bad kernel set might give it: all logits moved by some LSB."""
    codes = np.clip(np.asarray(rows.codes("logits")).astype(int) + by, -128, 127).astype(np.int8)
    file = RowFile.create(folder / f"logits{by}.npy", codes.shape, "int8")
    file.write(0, codes)
    files = tuple(
        file if tap.name == "logits" else own
        for tap, own in zip(rows.taps, rows.files, strict=True)
    )
    return replace(rows, files=files)


@pytest.mark.parametrize(
    "target",
    [FalseAlarmPromise(), FalseAlarmPromise(0.1, 0.9, per_class="each"), MissPromise(0.3, 0.9)],
)
@pytest.mark.parametrize("kind", ["energy", "errors"])
def test_thresholds_hold_under_every_kernel_set(tmp_path: Path, target: Any, kind: str) -> None:
    splits = recorded_splits(tmp_path, "int8", 2500)
    others = [shifted(splits.threshold, tmp_path, by) for by in (-25, 25)]

    def fitted(other_kernels: list[Recording]) -> Fitted:
        estimator = MONITORS[kind](taps=TAPS[kind])
        if kind == "errors":
            estimator.set_params(signals=(MONITORS["energy"](taps=TAPS["energy"]),))
        return fitting.fit_monitors(
            [estimator], "output", splits, target, rule="guaranteed", other_kernels=other_kernels
        )

    def rate(found: Fitted, rows: Recording) -> float:
        """What is promised, on the rows that the thresholds were set on; of the worst class."""
        own = rows.take(np.flatnonzero(np.isin(rows.rows, found.threshold_rows.rows)))
        own = own.take(np.flatnonzero(target.concerns(own.correct)))
        alarm = evaluate(found.program, own).verdict != Verdict.TRUST
        if isinstance(target, MissPromise):
            return float((~alarm).mean())
        groups = [own.predicted == c for c in range(4)] if target.per_class else [slice(None)]
        return max(float(alarm[g].mean()) for g in groups)

    alone, certified = fitted([]), fitted(others)
    assert max(rate(alone, r) for r in others) > target.rate  # these sets are worth certifying
    for rows in (splits.threshold, *others):
        assert rate(certified, rows) <= target.rate


def test_kernel_sets_are_compared_on_the_same_rows(tmp_path: Path) -> None:
    tap = Tap("output", "int8", 2, 0.1, 0)
    own = recorded(tmp_path, tap, [[10, -20], [11, -20], [12, 13], [5, 0]], [0, 0, 0, 0])
    other = recorded(
        tmp_path, replace(tap, tensor="other"), [[14, -20], [11, -20], [13, 13], [5, 0]], [0] * 4
    )
    other = replace(other, taps=own.taps)
    found = kernel_sets.compare(largest_above(tap, 12), 1, "reference", own, other)
    assert (found.rows, found.values_changed, found.largest_lsb) == (4, 2 / 8, 4)
    assert found.changes.classes == 1
    assert found.changes.verdict == code_errors.Flips(to_alarm=1, to_trust=0)
    assert (found.accuracy, found.false_alarm_rate) == (1.0, 0.5)


def test_the_command_certifies_and_says_so(tmp_path: Path) -> None:
    out = tmp_path / "b"
    result = edgemon(
        "compile", MODEL, "--data", DATA, "--monitor", "msp_t,box", "--out", out,
        "--certify-kernels", "reference,builtin", "-v",
    )  # fmt: skip
    assert result.exit_code == 0, result.stderr
    assert "verdicts that flip under errors of the integer taps, of 279 test rows" in result.stdout
    assert "hold under each of xnnpack, reference, builtin" in result.stdout
    found = json.loads((out / "manifest.json").read_text())["last_bits"]
    assert found["certified_kernels"] == ["xnnpack", "reference", "builtin"]
    own, *others = found["kernels"]
    assert (own["kernels"], own["values_changed"], own["largest_lsb"]) == ("xnnpack", 0, 0)
    assert [k["kernels"] for k in others] == ["reference", "builtin"]
    for k in others:
        assert 0 < k["values_changed"] < 0.1
        assert k["largest_lsb"] > 0
    assert {
        e["changes"]["monitors"].keys() == {"msp_t", "box"} for e in found["lsb"]["effects"]
    } == {True}
    assert Bundle.open(out).artifact.metadata["certified_kernels"] == found["certified_kernels"]
    page = (out / "report.html").read_text()
    assert "hold under each of xnnpack, reference and builtin" in page


def test_mistakes_with_kernel_sets_are_one_sentence(tmp_path: Path) -> None:
    common = ("compile", MODEL, "--data", DATA, "--out", tmp_path / "b", "--certify-kernels")
    assert "use xnnpack, builtin, reference" in refused(*common, "tflm")
    model = open_model(write_tiny_onnx(tmp_path / "tiny.onnx"), tmp_path)
    with pytest.raises(CompileError, match="runs on one kernel set only, onnxruntime; leave"):
        kernel_sets.parse("builtin", model, "xnnpack")
    assert kernel_sets.parse("", model, "onnxruntime") == ("onnxruntime",)
