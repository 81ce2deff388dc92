"""The commands ``compile``, ``inspect``, ``verify`` and ``run``: thin, over the library.

Heavy imports are inside the functions, so that ``edgemon --help`` stays quick.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from edgemon.compiler.commands import completion, early
from edgemon.compiler.commands.gate_options import Baseline, Junit, Require
from edgemon.compiler.commands.named_monitors import require_monitors, require_taps
from edgemon.compiler.errors import CompileError

app = typer.Typer()

DATA_HELP = (
    "x/y arrays in .npz, 'x.npy,y.npy', .csv, or a folder of images by class; "
    "a row range may follow, as in cifar10_test.npz[0:5000]"
)
Json = Annotated[bool, typer.Option("--json", help="Print one JSON document, and nothing else.")]
LabelColumn = Annotated[
    str | None,
    typer.Option(
        help="CSV column with the labels: its name, or its number from 0 (-1 is the last). "
        "none: it has no labels. Default: a column called label, y, target or class, else a last "
        "column of words."
    ),
]

OutputName = Annotated[
    str,
    typer.Option(
        help="The tensor with the class scores, if the model has several outputs: `inspect MODEL` "
        "lists them. Default: the scores, if all others are labels."
    ),
]
FixedInputs = Annotated[
    list[str] | None,
    typer.Option(
        "--input", metavar="NAME=FILE.npy",
        help="A fixed value for an input of a model that has several; once for each but one.",
    ),
]  # fmt: skip


@app.command(
    "compile",
    epilog=(
        "edgemon compile MODEL.tflite --data DATA.npz --out BUNDLE\n"
        "edgemon compile MODEL.onnx --data images/ --profile scod --budget-kb 9 --out B"
    ),
)
def compile_(
    model: Annotated[
        Path, typer.Argument(metavar="MODEL", help="A TFLite, ONNX or Keras classifier.")
    ],
    out: Annotated[Path, typer.Option(help="Folder to write the bundle to.")],
    data: Annotated[str | None, typer.Option(help=f"Labelled rows: {DATA_HELP}.")] = None,
    fit: Annotated[str | None, typer.Option(help="Rows to fit on, in place of --data.")] = None,
    calibrate: Annotated[str | None, typer.Option(help="Rows to set thresholds on.")] = None,
    test: Annotated[str | None, typer.Option(help="Rows to measure quality on.")] = None,
    monitor: Annotated[
        str,
        typer.Option(
            autocompletion=completion.monitors,
            help="Monitors, with settings: msp_t,box:gamma=0.35,prophecy. auto tries the cheap "
            "signals, and fuses those that earn their place. Packages may bring further monitors "
            "(docs/extending.md).",
        ),
    ] = "auto",
    profile: Annotated[
        str, typer.Option(help="What auto guards against: errors, or scod (errors and novelty).")
    ] = "errors",
    mirror: Annotated[
        bool,
        typer.Option(
            "--mirror",
            help="auto may also read a second inference, on the left-right mirrored image.",
        ),
    ] = False,
    early_exit: Annotated[
        bool,
        typer.Option(
            "--early-exit",
            help="Leave each tree at its leaf: fewer instructions, for cores that pay for each. "
            "The time then depends on the input; its bound stays.",
        ),
    ] = False,
    thresholds: Annotated[
        str,
        typer.Option(help="guaranteed: calibrated; method: those that a method brings, if any."),
    ] = "guaranteed",
    taps: Annotated[
        str,
        typer.Option(
            help="Tensors to read: a rule or a name, for all layer monitors or for one: "
            "gap, or box=gap,prophecy=penultimate+logits. `inspect MODEL` lists them. With @mirror "
            "behind it: of a second inference, on the mirrored image; with @odin: on what the "
            "monitor odin makes of it; output@companion: the output of --companion."
        ),
    ] = "",
    companion: Annotated[
        Path | None,
        typer.Option(
            help="A model that runs beside the classifier, on its input (and its output), of which "
            "monitors read the outputs: TFLite or ONNX."
        ),
    ] = None,
    float_model: Annotated[
        Path | None,
        typer.Option(
            help="The float model that an integer MODEL was made from, in its format: its gradient "
            "is what the monitor odin takes. It must answer as MODEL on 90 % of calibration rows."
        ),
    ] = None,
    output: OutputName = "",
    input_: FixedInputs = None,
    preprocess: Annotated[
        str,
        typer.Option(
            help="What is done to rows before the model, as scale=1/255,resize=30x30. Keys: scale, "
            "offset=0, mean=a:b:c, std=a:b:c, resize=30x30, channels=bgr, layout=nchw."
        ),
    ] = "",
    convert: Annotated[
        str, typer.Option(help="What a Keras model becomes: float or int8 TFLite.")
    ] = "float",
    label_order: Annotated[
        str, typer.Option(help="Order of the model's classes: numeric (2 < 10) or string (10 < 2).")
    ] = "numeric",
    classes: Annotated[
        str,
        typer.Option(
            help="Names of the model's classes in its order: a,b,c, or a .txt (a name a line) or "
            ".json file. Words among the labels are these names, numbers are their positions."
        ),
    ] = "",
    decision_threshold: Annotated[
        float | None,
        typer.Option(
            help="A single output unit means class 1 above it. Default: 0.5 of a probability, 0 of "
            "a logit, by the model's last operator or by the values it gives."
        ),
    ] = None,
    label_column: LabelColumn = None,
    exif: Annotated[
        str,
        typer.Option(help="Image files that EXIF says are to be turned: ignore that, or apply it."),
    ] = "ignore",
    group: Annotated[
        str | None,
        typer.Option(
            help="Array of the .npz or column of the CSV that says which rows show the same thing, "
            "as frames of a track: track, track[0], or several, y+track[0]. Whole groups are kept "
            "together, and the promise is of a new group's row."
        ),
    ] = None,
    shared_rows: Annotated[
        str,
        typer.Option(
            help="Rows of --fit, --calibrate and --test that are in two of these: refuse, drop "
            "(from the later one), or keep (the process repeats its values)."
        ),
    ] = "refuse",
    repeats: Annotated[
        str,
        typer.Option(
            help="Rows with equal values: keep counts each, as draws of a process that repeats its "
            "values; group counts one of each, as copies that collecting made."
        ),
    ] = "keep",
    target: Annotated[
        str,
        typer.Option(
            autocompletion=completion.targets,
            help="Device profile: a name, or a file that ends in .toml.",
        ),
    ] = "host-x86_64",
    certify_kernels: Annotated[
        str,
        typer.Option(
            help="Further kernel sets under which calibrated thresholds must hold: "
            "xnnpack,builtin,reference."
        ),
    ] = "",
    budget_kb: Annotated[
        float | None,
        typer.Option(
            help="Most kB of tables and nodes that all monitors may take (default: the target's "
            "budget). More gives exit code 3; fusions choose their signals by it."
        ),
    ] = None,
    budget_us: Annotated[
        float | None,
        typer.Option(
            help="Most microseconds of an evaluation, estimated for the target; like --budget-kb."
        ),
    ] = None,
    guard: Annotated[
        str,
        typer.Option(
            metavar="PROPERTY,...",
            help="Monitors also learn from changed copies of fit rows, more of the classes and "
            "changes that break the model: noise=0.3,rotation=20, a range (rotation=-30:30), a "
            "fault of `shift` (fog=3); a name alone has the published values, as in `robustness`. "
            "The promise stays that of rows as they are.",
        ),
    ] = "",
    full_scale: Annotated[
        int,
        typer.Option(
            min=1, max=255, help="The value of full brightness in the images, for --guard."
        ),
    ] = 255,
    augment: Annotated[
        int | None,
        typer.Option(
            min=0,
            max=8,
            help="Signals that classify features also learn from so many copies of each fit image, "
            "shifted, scaled and turned by a little (default: 1 or 2 where images are no more than "
            "10,000 and few of them wrong, if copies help; 0: none). Thresholds are set on rows as "
            "they are.",
        ),
    ] = None,
    expect_accuracy: Annotated[
        float | None, typer.Option(help="Stop if the model is less accurate, for example 0.85.")
    ] = None,
    false_alarm: Annotated[
        float | None,
        typer.Option(help="False-alarm rate that calibrated thresholds guarantee (default 0.05)."),
    ] = None,
    miss_rate: Annotated[
        float | None,
        typer.Option(
            help="Promise this share of missed errors instead, for example 0.2; it costs false "
            "alarms, which the table shows."
        ),
    ] = None,
    confidence: Annotated[float, typer.Option(help="Confidence of the guarantee.")] = 0.95,
    promise: Annotated[
        str,
        typer.Option(
            help="Whose rate is promised: that of the verdict, which alarms when any monitor does, "
            "or of each monitor by itself: verdict or monitor."
        ),
    ] = "verdict",
    per_class: Annotated[
        str | None,
        typer.Option(
            metavar="each|every",
            help="Promise the false-alarm rate by predicted class: of each by itself, or of every "
            "class at once, which needs more rows.",
        ),
    ] = None,
    drift_run_length: Annotated[
        int,
        typer.Option(
            help="Promise so many images on average to a false drift flag; 0: no drift test."
        ),
    ] = 10_000,
    seed: Annotated[
        int, typer.Option(min=0, max=2**32 - 1, help="Of the split and of everything random.")
    ] = 0,
    workers: Annotated[
        int | None,
        typer.Option(min=1, max=64, help="Processes that run the model (default: 2)."),
    ] = None,
    require: Require = "",
    baseline: Baseline = None,
    junit: Junit = None,
    c_header: Annotated[bool, typer.Option(help="Also write the monitor as a C array.")] = False,
    no_examples: Annotated[
        bool, typer.Option("--no-examples", help="Show no rows in the report, for private data.")
    ] = False,
    force: Annotated[bool, typer.Option(help="Replace an existing bundle.")] = False,
    timings: Annotated[
        bool,
        typer.Option(
            "--timings", help="Say where the time went, by step and by monitor, and the memory."
        ),
    ] = False,
    verbose: Annotated[
        bool,
        typer.Option("--verbose", "-v", help="All tables and notes, not the verdict alone."),
    ] = False,
    json: Json = False,
) -> None:
    """Fit monitors to a classifier, prove them, and write a bundle."""
    names = require_monitors(monitor, profile, mirror=mirror)
    require_taps(taps, names, companion)
    early.require_rows(data, fit, calibrate, test)
    early.require_room(out, force=force)
    gates = _gates(require, baseline)
    from edgemon.compiler.data.classes import parse_names
    from edgemon.compiler.models.selection import Selection
    from edgemon.compiler.options import Options
    from edgemon.runtime.preprocess import Preprocess

    options = Options(
        monitors=monitor,
        profile=profile,
        mirror=mirror,
        early_exit=early_exit,
        thresholds=thresholds,
        taps=taps,
        companion=companion,
        float_model=float_model,
        selection=Selection.parse(output, input_ or ()),
        preprocess=Preprocess.parse(preprocess),
        convert=convert,
        label_order=label_order,
        classes=parse_names(classes),
        decision_threshold=decision_threshold,
        exif=exif,
        label_column=label_column,
        group=group,
        repeats=repeats,
        shared_rows=shared_rows,
        target=target,
        certify_kernels=certify_kernels,
        expect_accuracy=expect_accuracy,
        promise=_promise(false_alarm, miss_rate, confidence, per_class or "", promise),
        guard=guard,
        full_scale=full_scale,
        augment=augment,
        drift_run_length=drift_run_length,
        seed=seed,
        workers=workers or Options.workers,
        force=force,
        c_header=c_header,
        examples=not no_examples,
        budget_kb=budget_kb,
        budget_us=budget_us,
    )
    early.require_options(options)
    from edgemon.compiler import timings as pieces
    from edgemon.compiler.commands.gated import gated_compile
    from edgemon.compiler.commands.summary import show_compiled, show_timings
    from edgemon.compiler.data.sources import Sources
    from edgemon.compiler.terminal import Terminal

    terminal = Terminal(as_json=json)
    sources = Sources(data, fit, calibrate, test)
    with pieces.recorded(timings) as found:
        manifest, required = gated_compile(model, sources, out, options, gates, junit, terminal)
    show_compiled(terminal, out, manifest, verbose=verbose)
    if timings:
        show_timings(terminal, found.pieces)
    terminal.document({**manifest, **required, **({"timings": found.pieces} if timings else {})})


def _gates(require: str, baseline: Path | None) -> Any:
    """Mistakes in what is demanded are answered before anything heavy is imported."""
    from edgemon.compiler.gates.wanted import Gates

    gates = Gates.parse(require, baseline)
    early.require_baseline(baseline)
    return gates


def _promise(
    false_alarm: float | None, miss_rate: float | None, confidence: float, per_class: str,
    whose: str,
) -> Any:  # fmt: skip
    from edgemon.compiler.promise.thresholds import FalseAlarmPromise, MissPromise

    if miss_rate is None:
        rate = FalseAlarmPromise.rate if false_alarm is None else false_alarm
        return FalseAlarmPromise(rate, confidence, per_class, whose)
    if false_alarm is not None:
        raise CompileError(
            "--miss-rate and --false-alarm are two promises, and a threshold keeps one: give one"
        )
    if per_class:
        raise CompileError("--per-class promises false alarms: it does not go with --miss-rate")
    return MissPromise(miss_rate, confidence, whose=whose)


@app.command(
    epilog=("edgemon inspect MODEL.tflite\nedgemon inspect BUNDLE --json"),
)
def inspect(
    path: Annotated[Path, typer.Argument(metavar="MODEL|BUNDLE")],
    output: OutputName = "",
    input_: FixedInputs = None,
    json: Json = False,
) -> None:
    """Show a model's tensors and suggested taps, or what a bundle holds."""
    from edgemon.compiler.models import is_model
    from edgemon.compiler.models.selection import Selection

    selection = Selection.parse(output, input_ or ())
    if not is_model(path) and (output or input_):
        raise CompileError(f"{path}: is a bundle; --output and --input choose from a model")
    from edgemon.compiler.commands.inspection import describe_bundle, describe_model, show
    from edgemon.compiler.terminal import Terminal

    terminal = Terminal(as_json=json)
    content = describe_model(path, selection) if is_model(path) else describe_bundle(path)
    show(terminal, content)
    terminal.document(content)


@app.command(epilog="edgemon verify BUNDLE --data 'TEST.npz[0:1000]' --key fleet.pub.pem")
def verify(
    bundle: Annotated[Path, typer.Argument(metavar="BUNDLE")],
    data: Annotated[str | None, typer.Option(help=f"Rows to prove on: {DATA_HELP}.")] = None,
    label_column: LabelColumn = None,
    key: Annotated[
        Path | None,
        typer.Option(
            metavar="PUBLIC.pem",
            help="Also, and before anything is opened: is the bundle as this key signed it? Exit "
            "codes: 5 it was changed, 6 another key signed it, 7 nobody did.",
        ),
    ] = None,
    require: Require = "",
    baseline: Baseline = None,
    junit: Junit = None,
    json: Json = False,
) -> None:
    """Prove a bundle again: reference = C = ONNX, on given rows and on threshold neighbours."""
    if key is not None:
        from edgemon.compiler.bundle.keys import public_key

        public_key(key)
    gates = _gates(require, baseline)
    gates.require_rows(there=data is not None)
    from edgemon.compiler.commands.gated import gated_verify
    from edgemon.compiler.terminal import Terminal

    gated_verify(
        bundle, data, label_column=label_column, key=key, gates=gates,
        junit_file=junit, terminal=Terminal(as_json=json),
    )  # fmt: skip


@app.command(epilog="edgemon run BUNDLE --data NEW.npz --json-lines > verdicts.jsonl")
def run(
    bundle: Annotated[Path, typer.Argument(metavar="BUNDLE")],
    data: Annotated[str, typer.Option(help=f"Rows or images: {DATA_HELP}.")],
    label_column: LabelColumn = None,
    json_lines: Annotated[bool, typer.Option(help="One JSON object a row.")] = False,
    reports: Annotated[
        Path | None,
        typer.Option(help="Append what a device would send home, as `fleet` reads it."),
    ] = None,
    device: Annotated[int, typer.Option(min=0, help="The device's number in --reports.")] = 0,
    json: Json = False,
) -> None:
    """Run model and monitors over rows or images, and print each verdict."""
    from edgemon.compiler.commands.running import run_bundle
    from edgemon.compiler.terminal import Terminal

    run_bundle(
        bundle, data, label_column=label_column, json_lines=json_lines,
        terminal=Terminal(as_json=json), reports=reports, device=device,
    )  # fmt: skip
