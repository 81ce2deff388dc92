"""The C of targets/boards holds the warnings that the runtime holds, under every toolchain."""

from __future__ import annotations

from pathlib import Path

import pytest

from edgemon import targets
from edgemon.targets import toolchain
from edgemon.targets.emulator import BOARDS
from tests.runtime.c_compilers import STRICT, C, need, run

SIZES = ["-DROW_BYTES=16", "-DWORKSPACE_BYTES=8"]


@pytest.mark.parametrize("name", targets.names())
def test_of_every_target(name: str, tmp_path: Path) -> None:
    target = targets.load(name)
    toolchain.amalgamate(target, tmp_path, None)
    sources = {BOARDS / "harness.c", *(s for e in target.emulators for s in e.sources)}
    flags = [*target.cflags, *STRICT, "-Wstrict-prototypes", f"-I{tmp_path}", f"-I{BOARDS}"]
    for source in sorted(sources):
        run(need(target.cc), *flags, *SIZES, "-fsyntax-only", source)


@pytest.mark.parametrize("compiler", ["gcc", "clang"])
def test_the_plug_ins(compiler: str) -> None:
    flags = ["-std=gnu11", *STRICT, "-fPIC", "-fsyntax-only"]
    for source in (BOARDS / "count.c", Path(__file__).with_name("touched.c")):
        run(need(compiler), *flags, source)


def test_every_file_belongs_to_something() -> None:
    """A source, script or header that no profile and no other file names is left over."""
    used = {p.name for n in targets.names() for e in targets.load(n).emulators for p in e.sources}
    used |= {e.script.name for n in targets.names() for e in targets.load(n).emulators if e.script}
    used |= {"harness.c", "artifact.S", "count.c", "board.h", "lines.h", "cortex_m.ld"}
    assert {p.name for p in BOARDS.iterdir()} == used


def test_the_example_is_checked_too(tmp_path: Path) -> None:
    """firmware.c alone, as somebody takes it: with its header and the runtime's, no other."""
    include = [f"-I{C / 'include' / 'edgemon'}", f"-I{C / 'examples'}"]
    for compiler in ("gcc", "clang"):
        run(
            need(compiler), "-std=c11", *STRICT, *include, "-fsyntax-only",
            C / "examples" / "firmware.c", cwd=tmp_path,
        )  # fmt: skip
