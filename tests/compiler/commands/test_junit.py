"""The JUnit file says how this run ended, or nothing."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from edgemon.compiler.commands import junit
from edgemon.compiler.commands.early import require_baseline
from edgemon.compiler.errors import CompileError


def test_a_file_that_cannot_be_written_is_found_before_the_work(tmp_path: Path) -> None:
    begun = []

    def work() -> None:
        with junit.reported(tmp_path / "none" / "j.xml", "s", "compile"):
            begun.append(1)

    with pytest.raises(CompileError, match="--junit"):
        work()
    assert not begun


def test_a_file_that_cannot_be_written_hides_no_outcome(tmp_path: Path) -> None:
    folder = tmp_path / "below"
    folder.mkdir()

    def work() -> None:
        with junit.reported(folder / "j.xml", "s", "compile"):
            shutil.rmtree(folder)
            raise CompileError("missed")

    with pytest.raises(CompileError, match="missed"):
        work()


def test_the_file_of_an_earlier_pass_does_not_stay(tmp_path: Path) -> None:
    path = tmp_path / "j.xml"
    path.write_text("passed")
    junit.start(path)
    assert list(tmp_path.iterdir()) == []


def test_an_empty_folder_is_no_baseline(tmp_path: Path) -> None:
    with pytest.raises(CompileError, match="not an edgemon bundle"):
        require_baseline(tmp_path)
