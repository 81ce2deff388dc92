"""Which tensors one compile taps: wanted, tried, and read in the end."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from edgemon.compiler.data.loading import Dataset
from edgemon.compiler.fitted import Fitted
from edgemon.compiler.left_out import LeftOut
from edgemon.compiler.models import tap_rules
from edgemon.compiler.models.graph import Tensor
from edgemon.compiler.models.model import Model, TappedModel
from edgemon.compiler.monitors import MonitorEstimator
from edgemon.compiler.options import Options
from edgemon.compiler.recording.recorder import Recorder
from edgemon.compiler.recording.recording import Recording
from edgemon.compiler.taps.assignment import assign_taps
from edgemon.compiler.taps.safety import follow, settle


@dataclass(frozen=True)
class ChosenTaps:
    """``tensors`` to tap, the model's output first; ``logits`` among them break ties of scores."""

    tensors: tuple[Tensor, ...]
    logits: tuple[Tensor, ...]

    @classmethod
    def wanted(
        cls, model: Model, estimators: Sequence[MonitorEstimator], options: Options,
        left_out: list[LeftOut],
    ) -> ChosenTaps:  # fmt: skip
        """What monitors read (see ``assign_taps``), and what ranks ties where that may happen."""
        tensors = assign_taps(
            model, estimators, options.taps, options.preprocess, left_out, options.companion
        )
        logits = tuple(tap_rules.suggest(model.graph).get("logits", ()))
        if options.thresholds == "guaranteed":
            tensors = tuple(dict.fromkeys((*tensors, *logits)))
        return cls(tensors, tuple(t for t in logits if t in tensors))

    def tried(
        self, recorder: Recorder, test: Dataset, estimators: Sequence[MonitorEstimator],
        left_out: list[LeftOut],
    ) -> ChosenTaps:  # fmt: skip
        """The same without tensors that cannot be tapped without a change of the model's answers;
        estimators follow, and ``left_out`` gets what they lose."""
        moves = settle(recorder.model, self.tensors, recorder.changed_by(test))
        follow(estimators, moves, left_out)

        def moved(tensors: tuple[Tensor, ...]) -> tuple[Tensor, ...]:
            return tuple(t for t in (moves.get(t, t) for t in tensors) if t is not None)

        return ChosenTaps(tuple(dict.fromkeys(moved(self.tensors))), moved(self.logits))

    def tap(self, recorder: Recorder) -> TappedModel:
        """The model with these taps, as a file in the recorder's folder."""
        model = recorder.model
        return model.with_taps(self.tensors, recorder.scratch / model.tapped_name)

    def without_unread(
        self, recorder: Recorder, tapped: TappedModel, fitted: Fitted, test: Dataset,
        recorded: Recording,
    ) -> TappedModel:  # fmt: skip
        """The tapped model without taps that no monitor came to read. Raises ParityError if the
        others depend on them."""
        read = {tap.name for tap in fitted.program.taps}
        if len(read) == len(tapped.taps):
            return tapped
        pairs = zip(self.tensors, tapped.taps, strict=True)
        fewer = ChosenTaps(tuple(t for t, tap in pairs if tap.name in read), ())
        found = fewer.tap(recorder)
        recorder.compare_taps(found, test, recorded)
        return found
