"""Operators and tensors appended to an ONNX graph of one image."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import onnx
from onnx import helper, numpy_helper

from edgemon.compiler.errors import CompileError
from edgemon.compiler.models import onnx_edit, onnx_graph
from edgemon.compiler.models.onnx_model import OnnxModel

Array = npt.NDArray[Any]
Shape = tuple[int, ...]

OPSET = 16  # the least: ScatterElements adds what meets
IR_VERSION = 8  # the least for that


class OnnxWriter:
    """A model's graph, which grows. ``shapes`` and ``dtypes`` of its tensors are by name."""

    def __init__(self, model: OnnxModel) -> None:
        """Raises CompileError for a file of an older opset that cannot be raised to ``OPSET``."""
        source = model if _opset(onnx_graph.parse(model.content)) >= OPSET else _raised(model)
        self.model = onnx_graph.parse(source.content)
        self.model.ir_version = max(self.model.ir_version, IR_VERSION)
        self.graph = self.model.graph
        named = zip(source.names, source.graph.tensors, strict=True)
        found = {name: (t.dtype, t.shape) for name, t in named}
        self.shapes: dict[str, Shape] = {name: shape for name, (_, shape) in found.items()}
        self.dtypes: dict[str, str] = {name: dtype for name, (dtype, _) in found.items()}
        self.constants: Mapping[str, Array] = onnx_graph.constant_values(self.model)
        self.entry = source.names[source.graph.inputs[0]]
        self.output = str(self.graph.output[0].name)
        self._made = 0

    def op(
        self, name: str, inputs: Sequence[str], shape: Shape, dtype: str = "float32",
        **values: Any,
    ) -> str:  # fmt: skip
        """A new operator; returns its output."""
        output = self.name()
        self.graph.node.append(helper.make_node(name, list(inputs), [output], **values))
        self.shapes[output], self.dtypes[output] = shape, dtype
        return output

    def constant(self, value: Array) -> str:
        """A new constant."""
        value, name = np.asarray(value), self.name()
        self.graph.initializer.append(numpy_helper.from_array(value, name))
        self.shapes[name], self.dtypes[name] = value.shape, str(value.dtype)
        return name

    def floats(self, *values: float) -> str:
        """A constant of (n,) float32; of one value without an axis."""
        found = np.array(values, np.float32)
        return self.constant(found[0] if len(values) == 1 else found)

    def integers(self, values: Sequence[int]) -> str:
        """A constant of (n,) int64, as shapes and axes are."""
        return self.constant(np.array(values, np.int64))

    def name(self) -> str:
        """One that no tensor has."""
        while True:
            self._made += 1
            found = f"odin/{self._made}"
            if found not in self.shapes:
                return found

    def content(self, entry: str, output: str) -> bytes:
        """The checked file of one input and one output, without what that does not need."""
        names = (entry, output)
        ends = [
            helper.make_tensor_value_info(
                n, helper.np_dtype_to_tensor_dtype(np.dtype(self.dtypes[n])), self.shapes[n]
            )
            for n in names
        ]
        del self.graph.input[:]
        del self.graph.value_info[:]
        self.graph.input.append(ends[0])
        found = {output: (self.dtypes[output], self.shapes[output])}
        content = onnx_edit.only_output(self.model, output, found)
        onnx.checker.check_model(content, full_check=True)
        return content


def _opset(model: Any) -> int:
    return max((o.version for o in model.opset_import if o.domain in ("", "ai.onnx")), default=0)


def _raised(model: OnnxModel) -> OnnxModel:
    """The same graph in ``OPSET``: older ones say much in other ways."""
    try:
        raised = onnx.version_converter.convert_version(onnx_graph.parse(model.content), OPSET)
    except Exception as error:  # the converter raises whatever its C++ does
        told = str(error).splitlines()
        raise CompileError(
            f"monitor odin: the model's ONNX opset is below {OPSET}, and it cannot be raised: "
            f"{told[0] if told else type(error).__name__}; export it with opset {OPSET} or later"
        ) from None
    with tempfile.TemporaryDirectory(prefix="edgemon-") as folder:
        path = Path(folder) / "raised.onnx"
        path.write_bytes(onnx_edit.serialised(raised))
        return OnnxModel.open(path)
