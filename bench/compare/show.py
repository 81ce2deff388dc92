"""The tables of a comparison, for people."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import median
from typing import Any

from edgemon.bench.compare.cells import as_means, interval, no_limit, value
from edgemon.bench.compare.measures import CERTIFIED, OWN, TUNED
from edgemon.bench.compare.show_signals import signals
from edgemon.compiler.terminal import Terminal

Document = dict[str, Any]

QUALITY = (
    "monitor", "AUROC", "AUPR", "certified MCC", "95 %", "false alarms", "caught", "own MCC",
    "tuned MCC",
)  # fmt: skip


def show(terminal: Terminal, document: Document) -> None:
    """All of them on standard output."""
    promise = document["promise"]
    terminal.note(
        f"{document['comparison']}; positive: {document['positive']}\n"
        f"certified: at most {promise['false_alarms']:.3g} false alarms at confidence "
        f"{promise['confidence']:.3g}; own: the threshold that the method brings; tuned: the one "
        "with the best MCC on the calibration rows, without a guarantee; MCC counts as 0 where a "
        "monitor never or always alarms"
    )
    for case in document["cases"]:
        _case(terminal, case)
    for case in document["skipped"]:
        terminal.note(f"\n{case['name']}: skipped: {case['reason']}")
    for group in document["groups"]:
        _group(terminal, group)


def _case(terminal: Terminal, case: Document) -> None:
    rows = case["rows"]
    copies = rows["moved_copies"]
    terminal.note(
        f"\n{case['name']} ({case['model']}): {rows['fit']:,} fit rows"
        f"{f' and {copies:,} moved copies of them' if copies else ''}, {rows['pool']:,} rows to "
        f"split, of which {case['wrong']:,} are wrong (accuracy {case['accuracy']:.2%}); the model "
        f"takes {case['model_us']:,.0f} us"
    )
    judged = [m for m in case["monitors"] if "resplits" in m]
    references = [r for r in case["references"] if "resplits" in r]
    named = [*((m["monitor"], m) for m in judged), *((no_limit(r), r) for r in references)]
    if case["resplits"]:
        means = {name: m["resplits"] for name, m in named}
        _quality(
            terminal, means,
            f"mean of {case['resplits']} resplits; the interval is of the mean, over resplits",
        )  # fmt: skip
    if case["fixed_split"]:
        fixed = {name: as_means(m["fixed"]) for name, m in named}
        _quality(terminal, fixed, "fixed split; the interval is for new test rows")
    sets = list(rows["novel"])
    terminal.table(
        ("monitor", "bytes", "ns", "estimated", "of the model",
         *(["SCOD MCC", "95 %"] if sets else []), *(f"AUROC {name}" for name in sets)),
        [
            (
                m["monitor"], m["bytes"], round(m["nanoseconds"]), _whole(m["estimated_ns"]),
                f"{m['share_of_model']:.2%}",
                *_novelty(m["resplits"] or as_means(m["fixed"]), sets),
            )
            for m in judged
        ]
        + [
            (
                no_limit(r), *[None] * 4,
                *_novelty(r["resplits"] or as_means(r["fixed"]), sets),
            )
            for r in references
        ],
        title="cost, and novel rows",
    )  # fmt: skip
    _references(terminal, case)
    for m in judged:
        if "signal_table" in m:
            signals(terminal, m, references, sets)
    second = [m["monitor"] for m in judged if m["second_inference"]]
    if second:
        terminal.note(
            f"{', '.join(second)}: a second inference of the model for each image, on another "
            "image, is part of the share of the model, not of the ns"
        )
    for m in judged:
        if "companion_bytes" in m:
            terminal.note(
                f"{m['monitor']}: a companion model of {m['companion_bytes']:,} bytes, that takes "
                f"{m['companion_us']:,.0f} us an image, is part of the share of the model, not of "
                "the bytes and ns"
            )
    for m in judged:
        if m.get("ties_broken"):
            raw = m["raw_certified"]["certified.mcc"]["mean"]
            terminal.note(
                f"{m['monitor']}: few values, whose ties the softmax ranks at the certified "
                "threshold; without it the certified MCC is "
                + ("undefined" if raw is None else f"{raw:.3f}")
                + " (its AUROC here is without it)"
            )
    _estimates(terminal, judged)
    for m in case["monitors"]:
        if "left_out" in m:
            terminal.note(f"{m['monitor']} is left out: {m['left_out']}")
        for signal in m.get("signals", []):
            terminal.note(f"{m['monitor']}: {signal['weight']:.2f} x {signal['signal']}")


def _references(terminal: Terminal, case: Document) -> None:
    """What they are, and what they read."""
    if not case["references"]:
        return
    read = [f"{b['features']} of {b['tap']} ({b['of']})" for b in case["references_read"]]
    terminal.note(
        "no limit: references in float64 that no bundle holds, so without bytes and time, judged "
        f"on the same rows at the same promise; every feature: {'; '.join(read)}"
    )
    for r in case["references"]:
        said = (
            f"is left out: {r['left_out']}"
            if "left_out" in r
            else f"{r['what']}; reads {r['reads']}"
        )
        terminal.note(f"{no_limit(r)}: {said}")


def _estimates(terminal: Terminal, judged: Sequence[Document]) -> None:
    """How good estimated times are."""
    found = {m["monitor"]: m["estimated_ns"] / m["nanoseconds"]
             for m in judged if m["estimated_ns"] is not None}  # fmt: skip
    if found:
        low, high = min(found, key=found.__getitem__), max(found, key=found.__getitem__)
        terminal.note(
            f"estimated to measured time: median {median(found.values()):.2f}, from "
            f"{found[low]:.2f} ({low}) to {found[high]:.2f} ({high})"
        )


def _whole(value: float | None) -> int | None:
    return None if value is None else round(value)


def _group(terminal: Terminal, group: Document) -> None:
    n = len(group["cases"])
    for key, what in (("means", "of resplits"), ("fixed", "of the fixed splits")):
        means = {m["monitor"]: m[key] for m in group["monitors"] if m[key]}
        means |= {no_limit(r): r[key] for r in group["references"] if r[key]}
        if not means:
            continue
        title = f"\n{group['name']}: mean {what} of {n} cases; the interval draws cases"
        _quality(terminal, means, title, every=n)
        terminal.table(
            (
                "monitor", *(c for kind in (OWN, TUNED) for c in
                             (f"{kind} MCC", "95 %", "false alarms", "caught")), "cases",
            ),
            [
                (
                    name, *_at_threshold(found, OWN), *_at_threshold(found, TUNED),
                    found["auroc"]["of"],
                )
                for name, found in means.items()
            ],
        )  # fmt: skip


def _at_threshold(found: Document, kind: str) -> tuple[Any, ...]:
    keys = (f"{kind}.{key}" for key in ("false_alarms", "caught"))
    mcc = f"{kind}.mcc"
    return (value(found, mcc), interval(found, mcc), *(value(found, key) for key in keys))


def _quality(
    terminal: Terminal, means: dict[str, Document], title: str, every: int | None = None
) -> None:
    """``every``: of how many cases a mean is, if all have the number; fewer are shown."""
    terminal.table(
        QUALITY,
        [
            (
                name, value(found, "auroc"), value(found, "aupr"),
                value(found, f"{CERTIFIED}.mcc"),
                interval(found, f"{CERTIFIED}.mcc") + _partial(found, every),
                value(found, f"{CERTIFIED}.false_alarms"), value(found, f"{CERTIFIED}.caught"),
                value(found, f"{OWN}.mcc"), value(found, f"{TUNED}.mcc"),
            )
            for name, found in means.items()
        ],
        title=title,
    )  # fmt: skip


def _partial(found: Document, every: int | None) -> str:
    of = found.get(f"{CERTIFIED}.mcc", {}).get("of", 0)
    return "" if every is None or of == every else f" ({of} cases)"


def _novelty(found: Document, sets: Sequence[str]) -> list[Any]:
    if not sets:
        return []
    scod = f"{CERTIFIED}.scod_mcc"
    return [
        value(found, scod), interval(found, scod),
        *(value(found, f"novelty.{name}") for name in sets),
    ]  # fmt: skip
