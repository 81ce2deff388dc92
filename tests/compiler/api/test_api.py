"""``import edgemon``: what a user of scikit-learn guesses, on models and rows that are objects."""

from __future__ import annotations

import subprocess
import sys
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from pandas import DataFrame
from sklearn.linear_model import LogisticRegression

import edgemon
from edgemon.compiler.errors import CompileError, ModelError
from edgemon.runtime import InputError, Session
from tests.command_line import document
from tests.command_line import edgemon as command
from tests.conftest import DEMO

MODEL = DEMO / "digits_int8.tflite"


@pytest.fixture(scope="module")
def rows() -> tuple[npt.NDArray[Any], npt.NDArray[Any]]:
    with np.load(DEMO / "digits.npz") as found:
        return found["x"], found["y"]


@pytest.fixture(scope="module")
def bundle(rows: tuple[npt.NDArray[Any], npt.NDArray[Any]]) -> edgemon.Bundle:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", edgemon.EdgemonWarning)
        return edgemon.compile(MODEL, *rows, monitor="msp_t")


def test_the_same_artifact_as_the_command_makes(bundle: edgemon.Bundle, tmp_path: Path) -> None:
    made = command("compile", MODEL, "--data", DEMO / "digits.npz", "--monitor", "msp_t", "--out",
                   tmp_path / "out")  # fmt: skip
    assert made.exit_code == 0, made.output
    saved = bundle.save(tmp_path / "saved")
    for name in ("monitor.emon", "monitor.onnx", "model.tapped.tflite"):
        assert (saved / name).read_bytes() == (tmp_path / "out" / name).read_bytes()


def test_verdicts_are_those_of_a_session(bundle: edgemon.Bundle, rows: Any, tmp_path: Path) -> None:
    x, y = rows
    found = edgemon.load(bundle.save(tmp_path / "saved")).evaluate(x[:50])
    one_by_one = Session(tmp_path / "saved")
    for i, image in enumerate(x[:50]):
        result = one_by_one.evaluate(image)
        assert (found.prediction[i], found.label[i]) == (result.prediction, result.label)
        assert (found.verdict[i], found.reason[i]) == (result.verdict, result.reason)
    assert len(found) == 50
    frame = found.to_frame()
    assert list(frame.columns) == ["prediction", "label", "verdict", "score", "reason"]
    scores = bundle.score(x, y)
    whole = bundle.evaluate(x)
    wrong = whole.prediction != y
    assert scores.accuracy == pytest.approx(1 - wrong.mean())
    assert scores.caught == pytest.approx((~whole.trusted & wrong).sum() / wrong.sum())
    assert scores.false_alarms_interval is not None
    low, high = scores.false_alarms_interval
    assert low <= (~whole.trusted & ~wrong).sum() / (~wrong).sum() <= high
    assert "<iframe" in bundle._repr_html_()
    assert bundle.report().lstrip().lower().startswith("<!doctype html")
    assert repr(bundle).startswith("<edgemon.Bundle: msp_t, ")
    points = bundle.operating_points()
    assert points == bundle.operating_points("msp_t")
    assert points[0]["promised"] < points[-1]["promised"]
    with pytest.raises(edgemon.EdgemonError, match="no monitor 'box' here; known: msp_t"):
        bundle.operating_points("box")


def test_a_classifier_of_scikit_learn_with_classes_that_are_words(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    x = rng.normal(0, 1, (1500, 5))
    words = np.array(["low", "middle", "high"])
    y = words[np.digitize(x[:, 0] + rng.normal(0, 0.4, len(x)), [-0.5, 0.5])]
    model = LogisticRegression().fit(x[:500], y[:500])
    frame = DataFrame(x[500:], columns=list("abcde"))
    with pytest.warns(edgemon.EdgemonWarning) as said:
        made = edgemon.compile(model, frame, y[500:], monitor="msp_t", seed=1)
    assert {warning.filename for warning in said} == {__file__}  # whose line it is, and not ours
    found = made.evaluate(frame)
    np.testing.assert_array_equal(np.array(found.label), model.predict(x[500:].astype(np.float32)))
    assert made.score(frame, y[500:]).accuracy == pytest.approx(
        model.score(x[500:], y[500:]), abs=0.01
    )
    other = frame[list("edcba")].assign(note="x")
    with pytest.warns(edgemon.EdgemonWarning, match="left out: note"):
        np.testing.assert_array_equal(made.evaluate(other).score, found.score)
    with pytest.raises(edgemon.EdgemonError, match="lacks the columns 'b', 'd', features of"):
        made.evaluate(frame[list("ace")])
    with pytest.raises(edgemon.EdgemonError, match="in the columns 'b': encode them"):
        made.evaluate(frame.assign(b="word"))
    assert made.manifest["features"] == list("abcde")
    made.save(tmp_path / "kept")
    np.testing.assert_array_equal(
        edgemon.load(tmp_path / "kept").evaluate(x).score[500:], found.score
    )


def test_what_is_demanded_is_held_as_the_command_does(
    bundle: edgemon.Bundle, rows: Any, tmp_path: Path
) -> None:
    x, y = rows
    demanded = "caught>=0.1,false_alarms<=0.3,mcc>=-1,auroc>=0,kb<=32"
    lines = bundle.require(x, y, demanded, baseline=bundle)
    saved = bundle.save(tmp_path / "saved")
    found = document("verify", saved, "--data", DEMO / "digits.npz", "--require", demanded,
                     "--baseline", saved)["requirements"]  # fmt: skip
    assert [line.measured for line in lines] == [line["measured"] for line in found]
    assert [line.interval for line in lines[:5]] == [
        None if line["interval"] is None else tuple(line["interval"]) for line in found[:5]
    ]
    assert lines[-1].name == "mcc less that of the baseline"
    with pytest.raises(
        edgemon.RequirementError, match=r"^requirement missed: caught is .* must be"
    ):
        bundle.require(x, y, "caught>=0.999,kb<=32")
    assert edgemon.RequirementError.exit_code == 3
    for given, sentence in (
        ((x, y, "cought>=1"), "did you mean 'caught'"),
        ((x, y[:3], "caught>=0"), "3 labels"),
        ((x[:2], [1, 12], "caught>=0"), "label 12 is of no class"),
    ):
        with pytest.raises(edgemon.EdgemonError, match=sentence):
            bundle.require(*given)
    with pytest.raises(edgemon.EdgemonError, match="not an edgemon bundle"):
        bundle.require(x, y, "kb<=32", baseline=tmp_path)


def test_a_bundle_that_misses_is_not_there(
    bundle: edgemon.Bundle, rows: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr("tempfile.tempdir", None)
    given: Any = {"monitor": "msp_t", "drift_run_length": 0}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", edgemon.EdgemonWarning)
        with pytest.raises(edgemon.RequirementError, match=r"kb is .*, and must be <= 0.001$"):
            edgemon.compile(MODEL, *rows, require="caught>=0,kb<=0.001", **given)
        assert list(tmp_path.iterdir()) == []
        kept = edgemon.compile(MODEL, *rows, require="caught>=0", baseline=bundle, **given)
    assert kept.manifest["monitors"]
    with pytest.raises(edgemon.EdgemonError, match="--baseline none: is no folder"):
        edgemon.compile(MODEL, *rows, baseline="none")


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"budget": 3}, "did you mean budget_"),
        ({"y": None}, "rows without labels"),
        ({"y": [1, 2]}, "1395 rows, but 2 labels"),
        ({"model": object()}, "a object is no model"),
        ({"X": [["a", "b"]]}, "rows must be numbers"),
        ({"X": [1.0, 2.0]}, "one row must be one image"),
        ({"monitor": "nothing"}, "unknown monitor 'nothing'"),
    ],
)
def test_mistakes_are_one_sentence(change: dict[str, Any], sentence: str, rows: Any) -> None:
    given: dict[str, Any] = {"model": MODEL, "X": rows[0], "y": rows[1], **change}
    with pytest.raises(edgemon.EdgemonError, match=sentence):
        edgemon.compile(**given)


def test_what_is_there_is_not_lost(bundle: edgemon.Bundle, tmp_path: Path) -> None:
    saved = bundle.save(tmp_path / "kept")
    with pytest.raises(InputError, match="exists"):
        bundle.save(saved)
    assert bundle.save(saved, force=True) == saved
    assert edgemon.load(saved).evaluate(np.zeros((1, 8, 8), np.uint8)).verdict.shape == (1,)


def test_labels_that_no_class_has(bundle: edgemon.Bundle, rows: Any) -> None:
    with pytest.raises(InputError, match="label 12 is of no class"):
        bundle.score(rows[0][:2], [1, 12])
    with pytest.raises(InputError, match="3 labels"):
        bundle.score(rows[0][:2], [1, 2, 3])
    assert bundle.score(rows[0][:2], [1.0, 2.0]).rows == 2


@pytest.mark.parametrize(
    ("labels", "sentence"),
    [
        ([[1], [2]], r"labels have the shape \(2, 1\); give one a row"),
        ([[1], [2, 3]], "labels are lists of several lengths"),
        (1, r"labels have the shape \(\)"),
        ([1.5, 2.5], "label 1.5 is of no class"),  # was cut to 1 in silence
        ([1.0, float("nan")], "label nan is of no class"),
    ],
)
def test_labels_that_are_no_list_of_whole_numbers(
    labels: Any, sentence: str, bundle: edgemon.Bundle, rows: Any
) -> None:
    with pytest.raises(InputError, match=sentence):
        bundle.score(rows[0][:2], labels)
    with pytest.raises(InputError, match=sentence):
        bundle.require(rows[0][:2], labels, "caught>=0")


def test_a_demand_that_is_no_text(bundle: edgemon.Bundle, rows: Any) -> None:
    with pytest.raises(InputError, match="what is required is a text"):
        bundle.require(*rows, None)  # type: ignore[arg-type]


def test_the_bytes_of_a_model_are_a_model(rows: Any, tmp_path: Path) -> None:
    from edgemon.compiler.api.models import as_file

    content = MODEL.read_bytes()
    assert as_file(content, 0, tmp_path).path.read_bytes() == content
    assert as_file(content, 0, tmp_path).path.suffix == ".tflite"
    assert as_file(MODEL, 0, tmp_path).path == MODEL
    with pytest.raises(ModelError, match="give a path, bytes"):
        as_file(rows, 0, tmp_path)


def test_nothing_heavy_is_imported_with_the_package() -> None:
    code = (
        "import sys, edgemon; edgemon.__version__; "
        "print([m for m in ('numpy', 'scipy', 'sklearn', 'onnx', 'rich') if m in sys.modules]); "
        "edgemon.load; "
        "print([m for m in ('scipy', 'sklearn', 'onnx', 'rich') if m in sys.modules])"
    )
    said = subprocess.run(
        [sys.executable, "-P", "-c", code], capture_output=True, text=True, check=True
    ).stdout
    assert said.split() == ["[]", "[]"]


def test_the_module_runs_the_command_line() -> None:
    said = subprocess.run(
        [sys.executable, "-P", "-m", "edgemon", "--help"],
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    assert "compile" in said
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        edgemon.nothing  # noqa: B018
    assert {"compile", "load", "Bundle"} <= set(dir(edgemon))
    assert issubclass(CompileError, edgemon.EdgemonError)


def test_private_rows_stay_so_whatever_word_says_no() -> None:
    """``examples="no"`` is true: it showed the rows."""
    with pytest.raises(CompileError, match="examples='no': give True or False"):
        edgemon.compile("model.tflite", np.zeros((3, 2)), [0, 1, 0], examples="no")


def test_a_checkout_of_that_name_beside_the_script_does_not_stand_in_its_way(
    tmp_path: Path,
) -> None:
    """A folder called edgemon was the package: it had no root file, and the nearest folder won."""
    (tmp_path / "edgemon" / "compiler").mkdir(parents=True)
    script = tmp_path / "script.py"
    script.write_text("import edgemon; print(edgemon.__version__, edgemon.load.__name__)")
    said = subprocess.run(
        [sys.executable, script], capture_output=True, text=True, check=True, cwd=tmp_path
    ).stdout
    assert said.split() == [edgemon.__version__, "load"]
