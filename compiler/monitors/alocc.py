"""ALOCC: what a network that was trained on the answered class cannot redraw.

The network is a companion model (``edgemon alocc train``): it takes the image, and the classifier's
output in which it finds the class, and gives the image redrawn.
"""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from edgemon.compiler.errors import CompileError
from edgemon.compiler.models.model import Model
from edgemon.compiler.monitors.estimator import Analysis, MonitorEstimator, Score
from edgemon.compiler.program.ir import Builder
from edgemon.compiler.recording.recording import BLOCK_ELEMENTS, Recording
from edgemon.runtime.views import COMPANION, OF_COMPANION

ALL_OUTPUTS = "output" + OF_COMPANION


class ReconstructionMonitor(MonitorEstimator):
    """Mean squared difference of the model's input and of what the companion makes of it."""

    kind: ClassVar[str] = "alocc"
    learns_errors: ClassVar[bool] = False
    default_taps: ClassVar[tuple[str, ...]] = ("input", ALL_OUTPUTS)
    least_taps: ClassVar[int] = 2
    most_taps: ClassVar[int | None] = 2
    reads_layers: ClassVar[bool] = False
    companion_view: ClassVar[str] = COMPANION
    companion_source: ClassVar[str] = "one that `edgemon alocc train` makes"
    what: ClassVar[str] = "an image that a network of its class redraws badly"
    source: ClassVar[str] = (
        "Sabokrou, Khalooei, Fathy, Adeli: Adversarially Learned One-Class Classifier for Novelty "
        "Detection, CVPR 2018; as ALOOC in Ferreira et al., PRDC 2021"
    )

    def __init__(self, taps: tuple[str, ...] = ()) -> None:
        self.taps = taps

    def analyse(self, model: Model) -> Analysis:
        return Analysis((model.input.name, ALL_OUTPUTS))

    def check_taps(self) -> None:
        super().check_taps()
        if sum(name.endswith(OF_COMPANION) for name in self.taps) != 1:
            raise CompileError(
                f"monitor {self.kind!r} compares a tensor of the model with an output of the "
                f"companion, as --taps {self.kind}=NAME+NAME{OF_COMPANION}"
            )

    def _fit(self, recording: Recording) -> None:
        """Needs no labels; learns nothing but what is usual, for people."""
        given, redrawn = (recording.tap(name) for name in self.taps)
        if given.length != redrawn.length:
            raise CompileError(
                f"monitor {self.kind}: {given.name} has {given.length:,} numbers, and "
                f"{redrawn.name} has {redrawn.length:,}: the companion must redraw what it is given"
            )
        self.length_ = given.length
        step, total = max(1, BLOCK_ELEMENTS // self.length_), 0.0
        for start in range(0, len(recording), step):
            rows = np.arange(start, min(start + step, len(recording)))
            x, y = (recording.values(name, rows) for name in self.taps)
            total += float(np.square(x - y).sum())
        self.usual_ = total / (len(recording) * self.length_)

    def lower(self, builder: Builder, predicted: int) -> Score:  # noqa: ARG002 - the contract
        error = builder.node("squared_error", *map(builder.tap, self.taps))
        return Score(builder.node("scale", error, tables=[np.array([1 / self.length_])]))

    def reason(self) -> str:
        return "the image is redrawn badly: mean squared error {score}, above {threshold}"

    def details(self) -> dict[str, Any]:
        return {"numbers": self.length_, "mean_on_fit_rows": self.usual_}
