"""What a bundle's model computes on rows, read and run as its own rows were."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from edgemon.compiler.bundle.bundle import Bundle
from edgemon.compiler.data.images import Pictures
from edgemon.compiler.data.loading import Dataset, load
from edgemon.compiler.recording.recording import Recording, record
from edgemon.compiler.reporter import Reporter
from edgemon.runtime.preprocess import InputSpec, Preprocess


def record_rows(
    bundle: Bundle, data: str, scratch: Path, *, label_column: str | None = None,
    group: str | None = None, workers: int = 2,
    reporter: Reporter = Reporter(),  # noqa: B008 - stateless
    labelled: bool = True, takes_group: bool = False,
) -> Recording:  # fmt: skip
    """What a bundle's model computes on rows. Without ``labelled`` the rows' labels are ignored,
    and may be of classes that the model lacks. ``takes_group``: see ``load``."""
    rows = load_rows(
        bundle, data, scratch, label_column=label_column, group=group, takes_group=takes_group,
        reporter=reporter,
    )  # fmt: skip
    rows = bundle.classes.numbered(rows, f"{bundle.path}") if labelled else replace(rows, y=None)
    return record_loaded(bundle, rows, scratch, workers=workers, reporter=reporter)


def load_rows(
    bundle: Bundle, data: str, scratch: Path, *, label_column: str | None = None,
    group: str | None = None, takes_group: bool = False,
    reporter: Reporter = Reporter(),  # noqa: B008 - stateless
) -> Dataset:  # fmt: skip
    """Rows as a bundle's own were read. Columns by which those were grouped are no features."""
    metadata, how = bundle.artifact.metadata, bundle.reading
    pictures = Pictures.of(
        Preprocess.from_json(metadata["preprocess"]), InputSpec.from_json(metadata["input"]),
        how.exif,
    )  # fmt: skip
    return load(
        data, scratch, label_column=label_column, group=group, aside=how.aside,
        features=how.features, takes_group=takes_group, pictures=pictures, warn=reporter.warn,
    )  # fmt: skip


def record_loaded(
    bundle: Bundle, rows: Dataset, scratch: Path, *, workers: int = 2,
    reporter: Reporter = Reporter(),  # noqa: B008 - stateless
) -> Recording:  # fmt: skip
    """The same of rows that are loaded; their labels, if any, are ``bundle.classes.values``."""
    metadata = bundle.artifact.metadata
    with reporter.stage("recording") as progress:
        return record(
            bundle.model_in(scratch), rows,
            preprocess=Preprocess.from_json(metadata["preprocess"]),
            input=InputSpec.from_json(metadata["input"]), labels=bundle.classes.map,
            kernels=metadata["kernels"], scratch=scratch, workers=workers, progress=progress,
        )  # fmt: skip
