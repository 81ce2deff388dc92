"""``em_evaluate`` is reentrant, and threads share an ``em_monitor``."""

from __future__ import annotations

import subprocess
from pathlib import Path

import numpy as np
import pytest

from tests.runtime.c_compilers import C_FLAGS, HERE, SOURCES, need, run
from tests.runtime.versions import make

STORED = sorted(make.HERE.glob("*.emon"))[-1]  # every op and every section


@pytest.fixture(scope="module")
def rows(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Rows of the stored artifact's taps, one behind the other."""
    path = tmp_path_factory.mktemp("rows") / "rows"
    with np.load(STORED.with_suffix(".npz")) as stored:
        taps = [stored[name] for name in sorted(stored) if name.startswith("tap")]
    count = len(taps[0])
    path.write_bytes(b"".join(tap[i].tobytes() for i in range(count) for tap in taps))
    return path


def build(compiler: str, folder: Path, *flags: str) -> Path:
    program = folder / "threads"
    sources = [HERE / "threads.c", *SOURCES]
    run(compiler, *C_FLAGS, "-O1", "-g", *flags, *sources, "-pthread", "-o", program)
    return program


def race_is_found(compiler: str, folder: Path) -> bool:
    """Does the compiler bring a ThreadSanitizer that runs here, and finds a race?"""
    source = folder / "race.c"
    source.write_text(
        "#include <pthread.h>\nstatic int n;\n"
        "static void *f(void *x) { n++; return x; }\n"
        "int main(void) { pthread_t t; pthread_create(&t, 0, f, 0); n++; pthread_join(t, 0); }\n"
    )
    command = [compiler, "-g", "-fsanitize=thread", source, "-pthread", "-o", folder / "race"]
    if subprocess.run(command, capture_output=True, check=False).returncode != 0:
        return False
    done = subprocess.run([folder / "race"], capture_output=True, text=True, check=False)
    return "data race" in done.stderr


@pytest.mark.parametrize("compiler", ["gcc", "clang"])
def test_threads_share_a_monitor(compiler: str, rows: Path, tmp_path: Path) -> None:
    cc = need(compiler)
    if not race_is_found(cc, tmp_path):
        pytest.skip(f"{compiler} has no ThreadSanitizer that runs here")
    program = build(cc, tmp_path, "-fsanitize=thread")
    assert run(program, STORED, rows).endswith(" 0 wrong\n")


def test_an_evaluation_in_the_middle_of_another(rows: Path, tmp_path: Path) -> None:
    program = build(need("gcc"), tmp_path)
    assert run(program, STORED, rows, "signals").endswith(" 0 wrong\n")
