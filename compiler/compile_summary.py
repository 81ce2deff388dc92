"""What ``edgemon compile`` prints when it is done."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from edgemon.compiler.robustness.tables import show_robustness
from edgemon.compiler.terminal import Terminal, percent


def show_compiled(terminal: Terminal, out: Path, manifest: dict[str, Any]) -> None:
    """The tables and notes at the end of ``edgemon compile``, from its manifest."""
    terminal.table(
        ("monitor", "threshold", "from", "MCC", "AUROC", "false alarms", "missed", "bytes"),
        [
            (
                m["name"], m["threshold"], m["threshold_from"], m["mcc"], m["auroc"],
                percent(m["false_alarm_rate"]), percent(m["miss_rate"]), m["bytes"],
            )
            for m in manifest["monitors"]
        ],
        title=f"on {manifest['rows']['test']:,} test rows (positive: the model is wrong)",
    )  # fmt: skip
    _show_groups(terminal, manifest)
    _show_comparison(terminal, manifest)
    show_robustness(terminal, manifest["robustness"])
    _show_drift(terminal, manifest["drift"])
    proof, peak = manifest["proof"], manifest["peak_memory_bytes"]
    terminal.note(
        f"proof: {proof['mismatches']} of {proof['rows']:,} rows and {proof['neighbours']:,} "
        "threshold neighbours differ between reference, C and ONNX; the tapped model's output is "
        f"bit-identical on {proof['output_rows']:,} rows"
    )
    terminal.note(
        f"peak memory: {peak['compile'] / 1e6:.0f} MB, and {peak['largest_worker'] / 1e6:.0f} MB "
        "in the largest worker"
    )
    for finding in manifest["findings"]:
        if finding["kind"] != "few_wrong_fit_rows":  # said before fitting
            terminal.warn(finding["text"])
    terminal.note(f"wrote {out} (monitor.emon: {manifest['bytes']['artifact']:,} bytes)")
    terminal.note(f"report: {out / manifest['report']}")


def _show_groups(terminal: Terminal, manifest: dict[str, Any]) -> None:
    groups, rows = manifest["groups"], manifest["rows"]
    if groups is None:
        return
    counts = ", ".join(f"{name} {n:,} of {groups[name]:,}" for name, n in rows.items())
    terminal.note(f"rows of groups by {groups['by']}: {counts}")
    if groups["drawn"] is not None:
        kind = "wrong" if manifest["options"]["promise_of"] == "misses" else "right"
        terminal.note(
            f"thresholds are set on one {kind} answer of each of {groups['drawn']:,} groups: what "
            f"is promised, is promised of a random {kind} answer of a new group"
        )


def _show_comparison(terminal: Terminal, manifest: dict[str, Any]) -> None:
    if not manifest["comparison"]:
        return
    terminal.table(
        ("signal alone", "against", "in the fusion", "MCC", "AUROC", "false alarms", "missed",
         "bytes"),
        [
            (
                c["signal"], "novelty" if c["novelty"] else "errors",
                "yes" if c["kept"] else "no", q["mcc"], q["auroc"],
                percent(q["false_alarm_rate"]), percent(q["miss_rate"]), c["size_bytes"],
            )
            for c in sorted(manifest["comparison"], key=lambda c: c["size_bytes"])
            for q in [c["quality"]]
        ],
        title="the signals alone, under the same promise, cheapest first",
    )  # fmt: skip
    for monitor in manifest["monitors"]:
        _show_selection(terminal, monitor)


def _show_selection(terminal: Terminal, monitor: dict[str, Any]) -> None:
    """What each further signal of a stack buys, in the order in which they joined."""
    joined = [c for c in monitor["details"].get("selection", ()) if c["kept"]]
    rows, size_bytes = [], 0
    for choice in joined:
        size_bytes += choice["size_bytes"]
        rows.append((f"+ {choice['signal']}", size_bytes, choice["stack_auroc"]))
    if len(rows) > 1:
        terminal.table(
            ("stack", "bytes so far", "AUROC, out of fold"), rows,
            title=f"{monitor['name']}: what each further signal buys on held-out rows",
        )  # fmt: skip


def _show_drift(terminal: Terminal, drift: dict[str, Any] | None) -> None:
    if drift is None:
        return
    measured = drift["measured"]
    if measured is None:
        found = "not measured"
    elif measured["flags"]:
        low, high = measured["interval"]
        found = f"{measured['run_length']:,.0f} ({low:,.0f} to {high:,.0f})"
    else:
        found = f"above {measured['interval'][0]:,.0f}"
    terminal.note(
        f"drift test on {drift['monitor']}: promised at least {drift['run_length']:,} clean images "
        f"to a false flag on average, on the test rows {found}"
    )
