"""Box bounds against what was fitted."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from edgemon.compiler.errors import CompileError
from edgemon.compiler.monitors.box.box import BoxMonitor
from tests.compiler.monitors.scoring import evaluated
from tests.compiler.recordings import WIDTH, make_recording


def test_fit_rows_are_inside_and_gamma_widens(tmp_path: Path) -> None:
    recording = make_recording(tmp_path, "int8", 600, 0)
    sizes = []
    for gamma in (0.0, 0.1, 0.35):
        box = BoxMonitor(("features",), gamma=gamma).fit(recording)
        (layer,) = box.layers_
        sizes.append((layer.upper_ - layer.lower_).sum())
        found = evaluated(box, recording.take(np.flatnonzero(recording.correct)))
        assert (found.verdict == 0).all()
        assert (found.scores[0] <= 0).all()
    assert sizes[0] < sizes[1] < sizes[2]


def test_a_class_that_is_never_right_has_no_box_and_alarms(tmp_path: Path) -> None:
    recording = make_recording(tmp_path, "float32", 300, 0)
    assert recording.labels is not None
    recording.labels[recording.predicted == 2] = 0
    box = BoxMonitor(("features",)).fit(recording)
    assert box.details()["layers"][0]["classes_without_box"] == [2]


def test_nothing_right_is_refused(tmp_path: Path) -> None:
    recording = make_recording(tmp_path, "float32", 300, 0)
    assert recording.labels is not None
    recording.labels[:] = (recording.predicted + 1) % 4
    with pytest.raises(CompileError, match="no fit row is classified correctly"):
        BoxMonitor(("features",)).fit(recording)


def test_a_negative_gamma_is_refused(tmp_path: Path) -> None:
    with pytest.raises(CompileError, match="gamma=-1"):
        BoxMonitor(("features",), gamma=-1).fit(make_recording(tmp_path, "int8", 100, 0))


@pytest.mark.parametrize("dtype", ["int8", "float32"])
@pytest.mark.parametrize("projection", ["none", "simple", "pca", "isomap"])
def test_the_device_decides_as_the_boxes_that_were_fitted(
    tmp_path: Path, dtype: str, projection: str
) -> None:
    """Computed here from the fitted state, class by class. Rows near a side may fall either way
    where the device computes weighted sums."""
    fit = make_recording(tmp_path / "fit", dtype, 900, 0)
    test = make_recording(tmp_path / "test", dtype, 900, 1)
    box = BoxMonitor(("features",), projection=projection, gamma=0.0).fit(fit)
    (layer,) = box.layers_
    expected = np.empty(len(test))
    for row, (x, c) in enumerate(zip(test.values("features"), test.predicted, strict=True)):
        z = layer.projection.values(x[None], c)
        first, last = layer.first_[c], layer.first_[c + 1]
        outside = np.maximum(layer.lower_[first:last] - z, z - layer.upper_[first:last])
        expected[row] = (outside / layer.unit_[c]).max(axis=1).min()
    found = evaluated(box, test)
    computed = projection in ("pca", "isomap")
    clear = np.abs(expected) > (1e-3 if computed else -1)
    assert clear.mean() > 0.9
    np.testing.assert_array_equal((found.verdict == 2)[clear], (expected > 0)[clear])
    assert {0, 2} == set(found.verdict)
    assert np.corrcoef(found.scores[0], expected)[0, 1] > 0.999
    assert layer.details()["dimensions"] == (WIDTH if projection == "none" else 2)


def test_a_floor_lets_flat_neurons_move(tmp_path: Path) -> None:
    recording = make_recording(tmp_path, "float32", 400, 0)
    flat, free = (BoxMonitor(("features",), floor=f).fit(recording).layers_[0] for f in (0.0, 0.5))
    narrow = (flat.upper_ - flat.lower_) < 1.0
    assert narrow.any()
    assert not narrow.all()
    assert (free.upper_ - free.lower_)[narrow] == pytest.approx(
        (1.0 + (flat.upper_ - flat.lower_) / 1.1)[narrow]
    )
    np.testing.assert_allclose((free.upper_ - flat.upper_)[~narrow].max(), 0.5, atol=0.5)


@pytest.mark.parametrize("dtype", ["int8", "float32"])
@pytest.mark.parametrize("taps", [("features", "logits"), ("features", "logits", "output")])
@pytest.mark.parametrize("projection", ["none", "pca"])
def test_layers_decide_by_any_or_by_majority(
    tmp_path: Path, dtype: str, taps: tuple[str, ...], projection: str
) -> None:
    fit = make_recording(tmp_path / "fit", dtype, 900, 0)
    test = make_recording(tmp_path / "test", dtype, 900, 1)
    each = [evaluated(BoxMonitor((t,), projection=projection).fit(fit), test) for t in taps]
    alarms = np.array([e.verdict == 2 for e in each])
    together = BoxMonitor(taps, projection=projection).fit(fit)
    np.testing.assert_array_equal(evaluated(together, test).verdict == 2, alarms.any(axis=0))
    together.set_params(layers_rule="majority")
    majority = evaluated(together, test)
    votes = 2 * alarms.sum(axis=0) - len(taps)
    np.testing.assert_array_equal(majority.verdict, np.sign(votes) + 1)
    ranked = [np.unique(majority.scores[0][votes == v]).size for v in set(votes.tolist())]
    assert max(ranked) > 10  # within equal votes by the violations


def test_a_feature_map_is_bounded_by_its_channels(tmp_path: Path) -> None:
    recording = make_recording(tmp_path, "int8", 500, 0)
    taps = [replace(t, channels=4) if t.name == "features" else t for t in recording.taps]
    maps = replace(recording, taps=tuple(taps))
    box = BoxMonitor(("features",), gamma=0.0).fit(maps)
    assert box.details()["layers"][0]["dimensions"] == 4
    right = maps.take(np.flatnonzero(maps.correct))
    assert (evaluated(box, right).scores[0] <= 0).all()  # fit rows on the sides of their boxes too


def test_classes_with_few_rows_have_projections_of_what_they_span(tmp_path: Path) -> None:
    recording = make_recording(tmp_path, "float32", 300, 0)
    assert recording.labels is not None
    keep = np.flatnonzero(recording.correct & (recording.predicted == 2))
    lone = recording.predicted == 2
    recording.labels[lone] = 0
    recording.labels[keep[:1]] = 2  # one correct row of class 2
    for projection in ("pca", "isomap"):
        box = BoxMonitor(("features",), projection=projection).fit(recording)
        (layer,) = box.layers_
        assert layer.details()["classes_without_box"] == []
        assert np.isfinite(layer.lower_).all()
        found = evaluated(box, recording.take(np.flatnonzero(recording.correct)))
        assert (found.verdict == 0).all()
        if projection == "isomap":
            fidelity = layer.details()["fidelity_r2_per_class"]
            assert fidelity[2] is None
            assert all(r > 0.5 for c, r in enumerate(fidelity) if c != 2)
