"""Monitors as ``edgemon compile`` makes them, and their verdicts through the C runtime."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from edgemon.bench.compare import costs
from edgemon.bench.latency import NO_MODEL
from edgemon.compiler.data.splits import Splits
from edgemon.compiler.emit import flat
from edgemon.compiler.fitting import fit_monitors
from edgemon.compiler.float_model import agreement_json
from edgemon.compiler.monitors import MonitorEstimator
from edgemon.compiler.monitors.lowering import lowered
from edgemon.compiler.program.ir import Program
from edgemon.compiler.promise.thresholds import Promise
from edgemon.compiler.recording.evaluation import blocks
from edgemon.compiler.recording.recording import Recording
from edgemon.runtime.evaluation import Evaluation, Verdict
from edgemon.runtime.monitor import CompanionInfo, Monitor

CERTIFIED, NATIVE = "certified", "native"


@dataclass(frozen=True, eq=False)
class Judgement:
    """Of n rows: the verdicts by each kind of threshold that there is, and scores, infinite on a
    fault; None of a verdict of several monitors."""

    verdicts: dict[str, npt.NDArray[np.uint8]]
    score: npt.NDArray[np.float64] | None

    @property
    def alarms(self) -> dict[str, npt.NDArray[np.bool_]]:
        """Which rows alarm: anything but trust."""
        return {kind: v != Verdict.TRUST for kind, v in self.verdicts.items()}

    def joined(self, other: Judgement) -> Judgement:
        """These rows, then the other ones."""
        return Judgement(
            {k: np.concatenate([v, other.verdicts[k]]) for k, v in self.verdicts.items()},
            None
            if self.score is None or other.score is None
            else np.concatenate([self.score, other.score]),
        )


@dataclass(frozen=True)
class Compiled:
    """One monitor: its artifact with thresholds that keep the promise, and with its method's own
    where it has any, by kind of threshold. ``about``: more for the document."""

    artifacts: dict[str, bytes]
    about: dict[str, float] = field(default_factory=dict)

    @classmethod
    def of(
        cls, estimator: MonitorEstimator, output: str, logits: str, rows: Splits[Recording],
        promise: Promise, seed: int, companions: Sequence[CompanionInfo] = (),
    ) -> Compiled:  # fmt: skip
        """``companions``: of the recorded model. Raises CompileError if it cannot learn from these
        rows. The test rows of ``rows`` decide nothing."""
        fitted = fit_monitors(
            [estimator], output, rows, promise, rule="guaranteed", logits=logits, seed=seed,
            times=costs.times(),
        )  # fmt: skip
        found = {CERTIFIED: artifact(fitted.program, companions)}
        plain = lowered([estimator], rows.fit.taps, output)
        if plain.scores[0].alarm_above is not None:
            found[NATIVE] = artifact(plain.quantised(), companions)
        return cls(found, agreement_json(estimator))

    @property
    def program(self) -> Program:
        """With the promised threshold."""
        return flat.read(self.artifacts[CERTIFIED]).program

    def judge(self, rows: Recording) -> Judgement:
        """What C says of the rows."""
        found = {kind: in_c(content, rows) for kind, content in self.artifacts.items()}
        verdicts = {kind: f.verdicts[:, 0] for kind, f in found.items()}
        return Judgement(verdicts, scores(verdicts[CERTIFIED], found[CERTIFIED].scores[0]))

    def properties(self) -> dict[str, Any]:
        """What the document says of it."""
        beside = flat.read(self.artifacts[CERTIFIED]).companions
        own = properties(self.program, beside)
        return {**own, **self.about, "native": NATIVE in self.artifacts}

    def content(self) -> bytes:
        """What its verdicts depend on."""
        return b"".join(k.encode() + v for k, v in self.artifacts.items())


def properties(program: Program, companions: Sequence[CompanionInfo]) -> dict[str, Any]:
    """Of the first monitor alone; ``companions`` of the artifact."""
    alone = program.only(program.monitors[0].name)
    beside = sum(c.size for c in companions if c.view in alone.companions)
    return {
        "bytes": costs.size_bytes(program),
        "estimated_ns": costs.estimated_ns(program),
        "second_inference": alone.second_inference,
        **({"companion_bytes": beside} if beside else {}),
    }


def scores(verdicts: npt.NDArray[np.uint8], raw: npt.NDArray[Any]) -> npt.NDArray[np.float64]:
    """Raw scores (n,) as numbers that rank; a fault is never trusted."""
    return np.where(verdicts == Verdict.FAULT, np.inf, raw.astype(np.float64))


def artifact(program: Program, companions: Sequence[CompanionInfo] = ()) -> bytes:
    """As it would lie on a device, beside such companions of which it needs some or none."""
    return flat.write(flat.Artifact(program, NO_MODEL, {}, companions=tuple(companions)))


def in_c(content: bytes, rows: Recording) -> Evaluation:
    """What the C runtime computes of an artifact on all rows."""
    monitor, program = Monitor(content), flat.read(content).program
    found = [monitor.evaluate(taps) for taps in blocks(program, rows)]
    every = zip(*(f.scores for f in found), strict=True)
    return Evaluation(
        np.concatenate([f.verdict for f in found]),
        np.concatenate([f.reason for f in found]),
        np.concatenate([f.predicted for f in found]),
        np.concatenate([f.verdicts for f in found]),
        tuple(np.concatenate(s) for s in every),
    )
