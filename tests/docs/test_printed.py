"""What a document shows as printed is printed: every line of it, and with it every figure."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.docs.commands import pages
from tests.docs.printed import blocks, marked, run, stale


def test_there_are_such_blocks() -> None:
    assert {page.name for page in marked()} >= {"image.md"}


def test_every_marker_has_its_block() -> None:
    """One with an empty line behind it was no block, and was never run."""
    for page in pages():
        lines = page.read_text(encoding="utf-8").splitlines()
        assert sum(line.startswith("<!-- printed:") for line in lines) == len(blocks(page)), page


@pytest.mark.parametrize("page", marked(), ids=lambda page: page.stem)
def test_a_page_shows_what_its_commands_print(page: Path, tmp_path: Path) -> None:
    outputs = run(page, tmp_path)
    for (command, shown), now in zip(blocks(page), outputs, strict=True):
        found = list(stale(shown, now))
        assert found == [], f"edgemon {command} prints otherwise: python -m tests.docs.printed"


@pytest.mark.parametrize(
    ("shown", "found"),
    [
        (["a 1", "b 2", "c 3"], []),
        (["...", "b 2", "..."], []),
        (["a 1", "...", "c 3"], []),
        (["a 1", "b 3", "..."], ["b 3"]),
        (["a 1", "c 3"], ["c 3", "(the end: b 2)"]),
        (["a 1", "b 2"], ["(the end: c 3)"]),
        (["...", "c 3", "a 1"], ["a 1"]),
    ],
)
def test_a_stale_line_is_found(shown: list[str], found: list[str]) -> None:
    assert list(stale(shown, ["a 1", "b 2", "c 3"])) == found
