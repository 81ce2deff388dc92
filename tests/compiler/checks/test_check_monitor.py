"""``check_monitor`` finds what it says that it checks."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
import pytest

from edgemon.compiler.checks import ContractError, check_monitor
from edgemon.compiler.errors import CompileError
from edgemon.compiler.monitors import MonitorEstimator, Needs, Score
from edgemon.compiler.monitors.shared.vectors import negated
from edgemon.compiler.program.ir import Builder
from edgemon.compiler.recording.recording import Recording


class Margin(MonitorEstimator):
    """Sum of exp(power * (z - max z)) of the logits z."""

    kind: ClassVar[str] = "margin"
    default_taps: ClassVar[tuple[str, ...]] = ("logits",)
    limits: ClassVar[dict[str, tuple[float, float]]] = {"power": (0.1, 10)}
    what: ClassVar[str] = "other classes near the answer"

    def __init__(self, taps: tuple[str, ...] = (), power: float = 1.0) -> None:
        self.taps = taps
        self.power = power

    def _fit(self, recording: Recording) -> None:
        self.scale_ = self.power / float(recording.values(self.taps[0]).std())

    def lower(self, builder: Builder, predicted: int) -> Score:  # noqa: ARG002
        z = builder.tap(self.taps[0])
        d = builder.node("sub", z, builder.node("max", z))
        scaled = builder.node("scale", d, tables=[np.array([self.scale_])])
        return Score(builder.node("sum", builder.node("exp", scaled)))

    def reason(self) -> str:
        return "{score}, above {threshold}"


class Copies(Margin):
    def __init__(self, taps: tuple[str, ...] = (), power: float = 1.0) -> None:
        super().__init__(taps, power * 1.5)


class DoesMore(Margin):
    def __init__(self, taps: tuple[str, ...] = (), power: float = 1.0) -> None:
        super().__init__(taps, power)
        self.cache_ = None


class TakesAnything(Margin):
    def check_settings(self) -> None:
        """Nothing."""


class TakesAnyTaps(Margin):
    def check_taps(self) -> None:
        """Nothing."""


class NeedsErrorsInSecret(Margin):
    def _fit(self, recording: Recording) -> None:
        super()._fit(recording)
        if recording.correct.all():
            raise ValueError("no errors")


class RefusesAtLength(Margin):
    def _fit(self, recording: Recording) -> None:
        super()._fit(recording)
        if recording.correct.all():
            raise CompileError("no errors,\nand nothing to learn from")


class NeedsNothingReally(Margin):
    needs: ClassVar[Needs] = Needs.CLASSES

    def check_rows(self, recording: Recording) -> None:
        """Nothing."""


class RefusesAll(Margin):
    def _fit(self, recording: Recording) -> None:
        raise CompileError(f"{len(recording)} rows are too few")


class ChangesParameters(Margin):
    def _fit(self, recording: Recording) -> None:
        super()._fit(recording)
        self.power = 2.0


class HidesState(Margin):
    def _fit(self, recording: Recording) -> None:
        super()._fit(recording)
        self.width = recording.width(self.taps)


class LearnsNothing(Margin):
    scale_ = 1.0

    def _fit(self, recording: Recording) -> None:
        """Nothing."""


class Draws(Margin):
    def _fit(self, recording: Recording) -> None:
        super()._fit(recording)
        self.scale_ *= float(np.random.default_rng().uniform(0.5, 1.5))


class Forgets(Margin):
    def lower(self, builder: Builder, predicted: int) -> Score:
        self.scale_ *= 0.5
        return super().lower(builder, predicted)


class SaysNaN(Margin):
    def details(self) -> dict[str, Any]:
        return {"spread": float("nan")}


class SaysUnknown(Margin):
    def reason(self) -> str:
        return "{score} on {layer}"


class Infinite(Margin):
    def lower(self, builder: Builder, predicted: int) -> Score:  # noqa: ARG002
        steep = builder.node("scale", builder.tap(self.taps[0]), tables=[np.array([1e5])])
        return Score(builder.node("sum", builder.node("exp", steep)))


class CoarseOnDevice(Margin):
    """The difference of two sums that differ by less than the device's codes of weights."""

    def lower(self, builder: Builder, predicted: int) -> Score:  # noqa: ARG002
        z = builder.tap(self.taps[0])
        sums = [
            builder.node("affine", z, tables=[np.array([1.0, small, 0, 0]), np.zeros(1)])
            for small in (1e-7, 0.0)
        ]
        return Score(builder.node("sub", *sums))


class UncertainAboveAlarm(Margin):
    def lower(self, builder: Builder, predicted: int) -> Score:
        return Score(super().lower(builder, predicted).id, alarm_above=1.0, uncertain_above=2.0)


class InfiniteThreshold(Margin):
    def lower(self, builder: Builder, predicted: int) -> Score:
        return Score(super().lower(builder, predicted).id, alarm_above=float("nan"))


class OnlyUncertain(Margin):
    def lower(self, builder: Builder, predicted: int) -> Score:
        return Score(super().lower(builder, predicted).id, uncertain_above=2.0)


class Smaller(Margin):
    def least_bytes(self, recording: Recording) -> int:
        return 1000 * len(recording)


class Reversed(Margin):
    def lower(self, builder: Builder, predicted: int) -> Score:
        return Score(negated(builder, super().lower(builder, predicted).id))


def test_a_monitor_that_keeps_the_contract_passes_and_stays_as_it_is() -> None:
    margin = Margin()
    check_monitor(margin)
    assert vars(margin) == {"taps": (), "power": 1.0}


@pytest.mark.parametrize(
    ("monitor", "sentence"),
    [
        (Copies, "its constructor must store each parameter as it is"),
        (DoesMore, "its constructor must store each parameter as it is"),
        (TakesAnything, "power=-0.9: must be refused by a CompileError"),
        (TakesAnyTaps, "no taps: must be a CompileError, not IndexError"),
        (NeedsErrorsInSecret, "rows that are all right: must be a CompileError, not ValueError"),
        (RefusesAtLength, "rows that are all right: the refusal must be one sentence"),
        (NeedsNothingReally, "rows of one class: must be refused by a CompileError"),
        (RefusesAll, "where nothing is wrong, 900 rows are too few"),
        (ChangesParameters, "fit must not change parameters"),
        (HidesState, "learned state must end in '_', unlike width"),
        (LearnsNothing, "fit must learn something"),
        (Draws, "two fits on the same rows must learn the same"),
        (Forgets, "lower must give the same program each time"),
        (SaysNaN, r"details\(\) must be JSON without NaN"),
        (SaysUnknown, r"reason\(\) names \['layer'\], which nobody knows"),
        (Infinite, "its score must be finite on every row"),
        (CoarseOnDevice, "quantised, its score ranks rows otherwise"),
        (UncertainAboveAlarm, "'uncertain' needs an own alarm_above, not below it"),
        (InfiniteThreshold, "its own threshold must be finite"),
        (OnlyUncertain, "'uncertain' needs an own alarm_above"),
        (Smaller, "least_bytes says 900000 bytes, but it takes"),
        (Reversed, "a higher score must be more suspicious, but its AUROC of errors is 0.[0-4]"),
    ],
)
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_a_broken_contract_is_said_in_a_sentence(monitor: type[Margin], sentence: str) -> None:
    with pytest.raises(ContractError, match=sentence) as broken:
        check_monitor(monitor())
    assert "margin" in str(broken.value)


def test_what_sees_novelty_alone_need_not_rank_errors() -> None:
    check_monitor(Reversed(), sees_errors=False)
