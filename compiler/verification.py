"""Proving a bundle again, from its files alone or on given rows."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from edgemon.compiler.bundle import Bundle
from edgemon.compiler.data import load
from edgemon.compiler.evaluation import blocks
from edgemon.compiler.prove import Proof, prove
from edgemon.compiler.recording import record
from edgemon.compiler.reporter import Reporter
from edgemon.runtime.preprocess import InputSpec, Preprocess


def verify_bundle(
    path: Path,
    data: str | None = None,
    *,
    label_column: str | None = None,
    workers: int = 2,
    reporter: Reporter = Reporter(),  # noqa: B008 - stateless
) -> Proof:
    """The proof of a bundle on ``data`` (if any), its self-test vectors and the neighbours of its
    thresholds. Raises ArtifactError if its files do not belong together."""
    bundle = Bundle.open(path)
    bundle.require_intact()
    with tempfile.TemporaryDirectory(prefix="edgemon-") as scratch:
        rows: Iterator[list[npt.NDArray[Any]]] = iter(())
        if data is not None:
            rows = _record(bundle, data, label_column, Path(scratch), workers, reporter)
        with reporter.stage("proving") as progress:
            return prove(bundle.artifact_bytes, bundle.onnx_bytes, rows, progress)


def _record(
    bundle: Bundle, data: str, label_column: str | None, scratch: Path, workers: int,
    reporter: Reporter,
) -> Iterator[list[npt.NDArray[Any]]]:  # fmt: skip
    metadata = bundle.artifact.metadata
    preprocess = Preprocess.from_json(metadata["preprocess"])
    rows = load(data, scratch, label_column=label_column, resize=preprocess.resize)
    with reporter.stage("recording") as progress:
        recording = record(
            bundle.model,
            replace(rows, y=None),  # parity needs no labels, and admits unknown classes
            preprocess=preprocess,
            input=InputSpec.from_json(metadata["input"]),
            labels=np.array(metadata["label_values"]),
            kernels=metadata["kernels"],
            scratch=scratch,
            workers=workers,
            progress=progress,
        )
    yield from blocks(bundle.artifact.program, recording)
