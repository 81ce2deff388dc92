"""ODIN with its gradient: the logits of an input that was moved towards the model's own answer.

The step comes from a companion model (``compiler.gradient``), and the classifier runs a second time
on what it gives. Usual rows gain more confidence by it than novel ones.
"""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from edgemon.compiler.errors import CompileError
from edgemon.compiler.gradient.codes import Codes
from edgemon.compiler.gradient.refused import of_another_input
from edgemon.compiler.models.front_ends import open_model
from edgemon.compiler.models.model import Model
from edgemon.compiler.monitors.output_scores import OdinMonitor
from edgemon.runtime.formats import TFLITE, format_of
from edgemon.runtime.preprocess import FLOAT_INPUTS, InputSpec, Preprocess
from edgemon.runtime.views import ODIN, PERTURBED

Steps = npt.NDArray[np.float32]

HALF_A_CODE = 0.5
AGREEMENT = "answers_shared_with_float_model"  # in documents
_QUANTISE = ("QuantizeLinear", "QUANTIZE")


class GradientOdinMonitor(OdinMonitor):
    """As ``odin_t``, of the moved input. ``eps``: the step, as a share of ``white``, the value of a
    white pixel before --preprocess; its default is the smaller of the paper's. ``float_model``:
    a file whose gradient is taken, and ``agreement`` the share of rows that it answers as the model
    does, where they have been compared."""

    kind: ClassVar[str] = "odin"
    default_taps: ClassVar[tuple[str, ...]] = ("logits" + PERTURBED,)
    companion_view: ClassVar[str] = ODIN
    from_model: ClassVar[tuple[str, ...]] = ("taps", "float_model", "agreement")
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
        white: float = 255.0, float_model: str = "", agreement: float | None = None,
    ) -> None:  # fmt: skip
        super().__init__(taps)
        self.eps = eps
        self.temperature = temperature
        self.white = white
        self.float_model = float_model
        self.agreement = agreement

    def companion(self, model: Model, preprocess: Preprocess) -> bytes:
        """Made of the gradient of the model, or of that of ``float_model``."""
        step = steps_of(self.eps, self.white, preprocess, model.input)
        _require_felt(self.eps, float(step.min()), model)
        with tempfile.TemporaryDirectory(prefix="edgemon-") as scratch:
            source = model
            if self.float_model:
                source = open_source(Path(self.float_model), model, Path(scratch))
            return _step_model(source, model, step, self.temperature)

    def check_taps(self) -> None:
        super().check_taps()
        if not all(name.endswith(PERTURBED) for name in self.taps):
            raise CompileError(
                f"monitor {self.kind!r} reads logits of the moved input, as --taps "
                f"{self.kind}=logits{PERTURBED}; those of the input itself are read by odin_t"
            )

    def details(self) -> dict[str, Any]:
        found = {"eps": self.eps, "temperature": self.temperature}
        if self.agreement is None:
            return found
        return {**found, AGREEMENT: self.agreement}


def steps_of(eps: float, white: float, preprocess: Preprocess, entry: InputSpec) -> Steps:
    """A step of ``eps * white`` in an image, as --preprocess makes it: one, or one of each channel,
    in a shape that is broadcast to the model's input."""
    std = np.array(preprocess.std or (1.0,), np.float64)
    steps = np.abs(eps * white * preprocess.scale / std).astype(np.float32)
    first = len(steps) > 1 and preprocess.layout_of(entry) == "nchw" and len(entry.shape) == 3
    return steps.reshape(-1, 1, 1) if first else steps


def open_source(path: Path, model: Model, scratch: Path) -> Model:
    """The float model whose gradient is taken for ``model``. Raises EdgemonError."""
    source = open_model(path, scratch)
    source.require_classifier()
    if format_of(source.content) is not format_of(model.content):
        wanted, found = (format_of(m.content).suffix for m in (model, source))
        raise CompileError(
            f"--float-model {path}: runs as {found}, and the model as {wanted}; give it in the "
            "format of the model"
        )
    if source.input.tensor_shape != model.input.tensor_shape:
        raise of_another_input(source.input.tensor_shape, model.input.tensor_shape)
    if source.n_classes != model.n_classes:
        raise CompileError(
            f"--float-model {path}: has {source.n_classes} classes, and the model "
            f"{model.n_classes}; give the one that it was made from"
        )
    return source


def code_of(model: Model) -> float:
    """The size of a code to which the model rounds its input, in what --preprocess makes; 0 of one
    that takes floats as they are."""
    entry, graph = model.input, model.graph
    if entry.scale or entry.dtype not in FLOAT_INPUTS:
        return entry.scale or 1.0
    readers = [o for o in graph.operators if graph.inputs[0] in o.inputs]
    scales = [graph.tensors[o.outputs[0]].scale for o in readers if o.name in _QUANTISE]
    return min(scales) if scales and len(scales) == len(readers) else 0.0


def codes_of(model: Model) -> Codes:
    """What whole numbers mean that --preprocess is to make for a model without a scale of them.
    Raises CompileError where the model does not say."""
    is_onnx = format_of(model.content) is not TFLITE
    if model.input.dtype in FLOAT_INPUTS or not is_onnx:
        return Codes()
    from edgemon.compiler.gradient.onnx_step import codes_of
    from edgemon.compiler.models.onnx_model import OnnxModel

    assert isinstance(model, OnnxModel)
    return codes_of(model)


def _step_model(source: Model, model: Model, step: Steps, temperature: float) -> bytes:
    # Imported here, so that who uses no companion does not load the schema of TFLite, or onnx.
    if format_of(source.content) is TFLITE:
        from edgemon.compiler.gradient import tflite_step

        return tflite_step.step_model(source.content, model.input, step, temperature)
    from edgemon.compiler.gradient import onnx_step
    from edgemon.compiler.models.onnx_model import OnnxModel

    assert isinstance(source, OnnxModel)
    assert isinstance(model, OnnxModel)
    codes = codes_of(model)
    return onnx_step.step_model(
        source, model.input, codes, step * np.float32(codes.scale), temperature
    )


def _require_felt(eps: float, step: float, model: Model) -> None:
    """Raises CompileError for a step that rounds to none in the codes of the input."""
    code = code_of(model)
    codes = step / code if code else np.inf
    if codes <= HALF_A_CODE:
        least = f"above {eps * HALF_A_CODE / codes:.2g}" if codes else "above 0"
        raise CompileError(
            f"monitor odin: eps={eps:g} is {codes:.2g} of a code of the model's input, which "
            f"rounds to none; use eps {least} (odin:eps=...), or odin_t"
        )
