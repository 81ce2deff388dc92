"""Documents of trust as one page that fetches nothing and runs nothing."""

from __future__ import annotations

from typing import Any

from markupsafe import Markup

from edgemon.compiler.html_page import style, templates
from edgemon.compiler.report import trust_figures
from edgemon.compiler.trust import pictures

Document = dict[str, Any]


def render(models: list[Document]) -> str:
    """The page of one document or more. The same documents give the same text."""
    environment = templates(__package__)
    environment.filters |= {
        "four": lambda v: "n/a" if v is None else f"{v:.4f}",
        "percent": lambda v: "n/a" if v is None else f"{v:.1%}",
        "interval": lambda v: "" if v is None else f"{v[0]:.4f} to {v[1]:.4f}",
    }  # fmt: skip
    return environment.get_template("page.html.jinja").render(
        models=models, style=style(), sentences=[sentence(m) for m in models],
        spectra=[Markup(trust_figures.spectrum(m, str(i))) for i, m in enumerate(models)],
        densities=[Markup(trust_figures.densities(m, str(i))) for i, m in enumerate(models)],
        examples=Markup(pictures.STYLE),
        pictures=[Markup(pictures.render(m["examples"])) for m in models],
        reliabilities=[Markup(trust_figures.reliability(m, str(i))) for i, m in enumerate(models)],
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
