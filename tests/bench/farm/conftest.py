"""Small benchmarks are quick: their times and intervals are not what is tested."""

from __future__ import annotations

import pytest

from edgemon.bench.compare import costs
from edgemon.bench.farm import measures


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(costs, "ROUNDS", 3)
    monkeypatch.setattr(measures, "RESAMPLES", 10)
