from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from edgemon.compiler.data.classes import label_map
from edgemon.compiler.data.loading import Dataset, load
from edgemon.compiler.errors import DataError, ModelError
from edgemon.compiler.models import child
from edgemon.compiler.models.model import TappedModel
from edgemon.compiler.models.tap_rules import choose, suggest
from edgemon.compiler.models.tflite_model import TfliteModel
from edgemon.compiler.program.ir import Tap
from edgemon.compiler.recording.recording import Recording, answers, record
from edgemon.runtime.preprocess import InputSpec, Preprocess
from edgemon.runtime.tflite_classifier import TfliteClassifier

Tiny = Callable[..., Path]

ROWS = 300
X = np.random.default_rng(0).normal(size=(ROWS, 4)).astype(np.float32)
HIDDEN = np.maximum(np.stack([X[:, 0], X[:, 1], X[:, 2] + X[:, 3]], axis=1), 0)
INPUT = InputSpec("input", (4,), "float32")


@pytest.fixture
def tapped(tiny: Tiny, tmp_path: Path) -> TappedModel:
    model = TfliteModel.open(tiny())
    taps = (*choose(model.graph, "output"), *choose(model.graph, "hidden"))
    return model.with_taps(taps, tmp_path / "tapped.tflite")


def _data(folder: Path, x: np.ndarray, y: np.ndarray | None) -> Dataset:
    np.savez(folder / "d.npz", x=x, **({} if y is None else {"y": y}))
    return load(str(folder / "d.npz"), folder)


def _record(tapped: TappedModel, data: Dataset, tmp_path: Path, workers: int = 2) -> Recording:
    scratch = tmp_path / f"scratch{workers}"
    scratch.mkdir()
    return record(
        tapped,
        data,
        preprocess=Preprocess(),
        input=INPUT,
        labels=label_map(3, "numeric"),
        scratch=scratch,
        workers=workers,
    )


@pytest.mark.parametrize("workers", [1, 2, 3])
def test_rows_are_recorded_in_order_whatever_the_workers(
    tapped: TappedModel, tmp_path: Path, workers: int
) -> None:
    order = np.random.default_rng(1).permutation(ROWS)
    data = _data(tmp_path, X, np.arange(ROWS) % 3).take(order)
    found = _record(tapped, data, tmp_path, workers)
    np.testing.assert_allclose(found.codes("hidden"), HIDDEN[order], rtol=1e-6)
    np.testing.assert_array_equal(found.predicted, found.codes("probabilities").argmax(axis=1))
    np.testing.assert_array_equal(found.labels, order % 3)
    assert found.values("hidden").dtype == np.float64
    assert (len(found), found.n_classes) == (ROWS, 3)


def test_a_view_shows_its_rows_only(tapped: TappedModel, tmp_path: Path) -> None:
    found = _record(tapped, _data(tmp_path, X, np.arange(ROWS) % 3), tmp_path)
    view = found.take([5, 200, 7]).take([2, 0])
    np.testing.assert_array_equal(view.codes("hidden"), found.codes("hidden")[[7, 5]])
    np.testing.assert_array_equal(view.codes("hidden", [1]), found.codes("hidden", [5]))
    np.testing.assert_array_equal(view.correct, found.correct[[7, 5]])


def test_the_first_of_equal_scores_is_predicted(tapped: TappedModel, tmp_path: Path) -> None:
    found = _record(tapped, _data(tmp_path, np.zeros((3, 4), np.float32), None), tmp_path)
    assert found.predicted.tolist() == [0, 0, 0]
    with pytest.raises(DataError, match="no labels"):
        _ = found.correct


def test_progress_ends_at_the_total(tapped: TappedModel, tmp_path: Path) -> None:
    seen: list[tuple[int, int]] = []
    data = _data(tmp_path, X, None)
    record(
        tapped, data, preprocess=Preprocess(), input=INPUT, labels=label_map(3, "numeric"),
        scratch=tmp_path, progress=lambda done, total: seen.append((done, total)),
    )  # fmt: skip
    assert seen[-1] == (ROWS, ROWS)


def test_a_row_that_does_not_fit_is_named(tapped: TappedModel, tmp_path: Path) -> None:
    broken = X.copy()
    broken[17, 2] = np.nan
    with pytest.raises(DataError, match="row 17: an image has a NaN"):
        _record(tapped, _data(tmp_path, broken, None), tmp_path)
    with pytest.raises(
        DataError, match="a row has 5 columns, but the model's input 'input' takes 4"
    ):
        _record(tapped, _data(tmp_path, np.zeros((9, 5)), None), tmp_path, workers=1)


def test_unknown_labels_are_refused_before_the_work(tapped: TappedModel, tmp_path: Path) -> None:
    with pytest.raises(DataError, match="has no class"):
        _record(tapped, _data(tmp_path, X, np.full(ROWS, 3)), tmp_path)


def test_taps_that_differ_at_run_time_are_refused(tapped: TappedModel, tmp_path: Path) -> None:
    tap = Tap("probabilities", "int8", 3)
    wrong = TappedModel(tapped.path, tapped.sha256, (tap,), (0,), tap)
    with pytest.raises(ModelError, match="when the model runs"):
        _record(wrong, _data(tmp_path, X[:9], None), tmp_path)


@pytest.mark.parametrize(
    ("name", "data", "preprocess", "order", "accuracy"),
    [
        ("mlperf_tiny_resnet8_int8", "cifar10_test", "", "numeric", 0.8697),
        ("mnist_edgeairtt", "mnist_test", "scale=1/255", "numeric", 0.9651),
        ("mnist_alankrantas", "mnist_test", "", "numeric", 0.9897),
        # 0.9481 with a bilinear filter without antialiasing; Pillow's has it.
        (
            "gtsrb_nihal1521_traffic_sign_model", "gtsrb_test", "scale=1/255,resize=30x30",
            "string", 0.9473,
        ),
    ],
)  # fmt: skip
def test_public_models_have_their_known_accuracy(
    shared: Path, tmp_path: Path, name: str, data: str, preprocess: str, order: str, accuracy: float
) -> None:
    model = TfliteModel.open(shared / f"data/images/models/{name}.tflite")
    model.require_classifier()
    tapped = model.with_taps(suggest(model.graph)["logits"], tmp_path / "t.tflite")
    found = record(
        tapped,
        load(str(shared / f"data/images/{data}.npz"), tmp_path),
        preprocess=Preprocess.parse(preprocess),
        input=model.input,
        labels=label_map(model.n_classes, order),
        scratch=tmp_path,
    )
    assert round(float(found.correct.mean()), 4) == accuracy
    assert found.worker_peak_bytes < 200e6


def test_a_model_that_dies_takes_nobody_with_it(
    tapped: TappedModel, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(child, "COMMAND", (child.COMMAND[0], "-c", "import os; os.abort()"))
    with pytest.raises(ModelError, match=r"tapped.tflite on .*SIGABRT"):
        _record(tapped, _data(tmp_path, X, None), tmp_path)


def test_the_recorded_values_are_the_classifiers(tapped: TappedModel, tmp_path: Path) -> None:
    found = _record(tapped, _data(tmp_path, X[:20], None), tmp_path)
    classifier = TfliteClassifier(tapped.path)
    for i, x in enumerate(X[:20]):
        classifier.invoke(x[None])
        np.testing.assert_array_equal(found.codes("hidden", [i])[0], classifier.output(1))


@pytest.mark.parametrize("workers", [1, 3])
def test_answers_under_several_preprocessings_are_those_of_recordings(
    workers: int, tapped: TappedModel, tmp_path: Path
) -> None:
    """And a way in which a row overflows is no end of everything."""
    x = X[:40].copy()
    x[3] = 3e38
    data = _data(tmp_path, x, None)
    ways = [Preprocess(), Preprocess(scale=-1.0), Preprocess(scale=255.0), Preprocess(offset=9.0)]
    found = answers(tapped, data, ways, input=INPUT, kernels="xnnpack", workers=workers)
    assert found.shape == (4, 40)
    assert found[2, 3] == -1
    assert (found[[0, 1, 3]] >= 0).all()
    for i in (0, 1, 3):
        scratch = tmp_path / f"way{i}"
        scratch.mkdir()
        recorded = record(
            tapped, data, preprocess=ways[i], input=INPUT, labels=label_map(3, "numeric"),
            scratch=scratch, workers=1,
        )  # fmt: skip
        np.testing.assert_array_equal(found[i], recorded.predicted)
