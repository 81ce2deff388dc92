"""The most that an evaluation does, whatever its inputs: from the program alone.

Operations are those that the C runtime states (``bill.work``). Bytes are those that it touches,
each counted once: of an artifact its records and the tables' rows that one evaluation can reach (of
``boxes`` the class that has most, of trees one path each), the taps, and the workspace. Not
counted: code and its constants, stack, ``em_monitor`` and ``em_result``.
``tests/targets/test_worst_case.py`` holds it to what an emulator saw.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import cast

import numpy as np

from edgemon.compiler.cost import bill
from edgemon.compiler.documents import monitors as schema
from edgemon.compiler.emit import flat
from edgemon.compiler.program.ir import Program
from edgemon.compiler.program.ops import OPS


@dataclass(frozen=True)
class WorstCase:
    """Of one evaluation."""

    operations: int  # element operations, FORMAT.md section 7.12
    record_bytes: int  # read, of the artifact: of its program, taps, nodes, tables and monitors
    table_bytes: int  # read, of the artifact: the rows of its tables that it reaches
    tap_bytes: int  # read
    workspace_bytes: int  # written and read

    @property
    def touched_bytes(self) -> int:
        return self.record_bytes + self.table_bytes + self.tap_bytes + self.workspace_bytes

    def to_json(self) -> schema.WorstCase:
        found = {**asdict(self), "touched_bytes": self.touched_bytes}
        return cast(schema.WorstCase, found)


def worst_case(program: Program) -> WorstCase:
    """Of all monitors of a device program together; of one: of ``program.only(name)``."""
    records = flat.PROGRAM_RECORD.size
    records += flat.TAP_RECORD.size * len(program.taps)
    records += flat.MONITOR_RECORD.size * len(program.monitors)
    tables = workspace = 0
    for node in program.nodes:
        op, x = OPS[node.op], program.value(node.inputs[0])
        records += flat.NODE_RECORD.size + flat.TABLE_RECORD.size * len(node.tables)
        tables += op.reads(node, x)
        workspace += node.value.length * np.dtype(node.value.dtype).itemsize + op.scratch(x)
    taps = sum(t.length * np.dtype(t.dtype).itemsize for t in program.taps)
    return WorstCase(bill.work(program), records, tables, taps, workspace)


def by_monitor(program: Program) -> dict[str, WorstCase]:
    """Of each monitor alone, by its name: what monitors share counts for each of them."""
    return {m.name: worst_case(program.only(m.name)) for m in program.monitors}
