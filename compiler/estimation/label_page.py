"""Rows to label, on disk: a CSV, or a folder with that, the images, and a page to label them in."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from edgemon.compiler.bundle.bundle import Bundle
from edgemon.compiler.bundle_rows import load_rows
from edgemon.compiler.errors import CompileError
from edgemon.compiler.estimation.asking import NONE
from edgemon.compiler.estimation.observed import Observed
from edgemon.compiler.html_page import templates
from edgemon.compiler.reporter import Reporter

Array = npt.NDArray[Any]
Indices = npt.NDArray[np.intp]

TABLE, PAGE, TEMPLATE = "labels.csv", "label.html", "label_page.html.jinja"
ENLARGED = 96  # pixels that the shorter side of a shown image has at least


def write(
    out: Path, text: str, bundle: Bundle, data: str, rows: Observed, at: Indices, *,
    label_column: str | None, reporter: Reporter,
) -> None:  # fmt: skip
    """``out`` ending in .csv: that file; else a folder. Raises CompileError if it exists, or if the
    rows are no images of 8 bits that a folder could show."""
    if os.path.lexists(out):
        raise CompileError(f"{out} exists; choose another --out")
    if out.suffix.lower() == ".csv":
        with _beside(out) as scratch:
            (scratch / TABLE).write_text(text, encoding="utf-8")
            os.link(scratch / TABLE, out)
        return
    with _beside(out) as scratch:
        pictures = _images(bundle, data, scratch, at, label_column, reporter)
        folder = scratch / "new"
        folder.mkdir()
        (folder / TABLE).write_text(text, encoding="utf-8")
        names = [f"{int(n)}.png" for n in rows.numbers[at]]
        _save(folder, names, pictures)
        (folder / PAGE).write_text(_page(bundle.classes.names, rows, at, names, text))
        folder.rename(out)


@contextmanager
def _beside(out: Path) -> Iterator[Path]:
    """A temporary folder on the disk of ``out``."""
    parent = out.absolute().parent
    parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=".edgemon-", dir=parent) as scratch:
        yield Path(scratch)


def _images(
    bundle: Bundle, data: str, scratch: Path, at: Indices, label_column: str | None,
    reporter: Reporter,
) -> Array:  # fmt: skip
    loaded = load_rows(bundle, data, scratch, label_column=label_column, reporter=reporter)
    (images,) = loaded.take(at).blocks(len(at))
    channels = images.shape[3] if images.ndim == 4 else 1
    if images.dtype != np.uint8 or images.ndim not in (3, 4) or channels not in (1, 3, 4):
        raise CompileError(
            f"{data}: rows of {images.dtype} with the shape {images.shape[1:]} cannot be shown as "
            "images; write a table of them with --out labels.csv"
        )
    found: Array = images[..., 0] if images.ndim == 4 and channels == 1 else images
    return found


def _save(folder: Path, names: Sequence[str], pictures: Array) -> None:
    from PIL import Image

    for name, pixels in zip(names, pictures, strict=True):
        image = Image.fromarray(pixels)
        times = -(-ENLARGED // min(image.size))
        if times > 1:
            image = image.resize(
                (image.width * times, image.height * times), Image.Resampling.NEAREST
            )
        image.save(folder / name)


def _page(
    classes: Sequence[str], rows: Observed, at: Indices, names: Sequence[str], text: str
) -> str:
    images = [
        {"row": int(n), "file": name, "said": classes[int(p)]}
        for n, name, p in zip(rows.numbers[at], names, rows.predicted[at], strict=True)
    ]
    return (
        templates(__package__)
        .get_template(TEMPLATE)
        .render(images=images, classes=[*classes, NONE], table=TABLE, text=text)
    )
