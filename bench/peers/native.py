"""Contestants in C: built, loaded, weighed, and their instructions counted."""

from __future__ import annotations

import ctypes
import re
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from edgemon.bench.errors import BenchError
from edgemon.bench.peers.work import Array, CSource, Floats, Integers

OPTIONS = ("-std=gnu11", "-O3", "-ffp-contract=off", "-fPIC", "-w")
DRIVER = """
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#define NOINLINE __attribute__((noinline))
int32_t answer(const ROW *x);
NOINLINE void race(const ROW *rows, int n, int d, int32_t *out) {
    for (int i = 0; i < n; i++) out[i] = answer(rows + (size_t)i * (size_t)d);
}
int main(int argc, char **argv) {
    const int n = atoi(argv[2]), d = atoi(argv[3]);
    ROW *rows = malloc(sizeof(ROW) * (size_t)n * (size_t)d);
    int32_t *out = malloc(sizeof(int32_t) * (size_t)n);
    FILE *file = fopen(argv[1], "rb");
    const size_t size = sizeof(ROW) * (size_t)d;
    if (argc < 4 || file == NULL || fread(rows, size, (size_t)n, file) != (size_t)n) return 1;
    answer(rows);
    race(rows, n, d, out);
    return out[0] < 0;
}
"""


@dataclass(frozen=True, eq=False)
class Native:
    """A contestant that was built."""

    library: ctypes.CDLL
    program: Path
    rows: Array
    bytes: int

    def answers(self) -> Integers:
        """(n,): of every row, one after another."""
        n, d = self.rows.shape
        out = np.empty(n, np.int32)
        self.library.race(
            ctypes.c_void_p(self.rows.ctypes.data), n, d, ctypes.c_void_p(out.ctypes.data)
        )
        return out

    def instructions(self) -> float | None:
        """Of one row, by valgrind's callgrind; None where that is not installed."""
        valgrind = shutil.which("valgrind")
        if valgrind is None:
            return None
        n, d = self.rows.shape
        path = self.program.with_suffix(".rows")
        path.write_bytes(self.rows.tobytes())
        done = subprocess.run(
            [valgrind, "--tool=callgrind", "--toggle-collect=race",
             "--callgrind-out-file=/dev/null", str(self.program), str(path), str(n), str(d)],
            capture_output=True, text=True, check=False,
        )  # fmt: skip
        found = re.search(r"Collected\s*:\s*(\d+)", done.stderr)
        return None if done.returncode or found is None else int(found[1]) / n


def build(source: CSource, rows: Floats, folder: Path) -> Native:
    """Compiles a contestant into ``folder``. Raises BenchError with the compiler's first line."""
    folder.mkdir()
    for name, text in source.files.items():
        (folder / name).write_text(text)
    (folder / "peer.c").write_text(source.text)
    (folder / "driver.c").write_text(DRIVER)
    include = [f"-I{folder}", *(f"-I{i}" for i in source.include)]
    _cc(*OPTIONS, *include, "-c", str(folder / "peer.c"), "-o", str(folder / "peer.o"))
    driver = [*OPTIONS, f"-DROW={source.row}", str(folder / "driver.c"), str(folder / "peer.o")]
    _cc(*driver, "-shared", "-o", str(folder / "peer.so"), "-lm")
    _cc(*driver, "-o", str(folder / "peer"), "-lm")
    typed = rows if source.row == "float" else np.rint(rows).astype(np.int16)
    size = _object_bytes(folder / "peer.o") if source.bytes is None else source.bytes
    library = ctypes.CDLL(str(folder / "peer.so"))
    return Native(library, folder / "peer", np.ascontiguousarray(typed), size)


def _cc(*arguments: str) -> None:
    compiler = shutil.which("gcc") or shutil.which("cc")
    if compiler is None:
        raise BenchError("bench --peers: no C compiler is installed; install gcc")
    done = subprocess.run([compiler, *arguments], capture_output=True, text=True, check=False)
    if done.returncode:
        said = [line for line in done.stderr.splitlines() if "error" in line] or ["cc failed"]
        raise BenchError(f"bench --peers: {said[0]}")


def _object_bytes(path: Path) -> int:
    """Code and constants of an object file."""
    done = subprocess.run(["size", str(path)], capture_output=True, text=True, check=True)
    text, data = done.stdout.splitlines()[1].split()[:2]
    return int(text) + int(data)
