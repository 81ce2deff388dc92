"""Gates held against a bundle."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from edgemon.compiler.bundle.bundle import Bundle
from edgemon.compiler.bundle_rows import record_loaded
from edgemon.compiler.cost.bill import KILOBYTE, Bill
from edgemon.compiler.data.classes import Classes
from edgemon.compiler.data.loading import Dataset
from edgemon.compiler.errors import CompileError
from edgemon.compiler.gates.baseline import no_worse
from edgemon.compiler.gates.line import Line
from edgemon.compiler.gates.verdicts import Figure, Verdicts
from edgemon.compiler.gates.wanted import Gates
from edgemon.compiler.recording.evaluation import evaluate
from edgemon.compiler.reporter import Reporter
from edgemon.compiler.trust.requirements import Requirement
from edgemon.runtime.errors import InputError, NotFiniteError
from edgemon.runtime.preprocess import InputSpec, Preprocess, to_codes
from edgemon.runtime.untrusted import printable

NO_TIMES = "the target's profile has no times"
UNDEFINED = "it is undefined on these rows"


def judge(
    gates: Gates, bundle: Bundle, rows: Dataset | None, scratch: Path, *,
    own: Verdicts | None = None, workers: int = 2,
    reporter: Reporter = Reporter(),  # noqa: B008 - stateless
) -> list[Line]:  # fmt: skip
    """A line for each requirement, then those of the baseline. ``rows`` have labels from
    ``bundle.classes``; ``own``: what the bundle says of them, if that is known. Raises CompileError
    for gates of rows without any, and for a baseline with other classes."""
    found = of_bundle(bundle)
    labelled = rows if rows is not None and rows.y is not None else None
    gates.require_rows(there=labelled is not None)
    if labelled is not None:
        require_comparable(gates, bundle.classes, labelled)
    if gates.needs_rows and labelled is not None:
        own = own or _verdicts(bundle, labelled, scratch / "own", workers, reporter)
        found |= own.figures()
    lines = [_line(wanted, found[wanted.name]()) for wanted in gates.requirements]
    if gates.baseline is not None and own is not None and labelled is not None:
        old = Bundle.open(gates.baseline)
        old.require_intact()
        earlier = _verdicts(old, labelled, scratch / "baseline", workers, reporter)
        lines += no_worse(own, earlier, gates.called or str(gates.baseline))
    return lines


def require_comparable(gates: Gates, classes: Classes, rows: Dataset) -> None:
    """Raises CompileError for a baseline with other classes, and one that cannot take rows like
    the first of these."""
    if gates.baseline is None:
        return
    old = Bundle.open(gates.baseline)
    if old.classes != Classes(tuple(map(printable, classes.names)), classes.values):
        raise CompileError(
            f"{gates.old}: knows other classes than this model; compare bundles of one task"
        )
    metadata = old.artifact.metadata
    preprocess = Preprocess.from_json(metadata["preprocess"])
    for row in next(rows.blocks(1), ()):
        try:
            to_codes(row, preprocess, InputSpec.from_json(metadata["input"]))
        except NotFiniteError:
            return  # its shape was right
        except InputError as error:
            raise CompileError(
                f"{gates.old}: takes another input than this model: {error}"
            ) from None


def of_bundle(bundle: Bundle) -> dict[str, Callable[[], Figure]]:
    """Figures that concern no rows."""
    size = Bill(bundle.artifact.program, None).together().size_bytes
    us = bundle.manifest["estimated_us"]
    return {"kb": lambda: (size / KILOBYTE, None), "us": lambda: (us, None)}


def _verdicts(
    bundle: Bundle, rows: Dataset, scratch: Path, workers: int, reporter: Reporter
) -> Verdicts:
    scratch.mkdir()
    found = record_loaded(bundle, rows, scratch, workers=workers, reporter=reporter)
    return Verdicts.of(evaluate(bundle.artifact.program, found), found.correct)


def _line(wanted: Requirement, found: Figure) -> Line:
    value, interval = found
    said = str(wanted).removeprefix(f"{wanted.name} ")
    if value is None:
        why = NO_TIMES if wanted.name == "us" else UNDEFINED
        return Line(wanted.name, said, None, None, met=False, why=why)
    met = value >= wanted.limit if wanted.at_least else value <= wanted.limit
    return Line(wanted.name, said, value, interval, met)
