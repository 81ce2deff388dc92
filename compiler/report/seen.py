"""The data as the model sees it: what its input is given, after preprocessing."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from edgemon.compiler.documents import shown as schema
from edgemon.compiler.recording.recording import Recording
from edgemon.compiler.report.given import Given, picture
from edgemon.compiler.report.pictures import Shades, encoded
from edgemon.compiler.report.unusual import TAILS
from edgemon.runtime.errors import NotFiniteError
from edgemon.runtime.preprocess import FLOAT_INPUTS, InputSpec, to_codes

Floats = npt.NDArray[np.float64]
Array = npt.NDArray[Any]

BINS = 32  # of an integer input, whose codes they divide evenly
MOST_BINS = 40  # of floats
STEPS = (1, 2, 2.5, 5, 10)  # widths of bins, times a power of ten
MOST_COLUMNS = 200  # of a table that are told
FEWEST = 100  # rows whose values together tell nothing of one
FIRST_ROWS = 12
PICTURE_BYTES = 32 * 1024  # of all their pictures, as data URIs
DIGITS = 4  # of the columns' figures


def seen(test: Recording, labels: Sequence[str], given: Given) -> schema.Seen:
    """Of a sample of test rows, and of the first ones."""
    spec = given.input
    found: schema.Seen = {
        "histogram": None, "columns": [], "width": 0, "drawn": None, "first_rows": [],
    }  # fmt: skip
    rows = given.first()
    kind, values = given.kind(rows), _reals(rows, given)
    if spec.takes_tokens or not len(values):
        return found
    tells_no_row = given.shown or len(values) >= FEWEST
    if tells_no_row and (kind != "table" or spec.dtype not in FLOAT_INPUTS):
        found["histogram"] = _histogram(values, spec)
    if not given.shown:
        return found
    if kind == "table":
        found["columns"], found["width"] = _columns(values, given), values.shape[1]
    if kind == "images":
        ends = _range(spec)
        shades = Shades.of(values) if ends is None else Shades(*ends)
        found["drawn"] = (shades.black, shades.white)
        found["first_rows"] = _first_rows(test, labels, given, shades)
    return found


def _reals(rows: Array, given: Given) -> Floats:
    """(n, values): the real values of rows as the input is given them, before it saturates; without
    those that hold a NaN."""
    spec, found = given.input, []
    for row in rows:
        try:
            codes = to_codes(row, given.preprocess, spec).astype(np.float64).ravel()
        except NotFiniteError:
            continue
        found.append((codes - spec.zero_point) * spec.scale if spec.scale else codes)
    return np.array(found).reshape(len(found), -1)


def _range(spec: InputSpec) -> tuple[float, float] | None:
    """The real values of the outermost codes; None of floats."""
    if spec.dtype in FLOAT_INPUTS:
        return None
    ends, scale = np.iinfo(spec.dtype), spec.scale or 1.0
    return (ends.min - spec.zero_point) * scale, (ends.max - spec.zero_point) * scale


def _histogram(values: Floats, spec: InputSpec) -> schema.InputHistogram:
    ends = _range(spec)
    if ends is None:
        edges = _round_edges(float(values.min()), float(values.max()))
    else:
        half = (spec.scale or 1.0) / 2  # codes lie in the middle of their part of a bin
        edges = np.linspace(ends[0] - half, ends[1] + half, BINS + 1)
    return {
        "rows": len(values),
        "edges": edges.tolist(),
        "counts": np.histogram(values, edges)[0].tolist(),
        "below": int((values < edges[0]).sum()),
        "above": int((values > edges[-1]).sum()),
        "range": ends,
    }


def _round_edges(low: float, high: float) -> Floats:
    """At most ``MOST_BINS`` bins that hold both, between round numbers."""
    span = max(high - low, 1e-6 * max(abs(low), abs(high))) or 1.0
    least = span / (MOST_BINS - 2)
    power = 10.0 ** math.floor(math.log10(least))
    step = next(s * power for s in STEPS if s * power >= least * (1 - 1e-9))
    first, last = math.floor(low / step), math.ceil(high / step)
    first -= first * step > low  # for what rounding takes away
    last += last * step < high or first == last
    return np.arange(first, last + 1, dtype=np.float64) * step


def _columns(values: Floats, given: Given) -> list[schema.InputColumn]:
    told = values[:, :MOST_COLUMNS]
    found = np.quantile(told, TAILS, axis=0)
    return [
        {"column": name, "median": median, "usual": (low, high)}
        for name, (low, median, high) in zip(
            given.columns(values.shape[1])[: told.shape[1]],
            [[float(f"{q:.{DIGITS}g}") for q in column] for column in found.T],
            strict=True,
        )
    ]


def _first_rows(
    test: Recording, labels: Sequence[str], given: Given, shades: Shades
) -> list[schema.SeenRow]:
    assert test.labels is not None
    first = given.test.take(np.arange(min(FIRST_ROWS, len(given.test))))
    channels_first = given.preprocess.layout_of(given.input) == "nchw"
    images = []
    for block in first.blocks(1):
        (values,) = _reals(block, given)  # of a row that was recorded: it has no NaN
        image = values.reshape(given.input.shape)
        is_first = channels_first and image.ndim == 3
        images.append(shades.to_bytes(np.moveaxis(image, 0, -1) if is_first else picture(image)))
    named = [labels[c] for c in test.labels[: len(first)]]
    return [
        {"row": int(number), "label": label, "image": image}
        for number, label, image in zip(
            first.numbers, named, encoded(images, PICTURE_BYTES), strict=True
        )
    ]
