"""Does the label that a model gives itself mean the class with the largest score?

Monitors judge the class of the largest score. A support-vector machine votes otherwise, and a model
may be exported with a threshold of its own: then an application that reads the label acts on
another answer than the one that is judged.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass
from typing import Any, cast

import numpy as np
import numpy.typing as npt

from edgemon.compiler.data.loading import Dataset
from edgemon.compiler.documents import measured as schema
from edgemon.compiler.models import child
from edgemon.compiler.models.model import Model
from edgemon.runtime.preprocess import Preprocess

SILENCE_S = 300.0


@dataclass(frozen=True)
class OwnLabels:
    """On how many of ``rows`` the label that ``output`` gives is ``different``."""

    output: str
    rows: int
    different: int

    def to_json(self) -> schema.OwnLabels:
        return cast(schema.OwnLabels, asdict(self))


def compare(
    model: Model, data: Dataset, predicted: npt.NDArray[np.integer[Any]], preprocess: Preprocess
) -> OwnLabels | None:
    """The file's own labels of rows against their ``predicted`` (n,) classes; None of a file
    without labels, or with labels that name no class."""
    made = model.prepared
    if made is None or made.whole is None or not made.label:
        return None
    (answer,) = child.run(
        [{
            "task": "labels", "model": str(made.whole), "output": made.label, "x": str(data.x),
            "rows": data.rows.tolist(), "preprocess": preprocess.to_json(),
            "input": model.input.to_json(),
        }],
        subject=f"{model.origin} on {data.source}", silence_s=SILENCE_S,
    )  # fmt: skip
    names = model.class_names or tuple(map(str, range(model.n_classes)))
    if not set(answer["labels"]) <= set(names):
        return None
    own = np.array([names.index(label) for label in answer["labels"]])
    return OwnLabels(made.label, len(own), int((own != predicted).sum()))


def about(found: schema.OwnLabels | None) -> Iterator[tuple[str, str]]:
    """A finding, where labels differ; ``found`` as ``to_json`` gives it."""
    if found is not None and found["different"]:
        yield (
            "own_label",
            f"The model's own label ({found['output']!r}) is another than the class of its largest "
            f"score on {found['different']:,} of {found['rows']:,} rows. The monitors judge the "
            "largest score: let the application act on that, or name another output (--output).",
        )
