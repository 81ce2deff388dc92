"""Recording the rows of one compile: the model, its input, labels and kernels are the same."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import numpy.typing as npt

from edgemon.compiler.data.classes import Classes
from edgemon.compiler.data.groups import one_of_each
from edgemon.compiler.data.loading import Dataset
from edgemon.compiler.data.splits import Splits
from edgemon.compiler.documents import measured as schema
from edgemon.compiler.errors import CompileError, ParityError
from edgemon.compiler.models.decision import Decision, contradicted, of_graph, of_values
from edgemon.compiler.models.graph import Tensor
from edgemon.compiler.models.model import Model, TappedModel
from edgemon.compiler.recording import accuracy, evaluation, input_range, own_labels
from edgemon.compiler.recording.alternatives import Order, Way, orders, ways
from edgemon.compiler.recording.recording import Recording, answers, record
from edgemon.compiler.reporter import Progress, Reporter
from edgemon.runtime.preprocess import Preprocess, vectors_as

Labels = npt.NDArray[np.int64]

SAMPLE = 500  # rows of the first look at the accuracy
FEW_ROWS = 128  # on which taps are tried
OUTPUT_ROWS = 1000  # rows on which the tapped model's own output must equal the original's
WORKER_S = 0.25  # of work, for which a further worker is worth its start


@dataclass(frozen=True, eq=False)
class Look:
    """What the first look found. ``spread`` is None for an input of floats."""

    sample: Dataset
    question: accuracy.Question
    spread: input_range.InputRange | None
    tried: Sequence[accuracy.Trial]  # what is in force first
    better: accuracy.Better | None
    vectors_as: tuple[int, ...] | None = None  # the shape of images that came as vectors

    def to_json(self) -> schema.Input:
        return {
            "spread": None if self.spread is None else self.spread.to_json(),
            "better": None if self.better is None else self.better.to_json(),
            "tried": [trial.to_json() for trial in self.tried],
            "vectors_as": None if self.vectors_as is None else list(self.vectors_as),
        }


class Recorder:
    """Records rows of one model, with its input, labels and kernels fixed."""

    def __init__(
        self, model: Model, scratch: Path, preprocess: Preprocess, kernels: str, classes: Classes,
        *, workers: int, seed: int,
    ) -> None:  # fmt: skip
        self.model, self.scratch, self.preprocess = model, scratch, preprocess
        self.kernels = kernels
        self.classes, self.labels = classes, classes.map
        self.workers, self.seed = workers, seed
        self.own_labels: own_labels.OwnLabels | None = None  # known after ``look``
        self._looked_at: tuple[Dataset, Recording] | None = None  # by ``look``, without taps
        self._row_s: float | None = None  # what a row of the last recording took

    def record(
        self, tapped: TappedModel, data: Dataset, progress: Progress | None = None, *,
        kernels: str = "",
    ) -> Recording:  # fmt: skip
        found = record(
            tapped, data, preprocess=self.preprocess, input=self.model.input,
            labels=self.labels, kernels=kernels or self.kernels,
            scratch=Path(tempfile.mkdtemp(dir=self.scratch)), workers=self._worth(len(data)),
            progress=progress,
        )  # fmt: skip
        self._row_s = found.row_s
        return found

    def _worth(self, rows: int) -> int:
        """How many workers so many rows are worth: one takes as long to start as small models
        take for thousands of rows."""
        if self._row_s is None:
            return self.workers
        return max(1, min(self.workers, int(rows * self._row_s / WORKER_S)))

    def settle(self, data: Dataset, given: float | None) -> Decision | None:
        """Settles how the model's only output unit decides (see ``models.decision``), and says so;
        None where it has several. ``given``: the threshold that the user wants."""
        self.model, decision = settled(
            self.model,
            lambda model: self.record(model.untapped(), data.take(self._sample(data))),
            given,
        )
        return decision

    def under_each(
        self, kernels: Sequence[str], tapped: TappedModel, data: Dataset, own: Recording
    ) -> Iterator[tuple[str, Recording]]:
        """The rows of a recording under each of several kernel sets, of which the first is the
        recording's own."""
        for name in kernels:
            if name == kernels[0]:
                yield name, own
            else:
                chosen = data.take(own.rows)
                yield name, self.record(tapped, chosen, kernels=name)

    def look(self, splits: Splits[Dataset]) -> Look:
        """A first look at input and accuracy, on a sample of the test rows: raises at chance
        level."""
        sample = splits.test.take(self._sample(splits.test))
        first = self.record(self.model.untapped(), sample)
        self._looked_at = sample, first
        if first.labels is None:
            raise CompileError("the data has no labels; a monitor cannot be fitted without them")
        (images,) = sample.blocks(len(sample))
        spread = input_range.measure(images, self.preprocess, self.model.input)
        present = np.unique(np.concatenate([d.y for d in splits.values() if d.y is not None]))
        question = accuracy.Question(
            self._answers, ways(self.preprocess, self.model.input, images),
            orders(self.classes, present), (Way(self.preprocess), Order(self.labels)),
        )  # fmt: skip
        question.require_above_chance(sample, first.correct, first.labels)
        self.model = self.model.judged(first.values(first.taps[0].name))
        self.own_labels = own_labels.compare(self.model, sample, first.predicted, self.preprocess)
        tried = question.trials(sample)
        return Look(
            sample, question, spread, tried, question.better(tried, self._others(splits)),
            vectors_as(images[0], self.preprocess, self.model.input),
        )  # fmt: skip

    def _answers(self, data: Dataset, chosen: Sequence[Way]) -> Labels:
        return answers(
            self.model.untapped(), data, [way.preprocess for way in chosen],
            input=self.model.input, kernels=self.kernels,
            workers=self._worth(len(data) * len(chosen)),
        )  # fmt: skip

    def _others(self, splits: Splits[Dataset]) -> list[Dataset]:
        """Rows of all parts, but not those on which alternatives are tried; one of each group."""
        tried = splits.test.rows[self._sample(splits.test)][: accuracy.TRIED_ON]
        rng = np.random.default_rng(self.seed)
        found = []
        for name, data in splits.items():
            index = np.arange(len(data))
            if data.groups is not None:
                index = one_of_each(data.groups, self.seed)
            if name == "test" and len(tried) < len(index):
                index = index[~np.isin(data.rows[index], tried)]
            most = accuracy.CONFIRMED_ON // len(list(splits.items()))
            found.append(data.take(np.sort(rng.permutation(index)[:most])))
        return found

    def _sample(self, data: Dataset) -> Labels:
        rng = np.random.default_rng(self.seed)
        return np.sort(rng.permutation(len(data))[:SAMPLE])

    def compare_taps(self, tapped: TappedModel, data: Dataset, recorded: Recording) -> None:
        """Do fewer taps have the values that they had among more, bit for bit?"""
        sample = np.arange(min(OUTPUT_ROWS, len(data)))
        found = self.record(tapped, data.take(sample))
        for tap in tapped.taps:
            before, after = (np.asarray(r.codes(tap.name, sample)) for r in (recorded, found))
            if before.tobytes() != after.tobytes():
                raise ParityError(
                    f"{self.model.origin}: {tap.name!r} depends on which other layers are tapped; "
                    "name the layers to read with --taps"
                )

    def changed_by(self, data: Dataset) -> Callable[[Sequence[Tensor]], int]:
        """Of how many of a few rows do taps of these tensors, the output first, change the
        output?"""
        sample = data.take(self._sample(data)[:FEW_ROWS])
        before = self._untapped_bytes(sample)

        def changed(tensors: Sequence[Tensor]) -> int:
            path = self.scratch / f"tried.{self.model.tapped_name}"
            tapped = self.model.with_taps(tuple(tensors), path)
            return int((_output_bytes(self.record(tapped, sample)) != before).any(axis=1).sum())

        return changed

    def _untapped_bytes(self, data: Dataset) -> npt.NDArray[np.uint8]:
        if self._looked_at is not None:
            sample, found = self._looked_at
            if sample.x == data.x and np.array_equal(sample.rows[: len(data)], data.rows):
                return _output_bytes(found.take(np.arange(len(data))))
        return _output_bytes(self.record(self.model.untapped(), data))

    def compare_outputs(self, recorded: Recording, data: Dataset) -> schema.OutputParity:
        """Does tapping leave the model's own output as it was, bit for bit? ``recorded``: the rows
        of ``data``, in their order, by the model with the bundle's taps, or with more of which
        ``compare_taps`` found that they change nothing."""
        sample = np.arange(min(OUTPUT_ROWS, len(data)))
        before = self._untapped_bytes(data.take(sample))
        after = _output_bytes(recorded.take(sample))
        different = int((before != after).any(axis=1).sum())
        if different:
            raise ParityError(
                f"{self.model.origin}: tapping changed the model's output on {different} of "
                f"{len(sample)} rows: choose other taps, after an activation rather than before "
                "it, and in a quantised model the quantised tensor"
            )
        return {"output_rows": len(sample), "output_mismatches": different}


def _output_bytes(recorded: Recording) -> npt.NDArray[np.uint8]:
    """(n, bytes) of the model's output, which is the first tap."""
    return np.asarray(recorded.codes(recorded.taps[0].name)).view(np.uint8)


def settled(
    model: Model, sample: Callable[[Model], Recording], given: float | None = None
) -> tuple[Model, Decision | None]:
    """The model that knows how its only output unit decides; ``sample`` records some rows without
    taps, and is asked only where neither ``given`` nor the graph says it."""
    if model.output.length > 1:
        if given is not None:
            raise CompileError(
                f"--decision-threshold is of models with one output unit; this one has "
                f"{model.output.length}, and the largest decides"
            )
        return model, None
    decision = of_graph(model.graph)
    if given is not None:
        decision = Decision(given, "--decision-threshold says so")
    if decision is None:
        rows = sample(model)
        decision = of_values(rows.values(rows.taps[0].name)[:, 0])
    return replace(model, decides_above=decision.threshold), decision


def require_seen(decision: Decision | None, rows: Iterable[Recording]) -> None:
    """Raises CompileError if rows show that the decision was taken from too few."""
    if decision is not None and any(
        contradicted(decision, r.values(r.taps[0].name)[:, 0]) for r in rows
    ):
        raise CompileError(
            f"{decision}, but on further rows it gives values outside 0 to 1; say which it is: "
            "--decision-threshold 0 (a logit) or 0.5 (a probability)"
        )


def require_probabilities(tapped: TappedModel, rows: Iterable[Recording]) -> None:
    """Raises CompileError if rows show that probabilities are none: their logarithms are taken."""
    for tap in (t for t in tapped.taps if t.probabilities):
        for recording in rows:
            for start in range(0, len(recording), evaluation.BLOCK):
                block = np.arange(start, min(start + evaluation.BLOCK, len(recording)))
                if (recording.values(tap.name, block) < 0).any():
                    raise CompileError(
                        f"{tap.name!r} was taken for probabilities by its values on the first "
                        "rows, but on others it is negative: name another output (--output), or "
                        "export the model with its logits"
                    )


def finite(what: str, rows: Recording, reporter: Reporter) -> Recording:
    """The rows without a NaN or an infinity in a tap: such a row is a fault, not a lesson."""
    kept = np.ones(len(rows), bool)
    for tap in (t for t in rows.taps if t.dtype == "float32"):
        for start in range(0, len(rows), evaluation.BLOCK):
            block = np.arange(start, min(start + evaluation.BLOCK, len(rows)))
            kept[block] &= np.isfinite(rows.codes(tap.name, block)).all(axis=1)
    if kept.all():
        return rows
    if not kept.any():
        raise CompileError(f"the model's taps hold a NaN or an infinity on all {what}")
    reporter.warn(
        f"{int((~kept).sum())} of {len(rows)} {what} give a NaN or an infinity in a tap and "
        "are left out; on the device they are faults"
    )
    return rows.take(np.flatnonzero(kept))
