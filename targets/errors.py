"""What can go wrong with a target."""

from __future__ import annotations

from edgemon.runtime.errors import EdgemonError


class TargetError(EdgemonError):
    """A target is unknown, its profile is bad, or its toolchain is missing or fails."""
