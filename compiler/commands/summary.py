"""What ``edgemon compile`` prints when it is done."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, Literal

from edgemon.compiler.commands.verdict import caught, show_operating_points, show_verdict
from edgemon.compiler.cost.bill import KILOBYTE
from edgemon.compiler.documents import manifest as schema
from edgemon.compiler.documents import measured, monitors
from edgemon.compiler.last_bits.tables import show_last_bits
from edgemon.compiler.promise.drift.watched import sentence as drift_sentence
from edgemon.compiler.proof.self_test import MutationScore
from edgemon.compiler.terminal import Terminal, percent

# Findings of which the terminal has told already.
SAID_ABOVE = (
    "few_wrong_fit_rows", "left_out", "clipped_input", "narrow_input", "better_alternative",
    "vectors_as_images",
)  # fmt: skip
SPLITS: tuple[Literal["fit"], Literal["threshold"], Literal["test"]] = ("fit", "threshold", "test")
UNRANKED = ("MCC, ties unranked", "AUROC, ties unranked")
COIN = 0.5  # AUROC of a score without any signal


def show_compiled(
    terminal: Terminal, out: Path, manifest: schema.Compiled, *, verbose: bool
) -> None:
    """The end of ``edgemon compile``, from its manifest: a verdict of a few lines, or all tables
    and notes. Warnings are shown either way."""
    if verbose:
        _show_all(terminal, out, manifest)
    else:
        _show_promise(terminal, manifest, tables=False)
        _show_groups(terminal, manifest)
        _show_budget(terminal, manifest)
        show_verdict(terminal, out, manifest)
    for finding in manifest["findings"]:
        if finding["kind"] not in SAID_ABOVE:
            terminal.warn(finding["text"])


def _show_all(terminal: Terminal, out: Path, manifest: schema.Compiled) -> None:
    target = manifest["options"]["target"]
    timed = manifest["estimated_us"] is not None
    several = len(manifest["monitors"]) > 1
    time = (f"us on {target}, estimated",) if timed else ()
    ranked = any(m["ties_broken"] for m in manifest["monitors"])
    terminal.table(
        ("monitor", "threshold", "from", "MCC", "AUROC", *(UNRANKED if ranked else ()),
         "beside softmax", "false alarms", "missed", "kB", *time),
        [
            (
                m["name"], "by class" if m["class_thresholds"] else m["threshold"],
                m["threshold_from"], m["mcc"], m["auroc"], *(unranked(m) if ranked else ()),
                m["worth"]["mark"], percent(m["false_alarm_rate"]), percent(m["miss_rate"]),
                *_cost(m["bytes"], m["estimated_us"]),
            )
            for m in manifest["monitors"]
        ]
        + ([_verdict_row(manifest, ranked)] if several else []),
        title=f"on {manifest['rows']['test']:,} test rows (positive: the model is wrong)",
    )  # fmt: skip
    terminal.note(caught(manifest["together"]))
    _show_promise(terminal, manifest, tables=True)
    show_operating_points(terminal, manifest)
    for sentence in manifest["advice"]:
        terminal.note(sentence)
    spread = manifest["input"]["spread"]
    if spread is not None:
        terminal.note(
            f"input: {percent(spread['clipped_share'])} of the values are clipped, and they use "
            f"{percent(spread['used_share'])} of its range"
        )
    _show_groups(terminal, manifest)
    _show_comparison(terminal, manifest, time)
    show_last_bits(terminal, manifest["last_bits"])
    _show_drift(terminal, manifest["drift"])
    proof, peak = manifest["proof"], manifest["peak_memory_bytes"]
    terminal.note(
        f"proof: {proof['mismatches']} of {proof['rows']:,} rows and {proof['neighbours']:,} "
        "threshold neighbours differ between reference, C and ONNX; the tapped model's output is "
        f"bit-identical on {proof['output_rows']:,} rows"
    )
    terminal.note(MutationScore.of(manifest["self_test"]).sentence)
    terminal.note(
        f"peak memory: {peak['compile'] / 1e6:.0f} MB, and {peak['largest_worker'] / 1e6:.0f} MB "
        "in the largest worker"
    )
    _show_budget(terminal, manifest)
    worst = manifest["worst_case"]
    terminal.note(
        f"worst case of an evaluation: {worst['operations']:,} operations, "
        f"{worst['touched_bytes']:,} bytes touched"
    )
    for found in manifest["left_out"]:
        terminal.note(f"left out: {found['monitor']}: {found['reason']}")
    terminal.note(f"wrote {out} (monitor.emon: {manifest['bytes']['artifact']:,} bytes)")
    terminal.note(f"report: {out / manifest['report']}")


def show_timings(terminal: Terminal, pieces: Sequence[schema.Timing]) -> None:
    """A table; pieces of a piece are indented."""
    whole = [p for p in pieces if p["level"] == 0]
    rows = [
        (
            "  " * p["level"] + p["stage"], round(p["seconds"], 2), round(p["cpu_seconds"], 2),
            round(p["peak_memory_bytes"] / 1e6),
        )
        for p in pieces
    ]  # fmt: skip
    seconds = round(sum(p["seconds"] for p in whole), 2)
    cpu = round(sum(p["cpu_seconds"] for p in whole), 2)
    rows.append(("all", seconds, cpu, max(row[3] for row in rows)))
    terminal.table(
        ("stage", "seconds", "CPU s", "peak MB so far"), rows,
        title="where the time went (CPU with workers that have ended; peak of this process)",
    )  # fmt: skip


def unranked(monitor: monitors.Monitor) -> tuple[Any, ...]:
    """Cells for what a monitor whose ties the softmax ranks is worth without that."""
    return (monitor["raw_mcc"], monitor["raw_auroc"]) if monitor["ties_broken"] else ("", "")


def _verdict_row(manifest: schema.Compiled, ranked: bool) -> tuple[Any, ...]:
    """The row for all monitors together; the worst verdict counts."""
    q = manifest["together"]
    return (
        "the verdict", "worst", "", q["mcc"], q["auroc"], *(("", "") if ranked else ()),
        "", percent(q["false_alarm_rate"]), percent(q["miss_rate"]),
        *_cost(manifest["bytes"]["monitors"], manifest["estimated_us"]),
    )  # fmt: skip


def _show_promise(terminal: Terminal, manifest: schema.Compiled, *, tables: bool) -> None:
    """Whose rate is promised, and beside a promise of the verdict each monitor's own."""
    options, monitors = manifest["options"], manifest["monitors"]
    promised = [m["name"] for m in monitors if m["threshold_from"] == "held-out"]
    if not promised:
        return
    joint = len(promised) > 1 and options["promise"] == "verdict"
    who = "the verdict" if joint or len(monitors) == 1 else "each of " * (len(promised) > 1)
    if not joint:
        who += (" of " if len(monitors) == 1 else "") + ", ".join(promised)
    elif len(promised) < len(monitors):
        who += f" of {', '.join(promised)} together"
    classes = {"": "", "each": ", of each predicted class by itself (not of all at once)",
               "every": ", of every predicted class at once"}  # fmt: skip
    terminal.note(
        f"promised: {who} has at most {100 * options['rate']:g} % {options['promise_of']}"
        f"{classes[options['per_class']]}, with {100 * options['confidence']:g} % confidence"
    )
    if len(promised) > 1 and not joint:
        terminal.note(
            "the verdict alarms when any of them does, and nothing is promised of that; "
            "--promise verdict does"
        )
    own = [(m, m["alone"]) for m in monitors if m["alone"] is not None]
    if own and tables:
        terminal.table(
            ("monitor alone", "threshold", "MCC", "false alarms", "missed"),
            [
                (
                    m["name"], "by class" if len(a["thresholds"]) > 1 else a["thresholds"][0],
                    q["mcc"], percent(q["false_alarm_rate"]), percent(q["miss_rate"]),
                )
                for m, a in own
                for q in [a["quality"]]
            ],
            title="each monitor under the same promise of its own (--promise monitor)",
        )  # fmt: skip


def _show_groups(terminal: Terminal, manifest: schema.Compiled) -> None:
    groups, rows = manifest["groups"], manifest["rows"]
    if groups is None:
        return
    counts = ", ".join(f"{name} {rows[name]:,} of {groups[name]:,}" for name in SPLITS)
    terminal.note(f"rows of groups by {groups['by']}: {counts}")
    if groups["drawn"] is not None:
        kind = "wrong" if manifest["options"]["promise_of"] == "misses" else "right"
        whose, promised = f"of each of {groups['drawn']:,} groups", f"{kind} answer"
        realised = manifest["realised"]
        row = realised["by_row"]["verdict"]["rate"]
        by_set = realised["by_set"]
        once = row if by_set is None else by_set["verdict"]["rate"]
        if manifest["options"]["per_class"]:
            whose = (
                f"of each predicted class in each of {groups['drawn']:,} groups, "
                f"{groups['drawn_rows']:,} in all"
            )
            promised = f"{kind} answer of each predicted class"
        terminal.note(
            f"thresholds are set on one {kind} answer {whose}: what is promised, is promised of a "
            f"random {promised} of a new group, and not of a random row: on the test rows the "
            f"verdict has {percent(once)} {manifest['options']['promise_of']} counted by group, "
            f"{percent(row)} counted by row"
        )


def _show_comparison(terminal: Terminal, manifest: schema.Compiled, time: tuple[str, ...]) -> None:
    if not manifest["comparison"]:
        return
    terminal.table(
        ("signal alone", "against", "in the fusion", "MCC", "AUROC", "false alarms", "missed",
         "kB", *time),
        [
            (
                c["signal"], "novelty" if c["novelty"] else "errors",
                "yes" if c["kept"] else "no", q["mcc"], q["auroc"],
                percent(q["false_alarm_rate"]), percent(q["miss_rate"]),
                *_cost(c["size_bytes"], c["estimated_us"]),
            )
            for c in sorted(manifest["comparison"], key=lambda c: c["size_bytes"])
            for q in [c["quality"]]
        ],
        title="the signals alone, under the same promise, cheapest first",
    )  # fmt: skip
    second = [c["signal"] for c in manifest["comparison"] if c["second_inference"]]
    if second:
        terminal.note(f"{', '.join(second)}: plus a second inference of the model for each image")
    for monitor in manifest["monitors"]:
        _show_selection(terminal, monitor)


def _show_selection(terminal: Terminal, monitor: monitors.Monitor) -> None:
    """What each further signal of a stack buys, in the order in which they joined."""
    joined = [c for c in monitor["details"].get("selection", ()) if c["kept"]]
    if len(joined) < 2:
        return
    timed = joined[0]["stack_estimated_us"] is not None
    rows, before = [], (0, 0.0, COIN)
    for c in joined:
        now = (c["stack_bytes"], c["stack_estimated_us"], c["stack_auroc"])
        gain = now[2] - before[2]
        per_kb = _each(gain, (now[0] - before[0]) / KILOBYTE)
        per_us = (_each(gain, now[1] - before[1]),) if timed else ()
        shown = (_short(now[2]), _short(gain), per_kb, *per_us)
        rows.append((f"+ {c['signal']}", *_cost(*now[:2]), *shown))
        before = now
    terminal.table(
        ("stack", "kB, at most", *(["us, at most"] if timed else []), "AUROC, out of fold",
         "gained", "a kB", *(["a us"] if timed else [])),
        rows,
        title=f"{monitor['name']}: what each further signal buys on held-out rows (the first: "
        "beside a coin), and what the fusion up to it was reckoned to take",
    )  # fmt: skip


def _cost(size_bytes: int, estimated_us: float | None) -> tuple[float, ...]:
    """kB, and the time where it is known, as tables show them."""
    time = () if estimated_us is None else (round(estimated_us, 2),)
    return (round(size_bytes / KILOBYTE, 2), *time)


def _each(gain: float, price: float) -> float | None:
    """What one kB or us of a price buys; None where nothing was paid."""
    return _short(gain / price) if price > 0 else None


def _short(value: float) -> float:
    return round(value, 4)


def _show_budget(terminal: Terminal, manifest: schema.Compiled) -> None:
    taken = _cost(manifest["bytes"]["monitors"], manifest["estimated_us"])
    limits = manifest["budget"]["kilobytes"], manifest["budget"]["microseconds"]
    kept = [
        f"{value:.4g} of {limit:.4g} {unit}"
        for value, limit, unit in zip(taken, limits, ("kB", "us, estimated"), strict=False)
        if limit is not None
    ]
    if kept:
        terminal.note(f"budget: {'; '.join(kept)}: met")


def _show_drift(terminal: Terminal, drift: measured.Drift | None) -> None:
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
        + ("" if drift["largest_group"] is None else
           f"; in streams of whole groups of at most {drift['largest_group']:,} images")
    )  # fmt: skip
    if why := drift_sentence(drift):
        terminal.note(why)
