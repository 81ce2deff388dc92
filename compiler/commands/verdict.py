"""The few lines that ``edgemon compile`` prints unless ``-v`` asks for everything."""

from __future__ import annotations

from pathlib import Path

from edgemon.compiler.cost.bill import KILOBYTE
from edgemon.compiler.documents import manifest as schema
from edgemon.compiler.documents.monitors import OperatingPoint, Quality
from edgemon.compiler.report.decision import fusion_sentence
from edgemon.compiler.statistics.intervals import clopper_pearson
from edgemon.compiler.terminal import Terminal, percent

MARKS = {
    "better": "better than the plain softmax",
    "no better": "not shown to be better than the plain softmax",
    "worse": "worse than the plain softmax",
    "softmax": "it is the plain softmax",
    "weak": "weak: not shown to be better than chance",
    "unmeasured": "too few right or wrong test rows to compare it with the plain softmax",
}


def show_verdict(terminal: Terminal, out: Path, manifest: schema.Compiled) -> None:
    """What was caught, what is promised, what it is worth and takes, what to do next."""
    together = manifest["together"]
    terminal.note(caught(together))
    for monitor in manifest["monitors"]:
        worth = monitor["worth"]
        parts = [MARKS[worth["mark"]], fusion_sentence(worth)]
        terminal.note(f"{monitor['name']}: {'; '.join(filter(None, parts))}")
    size = manifest["bytes"]["monitors"] / KILOBYTE
    time = manifest["estimated_us"]
    took = "" if time is None else f", {time:.2f} us estimated on {manifest['options']['target']}"
    proof = manifest["proof"]
    terminal.note(
        f"takes {size:.1f} kB{took}; reference, C and ONNX agree on all {proof['rows']:,} held-out "
        f"rows{_left_out(manifest)}"
    )
    if manifest["advice"]:
        terminal.note(" ".join(manifest["advice"][:2]))
    terminal.note(f"wrote {out}; report: {out / manifest['report']}; every table: -v")


def _left_out(manifest: schema.Compiled) -> str:
    names = ", ".join(dict.fromkeys(x["monitor"] for x in manifest["left_out"]))
    return f"; left out: {names} (why: -v)" if names else ""


def caught(found: Quality) -> str:
    """What the verdict catches, with 95 % intervals, and how far an alarm can be trusted."""
    wrong = found["true_alarms"] + found["missed"]
    right = found["false_alarms"] + found["quiet"]
    alarms = found["true_alarms"] + found["false_alarms"]
    if not wrong:
        return f"no wrong answer among {found['rows']:,} test rows, so nothing could be caught"
    return (
        f"caught {_share(found['true_alarms'], wrong)} of {wrong:,} wrong answers, false alarms on "
        f"{_share(found['false_alarms'], right)} of {right:,} right ones; of the alarms "
        f"{_share(found['true_alarms'], alarms)} are on wrong answers"
    )


def _share(part: int, whole: int) -> str:
    found = clopper_pearson(part, whole)
    if found is None:
        return "n/a"
    return f"{100 * part / whole:.1f} % ({100 * found[0]:.1f} to {100 * found[1]:.1f})"


def show_operating_points(terminal: Terminal, manifest: schema.Compiled) -> None:
    """What other promises would catch, of each monitor that promises."""
    for name, points in manifest["operating_points"].items():
        if points:
            terminal.table(
                ("promised", "rows needed", "caught", "95 %", "false alarms", "95 %",
                 "alarms that are right"),
                [_cells(p) for p in points],
                title=f"{name}: what other promises of it alone would catch (--false-alarm); there "
                f"are {points[0]['rows']:,} rows to set a threshold on",
            )  # fmt: skip


def _cells(p: OperatingPoint) -> tuple[object, ...]:
    if p["threshold"] is None:
        return (f"{100 * p['promised']:g} %", p["rows_needed"], *("too few rows", "", "", "", ""))
    spans = (
        "" if i is None else f"{100 * i[0]:.1f} to {100 * i[1]:.1f}"
        for i in (p["caught_interval"], p["false_alarms_interval"])
    )
    first, second = spans
    return (
        f"{100 * p['promised']:g} %", p["rows_needed"], percent(p["caught"]), first,
        percent(p["false_alarms"]), second, percent(p["precision"]),
    )  # fmt: skip
