"""A process that repeats its values, from compile to run: new rows keep to the promise."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.command_line import document

PROMISE = 0.05


def test_new_rows_of_a_process_that_repeats_its_values_keep_to_the_promise(
    shared: Path, tmp_path: Path
) -> None:
    """Repeats were left out, and 24.4 % of the right answers among new rows alarmed."""
    case = shared / "data" / "cases" / "01-duplicates-promise"
    if not case.is_dir():
        pytest.skip(f"{case} is missing: the cases are not in the repository")
    bundle = tmp_path / "b"
    found = document(
        "compile", case / "e1.onnx", "--data", case / "e1.npz", "--monitor", "msp_t",
        "--out", bundle,
    )  # fmt: skip
    assert sum(found["rows"].values()) == 20_000
    assert found["realised"]["sets"] == "values"
    right = document("run", bundle, "--data", case / "e1new.npz")["summary"]["alarms"]["right"]
    assert 0 < right["alarms"] / right["rows"] < PROMISE
    own = document("guarantee", bundle, "--data", case / "e1new.npz", "--resplits", "10")["own"]
    assert own["lines"][0]["held"]
