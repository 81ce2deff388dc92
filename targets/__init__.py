"""What a device is: one TOML profile each, and what the runtime costs there."""

from edgemon.targets.footprint import Footprint, measure
from edgemon.targets.profile import DEFAULT, Target, TargetError, load, names

__all__ = ["DEFAULT", "Footprint", "Target", "TargetError", "load", "measure", "names"]
