"""Merging the reports of a fleet, and showing what they say."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from edgemon.compiler.errors import DataError
from edgemon.compiler.fleet import judging
from edgemon.compiler.fleet.counts import Fleet
from edgemon.compiler.fleet.limit import expected
from edgemon.compiler.fleet.page import render
from edgemon.compiler.fleet.reading import Problems, files, reports
from edgemon.compiler.terminal import Terminal, percent

REASONS = 5  # for which lines are bad, on the terminal
SHOWN = 10  # rows of a table on the terminal
WRITERS = "em_window_write, Session.report and `edgemon run --reports` write them"


def merge(
    logs: Sequence[str], bundle: Path | None, limit: float | None, terminal: Terminal
) -> dict[str, Any]:
    """The document of all reports in logs. Raises EdgemonError, also if there is none."""
    said = expected(bundle, limit)
    paths, others = files(logs)
    if others:
        terminal.warn(f"{others:,} files of the folders are no logs, and left out")
    fleet, problems = Fleet(said.artifact), Problems()
    with terminal.stage("reading reports") as progress:
        for number, path in enumerate(paths):
            for report in reports(path, problems):
                fleet.add(report)
            progress(number + 1, len(paths))
    if not fleet.reports:
        raise DataError(_nothing(fleet, problems, len(paths)))
    return judging.document(fleet, said, problems)


def _nothing(fleet: Fleet, problems: Problems, count: int) -> str:
    if fleet.of_others:
        names = ", ".join(name for name, _ in fleet.artifacts.most_common(3))
        return (
            f"all {fleet.of_others:,} reports are of other artifacts ({names}) than --bundle, "
            f"which is {fleet.artifact}: name the bundle that the devices run"
        )
    if problems.count:
        return (
            f"no report among {problems.count:,} lines; the first: {problems.first[0]}; {WRITERS}"
        )
    return f"no report in {count:,} files, which are empty; {WRITERS}"


def warn(found: dict[str, Any], terminal: Terminal) -> None:
    """What was left out, and what makes the numbers doubtful."""
    bad = found["bad"]
    if bad["count"]:
        often = sorted(bad["reasons"].items(), key=lambda r: -r[1])
        more = f"; and for {len(often) - REASONS:,} other reasons" if len(often) > REASONS else ""
        terminal.warn(
            f"{bad['count']:,} lines or reports are bad and left out: "
            + "; ".join(f"{n:,} times {reason}" for reason, n in often[:REASONS])
            + f"{more}; the first is {bad['first'][0]}"
        )
    for count, what in (
        (
            found["of_other_artifacts"],
            "reports are of another artifact than --bundle: left out",
        ),
        (
            found["repeated"],
            "reports are of a time that the same device had reported (a log that "
            "is read twice, or devices that share a name): left out",
        ),
        (found["beyond_the_most_devices"], "reports are of more devices than are counted"),
        (found["full"], "reports are of windows that were full: their images are not all counted"),
        (found["clipped"], "reports have scores beyond 2^38, which count as that"),
    ):
        if count:
            terminal.warn(f"{count:,} {what}")
    if found["expected"]["artifact"] is None and len(found["artifacts"]) > 1:
        terminal.warn(
            f"the reports are of {len(found['artifacts'])} artifacts, whose rates are added; give "
            "--bundle for those of one"
        )


def show(found: dict[str, Any], terminal: Terminal) -> None:
    """The document on a terminal."""
    total, said, devices = found["total"], found["expected"], found["by_device"]
    terminal.note(
        f"{found['reports']:,} reports of {len(devices):,} devices, {total['images']:,} images: "
        f"{percent(total['rate'])} alarms ({_interval(total)}), "
        f"{percent(total['fault_rate'])} faults"
    )
    if said["limit"] is None:
        terminal.note(f"expected: {said['because']}")
    else:
        terminal.note(f"expected: at most {percent(said['limit'])} alarms, for {said['because']}")
        _show_above(found, terminal)
    _show_drifts(found, terminal)
    _show_faults(found, terminal)
    _show_silent(found, terminal)
    _show_accuracy(found, terminal)
    for key, name in (("day", "by_day"), ("class", "by_class")):
        rows = found[name]
        if len(rows) > 1:
            shown = rows[-SHOWN:] if key == "day" else sorted(rows, key=lambda r: -(r["rate"] or 0))
            terminal.table(
                [key, "images", "alarms", "95 % interval"],
                [
                    [
                        str(r.get("name") or ("unknown" if r[key] is None else r[key])),
                        r["images"], percent(r["rate"]), _interval(r),
                    ]
                    for r in shown[:SHOWN]
                ],
                title=f"by {key}" + (f" ({SHOWN} of {len(rows)})" if len(rows) > SHOWN else ""),
            )  # fmt: skip


def _show_above(found: dict[str, Any], terminal: Terminal) -> None:
    names = found["above"]
    by_name = {r["device"]: r for r in found["by_device"]}
    terminal.note(
        f"{len(names):,} of {len(by_name):,} devices alarm more often than that; of those named at "
        f"most {found['false_discovery_rate']:.0%} are expected to be named by chance "
        "(Benjamini-Hochberg)"
    )
    if names:
        rows = [by_name[n] for n in names[:SHOWN]]
        terminal.table(
            ["device", "images", "alarms", "95 % interval", "adjusted p"],
            [
                [r["device"], r["images"], percent(r["rate"]), _interval(r), r["adjusted_p"]]
                for r in rows
            ],
            title="above what is expected" + (f" (first {SHOWN})" if len(names) > SHOWN else ""),
        )  # fmt: skip


def _show_drifts(found: dict[str, Any], terminal: Terminal) -> None:
    flags = found["drift"]
    real = judging.confirmed(flags)
    most = found["false_flags_at_most"]
    by_chance = f"; the test's own promise permits {most:,.0f} by chance" if most else ""
    terminal.note(
        f"{len(flags):,} devices have a drift flag{by_chance}; {len(real):,} of them differ since "
        "then from before (Welch's test of windows, Benjamini-Hochberg)"
    )
    if real:
        terminal.table(
            [
                "device", "flag since about", "changes most between", "and", "image",
                "alarms before", "since", "adjusted p",
            ],
            [
                [
                    r["device"], moment(r["since"]), *map(moment, r["changed"] or (None, None)),
                    r["since_image"],
                    percent(r["rate_before"]), percent(r["rate_after"]), r["adjusted_p"],
                ]
                for r in real[:SHOWN]
            ],
            title="drifting, the first first" + (f" ({SHOWN})" if len(real) > SHOWN else ""),
        )  # fmt: skip


def _show_accuracy(found: dict[str, Any], terminal: Terminal) -> None:
    total = found["total"]["accuracy"]
    if total is None:
        return
    terminal.note(
        f"accuracy, as {total['reports']:,} reports estimate it: {percent(total['estimate'])} "
        f"({_interval(total)})"
    )
    names = found["accuracy_not_valid"]
    if total["not_valid"]:
        more = ", ..." if len(names) > SHOWN else ""
        terminal.warn(
            f"{total['not_valid']:,} reports have an estimate of accuracy that is not valid, and "
            "left out: a drift flag with too few labels since, or too few images; label images "
            "drawn at random on these devices"
            + (f" (now: {', '.join(names[:SHOWN])}{more})" if names else "")
        )
    by_name = {r["device"]: r for r in found["by_device"]}
    rows = [by_name[n] for n in found["least_accurate"][:SHOWN]]
    if rows:
        terminal.table(
            ["device", "accuracy now", "95 % interval", "by", "labels"],
            [
                [
                    r["device"], percent(r["last_accuracy"]["estimate"]),
                    _interval(r["last_accuracy"]), r["last_accuracy"]["basis"].replace("_", " "),
                    r["last_accuracy"]["labels"],
                ]
                for r in rows
            ],
            title="estimated accuracy, the least first"
            + (f" ({SHOWN})" if len(found["least_accurate"]) > SHOWN else ""),
        )  # fmt: skip
    days = [r for r in found["by_day"] if r["accuracy"]]
    if len(days) > 1:
        terminal.table(
            ["day", "accuracy", "95 % interval", "reports", "not valid"],
            [
                [
                    r["day"] or "unknown", percent(r["accuracy"]["estimate"]),
                    _interval(r["accuracy"]), r["accuracy"]["reports"], r["accuracy"]["not_valid"],
                ]
                for r in days[-SHOWN:]
            ],
            title="estimated accuracy by day"
            + (f" ({SHOWN} of {len(days)})" if len(days) > SHOWN else ""),
        )  # fmt: skip


def _show_silent(found: dict[str, Any], terminal: Terminal) -> None:
    names = found["silent"]
    if names:
        more = ", ..." if len(names) > SHOWN else ""
        terminal.note(
            f"{len(names):,} devices have reported nothing for a day or more before the last "
            f"report of all: {', '.join(names[:SHOWN])}{more}"
        )


def _show_faults(found: dict[str, Any], terminal: Terminal) -> None:
    names = found["faulty"]
    if not names:
        return
    by_name = {r["device"]: r for r in found["by_device"]}
    rows = [by_name[n] for n in names[:SHOWN]]
    terminal.table(
        ["device", "images", "faults", "NaN in a tap", "on the way to a score", "other"],
        [
            [r["device"], r["images"], percent(r["fault_rate"]), *r["faults"].values()]
            for r in rows
        ],
        title=f"faults, on {len(names):,} devices" + (f" ({SHOWN})" if len(names) > SHOWN else ""),
    )  # fmt: skip


def moment(seconds: int | None) -> str:
    """A time (UTC)."""
    if seconds is None:
        return "n/a"
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%d %H:%M")


def _interval(row: dict[str, Any]) -> str:
    found = row["interval"]
    return "n/a" if found is None else f"{100 * found[0]:.2f} to {100 * found[1]:.2f}"


def write_page(found: dict[str, Any], path: Path, terminal: Terminal) -> None:
    """The document as one HTML file. Raises OSError."""
    path.write_text(render(found), encoding="utf-8")
    terminal.note(f"page: {path}")
