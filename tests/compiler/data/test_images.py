"""Folders of images, and images alone, as rows."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from edgemon.compiler.data.loading import load
from edgemon.compiler.errors import DataError
from tests.compiler.data.files import X, all_rows, image_folder


def test_folders_are_classes(tmp_path: Path) -> None:
    spec = image_folder(tmp_path / "d", {"dog": [X[0], X[1]], "cat": [X[2]]})
    data = load(spec, tmp_path)
    np.testing.assert_array_equal(all_rows(data), X[[2, 0, 1]])
    assert data.class_names == ("cat", "dog")
    assert data.y is not None
    assert data.y.tolist() == [0, 1, 1]


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
    data = load(spec, tmp_path, resize=(2, 2))
    assert data.shape == (2, 2, 2, 3)
    for row, image in zip(all_rows(data), (X[0], X[1, :3]), strict=True):
        expected = Image.fromarray(image).resize((2, 2), Image.Resampling.BILINEAR)
        np.testing.assert_array_equal(row, np.asarray(expected))


def test_a_damaged_image_is_named(tmp_path: Path) -> None:
    spec = image_folder(tmp_path / "d", {"k": [X[0]]})
    for content in (b"no image", (tmp_path / "d/k/0.png").read_bytes()[:40]):
        (tmp_path / "d/k/0.png").write_bytes(content)
        with pytest.raises(DataError, match=r"0\.png: is no image"):
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
