"""What Keras files may hold, read without Keras."""

from __future__ import annotations

import json
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pytest

from edgemon.compiler.models.keras_config import (
    MOST_CONFIG_BYTES,
    MOST_NESTED,
    require_own,
    require_own_classes,
)
from edgemon.runtime.errors import BackendError

Json = dict[str, Any]
PATH = Path("m.keras")


def _object(name: str, config: Any = None, module: str | None = "keras.layers") -> Json:
    inner = {"name": name.lower()} if config is None else config
    return {"module": module, "class_name": name, "config": inner, "registered_name": None}


def _model(*layers: Json, kind: str = "Sequential") -> Json:
    return _object(kind, {"name": "outer", "layers": list(layers)}, "keras")


CODE = {"class_name": "__lambda__", "config": {"code": "4wEAAAAA", "defaults": None}}
LAMBDA = _object("Lambda", {"name": "mine", "function": CODE})
OWN = {**_object("Scale", {"name": "mine"}, None), "registered_name": "pack>Scale"}
FUNCTION = {"class_name": "function", "config": "swoosh", "registered_name": "swoosh"}

WRAPS: dict[str, Callable[[Json], Json]] = {
    "alone": _model,
    "behind another": lambda bad: _model(_object("Flatten"), bad),
    "nested": lambda bad: _model(_model(_model(bad, kind="Functional"))),
    "TimeDistributed": lambda bad: _model(_object("TimeDistributed", {"name": "t", "layer": bad})),
    "Bidirectional": lambda bad: _model(
        _object("Bidirectional", {"name": "b", "layer": _object("GRU"), "backward_layer": bad})
    ),
    "cell": lambda bad: _model(_object("RNN", {"name": "r", "cell": [_object("GRUCell"), bad]})),
    "initialiser": lambda bad: _model(_object("Dense", {"name": "d", "kernel_initializer": bad})),
    "call": lambda bad: _model({**_object("Add"), "inbound_nodes": [{"args": [[bad]]}]}),
    "nested compile": lambda bad: _model({**_model(), "compile_config": {"loss": bad}}),
}


@pytest.mark.parametrize("wrap", WRAPS.values(), ids=WRAPS)
@pytest.mark.parametrize(
    ("bad", "says"),
    [
        (LAMBDA, "is a Lambda, which runs Python code from the file"),
        (CODE, "has a __lambda__, which is Python code in the file"),
        (OWN, "has the class 'Scale', which is none of Keras' own"),
        (_object("Scale", module="builtins"), "'builtins.Scale'"),
        (_object("Dense", module="kerasish.layers"), "'kerasish.layers.Dense'"),
        (_object("Dense", module="keras_hub.layers"), "'keras_hub.layers.Dense'"),
        ({**_object("Dense"), "registered_name": "pack>Dense"}, "'keras.layers.Dense'"),
        ({**_object("Dense"), "package": "pack"}, "'keras.layers.Dense'"),
        (_object("get_file", module="keras.utils"), "'keras.utils.get_file'"),
        (_object("system", module="os"), "'os.system'"),
        ({"class_name": "TrueDivide", "config": {}}, "that only .keras files can hold"),
        (_object("TFSMLayer"), "runs a model from another file"),
        (_object("TorchModuleWrapper"), "unpickles"),
        (_object("StringLookup"), "may read any file"),
        (_object("TFOpLambda"), "any function of TensorFlow"),
        ({**FUNCTION, "module": "__main__"}, "the function '__main__.swoosh'"),
        ({**FUNCTION, "module": "builtins"}, "the function 'builtins.swoosh'"),
        ({**FUNCTION, "module": "keras.utils", "config": "get_file"}, "the function"),
        ({**FUNCTION, "module": "os", "config": "relu"}, "the function 'os.relu'"),
        ({"class_name": ["Dense"], "config": {}}, "none of Keras' own"),
        ({"class_name": "TypeSpec", "type_spec": "x", "serialized": []}, "'TypeSpec'"),
    ],
    ids=lambda value: value[:20] if isinstance(value, str) else "",
)
def test_code_and_classes_of_others_are_refused_wherever_they_stand(
    wrap: Callable[[Json], Json], bad: Json, says: str
) -> None:
    with pytest.raises(BackendError) as error:
        require_own_classes(PATH, wrap(bad))
    sentence = str(error.value)
    assert says in sentence
    assert "convert the model to TFLite or ONNX where it was made" in sentence
    assert "\n" not in sentence


def test_the_layer_is_named() -> None:
    with pytest.raises(BackendError, match="its layer 'mine' is a Lambda"):
        require_own_classes(PATH, WRAPS["nested"](LAMBDA))
    with pytest.raises(BackendError, match="its layer 'd' uses the function"):
        require_own_classes(PATH, WRAPS["initialiser"]({**FUNCTION, "module": "__main__"}))


@pytest.mark.parametrize(
    "good",
    [
        _object("Dense", {"name": "d", "activation": "relu"}),
        {"class_name": "Dense", "config": {"name": "d"}},  # as Keras 2 has it
        _object("TrueDivide", module="keras.src.ops.numpy"),
        {**FUNCTION, "module": "builtins", "config": "softmax"},
        {**_object("Functional", module="keras.src.models.functional"),
         "registered_name": "Functional"},
    ],
)  # fmt: skip
def test_what_is_of_keras_passes(good: Json) -> None:
    for wrap in WRAPS.values():
        require_own_classes(PATH, wrap(good))


def test_how_it_was_trained_is_not_looked_at() -> None:
    require_own_classes(PATH, {**_model(), "compile_config": {"loss": OWN}})


def _h5(path: Path, config: Any) -> Path:
    with h5py.File(path, "w") as file:
        file.attrs["model_config"] = config if isinstance(config, str) else json.dumps(config)
        file.create_group("model_weights")["w"] = np.zeros(3, np.float32)
    return path


def _zip(path: Path, config: Any, weights: bytes | None = None, copies: int = 1) -> Path:
    text = config if isinstance(config, str) else json.dumps(config)
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for _ in range(copies):
            archive.writestr("config.json", text)
        if weights is not None:
            archive.writestr("model.weights.h5", weights)
    return path


@pytest.mark.parametrize("write", [_h5, _zip])
def test_both_formats_are_read(tmp_path: Path, write: Callable[[Path, Any], Path]) -> None:
    require_own(write(tmp_path / "good", _model(_object("Dense"))))
    with pytest.raises(BackendError, match="is a Lambda"):
        require_own(write(tmp_path / "bad", _model(LAMBDA)))


@pytest.mark.parametrize("write", [_h5, _zip])
@pytest.mark.parametrize(
    ("config", "says"),
    [
        ("[" * 100_000, "nested too deeply|not JSON"),
        ('{"a":' * (MOST_NESTED + 2) + "1" + "}" * (MOST_NESTED + 2), "nested too deeply"),
        ("[]", "does not describe a model"),
        ("", "not JSON"),
        ('{"a": ' + "9" * 5000 + "}", "not JSON"),
        ('{"a": "' + "x" * MOST_CONFIG_BYTES + '"}', "its configuration has"),
    ],
    ids=["brackets", "deep", "list", "empty", "number", "long"],
)
def test_hostile_configurations_are_one_sentence(
    tmp_path: Path, write: Callable[[Path, Any], Path], config: str, says: str
) -> None:
    with pytest.raises(BackendError, match=says) as error:
        require_own(write(tmp_path / "m", config))
    assert "\n" not in str(error.value)


def test_two_configurations_in_one_archive_are_refused(tmp_path: Path) -> None:
    with pytest.warns(UserWarning, match="Duplicate"):
        path = _zip(tmp_path / "m.keras", _model(), copies=2)
    with pytest.raises(BackendError, match="two files of one name"):
        require_own(path)


def _elsewhere(kind: str, path: Path, secret: Path) -> None:
    with h5py.File(path, "w") as file:
        file.attrs["model_config"] = json.dumps(_model())
        group = file.create_group("model_weights/dense")
        if kind == "link":
            group["w"] = h5py.ExternalLink(str(secret), "/w")
        elif kind == "storage":
            group.create_dataset("w", (4,), "u1", external=[(str(secret), 0, 4)])
        elif kind == "virtual":
            layout = h5py.VirtualLayout((3,), "f4")
            layout[:] = h5py.VirtualSource(str(secret), "w", (3,))
            group.create_virtual_dataset("w", layout)
        else:
            group.create_dataset("w", (1 << 34,), "f4", chunks=(1 << 20,), compression="gzip")


@pytest.mark.parametrize(
    ("kind", "says"),
    [
        ("link", "partly in other files"), ("storage", "partly in other files"),
        ("virtual", "partly in other files"), ("inflated", "would unpack to 68,719,476,736"),
    ],
)  # fmt: skip
@pytest.mark.parametrize("inside", [False, True])
def test_weights_that_are_elsewhere_or_far_too_many_are_refused(
    tmp_path: Path, kind: str, says: str, inside: bool
) -> None:
    secret, path = _h5(tmp_path / "secret.h5", _model()), tmp_path / "m.h5"
    _elsewhere(kind, path, secret)
    if inside:
        path = _zip(tmp_path / "m.keras", _model(), path.read_bytes())
    with pytest.raises(BackendError, match=says):
        require_own(path)


def test_an_archive_that_inflates_hugely_is_refused(tmp_path: Path) -> None:
    path = _zip(tmp_path / "m.keras", _model(), bytes(80 << 20))
    with pytest.raises(BackendError, match="would unpack to 83,886,080"):
        require_own(path)


@pytest.mark.parametrize("write", [_h5, _zip])
def test_damage_anywhere_is_one_sentence_or_nothing(
    tmp_path: Path, write: Callable[[Path, Any], Path]
) -> None:
    weights = _h5(tmp_path / "w.h5", _model()).read_bytes()
    path = _zip(tmp_path / "m", _model(_object("Dense")), weights) if write is _zip else write(
        tmp_path / "m", _model(_object("Dense"))
    )  # fmt: skip
    content = bytearray(path.read_bytes())
    rng = np.random.default_rng(0)
    for _ in range(60):
        damaged = bytearray(content)
        for at in rng.integers(0, len(content), 4):
            damaged[at] ^= int(rng.integers(1, 256))
        path.write_bytes(damaged[: int(rng.integers(len(content) // 2, len(content) + 1))])
        sentences = []
        try:
            require_own(path)
        except BackendError as error:
            sentences.append(str(error))
        assert all("\n" not in sentence for sentence in sentences)
