"""Layer agreement on the device: its verdicts are the method's on what the layers infer."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pytest

from edgemon.compiler.cost.bill import Bill, Cost
from edgemon.compiler.data.row_file import RowFile
from edgemon.compiler.errors import CompileError
from edgemon.compiler.methods.kernel_density import LayerDensities
from edgemon.compiler.methods.selfchecker import RULES, SelfChecker
from edgemon.compiler.monitors import parse
from edgemon.compiler.monitors.selfchecker.doubt import DoubtScale, doubt
from edgemon.compiler.monitors.selfchecker.layers import (
    RowParts,
    choose_layers,
    distinct,
    listen,
)
from edgemon.compiler.monitors.selfchecker.rules import Rules, layers_used, room
from edgemon.compiler.monitors.selfchecker.selfchecker import SelfCheckerMonitor
from edgemon.compiler.program import reference
from edgemon.compiler.program.ir import Builder, Monitor, Program, Tap
from edgemon.compiler.program.quantise import quantise
from edgemon.compiler.recording.recording import Recording
from edgemon.targets import Budget
from tests.compiler.recordings import make_recording

TAPS = ("features", "logits")
Ints = npt.NDArray[np.int64]


def lowered(monitor: SelfCheckerMonitor, recording: Recording) -> tuple[Program, Program]:
    """The real and the device program."""
    b = Builder(recording.taps, real=True)
    predicted = b.node("argmax", b.tap("output"))
    s = monitor.lower(b, predicted)
    assert s.alarm_above is not None
    real = b.program(
        predicted, [Monitor("s", s.id, s.alarm_above, s.alarm_above, "linear", s.display_scale)]
    )
    return real, quantise(real)


@pytest.mark.parametrize("dtype", ["int8", "float32"])
@pytest.mark.parametrize("rule", RULES)
def test_verdicts_are_the_methods(tmp_path: Path, dtype: str, rule: str) -> None:
    fit = make_recording(tmp_path / "fit", dtype, 1500, 0)
    test = make_recording(tmp_path / "test", dtype, 1500, 1)
    monitor = SelfCheckerMonitor(TAPS, rule=rule).fit(fit)
    real, device = lowered(monitor, fit)
    heard = listen(monitor.layers_, test)
    expected = monitor.checker_.verdicts(heard.classes, test.predicted)
    found = reference.evaluate(device, [test.codes(t.name) for t in device.taps])
    np.testing.assert_array_equal(found.verdict, expected)
    assert 0 < expected.astype(bool).mean() < 1
    # The real program says the same wherever quantisation does not change a layer's class.
    own = [layer.density.log_densities(test.features(layer.tap)) for layer in monitor.layers_]
    same = (np.stack([d.argmax(axis=1) for d in own], axis=1) == heard.classes).all(axis=1)
    score = reference.run_real(real, [test.values(t.name) for t in real.taps])[
        real.monitors[0].score
    ][:, 0]
    np.testing.assert_array_equal(
        (score > real.monitors[0].alarm_above)[same], expected.astype(bool)[same]
    )
    assert same.mean() > 0.99


def rules_program(checker: SelfChecker, layers: int) -> Program:
    """The rule alone, on one-hot taps that say what the model and each layer infer."""
    taps = [Tap(f"t{i}", "int8", checker.n_classes) for i in range(layers + 1)]
    b = Builder(taps, real=True)
    predicted, *own = (b.node("argmax", i) for i in range(layers + 1))
    s = Rules(b, predicted, own, checker).score([])
    assert s.alarm_above is not None
    return quantise(b.program(predicted, [Monitor("s", s.id, s.alarm_above, s.alarm_above)]))


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize(("classes", "layers"), [(2, 1), (3, 2), (4, 3), (5, 5), (3, 8)])
def test_rules_on_random_layers(rule: str, classes: int, layers: int) -> None:
    """Layers that are right by chance, so that every kind of agreement and tie occurs."""
    rng = np.random.default_rng(classes * layers)
    labels = rng.integers(0, classes, 1200)

    def noisy(share: float) -> Ints:
        right = rng.random(1200) < share
        return np.asarray(np.where(right, labels, rng.integers(0, classes, 1200)))

    predicted = noisy(0.6)
    table = np.stack([noisy(rng.uniform(0.2, 0.8)) for _ in range(layers)], axis=1)
    checker = SelfChecker(classes, rule).fit(table[:600], predicted[:600], labels[:600])
    program = rules_program(checker, layers)
    eye = np.eye(classes, dtype=np.int8)
    found = reference.evaluate(program, [eye[predicted], *(eye[c] for c in table.T)])
    expected = checker.verdicts(table, predicted)
    np.testing.assert_array_equal(found.verdict, expected)
    if layers < 8:  # of eight such layers one always disagrees
        assert 0 < expected.astype(bool).mean() < 1
    assert set(layers_used(checker)) <= set(range(layers))


@pytest.mark.parametrize("rule", RULES)
def test_what_ranks_never_changes_a_verdict(tmp_path: Path, rule: str) -> None:
    """Rows of equal votes differ in their score by less than a step."""
    fit = make_recording(tmp_path, "float32", 1500, 0)
    monitor = SelfCheckerMonitor(TAPS, rule=rule).fit(fit)
    _, program = lowered(monitor, fit)
    found = reference.evaluate(program, [fit.codes(t.name) for t in program.taps])
    heard = listen(monitor.layers_, fit)
    plain = rules_program(monitor.checker_, len(monitor.layers_))
    eye = np.eye(4, dtype=np.int8)
    votes = reference.evaluate(plain, [eye[fit.predicted], *(eye[c] for c in heard.classes.T)])
    fine = found.scores[0] - votes.scores[0]
    assert 0 <= fine.min() < fine.max() < room(monitor.checker_)
    assert len(np.unique(found.scores[0])) > len(np.unique(votes.scores[0]))


def test_reported_agreement_and_bytes_are_the_measured_ones(tmp_path: Path) -> None:
    fit = make_recording(tmp_path, "int8", 1500, 0)
    assert fit.labels is not None
    monitor = SelfCheckerMonitor(TAPS, exact_rows=200).fit(fit)
    details = monitor.details()
    assert json.loads(json.dumps(details)) == details
    rows = monitor.rows_
    assert details["agreement_rows"] == len(rows.reported) == 100
    for layer in details["layers"]:
        x = fit.features(layer["tap"])
        exact = LayerDensities(4).fit(x[rows.density], fit.labels[rows.density])
        (own,) = (v for v in monitor.layers_ if v.tap == layer["tap"])
        found = own.density.log_densities(x[rows.reported]).argmax(axis=1)
        agreement = (found == exact.classes(x[rows.reported])).mean()
        assert layer["agreement_with_exact"] == agreement > 0.8
    _, program = lowered(monitor, fit)
    whole = Bill(program, None).together().size_bytes
    layers = sum(v["bytes"] for v in details["layers"])
    assert layers < whole < layers + 4000


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("budget_kb", [4, 8])
def test_the_budget_is_kept_by_the_whole_monitor(
    tmp_path: Path, budget_kb: float, rule: str
) -> None:
    fit = make_recording(tmp_path, "float32", 1500, 0)
    monitor = SelfCheckerMonitor(("features",), rule=rule, budget_kb=budget_kb).fit(fit)
    _, program = lowered(monitor, fit)
    assert Bill(program, None).together().size_bytes <= 1024 * budget_kb


def test_its_kilobyte_is_that_of_the_other_budgets() -> None:
    """It was of 1000 bytes, and all others of 1024."""
    budget = Budget(2.0, None)
    assert Cost(SelfCheckerMonitor(budget_kb=2.0)._budget, None).fits(budget)
    assert not Cost(SelfCheckerMonitor(budget_kb=2.0)._budget + 1, None).fits(budget)


def test_more_bytes_are_used_where_they_help(tmp_path: Path) -> None:
    fit = make_recording(tmp_path, "float32", 1500, 0)
    sizes = [
        SelfCheckerMonitor(("features",), budget_kb=kb).fit(fit).layers_[0].size_bytes
        for kb in (2, 8)
    ]
    assert sizes[0] < sizes[1]


def test_a_budget_that_the_rule_alone_exceeds_is_refused(tmp_path: Path) -> None:
    fit = make_recording(tmp_path, "float32", 1500, 0)
    with pytest.raises(CompileError, match=r"1 layers take .* bytes, of which budget_kb leaves"):
        SelfCheckerMonitor(("features",), budget_kb=0.5).fit(fit)


@pytest.mark.parametrize("form", ["gaussian", "marginal", "subset"])
def test_a_form_can_be_demanded(tmp_path: Path, form: str) -> None:
    fit = make_recording(tmp_path, "int8", 900, 0)
    (monitor,) = parse(f"selfchecker:form={form}:max_layers=1:rule=any_disagrees")
    monitor.set_params(taps=TAPS).fit(fit)
    (layer,) = monitor.details()["layers"]
    assert layer["form"] == form


def test_rows_are_used_once() -> None:
    rows = RowParts.split(1000, 0.25, 100, 3)
    assert len(rows.density) == 750
    assert len(rows.validation) == 250
    assert len(rows.judged) == len(rows.reported) == 50
    assert not set(rows.density) & set(rows.validation)
    assert not set(rows.judged) & set(rows.reported)
    assert set(rows.judged) | set(rows.reported) <= set(rows.validation)
    assert set(RowParts.split(1000, 0.25, 100, 4).density) != set(rows.density)


def test_groups_are_on_one_side_of_the_validation() -> None:
    groups = np.repeat(np.arange(200), 5)
    rows = RowParts.split(1000, 0.2, 100, 7, groups)
    assert not np.isin(groups[rows.density], groups[rows.validation]).any()
    np.testing.assert_array_equal(
        np.sort(np.concatenate([rows.density, rows.validation])), np.arange(1000)
    )
    assert len(rows.validation) == 200
    assert np.isin([*rows.judged, *rows.reported], rows.validation).all()
    assert len(np.unique([*rows.judged, *rows.reported])) == 100


def recording_of(folder: Path, taps: dict[Tap, npt.NDArray[np.float32]]) -> Recording:
    n = len(next(iter(taps.values())))
    files = []
    for tap, values in taps.items():
        file = RowFile.create(folder / f"{tap.name}.npy", values.shape, "float32")
        file.write(0, values)
        files.append(file)
    return Recording(tuple(taps), tuple(files), np.arange(n), np.zeros(n, np.int32), None, 2)


def test_layers_that_repeat_another_or_say_nothing_are_not_read(tmp_path: Path) -> None:
    """Of a map and its pooled form the shorter one is read."""
    rng = np.random.default_rng(0)
    maps = rng.normal(0, 1, (300, 4, 3))
    pooled = maps.mean(axis=1) * 2 + 1e-4 * rng.normal(0, 1, (300, 3))
    taps = {
        Tap("map", "float32", 12, channels=3): maps.reshape(300, 12).astype(np.float32),
        Tap("dead", "float32", 2): np.ones((300, 2), np.float32),
        Tap("pooled", "float32", 3): pooled.astype(np.float32),
        Tap("other", "float32", 3): rng.normal(0, 1, (300, 3)).astype(np.float32),
    }
    recording = recording_of(tmp_path, taps)
    features = {t.name: recording.features(t.name) for t in taps}
    assert list(distinct(features, recording)) == ["pooled", "other"]


def test_only_layers_that_help_are_chosen() -> None:
    rng = np.random.default_rng(0)
    labels = rng.integers(0, 4, 4000)
    predicted = np.where(rng.random(4000) < 0.8, labels, rng.integers(0, 4, 4000))
    good = np.where(rng.random(4000) < 0.95, labels, rng.integers(0, 4, 4000))
    noise = [rng.integers(0, 4, 4000) for _ in range(3)]
    checker = SelfChecker(4)
    assert choose_layers([*noise, good], predicted, labels, checker, 4) == [3]
    assert len(choose_layers(noise, predicted, labels, checker, 1)) == 1


def test_layers_that_no_alarm_asks_are_dropped(tmp_path: Path) -> None:
    fit = make_recording(tmp_path, "float32", 1500, 0)
    monitor = SelfCheckerMonitor(TAPS).fit(fit)
    assert layers_used(monitor.checker_) == list(range(len(monitor.layers_)))


def test_doubt_is_minus_the_log_of_the_posterior() -> None:
    rng = np.random.default_rng(0)
    densities = rng.normal(0, 5, (100, 3))
    answers = rng.integers(0, 3, 100)
    b = Builder([Tap("d", "float32", 3), Tap("p", "int8", 3)], real=True)
    predicted = b.node("argmax", 1)
    id_ = doubt(b, 0, predicted)
    found = reference.run_real(b.program(predicted, []), [densities, np.eye(3)[answers]])[id_]
    p = np.exp(densities)[np.arange(100), answers] / np.exp(densities).sum(axis=1)
    np.testing.assert_allclose(found[:, 0], -np.log(p), rtol=1e-9)


def test_more_doubt_is_never_worth_less() -> None:
    rng = np.random.default_rng(0)
    values = rng.exponential(1, 2000)
    wrong = rng.random(2000) < np.clip(values / 6, 0, 1)
    scale = DoubtScale(values, wrong)
    b = Builder([Tap("d", "float32", 1)], real=True)
    id_ = scale.lower(b, 0, 1000.0)
    program = b.program(b.node("exceeds", 0, tables=[np.zeros(1)]), [])
    ordered = np.sort(values)
    found = reference.run_real(program, [ordered[:, None]])[id_][:, 0]
    assert (np.diff(found) >= 0).all()
    assert found[0] == 0
    assert found[-1] > 2000
    step = np.searchsorted(scale.edges, ordered)
    np.testing.assert_array_equal(found, np.trunc(scale.worth * 1000)[step])


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"rule": "vote"}, "rule='vote' is unknown; use majority, advice_differs"),
        ({"form": "kde"}, "form='kde' is unknown; use auto, gaussian"),
        ({"budget_kb": 0.0}, "budget_kb=0.0 must lie between"),
        ({"budget_kb": 0.2}, "no density of any layer fits in budget_kb=0.2"),
        ({"validation": 0.9, "rows": 100}, "leave 10 for densities and 90 for validation"),
    ],
)
def test_bad_settings_are_refused(
    tmp_path: Path, change: dict[str, float | str], message: str
) -> None:
    fit = make_recording(tmp_path, "int8", int(change.pop("rows", 400)), 0)
    with pytest.raises(CompileError, match=message):
        SelfCheckerMonitor(TAPS).set_params(**change).fit(fit)


def test_no_errors_to_learn_from_is_refused(tmp_path: Path) -> None:
    fit = make_recording(tmp_path, "int8", 400, 0)
    with pytest.raises(CompileError, match="all 80 validation rows are classified correctly"):
        SelfCheckerMonitor(TAPS).fit(replace(fit, labels=fit.predicted.astype(np.int64)))


def test_too_many_classes_for_the_advice() -> None:
    checker = SelfChecker(200, "advice_differs")
    labels = np.arange(400) % 200
    checker.fit(labels[:, None], labels, labels)
    with pytest.raises(CompileError, match=r"200 classes are too many .* use rule=majority"):
        rules_program(checker, 1)
