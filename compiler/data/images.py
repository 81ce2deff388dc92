"""Image files: a folder with one folder a class, a folder of images, or one image."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from edgemon.compiler.data.arrays import Loaded
from edgemon.compiler.data.labels import LabelReader
from edgemon.compiler.data.row_file import RowWriter
from edgemon.compiler.data.row_range import RowRange
from edgemon.compiler.errors import DataError
from edgemon.runtime.resize import resize_bilinear

Array = npt.NDArray[Any]
Progress = Callable[[int, int], None]
Size = tuple[int, int]  # width, height

SUFFIXES = (".png", ".jpg", ".jpeg", ".bmp", ".ppm", ".pgm", ".gif", ".webp", ".tif", ".tiff")
GRAY_MODES = ("1", "L", "LA")
MODES = (*GRAY_MODES, "RGB", "RGBA", "P")


def read_folder(
    path: Path, rows: RowRange, folder: Path, resize: Size | None, progress: Progress | None
) -> Loaded:
    """Images as uint8 (N, H, W, C), C = 1 where all are grey, else 3 (RGB). The label is the name
    of the class folder; images that lie in ``path`` itself have none."""
    classes = sorted(p for p in path.iterdir() if p.is_dir() and not p.name.startswith("."))
    found = [(f, c.name) for c in classes for f in _images(c)] or [(f, "") for f in _images(path)]
    if not found:
        raise DataError(
            f"{path}: holds neither x.npy nor images; give a folder with one folder of images "
            "a class"
        )
    positions = rows.of(len(found))
    wanted = [found[i] for i in positions]
    labels, names = None, None
    if classes and wanted[0][1]:
        reader = LabelReader(rows.source, positions.start)
        for file, name in wanted:
            reader.add_word(name, str(file))
        for c in classes:
            reader.declare(c.name)
        labels, names = reader.finish()
    out = folder / "x.npy"
    _write([f for f, _ in wanted], out, resize, progress)
    return Loaded(out, np.arange(len(wanted)), labels, names, positions.start)


def read_image(path: Path, folder: Path) -> Loaded:
    """One image, without a label."""
    out = folder / "x.npy"
    _write([path], out, None, None)
    return Loaded(out, np.arange(1), None)


def _images(folder: Path) -> list[Path]:
    return sorted(p for p in folder.iterdir() if p.suffix.lower() in SUFFIXES and p.is_file())


def _write(files: list[Path], out: Path, resize: Size | None, progress: Progress | None) -> None:
    seen = [_look(f) for f in files]
    gray = all(is_gray for _, is_gray in seen)
    sizes = {size for size, _ in seen}
    if len(sizes) > 1 and resize is None:
        other = next(i for i, (size, _) in enumerate(seen) if size != seen[0][0])
        raise DataError(
            f"images differ in size: {files[0]} is {_x(seen[0][0])}, {files[other]} is "
            f"{_x(seen[other][0])}; declare --preprocess resize=WxH"
        )
    width, height = resize if resize is not None and len(sizes) > 1 else seen[0][0]
    channels = 1 if gray else 3
    with RowWriter(out, (height, width, channels), np.uint8) as writer:
        for done, file in enumerate(files, 1):
            image = _decode(file, "L" if gray else "RGB")
            image = resize_bilinear(image, width, height)
            writer.append(image.reshape(1, height, width, channels))
            if progress is not None:
                progress(done, len(files))


def _x(size: Size) -> str:
    return f"{size[0]}x{size[1]}"


def _look(file: Path) -> tuple[Size, bool]:
    """Size and "is it grey", from the image's header."""
    from PIL import Image

    try:
        with Image.open(file) as image:
            size, mode = image.size, image.mode
    except (OSError, ValueError, SyntaxError, Image.DecompressionBombError):
        raise _unreadable(file) from None
    if mode not in MODES:
        raise DataError(
            f"{file}: has pixels of the kind {mode}, but edgemon reads images of 8 bits, grey or "
            "RGB; convert it, or save its values in a .npy"
        )
    return size, mode in GRAY_MODES


def _decode(file: Path, mode: str) -> Array:
    from PIL import Image

    try:
        with Image.open(file) as image:
            pixels = np.asarray(image.convert(mode))
            see_through = image.mode in ("LA", "RGBA") or "transparency" in image.info
            opaque = not see_through or int(np.asarray(image.convert("RGBA"))[..., 3].min()) == 255
    except (OSError, ValueError, SyntaxError, Image.DecompressionBombError):
        raise _unreadable(file) from None
    if not opaque:
        raise DataError(
            f"{file}: has transparent pixels, whose colour is not defined; save it without an "
            "alpha channel"
        )
    return pixels


def _unreadable(file: Path) -> DataError:
    return DataError(f"{file}: is no image that can be read, or it is damaged; remove it")
