"""The device side: a compiled monitor beside its model. Needs NumPy and a TFLite interpreter."""

from edgemon.runtime.errors import (
    ArtifactError,
    BackendError,
    DamagedError,
    EdgemonError,
    InputError,
)
from edgemon.runtime.evaluation import Evaluation, Verdict
from edgemon.runtime.monitor import Monitor
from edgemon.runtime.result import MonitorResult, Result
from edgemon.runtime.session import Session

__all__ = [
    "ArtifactError",
    "BackendError",
    "DamagedError",
    "EdgemonError",
    "Evaluation",
    "InputError",
    "Monitor",
    "MonitorResult",
    "Result",
    "Session",
    "Verdict",
]
