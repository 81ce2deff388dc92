"""Folders of images, and images alone, as rows."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from PIL import Image, ImageOps

from edgemon.compiler.data.images import Pictures
from edgemon.compiler.data.loading import Dataset, load
from edgemon.compiler.errors import DataError
from edgemon.runtime.preprocess import InputSpec, Preprocess
from tests.compiler.data.files import X, all_rows, image_folder


def test_folders_are_classes(tmp_path: Path) -> None:
    spec = image_folder(tmp_path / "d", {"dog": [X[0], X[1]], "cat": [X[2]]})
    data = load(spec, tmp_path)
    np.testing.assert_array_equal(all_rows(data), X[[2, 0, 1]])
    assert data.class_names == ("cat", "dog")
    assert data.y is not None
    assert data.y.tolist() == [0, 1, 1]


def test_a_row_knows_its_file(tmp_path: Path) -> None:
    """Also of a range, and of some of its rows."""
    spec = image_folder(tmp_path / "d", {"dog": [X[0], X[1]], "cat": [X[2]]})
    listing = ("cat/0.png", "dog/0.png", "dog/1.png")
    assert load(spec, tmp_path).files == listing
    data = load(f"{spec}[1:3]", tmp_path).take([1])
    assert data.files is not None
    assert data.files[data.rows[0]] == listing[data.numbers[0]] == "dog/1.png"
    assert load(f"{spec}/cat/0.png", tmp_path).files == ("0.png",)
    np.savez(tmp_path / "d.npz", x=X)
    assert load(str(tmp_path / "d.npz"), tmp_path).files is None


def test_folders_with_numbers_are_labels(tmp_path: Path) -> None:
    data = load(image_folder(tmp_path / "d", {"10": [X[0]], "9": [X[1]]}), tmp_path)
    assert data.class_names is None
    assert data.y is not None
    assert data.y.tolist() == [10, 9]


def test_gray_images_have_one_channel_unless_others_have_three(tmp_path: Path) -> None:
    gray = X[0, :, :, 0]
    assert load(image_folder(tmp_path / "a", {"k": [gray]}), tmp_path).shape == (1, 4, 4, 1)
    assert load(image_folder(tmp_path / "b", {"k": [gray, X[0]]}), tmp_path).shape == (2, 4, 4, 3)


def test_a_folder_of_images_and_one_image_have_no_labels(tmp_path: Path) -> None:
    image_folder(tmp_path / "d", {"": [X[0], X[1]]})
    for spec, rows in ((tmp_path / "d", 2), (tmp_path / "d" / "1.png", 1)):
        data = load(str(spec), tmp_path)
        assert len(data) == rows
        assert data.y is None


def test_images_of_several_sizes_need_a_resize(tmp_path: Path) -> None:
    spec = image_folder(tmp_path / "d", {"k": [X[0], X[1, :3]]})
    with pytest.raises(DataError, match=r"differ in size.*4x4.*4x3.*resize"):
        load(spec, tmp_path)
    data = load(spec, tmp_path, pictures=Pictures((2, 2)))
    assert data.shape == (2, 2, 2, 3)
    for row, image in zip(all_rows(data), (X[0], X[1, :3]), strict=True):
        expected = Image.fromarray(image).resize((2, 2), Image.Resampling.BILINEAR)
        np.testing.assert_array_equal(row, np.asarray(expected))


def test_a_damaged_image_is_named(tmp_path: Path) -> None:
    spec = image_folder(tmp_path / "d", {"k": [X[0]]})
    for content in (b"no image", (tmp_path / "d/k/0.png").read_bytes()[:40]):
        (tmp_path / "d/k/0.png").write_bytes(content)
        with pytest.raises(DataError, match=r"0\.png: cannot be read as an image"):
            load(spec, tmp_path)


@pytest.mark.parametrize("mode", ["I;16", "I", "F", "CMYK"])
def test_pixels_that_8_bits_do_not_hold_are_refused(tmp_path: Path, mode: str) -> None:
    path = tmp_path / "d.tif"
    Image.new(mode, (4, 4)).save(path)
    with pytest.raises(DataError, match=r"d\.tif: has pixels of the kind .*8 bits"):
        load(str(path), tmp_path)


@pytest.mark.parametrize(("mode", "channels"), [("LA", 1), ("RGBA", 3)])
def test_transparent_pixels_are_refused_but_opaque_ones_are_not(
    tmp_path: Path, mode: str, channels: int
) -> None:
    path = tmp_path / "d.png"
    image = Image.fromarray(X[0]).convert(mode)
    image.save(path)
    plain = np.asarray(image.convert("L" if channels == 1 else "RGB")).reshape(4, 4, channels)
    np.testing.assert_array_equal(all_rows(load(str(path), tmp_path))[0], plain)
    image.putpixel((1, 2), (*image.getpixel((1, 2))[:-1], 254))
    image.save(path)
    with pytest.raises(DataError, match=r"d\.png: has transparent pixels"):
        load(str(path), tmp_path)


def test_a_transparent_palette_is_refused(tmp_path: Path) -> None:
    image = Image.fromarray(X[0]).convert("P")
    image.save(tmp_path / "opaque.png")
    assert load(str(tmp_path / "opaque.png"), tmp_path).shape == (1, 4, 4, 3)
    image.save(tmp_path / "d.png", transparency=image.getpixel((0, 0)))
    with pytest.raises(DataError, match="transparent"):
        load(str(tmp_path / "d.png"), tmp_path)


def said_of(
    spec: str, tmp_path: Path, pictures: Pictures | None = None
) -> tuple[Dataset, list[str]]:
    said: list[str] = []
    return load(spec, tmp_path, pictures=pictures or Pictures(), warn=said.append), said


def test_grey_files_alone_are_colours_for_a_model_of_colours(tmp_path: Path) -> None:
    """A bundle of colour and grey files could not run on the grey ones alone."""
    gray = np.arange(16, dtype=np.uint8).reshape(4, 4)
    spec = image_folder(tmp_path / "d", {"a": [gray, gray + 1]})
    assert said_of(spec, tmp_path)[0].shape == (2, 4, 4, 1)
    found, said = said_of(spec, tmp_path, Pictures(channels=3))
    np.testing.assert_array_equal(all_rows(found)[0], np.repeat(gray[..., None], 3, axis=2))
    assert not said
    mixed = image_folder(tmp_path / "m", {"a": [gray, np.stack([gray] * 3, axis=-1)]})
    assert "1 of 2 images are grey" in said_of(mixed, tmp_path)[1][0]


@pytest.mark.parametrize(
    ("shape", "layout", "text", "channels"),
    [
        ((4, 4, 3), "nhwc", "", 3),
        ((3, 4, 4), "nchw", "", 3),
        ((4, 4, 1), "nhwc", "", None),
        ((4, 4, 1), "nhwc", "channels=gray", None),
        ((4, 4, 3), "nhwc", "channels=bgr", 3),
        ((12,), "nhwc", "", None),
    ],
)
def test_the_models_input_says_whether_images_are_colours(
    shape: tuple[int, ...], layout: str, text: str, channels: int | None
) -> None:
    spec = InputSpec("x", shape, "float32", layout=layout)
    assert Pictures.of(Preprocess.parse(text), spec).channels == channels


@pytest.mark.parametrize("orientation", range(1, 9))
def test_an_exif_orientation_is_said_and_can_be_applied(orientation: int, tmp_path: Path) -> None:
    upright = np.arange(24, dtype=np.uint8).reshape(4, 6)
    stored = Image.fromarray(upright)
    exif = Image.Exif()
    exif[0x0112] = orientation
    (tmp_path / "d").mkdir()
    stored.save(tmp_path / "d" / "a.png", exif=exif)
    spec = str(tmp_path / "d")
    found, said = said_of(spec, tmp_path)
    np.testing.assert_array_equal(all_rows(found)[0, ..., 0], upright)
    assert [("1 of 1 images" in s, "--exif apply" in s) for s in said] == [(True, True)] * (
        orientation != 1
    )
    found, said = said_of(spec, tmp_path, Pictures(exif="apply"))
    expected = np.asarray(ImageOps.exif_transpose(Image.open(tmp_path / "d" / "a.png")))
    np.testing.assert_array_equal(all_rows(found)[0, ..., 0], expected)
    assert not said
    with pytest.raises(DataError, match="ignore or apply"):
        Pictures(exif="maybe")


def test_what_lies_among_the_images_and_is_not_read_is_said(tmp_path: Path) -> None:
    image = np.zeros((2, 2), np.uint8)
    spec = image_folder(tmp_path / "d", {"a": [image], "b": [image]})
    for name in ("a/x.heic", "a/y.heic", "b/notes", "a/Thumbs.db", "a/.DS_Store", "a/._0.png"):
        (tmp_path / "d" / name).write_bytes(b"")
    (tmp_path / "d" / "a" / "more").mkdir()
    Image.fromarray(image).save(tmp_path / "d" / "beside.png")
    found, (said,) = said_of(spec, tmp_path)
    assert len(found) == 2
    for part in ("2 files .heic", "1 files without a suffix", "1 folders within class folders",
                 "1 images beside the class folders"):  # fmt: skip
        assert part in said
    assert "db" not in said


def test_parts_in_folders_of_their_own_are_no_classes(tmp_path: Path) -> None:
    image_folder(tmp_path / "d" / "train", {"a": [np.zeros((2, 2), np.uint8)]})
    with pytest.raises(DataError, match="train holds folders: is that what you mean"):
        load(str(tmp_path / "d"), tmp_path)


def test_further_frames_and_squeezed_images_are_said(tmp_path: Path) -> None:
    frames = [Image.fromarray(np.full((4, 4), v, np.uint8)) for v in (0, 90)]
    (tmp_path / "d").mkdir()
    frames[0].save(tmp_path / "d" / "a.gif", save_all=True, append_images=frames[1:])
    Image.fromarray(np.zeros((4, 8), np.uint8)).save(tmp_path / "d" / "b.png")
    found, said = said_of(str(tmp_path / "d"), tmp_path, Pictures((4, 4)))
    assert len(found) == 2
    assert any("1 of 2 images have several frames" in s for s in said)
    assert any("1 of 2 images have other ratios" in s for s in said)
