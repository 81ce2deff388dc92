"""Scores of hidden layers equal what scikit-learn and NumPy compute from the same features."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from scipy.special import logsumexp
from sklearn.metrics import pairwise_distances

from edgemon.compiler.errors import CompileError
from edgemon.compiler.monitors import MONITORS
from edgemon.compiler.monitors.second_opinion import PENALTIES
from edgemon.compiler.program.ir import Builder, Tap
from edgemon.compiler.program.ir import Monitor as ProgramMonitor
from edgemon.compiler.program.quantise import quantise
from edgemon.compiler.recording.recording import Recording
from tests.compiler.monitors.scoring import real_scores
from tests.compiler.recordings import CLASSES, WIDTH, make_recording


@pytest.fixture(scope="module")
def rows(tmp_path_factory: pytest.TempPathFactory) -> Recording:
    return make_recording(tmp_path_factory.mktemp("rows"), "float32", 600, 3)


def against(scores: np.ndarray, rows: Recording) -> np.ndarray:
    """Log-odds against the predicted class of unnormalised log-probabilities."""
    index = np.arange(len(scores))
    own = scores[index, rows.predicted]
    others = scores.copy()
    others[index, rows.predicted] = -np.inf
    return logsumexp(others, axis=1) - own


@pytest.mark.parametrize("kind", ["second_opinion", "mahalanobis_gap"])
def test_linear_opinions_are_their_log_odds(rows: Recording, kind: str) -> None:
    monitor = MONITORS[kind](taps=("features", "logits")).fit(rows)
    blocks = zip((rows.values("features"), rows.values("logits")), monitor.scores_, strict=True)
    expected = against(sum(x @ part.weight.T + part.bias for x, part in blocks), rows)
    np.testing.assert_allclose(real_scores(monitor, rows), expected, rtol=1e-6, atol=1e-6)
    assert monitor.details()["accuracy_on_fit_rows"] > 0.8
    assert monitor.weight_.shape == (CLASSES, WIDTH + CLASSES)


def test_two_classes_of_scikit_learn_become_two_scores(rows: Recording) -> None:
    two = rows.take(np.flatnonzero(np.asarray(rows.labels) < 2))
    monitor = MONITORS["second_opinion"](taps=("features",)).fit(two)
    answers = two.features("features") @ monitor.weight_.T + monitor.bias_
    assert set(answers.argmax(axis=1)) == {0, 1}  # never a class without rows
    assert (answers.argmax(axis=1) == two.labels).mean() > 0.8


def test_the_penalty_is_chosen_on_other_groups(rows: Recording) -> None:
    """Each row forty times, with labels by chance: a quarter of the rows holds copies of what was
    learned, so that the weakest penalty looks best; a quarter of the groups tells the truth."""
    index = np.tile(np.arange(60), 40)
    labels = np.random.default_rng(5).integers(0, CLASSES, 60)[index]
    copies = replace(rows.take(index), labels=labels)
    monitor = MONITORS["second_opinion"]
    by_row = monitor(taps=("features",)).fit(copies)
    by_group = monitor(taps=("features",)).fit(replace(copies, groups=index))
    assert by_group.details()["penalty"] == min(PENALTIES)
    assert by_row.details()["penalty"] > min(PENALTIES)


@pytest.mark.parametrize("kind", ["second_opinion", "rmds", "boosted_opinion"])
def test_one_class_teaches_nothing(rows: Recording, kind: str) -> None:
    one = rows.take(np.flatnonzero(np.asarray(rows.labels) == 1))
    with pytest.raises(CompileError, match=f"{kind}: the fit rows are all of one class"):
        MONITORS[kind](taps=("features",)).fit(one)


def test_density_is_a_mahalanobis_distance(rows: Recording) -> None:
    monitor = MONITORS["density"](taps=("features",), dims=WIDTH).fit(rows)
    x = rows.features("features")
    centred = x - x.mean(axis=0)
    inverse = np.linalg.inv(np.cov(x, rowvar=False))
    expected = np.einsum("ij,jk,ik->i", centred, inverse, centred)
    np.testing.assert_allclose(real_scores(monitor, rows), expected, rtol=1e-6)
    assert monitor.details()["explained_variance"] == pytest.approx(1)


def test_relative_distance_is_own_less_that_of_all(rows: Recording) -> None:
    monitor = MONITORS["rmds"](taps=("features",)).fit(rows)
    y = rows.features("features") @ monitor.projection_.T + monitor.shift_
    own = np.square(y - monitor.means_[rows.predicted]).sum(axis=1)
    everyone = np.square(y / y.std(axis=0)).sum(axis=1)
    np.testing.assert_allclose(real_scores(monitor, rows), own - everyone, rtol=1e-6, atol=1e-6)
    for c in range(CLASSES):  # classes have variance 1 around their means
        mine = y[np.asarray(rows.labels) == c] - monitor.means_[c]
        assert 0.5 < mine.std() < 1.6


def test_boundaries_are_those_of_the_last_layer(rows: Recording) -> None:
    """fdbd on a network whose logits are linear in its features."""
    monitor = MONITORS["fdbd"](taps=("features", "logits")).fit(rows)
    x, z = rows.values("features"), rows.values("logits")
    weight = np.linalg.lstsq(np.c_[x, np.ones(len(x))], z, rcond=None)[0][:-1]
    apart = np.linalg.norm(weight[:, :, None] - weight[:, None, :], axis=0) + np.eye(CLASSES)
    index = np.arange(len(x))
    gaps = (z[index, rows.predicted][:, None] - z) / apart[rows.predicted]
    ratio = gaps.sum(axis=1) / (CLASSES - 1) / np.linalg.norm(x - x.mean(axis=0), axis=1)
    np.testing.assert_allclose(real_scores(monitor, rows), -np.log(ratio), rtol=1e-5, atol=1e-5)


def test_prototypes_measure_on_the_unit_sphere(rows: Recording) -> None:
    monitor = MONITORS["prototypes"](taps=("features",), per_class=3).fit(rows)
    x = rows.features("features")
    centres = monitor.codes_.reshape(-1, WIDTH) * monitor.unit_
    unit = x / np.linalg.norm(x, axis=1, keepdims=True)
    nearest = pairwise_distances(unit, centres, metric="sqeuclidean").min(axis=1) / 2
    np.testing.assert_allclose(real_scores(monitor, rows), nearest, rtol=1e-6, atol=1e-9)


def test_a_class_without_correct_rows_borrows_prototypes(rows: Recording) -> None:
    few = rows.take(np.flatnonzero((np.asarray(rows.labels) != 2) | ~rows.correct))
    monitor = MONITORS["prototype_odds"](taps=("features",), per_class=2).fit(few)
    assert monitor.codes_.shape == (CLASSES, 2, WIDTH)
    assert np.isfinite(real_scores(monitor, rows)).all()


def test_boosted_opinion_is_that_of_scikit_learn(rows: Recording) -> None:
    monitor = MONITORS["boosted_opinion"](taps=("features",), trees=10).fit(rows)
    log_p = np.log(monitor.boosted_.predict_proba(rows.features("features")))
    np.testing.assert_allclose(real_scores(monitor, rows), against(log_p, rows), atol=0.02)


def test_boosted_trees_of_two_classes_are_those_of_scikit_learn(rows: Recording) -> None:
    two = rows.take(np.flatnonzero((np.asarray(rows.labels) < 2) & (rows.predicted < 2)))
    monitor = MONITORS["boosted_opinion"](taps=("features",), trees=10).fit(two)
    odds = monitor.boosted_.decision_function(two.features("features"))
    wanted = np.where(two.predicted == 1, -odds, odds)
    np.testing.assert_allclose(real_scores(monitor, two), wanted, atol=0.02)


def test_few_fit_rows_get_small_trees_and_noise_no_large_ones(rows: Recording) -> None:
    x = rows.features("features")
    inside = (np.floor(x[:, :4] * 2).astype(int).sum(axis=1) % 2).astype(bool)
    hard = replace(rows, labels=np.where(inside, rows.predicted, (rows.predicted + 1) % CLASSES))
    monitor = MONITORS["boosted_opinion"]
    assert monitor(taps=("features",)).fit(rows.take(np.arange(200))).leaves_ <= 8
    assert monitor(taps=("features",), trees=5).fit(hard).leaves_ == 16
    assert monitor(taps=("features",), leaves=3).fit(rows).leaves_ == 3
    assert monitor(taps=("features",)).fit(rows).leaves_ == 4  # more would not stay small
    few = rows.take(np.arange(60))
    for leaves in (0, 64):
        asked = monitor(taps=("features",), trees=5, leaves=leaves)
        nodes = sum(len(p.nodes) for series in asked.fit(few).boosted_._predictors for p in series)
        assert asked.least_bytes(few) <= 12 * nodes
    with pytest.raises(CompileError, match="leaves=1 decides nothing"):
        monitor(taps=("features",), leaves=1).fit(rows)


def test_forest_is_that_of_scikit_learn(rows: Recording) -> None:
    monitor = MONITORS["forest"](taps=("features", "logits"), trees=8).fit(rows)
    x = np.concatenate([rows.values("features"), rows.values("logits")], axis=1)
    p = monitor.forest_.predict_proba(x)[:, 1]
    found = real_scores(monitor, rows) / (8 * 4096)
    np.testing.assert_allclose(found, p - 0.5, atol=2e-4)


def test_leaves_of_rare_classes_stay_within_the_sum() -> None:
    """A leaf with rows of one rare class is worth hundreds of nats: more than a sum holds."""
    rng = np.random.default_rng(0)
    builder = Builder([Tap("output", "float32", 3), Tap("features", "float32", 4)], real=True)
    monitor = MONITORS["boosted_opinion"](taps=("features",), rule="disagreement")
    x = rng.random((4000, 4))
    labels = np.where(x[:, 0] < 0.95, 0, np.where(x[:, 1] < 0.5, 1, 2))

    class Made(SimpleNamespace):
        def __len__(self) -> int:
            return len(x)

    monitor._fit(
        Made(
            labels=labels,
            predicted=labels,
            correct=np.ones(len(x), bool),
            groups=None,
            n_classes=3,
            taps=builder.taps,
            width=lambda _names: 4,
            features=lambda _name, rows=slice(None), _statistic="mean", _bands=1: x[rows],
        )
    )
    predicted = builder.node("argmax", 0)
    score = monitor.lower(builder, predicted)
    program = quantise(builder.program(predicted, [ProgramMonitor("m", score.id, 0.0, 0.0)]))
    for node in (n for n in program.nodes if n.op == "trees"):
        assert np.abs(node.tables[1].astype(np.int64)).max() * 100 <= 1 << 24


@pytest.mark.parametrize("kind", ["mahalanobis_gap", "rmds"])
def test_one_row_a_class_is_refused_in_a_sentence(rows: Recording, kind: str) -> None:
    labels = np.asarray(rows.labels)
    few = rows.take([int(np.flatnonzero(labels == c)[0]) for c in range(CLASSES)])
    with pytest.raises(CompileError, match="needs more fit rows than classes"):
        MONITORS[kind](taps=("features",)).fit(few)


@pytest.mark.parametrize("kind", ["density", "rmds", "mahalanobis_gap"])
def test_features_that_never_change_are_refused_in_a_sentence(tmp_path: Path, kind: str) -> None:
    rows = make_recording(tmp_path, "int8", 100, 0)
    file = rows.files[2]
    file.write(0, np.zeros((100, WIDTH), np.int8))
    with pytest.raises(CompileError, match=kind):
        MONITORS[kind](taps=("features",)).fit(rows)


def test_some_dead_features_do_no_harm(tmp_path: Path) -> None:
    """Dead neurons are common: only a layer that never changes is refused."""
    rows = make_recording(tmp_path, "int8", 400, 0)
    codes = rows.codes("features").copy()
    codes[:, 3] = -128
    rows.files[2].write(0, codes)
    for kind in ("rmds", "mahalanobis_gap", "density", "second_opinion"):
        scores = real_scores(MONITORS[kind](taps=("features",)).fit(rows), rows)
        assert np.isfinite(scores).all()
