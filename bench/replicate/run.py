"""``edgemon replicate``: run the study, then set the numbers beside those that were printed."""

from __future__ import annotations

import json
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from edgemon.bench.errors import BenchError
from edgemon.bench.replicate import effectiveness, figure, process, tables
from edgemon.bench.replicate.job import PHASES, Job
from edgemon.bench.replicate.stored import stored_results
from edgemon.bench.replicate.study import DatasetEntry, Study
from edgemon.bench.replicate.tools import ANALYSES, DEPLOYABLE, METHODS, PUBLISHED
from edgemon.compiler.reporter import Reporter

COMMAND = (sys.executable, "-P", "-m", "edgemon.bench.replicate.job")
PRINTED_PHASES = {"analyze": PHASES[0], "infer": PHASES[1]}

Document = dict[str, Any]


def replicate(
    path: Path,
    out: Path,
    *,
    root: Path | None = None,
    datasets: Sequence[str] = (),
    methods: Sequence[str] = (),
    chart: str = "",
    reporter: Reporter,
) -> Document:
    """Run every method on every model, and return all tables.

    ``out``, a new or empty folder, gets the verdict files and, with ``chart`` ("svg" or "png"),
    Figure 3. Empty ``datasets`` and ``methods`` mean all.
    """
    study = Study.read(path, root)
    unknown = [m for m in methods if m not in METHODS]
    if unknown:
        raise BenchError(
            f"--methods: unknown method {unknown[0]!r}; there are {', '.join(METHODS)}"
        )
    if chart:
        figure.require_matplotlib()
    _make_empty(out)
    chosen = [study.dataset(name) for name in datasets] or list(study.datasets)
    accuracy = effectiveness.accuracy_table(study, chosen)
    costs = _run(study, path, chosen, methods or METHODS, out, reporter)
    constant = {row["model"] for row in accuracy if row["constant"]}
    found = effectiveness.results(out, chosen, constant)
    outputs = [] if datasets else [r for e in study.outputs for r in stored_results(study, e)]
    models = {m for entry in chosen for m in entry.models}
    document: Document = {
        "study": study.name,
        "positive": "the model is wrong; an uncertain verdict counts as an alarm",
        "table2": accuracy,
        "table3": (
            effectiveness.unseen_table(study, chosen) if "deepinfer" in (methods or METHODS) else []
        ),
        **{
            table: effectiveness.effectiveness_table(study, table, [*found, *outputs])
            for table in effectiveness.EFFECTIVENESS
        },
        "table9": _cost_table(study, costs),
        "mean_mcc": {
            "printed": effectiveness.printed_mean_mcc(study, models),
            "published": effectiveness.mean_mcc(found, PUBLISHED, constant=None),
            "published_not_constant": effectiveness.mean_mcc(found, PUBLISHED),
            "deployable_not_constant": effectiveness.mean_mcc(found, DEPLOYABLE),
            "deployable_constant": effectiveness.mean_mcc(found, DEPLOYABLE, constant=True),
        },
    }
    if chart:
        figure.bar_chart(_bars(document), out / f"figure3.{chart}")
    return document


def _run(
    study: Study,
    path: Path,
    chosen: Sequence[DatasetEntry],
    methods: Sequence[str],
    out: Path,
    reporter: Reporter,
) -> list[Document]:
    """Each method, form and phase on each data set in a child process of its own."""
    keys = [key for key in ANALYSES if key[0] in methods]
    steps = [(entry, *key, phase) for entry in chosen for key in keys for phase in PHASES]
    costs = []
    with (
        tempfile.TemporaryDirectory(prefix="edgemon-") as states,
        reporter.stage("running the methods") as progress,
    ):
        for done, (entry, method, form, phase) in enumerate(steps):
            progress(done, len(steps))
            job = Job(
                str(path.resolve()), str(study.root.resolve()), entry.name, method, form,
                phase, str(out.resolve()), states,
            )  # fmt: skip
            used = process.measure(COMMAND, job.to_json())
            if used.returncode:
                raise BenchError(
                    f"{method} ({form}) on {entry.name}, {phase}: "
                    + (used.complaint or f"ended with code {used.returncode}")
                )
            costs.append(
                {
                    "dataset": entry.name, "tool": method, "form": form, "phase": phase,
                    "models": len(entry.models), "duration_s": used.duration_s,
                    "duration_a_model_s": used.duration_s / len(entry.models),
                    "peak_mib": max(used.peak_mib, _own_peak(used.output)),
                }
            )  # fmt: skip
    return costs


def _own_peak(output: str) -> float:
    """MiB that a job saw of itself: it may have been too short to be sampled."""
    return float(json.loads(output)["peak_bytes"]) / process.MIB


def _make_empty(out: Path) -> None:
    try:
        out.mkdir(parents=True, exist_ok=True)
        taken = any(out.iterdir())
    except OSError as error:
        raise BenchError(f"--out {out}: cannot write there: {error.strerror}") from None
    if taken:
        raise BenchError(f"--out {out}: holds files already; name a new folder")


def _cost_table(study: Study, costs: Sequence[Document]) -> list[Document]:
    """Table 9: seconds a model and peak MiB, by tool, phase and data set. Ours include a share of
    the start of a process that serves all models of a data set."""
    known = {
        (r["tool"], PRINTED_PHASES.get(r["phase"], ""), r["dataset"]): r
        for r in tables.printed_rows(study, "table9")
    }
    rows: dict[tuple[str, str, str], Document] = {}
    for cost in costs:
        key = (cost["tool"], cost["phase"], cost["dataset"])
        printed = known.get(key)
        row = rows.setdefault(
            key,
            {
                "tool": key[0], "phase": key[1], "dataset": key[2], PUBLISHED: None,
                DEPLOYABLE: None,
                "printed": printed and {
                    "duration_s": float(printed["duration_s"]),
                    "peak_mib": float(printed["peak_memory_mib"]),
                },
            },
        )  # fmt: skip
        row[cost["form"]] = {
            "duration_s": cost["duration_a_model_s"],
            "duration_of_all_models_s": cost["duration_s"],
            "peak_mib": cost["peak_mib"],
        }
    return list(rows.values())


def _bars(document: Document) -> dict[str, dict[str, dict[str, float | None]]]:
    """MCC by panel, method and model; of a method with several rules the first one."""
    bars: dict[str, dict[str, dict[str, float | None]]] = {p: {} for p in figure.PANELS}
    for table, (method, _) in effectiveness.EFFECTIVENESS.items():
        for panel in figure.PANELS:
            column = bars[panel].setdefault(method, {})
            for row in document[table]:
                content = row[panel]
                if panel == DEPLOYABLE:
                    content = content.get(method)
                column[row["model"]] = content["mcc"] if content else None
    return bars
