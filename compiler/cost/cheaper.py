"""What would bring an artifact under a limit: the smallest changes first, each one computed.

A monitor is left out and the rest is written again; a table loses as many of its boxes, patterns,
trees, kernels or bins as the excess asks for. What nodes share is not counted twice, since every
candidate is measured as a whole.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from edgemon.compiler.cost.bill import KILOBYTE
from edgemon.compiler.emit import flat
from edgemon.compiler.program.ir import Node, Program

NO_MODEL = "00" * 32
MOST = 3  # changes that are named


@dataclass(frozen=True)
class Change:
    """``saves``: in the limit's unit; at least as much as it is exceeded by."""

    what: str
    saves: float

    def __str__(self) -> str:
        return f"{self.what} (-{self.saves:,.10g})"


def smaller(program: Program) -> dict[str, Program]:
    """By what is done: the program without one of its monitors and the signals that explain it, or,
    where a fusion is the only one, with one of its signals in its place."""
    judges = [m.name for m in program.monitors if "." not in m.name]
    if len(judges) > 1:
        return {
            f"leave out {name}": program.with_monitors(
                [m for m in program.monitors if m.name.partition(".")[0] != name]
            ).trimmed()
            for name in judges
        }
    signals = (m.name for m in program.monitors if "." in m.name)
    return {
        f"compile again with --monitor {name.partition('.')[2]} alone": program.only(name)
        for name in signals
    }


def by_monitors(program: Program, measure: Callable[[Program], float], over: float) -> list[Change]:
    """Changes one of which is enough, in any unit."""
    whole = measure(program)
    saved = {what: whole - measure(rest) for what, rest in smaller(program).items()}
    return sorted(
        (Change(what, saves) for what, saves in saved.items() if saves >= over),
        key=lambda change: change.saves,
    )


def artifact_bytes(program: Program) -> int:
    """Of an artifact without self-test and metadata."""
    return len(flat.write(flat.Artifact(program, NO_MODEL, {})))


def of_bytes(program: Program, over: float, artifact: int) -> tuple[str, ...]:
    """For ``over`` bytes too many of an artifact that has so many."""
    changes = by_monitors(program, artifact_bytes, over)
    for node in program.nodes:
        for what, count, each in _parts(node):
            needed = math.ceil(over / each)
            if 0 < needed < count:
                changes.append(Change(f"{needed:,} of {count:,} {what} fewer", needed * each))
    changes.sort(key=lambda change: change.saves)
    room = (artifact - over) / KILOBYTE
    smaller = [f"compile again with --budget-kb {room:.4g}"] if room >= 1 else []
    return (*(str(change) for change in changes[:MOST]), *smaller)


def _parts(node: Node) -> Iterator[tuple[str, int, int]]:
    """What a node's tables have many of: the word, how many, and bytes of each."""
    tables = node.tables
    if node.op == "boxes":
        length = len(tables[2])
        yield "boxes", len(tables[0]) // length, 2 * length * tables[0].itemsize
    elif node.op == "hamming":
        count = int(tables[3][-1])
        if count:
            yield "patterns", count, tables[2].nbytes // count
    elif node.op == "kernels":
        count = int(tables[0][0]) * int(tables[0][1])
        yield "kernels", count, tables[1].nbytes // count + tables[3].itemsize
    elif node.op == "distances":
        yield "centres", node.value.length, tables[0].nbytes // node.value.length
    elif node.op == "tables":
        bins = int(tables[2][1])
        yield "bins a table", bins, tables[3].nbytes // bins
