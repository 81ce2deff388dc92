"""What references read: everything that the fusions of a case may read, as float64 features."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from edgemon.compiler.models import tap_rules
from edgemon.compiler.models.graph import Tensor
from edgemon.compiler.models.model import Model
from edgemon.compiler.monitors import MonitorEstimator
from edgemon.compiler.monitors.second_opinion import BANDS
from edgemon.compiler.monitors.shared.disagreement import odds_against
from edgemon.compiler.monitors.shared.vectors import Block, blocks_of, logits_values, values_of
from edgemon.compiler.program.ir import Tap
from edgemon.compiler.recording.recording import Recording
from edgemon.runtime.views import PLAIN

Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.integer[Any]]


@dataclass(frozen=True)
class Reads:
    """The ``tensors`` of the model's own inference that references read; among them the
    ``penultimate`` one in front of the logits, empty where it cannot be read."""

    tensors: tuple[Tensor, ...]
    penultimate: str

    @classmethod
    def of(cls, model: Model, estimators: Iterable[MonitorEstimator]) -> Reads:
        """What the fusions among these estimators read, or all of them where none is a fusion; the
        logits, and what stands in front of them."""
        every = list(estimators)
        readers = [e for e in every if e.learns_from_held_out] or every
        names = {tap for e in readers for r in (e, *e.members) for tap in r.taps}
        rules = tap_rules.suggest(model.graph)
        before = rules.get("penultimate", ())[:1]
        read = [t for t in model.graph.tensors if t.name in names and t.view == PLAIN]
        tensors = tuple(dict.fromkeys((*read, *rules.get("logits", ())[:1], *before)))
        return cls(tensors, before[0].name if before else "")

    def blocks(self, known: Iterable[Tap], logits: str) -> tuple[Block, ...]:
        """As compact monitors read them: elements of vectors, logarithms of probabilities, and of
        maps the means of channels in bands and their deviations. Probabilities of which there are
        logits say nothing more."""
        names = {t.name for t in self.tensors}
        told = [
            t for t in known if t.name in names and (not t.probabilities or t.name == logits)
        ]  # fmt: skip
        return blocks_of(told, logits=logits, bands=BANDS)


def blocks_json(blocks: Iterable[Block]) -> list[dict[str, Any]]:
    return [
        {"tap": b.tap.name, "features": b.width,
         "of": f"{b.statistic} of each channel" + f" in {b.bands} bands" * (b.bands > 1)
         if b.tap.channels else "elements"}
        for b in blocks
    ]  # fmt: skip


@dataclass(frozen=True, eq=False)
class Features:
    """Of n rows: ``every`` feature (n, width); ``penultimate`` (n, m), None where the model has
    none that can be read; ``logits`` (n, classes); ``predicted`` (n,)."""

    every: Floats
    penultimate: Floats | None
    logits: Floats
    predicted: Integers

    @classmethod
    def of(cls, rows: Recording, reads: Reads, logits: str) -> Features:
        return cls(
            values_of(rows, reads.blocks(rows.taps, logits)),
            rows.features(reads.penultimate) if reads.penultimate else None,
            logits_values(rows, logits),
            rows.predicted,
        )

    @property
    def softmax_odds(self) -> Floats:
        """(n,): log-odds (nats) of the softmax against its own answer."""
        return odds_against(self.logits, self.logits.argmax(axis=1))

    @property
    def with_order(self) -> Floats:
        """(n, width + classes + 1): every feature, the logits in descending order below the first,
        and ``softmax_odds``: a linear score cannot sort."""
        ordered = np.sort(self.logits, axis=1)[:, ::-1]
        return np.column_stack([self.every, ordered - ordered[:, :1], self.softmax_odds])
