from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
import pytest

from edgemon.compiler.data.classes import label_map
from edgemon.compiler.data.loading import load
from edgemon.compiler.errors import ModelError
from edgemon.compiler.models import onnx_graph, write_untapped
from edgemon.compiler.models.model import Model
from edgemon.compiler.models.onnx_model import OnnxModel
from edgemon.compiler.models.tap_rules import choose, suggest
from edgemon.compiler.recording.recording import Recording, record
from edgemon.runtime.onnx_classifier import OnnxClassifier
from edgemon.runtime.preprocess import Preprocess, to_input
from tests.tiny_onnx import (
    write_conv_onnx,
    write_quantised_onnx,
    write_tiny_onnx,
    write_unit_onnx,
)


def _names(model: Model) -> dict[str, list[str]]:
    return {rule: [t.name for t in found] for rule, found in suggest(model.graph).items()}


def _record(model: Model, tapped: object, data: str, preprocess: str, folder: Path) -> Recording:
    folder.mkdir()
    return record(
        tapped,  # type: ignore[arg-type]
        load(data, folder),
        preprocess=Preprocess.parse(preprocess),
        input=model.input,
        labels=label_map(model.n_classes, "numeric"),
        kernels=model.kernels("xnnpack"),
        scratch=folder,
    )


def test_rules_find_the_parts_of_a_dense_classifier(tmp_path: Path) -> None:
    model = OnnxModel.open(write_tiny_onnx(tmp_path / "t.onnx"))
    model.require_classifier()
    assert model.n_classes == 3
    assert _names(model) == {
        "output": ["probabilities"],
        "logits": ["logits"],
        "softmax": ["probabilities"],
        "penultimate": ["hidden"],
        "dense": ["sum", "logits"],
        "activation": ["hidden"],
    }


@pytest.mark.parametrize("first", [True, False])
def test_rules_find_the_parts_of_a_convolutional_classifier(tmp_path: Path, first: bool) -> None:
    model = OnnxModel.open(write_conv_onnx(tmp_path / "c.onnx", first=first))
    assert _names(model) == {
        "output": ["scores"],
        "logits": ["scores"],
        "penultimate": ["flat"],
        "gap": ["pooled"],
        "dense": ["scores"],
        "activation": ["features"],
        "middle": ["features"],
        "last_map": ["features"],
    }
    assert model.input.layout == ("nchw" if first else "nhwc")


def test_a_tapped_map_knows_its_channels_and_rows(tmp_path: Path) -> None:
    """Of images of 4 x 5 pixels, by which bands are cut."""
    model = OnnxModel.open(write_conv_onnx(tmp_path / "c.onnx"))
    tensors = [*choose(model.graph, "last_map"), *choose(model.graph, "penultimate")]
    features, pooled = model.with_taps(tensors, tmp_path / "tapped.onnx").taps
    assert (features.channels, features.map_rows, features.channels_first) == (3, 4, True)
    assert (pooled.channels, pooled.map_rows) == (0, 0)
    assert (features.means_of, pooled.means_of) == ("", "features")


def test_both_layouts_take_the_same_images(tmp_path: Path) -> None:
    images = np.random.default_rng(0).integers(0, 255, (20, 4, 5, 2)).astype(np.uint8)
    declared = Preprocess.parse("mean=100:120")
    answers = []
    for first in (True, False):
        model = OnnxModel.open(write_conv_onnx(tmp_path / "c.onnx", first=first))
        classifier = OnnxClassifier(model.path)
        rows = []
        for image in images:
            classifier.invoke(to_input(image, declared, model.input))
            rows.append(classifier.output(0))
        answers.append(np.stack(rows))
    np.testing.assert_allclose(answers[0], answers[1], rtol=1e-6)
    v = images.astype(float) - [100, 120]
    expected = [np.maximum(p, 0).mean(axis=(1, 2)) for p in (v[..., 0], -v[..., 1], v.sum(axis=3))]
    np.testing.assert_allclose(answers[0], np.stack(expected, axis=1), rtol=1e-4)


@pytest.mark.parametrize("batch", [1, "N"])
def test_taps_become_outputs_and_can_be_taken_away(tmp_path: Path, batch: int | str) -> None:
    model = OnnxModel.open(write_tiny_onnx(tmp_path / "t.onnx", batch=batch))
    (hidden,), (output,) = choose(model.graph, "hidden"), choose(model.graph, "output")
    tapped = model.with_taps((hidden, output, hidden), tmp_path / "tapped.onnx")
    assert tapped.positions == (1, 0)
    onnx.checker.check_model(onnx.load(tapped.path))
    classifier = OnnxClassifier(tapped.path)
    classifier.invoke(np.array([[3, -1, 2, 5]], np.float32))
    assert classifier.output(1).tolist() == [3, 0, 7]
    again = model.with_taps((hidden, output), tmp_path / "again.onnx")
    assert again.sha256 == tapped.sha256
    write_untapped(tapped.path, 1, tmp_path / "plain.onnx")
    assert OnnxClassifier(tmp_path / "plain.onnx").n_outputs == 1
    assert model.with_taps((output,), tmp_path / "same.onnx").sha256 == model.sha256


def test_int8_tensors_keep_their_scale_and_zero_point(tmp_path: Path) -> None:
    model = OnnxModel.open(write_quantised_onnx(tmp_path / "q.onnx"))
    (codes,) = choose(model.graph, "codes")
    assert (codes.dtype, codes.scale, codes.zero_point) == ("int8", 0.5, -3)
    tapped = model.with_taps((codes,), tmp_path / "t.onnx")
    np.savez(tmp_path / "x.npz", x=np.array([[1, -1, 0.5, 60]], np.float32))
    found = _record(model, tapped, str(tmp_path / "x.npz"), "", tmp_path / "r")
    assert found.codes(codes.name).tolist() == [[-1, -5, -2, 117]]
    assert found.values(codes.name).tolist() == [[1, -1, 0.5, 60]]


def test_one_output_unit_means_class_1_above_one_half(tmp_path: Path) -> None:
    model = OnnxModel.open(write_unit_onnx(tmp_path / "u.onnx"))
    model.require_classifier()
    assert model.n_classes == 2
    np.savez(tmp_path / "x.npz", x=np.array([[1, 0], [0, 1], [1, 1]], np.float32))
    found = _record(model, model.untapped(), str(tmp_path / "x.npz"), "", tmp_path / "r")
    assert found.predicted.tolist() == [1, 0, 0]


def test_what_is_no_model_or_damaged_is_one_sentence(tmp_path: Path) -> None:
    path = write_tiny_onnx(tmp_path / "t.onnx")
    content = path.read_bytes()
    for share in (0, 0.1, 0.5, 0.9, 0.99):
        path.write_bytes(content[: int(len(content) * share)])
        with pytest.raises(ModelError, match=r"not an ONNX model|refuses|fails") as error:
            OnnxModel.open(path)
        assert "\n" not in str(error.value)
        assert str(error.value).count(str(path)) == 1


def test_weights_in_other_files_are_refused(tmp_path: Path) -> None:
    path = write_tiny_onnx(tmp_path / "t.onnx")
    model = onnx.load(path)
    tensor = model.graph.initializer[0]
    tensor.data_location = onnx.TensorProto.EXTERNAL
    tensor.external_data.add(key="location", value="/etc/passwd")
    path.write_bytes(model.SerializeToString())
    with pytest.raises(ModelError, match="external data"):
        OnnxModel.open(path)


def test_several_images_a_batch_are_refused(tmp_path: Path) -> None:
    model = OnnxModel.open(write_tiny_onnx(tmp_path / "t.onnx", batch=4))
    with pytest.raises(ModelError, match="a batch of one image"):
        model.require_classifier()


def test_an_unknown_operator_is_one_sentence(tmp_path: Path) -> None:
    path = write_tiny_onnx(tmp_path / "t.onnx")
    model = onnx.load(path)
    model.graph.node[2].op_type = "Fancy"
    path.write_bytes(model.SerializeToString())
    with pytest.raises(ModelError, match=r"ONNX Runtime refuses it: .*Fancy") as error:
        OnnxModel.open(path)
    assert len(str(error.value)) < 300


def test_constants_behind_operators_are_no_taps(tmp_path: Path) -> None:
    model = OnnxModel.open(write_quantised_onnx(tmp_path / "q.onnx"))
    with pytest.raises(ModelError, match="is a constant"):
        choose(model.graph, "weights")


@pytest.mark.parametrize(
    ("name", "data", "preprocess", "accuracy"),
    [
        ("cifar10_marabou_small", "cifar10_test", "scale=1/255", 0.6314),
        ("mnist_convnet_maxpool_verivital", "mnist_test", "scale=1/255", 0.9792),
        (
            # The data's README says 73.3 % on 3,000 images; plain ONNX Runtime has this too.
            "cifar10_resnet_2b_vnncomp2021", "cifar10_test",
            "scale=1/255,mean=.4914:.4822:.4465,std=.2471:.2435:.2616", 0.6925,
        ),
    ],
)  # fmt: skip
def test_public_models_have_their_accuracy_and_taps_change_no_bit_of_it(
    shared: Path, tmp_path: Path, name: str, data: str, preprocess: str, accuracy: float
) -> None:
    model = OnnxModel.open(shared / f"data/images/models/{name}.onnx")
    model.require_classifier()
    every = dict.fromkeys(t for found in suggest(model.graph).values() for t in found)
    tapped = model.with_taps(tuple(every), tmp_path / "t.onnx")
    source = str(shared / f"data/images/{data}.npz")
    plain = _record(model, model.untapped(), source, preprocess, tmp_path / "plain")
    assert round(float(plain.correct.mean()), 4) == accuracy
    more = _record(model, tapped, f"{source}[0:2000]", preprocess, tmp_path / "more")
    output = model.output.name
    np.testing.assert_array_equal(
        plain.codes(output)[:2000].view(np.uint32), more.codes(output).view(np.uint32)
    )


def test_parsing_refuses_what_is_no_protobuf() -> None:
    for content in (b"", b"PK\x03\x04", b"\x08\x07", bytes(range(256))):
        with pytest.raises(ValueError, match="not an ONNX model"):
            onnx_graph.parse(content)
