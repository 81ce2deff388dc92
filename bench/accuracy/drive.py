"""A simulated drive: clean images, then images with a fault, then clean ones again, some of which
are labelled, and what the device's estimate of accuracy says of them. Verdicts, drift test and
estimates are the C runtime's; only which image comes next is drawn."""

from __future__ import annotations

import re
import tempfile
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from edgemon.bench.accuracy.drive_coverage import Rows, coverage
from edgemon.bench.accuracy.drive_figure import draw
from edgemon.bench.errors import BenchError
from edgemon.bench.replicate.figure import require_matplotlib
from edgemon.bench.shift.run import all_of, unseen_images
from edgemon.compiler.bundle.bundle import Bundle
from edgemon.compiler.bundle.manifest import source_json
from edgemon.compiler.bundle_rows import record_rows
from edgemon.compiler.data.loading import Dataset
from edgemon.compiler.emit import flat
from edgemon.compiler.faults import registry
from edgemon.compiler.recording.evaluation import evaluate
from edgemon.compiler.reporter import Reporter
from edgemon.compiler.terminal import Terminal, percent
from edgemon.runtime.accuracy import STATE, Accuracy
from edgemon.runtime.drift import Drift
from edgemon.runtime.evaluation import Verdict
from edgemon.runtime.monitor import Monitor

LABELS = (30, 50, 100, 250)  # of the intervals' coverage
EXTREMES = (0.5, 0.9, 0.95, 0.98, 0.99, 0.995)  # shares of right answers
SVG = "drive.svg"
ROUNDS, TIMED, ESTIMATED = 7, 20_000, 200  # of what is timed


@dataclass(frozen=True)
class Plan:
    """``images`` of each third of the drive. ``share`` of all images come back labelled, drawn at
    random. ``reset``: so many images after the fault is gone somebody resets the drift flag."""

    fault: str = "fog"
    severity: int = 5
    images: int = 5000
    share: float = 0.02
    reset: int = 500
    every: int = 50  # images from one estimate to the next
    drives: int = 20  # the first is drawn
    draws: int = 400  # of each coverage
    most_rows: int = 5000
    full_scale: int = registry.FULL_SCALE
    seed: int = 0

    def require(self) -> None:
        """Raises BenchError for a plan that cannot be."""
        if not 0 <= self.share <= 1:
            raise BenchError(f"--labels {self.share:g}: a share of the images, from 0 to 1")
        if (
            min(self.images, self.every, self.drives, self.draws) < 1
            or not 0 <= self.reset <= self.images
        ):
            raise BenchError(
                "--images, --drives and --draws are at least 1, --reset at most --images"
            )


def run(
    path: Path, data: str, out: Path, plan: Plan, *, label_column: str | None = None,
    workers: int = 2, reporter: Reporter,
) -> dict[str, Any]:  # fmt: skip
    """The JSON document of ``accuracy-drive``; writes the picture into the folder ``out``."""
    plan.require()
    require_matplotlib()
    fault = registry.find(plan.fault)
    if not 1 <= plan.severity <= fault.severities:
        raise BenchError(f"--severity {plan.severity}: {plan.fault} has 1 to {fault.severities}")
    bundle = Bundle.open(path)
    if bundle.artifact.accuracy is None:
        raise BenchError(
            f"{path} has no table of accuracy: edgemon accuracy fit {path} --data REFERENCE"
        )
    if _fitted_on(bundle.manifest.get("accuracy_fit"), data):
        reporter.warn(
            f"{data}: the table of accuracy was fitted on some of these rows, so that estimates "
            "look better than they are; give others"
        )
    out.mkdir(parents=True, exist_ok=True)
    rng = np.random.default_rng(plan.seed)
    with tempfile.TemporaryDirectory(prefix="edgemon-") as name:
        rows = unseen_images(bundle, data, plan.most_rows, rng, label_column, Path(name), reporter)
        x = all_of(rows)
        registry.require_images(x)
        registry.warn_of_scale(x, plan.full_scale, "--full-scale", reporter.warn)
        with reporter.stage(f"corrupting: {plan.fault} {plan.severity}"):
            worse = registry.make(
                x, plan.fault, plan.severity, seed=plan.seed, rows=rows.numbers,
                full_scale=plan.full_scale, frame=x[0],
            )  # fmt: skip
        pools = [
            _recorded(bundle, made, rows, Path(name, str(i)), workers, reporter)
            for i, made in enumerate((x, worse))
        ]
    monitor = Monitor(bundle.artifact_bytes)
    drives = [_drive(monitor, pools, plan, rng) for _ in range(plan.drives)]
    document = {
        **asdict(plan),
        "rows": len(x),
        "window": bundle.artifact.accuracy.window,
        "accuracy": [float(pool.right.mean()) for pool in pools],
        "points": drives[0],
        "thirds": [_summary(drives, pools, third) for third in range(3)],
        "coverage": [
            {"set": name, **coverage(monitor, pool, count, plan.draws, rng)}
            for name, pool in zip(("clean", plan.fault), pools, strict=True)
            for count in (0, *LABELS)
            if count or name == "clean"
        ],
        "extremes": [
            coverage(monitor, pools[0], count, plan.draws, rng, share)
            for share in EXTREMES
            for count in LABELS
        ],
        "section_bytes": flat.sections(bundle.artifact_bytes)[flat.ACCURACY][1],
        "state_bytes": STATE.itemsize,
        "nanoseconds": _nanoseconds(monitor, pools[0]),
        "picture": str(out / SVG),
    }
    draw(document, out / SVG)
    return document


def _fitted_on(fit: Any, data: str) -> bool:
    """May rows of the table be among these? By the files' hashes and the ranges that are stated."""
    if fit is None or not set(fit["data"]["sha256"].values()) & set(
        source_json(data)["sha256"].values()
    ):
        return False
    starts, ends = zip(*map(_range, (fit["data"]["spec"], data)), strict=True)
    return bool(max(starts) < min(ends))


def _range(spec: str) -> tuple[float, float]:
    found = re.search(r"\[(\d*):(\d*)\]", spec)
    if found is None:  # all, or counted from the end
        return 0, np.inf
    first, end = found.groups()
    return float(first or 0), float(end or "inf")


def _recorded(
    bundle: Bundle, x: npt.NDArray[Any], rows: Dataset, folder: Path, workers: int,
    reporter: Reporter,
) -> Rows:  # fmt: skip
    table = bundle.artifact.accuracy
    assert table is not None
    folder.mkdir()
    np.save(folder / "x.npy", x)
    np.save(folder / "y.npy", np.asarray(rows.y))
    spec = f"{folder / 'x.npy'},{folder / 'y.npy'}"
    recording = record_rows(bundle, spec, folder, workers=workers, reporter=reporter)
    found = evaluate(bundle.artifact.program, recording)
    scored = found.verdicts[:, table.monitor] != Verdict.FAULT
    return Rows(found, recording.correct, table.lookup(found.scores[table.monitor]), scored)


def _drive(
    monitor: Monitor, pools: Sequence[Rows], plan: Plan, rng: np.random.Generator
) -> list[dict[str, Any]]:
    """An estimate after every ``plan.every`` images, and the share of right answers among the
    images of its window. Labels come at once."""
    accuracy, drift = Accuracy(monitor), Drift(monitor)
    seen: list[bool] = []
    points = []
    for third, pool in enumerate((pools[0], pools[1], pools[0])):
        for start in range(0, plan.images, plan.every):
            if third == 2 and start <= plan.reset < start + plan.every:
                drift.reset()
            chosen = rng.integers(0, len(pool.right), min(plan.every, plan.images - start))
            first = drift.state.images + 1
            accuracy.update(pool.found.take(chosen), drift)
            seen.extend(pool.right[chosen].tolist())
            since = max(drift.state.flagged_at - first, 0)  # labels are of images since the flag
            for row in chosen[since:][rng.random(len(chosen) - since) < plan.share]:
                if pool.scored[row]:
                    accuracy.label(int(pool.probabilities[row]), bool(pool.right[row]))
            own = accuracy.estimate(drift)
            assert own is not None
            window = seen[len(seen) - own.images - own.faults :] or seen[-1:]
            points.append(
                {
                    "image": len(seen), "third": third, "truth": float(np.mean(window)),
                    "estimate": own.accuracy, "interval": [*own.interval], "valid": own.valid,
                    "basis": own.basis.name.lower(), "labels": own.labels,
                    "flag": drift.state.flag,
                }
            )  # fmt: skip
    return points


def _summary(
    drives: list[list[dict[str, Any]]], pools: Sequence[Rows], third: int
) -> dict[str, Any]:
    """Of a third of all drives: how far valid estimates are from the truth in their windows."""
    own = [p for points in drives for p in points if p["third"] == third]
    truth = float(pools[third % 2].right.mean())
    valid = [p for p in own if p["valid"]]
    errors = [abs(p["estimate"] - p["truth"]) for p in valid]
    inside = [p["interval"][0] <= p["truth"] <= p["interval"][1] for p in valid]
    return {
        "accuracy": truth, "estimates": len(own), "valid": len(valid),
        "mean_error": float(np.mean(errors)) if errors else None,
        "largest_error": float(np.max(errors)) if errors else None,
        "inside": float(np.mean(inside)) if inside else None,
    }  # fmt: skip


def _nanoseconds(monitor: Monitor, pool: Rows) -> dict[str, float]:
    """Of an image counted (the mean of many in one call) and of an estimate (a call from Python);
    the least of several rounds."""
    many = pool.found.take(np.arange(TIMED) % len(pool.right))
    accuracy = Accuracy(monitor)
    updates, estimates = [], []
    for _ in range(ROUNDS):
        begun = time.perf_counter_ns()
        accuracy.update(many)
        between = time.perf_counter_ns()
        for _ in range(ESTIMATED):
            accuracy.record()
        updates.append((between - begun) / TIMED)
        estimates.append((time.perf_counter_ns() - between) / ESTIMATED)
    return {"update": min(updates), "estimate": min(estimates)}


def show(terminal: Terminal, d: dict[str, Any]) -> None:
    """The document for people."""
    names = ("clean", f"{d['fault']} {d['severity']}", "clean again")
    terminal.table(
        ("images", "accuracy", "valid estimates", "mean error", "largest", "inside the interval"),
        [
            (
                name, percent(t["accuracy"]), f"{t['valid']} of {t['estimates']}",
                percent(t["mean_error"]), percent(t["largest_error"]), percent(t["inside"]),
            )
            for name, t in zip(names, d["thirds"], strict=True)
        ],
        title=f"{d['drives']} drives of {3 * d['images']:,} images, {percent(d['share'])} of them "
        "labelled; errors against the images of the window",
    )  # fmt: skip
    terminal.table(
        ("set", "labels", "accuracy", "covered", "95 % interval", "width", "mean error"),
        [
            (
                c["set"], c["labels"], percent(c["accuracy"]), percent(c["coverage"]),
                f"{100 * c['interval'][0]:.1f} to {100 * c['interval'][1]:.1f}",
                percent(c["mean_width"]), percent(c["mean_error"]),
            )
            for c in d["coverage"]
        ],
        title=f"coverage of the 95 % interval, {d['draws']:,} draws of a window of "
        f"{d['window']:,} images",
    )  # fmt: skip
    terminal.table(
        ("right answers", *(f"{n} labels" for n in LABELS)),
        [
            (
                percent(share),
                *(percent(c["coverage"]) for c in d["extremes"] if c["accuracy"] == share),
            )
            for share in EXTREMES
        ],
        title="the same of clean images, drawn so that such a share is right",
    )  # fmt: skip
    terminal.note(
        f"{d['section_bytes']:,} bytes of the artifact, {d['state_bytes']} of state; "
        f"{d['nanoseconds']['update']:.0f} ns an image, {d['nanoseconds']['estimate']:.0f} ns an "
        "estimate (with the call from Python)"
    )
    terminal.note(f"wrote {d['picture']}")
