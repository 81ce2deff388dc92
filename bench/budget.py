"""The figures of ``edgemon bench`` beside the limits that they are held to."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from edgemon import targets
from edgemon.bench import latency
from edgemon.compiler.commands import target_check
from edgemon.compiler.cost import cheaper
from edgemon.compiler.cost.limits import BudgetLine, Limit
from edgemon.compiler.errors import CompileError
from edgemon.compiler.program.ir import Program

Array = npt.NDArray[Any]
Document = dict[str, Any]

ROUNDS = 30  # to time what is left without a monitor


def measured_here(document: Document) -> dict[str, float]:
    """Of the document of ``bench``, by the names of ``limits.HERE``; without what it lacks."""
    whole = document["with_monitors_us"]
    found = {
        "overhead": document["overhead_ratio"],
        "latency_us": whole["p99"],
        "latency_us_p50": whole["p50"],
        "latency_us_p99": whole["p99"],
        "latency_us_max": whole["max"],
        "monitor_ns": _of_monitors(document)["all"],
    }
    if "session_us" in document:
        found["session_overhead_us"] = document["session_us"]["min"] - document["bare_us"]["min"]
    if document["device"]:
        found |= {name: document["device"][name] for name in ("flash_bytes", "ram_bytes")}
    return found


def _of_monitors(document: Document) -> dict[str, float]:
    return {m["name"]: m["c_ns_distribution"]["p99"] for m in document["monitors"]}


def check(
    limits: Sequence[Limit],
    document: Document,
    program: Program,
    artifact: bytes,
    taps: list[Array],
) -> list[BudgetLine]:
    """Each limit beside its measurement; targets are built and run. Raises CompileError on a
    monitor that the bundle does not have."""
    names = [m.name for m in program.monitors]
    for limit in limits:
        if limit.monitor is not None and limit.monitor not in names:
            raise CompileError(
                f"budget {limit.title}: no monitor {limit.monitor!r}; there are {', '.join(names)}"
            )
    here, each = measured_here(document), _of_monitors(document)
    found = []
    for limit in limits:
        if limit.target is None:
            of = each if limit.monitor else here
            value = of.get(limit.monitor or limit.name)
            why = "" if value is not None else "its toolchain is missing, see the warning"
            found.append(BudgetLine(limit, value, why, _changes(limit, value, program, taps)))
    for name in dict.fromkeys(limit.target for limit in limits if limit.target is not None):
        own = [limit for limit in limits if limit.target == name]
        found += target_check.check_limits(targets.load(name), own, program, artifact, taps)
    return found


def _changes(
    limit: Limit, value: float | None, program: Program, taps: list[Array]
) -> tuple[str, ...]:
    """What would bring a figure of this machine under; nothing for one that is."""
    if value is None or value <= limit.limit or limit.monitor is not None:
        return ()
    over = value - limit.limit
    if limit.name == "flash_bytes":
        return cheaper.of_bytes(program, over, cheaper.artifact_bytes(program))
    if limit.name.startswith("latency_us"):
        over *= 1e3
    elif limit.name != "monitor_ns":
        return ()
    return tuple(map(str, cheaper.by_monitors(program, _nanoseconds(program, taps), over)))


def _nanoseconds(program: Program, taps: list[Array]) -> Callable[[Program], float]:
    at = {(tap.name, tap.view): i for i, tap in enumerate(program.taps)}

    def measure(rest: Program) -> float:
        rows = [taps[at[tap.name, tap.view]] for tap in rest.taps]
        return float(np.min(latency.fastest([rest], [rows], ROUNDS)))

    return measure
