"""``edgemon target check``: one bundle on one target, its results, bytes and instructions."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from edgemon import targets
from edgemon.compiler.bundle.bundle import Bundle
from edgemon.compiler.bundle_rows import record_rows
from edgemon.compiler.cost import cheaper
from edgemon.compiler.cost.limits import BudgetLine, Limit
from edgemon.compiler.cost.worst_case import WorstCase, worst_case
from edgemon.compiler.emit import flat
from edgemon.compiler.errors import CompileError
from edgemon.compiler.program.ir import Program
from edgemon.compiler.proof.on_target import TargetProof, prove_on
from edgemon.compiler.recording.evaluation import blocks
from edgemon.compiler.reporter import Reporter
from edgemon.compiler.terminal import Terminal
from edgemon.runtime.monitor import Monitor

Array = npt.NDArray[Any]


def taps_of(
    bundle: Bundle, data: str | None, label_column: str | None, reporter: Reporter
) -> list[Array]:
    """Rows of each tap (n, length): of ``data``, by the bundle's model; without, the vectors of
    its self-test. Raises CompileError if it has none."""
    program = bundle.artifact.program
    if data is None:
        if bundle.artifact.self_test is None:
            raise CompileError(f"{bundle.path}: the artifact has no self-test; give rows: --data")
        return list(bundle.artifact.self_test.taps)
    with tempfile.TemporaryDirectory(prefix="edgemon-") as scratch:
        rows = record_rows(
            bundle, data, Path(scratch), label_column=label_column, reporter=reporter,
            labelled=False,
        )  # fmt: skip
        parts = list(blocks(program, rows))
    return [np.concatenate(tap) for tap in zip(*parts, strict=True)]


@dataclass(frozen=True, eq=False)
class Checked:
    """An artifact on a target."""

    target: targets.Target
    proof: TargetProof
    footprint: targets.Footprint
    artifact_bytes: int
    workspace_bytes: int
    worst: WorstCase

    def measured(self) -> dict[str, int]:
        """By the names of ``ON_TARGET``; without instructions where none were counted."""
        own = self.footprint
        counted = self.proof.outcome.instructions
        return {
            "code_bytes": own.code,
            "flash_bytes": self.artifact_bytes + own.flash,
            "ram_bytes": self.workspace_bytes + own.structs + own.data + own.stack,
            "stack_bytes": own.stack,
        } | ({"instructions": max(counted.evaluations)} if counted else {})

    def cycles(self) -> dict[str, Any] | None:
        """Of the longest evaluation, by the model that the profile states; None without one, or
        without instructions."""
        model, counted = self.target.cycles, self.proof.outcome.instructions
        if model is None or counted is None:
            return None
        longest = max(counted.evaluations)
        (least, most), (least_us, most_us) = model.of(longest), model.microseconds(longest)
        return {
            "least": least, "most": most, "least_us": least_us, "most_us": most_us,
            "megahertz": model.megahertz, "source": model.source,
        }  # fmt: skip

    def to_json(self) -> dict[str, Any]:
        proof, own, outcome = self.proof, self.footprint, self.proof.outcome
        counted = outcome.instructions
        return {
            "target": self.target.name,
            "compiler": " ".join((self.target.cc, *self.target.cflags)),
            "emulator": outcome.emulator,
            "rows": proof.rows,
            "refused": proof.refused,
            "mismatches": proof.mismatches,
            "first_mismatch": proof.first_mismatch,
            "result_sha256": proof.result_sha256,
            "bytes": {
                "artifact": self.artifact_bytes, "code": own.code, "read_only": own.read_only,
                "whole_runtime": own.whole, "library": own.library,
                "workspace": self.workspace_bytes, "structs": own.structs, "data": own.data,
                "stack": own.stack, "flash": self.measured()["flash_bytes"],
                "ram": self.measured()["ram_bytes"],
            },
            "stack_by_function": own.stacks,
            "deepest_calls": [list(call) for call in own.chain],
            "stack_seen": outcome.stack_seen,
            "library_functions": list(own.outside),
            "instructions": None if counted is None else {
                "open": counted.open, "self_test": counted.self_test,
                "mean": float(np.mean(counted.evaluations)),
                "least": min(counted.evaluations), "most": max(counted.evaluations),
                "accuracy": None if counted.accuracy is None else {
                    "update": counted.accuracy[0], "estimate": counted.accuracy[1],
                },
            },
            "cycles": self.cycles(),
            "worst_case": self.worst.to_json(),
            "not_counted": outcome.not_counted or None,
        }  # fmt: skip


def check(target: targets.Target, artifact: bytes, rows: list[Array]) -> Checked:
    """Build, run, compare and measure. Raises TargetError if that cannot be done."""
    proof = prove_on(target, artifact, rows)
    footprint = targets.measure(target, artifact)
    worst = worst_case(flat.read(artifact).program)
    workspace = Monitor(artifact).workspace_size
    return Checked(target, proof, footprint, len(artifact), workspace, worst)


def check_limits(
    target: targets.Target,
    limits: Sequence[Limit],
    program: Program,
    artifact: bytes,
    rows: list[Array],
    found: Checked | None = None,
) -> list[BudgetLine]:
    """Each limit on one target beside what was measured, with what would bring it under; a target
    that cannot be built for or run here gives lines that say so."""
    at = {(tap.name, tap.view): i for i, tap in enumerate(program.taps)}

    def instructions(part: Program) -> float:
        taps = [rows[at[tap.name, tap.view]] for tap in part.taps]
        counted = prove_on(target, _artifact(part), taps).outcome.instructions
        if counted is None:
            raise targets.TargetError("no instructions were counted on this target")
        return float(max(counted.evaluations))

    lines = []
    for limit in limits:
        try:
            value: float | None
            if limit.monitor is not None:
                own = program.only(limit.monitor)
                value = instructions(own) if limit.name == "instructions" else len(_artifact(own))
                lines.append(BudgetLine(limit, value))
                continue
            found = found or check(target, artifact, rows)
            value = found.measured().get(limit.name)
            if value is None:
                why = f"no instructions were counted: {found.proof.outcome.not_counted}"
                lines.append(BudgetLine(limit, None, why))
                continue
            over, changes = value - limit.limit, tuple[str, ...]()
            if over > 0 and limit.name == "flash_bytes":
                changes = cheaper.of_bytes(program, over, cheaper.artifact_bytes(program))
            elif over > 0 and limit.name == "instructions":
                changes = tuple(map(str, cheaper.by_monitors(program, instructions, over)))
            lines.append(BudgetLine(limit, value, "", changes))
        except targets.TargetError as error:
            lines.append(BudgetLine(limit, None, str(error)))
    return lines


def _artifact(program: Program) -> bytes:
    """That is only measured."""
    return flat.write(flat.Artifact(program, cheaper.NO_MODEL, {}))


def show(terminal: Terminal, found: Checked) -> None:
    """What was found, for people."""
    proof, own = found.proof, found.footprint
    outcome, name = proof.outcome, found.target.name
    terminal.note(f"{name}: {found.target.description}; ran on {outcome.emulator}")
    if proof.refused is not None:
        terminal.note(f"the artifact is refused: {proof.refused}")
    else:
        terminal.note(
            f"{proof.mismatches} of {proof.rows:,} rows differ from the reference; results "
            f"{(proof.result_sha256 or '')[:16]}"
        )
    measured = found.measured()
    calls = " > ".join(f"{function} {size}" for function, size in own.chain)
    lines: list[tuple[str, int | None, str]] = [
        ("artifact", found.artifact_bytes, "in flash"),
        ("code", own.code, "of the runtime with the artifact's ops, without functions not called"),
        ("read-only data", own.read_only, "of the runtime"),
        ("both, whole", own.whole, "where the linker leaves out no function"),
        *(
            [("library", own.library, "of the toolchain, which others may share")]
            * (own.library > 0)
        ),
        ("workspace", found.workspace_bytes, "RAM, the caller's"),
        ("structs", own.structs + own.data, "em_monitor, em_result and em_drift"),
        *(
            (f"stack of {f}", n, f"seen {outcome.stack_seen[f]}" if f in outcome.stack_seen else "")
            for f, n in own.stacks.items()
        ),
        ("flash", measured["flash_bytes"], "all but RAM"),
        ("RAM", measured["ram_bytes"], "workspace, structs and the deepest stack"),
    ]
    terminal.table(("bytes", "", ""), lines)
    terminal.note(f"deepest stack, by the call graph: {calls}")
    if own.outside:
        terminal.note(
            "called of the toolchain's library, whose stack is not counted by the call graph (but "
            f"in what was seen): {', '.join(own.outside)}"
        )
    counted = outcome.instructions
    if counted is None:
        terminal.note(f"instructions were not counted: {outcome.not_counted}")
    else:
        rows = counted.evaluations
        terminal.note(
            f"instructions: {np.mean(rows):,.0f} an evaluation ({min(rows):,} to {max(rows):,}), "
            f"{counted.open:,} to open, {counted.self_test:,} of the self-test"
            + (
                f"; of the accuracy: {counted.accuracy[0]:,} an image, {counted.accuracy[1]:,} an "
                "estimate"
                if counted.accuracy
                else ""
            )
        )
    show_cycles(terminal, [found])
    worst = found.worst
    terminal.note(
        f"worst case, from the program alone: {worst.operations:,} operations, "
        f"{worst.touched_bytes:,} bytes touched"
    )


def show_cycles(terminal: Terminal, found: Sequence[Checked]) -> None:
    """Cycles and time of the longest evaluation on each target: a model, which is said."""
    for own in found:
        cycles = own.cycles()
        if cycles is not None:
            terminal.note(
                f"{own.target.name}: cycles by a model, not measured: "
                f"{_range(cycles['least'], cycles['most'])} for the most instructions, "
                f"{_range(cycles['least_us'], cycles['most_us'])} us at {cycles['megahertz']:g} MHz"
                f" ({cycles['source']})"
            )
    without = ", ".join(own.target.name for own in found if own.target.cycles is None)
    if without:
        terminal.note(f"no model of cycles is stated in the profile of {without}")


def _range(least: float, most: float | None) -> str:
    return f"{least:,.0f} or more" if most is None else f"{least:,.0f} to {most:,.0f}"


def describe(target: targets.Target) -> dict[str, Any]:
    """A line of ``target list``: what is there and what is to be installed."""
    tools = targets.missing((target.cc, target.size, target.nm))
    runners = [e for e in target.emulators if not targets.missing(e.command[:1])]
    first = target.emulators[0] if target.emulators else None
    return {
        "name": target.name,
        "description": target.description,
        "toolchain": None if tools else target.cc,
        "emulator": runners[0].command[0] if runners else None,
        "this_machine": targets.runs_here(target),
        "install": [
            *(target.packages if tools else ()),
            *(first.packages if first is not None and not runners else ()),
        ],
    }


def show_list(terminal: Terminal, found: list[dict[str, Any]]) -> None:
    """The targets, for people."""
    terminal.table(
        ("target", "what it is", "toolchain", "runs on", "to install"),
        [
            (
                t["name"], t["description"], t["toolchain"] or "missing",
                "this machine" if t["this_machine"] else t["emulator"] or "missing",
                f"apt-get install {' '.join(t['install'])}" if t["install"] else "",
            )
            for t in found
        ],
    )  # fmt: skip
