"""The command ``bench``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

app = typer.Typer()


@app.command()
def bench(
    bundle: Annotated[Path, typer.Argument(metavar="BUNDLE")],
    data: Annotated[str, typer.Option(help="Rows or images to run, as `compile --data` takes.")],
    budget: Annotated[
        str,
        typer.Option(
            help="Limits: overhead=1.02,latency_us=200,monitor_ns=5000,flash_bytes=65536,"
            "ram_bytes=4096. One that is missed gives exit code 3."
        ),
    ] = "",
    rounds: Annotated[int, typer.Option(help="Images through each pipeline.")] = 2000,
    target: Annotated[
        str | None, typer.Option(help="Device profile (default: the bundle's).")
    ] = None,
    threads: Annotated[int, typer.Option(help="Threads of the model.")] = 1,
    label_column: Annotated[str | None, typer.Option(help="CSV column with the labels.")] = None,
    json: Annotated[bool, typer.Option("--json", help="Print one JSON document.")] = False,
) -> None:
    """Measure latency beside the model, time in C and memory; check budgets."""
    from edgemon.bench import budget as budgets
    from edgemon.bench.benchmark import run_benchmark
    from edgemon.compiler.terminal import Terminal

    limits = budgets.parse(budget)
    terminal = Terminal(as_json=json)
    document = run_benchmark(
        bundle, data, limits=limits, rounds=rounds, target_name=target, threads=threads,
        label_column=label_column, reporter=terminal,
    )  # fmt: skip
    _show(terminal, document)
    terminal.document(document)
    budgets.require(
        [budgets.Line(v["name"], v["limit"], v["measured"]) for v in document["budget"]]
    )


def _show(terminal: Any, document: dict[str, Any]) -> None:
    columns = ("min", "p50", "p90", "p99", "max")
    rows = (("model alone", "model_us"), ("model + monitors", "with_monitors_us"))
    terminal.table(
        (f"us an image, {document['rounds']:,} interleaved rounds", *columns),
        [(label, *(document[key][c] for c in columns)) for label, key in rows],
    )
    terminal.note(f"overhead: {document['overhead_ratio']:.4f} (ratio of minima)")
    terminal.table(
        ("monitor in C, ns", *columns, "of the model"),
        [
            (
                m["name"],
                *(m["c_ns_distribution"][c] for c in columns),
                f"{m['share_of_model']:.3%}",
            )
            for m in document["monitors"]
        ],
    )
    device = document["device"]
    if device:
        terminal.note(
            f"flash {device['flash_bytes']:,} bytes (artifact {device['artifact_bytes']:,}, "
            f"runtime {device['code_bytes']:,}); RAM {device['ram_bytes']:,} bytes (workspace "
            f"{device['workspace_bytes']:,}, structs {device['structs_bytes']:,}, stack at most "
            f"{device['stack_bytes']:,}) on {document['environment']['target']}"
        )
    if document["process_peak_bytes"]:
        terminal.note(f"process peak {document['process_peak_bytes'] / 1e6:.0f} MB")
    for line in document["budget"]:
        state = "met" if line["met"] else "MISSED"
        measured = f"{line['measured']:.6g} of {line['limit']:.6g}"
        terminal.note(f"budget {line['name']}: {measured}, {state}")
