"""What ``edgemon compile`` is told, beside model, data and output."""

from __future__ import annotations

import math
import os
from dataclasses import dataclass, field
from pathlib import Path
from typing import cast

from edgemon import targets
from edgemon.compiler.data.images import EXIF
from edgemon.compiler.data.repeats import KEEP, require_policy
from edgemon.compiler.data.splits import REFUSE, require_sharing
from edgemon.compiler.documents import asked as schema
from edgemon.compiler.errors import CompileError
from edgemon.compiler.faults import properties
from edgemon.compiler.models.front_ends import CONVERSIONS
from edgemon.compiler.models.kernels import require_kernels
from edgemon.compiler.models.selection import Selection, described
from edgemon.compiler.promise.drift.choice import require_run_length
from edgemon.compiler.promise.thresholds import FalseAlarmPromise, Promise
from edgemon.runtime.preprocess import Preprocess

MOST_COPIES = 8
RULES = ("guaranteed", "method")  # whose thresholds: calibrated, or the method's own if it has any


@dataclass(frozen=True)
class Options:
    """Settings of one compile."""

    monitors: str = "auto"
    profile: str = "errors"
    mirror: bool = False  # may the fusion of the profile read the mirrored image?
    early_exit: bool = False  # may the time of trees depend on the input?
    thresholds: str = "guaranteed"  # or "method": those that a method brings
    taps: str = ""
    companion: Path | None = None  # a model beside the classifier, of which monitors read outputs
    float_model: Path | None = None  # whose gradient a companion takes, where the model is int8
    selection: Selection = field(default_factory=Selection)  # of the model's outputs and inputs
    preprocess: Preprocess = field(default_factory=Preprocess)
    label_order: str = "numeric"
    classes: tuple[str, ...] | None = None  # the model's, in its order; None: as the data has them
    label_column: str | None = None
    decision_threshold: float | None = None  # of one output unit; None: see ``models.decision``
    repeats: str = KEEP  # do rows that repeat others count? see ``data.repeats``
    shared_rows: str = REFUSE  # that are in two of the given parts: see ``data.splits``
    exif: str = "ignore"  # or "apply": see ``data.images``
    group: str | None = None  # what says which rows belong together, see ``data.groups``
    target: str = targets.DEFAULT
    certify_kernels: str = ""  # further kernel sets under which thresholds must hold
    expect_accuracy: float | None = None
    promise: Promise = field(default_factory=FalseAlarmPromise)
    guard: str = ""  # changes of images of which monitors also learn: see ``guarding``
    full_scale: int = 255  # the value of full brightness in images, for ``guard``
    augment: int | None = None  # copies of each fit image; None: see ``augmenting``
    drift_run_length: int = 10_000  # mean images to a false flag; 0: no drift test
    convert: str = "float"  # or "int8": of Keras models
    seed: int = 0
    workers: int = min(2, os.cpu_count() or 1)
    force: bool = False
    c_header: bool = False
    examples: bool = True  # may the report show rows?
    budget_kb: float | None = None  # of all monitors together; None: what the target's profile says
    budget_us: float | None = None

    def to_json(self) -> schema.Options:
        """What the bundle depends on."""
        return {
            "monitor": self.monitors, "profile": self.profile, "mirror": self.mirror,
            "early_exit": self.early_exit,
            "thresholds": self.thresholds, "taps": self.taps, "seed": self.seed,
            "target": targets.name_of(self.target), "certify_kernels": self.certify_kernels,
            "output": self.selection.output,
            "inputs": {name: described(v) for name, v in self.selection.inputs.items()},
            "preprocess": cast(schema.Preprocess, self.preprocess.to_json()),
            "label_order": self.label_order,
            "classes": None if self.classes is None else list(self.classes),
            "decision_threshold": self.decision_threshold, "exif": self.exif,
            "convert": self.convert, "group": self.group,
            "repeats": self.repeats, "shared_rows": self.shared_rows,
            "promise": self.promise.whose,
            "promise_of": self.promise.of, "rate": self.promise.rate,
            "confidence": self.promise.confidence, "per_class": self.promise.per_class,
            "drift_run_length": self.drift_run_length, "expect_accuracy": self.expect_accuracy,
            "guard": self.guard, "full_scale": self.full_scale,
            "augment": self.augment,
            "budget_kb": self.budget_kb, "budget_us": self.budget_us, "examples": self.examples,
            **self._beside(),
        }  # fmt: skip

    def _beside(self) -> schema.BesideModel:
        found: schema.BesideModel = {}
        if self.companion is not None:
            found["companion"] = self.companion.name
        if self.float_model is not None:
            found["float_model"] = self.float_model.name
        return found

    def require_sound(self) -> None:
        """Raises CompileError for a setting that means nothing."""
        if self.expect_accuracy is not None and not 0 <= self.expect_accuracy <= 1:
            raise CompileError(
                f"--expect-accuracy {self.expect_accuracy:g}: give a share between 0 and 1, as 0.85"
            )
        if not isinstance(self.examples, bool):
            raise CompileError(f"examples={self.examples!r}: give True or False")
        if self.convert not in CONVERSIONS:
            raise CompileError(f"--convert {self.convert}: use {' or '.join(CONVERSIONS)}")
        if self.thresholds not in RULES:
            raise CompileError(f"--thresholds {self.thresholds}: use {' or '.join(RULES)}")
        if self.decision_threshold is not None and not math.isfinite(self.decision_threshold):
            raise CompileError("--decision-threshold: give a finite number, as 0 or 0.5")
        if not 1 <= self.full_scale <= 255:
            raise CompileError(f"--full-scale {self.full_scale}: give a value from 1 to 255")
        if self.augment is not None and not 0 <= self.augment <= MOST_COPIES:
            raise CompileError(f"--augment {self.augment}: give 0 to {MOST_COPIES} copies")
        if self.guard:
            properties.parse(self.guard, "--guard")
        if self.exif not in EXIF:
            raise CompileError(f"--exif {self.exif}: use {' or '.join(EXIF)}")
        require_kernels(self.certify_kernels)
        require_policy(self.repeats)
        require_sharing(self.shared_rows)
        require_run_length(self.drift_run_length)
