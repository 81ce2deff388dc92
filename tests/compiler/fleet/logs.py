"""Reports for tests."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from edgemon.runtime.accuracy import UNIT, Basis, Estimate
from edgemon.runtime.window import DriftCounts, MonitorCounts, Report

DAY = 86_400


def report(device: str = "a", number: int = 0, alarms: int = 50, **changes: Any) -> Report:
    """The window ``number`` of a device: 1,000 images in 1,000 s."""
    drift = DriftCounts(1000 * (number + 1), 0, 0, 0, 0)
    fields: dict[str, Any] = {
        "device": device, "artifact": "0badcafe", "started": 10 * DAY + 1000 * number,
        "ended": 10 * DAY + 1000 * (number + 1), "sequence": number, "images": 1000,
        "uncertains": 0, "alarms": alarms, "value_faults": 0, "score_faults": 0, "other_faults": 0,
        "other_images": 0, "full": False, "clipped": False, "drift": drift,
        "monitors": (MonitorCounts(1000 * alarms, 1000, alarms, 0, False),),
        "classes": ((600, alarms), (400, 0)),
    }  # fmt: skip
    return Report(**{**fields, **changes})


def estimate(
    share: float, *, valid: bool = True, basis: Basis = Basis.CALIBRATION
) -> Estimate:  # fmt: skip
    """An estimate of accuracy, plus and minus two points."""
    low, own, high = (round(s * UNIT) for s in (share - 0.02, share, share + 0.02))
    return Estimate(own, low, high, valid, basis, 1000, 0, 0, 0, own * 1000, 0, 0, 0)


def flagged(number: int, at: int, since: int) -> dict[str, Any]:
    """What ``report`` needs for a flag that rose at an image."""
    return {"drift": DriftCounts(1000 * (number + 1), 0, at, since, 1)}


def write(path: Path, reports: Iterable[Report]) -> Path:
    path.write_text("".join(json.dumps(r.to_json()) + "\n" for r in reports))
    return path
