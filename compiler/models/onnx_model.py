"""The front end for ONNX files."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import ClassVar

from edgemon.compiler.models import onnx_edit, onnx_graph, outputs
from edgemon.compiler.models.front_ends import read_file
from edgemon.compiler.models.graph import Operator
from edgemon.compiler.models.model import Model, Reals, one_sentence, run_once
from edgemon.compiler.models.onnx_weights import Weights
from edgemon.compiler.models.selection import WHOLE, Prepared, Selection
from edgemon.runtime.formats import ONNX
from edgemon.runtime.onnx_classifier import KERNELS, OnnxClassifier, layout_of
from edgemon.runtime.preprocess import InputSpec


@dataclass(frozen=True, eq=False)
class OnnxModel(Model):
    """An ONNX file. ``names[i]`` is the name that tensor i has in it."""

    names: tuple[str, ...] = ()

    tapped_name: ClassVar[str] = ONNX.in_bundle

    @classmethod
    def open(
        cls, path: Path, scratch: Path | None = None, selection: Selection = WHOLE
    ) -> OnnxModel:
        """Read the file and try it in a child process, which also finds the shape of each tensor
        for a batch of one; a file that has more than one input and one output, or its weights
        elsewhere, is made one that has not, in ``scratch`` (without one it stays as it is). Raises
        ModelError for a file that is missing, damaged, not ONNX, or that ONNX Runtime cannot
        run, and for a selection that does not fit it."""
        content = read_file(path, "an .onnx file")
        digest = hashlib.sha256(content).hexdigest()
        with one_sentence(path, OnnxClassifier.runs, damage=ValueError):
            parsed = onnx_graph.parse(content)
            at, inside = path, content
            if scratch and (selection.inputs or onnx_edit.has_external_data(parsed)):
                parsed = onnx_edit.with_weights_inside(parsed, path.parent)
                onnx_edit.fix_inputs(parsed, selection.inputs)
                at, inside = scratch / "prepared.onnx", onnx_edit.serialised(parsed)
                at.write_bytes(inside)
            found, distributions = _describe(at, path)
            graph, names = onnx_graph.read_graph(parsed, found)
            chosen = outputs.choose(graph, selection.output)
            named = onnx_edit.class_names(parsed)
            whole, labels = at, [names[i] for i in graph.outputs if outputs.is_label(graph, i)]
            left_out = tuple(graph.tensors[i].name for i in graph.outputs if i != chosen)
            wide = chosen is not None and graph.tensors[chosen].dtype in onnx_edit.WIDE
            if scratch and chosen is not None and (wide or graph.outputs != (chosen,)):
                inside = onnx_edit.only_output(parsed, names[chosen], found)
                at = scratch / "selected.onnx"
                at.write_bytes(inside)
                found, distributions = _describe(at, path)
                graph, names = onnx_graph.read_graph(onnx_graph.parse(inside), found)
        made = None
        if at != path:
            name = graph.tensors[graph.outputs[0]].name
            label = labels[0] if labels else ""
            inputs = dict(selection.inputs)
            made = Prepared(path, digest, name, left_out, inputs, whole, label)
            digest = hashlib.sha256(inside).hexdigest()
        unknown = outputs.kind_of(graph) == outputs.UNKNOWN
        seen = unknown and names[graph.outputs[0]] in distributions
        kind = outputs.PROBABILITIES if seen else ""
        return cls(
            at, digest, graph, inside, prepared=made, class_names=named, seen_kind=kind, names=names
        )

    @property
    def input(self) -> InputSpec:
        """The first input, without its batch axis."""
        found = super().input
        return replace(found, layout=layout_of(found.shape))

    def kernels(self, wanted: str) -> str:  # noqa: ARG002 - there is one set only
        """ONNX Runtime's, whatever runs TFLite models."""
        return KERNELS

    def dense_weights(self, dense: Operator, bias: Operator | None) -> tuple[Reals, Reals] | None:
        return self._weights.dense(dense, bias)

    @cached_property
    def _weights(self) -> Weights:
        return Weights(self.content, self.names)

    def _with_outputs(self, added: Mapping[int, str]) -> bytes:
        tensors = {self.names[i]: self.graph.tensors[i] for i in added}
        found = {name: (t.dtype, t.shape) for name, t in tensors.items()}
        return onnx_edit.with_outputs(self.content, tensors, found)


def _describe(file: Path, origin: Path) -> tuple[onnx_graph.Found, set[str]]:
    """Dtype and shape of each tensor of a file, as it runs; and those that hold probabilities of
    classes when all inputs are 0."""
    answer = run_once("describe", file, origin, KERNELS)
    found = {name: (dtype, tuple(shape)) for name, dtype, shape, _ in answer["tensors"]}
    return found, {name for name, _, _, sums_to_one in answer["tensors"] if sums_to_one}
