"""Redrawn images of companions in files, and their error."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from edgemon.bench.errors import BenchError

Array = npt.NDArray[Any]
NAME = "class_{:03d}.tflite"  # of one class, in a folder


class Companions:
    """One file for all classes, or a folder with one a class."""

    def __init__(self, path: Path) -> None:
        files = [path] if path.is_file() else sorted(path.glob("class_*.tflite"))
        if not files:
            raise BenchError(f"{path}: no companion, and no folder with {NAME.format(0)}")
        self.alone = path.is_dir()
        numbers = (int(f.stem.rpartition("_")[2]) if self.alone else 0 for f in files)
        self._loaded = {n: _opened(f) for n, f in zip(numbers, files, strict=True)}
        self.bytes = sum(f.stat().st_size for f in files)

    def errors(self, images: Array, outputs: Array, classes: Array) -> npt.NDArray[np.float64]:
        """Mean squared difference (n,) of input tensors and redrawn ones, in units of the input;
        of a class without a companion infinite."""
        found = np.full(len(images), np.inf)
        for i, (image, output, chosen) in enumerate(zip(images, outputs, classes, strict=True)):
            if not self.alone:
                found[i] = self._error(self._loaded[0], image, output)
            elif chosen in self._loaded:
                found[i] = self._error(self._loaded[chosen], image, None)
        return found

    def milliseconds(self, image: Array, output: Array, rounds: int = 50) -> float:
        """The least of some inferences."""
        least, first = np.inf, next(iter(self._loaded.values()))
        for _ in range(rounds):
            start = time.perf_counter()
            self._error(first, image, None if self.alone else output)
            least = min(least, time.perf_counter() - start)
        return float(least * 1e3)

    def _error(self, model: Any, image: Array, output: Array | None) -> float:
        for detail in model.get_input_details():
            is_image = len(detail["shape"]) == 4
            value = image if is_image or output is None else output
            model.set_tensor(detail["index"], value.reshape(detail["shape"]))
        model.invoke()
        (made,) = model.get_output_details()
        (given,) = (d for d in model.get_input_details() if len(d["shape"]) == 4)
        drawn = _real(model.get_tensor(made["index"]), made)
        return float(np.square(drawn[0] - _real(image, given)).mean())


def _opened(path: Path) -> Any:
    from ai_edge_litert.interpreter import Interpreter

    model = Interpreter(str(path), num_threads=1)
    model.allocate_tensors()
    return model


def _real(x: Array, detail: Any) -> npt.NDArray[np.float64]:
    scale, zero = detail["quantization"]
    x = x.astype(np.float64)
    return (x - zero) * scale if scale else x
