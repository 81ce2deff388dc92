"""What each tensor of an ONNX model is when it runs: the worker's part of the front end.

Shape inference leaves shapes open that a model computes; one run on zeros leaves none.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import onnx

from edgemon.compiler.models import onnx_edit, onnx_graph
from edgemon.compiler.models.outputs import PROBABILITIES, UNKNOWN, kind_of_values
from edgemon.runtime.errors import BackendError
from edgemon.runtime.onnx_classifier import open_session, reason


def tensors_of(path: Path, session: Any, inputs: dict[str, npt.NDArray[Any]]) -> list[list[Any]]:
    """[name, dtype, shape, is it a distribution over classes?] of the inputs, and of each computed
    tensor that is an array; of text the dtype is "string". Raises BackendError if the graph does
    not run, or not operator by operator."""
    try:
        session.run(None, inputs)
    except Exception as error:  # its classes of errors have no public base
        raise BackendError(f"{path}: the model fails to run: {reason(error)}") from None
    model = onnx.load_model_from_string(path.read_bytes())
    present = {o.name for o in model.graph.output}
    inner = [n for n in onnx_graph.computed_names(model) if n not in present]
    content = onnx_edit.with_outputs(path.read_bytes(), inner, {})
    bare = open_session(path, content=content, optimise=False)
    try:
        values = bare.run(None, inputs)
    except Exception as error:
        raise BackendError(f"{path}: its tensors cannot be read: {reason(error)}") from None
    names = [o.name for o in bare.get_outputs()]
    found = {**inputs, **dict(zip(names, values, strict=True))}
    return [
        [name, "string" if value.dtype.hasobject else str(value.dtype), list(value.shape),
         _is_distribution(value)]
        for name, value in found.items()
        if isinstance(value, np.ndarray)
    ]  # fmt: skip


def _is_distribution(value: npt.NDArray[Any]) -> bool:
    if value.dtype.kind != "f" or value.size < 2 or value.size != value.shape[-1]:
        return False
    row = value.reshape(1, -1).astype(np.float64)
    return kind_of_values(UNKNOWN, row) == PROBABILITIES
