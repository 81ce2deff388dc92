"""SelfChecker: rules on a small example, and the authors' selection, weights and counts."""

from __future__ import annotations

from dataclasses import astuple

import numpy as np
import pytest

from edgemon.compiler.errors import CompileError
from edgemon.compiler.methods.layer_search import best_subset
from edgemon.compiler.methods.selfchecker import RULES, SelfChecker
from edgemon.compiler.statistics.metrics import Confusion
from edgemon.runtime.evaluation import Verdict
from tests.compiler.methods import published

CIFAR = ["CIFAR10", "CIFAR10_replication"]
COUNTS = {"CIFAR10": (1244, 207, 7838, 711), "CIFAR10_replication": (1251, 239, 7806, 704)}


def _stored(model: str) -> tuple[np.ndarray, np.ndarray]:
    with np.load(published.PACK / "golden" / "selfchecker" / f"{model}.npz") as arrays:
        return arrays["valid"].astype(int), arrays["test"].astype(int)


def _fit(model: str, rule: str = "majority") -> SelfChecker:
    valid, _ = _stored(model)
    classes = 10 if model in CIFAR else 2
    return SelfChecker(classes, rule).fit(valid[:, :-2], valid[:, -2], valid[:, -1])


@pytest.mark.usefixtures("shared")
@pytest.mark.parametrize("model", [*CIFAR, *published.MODELS])
def test_every_subset_weight_and_count_from_stored_classes(model: str) -> None:
    checker = _fit(model)
    golden = published.read_json(f"golden/selfchecker/{model}.json")
    assert {str(a): list(s) for a, s in enumerate(checker.alarm_layers_)} == golden["agree"]
    for group, name in ((True, "pos"), (False, "neg")):
        table = {f"{a}{c}": advice for (a, c), advice in checker.advice_[group].items()}
        assert {k: list(v.layers) for k, v in table.items()} == golden[f"advice_{name}"]
        assert {k: v.weight for k, v in table.items()} == golden[f"weights_{name}"]
    _, test = _stored(model)
    classes, predicted, labels = test[:, :-2], test[:, -2], test[:, -1]
    alarm = checker.published_alarms(classes, predicted, labels)
    counts = astuple(Confusion.of(alarm, predicted != labels))
    assert counts == tuple(golden["performance"][k] for k in ("tps", "fps", "tns", "fns"))
    assert counts == COUNTS.get(model, counts)


@pytest.mark.usefixtures("shared")
def test_rules_of_a_monitor_on_cifar10() -> None:
    _, test = _stored("CIFAR10")
    classes, predicted, labels = test[:, :-2], test[:, -2], test[:, -1]
    found = {}
    for rule in RULES:
        verdict = _fit("CIFAR10", rule).verdicts(classes, predicted)
        found[rule] = Confusion.of(verdict == Verdict.ALARM, predicted != labels)
    assert astuple(found["advice_differs"]) == (418, 207, 7838, 1537)
    mcc = {rule: round(float(c.mcc or 0), 3) for rule, c in found.items()}
    assert mcc == {"majority": 0.355, "advice_differs": 0.308, "any_disagrees": 0.451}


@pytest.mark.parametrize("rule", RULES)
def test_scores_rank_with_verdicts(rule: str) -> None:
    rng = np.random.default_rng(0)
    labels = rng.integers(0, 3, 900)
    noisy = np.where(rng.random((900, 4)) < 0.3, rng.integers(0, 3, (900, 4)), labels[:, None])
    checker = SelfChecker(3, rule).fit(noisy[:, :3], noisy[:, 3], labels)
    alarm = checker.verdicts(noisy[:, :3], noisy[:, 3]) == Verdict.ALARM
    score = checker.scores(noisy[:, :3], noisy[:, 3])
    assert alarm.any()
    assert score[alarm].min() >= score[~alarm].max()


def test_many_layers_are_searched_greedily() -> None:
    rng = np.random.default_rng(0)
    labels = rng.integers(0, 2, 600)
    noisy = np.where(rng.random((600, 21)) < 0.4, 1 - labels[:, None], labels[:, None])
    checker = SelfChecker(2).fit(noisy[:, :20], noisy[:, 20], labels)
    assert checker.greedy_
    alarm = checker.majority(noisy[:, :20], noisy[:, 20])
    assert (Confusion.of(alarm, noisy[:, 20] != labels).mcc or 0) > 0.4


def test_exhaustive_search_prefers_the_later_of_equals() -> None:
    flat = best_subset(3, lambda s: np.zeros(len(s)), 16)
    assert flat == (0, 1, 2)
    first = best_subset(3, lambda s: (s.sum(axis=1) == 1) * 1.0, 16)
    assert first == (2,)


def test_unknown_rule_is_one_sentence() -> None:
    with pytest.raises(CompileError, match="majority, advice_differs, any_disagrees"):
        SelfChecker(2, "vote").fit(np.zeros((1, 1)), np.zeros(1), np.zeros(1))
