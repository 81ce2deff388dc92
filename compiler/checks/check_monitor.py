"""The contract of a monitor, checked on rows that are made here."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import numpy.typing as npt
from sklearn.base import clone
from sklearn.metrics import roc_auc_score

from edgemon.compiler import fitting
from edgemon.compiler.checks.made_rows import recorded_splits
from edgemon.compiler.cost.bill import Bill
from edgemon.compiler.data.splits import Splits
from edgemon.compiler.emit import flat, onnx_emitter
from edgemon.compiler.errors import CompileError
from edgemon.compiler.lessons import Lessons
from edgemon.compiler.monitors import registry
from edgemon.compiler.monitors.estimator import SEEDS, MonitorEstimator, Needs
from edgemon.compiler.monitors.lowering import lowered
from edgemon.compiler.program import reference
from edgemon.compiler.promise.thresholds import FalseAlarmPromise
from edgemon.compiler.proof import self_test
from edgemon.compiler.proof.prove import prove
from edgemon.compiler.recording.evaluation import blocks, evaluate
from edgemon.compiler.recording.recording import Recording
from edgemon.runtime.views import MIRRORED, OF_COMPANION

Parts = Splits[Recording]
Floats = npt.NDArray[np.float64]

ROWS = 900  # of each split
PROMISE = FalseAlarmPromise(0.1, 0.9)
AS_QUANTISED = 0.98  # of a score with what the device computes, as ``_agreement``
BETTER_THAN_CHANCE = 0.55  # AUROC


class ContractError(AssertionError):
    """A monitor breaks the contract."""


def check_monitor(estimator: MonitorEstimator, *, sees_errors: bool = True) -> None:
    """Raises ContractError, with one sentence, unless a monitor keeps the contract.

    The rows are those of a made-up classifier that errs where its 12 features lie between two of
    its 4 classes, as int8 and as float32. They have the taps ``output``, ``logits``, ``features``,
    ``features@mirror``, ``logits@odin`` and ``features@companion``; where the estimator has no taps
    yet, it gets what comes next to its ``default_taps``. Parameters ``from_model`` must be set
    where it needs them.

    Args:
        estimator: not fitted; it stays as it is.
        sees_errors: must it rank those errors above right answers? Not so for what sees novelty.
    """
    for fault in registry.faults(type(estimator)):
        raise ContractError(f"{type(estimator).__name__}: {fault}")
    try:
        _Check(estimator, sees_errors).constructor()
        _check(_Check(_with_taps(clone(estimator)), sees_errors))
    except CompileError as error:
        raise ContractError(f"{estimator.kind}: where nothing is wrong, {error}") from error


def _check(check: _Check) -> None:
    with TemporaryDirectory(prefix="edgemon-") as folder:
        for dtype in ("int8", "float32"):
            rows = recorded_splits(Path(folder) / dtype, dtype, ROWS)
            if dtype == "int8":
                check.refusals(rows.fit)
            check.learning(rows)
            check.program(rows)


def _with_taps(estimator: MonitorEstimator) -> MonitorEstimator:
    if estimator.members:
        for member in estimator.members:
            _with_taps(member)
        return estimator.without(())
    wanted = [
        r if r in ("output", "logits", "logits@odin") else "features"
        for r in estimator.default_taps
    ]
    for suffix in (MIRRORED, OF_COMPANION):
        wanted += [f"features{suffix}" for r in estimator.default_taps if r.endswith(suffix)]
    if not estimator.taps:
        taps = tuple(dict.fromkeys(wanted or ["features"]))[: estimator.most_taps]
        estimator.set_params(taps=taps)
    return estimator


class _Check:
    def __init__(self, estimator: MonitorEstimator, sees_errors: bool) -> None:
        self.estimator = estimator
        self.sees_errors = sees_errors

    def require(self, kept: bool, sentence: str) -> None:
        if not kept:
            raise ContractError(f"{self.estimator.kind}: {sentence}")

    def new(self, **parameters: object) -> MonitorEstimator:
        found: MonitorEstimator = clone(self.estimator).set_params(**parameters)
        return found

    def constructor(self) -> None:
        """It stores its parameters, and does nothing else."""
        given = self.estimator.get_params(deep=False)
        made = vars(type(self.estimator)(**given))
        self.require(
            made.keys() == given.keys() and all(made[k] is v for k, v in given.items()),
            "its constructor must store each parameter as it is, by its name, and nothing else",
        )

    def refusals(self, rows: Recording) -> None:
        """What does not suit is refused in one sentence, before anything is learned."""
        taps, most = self.estimator.taps, self.estimator.most_taps
        if self.estimator.least_taps > 0:
            self.refused("no taps", partial(self.new(taps=()).fit, rows), "--taps")
        if most is not None:
            many = self.new(taps=(*taps, *["features"] * (most + 1)))
            self.refused("too many taps", partial(many.fit, rows), "--taps")
        for name, value in _unsuitable(self.estimator):
            unsuitable = self.new(**{name: value})
            self.refused(f"{name}={value!r}", partial(unsuitable.fit, rows), f"{name}=")
        wrong = np.flatnonzero(~rows.correct)
        assert rows.labels is not None
        for needed, what, part in (
            (Needs.BOTH, "rows that are all right", np.flatnonzero(rows.correct)),
            (Needs.RIGHT, "rows that are all wrong", wrong),
            (Needs.CLASSES, "rows of one class", np.flatnonzero(rows.labels == 0)),
        ):
            fit = partial(self.new().fit, rows.take(part))
            self.refused(what, fit, must=needed in self.estimator.needs)

    def refused(
        self, what: str, fit: Callable[[], object], named: str = "", *, must: bool = True
    ) -> None:
        try:
            fit()
        except CompileError as error:
            text = str(error)
            self.require(
                bool(text.strip()) and "\n" not in text and named in text,
                f"{what}: the refusal must be one sentence that names {named or 'the reason'}, "
                f"not {text!r}",
            )
        except Exception as error:
            self.require(False, f"{what}: must be a CompileError, not {error!r}")
        else:
            self.require(not must, f"{what}: must be refused by a CompileError")

    def learning(self, rows: Parts) -> None:
        """Fitting returns self, changes no parameter, and can be repeated; so can lowering."""
        first, second = self.new(), self.new()
        before = repr(first.get_params())
        self.require(first.fit(rows.fit) is first, "fit must return self")
        second.fit(rows.fit)
        self.require(repr(first.get_params()) == before, "fit must not change parameters")
        learned = vars(first).keys() - first.get_params(deep=False).keys()
        bad = sorted(n for n in learned if not n.endswith("_") or n.startswith("_"))
        self.require(not bad, f"learned state must end in '_', unlike {', '.join(bad)}")
        self.require(bool(learned), "fit must learn something, if only n_classes_")
        programs = []
        for fitted in (first, second):
            if fitted.learns_from_held_out:
                fitting.combine(fitted, "output", Lessons(rows.fit, rows.threshold))
            programs += [_bytes(fitted, rows.fit) for _ in range(2)]
        self.require(programs[0] == programs[1], "lower must give the same program each time")
        self.require(programs[0] == programs[2], "two fits on the same rows must learn the same")
        try:
            json.dumps(first.details(), allow_nan=False)
        except (TypeError, ValueError) as error:
            self.require(False, f"details() must be JSON without NaN: {error}")
        unknown = set(re.findall(r"{(\w*)}", first.reason())) - {"score", "threshold"}
        self.require(not unknown, f"reason() names {sorted(unknown)}, which nobody knows")
        self.quantised(first, rows.test)

    def quantised(self, fitted: MonitorEstimator, rows: Recording) -> None:
        """The device ranks rows as the real program does, and finite."""
        made = lowered([fitted], rows.taps, "output")
        (score,) = made.scores
        own, uncertain = score.alarm_above, score.uncertain_above
        self.require(
            uncertain is None or (own is not None and uncertain <= own),
            "'uncertain' needs an own alarm_above, not below it",
        )
        self.require(own is None or bool(np.isfinite(own)), "its own threshold must be finite")
        real = made.builder.program(made.predicted, made.monitors())
        values = reference.run_real(real, [rows.values(t.name) for t in rows.taps])[score.id][:, 0]
        values = values.astype(np.float64)
        self.require(bool(np.isfinite(values).all()), "its score must be finite on every row")
        program, (represented,) = made.represented()
        on_device = np.asarray(represented.real(evaluate(program, rows).scores[0]))
        self.require(
            _agreement(values, on_device) >= AS_QUANTISED,
            "quantised, its score ranks rows otherwise: give its values less range",
        )

    def program(self, rows: Parts) -> None:
        """What compile makes of it: proven, no smaller than said, and a high score alarms."""
        estimator = self.new()
        least = estimator.least_bytes(rows.fit)
        fitted = fitting.fit_monitors([estimator], "output", rows, PROMISE, rule="guaranteed")
        size = Bill(fitted.program, None).together().size_bytes
        self.require(least <= size, f"least_bytes says {least} bytes, but it takes {size}")
        vectors = self_test.choose(fitted.program, fitted.on_test, rows.test)[0]
        artifact = flat.write(flat.Artifact(fitted.program, "00" * 32, {}, vectors))
        onnx = onnx_emitter.emit(fitted.program, {})
        proof = prove(artifact, onnx, blocks(fitted.program, rows.test))
        self.require(
            proof.first_mismatch is None and proof.rows == ROWS and proof.neighbours > 0,
            f"reference, C and ONNX differ: {proof.first_mismatch}",
        )
        held_out = fitted.threshold_rows
        right = held_out.take(np.flatnonzero(held_out.correct))
        alarms = float((evaluate(fitted.program, right).verdict != 0).mean())
        self.require(alarms <= PROMISE.rate, f"it alarms on {alarms:.1%} of right threshold rows")
        auroc = float(roc_auc_score(~rows.test.correct, fitted.on_test.scores[0]))
        self.require(
            auroc > BETTER_THAN_CHANCE or not self.sees_errors,
            f"a higher score must be more suspicious, but its AUROC of errors is {auroc:.3f}; "
            "sees_errors=False says that it is for novel inputs alone",
        )


def _unsuitable(estimator: MonitorEstimator) -> Iterator[tuple[str, object]]:
    """Settings that are to be refused."""
    limits = {**estimator.limits, **({"seed": SEEDS} if "seed" in estimator.get_params() else {})}
    for name, (least, most) in limits.items():
        yield from ((name, least - 1), (name, most + 1), (name, float("nan")))
    yield from ((name, "no such choice") for name in estimator.choices)


def _agreement(a: Floats, b: Floats) -> float:
    """Goodman and Kruskal's gamma of scores (n,): of the pairs that differ in both, how many more
    have the same order than the opposite one. Scores that a few codes carry have ties."""
    same = np.sign(np.subtract.outer(a, a)) * np.sign(np.subtract.outer(b, b))
    differ = int(np.abs(same).sum())
    return float(same.sum() / differ) if differ else float(np.ptp(a) == 0)


def _bytes(fitted: MonitorEstimator, rows: Recording) -> bytes:
    made = lowered([fitted], rows.taps, "output")
    found = [repr(made.scores).encode()]
    for node in made.builder.nodes:
        found += [f"{node.op}{node.inputs}".encode(), *(t.tobytes() for t in node.tables)]
    return b"".join(found)
