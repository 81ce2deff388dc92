"""Proving a bundle again, from its files alone or on given rows."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy.typing as npt

from edgemon.compiler.bundle.bundle import Bundle
from edgemon.compiler.bundle.keys import public_key
from edgemon.compiler.bundle.signature import checked_copy
from edgemon.compiler.bundle_rows import record_rows
from edgemon.compiler.proof.prove import Proof, prove
from edgemon.compiler.recording.evaluation import blocks
from edgemon.compiler.reporter import Reporter


def verify_bundle(
    path: Path,
    data: str | None = None,
    *,
    label_column: str | None = None,
    key: Path | None = None,
    then: Callable[[Bundle, Path], None] | None = None,
    workers: int = 2,
    reporter: Reporter = Reporter(),  # noqa: B008 - stateless
) -> Proof:
    """The proof of a bundle on ``data`` (if any), its self-test vectors and the neighbours of its
    thresholds. Raises ArtifactError if its files do not belong together. With a public ``key`` the
    signature is checked first, see ``signature.checked_copy``. ``then`` looks at the
    bundle, with a folder to work in, if the proof holds."""
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
            proof = prove(bundle.artifact_bytes, bundle.onnx_bytes, rows, progress)
        if then is not None and not proof.mismatches:
            then(bundle, Path(tempfile.mkdtemp(dir=scratch)))
    return proof
