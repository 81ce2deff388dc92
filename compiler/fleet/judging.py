"""Sums of a fleet to a document: rates with intervals, who is above what was promised, and whose
drift flag is more than chance. Of many devices some look bad by chance: the false discovery rate
is held (Benjamini and Hochberg 1995)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from typing import Any

import numpy as np
from scipy.stats import false_discovery_control, ttest_ind_from_stats

from edgemon.compiler.fleet.counts import DAY, Device, Flag, Fleet, Moments, Tally, Windows
from edgemon.compiler.fleet.limit import Expected
from edgemon.compiler.fleet.reading import Problems
from edgemon.compiler.statistics import dispersed

CONFIDENCE = 0.95
DISCOVERIES = 0.01  # share of those named that may be there by chance; somebody goes and looks
LEAST = 3  # windows on either side of a flag


def document(fleet: Fleet, said: Expected, problems: Problems) -> dict[str, Any]:
    """Everything that is shown; times in s since 1970 (UTC), shares from 0 to 1."""
    names = sorted(fleet.devices, key=_natural)
    devices = _rates([fleet.devices[n].tally for n in names], said.limit)
    for name, row in zip(names, devices, strict=True):
        device = fleet.devices[name]
        row |= {"device": name, "first": device.first or None, "last": device.last or None}
        row["last_accuracy"] = _last(device)
    judged = [r for r in devices if r["p_value"] is not None]
    _adjust(judged)
    days = sorted(fleet.days, key=lambda d: -1 if d is None else d)
    by_day = _rates([fleet.days[d] for d in days], said.limit)
    for day, row in zip(days, by_day, strict=True):
        row["day"] = None if day is None else f"{datetime.fromtimestamp(day * DAY, UTC):%Y-%m-%d}"
    numbers = sorted(fleet.classes)
    by_class = _rates([fleet.classes[c] for c in numbers], None)
    for number, row in zip(numbers, by_class, strict=True):
        row |= {"class": number, "name": _label(said.labels, number)}
    return {
        "reports": fleet.reports,
        "bad": problems.to_json(),
        "of_other_artifacts": fleet.of_others,
        "repeated": fleet.repeated,
        "beyond_the_most_devices": fleet.beyond,
        "artifacts": dict(fleet.artifacts),
        "full": fleet.full,
        "clipped": fleet.clipped,
        "expected": said.to_json(),
        "confidence": CONFIDENCE,
        "false_discovery_rate": DISCOVERIES,
        "total": _rates([fleet.total], None)[0],
        "by_device": devices,
        "by_day": by_day,
        "by_class": by_class,
        "above": [
            r["device"]
            for r in sorted(judged, key=lambda r: -r["rate"])
            if r["adjusted_p"] <= DISCOVERIES
        ],
        "faulty": [
            r["device"]
            for r in sorted(devices, key=lambda r: -(r["fault_rate"] or 0.0))
            if r["fault_rate"]
        ],
        "silent": _silent(fleet, names),
        "least_accurate": _least_accurate(devices),
        "accuracy_not_valid": [
            r["device"] for r in devices if r["last_accuracy"] and not r["last_accuracy"]["valid"]
        ],
        "drift": _drifts(fleet, said),
        "false_flags_at_most": fleet.total.images / said.run_length if said.run_length else None,
    }


def _last(device: Device) -> dict[str, Any] | None:
    """The estimate of accuracy in a device's last report."""
    own = device.accuracy
    if own is None:
        return None
    return {
        "valid": own.valid, "estimate": own.accuracy if own.valid else None,
        "interval": [*own.interval] if own.valid else None, "basis": own.basis.name.lower(),
        "labels": own.labels,
    }  # fmt: skip


def _least_accurate(devices: Sequence[dict[str, Any]]) -> list[str]:
    """Devices whose last estimate is valid, the least accurate first."""
    known = [r for r in devices if r["last_accuracy"] and r["last_accuracy"]["valid"]]
    return [r["device"] for r in sorted(known, key=lambda r: r["last_accuracy"]["estimate"])]


def _silent(fleet: Fleet, names: Sequence[str]) -> list[str]:
    """Devices whose last report is a day or more older than the fleet's last, the oldest first."""
    lasts = {name: fleet.devices[name].last for name in names}
    newest = max(lasts.values(), default=0)
    return sorted((n for n in names if 0 < lasts[n] <= newest - DAY), key=lasts.__getitem__)


def _natural(name: str) -> tuple[int, str]:
    """Numbers by their value, before names."""
    return (int(name), "") if name.isascii() and name.isdecimal() else (1 << 70, name)


def _label(labels: Sequence[str], number: int) -> str | None:
    return labels[number] if number < len(labels) else None


def _rates(tallies: Sequence[Tally], limit: float | None) -> list[dict[str, Any]]:
    columns = np.array([(t.raised, t.judged, t.windows, t.squares) for t in tallies]).reshape(-1, 4)
    part, whole, windows, squares = columns.T
    phi = dispersed.dispersion(part, whole, windows, squares)
    low, high = dispersed.interval(part, whole, phi, CONFIDENCE)
    p = dispersed.above(part, whole, phi, 0.5 if limit is None else limit)
    return [
        {
            "windows": t.windows,
            "images": t.images,
            "alarms": t.raised,
            "rate": t.raised / t.judged if t.judged else None,
            "interval": [float(low[i]), float(high[i])] if t.judged else None,
            "dispersion": float(phi[i]),
            "faults": {
                "value": t.value_faults, "score": t.score_faults, "other": t.other_faults,
            },
            "fault_rate": t.faults / t.images if t.images else None,
            "accuracy": t.accuracy.to_json(),
            "p_value": float(p[i]) if limit is not None and t.judged else None,
            "adjusted_p": None,
        }
        for i, t in enumerate(tallies)
    ]  # fmt: skip


def _adjust(rows: Sequence[dict[str, Any]]) -> None:
    """Adds ``adjusted_p``: of those with at most x, a share of x is there by chance, on average."""
    adjusted = false_discovery_control([r["p_value"] for r in rows]) if rows else ()
    for row, p in zip(rows, adjusted, strict=True):
        row["adjusted_p"] = float(p)


def _drifts(fleet: Fleet, said: Expected) -> list[dict[str, Any]]:
    """Devices with a flag, those that stand the test first, by the time of their flag."""
    rows = [
        _drift(name, device, device.flag, fleet.unflagged, said)
        for name, device in fleet.devices.items()
        if device.flag is not None
    ]
    _adjust([r for r in rows if r["p_value"] is not None])
    for row in rows:
        row["confirmed"] = row["p_value"] is not None and row["adjusted_p"] <= DISCOVERIES
    return sorted(
        rows, key=lambda r: (not r["confirmed"], r["since"] or r["flag_seen"] or 0, r["device"])
    )


def _drift(
    name: str, device: Device, flag: Flag, fleet: Windows, said: Expected
) -> dict[str, Any]:  # fmt: skip
    own = device.before.rate.n >= LEAST
    before, after = device.before if own else fleet, device.after
    return {
        "device": name,
        "flag_seen": flag.ended or None,
        "flagged_at_image": flag.flagged_at,
        "since": flag.about,
        "since_image": flag.since,
        "changed": device.history.change(),
        "change": _label(said.alternatives, flag.alternative),
        "flagged_now": device.flagged_now,
        "windows_after": after.rate.n,
        "compared_with": "itself before the flag" if own else "the fleet's windows without a flag",
        "rate_before": before.rate.mean if before.rate.n else None,
        "rate_after": after.rate.mean if after.rate.n else None,
        "score_before": before.score.mean if before.score.n else None,
        "score_after": after.score.mean if after.score.n else None,
        "adjusted_p": None,
        "p_value": _least((before.rate, after.rate), (before.score, after.score)),
    }


def _least(*pairs: tuple[Moments, Moments]) -> float | None:
    """The smallest of several p-values of Welch's test, times their number (Bonferroni)."""
    found = [_welch(*pair) for pair in pairs if min(m.n for m in pair) >= LEAST]
    return min(1.0, len(found) * min(found)) if found else None


def _welch(one: Moments, other: Moments) -> float:
    if not one.deviation and not other.deviation:
        return float(one.mean == other.mean)
    result = ttest_ind_from_stats(
        one.mean, one.deviation, one.n, other.mean, other.deviation, other.n, equal_var=False
    )
    return float(result.pvalue)


def confirmed(found: Iterable[dict[str, Any]]) -> list[dict[str, Any]]:
    """The drifts that are more than chance."""
    return [row for row in found if row["confirmed"]]
