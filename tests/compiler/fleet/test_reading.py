"""Logs of all kinds, whole and damaged: what is read, and what is named as left out (SEC13)."""

from __future__ import annotations

import gzip
import io
import json
import sys
from base64 import b64encode
from pathlib import Path

import numpy as np
import pytest

from edgemon.compiler.errors import DataError
from edgemon.compiler.fleet import reading
from edgemon.compiler.fleet.reading import Problems, files, reports
from edgemon.runtime.window import Report, Window
from tests.compiler.fleet.logs import report, write
from tests.runtime.test_window import MONITOR, evaluation


def raw(device: int, images: int = 3) -> bytes:
    window = Window(MONITOR)
    window.update(evaluation([(2, 0, 1, 5, 0.5)] * images))
    return window.to_bytes(device=device, started=device * 100, ended=device * 100 + 60)


def read(path: Path) -> tuple[list[Report], Problems]:
    problems = Problems()
    return list(reports(path, problems)), problems


def test_lines_that_are_no_reports_are_named_and_the_others_read(tmp_path: Path) -> None:
    good = [json.dumps(report("a", n).to_json()) for n in range(3)]
    bad = ["{", "[]", '{"edgemon_window": 1, "device": "a"}', "\x00", "9" * 5000, "[" * 99999]
    log = tmp_path / "a.jsonl"
    log.write_text("\n".join([good[0], *bad, "", good[1], '{"cut": ', good[2]]))
    found, problems = read(log)
    assert [r.sequence for r in found] == [0, 1, 2]
    assert problems.count == len(bad) + 1
    assert problems.first[0] == f"{log}:2: no JSON"
    assert f"{log}:4: a report without 'artifact'" in problems.first
    assert problems.reasons["no JSON"] == 5


def test_a_log_cannot_fill_memory_or_terminal_with_its_own_words(tmp_path: Path) -> None:
    log = tmp_path / "a.jsonl"
    lines = ({"edgemon_window": str(n) + "x" * 100_000} for n in range(100))
    log.write_text("".join(json.dumps(line) + "\n" for line in lines))
    _, problems = read(log)
    assert problems.count == 100
    assert len(problems.reasons) == reading.KINDS + 1
    assert max(map(len, problems.first)) < 400 + len(str(log))


def test_a_line_without_end_is_one_problem_and_takes_no_memory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reading, "MOST_LINE", 2000)
    log = tmp_path / "a.log"
    log.write_text("x" * 9000 + "\n" + json.dumps(report().to_json()) + "\n")
    found, problems = read(log)
    assert len(found) == 1
    assert problems.first == [f"{log}:1: a line of more than 2,000 bytes"]


def test_bytes_as_devices_send_them(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reading, "CHUNK", 50)  # reports over the ends of chunks
    log = tmp_path / "a.emw"
    log.write_bytes(b"".join(raw(d) for d in range(1, 6)))
    found, problems = read(log)
    assert [r.device for r in found] == ["1", "2", "3", "4", "5"]
    assert not problems.count


@pytest.mark.parametrize("chunk", [17, 100, 1 << 16])
def test_behind_a_damaged_report_the_next_is_found(
    chunk: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reading, "CHUNK", chunk)
    whole = [raw(d) for d in range(1, 8)]
    size = len(whole[0])
    flipped, longer = bytearray(whole[1]), bytearray(whole[3])
    flipped[70] ^= 1
    longer[12:16] = (1 << 30).to_bytes(4, "little")  # a size that would swallow all that follows
    parts = [
        whole[0], bytes(flipped), whole[2], bytes(longer), whole[4], b"EMWR noise EM", whole[5],
        whole[6][:90],
    ]  # fmt: skip
    log = tmp_path / "a.emw"
    log.write_bytes(b"".join(parts))
    found, problems = read(log)
    assert [r.device for r in found] == ["1", "3", "5", "6"]
    assert problems.first[0].startswith(f"{log}, byte {size}: a report with another checksum")
    assert problems.count >= 4


def test_random_bytes_end(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    log = tmp_path / "a.emw"
    log.write_bytes(b"EMWR" + rng.bytes(100_000).replace(b"\x00", b"EMWR"))
    found, problems = read(log)
    assert not found
    assert problems.count
    assert len(problems.first) == reading.NAMED
    assert len(problems.reasons) <= reading.KINDS + 1


def test_a_gateway_wraps_bytes_in_a_line(tmp_path: Path) -> None:
    line = {"report": b64encode(raw(7)).decode(), "device": "gate-3/7"}
    window = Window(MONITOR).to_bytes(device=8)
    late = {"report": b64encode(window).decode(), "received": 5_000_000}
    worse = [{"report": "%%"}, {"report": 5}, {"report": ""}, {**line, "device": 3}]
    log = tmp_path / "a.jsonl"
    log.write_text("".join(json.dumps(x) + "\n" for x in [line, late, *worse]))
    found, problems = read(log)
    assert [(r.device, r.ended) for r in found] == [("gate-3/7", 760), ("8", 5_000_000)]
    assert found[0].monitors
    assert problems.count == len(worse)


def test_packed_logs_and_standard_input(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    line = json.dumps(report().to_json()).encode() + b"\n"
    packed = tmp_path / "a.jsonl.gz"
    packed.write_bytes(gzip.compress(line * 3))
    assert len(read(packed)[0]) == 3
    packed.write_bytes(gzip.compress(line * 50_000)[:-400])
    found, problems = read(packed)
    assert found
    assert "cannot be read to its end" in problems.first[0]

    class Input:
        buffer = io.BytesIO(line)

    monkeypatch.setattr(sys, "stdin", Input)
    assert len(read(Path("-"))[0]) == 1


def test_a_folder_is_searched_for_logs(tmp_path: Path) -> None:
    for name in ("b/x.jsonl", "a/y.emw", "z.log", "c/d/w.json.gz", "notes.txt", "cover.png"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        write(tmp_path / name, [report()])
    found, others = files([str(tmp_path)])
    assert [str(p.relative_to(tmp_path)) for p in found] == [
        "a/y.emw", "b/x.jsonl", "c/d/w.json.gz", "z.log",
    ]  # fmt: skip
    assert others == 2
    assert files([str(tmp_path / "notes.txt")])[0]  # what is named is read
    (tmp_path / "empty").mkdir()
    for wrong in ("empty", "nowhere"):
        with pytest.raises(DataError, match=wrong):
            files([str(tmp_path / wrong)])
