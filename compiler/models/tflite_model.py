"""The front end for TFLite files."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from pathlib import Path
from typing import ClassVar

from edgemon.compiler.errors import ModelError
from edgemon.compiler.models import child, flatbuffer, outputs, tflite_weights
from edgemon.compiler.models.graph import Operator, UnsupportedError
from edgemon.compiler.models.model import PROBE_S, Conversion, Model, Reals, read_file
from edgemon.compiler.models.selection import WHOLE, Prepared, Selection

IDENTIFIER = b"TFL3"


class TfliteModel(Model):
    """A TFLite file."""

    tapped_name: ClassVar[str] = "model.tapped.tflite"

    @classmethod
    def open(
        cls, path: Path, scratch: Path | None = None, selection: Selection = WHOLE, *,
        kernels: str = "xnnpack", conversion: Conversion | None = None,
    ) -> TfliteModel:  # fmt: skip
        """Read the file and try it in a child process; one that has more than one input and one
        output is made one that has not, in ``scratch`` (without one it stays as it is). Raises
        ModelError for a file that is missing, damaged, no TFLite model, or that the interpreter
        cannot run, and for a selection that does not fit it."""
        content = _read(path)
        subject = path if conversion is None else conversion.path
        # First the child: its interpreter verifies the flatbuffer's structure, ours does not.
        _probe(path, subject, kernels)
        try:
            graph = flatbuffer.read_graph(content)
            digest = hashlib.sha256(content).hexdigest()
            chosen = outputs.choose(graph, selection.output)
            changes = selection.inputs or (chosen is not None and graph.outputs != (chosen,))
            if scratch is None or not changes:
                return cls(path, digest, graph, content, conversion)
            left_out = tuple(graph.tensors[i].name for i in graph.outputs if i != chosen)
            if chosen is not None:
                content = flatbuffer.only_output(content, graph, chosen)
            content = flatbuffer.fix_inputs(content, graph, selection.inputs)
            selected = scratch / "selected.tflite"
            selected.write_bytes(content)
            _probe(selected, subject, kernels)
            graph = flatbuffer.read_graph(content)
        except UnsupportedError as error:
            raise ModelError(f"{subject}: cannot use the model: {error}") from None
        except ModelError:
            raise
        except Exception:
            # The reader knows no error of its own: damage may raise anything.
            raise ModelError(f"{subject}: the model is damaged; export it again") from None
        name = graph.tensors[graph.outputs[0]].name
        made = Prepared(path, digest, name, left_out, dict(selection.inputs))
        digest = hashlib.sha256(content).hexdigest()
        return cls(selected, digest, graph, content, conversion, prepared=made)

    def dense_weights(self, dense: Operator, bias: Operator | None) -> tuple[Reals, Reals] | None:
        return tflite_weights.dense_weights(self.content, self.graph, dense, bias)

    def _with_outputs(self, added: Mapping[int, str]) -> bytes:
        return flatbuffer.with_outputs(self.content, self.graph, added)


def _probe(path: Path, subject: Path, kernels: str) -> None:
    child.run(
        [{"task": "probe", "model": str(path), "kernels": kernels}],
        subject=str(subject),
        silence_s=PROBE_S,
    )


def _read(path: Path) -> bytes:
    content = read_file(path, "a .tflite file")
    if len(content) < 8 or content[4:8] != IDENTIFIER:
        raise ModelError(
            f"{path}: is no TFLite model (it lacks the identifier TFL3); give a .tflite file"
        )
    return content
