"""``edgemon fleet`` as typed."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from edgemon.runtime.accuracy import Basis
from tests.command_line import document, edgemon, refused
from tests.compiler.fleet.logs import estimate, report, write


def test_a_folder_of_logs(tmp_path: Path) -> None:
    write(tmp_path / "a.jsonl", [report("a", n, alarms=90) for n in range(12)])
    write(tmp_path / "b.jsonl", [report("b", n, alarms=40) for n in range(12)])
    (tmp_path / "c.jsonl").write_text("nothing\n")
    page = tmp_path / "page.html"
    result = edgemon("fleet", tmp_path, "--limit", "0.06", "--html", page)
    assert result.exit_code == 0, result.stderr
    assert "24 reports of 2 devices, 24,000 images: 6.50% alarms" in result.stdout
    assert "1 of 2 devices alarm more often than that" in result.stdout
    assert "c.jsonl:1: no JSON" in result.stderr
    assert page.read_text().startswith("<!DOCTYPE html>")
    found = document("fleet", tmp_path, "--limit", "0.06")
    assert found["above"] == ["a"]
    assert found["bad"]["count"] == 1


def test_a_bundle_says_what_to_expect(bundle: Path, tmp_path: Path) -> None:
    crc = int.from_bytes((bundle / "monitor.emon").read_bytes()[28:32], "little")
    log = write(tmp_path / "a.jsonl", [report("a", n, artifact=f"{crc:08x}") for n in range(3)]
                + [report("b", 0)])  # fmt: skip
    found = document("fleet", log, "--bundle", bundle)
    manifest = json.loads((bundle / "manifest.json").read_text())
    expected = found["expected"]
    caught = manifest["together"]["true_alarms"] / manifest["together"]["rows"]
    assert expected["limit"] > manifest["options"]["rate"] + caught
    assert expected["run_length"] == manifest["drift"]["run_length"]
    assert found["of_other_artifacts"] == 1
    assert [r["device"] for r in found["by_device"]] == ["a"]
    only = write(tmp_path / "b.jsonl", [report("b", 0)])
    assert "all 1 reports are of other artifacts" in refused("fleet", only, "--bundle", bundle)


def test_what_run_appends_is_a_log_for_fleet(bundle: Path, tiny_data: Path, tmp_path: Path) -> None:
    log = tmp_path / "logs" / "a.jsonl"
    log.parent.mkdir()
    for device in ("3", "4"):
        ran = edgemon("run", bundle, "--data", tiny_data, "--reports", log, "--device", device)
        assert ran.exit_code == 0, ran.stderr
    found = document("fleet", log.parent, "--bundle", bundle)
    assert [(r["device"], r["images"]) for r in found["by_device"]] == [("3", 900), ("4", 900)]
    assert not found["bad"]["count"]
    verdicts = document("run", bundle, "--data", tiny_data)["summary"]["verdicts"]
    assert found["total"]["alarms"] == 2 * verdicts["alarm"]


def test_what_cannot_be_merged_is_said_in_a_sentence(tmp_path: Path) -> None:
    empty = tmp_path / "a.jsonl"
    empty.touch()
    assert "no report in 1 files" in refused("fleet", empty)
    empty.write_text('{"row": 0, "verdict": "trust"}\n')
    assert "no report among 1 lines" in refused("fleet", empty)
    assert "no such file" in refused("fleet", tmp_path / "x")
    assert "--limit 5" in refused("fleet", empty, "--limit", "5")
    assert "not an edgemon bundle" in refused("fleet", empty, "--bundle", tmp_path)


def test_estimated_accuracy_over_time_and_by_device(tmp_path: Path) -> None:
    """The least accurate first; what is not valid is left out, and said."""
    logs = [report("a", n, accuracy=estimate(0.9)) for n in range(3)]
    logs += [report("b", n, accuracy=estimate(0.6, basis=Basis.LABELS)) for n in range(3)]
    logs += [report("b", 100, accuracy=estimate(0.8))]
    logs += [report("c", n, accuracy=estimate(0.1, valid=False)) for n in range(3)]
    write(tmp_path / "a.jsonl", [*logs, report("d")])
    page = tmp_path / "page.html"
    result = edgemon("fleet", tmp_path, "--html", page)
    assert result.exit_code == 0, result.stderr
    assert "accuracy, as 7 reports estimate it: 75.71% (73.71 to 77.71)" in result.stdout
    assert "3 reports have an estimate of accuracy that is not valid" in result.stderr
    assert "(now: c)" in result.stderr
    assert "Estimated accuracy" in page.read_text()
    found = document("fleet", tmp_path)
    assert found["least_accurate"] == ["b", "a"]
    assert found["accuracy_not_valid"] == ["c"]
    by_name = {r["device"]: r for r in found["by_device"]}
    assert by_name["b"]["accuracy"]["estimate"] == pytest.approx(0.65, abs=1e-4)
    assert by_name["b"]["last_accuracy"]["estimate"] == pytest.approx(0.8, abs=1e-4)
    assert by_name["c"]["accuracy"] == {
        "estimate": None, "interval": None, "reports": 0, "not_valid": 3,
    }  # fmt: skip
    assert by_name["d"]["accuracy"] is None
    assert [r["accuracy"]["reports"] for r in found["by_day"]] == [6, 1]


def test_without_estimates_nothing_is_said_of_accuracy(tmp_path: Path) -> None:
    write(tmp_path / "a.jsonl", [report("a", n) for n in range(3)])
    page = tmp_path / "page.html"
    result = edgemon("fleet", tmp_path, "--html", page)
    assert "accuracy" not in result.stdout + result.stderr + page.read_text()
