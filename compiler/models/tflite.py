"""The front end for TFLite files."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from pathlib import Path
from typing import ClassVar

from edgemon.compiler.errors import ModelError
from edgemon.compiler.models import child, flatbuffer, tflite_weights
from edgemon.compiler.models.base import PROBE_S, Conversion, Model, Reals, read_file
from edgemon.compiler.models.graph import Operator, UnsupportedError

IDENTIFIER = b"TFL3"


class TfliteModel(Model):
    """A TFLite file."""

    tapped_name: ClassVar[str] = "model.tapped.tflite"

    @classmethod
    def open(
        cls, path: Path, *, kernels: str = "xnnpack", conversion: Conversion | None = None
    ) -> TfliteModel:
        """Read the file and try it in a child process. Raises ModelError for a file that is
        missing, damaged, no TFLite model, or that the interpreter cannot run."""
        content = _read(path)
        subject = path if conversion is None else conversion.path
        # First the child: its interpreter verifies the flatbuffer's structure, ours does not.
        child.run(
            [{"task": "probe", "model": str(path), "kernels": kernels}],
            subject=str(subject),
            silence_s=PROBE_S,
        )
        try:
            graph = flatbuffer.read_graph(content)
        except UnsupportedError as error:
            raise ModelError(f"{subject}: cannot use the model: {error}") from None
        except Exception:
            # The reader knows no error of its own: damage may raise anything.
            raise ModelError(f"{subject}: the model is damaged; export it again") from None
        return cls(path, hashlib.sha256(content).hexdigest(), graph, content, conversion)

    def dense_weights(self, dense: Operator, bias: Operator | None) -> tuple[Reals, Reals] | None:
        return tflite_weights.dense_weights(self.content, self.graph, dense, bias)

    def _with_outputs(self, added: Mapping[int, str]) -> bytes:
        return flatbuffer.with_outputs(self.content, self.graph, added)


def _read(path: Path) -> bytes:
    content = read_file(path, "a .tflite file")
    if len(content) < 8 or content[4:8] != IDENTIFIER:
        raise ModelError(
            f"{path}: is no TFLite model (it lacks the identifier TFL3); give a .tflite file"
        )
    return content
