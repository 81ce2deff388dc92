"""DeepInfer: closed forms, and the authors' own per-row outputs."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from edgemon.compiler.errors import CompileError
from edgemon.compiler.methods.deepinfer import (
    DeepInfer,
    precondition,
    precondition_as_published,
    violations,
)
from edgemon.runtime.evaluation import Verdict
from tests.compiler.methods import published

EYE = np.eye(2)
BIAS = np.array([1.0, -2.0])


@pytest.mark.parametrize(
    ("activation", "expected"),
    [
        ("linear", [-0.95, 1.9]),
        ("relu", [-1.0, 2.0]),
        ("sigmoid", [-np.log(19), 2 * np.log(19)]),
        ("tanh", [-np.log(0.05 / 1.95) / 2, np.log(0.05 / 1.95)]),
    ],
)
def test_one_layer_in_closed_form(activation: str, expected: list[float]) -> None:
    np.testing.assert_allclose(precondition([(EYE, BIAS, activation)]).values, expected)


def test_the_layer_above_gives_the_postcondition() -> None:
    layers = [(EYE, BIAS, "linear"), (2 * EYE, BIAS, "relu")]
    above = np.array([-0.5, 1.0])
    np.testing.assert_allclose(precondition(layers).values, above * -BIAS)


def test_softmax_is_skipped_and_named_and_alone_read_as_linear() -> None:
    both = precondition([(EYE, BIAS, "relu"), (EYE, BIAS, "softmax")])
    assert (both.skipped, both.as_linear) == ((1,), False)
    np.testing.assert_allclose(both.values, -BIAS)
    alone = precondition([(EYE, BIAS, "softmax")])
    assert (alone.skipped, alone.as_linear) == ((0,), True)
    np.testing.assert_allclose(alone.values, 0.95 * -BIAS)


def test_published_recursion_refuses_what_the_program_cannot_do() -> None:
    layers = [(np.ones((2, 3)), np.ones(3), "tanh"), (np.ones((3, 1)), np.ones(1), "sigmoid")]
    assert precondition_as_published(layers).values.shape == (2,)
    with pytest.raises(CompileError, match="own activation"):
        precondition_as_published([layers[0], (np.ones((3, 4)), np.ones(4), "relu"), *layers[1:]])


@pytest.mark.parametrize(("comparator", "expected"), [(">=", 1), (">", 2), ("<=", 1), ("<", 2)])
def test_comparators(comparator: str, expected: int) -> None:
    x = np.array([[0.0], [1.0], [2.0]])
    assert violations(x, np.array([1.0]), comparator).sum() == expected
    with pytest.raises(CompileError, match="unknown comparator"):
        DeepInfer(np.ones(1), "=>").fit(x)


def test_decision_and_score_agree() -> None:
    rng = np.random.default_rng(0)
    x = rng.normal(size=(400, 9))
    judge = DeepInfer(np.linspace(-2.5, 1.5, 9)).fit(x)
    verdict, score = judge.verdicts(x), judge.scores(x)
    assert set(verdict) == {Verdict.TRUST, Verdict.UNCERTAIN, Verdict.ALARM}
    assert ((score > 0) == (verdict == Verdict.ALARM))[verdict != Verdict.UNCERTAIN].all()


@pytest.mark.usefixtures("shared")
@pytest.mark.parametrize("run", ["comparison", "replication"])
def test_notifications_from_stored_preconditions_are_exact_on_29_models(run: str) -> None:
    stored = published.read_json(f"golden/deepinfer/{run}/analysis.json")
    exact = 0
    for model in published.MODELS:
        case = published.case(model)
        reference, x = _reference(case, run)
        judge = DeepInfer(np.array(stored[model]["wp"]), freeze_importance=False).fit(reference)
        assert judge.threshold_ == pytest.approx(stored[model]["threshold"], abs=1e-9)
        golden = published.notifications(f"deepinfer/{run}", model[:2])[model]
        exact += np.array_equal(judge.verdicts(x), golden)
    assert exact == 29


@pytest.mark.usefixtures("shared")
@pytest.mark.parametrize("run", ["comparison", "replication"])
@pytest.mark.parametrize("solve", [precondition, precondition_as_published])
def test_from_the_weights_exact_on_17_models(run: str, solve: object) -> None:
    assert len(published.FROM_WEIGHTS) == 17
    for model in published.FROM_WEIGHTS:
        case = published.case(model)
        reference, x = _reference(case, run)
        bounds = solve(case.model.layers).values  # type: ignore[operator]
        verdict = DeepInfer(bounds, freeze_importance=False).fit(reference).verdicts(x)
        golden = published.notifications(f"deepinfer/{run}", model[:2])[model]
        np.testing.assert_array_equal(verdict, golden, err_msg=model)


@pytest.mark.usefixtures("shared")
def test_pd1_unseen_counts() -> None:
    case = published.case("PD1")
    x = case.unseen.rows.x
    bounds = precondition(case.model.layers).values
    verdict = DeepInfer(bounds, freeze_importance=False).fit(x).verdicts(x)
    of = [Verdict.TRUST, Verdict.ALARM, Verdict.UNCERTAIN]
    assert [int((verdict == v).sum()) for v in of] == [108, 43, 2]
    violated = int(violations(x, bounds).sum())
    assert (violated, x.size - violated) == (192, 1032)


@pytest.mark.usefixtures("shared")
def test_frozen_importance_changes_these_rows_only() -> None:
    stored = published.read_json("golden/deepinfer/comparison/analysis.json")
    changed = {}
    for model in published.MODELS:
        case = published.case(model)
        bounds, x = np.array(stored[model]["wp"]), case.test.rows.x
        batch, frozen = (
            DeepInfer(bounds, freeze_importance=f).fit(case.val.rows.x).verdicts(x)
            for f in (False, True)
        )
        if (batch != frozen).any():
            changed[model] = int((batch != frozen).sum())
    assert changed == {"GC3": 7, "GC6": 11, "GC8": 24, "GC9": 13}


def test_one_sentence_without_dense_layers() -> None:
    with pytest.raises(CompileError, match="no dense layer"):
        precondition([])


def _reference(case: object, run: str) -> tuple[np.ndarray, np.ndarray]:
    """Rows for threshold, and rows to judge."""
    if run == "replication":
        x = case.unseen.rows.x  # type: ignore[attr-defined]
        return x, x
    return case.val.rows.x, case.test.rows.x  # type: ignore[attr-defined]


@pytest.mark.usefixtures("shared")
def test_weights_of_tflite_and_keras_files_are_the_same() -> None:
    pytest.importorskip("h5py")
    from edgemon.bench.replicate.models import load

    for model in published.MODELS:
        path = Path(published.PACK)
        keras = load(path / "models" / f"{model}.h5", model)
        lite = load(path / "tflite_float32" / f"{model}.tflite", model)
        assert [a for _, _, a in keras.layers] == [a for _, _, a in lite.layers], model
        for (k1, b1, _), (k2, b2, _) in zip(keras.layers, lite.layers, strict=True):
            np.testing.assert_array_equal(k1, k2)
            np.testing.assert_array_equal(b1, b2)


@pytest.mark.usefixtures("shared")
@pytest.mark.parametrize("model", ["PD1", "PD2", "GC6"])
def test_layers_of_the_front_end_fit(model: str, tmp_path: Path) -> None:
    from edgemon.compiler.models import open_model
    from edgemon.compiler.models.dense import dense_layers

    path = published.PACK / "tflite_float32" / f"{model}.tflite"
    layers = [(d.kernel, d.bias, d.activation) for d in dense_layers(open_model(path, tmp_path))]
    expected = precondition(published.case(model).model.layers).values
    np.testing.assert_allclose(precondition(layers).values, expected, rtol=1e-9)
