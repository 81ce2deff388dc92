"""``--preprocess standardize=FILE``: the scaler of a model, without a pickle."""

from __future__ import annotations

import json
import pickle
from pathlib import Path

import numpy as np
import pytest
from sklearn.preprocessing import StandardScaler

from edgemon.runtime.errors import InputError
from edgemon.runtime.preprocess import InputSpec, Preprocess, to_input

X = np.random.default_rng(0).normal(5, [1.0, 20.0, 0.1], (200, 3))


@pytest.fixture
def scaler(tmp_path: Path) -> StandardScaler:
    found = StandardScaler().fit(X)
    np.savez(tmp_path / "scaler.npz", mean=found.mean_, std=found.scale_)
    named = {"mean_": found.mean_.tolist(), "scale_": found.scale_.tolist()}
    (tmp_path / "scaler.json").write_text(json.dumps(named))
    return found


@pytest.mark.parametrize("name", ["scaler.npz", "scaler.json"])
def test_a_scaler_is_applied_column_by_column(
    name: str, scaler: StandardScaler, tmp_path: Path
) -> None:
    declared = Preprocess.parse(f"standardize={tmp_path / name}")
    assert declared.mean == tuple(scaler.mean_)
    assert Preprocess.parse(str(declared)) == declared  # it needs the file no more
    row = to_input(X[7], declared, InputSpec("x", (3,), "float32"))
    np.testing.assert_allclose(row[0], scaler.transform(X[7:8])[0], rtol=1e-4)


@pytest.mark.parametrize(
    ("content", "says"),
    [
        ({"mean": [1, 2]}, "has no std"),
        ({"mean": [1, 2], "std": [1]}, "2 means, but 1 deviations"),
        ({"mean": [1], "std": [0]}, "std must not be zero"),
        ({"mean": ["a"], "std": [1]}, "mean holds what is no number"),
        ({"mean": [[1]], "std": [[1]]}, "has the shape"),
        ([1, 2], "neither .npz nor .json"),
    ],
)
def test_a_wrong_scaler_is_one_sentence(content: object, says: str, tmp_path: Path) -> None:
    (tmp_path / "s.json").write_text(json.dumps(content))
    with pytest.raises(InputError, match=says):
        Preprocess.parse(f"standardize={tmp_path / 's.json'}")


def test_a_pickle_is_not_read(scaler: StandardScaler, tmp_path: Path) -> None:
    for name in ("scaler.pkl", "scaler.joblib", "scaler.npz"):
        (tmp_path / name).write_bytes(pickle.dumps(scaler))
        with pytest.raises(InputError, match=r"cannot be read.*np\.savez"):
            Preprocess.parse(f"standardize={tmp_path / name}")
    with pytest.raises(InputError, match="No such file"):
        Preprocess.parse(f"standardize={tmp_path / 'none.npz'}")
    objects = np.array([scaler, scaler], dtype=object)
    np.savez(tmp_path / "objects.npz", mean=objects, std=objects)
    with pytest.raises(InputError, match="cannot be read"):
        Preprocess.parse(f"standardize={tmp_path / 'objects.npz'}")


@pytest.mark.usefixtures("scaler")
def test_a_scaler_goes_with_no_other_mean(tmp_path: Path) -> None:
    for text in (
        "mean=1,standardize={}",
        "standardize={},std=2",
        "standardize={0},standardize={0}",
    ):
        with pytest.raises(InputError, match="given twice"):
            Preprocess.parse(text.format(tmp_path / "scaler.npz"))


@pytest.mark.usefixtures("scaler")
def test_a_row_of_a_table_is_spoken_of_as_one(tmp_path: Path) -> None:
    declared = Preprocess.parse(f"standardize={tmp_path / 'scaler.npz'}")
    with pytest.raises(InputError, match="a row has 4 columns, but the model's input 'x' takes 3"):
        to_input(np.zeros(4), Preprocess(), InputSpec("x", (3,), "float32"))
    with pytest.raises(InputError, match="mean has 3 values, but a row has 4 columns"):
        to_input(np.zeros(4), declared, InputSpec("x", (4,), "float32"))


@pytest.mark.parametrize("name", ["empty.npz", "array.npy", "deep.json"])
def test_a_file_that_is_no_scaler_is_one_sentence(name: str, tmp_path: Path) -> None:
    path = tmp_path / name
    path.write_bytes(b"")
    if name == "array.npy":
        np.save(path, np.zeros(3))
    if name == "deep.json":
        path.write_text("[" * 100_000)
    with pytest.raises(InputError, match=r"cannot be read: it is neither .*np\.savez"):
        Preprocess.parse(f"standardize={path}")


def test_other_arrays_beside_a_scaler_are_not_read(tmp_path: Path) -> None:
    path = tmp_path / "s.npz"
    np.savez(path, mean=[1.0], std=[2.0], other=np.array([{}], object))  # raises if it is read
    assert Preprocess.parse(f"standardize={path}").mean == (1.0,)
