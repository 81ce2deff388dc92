"""Tables for people, and for texts."""

from __future__ import annotations

import pytest

from edgemon.compiler.terminal import Terminal

ROWS = [("box", 1.23456), ("a [b]", None)]


def test_markdown_can_be_pasted(capsys: pytest.CaptureFixture[str]) -> None:
    terminal = Terminal(markdown=True)
    terminal.note("a sentence")
    terminal.table(("monitor " + "x" * 300, "MCC"), ROWS, title="\nquality")
    lines = capsys.readouterr().out.splitlines()
    assert lines[:4] == ["a sentence", "", "quality", ""]
    assert all(line.startswith("|") and line.endswith("|") for line in lines[4:8])
    assert [c.strip() for c in lines[7].strip("|").split("|")] == ["a [b]", "n/a"]
    assert lines[8] == ""


def test_json_is_alone_on_standard_output(capsys: pytest.CaptureFixture[str]) -> None:
    terminal = Terminal(as_json=True)
    terminal.note("a sentence")
    terminal.table(("monitor", "MCC"), ROWS)
    terminal.document({"a": 1})
    assert capsys.readouterr().out.split() == ["{", '"a":', "1", "}"]
