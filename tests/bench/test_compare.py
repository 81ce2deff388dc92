"""``edgemon compare``: monitors on the same splits, held to what ``compile`` itself computes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from edgemon.bench.compare.averages import average
from edgemon.bench.compare.fused import Fused
from edgemon.bench.compare.judges import POOL, Fitter, Judge, RecordedRows
from edgemon.bench.compare.measures import measure, scod_mcc
from edgemon.bench.compare.panel import Panel, PanelOptions, Split
from edgemon.bench.compare.rows import UNKNOWN, load_rows
from edgemon.bench.compare.show import show
from edgemon.bench.compare.spec import Case, Spec
from edgemon.compiler.data.splits import Splits
from edgemon.compiler.emit import flat
from edgemon.compiler.fitting import fit_monitors
from edgemon.compiler.models import keras
from edgemon.compiler.monitors import MONITORS, MonitorEstimator
from edgemon.compiler.monitors.fusion.fusion import FusionMonitor
from edgemon.compiler.promise.thresholds import FalseAlarmPromise
from edgemon.compiler.reporter import Reporter
from edgemon.compiler.statistics.metrics import Confusion
from edgemon.compiler.statistics.tuning import best_mcc_threshold
from edgemon.compiler.terminal import Terminal
from edgemon.runtime.monitor import Monitor
from tests.command_line import document, edgemon, refused
from tests.compiler.recordings import make_recording
from tests.conftest import DEMO

TARGET = FalseAlarmPromise()
ROWS = 900


def single(kind: str) -> MonitorEstimator:
    taps = {"msp_t": ("logits",), "forest": ("features", "logits")}
    return MONITORS[kind](taps=taps.get(kind, ("features",)))


def scod() -> FusionMonitor:
    found = MONITORS["scod"](taps=("features", "logits"))
    assert isinstance(found, FusionMonitor)
    found.signals = tuple(single(k) for k in ("msp_t", "second_opinion", "forest"))
    found.novelty = (single("density"),)
    return found


def recorded(folder: Path, dtype: str = "int8", rows: int = ROWS) -> RecordedRows:
    """A pool of two parts, and a novel set: features of another classifier."""
    fit, first, second = (
        make_recording(folder / name, dtype, rows, seed) for seed, name in enumerate("abc")
    )
    novel = replace(make_recording(folder / "n", dtype, 300, 9), labels=None)
    return RecordedRows("output", "logits", fit, (first, second), {"novel": novel})


@pytest.fixture(scope="module", params=["int8", "float32"])
def rows(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> RecordedRows:
    return recorded(tmp_path_factory.mktemp("recordings"), request.param)


def test_a_fused_score_is_the_devices(rows: RecordedRows) -> None:
    fusion = scod()
    fusion.fit_members(rows.fit, Fitter(rows.fit).fit)
    fused = Fused.of(fusion, tuple(Judge.of(m, rows, TARGET) for m in fusion.members_), rows)
    for start in (0, 400):  # what it learns differs, and so do its tables
        fused.learn(np.arange(start, start + 500))
        program = fused.program()
        device = Monitor(flat.write(flat.Artifact(program, "00" * 32, {})))
        scores = fused.scores(program)
        assert len(np.unique(scores[POOL])) > 50
        pool = [
            device.evaluate([part.codes(t.name) for t in program.taps]).scores[0]
            for part in rows.pool
        ]
        np.testing.assert_array_equal(scores[POOL], np.concatenate(pool))
        novel = rows.novel["novel"]
        found = device.evaluate([novel.codes(t.name) for t in program.taps]).scores[0]
        np.testing.assert_array_equal(scores["novel"], found)


@pytest.mark.parametrize("make", [lambda: single("msp_t"), lambda: single("forest"), scod])
@pytest.mark.parametrize("size", [ROWS, 150])  # fusions learn from fit rows where there are few
def test_a_fixed_split_is_what_compile_reports(
    make: Callable[[], MonitorEstimator], size: int, tmp_path: Path
) -> None:
    rows = recorded(tmp_path, rows=ROWS)
    rows = replace(rows, pool=(rows.pool[0].take(np.arange(size)), rows.pool[1]))
    split = Split(np.arange(size), np.arange(size, size + ROWS))
    found = Panel(rows, [split], True, PanelOptions(TARGET)).judge(make())["fixed"]
    parts = Splits(rows.fit, *rows.pool)
    fitted = fit_monitors([make()], "output", parts, TARGET, rule="guaranteed", logits="logits")
    (judge,) = fitted.judges
    quality = judge.quality
    assert found["certified.mcc"] == pytest.approx(quality.mcc)
    assert found["certified.false_alarms"] == pytest.approx(quality.false_alarm_rate)
    assert 1 - found["certified.caught"] == pytest.approx(quality.miss_rate)
    if not judge.ties_broken:
        assert found["auroc"] == pytest.approx(quality.auroc)
    low, high = found["certified.mcc_interval"]
    assert low < found["certified.mcc"] < high


def test_equal_members_are_fitted_once(rows: RecordedRows) -> None:
    fitter = Fitter(rows.fit)
    alone = fitter.fit(single("second_opinion"))
    fusions = [scod(), scod()]
    for fusion in fusions:
        fusion.fit_members(rows.fit, fitter.fit)
    assert all(any(m is alone for m in f.members_) for f in fusions)


def test_scod_by_hand() -> None:
    """Ten test rows, two novel sets of 2 and 50 rows: each weighs five."""
    alarm = np.array([1, 1, 0, 0, 0, 0, 0, 0, 0, 1], bool)
    wrong = np.array([1, 1, 1, 0, 0, 0, 0, 0, 0, 0], bool)
    novel = [np.array([True, False]), np.arange(50) < 40]
    tp, fn = 2 + 5 * 0.5 + 5 * 0.8, 1 + 5 * 0.5 + 5 * 0.2
    tn, fp = 6, 1
    expected = (tp * tn - fp * fn) / np.sqrt((tp + fp) * (tp + fn) * (tn + fp) * (tn + fn))
    assert scod_mcc(alarm, wrong, novel) == pytest.approx(expected)


def test_numbers_of_a_split_by_hand() -> None:
    rng = np.random.default_rng(0)
    wrong = rng.random(600) < 0.3
    scores = {POOL: rng.normal(size=600) + 2 * wrong, "far": rng.normal(9, 0.1, 40)}
    calibration, test = np.arange(300), np.arange(300, 600)
    found = measure(scores, scores, wrong, calibration, test, 1.0, TARGET)
    alarm = scores[POOL][test] > 1.0
    table = Confusion.of(alarm, wrong[test])
    assert found["own.mcc"] == pytest.approx(table.mcc)
    assert found["own.false_alarms"] == pytest.approx(table.fpr)
    assert found["own.caught"] == pytest.approx(table.tpr)
    assert found["novelty.far"] == 1.0
    held_out = scores[POOL][calibration][~wrong[calibration]]
    threshold = TARGET.threshold(held_out)
    certified = scores[POOL][test] > threshold
    assert found["certified.mcc"] == pytest.approx(Confusion.of(certified, wrong[test]).mcc)
    few = measure(scores, scores, wrong, np.arange(60), test, None, TARGET)
    assert few["certified.mcc"] is None  # too few rows for the promise
    assert few["own.mcc"] is None
    assert few["tuned.mcc"] is not None


def test_the_tuned_threshold_is_the_best_of_all() -> None:
    rng = np.random.default_rng(1)
    wrong = rng.random(200) < 0.3
    score = rng.integers(0, 12, 200) + 4 * wrong  # with ties

    def quality(threshold: float) -> float:
        return Confusion.of(score > threshold, wrong).mcc or 0.0

    best = max(quality(t) for t in np.unique(score))
    assert quality(best_mcc_threshold(score, wrong)) == pytest.approx(best)
    alike = np.ones(5)
    assert not (alike > best_mcc_threshold(alike, np.arange(5) > 2)).any()


def test_means() -> None:
    found = average(
        [
            {"auroc": 0.5, "own.mcc": 0.4, "certified.mcc": None},
            {"auroc": 0.9, "own.mcc": np.nan, "certified.mcc": 0.3},
            {"auroc": np.nan, "own.mcc": 0.2, "certified.mcc": None},
        ]
    )
    assert found["auroc"]["mean"] == pytest.approx(0.7)  # what is undefined is left out
    assert found["own.mcc"]["mean"] == pytest.approx(0.2)  # but an MCC counts as 0
    assert found["own.mcc"]["undefined"] == 1
    low, high = found["own.mcc"]["interval"]
    assert 0 <= low < 0.2 < high < 0.41
    assert found["certified.mcc"] == {"mean": 0.3, "interval": None, "of": 1, "undefined": 0}


def write_spec(folder: Path, text: str) -> Path:
    path = folder / "spec.toml"
    path.write_text(text)
    return path


CASE = """
[[case]]
name = "tiny"
group = "all"
model = "tiny.tflite"
fit = "tiny.npz[0:400]"
calibrate = "tiny.npz[400:650]"
test = "tiny.npz[650:900]"
novel = ["novel.npz"]
resplits = 3
monitors = ["msp_t", "second_opinion", "deepinfer", "errors"]
"""


@pytest.fixture
def folder(tmp_path: Path, tiny: Callable[..., Path], tiny_data: Path) -> Path:
    tiny()
    (tmp_path / "tiny.npz").write_bytes(tiny_data.read_bytes())
    novel = np.random.default_rng(3).normal(5, 1, (50, 4)).astype(np.float32)
    np.savez(tmp_path / "novel.npz", x=novel)
    return tmp_path


def test_moved_copies_teach_as_compile_lets_them(tmp_path: Path) -> None:
    """Said in a case, they are made; the demonstration's model has too many rows wrong to try."""
    case = f"""
    [[case]]
    name = "digits"
    model = "{DEMO / "digits_int8.tflite"}"
    fit = "{DEMO / "digits.npz"}[0:800]"
    pool = "{DEMO / "digits.npz"}[800:1395]"
    monitors = ["mahalanobis_gap", "prototypes"]
    resplits = 1
    """
    found = []
    for augment in ("", "augment = 2"):
        (part,) = document("compare", write_spec(tmp_path, case + augment))["cases"]
        found.append((part["rows"]["moved_copies"], *(m["resplits"] for m in part["monitors"])))
    assert [copies for copies, *_ in found] == [0, 1600]
    assert found[0][1] != found[1][1]
    assert found[0][2] == found[1][2]
    assert "up to 8 copies are made" in refused(
        "compare", write_spec(tmp_path, case + "augment = 9")
    )


def test_a_comparison_from_the_command_line(folder: Path) -> None:
    spec = write_spec(folder, CASE)
    found = document("compare", spec)
    (case,) = found["cases"]
    assert case["rows"] == {"fit": 400, "moved_copies": 0, "pool": 500, "novel": {"novel": 50}}
    monitors: dict[str, Any] = {m["monitor"]: m for m in case["monitors"]}
    assert list(monitors) == ["msp_t", "second_opinion", "deepinfer", "errors"]
    for found_of in monitors.values():
        assert found_of["bytes"] > 0
        assert found_of["nanoseconds"] > 0
        means = found_of["resplits"]
        assert means["certified.false_alarms"]["of"] == 3
        assert means["certified.false_alarms"]["mean"] < 0.1
        assert 0 <= means["novelty.novel"]["mean"] <= 1
        assert found_of["fixed"]["aupr"] is not None
    assert monitors["msp_t"]["resplits"]["auroc"]["mean"] > 0.7
    (group,) = found["groups"]
    assert group["cases"] == ["tiny"]
    of_group = group["monitors"][0]["means"]["certified.mcc"]
    assert of_group["mean"] == monitors["msp_t"]["resplits"]["certified.mcc"]["mean"]
    again = document("compare", spec, "--resplits", "2", "--cases", "all")
    assert again["cases"][0]["monitors"][0]["fixed"] == monitors["msp_t"]["fixed"]
    shown = edgemon("compare", spec, "--resplits", "1")
    assert shown.exit_code == 0, shown.stderr
    wanted = "certified MCC", "SCOD MCC", "fixed split", "mean of resplits of 1 cases", "errors: "
    for text in wanted:
        assert text in shown.stdout


def test_a_companion_is_part_of_the_share_of_the_model(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    wanted = ["odin_t", "odin:eps=0.05:white=1", "odin:eps=0.02:white=1"]
    text = CASE.replace('["msp_t", "second_opinion", "deepinfer", "errors"]', str(wanted))
    spec = write_spec(folder, text + 'float_model = "tiny.tflite"\n')
    found = document("compare", spec, "--resplits", "1")
    show(Terminal(), found)
    assert "odin:eps=0.05:white=1: a companion model of" in capsys.readouterr().out
    (case,) = found["cases"]
    plain, moved, other = case["monitors"]
    assert moved["companion_bytes"] > (folder / "tiny.tflite").stat().st_size
    least = 1 + moved["companion_us"] / case["model_us"]
    assert moved["share_of_model"] == pytest.approx(
        least + moved["nanoseconds"] / 1e3 / case["model_us"]
    )
    assert "companion_bytes" not in plain
    assert moved["answers_shared_with_float_model"] == 1
    assert "brings another companion of the view odin" in other["left_out"]


def test_mistakes_are_one_sentence(folder: Path) -> None:
    assert "cannot be read" in refused("compare", folder / "none.toml")
    for before, after, said in (
        ('model = "tiny.tflite"', 'model = "none.tflite"', "does not exist"),
        ("tiny.npz[0:400]", "none.npz", "no such file or folder"),
        ("resplits = 3", "resplit = 3", "unknown key 'resplit'"),
        ("resplits = 3", 'float_model = "f.tflite"', "float_model goes with the monitor odin"),
        ("resplits = 3", 'pool = "tiny.npz"', "either pool, or calibrate and test"),
        ('"msp_t", ', '"mspt", ', "unknown monitor 'mspt'"),
        ('"msp_t", ', '"errors", ', "names a monitor twice"),
        ('name = "tiny"', 'name = ["a", "a"]', "two cases are called 'a'"),
    ):
        assert said in refused("compare", write_spec(folder, CASE.replace(before, after)))
    assert "unknown case 'x'" in refused("compare", write_spec(folder, CASE), "--cases", "x")
    assert "--resplits 0" in refused("compare", write_spec(folder, CASE), "--resplits", "0")


def test_a_case_is_skipped_without_tensorflow(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(keras, "find_spec", lambda _: None)
    (folder / "model.h5").write_bytes(b"\x89HDF\r\n\x1a\n" + bytes(64))
    other = CASE.replace('"tiny"', '"keras"').replace("tiny.tflite", "model.h5")
    result = edgemon("compare", write_spec(folder, CASE + other), "--resplits", "1")
    assert result.exit_code == 0, result.stderr
    assert "keras: skipped: " in result.stdout
    assert "needs TensorFlow" in result.stderr
    assert "mean of resplits of 1 cases" in result.stdout


def case(**changes: Any) -> Case:
    return replace(Case("c", "m", "fit.npz", ("msp_t",), pool="pool.npz"), **changes)


def test_rows_of_unknown_classes_are_novel(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    for name in ("fit", "pool"):
        np.savez(tmp_path / f"{name}.npz", x=rng.random((60, 5)), y=np.arange(60) % 6)
    labels = np.arange(4)
    known = case(unknown_labels="novel")
    found = load_rows(known, tmp_path, labels, tmp_path, Reporter())
    assert len(found.fit) == len(found.pool[0]) == 40
    assert len(found.novel[UNKNOWN]) == 20
    assert found.novel[UNKNOWN].y is None


def test_fit_rows_come_in_groups_where_the_case_says_so(tmp_path: Path) -> None:
    for name in ("fit", "pool"):
        x = np.arange(8.0).reshape(4, 2) + (name == "pool")
        np.savez(tmp_path / f"{name}.npz", x=x, y=[0, 1, 0, 1], track=[5, 5, 6, 5])
    labels = np.arange(2)
    grouped = case(fit="fit.npz", pool="pool.npz", rows_group="y+track")
    found = load_rows(grouped, tmp_path, labels, tmp_path, Reporter())
    assert found.fit.groups is not None
    assert len(np.unique(found.fit.groups)) == 3
    assert found.fit.groups[1] == found.fit.groups[3]
    assert found.pool[0].groups is None
    plain = case(fit="fit.npz", pool="pool.npz")
    assert load_rows(plain, tmp_path, labels, tmp_path, Reporter()).fit.groups is None


def test_a_table_of_features_and_one_of_labels(tmp_path: Path) -> None:
    for name in ("fit", "pool"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "x.csv").write_text("a,b\n1,2\n3,4\n" if name == "fit" else "a,b\n5,6\n")
        (tmp_path / name / "y.csv").write_text("y\n1\n0\n" if name == "fit" else "y\n1\n")
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    found = load_rows(case(fit="fit", pool="pool"), tmp_path, np.arange(2), scratch, Reporter())
    assert found.fit.y is not None
    assert found.fit.y.tolist() == [1, 0]
    assert next(found.fit.blocks(9)).tolist() == [[1, 2], [3, 4]]


def test_specifications_that_are_shipped() -> None:
    folder = Path(__file__).parents[2] / "bench" / "compare"
    names = {path.stem: Spec.read(path).cases for path in folder.glob("*.toml")}
    assert names.keys() == {"augment", "cifar10", "gtsrb", "mirror", "mnist", "patterns", "tabular"}
    assert len(names["tabular"]) == 16
    assert {c.group for c in names["tabular"]} == {"tabular"}
    assert names["tabular"][0].model.endswith("/BM1.tflite")
