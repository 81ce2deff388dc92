"""One image file: what it is, and its pixels."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from edgemon.compiler.errors import DataError

if TYPE_CHECKING:
    from PIL import Image

Array = npt.NDArray[Any]
Size = tuple[int, int]  # width, height

SUFFIXES = (".png", ".jpg", ".jpeg", ".bmp", ".ppm", ".pgm", ".gif", ".webp", ".tif", ".tiff")
HIDDEN = (".", "__MACOSX")  # how names begin that nobody means
GRAY_MODES = ("1", "L", "LA")
MODES = (*GRAY_MODES, "RGB", "RGBA", "P")
ORIENTATION = 0x0112  # of EXIF
UPRIGHT = 1
ON_ITS_SIDE = 5  # and the orientations above


@dataclass(frozen=True)
class ImageForm:
    """What a file's header says. ``oriented``: does EXIF say that it is to be turned?"""

    size: Size
    mode: str
    oriented: bool
    frames: int


def look(file: Path, *, turned: bool) -> ImageForm:
    """The size is that of the image as it is read, ``turned`` or not."""
    from PIL import Image

    try:
        with Image.open(file) as image:
            size, mode, frames = image.size, image.mode, int(getattr(image, "n_frames", 1))
            orientation = _orientation(image)
    except (OSError, ValueError, SyntaxError, Image.DecompressionBombError):
        raise _unreadable(file) from None
    if mode not in MODES:
        raise DataError(
            f"{file}: has pixels of the kind {mode}, but edgemon reads images of 8 bits, grey or "
            "RGB; convert it, or save its values in a .npy"
        )
    if turned and orientation >= ON_ITS_SIDE:
        size = size[1], size[0]
    return ImageForm(size, mode, orientation != UPRIGHT, frames)


def decode(file: Path, mode: str, *, turned: bool) -> Array:
    """The pixels as ``mode``, (H, W) or (H, W, 3) of uint8."""
    from PIL import Image, ImageOps

    try:
        with Image.open(file) as image:
            pixels = np.asarray((ImageOps.exif_transpose(image) if turned else image).convert(mode))
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


def _orientation(image: Image.Image) -> int:
    """1 to 8; 1, upright, where EXIF does not say it or says nonsense."""
    try:
        found = image.getexif().get(ORIENTATION, UPRIGHT)
    except Exception:  # a damaged block of EXIF has errors of many kinds
        return UPRIGHT
    return found if isinstance(found, int) and UPRIGHT <= found <= 8 else UPRIGHT


def _unreadable(file: Path) -> DataError:
    return DataError(f"{file}: cannot be read as an image, or is damaged; remove it")
