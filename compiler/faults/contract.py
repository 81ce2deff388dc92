"""The contract of a fault, for those who write one: call ``check_fault`` in a test."""

from __future__ import annotations

import numpy as np

from edgemon.compiler.errors import FaultError
from edgemon.compiler.faults.registry import KINDS, Fault, make

SHAPES = ((8, 8, 1), (12, 9, 3), (32, 32, 3))
COUNT = 3


def check_fault(fault: Fault) -> None:
    """Raises FaultError in one sentence if a fault names no known kind, has no severity, fails on
    an image of a usual shape, gives another shape or what is no number, changes what it was given,
    gives one row two results, or never changes anything."""
    if fault.kind not in KINDS:
        raise FaultError(f"kind is {fault.kind!r}, not one of {', '.join(KINDS)}")
    if fault.severities < 1:
        raise FaultError(f"severities is {fault.severities}; there must be at least one")
    if not fault.what:
        raise FaultError("what, its one line for people, is missing")
    shapes = [s for s in SHAPES if not fault.channels or s[2] in fault.channels]
    if not shapes:
        raise FaultError(f"channels is {fault.channels}: none of images of 1 or 3 channels")
    for severity in range(1, fault.severities + 1):
        changes = [_changes(fault, severity, shape) for shape in shapes]
        if not any(changes):
            raise FaultError(f"severity {severity} changes no image")


def _changes(fault: Fault, severity: int, shape: tuple[int, ...]) -> bool:
    rng = np.random.default_rng(0)
    images = rng.integers(0, 256, (COUNT, *shape)).astype(np.uint8)
    where = f"at severity {severity} on images {shape}"
    for image in images / 255:
        given = image.copy()
        try:
            found = fault.make(given, severity, np.random.default_rng(0))
        except Exception as error:
            text = " ".join(f"{type(error).__name__}: {error}".split())
            raise FaultError(f"it fails {where} ({text})") from None
        if not isinstance(found, np.ndarray) or found.shape != shape:
            raise FaultError(f"{where} it gives {getattr(found, 'shape', type(found))}")
        if not np.isfinite(found).all():
            raise FaultError(f"{where} it gives values that are not finite")
        if (given != image).any():
            raise FaultError(f"{where} it changes the image that it was given")
    rows, frame = range(COUNT), images[-1]
    once = make(images, fault, severity, seed=0, rows=rows, frame=frame)
    again = make(images[::-1], fault, severity, seed=0, rows=rows[::-1], frame=frame)[::-1]
    if (once != again).any():
        raise FaultError(f"{where} it gives one row two results: draw from the generator alone")
    return bool((once != images).any())
