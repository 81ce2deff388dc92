"""docs/porting.md as it is printed: a board with a UART, from rows to the comparison of its log."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from edgemon import targets
from tests.command_line import DATA, document, edgemon, refused
from tests.conftest import ROOT
from tests.runtime.c_compilers import C_FLAGS, C, need, run

BOARDS = ROOT / "targets" / "boards"
ROWS = f"{DATA}[0:30]"
UART = """
#include "board.h"
#include <string.h>
#include <unistd.h>
static void uart_send(char c) {
    if (c == '\\n') {
        (void)!write(1, "\\r", 1);
    }
    (void)!write(1, &c, 1);
}
"""
INCLUDED = """
    .section .rodata
    .balign 8
    .global rows
rows:
    .incbin "rows.bin"
    .global rows_end
rows_end:
    .section .note.GNU-stack, "", %progbits
"""


@pytest.fixture(scope="module")
def log(digits_bundle: Path, tmp_path_factory: pytest.TempPathFactory) -> str:
    """What the board prints; it never ends, so that it is stopped."""
    folder = tmp_path_factory.mktemp("board")
    (code,) = re.findall(r"```c\n(.*?)```", (ROOT / "docs" / "porting.md").read_text(), re.DOTALL)
    (folder / "board.c").write_text(UART + code)
    (folder / "rows.S").write_text(INCLUDED)
    shutil.copy(digits_bundle / "monitor.emon", folder)
    said = edgemon("target", "rows", digits_bundle, "--data", ROWS, "--out", folder).stdout
    assert "30 rows of" in said
    run(sys.executable, C / "amalgamate.py", folder, "--for", digits_bundle)
    sources = [BOARDS / "harness.c", BOARDS / "artifact.S", "edgemon.c", "board.c", "rows.S"]
    flags = [*C_FLAGS, "-include", "sizes.h", '-DARTIFACT="monitor.emon"', f"-I{BOARDS}", "-I."]
    run(need("gcc"), *flags, *sources, "-o", "board", cwd=folder)
    with subprocess.Popen([folder / "board"], stdout=subprocess.PIPE, text=True) as board:
        assert board.stdout is not None
        lines = []
        for line in board.stdout:
            lines.append(line)
            if line.strip() == "end":
                break
        board.kill()
    return "".join(lines)


def test_the_log_agrees(log: str, digits_bundle: Path, tmp_path: Path) -> None:
    path = tmp_path / "uart.txt"
    path.write_text(f"boot loader 1.0\r\n{log}\r\nreset\r\n")
    found = document("target", "compare", digits_bundle, "--data", ROWS, "--log", path)
    assert (found["rows"], found["mismatches"], found["refused"]) == (30, 0, None)
    assert 100 < found["stack_seen"]["em_evaluate"] < 2048
    text = edgemon("target", "compare", digits_bundle, "--data", ROWS, "--log", path).stdout
    assert "0 of 30 rows differ from the reference; results" in text


def test_one_bit_of_a_score_is_seen(log: str, digits_bundle: Path, tmp_path: Path) -> None:
    lines = log.splitlines()
    at = next(i for i, line in enumerate(lines) if line.startswith("row "))
    last = lines[at][-1]
    lines[at] = lines[at][:-1] + f"{int(last, 16) ^ 1:x}"
    path = tmp_path / "uart.txt"
    path.write_text("\n".join(lines))
    said = refused("target", "compare", digits_bundle, "--data", ROWS, "--log", path, code=4)
    assert "1 of 30 rows differ between the reference and the target: row 0" in said


@pytest.mark.parametrize(
    ("change", "said", "code"),
    [
        (lambda text: text.replace("end", ""), "no whole run of the harness in it", 2),
        (lambda _: "", "no whole run of the harness in it", 2),
        (lambda text: text.replace("row ", "row x"), "is not what the harness prints", 2),
        (lambda text: text.replace("self-test 0", "self-test -21"), "em_self_test fails", 4),
        (lambda text: text.replace("check 0", "check -7"), "em_check fails: checksum", 4),
        (lambda text: re.sub(r"row .*\n", "", text, count=1), "29 results of 30 rows", 4),
    ],
)
def test_logs_that_are_none(
    change: object, said: str, code: int, log: str, digits_bundle: Path, tmp_path: Path
) -> None:
    path = tmp_path / "uart.txt"
    path.write_text(change(log.replace("\r", "")))  # type: ignore[operator]
    command = ("target", "compare", digits_bundle, "--data", ROWS, "--log", path)
    assert said in refused(*command, code=code)


def test_the_profile_is_one(tmp_path: Path) -> None:
    (text,) = re.findall(
        r"```toml\n(.*?)```", (ROOT / "docs" / "porting.md").read_text(), re.DOTALL
    )
    for name in ("my_uart.c", "my_board.ld"):
        (tmp_path / name).write_text("")
    (tmp_path / "board.toml").write_text(text)
    (emulator,) = targets.load(str(tmp_path / "board.toml")).emulators
    assert emulator.command == (str(tmp_path / "flash_and_listen.sh"),)


def test_a_script_that_runs_the_board(digits_bundle: Path, tmp_path: Path) -> None:
    """It finds the program as its last argument, and is called for nothing else."""
    need("gcc")
    script = tmp_path / "flash_and_listen.sh"
    script.write_text(f'#!/bin/sh\necho "$@" >> {tmp_path}/calls\nexec "$1"\n')
    script.chmod(0o755)
    (tmp_path / "board.toml").write_text(
        'description = "on the desk"\narchitecture = "board"\nkernels = "reference"\n'
        '[toolchain]\ncc = "gcc"\ncflags = ["-std=c11", "-Os", "-ffp-contract=off"]\n'
        'size = "size"\n[emulator]\ncommand = ["./flash_and_listen.sh"]\n'
        'sources = ["system.c"]\n'
    )
    found = document("target", "check", tmp_path / "board.toml", digits_bundle)
    assert (found["mismatches"], found["instructions"]) == (0, None)
    assert found["not_counted"] == "flash_and_listen.sh is not QEMU, whose plug-in counts them"
    (call,) = (tmp_path / "calls").read_text().splitlines()
    assert call.endswith("/program")


def test_no_log(digits_bundle: Path, tmp_path: Path) -> None:
    assert "nowhere" in refused("target", "compare", digits_bundle, "--log", tmp_path / "nowhere")
