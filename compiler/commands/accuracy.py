"""How accurate is a bundle's model on rows of the field: what ``edgemon accuracy`` does."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from edgemon.compiler.accuracy import table
from edgemon.compiler.accuracy.table import AccuracyTable
from edgemon.compiler.bundle.amend import amend
from edgemon.compiler.bundle.bundle import Bundle
from edgemon.compiler.bundle.manifest import source_json
from edgemon.compiler.bundle.output_folder import ACCURACY, C_HEADER
from edgemon.compiler.bundle_rows import load_rows, record_loaded
from edgemon.compiler.commands.accuracy_shown import FOR_A_START, meaning, plan, show
from edgemon.compiler.documents import measured as schema
from edgemon.compiler.emit import flat
from edgemon.compiler.errors import CompileError, DataError
from edgemon.compiler.estimation import asking, estimates, label_page
from edgemon.compiler.estimation.estimates import Estimate, Shift
from edgemon.compiler.estimation.learned import Labelled, Learned
from edgemon.compiler.estimation.observed import Observed, observe, of_recording, watched
from edgemon.compiler.methods.accuracy import AccuracyEnsemble, hidden_sizes
from edgemon.compiler.proof.prove import prove
from edgemon.compiler.recording.evaluation import blocks
from edgemon.compiler.terminal import Terminal, percent
from edgemon.runtime.session import MONITOR

Indices = npt.NDArray[np.intp]

MOST_TRAINING = 4e13  # multiplications of an ensemble: some minutes


def fit(
    path: Path, data: str, *, label_column: str | None, members: int, epochs: int,
    monte_carlo: bool, window: int, seed: int, workers: int, terminal: Terminal,
) -> dict[str, Any]:  # fmt: skip
    """Learn from labelled reference rows, prove the artifact again, and write both into the bundle.
    Raises EdgemonError, with the bundle as it was."""
    table.require_window(window)
    bundle = Bundle.open(path)
    bundle.require_intact()
    with tempfile.TemporaryDirectory(prefix="edgemon-") as name:
        rows = load_rows(bundle, data, Path(name), label_column=label_column, reporter=terminal)
        if rows.y is None:
            raise DataError(f"{data}: has no labels; reference rows need them")
        recording = record_loaded(
            bundle, replace(rows, y=None), Path(name), workers=workers, reporter=terminal
        )
        seen = of_recording(bundle, rows, recording, seed)
        unknown = int((seen.classes == -1).sum()) if seen.classes is not None else 0
        if unknown:
            terminal.warn(f"{unknown:,} rows have a label that no class has: they count as wrong")
        ensemble = _ensemble(seen, members, epochs, monte_carlo, seed, terminal)
        with terminal.stage("fitting") as progress:
            learned = Learned.of(seen, ensemble, seed=seed, progress=progress)
        scored = ~seen.faults
        own = table.fit(
            seen.scores[scored], seen.right[scored], monitor=watched(bundle), window=window
        )
        artifact = flat.write(replace(bundle.artifact, accuracy=own))
        with terminal.stage("proving") as progress:
            proof = prove(
                artifact, bundle.onnx_bytes, blocks(bundle.artifact.program, recording), progress
            )
    proof.require()
    facts = _facts(bundle, data, learned, own, len(artifact) - len(bundle.artifact_bytes))
    files = {MONITOR: artifact, ACCURACY: learned.to_bytes()}
    if (bundle.path / C_HEADER).exists():
        files[C_HEADER] = flat.c_header(artifact).encode()
    if amend(bundle, files, {"accuracy_fit": facts}):
        terminal.warn(f"{path} was signed: sign it again (edgemon sign)")
    terminal.note(
        f"{path}: knows the accuracy of {learned.rows:,} reference rows, "
        f"{percent(learned.accuracy)}; {facts['artifact_bytes']:,} bytes more in {MONITOR} "
        f"({facts['steps']} steps from the score of {facts['monitor']} to a probability)"
    )
    terminal.note(
        f"proof: {proof.mismatches} of {proof.rows:,} rows and {proof.neighbours:,} threshold "
        "neighbours differ"
    )
    terminal.note(f"next: edgemon accuracy estimate {path} --data ROWS_OF_THE_FIELD")
    return {**facts, "proof": proof.to_json()}


def estimate(
    path: Path, data: str, *, label_column: str | None, labels: str | None, labelled: Path | None,
    untrusted: bool, seed: int, workers: int, terminal: Terminal,
) -> dict[str, Any]:  # fmt: skip
    """The JSON document of ``accuracy estimate``. Raises EdgemonError."""
    bundle, learned, own = _opened(path)
    rows = observe(
        bundle, data, label_column=label_column, workers=workers, seed=seed, reporter=terminal
    )
    if not len(rows):
        raise DataError(f"{data}: has no rows")
    shift = Shift.of(rows, learned)
    known = _known_labels(bundle, rows, learned, labels, labelled, seed, terminal)
    truth = None if rows.classes is None else float(rows.right.mean())
    with terminal.stage("estimating"):
        methods = _methods(rows, learned, own, known, withhold=shift.flag and not untrusted)
    document = {
        "rows": len(rows),
        "faults": int(rows.faults.sum()),
        "flag": shift.flag,
        "drift_test": shift.drift,
        "p_value": shift.p_value,
        "reference": {"rows": learned.rows, "accuracy": learned.accuracy},
        "truth": truth,
        "methods": [method.to_json() for method in methods],
    }
    show(terminal, path, data, document)
    return document


def label(
    path: Path, data: str, *, label_column: str | None, count: str, way: str, out: Path,
    seed: int, workers: int, terminal: Terminal,
) -> dict[str, Any]:  # fmt: skip
    """Writes rows to label as a CSV, or into a new folder with images and a page. Raises
    EdgemonError; nothing that exists is replaced."""
    if way not in asking.WAYS:
        raise CompileError(f"--choose {way!r} is unknown; use {', '.join(asking.WAYS)}")
    bundle, learned, own = _opened(path)
    rows = observe(
        bundle, data, label_column=label_column, workers=workers, seed=seed, reporter=terminal
    )
    wanted = asking.count_of(count, len(rows))
    if not wanted:
        raise DataError(f"--rows {count}: give at least one row")
    at = {
        asking.RANDOM: lambda: estimates.drawn(rows, wanted, seed),
        asking.STRATIFIED: lambda: estimates.stratified(rows, own, wanted, seed),
        asking.ENTROPY: lambda: estimates.most_entropy(rows, learned, wanted),
    }[way]()
    text = asking.table(rows, at, bundle.classes.names, way)
    label_page.write(
        out, text, bundle, data, rows, at, label_column=label_column, reporter=terminal
    )
    terminal.note(f"{out}: {len(at):,} of {len(rows):,} rows, {meaning(way)}")
    bought = plan(rows, own)
    if way != asking.ENTROPY:
        terminal.note("what labels will buy, in points to either side: " + ", ".join(
            f"{p['labels']:,} labels {100 * p['half_width']:.1f}" for p in bought
        ))  # fmt: skip
    terminal.note(
        f"fill in the labels, then: edgemon accuracy update {path} --data {data} --labelled "
        f"{out / label_page.TABLE if out.is_dir() else out}"
    )
    return {"rows": rows.numbers[at].tolist(), "chosen": way, "plan": bought, "out": str(out)}


def update(
    path: Path, data: str, labelled: Path, *, label_column: str | None, workers: int, seed: int,
    terminal: Terminal,
) -> dict[str, Any]:  # fmt: skip
    """Keeps labels that came back in the bundle, for ``estimate``. Raises EdgemonError."""
    bundle, learned, _ = _opened(path)
    found = _read_labels(labelled, bundle, terminal)
    rows = observe(
        bundle, data, label_column=label_column, workers=workers, seed=seed, reporter=terminal
    )
    at = asking.located(rows, found)
    before = learned.labels.get(rows.key)
    if before is not None:
        terminal.warn(f"{len(before.numbers):,} earlier labels of these rows are replaced")
    right = int(np.equal(rows.predicted[at], found.classes).sum())
    files = {ACCURACY: learned.with_labels(rows.key, found).to_bytes()}
    if amend(bundle, files, {}):
        terminal.warn(f"{path} was signed: sign it again (edgemon sign)")
    terminal.note(f"{path}: {len(at):,} labels kept, {right:,} of them say that the model is right")
    terminal.note(f"next: edgemon accuracy estimate {path} --data {data}")
    return {"labels": len(at), "right": right, "replaced": before is not None}


def _opened(path: Path) -> tuple[Bundle, Learned, AccuracyTable]:
    bundle = Bundle.open(path)
    bundle.require_intact()
    learned = Learned.read(bundle.path)
    if bundle.artifact.accuracy is None:
        raise CompileError(f"{path}: its artifact has no table of accuracy; run `accuracy fit`")
    return bundle, learned, bundle.artifact.accuracy


def _ensemble(
    rows: Observed, members: int, epochs: int, monte_carlo: bool, seed: int, terminal: Terminal
) -> AccuracyEnsemble | None:
    if members == 0:
        return None
    classes = rows.p.shape[1]
    one, two = hidden_sizes(classes)
    work = 3.0 * members * epochs * len(rows) * (classes * one + one * two + two * 2)
    if work > MOST_TRAINING:
        terminal.warn(
            f"the published ensemble is left out: {members} networks on {len(rows):,} rows of "
            f"{classes:,} classes take {work:.0e} multiplications; give fewer --members or --epochs"
        )
        return None
    return AccuracyEnsemble(members, epochs=epochs, monte_carlo=monte_carlo, seed=seed)


def _facts(
    bundle: Bundle, data: str, learned: Learned, own: AccuracyTable, more: int
) -> schema.AccuracyFit:
    return {
        "data": source_json(data),
        "rows": learned.rows,
        "accuracy": learned.accuracy,
        "monitor": bundle.artifact.program.monitors[own.monitor].name,
        "steps": len(own.probabilities),
        "window": own.window,
        "artifact_bytes": more,
        "members": 0 if learned.ensemble is None else learned.ensemble.members,
        "epochs": 0 if learned.ensemble is None else learned.ensemble.epochs,
    }


def _known_labels(
    bundle: Bundle, rows: Observed, learned: Learned, labels: str | None, labelled: Path | None,
    seed: int, terminal: Terminal,
) -> list[tuple[Indices, npt.NDArray[np.int64], bool]]:  # fmt: skip
    """Where labels are used, what they are, and whether the rows were drawn at random."""
    if labelled is not None:
        found = _read_labels(labelled, bundle, terminal)
        return [(asking.located(rows, found), found.classes, found.drawn)]
    if labels is not None:
        wanted = asking.count_of(labels, len(rows))
        if not wanted:
            return []
        if rows.classes is None:
            raise DataError(
                f"--labels {labels}: the rows have no labels; ask for some with `edgemon accuracy "
                f"label {bundle.path} --data ROWS --rows {labels}`"
            )
        at, unsure = estimates.drawn(rows, wanted, seed), estimates.most_entropy(
            rows, learned, wanted
        )  # fmt: skip
        return [(at, rows.classes[at], True), (unsure, rows.classes[unsure], False)]
    kept = learned.labels.get(rows.key)
    if kept is not None:
        terminal.note(f"{len(kept.numbers):,} labels of these rows came back and are used")
        return [(asking.located(rows, kept), kept.classes, kept.drawn)]
    if rows.classes is not None:
        terminal.note(
            f"the rows carry labels, of which none is used: --labels {FOR_A_START} uses so many of "
            "them, drawn at random"
        )
    return []


def _read_labels(path: Path, bundle: Bundle, terminal: Terminal) -> Labelled:
    found, missing = asking.read(path, bundle.classes)
    if missing:
        terminal.warn(
            f"{path}: {missing:,} rows have no label and are left out; if they are the hard ones "
            f"the estimate is off: label them, or write {asking.NONE}"
        )
    return found


def _methods(
    rows: Observed, learned: Learned, own: AccuracyTable,
    known: Sequence[tuple[Indices, npt.NDArray[np.int64], bool]], *, withhold: bool,
) -> list[Estimate]:  # fmt: skip
    """The recommended one first."""
    found: list[Estimate] = []
    for at, classes, random in known:
        found += (
            estimates.from_draw(rows, own, at, classes)
            if random
            else estimates.from_entropy(rows, learned, at, classes)
        )
    free = list(estimates.unlabelled(rows, learned, own))
    return found + [method.withheld() if withhold else method for method in free]
