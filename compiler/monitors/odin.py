"""ODIN with its gradient: the logits of an input that was moved towards the model's own answer.

The step comes from a companion model (``compiler.gradient``), and the classifier runs a second time
on what it gives. Usual rows gain more confidence by it than novel ones.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from edgemon.compiler.errors import CompileError
from edgemon.compiler.models.front_ends import read_file
from edgemon.compiler.models.model import Model
from edgemon.compiler.monitors.estimator import MonitorEstimator
from edgemon.compiler.monitors.output_scores import OdinMonitor
from edgemon.runtime.formats import TFLITE, format_of
from edgemon.runtime.preprocess import InputSpec, Preprocess
from edgemon.runtime.views import ODIN, PERTURBED

HALF_A_CODE = 0.5


class GradientOdinMonitor(OdinMonitor):
    """As ``odin_t``, of the moved input. ``eps``: the step, as a share of ``white``, the value of a
    white pixel before --preprocess; its default is the smaller of the paper's."""

    kind: ClassVar[str] = "odin"
    default_taps: ClassVar[tuple[str, ...]] = ("logits" + PERTURBED,)
    companion_view: ClassVar[str] = ODIN
    from_model: ClassVar[tuple[str, ...]] = ("taps", "float_model")
    limits: ClassVar[dict[str, tuple[float, float]]] = {
        "eps": (0.0, 0.1), "temperature": (0.1, 100_000.0), "white": (1e-6, 65535.0),
    }  # fmt: skip
    what: ClassVar[str] = "logits that lie close together after a step to more confidence (ODIN)"
    source: ClassVar[str] = (
        "Liang, Li, Srikant: Enhancing the Reliability of Out-of-distribution Image Detection "
        "(ODIN), ICLR 2018"
    )

    def __init__(
        self, taps: tuple[str, ...] = (), eps: float = 0.0014, temperature: float = 1000.0,
        white: float = 255.0, float_model: str = "",
    ) -> None:  # fmt: skip
        super().__init__(taps)
        self.eps = eps
        self.temperature = temperature
        self.white = white
        self.float_model = float_model

    def companion(self, model: Model, preprocess: Preprocess) -> bytes:
        """Made of the gradient of the model, or of that of ``float_model``."""
        # Here alone, so that who uses no companion does not load the schema of TFLite.
        from edgemon.compiler.gradient.tflite_step import step_model

        content = model.content
        if self.float_model:
            content = read_file(Path(self.float_model), "a .tflite file")
        if format_of(content) is not TFLITE:
            raise CompileError(
                "monitor odin: the gradient is built of TFLite models alone; odin_t is the same "
                "score without the gradient, for ONNX too"
            )
        step = step_of(self.eps, self.white, preprocess)
        _require_felt(self.eps, step, model.input)
        return step_model(content, model.input, step, self.temperature)

    def check_taps(self) -> None:
        super().check_taps()
        if not all(name.endswith(PERTURBED) for name in self.taps):
            raise CompileError(
                f"monitor {self.kind!r} reads logits of the moved input, as --taps "
                f"{self.kind}=logits{PERTURBED}; those of the input itself are read by odin_t"
            )

    def details(self) -> dict[str, Any]:
        return {"eps": self.eps, "temperature": self.temperature}


def step_of(eps: float, white: float, preprocess: Preprocess) -> float:
    """A step of ``eps * white`` in an image, as real values of the model's input. Raises
    CompileError for channels of several scales."""
    std = set(preprocess.std or (1.0,))
    if len(std) > 1:
        raise CompileError(
            "monitor odin: --preprocess divides each channel by another std, and the companion "
            "steps by one size; use odin_t"
        )
    return abs(eps * white * preprocess.scale / std.pop())


def _require_felt(eps: float, step: float, entry: InputSpec) -> None:
    """Raises CompileError for a step that rounds to none in the codes of an integer input."""
    codes = step / entry.scale if entry.scale else np.inf
    if codes <= HALF_A_CODE:
        least = f"above {eps * HALF_A_CODE / codes:.2g}" if codes else "above 0"
        raise CompileError(
            f"monitor odin: eps={eps:g} is {codes:.2g} of a code of the model's {entry.dtype} "
            f"input, which rounds to none; use eps {least} (odin:eps=...), or odin_t"
        )


def give_float_model(estimators: Sequence[MonitorEstimator], path: Path | None) -> None:
    """Tell those that take a gradient whose it is. Raises CompileError if there are none."""
    found = [e for e in estimators if isinstance(e, GradientOdinMonitor)]
    if path is not None and not found:
        raise CompileError("--float-model goes with --monitor odin, which is not among them")
    for estimator in found if path is not None else ():
        estimator.set_params(float_model=str(path))
