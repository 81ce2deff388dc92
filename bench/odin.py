"""``edgemon odin-study``: ODIN with its gradient beside what needs none.

ODIN (Liang, Li and Srikant, ICLR 2018) moves an image a little to where the model's answer is
surer, and scores the answer to that one at a high temperature. The step needs the model's gradient,
here that of a Keras model of the same task; the moved image goes through the model that is
deployed, which rounds it where its input is of bytes.
"""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from edgemon.bench.compare.rows import short_name
from edgemon.bench.errors import BenchError
from edgemon.compiler.data.loading import Dataset, load
from edgemon.compiler.faults.attacks import CONFIDENT, Target, made_confident, require_available
from edgemon.compiler.reporter import Reporter
from edgemon.compiler.statistics.intervals import auroc_interval
from edgemon.compiler.statistics.metrics import auroc
from edgemon.compiler.terminal import Terminal
from edgemon.compiler.trust.judge import Answered, Judge, Reading, open_judge

Document = dict[str, Any]
Floats = npt.NDArray[np.float64]

EPSILONS = (0.0005, 0.0014, 0.0025, 0.005)  # of 255; .0014 and .0025 are the published ones
TEMPERATURE = 1000.0
LEAST = 1e-300  # of a probability, of which the logarithm is taken


@dataclass(frozen=True)
class Wanted:
    """``rows``: how many of the labelled rows and of each novel set, at most."""

    novel: tuple[str, ...]
    rows: int = 1000
    epsilons: tuple[float, ...] = EPSILONS
    temperature: float = TEMPERATURE
    seed: int = 0


def study(
    model: Path, data: str, target: Target, reading: Reading, wanted: Wanted, *,
    label_column: str | None, workers: int, reporter: Reporter,
) -> Document:  # fmt: skip
    """AUROC of each score for novel rows and for the model's own errors, with intervals."""
    require_available(target, CONFIDENT)
    with tempfile.TemporaryDirectory(prefix="edgemon-") as scratch_name:
        scratch = Path(scratch_name)
        judge, rows, labels = open_judge(
            model, data, reading, scratch, label_column=label_column, workers=workers,
            reporter=reporter,
        )  # fmt: skip
        taken = _some(len(rows), wanted)
        sets = {"": _images(rows, taken)}
        for spec in wanted.novel:
            novel = replace(load(spec, scratch, warn=reporter.warn), y=None)
            sets[short_name(spec)] = _images(novel, _some(len(novel), wanted))
        answers = {name: judge.answer(images, reporter) for name, images in sets.items()}
        wrong = answers[""].predicted != labels[taken]
        found = {
            "msp": {name: 1 - a.confidence for name, a in answers.items()},
            "odin_t": {name: _odin(a) for name, a in answers.items()},
        }
        for epsilon in wanted.epsilons:
            with reporter.stage(f"moving images by {epsilon:g}"):
                moved = {
                    name: _moved(judge, images, target, epsilon, wanted.temperature, scratch)
                    for name, images in sets.items()
                }
            found[f"odin {epsilon:g}"] = {name: _odin(a) for name, a in moved.items()}
        return {
            "model": model.name, "gradient": target.model.name, "rows": len(taken),
            "accuracy": float(1 - wrong.mean()), "temperature": wanted.temperature,
            "novel": {name: len(images) for name, images in sets.items() if name},
            "scores": [
                {
                    "score": score,
                    "errors": _area(of[""], wrong, wanted.seed),
                    "novel": {
                        name: _area(
                            np.concatenate([of[""], of[name]]),
                            np.repeat([False, True], [len(of[""]), len(of[name])]), wanted.seed,
                        )
                        for name in of if name
                    },
                }
                for score, of in found.items()
            ],
        }  # fmt: skip


def _odin(answers: Answered) -> Floats:
    """Suspicion in the order of 1 - max softmax(z / T) for a high T: mean logit less the largest,
    which a softmax vector has too."""
    z = np.log(np.maximum(answers.p, LEAST))
    found: Floats = z.mean(axis=1) - z.max(axis=1)
    return found


def _some(count: int, wanted: Wanted) -> npt.NDArray[np.int64]:
    return np.sort(np.random.default_rng(wanted.seed).permutation(count)[: wanted.rows])


def _images(rows: Dataset, taken: npt.NDArray[np.int64]) -> Dataset:
    if rows.dtype != np.uint8 or len(rows.shape) not in (3, 4):
        raise BenchError(f"{rows.source}: ODIN moves images of bytes; these rows are {rows.dtype}")
    return rows.take(taken)


def _moved(
    judge: Judge, rows: Dataset, target: Target, epsilon: float, temperature: float, scratch: Path
) -> Answered:
    (images,) = rows.blocks(len(rows))
    folder = Path(tempfile.mkdtemp(dir=scratch))
    np.save(
        folder / "x.npy",
        made_confident(target, images, epsilon=epsilon, temperature=temperature),
    )
    moved = replace(rows, x=folder / "x.npy", rows=np.arange(len(rows)), first_row=0)
    return judge.answer(moved)


def _area(score: Floats, positive: npt.NDArray[np.bool_], seed: int) -> Document:
    return {"auroc": auroc(score, positive), "interval": auroc_interval(score, positive, seed=seed)}


def show(terminal: Terminal, document: Document) -> None:
    """A table: a row a score."""
    novel: Sequence[str] = list(document["novel"])
    terminal.note(
        f"{document['model']}, gradient of {document['gradient']}: {document['rows']:,} rows, "
        f"accuracy {document['accuracy']:.2%}; AUROC with 95 % intervals"
    )

    def cell(found: Document) -> str:
        if found["auroc"] is None:
            return "n/a"
        low, high = found["interval"] or (float("nan"),) * 2
        return f"{found['auroc']:.3f} [{low:.3f}, {high:.3f}]"

    terminal.table(
        ("score", "own errors", *novel),
        [(s["score"], cell(s["errors"]), *(cell(s["novel"][n]) for n in novel))
         for s in document["scores"]],
    )  # fmt: skip
    terminal.note(
        "a step costs a gradient (a forward and a backward pass) and one more inference of the "
        "model; msp and odin_t cost none"
    )
