"""Documents of real compiles against the types that say what they hold, and the page of these."""

from __future__ import annotations

import copy
import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typeguard import CollectionCheckStrategy, TypeCheckError, check_type

from edgemon.compiler.bundle import manifest as manifests
from edgemon.compiler.data.sources import Sources
from edgemon.compiler.documents.asked import Model
from edgemon.compiler.documents.manifest import Compiled, Manifest
from edgemon.compiler.documents.report import Report
from edgemon.compiler.models import open_model
from edgemon.compiler.models.model import Conversion
from edgemon.compiler.models.selection import Selection
from edgemon.compiler.options import Options
from edgemon.compiler.pipeline import compile_bundle
from edgemon.compiler.promise.thresholds import FalseAlarmPromise
from edgemon.runtime.preprocess import Preprocess
from tests import documents, labelled_onnx, tiny_onnx
from tests.conftest import DEMO
from tests.tiny_tflite import W2, write_tiny

# What each compile is for: entries of its documents that are null in a plain one.
ENTRIES = {
    "plain": ("drift.measured", "model.fixed_inputs.w2", "options.inputs.w2"),
    "fusion": (
        "comparison.0.quality", "last_bits.kernels.1", "last_bits.lsb", "monitors.1.alone",
        "drift", "guard.changes.0.classes.0", "augmented", "budget.kilobytes",
        "input.spread", "input.better", "left_out.0",
    ),
    "classes": ("monitors.0.class_thresholds", "groups.drawn", "realised.by_set"),
    "unit": ("decision", "features"),
    "labelled": ("own_labels", "model.output", "model.outputs_left_out.0"),
}  # fmt: skip


def check(document: Any, kind: Any) -> None:
    """Raises TypeCheckError unless a document has the fields of a type, no more and no less."""
    check_type(document, kind, collection_check_strategy=CollectionCheckStrategy.ALL_ITEMS)


@pytest.fixture(scope="module", params=ENTRIES)
def compiled(
    request: pytest.FixtureRequest, tiny_data: Path, tmp_path_factory: pytest.TempPathFactory
) -> tuple[str, Path, Any]:
    """Which compile, its bundle, and what it returned."""
    folder = tmp_path_factory.mktemp(request.param)
    model, data, options = _given(request.param, folder, tiny_data)
    returned = compile_bundle(model, Sources(data=str(data)), folder / "out", options)
    return request.param, folder / "out", json.loads(json.dumps(returned))


def _given(kind: str, folder: Path, tiny_data: Path) -> tuple[Path, Path, Options]:
    rng = np.random.default_rng(0)
    match kind:
        case "plain":
            selection = Selection(inputs={"w2": W2})
            return (
                write_tiny(folder / "t.tflite", fed=True), tiny_data,
                Options(monitors="softmax", selection=selection),
            )  # fmt: skip
        case "fusion":
            options = Options(
                monitors="errors,box", certify_kernels="reference", budget_kb=24.0,
                guard="rotation=20", full_scale=16, augment=1,
                preprocess=Preprocess(scale=3.0),
                promise=FalseAlarmPromise(rate=0.2),
            )  # fmt: skip
            return DEMO / "digits_int8.tflite", DEMO / "digits.npz", options
        case "classes":
            with np.load(tiny_data) as stored:
                x, y = (np.repeat(stored[name], 2, axis=0) for name in ("x", "y"))
            np.savez(folder / "d.npz", x=x, y=y, track=np.repeat(np.arange(len(y) // 2), 2))
            options = Options(
                monitors="softmax", group="track", drift_run_length=0,
                promise=FalseAlarmPromise(rate=0.3, per_class="each"),
            )  # fmt: skip
            return write_tiny(folder / "t.tflite"), folder / "d.npz", options
        case "unit":
            x = rng.normal(size=(900, 2)).astype(np.float32)
            y = (x[:, 0] - x[:, 1] + rng.logistic(size=900) / 2 > 0).astype(int)
            lines = [f"{a},{b},{label}" for (a, b), label in zip(x.tolist(), y, strict=True)]
            (folder / "d.csv").write_text("\n".join(["a,b,label", *lines]))
            return (
                tiny_onnx.write_unit_onnx(folder / "u.onnx"), folder / "d.csv",
                Options(monitors="softmax,errors"),
            )  # fmt: skip
        case _:
            return (
                labelled_onnx.write_labelled(folder / "l.onnx"), labelled_onnx.rows(folder),
                Options(monitors="softmax", thresholds="method"),
            )  # fmt: skip


def test_documents_have_the_fields_that_are_declared(compiled: tuple[str, Path, Any]) -> None:
    kind, bundle, returned = compiled
    manifest = json.loads((bundle / "manifest.json").read_text())
    check(manifest, Manifest)
    check(returned, Compiled)
    check(json.loads((bundle / "report.json").read_text()), Report)
    for path in ENTRIES[kind]:
        found = manifest
        for key in path.split("."):
            found = found[int(key) if key.isdecimal() else key]
        assert found is not None, path


def test_a_field_too_many_and_one_too_few_are_found(bundle: Path) -> None:
    """In every object of a document, at whatever depth."""
    for name, kind in (("manifest.json", Manifest), ("report.json", Report)):
        document = json.loads((bundle / name).read_text())
        declared = 0
        for place in _objects(document):
            changed = copy.deepcopy(document)
            _at(changed, place)["undeclared"] = object()
            with pytest.raises(TypeCheckError):
                check(changed, kind)
            declared += 1
        assert declared > 20
        for key in document:
            with pytest.raises(TypeCheckError, match="missing required"):
                check({k: v for k, v in document.items() if k != key}, kind)


def _objects(document: Any, place: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Places of all objects but those whose shape is a monitor's own."""
    if isinstance(document, dict):
        yield place
    entries = document.items() if isinstance(document, dict) else enumerate(document)
    for key, value in entries:
        if isinstance(value, (dict, list)) and key != "details":
            yield from _objects(value, (*place, key))


def _at(document: Any, place: tuple[Any, ...]) -> Any:
    for key in place:
        document = document[key]
    return document


@pytest.mark.parametrize("of_part", [False, True])
def test_a_converted_model_is_described_as_declared(of_part: bool, tmp_path: Path) -> None:
    """Also where it is a part of what was given; without the library that converts."""
    path = labelled_onnx.write_labelled(tmp_path / "l.onnx")
    model = open_model(path, tmp_path, Selection())
    made = Conversion(tmp_path / "m.keras", "00", "int8", "TensorFlow 2", ("a layer is frozen",))
    model = replace(model, conversion=made, prepared=model.prepared if of_part else None)
    found = manifests.describe_model(model, model.untapped())
    check(json.loads(json.dumps(found)), Model)
    assert found["file"] == "m.keras"
    assert found["converted"]["to"] == "int8 TFLite"
    assert ("outputs_left_out" in found) == of_part


def test_the_page_of_documents_is_made_from_the_types() -> None:
    assert documents.PAGE.read_text(encoding="utf-8") == documents.page(), (
        "run python -m tests.documents"
    )


def test_every_field_says_what_it_means() -> None:
    assert "|  |" not in documents.page()
