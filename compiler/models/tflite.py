"""The front end for TFLite files."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from pathlib import Path

from edgemon.compiler.errors import ModelError
from edgemon.compiler.ir import Tap
from edgemon.compiler.models import child, flatbuffer
from edgemon.compiler.models.graph import Graph, Tensor
from edgemon.compiler.models.taps import obstacle, tap_of
from edgemon.runtime.preprocess import InputSpec

IDENTIFIER = b"TFL3"
PROBE_S = 60.0
INPUT_DTYPES = ("float32", "int8", "uint8", "int16")


@dataclass(frozen=True)
class TappedModel:
    """A model whose taps are outputs: output ``positions[i]`` is ``taps[i]``.

    Output 0 is the classifier's own.
    """

    path: Path
    sha256: str
    taps: tuple[Tap, ...]
    positions: tuple[int, ...]


@dataclass(frozen=True, eq=False)
class TfliteModel:
    """A TFLite file that has been run once, elsewhere, and lived."""

    path: Path
    sha256: str
    graph: Graph
    content: bytes

    @classmethod
    def open(cls, path: Path, *, kernels: str = "xnnpack") -> TfliteModel:
        """Read the file and try it in a child process. Raises ModelError for a file that is
        missing, damaged, no TFLite model, or that the interpreter cannot run."""
        content = _read(path)
        # First the child: its interpreter verifies the flatbuffer's structure, ours does not.
        child.run(
            [{"task": "probe", "model": str(path), "kernels": kernels}],
            subject=str(path),
            silence_s=PROBE_S,
        )
        try:
            graph = flatbuffer.read_graph(content)
        except flatbuffer.UnsupportedError as error:
            raise ModelError(f"{path}: cannot use the model: {error}") from None
        except Exception:
            # The reader knows no error of its own: damage may raise anything.
            raise ModelError(f"{path}: the model is damaged; export it again") from None
        return cls(path, hashlib.sha256(content).hexdigest(), graph, content)

    @property
    def input(self) -> InputSpec:
        """The first input, without its batch axis."""
        if not self.graph.inputs:
            raise ModelError(f"{self.path}: the model has no input")
        tensor = self.graph.tensors[self.graph.inputs[0]]
        return InputSpec(
            tensor.name, tensor.shape[1:], tensor.dtype, tensor.scale, tensor.zero_point
        )

    @property
    def n_classes(self) -> int:
        """Length of the first output; see ``require_classifier``."""
        return self.graph.tensors[self.graph.outputs[0]].length

    def require_classifier(self) -> None:
        """Raises ModelError unless one input of one image leads to one vector of class scores."""
        for what, indices in (("input", self.graph.inputs), ("output", self.graph.outputs)):
            if len(indices) != 1:
                raise ModelError(
                    f"{self.path}: the model has {len(indices)} {what}s; edgemon monitors "
                    f"classifiers with one {what}"
                )
        entry = self.graph.tensors[self.graph.inputs[0]]
        if entry.dtype not in INPUT_DTYPES:
            raise ModelError(
                f"{self.path}: the input is {entry.dtype}; edgemon can fill "
                f"{', '.join(INPUT_DTYPES)}"
            )
        if not entry.shape or entry.shape[0] != 1 or any(n < 1 for n in entry.shape):
            raise ModelError(
                f"{self.path}: the input has the shape {entry.shape}; edgemon needs a batch of "
                "one image of fixed size, (1, ...)"
            )
        self._require_class_axis()

    def with_taps(self, tensors: tuple[Tensor, ...], out: Path) -> TappedModel:
        """Write the model with these tensors as further outputs, also of its signatures.

        Tensors that are outputs already are reused. The same request writes the same bytes.
        """
        wanted = tuple(dict.fromkeys(tensors))
        for tensor in wanted:
            problem = obstacle(self.graph, tensor)
            if problem is not None:
                raise ModelError(f"{self.path}: tensor {tensor.name!r} {problem}")
        new = [t for t in wanted if t.index not in self.graph.outputs]
        outputs = [*self.graph.outputs, *(t.index for t in new)]
        added = {t.index: t.name for t in new}
        content = flatbuffer.with_outputs(self.content, self.graph, added) if new else self.content
        out.write_bytes(content)
        return TappedModel(
            out,
            hashlib.sha256(content).hexdigest(),
            tuple(tap_of(t) for t in wanted),
            tuple(outputs.index(t.index) for t in wanted),
        )

    def _require_class_axis(self) -> None:
        scores = self.graph.tensors[self.graph.outputs[0]]
        problem = obstacle(self.graph, scores)
        if problem is not None:
            raise ModelError(f"{self.path}: the output {problem}")
        if scores.length == 1:
            raise ModelError(
                f"{self.path}: the model has one output unit; edgemon needs a class axis of two "
                "or more"
            )
        if len(scores.long_axes) != 1:
            raise ModelError(
                f"{self.path}: the output has the shape {scores.shape}, which is no vector of "
                "class scores; edgemon monitors classifiers"
            )


def write_untapped(tapped: Path, outputs: int, out: Path) -> None:
    """Write a tapped model as it was: with its first ``outputs`` outputs only."""
    out.write_bytes(flatbuffer.keep_outputs(_read(tapped), outputs))


def _read(path: Path) -> bytes:
    if not path.is_file():
        what = "is a folder" if path.is_dir() else "does not exist"
        raise ModelError(f"{path}: {what}; give a .tflite file")
    try:
        content = path.read_bytes()
    except OSError as error:
        raise ModelError(f"{path}: cannot be read: {error.strerror}") from None
    if len(content) < 8 or content[4:8] != IDENTIFIER:
        raise ModelError(
            f"{path}: is no TFLite model (it lacks the identifier TFL3); give a .tflite file"
        )
    return content
