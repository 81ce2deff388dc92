"""What the second opinion reads, and how strongly it is held back."""

from __future__ import annotations

import numpy as np
import pytest

from edgemon.compiler.monitors import MONITORS
from edgemon.compiler.monitors.second_opinion import PENALTIES, UNCHOSEN
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
