"""``edgemon odin-study``: the order of its scores, and what it refuses."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.special import softmax
from scipy.stats import kendalltau

from edgemon.bench import odin
from edgemon.compiler.trust.judge import Answered
from tests.command_line import document, refused
from tests.conftest import DEMO

RUN = (
    "odin-study", DEMO / "digits_int8.tflite", "--data", f"{DEMO}/digits.npz[0:300]", "--novel",
    DEMO / "novelty.npz", "--rows", "200", "--workers", "1",
)  # fmt: skip


def test_the_order_is_that_of_a_softmax_at_a_high_temperature() -> None:
    rng = np.random.default_rng(0)
    z = rng.normal(0, 4, (500, 10))
    p = softmax(z, axis=1)
    of_logits = 1 - softmax(z / 1000, axis=1).max(axis=1)
    score = odin._odin(Answered(p, z.argmax(axis=1), None))
    assert kendalltau(of_logits, score).statistic > 0.99  # terms of 1 / T apart
    sure = odin._odin(Answered(np.array([[1.0, 0.0]]), np.array([0]), None))
    assert np.isfinite(sure).all()


def test_what_is_measured(monkeypatch: pytest.MonkeyPatch) -> None:
    """With a step that moves nothing ODIN is odin_t, and one that destroys images is not."""
    steps: list[float] = []

    def moved(_target: Any, images: np.ndarray, *, epsilon: float, temperature: float) -> Any:
        assert temperature == odin.TEMPERATURE
        steps.append(epsilon)
        return (images * (epsilon < 0.5)).astype(np.float32)

    monkeypatch.setattr(odin, "made_confident", moved)
    monkeypatch.setattr(odin, "require_available", lambda *_: None)
    found = document(
        *RUN, "--gradient", DEMO / "digits.keras", "--epsilon", "0.1", "--epsilon", "0.9"
    )
    assert steps == [0.1, 0.1, 0.9, 0.9]
    scores = {s["score"]: s for s in found["scores"]}
    assert list(scores) == ["msp", "odin_t", "odin 0.1", "odin 0.9"]
    assert scores["odin 0.1"]["errors"] == scores["odin_t"]["errors"]
    assert scores["odin 0.1"]["novel"] == scores["odin_t"]["novel"]
    assert scores["odin 0.9"]["novel"]["novelty"]["auroc"] == 0.5  # all images are black
    low, high = scores["msp"]["errors"]["interval"]
    assert low < scores["msp"]["errors"]["auroc"] < high
    assert found["novel"] == {"novelty": 200}


def test_a_model_without_a_gradient_is_refused(tmp_path: Path) -> None:
    assert "name a Keras model of the same task" in refused(
        *RUN, "--gradient", DEMO / "digits_int8.tflite"
    )
    assert "does not exist" in refused(*RUN, "--gradient", tmp_path / "nothing.keras")
