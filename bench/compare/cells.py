"""What the tables of a comparison write into their cells."""

from __future__ import annotations

from typing import Any

Document = dict[str, Any]


def no_limit(reference: Document) -> str:
    """How a reference is called beside monitors."""
    return f"no limit: {reference['reference']}"


def as_means(fixed: Document) -> Document:
    """A fixed split in the form of means."""
    return {
        key: {"mean": value, "interval": fixed.get(f"{key}_interval")}
        for key, value in fixed.items()
        if not key.endswith("_interval")
    }


def value(found: Document, key: str) -> float | None:
    """The mean of a number to three digits."""
    mean = found.get(key, {}).get("mean")
    return None if mean is None else round(float(mean), 3)


def interval(found: Document, key: str) -> str:
    """That of the mean."""
    ends = found.get(key, {}).get("interval")
    return "" if ends is None else f"[{ends[0]:.3f}, {ends[1]:.3f}]"
