"""subspace is the likelihood of a probabilistic principal component analysis, of maps or pixels."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from scipy.stats import multivariate_normal
from sklearn.decomposition import PCA

from edgemon.compiler.data.row_file import RowFile
from edgemon.compiler.errors import CompileError
from edgemon.compiler.models.onnx_model import OnnxModel
from edgemon.compiler.monitors import MONITORS, subspace
from edgemon.compiler.monitors.fusion.profiles import ScodMonitor
from edgemon.compiler.monitors.lowering import lowered
from edgemon.compiler.program.ir import Tap
from edgemon.compiler.recording.evaluation import evaluate
from edgemon.compiler.recording.recording import Recording
from tests.compiler.monitors.scoring import real_scores
from tests.compiler.recordings import WIDTH, make_recording
from tests.tiny_onnx import write_conv_onnx, write_linear_onnx, write_tiny_onnx

ROWS, COLUMNS, COLOURS = 10, 12, 3  # cells of 2 x 2 pixels


@pytest.fixture
def rows(tmp_path: Path) -> Recording:
    return make_recording(tmp_path / "r", "float32", 400, 3)


def with_tap(rows: Recording, tap: Tap, codes: np.ndarray, folder: Path) -> Recording:
    file = RowFile.create(folder / f"{tap.tensor}.npy", codes.shape, tap.dtype)
    file.write(0, codes.astype(tap.dtype))
    return replace(rows, taps=(*rows.taps, tap), files=(*rows.files, file))


def images(rows: Recording) -> np.ndarray:
    return np.random.default_rng(0).integers(0, 127, (len(rows), ROWS, COLUMNS, COLOURS))


@pytest.mark.parametrize("dims", [1, 3, WIDTH - 1, WIDTH, 100])
def test_the_score_is_a_likelihood(rows: Recording, dims: int) -> None:
    """That of scikit-learn's analysis, in units in which the features' variances sum up to 1, but
    for a factor and a constant."""
    monitor = MONITORS["subspace"](taps=("features",), dims=dims).fit(rows)
    x = rows.values("features")
    x = x / np.sqrt(x.var(axis=0).sum())
    kept = min(dims, WIDTH - 1)
    pca = PCA(kept, svd_solver="full").fit(x)
    density = multivariate_normal(pca.mean_, pca.get_covariance())
    expected = -2 * (density.logpdf(x) - density.logpdf(pca.mean_))
    np.testing.assert_allclose(real_scores(monitor, rows), expected, rtol=1e-6)
    assert monitor.details()["dimensions"] == kept


def test_what_leaves_the_subspace_is_far(tmp_path: Path) -> None:
    """Rows move along one direction; a short step aside is more surprising than a long one along
    it."""
    plain = make_recording(tmp_path / "r", "float32", 400, 3)
    rng = np.random.default_rng(0)
    along = np.array([3.0, 4.0, 0.0]) / 5
    values = rng.normal(0, 2, (400, 1)) * along + rng.normal(0, 0.1, (400, 3))
    values[0], values[1] = 4 * along, np.array([-4.0, 3.0, 0.0]) / 5
    rows = with_tap(plain, Tap("v", "float32", 3), values, tmp_path)
    scores = real_scores(MONITORS["subspace"](taps=("v",), dims=1).fit(rows), rows)
    assert scores[1] > np.quantile(scores[2:], 0.99) > scores[0]


@pytest.mark.parametrize("first", [False, True])
@pytest.mark.parametrize("dtype", ["uint8", "int8", "float32"])
def test_cells_of_an_image_are_means_of_its_pixels(
    rows: Recording, tmp_path: Path, dtype: str, first: bool
) -> None:
    x = images(rows)
    expected = x.reshape(len(x), ROWS // 2, 2, COLUMNS // 2, 2, COLOURS).mean(axis=(2, 4))
    expected /= np.sqrt(np.square(expected).sum(axis=(1, 2, 3), keepdims=True))
    if first:
        x, expected = x.transpose(0, 3, 1, 2), expected.transpose(0, 3, 1, 2)
    tap = Tap("in", dtype, x[0].size, 0.0 if dtype == "float32" else 0.5)
    tap = replace(tap, scale=tap.scale or 1.0)
    recorded = with_tap(rows, tap, x.reshape(len(x), -1), tmp_path)
    image = ("in", ROWS, COLUMNS, 1 if first else COLOURS)
    monitor = MONITORS["subspace"](taps=("in",), image=(image,), dims=5).fit(recorded)
    cells = expected.reshape(len(x), -1)
    vector = with_tap(rows, Tap("cells", "float32", cells.shape[1]), cells, tmp_path)
    same = MONITORS["subspace"](taps=("cells",), dims=5).fit(vector)
    np.testing.assert_allclose(
        real_scores(monitor, recorded), real_scores(same, vector), rtol=1e-3, atol=1e-3
    )


def test_brightness_is_no_novelty(rows: Recording, tmp_path: Path) -> None:
    """An image twice as bright scores the same, and an empty one has a score."""
    x = images(rows)
    x[1], x[2] = 2 * x[0], 0
    flat = x.reshape(len(x), -1)
    recorded = with_tap(rows, Tap("in", "float32", flat.shape[1]), flat, tmp_path)
    monitor = MONITORS["subspace"](
        taps=("in",), image=(("in", ROWS, COLUMNS, COLOURS),), dims=5
    ).fit(recorded)
    program = lowered([monitor], recorded.taps, recorded.taps[0].name).quantised()
    evaluated = evaluate(program, recorded)
    assert not evaluated.reason.any()
    scores = evaluated.scores[0]
    assert scores[1] == pytest.approx(scores[0], rel=1e-4)
    assert scores[2] == scores.max()


def test_features_of_several_taps_weigh_the_same(rows: Recording, tmp_path: Path) -> None:
    """Whatever their units."""
    other = np.random.default_rng(1).normal(0, 1, (len(rows), 4))
    found = []
    for factor in (1, 1000):
        tap = Tap("other", "float32", 4)
        both = with_tap(rows, tap, other * factor, tmp_path)
        monitor = MONITORS["subspace"](taps=("features", "other"), dims=3).fit(both)
        found.append(real_scores(monitor, both))
    np.testing.assert_allclose(*found, rtol=1e-4)


def test_it_becomes_smaller(rows: Recording) -> None:
    whole = MONITORS["subspace"](taps=("features",))
    sizes, forms = [whole.least_bytes(rows)], [min(whole.dims, WIDTH - 1)]
    while (whole := whole.smaller(rows)) is not None:
        sizes.append(whole.least_bytes(rows))
        forms.append(whole.dims)
    assert sizes == sorted(sizes, reverse=True)
    assert len(sizes) > 1
    assert forms[-1] == 4


def test_features_that_never_change_are_refused(rows: Recording, tmp_path: Path) -> None:
    constant = with_tap(rows, Tap("c", "float32", 5), np.ones((len(rows), 5)), tmp_path)
    with pytest.raises(CompileError, match="never change"):
        MONITORS["subspace"](taps=("c",)).fit(constant)


def early_signal(model: OnnxModel) -> str:
    """Of the profile scod: its first novelty signal."""
    novelty = ScodMonitor().analyse(model).parameters["novelty"]
    return str(novelty[0].kind)


def test_shallow_networks_have_it_in_scod(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Deep ones and tables have a density."""
    convolutions = OnnxModel.open(write_conv_onnx(tmp_path / "c.onnx"))
    pixels = OnnxModel.open(
        write_linear_onnx(tmp_path / "p.onnx", (1, 8, 6), np.ones((48, 3)), np.zeros(3))
    )
    table = OnnxModel.open(write_tiny_onnx(tmp_path / "t.onnx"))
    found = [early_signal(m) for m in (convolutions, pixels, table)]
    assert found == ["subspace", "subspace", "density"]
    monkeypatch.setattr(subspace, "FEW_MAPS", 0)
    assert early_signal(convolutions) == "density"


def test_taps_are_maps_or_pixels(tmp_path: Path) -> None:
    monitor = MONITORS["subspace"]()
    convolutions = OnnxModel.open(write_conv_onnx(tmp_path / "c.onnx"))
    assert monitor.analyse(convolutions).taps == ("features",)
    pixels = OnnxModel.open(
        write_linear_onnx(tmp_path / "p.onnx", (2, 8, 6), np.ones((96, 3)), np.zeros(3))
    )
    analysis = monitor.analyse(pixels)
    (name,) = analysis.taps
    assert analysis.parameters == {"image": ((name, 8, 6, 1),)}
    odd = OnnxModel.open(
        write_linear_onnx(tmp_path / "o.onnx", (1, 11, 8), np.ones((88, 3)), np.zeros(3))
    )
    assert monitor.analyse(odd).parameters == {"image": ()}  # 11 rows make no cells
    assert not subspace.suits(odd)
