"""class_subspace is the likelihood of one probabilistic principal component analysis a class."""

from __future__ import annotations

import tracemalloc
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from scipy.stats import multivariate_normal

from edgemon.compiler.data.row_file import RowFile
from edgemon.compiler.errors import CompileError
from edgemon.compiler.models.onnx_model import OnnxModel
from edgemon.compiler.monitors import MONITORS, class_subspace
from edgemon.compiler.monitors.fusion.profiles import ScodMonitor
from edgemon.compiler.monitors.lowering import lowered
from edgemon.compiler.program.ir import Tap
from edgemon.compiler.recording.evaluation import evaluate
from edgemon.compiler.recording.recording import Recording
from tests.compiler.monitors.scoring import real_scores
from tests.compiler.recordings import make_recording
from tests.tiny_onnx import write_linear_onnx, write_tiny_onnx

DIGITS = Path(__file__).parents[3] / "bench/demo/digits.npz"
ROWS, COLUMNS, COLOURS = 8, 12, 1  # cells of 1 x 2 pixels


@pytest.fixture
def rows(tmp_path: Path) -> Recording:
    return make_recording(tmp_path / "r", "float32", 900, 3)


def drawn(rows: Recording, classes: np.ndarray | None = None) -> np.ndarray:
    """(n, rows, columns): each class, the right one unless others are given, has a picture of its
    own, with noise."""
    rng = np.random.default_rng(0)
    pictures = rng.integers(0, 100, (rows.n_classes, ROWS, COLUMNS))
    noise = rng.integers(0, 60, (len(rows), ROWS, COLUMNS))
    return pictures[np.asarray(rows.labels) if classes is None else classes] + noise


def with_input(
    rows: Recording, x: np.ndarray, folder: Path, dtype: str = "float32", zero_point: int = 0
) -> Recording:
    tap = Tap("in", dtype, x[0].size, 1.0, zero_point)
    codes = (x.reshape(len(x), -1) + zero_point).astype(dtype)
    file = RowFile.create(folder / f"{dtype}{zero_point}.npy", codes.shape, dtype)
    file.write(0, codes)
    return replace(rows, taps=(*rows.taps, tap), files=(*rows.files, file))


def monitor(dims: int = 5) -> class_subspace.ClassSubspaceMonitor:
    found = MONITORS["class_subspace"](
        taps=("in",), image=(("in", ROWS, COLUMNS, COLOURS),), dims=dims
    )
    assert isinstance(found, class_subspace.ClassSubspaceMonitor)
    return found


def roots(x: np.ndarray) -> np.ndarray:
    """Of cells of an image the square roots of their shares."""
    cells = x.reshape(len(x), ROWS, COLUMNS // 2, 2).mean(axis=3).reshape(len(x), -1)
    return np.asarray(np.sqrt(cells / cells.sum(axis=1, keepdims=True)))


def test_the_score_is_the_likelihood_of_the_answered_class(rows: Recording, tmp_path: Path) -> None:
    """But for a constant of the class, and codes of 8 bits: of a Gaussian with the variance of the
    class's right rows along five directions, and the mean of the rest along the others. As many
    rows as there are features are those of all classes, each about its own centre."""
    x = drawn(rows, rows.predicted)
    recorded = with_input(rows, x, tmp_path)
    scores = real_scores(monitor().fit(recorded), recorded)
    y = roots(x)
    width = y.shape[1]
    own = [y[rows.correct & (np.asarray(rows.labels) == c)] for c in range(rows.n_classes)]
    squares = [(z - z.mean(axis=0)).T @ (z - z.mean(axis=0)) for z in own]
    within = sum(squares) / sum(map(len, own))
    for c, (z, of_class) in enumerate(zip(own, squares, strict=True)):
        variance, vectors = np.linalg.eigh((of_class + width * within) / (len(z) + width))
        variance[:-5] = variance[:-5].mean()
        density = multivariate_normal(z.mean(axis=0), vectors @ np.diag(variance) @ vectors.T)
        answered = rows.predicted == c
        expected = -2 * (density.logpdf(y[answered]) - density.logpdf(z.mean(axis=0)))
        assert answered.sum() > 100
        assert np.abs(scores[answered] / expected - 1).mean() < 0.05
        assert np.corrcoef(scores[answered], expected)[0, 1] > 0.99


@pytest.mark.parametrize(
    ("dtype", "zero_point"), [("uint8", 0), ("uint8", 3), ("int8", -128), ("int8", 0)]
)
def test_whole_numbers_score_as_floats_do(
    rows: Recording, tmp_path: Path, dtype: str, zero_point: int
) -> None:
    """Also where the least code is what stands for the least real."""
    x = drawn(rows, rows.predicted)
    real = x if zero_point or dtype == "uint8" else x - 60  # some below 0
    floats, whole = (
        with_input(rows, real, tmp_path),
        with_input(rows, real, tmp_path, dtype, zero_point),
    )
    on_device = []
    for recorded in (floats, whole):
        fitted = monitor().fit(recorded)
        program = lowered([fitted], recorded.taps, "output").quantised()
        on_device.append(evaluate(program, recorded).scores[0])
        np.testing.assert_allclose(
            on_device[-1], real_scores(fitted, recorded), rtol=1e-3, atol=1e-2
        )
    np.testing.assert_allclose(*on_device, rtol=1e-3, atol=1e-2)


def test_pictures_of_another_class_are_far(rows: Recording, tmp_path: Path) -> None:
    """A picture that has the wrong answer is outside of what the class looks like, as one that is
    none is."""
    x = drawn(rows, rows.predicted)
    x[0] = x[np.flatnonzero(np.asarray(rows.predicted) != rows.predicted[0])[0]]
    x[1] = np.random.default_rng(1).integers(0, 100, (ROWS, COLUMNS))
    recorded = with_input(rows, x, tmp_path)
    scores = real_scores(monitor().fit(recorded), recorded)
    assert scores[:2].min() > np.quantile(scores[2:], 0.99)


def test_brightness_is_no_novelty(rows: Recording, tmp_path: Path) -> None:
    """An image twice as bright scores the same, and an empty one has a score."""
    x = drawn(rows, rows.predicted)
    fitted = monitor().fit(with_input(rows, x, tmp_path))
    same = np.flatnonzero(rows.predicted == rows.predicted[0])[1]
    x[same], x[-2], x[-1] = 2 * x[0], 0, -1
    shown = with_input(rows, x, tmp_path)
    program = lowered([fitted], shown.taps, "output").quantised()
    evaluated = evaluate(program, shown)
    assert not evaluated.reason.any()
    scores = evaluated.scores[0]
    assert np.isfinite(scores).all()
    assert scores[same] == pytest.approx(scores[0], rel=1e-3)
    assert scores[-2:].min() > np.quantile(scores[:-2], 0.9)


def test_it_says_how_well_it_tells_classes_apart(rows: Recording, tmp_path: Path) -> None:
    told = [
        monitor().fit(with_input(rows, x, tmp_path)).told_apart_
        for x in (
            drawn(rows),
            np.random.default_rng(0).integers(0, 100, (len(rows), ROWS, COLUMNS)),
        )
    ]
    assert told[0] > 0.9
    assert told[1] < 0.6


def of_classes(
    rows: Recording, x: np.ndarray, labels: np.ndarray, folder: Path, n_classes: int
) -> Recording:
    """Features x (n, width) in tap "in", all answered rightly."""
    answered = labels.astype(np.int32)
    few = rows.take(np.arange(len(x)))
    few = replace(few, labels=labels, predicted=answered, n_classes=n_classes)
    return with_input(few, x, folder)


def of_features(dims: int) -> class_subspace.ClassSubspaceMonitor:
    return class_subspace.ClassSubspaceMonitor(("in",), dims=dims)


def test_few_rows_of_noise_are_not_told_apart(rows: Recording, tmp_path: Path) -> None:
    """Analyses of 20 rows each name the classes of these rows, whatever they are."""
    noise = np.random.default_rng(0).integers(1, 100, (200, 49))
    recorded = of_classes(rows, noise, np.arange(200) % 10, tmp_path, 10)
    told = of_features(10).fit(recorded).told_apart_
    assert told is not None
    assert told < 0.3


def test_real_digits_are_told_apart(tmp_path: Path) -> None:
    digits = np.load(DIGITS)
    x, labels = digits["x"], digits["y"].astype(np.int64)
    blank = make_recording(tmp_path / "r", "float32", len(x), 3)
    told = of_features(10).fit(of_classes(blank, x, labels, tmp_path, 10)).told_apart_
    assert told is not None
    assert told > 0.9


def test_rows_of_one_group_do_not_tell_on_each_other(rows: Recording, tmp_path: Path) -> None:
    """Each group is a picture, almost, and what its class is called says nothing of others."""
    rng = np.random.default_rng(0)
    group = np.arange(800) // 20
    x = rng.integers(1, 100, (40, 30))[group] + rng.integers(0, 5, (800, 30))
    recorded = of_classes(rows, x, rng.permutation(np.arange(40) % 4)[group], tmp_path, 4)
    alone, together = (
        of_features(15).fit(r).told_apart_ for r in (recorded, recorded.grouped(group))
    )
    assert alone is not None
    assert together is not None
    assert together < 0.5 < 0.9 < alone


def test_a_class_of_few_right_rows_is_in_both_halves(rows: Recording, tmp_path: Path) -> None:
    """Of two right rows a class one is learned from, and the other is known by it; rows that are
    answered wrongly teach nothing."""
    rng = np.random.default_rng(0)
    pictures = rng.integers(1, 100, (21, 30))
    labels = np.r_[np.zeros(60, np.int64), np.repeat(np.arange(1, 21), 2), np.arange(1, 21)]
    x = pictures[labels] + rng.integers(0, 5, (len(labels), 30))
    recorded = of_classes(rows, x, labels, tmp_path, 21)
    recorded.predicted[-20:] = 0
    assert of_features(3).fit(recorded).told_apart_ == 1


def test_too_few_rows_to_halve_say_nothing(rows: Recording, tmp_path: Path) -> None:
    x = np.random.default_rng(0).integers(1, 100, (5, 20))
    few = of_classes(rows, x, np.array([0, 0, 1, 2, 3]), tmp_path, 4)
    assert of_features(3).fit(few).told_apart_ is None
    recorded = with_input(rows, drawn(rows), tmp_path)
    one_group = recorded.grouped(np.zeros(len(recorded), np.int64))
    assert monitor().fit(one_group).told_apart_ is None
    kinds, left_out = chosen(one_group)
    assert kinds == {"density", "prototypes"}
    assert "too few to ask" in left_out["class_subspace"]


def test_classes_of_one_right_row_are_refused(rows: Recording, tmp_path: Path) -> None:
    """None of them says how a class varies; one more row does."""
    x = drawn(rows, rows.predicted)
    right = with_input(replace(rows, labels=rows.predicted.astype(np.int64)), x, tmp_path)
    _, first = np.unique(right.predicted, return_index=True)
    single = right.take(first)
    with pytest.raises(CompileError, match=r"no class has two fit rows .* 4 are right"):
        monitor().fit(single)
    wrong = replace(single, labels=(single.predicted + 1) % 4)
    with pytest.raises(CompileError, match=r"no class has two fit rows .* 0 are right"):
        monitor().fit(wrong)
    one_more = right.take(np.r_[first, np.setdiff1d(np.arange(20), first)[0]])
    assert np.isfinite(real_scores(monitor().fit(one_more), right)).all()


def test_equal_rows_of_a_class_leave_variance(rows: Recording, tmp_path: Path) -> None:
    """No score is larger than the squared distance of two vectors of length 1, 4 at most, over the
    least variance that there may be."""
    pictures = np.random.default_rng(0).integers(1, 100, (4, 48))
    answered = rows.predicted.astype(np.int64)
    x = pictures[answered]
    recorded = of_classes(rows, x, answered, tmp_path / "..", 4)
    fitted = of_features(5).fit(recorded)
    least = 1e-3 * np.sqrt(x / x.sum(axis=1, keepdims=True)).var(axis=0).mean()
    assert fitted.rest_.min() >= least * (1 - 1e-6)
    mistaken = of_classes(rows, pictures[(answered + 1) % 4], answered, tmp_path, 4)
    far = real_scores(fitted, mistaken)
    assert 0 < far.min() <= far.max() <= 4 / least
    assert np.abs(real_scores(fitted, recorded)).max() < far.min() / 10


@pytest.mark.parametrize(
    ("classes", "width", "dims", "n", "most_mb"), [(60, 250, 5, 900, 15), (100, 60, 40, 6000, 20)]
)
def test_many_classes_take_little_memory(
    classes: int, width: int, dims: int, n: int, most_mb: float, tmp_path: Path
) -> None:
    """Neither a matrix of each class, nor all rows along the directions of all, at a time."""
    x = np.random.default_rng(0).integers(1, 100, (n, width))
    blank = make_recording(tmp_path / "r", "float32", n, 3)
    labels = np.arange(n) % classes
    recorded = of_classes(blank, x, labels, tmp_path, classes)
    tracemalloc.start()
    try:
        of_features(dims).fit(recorded)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < most_mb * 1e6


def test_blocks_of_rows_make_no_difference(
    rows: Recording, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    recorded = with_input(rows, drawn(rows) // 10, tmp_path)
    whole = monitor().fit(recorded).told_apart_
    monkeypatch.setattr(class_subspace, "BLOCK_ELEMENTS", 7 * (48 + 4))
    assert monitor().fit(recorded).told_apart_ == whole


def test_rows_in_the_order_of_their_classes_are_looked_at_evenly(
    rows: Recording, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A class that looks like nothing else stands first, and pictures of the others say nothing."""
    x = np.random.default_rng(0).integers(0, 100, (len(rows), ROWS, COLUMNS))
    first = np.asarray(rows.labels) == 0
    x[first] = drawn(rows)[first]
    ordered = with_input(rows, x, tmp_path).take(np.argsort(~first, kind="stable"))
    monkeypatch.setattr(class_subspace, "SAMPLE", int(first.sum()))
    assert monitor().fit(ordered).told_apart_ < 0.8


def test_a_class_without_right_rows_has_a_score(rows: Recording, tmp_path: Path) -> None:
    recorded = with_input(rows, drawn(rows), tmp_path)
    kept = recorded.take(np.flatnonzero(np.asarray(recorded.labels) != 0))
    assert np.isfinite(real_scores(monitor().fit(kept), recorded)).all()


def test_it_becomes_smaller(rows: Recording, tmp_path: Path) -> None:
    recorded = with_input(rows, drawn(rows), tmp_path)
    form: class_subspace.ClassSubspaceMonitor | None = monitor(10)
    sizes, dims = [], []
    while form is not None:
        sizes.append(form.least_bytes(recorded))
        dims.append(form.dims)
        form = form.smaller(recorded)
    assert sizes == sorted(sizes, reverse=True)
    assert dims == [10, 7, 5, 3]


def test_features_that_never_change_are_refused(rows: Recording, tmp_path: Path) -> None:
    """Nor is brightness a change, which rounding makes one."""
    picture = np.random.default_rng(0).random((ROWS, COLUMNS))
    constant = np.repeat(picture[None], len(rows), axis=0)
    for i, x in enumerate((constant, constant * np.linspace(0.3, 7, len(rows))[:, None, None])):
        (tmp_path / str(i)).mkdir()
        recorded = with_input(rows, x, tmp_path / str(i))
        with pytest.raises(CompileError, match="never change"):
            monitor().fit(recorded)


def test_taps_are_pixels_or_features(tmp_path: Path) -> None:
    plain = MONITORS["class_subspace"]()
    pixels = OnnxModel.open(
        write_linear_onnx(tmp_path / "p.onnx", (1, 8, 6), np.ones((48, 3)), np.zeros(3))
    )
    analysis = plain.analyse(pixels)
    (name,) = analysis.taps
    assert analysis.parameters == {"image": ((name, 8, 6, 1),)}
    table = OnnxModel.open(write_tiny_onnx(tmp_path / "t.onnx"))
    assert plain.analyse(table).taps == ("penultimate",)


def chosen(rows: Recording, kb: float = 32.0) -> tuple[set[str], dict[str, str]]:
    """Novelty signals of scod with either one, and why others are left out."""
    prototypes = MONITORS["prototypes"](taps=("features",), per_class=2)
    fusion = ScodMonitor(budget_kb=kb).set_params(
        taps=("features", "logits", "in"),
        signals=(MONITORS["msp_t"](taps=("logits",)),),
        novelty=(MONITORS["density"](taps=("features",)), prototypes, monitor()),
    )
    fusion.fit(rows)
    return {m.kind for m in fusion.members_ if fusion.is_novelty(m)}, fusion.left_out_


def test_scod_takes_it_for_prototypes_where_pixels_tell_classes_apart(
    rows: Recording, tmp_path: Path
) -> None:
    kinds, left_out = chosen(with_input(rows, drawn(rows), tmp_path))
    assert kinds == {"density", "class_subspace"}
    assert left_out == {"prototypes": "class_subspace is in its place"}


def test_scod_keeps_prototypes_where_pixels_do_not(rows: Recording, tmp_path: Path) -> None:
    noise = np.random.default_rng(0).integers(0, 100, (len(rows), ROWS, COLUMNS))
    kinds, left_out = chosen(with_input(rows, noise, tmp_path))
    assert kinds == {"density", "prototypes"}
    assert "pixels alone name the class of only" in left_out["class_subspace"]
    constant = with_input(rows, np.ones((len(rows), ROWS, COLUMNS)), tmp_path / "..")
    kinds, left_out = chosen(constant)
    assert kinds == {"density", "prototypes"}
    assert "never change" in left_out["class_subspace"]


def test_scod_keeps_prototypes_where_it_has_no_room(rows: Recording, tmp_path: Path) -> None:
    kinds, left_out = chosen(with_input(rows, drawn(rows), tmp_path), kb=6)
    assert "class_subspace" not in kinds
    assert left_out["class_subspace"] == (
        "its tables take 1.5 kB or more with 4 classes, more than a quarter of 6 kB; "
        "give more (--budget-kb)"
    )


def test_scod_advises_no_room_where_pixels_do_not_tell(rows: Recording, tmp_path: Path) -> None:
    noise = np.random.default_rng(0).integers(0, 100, (len(rows), ROWS, COLUMNS))
    _, left_out = chosen(with_input(rows, noise, tmp_path), kb=6)
    assert "pixels alone name the class" in left_out["class_subspace"]
    assert "budget" not in left_out["class_subspace"]


def test_shallow_networks_of_images_have_it_in_scod(tmp_path: Path) -> None:
    """Deep ones, tables, and images that make no cells do not."""
    found = []
    for path in (
        write_linear_onnx(tmp_path / "p.onnx", (1, 8, 6), np.ones((48, 3)), np.zeros(3)),
        write_linear_onnx(tmp_path / "o.onnx", (1, 11, 8), np.ones((88, 3)), np.zeros(3)),
        write_tiny_onnx(tmp_path / "t.onnx"),
    ):
        novelty = ScodMonitor().analyse(OnnxModel.open(path)).parameters["novelty"]
        found.append("class_subspace" in {m.kind for m in novelty})
    assert found == [True, False, False]
