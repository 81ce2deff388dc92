"""A study of robustness as one page that fetches nothing and runs nothing."""

from __future__ import annotations

from typing import Any

from markupsafe import Markup

from edgemon.bench.robustness.show import sentence
from edgemon.compiler.html_page import style, templates
from edgemon.compiler.report.figures import SERIES, inline_figure
from edgemon.compiler.report.heat_map import heat_map
from edgemon.compiler.trust import pictures

Document = dict[str, Any]

CURVE = 4  # values of a property from which on a curve is drawn


def render(models: list[Document]) -> str:
    """The page of one study or more. The same documents give the same text."""
    environment = templates(__package__)
    environment.filters |= {
        "figure": lambda v: f"{v:g}", "percent": lambda v: "n/a" if v is None else f"{v:.1%}",
    }  # fmt: skip
    return environment.get_template("page.html.jinja").render(
        models=models, style=style(), examples=Markup(pictures.STYLE),
        sentences=[sentence(d) for d in models],
        heats=[Markup(heat_map(d["local"], f"heat{i}")) for i, d in enumerate(models)],
        curves=[Markup(_curves(d, i)) for i, d in enumerate(models)],
        pictures=[Markup(pictures.render(d["examples"])) for d in models],
    )  # fmt: skip


def _curves(document: Document, number: int) -> str:
    """Each property that has several values, with its interval."""
    means = [line for line in document["local"] if line["class"] is None]
    series = [
        (name, [line for line in means if line["property"] == name])
        for name in dict.fromkeys(line["property"] for line in means)
    ]
    series = [(name, own) for name, own in series if len(own) >= CURVE][: len(SERIES)]
    if not series:
        return ""
    with inline_figure(f"curves{number}", "Share that stays right", 2.2 * len(series)) as (
        figure,
        svg,
    ):
        axes: Any = figure.subplots(len(series), 1, squeeze=False)
        for axis, (name, own), colour in zip(axes[:, 0], series, SERIES, strict=False):
            x = [line["value"] for line in own]
            axis.fill_between(
                x, [line["low"] for line in own], [line["high"] for line in own], color=colour,
                alpha=0.25, linewidth=0,
            )  # fmt: skip
            axis.plot(x, [line["rate"] for line in own], "o-", color=colour, markersize=4)
            axis.set(xlabel=name, ylabel="stay right", ylim=(0, 1.02))
    return svg[0]
