"""``edgemon replicate``: the study of the published methods, on its smallest data set."""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from edgemon.bench import verdicts
from edgemon.bench.errors import BenchError
from edgemon.bench.replicate import process, tables
from edgemon.bench.replicate.effectiveness import balanced_table, effectiveness_table
from edgemon.bench.replicate.figure import bar_chart
from edgemon.bench.replicate.models import load
from edgemon.bench.replicate.stored import stored_results
from edgemon.bench.replicate.study import Study
from edgemon.runtime.evaluation import Verdict
from edgemon.runtime.session import Session
from tests.command_line import document, edgemon, refused
from tests.compiler.methods.published import PACK, STUDY
from tests.tiny_tflite import W1, W2

pytestmark = pytest.mark.xdist_group("replicate")  # a study is run once


@pytest.fixture(scope="module")
def pima(shared: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[Any, Path]:  # noqa: ARG001
    """The document of a run over Pima Diabetes, and its folder."""
    out = tmp_path_factory.mktemp("study")
    return document("replicate", STUDY, "--root", PACK, "--datasets", "PD", "--out", out), out


def _by_model(rows: list[dict[str, Any]]) -> dict[str, dict[str, Any]]:
    return {row["model"]: row for row in rows}


def test_tables_equal_the_printed_ones(pima: tuple[Any, Path]) -> None:
    found, _ = pima
    for table in ("table2", "table3", "table5", "table7", "table8"):
        rows = _by_model(found[table])
        assert sorted(rows) == ["PD1", "PD2", "PD3", "PD4"]
        assert all(row["equal"] for row in rows.values()), table
    assert _by_model(found["table3"])["PD1"]["published"] == {
        "gt_correct": 119, "gt_incorrect": 34, "correct": 108, "incorrect": 43, "uncertain": 2,
        "violations": 192, "satisfactions": 1032,
    }  # fmt: skip


def test_honest_counts_beside_the_printed(pima: tuple[Any, Path]) -> None:
    prophecy = _by_model(pima[0]["table5"])["PD1"]
    assert (prophecy["printed"]["tp"], prophecy["printed"]["fp"]) == (11, 2)
    assert (prophecy["published"]["tp"], prophecy["published"]["fp"]) == (2, 11)
    assert round(prophecy["published"]["mcc"], 3) == -0.06
    assert _by_model(pima[0]["table7"])["PD2"]["published"]["mcc"] is None


def test_constant_predictors_are_apart(pima: tuple[Any, Path]) -> None:
    means = pima[0]["mean_mcc"]
    assert {r["models"] for r in means["deployable_constant"]} == {1}
    by_monitor = {r["monitor"]: r for r in means["deployable_not_constant"]}
    assert by_monitor["prophecy"]["models"] == 3
    low, high = by_monitor["prophecy"]["interval"]
    assert low < by_monitor["prophecy"]["mean_mcc"] < high


def test_costs_of_every_phase(pima: tuple[Any, Path]) -> None:
    rows = pima[0]["table9"]
    assert {(r["tool"], r["phase"]) for r in rows} >= {
        (tool, phase) for tool in ("deepinfer", "prophecy", "selfchecker")
        for phase in ("analyse", "infer")
    }  # fmt: skip
    for row in rows:
        assert row["deployable"]["duration_s"] > 0
        assert 20 < row["deployable"]["peak_mib"] < 2000


def test_verdict_files_can_be_evaluated(pima: tuple[Any, Path]) -> None:
    found, out = pima
    files = sorted((out / "verdicts" / "deployable" / "prophecy").glob("*.csv"))
    evaluated = document("evaluate", *files)
    assert [m["name"] for m in evaluated["constant_predictors"]] == ["PD2"]
    for monitor in evaluated["monitors"]:
        row = _by_model(found["table5"])[monitor["name"]]
        assert monitor["mcc"] == row["deployable"]["prophecy"]["mcc"]
    message = refused("replicate", STUDY, "--root", PACK, "--datasets", "PD", "--out", out)
    assert "name a new folder" in message


def test_shipped_verdicts_are_those_of_the_bundle(pima: tuple[Any, Path], tmp_path: Path) -> None:
    """What is deployed was called deployable, and was not: the exact methods on a workstation."""
    found, out = pima
    splits = PACK / "splits" / "PD"
    parts = []
    for option, name in (("--fit", "train"), ("--calibrate", "val"), ("--test", "test")):
        x, y = (
            np.loadtxt(splits / name / f"{part}.csv", delimiter=",", skiprows=1) for part in "xy"
        )
        np.savez(tmp_path / f"{name}.npz", x=x.astype(np.float32), y=y.astype(np.int64))
        parts += [option, tmp_path / f"{name}.npz"]
    bundle = tmp_path / "bundle"
    model = PACK / "tflite_float32" / "PD1.tflite"
    made = edgemon(
        "compile", model, *parts, "--monitor", "prophecy", "--thresholds", "method",
        "--shared-rows", "keep", "--out", bundle,
    )  # fmt: skip
    assert made.exit_code == 0, made.output
    results = Session(bundle).evaluate_batch(np.load(tmp_path / "test.npz")["x"])
    (stored,) = verdicts.read(out / "verdicts" / "shipped" / "prophecy" / "PD1.csv")
    alarm = np.array([r.verdict != Verdict.TRUST for r in results])
    np.testing.assert_array_equal(stored.alarm, alarm)
    row = _by_model(found["table5"])["PD1"]
    assert row["shipped"]["prophecy"]["tp"] == int((alarm & stored.wrong).sum())
    assert row["shipped"]["prophecy"]["tn"] != row["deployable"]["prophecy"]["tn"]


def test_what_compile_refuses_is_said(pima: tuple[Any, Path]) -> None:
    row = _by_model(pima[0]["table7"])["PD3"]
    assert (row["shipped"], bool(row["deployable"])) == ({}, True)
    (why,) = {found["why"] for found in pima[0]["left_out"] if found["model"] == "PD3"}
    assert "chance level" in why


def test_processes_and_store_give_the_same(pima: tuple[Any, Path], tmp_path: Path) -> None:
    found, out = pima
    few, store = tmp_path / "few.toml", tmp_path / "store"
    four = '["PD1", "PD2", "PD3", "PD4"]'
    assert STUDY.read_text().count(four) == 1
    few.write_text(STUDY.read_text().replace(four, '["PD1", "PD2"]'))
    run = ("replicate", few, "--root", PACK, "--datasets", "PD", "--methods", "softmax,deepinfer",
           "--store", store)  # fmt: skip
    first = document(*run, "--out", tmp_path / "a", "--jobs", "2")
    again = document(*run, "--out", tmp_path / "b")
    assert first == again  # with times: nothing was done again
    rows = _by_model(found["table7"])
    assert _by_model(first["table7"]) == {name: rows[name] for name in ("PD1", "PD2")}
    files = sorted(p.relative_to(tmp_path / "a") for p in (tmp_path / "a").rglob("*.csv"))
    assert files
    for name in files:
        assert (tmp_path / "a" / name).read_bytes() == (out / name).read_bytes()
        assert (tmp_path / "b" / name).read_bytes() == (out / name).read_bytes()


@pytest.mark.usefixtures("shared")
def test_rows_of_an_earlier_split_are_left_out_when_asked() -> None:
    study = Study.read(STUDY, PACK)
    entry = study.dataset("HP")
    kept = tables.without_repeated(study, entry)
    before = {name: len(tables.split(study, entry, name).y) for name in kept}
    left_out = {name: count - len(kept[name].y) for name, count in before.items()}
    assert left_out["val"] == 1
    keys = [
        {x.tobytes() + y.tobytes() for x, y in zip(part.x, part.y, strict=True)}
        for part in kept.values()
    ]
    assert len(set.union(*keys)) == sum(len(part) for part in keys)


@pytest.mark.usefixtures("shared")
def test_tables_4_and_6_of_a_network_that_is_not_at_hand() -> None:
    study = Study.read(STUDY, PACK)
    (apart,) = [e for e in study.outputs if e.table == "table4"]
    (row,) = effectiveness_table(study, "table4", stored_results(study, apart))
    assert row["equal"]
    published = row["published"]
    assert [published[k] for k in ("tp", "fp", "tn", "fn")] == [1251, 239, 7806, 704]
    assert round(published["mcc"], 3) == 0.680
    (balanced,) = balanced_table(study)
    assert round(balanced["exchanged"]["mcc"], 3) == 0.470
    assert (balanced["wrong_as_printed"], balanced["wrong"]) == (2043, 1955)


@pytest.mark.usefixtures("shared")
def test_stored_outputs_of_cifar10() -> None:
    study = Study.read(STUDY, PACK)
    found = {(r.monitor, r.form): r.confusion for r in stored_results(study, study.outputs[0])}
    mcc = {key: round(c.mcc or 0.0, 3) for key, c in found.items()}
    assert mcc["deepinfer", "published"] == 0.218
    assert mcc["prophecy", "published"] == 0.203
    assert mcc["selfchecker", "published"] == 0.688
    assert mcc["selfchecker", "deployable"] == 0.355


@pytest.mark.usefixtures("shared")
def test_one_table_is_split_by_seed(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    table = np.column_stack([rng.normal(size=(200, 3)), rng.integers(0, 2, 200)])
    np.savetxt(tmp_path / "t.csv", table, delimiter=",", header="a,b,c,Outcome", comments="")
    (tmp_path / "s.toml").write_text(
        '[[dataset]]\nname = "T"\nmodels = ["m"]\nmodel_file = "{model}.tflite"\n'
        'source = "t.csv"\nlabel = "Outcome"\nfeatures = ["c", "a"]\nscale = "minmax"\nseed = 10\n'
    )
    study = Study.read(tmp_path / "s.toml")
    parts = [tables.split(study, study.datasets[0], name) for name in ("train", "val", "test")]
    assert [p.x.shape for p in parts] == [(160, 2), (20, 2), (20, 2)]
    every = np.concatenate([p.x for p in parts])
    assert (every.min(), every.max()) == (0.0, 1.0)
    again = tables.split(study, study.datasets[0], "test")
    np.testing.assert_array_equal(again.x, parts[2].x)


GOOD = '[[dataset]]\nname = "T"\nmodels = ["m"]\nmodel_file = "{model}.h5"\n'


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        ("x = ", "is not TOML"),
        ("", "describes no [[dataset]]"),
        ("dataset = 3\n", "must be tables"),
        ('[[dataset]]\nname = "T"\n', "lacks"),
        (GOOD + "colour = 1\n", "unknown key 'colour'"),
        (GOOD + 'seed = "x"\n', "seed is 'x', not a whole number"),
        (GOOD, "give x and y"),
        (GOOD + 'x = "a.csv"\ny = "b.csv"\n', "must hold {split}"),
        (GOOD + 'source = "a.csv"\nlabel = "y"\nscale = "z"\n', "unknown scale"),
        (GOOD + 'source = "a.csv"\nlabel = "y"\n', "does not exist"),
    ],
)
def test_bad_descriptions_are_one_sentence(content: str, sentence: str, tmp_path: Path) -> None:
    path = tmp_path / "s.toml"
    path.write_text(content)
    assert sentence in refused("replicate", path, "--out", tmp_path / "out")


def test_a_model_that_is_no_dense_stack_is_one_sentence(tmp_path: Path) -> None:
    np.savetxt(tmp_path / "t.csv", np.eye(20), delimiter=",", header=_header(20), comments="")
    (tmp_path / "m.tflite").write_bytes(b"no model at all")
    path = tmp_path / "s.toml"
    path.write_text(GOOD.replace(".h5", ".tflite") + 'source = "t.csv"\nlabel = "c3"\n')
    assert "cannot be read as a model" in refused("replicate", path, "--out", tmp_path / "out")


def test_weights_of_a_tflite_stack(tiny: Callable[..., Path]) -> None:
    first, second = load(tiny(), "m").layers
    np.testing.assert_array_equal(first[0], W1.T)
    np.testing.assert_array_equal(second[0], W2.T)
    assert (first[0].dtype, second[2]) == (np.float32, "softmax")
    with pytest.raises(BenchError, match="dense weights are computed"):
        load(tiny(fed=True), "m")


def _header(columns: int) -> str:
    return ",".join(f"c{i}" for i in range(columns))


@pytest.mark.parametrize(
    ("option", "sentence"),
    [
        (("--datasets", "XX"), "unknown data set 'XX'"),
        (("--methods", "oracle"), "--methods oracle: use deepinfer or prophecy"),
        (("--chart", "pdf"), "--chart pdf: use svg or png"),
        (("--root", "/nowhere"), "is not a folder"),
    ],
)
@pytest.mark.usefixtures("shared")
def test_bad_options_are_one_sentence(
    option: tuple[str, str], sentence: str, tmp_path: Path
) -> None:
    root = () if option[0] == "--root" else ("--root", PACK)
    assert sentence in refused("replicate", STUDY, *root, "--out", tmp_path, *option)


def test_measures_time_memory_and_the_last_complaint() -> None:
    code = (
        "import sys, time; block = bytearray(80 << 20); time.sleep(0.5); "
        "print(sys.stdin.read(), file=sys.stderr); sys.exit(3)"
    )
    used = process.measure([sys.executable, "-c", code], "all is lost")
    assert (used.returncode, used.complaint) == (3, "all is lost")
    assert 0.5 <= used.duration_s < 60
    assert 80 < used.peak_mib < 400


def test_memory_of_grandchildren_counts() -> None:
    block = "import time; block = bytearray(90 << 20); time.sleep(1.5)"
    code = f"import subprocess, sys; subprocess.run([sys.executable, '-c', {block!r}])"
    used = process.measure([sys.executable, "-c", code], "")
    assert used.peak_mib > 90


def test_chart(tmp_path: Path) -> None:
    bars: dict[str, dict[str, dict[str, float | None]]] = {
        panel: {m: {"A": 0.2, "B": None} for m in ("deepinfer", "prophecy", "selfchecker")}
        for panel in ("printed", "published", "deployable")
    }
    if importlib.util.find_spec("matplotlib") is None:
        with pytest.raises(BenchError, match=r"edgemon\[bench\]"):
            bar_chart(bars, tmp_path / "figure3.svg")
        return
    for name in ("figure3.svg", "figure3.png"):
        bar_chart(bars, tmp_path / name)
        assert (tmp_path / name).stat().st_size > 1000


def test_help_names_both_commands() -> None:
    text = edgemon("--help").stdout
    assert "evaluate" in text
    assert "replicate" in text
