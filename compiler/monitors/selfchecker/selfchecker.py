"""Layer agreement: layers that infer another class than the model raise the alarm.

Xiao, Beschastnikh, Rosenblum, Sun, Elbaum, Lin, Dong: "Self-Checking Deep Neural Networks in
Deployment", ICSE 2021 (SelfChecker). The published method keeps every training row for its kernel
densities; here each layer has a compact density, and the report says how often its class is the
exact one's.
"""

from __future__ import annotations

from typing import Any, ClassVar

from threadpoolctl import threadpool_limits

from edgemon.compiler.cost.bill import KILOBYTE, Bill
from edgemon.compiler.errors import CompileError
from edgemon.compiler.methods.selfchecker import RULES, SelfChecker
from edgemon.compiler.monitors.estimator import MonitorEstimator, Score
from edgemon.compiler.monitors.selfchecker.densities.candidates import FORMS, allocate
from edgemon.compiler.monitors.selfchecker.doubt import DoubtScale, doubt
from edgemon.compiler.monitors.selfchecker.layers import (
    LayerWorkshop,
    RowParts,
    answered,
    choose_layers,
    distinct,
    listen,
)
from edgemon.compiler.monitors.selfchecker.rules import Rules, layers_used, room
from edgemon.compiler.program.ir import Builder, Monitor
from edgemon.compiler.program.quantise import quantise
from edgemon.compiler.recording.recording import Recording

QUICK_FORMS = ("gaussian", "marginal")  # fitted in a second a layer: enough to choose layers by
FEWEST_ROWS = 20


class SelfCheckerMonitor(MonitorEstimator):
    """Each layer infers a class from compact densities; the rule compares it with the model's.

    Settings:
        rule: ``majority``, ``advice_differs`` or ``any_disagrees`` (``methods.selfchecker``).
        budget_kb: kB of 1024 bytes that the monitor may take in the artifact.
        max_layers: at most so many layers are read.
        form: ``gaussian``, ``marginal`` or ``subset`` for all layers; ``auto``: whichever agrees
            best with the exact density in the bytes at hand.
        validation: share of the fit rows on which layers are chosen instead of fitted.
        exact_rows: on so many of those the exact density is computed, the yardstick of the forms.
    """

    kind: ClassVar[str] = "selfchecker"
    learns_errors: ClassVar[bool] = False
    default_taps: ClassVar[tuple[str, ...]] = ("activation", "penultimate", "logits")
    most_taps: ClassVar[int | None] = None
    limits: ClassVar[dict[str, tuple[float, float]]] = {
        "budget_kb": (0.1, 16_000),
        "max_layers": (1, 8),
        "validation": (0.01, 0.9),
        "exact_rows": (2, 1_000_000),
    }
    choices: ClassVar[dict[str, tuple[str, ...]]] = {"rule": RULES, "form": ("auto", *FORMS)}
    what: ClassVar[str] = "layers that infer another class"
    source: ClassVar[str] = (
        "Xiao, Beschastnikh, Rosenblum, Sun, Elbaum, Lin, Dong: Self-Checking Deep Neural Networks "
        "in Deployment. ICSE 2021"
    )

    def __init__(
        self,
        taps: tuple[str, ...] = (),
        rule: str = "majority",
        budget_kb: float = 64.0,
        max_layers: int = 4,
        form: str = "auto",
        validation: float = 0.2,
        exact_rows: int = 2000,
        seed: int = 0,
    ) -> None:
        self.taps = taps
        self.rule = rule
        self.budget_kb = budget_kb
        self.max_layers = max_layers
        self.form = form
        self.validation = validation
        self.exact_rows = exact_rows
        self.seed = seed

    def _fit(self, recording: Recording) -> None:
        """Needs right and wrong rows among the validation rows."""
        with threadpool_limits(1):  # many small products: threads would wait for each other
            self._learn(recording, self._split(recording))

    def _learn(self, recording: Recording, rows: RowParts) -> None:
        held_out = recording.take(rows.validation)
        assert held_out.labels is not None
        workshops = self._workshops(recording, rows)
        wanted = choose_layers(
            [w.classes(w.options[-1]) for w in workshops],
            held_out.predicted,
            held_out.labels,
            SelfChecker(recording.n_classes, self.rule),
            self.max_layers,
        )
        chosen = [workshops[i] for i in wanted]
        for workshop in chosen:
            workshop.offer(self._budget, FORMS if self.form == "auto" else (self.form,))
        self.rows_ = rows
        self.wrong_rows_ = int((~held_out.correct).sum())
        most_bytes = self._budget
        while True:  # ends: layers become fewer, or their bytes do until ``allocate`` refuses
            found = allocate([w.options for w in chosen], most_bytes)
            self.layers_ = tuple(w.layer(c) for w, c in zip(chosen, found, strict=True))
            heard = listen(self.layers_, held_out)
            self.checker_ = SelfChecker(recording.n_classes, self.rule)
            self.checker_.fit(heard.classes, held_out.predicted, held_out.labels)
            used = layers_used(self.checker_)
            if len(used) < len(chosen):
                chosen = [chosen[i] for i in used]  # what no rule asks is not read
                continue
            self.doubts_ = [DoubtScale(d, ~held_out.correct) for d in heard.doubts.T]
            excess = self._size_bytes(recording) - self._budget
            if excess <= 0:
                return
            most_bytes -= excess

    def _size_bytes(self, recording: Recording) -> int:
        """What the whole monitor takes: densities, rule and everything."""
        builder, predicted = answered(recording, [layer.tap for layer in self.layers_])
        score = self.lower(builder, predicted)
        program = builder.program(predicted, [Monitor(self.kind, score.id, 0, 0)])
        return Bill(quantise(program), None).together().size_bytes

    @property
    def _budget(self) -> int:
        return int(self.budget_kb * KILOBYTE)

    def _split(self, recording: Recording) -> RowParts:
        wrong = ~recording.correct
        rows = RowParts.split(
            len(recording), self.validation, self.exact_rows, self.seed, recording.groups
        )
        of_validation = wrong[rows.validation]
        if of_validation.all() or not of_validation.any():
            raise CompileError(
                f"selfchecker: all {of_validation.size} validation rows are classified "
                f"{'wrongly' if of_validation.all() else 'correctly'}; its layers are chosen on "
                "both, so fit on more rows, or on rows that the model was not trained on (--fit)"
            )
        if min(len(rows.density), len(rows.validation)) < FEWEST_ROWS:
            raise CompileError(
                f"selfchecker: {len(recording)} fit rows leave {len(rows.density)} for densities "
                f"and {len(rows.validation)} for validation; it needs {FEWEST_ROWS} of each"
            )
        return rows

    def _workshops(self, recording: Recording, rows: RowParts) -> list[LayerWorkshop]:
        """One a layer, with options that fit the budget."""
        features = distinct({name: recording.features(name) for name in self.taps}, recording)
        forms = QUICK_FORMS if self.form == "auto" else (self.form,)
        found = []
        for name, x in features.items():
            workshop = LayerWorkshop(name, x, recording, rows)
            workshop.offer(self._budget // min(self.max_layers, len(features)), forms)
            found.append(workshop)
        fitting = [w for w in found if w.options]
        if not fitting:
            raise CompileError(
                f"selfchecker: no density of any layer fits in budget_kb={self.budget_kb:g}; "
                "raise it, or choose narrower layers with --taps"
            )
        return fitting

    def lower(self, builder: Builder, predicted: int) -> Score:
        densities = [
            layer.density.lower(builder, builder.features(layer.tap)) for layer in self.layers_
        ]
        classes = [builder.node("argmax", d) for d in densities]
        # What all doubts together may add stays below one step of the rule.
        most = sum(scale.worth[-1] for scale in self.doubts_)
        unit = (room(self.checker_) - 1) / max(most, 1e-9)
        fine = [
            scale.lower(builder, doubt(builder, d, predicted), unit)
            for scale, d in zip(self.doubts_, densities, strict=True)
        ]
        return Rules(builder, predicted, classes, self.checker_).score(fine)

    def reason(self) -> str:
        if self.rule == "advice_differs":
            return "the layers advise another class, by {score} of a vote"
        return "layers infer another class: {score} of the votes"

    def details(self) -> dict[str, Any]:
        names = [layer.tap for layer in self.layers_]
        return {
            "rule": self.rule,
            "layers": [
                {
                    "tap": layer.tap,
                    "form": layer.density.form,
                    **layer.density.settings(),
                    "bytes": layer.size_bytes,
                    "agreement_with_exact": layer.agreement,
                }
                for layer in self.layers_
            ],
            "agreement_rows": len(self.rows_.reported),
            "density_rows": len(self.rows_.density),
            "validation_rows": len(self.rows_.validation),
            "wrong_validation_rows": self.wrong_rows_,
            "alarm_layers": [[names[i] for i in layers] for layers in self.checker_.alarm_layers_],
            "greedy": self.checker_.greedy_,
        }
