"""How much of the C runtime its own tests reach, under sanitizers: ``make coverage`` prints it.

Clang counts lines, and both sides of each condition, in the source: however often a kernel is
inlined, it counts once where any instance was reached.
"""

from __future__ import annotations

import json
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.runtime.c_compilers import C_FLAGS, PRIVATE, SANITIZERS, SOURCES, TESTS, C, need, run

LEAST_LINES, LEAST_BRANCHES = 98.0, 92.0  # percent
COUNTED = ["-O0", "-fprofile-instr-generate", "-fcoverage-mapping"]


@dataclass(frozen=True)
class Coverage:
    """In percent; ``table``: by files, for people."""

    lines: float
    branches: float
    table: str


def measure(folder: Path) -> Coverage:
    """Builds and runs the C tests in a folder. Skips where clang or its tools are missing."""
    clang = need("clang")
    program, raw, merged = folder / "tests", folder / "raw", folder / "merged"
    run(clang, *C_FLAGS, PRIVATE, *COUNTED, *SANITIZERS, *TESTS, *SOURCES, "-lm", "-o", program)
    run("env", f"LLVM_PROFILE_FILE={raw}", program)
    run(tool(clang, "llvm-profdata"), "merge", "-sparse", raw, "-o", merged)
    of_runtime = [program, f"-instr-profile={merged}", C / "src"]
    cov = tool(clang, "llvm-cov")
    table = run(cov, "report", "-show-branch-summary", "-show-region-summary=0", *of_runtime)
    found = json.loads(run(cov, "export", "-summary-only", *of_runtime))["data"][0]["totals"]
    return Coverage(found["lines"]["percent"], found["branches"]["percent"], table)


def tool(clang: str, name: str) -> str:
    """The tool of clang's own version, which lies beside it; else any, or a skip."""
    beside = Path(clang).resolve().parent / name
    return str(beside) if beside.exists() else need(name)


def main() -> None:
    """Prints the table; exit code 1 where less is reached than must be."""
    with tempfile.TemporaryDirectory() as folder:
        try:
            found = measure(Path(folder))
        except pytest.skip.Exception as missing:
            sys.exit(str(missing))
    print(found.table)
    print(f"lines {found.lines:.2f} % (at least {LEAST_LINES:g} %)")
    print(f"branches {found.branches:.2f} % (at least {LEAST_BRANCHES:g} %)")
    sys.exit(found.lines < LEAST_LINES or found.branches < LEAST_BRANCHES)


if __name__ == "__main__":
    main()
