"""``edgemon target table``: what the runtime and each monitor cost, target by target."""

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
from edgemon.compiler.commands.target_check import Checked, check, show_cycles
from edgemon.compiler.emit import flat
from edgemon.compiler.errors import CompileError
from edgemon.compiler.models import open_model
from edgemon.compiler.models.macs import macs
from edgemon.compiler.program.ir import Program
from edgemon.compiler.proof.on_target import prove_on
from edgemon.compiler.reporter import Reporter
from edgemon.compiler.terminal import Terminal, percent

Array = npt.NDArray[Any]
Found = dict[str, targets.Footprint | targets.TargetError]


@dataclass(frozen=True)
class MonitorCost:
    """Instructions of an evaluation of one monitor alone, the most of any row, by target."""

    name: str
    bytes: int  # of an artifact with this monitor alone, without self-test and metadata
    instructions: dict[str, int]


def footprints(names: Sequence[str], artifact: bytes | None = None) -> Found:
    """Of the runtime on each target, or why not."""
    found: Found = {}
    for name in names:
        try:
            found[name] = targets.measure(targets.load(name), artifact)
        except targets.TargetError as error:
            found[name] = error
    return found


def checked(
    names: Sequence[str], artifact: bytes, rows: list[Array], reporter: Reporter
) -> dict[str, Checked]:
    """An artifact on each target. Raises ParityError where one differs, TargetError where a tool is
    missing: a table with gaps says nothing of all targets."""
    found = {}
    with reporter.stage("running on targets") as progress:
        for i, name in enumerate(names):
            found[name] = check(targets.load(name), artifact, rows)
            found[name].proof.require()
            progress(i + 1, len(names))
    return found


def each_monitor(
    names: Sequence[str], program: Program, rows: list[Array], reporter: Reporter
) -> list[MonitorCost]:
    """Every monitor of a program alone, on each target. Raises as ``checked``, and TargetError
    where no instructions are counted."""
    found = []
    at = {(tap.name, tap.view): i for i, tap in enumerate(program.taps)}
    with reporter.stage("counting instructions") as progress:
        for i, monitor in enumerate(program.monitors):
            own = program.only(monitor.name)
            artifact = flat.write(flat.Artifact(own, "00" * 32, {}))
            taps = [rows[at[tap.name, tap.view]] for tap in own.taps]
            counts = {}
            for name in names:
                proof = prove_on(targets.load(name), artifact, taps)
                proof.require()
                counted = proof.outcome.instructions
                if counted is None:
                    raise targets.TargetError(
                        f"target {name}: no instructions were counted: {proof.outcome.not_counted}"
                    )
                counts[name] = max(counted.evaluations)
            found.append(MonitorCost(monitor.name, len(artifact), counts))
            progress(i + 1, len(program.monitors))
    return found


def macs_of(bundle: Bundle) -> int | None:
    """Multiply-accumulates of a bundle's model; None where they are not counted."""
    with tempfile.TemporaryDirectory(prefix="edgemon-") as scratch:
        model = bundle.model_in(Path(scratch))
        return macs(open_model(model.path, Path(scratch)).graph)


def require_names(text: str) -> list[str]:
    """Targets that were named, or all that ship. Raises TargetError on an unknown one."""
    found = [n.strip() for n in text.split(",") if n.strip()] or targets.names()
    for name in found:
        targets.load(name)
    return found


def show_footprints(terminal: Terminal, found: Found) -> None:
    """The runtime with all ops."""
    rows: list[tuple[Any, ...]] = []
    for name, own in found.items():
        if isinstance(own, targets.TargetError):
            terminal.warn(str(own))
        else:
            rows.append((name, own.code, own.read_only, own.library or None, *_stacks(own)))
    columns = ("target", "code", "constants", "library", "em_open", "em_self_test", "em_evaluate")
    terminal.table(columns, rows, title="The runtime with all ops, bytes; stack of three calls")


def _stacks(own: targets.Footprint) -> tuple[int, ...]:
    return tuple(own.stacks[f] for f in ("em_open", "em_self_test", "em_evaluate"))


def show_checked(terminal: Terminal, found: dict[str, Checked]) -> None:
    """One artifact on all targets."""
    rows = []
    for name, own in found.items():
        counted, footprint = own.proof.outcome.instructions, own.footprint
        results = "refused" if own.proof.refused else (own.proof.result_sha256 or "")[:8]
        numbers = own.measured()
        rows.append(
            (
                name, footprint.code, footprint.read_only, footprint.library or None,
                numbers["ram_bytes"], *_stacks(footprint),
                None if counted is None else round(float(np.mean(counted.evaluations))),
                None if counted is None else max(counted.evaluations), results,
            )
        )  # fmt: skip
    columns = (
        "target", "code", "constants", "library", "RAM", "em_open", "em_self_test", "em_evaluate",
        "instructions, mean", "most", "results",
    )  # fmt: skip
    terminal.table(columns, rows, title="The artifact on each target, bytes")
    show_cycles(terminal, list(found.values()))


def show_monitors(
    terminal: Terminal, found: list[MonitorCost], model_macs: int | None, figure: float
) -> None:
    """Each monitor alone."""
    if not found:
        raise CompileError("the bundle has no monitor")
    names = list(found[0].instructions)
    columns = ["monitor", "artifact bytes"]
    columns += [part for name in names for part in (f"{name}, instructions", "of the model")]
    rows = []
    for monitor in found:
        cells: list[Any] = [monitor.name, monitor.bytes]
        for name in names:
            count = monitor.instructions[name]
            share = None if model_macs is None else count / (model_macs * figure)
            cells += [count, percent(share)]
        rows.append(cells)
    terminal.table(columns, rows, title="Instructions of an evaluation, each monitor alone")
    if model_macs is None:
        terminal.note("The model's multiply-accumulates are not counted: no shares.")
    else:
        terminal.note(
            f"The model: {model_macs:,} multiply-accumulates, each taken as {figure:g} instructions"
        )


def to_json(
    everything: Found, found: dict[str, Checked], monitors: list[MonitorCost],
    model_macs: int | None, figure: float,
) -> dict[str, Any]:  # fmt: skip
    """The whole table."""
    return {
        "all_ops": {
            name: str(own) if isinstance(own, targets.TargetError) else {
                "code": own.code, "read_only": own.read_only, "library": own.library,
                "stack_by_function": own.stacks,
            }
            for name, own in everything.items()
        },
        "artifact": {name: own.to_json() for name, own in found.items()},
        "monitors": [
            {"name": m.name, "bytes": m.bytes, "instructions": m.instructions} for m in monitors
        ],
        "model_macs": model_macs,
        "instructions_a_mac": figure,
    }  # fmt: skip
