"""What ``edgemon accuracy`` tells people."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from edgemon.compiler.accuracy.table import AccuracyTable
from edgemon.compiler.estimation import asking, estimates
from edgemon.compiler.estimation.observed import Observed
from edgemon.compiler.terminal import Terminal, percent

FOR_A_START = 250  # labels that are worth asking for
PLAN = (50, 100, 250, 1000)


def meaning(way: str) -> str:
    """What a way of choosing rows is."""
    return {
        asking.RANDOM: "drawn at random",
        asking.STRATIFIED: "drawn at random from strata by the monitor's score",
        asking.ENTROPY: "those of most entropy: for the published method alone, no interval holds",
    }[way]


def plan(rows: Observed, own: AccuracyTable) -> list[dict[str, float]]:
    """Half the width of the interval that so many random labels would give, by what the table says
    of these rows."""
    told = estimates.probabilities(rows, own)
    return [
        {
            "labels": n,
            "half_width": 1.96
            * float(np.sqrt((told * (1 - told)).mean() / n * max(0, 1 - n / len(rows)))),
        }
        for n in PLAN
        if n <= len(rows)
    ]


def show(terminal: Terminal, path: Path, data: str, found: dict[str, Any]) -> None:
    """The document of ``estimate`` for people."""
    best = found["methods"][0]
    if found["flag"]:
        tests = (["the drift test"] if found["drift_test"] else []) + (
            [f"Kolmogorov-Smirnov, p = {found['p_value']:.1g}"]
            if found["p_value"] < estimates.SURE
            else []
        )
        terminal.warn(
            f"shift: the scores of these rows are unlike those of the reference rows "
            f"({', '.join(tests)}); an estimate without labels is not to be trusted"
        )
    if best["estimate"] is None:
        terminal.note(
            f"accuracy: not known without labels. {FOR_A_START} of rows drawn at random would say: "
            f"edgemon accuracy label {path} --data {data} --rows {FOR_A_START} --out labels.csv"
        )
    else:
        terminal.note(f"accuracy: {_interval(best)} by {best['name']} ({best['because']})")
    if found["truth"] is not None:
        terminal.note(f"truth: {percent(found['truth'])} of {found['rows']:,} labelled rows")
    if found["faults"]:
        terminal.note(
            f"{found['faults']:,} rows are faults and have no score: without a label they count "
            "as wrong"
        )
    terminal.table(
        ("method", "accuracy", "95 % interval", "labels", "off by, points", "by"),
        [
            (
                m["name"],
                "not to be trusted" if m["estimate"] is None else percent(m["estimate"]),
                "" if m["low"] is None else f"{percent(m['low'])} to {percent(m['high'])}",
                m["labels"],
                ""
                if found["truth"] is None or m["estimate"] is None
                else f"{100 * (m['estimate'] - found['truth']):+.1f}",
                m["because"],
            )
            for m in found["methods"]
        ],
    )
    if not found["flag"]:
        terminal.note(
            "estimates without labels assume that these rows are like the reference rows; no shift "
            "was seen, which is no proof that there is none"
        )


def _interval(method: dict[str, Any]) -> str:
    if method["low"] is None:
        return percent(method["estimate"])
    return (
        f"{percent(method['estimate'])} ({percent(method['low'])} to {percent(method['high'])}, "
        f"{method['labels']:,} labels)"
    )
