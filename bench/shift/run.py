"""Running a bundle over corrupted images, and its drift test over their scores."""

from __future__ import annotations

import tempfile
import zipfile
from collections.abc import Sequence
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from edgemon.bench.errors import BenchError
from edgemon.compiler.bundle.bundle import Bundle
from edgemon.compiler.bundle.manifest import source_json
from edgemon.compiler.bundle.output_folder import SPLITS
from edgemon.compiler.bundle_rows import load_rows, record_rows
from edgemon.compiler.data.arrays import readable, require_inflatable
from edgemon.compiler.data.loading import Dataset
from edgemon.compiler.documents.measured import RunLength
from edgemon.compiler.faults import registry
from edgemon.compiler.promise.drift.choice import measure_run_length
from edgemon.compiler.promise.drift.detector import DriftTest
from edgemon.compiler.recording.evaluation import evaluate
from edgemon.compiler.reporter import Reporter
from edgemon.compiler.statistics.intervals import clopper_pearson
from edgemon.compiler.terminal import Terminal, percent
from edgemon.runtime.drift import Drift
from edgemon.runtime.evaluation import Evaluation, Verdict
from edgemon.runtime.monitor import Monitor
from edgemon.runtime.untrusted import read

Array = npt.NDArray[Any]

CLEAN = "none"
CORRUPTIONS = ("gaussian", "contrast", "brightness", "fog")  # unless others are asked for
SEVERITIES = (3, 5)


def run(
    bundle_path: Path,
    data: str,
    *,
    images: int = 2000,
    orders: int = 20,
    seed: int = 0,
    label_column: str | None = None,
    corruptions: Sequence[str] = CORRUPTIONS,
    full_scale: int = registry.FULL_SCALE,
    workers: int = 2,
    reporter: Reporter = Reporter(),  # noqa: B008 - stateless
) -> dict[str, Any]:
    """The JSON document of ``shift --json``: a line for clean images, and one for each corruption
    and severity (3 and 5; of a fault that has fewer, those it has of them, or its worst). The same
    images are used in all lines; the drift test sees them in ``orders`` random orders, each from a
    fresh start. ``corruptions`` and ``full_scale`` are as ``faults.registry.make`` takes them."""
    chosen = [(name, registry.find(name)) for name in dict.fromkeys(corruptions)]
    bundle = Bundle.open(bundle_path)
    bundle.require_intact()
    test = bundle.artifact.drift
    if test is None:
        raise BenchError(
            f"{bundle_path} has no drift test; compile it without --drift-run-length 0"
        )
    monitor = Monitor(bundle.artifact_bytes)
    rng = np.random.default_rng(seed)
    lines = []
    with tempfile.TemporaryDirectory(prefix="edgemon-") as name:
        scratch = Path(name)
        rows = unseen_images(bundle, data, images, rng, label_column, scratch, reporter)
        x, y = all_of(rows), np.asarray(rows.y)
        registry.require_images(x)
        registry.warn_of_scale(x, full_scale, "--full-scale", reporter.warn)
        wanted = [(CLEAN, 0), *((name, s) for name, fault in chosen for s in _severities(fault))]
        shuffled = [rng.permutation(len(x)) for _ in range(orders)]
        for corruption, severity in wanted:
            own = Path(tempfile.mkdtemp(dir=scratch))
            with reporter.stage(f"corrupting: {corruption} {severity or ''}"):
                made = x
                if severity:
                    made = registry.make(
                        x, corruption, severity, seed=seed, rows=rows.numbers,
                        full_scale=full_scale, frame=x[0],
                    )  # fmt: skip
                np.save(own / "x.npy", made)
                np.save(own / "y.npy", y)
            recorded = record_rows(
                bundle, f"{own / 'x.npy'},{own / 'y.npy'}", own, workers=workers, reporter=reporter
            )
            found = evaluate(bundle.artifact.program, recorded)
            lines.append(
                {
                    "corruption": corruption,
                    "severity": severity,
                    "sha256": registry.digest(made),
                    **_quality(found, recorded.correct),
                    **_flags(monitor, found, shuffled),
                }
            )
            if corruption == CLEAN:
                clean = _run_length(test, found, seed)
    return {
        "monitor": monitor.monitors[test.monitor].name,
        "images": len(x),
        "orders": orders,
        "full_scale": full_scale,
        "left_out": registry.LEFT_OUT,
        "promised_run_length": test.run_length,
        "clean_run_length": clean,
        "lines": lines,
    }


def unseen_images(
    bundle: Bundle, spec: str, most: int, rng: np.random.Generator, label_column: str | None,
    scratch: Path, reporter: Reporter,
) -> Dataset:  # fmt: skip
    """Labelled images, chosen at random among those from which the bundle learned nothing."""
    data = load_rows(bundle, spec, scratch, label_column=label_column, reporter=reporter)
    if data.y is None:
        raise BenchError(f"{spec}: has no labels, so that right answers are unknown")
    unseen = np.flatnonzero(~np.isin(data.numbers, learned_from(bundle, spec)))
    if not len(unseen):
        raise BenchError(f"{spec}: the bundle was fitted on all of these rows; give others")
    chosen = data.take(np.sort(rng.permutation(unseen)[:most]))
    return bundle.classes.numbered(chosen, str(bundle.path))


def _severities(fault: registry.Fault) -> Sequence[int]:
    within = [s for s in SEVERITIES if s <= fault.severities]
    return within or [fault.severities]


def learned_from(bundle: Bundle, spec: str) -> Array:
    """Numbers of this file's rows on which the bundle was fitted, or its thresholds were set."""
    hashes = set(source_json(spec)["sha256"].values())
    found: list[Array] = [np.zeros(0, np.int64)]
    path = bundle.path / SPLITS
    with readable(path), zipfile.ZipFile(BytesIO(read(path))) as splits:
        for name in ("fit", "threshold"):
            source = bundle.manifest["data"].get("data") or bundle.manifest["data"].get(name)
            if source is not None and hashes & set(source["sha256"].values()):
                require_inflatable(splits.getinfo(f"{name}.npy"), path)
                with splits.open(f"{name}.npy") as stream:
                    found.append(np.lib.format.read_array(stream, allow_pickle=False))
    return np.concatenate(found)


def all_of(data: Dataset) -> Array:
    (found,) = data.blocks(len(data))
    return found


def _quality(found: Evaluation, correct: npt.NDArray[np.bool_]) -> dict[str, Any]:
    alarm = found.verdict != Verdict.TRUST
    right, wrong = int(correct.sum()), int((~correct).sum())
    false, caught = int((alarm & correct).sum()), int((alarm & ~correct).sum())
    return {
        "accuracy": right / len(correct),
        "false_alarm_rate": false / right if right else None,
        "false_alarm_interval": clopper_pearson(false, right) if right else None,
        "detection": caught / wrong if wrong else None,
        "alarm_rate": float(alarm.mean()),
    }


def _flags(monitor: Monitor, found: Evaluation, orders: list[Array]) -> dict[str, Any]:
    """After how many images the flag rises: the median over the orders, None where it rises in
    fewer than half of them."""
    at = []
    for order in orders:
        stream = Drift(monitor)
        stream.update(found.take(order))
        at.append(stream.state.flagged_at or np.inf)
    median = float(np.quantile(at, 0.5, method="higher"))
    return {
        "flagged_orders": int(np.isfinite(at).sum()),
        "images_to_flag": int(median) if np.isfinite(median) else None,
    }


def _run_length(test: DriftTest, found: Evaluation, seed: int) -> RunLength:
    scores = found.scores[test.monitor][found.verdicts[:, test.monitor] != Verdict.FAULT]
    return measure_run_length(test, scores, seed)


def show(terminal: Terminal, document: dict[str, Any]) -> None:
    """The same as a table."""
    orders = document["orders"]
    terminal.table(
        ("corruption", "severity", "accuracy", "false alarms", "caught", "alarms",
         "images to the flag", "orders with a flag"),
        [
            (
                line["corruption"], line["severity"] or "", percent(line["accuracy"]),
                percent(line["false_alarm_rate"]), percent(line["detection"]),
                percent(line["alarm_rate"]), line["images_to_flag"],
                f"{line['flagged_orders']} of {orders}",
            )
            for line in document["lines"]
        ],
        title=f"{document['images']:,} images; drift test on {document['monitor']}, median of "
        f"{orders} orders",
    )  # fmt: skip
    clean = document["clean_run_length"]
    low, high = clean["interval"]
    measured = (
        f"{clean['run_length']:,.0f} images ({low:,.0f} to {high:,.0f})"
        if clean["flags"]
        else f"more than {low:,.0f} images"
    )
    terminal.note(
        f"clean images to a false flag: promised {document['promised_run_length']:,} on average, "
        f"measured {measured}, {clean['flags']} flags in {clean['images']:,} images drawn from the "
        "clean ones"
    )
