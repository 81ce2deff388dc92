"""``edgemon bench``: everything that a bundle costs, in one document."""

from __future__ import annotations

import platform
import tempfile
import zlib
from collections.abc import Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from edgemon import targets
from edgemon.bench import budget, latency, memory
from edgemon.bench.errors import BenchError
from edgemon.compiler.bundle.bundle import Bundle
from edgemon.compiler.cost.limits import BudgetLine, Limit
from edgemon.compiler.data.images import Pictures
from edgemon.compiler.data.loading import load
from edgemon.compiler.models import write_untapped
from edgemon.compiler.reporter import Reporter
from edgemon.compiler.terminal import Terminal, quiet_interpreter
from edgemon.runtime.formats import open_classifier
from edgemon.runtime.monitor import Monitor
from edgemon.runtime.preprocess import InputSpec, Preprocess, to_input
from edgemon.runtime.taps import TapReader

Array = npt.NDArray[Any]

IMAGES = 256  # rows that are cycled through


def run_benchmark(
    path: Path,
    data: str,
    *,
    limits: Sequence[Limit],
    rounds: int,
    target_name: str | None = None,
    threads: int = 1,
    label_column: str | None = None,
    reporter: Reporter = Reporter(),  # noqa: B008 - stateless
) -> tuple[dict[str, Any], list[BudgetLine]]:
    """Measure a bundle on rows of data; the result is the JSON document of ``bench --json``, and
    each limit beside what was measured."""
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
        spec, how = InputSpec.from_json(metadata["input"]), bundle.reading
        rows = load(
            data, scratch, label_column=label_column, aside=how.aside, features=how.features,
            pictures=Pictures.of(preprocess, spec, how.exif), warn=reporter.warn,
        )  # fmt: skip
        rows = rows.take(np.arange(min(IMAGES, len(rows))))
        inputs = [
            to_input(image, preprocess, spec) for block in rows.blocks(IMAGES) for image in block
        ]
        model = bundle.model_in(scratch)
        plain_file = scratch / f"untapped-{model.path.name}"
        write_untapped(model.path, metadata["model"]["outputs"], plain_file)
        kernels = metadata["kernels"]
        with quiet_interpreter():
            plain = open_classifier(plain_file, threads=threads, kernels=kernels)
            tapped = open_classifier(model.path, threads=threads, kernels=kernels)
        program, positions = bundle.artifact.program, model.positions
        views = [tap.view for tap in program.taps]
        reader = TapReader(tapped, positions, views, spec, preprocess)
        with reporter.stage("timing") as progress, memory.peak_memory() as peak:
            pair = latency.interleaved(
                plain, tapped, monitor, positions, inputs, rounds, progress,
                mirror_axis=reader.mirror_axis,
            )  # fmt: skip
        taps = _taps(reader, inputs)
    with reporter.stage("timing the monitors in C"):
        in_c = latency.in_c(program, taps)
    second = {m.name: program.only(m.name).second_inference for m in program.monitors}
    second["all"] = program.second_inference
    document: dict[str, Any] = {
        "bundle": path.name,
        "rounds": rounds,
        "images": len(inputs),
        "second_inference": program.second_inference,
        "model_us": pair.model_us.to_json(),
        "with_monitors_us": pair.with_monitors_us.to_json(),
        "overhead_ratio": pair.overhead_ratio,
        "monitors": [
            {
                "name": name,
                "c_ns": found.p50,
                "c_ns_distribution": found.to_json(),
                "second_inference": second[name],
                "share_of_model": second[name] + found.p50 / 1e3 / pair.model_us.p50,
            }
            for name, found in in_c.items()
        ],
        "process_peak_bytes": peak.bytes,
        "environment": _environment(target, threads, kernels, tapped.backend()),
        "crc32": {"inputs": _crc(inputs), "taps": _crc(taps)},
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


def _crc(arrays: list[Array]) -> str:
    value = 0
    for array in arrays:
        value = zlib.crc32(np.ascontiguousarray(array).tobytes(), value)
    return f"{value:08x}"


def _environment(
    target: targets.Target, threads: int, kernels: str, backend: str
) -> dict[str, Any]:
    return {
        "edgemon": version("edgemon"),
        "interpreter": backend,
        "kernels": kernels,
        "threads": threads,
        "python": platform.python_version(),
        "numpy": np.__version__,
        "machine": platform.machine(),
        "system": f"{platform.system()} {platform.release()}",
        "processor": _processor(),
        "target": target.name,
        "target_compiler": " ".join((target.cc, *target.cflags)),
    }


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
        return next(v.partition(":")[2].strip() for v in lines if v.startswith("model name"))
    except (OSError, StopIteration):
        return platform.processor()


def show(terminal: Terminal, document: dict[str, Any]) -> None:
    """The document for people."""
    columns = ("min", "p50", "p90", "p99", "max")
    rows = (("model alone", "model_us"), ("model + monitors", "with_monitors_us"))
    terminal.table(
        (f"us an image, {document['rounds']:,} interleaved rounds", *columns),
        [(label, *(document[key][c] for c in columns)) for label, key in rows],
    )
    terminal.note(f"overhead: {document['overhead_ratio']:.4f} (ratio of minima)")
    if document["second_inference"]:
        terminal.note(
            "model + monitors makes a second inference of the model for each image, on the "
            "mirrored image; it counts in the overhead, and in the shares of the model below"
        )
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
