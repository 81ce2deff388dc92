"""The table of ops agrees with the list of the C runtime and with FORMAT.md: what is missing in one
of them is named."""

from __future__ import annotations

import re

import pytest

from edgemon.compiler.program.ops import DEVICE_OPS, FAMILIES, OPS
from edgemon.compiler.program.ops.op import Op
from tests.compiler.op_cases import CASES
from tests.conftest import ROOT

LIST = ROOT / "runtime" / "c" / "src" / "em_op_list.h"
FORMAT = ROOT / "runtime" / "FORMAT.md"


def sections() -> dict[str, str]:
    """The sections of FORMAT.md, by their numbers."""
    parts = re.split(r"^##+ ([\d.]+) ", FORMAT.read_text(), flags=re.MULTILINE)
    return dict(zip((n.rstrip(".") for n in parts[1::2]), parts[2::2], strict=True))


def rows(section: str) -> dict[str, str]:
    """The rows of a section's tables, by each `op` that their first cells name."""
    found = {}
    for line in sections()[section].splitlines():
        for op in re.findall(r"`(\w+)`", line.split("|")[1] if line.startswith("|") else ""):
            found[op] = line
    return found


def test_the_c_runtime_has_the_same_ops() -> None:
    """Number, name, inputs and tables of each."""
    listed = {
        name: (int(number), capitals.lower(), int(inputs), int(tables))
        for number, capitals, name, inputs, tables in re.findall(
            r"X\((\d+), (\w+), (\w+), (\d+), (\d+),", LIST.read_text()
        )
    }
    table = {op.name: (op.number, op.name, op.inputs, len(op.tables)) for op in DEVICE_OPS.values()}
    assert table.keys() - listed.keys() == set(), f"not in {LIST.name}"
    assert listed.keys() - table.keys() == set(), f"in {LIST.name}, but not in a family's OPS"
    assert listed == table


def test_format_md_states_every_op() -> None:
    numbers = re.findall(r"^\| (\d+) \| `(\w+)` \|", sections()["7"], re.MULTILINE)
    stated = {int(number): name for number, name in numbers}
    missing = {op.name for op in DEVICE_OPS.values()} - set(stated.values())
    assert not missing, f"FORMAT.md, section 7: no row for {missing}"
    assert stated == {op.number: op.name for op in DEVICE_OPS.values()}
    for op in DEVICE_OPS.values():
        row = next(line for line in sections()["7"].splitlines() if f"| `{op.name}` |" in line)
        text = row + "".join(sections()[n] for n in re.findall(r"section (7\.\d+)", row))
        unnamed = {t for t in op.tables if f"`{t}`" not in text}
        assert not unnamed, f"FORMAT.md does not describe {unnamed} of {op.name}"


def test_format_md_says_what_a_nan_becomes() -> None:
    floats = {op for op, (dtypes, _) in CASES.items() if "float32" in dtypes}
    missing = floats - rows("7.10").keys()
    assert not missing, f"FORMAT.md, section 7.10: no row for {missing}"


def test_format_md_states_the_work_of_every_op_that_counts_its_own() -> None:
    own = {op.name for op in DEVICE_OPS.values() if type(op).steps is not Op.steps}
    assert own == rows("7.12").keys()


def test_names_and_numbers_are_unique() -> None:
    every = [op for family in FAMILIES for op in family.OPS]
    assert len(every) == len(OPS)
    assert len([op for op in every if op.number]) == len(DEVICE_OPS)


@pytest.mark.parametrize("op", OPS.values(), ids=OPS.keys())
def test_every_aspect_of_an_op_is_there(op: Op) -> None:
    for aspect in ("infer", "evaluate", *(["onnx"] if op.number else [])):
        assert hasattr(op, aspect), f"{op.name} has no {aspect}"
