"""Results whose texts are made when they are asked for look like any other."""

from __future__ import annotations

import copy
import dataclasses
import pickle
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from edgemon.runtime import _native
from edgemon.runtime.errors import InputError
from edgemon.runtime.evaluation import Verdict
from edgemon.runtime.result import Result
from edgemon.runtime.session import Session

IMAGE = np.array([1, 1, 0, 1], np.float32)


def eager(result: Result) -> Result:
    """The same without anything left to make."""
    return Result(**{f.name: getattr(result, f.name) for f in dataclasses.fields(result)})


@pytest.mark.parametrize(
    "seen",
    [copy.copy, copy.deepcopy, dataclasses.replace, lambda r: pickle.loads(pickle.dumps(r))],
)
def test_a_result_is_copied_and_pickled_before_its_texts_were_read(bundle: Path, seen: Any) -> None:
    session = Session(bundle)
    other = seen(session.evaluate(IMAGE))
    assert other == session.evaluate(IMAGE) == eager(session.evaluate(IMAGE))
    assert repr(other) == repr(eager(session.evaluate(IMAGE)))
    assert hash(other) == hash(session.evaluate(IMAGE))
    assert dataclasses.asdict(other) == dataclasses.asdict(session.evaluate(IMAGE))


def test_texts_are_of_their_own_image(bundle: Path) -> None:
    session = Session(bundle)
    first = session.evaluate(IMAGE)
    for image in np.random.default_rng(0).normal(size=(5, 4)):
        session.evaluate(image)
    assert eager(first) == eager(session.evaluate(IMAGE))
    assert first.reason == first.reason
    with pytest.raises(AttributeError, match="'Result' object has no attribute 'other'"):
        first.other  # type: ignore[attr-defined]  # noqa: B018
    with pytest.raises(dataclasses.FrozenInstanceError):
        first.reason = ""  # type: ignore[misc]


def test_a_batch_that_raises_counts_nothing(bundle: Path) -> None:
    session = Session(bundle)
    session.evaluate(IMAGE)
    before = session.drift, bytes(session._window.words)
    fault = np.array([1, np.nan, 0, 0], np.float32)
    with pytest.raises(InputError, match="image 2 of the batch: "):
        session.evaluate_batch([IMAGE, fault, np.zeros(5)])

    def stops() -> Any:
        yield IMAGE
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        session.evaluate_batch(stops())
    assert (session.drift, bytes(session._window.words)) == before


def test_one_call_counts_as_three_did(bundle: Path) -> None:
    session, other = Session(bundle), Session(bundle)
    images = np.random.default_rng(3).normal(size=(50, 4)).astype(np.float32)
    for image in images:
        found = session.evaluate(image)
        read = other._taps.read(other._prepared(image))
        taps = [tap.reshape(1, -1).copy() for tap in read]
        del read  # the interpreter refuses to run while its memory is held
        evaluation = other._monitor.evaluate(taps)
        other._drift.update(evaluation)
        other._window.update(evaluation)
        assert found.verdict == Verdict(int(evaluation.verdict[0]))
        assert found.prediction == evaluation.predicted[0]
        for i, own in enumerate(found.monitors):
            assert own.verdict == Verdict(int(evaluation.verdicts[0, i]))
            assert own.score == other._monitor.display(i, evaluation.scores[i][0].item())
    assert session.drift == other.drift
    assert bytes(session._window.words) == bytes(other._window.words)
    assert session.report() == other.report()


def test_the_extension_refuses_other_states(bundle: Path) -> None:
    session = Session(bundle)
    native, drift, window, accuracy = (
        session._monitor._native, session._drift.words, session._window.words,
        session._accuracy.words,
    )  # fmt: skip
    for states in (
        (drift[:-1], window, accuracy), (drift, window[:-1], accuracy),
        (drift, np.zeros_like(window), accuracy), (drift.astype(np.float32), window, accuracy),
        (drift, window.astype(np.float32), accuracy), (drift, window, accuracy[:-1]),
        (drift, window, accuracy.astype(np.float64)),
    ):  # fmt: skip
        with pytest.raises((ValueError, TypeError)):
            _native.Stream(native, *states)
    with pytest.raises(TypeError):
        _native.Stream(3, drift, window, accuracy)  # type: ignore[arg-type]
    stream = _native.Stream(native, drift, window, accuracy)
    verdict, reason, predicted, _, _, probability = stream.evaluate([])
    assert (verdict, predicted, probability) == (Verdict.FAULT, -1, -1)
    assert reason < 0
    with pytest.raises(TypeError):
        stream.evaluate(None)  # type: ignore[arg-type]


def test_threads_in_one_stream_do_not_share_its_workspace(bundle: Path) -> None:
    session = Session(bundle)
    images = np.random.default_rng(5).normal(size=(8, 4)).astype(np.float32)
    taps = [[t.copy() for t in session._taps.read(session._prepared(x))] for x in images]
    alone = [session._stream.evaluate(t) for t in taps]

    def many(i: int) -> bool:
        return all(session._stream.evaluate(taps[i]) == alone[i] for _ in range(2000))

    with ThreadPoolExecutor(4) as pool:
        assert all(pool.map(many, range(len(taps))))
    assert session.drift.images == len(taps) * 2001
