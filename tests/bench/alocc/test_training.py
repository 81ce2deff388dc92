"""Companions that TensorFlow trains, for a few steps."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from edgemon.bench.alocc.companions import Companions
from edgemon.compiler.models.tflite_model import TfliteModel
from tests.command_line import DATA, MODEL, document, refused
from tests.compiler.models.tensorflow_marks import NEEDS_TENSORFLOW

pytestmark = NEEDS_TENSORFLOW
FEW = ("--epochs", "2", "--width", "2")


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Any]:
    out = tmp_path_factory.mktemp("alocc") / "companion.tflite"
    return out, document("alocc", "train", MODEL, "--data", f"{DATA}[0:300]", "--out", out, *FEW)


def test_codes_of_both_images_are_those_of_the_classifier(made: tuple[Path, Any]) -> None:
    own = TfliteModel.open(Path(MODEL)).input
    graph = TfliteModel.open(made[0]).graph
    image, scores = sorted((graph.tensors[i] for i in graph.inputs), key=lambda t: -t.length)
    assert (image.dtype, image.length) == (own.dtype, 64)
    assert (image.scale, image.zero_point) == (own.scale, own.zero_point)
    assert (scores.dtype, scores.length) == ("int8", made_classes())
    (redrawn,) = (graph.tensors[i] for i in graph.outputs)
    assert (redrawn.dtype, redrawn.length) == ("int8", 64)
    assert (redrawn.scale, redrawn.zero_point) == (image.scale, image.zero_point)


def test_its_ops_are_built_in_and_integer(made: tuple[Path, Any]) -> None:
    from ai_edge_litert import schema_py_generated as schema

    model = schema.ModelT.InitFromObj(schema.Model.GetRootAs(made[0].read_bytes(), 0))
    assert all(code.customCode is None for code in model.operatorCodes)
    assert all(t.type != schema.TensorType.FLOAT32 for t in model.subgraphs[0].tensors)
    assert made[1]["bytes"] == made[0].stat().st_size < 300_000


def test_the_class_is_the_first_largest_of_the_scores(made: tuple[Path, Any]) -> None:
    image = np.arange(64, dtype=np.int8)
    n = made_classes()
    one, two, tie = (np.full(n, -128, np.int8) for _ in range(3))
    one[1], two[4], tie[[1, 4]] = 5, 5, 5
    by_one, by_two, by_tie = (redrawn(made[0], image, s) for s in (one, two, tie))
    assert (by_one == by_tie).all()
    assert (by_one != by_two).any()


def test_one_seed_gives_one_file(made: tuple[Path, Any], tmp_path: Path) -> None:
    out = tmp_path / "again.tflite"
    again = document("alocc", "train", MODEL, "--data", f"{DATA}[0:300]", "--out", out, *FEW)
    assert out.read_bytes() == made[0].read_bytes()
    assert again["trained"] == made[1]["trained"]


def test_it_keeps_the_epoch_of_the_least_validation_error(made: tuple[Path, Any]) -> None:
    (one,) = made[1]["trained"]
    assert 1 <= one["best_epoch"] <= one["epochs"] == 2
    assert one["rows"] + one["validation_rows"] == 300


def test_rows_of_a_group_are_never_on_both_sides() -> None:
    from edgemon.bench.alocc.training import Plan, split

    groups = np.repeat(np.arange(20), 5)
    fit, held = split(100, groups, Plan())
    assert len(fit) + len(held) == 100
    assert not set(groups[fit]) & set(groups[held])


def test_a_file_is_not_written_over(made: tuple[Path, Any]) -> None:
    before = made[0].read_bytes()
    said = refused("alocc", "train", MODEL, "--data", DATA, "--out", made[0])
    assert "is there already" in said
    assert made[0].read_bytes() == before


def test_one_a_class_takes_the_image_alone(tmp_path: Path) -> None:
    out = tmp_path / "each"
    found = document(
        "alocc", "train", MODEL, "--data", f"{DATA}[0:300]", "--out", out, "--per-class",
        "--epochs", "1", "--width", "1",
    )  # fmt: skip
    files = sorted(out.iterdir())
    assert [one["class"] for one in found["trained"]] + found["left_out"] == list(
        range(made_classes())
    )
    assert len(files) == len(found["trained"])
    rows = np.zeros((2, 8, 8, 1), np.int8), np.zeros((2, 1)), np.array([0, 1])
    before = Companions(out).errors(*rows)
    files[0].unlink()  # as of a class with too few rows: the others keep their classes
    assert Companions(out).errors(*rows).tolist() == [np.inf, before[1]]
    graph = TfliteModel.open(files[1]).graph
    assert [graph.tensors[i].length for i in graph.inputs] == [64]


def test_too_few_rows_are_refused(tmp_path: Path) -> None:
    out = tmp_path / "companion.tflite"
    said = refused("alocc", "train", MODEL, "--data", f"{DATA}[0:12]", "--out", out)
    assert "needs at least 16 and 2" in said
    assert not out.exists()


def made_classes() -> int:
    return TfliteModel.open(Path(MODEL)).n_classes


def redrawn(path: Path, image: Any, scores: Any) -> Any:
    from ai_edge_litert.interpreter import Interpreter

    model = Interpreter(str(path), num_threads=1)
    model.allocate_tensors()
    for detail in model.get_input_details():
        value = image if len(detail["shape"]) == 4 else scores
        model.set_tensor(detail["index"], value.reshape(detail["shape"]))
    model.invoke()
    return model.get_tensor(model.get_output_details()[0]["index"]).copy()
