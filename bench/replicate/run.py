"""``edgemon replicate``: run the study, then set the numbers beside those that were printed."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from edgemon.bench.errors import BenchError
from edgemon.bench.replicate import effectiveness, figure, tables
from edgemon.bench.replicate.job import PHASES
from edgemon.bench.replicate.steps import COSTS, MethodStep, do, do_and_store
from edgemon.bench.replicate.stored import stored_results
from edgemon.bench.replicate.study import DatasetEntry, Study
from edgemon.bench.replicate.tools import (
    ANALYSES,
    DEPLOYABLE,
    FORMS,
    METHODS,
    PUBLISHED,
    SHIPPED,
)
from edgemon.bench.sweep.engine import Engine
from edgemon.compiler.reporter import Reporter

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
    drop_repeated: bool = False,
    engine: Engine = Engine(),  # noqa: B008 - frozen
    store: Path | None = None,
    reporter: Reporter,
) -> Document:
    """Run every method on every model, and return all tables.

    ``out``, a new or empty folder, gets the verdict files and, with ``chart`` ("svg" or "png"),
    Figure 3. Empty ``datasets`` and ``methods`` mean all. ``drop_repeated``: rows of a split that
    an earlier one has are left out. A step, a method in one form on one data set, is done by
    ``engine``, and found again in ``store``.
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
    accuracy = effectiveness.accuracy_table(study, chosen, drop_repeated=drop_repeated)
    dropped = _dropped(study, chosen, reporter) if drop_repeated else {}
    keys = [key for key in ANALYSES if key[0] in (methods or METHODS)]
    with tempfile.TemporaryDirectory(prefix="edgemon-") as scratch:
        steps = [
            MethodStep(path, study, entry.name, *key, drop_repeated, store or Path(scratch))
            for entry in chosen
            for key in keys
        ]
        costs = _run(steps, study, out, engine, reporter)
    constant = {row["model"] for row in accuracy if row["constant"]}
    found = effectiveness.results(out, chosen, constant)
    stored = [] if datasets else study.outputs
    outputs = [r for e in stored if not e.table for r in stored_results(study, e)]
    apart = {e.table: stored_results(study, e) for e in stored if e.table}
    models = {m for entry in chosen for m in entry.models}
    document: Document = {
        "study": study.name,
        "positive": "the model is wrong; an uncertain verdict counts as an alarm",
        "table2": accuracy,
        "table3": (
            effectiveness.unseen_table(study, chosen) if "deepinfer" in (methods or METHODS) else []
        ),
        **{
            table: effectiveness.effectiveness_table(
                study,
                table,
                [*found, *outputs] if table in effectiveness.OF_MODELS else apart.get(table, []),
            )
            for table in effectiveness.EFFECTIVENESS
        },
        "table6": [] if datasets else effectiveness.balanced_table(study),
        "repeated_rows_left_out": dropped,
        "table9": _cost_table(study, costs),
        "left_out": [
            {"model": model, "tool": c["tool"], "form": c["form"], "why": why}
            for c in costs
            for model, why in c["left_out"].items()
        ],
        "mean_mcc": {
            "printed": effectiveness.printed_mean_mcc(study, models),
            "published": effectiveness.mean_mcc(found, PUBLISHED, constant=None),
            "published_not_constant": effectiveness.mean_mcc(found, PUBLISHED),
            "deployable_not_constant": effectiveness.mean_mcc(found, DEPLOYABLE),
            "deployable_constant": effectiveness.mean_mcc(found, DEPLOYABLE, constant=True),
            "shipped_not_constant": effectiveness.mean_mcc(found, SHIPPED),
            "shipped_constant": effectiveness.mean_mcc(found, SHIPPED, constant=True),
        },
    }
    if chart:
        figure.bar_chart(_bars(document), out / f"figure3.{chart}")
    return document


def _run(
    steps: Sequence[MethodStep], study: Study, out: Path, engine: Engine, reporter: Reporter
) -> list[Document]:
    """The costs of each step; verdict files are copied from the store."""
    costs = []
    with reporter.stage("running the methods") as progress:
        answers = engine.each(steps, do, do_and_store, study.name, reporter)
        for done, (step, found) in enumerate(zip(steps, answers, strict=True), 1):
            assert not isinstance(found, str)
            costs += found
            shutil.copytree(step.file.parent, out, dirs_exist_ok=True,
                            ignore=shutil.ignore_patterns(COSTS))  # fmt: skip
            progress(done, len(steps))
    refused: dict[tuple[str, str], list[str]] = {}
    for cost in costs:
        for model, why in cost["left_out"].items():
            refused.setdefault((model, why), []).append(cost["tool"])
    for (model, why), tools in refused.items():
        reporter.warn(f"{model}: compile refuses {', '.join(tools)}: {why}")
    return costs


def _dropped(
    study: Study, chosen: Sequence[DatasetEntry], reporter: Reporter
) -> dict[str, dict[str, int]]:
    found: dict[str, dict[str, int]] = {}
    for entry in chosen:
        kept = tables.without_repeated(study, entry)
        found[entry.name] = {
            name: len(tables.split(study, entry, name).y) - len(rows.y)
            for name, rows in kept.items()
        }
        said = ", ".join(f"{count} of {name}" for name, count in found[entry.name].items() if count)
        reporter.note(f"{entry.name}: rows that an earlier split has: {said or 'none'}")
    return found


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
                "tool": key[0], "phase": key[1], "dataset": key[2],
                **dict.fromkeys(FORMS),
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
    for table in effectiveness.OF_MODELS:
        method, _ = effectiveness.EFFECTIVENESS[table]
        for panel in figure.PANELS:
            column = bars[panel].setdefault(method, {})
            for row in document[table]:
                content = row[panel]
                if panel == DEPLOYABLE:
                    content = (content or {}).get(method)
                column[row["model"]] = content["mcc"] if content else None
    return bars
