"""``--json`` when a command fails: one document on standard output, the sentence on the other."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from edgemon.compiler import answer
from tests.command_line import DATA, MODEL, bench_of, copy, edgemon


def failure(*arguments: str | Path, code: int) -> Any:
    result = edgemon(*arguments, "--json")
    assert result.exit_code == code, (result.stdout, result.stderr, result.exception)
    found = json.loads(result.stdout)  # one document: json refuses what follows it
    assert (found["passed"], found["exit_code"]) == (False, code)
    assert found["error"].split()[0] in result.stderr
    return found


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (("inspect", "nowhere"), "does not exist"),
        (("inspect", MODEL, "--nosuch"), "--nosuch"),
        (("compile", MODEL), "--out"),
        (("nosuch",), "nosuch"),
        (("--nosuch",), "--nosuch"),
        (("run", "nowhere", "--data", DATA), "nowhere"),
        (("evaluate", "nowhere"), "nowhere"),
        (("target", "check", "nosuch", "nowhere"), "nosuch"),
    ],
)
def test_a_mistake_is_also_a_document(arguments: tuple[str, ...], says: str) -> None:
    assert says in failure(*arguments, code=2)["error"]


def test_a_damaged_bundle_has_a_code_of_its_own(digits_bundle: Path, tmp_path: Path) -> None:
    other = copy(digits_bundle, tmp_path / "other")
    content = bytearray((other / "monitor.emon").read_bytes())
    content[len(content) // 2] ^= 1
    (other / "monitor.emon").write_bytes(content)
    for command in (("verify", other), ("inspect", other), ("run", other, "--data", DATA)):
        assert "checksum mismatch" in failure(*command, code=9)["error"]


def test_a_gate_that_is_missed_keeps_what_was_found(digits_bundle: Path) -> None:
    missed = failure(*bench_of(digits_bundle), "--budget", "flash_bytes=10", code=3)
    assert "flash_bytes is" in missed["error"]
    assert missed["device"]["flash_bytes"] > 10


def test_success_and_text_are_as_they_were() -> None:
    assert "passed" not in json.loads(edgemon("inspect", MODEL, "--json").stdout)
    assert edgemon("inspect", "nowhere").stdout == ""
    assert not answer.is_asked_for(["run", "--", "--json"])
