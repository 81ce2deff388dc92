"""The page's plots: alarms a day with intervals, and the devices' rates."""

from __future__ import annotations

from typing import Any

import numpy as np
from matplotlib.ticker import MaxNLocator, PercentFormatter

from edgemon.compiler.report.figures import MUTED, RIGHT, WRONG, inline_figure

HEIGHT = 3.0  # inches
MOST_DAYS = 400


def days(found: dict[str, Any]) -> str:
    """Share of alarms of each day, the last ones of many, with intervals and the limit."""
    rows = [r for r in found["by_day"] if r["day"] is not None and r["interval"]][-MOST_DAYS:]
    with inline_figure("days", "Alarms by day, with 95 % intervals", HEIGHT) as (figure, svg):
        axis: Any = figure.subplots()
        _with_intervals(axis, [r["rate"] for r in rows], [r["interval"] for r in rows])
        _limit(axis.axhline, found)
        _name_days(axis, rows)
        axis.set(ylabel="alarms", ylim=(0, None))
        axis.yaxis.set_major_formatter(PercentFormatter(1))
    return svg[0]


def accuracy(found: dict[str, Any]) -> str:
    """Estimated accuracy of each day that has a valid estimate, with intervals."""
    rows = [r for r in found["by_day"] if r["day"] is not None and r["accuracy"]]
    rows = [r for r in rows if r["accuracy"]["interval"]][-MOST_DAYS:]
    with inline_figure("accuracy", "Estimated accuracy by day", HEIGHT) as (figure, svg):
        axis: Any = figure.subplots()
        told = [r["accuracy"] for r in rows]
        _with_intervals(axis, [a["estimate"] for a in told], [a["interval"] for a in told])
        _name_days(axis, rows)
        axis.set(ylabel="accuracy")
        axis.yaxis.set_major_formatter(PercentFormatter(1))
    return svg[0]


def _with_intervals(axis: Any, shares: list[float], intervals: list[list[float]]) -> None:
    share, (low, high) = np.array(shares), np.array(intervals).reshape(-1, 2).T
    errors = np.maximum(0, np.stack([share - low, high - share]))
    axis.errorbar(range(len(share)), share, yerr=errors, fmt="o-", color=RIGHT, markersize=4)


def _name_days(axis: Any, rows: list[dict[str, Any]]) -> None:
    axis.xaxis.set_major_locator(MaxNLocator(6, integer=True))
    axis.xaxis.set_major_formatter(
        lambda x, _: rows[int(x)]["day"][5:] if 0 <= x < len(rows) else ""
    )


def devices(found: dict[str, Any]) -> str:
    """How many devices have which share of alarms."""
    rates = [r["rate"] for r in found["by_device"] if r["rate"] is not None]
    with inline_figure("devices", "Devices by their share of alarms", HEIGHT) as (figure, svg):
        axis: Any = figure.subplots()
        axis.hist(rates, bins=40, color=RIGHT, log=len(rates) > 100)
        _limit(axis.axvline, found)
        axis.set(xlabel="alarms", ylabel="devices")
        axis.xaxis.set_major_formatter(PercentFormatter(1))
        axis.grid(axis="x", color=MUTED)
    return svg[0]


def _limit(draw: Any, found: dict[str, Any]) -> None:
    limit = found["expected"]["limit"]
    if limit is not None:
        draw(limit, color=WRONG, linestyle="--")
