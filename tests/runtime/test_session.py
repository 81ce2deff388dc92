from __future__ import annotations

import json
import shutil
from pathlib import Path

import numpy as np
import pytest

from edgemon.runtime.errors import ArtifactError, EdgemonError, InputError
from edgemon.runtime.evaluation import Verdict
from edgemon.runtime.result import ALL_AGREE
from edgemon.runtime.session import MONITOR, Session

MODEL = "model.tapped.tflite"

SURE = np.array([4, 0, 0, 0], np.float32)
UNSURE = np.array([1, 1, 0, 1], np.float32)


@pytest.fixture
def copy(bundle: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(bundle, tmp_path / "copy"))


def test_an_answer_has_a_verdict_a_score_and_a_reason(bundle: Path) -> None:
    session = Session(bundle)
    sure, unsure = session.evaluate(SURE), session.evaluate(UNSURE)
    assert (sure.prediction, sure.label, sure.verdict, sure.reason) == (
        0, "0", Verdict.TRUST, ALL_AGREE,
    )  # fmt: skip
    assert unsure.verdict == Verdict.ALARM
    assert unsure.reason.startswith("softmax: ")
    (monitor,) = unsure.monitors
    assert (monitor.score, monitor.verdict) == (unsure.score, unsure.verdict)
    assert f"{monitor.score:.3g}" in unsure.reason
    assert monitor.score > monitor.threshold > sure.score
    np.testing.assert_allclose(monitor.score, 2 / 3, atol=1e-5)


def test_a_batch_is_each_image_alone_faults_included(bundle: Path) -> None:
    session = Session(bundle)
    fault = np.array([1, np.nan, 0, 0], np.float32)
    images = [SURE, fault, UNSURE, *np.random.default_rng(0).normal(size=(20, 4))]
    batch = session.evaluate_batch(images)
    assert [r.verdict for r in batch[:3]] == [Verdict.TRUST, Verdict.FAULT, Verdict.ALARM]
    for found, image in zip(batch, images, strict=True):
        assert repr(found) == repr(session.evaluate(image))  # NaN differs from itself
    assert session.evaluate_batch([]) == []
    assert session.evaluate_batch([fault])[0].verdict == Verdict.FAULT


def test_drift_counts_every_image_alone_or_in_a_batch(bundle: Path) -> None:
    fault = np.array([1, np.nan, 0, 0], np.float32)
    images = [UNSURE, fault, SURE, UNSURE, fault, *np.random.default_rng(0).normal(size=(40, 4))]
    alone, together = Session(bundle), Session(bundle)
    for image in images:
        alone.evaluate(image)
    together.evaluate_batch(images)
    assert alone.drift == together.drift
    assert (alone.drift.images, alone.drift.faults) == (45, 2)
    together.evaluate_batch([fault, fault])
    together.evaluate_batch([])
    assert (together.drift.images, together.drift.faults) == (47, 4)
    together.reset_drift()
    assert (together.drift.images, together.drift.faults) == (0, 0)


def test_a_flag_names_the_image_since_when(bundle: Path) -> None:
    session = Session(bundle)
    assert session.drift_test is not None
    assert session.drift_test.run_length == 10_000
    usual = np.abs(np.random.default_rng(7).normal(size=(150, 4))).astype(np.float32)
    session.evaluate_batch(usual)
    assert not session.drift.flag
    for _ in range(60):
        session.evaluate(UNSURE)
    assert session.drift.flag
    assert 150 < session.drift.flagged_at < 200
    assert 140 < session.drift.since <= session.drift.flagged_at
    assert max(session.drift.sums) == session.drift_test.limit


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_an_image_that_is_not_finite_is_a_fault_never_trust(bundle: Path, value: float) -> None:
    """SEC4."""
    found = Session(bundle).evaluate([1, 2, value, 0])
    assert (found.verdict, found.prediction, found.label) == (Verdict.FAULT, -1, "")
    assert "NaN" in found.reason
    assert np.isnan(found.score)


@pytest.mark.parametrize("image", [np.zeros(5), np.zeros((2, 4)), "text", np.zeros(4, complex)])
def test_a_wrong_image_is_an_input_error(bundle: Path, image: object) -> None:
    session = Session(bundle)
    with pytest.raises(InputError):
        session.evaluate(image)  # type: ignore[arg-type]
    with pytest.raises(InputError, match="image 1 of the batch"):
        session.evaluate_batch([SURE, image])  # type: ignore[list-item]


def test_another_model_is_refused(copy: Path) -> None:
    with (copy / MODEL).open("ab") as file:
        file.write(b"\0")
    with pytest.raises(ArtifactError):
        Session(copy)


@pytest.mark.parametrize("name", [MODEL, MONITOR])
def test_a_missing_file_is_named(copy: Path, name: str) -> None:
    (copy / name).unlink()
    with pytest.raises(ArtifactError, match=name):
        Session(copy)


def test_truncated_and_flipped_artifacts_are_refused(copy: Path) -> None:
    whole = (copy / MONITOR).read_bytes()
    rng = np.random.default_rng(0)
    for length in rng.integers(0, len(whole), 20):
        (copy / MONITOR).write_bytes(whole[:length])
        with pytest.raises(ArtifactError):
            Session(copy)
    for at in rng.integers(0, len(whole), 40):
        flipped = bytearray(whole)
        flipped[at] ^= 1 << int(rng.integers(8))
        (copy / MONITOR).write_bytes(flipped)
        with pytest.raises(EdgemonError):
            Session(copy)


def test_what_the_bundle_declares_is_readable(bundle: Path) -> None:
    session = Session(bundle, kernels="reference")
    assert session.labels == ("0", "1", "2")
    assert session.label_values == (0, 1, 2)
    assert session.input.shape == (4,)
    assert [m.name for m in session.monitors] == ["softmax"]
    assert json.dumps(session.preprocess.to_json())
