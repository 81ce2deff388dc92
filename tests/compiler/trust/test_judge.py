"""One opened judge: what it answers is what trust and robustness both measure."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from edgemon.compiler.errors import DataError
from edgemon.compiler.trust.answers import answers
from edgemon.compiler.trust.judge import Reading, open_judge
from tests.command_line import document
from tests.conftest import DEMO

MODEL, DATA = DEMO / "digits_int8.tflite", DEMO / "digits.npz"


def test_the_confidence_of_an_int8_model_is_not_that_of_its_saturating_output(
    tmp_path: Path,
) -> None:
    judge, rows, _ = open_judge(MODEL, str(DATA), Reading(), tmp_path)
    confidence = judge.answer(rows).confidence
    steps = confidence * 256
    assert np.abs(steps - np.rint(steps)).max() > 0.1


def test_trust_and_robustness_give_the_same_answers_one_confidence() -> None:
    found = document(
        "robustness", MODEL, "--data", DATA, "--rows", "10000", "--pairs", "2",
        "--properties", "brightness=1", "--full-scale", "16",
    )  # fmt: skip
    own = answers(MODEL, str(DATA), Reading())
    each = [own.confidence[own.right & (own.labels == c)].mean() for c in range(len(own.names))]
    assert found["sampled"] == own.right.sum()
    assert found["local"][0]["confidence"] == pytest.approx(np.mean(each), abs=1e-12)


def test_a_bundle_and_its_model_give_one_class(digits_bundle: Path) -> None:
    model, bundle = (answers(p, str(DATA), Reading()) for p in (MODEL, digits_bundle))
    np.testing.assert_array_equal(model.predicted, bundle.predicted)
    assert model.passed is None
    assert bundle.passed is not None
    assert 0 < bundle.passed.mean() < 1


def test_rows_without_labels_are_refused(tmp_path: Path) -> None:
    np.savez(tmp_path / "x.npz", x=np.zeros((20, 8, 8), np.uint8))
    with pytest.raises(DataError, match="has no labels"):
        answers(MODEL, str(tmp_path / "x.npz"), Reading())
