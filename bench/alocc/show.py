"""The tables of ``edgemon alocc study``: by monitor, by kind of fault, by fault, and who wins."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from edgemon.bench.farm.measures import ORACLES
from edgemon.compiler.terminal import Terminal

Document = dict[str, Any]
Result = dict[str, Any]
PUBLISHED = ("box", "odin_t", "alocc")  # of PRDC 2021, where ODIN has its gradient
CERTIFIED, NATIVE = "certified", "native"


def show(document: Document, terminal: Terminal) -> None:
    """For people."""
    _overview(document, terminal)
    names = [m["monitor"] for m in document["monitors"]]
    natives = [m["monitor"] for m in document["monitors"] if m["native"]]
    for oracle in ORACLES:
        for thresholds, of in ((CERTIFIED, names), (NATIVE, natives)):
            cell = partial(_both, oracle=oracle, thresholds=thresholds)
            title = f"AUROC / MCC, {oracle}, {thresholds}, means over sets of a kind"
            terminal.table(("kind", *of), _rows(document, of, _group, cell), title)
    for oracle in ORACLES:
        for key in ("auroc", "mcc"):
            one = partial(mean, oracle=oracle, key=key)
            title = f"{key.upper()}, {oracle}, certified"
            terminal.table(("fault", *names), _rows(document, names, _fault, one), title)
        one = partial(mean, oracle=oracle, key="mcc", thresholds=NATIVE)
        title = f"MCC, {oracle}, native"
        terminal.table(("fault", *natives), _rows(document, natives, _fault, one), title)
    _winners(document, terminal)
    reasons = {o.get("monitor", o.get("fault")): o["reason"] for o in document["not_available"]}
    for what, reason in reasons.items():
        terminal.note(f"not available: {what}: {reason}")


def mean(
    results: list[Result], monitor: str, oracle: str, key: str, thresholds: str = CERTIFIED
) -> float | None:
    """Over the sets of ``results``; None where none has it."""
    own = [r for r in results if (r["monitor"], r["oracle"]) == (monitor, oracle)]
    values = [((r["native"] or {}) if thresholds == NATIVE else r).get(key) for r in own]
    known = [v for v in values if v is not None]
    return round(float(np.mean(known)), 3) if known else None


def winners(document: Document, oracle: str, thresholds: str) -> dict[str, tuple[str, float]]:
    """By fault: which of the paper's three has the largest mean MCC, and that."""
    three = [m["monitor"] for m in document["monitors"] if m["monitor"].split()[0] in PUBLISHED]
    found = {}
    for fault, results in _parts(document, _fault).items():
        scores = {m: mean(results, m, oracle, "mcc", thresholds) for m in three}
        known = {m: v for m, v in scores.items() if v is not None}
        if known:
            best = max(known, key=lambda m: known[m])
            found[fault] = best, known[best]
    return found


def _overview(document: Document, terminal: Terminal) -> None:
    results = document["results"]
    terminal.table(
        ("monitor", "bytes", "ms", "AUROC specific", "MCC specific", "native", "AUROC overall",
         "MCC overall", "native"),
        [
            (m["monitor"], m["bytes"], m.get("milliseconds"),
             *(mean(results, m["monitor"], oracle, key, thresholds) for oracle in ORACLES
               for key, thresholds in (("auroc", CERTIFIED), ("mcc", CERTIFIED), ("mcc", NATIVE))))
            for m in document["monitors"]
        ],
        "means over the sets",
    )  # fmt: skip


def _winners(document: Document, terminal: Terminal) -> None:
    of = [(oracle, thresholds) for oracle in ORACLES for thresholds in (CERTIFIED, NATIVE)]
    found = {pair: winners(document, *pair) for pair in of}
    rows = [
        (fault, *(f"{w[fault][0]} {w[fault][1]:.2f}" if fault in w else None
                  for w in found.values()))
        for fault in _parts(document, _fault)
    ]  # fmt: skip
    heads = [f"{oracle}, {thresholds}" for oracle, thresholds in of]
    terminal.table(("fault", *heads), rows, "who of the paper's three wins, by mean MCC")
    for head, won in zip(heads, found.values(), strict=True):
        counts = Counter(name for name, _ in won.values())
        terminal.note(f"{head}: " + ", ".join(f"{name} {n}" for name, n in counts.most_common()))


def _rows(
    document: Document, monitors: list[str], key: Callable[[Result], str],
    cell: Callable[[list[Result], str], Any],
) -> list[tuple[Any, ...]]:  # fmt: skip
    parts = {**_parts(document, key), "all sets": document["results"]}
    return [(name, *(cell(part, m) for m in monitors)) for name, part in parts.items()]


def _parts(document: Document, key: Callable[[Result], str]) -> dict[str, list[Result]]:
    found: dict[str, list[Result]] = {}
    for result in document["results"]:
        found.setdefault(key(result), []).append(result)
    return found


def _fault(result: Result) -> str:
    return str(result["fault"])


def _group(result: Result) -> str:
    """Its kind; of rows that are as they were found, their name."""
    return str(result["kind"] if result["severity"] else result["fault"])


def _both(results: list[Result], monitor: str, oracle: str, thresholds: str) -> str:
    both = [mean(results, monitor, oracle, key, t) for key, t in
            (("auroc", CERTIFIED), ("mcc", thresholds))]  # fmt: skip
    return " / ".join("n/a" if v is None else f"{v:.2f}" for v in both)
