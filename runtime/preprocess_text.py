"""The declared preprocessing as people write it: ``resize=30x30,channels=bgr,scale=1/255``."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from edgemon.runtime.errors import InputError
from edgemon.runtime.standardization import STANDARDIZE, standardization

if TYPE_CHECKING:
    from edgemon.runtime.preprocess import Preprocess


def parsed(text: str) -> dict[str, Any]:
    """What a text declares, by the names of the declaration's fields; raises InputError."""
    found: dict[str, Any] = {}
    for part in (p.strip() for p in text.split(",") if p.strip()):
        key, equals, value = (p.strip() for p in part.partition("="))
        if not equals or key not in (*_PARSERS, STANDARDIZE):
            raise InputError(
                f"preprocess: {part!r} is not understood; write KEY=VALUE with KEY one of "
                f"{', '.join((*_PARSERS, STANDARDIZE))}"
            )
        brought = standardization(Path(value)) if key == STANDARDIZE else {key: None}
        twice = next((name for name in brought if name in found), None)
        if twice is not None:
            raise InputError(f"preprocess: {twice} is given twice")
        if key == STANDARDIZE:
            found |= brought
            continue
        try:
            found[key] = _PARSERS[key](value)
        except (ValueError, ZeroDivisionError):
            raise InputError(
                f"preprocess: {part!r} is not understood; an example is {_EXAMPLES[key]}"
            ) from None
    return found


def written(declared: Preprocess) -> str:
    """The text that is read back as the same declaration."""
    parts = []
    if declared.resize is not None:
        parts.append(f"resize={declared.resize[0]}x{declared.resize[1]}")
    if declared.channels != "asis":
        parts.append(f"channels={declared.channels}")
    if declared.scale != 1.0:
        parts.append(f"scale={_shortest(declared.scale)}")
    if declared.offset != 0.0:
        parts.append(f"offset={declared.offset!r}")
    for name, values in (("mean", declared.mean), ("std", declared.std)):
        if values:
            parts.append(f"{name}={':'.join(repr(v) for v in values)}")
    if declared.layout != "auto":
        parts.append(f"layout={declared.layout}")
    return ",".join(parts)


def _number(text: str) -> float:
    numerator, slash, denominator = text.partition("/")
    return float(numerator) / float(denominator) if slash else float(numerator)


def _numbers(text: str) -> tuple[float, ...]:
    return tuple(_number(part) for part in text.split(":"))


def _size(text: str) -> tuple[int, int]:
    width, height = text.lower().split("x")
    return int(width), int(height)


_PARSERS: dict[str, Any] = {
    "scale": _number,
    "offset": _number,
    "mean": _numbers,
    "std": _numbers,
    "resize": _size,
    "channels": str,
    "layout": str,
}
_EXAMPLES = {
    "scale": "scale=1/255",
    "offset": "offset=-1",
    "mean": "mean=0.49:0.48:0.44",
    "std": "std=0.25:0.24:0.26",
    "resize": "resize=30x32 (width x height)",
    "channels": "channels=bgr",
    "layout": "layout=nchw",
}


def _shortest(scale: float) -> str:
    """As people write it: ``1/255``, and not 0.00392156862745098."""
    divisor = round(2 / scale) / 2 if 1e-6 < scale < 1 else 1.0
    return min((repr(scale), f"1/{divisor:.15g}"), key=len) if 1 / divisor == scale else repr(scale)
