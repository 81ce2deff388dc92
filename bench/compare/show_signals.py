"""The table of a fusion's signals: what each costs, what it is worth alone, and what it adds."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from edgemon.bench.compare.cells import Document, as_means, interval, no_limit, value
from edgemon.bench.compare.measures import CERTIFIED
from edgemon.compiler.terminal import Terminal

MCC, SCOD = f"{CERTIFIED}.mcc", f"{CERTIFIED}.scod_mcc"


def signals(
    terminal: Terminal, fusion: Document, references: Sequence[Document], sets: Sequence[str]
) -> None:
    """The fusion, its signals, and references beside them."""
    named = [
        (fusion["monitor"], fusion, None), *((s["signal"], s, s) for s in fusion["signal_table"]),
        *((no_limit(r), r, None) for r in references),
    ]  # fmt: skip
    terminal.table(
        ("signal", "bytes", "us", "AUROC", "certified MCC", "95 %",
         *(["SCOD MCC", "95 %"] if sets else []), "MCC gain", "95 %",
         *(["SCOD gain", "95 %"] if sets else []), "kept"),
        [
            (name, *_cost(found), *_worth(found, sets), *_gain(signal, sets))
            for name, found, signal in named
        ],
        title=f"signals of {fusion['monitor']}: each as a monitor of its own; its gain is what the "
        "fusion loses when it is left out and the others are chosen anew",
    )  # fmt: skip


def _cost(found: Document) -> tuple[Any, ...]:
    if "bytes" not in found:
        return None, None
    return found["bytes"], round(found["nanoseconds"] / 1e3, 2)


def _worth(found: Document, sets: Sequence[str]) -> list[Any]:
    means = found["resplits"] or as_means(found["fixed"])
    cells = [value(means, "auroc"), value(means, MCC), interval(means, MCC)]
    return [*cells, *([value(means, SCOD), interval(means, SCOD)] if sets else [])]


def _gain(signal: Document | None, sets: Sequence[str]) -> list[Any]:
    keys = [MCC, *([SCOD] if sets else [])]
    if signal is None:
        return [cell for _ in keys for cell in (None, "")] + [""]
    gains = signal["gains"] or {}
    cells = [cell for key in keys for cell in (value(gains, key), interval(gains, key))]
    return [*cells, f"{signal['kept']:.0%}"]
