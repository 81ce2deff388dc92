"""Taps of the mirrored image on their whole way: choice, recording, artifact, session, bench."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from edgemon.bench.benchmark import run_benchmark
from edgemon.compiler.bundle.bundle import Bundle
from edgemon.compiler.bundle_rows import record_rows
from edgemon.compiler.commands.verification import verify_bundle
from edgemon.compiler.data.classes import label_map
from edgemon.compiler.data.loading import load
from edgemon.compiler.data.sources import Sources
from edgemon.compiler.emit import flat
from edgemon.compiler.errors import ModelError
from edgemon.compiler.models import open_model
from edgemon.compiler.models.graph import usable_names
from edgemon.compiler.models.model import Model, TappedModel
from edgemon.compiler.models.tap_rules import choose
from edgemon.compiler.options import Options
from edgemon.compiler.pipeline import compile_bundle
from edgemon.compiler.program import reference
from edgemon.compiler.program.ir import Builder, Monitor, Tap
from edgemon.compiler.recording.recording import Recording, record
from edgemon.runtime.errors import ArtifactError
from edgemon.runtime.preprocess import Preprocess
from edgemon.runtime.session import MONITOR, Session
from tests.command_line import document, edgemon, refused
from tests.tiny_onnx import write_conv_onnx
from tests.tiny_tflite import W1, write_tiny

ROWS = 900
X = np.abs(np.random.default_rng(3).normal(size=(ROWS, 2, 2, 1))).astype(np.float32)
Tiny = Callable[..., Path]


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Images of 2 x 2 pixels, some labels of which the tiny classifier has wrong."""
    scores = X.reshape(ROWS, 4) @ W1.T
    noise = np.random.default_rng(4).normal(0, 0.25, scores.shape)
    path = tmp_path_factory.mktemp("data") / "images.npz"
    np.savez(path, x=X, y=np.argmax(scores + noise, axis=1))
    return str(path)


@pytest.fixture(scope="module")
def mirror_bundle(data: str, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("bundle")
    model = write_tiny(folder / "tiny.tflite", entry=(1, 2, 2, 1))
    options = Options(monitors="mirror,softmax", certify_kernels="builtin")
    compile_bundle(model, Sources(data=data), folder / "bundle", options)
    return folder / "bundle"


def recorded(model: Model, tapped: TappedModel, data: str, folder: Path) -> Recording:
    return record(
        tapped, load(data, folder), preprocess=Preprocess(), input=model.input,
        labels=label_map(3, "numeric"), kernels=model.kernels("xnnpack"), scratch=folder,
    )  # fmt: skip


def test_a_tensor_that_is_tapped_plain_and_mirrored_is_one_output(
    tiny: Tiny, tmp_path: Path, data: str
) -> None:
    model = open_model(tiny(entry=(1, 2, 2, 1)), tmp_path)
    rules = ("output", "hidden@mirror", "penultimate", "output@mirror")
    tensors = tuple(t for rule in rules for t in choose(model.graph, rule))
    tapped = model.with_taps(tensors, tmp_path / "tapped.tflite")
    assert [t.name for t in tapped.taps] == [
        "probabilities", "hidden@mirror", "hidden", "probabilities@mirror",
    ]  # fmt: skip
    assert tapped.positions == (0, 1, 1, 0)
    found = recorded(model, tapped, data, tmp_path)
    images = X.reshape(ROWS, 2, 2)
    np.testing.assert_allclose(found.codes("hidden"), images.reshape(ROWS, 4) @ W1.T, rtol=1e-6)
    turned = images[:, :, ::-1].reshape(ROWS, 4) @ W1.T
    np.testing.assert_allclose(found.codes("hidden@mirror"), turned, rtol=1e-6)
    # The answer is that to the image, whatever else was run.
    np.testing.assert_array_equal(found.predicted, found.codes("probabilities").argmax(axis=1))
    assert (found.predicted != found.codes("probabilities@mirror").argmax(axis=1)).any()


@pytest.mark.parametrize("first", [True, False], ids=["channels first", "channels last"])
def test_onnx_models_mirror_the_width_of_their_layout(first: bool, tmp_path: Path) -> None:
    """A convolution of 1 x 1: mirrored feature maps are the maps of the image, mirrored."""
    model = open_model(write_conv_onnx(tmp_path / "m.onnx", first=first), tmp_path)
    x = np.random.default_rng(0).normal(size=(20, 4, 5, 2)).astype(np.float32)
    np.savez(tmp_path / "x.npz", x=x)
    rules = ("output", "features", "features@mirror")
    tensors = tuple(t for rule in rules for t in choose(model.graph, rule))
    tapped = model.with_taps(tensors, tmp_path / "tapped.onnx")
    found = recorded(model, tapped, str(tmp_path / "x.npz"), tmp_path)
    plain, turned = (found.codes(n).reshape(20, 3, 4, 5) for n in rules[1:])
    np.testing.assert_array_equal(turned, plain[..., ::-1])
    assert (turned != plain).any()


def test_a_session_equals_the_recording_and_the_reference(
    mirror_bundle: Path, data: str, tmp_path: Path
) -> None:
    bundle = Bundle.open(mirror_bundle)
    program = bundle.artifact.program
    assert [(t.tensor, t.view) for t in program.taps] == [
        ("probabilities", "plain"), ("hidden", "plain"), ("logits", "plain"),
        ("hidden", "mirror"), ("logits", "mirror"),
    ]  # fmt: skip
    rows = record_rows(bundle, data, tmp_path)
    expected = reference.evaluate(program, [rows.codes(t.name) for t in program.taps])
    assert len(np.unique(expected.verdict)) > 1
    session = Session(mirror_bundle)
    monitor = session._monitor
    shown = [
        [monitor.display(i, s[row].item()) for i, s in enumerate(expected.scores)]
        for row in range(ROWS)
    ]
    batch = session.evaluate_batch(X)
    alone = [session.evaluate(x) for x in X]
    for results in (batch, alone):
        assert [r.verdict for r in results] == expected.verdict.tolist()
        assert [r.prediction for r in results] == expected.predicted.tolist()
        assert [[m.score for m in r.monitors] for r in results] == shown
    fault = session.evaluate_batch([X[0], np.full((2, 2, 1), np.nan), X[1]])
    assert [r.verdict for r in fault[::2]] == expected.verdict[:2].tolist()
    assert fault[1].prediction == -1


def test_a_mirrored_image_swaps_the_taps(mirror_bundle: Path) -> None:
    session = Session(mirror_bundle)
    plain = [tap.copy() for tap in session._taps.read(X[:1])]
    turned = [tap.copy() for tap in session._taps.read(X[:1, :, ::-1].copy())]
    for a, b in ((1, 3), (2, 4)):  # hidden, logits
        np.testing.assert_array_equal(plain[a], turned[b])
        np.testing.assert_array_equal(plain[b], turned[a])


def test_the_bundle_says_that_it_needs_two_inferences(mirror_bundle: Path) -> None:
    manifest = json.loads((mirror_bundle / "manifest.json").read_text())
    mirror, softmax = manifest["monitors"]
    assert (mirror["second_inference"], softmax["second_inference"]) == (True, False)
    assert mirror["taps"] == ["hidden", "logits", "hidden@mirror", "logits@mirror"]
    assert "logits@mirror" not in softmax["taps"]
    texts = [f["text"] for f in manifest["findings"] if f["kind"] == "second_inference"]
    assert len(texts) == 1
    assert texts[0].startswith(
        "mirror needs a second inference of the model for each image, on the mirrored image"
    )
    report = json.loads((mirror_bundle / "report.json").read_text())
    assert report["cost"]["second_inference"] is True
    assert (
        "2 for each image, one of them on the mirrored image"
        in (mirror_bundle / "report.html").read_text()
    )
    described = document("inspect", mirror_bundle)
    assert [(t["name"], t["view"]) for t in described["taps"]][3:] == [
        ("hidden@mirror", "mirror"), ("logits@mirror", "mirror"),
    ]  # fmt: skip
    assert "mirrored image" in edgemon("inspect", mirror_bundle).stdout


def test_verify_and_run_make_both_inferences(mirror_bundle: Path, data: str) -> None:
    proof = verify_bundle(mirror_bundle, data)
    assert (proof.rows, proof.mismatches) == (ROWS, 0)
    found = document("run", mirror_bundle, "--data", data + "[0:50]")["rows"]
    session = Session(mirror_bundle)
    assert [r["score"] for r in found] == [session.evaluate(x).score for x in X[:50]]


def test_the_benchmark_counts_the_second_inference(mirror_bundle: Path, data: str) -> None:
    measured, _ = run_benchmark(mirror_bundle, data, limits=(), rounds=20)
    assert measured["second_inference"] is True
    found = {m["name"]: m for m in measured["monitors"]}
    assert found.keys() == {"mirror", "softmax", "all"}
    for name, second in (("mirror", True), ("softmax", False), ("all", True)):
        assert found[name]["second_inference"] is second
        of_invoke = found[name]["c_ns"] / 1e3 / measured["model_us"]["min"]
        assert found[name]["share_of_model"] == pytest.approx(second + of_invoke)


def damaged(bundle: Path, out: Path, **changed: object) -> Path:
    """A copy whose metadata say another input."""
    shutil.copytree(bundle, out)
    artifact = flat.read((out / MONITOR).read_bytes())
    entry = {**artifact.metadata["input"], **changed}
    metadata = {**artifact.metadata, "input": entry}
    (out / MONITOR).write_bytes(flat.write(replace(artifact, metadata=metadata)))
    return out


@pytest.mark.parametrize(
    "changed", [{"shape": [4]}, {"shape": [4, 1, 1]}, {"layout": "sideways"}, {"layout": None}]
)
def test_damaged_metadata_are_refused(
    mirror_bundle: Path, tmp_path: Path, changed: dict[str, object]
) -> None:
    Session(damaged(mirror_bundle, tmp_path / "sound"))
    with pytest.raises(ArtifactError, match=r"metadata is damaged: .*; compile it again"):
        Session(damaged(mirror_bundle, tmp_path / "copy", **changed))


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (("--monitor", "mirror"), "hidden@mirror, logits@mirror would need the mirrored image, but "
         "the model's input 'input' of shape (4,) is not an image and has no left and right"),
        (("--mirror",), "would need the mirrored image"),
        (("--monitor", "box", "--taps", "hidden@mirror"), "would need the mirrored image"),
        (("--monitor", "softmax", "--mirror"), "--mirror goes with --monitor auto"),
        (("--monitor", "box", "--taps", "gap@mirror"), "the rule 'gap' finds no tensor"),
        (("--monitor", "mirror", "--taps", "mirror=logits"), "reads no mirrored layer"),
        (("--monitor", "mirror", "--taps", "mirror=logits@mirror@mirror"),
         "taps: 'logits@mirror@mirror': write one @mirror behind a rule or the name of a tensor"),
        (("--monitor", "box", "--taps", "box=@mirror"), "taps: '@mirror': write one @mirror"),
    ],
)  # fmt: skip
def test_what_cannot_be_mirrored_is_refused(
    arguments: tuple[str, ...], says: str, tiny: Tiny, tiny_data: Path, tmp_path: Path
) -> None:
    out = tmp_path / "out"
    message = refused("compile", tiny(), "--data", tiny_data, "--out", out, *arguments)
    assert says in " ".join(message.split())
    assert not out.exists()


def test_any_monitor_reads_a_mirrored_layer_that_is_named(
    data: str, tiny: Tiny, tmp_path: Path
) -> None:
    options = Options(monitors="box,softmax", taps="hidden@mirror")
    manifest = compile_bundle(
        tiny(entry=(1, 2, 2, 1)), Sources(data=data), tmp_path / "out", options
    )
    assert manifest["monitors"][0]["taps"] == ["hidden@mirror"]
    assert [m["second_inference"] for m in manifest["monitors"]] == [True, False]


def test_a_fusion_that_does_without_the_mirrored_signal_needs_no_second_inference(
    data: str, tiny: Tiny, tmp_path: Path
) -> None:
    """There is no room for it."""
    options = Options(mirror=True, budget_kb=1.3)
    manifest = compile_bundle(
        tiny(entry=(1, 2, 2, 1)), Sources(data=data), tmp_path / "out", options
    )
    (errors,) = manifest["monitors"]
    second = {c["signal"]: c["second_inference"] for c in manifest["comparison"]}
    assert {name for name, needed in second.items() if needed} == {"mirror"}
    assert "mirror" not in {s["signal"] for s in errors["details"]["signals"]}
    assert errors["second_inference"] is False
    assert Bundle.open(tmp_path / "out").artifact.program.second_inference is False


def test_a_fusion_that_keeps_the_mirrored_signal_makes_both_inferences(
    tiny: Tiny, tmp_path: Path
) -> None:
    """The labels are those of the image and, half as much, of its mirror image."""
    images = X.reshape(ROWS, 2, 2)
    plain, turned = (x.reshape(ROWS, 4) @ W1.T for x in (images, images[:, :, ::-1]))
    np.savez(tmp_path / "both.npz", x=X, y=np.argmax(plain + turned / 2, axis=1))
    manifest = compile_bundle(
        tiny(entry=(1, 2, 2, 1)), Sources(data=str(tmp_path / "both.npz")), tmp_path / "out",
        Options(mirror=True),
    )  # fmt: skip
    (errors,) = manifest["monitors"]
    assert "mirror" in {s["signal"] for s in errors["details"]["signals"]}
    assert errors["second_inference"] is True
    bundle = Bundle.open(tmp_path / "out")
    program = bundle.artifact.program
    assert program.second_inference is True
    rows = record_rows(bundle, str(tmp_path / "both.npz"), tmp_path)
    expected = reference.evaluate(program, [rows.codes(t.name) for t in program.taps])
    assert len(np.unique(expected.verdict)) > 1
    session = Session(tmp_path / "out")
    assert [r.verdict for r in session.evaluate_batch(X)] == expected.verdict.tolist()
    assert [session.evaluate(x).verdict for x in X[:50]] == expected.verdict[:50].tolist()


def test_a_tensor_that_is_called_like_a_mirrored_one_gets_another_name() -> None:
    names = usable_names(["logits", "logits@mirror"])
    assert names == ["logits", "logits@mirror#1"]


def test_an_unknown_mirrored_tensor_is_named_without_the_suffix(tiny: Tiny, tmp_path: Path) -> None:
    model = open_model(tiny(), tmp_path)
    with pytest.raises(ModelError, match="'nothing' is not a tensor or a rule"):
        choose(model.graph, "nothing@mirror")


@pytest.mark.parametrize("text", ["logits@mirror@mirror", "@mirror", "@mirror@mirror"])
def test_one_suffix_behind_a_name_makes_a_mirrored_tensor(
    text: str, tiny: Tiny, tmp_path: Path
) -> None:
    """Two of them compiled, and of a suffix alone it said that '' is no tensor."""
    model = open_model(tiny(), tmp_path)
    with pytest.raises(ModelError, match=f"{text}': write one @mirror"):
        choose(model.graph, text)


def small_program(*taps: Tap, monitor: str = "largest") -> flat.Artifact:
    b = Builder(taps)
    predicted = b.node("argmax", 0)
    score = b.node("max", len(taps) - 1)
    return flat.Artifact(b.program(predicted, [Monitor(monitor, score, 0, 0)]), "00" * 32, {})


def test_views_survive_the_file_and_share_their_name() -> None:
    plain = Tap("logits", "int8", 3)
    both = small_program(plain, replace(plain, view="mirror"))
    content = flat.write(both)
    assert content.count(b"logits\0") == 1
    assert flat.read(content).program.taps == both.program.taps
    assert [t.name for t in both.program.taps] == ["logits", "logits@mirror"]


def test_a_monitor_that_is_called_like_a_tensor_keeps_its_name() -> None:
    """Its name in the file became softmax~8, by which no session knew its rule."""
    content = flat.write(small_program(Tap("softmax", "int8", 3), monitor="softmax"))
    assert flat.read(content).program.monitors[0].name == "softmax"
