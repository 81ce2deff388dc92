"""A benchmark as one page that fetches nothing and runs nothing."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from markupsafe import Markup

from edgemon.bench.farm import figures, published
from edgemon.bench.farm.compiled import CERTIFIED
from edgemon.bench.farm.measures import ORACLES
from edgemon.bench.farm.ranking import find
from edgemon.bench.farm.show import cell, heading
from edgemon.bench.farm.tables import tables
from edgemon.compiler.html_page import style, templates

Document = dict[str, Any]
Plot = tuple[str, Markup, str]  # heading, SVG, what it shows


def render(document: Document, measured: Sequence[Document]) -> str:
    """The page of a document. The same document and costs give the same text."""
    return rendered(
        "page.html.jinja", d=document, heading=heading(document), plots=list(_plots(document)),
        tables=[*tables(document, measured), *published.tables()],
    )  # fmt: skip


def rendered(name: str, **values: Any) -> str:
    """A template of this package, in the report's style."""
    environment = templates(__package__)
    environment.filters["cell"] = cell
    return environment.get_template(name).render(style=style(), **values)


def _plots(document: Document) -> Iterator[Plot]:
    for oracle in reversed(ORACLES):
        found = find(document["statistics"]["rankings"], oracle, CERTIFIED)
        if found:
            yield (
                f"Critical differences, oracle {oracle}", Markup(figures.diagram(found)),
                "Mean ranks by MCC, the best at the right; bars join monitors that the sets cannot "
                "tell apart (Nemenyi, 5 %).",
            )  # fmt: skip
    for case in (c["name"] for c in document["cases"]):
        if not figures.monitors_of(document, case) or not any(
            s["case"] == case for s in document["sets"]
        ):
            continue
        yield (
            f"{case}: monitor against fault", Markup(figures.heat_map(document, case)),
            "MCC, oracle overall, certified thresholds, mean over severities; an undefined one "
            "counts as 0.",
        )  # fmt: skip
        curves = figures.severities(document, case)
        if curves:
            yield (
                f"{case}: severities", Markup(curves),
                "MCC, oracle overall, mean over the faults of a kind.",
            )  # fmt: skip
        yield (
            f"{case}: model and monitor", Markup(figures.impact(document, case)),
            "Mean over all sets: lower and further right is better.",
        )  # fmt: skip
        yield (
            f"{case}: cost and worth", Markup(figures.worth(document, case)),
            "Bytes of the artifact alone, and the mean MCC of the oracle overall.",
        )  # fmt: skip
