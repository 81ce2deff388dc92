"""What a device is: one TOML profile each, what the runtime costs there, and how fast it is."""

from edgemon.targets.errors import TargetError
from edgemon.targets.footprint import Footprint, measure
from edgemon.targets.profile import (
    DEFAULT,
    KILOBYTES,
    MICROSECONDS,
    Budget,
    Target,
    load,
    name_of,
    names,
    read,
)  # fmt: skip
from edgemon.targets.times import PARTS, OpTimes

__all__ = [
    "DEFAULT", "KILOBYTES", "MICROSECONDS", "PARTS", "Budget", "Footprint", "OpTimes",
    "Target", "TargetError", "load", "measure", "name_of", "names", "read",
]  # fmt: skip
