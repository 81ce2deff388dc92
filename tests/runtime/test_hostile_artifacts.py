"""Artifacts that were made to be trusted wrongly; ``c/test_values.c`` makes such files itself."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from edgemon.runtime.errors import ArtifactError
from edgemon.runtime.evaluation import Verdict
from edgemon.runtime.monitor import Monitor

# What overflows when it is squared, in each position and in all.
HUGE = np.array([[3e38, -3e38], [1, 3e38], [3e38, 1], [-3e38, -3e38]], np.float32)


def test_damage_within_32_bits_is_always_found(bundle: Path) -> None:
    """SEC8: every single bit, and bursts at random places."""
    data = (bundle / "monitor.emon").read_bytes()
    bits = int.from_bytes(data, "little")
    rng = np.random.default_rng(0)
    bursts = [(8 * at + bit, 1) for at in range(0, len(data), 7) for bit in (0, 7)]
    places = rng.integers(0, 8 * len(data) - 32, 1000).tolist()
    bursts += [(at, int(rng.integers(0, 1 << 31)) << 1 | 1) for at in places]
    for at, burst in bursts:
        damaged = (bits ^ burst << at).to_bytes(len(data), "little")
        with pytest.raises(ArtifactError):
            Monitor(damaged)


def artifact(shared: Path, name: str) -> bytes:
    path = shared / "data" / "cases" / "14-hostile-artifacts" / f"{name}.emon"
    if not path.is_file():
        pytest.skip(f"{path} is missing: the cases are not in the repository")
    return path.read_bytes()


@pytest.mark.parametrize("name", ["ti2", "treeinf", "nanbox"])
def test_an_infinity_inside_a_program_is_a_fault(name: str, shared: Path) -> None:
    monitor = Monitor(artifact(shared, name))
    found = monitor.evaluate([HUGE])
    assert (found.verdict == Verdict.FAULT).all()
    assert not found.scores[0].any()
    assert (monitor.evaluate([np.ones((1, 2), np.float32)]).verdict != Verdict.FAULT).all()


def test_omit_by_exceeds_is_refused(shared: Path) -> None:
    with pytest.raises(ArtifactError, match="a node record is invalid"):
        Monitor(artifact(shared, "omitex"))
