"""Opening what the user gave: the model, and rows that are numbered by its classes."""

from __future__ import annotations

from pathlib import Path

from edgemon.compiler.data.classes import Classes, resolve
from edgemon.compiler.data.images import Pictures
from edgemon.compiler.data.loading import Dataset
from edgemon.compiler.data.sources import Sources, load_sources
from edgemon.compiler.data.splits import Splits
from edgemon.compiler.models import keras, open_model
from edgemon.compiler.models.model import Model
from edgemon.compiler.options import Options
from edgemon.compiler.reporter import Reporter


def open_all(
    path: Path, sources: Sources, scratch: Path, options: Options, reporter: Reporter
) -> tuple[Model, Classes, Splits[Dataset]]:
    """The model that runs, its classes, and the rows of each split. Raises EdgemonError."""
    with reporter.stage("opening the model"):
        model = open_model(path, scratch, options.selection)
        model.require_classifier()
    if model.prepared is not None and model.prepared.left_out:
        reporter.note(model.prepared.sentence)
    with reporter.stage("reading the data") as progress:
        splits = load_sources(
            sources, scratch, seed=options.seed, label_column=options.label_column,
            pictures=Pictures.of(options.preprocess, model.input, options.exif),
            group=options.group, repeats=options.repeats, shared_rows=options.shared_rows,
            progress=progress, warn=reporter.warn,
        )  # fmt: skip
    classes, numbered = resolve(
        dict(splits.items()), model.n_classes, order=options.label_order, given=options.classes,
        of_model=model.class_names, warn=reporter.warn,
    )  # fmt: skip
    splits = Splits(**numbered)
    if options.convert == "int8":
        with reporter.stage("converting to int8"):
            model = keras.to_int8(model, splits.fit, options.preprocess, scratch, options.selection)
    for change in () if model.conversion is None else model.conversion.changed:
        reporter.note(f"{change}, in the model that runs")
    return model, classes, splits
