"""What share of alarms is to be expected at most. In the field nobody knows which answers are
right, so a promise about right answers is turned into one about all."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from edgemon.compiler.bundle.bundle import Bundle
from edgemon.compiler.errors import CompileError
from edgemon.compiler.statistics.intervals import clopper_pearson

CRC = slice(28, 32)  # of the artifact's header


@dataclass(frozen=True)
class Expected:
    """``limit``: the largest share of alarms that fits, None if nobody says; ``because``: how it
    comes about. ``run_length``: promised images to a false drift flag, None without a test."""

    limit: float | None = None
    because: str = "neither --bundle nor --limit is given, so that no rate is judged"
    artifact: str | None = None
    labels: tuple[str, ...] = ()
    run_length: int | None = None
    alternatives: tuple[str, ...] = ()

    def to_json(self) -> dict[str, Any]:
        return asdict(self)


def expected(bundle: Path | None, limit: float | None) -> Expected:
    """From a bundle's manifest and what the user says. Raises EdgemonError."""
    if limit is not None and not 0 < limit < 1:
        raise CompileError(f"--limit {limit:g}: a share of alarms between 0 and 1, as 0.08")
    said = {} if limit is None else {"limit": limit, "because": "--limit says so"}
    if bundle is None:
        return Expected(**said)  # type: ignore[arg-type]
    opened = Bundle.open(bundle)
    found = opened.manifest
    try:
        drift = found["drift"]
        known: dict[str, Any] = {
            "artifact": f"{int.from_bytes(opened.artifact_bytes[CRC], 'little'):08x}",
            "labels": opened.classes.names,
            "run_length": None if drift is None else int(drift["run_length"]),
            "alternatives": () if drift is None else tuple(map(str, drift["alternatives"])),
        }
        return Expected(**{**known, **_of_manifest(found), **said})
    except (KeyError, TypeError, ValueError, AttributeError):
        raise CompileError(
            f"{bundle}: its manifest lacks what a fleet is measured against; compile it again, or "
            "say --limit without --bundle"
        ) from None


def _of_manifest(found: dict[str, Any]) -> dict[str, Any]:
    options, quality = found["options"], found["together"]
    rows, caught = int(quality["rows"]), int(quality["true_alarms"])
    if options["thresholds"] == "guaranteed" and options["promise_of"] == "false alarms":
        share = clopper_pearson(caught, rows)
        rate, most = float(options["rate"]), 1.0 if share is None else share[1]
        return {
            "limit": min(1.0, rate + most),
            "because": f"{rate:.2%} false alarms are promised, and {caught:,} of {rows:,} test "
            f"rows were wrong and alarmed (at most {most:.2%}, with 97.5 % confidence)",
        }
    alarms = caught + int(quality["false_alarms"])
    share = clopper_pearson(alarms, rows)
    most = 1.0 if share is None else share[1]
    return {
        "limit": most,
        "because": f"no rate of false alarms is promised; {alarms:,} of {rows:,} test rows alarmed "
        f"(at most {most:.2%}, with 97.5 % confidence)",
    }
