from __future__ import annotations

import io
import subprocess
import sys
import tracemalloc
import zipfile
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from PIL import Image

from edgemon.compiler.data.loading import Dataset, load
from edgemon.compiler.data.row_file import RowFile
from edgemon.compiler.errors import DataError

X = np.arange(10 * 4 * 4 * 3, dtype=np.uint8).reshape(10, 4, 4, 3)
Y = np.array([0, 1, 2, 0, 1, 2, 0, 1, 2, 0])


@pytest.fixture
def npz(tmp_path: Path) -> Path:
    np.savez_compressed(tmp_path / "d.npz", x=X, y=Y)
    return tmp_path / "d.npz"


def _all(data: Dataset) -> np.ndarray:
    return np.concatenate(list(data.blocks(3)))


def test_npz_holds_rows_labels_shape_and_dtype(npz: Path, tmp_path: Path) -> None:
    data = load(str(npz), tmp_path)
    np.testing.assert_array_equal(_all(data), X)
    assert data.y is not None
    assert data.y.tolist() == Y.tolist()
    assert (len(data), data.shape, data.dtype) == (10, (10, 4, 4, 3), np.uint8)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.none() | st.integers(-10, 10), st.none() | st.integers(-10, 10))
def test_ranges_are_python_slices(
    npz: Path, tmp_path: Path, first: int | None, end: int | None
) -> None:
    text = f"[{'' if first is None else first}:{'' if end is None else end}]"
    for source in (str(npz), _npy_pair(tmp_path)):
        if len(Y[first:end]) == 0:
            with pytest.raises(DataError, match="no rows in this range"):
                load(source + text, tmp_path)
            continue
        data = load(source + text, tmp_path)
        np.testing.assert_array_equal(_all(data), X[first:end])
        assert data.y is not None
        assert data.y.tolist() == Y[first:end].tolist()


def _npy_pair(folder: Path) -> str:
    np.save(folder / "x.npy", X)
    np.save(folder / "y.npy", Y)
    return f"{folder / 'x.npy'},{folder / 'y.npy'}"


@pytest.mark.parametrize("text", ["[0:11]", "[-11:]", "[:12]"])
def test_a_range_beyond_the_rows_is_refused(npz: Path, tmp_path: Path, text: str) -> None:
    with pytest.raises(DataError, match="out of range, there are 10 rows"):
        load(f"{npz}{text}", tmp_path)


@pytest.mark.parametrize("text", ["[3]", "[a:b]", "[0:4:2]", "[]", "[-:2]"])
def test_a_range_that_is_none_is_refused(npz: Path, tmp_path: Path, text: str) -> None:
    with pytest.raises(DataError, match="FIRST:END"):
        load(f"{npz}{text}", tmp_path)


def test_pairs_folders_and_images_alone(tmp_path: Path) -> None:
    pair = _npy_pair(tmp_path)
    for spec, labelled in ((pair, True), (str(tmp_path), True), (pair.split(",")[0], False)):
        data = load(spec, tmp_path)
        np.testing.assert_array_equal(_all(data), X)
        assert (data.y is not None) == labelled


@pytest.mark.parametrize(
    ("keys", "says"),
    [
        (("a", "b"), "its keys are a, b"),
        (("x_train", "y_train", "x_test", "y_test"), "several sets of images"),
    ],
)
def test_unknown_keys_are_named(tmp_path: Path, keys: tuple[str, ...], says: str) -> None:
    np.savez(tmp_path / "d.npz", **dict.fromkeys(keys, X))
    with pytest.raises(DataError, match=says):
        load(str(tmp_path / "d.npz"), tmp_path)


@pytest.mark.parametrize(
    ("images", "labels"),
    [("images", "labels"), ("data", "target"), ("x_test", "y_test"), ("x", None)],
)
def test_common_keys_are_guessed(tmp_path: Path, images: str, labels: str | None) -> None:
    np.savez(tmp_path / "d.npz", **{images: X}, **({labels: Y} if labels else {}))
    data = load(str(tmp_path / "d.npz"), tmp_path)
    assert len(data) == 10
    assert (data.y is None) == (labels is None)


def test_lengths_must_match(tmp_path: Path) -> None:
    np.savez(tmp_path / "d.npz", x=X, y=Y[:9])
    np.save(tmp_path / "x.npy", X)
    np.save(tmp_path / "y.npy", Y[:9])
    for spec in ("d.npz", "d.npz[0:5]", "x.npy,y.npy"):
        named = ",".join(str(tmp_path / s) for s in spec.split(","))
        with pytest.raises(DataError, match="10 images but 9 labels"):
            load(named, tmp_path)


@pytest.mark.parametrize(
    "compression", [zipfile.ZIP_DEFLATED, zipfile.ZIP_LZMA, zipfile.ZIP_STORED]
)
def test_damage_is_one_sentence(tmp_path: Path, compression: int) -> None:
    pair = _npy_pair(tmp_path).split(",")
    path = tmp_path / "d.npz"
    with zipfile.ZipFile(path, "w", compression) as archive:
        for member in pair:
            archive.write(member, Path(member).name)
    np.testing.assert_array_equal(_all(load(str(path), tmp_path)), X)
    content = path.read_bytes()
    for damaged in (content[:300], content[:100] + bytes(60) + content[160:], b"no zip"):
        path.write_bytes(damaged)
        with pytest.raises(DataError) as error:
            load(str(path), tmp_path)
        assert "\n" not in str(error.value)


@pytest.mark.parametrize(
    ("values", "says"),
    [
        (np.array([[{}]], dtype=object), "pickle"),
        (np.array([["a"]]), "needs numbers"),
        (np.zeros(5), "one row must be one image"),
        (np.zeros((0, 3)), "has no rows"),
    ],
)
def test_images_that_are_none_are_refused(tmp_path: Path, values: np.ndarray, says: str) -> None:
    np.savez(tmp_path / "d.npz", x=values)
    with pytest.raises(DataError, match=says):
        load(str(tmp_path / "d.npz"), tmp_path)


def test_what_edgemon_does_not_read_is_named(tmp_path: Path) -> None:
    (tmp_path / "d.parquet").touch()
    (tmp_path / "empty").mkdir()
    for spec, says in (
        ("d.parquet", "is no data that edgemon reads"),
        ("none.npz", "no such file or folder"),
        ("empty", "neither x.npy nor images"),
    ):
        with pytest.raises(DataError, match=says):
            load(str(tmp_path / spec), tmp_path)


def test_take_keeps_labels_with_their_rows(npz: Path, tmp_path: Path) -> None:
    data = load(str(npz), tmp_path).take([7, 2])
    np.testing.assert_array_equal(_all(data), X[[7, 2]])
    assert data.y is not None
    assert data.y.tolist() == Y[[7, 2]].tolist()


def test_equal_rows_have_equal_fingerprints(tmp_path: Path) -> None:
    np.save(tmp_path / "x.npy", X[[0, 1, 0, 2]])
    a, b, c, d = load(str(tmp_path / "x.npy"), tmp_path).fingerprints()
    assert a == c
    assert len({a, b, d}) == 3


def test_row_numbers_are_those_of_the_source_in_every_format(npz: Path, tmp_path: Path) -> None:
    csv = tmp_path / "d.csv"
    csv.write_text("a,label\n" + "".join(f"{i},{i % 3}\n" for i in range(10)))
    folder = _images(tmp_path / "d", {"0": list(X[:4]), "1": list(X[4:])})
    for source in (str(npz), _npy_pair(tmp_path), str(csv), folder):
        data = load(f"{source}[3:8]", tmp_path)
        assert data.numbers.tolist() == [3, 4, 5, 6, 7]
        assert data.take([4, 0]).numbers.tolist() == [7, 3]


def test_a_wrong_label_is_named_by_its_row_in_the_file(tmp_path: Path) -> None:
    np.savez(tmp_path / "d.npz", x=X, y=-Y)
    with pytest.raises(DataError, match=r"label -1 .row 4."):
        load(f"{tmp_path / 'd.npz'}[3:8]", tmp_path)


@pytest.mark.parametrize("spec", ["x" * 300 + ".npz", "x" * 300 + ".npz[0:5]", "a/" * 3000])
def test_a_name_that_is_too_long_is_one_sentence(tmp_path: Path, spec: str) -> None:
    with pytest.raises(DataError, match=r"no such file or folder$"):
        load(spec, tmp_path)


def test_a_range_of_thousands_of_digits_is_refused(npz: Path, tmp_path: Path) -> None:
    with pytest.raises(DataError, match="FIRST:END"):
        load(f"{npz}[{'9' * 5000}:]", tmp_path)


@pytest.mark.parametrize("labels", ["longer than the images", "longer than its header"])
def test_labels_of_a_zip_bomb_are_not_unpacked(tmp_path: Path, labels: str) -> None:
    rows = 10 if labels == "longer than its header" else 200_000_000
    header = _npy_header(rows)
    path = tmp_path / "d.npz"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        with archive.open("x.npy", "w") as file:
            np.save(file, X)
        with archive.open("y.npy", "w") as file:
            file.write(header)
            for _ in range(50):
                file.write(bytes(4 << 20))
    tracemalloc.start()
    if rows == 10:
        assert load(str(path), tmp_path).y is not None
    else:
        with pytest.raises(DataError, match="10 images but 200000000 labels"):
            load(str(path), tmp_path)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 20 << 20


def _npy_header(rows: int) -> bytes:
    stream = io.BytesIO()
    header = {"descr": "<i8", "fortran_order": False, "shape": (rows,)}
    np.lib.format.write_array_header_1_0(stream, header)
    return stream.getvalue()


@pytest.mark.parametrize("at", ["label", "value"])
def test_one_long_csv_cell_does_not_cost_gigabytes(tmp_path: Path, at: str) -> None:
    lines = [f"{i % 10}.5,{i % 3}" for i in range(5000)]
    lines[2500] = f"1,{'1' * 130_000}" if at == "label" else f"{'1' * 130_000},1"
    (tmp_path / "d.csv").write_text("a,label\n" + "\n".join(lines))
    tracemalloc.start()
    if at == "label":
        with pytest.raises(DataError, match="line 2502 has 130000 characters"):
            load(str(tmp_path / "d.csv"), tmp_path)
    else:
        assert len(load(str(tmp_path / "d.csv"), tmp_path)) == 5000
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 20 << 20


def test_more_rows_than_memory_holds_need_a_range(tmp_path: Path) -> None:
    RowFile.create(tmp_path / "x.npy", (20_000_000, 1), np.uint8)
    with pytest.raises(DataError, match="more than 10,000,000 rows; give a range"):
        load(str(tmp_path / "x.npy"), tmp_path)
    assert len(load(f"{tmp_path / 'x.npy'}[-5:]", tmp_path)) == 5


# CSV


def _csv(tmp_path: Path, text: str, **options: str) -> Dataset:
    (tmp_path / "d.csv").write_text(text)
    return load(str(tmp_path / "d.csv"), tmp_path, **options)


@pytest.mark.parametrize(
    ("text", "options"),
    [
        ("a,b,label\n1,2,7\n3,4.5,8\n", {}),
        ("Label;a;b\n7;1;2\n\n8;3;4.5\n", {}),
        ("a,b,kind\n1,2,7\n3,4.5,8\n", {"label_column": "kind"}),
        ("7,1,2\n8,3,4.5\n", {"label_column": "0"}),
        ("1,2,7\n3,4.5,8", {"label_column": "-1"}),
    ],
)
def test_csv_with_and_without_a_header(tmp_path: Path, text: str, options: dict[str, str]) -> None:
    data = _csv(tmp_path, text, **options)
    assert _all(data).tolist() == [[1, 2], [3, 4.5]]
    assert data.dtype == np.float32
    assert data.y is not None
    assert data.y.tolist() == [7, 8]


@pytest.mark.parametrize(
    "text",
    ["1,2,cat\n3,4.5,dog\n", "a,b,kind\n1,2,cat\n3,4.5,dog\n", "1,2,y\n3,4.5,y2\n"],
)
def test_a_last_column_of_words_is_the_label(tmp_path: Path, text: str) -> None:
    data = _csv(tmp_path, text)
    assert _all(data).tolist() == [[1, 2], [3, 4.5]]
    assert data.y is not None
    assert data.y.tolist() == [0, 1]


def test_a_last_column_of_numbers_is_not_taken_for_the_label(tmp_path: Path) -> None:
    data = _csv(tmp_path, "a,b\n1,2\n3,4\n")
    assert _all(data).tolist() == [[1, 2], [3, 4]]
    assert data.y is None


@pytest.mark.parametrize(
    ("text", "rows"),
    [
        ("0,1,2\n5,6,7\n", [[5, 6, 7]]),
        ("0,1,2,label\n5,6,7,cat\n", [[5, 6, 7]]),
        ("label,2019,2020\n0,1,2\n", [[1, 2]]),
        ("class,0,1,2\n1,5,6,7\n", [[5, 6, 7]]),
        ("1.5,2.5,class\n3,4,y\n", [[1.5, 2.5], [3, 4]]),
        ("0,1\n1,0\n", [[0, 1], [1, 0]]),
        ("\n0,2,1\n5,6,7\n", [[0, 2, 1], [5, 6, 7]]),
    ],
)
def test_a_header_is_neither_a_row_nor_the_other_way_round(
    tmp_path: Path, text: str, rows: list[list[float]]
) -> None:
    assert _all(_csv(tmp_path, text)).tolist() == rows


def test_csv_with_words_as_labels_and_a_range(tmp_path: Path) -> None:
    (tmp_path / "d.csv").write_text("a,class\n" + "".join(f"{i},k{i % 3}\n" for i in range(600)))
    data = load(f"{tmp_path / 'd.csv'}[300:-1]", tmp_path)
    assert data.class_names == ("k0", "k1", "k2")
    assert _all(data)[:, 0].tolist() == list(range(300, 599))


@pytest.mark.parametrize(
    ("text", "options", "says"),
    [
        ("", {}, "is empty"),
        ("a,b,label\n1,2\n", {}, "line 2 has 2 columns, the first one 3"),
        ("kind,a\ncat,1\n", {}, "column kind: 'cat' is no number.*--label-column kind"),
        ("a,label\n1,0\n2,\n", {}, "the label of line 3 is empty"),
        (",a,label\n0,1,2\n", {}, "first column has no name.*index=False"),
        (f"a,b\n1,{'x' * 1000}y\n2,3\n", {"label_column": "a"}, "column b: 'x{40}...' is no"),
        (f"a,label\n1,{'x' * 1000}\n", {}, "label of line 2 has 1000 characters"),
        ("a,b\n1,2\n", {"label_column": "c"}, "no column 'c'; columns: a, b"),
        ("1,2\n", {"label_column": "2"}, "columns: 0 to 1"),
        ("label,y,a\n1,2,3\n", {}, "several columns may be the label"),
        ("label\n1\n", {}, "no column beside the label"),
        ("a,label\n", {}, "has no rows"),
        ("a,label\n,1\n", {}, "'' is no number"),
    ],
)
def test_csv_that_is_wrong_is_one_sentence(
    tmp_path: Path, text: str, options: dict[str, str], says: str
) -> None:
    with pytest.raises(DataError, match=says):
        _csv(tmp_path, text, **options)


def test_csv_that_is_no_text_is_refused(tmp_path: Path) -> None:
    (tmp_path / "d.csv").write_bytes(b"a,label\n\xff\xfe\x00,1\n")
    with pytest.raises(DataError, match="UTF-8"):
        load(str(tmp_path / "d.csv"), tmp_path)


# Images


def _images(root: Path, classes: dict[str, list[np.ndarray]]) -> str:
    for name, images in classes.items():
        (root / name).mkdir(parents=True)
        for i, image in enumerate(images):
            Image.fromarray(image).save(root / name / f"{i}.png")
    return str(root)


def test_folders_are_classes(tmp_path: Path) -> None:
    spec = _images(tmp_path / "d", {"dog": [X[0], X[1]], "cat": [X[2]]})
    data = load(spec, tmp_path)
    np.testing.assert_array_equal(_all(data), X[[2, 0, 1]])
    assert data.class_names == ("cat", "dog")
    assert data.y is not None
    assert data.y.tolist() == [0, 1, 1]


def test_folders_with_numbers_are_labels(tmp_path: Path) -> None:
    data = load(_images(tmp_path / "d", {"10": [X[0]], "9": [X[1]]}), tmp_path)
    assert data.class_names is None
    assert data.y is not None
    assert data.y.tolist() == [10, 9]


def test_gray_images_have_one_channel_unless_others_have_three(tmp_path: Path) -> None:
    gray = X[0, :, :, 0]
    assert load(_images(tmp_path / "a", {"k": [gray]}), tmp_path).shape == (1, 4, 4, 1)
    assert load(_images(tmp_path / "b", {"k": [gray, X[0]]}), tmp_path).shape == (2, 4, 4, 3)


def test_a_folder_of_images_and_one_image_have_no_labels(tmp_path: Path) -> None:
    _images(tmp_path / "d", {"": [X[0], X[1]]})
    for spec, rows in ((tmp_path / "d", 2), (tmp_path / "d" / "1.png", 1)):
        data = load(str(spec), tmp_path)
        assert len(data) == rows
        assert data.y is None


def test_images_of_several_sizes_need_a_resize(tmp_path: Path) -> None:
    spec = _images(tmp_path / "d", {"k": [X[0], X[1, :3]]})
    with pytest.raises(DataError, match=r"differ in size.*4x4.*4x3.*resize"):
        load(spec, tmp_path)
    data = load(spec, tmp_path, resize=(2, 2))
    assert data.shape == (2, 2, 2, 3)
    for row, image in zip(_all(data), (X[0], X[1, :3]), strict=True):
        expected = Image.fromarray(image).resize((2, 2), Image.Resampling.BILINEAR)
        np.testing.assert_array_equal(row, np.asarray(expected))


def test_a_damaged_image_is_named(tmp_path: Path) -> None:
    spec = _images(tmp_path / "d", {"k": [X[0]]})
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
    np.testing.assert_array_equal(_all(load(str(path), tmp_path))[0], plain)
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


MEMORY = """
import re, sys, tempfile
from pathlib import Path
from edgemon.compiler.data.loading import load
with tempfile.TemporaryDirectory() as scratch:
    data = load(sys.argv[1], Path(scratch))
    assert len(set(data.fingerprints())) == len(data)
print(re.search(r"VmHWM:\\s*(\\d+)", Path("/proc/self/status").read_text())[1])
"""


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_memory_does_not_grow_with_the_data(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    peaks = []
    for rows in (2_000, 40_000):
        x = rng.integers(0, 256, (rows, 32, 32, 3), dtype=np.uint8)
        np.savez(tmp_path / "d.npz", x=x, y=np.zeros(rows))
        command = [sys.executable, "-c", MEMORY, str(tmp_path / "d.npz")]
        done = subprocess.run(command, capture_output=True, text=True, check=True)
        peaks.append(int(done.stdout))
    assert peaks[1] < peaks[0] + 16_000  # KiB, where the data grew by 114,000
