"""``compile --guard``: monitors also learn from changed copies of fit rows, more of those classes
and under those changes that break the model.

Copies keep their labels and are fit rows alone. Thresholds are set on rows as they are, so that
what is promised is of such rows, and a guard changes nothing of it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from edgemon.compiler.copies import BLOCK, DRAWS, Indices, Maker, with_copies
from edgemon.compiler.data.loading import Dataset
from edgemon.compiler.documents import measured as schema
from edgemon.compiler.errors import DataError
from edgemon.compiler.faults.properties import Change, changed, parse
from edgemon.compiler.faults.registry import warn_of_scale
from edgemon.compiler.models.model import TappedModel
from edgemon.compiler.monitors.estimator import MonitorEstimator
from edgemon.compiler.recording.recorder import Recorder, finite
from edgemon.compiler.recording.recording import Recording
from edgemon.compiler.reporter import Reporter

OPTION = "--guard"
EACH = 200  # right fit rows of a class, on which it is measured what breaks the model


@dataclass(frozen=True, eq=False)
class Guarded:
    """``fit``: the fit rows, then changed copies of some; rows and their copies are in one
    group. ``facts``: what the manifest says of it."""

    fit: Recording
    facts: schema.Guard


def wanted(text: str, rows: Dataset, full_scale: int, reporter: Reporter) -> tuple[Change, ...]:
    """The changes that ``--guard`` names, none for "". Raises FaultError for those that do not
    exist, and DataError unless ``rows`` are images of bytes."""
    if not text:
        return ()
    found = tuple(parse(text, OPTION))
    if len(rows.shape) not in (3, 4) or rows.dtype != np.uint8:
        raise DataError(
            f"{rows.source}: {OPTION} changes images of bytes, (N, H, W) or (N, H, W, C); these "
            f"rows are {rows.dtype} of the shape {rows.shape}; leave {OPTION} out, or give images"
        )
    (few,) = rows.take(np.arange(min(BLOCK, len(rows)))).blocks(BLOCK)
    for change in found:  # raises now for what cannot be made of such images
        changed(few[:1], change, seed=0, rows=np.zeros(1, np.int64), full_scale=full_scale)
    warn_of_scale(few, full_scale, "--full-scale", reporter.warn)
    return found


def guard(
    changes: Sequence[Change], recorder: Recorder, tapped: TappedModel, data: Dataset,
    fit: Recording, *, full_scale: int, reporter: Reporter,
) -> Guarded:  # fmt: skip
    """``fit``: recorded rows of ``data``. Of each class as large a share is copied as breaks under
    a change; where the copies would outnumber the fit rows, all shares are smaller alike."""
    maker = Maker(data.take(fit.rows), full_scale, recorder)
    labels = np.asarray(fit.labels)
    rng = np.random.default_rng([recorder.seed, DRAWS])
    tried = _sample(fit, rng)
    broken = []
    with reporter.stage("measuring what breaks the model") as progress:
        for done, change in enumerate(changes, 1):
            found = recorder.record(recorder.model.untapped(), maker.dataset([(change, tried)]))
            broken.append(~found.correct)
            progress(done, len(changes))
    rates = np.array([
        [_mean(wrong[labels[tried] == c]) for c in range(fit.n_classes)] for wrong in broken
    ])  # fmt: skip
    rows = np.bincount(labels, minlength=fit.n_classes)
    share = min(1.0, len(fit) / max(1.0, float((rates * rows).sum())))
    chosen = [
        np.concatenate([
            _drawn(np.flatnonzero(labels == c), share * of_class, rng)
            for c, of_class in enumerate(of_change)
        ])
        for of_change in rates
    ]  # fmt: skip
    copies = _recorded(list(zip(changes, chosen, strict=True)), maker, tapped, reporter)
    facts = _facts(changes, recorder.classes.names, tried, broken, chosen, copies, labels, share)
    if copies is None:
        reporter.warn(f"{OPTION}: none of these changes breaks the model, so that nothing is added")
        return Guarded(fit, facts)
    kept = finite("changed copies", copies, reporter)
    source = np.concatenate(chosen)[kept.rows]
    return Guarded(with_copies(fit, kept, source, recorder.scratch, "changed"), facts)


def warn_of_idle(estimators: Sequence[MonitorEstimator], reporter: Reporter) -> None:
    """Warns of monitors for which a guard changes nothing."""
    idle = [e.kind for e in estimators if not e.learns_errors]
    if idle:
        reporter.warn(
            f"{OPTION} changes nothing of {', '.join(idle)}: only monitors that learn what errors "
            "look like learn from changed copies, as second_opinion, forest, or auto"
        )


def sentence(facts: schema.Guard) -> str:
    """What was guarded, and what that does not promise."""
    names = ", ".join(f"{c['property']}={c['value']:g}" for c in facts["changes"])
    cells = [(c, k) for c in facts["changes"] for k in c["classes"]]
    most = max(cells, key=lambda cell: cell[1]["copies"], default=None)
    example = (
        f", most of class {most[1]['label']} under {most[0]['property']}={most[0]['value']:g} "
        f"({most[1]['copies']:,})"
        if most is not None and most[1]["copies"]
        else ""
    )
    return (
        f"monitors also learned from {facts['copies']:,} changed copies of fit rows ({names}), of "
        f"which the model has {facts['errors']:,} wrong{example}; thresholds are set on rows as "
        "they are, and what is promised is of such rows, not of changed ones"
    )


def _sample(fit: Recording, rng: np.random.Generator) -> Indices:
    """Of each class rows that the model has right, as many as there are up to a number."""
    right, labels = fit.correct, np.asarray(fit.labels)
    found = [
        np.sort(rng.permutation(np.flatnonzero(right & (labels == c)))[:EACH])
        for c in range(fit.n_classes)
    ]
    return np.concatenate(found)


def _drawn(rows: Indices, share: float, rng: np.random.Generator) -> Indices:
    return np.sort(rng.permutation(rows)[: round(share * len(rows))])


def _mean(wrong: npt.NDArray[np.bool_]) -> float:
    return float(wrong.mean()) if len(wrong) else 0.0


def _recorded(
    parts: Sequence[tuple[Change, Indices]], maker: Maker, tapped: TappedModel, reporter: Reporter
) -> Recording | None:
    count = sum(len(rows) for _, rows in parts)
    if not count:
        return None
    with reporter.stage(f"recording {count} changed copies of fit rows") as progress:
        return maker.recorder.record(tapped, maker.dataset(parts), progress)


def _facts(
    changes: Sequence[Change], names: Sequence[str], tried: Indices,
    broken: Sequence[npt.NDArray[np.bool_]], chosen: Sequence[Indices], copies: Recording | None,
    labels: Indices, share: float,
) -> schema.Guard:  # fmt: skip
    wrong = np.zeros(0, bool) if copies is None else ~copies.correct
    ends = np.cumsum([len(rows) for rows in chosen])
    lines: list[schema.GuardedChange] = []
    for change, failed, rows, end in zip(changes, broken, chosen, ends, strict=True):
        own = wrong[end - len(rows) : end]
        lines.append({
            "property": change.property, "value": change.value,
            "classes": [
                {
                    "label": name, "tried": int((labels[tried] == c).sum()),
                    "broken": int(failed[labels[tried] == c].sum()),
                    "copies": int((labels[rows] == c).sum()),
                    "errors": int(own[labels[rows] == c].sum()),
                }
                for c, name in enumerate(names)
            ],
        })  # fmt: skip
    return {"changes": lines, "copies": len(wrong), "errors": int(wrong.sum()), "share": share}
