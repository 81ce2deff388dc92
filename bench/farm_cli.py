"""The command ``farm``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from edgemon.bench.sweep_options import Jobs, Scheduler, Store


def farm(
    spec: Annotated[
        Path, typer.Argument(metavar="SPEC.toml", help="Models, data, monitors, faults.")
    ],
    out: Annotated[Path, typer.Option(help="Folder for the documents, tables, diagram and page.")],
    root: Annotated[
        Path | None, typer.Option(help="Folder of the files it names (default: where SPEC is).")
    ] = None,
    cases: Annotated[str, typer.Option(help="Only these cases, as a,b.")] = "",
    bundle: Annotated[
        Path | None,
        typer.Option(help="Judge this bundle's monitors instead of those that SPEC names."),
    ] = None,
    prevalence: Annotated[
        float, typer.Option(min=0.001, max=0.999, help="Of faulty rows, for one more MCC.")
    ] = 0.1,
    publish: Annotated[
        Path | None, typer.Option(help="Folder of a leaderboard to which this is added.")
    ] = None,
    verdicts: Annotated[
        bool, typer.Option("--verdicts", help="Also write verdict files, for `evaluate`.")
    ] = False,
    scheduler: Scheduler = "local",
    jobs: Jobs = 1,
    store: Store = None,
    false_alarm: Annotated[
        float, typer.Option(help="Promise: at most this share of right answers alarms.")
    ] = 0.05,
    confidence: Annotated[float, typer.Option(help="With this confidence.")] = 0.95,
    workers: Annotated[int, typer.Option(min=1, max=64, help="Processes that run the model.")] = 2,
    seed: Annotated[int, typer.Option(help="Of monitors and tests; SPEC has that of sets.")] = 0,
    markdown: Annotated[bool, typer.Option("--markdown", help="Print Markdown tables.")] = False,
    json: Annotated[bool, typer.Option("--json", help="Print one JSON document.")] = False,
) -> None:
    """Monitors against faults: which helps on which, by two oracles, with statistics that hold.

    Frost, the 19th corruption of Hendrycks and Dietterich, is left out: it needs photographs.
    """
    from edgemon.bench.compare.panel import PanelOptions
    from edgemon.bench.farm.answers import require_parquet
    from edgemon.bench.farm.case import Wishes
    from edgemon.bench.farm.output import prepare, save
    from edgemon.bench.farm.publish import require_publishable
    from edgemon.bench.farm.run import farm as run
    from edgemon.bench.farm.show import show
    from edgemon.bench.sweep.engine import Engine
    from edgemon.compiler.promise.thresholds import FalseAlarmPromise
    from edgemon.compiler.terminal import Terminal

    terminal = Terminal(as_json=json, markdown=markdown)
    if publish is not None:
        require_publishable(publish)
    engine = Engine(scheduler, jobs)
    engine.require()
    prepare(out)
    if engine.elsewhere and store is None:
        store = out / "store"
    if store is not None:
        require_parquet()
        prepare(store)
    document, measured = run(
        spec, root=root, cases=tuple(filter(None, map(str.strip, cases.split(",")))),
        bundle=bundle,
        wishes=Wishes(prevalence, out / "verdicts" if verdicts else None, engine, store),
        options=PanelOptions(FalseAlarmPromise(false_alarm, confidence), seed, workers),
        reporter=terminal,
    )  # fmt: skip
    save(out, document, measured, publish)
    show(terminal, document, measured)
    terminal.note(f"\n{out}: farm.json, costs.json, farm.md, index.html and cd.svg")
    terminal.document(document)
