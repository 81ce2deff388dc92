"""The plots of a benchmark."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from statistics import mean
from typing import Any

import numpy as np
from matplotlib.figure import Figure

from edgemon.bench.farm.compiled import CERTIFIED
from edgemon.bench.farm.measures import OVERALL
from edgemon.bench.farm.tables import PAPERS
from edgemon.compiler.faults import registry
from edgemon.compiler.report.figures import DASHES, INK, MUTED, SERIES, inline_figure

Document = dict[str, Any]

WIDE = 9.6  # inches
STEP, BAR = 0.2, 0.11  # inches, between labels of the diagram, and between its bars
TOP, CURVES = 5, 7  # monitors in the plots of curves: the best, and at most so many


def diagram_height(found: Document) -> float:
    """Inches."""
    half = -(-len(found["ranks"]) // 2)
    return 0.9 + BAR * len(found["cliques"]) + STEP * half


def draw_diagram(axis: Any, found: Document, ink: str, muted: str) -> None:
    """The critical-difference diagram (Demsar 2006): mean ranks with the best at the right, and
    bars that join what is not to be told apart."""
    ranked, reach = found["ranks"], found["critical_difference"]
    k = len(ranked)
    bars = len(found["cliques"])
    height = diagram_height(found)
    axis.set(xlim=(k + 0.35 * k, 1 - 0.35 * k), ylim=(-height, 0))
    axis.axis("off")
    line = -0.55
    axis.plot((1, k), (line, line), color=ink, linewidth=1)
    step = max(1, round(k / 12))
    for tick in (t for t in range(1, k + 1) if t in (1, k) or (t - 1) % step == 0):
        axis.plot((tick, tick), (line, line + 0.07), color=ink, linewidth=1)
        axis.text(tick, line + 0.1, str(tick), ha="center", va="bottom", color=ink, fontsize=9)
    start = -0.1  # the critical difference as a length, above the best ranks
    if reach <= 1.35 * k:
        axis.plot((1, 1 + reach), (start, start), color=ink, linewidth=1.2)
        for end in (1, 1 + reach):
            axis.plot((end, end), (start - 0.04, start + 0.04), color=ink, linewidth=1.2)
        axis.text(1 + reach / 2, start + 0.03, f"CD {reach:.2f}", ha="center", va="bottom",
                  color=ink, fontsize=9)  # fmt: skip
    place = {r["monitor"]: r["rank"] for r in ranked}
    for i, clique in enumerate(found["cliques"]):
        y = line - 0.1 - BAR * i
        ends = [place[m] for m in clique]
        axis.plot((min(ends) - 0.04, max(ends) + 0.04), (y, y), color=ink, linewidth=3,
                  solid_capstyle="butt")  # fmt: skip
    below = line - 0.2 - BAR * bars
    half = -(-k // 2)
    for i, r in enumerate(ranked):
        best = i < half
        y = below - STEP * (i if best else k - 1 - i)
        edge = 1 - 0.04 * k if best else k + 0.04 * k
        axis.plot((r["rank"], r["rank"], edge), (line, y, y), color=muted, linewidth=0.8)
        label = f"{r['monitor']} ({r['rank']:.2f})" if best else f"({r['rank']:.2f}) {r['monitor']}"
        axis.text(edge - (0.015 * k if best else -0.015 * k), y, label, va="center",
                  ha="left" if best else "right", color=ink, fontsize=9)  # fmt: skip


def write_diagram(found: Document, path: Path) -> None:
    """By the file's ending."""
    import matplotlib as mpl

    with mpl.rc_context({"svg.hashsalt": "cd", "svg.fonttype": "none"}):
        figure = Figure(figsize=(WIDE, diagram_height(found)), layout="constrained")
        draw_diagram(figure.subplots(), found, "black", "#666666")
        figure.savefig(path, metadata={"Date": None} if path.suffix == ".svg" else None)


def diagram(found: Document) -> str:
    """For a page."""
    title = f"Mean ranks by MCC, oracle {found['oracle']}, {found['threshold']} thresholds"
    name = f"cd-{found['oracle']}-{found['threshold']}"
    with inline_figure(name, title, diagram_height(found), WIDE) as (figure, svg):
        draw_diagram(figure.subplots(), found, INK, MUTED)
    return svg[0]


def heat_map(document: Document, case: str) -> str:
    """MCC of each monitor on each fault, a mean over severities, oracle overall."""
    monitors = monitors_of(document, case)
    results = [r for r in document["results"] if r["case"] == case and r["oracle"] == OVERALL]
    faults = list(dict.fromkeys((r["kind"], r["fault"]) for r in results))
    faults.sort(key=lambda f: registry.KINDS.index(f[0]))
    cells: dict[tuple[str, str], list[float]] = {}
    for r in results:
        cells.setdefault((r["monitor"], r["fault"]), []).append(r["mcc"] or 0.0)
    values = np.array([[mean(cells[m, f]) for _, f in faults] for m in monitors])
    height = 1.6 + 0.19 * len(monitors)
    with inline_figure(f"heat-{case}", f"MCC by fault, {case}", height, WIDE) as (figure, svg):
        axis: Any = figure.subplots()
        mesh = axis.pcolormesh(values, cmap="PRGn", vmin=-1, vmax=1, edgecolors="none")
        for (i, j), value in np.ndenumerate(values):
            shown = f"{value:.2f}".replace("0.", ".", 1)
            axis.text(j + 0.5, i + 0.5, shown, ha="center", va="center", fontsize=5,
                      color="white" if abs(value) > 0.65 else "black")  # fmt: skip
        axis.set_xticks(np.arange(len(faults)) + 0.5, [f for _, f in faults], rotation=90)
        axis.set_yticks(np.arange(len(monitors)) + 0.5, monitors)
        axis.tick_params(labelsize=8, length=0)
        axis.invert_yaxis()
        axis.grid(visible=False)
        figure.colorbar(mesh, ax=axis, shrink=0.6, pad=0.01)
    return svg[0]


def severities(document: Document, case: str) -> str:
    """Mean MCC over the faults of a kind, by severity; the best monitors and the paper's."""
    chosen = _chosen(document, case)
    results = [r for r in document["results"] if r["case"] == case and r["oracle"] == OVERALL]
    kinds = [
        k for k in registry.KINDS
        if len({r["severity"] for r in results if r["kind"] == k and r["severity"]}) > 1
    ]  # fmt: skip
    if not kinds:
        return ""
    columns = min(3, len(kinds))
    lines = -(-len(kinds) // columns)
    name, title = f"severity-{case}", f"MCC by severity, {case}"
    with inline_figure(name, title, 0.5 + 2.2 * lines, WIDE) as (figure, svg):
        axes: Any = figure.subplots(lines, columns, sharey=True, squeeze=False)
        for axis, kind in zip(axes.flat, kinds, strict=False):
            for i, monitor in enumerate(chosen):
                of = [r for r in results if (r["monitor"], r["kind"]) == (monitor, kind)
                      and r["severity"]]  # fmt: skip
                at = sorted({r["severity"] for r in of})
                values = [mean(r["mcc"] or 0.0 for r in of if r["severity"] == s) for s in at]
                axis.plot(at, values, DASHES[i // len(SERIES)] + "o", markersize=3,
                          color=SERIES[i % len(SERIES)], label=monitor)  # fmt: skip
            axis.set_title(kind, fontsize=10)
            axis.set_xticks(range(1, 6))
            axis.set_xlabel("severity")
        for axis in list(axes.flat)[len(kinds) :]:
            axis.axis("off")
        for row in axes:
            row[0].set_ylabel("MCC")
        labels = axes.flat[0].get_legend_handles_labels()
        figure.legend(*labels, loc="outside lower center", ncols=min(7, len(chosen)))
    return svg[0]


def impact(document: Document, case: str) -> str:
    """Wrong answers that pass, against the share of answers that pass; means over all sets."""
    alone = [s["alone"] for s in document["sets"] if s["case"] == case]
    points = {"model alone": (1.0, mean(s["unsafe"] for s in alone))} if alone else {}
    for monitor in monitors_of(document, case):
        of = [s[CERTIFIED] for s in document["system"]
              if (s["case"], s["monitor"]) == (case, monitor) and s["kind"] != "none"]  # fmt: skip
        if of:
            points[monitor] = (mean(s["coverage"] for s in of), mean(s["unsafe"] for s in of))
    return _scatter(
        f"impact-{case}", f"The system, {case}", points, "share of answers that pass",
        "wrong and passed, of all",
    )  # fmt: skip


def worth(document: Document, case: str) -> str:
    """Mean MCC (overall) against bytes."""
    size = {m["monitor"]: m["bytes"] + m.get("companion_bytes", 0) for m in document["monitors"]
            if m["case"] == case and "left_out" not in m}  # fmt: skip
    results = [r for r in document["results"] if r["case"] == case and r["oracle"] == OVERALL]
    points = {
        m: (size[m], mean([r["mcc"] or 0.0 for r in results if r["monitor"] == m] or [0.0]))
        for m in size
    }
    return _scatter(
        f"worth-{case}", f"Cost and worth, {case}", points,
        "bytes of the artifact, with companions", "mean MCC", log=True,
    )  # fmt: skip


def _scatter(
    name: str, title: str, points: dict[str, tuple[float, float]], x: str, y: str, *,
    log: bool = False,
) -> str:  # fmt: skip
    with inline_figure(name, title, max(4.2, STEP * len(points)), WIDE) as (figure, svg):
        axis: Any = figure.subplots()
        ordered = sorted(points.items(), key=lambda p: (p[1][1], p[0]))
        for i, (label, at) in enumerate(ordered):
            colour = SERIES[i % len(SERIES)]
            axis.plot(*at, "o", color=colour, markersize=5)
            axis.annotate(
                label, at, (1.04, (i + 0.5) / len(ordered)), textcoords="axes fraction",
                fontsize=8, color=INK, va="center",
                arrowprops={"arrowstyle": "-", "color": colour, "linewidth": 0.6, "alpha": 0.7},
            )  # fmt: skip
        if log:
            axis.set_xscale("log")
        axis.set(xlabel=x, ylabel=y)
        axis.margins(0.06)
    return svg[0]


def monitors_of(document: Document, case: str) -> list[str]:
    """Of a case, by rank; those that are not ranked last."""
    of = [m["monitor"] for m in document["monitors"]
          if m["case"] == case and "left_out" not in m]  # fmt: skip
    ranked: Sequence[str] = [r["monitor"] for r in document["ranks"] if r["monitor"] in of]
    return list(dict.fromkeys((*ranked, *of)))


def _chosen(document: Document, case: str) -> list[str]:
    of = monitors_of(document, case)
    return list(dict.fromkeys((*of[:TOP], *(m for m in PAPERS if m in of))))[:CURVES]
