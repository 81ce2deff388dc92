"""What each tensor of an ONNX model is when it runs: the worker's part of the front end.

Shape inference leaves shapes open that a model computes; one run on zeros leaves none.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import onnx
import onnxruntime

from edgemon.compiler.models import onnx_graph
from edgemon.runtime.errors import BackendError
from edgemon.runtime.onnx_model import reason

LOG_FATAL = 4


def tensors_of(path: Path, inputs: dict[str, npt.NDArray[Any]]) -> list[list[Any]]:
    """[name, dtype, shape] of the inputs, and of each computed tensor that is an array of
    numbers. Raises BackendError if the graph does not run operator by operator."""
    model = onnx.load_model_from_string(path.read_bytes())
    present = {o.name for o in model.graph.output}
    inner = [n for n in onnx_graph.computed_names(model) if n not in present]
    content = onnx_graph.with_outputs(path.read_bytes(), inner, {})
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.intra_op_num_threads = 1
    options.log_severity_level = LOG_FATAL
    try:
        session = onnxruntime.InferenceSession(content, options, providers=["CPUExecutionProvider"])
        values = session.run(None, inputs)
    except Exception as error:  # its classes of errors have no public base
        raise BackendError(f"{path}: its tensors cannot be read: {reason(error)}") from None
    names = [o.name for o in session.get_outputs()]
    found = {**inputs, **dict(zip(names, values, strict=True))}
    return [
        [name, str(value.dtype), list(value.shape)]
        for name, value in found.items()
        if isinstance(value, np.ndarray) and not value.dtype.hasobject
    ]
