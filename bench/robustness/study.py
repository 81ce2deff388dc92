"""``edgemon robustness``: which classes and properties break a model that was right, and what that
does to answers that are combined: local and global robustness of "A Comprehensive Testing Framework
for Deep Learning Models", a draft whose section of results is empty."""

from __future__ import annotations

import tempfile
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from edgemon.bench.errors import BenchError
from edgemon.bench.robustness import together
from edgemon.bench.robustness.store import Store
from edgemon.compiler.data.loading import Dataset, load
from edgemon.compiler.faults.properties import Change, changed
from edgemon.compiler.reporter import Reporter
from edgemon.compiler.statistics.intervals import clopper_pearson
from edgemon.compiler.trust import document as trust
from edgemon.compiler.trust.answers import Answers
from edgemon.compiler.trust.examples import example, surest, worst_of_classes
from edgemon.compiler.trust.judge import Answered, Reading, open_judge

Array = npt.NDArray[Any]
Document = dict[str, Any]

SUMMARY = 12  # lines of the error summary
FEW = 20  # right rows of a class below which it is named


@dataclass(frozen=True)
class Plan:
    """``each``: right rows of a class; ``pairs``: of every two classes; ``resume``: a folder that
    keeps answers."""

    changes: tuple[Change, ...]
    combine: str = ""
    each: int = 200
    pairs: int = 200
    full_scale: int = 255
    resume: Path | None = None
    seed: int = 0
    workers: int = 2
    examples: bool = True  # name the surest wrong answers?
    pictures: bool = False  # and show them?


@dataclass(frozen=True, eq=False)
class Sample:
    """Rows that the model has right, as many of each class as there are, up to a number."""

    images: npt.NDArray[np.uint8]
    classes: npt.NDArray[np.int64]
    numbers: npt.NDArray[np.int64]


def run(
    path: Path, data: str, reading: Reading, plan: Plan, *, label_column: str | None,
    reporter: Reporter,
) -> Document:  # fmt: skip
    """The JSON document. Raises EdgemonError."""
    with tempfile.TemporaryDirectory(prefix="edgemon-") as name:
        scratch = Path(name)
        judge, rows, labels = open_judge(
            path, data, reading, scratch, label_column=label_column, workers=plan.workers,
            reporter=reporter,
        )  # fmt: skip
        _require_images(rows)
        combine, combiner, values = together.find(plan.combine, judge.classes.names)
        store = Store(plan.resume)
        with reporter.stage("answering the images as they are"):
            plain = store.answers(judge, rows, "as they are")
        right = plain.predicted == labels
        chosen = _sampled(right, labels, plan)
        (images,) = rows.take(chosen).blocks(len(chosen))
        sample = Sample(images, labels[chosen], rows.numbers[chosen])
        pairs = together.Pairs.drawn(sample.classes, combiner, plan.pairs, plan.seed)
        found = []
        names = judge.classes.names
        examples = _Examples(sample, names, plan)
        with reporter.stage("changing images") as progress:
            for done, change in enumerate(plan.changes, 1):
                made = changed(
                    images, change, seed=plan.seed, rows=sample.numbers, full_scale=plan.full_scale
                )
                with _on_disk(made, scratch) as moved:
                    found.append((change, store.answers(judge, moved, str(change))))
                examples.look(change, found[-1][1], made)
                progress(done, len(plan.changes))
    shares = np.bincount(labels[labels >= 0], minlength=len(names)) / max(1, (labels >= 0).sum())
    answers = Answers(plain.p, plain.predicted, plain.passed, labels, names)
    few = [names[c] for c in range(len(names)) if (sample.classes == c).sum() < min(FEW, plan.each)]
    for line in few:
        reporter.warn(f"class {line} has fewer than {FEW} rows that are answered rightly")
    return {
        "name": path.stem, "rows": len(rows), "accuracy": float(right.mean()),
        "trust": trust.figures(trust.describe(path.stem, answers)),
        "sampled": len(sample.images), "classes": list(names), "combine": combine,
        "local": [line for c, a in found for line in _local(c, a, sample, names, shares)],
        "global": [
            _global(
                c, together.combine(
                    combiner, pairs, sample.classes, a.predicted, a.confidence, values, plan.seed
                ),
            )
            for c, a in found
        ],
        "worst_case": _worst_cases(found, sample),
        "caught": [_caught(c, a, sample) for c, a in found] if plain.passed is not None else None,
        "as_they_are": None if plain.passed is None else _monitored(right, plain.passed),
        "errors": _errors(found, sample, names),
        "few_rows": few, "examples": examples.surest(),
    }  # fmt: skip


def figures(document: Document) -> dict[str, float | None]:
    """What ``--require`` may name."""
    found: dict[str, float | None] = dict(document["trust"])
    for line in document["local"]:
        name = f"{line['property']}={line['value']:g}"
        if line["class"] is None:
            found[f"robust({name})"] = line["rate"]
        else:
            known = found.get(f"robust_class({name})")
            found[f"robust_class({name})"] = min(line["rate"], 1.0 if known is None else known)
    for line in document["global"]:
        found[f"global({line['property']}={line['value']:g})"] = line["rate"]
    return found


def _require_images(rows: Dataset) -> None:
    if len(rows.shape) not in (3, 4) or rows.dtype != np.uint8:
        raise BenchError(
            f"{rows.source}: robustness is about images of bytes, (N, H, W) or (N, H, W, C); these "
            f"rows are {rows.dtype} of the shape {rows.shape}"
        )


@contextmanager
def _on_disk(images: npt.NDArray[np.uint8], scratch: Path) -> Iterator[Dataset]:
    """Images as rows, while the block lasts."""
    with tempfile.TemporaryDirectory(dir=scratch) as name:
        np.save(Path(name, "x.npy"), images)
        yield load(str(Path(name, "x.npy")), Path(name))


def _sampled(right: Array, labels: Array, plan: Plan) -> Array:
    rng = np.random.default_rng(plan.seed)
    found = []
    for c in np.unique(labels[labels >= 0]):
        own = np.flatnonzero(right & (labels == c))
        found.append(np.sort(rng.permutation(own)[: plan.each]))
    chosen = np.concatenate(found) if found else np.zeros(0, np.int64)
    if not len(chosen):
        raise BenchError("the model has no row right: is the preprocessing that of its training?")
    return chosen


def _local(
    change: Change, answered: Answered, sample: Sample, names: Sequence[str], shares: Array
) -> list[Document]:
    """``shares`` (classes,): of the classes in the data, by which one mean weighs them."""
    right = answered.predicted == sample.classes
    lines, present = [], np.unique(sample.classes)
    for c in present.tolist():
        own = sample.classes == c
        low, high = clopper_pearson(int(right[own].sum()), int(own.sum())) or (0.0, 1.0)
        lines.append({
            "class": names[c], **asdict(change), "rows": int(own.sum()),
            "rate": float(right[own].mean()), "low": low, "high": high,
            "confidence": float(answered.confidence[own].mean()),
        })  # fmt: skip
    rates = np.array([line["rate"] for line in lines])
    rows = np.array([line["rows"] for line in lines])
    # Of a mean over classes: each one's binomial variance.
    spread = 1.96 * float(np.sqrt((rates * (1 - rates) / rows).sum())) / len(rates)
    rate = float(rates.mean())
    mean = {
        "class": None, **asdict(change), "rows": int(rows.sum()), "rate": rate,
        "low": max(0.0, rate - spread), "high": min(1.0, rate + spread),
        "confidence": float(np.mean([line["confidence"] for line in lines])),
        "weighted": float((rates * shares[present]).sum() / shares[present].sum()),
    }  # fmt: skip
    return [mean, *lines]


def _global(change: Change, found: together.Together) -> Document:
    return {**asdict(change), **asdict(found), "adds_nothing": found.adds_nothing}


def _worst_cases(found: Sequence[tuple[Change, Answered]], sample: Sample) -> list[Document]:
    """Of each property: the share of rows that stay right at every value that was tried: no less
    than that of the worst case within its range."""
    lines = []
    for name in dict.fromkeys(c.property for c, _ in found):
        own = [(c.value, a.predicted == sample.classes) for c, a in found if c.property == name]
        always = np.logical_and.reduce([right for _, right in own])
        interval = clopper_pearson(int(always.sum()), len(always))
        worst = min(own, key=lambda pair: pair[1].mean())
        lines.append({
            "property": name, "values": len(own), "first": own[0][0], "last": own[-1][0],
            "rate": float(always.mean()), "interval": interval, "worst_value": worst[0],
            "worst_rate": float(worst[1].mean()),
        })  # fmt: skip
    return lines


def _caught(change: Change, answered: Answered, sample: Sample) -> Document:
    """What monitors say of what a change broke, and of what it left right."""
    assert answered.passed is not None
    right = answered.predicted == sample.classes
    broken, stopped = int((~right).sum()), ~answered.passed
    hits = int((stopped & ~right).sum())
    return {
        **asdict(change), "broken": broken, "caught": hits / broken if broken else None,
        "interval": clopper_pearson(hits, broken),
        "alarms_on_right": float((stopped & right).sum() / right.sum()) if right.any() else None,
    }  # fmt: skip


def _monitored(right: Array, passed: Array) -> Document:
    """What monitors say of all rows as they are."""
    stopped, wrong = ~passed, ~right
    hits, alarms = int((stopped & wrong).sum()), int((stopped & right).sum())
    return {
        "right": int(right.sum()),
        "wrong": int(wrong.sum()),
        "caught": hits / int(wrong.sum()) if wrong.any() else None,
        "alarms_on_right": alarms / int(right.sum()) if right.any() else None,
        "interval": clopper_pearson(alarms, int(right.sum())),
    }


class _Examples:
    """Of each property and class the surest answer that a change made wrong."""

    def __init__(self, sample: Sample, names: Sequence[str], plan: Plan) -> None:
        self._sample, self._names, self._plan = sample, names, plan
        self._found: dict[tuple[str, int], Document] = {}

    def look(self, change: Change, answered: Answered, images: npt.NDArray[np.uint8]) -> None:
        """At the answers to changed images."""
        if not self._plan.examples:
            return
        classes, sure = self._sample.classes, answered.confidence
        for i in worst_of_classes(classes, answered.predicted, sure):
            key, said = (change.property, int(classes[i])), int(answered.predicted[i])
            if key not in self._found or sure[i] > self._found[key]["confidence"]:
                self._found[key] = example(
                    images[i] if self._plan.pictures else None, label=self._names[classes[i]],
                    answer=self._names[said] if said >= 0 else "no answer",
                    confidence=float(sure[i]), row=int(self._sample.numbers[i]),
                    full_scale=self._plan.full_scale, change=(change.property, change.value),
                )  # fmt: skip

    def surest(self) -> list[Document]:
        return surest(list(self._found.values()))


def _errors(
    found: Sequence[tuple[Change, Answered]], sample: Sample, names: Sequence[str]
) -> list[Document]:
    """What is confused with what under which change, by count times the share that broke; with what
    retraining would be tried first."""
    lines = []
    for change, answered in found:
        right = answered.predicted == sample.classes
        wrong = np.flatnonzero(~right)
        pairs = Counter(
            zip(sample.classes[wrong].tolist(), answered.predicted[wrong].tolist(), strict=True)
        )
        for (truth, said), count in pairs.items():
            own = sample.classes == truth
            rate = float(right[own].mean())
            other = names[said] if said >= 0 else "no answer"
            lines.append({
                "class": names[truth], "confused_with": other, **asdict(change), "count": count,
                "rate": rate, "rank": count * (1 - rate),
                "adjustment": f"train with images of {names[truth]} and {other} at {change}",
            })  # fmt: skip
    return sorted(lines, key=lambda line: -line["rank"])[:SUMMARY]
