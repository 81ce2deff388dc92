"""``edgemon fleet-simulation``: devices that draw rows of a bundle's data, one of which drifts, and
what ``edgemon fleet`` makes of their logs. Verdicts, drift tests and windows are the C runtime's;
only which image comes next is drawn."""

from __future__ import annotations

import json
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from edgemon.bench.errors import BenchError
from edgemon.bench.memory import peak_memory
from edgemon.compiler.bundle.bundle import Bundle
from edgemon.compiler.bundle_rows import record_rows
from edgemon.compiler.commands.fleet import merge, moment
from edgemon.compiler.recording.evaluation import evaluate
from edgemon.compiler.reporter import Progress, Reporter
from edgemon.compiler.terminal import Terminal, percent
from edgemon.runtime.drift import Drift
from edgemon.runtime.evaluation import Evaluation
from edgemon.runtime.monitor import Monitor
from edgemon.runtime.window import Report, Window

START = 1_767_225_600  # s since 1970: 2026-01-01
SECONDS = 6  # an image
JSON_EVERY = 2  # every second device writes lines of JSON, the others what devices send


@dataclass(frozen=True)
class Plan:
    """Device ``drifting`` sees drifted rows as this ``share`` of its images, from image ``since``
    (counted from 1) on."""

    devices: int = 1000
    images: int = 100_000
    window: int = 1000  # images a report
    drifting: int = 417
    since: int = 60_001
    share: float = 0.3
    seed: int = 0

    def require(self) -> None:
        """Raises BenchError for a plan that cannot be."""
        if not 0 <= self.drifting < self.devices or not 0 < self.since <= self.images:
            raise BenchError("--drifting and --since name a device and an image that are not there")
        if not 0 < self.share <= 1:
            raise BenchError(f"--share {self.share:g}: a share of images, above 0 and up to 1")


def run(
    path: Path, data: str, drifted: str, out: Path, plan: Plan, reporter: Reporter
) -> dict[str, Any]:
    """Writes the logs to ``out``, which must not exist, merges them, and tells what was found."""
    plan.require()
    try:
        out.mkdir(parents=True)
    except OSError as error:
        raise BenchError(f"--out {out}: cannot be made ({error.strerror})") from None
    bundle = Bundle.open(path)
    with tempfile.TemporaryDirectory(prefix="edgemon-") as scratch:
        parts = []
        for name, spec in (("clean", data), ("drifted", drifted)):
            folder = Path(scratch, name)
            folder.mkdir()
            rows = record_rows(bundle, spec, folder, labelled=False, reporter=reporter)
            parts.append(evaluate(bundle.artifact.program, rows))
    begun = time.perf_counter()
    with reporter.stage("simulating devices") as progress:
        flags = _simulate(Monitor(bundle.artifact_bytes), parts, out, plan, progress)
    simulated = time.perf_counter() - begun
    with peak_memory() as idle:
        pass
    found, merged, memory = _merge([str(out)], path)
    drift = next((d for d in found["drift"] if d["device"] == str(plan.drifting)), None)
    return {
        "devices": plan.devices, "images": found["total"]["images"], "reports": found["reports"],
        "log_bytes": sum(p.stat().st_size for p in out.iterdir()),
        "simulation_seconds": simulated, "merge_seconds": merged,
        "idle_bytes": idle.bytes, "merge_peak_bytes": memory,
        "drifting": {
            "device": str(plan.drifting), "since_image": plan.since,
            "since": START + (plan.since - 1) * SECONDS,
        },
        "found": drift, "flags": len(found["drift"]), "flags_of_clean_devices": flags,
        "confirmed": [d["device"] for d in found["drift"] if d["confirmed"]],
        "above": found["above"], "false_flags_at_most": found["false_flags_at_most"],
        "limit": found["expected"]["limit"], "rate": found["total"]["rate"],
    }  # fmt: skip


def _merge(logs: list[str], bundle: Path) -> tuple[dict[str, Any], float, int | None]:
    begun = time.perf_counter()
    with peak_memory() as memory:
        found = merge(logs, bundle, None, Terminal(as_json=True))
    return found, time.perf_counter() - begun, memory.bytes


def _simulate(
    monitor: Monitor, parts: list[Evaluation], out: Path, plan: Plan, progress: Progress
) -> int:
    """Writes a log a device; how many of those that do not drift have a flag."""
    flags = 0
    both = Evaluation.joined(parts)
    clean, new = (len(p.verdict) for p in parts)
    for number in range(plan.devices):
        rng = np.random.default_rng((plan.seed, number))
        rows = rng.integers(0, clean, plan.images)
        if number == plan.drifting:
            late = np.arange(plan.images) + 1 >= plan.since
            other = late & (rng.random(plan.images) < plan.share)
            rows = np.where(other, clean + rng.integers(0, new, plan.images), rows)
        drift = Drift(monitor)
        as_json = number % JSON_EVERY == 0
        with (out / f"{number:04}.{'jsonl' if as_json else 'emw'}").open("wb") as log:
            for report in _reports(monitor, both, rows, drift, number, plan.window):
                log.write(_line(report) if as_json else report)
        flags += drift.state.flag and number != plan.drifting
        progress(number + 1, plan.devices)
    return flags


def _line(report: bytes) -> bytes:
    return json.dumps(Report.parse(report).to_json()).encode() + b"\n"


def _reports(
    monitor: Monitor, known: Evaluation, rows: npt.NDArray[np.int64], drift: Drift, device: int,
    size: int,
) -> Iterator[bytes]:  # fmt: skip
    window = Window(monitor)
    for start in range(0, len(rows), size):
        chosen = rows[start : start + size]
        seen = known.take(chosen)
        drift.update(seen)
        window.update(seen)
        begun = START + start * SECONDS
        yield window.to_bytes(
            device=device, started=begun, ended=begun + len(chosen) * SECONDS, drift=drift
        )
        window.next()


def show(terminal: Terminal, d: dict[str, Any]) -> None:
    """The document for people."""
    terminal.note(
        f"{d['devices']:,} devices, {d['images']:,} images, {d['reports']:,} reports in "
        f"{d['log_bytes'] / 1e6:,.0f} MB of logs: simulated in {d['simulation_seconds']:.0f} s, "
        f"merged in {d['merge_seconds']:.1f} s"
    )
    if d["idle_bytes"] is not None:
        terminal.note(
            f"peak memory of the merge: {d['merge_peak_bytes'] / 1e6:,.0f} MB, of which the "
            f"process has {d['idle_bytes'] / 1e6:,.0f} MB before it reads"
        )
    terminal.note(
        f"alarms: {percent(d['rate'])}, expected at most {percent(d['limit'])}; above that: "
        + (", ".join(d["above"]) or "none")
    )
    most = d["false_flags_at_most"]
    terminal.note(
        f"{d['flags']:,} devices have a drift flag, "
        f"{d['flags_of_clean_devices']:,} of them by chance"
        + (f" (the test's promise permits {most:,.0f} flags)" if most else "")
        + f"; more than chance: {', '.join(d['confirmed']) or 'none'}"
    )
    true, found = d["drifting"], d["found"]
    terminal.note(
        f"device {true['device']} drifts from image {true['since_image']:,} on, "
        f"{moment(true['since'])}: "
        + (
            "not found"
            if found is None
            else f"found, since image {found['since_image']:,} (about {moment(found['since'])}), "
            f"flag at image {found['flagged_at_image']:,}, changes most between "
            f"{moment(found['changed'][0])} and {moment(found['changed'][1])}, "
            + _doubt(found["adjusted_p"])
        )
    )


def _doubt(adjusted_p: float | None) -> str:
    if adjusted_p is None:
        return "too few windows since then to tell whether it is chance"
    return f"adjusted p = {adjusted_p:.2g}"
