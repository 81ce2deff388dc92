"""A TFLite classifier on one thread, with the kernels that it was calibrated on.

The interpreter is ``ai_edge_litert`` where it is installed, else ``tflite_runtime``.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable
from dataclasses import replace
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from edgemon.runtime.errors import BackendError, InputError
from edgemon.runtime.preprocess import INPUT, InputSpec

Array = npt.NDArray[Any]

KERNELS = {
    "xnnpack": "AUTO",
    "builtin": "BUILTIN_WITHOUT_DEFAULT_DELEGATES",
    "reference": "BUILTIN_REF",
}

NO_XNNPACK = (
    "the bundle was calibrated on XNNPACK kernels, which tflite-runtime 2.14 lacks for int8 "
    "models: a few verdicts may differ; use ai-edge-litert, or compile with "
    "--target host-x86_64-builtin, or with --certify-kernels xnnpack,builtin"
)


class Classifier:
    """One TFLite model, allocated for one image at a time.

    ``kernels`` is "xnnpack" (what an interpreter takes by itself), "builtin" (the optimised
    kernels without a delegate) or "reference"; ``content`` the file's, if it was read.
    Raises BackendError if the model cannot be used.
    """

    def __init__(
        self,
        model: Path,
        *,
        threads: int = 1,
        kernels: str = "xnnpack",
        content: bytes | None = None,
    ) -> None:
        if kernels not in KERNELS:
            raise BackendError(f"kernels {kernels!r} are unknown; use {', '.join(KERNELS)}")
        if content is None and not model.is_file():
            raise BackendError(f"{model}: no such file")
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
            found = self._interpreter.get_input_details()
            if len(found) == 1 and len(found[0]["shape"]) and found[0]["shape_signature"][0] == -1:
                self._interpreter.resize_tensor_input(
                    found[0]["index"], [1, *found[0]["shape"][1:]]
                )
            self._interpreter.allocate_tensors()
            self._inputs = self._interpreter.get_input_details()
            outputs = self._interpreter.get_output_details()
        except (ValueError, RuntimeError) as error:
            raise BackendError(f"{model}: the interpreter refuses it: {reason(error)}") from None
        self._model = model
        self._x = np.zeros(0, np.float32)  # the last input: the interpreter's own is overwritten
        self._views: list[Callable[[], Array]] = [
            self._interpreter.tensor(detail["index"]) for detail in outputs
        ]
        self.n_outputs = len(outputs)
        self.output_names = tuple(str(detail["name"]) for detail in outputs)

    @property
    def input(self) -> InputSpec:
        """The single input. Raises BackendError if the model has several."""
        if len(self._inputs) != 1:
            raise BackendError(f"{self._model}: the model has {len(self._inputs)} inputs, not one")
        detail = self._inputs[0]
        scale, zero_point = detail["quantization"]
        shape = tuple(int(n) for n in detail["shape"])
        spec = InputSpec.of_tensor(str(detail["name"]), shape, str(np.dtype(detail["dtype"])))
        return replace(spec, scale=float(scale), zero_point=int(zero_point))

    @property
    def interpreter(self) -> Any:
        """The interpreter itself, for measurements."""
        return self._interpreter

    def invoke(self, x: Array) -> None:
        """Run the model on one input tensor (see ``preprocess.to_input``).

        State that a model keeps between calls (an LSTM's) is cleared first: one image, one answer.
        """
        try:
            self._interpreter.reset_all_variables()
            self._interpreter.set_tensor(self._inputs[0]["index"], x)
            self._interpreter.invoke()
            self._x = x
        except ValueError as error:
            raise InputError(f"the model's input does not fit: {reason(error)}") from None
        except RuntimeError as error:
            raise BackendError(f"{self._model}: the model fails to run: {reason(error)}") from None

    def invoke_zeros(self) -> None:
        """Run the model on zeros in every input."""
        for detail in self._inputs:
            zeros = np.zeros(detail["shape"], detail["dtype"])
            self._interpreter.set_tensor(detail["index"], zeros)
            self._x = zeros
        try:
            self._interpreter.invoke()
        except RuntimeError as error:
            raise BackendError(f"{self._model}: the model fails to run: {reason(error)}") from None

    def view(self, position: int) -> Array:
        """The output, flat, in the interpreter's own memory, or at ``INPUT`` the input: drop it
        before the next ``invoke``."""
        if position == INPUT:
            return self._x.reshape(-1)
        return self._views[position]().reshape(-1)

    def output(self, position: int) -> Array:
        """A copy of it."""
        return self.view(position).copy()

    @staticmethod
    def backend() -> str:
        """Name and version of the interpreter's package, such as "ai-edge-litert 2.3.0"."""
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
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    first = _SOURCE_FILE.sub("", lines[0]) if lines else "no reason given"
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
                f"{Classifier.backend()} needs NumPy < 2, found {np.__version__}: "
                "pip install 'numpy<2', or install ai-edge-litert"
            )
        from tflite_runtime import interpreter
    else:
        raise BackendError(_NONE)
    return interpreter.Interpreter, interpreter.OpResolverType
