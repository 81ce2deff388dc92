"""All rows of one compile, recorded."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from edgemon.compiler.data.loading import Dataset
from edgemon.compiler.data.splits import Splits
from edgemon.compiler.models.model import TappedModel
from edgemon.compiler.recording.recorder import Recorder, finite
from edgemon.compiler.recording.recording import Recording
from edgemon.compiler.reporter import Reporter


@dataclass(frozen=True, eq=False)
class Recorded:
    """Rows by split: all of them, and without those that are faults; threshold rows under other
    kernel sets."""

    all: Splits[Recording]
    finite: Splits[Recording]
    others: list[Recording]

    @classmethod
    def of(
        cls, recorder: Recorder, tapped: TappedModel, splits: Splits[Dataset],
        others: Sequence[str], reporter: Reporter,
    ) -> Recorded:  # fmt: skip
        """``others``: kernel sets besides the recorder's own."""

        def recording(name: str, data: Dataset) -> Recording:
            with reporter.stage(f"recording {len(data)} {name} rows") as progress:
                return recorder.record(tapped, data, progress)

        rows = splits.map(recording)
        under_others = []
        for name in others:
            what = f"threshold rows under {name} kernels"
            with reporter.stage(f"recording {what}") as progress:
                found = recorder.record(tapped, splits.threshold, progress, kernels=name)
                under_others.append(finite(what, found, reporter))
        kept = rows.map(lambda name, r: finite(f"{name} rows", r, reporter))
        return cls(rows, kept, under_others)
