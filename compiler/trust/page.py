"""Documents of trust as one page that fetches nothing and runs nothing."""

from __future__ import annotations

from importlib import resources
from typing import Any

from jinja2 import Environment, StrictUndefined
from markupsafe import Markup

from edgemon.compiler import report
from edgemon.compiler.report.figures import INK, MUTED, SERIES, WRONG, inline_figure
from edgemon.runtime.untrusted import printable

Document = dict[str, Any]

LEAST_DENSITY = 0.01
MOST_BARS = 60  # classes of a figure, the least trusted


def render(models: list[Document]) -> str:
    """The page of one document or more. The same documents give the same text."""
    environment = Environment(autoescape=True, trim_blocks=True, lstrip_blocks=True,
                              undefined=StrictUndefined)  # fmt: skip
    environment.filters |= {
        "shown": lambda text: printable(str(text)), "plain": lambda n: f"{n:,}",
        "four": lambda v: "n/a" if v is None else f"{v:.4f}",
        "percent": lambda v: "n/a" if v is None else f"{v:.1%}",
        "interval": lambda v: "" if v is None else f"{v[0]:.4f} to {v[1]:.4f}",
    }  # fmt: skip
    template = resources.files(__package__).joinpath("page.html.jinja").read_text(encoding="utf-8")
    style = resources.files(report).joinpath("page.css").read_text(encoding="utf-8")
    return environment.from_string(template).render(
        models=models, style=Markup(style), sentences=[sentence(m) for m in models],
        spectra=[Markup(_spectrum(m, i)) for i, m in enumerate(models)],
        densities=[Markup(_densities(m, i)) for i, m in enumerate(models)],
        reliabilities=[Markup(_reliability(m, i)) for i, m in enumerate(models)],
    )  # fmt: skip


def sentence(m: Document) -> str:
    """What the figures say."""
    known = [s for s in m["spectrum"] if s["trust"] is not None and s["class"] is not None]
    worst, best = (f(known, key=lambda s: s["trust"]) for f in (min, max))
    found = (
        f"Trusted least is {worst['class']} ({worst['trust']:.3f}), most {best['class']} "
        f"({best['trust']:.3f})."
    )
    wrong = m["confidence_wrong"]
    if wrong is not None and wrong > 0.5:
        found += f" Wrong answers are given with a confidence of {wrong:.2f}: it hides errors."
    monitored = m["monitored"]
    if monitored and monitored["net_trust_score"] is not None:
        found += (
            f" Monitors stop {monitored['stopped_wrong'] or 0:.0%} of the wrong answers and "
            f"{monitored['stopped_right'] or 0:.1%} of the right ones; the score of what passes is "
            f"{monitored['net_trust_score']:.3f}."
        )
    return found


def _spectrum(m: Document, number: int) -> str:
    known = [s for s in m["spectrum"] if s["trust"] is not None]
    known = sorted(known, key=lambda s: s["trust"])[:MOST_BARS]
    after = {s["class"]: s["trust"] for s in (m["monitored"] or {"spectrum": []})["spectrum"]}
    with inline_figure(f"spectrum{number}", "Trust of each class", 0.9 + 0.24 * len(known)) as (
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


def _densities(m: Document, number: int) -> str:
    with inline_figure(f"density{number}", "Trust density", 2.9) as (figure, svg):
        axis: Any = figure.subplots()
        for i, found in enumerate(m["densities"]):
            label = "all" if found["class"] is None else printable(found["class"])
            axis.plot(found["trust"], found["density"], color=SERIES[i], label=label)
        axis.set(xlabel="trust of an answer", ylabel="density, log scale", xlim=(0, 1))
        axis.set_yscale("log")
        axis.set_ylim(LEAST_DENSITY)
        axis.legend(ncols=4, loc="upper center")
    return svg[0]


def _reliability(m: Document, number: int) -> str:
    known = [b for b in m["reliability"] if b["rows"]]
    with inline_figure(f"reliability{number}", "Reliability diagram", 3.0) as (figure, svg):
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
