"""The errors of the benchmarks."""

from __future__ import annotations

from edgemon.runtime.errors import EdgemonError


class BenchError(EdgemonError):
    """Something that was given to the benchmark cannot be used."""
