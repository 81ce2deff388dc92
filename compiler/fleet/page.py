"""The document of a fleet as one page of HTML that fetches nothing and runs nothing."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from markupsafe import Markup

from edgemon.compiler.fleet import figures
from edgemon.compiler.html_page import style, templates

TEMPLATE = "page.html.jinja"
MOST_ROWS = 1000  # of a table
FIRST_ROWS = 20  # the others are folded


def render(found: dict[str, Any]) -> str:
    """The page of a document of ``judging.document``. The same document gives the same text."""
    environment = templates(__package__)
    environment.filters |= {
        "percent": _percent, "interval": _interval, "moment": _moment, "p": _p,
    }  # fmt: skip
    by_name = {r["device"]: r for r in found["by_device"]}
    return environment.get_template(TEMPLATE).render(
        d=found, style=style(), days=Markup(figures.days(found)),
        accuracy=Markup(figures.accuracy(found) if found["total"]["accuracy"] else ""),
        devices=Markup(figures.devices(found)), above=[by_name[n] for n in found["above"]],
        faulty=[by_name[n] for n in found["faulty"]],
        real=[r for r in found["drift"] if r["confirmed"]],
        chance=[r for r in found["drift"] if not r["confirmed"]],
        accurate=[by_name[n] for n in found["least_accurate"]],
        doubtful=[by_name[n] for n in found["accuracy_not_valid"]],
        ranked=sorted(found["by_device"], key=lambda r: -(r["rate"] or 0.0)),
        classes=sorted(found["by_class"], key=lambda r: -(r["rate"] or 0.0)),
        most=MOST_ROWS, first=FIRST_ROWS,
    )  # fmt: skip


def _percent(share: float | None) -> str:
    return "n/a" if share is None else f"{share:.2%}"


def _interval(found: list[float] | None) -> str:
    return "" if found is None else f"{100 * found[0]:.2f} to {100 * found[1]:.2f}"


def _moment(seconds: int | None) -> str:
    if seconds is None:
        return "n/a"
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%d %H:%M UTC")


def _p(value: float | None) -> str:
    return "n/a" if value is None else f"{value:.2g}"
