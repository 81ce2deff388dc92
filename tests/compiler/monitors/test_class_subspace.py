"""class_subspace is the likelihood of one probabilistic principal component analysis a class."""

from __future__ import annotations

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
    constant = with_input(rows, np.ones((len(rows), ROWS, COLUMNS)), tmp_path)
    with pytest.raises(CompileError, match="never change"):
        monitor().fit(constant)


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
    assert "pixels alone name the class of no more than" in left_out["class_subspace"]
    constant = with_input(rows, np.ones((len(rows), ROWS, COLUMNS)), tmp_path / "..")
    kinds, left_out = chosen(constant)
    assert kinds == {"density", "prototypes"}
    assert "never change" in left_out["class_subspace"]


def test_scod_keeps_prototypes_where_it_has_no_room(rows: Recording, tmp_path: Path) -> None:
    kinds, left_out = chosen(with_input(rows, drawn(rows), tmp_path), kb=6)
    assert "class_subspace" not in kinds
    assert "more than a quarter of 6 kB; give more (--budget-kb)" in left_out["class_subspace"]


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
