"""Classifiers of tables as people have them: scikit-learn, LightGBM, XGBoost and their converters,
with everything at its default, all the way."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import lightgbm
import numpy as np
import onnx
import onnxmltools
import pytest
import skl2onnx
import xgboost
from sklearn.datasets import make_classification
from sklearn.ensemble import GradientBoostingClassifier, RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from edgemon.compiler.commands.verification import verify_bundle
from edgemon.compiler.data.sources import Sources
from edgemon.compiler.errors import CompileError
from edgemon.compiler.models.outputs import PROBABILITIES
from edgemon.compiler.options import Options
from edgemon.compiler.pipeline import compile_bundle
from edgemon.compiler.promise.thresholds import FalseAlarmPromise
from edgemon.runtime.evaluation import Verdict
from edgemon.runtime.session import Session
from tests.labelled_onnx import rows, write_labelled

TRAINED, ROWS, FEATURES = 400, 600, 6
OF_EACH = FalseAlarmPromise(whose="monitor")  # of which few rows are enough
SCORES = "softmax,second_opinion,density,forest"

Made = tuple[bytes, Any]


def _data(classes: int) -> tuple[np.ndarray, np.ndarray]:
    x, y = make_classification(
        TRAINED + ROWS, FEATURES, n_informative=5, n_redundant=0, n_classes=classes, class_sep=0.8,
        flip_y=0.08, random_state=1,
    )  # fmt: skip
    return x.astype(np.float32), y


def _skl(estimator: Any) -> Callable[[np.ndarray, np.ndarray], Made]:
    def make(x: np.ndarray, y: np.ndarray) -> Made:
        fitted = estimator.fit(x, y)
        return skl2onnx.to_onnx(fitted, x[:1]).SerializeToString(), fitted

    return make


def _lightgbm(x: np.ndarray, y: np.ndarray) -> Made:
    from onnxmltools.convert.common.data_types import FloatTensorType

    fitted = lightgbm.LGBMClassifier(n_estimators=8, verbose=-1).fit(x, y)
    entry = [("input", FloatTensorType([None, FEATURES]))]
    return onnxmltools.convert_lightgbm(fitted, initial_types=entry).SerializeToString(), fitted


def _xgboost(x: np.ndarray, y: np.ndarray) -> Made:
    from onnxmltools.convert.common.data_types import FloatTensorType

    fitted = xgboost.XGBClassifier(n_estimators=8, max_depth=3).fit(x, y)
    entry = [("input", FloatTensorType([None, FEATURES]))]
    return onnxmltools.convert_xgboost(fitted, initial_types=entry).SerializeToString(), fitted


MAKERS: dict[str, tuple[int, Callable[[np.ndarray, np.ndarray], Made]]] = {
    "logistic": (3, _skl(LogisticRegression())),
    "scaled_logistic_of_two": (2, _skl(make_pipeline(StandardScaler(), LogisticRegression()))),
    "forest": (3, _skl(RandomForestClassifier(10, max_depth=5, random_state=0))),
    "boosting_of_two": (2, _skl(GradientBoostingClassifier(n_estimators=10, random_state=0))),
    "mlp": (3, _skl(MLPClassifier((8,), max_iter=150, random_state=0))),
    "mlp_of_two": (2, _skl(MLPClassifier((8,), max_iter=150, random_state=0))),
    "lightgbm": (3, _lightgbm),
    "xgboost_of_two": (2, _xgboost),
}


@pytest.mark.parametrize("name", MAKERS)
def test_a_default_export_gives_a_proven_bundle(name: str, tmp_path: Path) -> None:
    """All were refused, for the label, for the map of probabilities or for the narrow input; of
    forests the softmax of probabilities was taken."""
    classes, make = MAKERS[name]
    x, y = _data(classes)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        content, fitted = make(x[:TRAINED], y[:TRAINED])
    (tmp_path / "model.onnx").write_bytes(content)
    x, y = x[TRAINED:], y[TRAINED:]
    np.savez(tmp_path / "rows.npz", x=x, y=y)
    out = tmp_path / "bundle"
    monitors = f"auto,{SCORES}" if name in ("forest", "lightgbm") else "auto"
    manifest = compile_bundle(
        tmp_path / "model.onnx", Sources(data=f"{tmp_path / 'rows.npz'}"), out,
        Options(monitors=monitors, promise=OF_EACH),
    )  # fmt: skip
    assert manifest["proof"]["mismatches"] == manifest["proof"]["output_mismatches"] == 0
    assert manifest["model"]["output_kind"] == PROBABILITIES
    signals = {c["signal"] for c in manifest["comparison"]}
    assert {"msp_t", "second_opinion", "mahalanobis_gap", "forest", "boosted_opinion"} <= signals
    verify_bundle(out, f"{tmp_path / 'rows.npz'}[0:100]").require()
    found = Session(out).evaluate_batch(x[:100])
    assert [r.prediction for r in found] == fitted.predict(x[:100]).tolist()
    assert all(r.verdict != Verdict.FAULT for r in found)
    assert onnx.load(out / "model.tapped.onnx").graph.output[0].name != "output_label"


def test_softmax_of_probabilities_is_the_probability_itself(tmp_path: Path) -> None:
    """A softmax of probabilities is nearly flat: 1 - max p of three classes was never below .42."""
    x, y = _data(3)
    made = RandomForestClassifier(10, max_depth=5, random_state=0).fit(x[:TRAINED], y[:TRAINED])
    (tmp_path / "m.onnx").write_bytes(skl2onnx.to_onnx(made, x[:1]).SerializeToString())
    np.savez(tmp_path / "rows.npz", x=x[TRAINED:], y=y[TRAINED:])
    out = tmp_path / "bundle"
    options = Options(monitors="softmax,entropy", promise=OF_EACH)
    compile_bundle(tmp_path / "m.onnx", Sources(data=f"{tmp_path / 'rows.npz'}"), out, options)
    found = Session(out).evaluate_batch(x[:50])
    p = made.predict_proba(x[:50])
    entropy = -np.where(p > 0, p * np.log(np.maximum(p, 1e-30)), 0).sum(axis=1)
    for i, score in enumerate((1 - p.max(axis=1), entropy)):
        shown = [r.monitors[i].score for r in found]
        np.testing.assert_allclose(shown, score, atol=1e-5)


def test_a_label_that_is_not_of_the_largest_score_is_told(tmp_path: Path) -> None:
    """A support-vector machine votes; its probabilities are fitted afterwards, and differ."""
    x, y = _data(3)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        made = SVC(probability=True, random_state=0).fit(x[:TRAINED], y[:TRAINED])
        content = skl2onnx.to_onnx(made, x[:1]).SerializeToString()
    (tmp_path / "m.onnx").write_bytes(content)
    np.savez(tmp_path / "rows.npz", x=x[TRAINED:], y=y[TRAINED:])
    out = tmp_path / "bundle"
    sources = Sources(data=f"{tmp_path / 'rows.npz'}")
    manifest = compile_bundle(tmp_path / "m.onnx", sources, out, Options(monitors="msp_t"))
    with np.load(out / "splits.npz") as splits:
        test = x[TRAINED:][splits["test"]]
    different = (made.predict(test) != made.predict_proba(test).argmax(axis=1)).sum()
    assert different > 0
    assert manifest["own_labels"] == {
        "output": "output_label", "rows": len(test), "different": different
    }  # fmt: skip
    found = {f["kind"]: f["text"] for f in manifest["findings"]}
    assert f"on {different} of {len(test)} rows" in found["own_label"]


def test_the_energy_of_probabilities_is_no_score(tmp_path: Path) -> None:
    model = write_labelled(tmp_path / "m.onnx")
    with pytest.raises(CompileError, match="energy: the model gives probabilities and no logits"):
        compile_bundle(
            model, Sources(data=f"{rows(tmp_path)}"), tmp_path / "out", Options(monitors="energy")
        )


@pytest.mark.parametrize("classes", [("ant", "bee", "cow"), (3, 5, 8)], ids=str)
def test_the_models_names_of_its_classes_are_used(
    classes: tuple[str | int, ...], tmp_path: Path
) -> None:
    """Labels 3, 5, 8 had no class, and words were matched by what the data happened to hold."""
    model = write_labelled(tmp_path / "m.onnx", classes=classes[::-1], zipmap=True)
    data = rows(tmp_path, classes=classes[::-1])
    out = tmp_path / "bundle"
    manifest = compile_bundle(model, Sources(data=f"{data}"), out, Options(monitors="softmax"))
    assert manifest["accuracy"] > 0.6
    session = Session(out)
    assert session.labels == tuple(map(str, classes[::-1]))
    with np.load(data) as stored:
        found = [r.label for r in session.evaluate_batch(stored["x"][:200])]
        assert np.mean(np.array(found) == stored["y"][:200].astype(str)) > 0.6
