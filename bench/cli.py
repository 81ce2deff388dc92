"""The commands of the benchmarks: ``bench``, ``evaluate``, ``compare`` and others."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Annotated

import typer

from edgemon.bench import alocc_cli
from edgemon.bench.bench_cli import bench
from edgemon.bench.farm_cli import farm
from edgemon.bench.robustness_cli import robustness
from edgemon.bench.study_cli import (
    accuracy_drive,
    accuracy_signals,
    accuracy_study,
    odin_study,
    trust_study,
)
from edgemon.bench.sweep_options import Jobs, Scheduler, Store
from edgemon.bench.timing_cli import class_sweep, op_bounds, op_times, scaling
from edgemon.compiler.commands import early


def bit_flips(
    bundle: Annotated[Path, typer.Argument(metavar="BUNDLE")],
    data: Annotated[str, typer.Option(help="Rows or images to judge, as `compile --data` takes.")],
    flips: Annotated[int | None, typer.Option(help="So many bits, drawn, for all of them.")] = None,
    seed: Annotated[int, typer.Option(help="Of the bits and rows.")] = 0,
    label_column: Annotated[str | None, typer.Option(help="CSV column with the labels.")] = None,
    workers: Annotated[int, typer.Option(min=1, max=64, help="Processes that run the model.")] = 2,
    json: Annotated[bool, typer.Option("--json", help="Print one JSON document.")] = False,
) -> None:
    """What a flipped bit of the artifact does: refused, found by the self-test, or harmful?"""
    from edgemon.bench.bit_flips import run, show
    from edgemon.compiler.terminal import Terminal

    terminal = Terminal(as_json=json)
    document = run(
        bundle, data, flips=flips, seed=seed, label_column=label_column, workers=workers,
        reporter=terminal,
    )  # fmt: skip
    show(terminal, document)
    terminal.document(document)


def evaluate(
    files: Annotated[
        list[Path],
        typer.Argument(
            metavar="FILE...",
            help="Verdicts as CSV (row,label,prediction,verdict,score) or JSON lines "
            "(`run --json-lines`).",
        ),
    ],
    seed: Annotated[int, typer.Option(help="Of the bootstrap intervals.")] = 0,
    json: Annotated[bool, typer.Option("--json", help="Print one JSON document.")] = False,
) -> None:
    """How well verdicts tell wrong answers from right ones: every metric, with intervals."""
    from edgemon.bench.evaluate import evaluate_files, show
    from edgemon.compiler.terminal import Terminal

    terminal = Terminal(as_json=json)
    document = evaluate_files(files, seed=seed)
    show(terminal, document)
    terminal.document(document)


def replicate(
    study: Annotated[Path, typer.Argument(metavar="STUDY.toml", help="Data sets and models.")],
    out: Annotated[Path, typer.Option(help="Folder for the verdict files and the chart.")],
    root: Annotated[
        Path | None, typer.Option(help="Folder of the study's files (default: where STUDY is).")
    ] = None,
    datasets: Annotated[str, typer.Option(help="Only these, for example PD,HP.")] = "",
    methods: Annotated[str, typer.Option(help="Only these, for example prophecy,softmax.")] = "",
    drop_repeated: Annotated[
        bool, typer.Option("--drop-repeated", help="Leave out rows that an earlier split has.")
    ] = False,
    scheduler: Scheduler = "local",
    jobs: Jobs = 1,
    store: Store = None,
    chart: Annotated[
        str, typer.Option(help="svg or png: also write Figure 3 (needs matplotlib).")
    ] = "",
    json: Annotated[bool, typer.Option("--json", help="Print one JSON document.")] = False,
) -> None:
    """Run the published methods on a study's models, beside the numbers that were printed."""
    from edgemon.bench.sweep.engine import Engine
    from edgemon.bench.sweep.store import stored
    from edgemon.compiler.terminal import Terminal

    terminal = Terminal(as_json=json)
    with stored(Engine(scheduler, jobs), store) as (engine, folder):
        from edgemon.bench.replicate.run import replicate as run_study
        from edgemon.bench.replicate.show import show

        document = run_study(
            study, out, root=root, datasets=[*filter(None, datasets.split(","))],
            methods=[*filter(None, methods.split(","))], chart=chart, drop_repeated=drop_repeated,
            engine=engine, store=folder, reporter=terminal,
        )  # fmt: skip
    show(terminal, document)
    terminal.document(document)


def density_curve(
    model: Annotated[Path, typer.Argument(metavar="MODEL", help="As `compile` takes it.")],
    fit: Annotated[str, typer.Option(help="Rows for densities and for the choice of layers.")],
    test: Annotated[str, typer.Option(help="Rows to report on.")],
    taps: Annotated[str, typer.Option(help="Layers, as RULE or NAME (a+b for several).")] = "",
    rule: Annotated[
        str, typer.Option(help="majority, advice_differs or any_disagrees.")
    ] = "majority",
    preprocess: Annotated[str, typer.Option(help="As `compile` takes it.")] = "",
    label_order: Annotated[str, typer.Option(help="numeric or string.")] = "numeric",
    classes: Annotated[str, typer.Option(help="As `compile` takes it.")] = "",
    label_column: Annotated[str | None, typer.Option(help="CSV column with the labels.")] = None,
    shared_rows: Annotated[str, typer.Option(help="As `compile` takes it.")] = "refuse",
    rows: Annotated[int, typer.Option(help="At most so many test rows.")] = 5000,
    seed: Annotated[int, typer.Option(help="Of the split of the fit rows.")] = 0,
    json: Annotated[bool, typer.Option("--json", help="Print one JSON document.")] = False,
) -> None:
    """Compact densities of selfchecker against the exact ones: agreement and MCC by bytes."""
    from edgemon.bench.density_curve import Data, show
    from edgemon.bench.density_curve import density_curve as measure
    from edgemon.compiler.data.classes import parse_names
    from edgemon.compiler.terminal import Terminal
    from edgemon.runtime.preprocess import Preprocess

    terminal = Terminal(as_json=json)
    data = Data(
        fit,
        test,
        Preprocess.parse(preprocess),
        label_order,
        parse_names(classes),
        label_column,
        shared_rows,
    )
    document = measure(
        model, data, taps=taps, rule=rule, max_rows=rows, seed=seed, reporter=terminal
    )
    show(terminal, document)
    terminal.document(document)


def compare(
    spec: Annotated[Path, typer.Argument(metavar="SPEC.toml", help="Models, data, monitors.")],
    root: Annotated[
        Path | None, typer.Option(help="Folder of the files it names (default: where SPEC is).")
    ] = None,
    cases: Annotated[str, typer.Option(help="Only these cases or groups, as a,b.")] = "",
    resplits: Annotated[
        int | None, typer.Option(help="So many instead of what the specification says.")
    ] = None,
    false_alarm: Annotated[
        float, typer.Option(help="Promise: at most this share of right answers alarms.")
    ] = 0.05,
    confidence: Annotated[float, typer.Option(help="With this confidence.")] = 0.95,
    signals: Annotated[
        bool, typer.Option("--signals", help="Also what each signal of a fusion is worth.")
    ] = False,
    workers: Annotated[int, typer.Option(min=1, max=64, help="Processes that run the model.")] = 2,
    scheduler: Scheduler = "local",
    jobs: Jobs = 1,
    store: Store = None,
    seed: Annotated[int, typer.Option(help="Of splits, monitors and intervals.")] = 0,
    markdown: Annotated[bool, typer.Option("--markdown", help="Print Markdown tables.")] = False,
    json: Annotated[bool, typer.Option("--json", help="Print one JSON document.")] = False,
) -> None:
    """Monitors side by side: quality over many splits with intervals, bytes and time."""
    if resplits is not None:
        early.require_within("--resplits", resplits, 1, 1000)
    from edgemon.bench.sweep.engine import Engine
    from edgemon.bench.sweep.store import stored
    from edgemon.compiler.terminal import Terminal

    terminal = Terminal(as_json=json, markdown=markdown)
    with stored(Engine(scheduler, jobs), store) as (engine, folder):
        from edgemon.bench.compare.panel import PanelOptions
        from edgemon.bench.compare.run import compare as run_comparison
        from edgemon.bench.compare.show import show
        from edgemon.compiler.promise.thresholds import FalseAlarmPromise

        document = run_comparison(
            spec, root=root, cases=[*filter(None, cases.split(","))], resplits=resplits,
            options=PanelOptions(
                FalseAlarmPromise(false_alarm, confidence), seed, workers, signals
            ),
            engine=engine, store=folder, reporter=terminal,
        )  # fmt: skip
    show(terminal, document)
    terminal.document(document)


def guarantee(
    bundle: Annotated[Path, typer.Argument(metavar="BUNDLE")],
    data: Annotated[str, typer.Option(help="Labelled rows, as `compile --data` takes.")],
    resplits: Annotated[int, typer.Option(min=10, help="How often the rows are split.")] = 200,
    confidence: Annotated[
        float, typer.Option(min=0.5, max=0.999, help="Confidence of the promise.")
    ] = 0.95,
    seed: Annotated[int, typer.Option(min=0, help="Of the resplits.")] = 0,
    label_column: Annotated[str | None, typer.Option(help="CSV column with the labels.")] = None,
    group: Annotated[
        str | None,
        typer.Option(help="What rows are grouped by, as `compile --group`; else made-up groups."),
    ] = None,
    markdown: Annotated[bool, typer.Option("--markdown", help="Print Markdown tables.")] = False,
    json: Annotated[bool, typer.Option("--json", help="Print one JSON document.")] = False,
) -> None:
    """Check the promised false-alarm rate over many resplits of your rows."""
    from edgemon.bench import guarantee as study
    from edgemon.compiler.terminal import Terminal

    terminal = Terminal(as_json=json, markdown=markdown)
    document = study.run(
        bundle, data, resplits=resplits, confidence=confidence, seed=seed,
        label_column=label_column, group=group, reporter=terminal,
    )  # fmt: skip
    study.show(terminal, document)
    terminal.document(document)


def redraws(
    count: Annotated[int, typer.Option("--redraws", min=10, help="How often data is drawn.")] = 200,
    seed: Annotated[int, typer.Option(min=0, help="Of the data.")] = 0,
    markdown: Annotated[bool, typer.Option("--markdown", help="Print Markdown tables.")] = False,
    json: Annotated[bool, typer.Option("--json", help="Print one JSON document.")] = False,
) -> None:
    """Draw made-up data again and again: how often are promises broken on new rows?"""
    from edgemon.bench import redraws as study
    from edgemon.compiler.terminal import Terminal

    terminal = Terminal(as_json=json, markdown=markdown)
    with terminal.stage("drawing data") as progress:
        document = study.run(count, seed, progress)
    study.show(terminal, document)
    terminal.document(document)


def shift(
    bundle: Annotated[Path, typer.Argument(metavar="BUNDLE")],
    data: Annotated[str, typer.Option(help="Labelled images, as `compile --data` takes them.")],
    images: Annotated[int, typer.Option(min=1, help="At most so many of them.")] = 2000,
    orders: Annotated[
        int, typer.Option(min=1, help="Random orders in which the drift test sees them.")
    ] = 20,
    corruptions: Annotated[
        str, typer.Option(help="Faults by name, as fog,jpeg; a wrong name lists them all.")
    ] = "gaussian,contrast,brightness,fog",
    full_scale: Annotated[
        int, typer.Option(min=1, max=255, help="Value of full brightness in these images.")
    ] = 255,
    seed: Annotated[int, typer.Option(min=0, help="Of images, noise and orders.")] = 0,
    workers: Annotated[int, typer.Option(min=1, max=64, help="Processes that run the model.")] = 2,
    label_column: Annotated[str | None, typer.Option(help="CSV column with the labels.")] = None,
    markdown: Annotated[bool, typer.Option("--markdown", help="Print Markdown tables.")] = False,
    json: Annotated[bool, typer.Option("--json", help="Print one JSON document.")] = False,
) -> None:
    """Corrupted images: what is left of the promise, and after how many the drift flag rises."""
    from edgemon.bench.shift.run import run as measure
    from edgemon.bench.shift.run import show
    from edgemon.compiler.terminal import Terminal

    terminal = Terminal(as_json=json, markdown=markdown)
    document = measure(
        bundle, data, images=images, orders=orders, seed=seed, workers=workers,
        label_column=label_column, corruptions=[c.strip() for c in corruptions.split(",")],
        full_scale=full_scale, reporter=terminal,
    )  # fmt: skip
    show(terminal, document)
    terminal.document(document)


def fleet_simulation(
    bundle: Annotated[Path, typer.Argument(metavar="BUNDLE")],
    data: Annotated[str, typer.Option(help="Rows that all devices draw, as `compile --data`.")],
    drifted: Annotated[str, typer.Option(help="Rows that one device draws too, after a while.")],
    out: Annotated[Path, typer.Option(help="Folder to write the logs to.")],
    devices: Annotated[int, typer.Option(min=1, help="Devices.")] = 1000,
    images: Annotated[int, typer.Option(min=1, help="Images of each.")] = 100_000,
    window: Annotated[int, typer.Option(min=1, help="Images of a report.")] = 1000,
    drifting: Annotated[int, typer.Option(min=0, help="Number of the device that drifts.")] = 417,
    since: Annotated[int, typer.Option(min=1, help="Its first image that may.")] = 60_001,
    share: Annotated[float, typer.Option(help="Of its images from there on.")] = 0.3,
    seed: Annotated[int, typer.Option(min=0, help="Of all draws.")] = 0,
    json: Annotated[bool, typer.Option("--json", help="Print one JSON document.")] = False,
) -> None:
    """Simulate a fleet of which one device drifts: is it found, when, and in which memory?"""
    from edgemon.bench import fleet_simulation as study
    from edgemon.compiler.terminal import Terminal

    terminal = Terminal(as_json=json)
    plan = study.Plan(devices, images, window, drifting, since, share, seed)
    document = study.run(bundle, data, drifted, out, plan, terminal)
    study.show(terminal, document)
    terminal.document(document)


EXAMPLES: dict[Callable[..., None], str] = {  # as commands stand in --help
    bench: "edgemon bench BUNDLE --data DATA.npz --budget overhead=1.02,flash_bytes=65536",
    farm: "edgemon farm SPEC.toml --root DATA --out FOLDER",
    robustness: "edgemon robustness BUNDLE --data DATA.npz --html robustness.html",
    accuracy_study: "edgemon accuracy-study SPEC.toml --root DATA",
    accuracy_drive: "edgemon accuracy-drive BUNDLE --data ROWS.npz --out drive",
    accuracy_signals: "edgemon accuracy-signals BUNDLE --reference REFERENCE.npz --data FIELD.npz",
    trust_study: "edgemon trust-study SPEC.toml --root DATA",
    odin_study: "edgemon odin-study MODEL.tflite --data DATA.npz --novel OTHER.npz",
    bit_flips: "edgemon bit-flips BUNDLE --data DATA.npz",
    evaluate: "edgemon evaluate verdicts.jsonl --json",
    replicate: "edgemon replicate bench/replicate/trustdnn.toml --root DATA --out results",
    density_curve: "edgemon density-curve MODEL.tflite --fit TRAIN.npz --test TEST.npz",
    compare: "edgemon compare bench/compare/cifar10.toml --root DATA --markdown",
    guarantee: "edgemon guarantee BUNDLE --data DATA.npz --resplits 200",
    redraws: "edgemon redraws --redraws 200",
    class_sweep: "edgemon class-sweep --markdown",
    shift: "edgemon shift BUNDLE --data DATA.npz",
    fleet_simulation: (
        "edgemon fleet-simulation BUNDLE --data CLEAN.npz --drifted FOG.npz --out logs"
    ),
    op_times: "edgemon op-times --toml >> my-board.toml",
    op_bounds: "edgemon op-bounds --target cortex-m4f",
    scaling: "edgemon scaling --plot growth.svg",
}

app = typer.Typer()
app.add_typer(alocc_cli.app)
for _command, _example in EXAMPLES.items():
    app.command(epilog=_example)(_command)
