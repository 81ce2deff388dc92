"""docs/security.md and docs/safety.md: each invariant is cited by a test, numbers are true."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.conftest import ROOT
from tests.runtime.c_compilers import C_FLAGS, C, need, run

SECURITY, SAFETY = ROOT / "docs" / "security.md", ROOT / "docs" / "safety.md"
SUFFIXES = {".py", ".c", ".cpp", ".h"}


def cited() -> set[str]:
    """Numbers in docstrings and comments of tests."""
    own = Path(__file__)
    files = (p for p in (ROOT / "tests").rglob("*") if p.suffix in SUFFIXES and p != own)
    return {n for p in files for n in re.findall(r"\bSEC\d+\b", p.read_text(encoding="utf-8"))}


def test_every_invariant_is_cited_by_a_test() -> None:
    stated = re.findall(r"^\*\*(SEC\d+)\*\*", SECURITY.read_text(), re.MULTILINE)
    assert stated == [f"SEC{n}" for n in range(1, len(stated) + 1)]
    assert len(stated) >= 15
    assert cited() == set(stated)


def test_pages_refer_to_invariants_and_assumptions_that_are_there() -> None:
    text = SECURITY.read_text() + SAFETY.read_text()
    stated = set(re.findall(r"^\*\*(SEC\d+)\*\*", SECURITY.read_text(), re.MULTILINE))
    assert set(re.findall(r"\bSEC\d+\b", text)) == stated
    rows = re.findall(r"^\| (AOU\d+) \|", SAFETY.read_text(), re.MULTILINE)
    assert rows == [f"AOU{n}" for n in range(1, len(rows) + 1)]
    assert set(re.findall(r"\bAOU\d+\b", text)) == set(rows)


@pytest.mark.parametrize(("compiler", "flags", "column"), [
    ("gcc", ["-m64"], 0), ("arm-none-eabi-gcc", ["-mcpu=cortex-m4", "-mthumb"], 1),
])  # fmt: skip
def test_sizes_of_structs(compiler: str, flags: list[str], column: int, tmp_path: Path) -> None:
    rows = re.findall(r"^\| `(em_\w+)`[^|]*\| (\d+) \| (\d+) \|$", SAFETY.read_text(), re.MULTILINE)
    assert len(rows) == 7
    probe = tmp_path / "sizes.c"
    probe.write_text(
        '#include "edgemon/edgemon.h"\n'
        + "".join(
            f'_Static_assert(sizeof({name}) == {size[column]}, "{name}");\n' for name, *size in rows
        )
    )
    run(need(compiler), "-std=c11", *flags, f"-I{C / 'include'}", "-fsyntax-only", probe)


def test_the_time_of_the_checksum(tmp_path: Path) -> None:
    """Instructions of the loop over bytes."""
    stated = re.search(r"`em_check` \| at most (\d+) instructions a byte", SAFETY.read_text())
    assert stated is not None
    options = ["-mcpu=cortex-m4", "-mthumb", "-Os", *C_FLAGS]
    run(need("arm-none-eabi-gcc"), *options, "-c", C / "src" / "em_open.c", "-o", tmp_path / "o.o")
    text = run(need("arm-none-eabi-objdump"), "-d", "--no-show-raw-insn", tmp_path / "o.o")
    body = re.split(r"\n\n", text[text.index("<crc_step>:\n") :])[0]
    lines = re.findall(r"^ +([0-9a-f]+):\t(\S+)\s*(.*)$", body, re.MULTILINE)
    places = {int(at, 16): number for number, (at, _, _) in enumerate(lines)}
    loops = []
    for number, (_, name, to) in enumerate(lines):
        first = places.get(int(to.split()[0], 16), number) if name in ("b.n", "bne.n") else number
        if first < number:  # what returns amid it is not of the loop
            loops.append([v for _, v, _ in lines[first : number + 1] if v != "pop"])
    assert len(loops) == 1
    assert len(loops[0]) <= int(stated[1])
