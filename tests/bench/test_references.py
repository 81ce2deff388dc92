"""References of ``edgemon compare``: judged as monitors are, and never taken for one."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from scipy.spatial.distance import cdist

from edgemon.bench.compare import references
from edgemon.bench.compare.judges import POOL, RecordedRows
from edgemon.bench.compare.panel import Panel, PanelOptions, Split
from edgemon.bench.compare.read_by_references import Features, Reads
from edgemon.bench.compare.reference_panel import judge_references
from edgemon.bench.compare.references import NAMES, REFERENCES, ReferenceScores
from edgemon.bench.compare.show import show
from edgemon.compiler.models.graph import Tensor
from edgemon.compiler.monitors import MONITORS
from edgemon.compiler.promise.thresholds import FalseAlarmPromise
from edgemon.compiler.statistics.metrics import auroc
from edgemon.compiler.terminal import Terminal
from tests.bench.test_compare import CASE, recorded, write_spec
from tests.command_line import document, refused

ROWS = 450
ALONE = tuple(REFERENCES)
MONITORS_OF_CASE = '["msp_t", "second_opinion", "deepinfer", "errors"]'
WITH = CASE.replace(MONITORS_OF_CASE, '["msp_t"]') + f"references = {list(NAMES)}\n"


@pytest.fixture(scope="module")
def rows(tmp_path_factory: pytest.TempPathFactory) -> RecordedRows:
    return recorded(tmp_path_factory.mktemp("recordings"), "float32", ROWS)


@pytest.fixture(scope="module")
def reads() -> Reads:
    names = ("features", "logits")
    tensors = tuple(Tensor(i, name, (1, 1), "float32") for i, name in enumerate(names))
    return Reads(tensors, "features")


def panel_of(rows: RecordedRows) -> Panel:
    splits = [Split(np.arange(ROWS), np.arange(ROWS, 2 * ROWS))]
    order = np.random.default_rng(0).permutation(2 * ROWS)
    splits.append(Split(np.sort(order[:ROWS]), np.sort(order[ROWS:])))
    return Panel(rows, splits, True, PanelOptions(FalseAlarmPromise()))


def test_a_reference_is_judged_as_a_monitor_with_that_score_is(
    rows: RecordedRows, reads: Reads, monkeypatch: pytest.MonkeyPatch
) -> None:
    softmax = replace(REFERENCES["knn"], learn=lambda _: lambda of: of.softmax_odds)
    monkeypatch.setitem(REFERENCES, "knn", softmax)
    panel = panel_of(rows)
    (found,) = judge_references(panel, reads, ["knn"])["references"]
    monitor = panel.judge(MONITORS["softmax"](taps=("logits",)))
    for kind in ("certified", "tuned"):
        assert found["resplits"][f"{kind}.mcc"] == monitor["resplits"][f"{kind}.mcc"]
        assert found["fixed"][f"{kind}.mcc_interval"] == monitor["fixed"][f"{kind}.mcc_interval"]
        scod = f"{kind}.scod_mcc"
        assert found["resplits"][scod] == monitor["resplits"][scod]
    assert found["fixed"]["auroc"] == pytest.approx(monitor["fixed"]["auroc"], abs=1e-4)
    assert not {"bytes", "nanoseconds", "program", "share_of_model"} & found.keys()


def test_each_reference_sees_errors_and_novelty_where_it_can(
    rows: RecordedRows, reads: Reads
) -> None:
    found = ReferenceScores.of(rows, reads, ALONE, 0)
    assert not found.left_out
    assert found.scores.keys() == REFERENCES.keys()
    wrong = rows.wrong
    for name in ("logistic", "mlp", "logistic_classes", "mlp_classes"):
        assert (auroc(found.scores[name][POOL], wrong) or 0) > 0.7, name
    learn = np.arange(0, 2 * ROWS, 2)
    together = found.together(wrong, learn)
    rest = learn + 1
    softmax = auroc(found.softmax[POOL][rest], wrong[rest])
    assert softmax is not None
    assert (auroc(together[POOL][rest], wrong[rest]) or 0) > softmax - 0.02
    assert together["novel"].shape == found.softmax["novel"].shape == (300,)


def test_neighbours_and_mahalanobis_by_hand(rows: RecordedRows, reads: Reads) -> None:
    scores = ReferenceScores.of(rows, reads, ["knn", "mahalanobis", "vim"], 0).scores
    fit, pool = (
        np.asarray(part.values("features")) for part in (rows.fit, rows.pool[0])
    )  # fmt: skip
    fit, pool = (x / np.linalg.norm(x, axis=1, keepdims=True) for x in (fit, pool))
    np.testing.assert_allclose(
        scores["knn"][POOL][: len(pool)], cdist(pool, fit).min(axis=1), atol=1e-6
    )
    every = Features.of(rows.fit, reads, "logits").every
    assert every.shape[1] == rows.fit.width(["features", "logits"])
    far = replace(Features.of(rows.pool[0], reads, "logits"))
    learned = REFERENCES["mahalanobis"].learn(
        references.Lesson(
            Features.of(rows.fit, reads, "logits"), np.asarray(rows.fit.labels),
            ~rows.fit.correct, None, 0,
        )
    )  # fmt: skip
    pushed = replace(far, every=far.every + 100 * every.std(axis=0))
    assert (learned(pushed) > learned(far).max()).all()


def test_what_cannot_be_learned_is_left_out_with_the_reason(
    rows: RecordedRows, reads: Reads
) -> None:
    right = rows.fit.take(np.flatnonzero(rows.fit.correct))
    few = replace(rows, fit=right)
    found = ReferenceScores.of(few, replace(reads, penultimate=""), ALONE, 0)
    assert found.left_out.keys() == {"knn", "vim", "logistic", "mlp"}
    assert "no tensor in front of the logits" in found.left_out["knn"]
    assert "0 fit rows are wrong" in found.left_out["logistic"]
    panel = panel_of(rows)
    panel.learns_from_calibration = False
    (together,) = judge_references(panel, reads, ["together"])["references"]
    assert "too few to learn" in together["left_out"]


@pytest.fixture
def folder(tmp_path: Path, tiny: Callable[..., Path], tiny_data: Path) -> Path:
    tiny()
    (tmp_path / "tiny.npz").write_bytes(tiny_data.read_bytes())
    np.savez(tmp_path / "novel.npz", x=np.random.default_rng(3).normal(5, 1, (50, 4)))
    return tmp_path


def test_references_stand_beside_monitors_and_are_marked(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    found = document("compare", write_spec(folder, WITH), "--resplits", "2", "--workers", "1")
    (case,) = found["cases"]
    assert [r["reference"] for r in case["references"]] == list(NAMES)
    assert all(m["bytes"] for m in case["monitors"])
    assert len(case["references_read"]) == 2  # what stands in front of the logits is read too
    for reference in case["references"]:
        assert "bytes" not in reference
        assert "left_out" in reference or reference["resplits"]["auroc"]["of"] == 2
    assert "resplits" in case["references"][0]
    (group,) = found["groups"]
    assert [r["reference"] for r in group["references"]] == list(NAMES)
    show(Terminal(markdown=True), found)
    shown = capsys.readouterr().out
    assert "| no limit: knn " in shown
    assert "references in float64 that no bundle holds" in shown
    assert "every feature: " in shown


def test_wrong_references_are_one_sentence(folder: Path) -> None:
    for given, said in (
        ('["knm"]', "unknown reference 'knm'; did you mean 'knn'? There are knn, mahalanobis"),
        ('["knn", "knn"]', "names a reference twice"),
        ('["together"]', "the reference together weighs others: name some of knn"),
        ('"knn"', "references is 'knn', not a list of texts"),
    ):
        spec = write_spec(folder, CASE + f"references = {given}\n")
        assert said in refused("compare", spec)
    assert "did you mean 'references'" in refused(
        "compare", write_spec(folder, CASE + 'reference = ["knn"]\n')
    )
    farm = CASE + 'references = ["knn"]\n'
    assert "references go with `edgemon compare`" in refused(
        "farm", write_spec(folder, farm), "--out", folder / "out"
    )


def test_the_strongest_penalty_that_is_no_worse_is_taken() -> None:
    mean, spread = np.array([0.5, 0.908, 0.91, 0.90]), np.full(4, 0.01)
    taken = references._strongest({"mean_test_score": mean, "std_test_score": spread})
    assert taken == 1
    assert references._strongest({"mean_test_score": mean, "std_test_score": spread / 100}) == 2
