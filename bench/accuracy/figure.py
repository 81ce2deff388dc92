"""Estimated against true accuracy: set by set, and batch by batch."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from edgemon.bench.replicate.figure import require_matplotlib

SHOWN = {
    "prediction_powered": ("prediction-powered", "C2", "o"),
    "random": ("random labels alone", "C7", "x"),
    "ensemble_transfer": ("ensemble, 1 % of labels by entropy (published)", "C0", "s"),
    "calibrated_score": ("monitor's score, no labels", "C4", "v"),
    "mp": ("MP / ATC, no labels", "C1", "^"),
    "mp_star": ("MP*, no labels", "C3", "d"),
}
LABELLED = 50  # labels of a dot


def draw(document: dict[str, Any], path: Path) -> None:
    """Writes SVG or PNG: two panels a case. Raises BenchError without matplotlib."""
    require_matplotlib()
    from matplotlib.figure import Figure

    cases = document["cases"]
    figure = Figure(figsize=(13, 5.2 * len(cases)), layout="constrained")
    axes: Any = figure.subplots(len(cases), 2, squeeze=False)
    for (left, right), case in zip(axes, cases, strict=True):
        _sets(left, case)
        _batches(right, case)
    axes[0][0].legend(loc="lower right", fontsize=8, frameon=False)
    figure.savefig(path, metadata={"Date": None} if path.suffix == ".svg" else None)


def _sets(axis: Any, case: dict[str, Any]) -> None:
    axis.plot([0, 1], [0, 1], color="black", linewidth=0.8)
    for name, (title, colour, marker) in SHOWN.items():
        points = [
            (line["truth"], m["estimate"], m["deviation"] if m["coverage"] is not None else 0)
            for line in case["sets"]
            for m in line["methods"]
            if m["name"] == name and m["labels"] in (0, LABELLED)
        ]
        x, y, spread = zip(*points, strict=True) if points else ((), (), ())
        axis.errorbar(
            x, y, yerr=spread, fmt=marker, color=colour, label=title, markersize=5, elinewidth=0.7,
            alpha=0.85,
        )  # fmt: skip
    axis.set_xlim(0, 1)
    axis.set_ylim(0, 1.02)
    axis.set_xlabel("true accuracy")
    axis.set_ylabel("estimated accuracy")
    axis.set_title(f"{case['name']}: each set of rows ({LABELLED} labels)", loc="left", fontsize=10)
    axis.grid(alpha=0.3)


def _batches(axis: Any, case: dict[str, Any]) -> None:
    found = case["batches"]
    axis.plot(found["truth"], color="black", linewidth=1.6, label="truth")
    for name, values in found["estimates"].items():
        _, colour, _ = SHOWN[name]
        axis.plot(values, color=colour, linewidth=1, alpha=0.85)
    starts = [i for i, name in enumerate(found["of"]) if i == 0 or found["of"][i - 1] != name]
    for start in starts:
        axis.axvline(start, color="0.8", linewidth=0.7)
        axis.text(start + 0.4, 0.01, found["of"][start], fontsize=7, rotation=90, va="bottom")
    axis.set_ylim(0, 1.02)
    axis.set_xlabel("batch")
    axis.set_title(
        f"{case['name']}: batches of {found['rows']} rows, {found['labels']} labels each",
        loc="left", fontsize=10,
    )  # fmt: skip
    axis.grid(axis="y", alpha=0.3)
