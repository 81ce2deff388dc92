"""A TFLite classifier on one thread, with the kernels that it was calibrated on.

The interpreter is ``ai_edge_litert`` where it is installed, else ``tflite_runtime``.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from edgemon.runtime.classifier import Classifier, first_line
from edgemon.runtime.errors import BackendError, InputError
from edgemon.runtime.preprocess import INPUT, InputSpec

Array = npt.NDArray[Any]

KERNELS = {
    "xnnpack": "AUTO",
    "builtin": "BUILTIN_WITHOUT_DEFAULT_DELEGATES",
    "reference": "BUILTIN_REF",
}
DEFAULT_KERNELS = "xnnpack"

NO_XNNPACK = (
    "the bundle was calibrated on XNNPACK kernels, which tflite-runtime 2.14 lacks for int8 "
    "models: a few verdicts may differ; use ai-edge-litert, or compile with "
    "--target host-x86_64-builtin, or with --certify-kernels xnnpack,builtin"
)


class TfliteClassifier(Classifier):
    """One TFLite model. ``kernels`` is "xnnpack" (what an interpreter takes by itself), "builtin"
    (the optimised kernels without a delegate) or "reference"."""

    runs = "a TFLite model"
    kernel_sets = KERNELS

    def __init__(
        self,
        model: Path,
        *,
        threads: int = 1,
        kernels: str = DEFAULT_KERNELS,
        content: bytes | None = None,
    ) -> None:
        super().__init__(model, kernels, content)
        source = {"model_path": str(model)} if content is None else {"model_content": content}
        create, resolvers = _backend()
        if kernels == "xnnpack" and create.__module__.startswith("tflite_runtime"):
            warnings.warn(NO_XNNPACK, RuntimeWarning, stacklevel=2)
        try:
            self._interpreter = create(
                **source,
                num_threads=threads,
                experimental_op_resolver_type=resolvers[KERNELS[kernels]],
            )
            for found in self._interpreter.get_input_details():
                if len(found["shape"]) and found["shape_signature"][0] == -1:
                    self._interpreter.resize_tensor_input(found["index"], [1, *found["shape"][1:]])
            self._interpreter.allocate_tensors()
            self._inputs = self._interpreter.get_input_details()
            outputs = self._interpreter.get_output_details()
        except (ValueError, RuntimeError) as error:
            raise BackendError(f"{model}: the interpreter refuses it: {reason(error)}") from None
        self._first = self._inputs[0]["index"] if self._inputs else -1
        self._reset = self._interpreter.reset_all_variables  # bound once: an image takes each
        self._set, self._run = self._interpreter.set_tensor, self._interpreter.invoke
        self._x = np.zeros(0, np.float32)  # the last input: the interpreter's own is overwritten
        self._views: list[Callable[[], Array]] = [
            self._interpreter.tensor(detail["index"]) for detail in outputs
        ]
        self.n_outputs = len(outputs)
        self.output_names = tuple(str(detail["name"]) for detail in outputs)

    @property
    def input(self) -> InputSpec:
        self._require_one_input(len(self._inputs))
        detail = self._inputs[0]
        scale, zero_point = detail["quantization"]
        shape = tuple(int(n) for n in detail["shape"])
        spec = InputSpec.of_tensor(str(detail["name"]), shape, str(np.dtype(detail["dtype"])))
        return replace(spec, scale=float(scale), zero_point=int(zero_point))

    @property
    def interpreter(self) -> Any:
        """The interpreter itself, for measurements."""
        return self._interpreter

    @property
    def entries(self) -> tuple[tuple[str, tuple[int, ...]], ...]:
        return tuple(
            (str(np.dtype(d["dtype"])), tuple(int(n) for n in d["shape"])) for d in self._inputs
        )

    def invoke(self, x: Array, *more: Array) -> None:
        # State that a model keeps between calls (an LSTM's) is cleared: one image, one answer.
        try:
            self._reset()
            self._set(self._first, x)
            for detail, value in zip(self._inputs[1:], more, strict=False):
                self._set(detail["index"], value)
            self._run()
            self._x = x
        except ValueError as error:
            raise InputError(f"the model's input does not fit: {reason(error)}") from None
        except RuntimeError as error:
            raise self._failure(reason(error)) from None

    def invoke_zeros(self) -> None:
        for detail in self._inputs:
            zeros = np.zeros(detail["shape"], detail["dtype"])
            self._interpreter.set_tensor(detail["index"], zeros)
            self._x = zeros
        try:
            self._interpreter.invoke()
        except RuntimeError as error:
            raise self._failure(reason(error)) from None

    def view(self, position: int) -> Array:
        if position == INPUT:
            return self._x.reshape(-1)
        return self._views[position]().reshape(-1)

    def reader(self, position: int) -> Callable[[], Array]:
        # Called for every image: the memory may have moved since the last.
        return (lambda: self._x) if position == INPUT else self._views[position]

    @staticmethod
    def backend() -> str:
        from importlib.metadata import PackageNotFoundError, version  # slow to import

        for module, package in (
            ("ai_edge_litert", "ai-edge-litert"),
            ("tflite_runtime", "tflite-runtime"),
        ):
            if find_spec(module) is not None:
                try:
                    return f"{package} {version(package)}"
                except PackageNotFoundError:
                    return package
        raise BackendError(_NONE)


_SOURCE_FILE = re.compile(r"^\S*/\S*:\d+:? ")
_NONE = "no TFLite interpreter is installed: pip install ai-edge-litert"


def reason(error: Exception) -> str:
    """The first sentence of an interpreter's message, without the path of its source file."""
    first = _SOURCE_FILE.sub("", first_line(error))
    # Several messages are glued together without a space: "... Was 3.Tensor 33 has invalid ..."
    return re.split(r"(?<=\.)(?=[A-Z])", first)[0].rstrip(".")[:200]


def _backend() -> tuple[Callable[..., Any], Any]:
    """The interpreter's class and its enumeration of op resolvers."""
    if find_spec("ai_edge_litert") is not None:
        from ai_edge_litert import interpreter
    elif find_spec("tflite_runtime") is not None:
        # Its binary module was built for NumPy 1 and dies with a SystemError under NumPy 2.
        if int(np.__version__.split(".")[0]) >= 2:
            raise BackendError(
                f"{TfliteClassifier.backend()} needs NumPy < 2, found {np.__version__}: "
                "pip install 'numpy<2', or install ai-edge-litert"
            )
        from tflite_runtime import interpreter
    else:
        raise BackendError(_NONE)
    return interpreter.Interpreter, interpreter.OpResolverType
