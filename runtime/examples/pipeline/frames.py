"""Write the rows of an .npz as frames, as a camera would: frame-000000.ppm and so on.

    python frames.py DATA.npz FOLDER [FIRST:END]

Images of 8 bits become PGM or PPM, all else .npy.
"""

import sys
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt


def write_frame(folder: Path, number: int, image: npt.NDArray[Any]) -> Path:
    """One image, (H, W) or (H, W, C), as a frame of this number; its file."""
    channels = image.shape[2] if image.ndim == 3 else 1
    stem = folder / f"frame-{number:06}"
    if image.dtype != np.uint8 or image.ndim not in (2, 3) or channels not in (1, 3):
        path = stem.with_suffix(".npy")
        np.save(path, np.ascontiguousarray(image))
        return path
    kind, suffix = (b"P6", ".ppm") if channels == 3 else (b"P5", ".pgm")
    path = stem.with_suffix(suffix)
    head = b"%s\n%d %d\n255\n" % (kind, image.shape[1], image.shape[0])
    path.write_bytes(head + image.tobytes())
    return path


def main(data: str, out: str, rows: str = ":") -> None:
    first, _, end = rows.partition(":")
    with np.load(data) as found:
        images = found["x"][int(first or 0) : int(end) if end else None]
    folder = Path(out)
    folder.mkdir(parents=True, exist_ok=True)
    for number, image in enumerate(images):
        write_frame(folder, number, image)
    print(f"{out}: {len(images)} frames")


if __name__ == "__main__":
    if len(sys.argv) not in (3, 4):
        sys.exit(__doc__)
    main(*sys.argv[1:])
