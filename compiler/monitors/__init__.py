"""The monitors, by the names that ``--monitor`` takes; other packages may bring more."""

from __future__ import annotations

from typing import Any

from edgemon.compiler.errors import CompileError
from edgemon.compiler.monitors import registry
from edgemon.compiler.monitors.alocc import ReconstructionMonitor
from edgemon.compiler.monitors.box.box import BoxMonitor
from edgemon.compiler.monitors.class_subspace import ClassSubspaceMonitor
from edgemon.compiler.monitors.deepinfer import DeepInferMonitor
from edgemon.compiler.monitors.density import DensityMonitor
from edgemon.compiler.monitors.error_forest import BoostedOpinionMonitor, ForestMonitor
from edgemon.compiler.monitors.estimator import Analysis, MonitorEstimator, Needs, Score
from edgemon.compiler.monitors.fdbd import BoundaryMonitor
from edgemon.compiler.monitors.fusion.profiles import ErrorsMonitor, ScodMonitor
from edgemon.compiler.monitors.mirror import MirrorMonitor
from edgemon.compiler.monitors.odin import GradientOdinMonitor
from edgemon.compiler.monitors.output_scores import OUTPUT_SCORES
from edgemon.compiler.monitors.pattern import PatternMonitor
from edgemon.compiler.monitors.prophecy import ProphecyMonitor
from edgemon.compiler.monitors.prototypes import PrototypeOddsMonitor, PrototypesMonitor
from edgemon.compiler.monitors.react import RectifiedMonitor
from edgemon.compiler.monitors.rmds import RelativeMahalanobisMonitor
from edgemon.compiler.monitors.second_opinion import MahalanobisGapMonitor, SecondOpinionMonitor
from edgemon.compiler.monitors.selfchecker.selfchecker import SelfCheckerMonitor
from edgemon.compiler.monitors.subspace import SubspaceMonitor
from edgemon.targets import Budget
from edgemon.targets.nearest import choices

__all__ = [
    "AUTO", "MONITORS", "PROFILES", "Analysis", "MonitorEstimator", "Needs", "Score", "parse",
]  # fmt: skip

AUTO = "auto"  # stands for the fusion of the profile
PROFILES = ("errors", "scod")

_ALL: tuple[type[MonitorEstimator], ...] = (
    *OUTPUT_SCORES,
    GradientOdinMonitor,
    SecondOpinionMonitor,
    MirrorMonitor,
    MahalanobisGapMonitor,
    RelativeMahalanobisMonitor,
    BoundaryMonitor,
    RectifiedMonitor,
    PrototypesMonitor,
    PrototypeOddsMonitor,
    DensityMonitor,
    SubspaceMonitor,
    ClassSubspaceMonitor,
    ReconstructionMonitor,
    ForestMonitor,
    BoostedOpinionMonitor,
    ErrorsMonitor,
    ScodMonitor,
    BoxMonitor,
    PatternMonitor,
    ProphecyMonitor,
    DeepInferMonitor,
    SelfCheckerMonitor,
)
MONITORS = {m.kind: m for m in _ALL}

YES_NO = {"yes": True, "no": False, "on": True, "off": False}


def parse(
    text: str, *, seed: int = 0, profile: str = PROFILES[0], mirror: bool = False,
    budget: Budget = Budget(),  # noqa: B008
) -> list[MonitorEstimator]:  # fmt: skip
    """Estimators of a list like ``"softmax,box:gamma=0.35:tau=0.1,prophecy"``; "auto" is the
    fusion of the profile, which with ``mirror`` may also use the mirrored image. The budget is that
    of fusions without one among their settings."""
    if profile not in PROFILES:
        raise CompileError(f"--profile {profile}: use {' or '.join(PROFILES)}")
    parts = [part for part in map(str.strip, text.split(",")) if part]
    if mirror and AUTO not in (part.partition(":")[0] for part in parts):
        raise CompileError(
            f"--mirror goes with --monitor {AUTO}, not with {text!r}: name the monitor mirror, or "
            f"write {profile}:mirror=on"
        )
    chosen = [_one(_named(part, profile, mirror), seed, budget) for part in parts]
    names = [m.kind for m in chosen]
    if not chosen or len(set(names)) != len(names):
        known = ", ".join(_known())
        raise CompileError(f"--monitor {text!r}: name each monitor once; there are {known}")
    return chosen


def _named(text: str, profile: str, mirror: bool) -> str:
    name, *settings = text.split(":")
    if name != AUTO:
        return text
    registry.load(AUTO, (AUTO,))
    if mirror and any(s.partition("=")[0] == "mirror" for s in settings):
        raise CompileError(
            f"--monitor {text}: --mirror says that the fusion may read the mirrored image, and so "
            "does the setting mirror: give one of them"
        )
    return ":".join((profile, *settings, *(["mirror=on"] if mirror else [])))


def _one(text: str, seed: int, budget: Budget) -> MonitorEstimator:
    name, *settings = text.split(":")
    cls = registry.load(name, (AUTO, *MONITORS)) or MONITORS.get(name)
    if cls is None:
        raise CompileError(f"--monitor: unknown monitor {name!r}{choices(name, _known())}")
    defaults = registry.settings(cls)
    values: dict[str, Any] = {"seed": seed} if "seed" in defaults and seed else {}
    if cls.learns_from_held_out:
        wanted = {"budget_kb": budget.kilobytes, "budget_us": budget.microseconds}
        values |= {k: v for k, v in wanted.items() if v is not None and k in defaults}
    given = set()
    for setting in settings:
        key, separator, value = setting.partition("=")
        if not separator and key in defaults:
            raise CompileError(f"--monitor {name}: write {key}=VALUE")
        if not separator or key not in defaults:
            raise CompileError(
                f"--monitor {name}: unknown setting {setting!r}{choices(key, defaults, 'it has')}"
            )
        if key in given:
            raise CompileError(f"--monitor {name}: the setting {key} is given twice")
        given.add(key)
        if isinstance(defaults[key], bool):
            if value not in YES_NO:
                raise CompileError(f"--monitor {name}: {key}={value!r} is not yes or no")
            values[key] = YES_NO[value]
            continue
        try:
            values[key] = type(defaults[key])(value)
        except ValueError:
            raise CompileError(f"--monitor {name}: {key}={value!r} is not a number") from None
    estimator = cls(**values)
    estimator.check_settings()
    return estimator


def _known() -> tuple[str, ...]:
    return tuple(dict.fromkeys((AUTO, *MONITORS, *registry.names())))
