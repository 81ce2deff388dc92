"""What a device is: one TOML profile each, what the runtime costs there, how fast it is, and what
runs its programs here."""

from edgemon.targets.emulation import run as run_artifact
from edgemon.targets.emulation import run_counted
from edgemon.targets.emulator import Emulator
from edgemon.targets.errors import TargetError
from edgemon.targets.footprint import Footprint, measure
from edgemon.targets.harness_lines import Instructions, Outcome, between, outcome_of, packed
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
from edgemon.targets.taps_file import results_crc, taps_file
from edgemon.targets.times import PARTS, OpTimes
from edgemon.targets.toolchain import missing

__all__ = [
    "DEFAULT", "KILOBYTE_LIMITS", "MICROSECOND_LIMITS", "PARTS", "Budget", "Emulator", "Footprint",
    "Instructions", "OpTimes", "Outcome", "Target", "TargetError", "between", "load", "measure",
    "missing", "name_of", "names", "outcome_of", "packed", "read", "results_crc", "run_artifact",
    "run_counted", "runs_here", "taps_file",
]  # fmt: skip
