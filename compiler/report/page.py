"""The report as one page of HTML that fetches nothing and runs nothing."""

from __future__ import annotations

from typing import Any

from markupsafe import Markup

from edgemon.compiler.cost.bill import KILOBYTE
from edgemon.compiler.documents import measured
from edgemon.compiler.documents import report as schema
from edgemon.compiler.documents.measured import Interval
from edgemon.compiler.guarding import sentence
from edgemon.compiler.html_page import style, templates
from edgemon.compiler.last_bits.tables import tables
from edgemon.compiler.promise.drift.watched import sentence as drift_sentence
from edgemon.compiler.report import figures, trust_figures
from edgemon.compiler.report.decision import fusion_sentence
from edgemon.compiler.report.examples import EACH
from edgemon.compiler.report.facts import Fact, Table, facts, plain
from edgemon.compiler.report.heat_map import heat_map
from edgemon.compiler.report.input_figure import input_figure
from edgemon.compiler.report.operating_curve import operating_curve
from edgemon.compiler.report.typed import typed
from edgemon.compiler.report.words import setting
from edgemon.runtime.evaluation import Verdict

TEMPLATE = "page.html.jinja"
LEAST_TRUSTED = 5  # classes that are shown
FIRST_ROWS = 20  # of a table; the others are folded
NEXT = """\
edgemon run . --data ROWS     # verdicts
edgemon verify . --data ROWS  # prove it again
edgemon bench . --data ROWS   # its time here"""
FIRST_TRIED = 8  # preprocessings and orders; the others are folded
GROUPS = {
    "caught": "Caught: wrong answers with an alarm",
    "missed": "Missed: wrong answers without one",
    "false alarms": "False alarms: right answers with one",
    "most suspicious": "The most suspicious rows",
    "least suspicious": "The least suspicious rows",
}
SPLITS = {"fit": "fit on", "threshold": "thresholds set on", "test": "tested on"}


def render(document: schema.Report) -> str:
    """The page of a document of ``numbers.collect``. The same document gives the same text."""
    environment, guard = templates(__package__), document["guard"]
    environment.filters |= {
        "percent": percent, "share_interval": share_interval, "interval": interval,
        "number": number, "plain": plain,
        "rate": rate, "kilobytes": kilobytes, "microseconds": microseconds,
        "coefficient": coefficient,
        "listed": listed, "score": score,
    }  # fmt: skip
    promised = None if document["promise"] is None else document["promise"]["rate"]
    return environment.get_template(TEMPLATE).render(
        d=document,
        style=style(),
        risk_coverage=Markup(figures.risk_coverage(document)),
        quality=Markup(figures.quality(document)),
        monitors=[_monitor(m, i, promised) for i, m in enumerate(document["monitors"])],
        uncalibrated=[m["name"] for m in document["monitors"] if m["threshold_from"] == "method"],
        last_bits=list(tables(document["last_bits"])),
        together=_confusion(document["together"]["verdicts"]),
        split_names=SPLITS,
        least_trusted=_least_trusted(document["trust"]),
        trust=_trust_figures(document["trust"]),
        guarded=[] if guard is None else [_guarded(c) for c in guard["changes"]],
        heat=Markup(heat_map(_right(guard), "guard")) if guard else "",
        guard_sentence="" if guard is None else sentence(guard),
        drift_sentence="" if document["drift"] is None else drift_sentence(document["drift"]),
        first_rows=FIRST_ROWS,
        typed=typed(document["options"]),
        next_steps=NEXT,
        **_of_rows(document),
    )


def _of_rows(document: schema.Report) -> dict[str, Any]:
    """What the page shows of rows and input beside what the document says of them."""
    histogram, (now, *others) = document["seen"]["histogram"], document["input"]["tried"]
    beyond = 0 if histogram is None else histogram["below"] + histogram["above"]
    inside = 0 if histogram is None else sum(histogram["counts"])
    return {
        "group_names": GROUPS, "most_examples": EACH, "first_tried": FIRST_TRIED,
        "input_figure": Markup(input_figure(histogram)),
        "clipped": beyond / max(1, beyond + inside),
        "tried": [now, *sorted(others, key=lambda t: -t["right"])],
        "swapped": document["options"]["preprocess"]["channels"] == "bgr",
    }  # fmt: skip


def _monitor(
    monitor: schema.MonitorReport, number_of: int, promised: float | None
) -> dict[str, Any]:
    """What the page shows of a monitor beside its numbers."""
    parts = list(facts(monitor["details"]))
    reason = monitor["reason"].format(score="‹score›", threshold=number(monitor["threshold"]))
    return {
        **monitor,
        "reason": reason,
        "settings": [setting(k, v) for k, v in monitor["settings"].items()],
        "facts": [p for p in parts if isinstance(p, Fact)],
        "tables": [p for p in parts if isinstance(p, Table)],
        "fusion_sentence": fusion_sentence(monitor["worth"]),
        "curve": Markup(operating_curve(monitor, number_of, promised)),
        "distribution": Markup(figures.distribution(monitor, number_of)),
        "confusion": _confusion(monitor["verdicts"]),
        "infinite": monitor["histogram"]["infinite_right"] + monitor["histogram"]["infinite_wrong"],
    }


def _least_trusted(trust: schema.TrustReport) -> list[schema.ClassTrust]:
    known = [c for c in trust["spectrum"] if c["trust"] is not None]
    return sorted(known, key=lambda c: c["trust"] or 0.0)[:LEAST_TRUSTED]


def _trust_figures(trust: schema.TrustReport) -> dict[str, Markup]:
    found = {
        "spectrum": [{**c, "class": c["label"]} for c in trust["spectrum"]], "monitored": None,
        "densities": [{**d, "class": d["label"]} for d in trust["densities"]],
        "reliability": trust["reliability"],
    }  # fmt: skip
    return {
        "spectrum": Markup(trust_figures.spectrum(found, "trust")),
        "densities": Markup(trust_figures.densities(found, "trust")),
        "reliability": Markup(trust_figures.reliability(found, "trust")),
    }


def _right(guard: measured.Guard) -> list[dict[str, Any]]:
    """Of each change and class the share of the rows that were tried and stay right."""
    return [
        {
            "class": k["label"], "property": c["property"], "value": c["value"],
            "rate": 1 - k["broken"] / k["tried"],
        }
        for c in guard["changes"]
        for k in c["classes"]
        if k["tried"]
    ]  # fmt: skip


def _guarded(change: measured.GuardedChange) -> dict[str, Any]:
    """A change: what it broke of the rows it was tried on, and most of which class."""
    classes = [c for c in change["classes"] if c["tried"]]
    worst = max(classes, key=lambda c: c["broken"] / c["tried"])
    return {
        "name": f"{change['property']} {change['value']:g}",
        "broken": sum(c["broken"] for c in classes) / sum(c["tried"] for c in classes),
        "worst": worst["label"], "worst_broken": worst["broken"] / worst["tried"],
        "copies": sum(c["copies"] for c in classes), "errors": sum(c["errors"] for c in classes),
    }  # fmt: skip


def _confusion(verdicts: schema.VerdictsReport) -> dict[str, Any]:
    """Rows "right" and "wrong", and the verdicts that occur; trust and alarm are always shown."""
    always = {Verdict.TRUST, Verdict.ALARM}
    names = [
        v.name.lower()
        for v in Verdict
        if v in always or any(verdicts[group][v.name.lower()] for group in schema.ANSWERS)
    ]
    rows = []
    for group in schema.ANSWERS:
        total = sum(verdicts[group].values())
        cells = [
            {
                "verdict": name,
                "count": verdicts[group][name],
                "share": verdicts[group][name] / total if total else 0.0,
                "good": (name == "trust") == (group == "right"),
            }
            for name in names
        ]
        rows.append({"group": group, "total": total, "cells": cells})
    return {"columns": names, "rows": rows}


def percent(value: float | None) -> str:
    """A share, to a tenth of a percent."""
    return "n/a" if value is None else f"{value:.1%}"


def rate(value: float) -> str:
    """A rate that somebody chose, as they wrote it."""
    return f"{100 * value:g}%"


def kilobytes(size_bytes: int) -> str:
    """Bytes, in kB."""
    return f"{size_bytes / KILOBYTE:.1f}"


def microseconds(value: float | None) -> str:
    """A time that is short."""
    return "n/a" if value is None else f"{value:.2f}"


def listed(names: list[str]) -> str:
    """Names as a sentence has them."""
    return " and ".join(filter(None, (", ".join(names[:-1]), names[-1])))


def share_interval(found: Interval | None) -> str:
    """An interval of a share."""
    return "" if found is None else f"{100 * found[0]:.1f} to {100 * found[1]:.1f}"


def interval(found: Interval | None) -> str:
    """An interval of a coefficient."""
    return "" if found is None else f"{found[0]:.2f} to {found[1]:.2f}"


def coefficient(value: float | None) -> str:
    """An MCC or an AUROC."""
    return "n/a" if value is None else f"{value:.3f}"


def score(value: float | None) -> str:
    """A row's score."""
    return "no finite score" if value is None else f"{value:.4g}"


def number(value: float | None) -> str:
    """Any other number, to four digits."""
    return "n/a" if value is None else f"{value:.4g}"
