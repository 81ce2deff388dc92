"""Changed copies of threshold rows, on which the drift test's score is chosen."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from edgemon.compiler.copies import Maker
from edgemon.compiler.data.loading import Dataset
from edgemon.compiler.faults.properties import Change
from edgemon.compiler.faults.registry import find
from edgemon.compiler.fitted import Fitted
from edgemon.compiler.models.model import TappedModel
from edgemon.compiler.options import Options
from edgemon.compiler.promise.drift.choice import design_half
from edgemon.compiler.promise.drift.watched import Watched, choose
from edgemon.compiler.recording.recorder import Recorder
from edgemon.compiler.reporter import Reporter

ROWS = 300  # that are changed, at most
CHANGES = tuple(
    Change(name, severity)
    for name in ("gaussian_noise", "defocus_blur", "fog", "contrast", "jpeg_compression")
    for severity in (1.0, 3.0)
)


def watch(
    fitted: Fitted, recorder: Recorder, tapped: TappedModel, data: Dataset, options: Options,
    reporter: Reporter,
) -> Watched:  # fmt: skip
    """The score that the drift test watches; ``data``: the rows that threshold rows are of. Of
    other rows than images of bytes, and where there is one score, the first that is promised."""
    first = next(iter(fitted.promised), 0)
    images = data.dtype == np.uint8 and len(data.shape) in (3, 4)
    if not options.drift_run_length or len(fitted.program.monitors) < 2 or not images:
        return Watched(first)
    rows = fitted.threshold_rows
    design = rows.take(np.flatnonzero(design_half(len(rows), options.seed, rows.groups)))
    rng = np.random.default_rng(options.seed)
    some = np.sort(rng.permutation(len(design))[:ROWS])
    own = data.take(design.rows[some])
    (look,) = own.blocks(len(own))
    channels = 1 if look.ndim == 3 else look.shape[3]
    changes = [c for c in CHANGES if channels in (find(c.property).channels or (channels,))]
    top = _full_scale(look, options.full_scale)
    if top != options.full_scale:
        reporter.note(
            f"the drift test's score is chosen on copies changed as if {top} were the brightest "
            f"value, which no image here exceeds, and not {options.full_scale} (--full-scale)"
        )
    maker = Maker(own, top, recorder)
    every = np.arange(len(own))
    with reporter.stage("choosing the score that the drift test watches") as progress:
        made = recorder.record(tapped, maker.dataset([(c, every) for c in changes]), progress)
        copies = [
            (str(c), made.take(np.arange(i * len(own), (i + 1) * len(own))))
            for i, c in enumerate(changes)
        ]
        return choose(
            fitted.program, len(fitted.judges), first, design,
            float(design.correct[some].mean()), copies,
            run_length=options.drift_run_length, confidence=options.promise.confidence,
        )  # fmt: skip


def _full_scale(images: npt.NDArray[Any], said: int) -> int:
    """What ends brightness: what was said, or the brightest value of images that stay far below."""
    top = int(images.max(initial=1))
    return max(top, 1) if 2 * top < said else said
