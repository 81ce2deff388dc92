"""The plot of a monitor's operating points."""

from __future__ import annotations

from typing import Any

from matplotlib.ticker import FixedLocator, FuncFormatter, NullLocator, PercentFormatter

from edgemon.compiler.documents import report as schema
from edgemon.compiler.report.figures import INK, SERIES, inline_figure

HEIGHT = 2.7  # inches


def operating_curve(monitor: schema.MonitorReport, number: int, promised: float | None) -> str:
    """Caught wrong answers against the false alarms that are promised; "" with fewer than two
    points, which make no curve."""
    points = [p for p in monitor["operating_points"] if p["caught"] is not None]
    if len(points) < 2:
        return ""
    name, colour = monitor["name"], SERIES[number % len(SERIES)]
    with inline_figure(f"points-{number}", f"Operating points of {name}", HEIGHT) as (figure, svg):
        axis: Any = figure.subplots()
        x, y = [p["promised"] for p in points], [p["caught"] for p in points]
        axis.plot(x, y, "-o", color=colour, markersize=5)
        for p in points:
            if p["caught_interval"] is not None:
                axis.plot([p["promised"]] * 2, p["caught_interval"], color=colour, linewidth=1.5)
            if p["promised"] == promised:
                axis.plot(p["promised"], p["caught"], "o", markersize=11, mfc="none", mec=INK)
        axis.set_xscale("log")
        axis.xaxis.set_major_locator(FixedLocator(x))
        axis.xaxis.set_minor_locator(NullLocator())
        axis.xaxis.set_major_formatter(FuncFormatter(lambda v, _: f"{100 * v:g}%"))
        axis.yaxis.set_major_formatter(PercentFormatter(1, 0))
        axis.set_ylim(0, 1.05)  # the ring of a point at 100 % is whole
        axis.set(xlabel="false alarms promised, at most", ylabel="wrong answers caught")
    return svg[0]
