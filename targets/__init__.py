"""What a device is: one TOML profile each, what the runtime costs there, how fast it is, and what
runs its programs here."""

from edgemon.targets.emulation import Instructions, Outcome
from edgemon.targets.emulation import run as run_artifact
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
from edgemon.targets.program import runs_here
from edgemon.targets.times import PARTS, OpTimes
from edgemon.targets.toolchain import missing

__all__ = [
    "DEFAULT", "KILOBYTE_LIMITS", "MICROSECOND_LIMITS", "PARTS", "Budget", "Emulator", "Footprint",
    "Instructions", "OpTimes", "Outcome", "Target", "TargetError", "load", "measure",
    "missing", "name_of", "names", "read", "run_artifact", "runs_here",
]  # fmt: skip
