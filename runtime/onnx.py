"""A monitor as ONNX Runtime evaluates it; the same results as ``monitor.Monitor``."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from edgemon.runtime.errors import ArtifactError, BackendError
from edgemon.runtime.evaluation import Evaluation

Array = npt.NDArray[Any]


class OnnxMonitor:
    """``monitor.onnx`` of a bundle, given as a path or as bytes."""

    def __init__(self, model: Path | bytes) -> None:
        try:
            import onnxruntime
        except ImportError:
            raise BackendError("ONNX Runtime is missing: pip install onnxruntime") from None
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = 1
        options.enable_cpu_mem_arena = False  # which keeps the largest block of every run
        source = model if isinstance(model, bytes) else str(model)
        try:
            self._session = onnxruntime.InferenceSession(
                source, options, providers=["CPUExecutionProvider"]
            )
        except Exception as error:
            name = "the model" if isinstance(model, bytes) else model
            raise ArtifactError(f"ONNX Runtime cannot open {name}: {error}") from None

    def evaluate(self, taps: Sequence[Array]) -> Evaluation:
        """Evaluate n rows; ``taps[i]`` is (n, length) in the tap's dtype."""
        feed = {f"tap_{i}": np.ascontiguousarray(x) for i, x in enumerate(taps)}
        verdict, predicted, reason, verdicts, *scores = self._session.run(None, feed)
        return Evaluation(
            verdict.astype(np.uint8), reason, predicted, verdicts.astype(np.uint8), tuple(scores)
        )
