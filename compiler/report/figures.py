"""The report's plots, as SVG for the inside of an HTML page.

Text stays text, and every colour is a CSS variable of the page, so that a plot follows the
reader's light or dark theme. The same numbers give the same bytes.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from html import escape
from io import StringIO
from math import ceil
from typing import Any

import matplotlib as mpl
from matplotlib.backends.backend_svg import FigureCanvasSVG
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, MaxNLocator, PercentFormatter

from edgemon.compiler.documents import report as schema
from edgemon.compiler.documents.measured import Interval

# What matplotlib draws with, and the variable of the page that takes its place.
INK, MUTED, RIGHT, WRONG = "#010101", "#020202", "#030303", "#040404"
SERIES = ("#050505", "#060606", "#070707", "#080808", "#090909", "#0a0a0a")
VARIABLES = {
    INK: "--ink",
    MUTED: "--muted",
    RIGHT: "--right",
    WRONG: "--wrong",
    **{colour: f"--series-{i}" for i, colour in enumerate(SERIES)},
}
DASHES = ("-", "--", "-.")  # beyond six monitors the colours come again with another dash
TOGETHER = "all together"
NOTHING = "no monitor"
WIDTH = 4.8  # inches
# Of the metrics that are drawn: name, value without a signal, and how to find value and interval.
Found = tuple[float | None, Interval | None]
QUALITIES: tuple[tuple[str, float, Callable[[schema.MetricsReport], Found]], ...] = (
    ("AUROC", 0.5, lambda m: (m["auroc"], m["auroc_interval"])),
    ("MCC", 0.0, lambda m: (m["mcc"], m["mcc_interval"])),
)
MOST_COLUMNS = 3  # of a legend
HANDLE, LETTER = 0.42, 0.074  # inches, of a legend's line with its spaces, and of a letter

STYLE = {
    "svg.fonttype": "none",
    "font.family": "sans-serif",
    "font.sans-serif": ["DejaVu Sans"],
    "font.size": 10,
    "text.color": INK,
    "axes.edgecolor": MUTED,
    "axes.labelcolor": INK,
    "axes.facecolor": "none",
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "axes.axisbelow": True,
    "grid.color": MUTED,
    "grid.alpha": 0.25,
    "grid.linewidth": 0.6,
    "xtick.color": MUTED,
    "ytick.color": MUTED,
    "xtick.labelcolor": INK,
    "ytick.labelcolor": INK,
    "figure.facecolor": "none",
    "legend.frameon": False,
    "legend.fontsize": 9,
    "legend.handlelength": 1.5,
    "legend.columnspacing": 1.2,
}


def risk_coverage(document: schema.Report) -> str:
    """Share of wrong answers among the trusted, against how many are trusted; a line a monitor,
    with a dot at its threshold."""
    labels = [*(m["name"] for m in document["monitors"]), TOGETHER, NOTHING]
    height = 2.9 + 0.2 * ceil(len(labels) / _columns(labels))
    with inline_figure("risk", "Risk against coverage", height) as (figure, svg):
        axis: Any = figure.subplots()
        for i, monitor in enumerate(document["monitors"]):
            curve, trusted = monitor["risk_coverage"], monitor["trusted"]
            colour, dash = _line(i)
            axis.plot(curve["coverage"], curve["risk"], dash, color=colour, label=monitor["name"])
            if trusted["risk"] is not None:
                axis.plot(trusted["coverage"], trusted["risk"], "o", color=colour, markersize=5)
        together = document["together"]["trusted"]
        if together["risk"] is not None and len(document["monitors"]) > 1:
            axis.plot(
                together["coverage"], together["risk"], "D", color=INK, markersize=6,
                label=TOGETHER,
            )  # fmt: skip
        test = document["splits"]["test"]
        axis.axhline(test["wrong"] / test["rows"], color=MUTED, linestyle=":", label=NOTHING)
        axis.set(xlabel="answers trusted", ylabel="of those wrong", xlim=(0, 1.02))
        axis.set_ylim(bottom=0)
        axis.xaxis.set_major_formatter(PercentFormatter(1, 0))
        axis.yaxis.set_major_formatter(FuncFormatter(lambda v, _: f"{100 * v:.3g}%"))
        _legend(figure)
    return svg[0]


def quality(document: schema.Report) -> str:
    """AUROC and MCC of every monitor with their intervals."""
    entries = [(m["name"], m["metrics"]) for m in document["monitors"]]
    if len(entries) > 1:
        entries.append((TOGETHER, document["together"]["metrics"]))
    height = 1.3 + 0.32 * len(entries)
    with inline_figure("quality", "AUROC and MCC with 95 % intervals", height) as (figure, svg):
        axes: Any = figure.subplots(1, 2, sharey=True)
        for axis, (title, nothing, of) in zip(axes, QUALITIES, strict=True):
            lowest = nothing
            for y, (_, metrics) in enumerate(entries):
                value, interval = of(metrics)
                colour = INK if y == len(document["monitors"]) else _line(y)[0]
                if value is None:
                    axis.text(nothing, y, " n/a", va="center", color=MUTED)
                    continue
                if interval is not None:
                    axis.plot(interval, (y, y), "-", color=colour, linewidth=2)
                    lowest = min(lowest, interval[0])
                axis.plot(value, y, "o", color=colour, markersize=6)
            axis.axvline(nothing, color=MUTED, linestyle=":")
            axis.set_xlim(min(lowest, nothing) - 0.06, 1.02)
            axis.set_xlabel(title)
            axis.xaxis.set_major_locator(MaxNLocator(4))
            axis.grid(visible=False, axis="y")
        axes[0].set_yticks(range(len(entries)), [name for name, _ in entries])
        axes[0].set_ylim(len(entries) - 0.5, -0.5)
    return svg[0]


def distribution(monitor: schema.MonitorReport, number: int) -> str:
    """Scores of right and of wrong answers, as shares of each, and the thresholds."""
    bins = monitor["histogram"]
    name = monitor["name"]
    with inline_figure(f"scores-{number}", f"Scores of {name}", 2.7) as (figure, svg):
        axis: Any = figure.subplots()
        edges = bins["edges"]
        for group, colour, counts, infinite in _by_answer(bins):
            total = sum(counts) + infinite
            if not total:
                continue
            shares = [count / total for count in counts]
            if edges:
                axis.stairs(shares, edges, fill=True, color=colour, alpha=0.35)
                axis.stairs(shares, edges, color=colour, label=f"{group} ({total:,})")
        if bins["infinite_right"] or bins["infinite_wrong"]:
            _beyond(axis, bins)
        if edges:
            _thresholds(axis, monitor)
            if bins["axis"] == "log":
                axis.set_xscale("log")
                axis.xaxis.set_major_formatter(FuncFormatter(lambda v, _: f"{v:g}"))
                axis.minorticks_off()
        axis.yaxis.set_major_formatter(FuncFormatter(lambda v, _: f"{100 * v:.3g}%"))
        axis.set_ylim(bottom=0)
        axis.set(xlabel="score", ylabel="share of each")
        _legend(figure)
    return svg[0]


def _legend(figure: Figure) -> None:
    """Below the plot, in as many columns as fit."""
    labels = [label for axis in figure.axes for label in axis.get_legend_handles_labels()[1]]
    figure.legend(loc="outside lower center", ncols=_columns(labels))


def _columns(labels: Sequence[str]) -> int:
    widest = HANDLE + LETTER * max(map(len, labels))
    return max(1, min(MOST_COLUMNS, int(WIDTH / widest)))


def _beyond(axis: Any, bins: schema.Histogram) -> None:
    """Two bars beside the axis for the infinite scores, which have no place on it."""
    side = axis.inset_axes((1.02, 0, 0.08, 1), sharey=axis)
    for x, (_, colour, counts, infinite) in enumerate(_by_answer(bins)):
        share = infinite / max(1, infinite + sum(counts))
        side.bar(x, share, color=colour, alpha=0.35, edgecolor=colour)
    side.set_xticks([0.5], ["∞"])
    side.tick_params(left=False, labelleft=False, bottom=False)
    side.grid(visible=False)


def _by_answer(bins: schema.Histogram) -> Iterator[tuple[str, str, list[int], int]]:
    """Of right and of wrong answers: name, colour, counts and how many are infinite."""
    yield "right", RIGHT, bins["right"], bins["infinite_right"]
    yield "wrong", WRONG, bins["wrong"], bins["infinite_wrong"]


def _thresholds(axis: Any, monitor: schema.MonitorReport) -> None:
    alarm, uncertain = monitor["threshold"], monitor["uncertain_above"]
    axis.axvline(alarm, color=INK, linewidth=1.4, label="alarm above")
    if uncertain != alarm:
        axis.axvline(uncertain, color=INK, linestyle="--", label="uncertain above")


def _line(index: int) -> tuple[str, str]:
    """Colour and dash of the monitor with this index."""
    return SERIES[index % len(SERIES)], DASHES[index // len(SERIES) % len(DASHES)]


@contextmanager
def inline_figure(
    name: str, title: str, height: float, width: float = WIDTH
) -> Iterator[tuple[Figure, list[str]]]:
    """A figure to draw on, in inches; its SVG is in the list when the block ends."""
    svg: list[str] = []
    with mpl.rc_context({**STYLE, "svg.hashsalt": name}):
        figure = Figure(figsize=(width, height), layout="constrained")
        yield figure, svg
        target = StringIO()
        nothing = dict.fromkeys(("Creator", "Date", "Format", "Type"))
        FigureCanvasSVG(figure).print_svg(target, metadata=nothing)  # savefig draws twice
    svg.append(_inline(target.getvalue(), name, title))


def _inline(svg: str, name: str, title: str) -> str:
    """An SVG document as an element of a page: own ids, the page's colours, a title to read out."""
    svg = svg[svg.index("<svg") :]
    svg = re.sub(r'<g id="[^"]*">', "<g>", svg)
    svg = re.sub(r'(\bid="|url\(#|xlink:href="#)', rf"\g<1>{name}-", svg)
    svg = svg.replace("xlink:href", "href")
    svg = re.sub(r"\s*<metadata>.*?</metadata>", "", svg, flags=re.DOTALL)
    for colour, variable in VARIABLES.items():
        svg = svg.replace(colour, f"var({variable})")
    head, _, body = svg.partition(">")
    size = " ".join(re.findall(r'viewBox="[^"]*"', head))
    opening = f'<svg class="plot" role="img" aria-labelledby="{name}-title" {size}>'
    return f'{opening}<title id="{name}-title">{escape(title)}</title>{body}'
