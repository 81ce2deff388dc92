"""The tables of a benchmark, for the terminal, Markdown and the page alike."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from statistics import mean, median
from typing import Any

from edgemon.bench.farm.compiled import CERTIFIED, NATIVE
from edgemon.bench.farm.measures import COSTS, ORACLES, OVERALL
from edgemon.bench.farm.ranking import EVERY, HEADLINE, find
from edgemon.compiler.faults import registry

Document = dict[str, Any]
PAPERS = ("box", "odin_t")  # of the published benchmark's three monitors, those that there are
SHOWN = {"rotation": None, "snow": 5, "fog": 5, "fgsm": None}  # sets of its tables III and IV
WORST = 5
UNDEFINED = "n/a"


@dataclass(frozen=True)
class Table:
    """``rows`` hold texts, numbers and None; a note may follow."""

    title: str
    columns: tuple[str, ...]
    rows: tuple[tuple[Any, ...], ...]
    note: str = ""


def tables(document: Document, measured: Sequence[Document]) -> Iterator[Table]:
    """All of them, in the order of reading. ``measured``: the costs of the cases."""
    for case in document["cases"]:
        yield of_sets(document, case["name"])
    for oracle in reversed(ORACLES):
        for threshold in (CERTIFIED, NATIVE):
            found = find(document["statistics"]["rankings"], oracle, threshold)
            if found:
                yield ranking(found)
    for oracle in reversed(ORACLES):
        yield kinds(document, oracle)
    if document["statistics"]["winners"]:
        yield winners(document)
    for case in document["cases"]:
        yield alarms(document, case["name"])
        yield system(document, case["name"])
    for costs in measured:
        yield cost(costs)
    for case in document["cases"]:
        yield worst(document, case["name"])
    for oracle in ORACLES:
        yield papers_shape(document, oracle)


def of_sets(document: Document, case: str) -> Table:
    chosen = [s for s in document["sets"] if s["case"] == case]
    by_fault: dict[tuple[str, str], list[Document]] = {}
    for s in chosen:
        by_fault.setdefault((s["kind"], s["fault"]), []).append(s)
    rows = tuple(
        (
            kind, fault, ", ".join(str(s["severity"]) for s in of if s["severity"]),
            ", ".join(str(n) for n in dict.fromkeys(s["rows"] for s in of)),
            ", ".join("novel" if s["accuracy"] is None else f"{s['accuracy']:.1%}" for s in of),
            sum(s["unchanged"] for s in of),
        )
        for (kind, fault), of in by_fault.items()
    )  # fmt: skip
    about = next(c for c in document["cases"] if c["name"] == case)
    return Table(
        f"{case}: {len(chosen)} sets of {about['rows']} clean rows (accuracy "
        f"{about['accuracy']:.1%}) and rows with a fault ({about['accuracy_without_fault']:.1%} "
        "without it)",
        (
            "kind",
            "fault",
            "severities",
            "rows",
            "accuracy on them",
            "rows that it left as they were",
        ),
        rows,
    )


def ranking(found: Document) -> Table:
    reach = found["critical_difference"]
    return Table(
        f"ranks by MCC, oracle {found['oracle']}, {found['threshold']} thresholds, "
        f"{found['sets']} sets; critical difference {reach:.3f}",
        ("monitor", "mean rank", "mean MCC", "sets where it is undefined"),
        tuple((r["monitor"], _three(r["rank"]), _three(r["mcc"]), r["undefined"])
              for r in found["ranks"]),
    )  # fmt: skip


def kinds(document: Document, oracle: str) -> Table:
    """Mean MCC by kind of fault, at certified thresholds, and the AUROC over all."""
    of = _by_monitor(document, oracle)
    present = [k for k in registry.KINDS if any(s["kind"] == k for s in document["sets"])]
    rows = []
    for monitor in _order(document):
        results = of.get(monitor, [])
        areas = [r["auroc"] for r in results if r["auroc"] is not None]
        rows.append((
            monitor, _three(_mcc(results)),
            *(_three(_mcc([r for r in results if r["kind"] == k])) for k in present),
            _three(mean(areas) if areas else None),
        ))  # fmt: skip
    return Table(
        f"mean MCC by kind of fault, oracle {oracle}, certified thresholds",
        ("monitor", EVERY, *present, "AUROC"), tuple(rows), "an undefined MCC counts as 0",
    )  # fmt: skip


def winners(document: Document) -> Table:
    found = {
        (w["case"], w["fault"], w["oracle"], w["threshold"]): f"{w['monitor']} {w['mcc']:.2f}"
        for w in document["statistics"]["winners"]
    }
    faults = list(dict.fromkeys((c, f) for c, f, _, _ in found))
    columns = [(o, t) for o in reversed(ORACLES) for t in (CERTIFIED, NATIVE)]
    return Table(
        "who wins on which fault: best mean MCC over its severities",
        ("case", "fault", *(f"{o}, {t}" for o, t in columns)),
        tuple((c, f, *(found.get((c, f, *k), UNDEFINED) for k in columns)) for c, f in faults),
        "native: among the monitors whose method brings a threshold",
    )


def alarms(document: Document, case: str) -> Table:
    """Means over all sets by both oracles, at each kind of threshold."""
    keys = ("mcc", "fpr", "fnr", "precision", "recall", "f1", "weighted_f1")
    rows = []
    for monitor in _order(document, case):
        for threshold in (CERTIFIED, NATIVE):
            row: list[Any] = [monitor, threshold]
            for oracle in ORACLES:
                of = [r if threshold == CERTIFIED else r[NATIVE]
                      for r in _by_monitor(document, oracle, case).get(monitor, [])]  # fmt: skip
                if any(r is None for r in of):
                    break
                row += [_three(_mcc(of)), *(_three(_mean(of, k)) for k in keys[1:])]
            else:
                rows.append(tuple(row))
    return Table(
        f"{case}: means over all sets; first of the oracle specific, then of overall",
        ("monitor", "thresholds",
         *(f"{n} {o[0]}." for o in ORACLES for n in
           ("MCC", "FPR", "FNR", "Pr", "Re", "F1", "weighted F1"))),
        tuple(rows),
    )  # fmt: skip


def system(document: Document, case: str) -> Table:
    """Model and monitor together: on clean rows, and the mean over all sets."""
    about = next(c for c in document["cases"] if c["name"] == case)
    alone = [s["alone"] for s in document["sets"] if s["case"] == case]
    rows = [("the model alone", "", *_together(about["alone"], alone))]
    for monitor in _order(document, case):
        of = [s for s in document["system"] if (s["case"], s["monitor"]) == (case, monitor)]
        for threshold in (CERTIFIED, NATIVE):
            if all(threshold in s for s in of):
                clean = next(s[threshold] for s in of if s["kind"] == "none")
                rows.append((
                    monitor, threshold,
                    *_together(clean, [s[threshold] for s in of if s["kind"] != "none"]),
                ))  # fmt: skip
    return Table(
        f"{case}: model and monitor together, on clean rows and (mean) over all sets",
        ("monitor", "thresholds", "clean MCC", "clean accuracy of what passes", "clean coverage",
         "MCC", "accuracy of what passes", "coverage", "unsafe",
         *(f"utility c={c}" for c in COSTS), "pays for c above (median)"),
        tuple(rows),
        "MCC with rejected answers as a class of their own; utility: right passed - c wrong "
        "passed, of all rows",
    )  # fmt: skip


def _together(clean: Document, of: Sequence[Document]) -> tuple[Any, ...]:
    pays = [s["pays_above"] for s in of if s["pays_above"] is not None]
    return (
        _three(clean["mcc"]), _three(clean["accuracy_passed"]), _three(clean["coverage"]),
        _three(_mean(of, "mcc")), _three(_mean(of, "accuracy_passed")),
        _three(_mean(of, "coverage")), _three(_mean(of, "unsafe")),
        *(_three(mean(s["utility"][str(c)] for s in of)) if of else None for c in COSTS),
        _three(median(pays)) if pays else None,
    )  # fmt: skip


def cost(measured: Document) -> Table:
    us = measured["model_us"]
    return Table(
        f"{measured['case']}: bytes and time in C"
        + ("" if us is None else f"; the model takes {us:,.0f} us"),
        ("monitor", "bytes", "ns", "of the model"),
        tuple(
            (
                m["monitor"], m["bytes"], round(m["nanoseconds"]),
                f"{m['share_of_model']:.3%}" if "share_of_model" in m else UNDEFINED,
            )
            for m in measured["monitors"]
        ),
        "; ".join(
            f"{m['monitor']}: beside that a companion model of {m['companion_bytes']:,} bytes and "
            f"{m['companion_us']:,.0f} us, in the share of the model like a second inference"
            for m in measured["monitors"] if "companion_bytes" in m
        ),
    )  # fmt: skip


def worst(document: Document, case: str) -> Table:
    """Where each monitor helps least against wrong answers."""
    rows = []
    for monitor, results in _by_monitor(document, OVERALL, case).items():
        low = sorted(results, key=lambda r: (r["mcc"] or 0.0, r["fault"], r["severity"]))[:WORST]
        rows.append((monitor, *(f"{_name(r)} {r['mcc'] or 0.0:.2f}" for r in low)))
    columns = tuple(f"worst {i + 1}" for i in range(max((len(r) for r in rows), default=1) - 1))
    return Table(f"{case}: lowest MCC, oracle overall", ("monitor", *columns), tuple(rows))


def papers_shape(document: Document, oracle: str) -> Table:
    """Novelty, FGSM and three shifts, by row as tables II to IV of the published benchmark have
    them: its monitors that there are, and the best of ours."""
    first = find(document["statistics"]["rankings"], *HEADLINE)
    best = [r["monitor"] for r in first.get("ranks", [])[:1]]
    wanted = dict.fromkeys((*PAPERS, *best))
    rows = []
    for r in document["results"]:
        severity = SHOWN.get(r["fault"], 0) if r["kind"] != registry.NOVELTY else 0
        if r["oracle"] != oracle or r["monitor"] not in wanted or severity == 0 != r["severity"]:
            continue
        if r["kind"] != registry.NOVELTY and (
            r["fault"] not in SHOWN or severity not in (None, r["severity"])
        ):
            continue
        for threshold, of in ((CERTIFIED, r), (NATIVE, r[NATIVE])):
            if of is not None:
                rows.append((
                    r["case"], _name(r), r["monitor"], threshold,
                    *(two(of[k]) for k in
                      ("mcc", "fpr", "fnr", "precision", "recall", "weighted_f1")),
                ))  # fmt: skip
    return Table(
        f"by row, oracle {oracle}, in the columns of the published tables II to IV",
        ("case", "variation", "SM", "thresholds", "MCC", "FPR", "FNR", "Pr", "Re", "F1"),
        tuple(rows), "F1 is weighted by how many rows are positive, as theirs is",
    )  # fmt: skip


def _name(result: Document) -> str:
    return f"{result['fault']} ({result['severity']})" if result["severity"] else result["fault"]


def _order(document: Document, case: str = "") -> list[str]:
    """Monitors by rank, then those that are not ranked."""
    ranked = [r["monitor"] for r in document["ranks"]]
    of = [m["monitor"] for m in document["monitors"]
          if "left_out" not in m and case in ("", m["case"])]  # fmt: skip
    return [m for m in dict.fromkeys((*ranked, *of)) if m in of]


def _by_monitor(document: Document, oracle: str, case: str = "") -> dict[str, list[Document]]:
    found: dict[str, list[Document]] = {}
    for r in document["results"]:
        if r["oracle"] == oracle and case in ("", r["case"]):
            found.setdefault(r["monitor"], []).append(r)
    return found


def _mcc(results: Sequence[Document]) -> float | None:
    return mean(r["mcc"] or 0.0 for r in results) if results else None


def _mean(results: Sequence[Document], key: str) -> float | None:
    defined = [r[key] for r in results if r[key] is not None]
    return mean(defined) if defined else None


def _three(value: float | None) -> str:
    return UNDEFINED if value is None else f"{value:.3f}"


def two(value: float | None) -> str:
    return UNDEFINED if value is None else f"{value:.2f}"
