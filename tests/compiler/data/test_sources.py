"""Fit, threshold and test rows: whole groups on one side."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from edgemon.compiler.data.loading import Dataset
from edgemon.compiler.data.sources import Sources, load_sources
from edgemon.compiler.errors import DataError


def _save(folder: Path, name: str, tracks: np.ndarray, offset: int = 0) -> str:
    n = len(tracks)
    x = np.arange(n)[:, None] + np.array([0.0, 1000.0 + offset])
    np.savez(folder / name, x=x, y=np.arange(n) % 2, track=tracks)
    return str(folder / name)


def _load(folder: Path, sources: Sources, warnings: list[str] | None = None) -> dict[str, Dataset]:
    heard: list[str] = []
    parts = load_sources(sources, folder, seed=3, group="track", warn=heard.append)
    assert (heard == []) if warnings is None else (warnings.extend(heard) is None)
    return parts


def test_whole_groups_of_one_data_set_are_on_one_side(tmp_path: Path) -> None:
    data = _save(tmp_path, "d.npz", np.repeat(np.arange(60), 5))
    parts = _load(tmp_path, Sources(data))
    found = [set(part.groups.tolist()) for part in parts.values() if part.groups is not None]
    assert sum(map(len, found)) == len(set.union(*found)) == 60
    assert sum(map(len, parts.values())) == 300


def test_a_group_on_two_sides_of_a_range_is_refused(tmp_path: Path) -> None:
    data = _save(tmp_path, "d.npz", np.repeat(np.arange(60), 5))
    parts = Sources(None, data + "[:150]", data + "[150:225]", data + "[225:]")
    assert [len(p) for p in _load(tmp_path, parts).values()] == [150, 75, 75]
    (tmp_path / "link.npz").symlink_to(data)
    for name in (data, str(tmp_path / "link.npz")):
        cut = Sources(None, data + "[:150]", name + "[150:223]", data + "[223:]")
        with pytest.raises(
            DataError, match=r"same groups \(1 of them\) are in .*\(threshold\) and in"
        ):
            _load(tmp_path, cut)


def test_groups_of_other_files_that_are_called_alike_are_warned_of(tmp_path: Path) -> None:
    """They may be numbers that start anew in each file."""
    tracks = np.arange(30)
    names = [_save(tmp_path, f"{i}.npz", tracks + start, i) for i, start in enumerate((0, 20, 90))]
    warnings: list[str] = []
    _load(tmp_path, Sources(None, *names), warnings)
    (warning,) = warnings
    assert (
        f"groups of {names[0]} (fit) and of {names[1]} (threshold) are called alike (10" in warning
    )
