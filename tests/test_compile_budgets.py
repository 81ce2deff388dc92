"""``edgemon compile`` with a budget of bytes and time: what it chooses, refuses and prints."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from edgemon import targets
from edgemon.compiler.monitors.fusion import stack
from tests.command_line import DATA, MODEL, document, edgemon, refused


@pytest.fixture
def several_signals(monkeypatch: pytest.MonkeyPatch) -> None:
    """One signal finds so much on digits that no other would join it by what it gains."""
    monkeypatch.setattr(stack, "LEAST_GAIN", -1)
    monkeypatch.setattr(stack, "ERRORS", -100)


def require_prices(shown: str, manifest: dict[str, Any]) -> None:
    """Do the tables say what a kilobyte and a microsecond of the second signal buy?"""
    assert "us on host-x86_64, estimated" in shown
    lines = shown.splitlines()
    head = next(i for i, v in enumerate(lines) if v.startswith("stack"))
    assert lines[head].split()[:7] == ["stack", "kB,", "at", "most", "us,", "at", "most"]
    (monitor,) = manifest["monitors"]
    joined = [c for c in monitor["details"]["selection"] if c["kept"]]
    first, second = joined[:2]
    cells = lines[head + 2].split()
    gain = second["stack_auroc"] - first["stack_auroc"]
    kilobytes = (second["stack_bytes"] - first["stack_bytes"]) / 1024
    time = second["stack_estimated_us"] - first["stack_estimated_us"]
    assert cells[1] == second["signal"]
    assert [float(v) for v in cells[-3:]] == [
        round(v, 4) for v in (gain, gain / kilobytes, gain / time)
    ]


@pytest.mark.usefixtures("several_signals")
def test_a_budget_of_bytes_and_time_chooses_the_signals(tmp_path: Path) -> None:
    common = ("compile", MODEL, "--data", DATA, "--out")
    result = edgemon(*common, tmp_path / "a", "-v")
    assert result.exit_code == 0, result.stderr
    free = json.loads((tmp_path / "a" / "manifest.json").read_text())
    require_prices(result.stdout, free)
    limit = ("--budget-kb", "2", "--budget-us", "0.2")
    result = edgemon(*common, tmp_path / "b", *limit, "-v")
    assert result.exit_code == 0, result.stderr
    found = json.loads((tmp_path / "b" / "manifest.json").read_text())
    assert found["budget"] == {"kilobytes": 2.0, "microseconds": 0.2}
    assert found["bytes"]["monitors"] <= 2 * 1024 < free["bytes"]["monitors"]
    assert found["estimated_us"] <= 0.2 < free["estimated_us"]
    assert "kB; " in result.stdout
    assert "us, estimated: met" in result.stdout
    assert free["budget"] == {"kilobytes": None, "microseconds": None}


@pytest.mark.usefixtures("several_signals")
def test_signals_that_cost_no_time_end_no_compile(tmp_path: Path) -> None:
    """What a microsecond buys was divided by none, after the bundle had been written."""
    host = Path(targets.__file__).parent / "profiles" / "host-x86_64.toml"
    head = host.read_text().partition("# What `edgemon op-times")[0]
    free = "".join(f"{part} = 0\n" for part in targets.PARTS)
    (tmp_path / "free.toml").write_text(f"{head}[nanoseconds]\n{free}")
    result = edgemon(
        "compile", MODEL, "--data", DATA, "--target", tmp_path / "free.toml",
        "--out", tmp_path / "b", "-v",
    )  # fmt: skip
    assert result.exit_code == 0, result.stderr
    lines = result.stdout.splitlines()
    stack = next(i for i, v in enumerate(lines) if v.startswith("stack"))
    assert [v.split()[-1] for v in lines[stack + 1 : stack + 3]] == ["n/a", "n/a"]


@pytest.mark.usefixtures("several_signals")
def test_a_larger_budget_is_met_with_thresholds_of_classes_too(tmp_path: Path) -> None:
    """A second signal once left no room for the thresholds."""
    common = ("compile", MODEL, "--data", DATA, "--drift-run-length", "0", "--per-class", "each")
    promise = ("--false-alarm", "0.3", "--confidence", "0.6", "--budget-kb", "23")
    found = document(*common, *promise, "--out", tmp_path / "b")
    assert found["monitors"][0]["class_thresholds"]
    assert sum(c["kept"] for c in found["monitors"][0]["details"]["selection"]) >= 2
    assert found["monitors"][0]["bytes"] == found["bytes"]["monitors"] <= 23 * 1024


def test_single_monitors_over_the_budget_are_refused_before_anything_is_written(
    tmp_path: Path,
) -> None:
    common = ("compile", MODEL, "--data", DATA, "--monitor", "softmax,box", "--out", tmp_path / "b")
    assert "budget missed: kilobytes are" in refused(*common, "--budget-kb", "1", code=3)
    message = refused(*common, "--budget-us", "0.01", code=3)
    assert "microseconds on host-x86_64, estimated, are" in message
    assert "no signal fits" in refused(
        "compile", MODEL, "--data", DATA, "--out", tmp_path / "b", "--budget-kb", "0.2", code=3
    )
    assert not (tmp_path / "b").exists()


def test_a_profile_of_ones_own_with_a_budget_and_without_times(tmp_path: Path) -> None:
    host = Path(targets.__file__).parent / "profiles" / "host-x86_64.toml"
    untimed = host.read_text().partition("# What `edgemon op-times")[0]
    profile = tmp_path / "board.toml"
    profile.write_text(untimed + "[budget]\nkilobytes = 6\n")
    common = ("compile", MODEL, "--data", DATA, "--target", profile, "--out", tmp_path / "b")
    message = refused(*common, "--budget-us", "5")
    assert "target board has no [nanoseconds]" in message
    result = edgemon(*common)
    assert result.exit_code == 0, result.stderr
    assert "estimated" not in result.stdout
    found = json.loads((tmp_path / "b" / "manifest.json").read_text())
    assert found["budget"] == {"kilobytes": 6.0, "microseconds": None}
    assert found["bytes"]["monitors"] <= 6 * 1024
    assert found["estimated_us"] is None
    assert found["options"]["target"] == "board"  # its folder is nobody's business
    bench = ("bench", tmp_path / "b", "--data", DATA, "--rounds", "4", "--target", profile)
    assert document(*bench)["environment"]["target"] == "board"
