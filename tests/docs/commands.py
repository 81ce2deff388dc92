"""The ``edgemon`` commands that documents print, as a shell would split them."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from tests.conftest import ROOT

FENCE = re.compile(r"^( *)(`{3,})(\w*)[^\n]*\n(.*?)^\1\2 *$", re.M | re.S)
SHELLS = ("", "sh", "bash", "console", "text", "yaml")
INLINE = re.compile(r"(?<!`)`((?:[\w./$()-]*/)?edgemon [a-z-]+[^`]*)`(?!`)", re.S)
QUOTED = re.compile(r"'[^'\n]*'|\"[^\"\n]*\"")
ASIDE = re.compile(r" {3,}(?=\S).*|\s#\s.*|\s*[;|>].*|\s+(?:&&|2>).*")


@dataclass(frozen=True)
class Command:
    """One command: where it stands, and its words after ``edgemon``."""

    where: str
    words: tuple[str, ...]

    def __str__(self) -> str:
        return f"{self.where}: edgemon {' '.join(self.words)}"


def pages() -> list[Path]:
    """All Markdown of the repository."""
    roots = [ROOT / "docs", ROOT / "runtime"]
    found = [p for root in roots for p in root.rglob("*.md")]
    return sorted([*found, *ROOT.glob("*.md")])


def of_page(path: Path) -> Iterator[Command]:
    """Those of fenced and indented blocks, and of code in a line."""
    text = path.read_text(encoding="utf-8")
    name = path.relative_to(ROOT).as_posix()
    lines = [line for m in FENCE.finditer(text) if m[3] in SHELLS for line in _lines(m[4])]
    rest = FENCE.sub("", text)
    lines += [line for line in _lines(rest) if line.startswith("    ")]
    for line in lines:
        started = re.match(r"\s*(?:\$ |- |run: )*(?:\S*/)?edgemon (?=[a-z-])", line)
        if started:
            yield Command(name, split(line[started.end() :]))
    for found in INLINE.finditer(rest):
        yield Command(name, split(re.sub(r"\s+", " ", found[1]).partition("edgemon ")[2]))


def _lines(text: str) -> list[str]:
    return re.sub(r"\\\n\s*", "", text).splitlines()


def split(line: str) -> tuple[str, ...]:
    """Words without what is said beside the command; brackets mark what may be left out."""
    kept: list[str] = []
    quotes = QUOTED.findall(line)
    bare = QUOTED.sub("\0", line)
    bare = ASIDE.sub("", bare).replace("[", "").replace("]", "")
    for quote in quotes[: bare.count("\0")]:
        bare = bare.replace("\0", quote, 1)
    try:
        kept = shlex.split(bare)
    except ValueError:
        kept = bare.split()
    return tuple(kept)
