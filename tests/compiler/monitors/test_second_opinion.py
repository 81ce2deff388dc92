"""What the second opinion reads, and how strongly it is held back."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from sklearn.metrics import roc_auc_score

from edgemon.compiler.augmenting import augmented
from edgemon.compiler.data.row_file import RowFile
from edgemon.compiler.monitors import MONITORS, second_opinion
from edgemon.compiler.monitors.second_opinion import PENALTIES, TOLERANCE, UNCHOSEN
from edgemon.compiler.monitors.shared.vectors import values_of
from edgemon.compiler.program.ir import Tap
from edgemon.compiler.recording.recording import Recording
from tests.compiler.recordings import make_recording


@pytest.fixture(scope="module")
def rows(tmp_path_factory: pytest.TempPathFactory) -> Recording:
    return make_recording(tmp_path_factory.mktemp("rows"), "int8", 1500, 4)


def test_each_block_of_features_is_learned_from(rows: Recording) -> None:
    monitor = MONITORS["second_opinion"](taps=("features", "logits")).fit(rows)
    details = monitor.details()
    assert [b["tap"] for b in details["blocks"]] == ["features", "logits"]
    width = rows.width(("features",))
    assert (np.abs(monitor.weight_).sum(axis=0) > 0).sum() > width  # of both
    assert details["features"] == rows.width(("features", "logits"))


def test_a_block_weighs_as_a_whole(rows: Recording, monkeypatch: pytest.MonkeyPatch) -> None:
    """Few logits and many features are held back alike."""
    seen: list[np.ndarray] = []
    kind = MONITORS["second_opinion"]
    learn = kind._coefficients

    def remembered(self: object, x: np.ndarray, labels: np.ndarray) -> object:
        seen.append(x)
        return learn(self, x, labels)

    monkeypatch.setattr(kind, "_coefficients", remembered)
    monitor = kind(taps=("features", "logits")).fit(rows)
    ends = np.cumsum([b.tap.width for b in monitor.blocks_])
    for block in np.split(seen[-1], ends[:-1], axis=1):
        assert block.var(axis=0).sum() == pytest.approx(1)
    assert monitor.penalty_ in PENALTIES


def test_with_hardly_an_error_the_strength_is_not_chosen(rows: Recording) -> None:
    right = np.flatnonzero(rows.correct)
    few = rows.take(np.concatenate([right, np.flatnonzero(~rows.correct)[:6]]))
    assert MONITORS["second_opinion"](taps=("features",)).fit(few).penalty_ == UNCHOSEN


def test_with_hardly_an_error_those_of_moved_copies_choose(rows: Recording, tmp_path: Path) -> None:
    few = rows.take(np.flatnonzero(rows.correct))
    copies = make_recording(tmp_path / "copies", "int8", len(few), 1)
    both = augmented(few, copies, len(few), tmp_path)
    assert MONITORS["second_opinion"](taps=("features",)).fit(both).penalty_ in PENALTIES


def test_moved_copies_choose_nothing_where_rows_have_errors(
    rows: Recording, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    judged: set[int] = set()
    monkeypatch.setattr(
        second_opinion, "roc_auc_score",
        lambda wrong, odds: judged.add(len(wrong)) or roc_auc_score(wrong, odds),
    )  # fmt: skip
    copies = make_recording(tmp_path / "copies", "int8", len(rows), 1)
    MONITORS["second_opinion"](taps=("features",)).fit(augmented(rows, copies, len(rows), tmp_path))
    (count,) = judged
    assert count == pytest.approx(len(rows) / 4, rel=0.05)


def test_a_channel_that_hardly_moves_is_not_spread(rows: Recording) -> None:
    """Standardised, a thousandth of a code was worth as much as the whole of a logit, and one code
    more, as other kernels give it, turned 60 % of the verdicts of the demonstration."""
    monitor = MONITORS["second_opinion"](taps=("features",)).fit(rows)
    labels, step = np.asarray(rows.labels), rows.tap("features").step
    x = rows.features("features")
    x[:, 0] = labels * step / 1000  # tells the class, in less than a code
    weight, _ = monitor._learn(x, labels)
    assert step > 0
    assert np.ptp(weight[:, 0]) * step < 1  # nats that one code moves


def banded_recording(folder: Path, n: int, seed: int = 0) -> Recording:
    """A map of 8 x 2 positions and 3 channels, one of which is bright above in class 0 and below in
    class 1, so that means over the whole map know nothing."""
    rng = np.random.default_rng(seed)
    labels = rng.integers(0, 2, n)
    maps = rng.normal(0, 8, (n, 8, 2, 3))
    above = np.where(labels == 0, 30, 0)[:, None, None]
    maps[:, :4, :, 1] += above
    maps[:, 4:, :, 1] += 30 - above
    predicted = np.where(rng.random(n) < 0.2, 1 - labels, labels)
    logits = np.eye(2)[predicted] * 20 + rng.normal(0, 4, (n, 2))
    taps = (
        Tap("logits", "int8", 2, 0.1),
        Tap("map", "int8", 48, 0.05, channels=3, map_rows=8),
    )
    files = []
    for tap, values in zip(taps, (logits, maps.reshape(n, -1)), strict=True):
        codes = np.clip(np.rint(values), -128, 127).astype(np.int8)
        folder.mkdir(exist_ok=True)
        files.append(RowFile.create(folder / f"{tap.name}.npy", codes.shape, "int8"))
        files[-1].write(0, codes)
    return Recording(taps, tuple(files), np.arange(n), predicted.astype(np.int32), labels, 2)


def test_bands_see_what_is_above_and_below(tmp_path: Path) -> None:
    fit, judged = (
        banded_recording(tmp_path / "fit", 1200),
        banded_recording(tmp_path / "judged", 800, 1),
    )

    def right(bands: int) -> float:
        monitor = MONITORS["second_opinion"](taps=("logits", "map"), bands=bands).fit(fit)
        return float((monitor.answers(judged) == judged.labels).mean())

    assert right(8) > 0.95
    assert right(2) > 0.95
    assert right(1) < 0.85  # as the model itself


def test_where_there_is_little_room_bands_go_before_layers(tmp_path: Path) -> None:
    rows = banded_recording(tmp_path, 50)
    form = MONITORS["second_opinion"](taps=("logits", "map"))
    said, sizes = [form.stored_as], [form.least_bytes(rows)]
    while (smaller := form.smaller(rows)) is not None:
        form = smaller
        said.append(form.stored_as)
        sizes.append(form.least_bytes(rows))
    layers = "weights of 2 layers"
    assert said == [
        layers, f"{layers} in 4 bands", f"{layers} in 2 bands", layers,
        "weights of 1 layer",
    ]  # fmt: skip
    assert sizes == sorted(sizes, reverse=True)
    assert len(set(sizes)) == len(sizes)


def test_the_regression_has_ended_where_its_penalty_says(
    rows: Recording, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With a tolerance of 1e-3 it stopped so early that of two penalties the one with better luck
    was chosen."""
    monitor = MONITORS["second_opinion"](taps=("features", "logits")).fit(rows)
    x, labels = values_of(rows, monitor.blocks_), np.asarray(rows.labels)

    def scores(tolerance: float) -> np.ndarray:
        monkeypatch.setattr(second_opinion, "TOLERANCE", tolerance)
        weight, bias = monitor._learn(x, labels)
        found = x @ weight.T + bias
        return np.asarray(found - found.mean(axis=1, keepdims=True))

    exact = scores(1e-9)
    apart = np.abs(scores(TOLERANCE) - exact).max()
    assert apart < 0.2  # nats
