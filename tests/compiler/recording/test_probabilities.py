"""Softmax vectors of rows, from whatever a model gives."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import numpy.typing as npt
import pytest

from edgemon.compiler.data.row_file import RowFile
from edgemon.compiler.program.ir import Tap
from edgemon.compiler.recording.probabilities import softmax_vectors
from edgemon.compiler.recording.recording import Recording

Z = np.array([[2.0, 0.0, -1.0], [9.0, 1.0, 0.0], [-3.0, 3.0, 3.5]])
P = np.exp(Z) / np.exp(Z).sum(axis=1, keepdims=True)


def _recorded(folder: Path, *taps: tuple[Tap, npt.ArrayLike]) -> Recording:
    files = []
    for i, (tap, values) in enumerate(taps):
        np.save(folder / f"t{i}.npy", np.asarray(values, tap.dtype))
        files.append(RowFile.open(folder / f"t{i}.npy"))
    n = len(Z)
    return Recording(
        tuple(t for t, _ in taps), tuple(files), np.arange(n), Z.argmax(axis=1).astype(np.int32),
        None, 3,
    )  # fmt: skip


@pytest.mark.parametrize("kind", ["logits", "unknown"])
def test_logits_become_their_softmax(kind: str, tmp_path: Path) -> None:
    rows = _recorded(tmp_path, (Tap("z", "float32", 3), Z))
    assert softmax_vectors(rows, kind) == pytest.approx(P, abs=1e-6)


@pytest.mark.parametrize("kind", ["probabilities", "unknown"])
def test_probabilities_stay_what_they_are(kind: str, tmp_path: Path) -> None:
    rows = _recorded(tmp_path, (Tap("p", "float32", 3), P))
    assert softmax_vectors(rows, kind) == pytest.approx(P, abs=1e-6)


def test_probabilities_of_integers_give_way_to_the_logits_that_made_them(tmp_path: Path) -> None:
    own = Tap("p", "int8", 3, 1 / 256, -128)
    codes = np.clip(np.rint(P * 256 - 128), -128, 127)
    logits = (Tap("z", "int8", 3, 1 / 8, 0), np.rint(Z * 8))
    rows = _recorded(tmp_path, (own, codes), logits)
    found = softmax_vectors(rows, "probabilities")
    assert found == pytest.approx(P, abs=1e-9)
    other = (Tap("h", "int8", 3, 1 / 8, 0), np.rint(-Z * 8))  # as wide, and no logits
    alone = softmax_vectors(_recorded(tmp_path, (own, codes), other), "probabilities")
    assert np.abs(alone - P).max() < 0.01
    assert np.abs(alone - P).max() > 1e-4


def test_one_unit_is_two_classes(tmp_path: Path) -> None:
    unit = np.array([[0.2], [0.5], [1.0]])
    rows = _recorded(tmp_path, (Tap("u", "float32", 1), unit))
    found = softmax_vectors(rows, "probabilities")
    assert found == pytest.approx(np.concatenate([1 - unit, unit], axis=1))
    logits = softmax_vectors(rows, "logits")
    assert logits[1, 1] == pytest.approx(1 / (1 + np.exp(-0.5)))
