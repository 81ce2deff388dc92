"""Recordings made of arrays, which need no model."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
from scipy.special import softmax

from edgemon.compiler.data.row_file import RowFile
from edgemon.compiler.data.splits import Splits
from edgemon.compiler.program.ir import Tap
from edgemon.compiler.recording.recording import Recording
from edgemon.runtime.views import COMPANION, MIRROR, ODIN

CLASSES, WIDTH = 4, 12


def taps_for(dtype: str) -> tuple[Tap, ...]:
    """Output, logits and features of a classifier, features of the mirrored image, logits of a
    step to more confidence, and features as a companion redraws them."""
    if dtype == "float32":
        output, logits, features = (
            Tap(n, dtype, k)
            for n, k in (("output", CLASSES), ("logits", CLASSES), ("features", WIDTH))
        )
    else:
        scale = float(np.float32(0.11))
        output = Tap("output", dtype, CLASSES, 1 / 256, -128)
        logits = Tap("logits", dtype, CLASSES, scale, 5)
        features = Tap("features", dtype, WIDTH, scale, -128)
    views = (features, MIRROR), (logits, ODIN), (features, COMPANION)
    return output, logits, features, *(replace(tap, view=view) for tap, view in views)


def make_recording(folder: Path, dtype: str, rows: int, seed: int) -> Recording:
    """A classifier that errs where its features lie between two classes."""
    rng = np.random.default_rng(seed)
    centres = np.random.default_rng(99).normal(0, 3, (CLASSES, WIDTH))
    labels = rng.integers(0, CLASSES, rows)
    features = np.maximum(centres[labels] + rng.normal(0, 2.2, (rows, WIDTH)), 0)
    logits = features @ centres.T / 4
    mirrored = np.maximum(centres[labels] + rng.normal(0, 2.2, (rows, WIDTH)), 0)
    redrawn = np.maximum(centres[logits.argmax(axis=1)], 0)  # as usual of the answered class
    real = (softmax(logits, axis=1), logits, features, mirrored, 1.25 * logits, redrawn)
    taps = taps_for(dtype)
    folder.mkdir(parents=True, exist_ok=True)
    files = []
    for tap, values in zip(taps, real, strict=True):
        if dtype == "float32":
            codes = values.astype(np.float32)
        else:
            codes = np.clip(np.rint(values / tap.scale) + tap.zero_point, -128, 127).astype(dtype)
        file = RowFile.create(folder / f"{tap.name}.npy", codes.shape, dtype)
        file.write(0, codes)
        files.append(file)
    output = files[0].read(np.arange(rows))
    return Recording(
        taps, tuple(files), np.arange(rows), output.argmax(axis=1).astype(np.int32), labels, CLASSES
    )


def recorded_splits(folder: Path, dtype: str, rows: int) -> Splits[Recording]:
    """As many rows of each part."""
    names = Splits("fit", "threshold", "test")
    seeds = {name: seed for seed, name in enumerate(names.values())}
    return names.map(lambda name, _: make_recording(folder / name, dtype, rows, seeds[name]))
