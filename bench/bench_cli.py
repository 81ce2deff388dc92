"""The command ``bench``: thin."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from edgemon.compiler.commands.budget_options import Annotations, Budgets, Junit


def bench(
    bundle: Annotated[Path | None, typer.Argument(metavar="BUNDLE")] = None,
    data: Annotated[
        str, typer.Option(help="Rows or images to run, as `compile --data` takes.")
    ] = "",
    budget: Annotated[
        str,
        typer.Option(
            help="Limits: overhead=1.02,latency_us=200,monitor_ns=5000,flash_bytes=65536,"
            "ram_bytes=4096. One that is missed gives exit code 3."
        ),
    ] = "",
    budgets: Budgets = None,
    junit: Junit = None,
    annotations: Annotations = None,
    rounds: Annotated[int, typer.Option(help="Images through each pipeline.")] = 2000,
    max_seconds: Annotated[
        float, typer.Option(min=0, help="For more, until the overhead's interval is narrow.")
    ] = 10.0,
    compare: Annotated[
        Path | None, typer.Option(metavar="OLD.json", help="Ratios to an earlier `bench --json`.")
    ] = None,
    target: Annotated[
        str | None, typer.Option(help="Device profile (default: the bundle's).")
    ] = None,
    threads: Annotated[int, typer.Option(min=1, help="Threads of the model.")] = 1,
    label_column: Annotated[str | None, typer.Option(help="CSV column with the labels.")] = None,
    html: Annotated[
        Path | None, typer.Option(metavar="FILE.html", help="Also write a page with plots.")
    ] = None,
    google_benchmark: Annotated[
        Path | None,
        typer.Option(metavar="FILE.json", help="Also write the JSON of Google Benchmark."),
    ] = None,
    benchmark_model: Annotated[
        Path | None,
        typer.Option(metavar="FILE.txt", help="Also write lines as TFLite's benchmark_model does."),
    ] = None,
    peers: Annotated[
        bool,
        typer.Option(
            "--peers", help="Instead: the same works in edgemon and its peers; no BUNDLE."
        ),
    ] = False,
    only: Annotated[
        str,
        typer.Option(
            metavar="WORKS",
            help="Of --peers: forests, boxes, tables, linear, distances, kde, as a,b.",
        ),
    ] = "",
    json: Annotated[bool, typer.Option("--json", help="Print one JSON document.")] = False,
) -> None:
    """Measure latency beside the model, time in C and memory; check budgets."""
    from edgemon.bench.errors import BenchError
    from edgemon.compiler.commands import budget_files
    from edgemon.compiler.cost.limits import HERE
    from edgemon.compiler.terminal import Terminal

    terminal = Terminal(as_json=json)
    if peers:
        from edgemon.bench.peers.race import race
        from edgemon.bench.peers.race import show as show_race

        if bundle is not None or data or budget or compare is not None:
            raise BenchError(
                "bench --peers: takes no BUNDLE, --data, --budget or --compare; leave them out"
            )
        with terminal.stage("peers") as progress:
            found = race(progress=progress, only=[w.strip() for w in only.split(",") if w.strip()])
        show_race(terminal, found)
        terminal.document(found)
        return
    if only:
        raise BenchError("bench --only: chooses works of --peers; give --peers too")
    if bundle is None or not data:
        missing = "BUNDLE" if bundle is None else "--data"
        raise BenchError(f"bench: {missing} is missing; `edgemon bench BUNDLE --data ROWS`")
    limits = budget_files.read(budget, budgets, HERE)
    budget_files.require_stated(limits, junit, annotations)
    from edgemon.bench import comparison, exports
    from edgemon.bench.benchmark import run_benchmark, show

    old = None if compare is None else comparison.read(compare)
    document, lines = run_benchmark(
        bundle, data, limits=limits, rounds=rounds, max_seconds=max_seconds, target_name=target,
        threads=threads, label_column=label_column, reporter=terminal,
    )  # fmt: skip
    show(terminal, document)
    if old is not None:
        document["comparison"] = comparison.compare(old, document)
        comparison.show(terminal, document["comparison"])
    terminal.document(document)
    exports.write(document, html=html, google=google_benchmark, lines=benchmark_model)
    budget_files.finish(terminal, lines, budgets, junit, annotations, suite=bundle.name)
