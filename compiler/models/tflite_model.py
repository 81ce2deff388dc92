"""The front end for TFLite files."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from functools import cached_property
from pathlib import Path
from typing import ClassVar

from edgemon.compiler.models import outputs, tflite_edit, tflite_graph
from edgemon.compiler.models.front_ends import read_file
from edgemon.compiler.models.graph import Operator
from edgemon.compiler.models.model import Conversion, Model, Reals, one_sentence, run_once
from edgemon.compiler.models.selection import WHOLE, Prepared, Selection
from edgemon.compiler.models.tflite_weights import Weights
from edgemon.runtime.formats import TFLITE
from edgemon.runtime.tflite_classifier import DEFAULT_KERNELS, TfliteClassifier


class TfliteModel(Model):
    """A TFLite file."""

    tapped_name: ClassVar[str] = TFLITE.in_bundle

    @classmethod
    def open(
        cls, path: Path, scratch: Path | None = None, selection: Selection = WHOLE, *,
        conversion: Conversion | None = None,
    ) -> TfliteModel:  # fmt: skip
        """Read the file and try it in a child process; one that has more than one input and one
        output is made one that has not, in ``scratch`` (without one it stays as it is). Raises
        ModelError for a file that is missing, damaged, not TFLite, or that the interpreter cannot
        run, and for a selection that does not fit it."""
        content = read_file(path, "a .tflite file")
        digest = hashlib.sha256(content).hexdigest()
        subject = path if conversion is None else conversion.path
        # The reader knows no error of its own: damage may raise anything.
        with one_sentence(subject, TfliteClassifier.runs):
            if content[4:8] != TFLITE.identifier:
                raise ValueError(content[4:8])
            # First the child: its interpreter verifies the flatbuffer's structure, ours does not.
            run_once("probe", path, subject, DEFAULT_KERNELS)
            graph = tflite_graph.read_graph(content)
            chosen = outputs.choose(graph, selection.output)
            changes = selection.inputs or (chosen is not None and graph.outputs != (chosen,))
            if scratch is None or not changes:
                return cls(path, digest, graph, content, conversion)
            left_out = tuple(graph.tensors[i].name for i in graph.outputs if i != chosen)
            if chosen is not None:
                content = tflite_edit.only_output(content, graph, chosen)
            content = tflite_edit.fix_inputs(content, graph, selection.inputs)
            selected = scratch / "selected.tflite"
            selected.write_bytes(content)
            run_once("probe", selected, subject, DEFAULT_KERNELS)
            graph = tflite_graph.read_graph(content)
        name = graph.tensors[graph.outputs[0]].name
        made = Prepared(path, digest, name, left_out, dict(selection.inputs))
        digest = hashlib.sha256(content).hexdigest()
        return cls(selected, digest, graph, content, conversion, prepared=made)

    def dense_weights(self, dense: Operator, bias: Operator | None) -> tuple[Reals, Reals] | None:
        return self._weights.dense(dense, bias)

    @cached_property
    def _weights(self) -> Weights:
        return Weights(self.content, self.graph)

    def _with_outputs(self, added: Mapping[int, str]) -> bytes:
        return tflite_edit.with_outputs(self.content, self.graph, added)
