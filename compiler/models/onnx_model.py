"""The front end for ONNX files."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import ClassVar

from edgemon.compiler.errors import ModelError
from edgemon.compiler.models import child, onnx_graph
from edgemon.compiler.models.base import PROBE_S, Model, Reals, read_file
from edgemon.compiler.models.graph import Operator, UnsupportedError
from edgemon.compiler.models.onnx_weights import Weights
from edgemon.runtime.onnx_model import KERNELS, layout_of
from edgemon.runtime.preprocess import InputSpec


@dataclass(frozen=True, eq=False)
class OnnxModel(Model):
    """An ONNX file. ``names[i]`` is the name that tensor i has in it."""

    names: tuple[str, ...] = ()

    tapped_name: ClassVar[str] = "model.tapped.onnx"

    @classmethod
    def open(cls, path: Path) -> OnnxModel:
        """Read the file and try it in a child process, which also finds the shape of each tensor
        for a batch of one. Raises ModelError for a file that is missing, damaged, no ONNX model,
        or that ONNX Runtime cannot run."""
        content = read_file(path, "an .onnx file")
        try:
            parsed = onnx_graph.parse(content)
            (answer,) = child.run(
                [{"task": "describe", "model": str(path), "kernels": KERNELS}],
                subject=str(path),
                silence_s=PROBE_S,
            )
            found = {name: (dtype, tuple(shape)) for name, dtype, shape in answer["tensors"]}
            graph, names = onnx_graph.read_graph(parsed, found)
        except UnsupportedError as error:
            raise ModelError(f"{path}: cannot use the model: {error}") from None
        except ValueError:
            raise ModelError(f"{path}: is no ONNX model, or damaged; export it again") from None
        digest = hashlib.sha256(content).hexdigest()
        return cls(path, digest, graph, content, names=names)

    @property
    def input(self) -> InputSpec:
        """The first input, without its batch axis."""
        found = super().input
        return replace(found, layout=layout_of(found.shape))

    def kernels(self, wanted: str) -> str:  # noqa: ARG002 - there is one set only
        """ONNX Runtime's, whatever runs TFLite models."""
        return KERNELS

    def dense_weights(self, dense: Operator, bias: Operator | None) -> tuple[Reals, Reals] | None:
        last = dense if bias is None else bias
        return self._weights.dense(self.names[dense.outputs[0]], self.names[last.outputs[0]])

    @cached_property
    def _weights(self) -> Weights:
        return Weights(self.content)

    def _with_outputs(self, added: Mapping[int, str]) -> bytes:
        tensors = {self.names[i]: self.graph.tensors[i] for i in added}
        found = {name: (t.dtype, t.shape) for name, t in tensors.items()}
        return onnx_graph.with_outputs(self.content, tensors, found)
