"""What a device is: one TOML profile each, what the runtime costs there, how fast it is, and what
runs its programs here."""

from edgemon.targets.emulator import Emulator
from edgemon.targets.errors import TargetError
from edgemon.targets.footprint import Footprint, measure
from edgemon.targets.profile import (
    DEFAULT,
    KILOBYTE_LIMITS,
    MICROSECOND_LIMITS,
    Budget,
    Target,
    load,
    name_of,
    names,
    read,
)  # fmt: skip
from edgemon.targets.times import PARTS, OpTimes

__all__ = [
    "DEFAULT", "KILOBYTE_LIMITS", "MICROSECOND_LIMITS", "PARTS", "Budget", "Emulator", "Footprint",
    "OpTimes", "Target", "TargetError", "load", "measure", "name_of", "names", "read",
]  # fmt: skip
