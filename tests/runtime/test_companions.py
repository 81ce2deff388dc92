"""Models beside the classifier: which input each sees, in which order, and which are refused."""

from __future__ import annotations

import hashlib
import re
import shutil
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from edgemon.compiler.bundle.bundle import Bundle
from edgemon.compiler.data.sources import Sources
from edgemon.compiler.emit import flat
from edgemon.compiler.options import Options
from edgemon.compiler.pipeline import compile_bundle
from edgemon.runtime.classifier import Classifier
from edgemon.runtime.companions import Companion, companion_file, opened
from edgemon.runtime.errors import ArtifactError, BackendError
from edgemon.runtime.formats import open_classifier
from edgemon.runtime.preprocess import INPUT, InputSpec, Preprocess
from edgemon.runtime.session import Session
from edgemon.runtime.taps import TapReader
from edgemon.runtime.views import named, split, tensor_of
from tests.tiny_companions import write_doubling, write_joining
from tests.tiny_tflite import write_tiny

SPEC = InputSpec("input", (4,), "float32")
X = np.array([[1, 2, 3, 5]], np.float32)
Tiny = Callable[..., Path]


@pytest.fixture
def model(tiny: Tiny) -> Classifier:
    """Its outputs: probabilities, then the hidden layer: x0, x1, x2 + x3."""
    return open_classifier(tiny(outputs=(5, 2)))


def beside(model: Classifier, **files: Path) -> dict[str, Companion]:
    contents = {view: path.read_bytes() for view, path in files.items()}
    return opened(contents, model, kernels="xnnpack")


def test_taps_of_every_view_by_hand(model: Classifier, tmp_path: Path) -> None:
    companions = beside(
        model, odin=write_doubling(tmp_path / "a.onnx"),
        companion=write_joining(tmp_path / "b.onnx"),
    )  # fmt: skip
    views = ["companion", "odin", "plain", "companion", "odin", "plain"]
    reader = TapReader(model, [0, 1, 1, 1, INPUT, 0], views, SPEC, Preprocess(), companions)
    for x in (X, X[:, ::-1].copy(), X):  # nothing is left of the image before
        both, of_doubled, hidden, negative, doubled, output = (t.copy() for t in reader.read(x))
        np.testing.assert_array_equal(hidden, [x[0, 0], x[0, 1], x[0, 2] + x[0, 3]])
        np.testing.assert_array_equal(of_doubled, 2 * hidden)
        np.testing.assert_array_equal(doubled, 2 * x[0])
        np.testing.assert_array_equal(negative, -x[0])
        np.testing.assert_array_equal(both, [*x[0], *output])
        assert output.tobytes() == model.output(0).tobytes()  # the answer to the image, at the end
        shaped = [tap.ravel().copy() for tap in reader.shaped(x)]
        assert [t.tobytes() for t in shaped] == [t.tobytes() for t in reader.read(x)]


def test_inputs_in_another_order_are_told_apart(model: Classifier, tmp_path: Path) -> None:
    found = beside(model, companion=write_joining(tmp_path / "b.onnx", swapped=True))["companion"]
    found.run(X, np.array([0.5, 0.25, 0.25], np.float32))
    np.testing.assert_array_equal(found.model.output(0), [1, 2, 3, 5, 0.5, 0.25, 0.25])


def test_a_companion_for_another_model_is_refused(model: Classifier, tmp_path: Path) -> None:
    with pytest.raises(BackendError, match=r"takes float32 \(1, 5\), but is to take the model's"):
        beside(model, odin=write_doubling(tmp_path / "a.onnx", (1, 5)))
    with pytest.raises(BackendError, match=r"output is int64\[2\], but it is to be an input"):
        beside(model, odin=write_doubling(tmp_path / "a.onnx", made="Shape"))
    with pytest.raises(BackendError, match=r"\(1, 7\).*or that and the model's output, float32\[3"):
        beside(model, companion=write_joining(tmp_path / "a.onnx", classes=7))
    with pytest.raises(BackendError, match="to take the model's input"):
        beside(model, odin=write_joining(tmp_path / "a.onnx"))


@pytest.mark.parametrize("view", ["plain", "mirror", "odin", "companion"])
def test_names_say_the_view(view: str) -> None:
    assert split(named("logits", view)) == ("logits", view)
    assert tensor_of(named("logits", view), view) == "logits"


@pytest.fixture(scope="module")
def companion_bundle(tiny_data: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("companion")
    options = Options(
        monitors="softmax,box", taps="box=negative@companion",
        companion=write_joining(folder / "beside.onnx"),
    )  # fmt: skip
    model = write_tiny(folder / "tiny.tflite")
    compile_bundle(model, Sources(data=str(tiny_data)), folder / "bundle", options)
    return folder / "bundle"


def test_a_session_runs_the_companion(companion_bundle: Path, tiny_data: Path) -> None:
    bundle, session = Bundle.open(companion_bundle), Session(companion_bundle)
    assert companion_bundle.joinpath("companion.onnx").is_file()
    (info,) = bundle.artifact.companions
    content = companion_bundle.joinpath("companion.onnx").read_bytes()
    assert (info.view, info.size) == ("companion", len(content))
    assert info.sha256 == hashlib.sha256(content).hexdigest()
    assert [t.name for t in bundle.artifact.program.taps if t.view != "plain"] == [
        "negative@companion"
    ]
    with np.load(tiny_data) as found:
        inside = session.evaluate(found["x"][0])
    far = session.evaluate(np.full(4, 40, np.float32))
    scores = {m.name: m.score for m in far.monitors}
    assert scores["box"] > {m.name: m.score for m in inside.monitors}["box"]


def test_the_first_minor_version_is_that_of_files_without(bundle: Path) -> None:
    assert Bundle.open(bundle).artifact_bytes[10] == flat.BEFORE


def copied(bundle: Path, to: Path) -> Path:
    return Path(shutil.copytree(bundle, to))


def test_a_missing_companion_is_said(companion_bundle: Path, tmp_path: Path) -> None:
    folder = copied(companion_bundle, tmp_path / "bundle")
    companion_file(folder, "companion").unlink()
    with pytest.raises(ArtifactError, match=r"lacks companion\.tflite, a companion model that its"):
        Session(folder)
    with pytest.raises(ArtifactError, match="incomplete bundle"):
        Bundle.open(folder).require_intact()


@pytest.mark.parametrize("change", ["other", "longer", "damaged"])
def test_another_companion_is_refused(companion_bundle: Path, tmp_path: Path, change: str) -> None:
    folder = copied(companion_bundle, tmp_path / "bundle")
    path = companion_file(folder, "companion")
    content = path.read_bytes()
    if change == "other":
        write_joining(path, swapped=True)
    else:
        damaged = bytes([content[0] ^ 1]) + content[1:]
        path.write_bytes(content + b"\0" if change == "longer" else damaged)
    with pytest.raises(ArtifactError, match=re.escape("is not the companion that the monitor was")):
        Session(folder)
    with pytest.raises(ArtifactError, match=r"companion\.onnx is not the file that compile wrote"):
        Bundle.open(folder).require_intact()
