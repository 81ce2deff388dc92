"""What of a model is monitored: one of its outputs, and values for all inputs but one."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from edgemon.compiler.documents import asked as schema
from edgemon.compiler.errors import ModelError
from edgemon.compiler.models.graph import Tensor, UnsupportedError

Array = npt.NDArray[Any]


@dataclass(frozen=True)
class Selection:
    """``output``: the tensor with the class scores, by name; "" leaves it to the front end.
    ``inputs``: values of the inputs that data does not fill, by name."""

    output: str = ""
    inputs: Mapping[str, Array] = field(default_factory=dict)

    @classmethod
    def parse(cls, output: str = "", inputs: Sequence[str] = ()) -> Selection:
        """From ``--output NAME`` and each ``--input NAME=FILE.npy``. Raises ModelError."""
        found: dict[str, Array] = {}
        for text in inputs:
            name, equals, path = text.rpartition("=")
            if not equals or not name:
                raise ModelError(f"--input {text}: write NAME=FILE.npy")
            if name in found:
                raise ModelError(f"--input {text}: the input {name!r} is given twice")
            found[name] = _load(text, Path(path))
        return cls(output, found)


WHOLE = Selection()  # the model as it is


@dataclass(frozen=True)
class Prepared:
    """The user's file, of which the model that runs is a part: the branch to ``output``, with
    ``inputs`` as constants. ``left_out`` are outputs that it no longer has; ``label`` is one of
    them, which ``whole``, the file with all outputs, gives."""

    path: Path
    sha256: str
    output: str = ""
    left_out: tuple[str, ...] = ()
    inputs: Mapping[str, Array] = field(default_factory=dict)
    whole: Path | None = None
    label: str = ""

    @property
    def sentence(self) -> str:
        """What people should know of it."""
        names = ", ".join(map(repr, self.left_out))
        return (
            f"the classes are told by the output {self.output!r}; the bundle's model lacks {names}"
        )

    def to_json(self) -> schema.Part:
        """For metadata and reports; JSON types only."""
        return {
            "output": self.output or None,
            "outputs_left_out": list(self.left_out),
            "fixed_inputs": {name: described(v) for name, v in self.inputs.items()},
        }


def described(value: Array) -> schema.Array:
    """An array by its hash, with dtype and shape; JSON types only."""
    content = np.ascontiguousarray(value).tobytes()
    return {
        "dtype": str(value.dtype), "shape": list(value.shape),
        "sha256": hashlib.sha256(content).hexdigest(),
    }  # fmt: skip


def unknown_input(name: str, inputs: Iterable[str]) -> UnsupportedError:
    """What is raised for a value of an input that the model does not have."""
    return UnsupportedError(
        f"--input {name}: the model has no such input; its inputs are {', '.join(inputs)}"
    )


def fitting(tensor: Tensor, value: Array) -> Array:
    """The value in the dtype of an input that takes it. Raises UnsupportedError if its shape is
    another, or the dtype does not have its values."""
    if len(tensor.shape) != value.ndim or any(
        n not in (-1, m) for n, m in zip(tensor.shape, value.shape, strict=True)
    ):
        wanted = ", ".join("?" if n < 0 else str(n) for n in tensor.shape)
        raise UnsupportedError(
            f"--input {tensor.name}: the array has the shape {value.shape}, the input ({wanted})"
        )
    found = value.astype(tensor.dtype)
    if not np.array_equal(found.astype(np.float64), value.astype(np.float64)) and (
        found.dtype.kind != "f" or value.dtype.kind != "f"
    ):
        raise UnsupportedError(
            f"--input {tensor.name}: the array has values that do not fit the input's "
            f"{tensor.dtype}"
        )
    return found


def _load(text: str, path: Path) -> Array:
    try:
        found = np.load(path, allow_pickle=False)
    except (OSError, ValueError, EOFError) as error:
        why = getattr(error, "strerror", None) or "it is not a .npy file of numbers"
        raise ModelError(f"--input {text}: cannot read the file: {why}") from None
    if not isinstance(found, np.ndarray) or found.dtype.kind not in "biuf":
        raise ModelError(f"--input {text}: give a .npy file with one array of numbers")
    return found
