"""What every front end gives: a classifier as a graph, and a copy of it with taps."""

from __future__ import annotations

import hashlib
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, ClassVar, Self

import numpy as np
import numpy.typing as npt

from edgemon.compiler.errors import ModelError
from edgemon.compiler.models import child, outputs
from edgemon.compiler.models.decision import OF_PROBABILITY
from edgemon.compiler.models.graph import Graph, Operator, Tensor, UnsupportedError
from edgemon.compiler.models.selection import Prepared
from edgemon.compiler.models.tap_rules import as_tap, head, means_of, obstacle, tap_of
from edgemon.compiler.program.ir import Tap
from edgemon.runtime.errors import EdgemonError
from edgemon.runtime.formats import format_of
from edgemon.runtime.monitor import CompanionInfo
from edgemon.runtime.preprocess import FLOAT_INPUTS, INPUT, INTEGER_INPUTS, InputSpec
from edgemon.runtime.views import COMPANION, NEED_COMPANION

Reals = npt.NDArray[np.float64]

PROBE_S = 60.0
INPUT_DTYPES = (*FLOAT_INPUTS, *INTEGER_INPUTS)


@dataclass(frozen=True, eq=False)
class CompanionFile:
    """A model beside the classifier. ``view``: which needs it; ``source``: where it comes from, for
    people."""

    view: str
    content: bytes
    source: str

    @property
    def file(self) -> str:
        """Its name in a bundle."""
        return f"{self.view}{format_of(self.content).suffix}"

    @property
    def info(self) -> CompanionInfo:
        """What an artifact says of it."""
        sha256 = hashlib.sha256(self.content).hexdigest()
        return CompanionInfo(self.view, len(self.content), sha256)


@dataclass(frozen=True)
class TappedModel:
    """A model whose taps are outputs: output ``positions[i]`` is ``taps[i]``, after the inference
    that the tap's view says. The model's input is one without an output, at ``INPUT``. Companions
    lie beside it, under the names that they have in a bundle.

    ``output`` describes the classifier's own, which is at position 0.
    """

    path: Path
    sha256: str
    taps: tuple[Tap, ...]
    positions: tuple[int, ...]
    output: Tap
    companions: tuple[CompanionFile, ...] = ()

    @property
    def companion_paths(self) -> dict[str, Path]:
        """Where the companions lie, by view."""
        return {c.view: self.path.parent / c.file for c in self.companions}

    def with_companions(self, found: Iterable[CompanionFile]) -> TappedModel:
        """Writes them beside the model."""
        made = replace(self, companions=tuple(found))
        for companion in made.companions:
            made.companion_paths[companion.view].write_bytes(companion.content)
        return made


@dataclass(frozen=True)
class Conversion:
    """How a model became the one that runs: the file that the user gave, and what was done."""

    path: Path
    sha256: str
    to: str  # "float" or "int8"
    by: str  # such as "TensorFlow 2.21.0"
    changed: tuple[str, ...] = ()  # besides the format, as sentences


@dataclass(frozen=True, eq=False)
class Model(ABC):
    """A file that has been run once, elsewhere, and lived."""

    path: Path
    sha256: str
    graph: Graph
    content: bytes
    conversion: Conversion | None = None
    decides_above: float = OF_PROBABILITY  # of a single output unit: see ``decision``
    prepared: Prepared | None = None
    class_names: tuple[str, ...] = ()  # as the file has them; () where it has none
    seen_kind: str = ""  # of the output, as its values tell; see ``outputs``

    tapped_name: ClassVar[str]  # of the tapped model in a bundle

    @property
    def origin(self) -> Path:
        """The file that the user gave."""
        if self.conversion is not None:
            return self.conversion.path
        return self.path if self.prepared is None else self.prepared.path

    @property
    def input(self) -> InputSpec:
        """The first input, without its batch axis."""
        if not self.graph.inputs:
            raise ModelError(f"{self.origin}: the model has no input")
        tensor = self.graph.tensors[self.graph.inputs[0]]
        spec = InputSpec.of_tensor(tensor.name, tensor.shape, tensor.dtype)
        return replace(spec, scale=tensor.scale, zero_point=tensor.zero_point)

    @property
    def output(self) -> Tap:
        """The first output, as a tap."""
        tap = as_tap(self.graph.tensors[self.graph.outputs[0]])
        return replace(tap, decides_above=self.decides_above)

    @property
    def output_kind(self) -> str:
        """What the first output gives: "logits", "probabilities" or "unknown"."""
        return self.seen_kind or outputs.kind_of(self.graph)

    def judged(self, values: Reals) -> Self:
        """The same model, that knows what its output gives on rows (n, length)."""
        step = 0.0 if self.output.dtype == "float32" else self.output.scale
        return replace(self, seen_kind=outputs.kind_of_values(self.output_kind, values, step))

    @property
    def n_classes(self) -> int:
        """Length of the first output, and 2 where that is one unit; see ``decision``."""
        return max(2, self.graph.tensors[self.graph.outputs[0]].length)

    def kernels(self, wanted: str) -> str:
        """The kernel set that runs this model where TFLite models run on ``wanted``."""
        return wanted

    def require_classifier(self) -> None:
        """Raises ModelError unless one input of one image leads to one vector of class scores."""
        if len(self.graph.inputs) != 1:
            entries = [self.graph.tensors[i] for i in self.graph.inputs]
            raise ModelError(
                f"{self.origin}: the model has {len(entries)} inputs ({outputs.shown(entries)}); "
                "edgemon fills one with data: give each other one a value with --input "
                "NAME=FILE.npy"
            )
        if len(self.graph.outputs) != 1:
            found = [self.graph.tensors[i] for i in self.graph.outputs]
            raise ModelError(
                f"{self.origin}: the model has {len(found)} outputs ({outputs.shown(found)}); say "
                "which one has the class scores with --output NAME"
            )
        entry = self.graph.tensors[self.graph.inputs[0]]
        if entry.dtype not in INPUT_DTYPES:
            raise ModelError(
                f"{self.origin}: the input is {entry.dtype}; edgemon can fill "
                f"{', '.join(INPUT_DTYPES)}"
            )
        of_one = entry.shape[:1] == (1,) or len(entry.shape) == 1
        if not of_one or any(n < 1 for n in entry.shape):
            raise ModelError(
                f"{self.origin}: the input has the shape {entry.shape}; edgemon needs a batch of "
                "one image of fixed size, (1, ...), or one axis without a batch"
            )
        self._require_class_axis()

    def with_taps(self, tensors: tuple[Tensor, ...], out: Path) -> TappedModel:
        """Write the model with these tensors as further outputs, also of its signatures.

        Tensors that are outputs already are reused, one that is wanted in several views is one
        output, and the model's input is none: who runs the model has it, and not every format can
        give it back. The same request writes the same bytes.
        """
        wanted = tuple(dict.fromkeys(tensors))
        own = [t for t in wanted if t.view != COMPANION]
        for tensor in own:
            problem = obstacle(self.graph, tensor)
            if problem is not None:
                raise ModelError(f"{self.origin}: tensor {tensor.name!r} {problem}")
        given = (*self.graph.outputs, *self.graph.inputs)
        new = {t.index: t.name for t in own if t.index not in given}
        outputs = [*self.graph.outputs, *new]
        content = self._with_outputs(new) if new else self.content
        out.write_bytes(content)
        beside = {t.companion.view: t.companion for t in wanted if t.companion is not None}
        return TappedModel(
            out,
            hashlib.sha256(content).hexdigest(),
            tuple(tap_of(t) if t.view == COMPANION else self._tap(t) for t in wanted),
            tuple(
                t.index if t.view == COMPANION
                else outputs.index(t.index) if t.index in outputs else INPUT
                for t in wanted
            ),
            self.output,
        ).with_companions(beside[view] for view in NEED_COMPANION if view in beside)  # fmt: skip

    def _tap(self, tensor: Tensor) -> Tap:
        """The tensor as a tap that knows its channels, if it is a feature map, and whether it holds
        probabilities of the classes."""
        tap, axis = tap_of(tensor), self.graph.channel_axis
        tap = replace(
            tap,
            probabilities=self._holds_probabilities(tensor),
            means_of=means_of(self.graph, tensor),
        )
        if tensor.index == self.graph.outputs[0]:
            return replace(tap, decides_above=self.decides_above)
        if not tensor.has_positions or tensor.index in self.graph.inputs:
            return tap  # an image is its pixels, not its mean brightness
        places = [n for i, n in enumerate(tensor.shape) if i not in (0, axis % len(tensor.shape))]
        rows = next((n for n in places if n > 1), 1)
        return replace(tap, channels=tensor.shape[axis], channels_first=axis == 1, map_rows=rows)

    def _holds_probabilities(self, tensor: Tensor) -> bool:
        last = head(self.graph)
        if last is not None and tensor.index == last.outputs[0]:
            return last.name not in ("LogSoftmax", "LOG_SOFTMAX")
        return tensor.index == self.graph.outputs[0] and self.output_kind == outputs.PROBABILITIES

    def untapped(self) -> TappedModel:
        """The file as it is, its output being the only tap."""
        return TappedModel(self.path, self.sha256, (self.output,), (0,), self.output)

    @abstractmethod
    def dense_weights(self, dense: Operator, bias: Operator | None) -> tuple[Reals, Reals] | None:
        """Kernel (n_in, n_out) and bias (n_out,) of a dense layer, dequantised; ``bias``: the
        operator that adds it, if another. None if they cannot be read."""

    @abstractmethod
    def _with_outputs(self, added: Mapping[int, str]) -> bytes:
        """The file with more outputs; ``added`` maps tensor indices to names."""

    def _require_class_axis(self) -> None:
        scores = self.graph.tensors[self.graph.outputs[0]]
        problem = obstacle(self.graph, scores)
        if problem is not None:
            raise ModelError(f"{self.origin}: the output {problem}")
        if len(scores.long_axes) > 1:
            raise ModelError(
                f"{self.origin}: the output has the shape {scores.shape}, which is not a vector "
                "of class scores; edgemon monitors classifiers"
            )


@contextmanager
def one_sentence(subject: Path, kind: str, damage: type[Exception] = Exception) -> Iterator[None]:
    """Raises ModelError for what ends the reading of a model: ``damage`` is what the reader raises
    on a file that is not of its ``kind``, such as "an ONNX model", or damaged."""
    try:
        yield
    except UnsupportedError as error:
        raise ModelError(f"{subject}: cannot use the model: {error}") from None
    except EdgemonError:
        raise
    except damage:
        raise ModelError(f"{subject}: is not {kind}, or it is damaged; export it again") from None


def run_once(task: str, model: Path, subject: Path, kernels: str) -> dict[str, Any]:
    """What a worker answers that tries a model; see ``child.run`` for errors."""
    job = {"task": task, "model": str(model), "kernels": kernels}
    return child.run([job], subject=str(subject), silence_s=PROBE_S)[0]
