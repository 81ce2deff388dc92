"""Companions while a bundle is made: models beside the classifier (``runtime.companions``)."""

from __future__ import annotations

import math
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from edgemon.compiler.errors import CompileError, ModelError
from edgemon.compiler.models import child
from edgemon.compiler.models.front_ends import read_file
from edgemon.compiler.models.graph import Graph, Tensor
from edgemon.compiler.models.model import PROBE_S, CompanionFile, Model
from edgemon.runtime.formats import TFLITE
from edgemon.runtime.preprocess import InputSpec
from edgemon.runtime.views import COMPANION, NEED_COMPANION, SUFFIXES

OUTPUT = "output"  # the rule of all of a companion's outputs


@dataclass(frozen=True, eq=False)
class CompanionModel(CompanionFile):
    """A companion that has been run once beside its classifier, elsewhere, and lived.
    ``outputs``: what it gives, by position."""

    outputs: tuple[Tensor, ...] = ()

    @classmethod
    def of(cls, content: bytes, view: str, model: Model, source: str) -> CompanionModel:
        """``source``: where it comes from, for people. Raises ModelError if it is no model, or
        does not fit the classifier."""
        found = cls(view, content, source)
        with tempfile.TemporaryDirectory(prefix="edgemon-") as folder:
            path, classifier = Path(folder) / found.file, Path(folder) / model.tapped_name
            path.write_bytes(content)
            classifier.write_bytes(model.content)
            job = {
                "task": "companion", "model": str(classifier), "companion": str(path),
                "view": view, "kernels": model.kernels("xnnpack"),
            }  # fmt: skip
            child.run([job], subject=source, silence_s=PROBE_S)
            graph = _graph(path)
        made = tuple(graph.tensors[i] for i in graph.outputs)
        _require_codes(source, model.input, graph, made[: view != COMPANION])
        return replace(
            found, outputs=tuple(replace(t, index=i, view=view) for i, t in enumerate(made))
        )

    def tensors(self, name: str) -> tuple[Tensor, ...]:
        """Its outputs of this name, or all for the rule ``output``. Raises ModelError."""
        found = [t for t in self.outputs if name in (OUTPUT, t.name)]
        if not found:
            names = ", ".join(repr(t.name) for t in self.outputs)
            raise ModelError(
                f"taps: {name!r} is no output of the companion ({self.source}); it has {names}, "
                f"and the rule {OUTPUT!r} means all"
            )
        return tuple(replace(t, companion=self) for t in found)


def read_companion(path: Path, model: Model) -> CompanionModel:
    """One that the user gives, for taps of the view *companion*. Raises ModelError."""
    content = read_file(path, "a .tflite or .onnx file")
    return CompanionModel.of(content, COMPANION, model, str(path))


def in_view(
    tensors: Sequence[Tensor], view: str, companions: Mapping[str, CompanionModel]
) -> tuple[Tensor, ...]:
    """The model's tensors in a view. Raises CompileError for one whose companion is missing."""
    if view in NEED_COMPANION and view not in companions:
        raise lacking(view)
    return tuple(replace(t, view=view, companion=companions.get(view)) for t in tensors)


def lacking(view: str) -> CompileError:
    """What is raised for taps whose companion nobody brings."""
    how = "give its file with --companion" if view == COMPANION else "name the monitor odin as well"
    return CompileError(
        f"taps: {SUFFIXES[view]} needs a companion model, and no monitor here brings one: {how}"
    )


def _graph(path: Path) -> Graph:
    if path.suffix == TFLITE.suffix:
        from edgemon.compiler.models.tflite_model import TfliteModel

        return TfliteModel.open(path).graph
    from edgemon.compiler.models.onnx_model import OnnxModel

    return OnnxModel.open(path).graph


def _require_codes(source: str, own: InputSpec, graph: Graph, made: Sequence[Tensor]) -> None:
    """Raises ModelError unless codes of the model's input mean the same in the companion."""
    length = math.prod(own.tensor_shape)
    taken = (graph.tensors[i] for i in graph.inputs)
    entry = next(t for t in taken if (t.dtype, t.length) == (own.dtype, length))
    for tensor in (entry, *made):
        if (tensor.scale, tensor.zero_point) != (own.scale, own.zero_point):
            raise ModelError(
                f"{source}: codes of its {tensor.name!r} mean {tensor.scale:g} * (code - "
                f"{tensor.zero_point}), those of the model's input {own.scale:g} * (code - "
                f"{own.zero_point}): build it for this model"
            )
