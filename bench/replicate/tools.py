"""The methods as the study runs them: analysis of a model, then inference on its test rows.

``ANALYSES`` and ``INFERENCES`` are by (method, form). An analysis returns a state that can be
pickled; an inference returns verdicts by monitor name (one state may serve several rules).
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from edgemon.bench.replicate.shipped import compiled, judged
from edgemon.bench.replicate.subject import Answer, Part, Subject
from edgemon.compiler.errors import CompileError
from edgemon.compiler.methods import prophecy
from edgemon.compiler.methods.deepinfer import (
    DeepInfer,
    precondition,
    precondition_as_published,
)
from edgemon.compiler.methods.kernel_density import VAR_THRESHOLD, LayerDensities
from edgemon.compiler.methods.selfchecker import RULES, SelfChecker
from edgemon.compiler.promise.thresholds import FalseAlarmPromise, calibrate
from edgemon.compiler.statistics.tuning import best_mcc_threshold
from edgemon.runtime.evaluation import Verdict

Array = npt.NDArray[Any]

FORMS = PUBLISHED, DEPLOYABLE, SHIPPED = "published", "deployable", "shipped"
# The published program keeps every neuron from its second dense layer on.
PUBLISHED_VAR_THRESHOLD = 0.0


Analysis = Callable[[Subject], Any]
Inference = Callable[[Subject, Any], dict[str, Answer]]


def deepinfer_bounds(subject: Subject, form: str, stored: str) -> Array:
    """The precondition (f,): the published one if the study stores it, else from the weights."""
    if form == PUBLISHED and stored:
        content = json.loads(subject.study.file(stored).read_text(encoding="utf-8"))
        if subject.model.name in content:
            return np.asarray(content[subject.model.name]["wp"], np.float64)
    if form == PUBLISHED:
        try:
            return precondition_as_published(subject.model.layers).values
        except CompileError:
            pass  # the published program stops here
    return precondition(subject.model.layers).values


def _deepinfer_analysis(form: str) -> Analysis:
    def analyse(subject: Subject) -> DeepInfer:
        bounds = deepinfer_bounds(subject, form, subject.entry.preconditions)
        return DeepInfer(bounds, freeze_importance=form == DEPLOYABLE).fit(subject.val.rows.x)

    return analyse


def _deepinfer_inference(subject: Subject, state: DeepInfer) -> dict[str, Answer]:
    test = subject.test
    x = test.rows.x
    return {"deepinfer": Answer(state.verdicts(x), state.scores(x), test.predicted)}


def _prophecy_analysis(settings: prophecy.Settings) -> Analysis:
    def analyse(subject: Subject) -> prophecy.Prophecy:
        train = subject.train
        held_out = (subject.val.layers, subject.val.wrong) if settings.prune else None
        return prophecy.Prophecy(settings).fit(train.layers, train.wrong, held_out)

    return analyse


def _prophecy_inference(subject: Subject, state: prophecy.Prophecy) -> dict[str, Answer]:
    test = subject.test
    verdicts, scores = state.verdicts(test.layers), state.scores(test.layers)
    return {"prophecy": Answer(verdicts, scores, test.predicted)}


@dataclass(frozen=True, eq=False)
class _SelfCheckerState:
    densities: list[LayerDensities]
    checker: SelfChecker


def _selfchecker_analysis(form: str) -> Analysis:
    def analyse(subject: Subject) -> _SelfCheckerState:
        n_classes = subject.model.n_classes
        densities = [
            LayerDensities(
                n_classes, PUBLISHED_VAR_THRESHOLD if form == PUBLISHED and i else VAR_THRESHOLD
            ).fit(values, subject.train.rows.y)
            for i, values in enumerate(subject.train.layers)
        ]
        val = subject.val
        predicted = _argmax_of_units(val) if form == PUBLISHED else val.predicted
        checker = SelfChecker(n_classes).fit(_classes(densities, val), predicted, val.rows.y)
        return _SelfCheckerState(densities, checker)

    return analyse


def _selfchecker_published(subject: Subject, state: _SelfCheckerState) -> dict[str, Answer]:
    test = subject.test
    predicted = _argmax_of_units(test)
    classes = _classes(state.densities, test)
    alarm = state.checker.published_alarms(classes, predicted, test.rows.y)
    verdict = np.where(alarm, Verdict.ALARM, Verdict.TRUST).astype(np.uint8)
    return {"selfchecker": Answer(verdict, alarm.astype(np.float64), predicted)}


def _selfchecker_deployable(subject: Subject, state: _SelfCheckerState) -> dict[str, Answer]:
    test = subject.test
    return judge_by_rules(state.checker, _classes(state.densities, test), test.predicted)


def judge_by_rules(checker: SelfChecker, classes: Array, predicted: Array) -> dict[str, Answer]:
    """One monitor a rule; the first rule bears the method's name alone."""
    found = {}
    for rule in RULES:
        checker.rule = rule
        name = "selfchecker" if rule == RULES[0] else f"selfchecker ({rule})"
        found[name] = Answer(
            checker.verdicts(classes, predicted), checker.scores(classes, predicted), predicted
        )
    return found


def _argmax_of_units(part: Part) -> npt.NDArray[np.int64]:
    """The published program takes the argmax also of one unit, which is always class 0."""
    return np.asarray(part.layers[-1].argmax(axis=1), np.int64)


def _classes(densities: list[LayerDensities], part: Part) -> npt.NDArray[np.int64]:
    pairs = zip(densities, part.layers, strict=True)
    return np.stack([d.classes(values) for d, values in pairs], axis=1)


def _doubt(part: Part) -> npt.NDArray[np.float64]:
    """1 - the largest probability; the output is taken for one, whatever its activation."""
    output = part.layers[-1].astype(np.float64)
    if output.shape[1] == 1:
        return np.asarray(0.5 - np.abs(output[:, 0] - 0.5))
    return np.asarray(1 - output.max(axis=1))


def _softmax_analysis(subject: Subject) -> dict[str, float]:
    """Thresholds on the validation rows: for a certified false-alarm rate, if they are enough,
    and for the best MCC."""
    score, wrong = _doubt(subject.val), subject.val.wrong
    target = FalseAlarmPromise()
    found = {}
    if (~wrong).sum() >= target.rows_needed():
        found["softmax (certified 5 %)"] = float(calibrate(score[~wrong], target))
    found["softmax"] = float(best_mcc_threshold(score, wrong))
    return found


def _softmax_inference(subject: Subject, state: dict[str, float]) -> dict[str, Answer]:
    test = subject.test
    score = _doubt(test)
    return {
        name: Answer(
            np.where(score > threshold, Verdict.ALARM, Verdict.TRUST).astype(np.uint8),
            score,
            test.predicted,
        )
        for name, threshold in state.items()
    }


ANALYSES: dict[tuple[str, str], Analysis] = {
    ("deepinfer", PUBLISHED): _deepinfer_analysis(PUBLISHED),
    ("deepinfer", DEPLOYABLE): _deepinfer_analysis(DEPLOYABLE),
    ("prophecy", PUBLISHED): _prophecy_analysis(prophecy.AS_PUBLISHED),
    ("prophecy", DEPLOYABLE): _prophecy_analysis(prophecy.DEPLOYABLE),
    ("selfchecker", PUBLISHED): _selfchecker_analysis(PUBLISHED),
    ("selfchecker", DEPLOYABLE): _selfchecker_analysis(DEPLOYABLE),
    ("softmax", DEPLOYABLE): _softmax_analysis,
    **{(m, SHIPPED): compiled(m) for m in ("deepinfer", "prophecy", "selfchecker", "softmax")},
}
INFERENCES: dict[tuple[str, str], Inference] = {
    ("deepinfer", PUBLISHED): _deepinfer_inference,
    ("deepinfer", DEPLOYABLE): _deepinfer_inference,
    ("prophecy", PUBLISHED): _prophecy_inference,
    ("prophecy", DEPLOYABLE): _prophecy_inference,
    ("selfchecker", PUBLISHED): _selfchecker_published,
    ("selfchecker", DEPLOYABLE): _selfchecker_deployable,
    ("softmax", DEPLOYABLE): _softmax_inference,
    **{(m, SHIPPED): judged for m in ("deepinfer", "prophecy", "selfchecker", "softmax")},
}
METHODS = tuple(dict.fromkeys(method for method, _ in ANALYSES))
