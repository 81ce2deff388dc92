"""The published ensemble: its gradient, what transfer leaves alone, and how rows are chosen."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pytest

from edgemon.compiler.methods.accuracy import (
    AccuracyEnsemble,
    _Network,
    estimate,
    hidden_sizes,
    mean_entropy,
)

Floats = npt.NDArray[np.float32]


def _rows(n: int = 1500) -> tuple[Floats, npt.NDArray[np.bool_]]:
    """Softmax vectors that are right where they are sure."""
    rng = np.random.default_rng(0)
    z = rng.normal(0, 2, (n, 4))
    p = np.exp(z) / np.exp(z).sum(axis=1, keepdims=True)
    return p.astype(np.float32), p.max(axis=1) + rng.normal(0, 0.05, n) > 0.6


def test_the_slopes_are_those_of_the_loss() -> None:
    rng = np.random.default_rng(1)
    network = _Network.drawn((4, 6, 5, 2), rng)
    network.weights = [w.astype(np.float64) for w in network.weights]  # type: ignore[misc]
    network.biases = [rng.normal(0, 0.1, b.shape) for b in network.biases]
    x, truth = rng.random((8, 4)), np.eye(2)[rng.integers(0, 2, 8)]

    def loss() -> float:
        p = network.forward(x, 0, rng)[-1]  # type: ignore[arg-type]
        return float(-(truth * np.log(p)).sum() / len(x))

    slopes = network._slopes(x, truth, 0, rng)  # type: ignore[arg-type]
    for values, slope in zip((*network.weights, *network.biases), slopes, strict=True):
        for at in np.ndindex(values.shape):
            before = values[at]
            values[at] = before + 1e-5
            up = loss()
            values[at] = before - 1e-5
            down = loss()
            values[at] = before
            assert slope[at] == pytest.approx((up - down) / 2e-5, abs=1e-6)


def test_it_learns_where_answers_are_right_and_the_same_seed_gives_the_same() -> None:
    p, right = _rows()
    one = AccuracyEnsemble(3, epochs=60, seed=4).fit(p, right)
    scores = one.member_scores(p)
    assert scores.shape == (3, len(p))
    assert ((scores.mean(axis=0) >= 0.5) == right).mean() > 0.9
    share, deviation = estimate(scores)
    assert share == pytest.approx(right.mean(), abs=0.05)
    assert deviation > 0
    again = AccuracyEnsemble(3, epochs=60, seed=4).fit(p, right).member_scores(p)
    assert np.array_equal(scores, again)
    assert not np.array_equal(scores[0], scores[1])


def test_transfer_trains_the_output_layer_alone() -> None:
    p, right = _rows()
    own = AccuracyEnsemble(2, epochs=20).fit(p, right)
    before = own.member_scores(p)
    moved = own.set_params(epochs=500).transfer(p[:30], ~right[:30])
    for old, new in zip(own.networks_, moved.networks_, strict=True):
        for layer in (0, 1):
            assert np.array_equal(old.weights[layer], new.weights[layer])
            assert np.array_equal(old.biases[layer], new.biases[layer])
        assert not np.array_equal(old.weights[2], new.weights[2])
    assert np.array_equal(own.member_scores(p), before)
    agreed = (moved.member_scores(p[:30]).mean(axis=0) >= 0.5) == right[:30]
    assert agreed.mean() < 0.5


def test_entropy_is_the_mean_of_the_members() -> None:
    torn = np.array([[0.0, 0.5], [1.0, 0.5]], np.float32)
    assert mean_entropy(torn) == pytest.approx([0, np.log(2)], abs=1e-4)


def test_dropout_at_inference_is_asked_for() -> None:
    p, right = _rows(300)
    plain = AccuracyEnsemble(1, epochs=5).fit(p, right)
    noisy = AccuracyEnsemble(1, epochs=5, monte_carlo=True).fit(p, right)
    one = p[:1].repeat(200, axis=0)
    assert plain.member_scores(one).std() < 1e-6
    assert noisy.member_scores(one).std() > 0.01


def test_parameters_make_the_same_ensemble_and_others_are_refused() -> None:
    p, right = _rows(300)
    own = AccuracyEnsemble(2, epochs=2).fit(p, right)
    weights, biases = own.parameters
    again = AccuracyEnsemble(2).restored(weights, biases)
    assert np.array_equal(own.member_scores(p), again.member_scores(p))
    with pytest.raises(ValueError, match="do not fit"):
        AccuracyEnsemble(2).restored(weights[::-1], biases)


def test_hidden_sizes_are_the_published_ones() -> None:
    assert [hidden_sizes(n) for n in (10, 43, 1000)] == [(64, 32), (100, 50), (1000, 1000)]
