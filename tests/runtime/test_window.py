"""Windows of images: the C runtime's counts against whole numbers, and reports both ways."""

from __future__ import annotations

import json
import math
import subprocess
import zlib
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from edgemon.compiler.accuracy.table import AccuracyTable
from edgemon.compiler.emit import flat
from edgemon.compiler.program.ir import Builder, Tap
from edgemon.compiler.program.ir import Monitor as Rule
from edgemon.runtime.accuracy import Accuracy
from edgemon.runtime.drift import Drift
from edgemon.runtime.evaluation import Evaluation, Verdict
from edgemon.runtime.monitor import Monitor
from edgemon.runtime.session import Session
from edgemon.runtime.window import KEY, DriftCounts, MonitorCounts, Report, ReportError, Window
from tests.runtime.c_compilers import C_FLAGS, CROSS, HERE, PRIVATE, SOURCES, need, run

CLASSES = 4
F32 = st.floats(width=32, allow_nan=False, allow_infinity=False)
I64 = st.integers(-(1 << 63), (1 << 63) - 1)


def two_monitors() -> bytes:
    """A monitor of whole scores and one of floats, on four classes."""
    b = Builder([Tap("logits", "int8", CLASSES, 0.5, 3), Tap("reals", "float32", 5)])
    y = b.node("argmax", 0)
    monitors = [Rule("whole", b.node("max", 0), 60, 50), Rule("real", b.node("max", 1), 1.0, 0.5)]
    return flat.write(flat.Artifact(b.program(y, monitors), "00" * 32, {}))


ARTIFACT = two_monitors()
MONITOR = Monitor(ARTIFACT)


def evaluation(rows: list[tuple[int, int, int, int, float]]) -> Evaluation:
    """Of (verdict, reason, class, whole score, real score) each; monitors have the verdict too."""
    verdict, reason, predicted, whole, real = map(list, zip(*rows, strict=True))
    v = np.array(verdict, np.uint8)
    scores = np.array(whole, np.int64), np.array(real, np.float32)
    return Evaluation(
        v, np.array(reason, np.int32), np.array(predicted, np.int32),
        np.stack([v, v], axis=1), scores,
    )  # fmt: skip


def steps(score: float) -> int:
    return max(-(1 << 62), min(1 << 62, math.trunc(Fraction(score) * (1 << 24))))


rows = st.lists(
    st.tuples(st.sampled_from([0, 1, 2, 3]), st.sampled_from([-27, -28, -26, -23]),
              st.integers(-1, CLASSES + 1), I64, F32),
    min_size=1, max_size=30,
)  # fmt: skip


@settings(deadline=None, max_examples=150)
@given(rows)
def test_counts_are_those_of_whole_numbers(seen: list[tuple[int, int, int, int, float]]) -> None:
    window = Window(MONITOR, classes=3)
    for start in range(0, len(seen), 7):  # in batches
        window.update(evaluation(seen[start : start + 7]))
    found = Report.parse(window.to_bytes())
    faults = [r for v, r, *_ in seen if v == Verdict.FAULT]
    assert found.images == len(seen)
    assert found.alarms == sum(v == Verdict.ALARM for v, *_ in seen)
    assert found.uncertains == sum(v == Verdict.UNCERTAIN for v, *_ in seen)
    kinds = found.value_faults, found.score_faults, found.other_faults
    assert kinds == (faults.count(-27), faults.count(-28), faults.count(-26) + faults.count(-23))
    assert found.classes == tuple(
        (sum(c == k for _, _, c, *_ in seen), sum(c == k and v in (1, 2) for v, _, c, *_ in seen))
        for k in range(3)
    )
    assert found.other_images == sum(c >= 3 for _, _, c, *_ in seen)
    scored = [(whole, real) for v, _, _, whole, real in seen if v != Verdict.FAULT]
    assert [m.sum for m in found.monitors] == [
        sum(whole for whole, _ in scored), sum(steps(real) for _, real in scored),
    ]  # fmt: skip
    assert [m.scored for m in found.monitors] == [len(scored)] * 2
    assert found.clipped == any(abs(real) >= 2**38 for _, real in scored)


def test_a_report_of_what_the_runtime_evaluated() -> None:
    rng = np.random.default_rng(0)
    taps = [
        rng.integers(-128, 128, (500, CLASSES), np.int8),
        rng.normal(size=(500, 5)).astype(np.float32),
    ]
    taps[1][[3, 8], 2] = np.nan
    found = MONITOR.evaluate(taps)
    window, drift = Window(MONITOR), Drift(MONITOR)
    window.update(found)
    window.update_faults(5)
    report = Report.parse(window.to_bytes(device=7, started=100, ended=160, drift=drift))
    assert (report.device, report.started, report.ended, report.images) == ("7", 100, 160, 505)
    assert report.value_faults == report.faults == 7
    assert report.judged == 498
    assert report.raised == np.isin(found.verdict, (1, 2)).sum()
    assert [n for n, _ in report.classes] == np.bincount(
        found.predicted[found.predicted >= 0], minlength=CLASSES
    ).tolist()
    good = found.verdict != Verdict.FAULT
    assert report.monitors[0].mean == found.scores[0][good].mean()
    assert report.monitors[1].mean == pytest.approx(found.scores[1][good].mean(), abs=2**-24)
    assert report.drift is None  # the artifact has no test
    window.next()
    after = Report.parse(window.to_bytes())
    assert (after.images, after.sequence, after.monitors[0].mean) == (0, 1, None)


EXAMPLE = Report(
    device="cam-17", artifact="0badcafe", started=1000, ended=1600, sequence=3, images=10,
    uncertains=1, alarms=2, value_faults=1, score_faults=0, other_faults=0, other_images=1,
    full=False, clipped=True, drift=DriftCounts(900, 3, 880, 850, 2),
    monitors=(MonitorCounts(-5, 9, 2, 1, False),), classes=((5, 3), (3, 0)),
)  # fmt: skip


def test_a_line_of_json_is_read_as_it_was_written() -> None:
    assert Report.from_json(json.loads(json.dumps(EXAMPLE.to_json()))) == EXAMPLE


def test_a_line_may_leave_out_what_a_device_does_not_know() -> None:
    line = {KEY: 1, "device": "a", "artifact": "", "images": 4, "alarms": 1}
    found = Report.from_json(line)
    assert (found.images, found.alarms, found.drift, found.monitors) == (4, 1, None, ())


@pytest.mark.parametrize(
    ("change", "why"),
    [
        ({KEY: 2}, "version 2"),
        ({"images": 2}, "more of a kind than images"),
        ({"images": 1 << 32}, "no whole number of 32 bits"),
        ({"alarms": -1}, "no whole number of 32 bits"),
        ({"alarms": True}, "no whole number of 32 bits"),
        ({"alarms": 1.0}, "no whole number of 32 bits"),
        ({"classes": [[1, 2]]}, "more of a kind than images"),
        ({"classes": [[1, 2, 3]]}, "other fields"),
        ({"classes": 5}, "other fields"),
        ({"monitors": [{"sum": 1}]}, "other fields"),
        ({"drift": {"images": 1}}, "other fields"),
        ({"ended": 999}, "ends before it starts"),
        ({"ended": 1 << 60}, "seconds since 1970"),
        ({"started": "noon"}, "seconds since 1970"),
        ({"device": ""}, "a device's name"),
        ({"device": 17}, "a device's name"),
        ({"artifact": "0badcafe0"}, "hexadecimal"),
    ],
)
def test_a_line_that_no_window_wrote_is_refused(change: dict[str, Any], why: str) -> None:
    with pytest.raises(ReportError, match=why):
        Report.from_json({**EXAMPLE.to_json(), **change})


def test_a_line_that_is_no_report_is_refused() -> None:
    for line in (None, [], "x", {"row": 1, "verdict": "trust"}):
        with pytest.raises(ReportError, match="no report"):
            Report.from_json(line)
    with pytest.raises(ReportError, match="without 'images'"):
        Report.from_json({k: v for k, v in EXAMPLE.to_json().items() if k != "images"})


def test_every_damaged_byte_of_a_report_is_noticed() -> None:
    window = Window(MONITOR)
    window.update(evaluation([(2, 0, 1, 5, 0.5)]))
    report = window.to_bytes()
    for at in range(len(report)):
        damaged = bytearray(report)
        damaged[at] ^= 0x10
        with pytest.raises(ReportError):
            Report.parse(bytes(damaged))
    for cut in range(len(report)):
        with pytest.raises(ReportError):
            Report.parse(report[:cut])


def test_a_later_version_may_append_to_head_and_records() -> None:
    """Accuracy sums of each class are to come."""
    window = Window(MONITOR)
    window.update(evaluation([(2, 0, 1, 5, 0.5), (0, 0, 3, 7, 0.25)]))
    old = window.to_bytes(device=3)
    head, monitors, cells = bytearray(old[:112]), old[112:160], old[160:192]
    head[4:12] = b"\x02\x00" + bytes([120, 0]) + bytes([32, 0]) + bytes([16, 0])
    size = 120 + 2 * 32 + CLASSES * 16 + 4
    head[12:16] = size.to_bytes(4, "little")
    body = bytes(head) + b"later..."
    body += b"".join(monitors[24 * i :][:24] + b"later..." for i in range(2))
    body += b"".join(cells[8 * i :][:8] + b"later..." for i in range(CLASSES))
    new = body + zlib.crc32(body).to_bytes(4, "little")
    assert Report.parse(new) == Report.parse(old)


def test_a_window_needs_its_own_buffer() -> None:
    """Of a size that its counts do not say, memory beyond it would be written."""
    window = Window(MONITOR)
    seen = evaluation([(2, 0, 1, 5, 0.5)])
    for other in (
        np.zeros(14, np.uint64),
        np.zeros(30, np.uint64),
        window._words[:-1].copy(),
        np.append(window._words, np.uint64(0)),
    ):
        with pytest.raises(ValueError, match="not started in this buffer"):
            MONITOR.update_window(other, seen)
        with pytest.raises(ValueError, match="not started in this buffer"):
            MONITOR.write_window(other, None)
    with pytest.raises(TypeError, match="aligned array"):
        MONITOR.start_window(np.zeros(100, np.uint8))  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="aligned array"):
        MONITOR.next_window(np.zeros(3, np.uint64))


def test_a_session_reports_what_it_saw(bundle: Path) -> None:
    session = Session(bundle)
    rng = np.random.default_rng(1)
    images = np.abs(rng.normal(size=(20, 4))).astype(np.float32)
    images[5] = np.nan
    results = [*session.evaluate_batch(images), session.evaluate(images[0])]
    results += [session.evaluate(images[5]), *session.evaluate_batch(images[5:6])]
    report = Report.parse(session.report(device=1, started=10, ended=20))
    assert report.images == 23
    assert report.value_faults == sum(r.verdict == Verdict.FAULT for r in results) == 3
    assert report.alarms == sum(r.verdict == Verdict.ALARM for r in results)
    predictions = [r.prediction for r in results]
    assert [n for n, _ in report.classes] == [predictions.count(c) for c in range(3)]
    assert report.drift is None or report.drift.images == 23
    assert Report.parse(session.report()).images == 0


@pytest.mark.parametrize("machine", CROSS)
def test_the_same_images_give_the_same_bytes_on_every_machine(machine: str, tmp_path: Path) -> None:
    compiler, emulator = CROSS[machine]
    need(emulator)
    sources = [HERE / f"{n}.c" for n in ("window_bytes", "sample", "builder")]
    found = []
    for name, start in (("gcc", []), (compiler, [emulator])):
        program = tmp_path / name
        run(need(name), *C_FLAGS, PRIVATE, "-O2", "-static", *sources, *SOURCES, "-o", program)
        done = subprocess.run([*start, program], capture_output=True, check=True)
        found.append(done.stdout)
    report = Report.parse(found[0])
    assert found[0] == found[1]
    assert report.images == 20_000
    assert report.clipped
    assert min(m.scored for m in report.monitors) > 10_000
    assert report.drift is not None


def with_table() -> Monitor:
    """The same artifact with a table of accuracy of its first monitor."""
    made = flat.read(ARTIFACT)
    edges = np.array([0, 5], np.int64)
    table = AccuracyTable(0, edges, np.array([65535, 40000, 9], np.uint16), 500, 10**8, 64)
    return Monitor(flat.write(replace(made, accuracy=table)))


def test_an_estimate_of_accuracy_travels_with_the_report() -> None:
    monitor = with_table()
    window, accuracy, drift = Window(monitor), Accuracy(monitor), Drift(monitor)
    found = evaluation([(0, 0, 1, i % 7, 0.5) for i in range(50)])
    window.update(found)
    accuracy.update(found, drift)
    for i in range(35):
        accuracy.label(40000, i % 3 > 0)
    sent = window.to_bytes(device=7, drift=drift, accuracy=accuracy)
    report = Report.parse(sent)
    assert report.accuracy == accuracy.estimate(drift)
    assert report.accuracy is not None
    assert report.accuracy.valid
    assert report.accuracy.labels == 35
    assert Report.from_json(json.loads(json.dumps(report.to_json()))) == report
    plain = Report.parse(window.to_bytes(device=7, drift=drift))
    assert replace(report, accuracy=None) == plain
    assert "accuracy" not in plain.to_json()


def test_a_reader_of_version_1_passes_over_the_estimate() -> None:
    """By the sizes in the head: without the flag it is what a later version appended."""
    monitor = with_table()
    window, accuracy = Window(monitor), Accuracy(monitor)
    window.update(evaluation([(2, 0, 1, 5, 0.5)]))
    sent = bytearray(window.to_bytes(device=7, accuracy=accuracy)[:-4])
    assert (sent[4], len(sent) + 4) == (2, len(window.to_bytes()) + 56)
    sent[28] &= ~8
    report = Report.parse(bytes(sent) + zlib.crc32(sent).to_bytes(4, "little"))
    assert report == Report.parse(window.to_bytes(device=7))


@pytest.mark.parametrize("changes", [
    {"low": 7, "high": 3}, {"estimate": 65536, "high": 65536}, {"images": -1}, {"sum": 1 << 64},
    {"valid": 1}, {"basis": 9}, {"labels": 0}, {"low": 0.5}, {"other": 1},
])  # fmt: skip
def test_an_estimate_that_none_is_is_refused(changes: dict[str, Any]) -> None:
    monitor = with_table()
    window, accuracy = Window(monitor), Accuracy(monitor)
    accuracy.update(evaluation([(0, 0, 1, 1, 0.5)] * 40))
    accuracy.label(3, True)
    line = Report.parse(window.to_bytes(device=7, accuracy=accuracy)).to_json()
    line["accuracy"] |= changes
    with pytest.raises(ReportError):
        Report.from_json(line)


def test_bytes_of_an_estimate_that_none_is_are_refused() -> None:
    monitor = with_table()
    window, accuracy = Window(monitor), Accuracy(monitor)
    window.update(evaluation([(2, 0, 1, 5, 0.5)]))
    sent = bytearray(window.to_bytes(device=7, accuracy=accuracy)[:-4])
    sent[167] = 9  # the basis
    with pytest.raises(ReportError, match="estimate"):
        Report.parse(bytes(sent) + zlib.crc32(sent).to_bytes(4, "little"))
    with pytest.raises(ValueError, match="56 bytes"):
        monitor._native.window_write(window.words, None, b"short")
