"""What several tests need."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from tests.tiny_tflite import write_tiny

ROOT = Path(__file__).resolve().parents[1]
SHARED = ROOT.parent / "shared"
DEMO = ROOT / "bench" / "demo"
FEWER = 16
LONGEST = ("test_compile_and_verify", "test_fuzzer_finds_nothing", "test_memory_does_not_grow")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """What takes a minute or more begins first, so that no worker is left alone with it."""
    items.sort(key=lambda item: not item.name.startswith(LONGEST))


def pytest_collection_finish(session: pytest.Session) -> None:
    """Groups of tests share what is dear to make. Raises where pytest-xdist does not see them."""
    if getattr(session.config.option, "loadgroup", False):
        for item in session.items:
            if item.get_closest_marker("xdist_group") and "@" not in item.nodeid:
                raise pytest.UsageError(f"{item.nodeid}: this pytest-xdist loses groups of tests")


@pytest.fixture(autouse=True, scope="session")
def few_flips() -> None:
    """Self-test vectors of the tests' many bundles are chosen by a sixteenth of the flipped bits;
    what as many as ``compile`` takes are worth, tests of self_test say."""
    from edgemon.compiler.proof import self_test

    self_test.OPERATIONS //= FEWER


@pytest.fixture(scope="session")
def shared() -> Path:
    """The folder with real models and data, beside the repository."""
    if not (SHARED / "data").is_dir():
        pytest.skip(f"{SHARED / 'data'} is missing: real models and data are not in the repository")
    return SHARED


@pytest.fixture
def tiny(tmp_path: Path) -> Callable[..., Path]:
    """Writes a classifier of 4 features into 3 classes; see ``tests.tiny_tflite``."""
    return lambda **options: write_tiny(tmp_path / "tiny.tflite", **options)


@pytest.fixture(scope="session")
def tiny_data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An .npz for the tiny classifier: 900 rows, of which some 85 % it classifies rightly."""
    rng = np.random.default_rng(0)
    x = np.abs(rng.normal(size=(900, 4))).astype(np.float32)
    y = np.stack([x[:, 0], x[:, 1], x[:, 2] + x[:, 3]], axis=1)
    noisy = np.argmax(y + rng.normal(0, 0.25, y.shape), axis=1)
    path = tmp_path_factory.mktemp("data") / "tiny.npz"
    np.savez(path, x=x, y=noisy)
    return path


@pytest.fixture(scope="session")
def bundle(tiny_data: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The tiny classifier compiled with its softmax monitor."""
    from edgemon.compiler.data.sources import Sources
    from edgemon.compiler.options import Options
    from edgemon.compiler.pipeline import compile_bundle

    folder = tmp_path_factory.mktemp("bundle")
    model = write_tiny(folder / "tiny.tflite")
    compile_bundle(
        model, Sources(data=str(tiny_data)), folder / "bundle", Options(monitors="softmax")
    )
    return folder / "bundle"


@pytest.fixture(scope="session")
def digits_bundle(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The demonstration's model under three methods with their own thresholds; copy the bundle
    before you change it."""
    from edgemon.compiler.data.sources import Sources
    from edgemon.compiler.options import Options
    from edgemon.compiler.pipeline import compile_bundle

    out = tmp_path_factory.mktemp("bundles") / "digits"
    options = Options(monitors="softmax,box,prophecy", thresholds="method")
    compile_bundle(
        DEMO / "digits_int8.tflite", Sources(data=str(DEMO / "digits.npz")), out, options
    )
    return out
