"""``edgemon bench``: everything that a bundle costs, in one document."""

from __future__ import annotations

import tempfile
import time
import zlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from edgemon import targets
from edgemon.bench import budget, companion_times, latency, memory, pipelines
from edgemon.bench.blocks import Estimate
from edgemon.bench.environment import environment
from edgemon.bench.errors import BenchError
from edgemon.bench.latency import Distribution
from edgemon.compiler.bundle.bundle import Bundle
from edgemon.compiler.bundle_rows import load_rows
from edgemon.compiler.cost.limits import BudgetLine, Limit
from edgemon.compiler.models import write_untapped
from edgemon.compiler.reporter import Reporter
from edgemon.compiler.terminal import Terminal, quiet_interpreter
from edgemon.runtime import companions
from edgemon.runtime.classifier import Classifier
from edgemon.runtime.formats import open_classifier
from edgemon.runtime.monitor import Monitor
from edgemon.runtime.preprocess import InputSpec, Preprocess, to_input
from edgemon.runtime.session import Session
from edgemon.runtime.taps import TapReader

Array = npt.NDArray[Any]

IMAGES = 256  # rows that are cycled through


def run_benchmark(
    path: Path,
    data: str,
    *,
    limits: Sequence[Limit],
    rounds: int,
    max_seconds: float = 0.0,
    target_name: str | None = None,
    threads: int = 1,
    label_column: str | None = None,
    reporter: Reporter = Reporter(),  # noqa: B008 - stateless
) -> tuple[dict[str, Any], list[BudgetLine]]:
    """Measure a bundle on rows of data; the result is the JSON document of ``bench --json``, and
    each limit beside what was measured.

    Args:
        rounds: images through each pipeline. max_seconds: for more of them, in blocks, until the
            interval of the overhead is narrow (``bench.blocks``).
    """
    if rounds < 2:
        raise BenchError(f"--rounds {rounds}: at least 2 are needed")
    bundle = Bundle.open(path)
    metadata = bundle.artifact.metadata
    target = targets.load(target_name or metadata["target"])
    monitor = Monitor(bundle.artifact_bytes)
    bundle.require_intact()
    monitor.self_test()
    with tempfile.TemporaryDirectory(prefix="edgemon-") as scratch_name:
        scratch = Path(scratch_name)
        preprocess = Preprocess.from_json(metadata["preprocess"])
        spec = InputSpec.from_json(metadata["input"])
        rows = load_rows(bundle, data, scratch, label_column=label_column, reporter=reporter)
        rows = rows.take(np.arange(min(IMAGES, len(rows))))
        images = [image for block in rows.blocks(IMAGES) for image in block]
        inputs = [to_input(image, preprocess, spec) for image in images]
        model = bundle.model_in(scratch)
        plain_file = scratch / f"untapped-{model.path.name}"
        write_untapped(model.path, metadata["model"]["outputs"], plain_file)
        model_crc = f"{zlib.crc32(plain_file.read_bytes()):08x}"
        kernels = metadata["kernels"]
        program, positions = bundle.artifact.program, model.positions
        views = [tap.view for tap in program.taps]
        files = {c.view: c.content for c in model.companions}

        def classifier(file: Path) -> Classifier:
            with quiet_interpreter():
                return open_classifier(file, threads=threads, kernels=kernels)

        def reading(tapped: Classifier) -> TapReader:
            with quiet_interpreter():
                beside = companions.opened(files, tapped, kernels=kernels, threads=threads)
            return TapReader(tapped, positions, views, spec, preprocess, beside)

        with memory.peak_memory() as peak:
            tapped = classifier(model.path)
            reader = reading(tapped)
            session = Session(path, threads=threads)
            start = time.perf_counter_ns()
            session.evaluate(images[0])
            first_us = (time.perf_counter_ns() - start) / 1e3
            taps = _taps(reader, inputs)

        def opened() -> pipelines.Contestants:
            tapped = classifier(model.path)
            return pipelines.Contestants(
                classifier(plain_file), tapped, Monitor(bundle.artifact_bytes),
                positions, Session(path, threads=threads), reading(tapped),
            )  # fmt: skip

        in_c, copies, copy_us = latency.InC(program, taps), memory.Copies(), list[float]()

        def beside() -> None:
            copy_us.append(copies.us())
            in_c.round()

        beside_us = companion_times.measured(reader, inputs)
        with reporter.stage("timing") as progress:
            timed = pipelines.interleaved(
                opened, images, inputs, rounds, max_seconds, beside, progress
            )
    monitors = in_c.samples()
    alone = {m.name: program.only(m.name) for m in program.monitors} | {"all": program}
    distributions = [Distribution.of(row) for row in timed.times]
    best = dict(zip(pipelines.NAMES, distributions, strict=True))
    overhead = timed.overhead
    if not overhead.trusted:
        reporter.warn(untrusted(overhead, max_seconds))
    document: dict[str, Any] = {
        "bundle": path.name,
        "rounds": timed.times.shape[1],
        "blocks": timed.minima.shape[1],
        "images": len(inputs),
        "second_inference": program.second_inference,
        **{name: found.to_json() for name, found in best.items()},
        "session_overhead_us": best["session_us"].min - best["bare_us"].min,
        "first_us": first_us,
        "overhead_ratio": overhead.value,
        "overhead_interval": overhead.to_json()["interval"],
        "trusted": overhead.trusted,
        "block_minima": {
            name: {**Estimate.of(row).to_json(), "to_model": timed.to_model(row).to_json()}
            for name, row in zip(pipelines.NAMES, timed.minima, strict=True)
        },
        "monitors": [
            {
                "name": name,
                **_monitor_times(samples, timed),
                "second_inference": alone[name].second_inference,
                "share_of_model": alone[name].second_inferences
                + (sum(beside_us[v].min for v in alone[name].companions) + samples.min() / 1e3)
                / best["model_us"].min,
            }
            for name, samples in monitors.items()
        ],
        **companion_times.to_json(model.companions, beside_us, best["model_us"].min),
        "memory_copy_us": Estimate.of(np.array(copy_us)).to_json(),
        "process_peak_bytes": peak.bytes,
        "environment": environment(target, threads, kernels, tapped.backend()),
        "crc32": {
            "model": model_crc,
            "inputs": _crc(inputs),
            "taps": _crc(taps),
            "outputs": _crc(_outputs(monitor, taps)),
        },
    }
    try:
        document["device"] = memory.on_device(bundle.artifact_bytes, target).to_json()
    except targets.TargetError as error:
        reporter.warn(str(error))
        document["device"] = None
    with reporter.stage("checking budgets"):
        lines = budget.check(limits, document, program, bundle.artifact_bytes, taps)
    document["budget"] = [line.to_json() for line in lines]
    return document, lines


def _taps(reader: TapReader, inputs: list[Array]) -> list[Array]:
    rows = [[tap.copy() for tap in reader.read(x)] for x in inputs]
    return [np.stack(column) for column in zip(*rows, strict=True)]


def _outputs(monitor: Monitor, taps: list[Array]) -> list[Array]:
    """Verdicts, reasons, answers, and each monitor's verdicts and scores, of rows of taps."""
    n, count = len(taps[0]), len(monitor.monitors)
    results: list[Array] = [
        np.zeros(n, np.uint8), np.zeros(n, np.int32), np.zeros(n, np.int32),
        np.zeros((n, count), np.uint8), np.zeros((n, count), np.int64),
    ]  # fmt: skip
    monitor.evaluate_into(taps, n, *results)
    return results


def _monitor_times(samples: npt.NDArray[np.float64], timed: pipelines.Timed) -> dict[str, Any]:
    """Of nanoseconds (rounds, batches), of which each round was timed before a block."""
    spread, rounds = Distribution.of(samples), samples.min(axis=1)
    to_model = timed.to_model(rounds[: timed.minima.shape[1]] / 1e3)
    return {
        "c_ns": spread.min,
        "c_ns_p50": spread.p50,
        "c_ns_distribution": spread.to_json(),
        "c_ns_rounds": {**Estimate.of(rounds).to_json(), "to_model": to_model.to_json()},
    }


def untrusted(overhead: Estimate, max_seconds: float) -> str:
    """What is said of an overhead whose interval is wide."""
    if overhead.low is None:
        return "the overhead cannot be trusted: too few rounds for an interval; raise --rounds"
    return (
        f"the overhead cannot be trusted: between {overhead.low:.4f} and {overhead.high:.4f}, "
        f"wider than 1 %, after {max_seconds:g} s; raise --max-seconds, or quiet the machine"
    )


def _crc(arrays: list[Array]) -> str:
    value = 0
    for array in arrays:
        value = zlib.crc32(np.ascontiguousarray(array).tobytes(), value)
    return f"{value:08x}"


def show(terminal: Terminal, document: dict[str, Any]) -> None:
    """The document for people."""
    columns = ("min", "p50", "p90", "p99", "max")
    rows = (
        ("model alone", "model_us"), ("model + monitors", "with_monitors_us"),
        ("model and argmax", "bare_us"), ("session, image to verdict", "session_us"),
    )  # fmt: skip
    terminal.table(
        (f"us an image, {document['rounds']:,} interleaved rounds", *columns),
        [(label, *(document[key][c] for c in columns)) for label, key in rows],
    )
    interval = document["overhead_interval"]
    between = "no interval" if interval is None else f"{interval[0]:.4f} to {interval[1]:.4f}"
    terminal.note(
        f"overhead: {document['overhead_ratio']:.4f} (ratio of minima, median of "
        f"{document['blocks']} blocks; {between}{'' if document['trusted'] else ', not trusted'})"
    )
    terminal.note(
        f"session over model and argmax: {document['session_overhead_us']:.1f} us (minima); "
        f"first image through a session: {document['first_us']:.0f} us"
    )
    if document["second_inference"]:
        terminal.note(
            "model + monitors makes a further inference of the model for each image, on another "
            "input; it counts in the overhead, and in the shares of the model below"
        )
    companion_times.show(terminal, document)
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
