"""Plain words for keys and values that mislead as they are."""

from __future__ import annotations

# Of settings: what a value stands for that is no quantity.
STANDS_FOR: dict[tuple[str, float], str] = {
    ("budget_us", 0): "no limit",
    ("novelty_weight", 0): "as errors allow",
}
# Of a column that is the same in every row: what that says.
SAYS = {
    ("learned", True): "learned from the model's errors",
    ("learned", False): "not learned from errors, which only bound its weight",
}
# Of columns of tables whose keys say little to a reader; others are shown as they are.
COLUMNS = {
    "size_bytes": "bytes",
    "estimated_us": "µs, estimated",
    "auroc": "AUROC",
    "auroc_interval": "AUROC, 95\u202f%",
    "kept": "in the fusion",
    "of": "statistic",
    "stack_auroc": "fusion's AUROC",
    "stack_bytes": "fusion's bytes",
    "stack_estimated_us": "fusion's µs",
}


def column(key: str) -> str:
    """The key of a table's column, for people."""
    return COLUMNS.get(key, key.replace("_", " "))


def setting(key: str, value: bool | int | float | str) -> tuple[str, str]:
    """A setting as one types it, and what its value stands for: empty where it is a quantity."""
    text = str(value).removesuffix(".0") if isinstance(value, float) else str(value)
    known = isinstance(value, (int, float)) and not isinstance(value, bool)
    return f"{key}={text}", STANDS_FOR.get((key, float(value)), "") if known else ""


def always(key: str, value: object) -> str | None:
    """A column with one value, in words; None if it has none of its own."""
    return SAYS.get((key, value)) if isinstance(value, bool) else None
