"""Images that are no digits: what a novelty signal of a classifier of digits should find.

    python -m edgemon.bench.glyphs DIGITS.npz FOLDER [--rows 1000] [--seed 0]

``letters.npz`` of other alphabets, drawn in a font that comes with Matplotlib, slanted, turned and
as thick as a pen's; ``turned.npz``, digits of DIGITS (x (n, 28, 28, 1) uint8, y (n,)) turned by a
quarter; ``mixed.npz``, two digits of different classes over each other. Letters and turned digits
that look like a digit are left out. Each file has ``x`` (rows, 28, 28, 1) uint8.
"""

from __future__ import annotations

import zipfile
from pathlib import Path
from typing import Annotated, Any

import matplotlib
import numpy as np
import numpy.typing as npt
import typer
from PIL import Image, ImageDraw, ImageFont
from scipy import ndimage

Images = npt.NDArray[np.uint8]

SIDE = 28
LETTERS = (
    "ΓΔΘΛΞΠΣΦΨΩαβδεζηλμξπφψω"  # Greek
    "БДЖИЛФЦШЩЫЭЮЯджкфшщыэюя"  # Cyrillic
    "ԲԳԴԵԶԷԸԹԺԻԼԽԾԿՀՁՂՃՄՅՆՇ"  # Armenian
    "აბგდეზთიკლმნჟრსტუფქღყშჩცძწჭხჯჰ"  # Georgian
)
DRAWN = 84  # pixels a side, in which letters are drawn
TURNS_TO_A_DIGIT = (0, 1, 8)  # a quarter turned still one, as a slanted 1 is


def letters(n: int, rng: np.random.Generator) -> Images:
    """(n, 28, 28): a letter fills 20 pixels and lies with its centre of mass in the middle, as
    digits of MNIST do (LeCun, Cortes, Burges)."""
    folder = Path(matplotlib.get_data_path()) / "fonts" / "ttf"
    font = ImageFont.truetype(str(folder / "DejaVuSans-Oblique.ttf"), 56)
    found = np.empty((n, SIDE, SIDE), np.uint8)
    for i in range(n):
        page = Image.new("L", (DRAWN, DRAWN))
        letter = LETTERS[rng.integers(len(LETTERS))]
        ImageDraw.Draw(page).text((DRAWN / 2, DRAWN / 2), letter, 255, font, anchor="mm")
        ink = np.asarray(page, np.float64)
        turn, slant = np.deg2rad(rng.uniform(-12, 12)), rng.uniform(-0.25, 0.25)
        matrix = np.array([[np.cos(turn), -np.sin(turn)], [np.sin(turn) + slant, np.cos(turn)]])
        middle = np.array([DRAWN, DRAWN]) / 2
        ink = ndimage.affine_transform(ink, matrix, middle - matrix @ middle, order=1)
        ink = ndimage.gaussian_filter(ink, rng.uniform(1.0, 2.2))
        found[i] = _placed(np.clip(ink * rng.uniform(1.2, 2.0), 0, 255).astype(np.uint8))
    return found


def _placed(ink: Images) -> Images:
    rows, columns = np.flatnonzero((ink > 32).any(axis=1)), np.flatnonzero((ink > 32).any(axis=0))
    cut = Image.fromarray(ink[rows[0] : rows[-1] + 1, columns[0] : columns[-1] + 1])
    scale = 20 / max(cut.size)
    cut = cut.resize([max(1, round(s * scale)) for s in cut.size], Image.Resampling.BOX)
    canvas = np.zeros((SIDE, SIDE), np.uint8)
    small = np.asarray(cut)
    top, left = (SIDE - small.shape[0]) // 2, (SIDE - small.shape[1]) // 2
    canvas[top : top + small.shape[0], left : left + small.shape[1]] = small
    off = np.subtract((SIDE - 1) / 2, ndimage.center_of_mass(canvas))
    return np.asarray(ndimage.shift(canvas, np.rint(off), order=0))


def turned(n: int, x: Images, y: npt.NDArray[Any], rng: np.random.Generator) -> Images:
    """(n, 28, 28): digits turned by a quarter to either side."""
    chosen = rng.choice(np.flatnonzero(~np.isin(y, TURNS_TO_A_DIGIT)), n, replace=False)
    sides = rng.choice([1, 3], n)
    return np.stack([np.rot90(image, k) for image, k in zip(x[chosen], sides, strict=True)])


def mixed(n: int, x: Images, y: npt.NDArray[Any], rng: np.random.Generator) -> Images:
    """(n, 28, 28): the brighter of two digits of different classes at each pixel."""
    first = rng.choice(len(x), n, replace=False)
    second = np.array([rng.choice(np.flatnonzero(y != y[i])) for i in first])
    return np.asarray(np.maximum(x[first], x[second]))


def _digits(path: Path) -> tuple[Images, npt.NDArray[np.int64]]:
    """x (n, 28, 28) and y (n,). Raises typer.BadParameter if the file has no such arrays."""
    try:
        with np.load(path) as stored:
            x, y = stored["x"], stored["y"]
    except (OSError, ValueError, KeyError, EOFError, TypeError, zipfile.BadZipFile):  # or an .npy
        raise typer.BadParameter(f"{path} is no .npz with arrays x and y") from None
    if x.dtype != np.uint8 or x.shape[1:] not in ((SIDE, SIDE), (SIDE, SIDE, 1)):
        raise typer.BadParameter(
            f"{path}: x must be (n, {SIDE}, {SIDE}, 1) uint8, and is {x.shape} {x.dtype}"
        )
    if y.shape != x.shape[:1] or y.dtype.kind not in "iu":
        raise typer.BadParameter(f"{path}: y must be ({len(x)},) whole, and is {y.shape} {y.dtype}")
    return x.reshape(-1, SIDE, SIDE), y.astype(np.int64)


def main(
    digits: Annotated[Path, typer.Argument(help="An .npz with x and y.", exists=True)],
    folder: Annotated[Path, typer.Argument(help="Where to write the three files.")],
    rows: Annotated[int, typer.Option(min=1, help="Images of each kind.")] = 1000,
    seed: Annotated[int, typer.Option(min=0, help="Of everything random.")] = 0,
) -> None:
    """Images that are no digits."""
    x, y = _digits(digits)
    most = int((~np.isin(y, TURNS_TO_A_DIGIT)).sum())
    if rows > most or len(np.unique(y)) < 2:
        raise typer.BadParameter(
            f"{digits} has {most:,} digits that can be turned, and {len(np.unique(y))} classes; "
            f"{rows:,} rows need as many, and two classes (--rows)"
        )
    rng = np.random.default_rng(seed)
    made = {
        "letters": letters(rows, rng),
        "turned": turned(rows, x, y, rng),
        "mixed": mixed(rows, x, y, rng),
    }
    folder.mkdir(parents=True, exist_ok=True)
    for name, images in made.items():
        np.savez_compressed(folder / f"{name}.npz", x=images[..., None])


if __name__ == "__main__":
    typer.run(main)
