"""Blocks of documents that a command printed. A line above each names the command::

    <!-- printed: edgemon run digits --data 'rows.npz[0:3]' -->

and ``...`` stands for lines that are left out. The commands of a page run one after another in an
empty folder that has the repository's ``bench``. ``python -m tests.docs.printed`` writes what they
print now in place of what they printed. Times are none of such blocks but those that a target's
profile states."""

from __future__ import annotations

import difflib
import os
import re
import shlex
import tempfile
from collections.abc import Iterator
from pathlib import Path

from typer.testing import CliRunner

from edgemon.compiler.commands.root import app
from tests.conftest import ROOT
from tests.docs.commands import pages

BLOCK = re.compile(r"(<!-- printed: edgemon (.*?) -->\n```text\n)(.*?)(^```)", re.M | re.S)
LEFT_OUT = "..."


def marked() -> list[Path]:
    """The pages that have such blocks."""
    return [path for path in pages() if BLOCK.search(path.read_text(encoding="utf-8"))]


def blocks(page: Path) -> list[tuple[str, list[str]]]:
    """Of each block the command behind ``edgemon``, and the lines."""
    found = BLOCK.finditer(page.read_text(encoding="utf-8"))
    return [(m[2], m[3].splitlines()) for m in found]


def run(page: Path, folder: Path) -> list[list[str]]:
    """The lines that the commands of a page print there, in its order."""
    (folder / "bench").symlink_to(ROOT / "bench")
    before = Path.cwd()
    os.chdir(folder)
    try:
        return [_printed(command) for command, _ in blocks(page)]
    finally:
        os.chdir(before)


def _printed(command: str) -> list[str]:
    done = CliRunner(env={"COLUMNS": "100"}).invoke(app, shlex.split(command))
    assert done.exit_code == 0, done.output
    return [line.rstrip() for line in done.output.splitlines()]


def stale(shown: list[str], now: list[str]) -> Iterator[str]:
    """Lines of a block that are not printed now, in this order, with nothing left out in
    silence."""
    at, free = 0, False
    for line in shown:
        if line == LEFT_OUT:
            free = True
            continue
        there = now.index(line, at) if line in now[at:] else None
        if there is None or (there > at and not free):
            yield line
            continue
        at, free = there + 1, False
    if at < len(now) and not free:
        yield f"(the end: {now[at]})"


def renewed(shown: list[str], now: list[str]) -> list[str]:
    """The block as it would be printed now: each line's nearest."""
    near = (line if line == LEFT_OUT else difflib.get_close_matches(line, now, 1, 0)[0]
            for line in shown)  # fmt: skip
    return list(near)


def main() -> None:
    """Renew all blocks."""
    for page in marked():
        with tempfile.TemporaryDirectory() as folder:
            outputs = iter(run(page, Path(folder)))
        text = BLOCK.sub(
            lambda m, outputs=outputs: (
                m[1]
                + "".join(f"{line}\n" for line in renewed(m[3].splitlines(), next(outputs)))
                + m[4]
            ),
            page.read_text(encoding="utf-8"),
        )
        page.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
