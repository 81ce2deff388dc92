"""Whose monitors are judged: those that a case names, compiled here, or those of a bundle."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from edgemon.bench.compare import costs
from edgemon.bench.compare.panel import PanelOptions
from edgemon.bench.compare.recorder import CaseRecorder, with_taps
from edgemon.bench.compare.rows import CaseRows, load_rows
from edgemon.bench.errors import BenchError
from edgemon.bench.farm.compiled import CERTIFIED, Compiled, Judgement, in_c, properties, scores
from edgemon.bench.farm.spec import FarmCase
from edgemon.bench.shift.run import learned_from
from edgemon.compiler.bundle.bundle import Bundle
from edgemon.compiler.bundle_rows import record_loaded
from edgemon.compiler.data.classes import label_map
from edgemon.compiler.data.loading import Dataset
from edgemon.compiler.data.splits import DROP, Splits
from edgemon.compiler.emit import flat
from edgemon.compiler.errors import CompileError
from edgemon.compiler.models import open_model
from edgemon.compiler.program.ir import Program
from edgemon.compiler.recording.recording import Recording
from edgemon.compiler.reporter import Progress, Reporter
from edgemon.runtime.preprocess import InputSpec, Preprocess

Document = dict[str, Any]
VERDICT = "verdict"  # of all monitors of a bundle together


class Judge(Protocol):
    """One monitor."""

    def judge(self, rows: Recording) -> Judgement: ...
    def properties(self) -> Document: ...
    def content(self) -> bytes: ...


class Subject(Protocol):
    """The model of a case, and the monitors that are judged."""

    data: CaseRows
    labels: npt.NDArray[np.int64]
    input: InputSpec
    model_path: Path

    def record(self, data: Dataset, name: str, /) -> Recording:
        """All rows; files stay in the scratch folder."""

    def monitors(self, clean: Recording) -> Iterator[tuple[str, Judge | str]]:
        """By name; or why one is left out. Each is made when it is asked for; ``clean`` rows
        decide nothing."""

    def costs(self, progress: Progress) -> Document:
        """Measured times."""


class OfCase:
    """Compiles the monitors of a case. ``data``: its rows."""

    def __init__(
        self, case: FarmCase, root: Path, options: PanelOptions, scratch: Path, reporter: Reporter
    ) -> None:
        self._case, self._options = case, options
        self.model_path = root / case.model
        with reporter.stage(f"{case.name}: opening the model"):
            model = open_model(root / case.model, scratch)
            model.require_classifier()
        self.labels = label_map(model.n_classes, case.label_order)
        with reporter.stage(f"{case.name}: reading the data"):
            self.data = load_rows(
                case, root, self.labels, scratch, reporter, model.input, sharing=DROP
            )
        self._estimators, self._refused, tensors = with_taps(
            case, root, model, self.data.pool[0], options.seed, reporter
        )
        self._recorder = CaseRecorder(
            case, model, tensors, self.data.fit, scratch, options.workers, reporter
        )
        self.input = model.input
        self._programs: dict[str, Program] = {}
        self._some: Recording | None = None

    def record(self, data: Dataset, name: str) -> Recording:
        return self._recorder.record(data, name)

    def monitors(self, clean: Recording) -> Iterator[tuple[str, Compiled | str]]:
        rows = Splits(
            self.record(self.data.fit, "fit"), self.record(self.data.pool[0], "threshold"), clean
        )
        self._some = rows.threshold
        for name in self._case.monitors:
            if name in self._refused:
                yield name, self._refused[name]
                continue
            try:
                found = Compiled.of(
                    self._estimators[name], self._recorder.output, self._recorder.logits, rows,
                    self._options.target, self._options.seed,
                    [c.info for c in self._recorder.companions],
                )  # fmt: skip
            except CompileError as error:
                yield name, str(error)
                continue
            self._programs[name] = found.program
            yield name, found

    def costs(self, progress: Progress) -> Document:
        preprocess = Preprocess.parse(self._case.preprocess)
        model, some = self._recorder.model, self.data.pool[0]
        us = costs.model_us(model, some, preprocess)
        beside = costs.companions(self._recorder.companions, model, some, preprocess)
        found = _times(self._programs, self._some, progress)
        for monitor in found:
            program = self._programs[monitor["monitor"]]
            monitor.update(costs.companion_json(program, beside))
            monitor["share_of_model"] = costs.share_of_model(
                program, monitor["nanoseconds"], beside, us
            )
        return {"model_us": us, "monitors": found}


class OfBundle:
    """The monitors of a bundle, in its own artifact, and their verdict together."""

    def __init__(
        self, case: FarmCase, root: Path, path: Path, workers: int, scratch: Path,
        reporter: Reporter,
    ) -> None:  # fmt: skip
        self._bundle, self._workers = Bundle.open(path), workers
        self.model_path = path
        self._bundle.require_intact()
        self._scratch, self._reporter = scratch, reporter
        metadata = self._bundle.artifact.metadata
        self.input = InputSpec.from_json(metadata["input"])
        self.labels = self._bundle.classes.map
        with reporter.stage(f"{case.name}: reading the data"):
            data = load_rows(case, root, self.labels, scratch, reporter, self.input, sharing=DROP)
        self.data = self._unseen(case, root, data)
        self._clean: Recording | None = None

    def _unseen(self, case: FarmCase, root: Path, data: CaseRows) -> CaseRows:
        """Without test rows from which the bundle learned."""
        test = data.pool[-1]
        learned = np.isin(test.numbers, learned_from(self._bundle, str(root / case.test)))
        if learned.all():
            raise BenchError(
                f"case {case.name!r}: the bundle learned from all test rows; give others (test)"
            )
        if learned.any():
            self._reporter.warn(
                f"case {case.name!r}: {int(learned.sum())} test rows are left out, from which the "
                "bundle learned"
            )
        pool = (*data.pool[:-1], test.take(np.flatnonzero(~learned)))
        return CaseRows(data.fit, pool, data.novel)

    def record(self, data: Dataset, _: str) -> Recording:
        own = Path(tempfile.mkdtemp(dir=self._scratch))
        return record_loaded(
            self._bundle, data, own, workers=self._workers, reporter=self._reporter
        )

    def monitors(self, clean: Recording) -> Iterator[tuple[str, BundleMonitor | str]]:
        self._clean = clean
        artifact = self._bundle.artifact
        names = [m.name for m in artifact.program.monitors[: self._judging]]
        if len(names) > 1:
            yield VERDICT, BundleMonitor(self._bundle.artifact_bytes, None)
        for i, name in enumerate(names):
            yield name, BundleMonitor(self._bundle.artifact_bytes, i)

    @property
    def _judging(self) -> int:
        return len(self._bundle.manifest["monitors"])

    def costs(self, progress: Progress) -> Document:
        program = self._bundle.artifact.program
        names = [m.name for m in program.monitors[: self._judging]]
        return {
            "model_us": None,
            "monitors": _times({n: program.only(n) for n in names}, self._clean, progress),
        }


@dataclass(frozen=True)
class BundleMonitor:
    """One monitor of a bundle's artifact, by position; None: their verdict together."""

    artifact: bytes
    position: int | None

    def judge(self, rows: Recording) -> Judgement:
        """What C says of the rows."""
        found = in_c(self.artifact, rows)
        if self.position is None:
            return Judgement({CERTIFIED: found.verdict}, None)
        own = found.verdicts[:, self.position]
        return Judgement({CERTIFIED: own}, scores(own, found.scores[self.position]))

    def properties(self) -> Document:
        read = flat.read(self.artifact)
        program, beside = read.program, read.companions
        if self.position is None:
            whole = {"bytes": len(self.artifact), "estimated_ns": None}
            size = sum(c.size for c in beside)
            more = {"companion_bytes": size} if size else {}
            return {**whole, "second_inference": program.second_inference, **more, "native": False}
        alone = program.only(program.monitors[self.position].name)
        return {**properties(alone, beside), "native": False}

    def content(self) -> bytes:
        """What its verdicts depend on."""
        return repr(self.position).encode() + self.artifact


def _times(
    programs: dict[str, Program], rows: Recording | None, progress: Progress
) -> list[Document]:
    if not programs or rows is None:
        return []
    times = costs.nanoseconds(list(programs.values()), rows, progress)
    return [
        {"monitor": name, "nanoseconds": ns, "bytes": costs.size_bytes(program)}
        for (name, program), ns in zip(programs.items(), times, strict=True)
    ]
