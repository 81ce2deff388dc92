"""An ONNX classifier on ONNX Runtime."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from edgemon.runtime.classifier import Classifier, first_line
from edgemon.runtime.errors import BackendError, InputError
from edgemon.runtime.preprocess import INPUT, InputSpec

Array = npt.NDArray[Any]

KERNELS = "onnxruntime"
FEW_CHANNELS = 4
_MISSING = "ONNX Runtime is missing: pip install onnxruntime"
_LOG_FATAL = 4
_DTYPES = {
    "tensor(float)": "float32", "tensor(double)": "float64", "tensor(float16)": "float16",
    "tensor(bool)": "bool",
    **{f"tensor({sign}int{n})": f"{sign}int{n}" for sign in ("", "u") for n in (8, 16, 32, 64)},
}  # fmt: skip


def layout_of(shape: tuple[int, ...]) -> str:
    """ "nchw" or "nhwc", for an input of this shape without the batch axis.

    ONNX puts channels first, unless the last axis is short enough to hold them, and the shorter.
    """
    last = len(shape) == 3 and shape[2] <= FEW_CHANNELS and shape[2] < shape[0]
    return "nhwc" if last or len(shape) != 3 else "nchw"


class OnnxClassifier(Classifier):
    """One ONNX model. Inputs and outputs have memory of their own, which every ``invoke`` reuses.
    ``inputs``: that of the inputs, by name."""

    runs = "an ONNX model"
    kernel_sets = (KERNELS,)

    def __init__(
        self,
        model: Path,
        *,
        threads: int = 1,
        kernels: str = KERNELS,
        content: bytes | None = None,
    ) -> None:
        super().__init__(model, kernels, content)
        self._session = open_session(model, threads, content)
        self.inputs = inputs_of(self._session, model)
        self._names = [o.name for o in self._session.get_outputs()]
        self.n_outputs = len(self._names)
        self.output_names = tuple(self._names)
        self._outputs = self._first_run()
        self._binding = self._bind()

    @property
    def input(self) -> InputSpec:
        self._require_one_input(len(self.inputs))
        ((name, buffer),) = self.inputs.items()
        spec = InputSpec.of_tensor(name, buffer.shape, str(buffer.dtype))
        return replace(spec, layout=layout_of(spec.shape))

    @property
    def entries(self) -> tuple[tuple[str, tuple[int, ...]], ...]:
        return tuple((str(buffer.dtype), buffer.shape) for buffer in self.inputs.values())

    def invoke(self, x: Array, *more: Array) -> None:
        for value, buffer in zip((x, *more), self.inputs.values(), strict=False):
            if value.shape != buffer.shape or value.dtype != buffer.dtype:
                raise InputError(
                    f"the model's input does not fit: got {value.dtype} {value.shape}, "
                    f"expected {buffer.dtype} {buffer.shape}"
                )
            np.copyto(buffer, value)
        self._run()

    def invoke_zeros(self) -> None:
        for buffer in self.inputs.values():
            buffer[...] = 0
        self._run()

    def view(self, position: int) -> Array:
        if position == INPUT:
            return next(iter(self.inputs.values())).reshape(-1)
        return self._outputs[position].reshape(-1)

    @staticmethod
    def backend() -> str:
        return f"onnxruntime {_backend().__version__}"

    def _first_run(self) -> list[Array]:
        """One run on zeros tells the outputs' true shapes, which the file may leave open."""
        try:
            found = self._session.run(None, self.inputs)
        except Exception as error:
            raise self._failure(reason(error)) from None
        for name, value in zip(self._names, found, strict=True):
            if not isinstance(value, np.ndarray) or value.dtype.hasobject:
                raise BackendError(f"{self._model}: the output {name!r} is not a tensor of numbers")
        return [np.array(value, order="C") for value in found]

    def _bind(self) -> Any:
        binding = self._session.io_binding()
        for name, buffer in self.inputs.items():
            binding.bind_input(name, "cpu", 0, buffer.dtype, buffer.shape, buffer.ctypes.data)
        for name, buffer in zip(self._names, self._outputs, strict=True):
            binding.bind_output(name, "cpu", 0, buffer.dtype, buffer.shape, buffer.ctypes.data)
        return binding

    def _run(self) -> None:
        try:
            self._session.run_with_iobinding(self._binding)
        except Exception as error:
            raise self._failure(reason(error)) from None


def open_session(
    model: Path, threads: int = 1, content: bytes | None = None, *, optimise: bool = True
) -> Any:
    """ONNX Runtime's session of a file, or of its content; unless it may ``optimise``, it runs the
    operators one by one as they stand there. Raises BackendError."""
    runtime = _backend()
    options = runtime.SessionOptions()
    options.intra_op_num_threads = threads
    options.inter_op_num_threads = 1
    options.log_severity_level = _LOG_FATAL
    if not optimise:
        options.graph_optimization_level = runtime.GraphOptimizationLevel.ORT_DISABLE_ALL
    try:
        source = str(model) if content is None else content
        return runtime.InferenceSession(source, options, providers=["CPUExecutionProvider"])
    except Exception as error:  # its classes of errors have no public base
        raise BackendError(f"{model}: ONNX Runtime refuses it: {reason(error)}") from None


def inputs_of(session: Any, model: Path) -> dict[str, Array]:
    """Memory for each input of a session, of one image, by name. Raises BackendError."""
    return {i.name: _zeros(i, model) for i in session.get_inputs()}


def _zeros(found: Any, model: Path) -> Array:
    """A batch axis of open length gets length 1."""
    shape = [1 if i == 0 and not isinstance(n, int) else n for i, n in enumerate(found.shape)]
    if found.type not in _DTYPES:
        raise BackendError(f"{model}: the input {found.name!r} is a {found.type}")
    if not all(isinstance(n, int) and n > 0 for n in shape):
        shown = ", ".join(str(n) if isinstance(n, int) else "?" for n in found.shape)
        raise BackendError(
            f"{model}: the input {found.name!r} has the shape ({shown}); edgemon needs images of a "
            "fixed size: export the model with one"
        )
    return np.zeros(shape, _DTYPES[found.type])


def reason(error: Exception) -> str:
    """The telling part of a message such as "[ONNXRuntimeError] : 7 : INVALID_PROTOBUF : ..."."""
    told = first_line(error).rpartition(" : ")[2].rpartition("Status Message: ")[2]
    return told.rstrip(".")[:200]


def _backend() -> Any:
    try:
        import onnxruntime
    except ImportError:
        raise BackendError(_MISSING) from None
    return onnxruntime
