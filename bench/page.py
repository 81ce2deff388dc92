"""``bench --html``: the document as one page that fetches nothing and runs nothing."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from markupsafe import Markup

from edgemon.compiler.html_page import style, templates
from edgemon.compiler.report.figures import INK, MUTED, SERIES, inline_figure

Document = dict[str, Any]

COLUMNS = ("min", "p50", "p90", "p99", "max")


def render(document: Document, pipelines: Mapping[str, str]) -> str:
    """The page of a document. ``pipelines``: names of its times. The same document gives the same
    text."""
    environment = templates(__package__)
    environment.filters["figure"] = lambda value: f"{value:,.4g}"
    times = [(name, document[key]) for key, name in pipelines.items()]
    monitors = [(m["name"], m["c_ns_distribution"]) for m in document["monitors"]]
    return environment.get_template("page.html.jinja").render(
        d=document,
        style=style(),
        columns=COLUMNS,
        times=times,
        pipelines=Markup(spread("pipelines", "Time of an image", "us", times)),
        monitors=Markup(spread("monitors", "Time of the monitors in C", "ns", monitors)),
    )


def spread(
    name: str, title: str, unit: str, rows: Sequence[tuple[str, Mapping[str, float]]]
) -> str:
    """From the minimum to the 99th percentile of each, with the median, as SVG."""
    with inline_figure(name, title, 0.9 + 0.32 * len(rows)) as (figure, svg):
        axis: Any = figure.subplots()
        for y, (_, found) in enumerate(rows):
            axis.plot((found["min"], found["p99"]), (y, y), "-", color=MUTED, linewidth=2)
            axis.plot(found["min"], y, "o", color=SERIES[0], markersize=6)
            axis.plot(found["p50"], y, "|", color=INK, markersize=9)
        axis.set_yticks(range(len(rows)), [label for label, _ in rows])
        axis.set_ylim(len(rows) - 0.5, -0.5)
        axis.set_xlim(left=0)
        axis.set_xlabel(f"{unit}: min, p50, p99")
        axis.grid(visible=False, axis="y")
    return svg[0]
