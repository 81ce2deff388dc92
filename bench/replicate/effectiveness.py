"""Tables 2, 3, 5, 7 and 8 and the mean MCC: printed, as published recomputed, deployable."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import asdict, astuple, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from edgemon.bench import verdicts
from edgemon.bench.replicate import tables
from edgemon.bench.replicate.job import verdict_file
from edgemon.bench.replicate.study import DatasetEntry, Study
from edgemon.bench.replicate.subject import Subject
from edgemon.bench.replicate.tools import DEPLOYABLE, FORMS, PUBLISHED, deepinfer_bounds
from edgemon.compiler.methods.deepinfer import DeepInfer, violations
from edgemon.compiler.statistics.intervals import Interval, mcc, mcc_interval, percentiles
from edgemon.compiler.statistics.metrics import Confusion, legacy
from edgemon.runtime.evaluation import Verdict

Row = dict[str, Any]

# Which method each printed table of effectiveness is of, and whether it exchanges TP and FP.
OF_MODELS = ("table5", "table7", "table8")  # table 4 is of outputs that stand apart
EFFECTIVENESS = {
    "table4": ("selfchecker", False),
    "table5": ("prophecy", True),
    "table7": ("deepinfer", True),
    "table8": ("selfchecker", False),
}
RESAMPLES = 2000


def accuracy_table(
    study: Study, datasets: Iterable[DatasetEntry], *, drop_repeated: bool = False
) -> list[Row]:
    """Table 2: right and wrong answers, layers and parameters of each model."""
    known = tables.printed(study, "table2")
    rows = []
    for entry in datasets:
        for name in entry.models:
            case = Subject.load(study, entry.name, name, drop_repeated=drop_repeated)
            wrong = case.test.wrong
            found = {
                "n_correct": int((~wrong).sum()),
                "n_incorrect": int(wrong.sum()),
                "n_layers": len(case.model.layers),
                "n_params": case.model.n_parameters,
            }
            printed = _whole(known.get(name), found)
            constant = len(np.unique(case.test.predicted)) == 1
            rows.append(
                {"model": name, "constant": constant, "printed": printed, "published": found,
                 "equal": None if printed is None else printed == found}
            )  # fmt: skip
    return rows


def unseen_table(study: Study, datasets: Iterable[DatasetEntry]) -> list[Row]:
    """Table 3: DeepInfer on the rows of its own authors. As published the same rows give threshold
    and importance; deployable, the validation rows do."""
    known = tables.printed(study, "table3")
    rows = []
    for entry in datasets:
        for name in entry.models if entry.unseen else ():
            case = Subject.load(study, entry.name, name, drop_repeated=False)
            x = case.unseen.rows.x
            found: Row = {"model": name}
            for form in (PUBLISHED, DEPLOYABLE):
                bounds = deepinfer_bounds(case, form, entry.unseen_preconditions)
                reference = x if form == PUBLISHED else case.val.rows.x
                judge = DeepInfer(bounds, freeze_importance=form == DEPLOYABLE).fit(reference)
                verdict = judge.verdicts(x)
                violated = int(violations(x, bounds).sum())
                found[form] = {
                    "gt_correct": int((~case.unseen.wrong).sum()),
                    "gt_incorrect": int(case.unseen.wrong.sum()),
                    "correct": int((verdict == Verdict.TRUST).sum()),
                    "incorrect": int((verdict == Verdict.ALARM).sum()),
                    "uncertain": int((verdict == Verdict.UNCERTAIN).sum()),
                    "violations": violated,
                    "satisfactions": x.size - violated,
                }
            found["printed"] = _whole(known.get(name), found[PUBLISHED])
            equal = found["printed"] == found[PUBLISHED]
            rows.append({**found, "equal": None if found["printed"] is None else equal})
    return rows


@dataclass(frozen=True, eq=False)
class MonitorResult:
    """One monitor on one model's test rows."""

    dataset: str
    model: str
    monitor: str
    form: str
    constant: bool
    alarm: npt.NDArray[np.bool_]
    wrong: npt.NDArray[np.bool_]

    @property
    def confusion(self) -> Confusion:
        return Confusion.of(self.alarm, self.wrong)


def results(
    folder: Path, datasets: Iterable[DatasetEntry], constant: set[str]
) -> list[MonitorResult]:
    """All verdict files of a run; ``constant`` names the models with one answer only."""
    found = []
    for entry in datasets:
        for form in FORMS:
            for monitor in sorted((folder / "verdicts" / form).glob("*")):
                for model in entry.models:
                    path = verdict_file(folder, form, monitor.name, model)
                    if path.is_file():
                        read = verdicts.read(path)[0]
                        found.append(
                            MonitorResult(
                                entry.name, model, monitor.name, form, model in constant,
                                read.alarm, read.wrong,
                            )
                        )  # fmt: skip
    return found


def effectiveness_table(study: Study, table: str, found: Iterable[MonitorResult]) -> list[Row]:
    """Table 4, 5, 7 or 8: a row a model. ``equal``: do the counts as published equal the printed
    ones, with TP and FP exchanged where the table exchanges them?"""
    method, exchanged = EFFECTIVENESS[table]
    known = tables.printed(study, table)
    rows: dict[str, Row] = {}
    for result in found:
        if result.monitor.partition(" ")[0] != method:
            continue
        row = rows.setdefault(
            result.model, {"model": result.model, "constant": result.constant, "printed": None,
                           **{f: None if f == PUBLISHED else {} for f in FORMS}, "equal": None}
        )  # fmt: skip
        counts = result.confusion
        content = {**asdict(counts), "mcc": counts.mcc}
        if result.form != PUBLISHED:
            content["mcc_interval"] = mcc_interval(astuple(counts))
            row[result.form][result.monitor] = content
            continue
        row[PUBLISHED] = content
        printed = _whole(known.get(result.model), asdict(counts))
        if printed is not None:
            mcc_printed = known[result.model].get("mcc")
            row["printed"] = {**printed, "mcc": float(mcc_printed) if mcc_printed else None}
            row["equal"] = printed == asdict(legacy(counts) if exchanged else counts)
    return list(rows.values())


def balanced_table(study: Study) -> list[Row]:
    """Table 6, Prophecy with balanced training rows, whose network is not at hand: as printed, and
    with TP and FP exchanged, by which the wrong answers (TP + FN) are as many as in Table 2."""
    rows = []
    for name, printed in tables.printed(study, "table6").items():
        counts = Confusion(*(int(printed[k]) for k in ("tp", "fp", "tn", "fn")))
        exchanged = legacy(counts)
        rows.append({
            "model": name, "printed": {**asdict(counts), "mcc": float(printed["mcc"])},
            "exchanged": {**asdict(exchanged), "mcc": exchanged.mcc},
            "wrong_as_printed": counts.tp + counts.fn, "wrong": exchanged.tp + exchanged.fn,
        })  # fmt: skip
    return rows


def mean_mcc(found: list[MonitorResult], form: str, *, constant: bool | None = False) -> list[Row]:
    """Mean MCC over models, a monitor a row: of those where it is defined (of a monitor that never
    or always alarms it is not), and with 0 in place of the undefined. The interval is for new test
    rows, drawn for all models of a data set together. ``constant``: of which models; None: all."""
    rows = []
    chosen = [r for r in found if r.form == form and constant in (None, r.constant)]
    for monitor in dict.fromkeys(r.monitor for r in chosen):
        of_monitor = [r for r in chosen if r.monitor == monitor]
        point = np.array([np.nan if (v := r.confusion.mcc) is None else v for r in of_monitor])
        defined = ~np.isnan(point)
        rows.append(
            {
                "monitor": monitor,
                "models": len(point),
                "defined": int(defined.sum()),
                "mean_mcc": float(point[defined].mean()) if defined.any() else None,
                "interval": _interval_of_mean(of_monitor) if defined.any() else None,
                "mean_mcc_undefined_as_0": float(np.nan_to_num(point).mean()),
                "false_alarms": float(np.mean([r.confusion.fpr or 0.0 for r in of_monitor])),
            }
        )
    return rows


def printed_mean_mcc(study: Study, models: set[str]) -> dict[str, float]:
    """The mean of the printed MCC over these models, by method."""
    found = {}
    for table, (method, _) in EFFECTIVENESS.items():
        values = [float(r["mcc"]) for m, r in tables.printed(study, table).items() if m in models]
        if values:
            found[method] = float(np.mean(values))
    return found


def _interval_of_mean(group: list[MonitorResult]) -> Interval | None:
    rng = np.random.default_rng(0)
    of_models = []
    for dataset in dict.fromkeys(r.dataset for r in group):
        models = [r for r in group if r.dataset == dataset]
        n = len(models[0].wrong)
        taken = rng.multinomial(n, np.full(n, 1 / n), RESAMPLES).astype(np.float64)
        for r in models:
            kinds = (r.alarm & r.wrong, r.alarm & ~r.wrong, ~r.alarm & ~r.wrong, ~r.alarm & r.wrong)
            of_models.append(mcc(taken @ np.stack(kinds, axis=1).astype(np.float64)))
    draws = np.stack(of_models)
    some = ~np.isnan(draws).all(axis=0)
    return percentiles(np.nanmean(draws[:, some], axis=0)) if some.any() else None


def _whole(printed: Mapping[str, str] | None, like: Mapping[str, Any]) -> dict[str, int] | None:
    """The same keys of a printed row, as whole numbers; None if there are none."""
    if printed is None or not all(printed.get(k) for k in like):
        return None
    try:
        return {k: int(float(printed[k])) for k in like}
    except ValueError:
        return None
