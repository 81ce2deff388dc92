"""``edgemon redraws``: draw data again and again, and see how often a promise is broken.

A made process stands for the world, so that what is true of new data is known: a classifier's
score and whether its answer is right. Each redraw is a data set of that process, which takes the
way that ``compile`` takes: repeats are treated, rows are split, thresholds are set by device
programs, a drift test is chosen. What is promised is then judged on new rows of the process. A
promise of confidence c may be broken in 1 - c of the redraws; ``bound`` is the number up to which
that is no surprise.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.special import expit
from scipy.stats import binom

from edgemon.compiler.data.repeats import GROUP, KEEP
from edgemon.compiler.data.row_file import RowFile
from edgemon.compiler.data.sources import Sources, load_sources
from edgemon.compiler.program.ir import Builder, Monitor, Program, Tap
from edgemon.compiler.promise.calibration import find_thresholds, set_thresholds
from edgemon.compiler.promise.drift.choice import fit_drift, measure_run_length
from edgemon.compiler.promise.thresholds import FalseAlarmPromise
from edgemon.compiler.recording.evaluation import evaluate
from edgemon.compiler.recording.recording import Recording
from edgemon.compiler.reporter import Progress
from edgemon.compiler.terminal import Terminal, percent
from edgemon.runtime.evaluation import Verdict

Array = npt.NDArray[Any]
Floats = npt.NDArray[np.float64]

REPEATS = (0.0, 0.5, 0.9)  # share of rows that are one of a few states
RATES = (0.01, 0.05, 0.2)
MONITORS = (2, 5)
CLASSES = 4
CONFIDENCE = 0.95
SURE = 0.995  # of a bound
STATES = 25  # of a process that repeats its values
SUSPICIOUS = 1.8  # score of the most frequent state; of other rows 4 % have a higher one
ROWS, NEW_ROWS = 10_000, 100_000
RUN_LENGTHS = (30, 300, 3000)
TRACKS, ROWS_OF_A_TRACK = 200, 30
COMMON = 0.8  # of a score's variance, what the images of a track have in common


@dataclass(frozen=True)
class RedrawLine:
    """In how many ``redraws`` new rows break a promise of ``CONFIDENCE``."""

    what: str
    promise: float  # a rate, or images to a false flag
    redraws: int
    broken: int
    bound: int
    median: float  # over the redraws, of what was promised

    @classmethod
    def of(cls, what: str, promise: float, found: list[float], broken: list[bool]) -> RedrawLine:
        """From what came of each redraw, and whether that breaks the promise."""
        bound = int(binom.ppf(SURE, len(found), 1 - CONFIDENCE))
        return cls(what, promise, len(found), sum(broken), bound, float(np.median(found)))

    @property
    def holds(self) -> bool:
        return self.broken <= self.bound


def run(redraws: int = 200, seed: int = 0, progress: Progress | None = None) -> dict[str, Any]:
    """The JSON document of ``redraws --json``."""
    studies = [repeats(redraws, seed), verdicts(redraws, seed), tracks(redraws, seed)]
    total = len(REPEATS) * len(RATES) + len(MONITORS) + 3 + len(RUN_LENGTHS)
    lines = []
    for study in studies:
        for line in study:
            lines.append({**asdict(line), "holds": line.holds})
            if progress is not None:
                progress(len(lines), total)
    return {"confidence": CONFIDENCE, "lines": lines}


def process(rows: int, share: float, rng: np.random.Generator) -> tuple[Array, Array]:
    """Rows (n, 2) and whether the answer is right (n,): a share of the rows is one of ``STATES``,
    the first of them half of the time, which is a suspicious one. The first number is the score."""
    states = np.random.default_rng(0).normal(size=(STATES, 2))
    states[0, 0] = SUSPICIOUS
    x = rng.normal(size=(rows, 2))
    often = rng.random(rows) < share
    which = np.where(rng.random(rows) < 0.5, 0, rng.integers(0, STATES, rows))
    x[often] = states[which[often]]
    x = x.astype(np.float32)
    return x, rng.random(rows) < expit(2 - x[:, 0])


def repeats(redraws: int, seed: int, policy: str = KEEP) -> Iterator[RedrawLine]:
    """One monitor, on rows of which some or most repeat others."""
    for share in REPEATS:
        new, right = process(NEW_ROWS, share, np.random.default_rng([seed, 1 << 20]))
        scores = new[right, 0]
        found: dict[float, list[float]] = {rate: [] for rate in RATES}
        for number in range(redraws):
            with tempfile.TemporaryDirectory(prefix="edgemon-") as scratch:
                rows = _threshold_rows(share, policy, [seed, number], Path(scratch))
            for rate in RATES:
                threshold = FalseAlarmPromise(rate, CONFIDENCE).threshold(rows)
                found[rate].append(float((scores > threshold).mean()))
        for rate, realised in found.items():
            what = f"one monitor, {share:.0%} of the rows repeat"
            if policy == GROUP:
                what += ", of equal rows one counts"
            yield RedrawLine.of(what, rate, realised, [r > rate for r in realised])


def _threshold_rows(share: float, policy: str, seed: list[int], scratch: Path) -> Array:
    """Scores (n,) of the right answers among the threshold rows of one data set."""
    x, right = process(ROWS, share, np.random.default_rng(seed))
    np.save(scratch / "x.npy", x)
    np.save(scratch / "y.npy", right.astype(np.int64))
    parts = load_sources(
        Sources(f"{scratch / 'x.npy'},{scratch / 'y.npy'}"), scratch, seed=seed[-1],
        repeats=policy, warn=lambda _: None,
    )  # fmt: skip
    rows = parts.threshold.rows
    return np.asarray(x[rows[right[rows]], 0])


def verdicts(redraws: int, seed: int) -> Iterator[RedrawLine]:
    """Several monitors, of which the verdict is promised; each class, and every class at once."""
    for count in MONITORS:
        yield _judged(f"verdict of {count} monitors", count, FalseAlarmPromise(), redraws, seed)
    for of in ("each", "every"):
        target = FalseAlarmPromise(per_class=of, confidence=CONFIDENCE)
        of_all = f"every class of {CLASSES} at once"
        what = of_all if of == "every" else "one class, named beforehand"
        yield _judged(what, 1, target, redraws, seed)
    target = FalseAlarmPromise(per_class="every", confidence=CONFIDENCE)
    yield _judged(f"verdict of 2 monitors, {of_all}", 2, target, redraws, seed)


def _judged(
    what: str, monitors: int, target: FalseAlarmPromise, redraws: int, seed: int
) -> RedrawLine:
    with tempfile.TemporaryDirectory(prefix="edgemon-") as name:
        folder = Path(name)
        rng = np.random.default_rng([seed, 1 << 20])
        new = _recording(folder / "new", NEW_ROWS, monitors, rng)
        realised = []
        for number in range(redraws):
            rng = np.random.default_rng([seed, number])
            rows = _recording(folder / "rows", ROWS // 5, monitors, rng)
            program = _program(monitors)
            thresholds = find_thresholds(program, (True,) * monitors, [rows], target)
            program = set_thresholds(program, thresholds, per_class=bool(target.per_class))
            alarm = evaluate(program, new).verdict != Verdict.TRUST
            if target.per_class:
                rates = [float(alarm[new.predicted == c].mean()) for c in range(CLASSES)]
                realised.append(max(rates) if target.per_class == "every" else rates[0])
            else:
                realised.append(float(alarm.mean()))
    return RedrawLine.of(what, target.rate, realised, [r > target.rate for r in realised])


def _program(monitors: int) -> Program:
    """A monitor for each score that a tap holds."""
    b = Builder([Tap("output", "float32", CLASSES), Tap("scores", "float32", monitors)])
    predicted = b.node("argmax", b.tap("output"))
    scores = [
        b.node("gather", b.tap("scores"), tables=[np.array([i], np.uint32)])
        for i in range(monitors)
    ]
    return b.program(predicted, [Monitor(f"m{i}", s, 0.0, 0.0) for i, s in enumerate(scores)])


def _recording(folder: Path, rows: int, monitors: int, rng: np.random.Generator) -> Recording:
    """Right answers, whose scores depend on each other and on the class."""
    predicted = rng.integers(0, CLASSES, rows)
    scores = rng.normal(size=(rows, 1)) + rng.normal(size=(rows, monitors)) + predicted[:, None]
    values = {"output": np.eye(CLASSES)[predicted], "scores": scores}
    folder.mkdir(exist_ok=True)
    files = []
    for name, content in values.items():
        files.append(RowFile.create(folder / f"{name}.npy", content.shape, np.float32))
        files[-1].write(0, content.astype(np.float32))
    return Recording(
        tuple(_program(monitors).taps), tuple(files), np.arange(rows), predicted.astype(np.int32),
        predicted, CLASSES,
    )  # fmt: skip


def tracks(redraws: int, seed: int) -> Iterator[RedrawLine]:
    """The drift test on clean streams of whole tracks: the mean of images to a false flag."""
    for run_length in RUN_LENGTHS:
        realised = []
        for number in range(redraws):
            scores, groups = track_scores(TRACKS, np.random.default_rng([seed, number]))
            alarm = float(np.quantile(scores, 0.95))
            found = fit_drift(
                scores, alarm, 0, run_length=run_length, confidence=CONFIDENCE, seed=number,
                groups=groups,
            )  # fmt: skip
            if found is None:
                realised.append(np.inf)
                continue
            new, of = track_scores(20 * TRACKS, np.random.default_rng([seed, number, 1]))
            measured = measure_run_length(found.test, new, number, of)
            realised.append(measured["images"] / max(1, measured["flags"]))
        yield RedrawLine.of(
            f"streams of whole tracks of up to {ROWS_OF_A_TRACK} images, images to a false flag",
            run_length, realised, [r < run_length for r in realised],
        )  # fmt: skip


def track_scores(count: int, rng: np.random.Generator) -> tuple[Array, Array]:
    """Scores (n,) of the images of so many tracks, and the track of each (n,)."""
    lengths = rng.integers(ROWS_OF_A_TRACK // 3, ROWS_OF_A_TRACK + 1, count)
    lengths[0] = ROWS_OF_A_TRACK  # the largest is known
    groups = np.repeat(np.arange(count), lengths)
    own, common = rng.normal(size=len(groups)), rng.normal(size=count)
    scores = np.sqrt(1 - COMMON) * own + np.sqrt(COMMON) * common[groups]
    return scores.astype(np.float32), groups


def show(terminal: Terminal, document: dict[str, Any]) -> None:
    """The same as a table."""
    terminal.table(
        ("promised of", "promise", "new rows, median", "broken", "no surprise up to", "holds"),
        [
            (
                line["what"], _amount(line["promise"]), _amount(line["median"]),
                f"{line['broken']} of {line['redraws']}", line["bound"],
                "yes" if line["holds"] else "NO",
            )
            for line in document["lines"]
        ],
        title=f"data drawn again and again; confidence {document['confidence']:.0%}",
    )  # fmt: skip


def _amount(value: float) -> str:
    return percent(value) if value < 1 else f"{value:,.0f}"
