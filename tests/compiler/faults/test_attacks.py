"""Attacks on a linear model, where the answer is known; and what is not available."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from edgemon.compiler.errors import FaultError
from edgemon.compiler.faults import attacks
from edgemon.compiler.faults.attacks import NotAvailableError, Target, attacked
from edgemon.runtime.preprocess import Preprocess

SHAPE = (4, 5, 2)


class Linear:
    """Logits x W + b."""

    def __init__(self, classes: int = 4) -> None:
        rng = np.random.default_rng(0)
        self.w = rng.normal(size=(int(np.prod(SHAPE)), classes))
        self.b = rng.normal(size=classes)

    def logits(self, x: np.ndarray) -> np.ndarray:
        return np.asarray(x.reshape(len(x), -1) @ self.w / 100 + self.b)

    def of(self, x: np.ndarray, weights: np.ndarray) -> np.ndarray:
        return (weights @ self.w.T / 100).reshape(x.shape)


MODEL = Linear()
X = np.random.default_rng(1).uniform(60, 190, (30, *SHAPE))
OWN = MODEL.logits(X).argmax(axis=1)


def loss(x: np.ndarray) -> np.ndarray:
    z = MODEL.logits(x)
    top = z.max(axis=1)
    return np.log(np.exp(z - top[:, None]).sum(axis=1)) + top - z[np.arange(len(x)), OWN]


@pytest.mark.parametrize("severity", range(1, 6))
def test_fgsm_moves_every_value_by_its_reach_to_a_larger_loss(severity: int) -> None:
    found = attacks.fgsm(MODEL, X, OWN, severity)
    np.testing.assert_allclose(np.abs(found - X), attacks.REACH[severity - 1])
    assert (loss(found) > loss(X)).all()


@pytest.mark.parametrize("severity", range(1, 6))
def test_pgd_stays_within_reach_and_is_no_weaker(severity: int) -> None:
    start = np.random.default_rng(2).uniform(-1, 1, X.shape)
    found = attacks.pgd(MODEL, X, OWN, severity, start)
    assert np.abs(found - X).max() <= attacks.REACH[severity - 1] + 1e-9
    once = attacks.fgsm(MODEL, X, OWN, severity)
    assert loss(found).mean() >= loss(once).mean() - 1e-9


def test_deepfool_goes_to_the_nearest_border_of_a_linear_model() -> None:
    found = attacks.deepfool(MODEL, X)
    assert (MODEL.logits(found).argmax(axis=1) != OWN).all()
    z = MODEL.logits(X)
    for x, moved, own, values in zip(X, found, OWN, z, strict=True):
        ways = (MODEL.w - MODEL.w[:, [own]]) / 100
        with np.errstate(divide="ignore", invalid="ignore"):
            distance = np.nanmin((values[own] - values) / np.linalg.norm(ways, axis=0))
        wanted = (1 + attacks.OVERSHOOT) * distance
        assert np.linalg.norm(moved - x) == pytest.approx(wanted, rel=0.02, abs=0.02)


def test_bytes_go_as_far_as_they_must() -> None:
    x = np.rint(X)
    moved = attacks.deepfool(MODEL, x)
    found = attacks.as_bytes(MODEL, x, moved)
    np.testing.assert_array_equal(found, np.rint(found))
    own = MODEL.logits(x).argmax(axis=1)
    assert (MODEL.logits(found).argmax(axis=1) != own).mean() > 0.9
    rounded = MODEL.logits(np.rint(moved)).argmax(axis=1) != own
    np.testing.assert_array_equal(found[rounded], np.rint(moved)[rounded])


def test_what_has_no_gradient_is_not_available(tmp_path: Path, tiny) -> None:  # type: ignore[no-untyped-def]
    x, labels = np.zeros((2, 4, 4, 1), np.uint8), np.zeros(2, np.int64)

    def run(model: Path, name: str = "fgsm", preprocess: str = "", severity: int = 1) -> None:
        target = Target(model, Preprocess.parse(preprocess))
        attacked(target, name, severity, x, labels, seed=0, rows=range(2))

    keras = tmp_path / "model.h5"
    keras.write_bytes(b"\x89HDF\r\n\x1a\n")
    with pytest.raises(NotAvailableError, match="has no gradient here: name a Keras model"):
        run(tiny())
    with pytest.raises(NotAvailableError, match="not through a resize"):
        run(keras, preprocess="resize=8x8")
    with pytest.raises(NotAvailableError, match="channels"):
        run(keras, preprocess="channels=bgr")
    with pytest.raises(FaultError, match="unknown attack 'cw'"):
        run(keras, "cw")
    with pytest.raises(FaultError, match="severity 2: 1 to 1 exist"):
        run(keras, "deepfool", severity=2)


def test_without_tensorflow_it_is_said_what_to_install(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    keras = tmp_path / "model.h5"
    keras.write_bytes(b"\x89HDF\r\n\x1a\n")
    monkeypatch.setattr(attacks, "find_spec", lambda _: None)
    with pytest.raises(NotAvailableError, match=r"edgemon\[keras\]"):
        attacks.require_available(Target(keras, Preprocess()), "fgsm")
