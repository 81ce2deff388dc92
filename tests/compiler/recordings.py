"""Recordings made of arrays, for tests that need no model."""

from edgemon.compiler.checks.made_rows import (
    CLASSES,
    WIDTH,
    make_recording,
    recorded_splits,
    taps_for,
)

__all__ = ["CLASSES", "WIDTH", "make_recording", "recorded_splits", "taps_for"]
