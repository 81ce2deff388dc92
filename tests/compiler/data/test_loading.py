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

from edgemon.compiler.data.loading import load
from edgemon.compiler.data.row_file import RowFile
from edgemon.compiler.errors import DataError
from tests.compiler.data.files import X, all_rows, image_folder

Y = np.array([0, 1, 2, 0, 1, 2, 0, 1, 2, 0])


@pytest.fixture
def npz(tmp_path: Path) -> Path:
    np.savez_compressed(tmp_path / "d.npz", x=X, y=Y)
    return tmp_path / "d.npz"


def test_npz_holds_rows_labels_shape_and_dtype(npz: Path, tmp_path: Path) -> None:
    data = load(str(npz), tmp_path)
    np.testing.assert_array_equal(all_rows(data), X)
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
        np.testing.assert_array_equal(all_rows(data), X[first:end])
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
        np.testing.assert_array_equal(all_rows(data), X)
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
    np.testing.assert_array_equal(all_rows(load(str(path), tmp_path)), X)
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
        ("d.parquet", "is not data that edgemon can read"),
        ("none.npz", "no such file or folder"),
        ("empty", "neither x.npy nor images"),
    ):
        with pytest.raises(DataError, match=says):
            load(str(tmp_path / spec), tmp_path)


def test_take_keeps_labels_with_their_rows(npz: Path, tmp_path: Path) -> None:
    data = load(str(npz), tmp_path).take([7, 2])
    np.testing.assert_array_equal(all_rows(data), X[[7, 2]])
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
    folder = image_folder(tmp_path / "d", {"0": list(X[:4]), "1": list(X[4:])})
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
def test_labels_that_are_longer_than_they_should_be_are_not_read(
    tmp_path: Path, labels: str
) -> None:
    rows = 10 if labels == "longer than its header" else 200_000_000
    header = _npy_header(rows)
    path = tmp_path / "d.npz"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_STORED) as archive:
        with archive.open("x.npy", "w") as file:
            np.save(file, X)
        with archive.open("y.npy", "w") as file:
            file.write(header)
            for _ in range(10):
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


def test_more_rows_than_memory_holds_need_a_range(tmp_path: Path) -> None:
    RowFile.create(tmp_path / "x.npy", (20_000_000, 1), np.uint8)
    with pytest.raises(DataError, match="more than 10,000,000 rows; give a range"):
        load(str(tmp_path / "x.npy"), tmp_path)
    assert len(load(f"{tmp_path / 'x.npy'}[-5:]", tmp_path)) == 5


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


@pytest.mark.parametrize("key", ["x", "y", "track"])
def test_what_inflates_a_thousandfold_is_refused_before_it_is_inflated(
    key: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = 3 << 20
    arrays = {"x": np.zeros((8, 2), np.uint8), "y": np.zeros(8, np.int64)}
    shape = (rows, 4) if key == "x" else (rows,)
    np.savez_compressed(
        tmp_path / "d.npz", **{**arrays, key: np.zeros(shape, np.uint8 if key == "x" else np.int64)}
    )
    monkeypatch.setattr(zipfile.ZipFile, "open", lambda *_: pytest.fail("it was inflated"))
    group = "track" if key == "track" else None
    with pytest.raises(DataError, match=rf"\({key}\): .* would inflate to .*200 times at most"):
        load(str(tmp_path / "d.npz"), tmp_path, group=group)


def test_much_that_was_not_compressed_and_little_that_was_is_read(tmp_path: Path) -> None:
    large, small = np.zeros((3 << 10, 4 << 10), np.uint8), np.zeros((1 << 10, 4 << 10), np.uint8)
    np.savez(tmp_path / "large.npz", x=large, y=np.zeros(len(large), np.int64))
    np.savez_compressed(tmp_path / "small.npz", x=small, y=np.zeros(len(small), np.int64))
    assert len(load(str(tmp_path / "large.npz"), tmp_path)) == len(large)
    assert len(load(str(tmp_path / "small.npz"), tmp_path)) == len(small)


def test_arrays_that_are_not_read_are_said(tmp_path: Path) -> None:
    np.savez(tmp_path / "d.npz", x=X, y=Y, x_test=X[:3], y_test=Y[:3], note=np.arange(3))
    said: list[str] = []
    assert len(load(str(tmp_path / "d.npz"), tmp_path, warn=said.append)) == len(X)
    assert [s.partition(": ")[2] for s in said] == ["x and y are read, and not x_test, y_test"]


def test_columns_of_an_npz_are_found_by_their_names(tmp_path: Path) -> None:
    x, said = np.arange(12.0).reshape(4, 3), []
    np.savez(tmp_path / "d.npz", x=x, y=np.arange(4), columns=np.array(["c", "a", "b"]))
    spec = f"{tmp_path / 'd.npz'}[1:3]"
    plain = load(spec, tmp_path)
    assert plain.features == ("c", "a", "b")
    found = load(spec, tmp_path, features=("a", "c"), warn=said.append)
    assert (found.features, found.y.tolist() if found.y is not None else None) == (
        ("a", "c"),
        [1, 2],
    )
    np.testing.assert_array_equal(next(found.blocks(9)), x[1:3][:, [1, 0]])
    assert "left out: b" in said[0]
    with pytest.raises(DataError, match="lacks the column 'd', a feature"):
        load(spec, tmp_path, features=("a", "d"))
    np.savez(tmp_path / "d.npz", x=x, y=np.arange(4), columns=np.arange(3))  # no names
    assert load(spec, tmp_path, features=("a", "c")).features is None


def test_a_label_column_of_what_has_no_columns_is_left_out_aloud(tmp_path: Path) -> None:
    np.savez(tmp_path / "d.npz", x=np.zeros((3, 2)), y=np.arange(3))
    said: list[str] = []
    found = load(str(tmp_path / "d.npz"), tmp_path, label_column="kind", warn=said.append)
    assert found.y is not None
    assert found.y.tolist() == [0, 1, 2]
    assert said == [f"{tmp_path / 'd.npz'}: is no CSV, so that --label-column kind is left out"]
