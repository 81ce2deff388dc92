"""The published models and the authors' own outputs, for tests that compare with them."""

from __future__ import annotations

import csv
import json
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from edgemon.bench.replicate.study import Study
from edgemon.bench.replicate.tools import Subject
from edgemon.bench.verdicts import VERDICTS
from tests.conftest import ROOT, SHARED

PACK = SHARED / "data" / "trustdnn"
STUDY = ROOT / "bench" / "replicate" / "trustdnn.toml"
COUNTS = {"BM": 12, "GC": 9, "HP": 4, "PD": 4}
MODELS = [f"{name}{i}" for name, count in COUNTS.items() for i in range(1, count + 1)]
# Their first layer's W W^T can be inverted, and no hidden layer is other than ReLU.
FROM_WEIGHTS = [
    "BM1", "BM2", "BM3", "BM4", "BM7", "BM8", "GC1", "GC2", "GC5",
    "HP1", "HP2", "HP3", "HP4", "PD1", "PD2", "PD3", "PD4",
]  # fmt: skip


@cache
def case(model: str) -> Subject:
    """A model with its data."""
    from edgemon.bench.replicate.subject import Subject

    return Subject.load(Study.read(STUDY, PACK), model[:2], model, drop_repeated=False)


@cache
def notifications(folder: str, dataset: str) -> dict[str, np.ndarray]:
    """The authors' verdicts, by model."""
    rows = read_csv(PACK / "golden" / folder / f"notifications_{dataset}.csv")
    return {m: np.array([VERDICTS[r[m]] for r in rows]) for m in rows[0]}


def read_csv(path: Path) -> list[dict[str, str]]:
    with path.open(newline="") as file:
        return list(csv.DictReader(file))


def read_json(path: str) -> Any:
    return json.loads((PACK / path).read_text())
