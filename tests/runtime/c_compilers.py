"""How tests compile the C runtime: sources, flags, and a compiler or a skip."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

HERE = Path(__file__).resolve().parent / "c"
RUNTIME = HERE.parents[2] / "runtime"
C = RUNTIME / "c"
SOURCES = sorted((C / "src").glob("*.c"))
GENERATOR = [
    HERE / f"{name}.c"
    for name in ("hostile", "generate", "generate_nodes", "generate_rules", "choices", "builder")
]
TESTS = [
    HERE / f"{name}.c"
    for name in (
        "test_edgemon", "test_ops", "test_rule_ops", "test_dense", "test_dtypes", "test_drift",
        "test_accuracy", "test_companions", "test_rules", "test_limits", "test_values",
        "test_generated", "test_damage", "evaluated", "sample", "test_window", "test_signatures",
        "test_tree_rules", "bad_files",
    )
] + GENERATOR  # fmt: skip
STRICT = ["-Wall", "-Wextra", "-Wconversion", "-Wshadow", "-Wpedantic", "-Werror"]
C_FLAGS = ["-std=c11", "-Wstrict-prototypes", "-ffp-contract=off", f"-I{C / 'include'}", *STRICT]
PRIVATE = f"-I{C / 'src'}"  # for tests of what happens behind em_evaluate's checks
# Debian's cross compilers, each with the program that runs what it builds.
CROSS = {
    "aarch64": ("aarch64-linux-gnu-gcc", "qemu-aarch64"),
    "riscv64": ("riscv64-linux-gnu-gcc", "qemu-riscv64"),
    "armhf": ("arm-linux-gnueabihf-gcc", "qemu-arm"),
}
SANITIZERS = ["-g", "-fsanitize=address,undefined,float-cast-overflow", "-fno-sanitize-recover=all"]


def need(tool: str) -> str:
    """The path of a program, or a skip that says which one is missing."""
    path = shutil.which(tool)
    if path is None:
        pytest.skip(f"{tool} is not installed")
    return path


def run(*command: str | Path, cwd: Path | None = None) -> str:
    """Run a command that must succeed; its output."""
    done = subprocess.run(
        [str(part) for part in command], cwd=cwd, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, f"{command[0]} failed:\n{done.stdout}\n{done.stderr}"
    return done.stdout


def sanitized(compiler: str, tmp_path: Path) -> bool:
    """Whether this compiler comes with its sanitizer libraries."""
    probe = tmp_path / "probe.c"
    probe.write_text("int main(void) { return 0; }\n")
    command = [compiler, *SANITIZERS, str(probe), "-o", str(tmp_path / "probe")]
    return subprocess.run(command, capture_output=True, check=False).returncode == 0
