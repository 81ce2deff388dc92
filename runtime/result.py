"""What a session says of an image. Texts are made when they are asked for."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from edgemon.runtime.accuracy import UNIT
from edgemon.runtime.evaluation import Verdict
from edgemon.runtime.explanation import Explanation
from edgemon.runtime.monitor import status_text

ALL_AGREE = "all monitors agree"
NAN = float("nan")
VERDICTS = tuple(Verdict)


@dataclass(frozen=True)
class MonitorResult:
    """One monitor's opinion; ``score`` and ``threshold`` in the unit that people are shown."""

    name: str
    verdict: Verdict
    score: float
    threshold: float


@dataclass(frozen=True)
class TermResult:
    """A signal of a fusion: its score in the unit that people are shown, and what it adds."""

    name: str
    score: float
    nats: float


@dataclass(frozen=True)
class Result:
    """The classifier's answer and whether to rely on it.

    ``score`` is that of the monitor that decided (the first with the worst verdict). After a
    fault of the image ``prediction`` is -1, ``label`` is empty and scores are NaN. ``terms``: of
    each signal of a fusion its score and the nats that it adds. ``probability``: that the answer is
    right, by the artifact's table of accuracy; None without one and after a fault.

    ``reason``, ``monitors`` and ``terms`` of a session's result are made when they are first read.
    """

    prediction: int
    label: str
    verdict: Verdict
    score: float
    reason: str
    monitors: tuple[MonitorResult, ...]
    terms: tuple[TermResult, ...] = field(default_factory=tuple)
    probability: float | None = None

    def __getattr__(self, name: str) -> Any:
        # Called for what is not there yet alone.
        own = self.__dict__
        make = own.get(_MAKER)
        if make is not None and name in _LATER:
            own.update(make[0].texts(*make[1:]))
            own.pop(_MAKER, None)
        if name not in own:
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
        return own[name]

    def __getstate__(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in self.__dataclass_fields__}


_LATER = ("reason", "monitors", "terms")
_MAKER = "_make"


class Results:
    """Makes the results of one artifact: ``names`` and ``thresholds`` of its monitors, in the unit
    that people are shown, the names of the classes, and what the metadata says of monitors."""

    def __init__(
        self, names: tuple[str, ...], thresholds: tuple[float, ...], labels: tuple[str, ...],
        rules: Mapping[str, str], explanations: Mapping[str, Explanation],
    ) -> None:  # fmt: skip
        self._names, self._thresholds, self._labels = names, thresholds, labels
        self._rules, self._explanations = rules, explanations

    def result(
        self, verdict: int, status: int, prediction: int, verdicts: bytes,
        scores: tuple[float, ...], probability: int = -1,
    ) -> Result:  # fmt: skip
        """Of an evaluation: the verdicts and scores are those of the monitors; ``probability`` is
        in 1/65535, or -1."""
        decisive = max(verdicts.find(verdict), 0)
        found: Result = object.__new__(Result)
        worst = VERDICTS[verdict]
        state = {
            "prediction": prediction,
            "label": self._labels[prediction] if 0 <= prediction < len(self._labels) else "",
            "verdict": worst,
            "score": scores[decisive] if prediction >= 0 else NAN,
            "probability": probability / UNIT if probability >= 0 else None,
            _MAKER: (self, status, decisive, worst, verdicts, scores),
        }
        object.__setattr__(found, "__dict__", state)  # a result is frozen
        return found

    def fault(self, reason: str) -> Result:
        """Of an image that could not be evaluated."""
        monitors = tuple(
            MonitorResult(name, Verdict.FAULT, NAN, threshold)
            for name, threshold in zip(self._names, self._thresholds, strict=True)
            if name in self._rules
        )
        return Result(-1, "", Verdict.FAULT, NAN, reason, monitors)

    def texts(
        self, status: int, decisive: int, verdict: Verdict, verdicts: bytes,
        scores: tuple[float, ...],
    ) -> dict[str, Any]:  # fmt: skip
        """What a result makes when it is first read."""
        monitors = tuple(
            MonitorResult(name, VERDICTS[own], score, threshold)
            for name, own, score, threshold in zip(
                self._names, verdicts, scores, self._thresholds, strict=True
            )
        )
        named = {m.name: m.score for m in monitors}
        reason = (
            status_text(status) if status else self._sentence(monitors[decisive], named, verdict)
        )
        return {
            "reason": reason,
            "monitors": tuple(m for m in monitors if m.name in self._rules),
            "terms": self._terms(named),
        }

    def _terms(self, scores: Mapping[str, float]) -> tuple[TermResult, ...]:
        return tuple(
            TermResult(name, scores[name], nats)
            for explanation in self._explanations.values()
            for name, nats in explanation.surprises(scores).items()
        )

    def _sentence(
        self, decisive: MonitorResult, scores: Mapping[str, float], verdict: Verdict
    ) -> str:
        if verdict == Verdict.TRUST:
            return ALL_AGREE
        explanation = self._explanations.get(decisive.name)
        if explanation is not None:
            return f"{decisive.name}: {explanation.sentence(scores)}"
        rule = self._rules.get(decisive.name, "score {score}, above {threshold}")
        # No str.format: the metadata is untrusted, and a format string can reach attributes.
        text = rule.replace("{score}", f"{decisive.score:.3g}")
        return f"{decisive.name}: {text.replace('{threshold}', f'{decisive.threshold:.3g}')}"
