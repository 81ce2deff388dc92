"""Image files: a folder with one folder a class, a folder of images, or one image."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from edgemon.compiler.data.arrays import Loaded
from edgemon.compiler.data.image_files import (
    GRAY_MODES,
    HIDDEN,
    SUFFIXES,
    ImageForm,
    Size,
    decode,
    look,
)
from edgemon.compiler.data.labels import LabelReader
from edgemon.compiler.data.row_file import RowWriter
from edgemon.compiler.data.row_range import RowRange
from edgemon.compiler.errors import DataError
from edgemon.compiler.reporter import Progress, Warn
from edgemon.runtime.preprocess import InputSpec, Preprocess
from edgemon.runtime.resize import resize_bilinear

Array = npt.NDArray[Any]

EXIF = ("ignore", "apply")
COLOURS = 3
SQUEEZED = 0.1  # a change of the ratio of sides that is worth a word


@dataclass(frozen=True)
class Pictures:
    """How image files become rows. ``resize``: (width, height) to which images of several sizes are
    brought. ``channels``: 3 where the model takes colours, so that grey files become RGB too, also
    where all are grey; None: as the files are. ``exif``: "apply" turns images as their EXIF
    orientation says, which viewers do and most training tools do not."""

    resize: Size | None = None
    channels: int | None = None
    exif: str = "ignore"

    def __post_init__(self) -> None:
        if self.exif not in EXIF:
            raise DataError(f"--exif {self.exif}: use {' or '.join(EXIF)}")

    @classmethod
    def of(cls, preprocess: Preprocess, spec: InputSpec, exif: str = "ignore") -> Pictures:
        """What a model's input asks for, after its preprocessing."""
        first = preprocess.layout_of(spec) == "nchw"
        colours = len(spec.shape) == 3 and spec.shape[0 if first else -1] == COLOURS
        takes = colours or preprocess.channels in ("rgb", "bgr")
        return cls(
            preprocess.resize, COLOURS if takes and preprocess.channels != "gray" else None, exif
        )


def read_folder(
    path: Path, rows: RowRange, folder: Path, pictures: Pictures, progress: Progress | None,
    warn: Warn,
) -> Loaded:  # fmt: skip
    """Images as uint8 (N, H, W, C), C = 1 where all are grey (see ``Pictures``), else 3 (RGB). The
    label is the name of the class folder; images that lie in ``path`` itself have none."""
    classes = sorted(p for p in path.iterdir() if p.is_dir() and not p.name.startswith(HIDDEN))
    in_folders = [(f, c.name) for c in classes for f in _images(c)]
    found = in_folders or [(f, "") for f in _images(path)]
    if not found:
        nested = next((c for c in classes if any(p.is_dir() for p in c.iterdir())), None)
        hint = "" if nested is None else f" ({nested} holds folders: is that what you mean?)"
        raise DataError(
            f"{path}: holds neither x.npy nor images; give a folder with one folder of images "
            f"a class{hint}"
        )
    _warn_of_others([*classes, path] if in_folders else [path], bool(in_folders), warn)
    positions = rows.of(len(found))
    wanted = [found[i] for i in positions]
    labels, names = None, None
    if in_folders:
        reader = LabelReader(rows.source, positions.start)
        for file, name in wanted:
            reader.add_word(name, str(file))
        for c in classes:
            reader.declare(c.name)
        labels, names = reader.finish()
    out = folder / "x.npy"
    _write([f for f, _ in wanted], out, pictures, progress, warn)
    return Loaded(
        out, np.arange(len(wanted)), labels, names, positions.start,
        files=tuple(f.relative_to(path).as_posix() for f, _ in wanted),
    )  # fmt: skip


def read_image(path: Path, folder: Path, pictures: Pictures, warn: Warn) -> Loaded:
    """One image, without a label."""
    out = folder / "x.npy"
    _write([path], out, pictures, None, warn)
    return Loaded(out, np.arange(1), None, files=(path.name,))


def _images(folder: Path) -> list[Path]:
    return sorted(p for p in folder.iterdir() if _is_image(p))


def _is_image(path: Path) -> bool:
    return path.suffix.lower() in SUFFIXES and not path.name.startswith(".") and path.is_file()


def _warn_of_others(folders: Sequence[Path], classed: bool, warn: Warn) -> None:
    """What lies among the images and is not read; ``classed``: the last folder is that of the
    class folders."""
    kinds: Counter[str] = Counter()
    for i, folder in enumerate(folders):
        is_root = classed and i == len(folders) - 1
        for p in folder.iterdir():
            if p.name.startswith(HIDDEN) or p.name.lower() == "thumbs.db":
                continue
            if p.is_dir():
                kinds["folders within class folders"] += not is_root
            elif is_root and _is_image(p):
                kinds["images beside the class folders"] += 1
            elif not is_root and not _is_image(p):
                kinds[f"files {p.suffix or 'without a suffix'}"] += 1
    said = ", ".join(f"{n} {kind}" for kind, n in kinds.most_common() if n)
    if said:
        warn(f"{folders[-1]}: left out: {said}")


def _write(
    files: list[Path], out: Path, pictures: Pictures, progress: Progress | None, warn: Warn
) -> None:
    seen = [look(f, turned=pictures.exif == "apply") for f in files]
    _warn_of_guesses(seen, pictures, warn)
    gray = all(s.mode in GRAY_MODES for s in seen) and pictures.channels != COLOURS
    sizes = {s.size for s in seen}
    if len(sizes) > 1 and pictures.resize is None:
        other = next(i for i, s in enumerate(seen) if s.size != seen[0].size)
        raise DataError(
            f"images differ in size: {files[0]} is {_x(seen[0].size)}, {files[other]} is "
            f"{_x(seen[other].size)}; declare --preprocess resize=WxH"
        )
    several = pictures.resize is not None and len(sizes) > 1
    width, height = pictures.resize if pictures.resize and several else seen[0].size
    channels = 1 if gray else COLOURS
    with RowWriter(out, (height, width, channels), np.uint8) as writer:
        for done, file in enumerate(files, 1):
            image = decode(file, "L" if gray else "RGB", turned=pictures.exif == "apply")
            image = resize_bilinear(image, width, height)
            writer.append(image.reshape(1, height, width, channels))
            if progress is not None:
                progress(done, len(files))


def _warn_of_guesses(seen: Sequence[ImageForm], pictures: Pictures, warn: Warn) -> None:
    count = f"of {len(seen):,} images"
    turned = sum(s.oriented for s in seen)
    if turned and pictures.exif == "ignore":
        warn(
            f"{turned:,} {count} say by EXIF that they are to be turned, which is ignored, as most "
            "training tools do; --exif apply turns them, as viewers do"
        )
    frames = sum(s.frames > 1 for s in seen)
    if frames:
        warn(f"{frames:,} {count} have several frames, of which the first is read")
    grays = sum(s.mode in GRAY_MODES for s in seen)
    if 0 < grays < len(seen):
        warn(f"{grays:,} {count} are grey and the others are not: grey ones are read as RGB")
    if pictures.resize is not None:
        wanted = pictures.resize[0] / pictures.resize[1]
        squeezed = sum(abs(s.size[0] / s.size[1] / wanted - 1) > SQUEEZED for s in seen)
        if squeezed:
            warn(
                f"{squeezed:,} {count} have other ratios of width and height than "
                f"{_x(pictures.resize)}, and are squeezed by resize, not cropped"
            )


def _x(size: Size) -> str:
    return f"{size[0]}x{size[1]}"
