"""Self-test vectors find more damage than a row of each verdict does."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pytest

from edgemon.compiler import fitting
from edgemon.compiler.emit import flat
from edgemon.compiler.fitted import Fitted
from edgemon.compiler.monitors import parse
from edgemon.compiler.promise.thresholds import FalseAlarmPromise
from edgemon.compiler.proof import self_test
from edgemon.compiler.proof.self_test import MOST_BYTES, MutationScore
from edgemon.compiler.recording.recording import Recording
from edgemon.runtime.errors import ArtifactError
from edgemon.runtime.monitor import Monitor
from tests.compiler.recordings import recorded_splits
from tests.conftest import FEWER

Case = tuple[Fitted, Recording]


@pytest.fixture(autouse=True)
def as_many_flips_as_compile_takes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(self_test, "OPERATIONS", self_test.OPERATIONS * FEWER)


@pytest.fixture(scope="module", params=["int8", "float32"])
def case(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Case:
    folder = tmp_path_factory.mktemp("rows")
    splits = recorded_splits(folder, request.param, 900)
    estimators = parse("box,prophecy,forest")
    for estimator in estimators:
        estimator.set_params(taps=("features",))
    fitted = fitting.fit_monitors(estimators, "output", splits, FalseAlarmPromise(0.1, 0.9))
    return fitted, splits.test


def test_chosen_vectors_find_more_of_other_flips(case: Case) -> None:
    """Measured on flips by which none was chosen, against a row of each monitor's verdicts."""
    fitted, rows = case
    rng = np.random.default_rng(1)
    taps = self_test._candidates(fitted.program, fitted.on_test, rows, rng)
    mutants = self_test.Mutants(fitted.program, taps, rng)
    before = list(range(len(self_test.verdict_rows(fitted.on_test))))
    after = self_test._cover(mutants.learn, 64)
    plain, chosen = mutants.held_out.score(before), mutants.held_out.score(after)
    assert plain.harmful == chosen.harmful > 20
    assert chosen.found > plain.found
    assert chosen.share is not None
    assert chosen.share > 0.6


def test_vectors_are_what_the_reference_says(case: Case) -> None:
    fitted, rows = case
    vectors, score = self_test.choose(fitted.program, fitted.on_test, rows)
    data = flat.write(flat.Artifact(fitted.program, "00" * 32, {}, vectors))
    Monitor(data).self_test()
    held = sum(x.nbytes for x in vectors.taps)
    floats = any(t.dtype == "float32" for t in fitted.program.taps)
    assert held <= MOST_BYTES + floats * sum(x[0].nbytes for x in vectors.taps)
    assert score.vectors == len(vectors.taps[0]) - floats
    assert (vectors.expected.reason != 0).sum() == floats
    again, same = self_test.choose(fitted.program, fitted.on_test, rows)
    assert same == score
    assert all((a.view(np.uint8) == b.view(np.uint8)).all()
               for a, b in zip(again.taps, vectors.taps, strict=True))  # fmt: skip


def test_a_flip_that_is_counted_as_found_fails_the_self_test(case: Case) -> None:
    """The score is of what the device does: flip the bit in a file and run its self-test."""
    fitted, rows = case
    vectors, score = self_test.choose(fitted.program, fitted.on_test, rows)
    data = flat.write(flat.Artifact(fitted.program, "00" * 32, {}, vectors))
    offset, size = flat.sections(data)[flat.DATA]
    found = tried = 0
    for bit in np.random.default_rng(9).integers(8 * offset, 8 * (offset + size), 400).tolist():
        flipped = bytearray(data)
        flipped[bit // 8] ^= 1 << bit % 8
        self_test.seal(flipped)
        try:
            monitor = Monitor(bytes(flipped))
        except ArtifactError:
            continue
        right, wrong = fitted.on_test, evaluate_all(monitor, fitted, rows)
        if not (wrong != right.verdicts).any():
            continue
        tried += 1
        found += monitor._native.self_test() != 0
    assert tried > 10
    assert score.share is not None
    assert found / tried > score.share - 0.25


def evaluate_all(monitor: Monitor, fitted: Fitted, rows: Recording) -> npt.NDArray[np.uint8]:
    index = np.arange(len(rows))
    taps = [np.array(rows.codes(t.name, index)) for t in fitted.program.taps]
    return monitor.evaluate(taps).verdicts


def test_the_sentence_says_what_was_tried() -> None:
    said = MutationScore(5, 100, 40, 30)
    assert said.sentence.startswith("self-test: 5 vectors find 75% of the flipped bits")
    assert MutationScore.of(said.to_json()) == said
    assert "none of 9 flipped bits" in MutationScore(1, 9, 0, 0).sentence
