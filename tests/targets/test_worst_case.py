"""The static worst case, held to what an emulated Cortex-M4F does: every op, on all data types.

An emulator tells which bytes each evaluation touches and how many instructions it takes.
"""

from __future__ import annotations

import re
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest

from edgemon.compiler.cost.worst_case import worst_case
from edgemon.compiler.emit import flat
from edgemon.compiler.program.ir import Program
from edgemon.targets import emulation, program, toolchain
from tests.compiler.op_cases import NAMES, program_of, special_rows
from tests.targets.emulated import artifact_of, emulated, every_op

TARGET = "cortex-m4f"
ROWS = 6  # of each program
# Instructions on a Cortex-M4F are at most so many an operation, and so many a record (a tap, a node
# or a monitor), which docs/footprint.md states. The most are those of sums of 9 to 64 floats.
AN_OPERATION, A_RECORD = 60, 150


@dataclass(frozen=True)
class Seen:
    """Of a program, the most of any row."""

    program: Program
    instructions: int
    records: int  # bytes of the artifact before its tables' data
    tables: int
    taps: int
    workspace: int


@pytest.fixture(scope="module")
def seen(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Seen]:
    """Of each op and data type what one emulation of all of them saw."""
    target, folder = emulated(TARGET), tmp_path_factory.mktemp("watched")
    compiler = next((cc for cc in ("cc", "gcc", "clang") if shutil.which(cc)), None)
    if compiler is None:
        pytest.skip("no C compiler of this machine, which the plug-in is built with")
    programs = {f"{op} {dtype}": program_of(op, dtype) for op, dtype in NAMES}
    # Spread over the special rows, which come kind by kind.
    rows = (
        [x[np.linspace(0, len(x) - 1, ROWS).astype(int)] for x in special_rows(own)]
        for own in programs.values()
    )
    artifacts = (artifact_of(own) for own in programs.values())
    made = every_op(target, zip(artifacts, rows, strict=True), folder)
    source = Path(__file__).with_name("touched.c")
    subprocess.run(
        [compiler, "-shared", "-fPIC", "-O2", "-o", "touched.so", str(source)],
        cwd=folder, check=True,
    )  # fmt: skip
    symbols = toolchain.run(target, [target.nm, made.path.name], folder)
    at = {n: int(a, 16) for a, n in re.findall(r"^([0-9a-f]+) \w (\S+)$", symbols, re.MULTILINE)}
    ranges = "".join(f",range={at[n]:#x}:{size}" for n, size in made.sizes.items())
    begin, end = (at[mark] & ~1 for mark in program.MARKS)
    spec = f"./touched.so,begin={begin:#x},end={end:#x},out=touched{ranges}"
    first, *rest = made.emulator.command
    emulation.printed(target, [first, "-plugin", spec, *rest, str(made.path)], folder)
    lines = (folder / "touched").read_text().splitlines()
    assert len(lines) == ROWS * len(programs)
    return {
        what: _most(own, lines[i * ROWS : (i + 1) * ROWS])
        for i, (what, own) in enumerate(programs.items())
    }


def _most(own: Program, lines: list[str]) -> Seen:
    data, _ = flat.sections(artifact_of(own))[flat.DATA]
    rows = []
    for line in lines:
        count, artifact, *others = line.split()
        parts = (artifact[:data], artifact[data:], *others)
        rows.append((int(count), *(part.count("1") for part in parts)))
    return Seen(own, *(max(column) for column in zip(*rows, strict=True)))


CASES = [f"{op} {dtype}" for op, dtype in NAMES]


@pytest.mark.parametrize("what", CASES)
def test_no_byte_more_than_stated(what: str, seen: dict[str, Seen]) -> None:
    found = seen[what]
    stated = worst_case(found.program)
    assert found.tables <= stated.table_bytes
    assert found.records <= stated.record_bytes
    assert found.taps <= stated.tap_bytes
    assert found.workspace <= stated.workspace_bytes


@pytest.mark.parametrize("what", CASES)
def test_no_instruction_more_than_stated(what: str, seen: dict[str, Seen]) -> None:
    found = seen[what]
    own = found.program
    records = len(own.taps) + len(own.nodes) + len(own.monitors)
    stated = AN_OPERATION * worst_case(own).operations + A_RECORD * records
    assert found.instructions <= stated


def test_what_is_stated_is_near(seen: dict[str, Seen]) -> None:
    """No bound that holds because it is loose: half of the tables and all of the workspace are
    touched, and some op comes near to the instructions."""
    shares = []
    for what, found in seen.items():
        own, stated = found.program, worst_case(found.program)
        assert found.tables >= stated.table_bytes / 2, what
        assert found.workspace == stated.workspace_bytes, what
        records = len(own.taps) + len(own.nodes) + len(own.monitors)
        most = AN_OPERATION * stated.operations + A_RECORD * records
        shares.append(found.instructions / most)
    assert max(shares) > 0.7
