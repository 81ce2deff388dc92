"""What the confidence of a model is worth, as plots: of a document as ``trust`` prints it, or of a
report's part of it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from edgemon.compiler.report.figures import INK, MUTED, SERIES, WRONG, inline_figure
from edgemon.runtime.untrusted import printable

Document = Mapping[str, Any]

LEAST_DENSITY = 0.01
MOST_BARS = 60  # classes of a figure, the least trusted


def spectrum(m: Document, name: str) -> str:
    """Trust of each class with its interval, the least trusted first; ``name``: of the figure."""
    known = [s for s in m["spectrum"] if s["trust"] is not None]
    known = sorted(known, key=lambda s: s["trust"])[:MOST_BARS]
    after = {s["class"]: s["trust"] for s in (m["monitored"] or {"spectrum": []})["spectrum"]}
    with inline_figure(f"spectrum{name}", "Trust of each class", 0.9 + 0.24 * len(known)) as (
        figure, svg,
    ):  # fmt: skip
        axis: Any = figure.subplots()
        axis.barh(range(len(known)), [s["trust"] for s in known], color=SERIES[0], height=0.62)
        for y, s in enumerate(known):
            axis.plot(s["interval"], (y, y), "-", color=INK, linewidth=1.2)
            if after.get(s["class"]) is not None:
                axis.plot(after[s["class"]], y, "D", color=SERIES[1], markersize=5)
        labels = ["no class" if s["class"] is None else printable(s["class"]) for s in known]
        axis.set_yticks(range(len(known)), labels)
        axis.set_ylim(len(known) - 0.5, -0.5)
        axis.set_xlim(0, 1)
        axis.set_xlabel("trust, 95 % interval" + ("; diamond: of what passes" if after else ""))
        axis.grid(visible=False, axis="y")
    return svg[0]


def densities(m: Document, name: str) -> str:
    """How trust is distributed, of all answers and of the classes that are trusted least."""
    with inline_figure(f"density{name}", "Trust density", 2.9) as (figure, svg):
        axis: Any = figure.subplots()
        for i, found in enumerate(m["densities"]):
            label = "all" if found["class"] is None else printable(found["class"])
            axis.plot(found["trust"], found["density"], color=SERIES[i], label=label)
        axis.set(xlabel="trust of an answer", ylabel="density, log scale", xlim=(0, 1))
        axis.set_yscale("log")
        axis.set_ylim(LEAST_DENSITY)
        axis.legend(ncols=4, loc="upper center")
    return svg[0]


def reliability(m: Document, name: str) -> str:
    """Accuracy against confidence."""
    known = [b for b in m["reliability"] if b["rows"]]
    with inline_figure(f"reliability{name}", "Reliability diagram", 3.0) as (figure, svg):
        axis: Any = figure.subplots()
        axis.plot((0, 1), (0, 1), ":", color=MUTED)
        for b in known:
            axis.plot((b["confidence"],) * 2, b["interval"], "-", color=MUTED, linewidth=1.5)
        axis.plot(
            [b["confidence"] for b in known], [b["accuracy"] for b in known], "o-", color=WRONG,
            markersize=4,
        )  # fmt: skip
        axis.set(xlabel="confidence", ylabel="accuracy", xlim=(0, 1), ylim=(0, 1.02))
    return svg[0]
