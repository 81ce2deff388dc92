"""Proving a bundle again, from its files alone or on given rows."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy.typing as npt

from edgemon.compiler.bundle.bundle import Bundle
from edgemon.compiler.bundle.keys import public_key
from edgemon.compiler.bundle.signature import checked_copy
from edgemon.compiler.data.images import Pictures
from edgemon.compiler.data.loading import load
from edgemon.compiler.proof.prove import Proof, prove
from edgemon.compiler.recording.evaluation import blocks
from edgemon.compiler.recording.recording import Recording, record
from edgemon.compiler.reporter import Reporter
from edgemon.runtime.preprocess import InputSpec, Preprocess


def verify_bundle(
    path: Path,
    data: str | None = None,
    *,
    label_column: str | None = None,
    key: Path | None = None,
    workers: int = 2,
    reporter: Reporter = Reporter(),  # noqa: B008 - stateless
) -> Proof:
    """The proof of a bundle on ``data`` (if any), its self-test vectors and the neighbours of its
    thresholds. Raises ArtifactError if its files do not belong together. With a public ``key`` the
    signature is checked first, see ``signature.checked_copy``."""
    with tempfile.TemporaryDirectory(prefix="edgemon-") as scratch:
        if key is not None:
            path = checked_copy(path, public_key(key), Path(scratch, path.absolute().name))
        bundle = Bundle.open(path)
        bundle.require_intact()
        rows: Iterator[list[npt.NDArray[Any]]] = iter(())
        if data is not None:
            recording = record_rows(
                bundle, data, Path(scratch), label_column=label_column, workers=workers,
                reporter=reporter, labelled=False,
            )  # fmt: skip
            rows = blocks(bundle.artifact.program, recording)
        with reporter.stage("proving") as progress:
            return prove(bundle.artifact_bytes, bundle.onnx_bytes, rows, progress)


def record_rows(
    bundle: Bundle, data: str, scratch: Path, *, label_column: str | None = None,
    group: str | None = None, workers: int = 2,
    reporter: Reporter = Reporter(),  # noqa: B008 - stateless
    labelled: bool = True, takes_group: bool = False,
) -> Recording:  # fmt: skip
    """What a bundle's model computes on rows, as its metadata says that images enter it. Without
    ``labelled`` the rows' labels are ignored, and may be of classes that the model lacks. Columns
    by which the bundle's rows were grouped are no features. ``takes_group``: see ``load``."""
    metadata = bundle.artifact.metadata
    preprocess = Preprocess.from_json(metadata["preprocess"])
    spec, how = InputSpec.from_json(metadata["input"]), bundle.reading
    rows = load(
        data,
        scratch,
        label_column=label_column,
        group=group,
        aside=how.aside,
        features=how.features,
        takes_group=takes_group,
        pictures=Pictures.of(preprocess, spec, how.exif),
        warn=reporter.warn,
    )
    classes = bundle.classes
    rows = classes.numbered(rows, f"{bundle.path}") if labelled else replace(rows, y=None)
    with reporter.stage("recording") as progress:
        return record(
            bundle.model_in(scratch),
            rows,
            preprocess=preprocess,
            input=spec,
            labels=classes.map,
            kernels=metadata["kernels"],
            scratch=scratch,
            workers=workers,
            progress=progress,
        )
