"""What a benchmark says, one plain sentence a result."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from edgemon.bench.farm.compiled import CERTIFIED, NATIVE
from edgemon.bench.farm.measures import ORACLES, OVERALL, SPECIFIC
from edgemon.bench.farm.ranking import EVERY, find
from edgemon.compiler.statistics.ranks import ALPHA

Document = dict[str, Any]
MEANT = {SPECIFIC: "finding faulty rows", OVERALL: "finding wrong answers"}
COST = "5"


def sentences(document: Document) -> list[str]:
    """All of them; the headline first."""
    return [
        *_rankings(document), *_pairs(document), *_kinds(document), *_system(document),
        *_black(document), *_absent(document),
    ]  # fmt: skip


def _rankings(document: Document) -> Iterator[str]:
    rankings = document["statistics"]["rankings"]
    for oracle in reversed(ORACLES):
        for threshold in (CERTIFIED, NATIVE):
            found = find(rankings, oracle, threshold)
            if not found:
                continue
            k, best = len(found["ranks"]), found["ranks"][0]
            test = _test(found)
            near = [
                r["monitor"] for r in found["ranks"][1:]
                if r["rank"] - best["rank"] <= found["critical_difference"]
            ]  # fmt: skip
            rest = (
                f"; within the critical difference of it: {', '.join(near)}"
                if near
                else ("; none is within the critical difference of it")
            )
            yield (
                f"{MEANT[oracle].capitalize()} at {threshold} thresholds, {k} monitors on "
                f"{found['sets']} sets: {test}; {best['monitor']} has the best mean rank, "
                f"{best['rank']:.2f} (mean MCC {best['mcc']:.3f}), CD "
                f"{found['critical_difference']:.3f}{rest}."
            )


def _test(found: Document) -> str:
    p = found["iman_davenport_p"]
    if p is None:
        return "too few to test whether they differ"
    shown = "p below 1e-300" if p < 1e-300 else f"p = {p:.2g}"
    return f"they {'differ' if found['differs'] else 'may be alike'} (Iman-Davenport {shown})"


def _pairs(document: Document) -> Iterator[str]:
    chosen = [p for p in document["statistics"]["pairs"] if p["threshold"] == CERTIFIED]
    for oracle in reversed(ORACLES):
        of = [p for p in chosen if p["oracle"] == oracle]
        if not of:
            continue
        real = sum(p["p_holm"] < ALPHA for p in of)
        probable = sum(max(p["one_better"], p["other_better"]) > 1 - ALPHA for p in of)
        alike = sum(p["alike"] > 1 - ALPHA for p in of)
        yield (
            f"{MEANT[oracle].capitalize()}, over means of {of[0]['faults']} faults: {real} of "
            f"{len(of)} pairs differ (Wilcoxon, Holm, 5 %); the Bayesian signed-rank test calls "
            f"{probable} pairs different and {alike} alike within "
            f"{document['statistics']['rope']} of MCC, at 95 %."
        )


def _kinds(document: Document) -> Iterator[str]:
    rankings = document["statistics"]["rankings"]
    for oracle in reversed(ORACLES):
        best = [
            f"{r['kind']} {r['ranks'][0]['monitor']} ({r['ranks'][0]['mcc']:.3f})"
            for r in rankings
            if r["oracle"] == oracle and r["threshold"] == CERTIFIED and r["kind"] != EVERY
        ]
        if best:
            yield f"Best ranks {MEANT[oracle]}, by kind (mean MCC): {', '.join(best)}."


def _system(document: Document) -> Iterator[str]:
    for case in document["cases"]:
        name = case["name"]
        alone = _mean([s["alone"] for s in document["sets"] if s["case"] == name])
        if alone is None:
            continue
        safer: list[str] = []
        not_safer: list[str] = []
        for m in document["monitors"]:
            if m["case"] != name or "left_out" in m:
                continue
            for threshold in (CERTIFIED, NATIVE):
                of = [
                    s[threshold] for s in document["system"]
                    if (s["case"], s["monitor"]) == (name, m["monitor"])
                    and s["kind"] != "none" and threshold in s
                ]  # fmt: skip
                worth = _mean(of)
                if worth is not None:
                    label = m["monitor"] + (" (native)" if threshold == NATIVE else "")
                    (safer if worth > alone else not_safer).append(f"{label} {worth:.2f}")
        yield (
            f"{name}: at c = {COST} the model alone has a mean utility of {alone:.2f} over its "
            f"sets; better with {', '.join(safer) or 'none'}"
            + (f"; not with {', '.join(not_safer)}." if not_safer else ".")
        )


def _mean(found: list[Document]) -> float | None:
    return float(np.mean([f["utility"][COST] for f in found])) if found else None


def _black(document: Document) -> Iterator[str]:
    for r in document["results"]:
        if (r["fault"], r["monitor"], r["oracle"]) == ("black", "scod", SPECIFIC):
            verb = "catches" if r["recall"] > 0.99 else "does NOT catch"
            yield f"{r['case']}: scod {verb} the black frame (recall {r['recall']:.1%})."


def _absent(document: Document) -> Iterator[str]:
    yield f"Left out: {document['left_out']}."
    reasons: dict[str, list[str]] = {}
    for n in document["not_available"]:
        reasons.setdefault(f"{n['case']}: {n['reason']}", []).append(str(n["severity"]))
    for reason, severities in reasons.items():
        yield f"Not available, {reason} (severities {', '.join(severities)})."
    if not document["ranks"]:
        yield "Nothing is ranked: that takes two monitors on the same sets."
    for s in document["skipped"]:
        yield f"{s['name']} is skipped: {s['reason']}."
    if unranked := document["statistics"]["incomplete"]:
        yield f"Not ranked, since some case leaves them out: {', '.join(unranked)}."
    for m in document["monitors"]:
        if "left_out" in m:
            yield f"{m['case']}: {m['monitor']} is left out: {m['left_out']}."
